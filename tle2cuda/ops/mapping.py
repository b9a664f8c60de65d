"""`tl.map_elementwise`, `tl.condition`, and small names of the language that have no operation of their own."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import InvalidArgument, NotSupported
from tle2cuda.ops import core
from tle2cuda.ops.core import broadcast_all, builtin, call_function, numeric


class const:
    """Annotation of a pointer parameter that the kernel only reads: ``x: tl.const``. What it says is found out anyway."""


@builtin
def condition(arg1: Any, disable_licm: Any = False) -> Any:
    """The condition of a `while`, with a hint for the compiler.

    Args:
        arg1: The condition.
        disable_licm: Accepted without effect.

    Example:
        ``while tl.condition(i < n, disable_licm=True):``
    """
    core.static_bool(disable_licm, "tl.condition: disable_licm")
    return arg1


@builtin
def map_elementwise(scalar_fn: Any, *args: Any, pack: Any = 1) -> Any:
    """A function of scalars, applied to every element.

    Args:
        scalar_fn: A jit function of as many scalars as there are arguments.
        *args: Tiles or scalars, which broadcast.
        pack: How many elements one call gets; only 1 is supported.

    Returns:
        What the function returns, as tiles: one, or a tuple.

    Raises:
        NotSupported: `pack` is not 1.
        InvalidArgument: There are no arguments.

    Example:
        ``y = tl.map_elementwise(clip, x, low, high)``
    """
    if core.static_int(pack, "tl.map_elementwise: pack") != 1:
        raise NotSupported("tl.map_elementwise: pack must be 1", help="let the function take one element of each argument")
    if not args:
        raise InvalidArgument("tl.map_elementwise needs at least one argument behind the function")
    values = broadcast_all(tuple(numeric(x, "tl.map_elementwise") for x in args), "tl.map_elementwise")
    return call_function(scalar_fn, values)
