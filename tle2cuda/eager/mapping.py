"""`tl.map_elementwise`: a function of the user's, called for one element, or a few, after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tle2cuda.eager.program import current
from tle2cuda.eager.values import Tile, common_shape, describe, numeric, static_int, to_tile, without_width
from tle2cuda.errors import DTypeMismatch, InvalidArgument, InvalidType

_WHAT = "tl.map_elementwise"


def map_elementwise(scalar_fn: Any, *args: Any, pack: Any = 1) -> Any:
    """`tl.map_elementwise`."""
    width = static_int(pack, f"{_WHAT}: pack")
    if not args:
        raise InvalidArgument(f"{_WHAT} needs at least one argument behind the function")
    tiles = [numeric(x, _WHAT) for x in args]
    shape = common_shape(_WHAT, *tiles)
    elements = int(np.prod(shape))
    if width < 1 or width & (width - 1) or width > elements:
        raise InvalidArgument(f"{_WHAT}: pack must be a power of two of at most {elements}, got {width}")
    check_function(scalar_fn)
    program = current()
    outer, program.only_computes = program.only_computes, True
    try:
        return by_elements(scalar_fn, tiles, shape, width)
    finally:
        program.only_computes = outer


def check_function(function: Any) -> None:
    """Refuses functions of elements that only the front end sees to be wrong: their text, or that they make tiles.

    Raises:
        CompilationError: It is wrong, in the front end's words.
    """
    words = [f"{_WHAT}: the function "]
    if getattr(function, "__name__", "") == "<lambda>":
        words.append("<lambda> is a lambda")
    for refusal in current().launch.refusals():
        if refusal.message.startswith(tuple(words)):
            raise refusal


def by_elements(function: Any, tiles: Sequence[Tile], shape: tuple[int, ...], width: int = 1) -> Any:
    """A function of scalars on tiles that broadcast to a shape: for `width` elements of each after the other."""
    flat = [tile.stretched(shape).reshaped((-1,)) for tile in tiles]
    columns: list[list[Tile]] = []
    for first in range(0, int(np.prod(shape)), width):
        _note(columns, function(*(_element(tile, first + i) for tile in flat for i in range(width))), width)
    made = tuple(_together(column, shape) for column in columns)
    return made if len(made) > 1 else made[0]


def _element(tile: Tile, at: int) -> Tile:
    return tile.rearranged(lambda array: array[at])


def _note(columns: list[list[Tile]], found: Any, width: int) -> None:
    """Append what one call returned, so many neighbours of each result."""
    if found is None:
        raise InvalidType(f"{_WHAT}: the function returns nothing", help="end it with `return` and a value")
    parts = [to_tile(x) for x in (found if isinstance(found, (tuple, list)) else (found,))]
    for part in parts:
        if part.shape or part.is_pointer:
            raise InvalidType(f"{_WHAT}: the function must return scalars, it returned {describe(part)}")
    if len(parts) % width:
        raise InvalidArgument(
            f"{_WHAT}: with pack={width} the function must return {width} neighbours of each result, "
            f"it returned {len(parts)} value(s)"
        )
    if not columns:
        columns.extend([] for _ in range(len(parts) // width))
    for number, column in enumerate(columns):
        column += parts[number * width : (number + 1) * width]


def _together(parts: list[Tile], shape: tuple[int, ...]) -> Tile:
    other = next((part for part in parts if part.dtype is not parts[0].dtype), None)
    if other is not None:
        raise DTypeMismatch(f"the function returns {describe(parts[0])} for one element and {describe(other)} for another")
    data = np.array([part.data for part in parts]).reshape(shape)
    exact = None
    if any(part.exact is not None for part in parts):
        exact = np.array([without_width(part) for part in parts]).reshape(shape)
    return Tile(data, parts[0].dtype, exact)
