"""Minimum, maximum and clamp: which dtype they compute in, and what they make of NaN."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from tle2cuda.errors import DTypeMismatch, InvalidArgument
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BF16, BOOL, F32, DType, dtype_of
from tle2cuda.ops import core
from tle2cuda.ops.arithmetic import emit_binary
from tle2cuda.ops.core import builtin, emit_value, meaning, numeric, tensor
from tle2cuda.ops.numerics import Array, as_values, widen


class PropagateNan(Enum):
    """What minimum, maximum and clamp make of a NaN operand."""

    NONE = "ignore"
    ALL = "propagate"


def nan_mode(propagate_nan: Any, function: str) -> str:
    """``ignore`` or ``propagate`` from a `PropagateNan`."""
    value = core.static_value(propagate_nan, f"{function}: propagate_nan")
    name = getattr(value, "name", value)
    if name not in ("NONE", "ALL"):
        raise InvalidArgument(f"{function}: propagate_nan must be a tl.PropagateNan, got {value!r}")
    return "propagate" if name == "ALL" else "ignore"


def _without_bf16(x: Any, what: str) -> tensor:
    value = numeric(x, what)
    return core.cast(value, F32) if value.element is BF16 else value


def _compared(operands: tuple[Any, ...], what: str) -> tuple[tensor, ...]:
    """Operands of a minimum, maximum or clamp in their common dtype and shape.

    By the rules of Triton 3.6 bfloat16 computes in float32 and numbers are int32 or float32; by those of 3.9 bfloat16 is
    kept and numbers adapt.
    """
    if builder.reads_3_9():
        return core.operands_with_weak(operands, what)
    return core.operands_in_common(tuple(_without_bf16(x, what) for x in operands), what)


def _extremum(op: str, x: Any, y: Any, propagate_nan: Any) -> tensor:
    what = f"tl.{'minimum' if op == 'min' else 'maximum'}"
    mode = nan_mode(propagate_nan, what)
    a, b = _compared((x, y), what)
    if a.element is BOOL:
        return emit_value("and" if op == "min" else "or", (a, b), BOOL, a.dims)
    return emit_binary(op, a, b, {"nan": mode})


@builtin
def minimum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
    """Elementwise minimum. bfloat16 computes in float32, numbers count as int32 or float32.

    Args:
        x: Tile, scalar or number.
        y: As `x`.
        propagate_nan: ``tl.PropagateNan.NONE`` returns the other operand for a NaN, ``ALL`` the NaN.

    Raises:
        DTypeMismatch: Pointers, or dtypes without a common one.

    Example:
        ``last = tl.minimum(first + BLOCK, n)``
    """
    return _extremum("min", x, y, propagate_nan)


@builtin
def maximum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
    """Elementwise maximum; see `minimum`.

    Args:
        x: Tile, scalar or number.
        y: As `x`.
        propagate_nan: ``tl.PropagateNan.NONE`` returns the other operand for a NaN, ``ALL`` the NaN.

    Raises:
        DTypeMismatch: Pointers, or dtypes without a common one.

    Example:
        ``y = tl.maximum(x, 0.0)``
    """
    return _extremum("max", x, y, propagate_nan)


@builtin
def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = PropagateNan.NONE) -> tensor:
    """``min(max(x, min), max)`` of floats.

    Args:
        x: Tile or scalar of floats.
        min: Lower bound; above `max` the result is undefined.
        max: Upper bound.
        propagate_nan: With ``NONE`` a NaN in `x` gives `min`, with ``ALL`` NaN.

    Raises:
        DTypeMismatch: The common dtype is no float.

    Example:
        ``y = tl.clamp(x, -448.0, 448.0)``
    """
    what = "tl.clamp"
    mode = nan_mode(propagate_nan, what)
    value, low, high = _compared((x, min, max), what)
    dtype = core.dtype_of(value)
    if not dtype.is_floating():
        raise DTypeMismatch(
            f"tl.clamp takes floats, got {core.describe(x)}",
            help="use tl.minimum(tl.maximum(x, low), high) for integers",
        )
    raised = emit_binary("max", value, low, {"nan": mode})
    return emit_binary("min", raised, high, {"nan": mode})


def extremum(kind: str, nan: str, a: Any, b: Any, dtype: DType) -> Array:
    """Elementwise min or max; `nan` is ``ignore`` or ``propagate``."""
    if not dtype.is_floating():
        return np.asarray((np.minimum if kind == "min" else np.maximum)(a, b))
    x, y = widen(a, dtype), widen(b, dtype)
    functions = {
        ("min", "ignore"): np.fmin,
        ("max", "ignore"): np.fmax,
        ("min", "propagate"): np.minimum,
        ("max", "propagate"): np.maximum,
    }
    with np.errstate(invalid="ignore"):
        result = functions[kind, nan](x, y)
        # PTX ISA, min and max: -0.0 < +0.0. NumPy returns either.
        zero = x + y if kind == "max" else -(-x - y)
        return as_values(np.where((x == 0) & (y == 0), zero, result), dtype)


@meaning("min")
def _min(ctx: Any, op: Op, a: Any, b: Any) -> Any:
    return extremum("min", op.attrs.get("nan", "ignore"), a, b, dtype_of(op.result.type))


@meaning("max")
def _max(ctx: Any, op: Op, a: Any, b: Any) -> Any:
    return extremum("max", op.attrs.get("nan", "ignore"), a, b, dtype_of(op.result.type))
