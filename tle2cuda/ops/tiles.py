"""`tle.extract_tile` and `tle.insert_tile`: a tile as a grid of smaller tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tle2cuda.errors import InvalidArgument, ShapeMismatch, TileOutOfRange
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BOOL, I32, shape_of
from tle2cuda.ops import core
from tle2cuda.ops.arithmetic import add_operator, mul_operator
from tle2cuda.ops.core import builtin, dims_text, emit_value, fact, meaning, tensor, tensor_member, unwrap
from tle2cuda.ops.join import emit_extract


@dataclass(frozen=True, slots=True)
class _Place:
    """Which tile of the grid is meant: its coordinate when that is known, else its row-major number."""

    coordinate: tuple[int, ...]
    number: tensor | None


def _register_tile(x: Any, what: str, name: str) -> tensor:
    value = unwrap(x)
    if not isinstance(value, tensor):
        raise InvalidArgument(
            f"{what}: `{name}` must be a tensor, got {core.describe(value)}",
            help="tiles in shared memory are read through tle.gpu.local_ptr or .slot(i)",
        )
    if not value.dims:
        raise InvalidArgument(
            f"{what}: `{name}` must be a tile, got {core.describe_type(value)}", facts=(fact(name, value),)
        )
    return value


def _grid(x: tensor, shape: tuple[int, ...], what: str, indivisible: str) -> tuple[int, ...]:
    """How many tiles lie along each axis."""
    for axis, (extent, step) in enumerate(zip(x.dims, shape, strict=True)):
        if extent % step:
            raise ShapeMismatch(
                f"{what}: extent {axis} of {dims_text(x.dims)} is {extent}, {indivisible} {step}",
                facts=(fact("x", x),),
                help="a tile covers a part of every axis that fits into it a whole number of times",
            )
    return tuple(extent // step for extent, step in zip(x.dims, shape, strict=True))


def _place(index: Any, grid: tuple[int, ...], what: str) -> _Place:
    value = unwrap(index)
    if isinstance(value, (tuple, list)):
        return _coordinate(tuple(unwrap(entry) for entry in value), grid, what)
    if isinstance(value, tensor):
        return _Place((), _scalar_index(value, what))
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgument(
            f"{what}: `index` must be a tile number or a coordinate, got {core.describe(value)}",
            help="give an integer, or one integer per axis, each known at compile time or a scalar",
        )
    count = core.num_elements(grid)
    if not 0 <= value < count:
        expected = "must be non-negative and is" if value < 0 else "is"
        raise InvalidArgument(
            f"{what}: linear index {expected} {value}, out of range [0, {count})",
            help=f"the tiles of the grid {dims_text(grid)} are numbered row-major from 0 to {count - 1}",
        )
    coordinate = []
    for extent in reversed(grid):
        coordinate.append(value % extent)
        value //= extent
    return _Place(tuple(reversed(coordinate)), None)


def _coordinate(entries: tuple[Any, ...], grid: tuple[int, ...], what: str) -> _Place:
    if len(entries) != len(grid):
        raise ShapeMismatch(
            f"{what}: index of rank {len(entries)} for a tile of rank {len(grid)}",
            help="give one index per axis, or a single tile number",
        )
    for axis, (entry, extent) in enumerate(zip(entries, grid, strict=True)):
        if isinstance(entry, tensor):
            continue
        if isinstance(entry, bool) or not isinstance(entry, int):
            raise InvalidArgument(f"{what}: index {axis} must be an integer, got {core.describe(entry)}")
        if not 0 <= entry < extent:
            raise InvalidArgument(
                f"{what}: index {entry} of axis {axis} is out of bounds for grid size {extent}",
                help=f"the tiles along it are numbered from 0 to {extent - 1}",
            )
    if not any(isinstance(entry, tensor) for entry in entries):
        return _Place(entries, None)
    steps = [_scalar_index(entry, what) if isinstance(entry, tensor) else core.constant(entry, I32) for entry in entries]
    number = steps[0]
    for step, extent in zip(steps[1:], grid[1:], strict=True):
        number = add_operator(mul_operator(number, core.constant(extent, I32)), step)
    return _Place((), number)


def _check_number(number: tensor, dims: tuple[int, ...], part: tuple[int, ...], what: str) -> None:
    """Assert, in debug builds, that a tile number which only the run time knows is one of the grid."""
    current = builder.current()
    if current.checks_overflow:
        count = core.num_elements(dims) // core.num_elements(part)
        limits = ((core.constant(0, I32), "ge"), (core.constant(count, I32), "lt"))
        inside = [emit_value("cmp", (number, limit), BOOL, (), {"predicate": word}) for limit, word in limits]
        both = emit_value("and", tuple(inside), BOOL, ())
        current.emit("assert", (both.value,), (), {"message": f"{what}: the tile number is out of range [0, {count})"})


def _scalar_index(index: tensor, what: str) -> tensor:
    if index.dims or index.is_pointer or not core.dtype_of(index).is_int():
        raise InvalidArgument(
            f"{what}: `index` must be a scalar integer, got {core.describe_type(index)}",
            facts=(fact("index", index),),
            help="one tile is taken; a tile of indices is a matter for tl.gather",
        )
    return core.cast(index, I32)


@builtin
def extract_tile(x: Any, index: Any, tile_shape: Any = None, shape: Any = None) -> tensor:
    """One tile of `x`, seen as a grid of tiles of one shape.

    Args:
        x: Tile.
        index: Which: a coordinate (one integer per axis), or its row-major number. Each may be known at compile
            time, then it is checked, or a scalar; a number outside the grid is undefined then: the interpreter, eager
            mode, the emulator and debug builds report it.
        tile_shape: Extents, powers of two that divide those of `x`.
        shape: The same under another name.

    Returns:
        Tile of that shape; its element ``[j]`` is ``x[index * tile_shape + j]``.

    Raises:
        InvalidArgument: `x` is no tile, `index` is of another form or outside the grid.
        ShapeMismatch: Ranks differ, or an extent does not divide.

    Example:
        ``low = tle.extract_tile(x, [0, 1], [16, 16])``
    """
    what = "tle.extract_tile"
    value = _register_tile(x, what, "x")
    if (unwrap(tile_shape) is None) == (unwrap(shape) is None):
        given = "both" if unwrap(shape) is not None else "neither"
        raise InvalidArgument(f"{what}: give tile_shape or shape, got {given}", help="write tile_shape=[16, 16]")
    dims = core.static_shape(shape if unwrap(tile_shape) is None else tile_shape, f"{what}: tile_shape")
    if len(dims) != len(value.dims):
        raise ShapeMismatch(
            f"{what}: tile_shape {dims_text(dims)} of rank {len(dims)} for a tile of rank {len(value.dims)}",
            facts=(fact("x", value),),
            help="give one extent per axis",
        )
    place = _place(index, _grid(value, dims, what, "not divisible by tile dim"), what)
    if dims == value.dims:
        return value
    if place.number is None:
        start = tuple(n * extent for n, extent in zip(place.coordinate, dims, strict=True))
        return emit_extract(value, start, dims)
    _check_number(place.number, value.dims, dims, what)
    return emit_value("extract_at", (value, place.number), value.element, dims)


@builtin
@tensor_member
def insert_tile(x: Any, tile: Any, index: Any) -> tensor:
    """`x` with one tile of its grid of tiles replaced; `x` itself stays what it is.

    Args:
        x: Tile.
        tile: What to put in; its shape is that of the grid's tiles.
        index: Where, as for `extract_tile`.

    Raises:
        InvalidArgument: `x` or `tile` is no tile, their dtypes differ, `index` is of another form or outside the grid.
        ShapeMismatch: Ranks differ, or an extent does not divide.

    Example:
        ``x = tle.insert_tile(x, corner, [0, 0])``
    """
    what = "tle.insert_tile"
    value, part = _register_tile(x, what, "x"), _register_tile(tile, what, "tile")
    if len(part.dims) != len(value.dims):
        raise ShapeMismatch(
            f"{what}: rank {len(value.dims)} of `x` must match tile rank {len(part.dims)}",
            facts=(fact("x", value), fact("tile", part)),
            help="tl.reshape adds axes of extent 1",
        )
    if part.element != value.element:
        raise InvalidArgument(
            f"{what}: Element type mismatch: `x` is {core.describe_type(value)}, `tile` is {core.describe_type(part)}",
            facts=(fact("x", value), fact("tile", part)),
            help="convert the tile, tile.to(x.dtype)",
        )
    place = _place(index, _grid(value, part.dims, what, "which must be divisible by tile dimension"), what)
    if part.dims == value.dims:
        return part
    number = place.number
    if number is None:
        linear = 0
        for n, extent, step in zip(place.coordinate, value.dims, part.dims, strict=True):
            linear = linear * (extent // step) + n
        number = core.constant(linear, I32)
    else:
        _check_number(number, value.dims, part.dims, what)
    return emit_value("insert", (value, part, number), value.element, value.dims)


def _extract_method(self: tensor, index: Any, shape: Any = None, tile_shape: Any = None) -> tensor:
    return extract_tile(self, index, tile_shape, shape)


_extract_method.__name__ = "extract_tile"
tensor_member(builtin(_extract_method))


# -- meanings ---------------------------------------------------------------------------------------


def number_problem(what: str, number: int, count: int) -> str:
    """What is wrong with a tile number that only the run time knows; empty for nothing."""
    return "" if 0 <= number < count else f"{what}: tile number {number} is out of range [0, {count})"


NUMBER_HELP = "what such a number gives is undefined; the tiles are numbered row-major from 0"


def _part(ctx: Any, op: Op, what: str, shape: tuple[int, ...], dims: tuple[int, ...], number: Any) -> tuple[slice, ...]:
    """The elements of a numbered tile."""
    grid = tuple(n // m for n, m in zip(shape, dims, strict=True))
    problem = number_problem(what, int(number), core.num_elements(grid))
    if problem:
        raise ctx.fail(op, problem, help=NUMBER_HELP, kind=TileOutOfRange)
    where = np.unravel_index(int(number), grid)
    return tuple(slice(int(i) * m, (int(i) + 1) * m) for i, m in zip(where, dims, strict=True))


@meaning("extract_at")
def _extract_at(ctx: Any, op: Op, x: Any, number: Any) -> Any:
    return x[_part(ctx, op, "tle.extract_tile", x.shape, shape_of(op.result.type), number)]


@meaning("insert")
def _insert(ctx: Any, op: Op, x: Any, tile: Any, number: Any) -> Any:
    result = np.array(x, copy=True)
    result[_part(ctx, op, "tle.insert_tile", x.shape, tile.shape, number)] = tile
    return result
