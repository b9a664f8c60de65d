"""Making tiles, and changing their shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from tle2cuda.eager.checks import only_in_3_9
from tle2cuda.eager.numbers import VALUES
from tle2cuda.eager.operators import cast, to_dtype
from tle2cuda.eager.values import (
    Tile,
    as_dtype,
    common_shape,
    describe,
    is_number,
    method,
    number_as,
    static_axis,
    static_int,
    static_shape,
    to_tile,
    without_width,
)
from tle2cuda.errors import DTypeMismatch, InvalidArgument, InvalidType, ShapeMismatch
from tle2cuda.ir.types import I32, DType


def arange(start: Any, end: Any) -> Tile:
    """`tl.arange`."""
    first, last = static_int(start, "tl.arange: start"), static_int(end, "tl.arange: end")
    if last <= first:
        raise InvalidArgument(f"tl.arange: end must be greater than start, got start {first} and end {last}")
    if first < -(2**31) or last > 2**31:
        raise InvalidArgument(f"tl.arange: the range {first} to {last} does not fit int32")
    static_shape((last - first,), "tl.arange")
    return Tile(np.arange(first, last, dtype=np.int32), I32)


def full(shape: Any, value: Any, dtype: Any) -> Tile:
    """`tl.full`."""
    dims = static_shape(shape, "tl.full")
    element = as_dtype(dtype, "tl.full")
    if is_number(value):
        # A float in an integer dtype truncates, as the stored value of a mask does.
        number = int(value) if element.is_int() and not element.is_bool() and value == value else value
        scalar = number_as(number, element) if not element.is_int() or element.is_bool() else _wrapped(number, element)
    else:
        scalar = to_tile(value, "tl.full")
        if scalar.shape:
            raise InvalidType(f"tl.full: value must be a scalar, got {describe(scalar)}")
        scalar = cast(scalar, element)
    exact = None if scalar.exact is None else np.full(dims, scalar.exact)
    return Tile(np.full(dims, scalar.data), element, exact)


def _wrapped(number: int, element: Any) -> Tile:
    mask = (1 << element.bits) - 1
    return Tile(np.array(number & mask, np.uint64).astype(VALUES[element]), element)


def zeros(shape: Any, dtype: Any) -> Tile:
    """`tl.zeros`."""
    element = as_dtype(dtype, "tl.zeros")
    return Tile(np.zeros(static_shape(shape, "tl.zeros"), VALUES[element]), element)


def zeros_like(input: Any) -> Tile:
    """`tl.zeros_like`."""
    x = to_tile(input)
    return zeros(x.shape, x.dtype)


# -- shapes -------------------------------------------------------------------------------------------


def _one_or_many(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        return tuple(values[0])
    return () if values == (None,) else values


@method
def broadcast(input: Any, other: Any) -> tuple[Tile, Tile]:
    """`tl.broadcast`."""
    a, b = to_tile(input), to_tile(other)
    shape = common_shape("tl.broadcast", a, b)
    return a.stretched(shape), b.stretched(shape)


@method
def broadcast_to(input: Any, *shape: Any) -> Tile:
    """`tl.broadcast_to`."""
    x = to_tile(input)
    dims = static_shape(_one_or_many(shape), "tl.broadcast_to")
    fits = len(x.shape) == len(dims) and all(m in (1, n) for m, n in zip(x.shape, dims, strict=True))
    if x.shape and not fits:
        raise ShapeMismatch(f"tl.broadcast_to: {list(x.shape)} does not stretch to {list(dims)}")
    return x.stretched(dims)


@method
def expand_dims(input: Any, axis: Any) -> Tile:
    """`tl.expand_dims`."""
    x = to_tile(input)
    given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    rank = len(x.shape) + len(given)
    axes = {static_axis(one, rank, "tl.expand_dims") for one in given}
    if len(axes) != len(given):
        raise InvalidArgument(f"tl.expand_dims: the axes {given} contain one twice")
    rest = iter(x.shape)
    return x.reshaped(tuple(1 if position in axes else next(rest) for position in range(rank)))


@method
def reshape(input: Any, *shape: Any, can_reorder: Any = False) -> Tile:
    """`tl.reshape`; never reorders."""
    x = to_tile(input)
    dims = static_shape(_one_or_many(shape), "tl.reshape")
    count = 1
    for extent in dims:
        count *= extent
    if count != x.data.size:
        raise ShapeMismatch(f"tl.reshape: {list(x.shape)} has {x.data.size} elements, {list(dims)} has {count}")
    return x.reshaped(dims)


@method
def view(input: Any, *shape: Any) -> Tile:
    """`tl.view`."""
    return reshape(input, *shape)


@method
def ravel(x: Any, can_reorder: Any = False) -> Tile:
    """All elements in one axis, row-major."""
    value = to_tile(x)
    return value.reshaped((value.data.size,))


@method
def item(input: Any) -> Tile:
    """The element of a tile of one, as a scalar."""
    x = to_tile(input)
    if x.data.size != 1:
        raise ShapeMismatch(f"tl.item: {list(x.shape)} has {x.data.size} elements, [] has 1")
    return x.reshaped(())


@method
def permute(input: Any, *dims: Any) -> Tile:
    """`tl.permute`."""
    x = to_tile(input)
    order = tuple(static_axis(one, len(x.shape), "tl.permute") for one in _one_or_many(dims))
    if sorted(order) != list(range(len(x.shape))):
        raise InvalidArgument(f"tl.permute: {list(order)} is no permutation of the axes of {describe(x)}")
    return x.rearranged(lambda array: array.transpose(order))


@method
def trans(input: Any, *dims: Any) -> Tile:
    """`tl.trans`; without axes the last two are swapped."""
    x = to_tile(input)
    order = _one_or_many(dims)
    if order:
        return permute(x, *order)
    if len(x.shape) < 2:
        raise ShapeMismatch(f"tl.trans: rank 2 or more is needed, got {describe(x)}")
    return x.rearranged(lambda array: array.swapaxes(-1, -2))


@method
def flip(x: Any, dim: Any = None) -> Tile:
    """Elements in reverse along one axis, the last by default."""
    value = to_tile(x)
    if not value.shape:
        raise InvalidType(f"tl.flip takes tiles, got {describe(value)}")
    axis = static_axis(-1 if dim is None else dim, len(value.shape), "tl.flip")
    return value.rearranged(lambda array: np.flip(array, axis))


@method
def join(a: Any, b: Any) -> Tile:
    """Two tiles on a new last axis of extent 2."""
    x, y = to_tile(a), to_tile(b)
    shape = common_shape("tl.join", x, y)
    y = _read_as(x, y, "tl.join")
    x, y = x.stretched(shape), y.stretched(shape)
    region = x.region if x.region is y.region else None
    exact = None
    if x.exact is not None or y.exact is not None:
        exact = np.stack([without_width(x), without_width(y)], axis=-1)
    return Tile(np.stack([x.data, y.data], axis=-1), x.dtype, exact, region)


def _read_as(a: Tile, b: Tile, what: str) -> Tile:
    """`b` with `a`'s dtype, of which it may differ in the sign."""
    if a.dtype == b.dtype:
        return b
    if isinstance(a.dtype, DType) and isinstance(b.dtype, DType) and a.dtype.is_int() and b.dtype.is_int():
        if a.dtype.bits == b.dtype.bits:
            return to_dtype(b, a.dtype)
    raise DTypeMismatch(f"{what}: the tiles hold {describe(a)} and {describe(b)}", help="convert one of them")


@method
def split(a: Any) -> tuple[Tile, Tile]:
    """The two halves of a last axis of extent 2."""
    x = to_tile(a)
    if not x.shape or x.shape[-1] != 2:
        raise ShapeMismatch(f"tl.split: the last extent must be 2, got {describe(x)}")
    return x.rearranged(lambda array: array[..., 0]), x.rearranged(lambda array: array[..., 1])


@method
def interleave(a: Any, b: Any) -> Tile:
    """``a0 b0 a1 b1 ...`` along the last axis."""
    joined = join(a, b)
    shape = joined.shape
    if len(shape) == 1:
        return joined
    return joined.reshaped((*shape[:-2], 2 * shape[-2]))


def cat(input: Any, other: Any, can_reorder: Any = False, dim: Any = None) -> Tile:
    """Two tiles one behind the other."""
    a, b = to_tile(input), to_tile(other)
    if dim is not None:
        only_in_3_9("tl.cat: dim")
    if not a.shape or not b.shape:
        raise InvalidType(f"tl.cat takes tiles, got {describe(a if not a.shape else b)}")
    b = _read_as(a, b, "tl.cat")
    if a.shape != b.shape:
        raise ShapeMismatch(f"tl.cat: the tiles differ in shape, {list(a.shape)} and {list(b.shape)}")
    return behind(a, b, static_axis(dim or 0, len(a.shape), "tl.cat"))


def behind(a: Tile, b: Tile, axis: int) -> Tile:
    """Two tiles of one dtype, one behind the other along an axis."""
    exact = None
    if a.exact is not None or b.exact is not None:
        exact = np.concatenate([without_width(a), without_width(b)], axis=axis)
    region = a.region if a.region is b.region else None
    return Tile(np.concatenate([a.data, b.data], axis=axis), a.dtype, exact, region)
