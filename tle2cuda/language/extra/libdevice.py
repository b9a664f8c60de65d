"""`libdevice`: functions of the CUDA math library; those missing here raise a clear error when called."""

from __future__ import annotations

from typing import Any

from tle2cuda.ops.arithmetic import div_rn, fma
from tle2cuda.ops.copy import unsupported
from tle2cuda.ops.math import (
    abs,
    ceil,
    cos,
    erf,
    expm1,
    floor,
    log,
    log1p,
    log2,
    rint,
    round,
    rsqrt,
    sin,
    sqrt_rn,
    tanh,
    trunc,
)

nearbyint = rint
sqrt = sqrt_rn

_KNOWN_MISSING = (
    *("acos", "acosh", "add_rn", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cosh"),
    *("erfc", "erfinv", "exp", "exp10", "exp2", "fast_cosf", "fast_dividef", "fast_expf", "fast_logf"),
    *("fast_sinf", "finitef", "float2int_rn", "fmod", "hypot", "ilogb", "int2float_rn", "isfinited"),
    *("isinf", "isnan", "ldexp", "lgamma", "log10", "mul_rn", "pow", "rsqrt_rn", "sinh", "tan", "tgamma"),
)


def __getattr__(name: str) -> Any:
    if name in _KNOWN_MISSING:
        return unsupported(f"libdevice.{name}")
    raise AttributeError(f"libdevice has no function {name!r}")


__all__ = [
    "abs",
    "ceil",
    "cos",
    "div_rn",
    "erf",
    "expm1",
    "floor",
    "fma",
    "log",
    "log1p",
    "log2",
    "nearbyint",
    "rint",
    "round",
    "rsqrt",
    "sin",
    "sqrt",
    "sqrt_rn",
    "tanh",
    "trunc",
]
