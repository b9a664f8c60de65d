"""Scans along an axis: `tl.cumsum`, `tl.cumprod`, `tl.associative_scan`, and TLE's exclusive `tle.cumsum`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tle2cuda.errors import InvalidArgument, ShapeMismatch
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Op, Region
from tle2cuda.ir.types import BF16, BOOL, F32, I32, I64, DType, dtype_of
from tle2cuda.ops import core
from tle2cuda.ops.combine import accumulate_along, combine_region, known_kind, scan_by_doubling, tile_operands
from tle2cuda.ops.core import (
    builtin,
    constant,
    meaning,
    resolve_scalar_dtype,
    static_axis,
    static_bool,
    static_int,
    tensor,
    tensor_member,
    unwrap,
)
from tle2cuda.ops.numerics import as_values, widen
from tle2cuda.ops.overflow import check_total, is_checked
from tle2cuda.ops.reduction import sum_dtype


def _emit_scan(
    inputs: tuple[tensor, ...],
    axis: Any,
    kind: str,
    reverse: Any,
    what: str,
    regions: tuple[Region, ...] = (),
) -> tuple[tensor, ...]:
    attrs: dict[str, Any] = {
        "axis": static_axis(axis, len(inputs[0].dims), what),
        "kind": kind,
        "reverse": static_bool(reverse, f"{what}: reverse"),
    }
    if kind in ("max", "min"):
        attrs["nan"] = "ignore"
    values = tuple(x.value for x in inputs)
    results = builder.current().emit("scan", values, tuple(v.type for v in values), attrs, regions)
    return tuple(tensor(result) for result in results)


def _scan_dtype(dtype: DType) -> DType:
    return F32 if dtype is BF16 and not builder.reads_3_9() else sum_dtype(dtype)


@builtin
@tensor_member
def cumsum(input: Any, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> tensor:
    """Inclusive prefix sums along an axis.

    Integers and bool below 32 bits become int32 or uint32, bfloat16 float32; float16 stays.

    Args:
        input: Tile.
        axis: Axis to run along.
        reverse: Sum from the end.
        dtype: Convert to this dtype before summing.

    Raises:
        InvalidType: A scalar.
        InvalidArgument: No such axis.

    Example:
        ``ends = tl.cumsum(counts, axis=0)``
    """
    (x,) = tile_operands((input,), "tl.cumsum")
    own = core.dtype_of(x)
    wanted = _scan_dtype(own) if unwrap(dtype) is None else resolve_scalar_dtype(dtype, "tl.cumsum")
    if wanted.is_fp8():
        return core.cast(cumsum(x, axis, reverse, F32), wanted)
    return _checked_scan(core.cast(x, wanted), axis, "sum", reverse, "tl.cumsum")


def _checked_scan(x: tensor, axis: Any, kind: str, reverse: Any, what: str) -> tensor:
    """A scan of one tile; in debug builds every prefix of integers is asserted to fit."""
    dtype = core.dtype_of(x)
    if is_checked(dtype):
        wide = _emit_scan((core.cast(x, I64),), axis, kind, reverse, what)[0]
        check_total(wide, dtype, "add" if kind == "sum" else "mul")
    return _emit_scan((x,), axis, kind, reverse, what)[0]


@builtin
@tensor_member
def cumprod(input: Any, axis: Any = 0, reverse: Any = False) -> tensor:
    """Inclusive prefix products along an axis; bfloat16 becomes float32.

    Args:
        input: Tile.
        axis: Axis to run along.
        reverse: Multiply from the end.

    Raises:
        InvalidType: A scalar.
        InvalidArgument: No such axis.

    Example:
        ``transmittance = tl.cumprod(1.0 - alpha, axis=0)``
    """
    (x,) = tile_operands((input,), "tl.cumprod")
    dtype = core.dtype_of(x)
    if dtype.is_fp8() or dtype is BOOL:
        wide = core.cast(x, F32 if dtype.is_fp8() else I32)
        return core.cast(_emit_scan((wide,), axis, "prod", reverse, "tl.cumprod")[0], dtype)
    if dtype is BF16 and not builder.reads_3_9():
        x = core.cast(x, F32)
    return _checked_scan(x, axis, "prod", reverse, "tl.cumprod")


@builtin
@tensor_member
def associative_scan(input: Any, axis: Any, combine_fn: Any, reverse: Any = False) -> Any:
    """Inclusive scan with a function of yours.

    Args:
        input: Tile, or tuple of tiles of one shape.
        axis: Axis to run along.
        combine_fn: Jit function of scalars (a..., b...), a being the result so far, that returns as many
            scalars of the same dtypes as there are tiles. It must be associative; it need not be
            commutative.
        reverse: Run from the end.

    Returns:
        A tile, or a tuple of them for a tuple.

    Raises:
        InvalidType: Scalars, or another number of results.
        DTypeMismatch: Results of other dtypes.

    Example:
        ``h = tl.associative_scan((decay, value), 0, affine_combine)``
    """
    what = "tl.associative_scan"
    inputs = tile_operands(input, what)
    kind = known_kind(combine_fn, inputs)
    regions = () if kind else (combine_region(combine_fn, inputs, what),)
    results = _emit_scan(inputs, axis, kind or "custom", reverse, what, regions)
    return results if isinstance(unwrap(input), (tuple, list)) else results[0]


@builtin
def exclusive_cumsum(input: Any, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> tuple[tensor, tensor]:
    """`tle.cumsum`: the sums before each element, and the total.

    Args:
        input: Tile of rank 1, or a scalar, which gives (0, input).
        axis: 0 or -1.
        reverse: Sum the elements behind instead.
        dtype: dtype of both results; otherwise integers and bool below 32 bits become int32 or uint32,
        bfloat16
            float32.

    Returns:
        Tile of exclusive sums, and the total as a scalar.

    Raises:
        ShapeMismatch: A tile of another rank.
        InvalidArgument: Another axis.

    Example:
        ``above, total = tle.cumsum(counts, axis=0, reverse=True)``
    """
    what = "tle.cumsum"
    position = static_int(axis, f"{what}: axis")
    backwards = static_bool(reverse, f"{what}: reverse")
    x = core.numeric(input, what)
    wanted = unwrap(dtype)
    target = _scan_dtype(core.dtype_of(x)) if wanted is None else resolve_scalar_dtype(wanted, what)
    if not x.dims:
        x = x if wanted is None else core.cast(x, target)
        return constant(0, core.dtype_of(x)), x
    if len(x.dims) != 1:
        raise ShapeMismatch(f"{what} takes a rank-1 tile, got {core.describe_type(x)}", facts=(core.fact("input", x),))
    if position not in (0, -1):
        raise InvalidArgument(f"{what}: only axis=0 is possible for a rank-1 tile, got axis={position}")
    if target.is_fp8():
        before, total = exclusive_cumsum(x, 0, backwards, F32)
        return core.cast(before, target), core.cast(total, target)
    x = core.cast(x, target)
    before_value, total_value = builder.current().emit(
        "exclusive_sum", (x.value,), (x.value.type, target), {"reverse": backwards}
    )
    return tensor(before_value), tensor(total_value)


# -- meanings ---------------------------------------------------------------------------------------


@meaning("scan")
def _scan(ctx: Any, op: Op, *inputs: Any) -> Any:
    kind, axis, reverse = op.attrs["kind"], op.attrs["axis"], op.attrs.get("reverse", False)
    if kind == "custom":
        values = scan_by_doubling(lambda args: ctx.call_region(op.regions[0], args), inputs, axis, reverse)
        return values if len(values) > 1 else values[0]
    x = np.flip(inputs[0], axis) if reverse else inputs[0]
    dtype = dtype_of(op.results[0].type)
    result = accumulate_along(kind, op.attrs.get("nan", "ignore"), x, dtype, axis, scan=True)
    return np.flip(result, axis) if reverse else result


@meaning("exclusive_sum")
def _exclusive_sum(ctx: Any, op: Op, x: Any) -> Any:
    dtype = dtype_of(op.results[0].type)
    wide = widen(x, dtype)
    if op.attrs.get("reverse", False):
        wide = wide[::-1]
    with np.errstate(all="ignore"):
        inclusive = np.add.accumulate(wide, dtype=wide.dtype)
    before = np.concatenate([np.zeros(1, wide.dtype), inclusive[:-1]])
    if op.attrs.get("reverse", False):
        before = before[::-1]
    return as_values(before, dtype), as_values(inclusive[-1], dtype)
