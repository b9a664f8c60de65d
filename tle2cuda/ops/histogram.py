"""Counting how often each value occurs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tle2cuda.errors import DTypeMismatch, ShapeMismatch
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BOOL, I32
from tle2cuda.ops import core
from tle2cuda.ops.core import (
    builtin,
    emit_value,
    meaning,
    numeric,
    static_shape,
    tensor,
    tensor_member,
    unwrap,
)


@builtin
@tensor_member
def histogram(input: Any, num_bins: Any, mask: Any = None) -> tensor:
    """Counts of the values 0 to ``num_bins - 1``, an int32 tile of that length.

    Values outside are not counted, nor are masked-off elements.

    Args:
        input: Integer tile of rank 1.
        num_bins: A power of two (constexpr).
        mask: bool, broadcast to the shape of `input`.

    Raises:
        DTypeMismatch: Floats, or a mask that is not bool.
        ShapeMismatch: Another rank, or a mask that does not fit.

    Example:
        ``counts = tl.histogram(expert, NUM_EXPERTS, mask=i < n)``
    """
    what = "tl.histogram"
    x = numeric(input, what)
    if len(x.dims) != 1:
        raise ShapeMismatch(f"{what} takes a rank-1 tile, got {core.describe_type(x)}", facts=(core.fact("input", x),))
    if not core.dtype_of(x).is_int():
        raise DTypeMismatch(f"{what} takes integers, got {core.describe_type(x)}", facts=(core.fact("input", x),))
    if x.element is BOOL:
        x = core.cast(x, I32)
    (bins,) = static_shape((num_bins,), f"{what}: num_bins")
    operands = [x]
    if unwrap(mask) is not None:
        operands.append(mask_operand(mask, x.dims, what))
    attrs = {"bins": bins, "has_mask": len(operands) == 2}
    return emit_value("histogram", tuple(operands), I32, (bins,), attrs)


def mask_operand(mask: Any, dims: tuple[int, ...], what: str) -> tensor:
    """A mask as a bool value of shape `dims` (() for a scalar).

    Raises:
        DTypeMismatch: It is not bool.
        ShapeMismatch: It does not broadcast to `dims`.
    """
    value = core.to_tensor(mask)
    if value.element is not BOOL:
        raise DTypeMismatch(
            f"{what}: the mask must be bool (int1), got {core.describe_type(value)}",
            facts=(core.fact("mask", value),),
            help="compare it with something, such as mask != 0",
        )
    if core.broadcast_shape(value.dims, dims) != dims:
        if dims:
            problem = f"the mask of shape {core.dims_text(value.dims)} does not fit {core.dims_text(dims)}"
        else:
            problem = f"the mask must be a scalar, as the pointer is, got {core.describe_type(value)}"
        raise ShapeMismatch(
            f"{what}: {problem}",
            facts=(core.fact("mask", value),),
            help=f"give it shape {core.dims_text(dims)}, or extents of 1 there, which are repeated" if dims else "",
        )
    return core.stretch(value, dims) if dims else value


@meaning("histogram")
def _histogram(ctx: Any, op: Op, x: Any, mask: Any = None) -> Any:
    bins = op.attrs["bins"]
    values = np.asarray(x).astype(object if np.asarray(x).dtype == np.uint64 else np.int64)
    keep = (values >= 0) & (values < bins)
    if mask is not None:
        keep = keep & mask
    return np.bincount(values[keep].astype(np.int64), minlength=bins).astype(np.int32)
