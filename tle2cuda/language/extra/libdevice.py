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
_INSTEAD = {
    **dict.fromkeys(("exp", "fast_expf"), "use tl.exp"),
    "exp2": "use tl.exp2",
    "exp10": "use tl.exp2(x * 3.321928094887362)",
    "fast_logf": "use tl.log",
    "log10": "use tl.log2(x) * 0.3010299956639812",
    "fast_sinf": "use tl.sin",
    "fast_cosf": "use tl.cos",
    "tan": "use tl.sin(x) / tl.cos(x)",
    "fast_dividef": "use / or tl.fdiv",
    "pow": "use tl.exp2(y * tl.log2(x)) for positive x, or repeated *",
    "isnan": "use x != x",
    "isinf": "use tl.abs(x) == float('inf')",
    **dict.fromkeys(("finitef", "isfinited"), "use tl.abs(x) < float('inf')"),
    "fmod": "use %",
    "rsqrt_rn": "use tl.div_rn(1.0, tl.sqrt_rn(x)), which rounds twice",
    "float2int_rn": "use libdevice.rint(x).to(tl.int32)",
    "int2float_rn": "use x.to(tl.float32)",
    "add_rn": "use +; enable_fp_fusion=False keeps it from being fused",
    "mul_rn": "use *; enable_fp_fusion=False keeps it from being fused",
    "erfc": "use 1.0 - tl.erf(x)",
    "copysign": "use tl.where(y < 0, -tl.abs(x), tl.abs(x)), which takes -0.0 for positive",
    "hypot": "use tl.sqrt(x * x + y * y)",
    "ldexp": "use x * tl.exp2(n.to(tl.float32))",
}
_OTHERS = "comes in a later version; write it with tl.exp, tl.log, tl.sqrt, tl.sin and tl.cos"


def __getattr__(name: str) -> Any:
    if name in _KNOWN_MISSING:
        return unsupported(f"libdevice.{name}", _INSTEAD.get(name, _OTHERS))
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
