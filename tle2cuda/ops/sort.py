"""Sorting along an axis, the first elements in order, and the last step of a bitonic sort."""

from __future__ import annotations

from typing import Any

import numpy as np

from tle2cuda.errors import InvalidArgument, InvalidType
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BOOL, F32, I32, dtype_of, shape_of
from tle2cuda.ops import core
from tle2cuda.ops.core import (
    builtin,
    emit_value,
    fact,
    meaning,
    static_axis,
    static_bool,
    static_int,
    tensor,
    tensor_member,
    to_tensor,
    unwrap,
)
from tle2cuda.ops.level import only_in_3_9
from tle2cuda.ops.numerics import Array, as_values, widen


def _operand(x: Any, dim: Any, what: str) -> tuple[tensor, int]:
    value = to_tensor(x)
    if value.is_pointer or not value.dims:
        raise InvalidType(f"{what} takes tiles of numbers, got {core.describe_type(value)}", facts=(fact("x", value),))
    return value, static_axis(-1 if unwrap(dim) is None else dim, len(value.dims), what)


def _emit(x: tensor, axis: int, extent: int, attrs: dict[str, bool]) -> tensor:
    dims = (*x.dims[:axis], extent, *x.dims[axis + 1 :])
    return emit_value("sort", (x,), x.element, dims, {"axis": axis, **attrs})


@builtin
@tensor_member
def sort(x: Any, dim: Any = None, descending: Any = False) -> tensor:
    """The elements along an axis in order. Equal elements cannot be told apart: there is no index.

    NaN, whatever its sign and payload, counts as greater than everything else and comes out as the positive quiet NaN;
    -0.0 counts as less than 0.0.

    Args:
        x: Tile of numbers of any dtype.
        dim: Axis, the last when None.
        descending: Greatest first.

    Raises:
        InvalidType: A scalar or a tile of pointers.
        InvalidArgument: No such axis.

    Example:
        ``ordered = tl.sort(keys, descending=True)``
    """
    value, axis = _operand(x, dim, "tl.sort")
    down = static_bool(descending, "tl.sort: descending")
    return _emit(value, axis, value.dims[axis], {"descending": down})


@builtin
@tensor_member
def topk(x: Any, k: Any, dim: Any = None, descending: Any = None) -> tensor:
    """The `k` greatest elements along an axis, greatest first; NaN as in `sort`.

    Args:
        x: Tile of numbers of any dtype.
        k: How many, a power of two up to the extent.
        dim: Axis, the last when None.
        descending: False gives the `k` least elements, least first. Only by the rules of Triton 3.9.

    Returns:
        A tile of `k` along the axis. As those of `tl.max`, elements of fewer than 32 bits become float32 or int32, unless
        `k` is the extent.

    Raises:
        InvalidType: A scalar or a tile of pointers.
        InvalidArgument: No such axis, or `k` does not fit.
        NotSupported: `descending` by the rules of Triton 3.6.

    Example:
        ``best = tl.topk(scores, 8)``
    """
    what = "tl.topk"
    value, axis = _operand(x, dim, what)
    if unwrap(descending) is None:
        descending = True
    else:
        only_in_3_9(f"{what}: descending")
    count = static_int(k, f"{what}: k")
    extent = value.dims[axis]
    if count < 1 or count > extent or count & (count - 1):
        raise InvalidArgument(
            f"{what}: k = {count} is no power of two from 1 to {extent}, the extent of axis {axis}",
            facts=(fact("x", value),),
            help="take the next power of two and mask what is too much" if 1 <= count <= extent else "",
        )
    found = _emit(value, axis, count, {"descending": static_bool(descending, f"{what}: descending")})
    dtype = dtype_of(value.value.type)
    if count == extent or dtype.bits >= 32:
        return found
    return core.cast(found, F32 if dtype.is_floating() else I32)  # Triton takes them out by `tl.max`


@builtin
@tensor_member
def bitonic_merge(x: Any, dim: Any = None, descending: Any = False) -> tensor:
    """Sorts along an axis what rises to some place and falls from there, or the other way round.

    The last step of a bitonic sort. Of anything else the result is what the network of comparisons makes of it: elements
    half the extent apart are put in order, then those a quarter of it, and so on. Order of NaN and -0.0 as in `sort`.

    Args:
        x: Tile of numbers of any dtype.
        dim: Axis, the last when None.
        descending: Greatest first.

    Raises:
        InvalidType: A scalar or a tile of pointers.
        InvalidArgument: No such axis.

    Example:
        ``ordered = tl.bitonic_merge(rising_then_falling)``
    """
    value, axis = _operand(x, dim, "tl.bitonic_merge")
    down = static_bool(descending, "tl.bitonic_merge: descending")
    return _emit(value, axis, value.dims[axis], {"descending": down, "merge": True})


# -- meaning ----------------------------------------------------------------------------------------


@meaning("sort")
def _sort(ctx: Any, op: Op, x: Any) -> Any:
    dtype, axis = dtype_of(op.result.type), op.attrs["axis"]
    keys = _ordered_integers(widen(x, dtype)) if dtype.is_floating() else np.asarray(x)
    if op.attrs.get("merge"):
        ordered = _merged(keys, axis, bool(op.attrs["descending"]))
    else:
        ordered = np.sort(keys, axis=axis)
        if op.attrs["descending"]:
            ordered = np.flip(ordered, axis)
        ordered = np.take(ordered, np.arange(shape_of(op.result.type)[axis]), axis)
    if dtype is BOOL or not dtype.is_floating():
        return ordered
    return as_values(_floats(ordered, widen(x, dtype).dtype), dtype)


def _ordered_integers(floats: Array) -> Array:
    """Integers that are ordered as floats are: -0.0 before 0.0, any NaN last."""
    kind = np.dtype(f"i{floats.dtype.itemsize}")
    bits = np.ascontiguousarray(floats).view(kind)
    largest = np.iinfo(kind).max
    return np.where(np.isnan(floats), largest, bits ^ ((bits >> (8 * kind.itemsize - 1)) & largest))


def _floats(keys: Array, kind: np.dtype[Any]) -> Array:
    largest = np.iinfo(keys.dtype).max
    bits = keys ^ ((keys >> (8 * keys.dtype.itemsize - 1)) & largest)
    return np.ascontiguousarray(bits).view(kind)


def _merged(keys: Array, axis: int, descending: bool) -> Array:
    """The comparisons of a bitonic merge, one distance after the other."""
    lines = np.moveaxis(keys, axis, -1)
    shape = lines.shape
    distance = shape[-1] // 2
    while distance:
        pairs = lines.reshape(*shape[:-1], -1, 2, distance)
        low, high = np.minimum(pairs[..., 0, :], pairs[..., 1, :]), np.maximum(pairs[..., 0, :], pairs[..., 1, :])
        lines = np.stack([high, low] if descending else [low, high], axis=-2).reshape(shape)
        distance //= 2
    return np.moveaxis(lines, -1, axis)
