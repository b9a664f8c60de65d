"""Elementwise functions of floats, and `abs`.

Accuracy in float32, as emitted: `exp` about 2 ulp plus the error of ``x * log2(e)``; `exp2`, `sqrt`,
`rsqrt` the hardware's approximations (at most 2 ulp, subnormals flushed); `log`, `log2`, `sin`, `cos`,
`erf` the CUDA math library's (1 to 2 ulp); `sqrt_rn`, `floor`, `ceil`, `abs` exact. float64 takes the CUDA
math library throughout. The meanings compute in float64 and round once.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Callable
from typing import Any

import numpy as np

from tle2cuda.errors import DTypeMismatch
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import F32, F64, dtype_of
from tle2cuda.ops import core
from tle2cuda.ops.arithmetic import emit_binary
from tle2cuda.ops.core import builtin, constant, emit_value, meaning, numeric, tensor, tensor_member
from tle2cuda.ops.numerics import as_values, round_or_keep


def _wide_float(x: Any, function: str) -> tensor:
    value = numeric(x, function)
    if value.element not in (F32, F64):
        raise DTypeMismatch(
            f"{function} takes float32 or float64, got {core.describe_type(value)}",
            facts=(core.fact("x", value),),
            help="convert first, x.to(tl.float32)",
        )
    return value


def _emit(fn: str, value: tensor) -> tensor:
    return emit_value("math", (value,), value.element, value.dims, {"fn": fn})


def _function(name: str, summary: str, example: str) -> Callable[[Any], tensor]:
    """A language function of one float32 or float64 argument that is one ``math`` operation."""

    @builtin
    def function(x: Any) -> tensor:
        return _emit(name, _wide_float(x, f"tl.{name}"))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{summary}\n\nArgs:\n    x: Tile, scalar or number, float32 or float64.\n\n"
        f"Raises:\n    DTypeMismatch: Another dtype; convert 16-bit floats first.\n\n"
        f"Example:\n    ``{example}``\n"
    )
    return tensor_member(function)


exp = _function("exp", "Elementwise e to the power of `x`.", "p = tl.exp(s - m)")
exp2 = _function("exp2", "Elementwise 2 to the power of `x`.", "p = tl.exp2(s - m)")
log = _function("log", "Elementwise natural logarithm.", "lse = m + tl.log(total)")
log2 = _function("log2", "Elementwise logarithm to base 2.", "bits = tl.log2(x)")
sin = _function("sin", "Elementwise sine of radians, full range.", "s = tl.sin(angle)")
cos = _function("cos", "Elementwise cosine of radians, full range.", "c = tl.cos(angle)")
sqrt = _function("sqrt", "Elementwise square root, approximate in float32.", "norm = tl.sqrt(total)")
rsqrt = _function("rsqrt", "Elementwise reciprocal square root, approximate.", "scale = tl.rsqrt(var + eps)")
sqrt_rn = _function("sqrt_rn", "Elementwise square root, rounded to nearest even.", "y = tl.sqrt_rn(x)")
erf = _function("erf", "Elementwise error function.", "gelu = 0.5 * x * (1.0 + tl.erf(x * 0.70710678))")
floor = _function("floor", "Elementwise largest integer not above `x`.", "lower = tl.floor(x)")
ceil = _function("ceil", "Elementwise smallest integer not below `x`.", "upper = tl.ceil(x)")


@builtin
@core.operator("abs")
def abs(x: Any) -> tensor:
    """Elementwise magnitude: floats lose their sign, signed integers wrap at the smallest value.

    Args:
        x: Tile, scalar or number of any numeric dtype.

    Raises:
        DTypeMismatch: Pointers.

    Example:
        ``largest = tl.max(tl.abs(x), axis=0)``
    """
    value = numeric(x, "tl.abs")
    dtype = core.dtype_of(value)
    if dtype.is_int_unsigned():
        return value
    if dtype.is_fp8():
        return core.cast(_emit("abs", core.cast(value, F32)), dtype)
    return _emit("abs", value)


tensor_member(abs)


@builtin
@tensor_member
def sigmoid(x: Any) -> tensor:
    """Elementwise ``1 / (1 + exp(-x))``.

    Args:
        x: Tile, scalar or number, float32 or float64.

    Raises:
        DTypeMismatch: Another dtype; convert 16-bit floats first.

    Example:
        ``silu = x * tl.sigmoid(x)``
    """
    value = _wide_float(x, "tl.sigmoid")
    dtype = core.dtype_of(value)
    one = constant(1.0, dtype, value.dims)
    falling = _emit("exp", emit_binary("sub", constant(0.0, dtype, value.dims), value))
    return emit_binary("div", one, emit_binary("add", one, falling), {"rounding": "approx"})


# -- meanings ---------------------------------------------------------------------------------------


MATH_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "sqrt_rn": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "erf": np.vectorize(python_math.erf, otypes=[np.float64]),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "abs": np.abs,
}
"""Names of the ``math`` operation and their meaning on float64."""


@meaning("math")
def _math(ctx: Any, op: Op, x: Any) -> Any:
    dtype = dtype_of(op.result.type)
    if not dtype.is_floating():
        with np.errstate(over="ignore"):
            return as_values(np.abs(x), dtype)
    with np.errstate(all="ignore"):
        wide = np.asarray(MATH_FUNCTIONS[op.attrs["fn"]](np.asarray(x).astype(np.float64)))
        return round_or_keep(wide, dtype)
