"""Reductions along an axis, or of a whole tile, and softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tle2cuda.errors import DTypeMismatch
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Op, Region
from tle2cuda.ir.types import BF16, BOOL, F32, I32, I64, U32, DType, dtype_of, with_shape
from tle2cuda.ops import core
from tle2cuda.ops.arithmetic import fdiv, sub_operator
from tle2cuda.ops.combine import accumulate_along, combine_region, known_kind, reduce_pairwise, tile_operands
from tle2cuda.ops.core import (
    builtin,
    emit_value,
    meaning,
    numeric,
    resolve_scalar_dtype,
    static_axis,
    static_bool,
    stretch,
    tensor,
    tensor_member,
    unwrap,
)
from tle2cuda.ops.math import exp
from tle2cuda.ops.overflow import check_total, is_checked
from tle2cuda.ops.shape import reshape


def emit_reduce(
    inputs: Sequence[tensor],
    axis: Any,
    kind: str,
    what: str,
    *,
    keep_dims: Any = False,
    nan: str = "ignore",
    tie_left: bool = True,
    regions: tuple[Region, ...] = (),
) -> tuple[tensor, ...]:
    """Emits a ``reduce`` of tiles of one shape; axis None reduces all elements, row-major."""
    keep = static_bool(keep_dims, f"{what}: keep_dims")
    dims = inputs[0].dims
    rank = len(dims)
    rest: tuple[int, ...] = ()
    if unwrap(axis) is None:
        if rank > 1:
            flat = (core.num_elements(dims),)
            inputs = tuple(emit_value("reshape", (x,), x.element, flat) for x in inputs)
        position, kept_dims = 0, (1,) * rank
    else:
        position = static_axis(axis, rank, what)
        kept_dims = (*dims[:position], 1, *dims[position + 1 :])
        rest = (*dims[:position], *dims[position + 1 :])
    if inputs[0].dims[position] == 1:
        shape = kept_dims if keep else rest
        return tuple(reshape(x, shape) for x in inputs)
    attrs: dict[str, Any] = {"axis": position, "kind": kind}
    if kind in ("max", "min"):
        attrs["nan"] = nan
    if kind in ("argmax", "argmin"):
        attrs["tie_left"] = tie_left
    results = builder.current().emit(
        "reduce",
        tuple(x.value for x in inputs),
        tuple(with_shape(x.element, rest) for x in inputs),
        attrs,
        regions,
    )
    values = tuple(tensor(result) for result in results)
    if not keep:
        return values
    if not rest:
        return tuple(stretch(value, kept_dims) for value in values)
    return tuple(emit_value("expand_dims", (value,), value.element, kept_dims, {"axis": position}) for value in values)


def sum_dtype(dtype: DType) -> DType:
    """The dtype in which integers narrower than 32 bits are summed; other dtypes unchanged."""
    if dtype.is_int_signed():
        return I32 if dtype.bits < 32 else dtype
    if dtype.is_int_unsigned():
        return U32 if dtype.bits < 32 else dtype
    return dtype


def _one_tile(input: Any, what: str) -> tensor:
    (x,) = tile_operands((input,), what)
    return x


@builtin
@tensor_member
def sum(input: Any, axis: Any = None, keep_dims: Any = False, dtype: Any = None) -> tensor:
    """Sum along an axis. Integers and bool below 32 bits are summed as int32 or uint32.

    Args:
        input: Tile.
        axis: Axis to remove, None for all.
        keep_dims: Keep the axis with extent 1.
        dtype: Convert to this dtype before summing.

    Raises:
        InvalidType: A scalar.
        InvalidArgument: No such axis.

    Example:
        ``total = tl.sum(x, axis=0)``
    """
    x = _one_tile(input, "tl.sum")
    own = core.dtype_of(x)
    wanted = sum_dtype(own) if unwrap(dtype) is None else resolve_scalar_dtype(dtype, "tl.sum")
    if wanted.is_fp8():
        return core.cast(sum(x, axis, keep_dims, F32), wanted)
    summands = core.cast(x, wanted)
    if is_checked(wanted):
        wide = emit_reduce((core.cast(summands, I64),), axis, "sum", "tl.sum", keep_dims=keep_dims)[0]
        check_total(wide, wanted, "add")
    return emit_reduce((summands,), axis, "sum", "tl.sum", keep_dims=keep_dims)[0]


def _extremum(
    kind: str, input: Any, axis: Any, return_indices: Any, tie_left: Any, keep_dims: Any
) -> tensor | tuple[tensor, tensor]:
    what = f"tl.{kind}"
    x = _one_tile(input, what)
    if static_bool(return_indices, f"{what}: return_indices"):
        tie = static_bool(tie_left, f"{what}: return_indices_tie_break_left")
        return _with_index(kind, x, axis, tie, keep_dims, what)
    dtype = core.dtype_of(x)
    if dtype.bits < 32:
        x = core.cast(x, F32 if dtype.is_floating() else I32)
    return emit_reduce((x,), axis, kind, what, keep_dims=keep_dims)[0]


def _with_index(kind: str, x: tensor, axis: Any, tie_left: bool, keep_dims: Any, what: str) -> tuple[tensor, tensor]:
    dtype = core.dtype_of(x)
    if (dtype is BF16 and not builder.reads_3_9()) or dtype.is_fp8():
        x = core.cast(x, F32)
    elif dtype is BOOL:
        x = core.cast(x, I32)
    rank = len(x.dims)
    if unwrap(axis) is None:
        count = core.num_elements(x.dims)
        index = emit_value("arange", (), I32, (count,), {"start": 0, "end": count})
        if rank > 1:
            index = emit_value("reshape", (index,), I32, x.dims)
    else:
        position = static_axis(axis, rank, what)
        extent = x.dims[position]
        index = emit_value("arange", (), I32, (extent,), {"start": 0, "end": extent})
        for _ in range(rank - 1 - position):
            index = emit_value("expand_dims", (index,), I32, (*index.dims, 1), {"axis": len(index.dims)})
        index = stretch(index, x.dims)
    value, where = emit_reduce((x, index), axis, f"arg{kind}", what, keep_dims=keep_dims, tie_left=tie_left)
    return (core.cast(value, dtype) if dtype.is_fp8() or dtype is BOOL else value), where


@builtin
@tensor_member
def max(
    input: Any,
    axis: Any = None,
    return_indices: Any = False,
    return_indices_tie_break_left: Any = True,
    keep_dims: Any = False,
) -> Any:
    """Maximum along an axis, NaN ignored. Dtypes below 32 bits become float32 or int32.

    Args:
        input: Tile.
        axis: Axis to remove, None for all.
        return_indices: Return (maximum, int32 index) instead; the dtype is kept, except bfloat16.
        return_indices_tie_break_left: Of equal elements, take the first index.
        keep_dims: Keep the axis with extent 1.

    Raises:
        InvalidType: A scalar.
        InvalidArgument: No such axis.

    Example:
        ``m = tl.max(x, axis=1)``
    """
    return _extremum("max", input, axis, return_indices, return_indices_tie_break_left, keep_dims)


@builtin
@tensor_member
def min(
    input: Any,
    axis: Any = None,
    return_indices: Any = False,
    return_indices_tie_break_left: Any = True,
    keep_dims: Any = False,
) -> Any:
    """Minimum along an axis; see `max`.

    Args:
        input: Tile.
        axis: Axis to remove, None for all.
        return_indices: Return (minimum, int32 index) instead; the dtype is kept, except bfloat16.
        return_indices_tie_break_left: Of equal elements, take the first index.
        keep_dims: Keep the axis with extent 1.

    Raises:
        InvalidType: A scalar.
        InvalidArgument: No such axis.

    Example:
        ``nearest = tl.min(distance, axis=0)``
    """
    return _extremum("min", input, axis, return_indices, return_indices_tie_break_left, keep_dims)


@builtin
@tensor_member
def argmax(input: Any, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> tensor:
    """Index of the maximum along an axis, int32.

    Args:
        input: Tile.
        axis: Axis to remove; None gives the row-major index in the whole tile.
        tie_break_left: Of equal elements, take the first index.
        keep_dims: Keep the axis with extent 1.

    Raises:
        InvalidType: A scalar.
        InvalidArgument: No such axis.

    Example:
        ``best = tl.argmax(scores, axis=0)``
    """
    tie = static_bool(tie_break_left, "tl.argmax: tie_break_left")
    return _with_index("max", _one_tile(input, "tl.argmax"), axis, tie, keep_dims, "tl.argmax")[1]


@builtin
@tensor_member
def argmin(input: Any, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> tensor:
    """Index of the minimum along an axis, int32; see `argmax`.

    Args:
        input: Tile.
        axis: Axis to remove; None gives the row-major index in the whole tile.
        tie_break_left: Of equal elements, take the first index.
        keep_dims: Keep the axis with extent 1.

    Raises:
        InvalidType: A scalar.
        InvalidArgument: No such axis.

    Example:
        ``closest = tl.argmin(distance, axis=0)``
    """
    tie = static_bool(tie_break_left, "tl.argmin: tie_break_left")
    return _with_index("min", _one_tile(input, "tl.argmin"), axis, tie, keep_dims, "tl.argmin")[1]


def _bitwise(kind: str, input: Any, axis: Any, keep_dims: Any, what: str) -> tensor:
    x = _one_tile(input, what)
    if not core.dtype_of(x).is_int():
        raise DTypeMismatch(f"{what} takes integers or bool, got {core.describe_type(x)}", facts=(core.fact("input", x),))
    return emit_reduce((x,), axis, kind, what, keep_dims=keep_dims)[0]


@builtin
@tensor_member
def xor_sum(input: Any, axis: Any = None, keep_dims: Any = False) -> tensor:
    """Exclusive or along an axis.

    Args:
        input: Tile of integers or bool.
        axis: Axis to remove, None for all.
        keep_dims: Keep the axis with extent 1.

    Raises:
        DTypeMismatch: Floats.

    Example:
        ``parity = tl.xor_sum(bits, axis=0)``
    """
    return _bitwise("xor", input, axis, keep_dims, "tl.xor_sum")


@builtin
@tensor_member
def reduce_or(input: Any, axis: Any, keep_dims: Any = False) -> tensor:
    """Bitwise or along an axis; of bool, whether any holds.

    Args:
        input: Tile of integers or bool.
        axis: Axis to remove, None for all.
        keep_dims: Keep the axis with extent 1.

    Raises:
        DTypeMismatch: Floats.

    Example:
        ``found = tl.reduce_or(hit, axis=0)``
    """
    return _bitwise("or", input, axis, keep_dims, "tl.reduce_or")


@builtin
@tensor_member
def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False) -> Any:
    """Reduction with a function of yours.

    Args:
        input: Tile, or tuple of tiles of one shape.
        axis: Axis to remove, None for all elements in row-major order.
        combine_fn: Jit function of scalars (a..., b...) that returns as many scalars of the same dtypes
            as there are tiles. It must be associative and commutative.
        keep_dims: Keep the axis with extent 1.

    Returns:
        A tile (scalar for rank 1), or a tuple of them for a tuple.

    Raises:
        InvalidType: Scalars, or another number of results.
        DTypeMismatch: Results of other dtypes.

    Example:
        ``mean, m2, weight = tl.reduce((mean, m2, weight), 0, welford_combine)``
    """
    what = "tl.reduce"
    inputs = tile_operands(input, what)
    kind = known_kind(combine_fn, inputs)
    regions = () if kind else (combine_region(combine_fn, inputs, what),)
    results = emit_reduce(inputs, axis, kind or "custom", what, keep_dims=keep_dims, regions=regions)
    return results if isinstance(unwrap(input), (tuple, list)) else results[0]


@builtin
@tensor_member
def softmax(x: Any, dim: Any = None, keep_dims: Any = False, ieee_rounding: Any = False) -> tensor:
    """``exp(x - max) / sum(exp(x - max))`` along an axis; the shape is that of `x`.

    Args:
        x: Tile of floats; 16-bit floats give float32.
        dim: Axis, the first when None.
        keep_dims: No effect by the rules of Triton 3.9. By those of 3.6, False leaves the axis out of the maxima and
            sums that are broadcast again, which is right for the first axis only.
        ieee_rounding: As in `tl.fdiv`.

    Raises:
        DTypeMismatch: Integers.

    Example:
        ``p = tl.softmax(scores)``
    """
    value = numeric(x, "tl.softmax")
    if not core.dtype_of(value).is_floating():
        raise DTypeMismatch(f"tl.softmax takes floats, got {core.describe_type(value)}")
    keep = core.static_bool(keep_dims, "tl.softmax: keep_dims") or builder.reads_3_9()
    axis = 0 if core.unwrap(dim) is None else dim
    if not keep and len(value.dims) > 1 and static_axis(axis, len(value.dims), "tl.softmax") != 0:
        builder.warn(f"tl.softmax along axis {unwrap(axis)} broadcasts along another one: write keep_dims=True")
    shifted = sub_operator(value, max(value, axis, keep_dims=keep))
    numerator = exp(shifted)
    return fdiv(numerator, sum(numerator, axis, keep_dims=keep), ieee_rounding)


# -- meaning ----------------------------------------------------------------------------------------


@meaning("reduce")
def _reduce(ctx: Any, op: Op, *inputs: Any) -> Any:
    kind, axis = op.attrs["kind"], op.attrs["axis"]
    if kind in ("argmax", "argmin"):
        return _arg_reduce(kind, inputs[0], inputs[1], axis, op.attrs.get("tie_left", True))
    if kind == "custom":
        values = reduce_pairwise(lambda args: ctx.call_region(op.regions[0], args), inputs, axis)
        return values if len(values) > 1 else values[0]
    dtype = dtype_of(op.results[0].type)
    return accumulate_along(kind, op.attrs.get("nan", "ignore"), inputs[0], dtype, axis, scan=False)


def _arg_reduce(kind: str, values: Any, indices: Any, axis: int, tie_left: bool) -> tuple[Any, Any]:
    """NaN loses against everything; of a tie, the smallest or largest index."""
    wide = np.asarray(values)
    if wide.dtype.kind not in "iub":
        wide = wide.astype(np.float64)
    pick = np.fmax if kind == "argmax" else np.fmin
    best = np.expand_dims(pick.reduce(wide, axis=axis), axis)
    hit = (wide == best) | (best != best)
    if tie_left:
        where = np.where(hit, indices, np.iinfo(np.int32).max).min(axis=axis)
    else:
        where = np.where(hit, indices, np.iinfo(np.int32).min).max(axis=axis)
    return np.squeeze(best, axis).astype(np.asarray(values).dtype), where.astype(np.int32)
