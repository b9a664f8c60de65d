"""Constants behind what only spreads or converts them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tle2cuda.ir.nodes import Op, Value

_SPREAD = frozenset(("splat", "broadcast", "expand_dims", "reshape", "cast", "convert_layout"))


def is_zero(made: Mapping[Value, Op], value: Value, of_either_sign: bool = False) -> bool:
    """Whether a value is known to be 0 in all elements.

    Args:
        made: The operations that make values.
        value: A scalar or tile.
        of_either_sign: -0.0, which has not all bits zero, counts as well.
    """
    op = made.get(value)
    while op is not None and op.name in _SPREAD:
        op = made.get(op.operands[0])
    if op is None or op.name != "constant" or op.attrs["value"] != 0:
        return False
    return of_either_sign or math.copysign(1.0, float(op.attrs["value"])) > 0


__all__ = ["is_zero"]
