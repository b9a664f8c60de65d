"""Reductions, scans, sorting, gathering and counting along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tle2cuda.eager.checks import only_in_3_9
from tle2cuda.eager.creation import behind
from tle2cuda.eager.elementwise import FUNCTIONS, extremum, fdiv
from tle2cuda.eager.mapping import by_elements
from tle2cuda.eager.memory import mask_for
from tle2cuda.eager.numbers import VALUES, Array, round_to
from tle2cuda.eager.operators import check_fits, follow, may_overflow, sub_operator, to_dtype
from tle2cuda.eager.program import checks_overflow, reads_3_9
from tle2cuda.eager.values import (
    Tile,
    as_dtype,
    decay_result,
    describe,
    method,
    number_as,
    numeric,
    static_axis,
    static_int,
    static_shape,
    to_tile,
    watched,
    without_width,
)
from tle2cuda.errors import DTypeMismatch, InvalidArgument, InvalidType, ShapeMismatch
from tle2cuda.ir.types import BF16, BOOL, F32, I32, I64, U32, DType


def _tile(input: Any, what: str) -> Tile:
    x = numeric(input, what)
    if not x.shape:
        raise InvalidType(f"{what} takes tiles, got {describe(x)}")
    return x


def _flatten(x: Tile, axis: Any, what: str) -> tuple[Tile, int]:
    """The tile to reduce and the axis to reduce it along; no axis is all of them, row-major."""
    if axis is None:
        return x.reshaped((x.data.size,)), 0
    return x, static_axis(axis, len(x.shape), what)


def _kept(results: Sequence[Tile], shape: tuple[int, ...], axis: Any, keep_dims: Any) -> tuple[Tile, ...]:
    """The results, with the axes that went away as extents of 1 when asked for."""
    if not keep_dims:
        return tuple(results)
    if axis is None:
        kept = (1,) * len(shape)
    else:
        position = axis % len(shape)
        kept = (*shape[:position], 1, *shape[position + 1 :])
    return tuple(result.reshaped(kept) for result in results)


def _summed_dtype(dtype: DType) -> DType:
    if dtype.is_int() and dtype.bits < 32:
        return I32 if dtype.kind == "int" else U32
    return dtype


def watched_fold(fold: Callable[..., Any], data: Any, x: Tile, axis: int, checked: str = "") -> Tile:
    """A fold of a tile along an axis, which remembers what it would be without a width.

    Args:
        fold: The fold, of an array along an axis.
        data: What it gives.
        x: The tile.
        axis: The axis.
        checked: What is done that must not overflow in debug launches; empty: it cannot.
    """
    if not x.dtype.is_int() or x.dtype.is_bool() or (x.dtype.bits == 64 and x.exact is None):
        return Tile(data, x.dtype)
    if checked and checks_overflow() and may_overflow(x.dtype):
        check_fits(fold(x.data.astype(np.int64), axis=axis), x.dtype, checked)
    return watched(data, x.dtype, fold(without_width(x), axis=axis))


def _sum_array(data: Array, dtype: DType, axis: int) -> Array:
    """Sums in a dtype at least as wide, rounded once."""
    if dtype.is_floating() and dtype.bits < 64:
        return round_to(np.asarray(data.astype(np.float64).sum(axis=axis)), dtype)
    return np.asarray(data.sum(axis=axis, dtype=VALUES[dtype]))


@method
def sum(input: Any, axis: Any = None, keep_dims: Any = False, dtype: Any = None) -> Tile:
    """`tl.sum`."""
    x = _tile(input, "tl.sum")
    target = _summed_dtype(x.dtype) if dtype is None else as_dtype(dtype, "tl.sum")
    wide = F32 if target.is_fp8() else target
    flat, position = _flatten(to_dtype(x, wide), axis, "tl.sum")
    result = watched_fold(np.add.reduce, _sum_array(flat.data, wide, position), flat, position, "add")
    return _kept([to_dtype(result, target)], x.shape, axis, keep_dims)[0]


def _widened(x: Tile) -> Tile:
    """Operands of `max` and `min`: everything below 32 bits is float32 or int32."""
    if x.dtype.bits >= 32:
        return x
    return to_dtype(x, F32 if x.dtype.is_floating() else I32)


def _extreme(kind: str, input: Any, axis: Any, indices: Any, tie_left: Any, keep_dims: Any) -> Any:
    what = f"tl.{kind}"
    x = _tile(input, what)
    if indices:
        return _with_index(kind, x, axis, bool(tie_left), keep_dims, what)
    flat, position = _flatten(_widened(x), axis, what)
    dtype = flat.dtype
    data = flat.data
    while data.shape[position] > 1:
        halves = np.split(data, 2, position)
        data = extremum(kind, halves[0], halves[1], dtype)
    fold = (np.maximum if kind == "max" else np.minimum).reduce
    result = watched_fold(fold, data.squeeze(position), flat, position)
    return _kept([result], x.shape, axis, keep_dims)[0]


def _with_index(kind: str, x: Tile, axis: Any, tie_left: bool, keep_dims: Any, what: str) -> tuple[Tile, Tile]:
    value = x
    if (x.dtype is BF16 and not reads_3_9()) or x.dtype.is_fp8():
        value = to_dtype(x, F32)
    elif x.dtype is BOOL:
        value = to_dtype(x, I32)
    flat, position = _flatten(value, axis, what)
    data = flat.data
    best = (np.fmax if kind == "max" else np.fmin).reduce(data, axis=position, keepdims=True)
    hits = (data == best) | np.isnan(best) if flat.dtype.is_floating() else data == best
    extent = data.shape[position]
    where = hits.argmax(position) if tie_left else extent - 1 - np.flip(hits, position).argmax(position)
    picked = np.take_along_axis(data, np.expand_dims(where, position), position).squeeze(position)
    fold = (np.maximum if kind == "max" else np.minimum).reduce
    results = [watched_fold(fold, picked, flat, position), Tile(where.astype(np.int32), I32)]
    largest, index = _kept(results, x.shape, axis, keep_dims)
    return (to_dtype(largest, x.dtype) if x.dtype.is_fp8() or x.dtype is BOOL else largest), index


@method
def max(
    input: Any,
    axis: Any = None,
    return_indices: Any = False,
    return_indices_tie_break_left: Any = True,
    keep_dims: Any = False,
) -> Any:
    """`tl.max`."""
    return _extreme("max", input, axis, return_indices, return_indices_tie_break_left, keep_dims)


@method
def min(
    input: Any,
    axis: Any = None,
    return_indices: Any = False,
    return_indices_tie_break_left: Any = True,
    keep_dims: Any = False,
) -> Any:
    """`tl.min`."""
    return _extreme("min", input, axis, return_indices, return_indices_tie_break_left, keep_dims)


@method
def argmax(input: Any, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> Tile:
    """`tl.argmax`."""
    return _with_index("max", _tile(input, "tl.argmax"), axis, bool(tie_break_left), keep_dims, "tl.argmax")[1]


@method
def argmin(input: Any, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> Tile:
    """`tl.argmin`."""
    return _with_index("min", _tile(input, "tl.argmin"), axis, bool(tie_break_left), keep_dims, "tl.argmin")[1]


def _bits(function: Any, input: Any, axis: Any, keep_dims: Any, what: str) -> Tile:
    x = _tile(input, what)
    if not x.dtype.is_int():
        raise DTypeMismatch(f"{what} takes integers or bool, got {describe(x)}")
    flat, position = _flatten(x, axis, what)
    return _kept([Tile(function.reduce(flat.data, axis=position), x.dtype)], x.shape, axis, keep_dims)[0]


@method
def xor_sum(input: Any, axis: Any = None, keep_dims: Any = False) -> Tile:
    """`tl.xor_sum`."""
    return _bits(np.bitwise_xor, input, axis, keep_dims, "tl.xor_sum")


@method
def reduce_or(input: Any, axis: Any, keep_dims: Any = False) -> Tile:
    """`tl.reduce_or`."""
    return _bits(np.bitwise_or, input, axis, keep_dims, "tl.reduce_or")


# -- functions of the user ----------------------------------------------------------------------------


def _combiner(combine_fn: Any, inputs: Sequence[Tile], what: str) -> Callable[..., tuple[Tile, ...]]:
    """The user's function on tuples of tiles, its results checked."""
    if not callable(combine_fn):
        raise InvalidType(f"{what}: expected a function decorated with @tle2cuda.jit, got {combine_fn!r}")

    def combine(left: Sequence[Tile], right: Sequence[Tile]) -> tuple[Tile, ...]:
        try:
            found = combine_fn(*left, *right)
        except DTypeMismatch:
            if not left[0].shape:
                raise
            found = by_elements(combine_fn, (*left, *right), left[0].shape)  # it may branch on its elements
        result = decay_result(found)
        results = result if isinstance(result, tuple) else (result,)
        if len(results) != len(inputs):
            raise InvalidType(f"{what}: the function returns {len(results)} values for {len(inputs)} tiles")
        shape = left[0].shape
        values = []
        for one, original in zip(results, inputs, strict=True):
            value = to_tile(one)
            if value.dtype is not original.dtype:
                raise DTypeMismatch(
                    f"{what}: the function returns {value.dtype.label} for a tile of {original.dtype.label}"
                )
            values.append(value.stretched(shape))
        return tuple(values)

    return combine


def _inputs(input: Any, what: str) -> list[Tile]:
    tiles = [_tile(x, what) for x in (input if isinstance(input, (tuple, list)) else (input,))]
    if any(x.shape != tiles[0].shape for x in tiles):
        raise ShapeMismatch(f"{what}: the tiles have different shapes, {', '.join(describe(x) for x in tiles)}")
    return tiles


def _slices(tiles: Sequence[Tile], axis: int, part: slice) -> list[Tile]:
    index = (slice(None),) * axis + (part,)
    return [x.rearranged(lambda array: array[index]) for x in tiles]


@method
def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False) -> Any:
    """`tl.reduce`: neighbours are combined first, all pairs at once."""
    tiles = _inputs(input, "tl.reduce")
    shape = tiles[0].shape
    position = 0 if axis is None else static_axis(axis, len(shape), "tl.reduce")
    if axis is None:
        tiles = [x.reshaped((x.data.size,)) for x in tiles]
    combine = _combiner(combine_fn, tiles, "tl.reduce")
    while tiles[0].shape[position] > 1:
        left = _slices(tiles, position, slice(0, None, 2))
        right = _slices(tiles, position, slice(1, None, 2))
        tiles = list(combine(left, right))
    results = _kept([x.rearranged(lambda array: array.squeeze(position)) for x in tiles], shape, axis, keep_dims)
    return results if isinstance(input, (tuple, list)) else results[0]


@method
def associative_scan(input: Any, axis: Any, combine_fn: Any, reverse: Any = False) -> Any:
    """`tl.associative_scan`: inclusive, by doubling distances."""
    tiles = _inputs(input, "tl.associative_scan")
    position = static_axis(axis, len(tiles[0].shape), "tl.associative_scan")
    combine = _combiner(combine_fn, tiles, "tl.associative_scan")
    if reverse:
        tiles = [x.rearranged(lambda array: np.flip(array, position)) for x in tiles]
    extent, distance = tiles[0].shape[position], 1
    while distance < extent:
        earlier = _slices(tiles, position, slice(0, extent - distance))
        later = _slices(tiles, position, slice(distance, extent))
        first = _slices(tiles, position, slice(0, distance))
        combined = combine(earlier, later)
        tiles = [behind(head, rest, position) for head, rest in zip(first, combined, strict=True)]
        distance *= 2
    if reverse:
        tiles = [x.rearranged(lambda array: np.flip(array, position)) for x in tiles]
    return tuple(tiles) if isinstance(input, (tuple, list)) else tiles[0]


def _scanned(function: Any, x: Tile, axis: int, reverse: Any, checked: str = "") -> Tile:
    data = np.flip(x.data, axis) if reverse else x.data
    if x.dtype.is_floating():
        result = round_to(function.accumulate(data.astype(np.float64), axis=axis), x.dtype)
    else:
        result = function.accumulate(data, axis=axis, dtype=data.dtype)
    result = np.flip(result, axis) if reverse else result

    def exact(wide: Array, axis: int) -> Array:
        found: Array = function.accumulate(np.flip(wide, axis) if reverse else wide, axis=axis)
        return np.flip(found, axis) if reverse else found

    return watched_fold(exact, result, x, axis, checked)


def _scan_dtype(dtype: DType) -> DType:
    return F32 if dtype is BF16 and not reads_3_9() else _summed_dtype(dtype)


@method
def cumsum(input: Any, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> Tile:
    """`tl.cumsum`."""
    x = _tile(input, "tl.cumsum")
    target = _scan_dtype(x.dtype) if dtype is None else as_dtype(dtype, "tl.cumsum")
    wide = F32 if target.is_fp8() else target
    position = static_axis(axis, len(x.shape), "tl.cumsum")
    return to_dtype(_scanned(np.add, to_dtype(x, wide), position, reverse, "add"), target)


@method
def cumprod(input: Any, axis: Any = 0, reverse: Any = False) -> Tile:
    """`tl.cumprod`."""
    x = _tile(input, "tl.cumprod")
    position = static_axis(axis, len(x.shape), "tl.cumprod")
    wide = x
    if (x.dtype is BF16 and not reads_3_9()) or x.dtype.is_fp8():
        wide = to_dtype(x, F32)
    elif x.dtype is BOOL:
        wide = to_dtype(x, I32)
    result = _scanned(np.multiply, wide, position, reverse, "mul")
    return to_dtype(result, x.dtype) if x.dtype.is_fp8() or x.dtype is BOOL else result


def exclusive_cumsum(input: Any, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> tuple[Tile, Tile]:
    """`tle.cumsum`: the sums before each element, and the total."""
    x = numeric(input, "tle.cumsum")
    target = _scan_dtype(x.dtype) if dtype is None else as_dtype(dtype, "tle.cumsum")
    if not x.shape:
        value = x if dtype is None else to_dtype(x, target)
        return number_as(0, value.dtype), value
    if len(x.shape) != 1:
        raise ShapeMismatch(f"tle.cumsum takes a rank-1 tile, got {describe(x)}")
    if static_int(axis, "tle.cumsum: axis") not in (0, -1):
        raise InvalidArgument(f"tle.cumsum: only axis=0 is possible for a rank-1 tile, got axis={axis}")
    wide = F32 if target.is_fp8() else target
    inclusive = _scanned(np.add, to_dtype(x, wide), 0, reverse)
    step = -1 if reverse else 1
    before = inclusive.rearranged(lambda sums: np.concatenate([np.zeros(1, sums.dtype), sums[::step][:-1]])[::step])
    total = inclusive.rearranged(lambda sums: np.asarray(sums[::step][-1]))
    return to_dtype(before, target), to_dtype(total, target)


@method
def softmax(x: Any, dim: Any = None, keep_dims: Any = False, ieee_rounding: Any = False) -> Tile:
    """`tl.softmax`."""
    value = numeric(x, "tl.softmax")
    if not value.dtype.is_floating():
        raise DTypeMismatch(f"tl.softmax takes floats, got {describe(value)}")
    axis, keep = 0 if dim is None else dim, bool(keep_dims) or reads_3_9()
    shifted = sub_operator(value, max(value, axis, keep_dims=keep))
    numerator = FUNCTIONS["exp"](shifted)
    return fdiv(numerator, sum(numerator, axis, keep_dims=keep))


# -- order, places, counts ----------------------------------------------------------------------------


def _along(x: Any, dim: Any, what: str) -> tuple[Tile, int]:
    if isinstance(x, Tile) and x.is_pointer:
        raise InvalidType(f"{what} takes tiles of numbers, got {describe(x)}")
    value = _tile(x, what)
    return value, static_axis(-1 if dim is None else dim, len(value.shape), what)


def _ordered(x: Tile, axis: int, descending: Any) -> Array:
    """Elements in order: NaN greatest, -0.0 less than 0.0."""
    data = x.data
    if x.dtype.is_floating():
        wide = data.astype(np.float64)
        is_nan = np.isnan(wide)
        places = np.lexsort((~np.signbit(wide), np.where(is_nan, 0.0, wide), is_nan), axis=axis)
        data = np.take_along_axis(data, places, axis)
    else:
        return _sorted(data, axis, descending)
    return np.flip(data, axis) if descending else data


@method
def sort(x: Any, dim: Any = None, descending: Any = False) -> Tile:
    """`tl.sort`."""
    value, axis = _along(x, dim, "tl.sort")
    return _in_order(value, axis, descending)


def _in_order(x: Tile, axis: int, descending: Any) -> Tile:
    return follow(lambda wide: _sorted(wide, axis, descending), _ordered(x, axis, descending), x.dtype, x)


def _sorted(integers: Array, axis: int, descending: Any) -> Array:
    ordered = np.sort(integers, axis=axis)
    return np.flip(ordered, axis) if descending else ordered


@method
def topk(x: Any, k: Any, dim: Any = None, descending: Any = None) -> Tile:
    """`tl.topk`: the `k` largest, largest first."""
    value, axis = _along(x, dim, "tl.topk")
    count = static_int(k, "tl.topk: k")
    if descending is not None:
        only_in_3_9("tl.topk: descending")
    extent = value.shape[axis]
    if not 1 <= count <= extent or count & (count - 1):
        raise InvalidArgument(f"tl.topk: k = {count} is no power of two from 1 to {extent}, the extent of axis {axis}")
    ordered = _in_order(value, axis, descending is None or descending)
    found = ordered.rearranged(lambda array: np.take(array, range(count), axis))
    return found if count == extent else _widened(found)  # Triton takes them out by `tl.max`


@method
def bitonic_merge(x: Any, dim: Any = None, descending: Any = False) -> Tile:
    """`tl.bitonic_merge`: what lies half the extent apart is put in order, then a quarter of it, and so on."""
    value, axis = _along(x, dim, "tl.bitonic_merge")
    merged = _merged(value, axis, descending)
    if value.exact is None:
        return Tile(merged, value.dtype)
    return watched(merged, value.dtype, _merged(Tile(value.exact, I64), axis, descending))


def _merged(value: Tile, axis: int, descending: Any) -> Array:
    data = np.array(np.moveaxis(value.data, axis, 0))
    distance = len(data) // 2
    while distance:
        for place in range(len(data)):
            if not place & distance:
                pair = np.stack([data[place], data[place + distance]])
                data[[place, place + distance]] = _ordered(Tile(pair, value.dtype), 0, descending)
        distance //= 2
    return np.moveaxis(data, 0, axis)


@method
def gather(src: Any, index: Any, axis: Any) -> Tile:
    """`tl.gather`."""
    x, places = _tile(src, "tl.gather"), _tile(index, "tl.gather")
    position = static_axis(axis, len(x.shape), "tl.gather")
    if not places.dtype.is_int() or places.dtype is BOOL:
        raise DTypeMismatch(f"tl.gather: index must be integers, got {describe(places)}")
    if len(places.shape) != len(x.shape):
        raise ShapeMismatch(f"tl.gather: src of rank {len(x.shape)} and index of rank {len(places.shape)}")
    for other, (m, n) in enumerate(zip(x.shape, places.shape, strict=True)):
        if other != position and m != n:
            raise ShapeMismatch(
                f"tl.gather: src {list(x.shape)} and index {list(places.shape)} differ along axis {other}, "
                f"only axis {position} may differ"
            )
    extent = x.shape[position]
    outside = (places.data < 0) | (places.data >= extent)
    if outside.any():
        raise InvalidArgument(
            f"tl.gather: an index of {int(places.data[outside][0])} is outside axis {position} of {extent}"
        )
    return x.rearranged(lambda array: np.take_along_axis(array, places.data.astype(np.int64), position))


@method
def histogram(input: Any, num_bins: Any, mask: Any = None) -> Tile:
    """`tl.histogram`; values outside ``[0, num_bins)`` count nowhere."""
    x = _tile(input, "tl.histogram")
    (bins,) = static_shape((num_bins,), "tl.histogram: num_bins")
    if not x.dtype.is_int() or len(x.shape) != 1:
        raise DTypeMismatch(f"tl.histogram takes a rank-1 tile of integers, got {describe(x)}")
    counted = (x.data >= 0) & (x.data < bins)
    if mask is not None:
        counted = counted & mask_for(mask, x.shape, "tl.histogram")
    return Tile(np.bincount(x.data[counted].astype(np.int64), minlength=bins).astype(np.int32), I32)
