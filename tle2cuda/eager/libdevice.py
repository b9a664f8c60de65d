"""`libdevice`: the CUDA math library.

Which overloads there are and what each computes is CUDA's, not the language's: that table and its mathematics are those of
`ops/libdevice.py`. Everything around them is as in the rest of this package.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tle2cuda.eager.numbers import VALUES
from tle2cuda.eager.values import Tile, common_shape, describe, numeric
from tle2cuda.errors import DTypeMismatch
from tle2cuda.ir.device_functions import DEVICE_FUNCTIONS, find_overload


def _call(name: str, *arguments: Any) -> Tile:
    what = f"libdevice.{name}"
    values = [numeric(x, what) for x in arguments]
    overload = find_overload(name, [value.dtype for value in values])
    if overload is None:
        raise DTypeMismatch(
            f"{what} has no overload for {', '.join(describe(value) for value in values)}",
            help="convert the arguments first, x.to(tl.float32)",
        )
    shape = common_shape(what, *values)
    from tle2cuda.ops.libdevice import meaning_of

    result = np.asarray(meaning_of(name, overload)(*(np.ascontiguousarray(v.stretched(shape).data) for v in values)))
    return Tile(result.astype(VALUES[overload.result]).reshape(shape), overload.result)


FUNCTIONS: dict[str, Callable[..., Tile]] = {name: functools.partial(_call, name) for name in DEVICE_FUNCTIONS}
"""Functions by name."""
