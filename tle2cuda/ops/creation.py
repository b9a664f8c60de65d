"""Tiles out of nothing: ranges, splats, zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from tle2cuda.errors import InvalidArgument, InvalidType
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import I32, DType, dtype_of, shape_of
from tle2cuda.ops import core
from tle2cuda.ops.core import (
    builtin,
    constant,
    emit_value,
    is_literal,
    literal_dtype,
    meaning,
    resolve_scalar_dtype,
    static_int,
    static_shape,
    stretch,
    tensor,
    to_tensor,
    unwrap,
)
from tle2cuda.ops.numerics import as_values


@builtin
def arange(start: Any, end: Any) -> tensor:
    """The int32 tile ``[start, start + 1, ..., end - 1]``.

    Args:
        start: First value (constexpr).
        end: Value behind the last one (constexpr); ``end - start`` is a power of two.

    Raises:
        ConstexprRequired: A bound is a run-time value.
        InvalidArgument: The length is no power of two, or a bound does not fit int32.

    Example:
        ``offsets = tl.arange(0, BLOCK)``
    """
    first = static_int(start, "tl.arange: start")
    last = static_int(end, "tl.arange: end")
    if last <= first:
        raise InvalidArgument(f"tl.arange: end must be greater than start, got start {first} and end {last}")
    if first < -(2**31) or last > 2**31:
        raise InvalidArgument(f"tl.arange: the range {first} to {last} does not fit int32")
    length = last - first
    if length & (length - 1):
        raise InvalidArgument(
            f"tl.arange: the length must be a power of two, got {last} - {first} = {length}",
            help=f"use {1 << length.bit_length()} and mask what lies behind {last}",
        )
    core.check_tile_shape((length,), "tl.arange")
    return emit_value("arange", (), I32, (length,), {"start": first, "end": last})


@builtin
def full(shape: Any, value: Any, dtype: Any) -> tensor:
    """A tile whose every element is `value`.

    Args:
        shape: Extents, powers of two; ``()`` gives a scalar.
        value: Number or run-time scalar, converted to `dtype`.
        dtype: Element dtype.

    Raises:
        InvalidType: `value` is a tile.

    Example:
        ``best = tl.full((BLOCK,), float("-inf"), tl.float32)``
    """
    dims = static_shape(shape, "tl.full: shape")
    element = unwrap(dtype)
    if element is None:
        raise InvalidType("tl.full: dtype must be given when value is not a tensor")
    element = resolve_scalar_dtype(dtype, "tl.full")
    if is_literal(value):
        return constant(_literal_in(unwrap(value), element), element, dims)
    scalar = to_tensor(value)
    if not scalar.is_scalar:
        raise InvalidType(f"tl.full: value must be a scalar, got {core.describe_type(scalar)}")
    scalar = core.cast(scalar, element)
    return stretch(scalar, dims) if dims else scalar


def _literal_in(value: bool | int | float, dtype: DType) -> bool | int | float:
    """A number as a splat of `dtype`: integers wrap, floats truncate towards integers."""
    literal_dtype(value)  # refuses what no type of 64 bits holds
    if dtype.is_bool():
        return value != 0
    if dtype.is_floating():
        return float(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        raise InvalidArgument(f"tl.full: {value} has no value in {dtype.label}")
    low, high = core.integer_range(dtype)
    return (int(value) - low) % (high - low + 1) + low


@builtin
def zeros(shape: Any, dtype: Any) -> tensor:
    """A tile of zeros.

    Args:
        shape: Extents, powers of two; ``()`` gives a scalar.
        dtype: Element dtype.

    Example:
        ``acc = tl.zeros((M, N), tl.float32)``
    """
    dims = static_shape(shape, "tl.zeros: shape")
    return constant(0, resolve_scalar_dtype(dtype, "tl.zeros"), dims)


@builtin
def zeros_like(input: Any) -> tensor:
    """Zeros of the shape and dtype of `input`.

    Args:
        input: Tile or scalar that holds no pointers.

    Example:
        ``acc = tl.zeros_like(x)``
    """
    x = core.numeric(input, "tl.zeros_like")
    return constant(0, core.dtype_of(x), x.dims)


@meaning("constant")
def _constant(ctx: Any, op: Op) -> Any:
    type_ = op.result.type
    dtype = dtype_of(type_)
    value = op.attrs["value"]
    if not dtype.is_floating():
        return np.full(shape_of(type_), value, as_values(0, dtype).dtype)
    return as_values(np.full(shape_of(type_), value, np.float64), dtype)


@meaning("arange")
def _arange(ctx: Any, op: Op) -> Any:
    return np.arange(op.attrs["start"], op.attrs["end"], dtype=np.int32)


@meaning("splat")
def _splat(ctx: Any, op: Op, x: Any) -> Any:
    return np.broadcast_to(x, shape_of(op.result.type))
