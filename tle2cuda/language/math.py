"""`tl.math`: elementwise mathematics under its second name."""

from tle2cuda.ops.arithmetic import cdiv, div_rn, fdiv, fma, umulhi
from tle2cuda.ops.extrema import clamp, maximum, minimum
from tle2cuda.ops.math import (
    abs,
    ceil,
    cos,
    erf,
    exp,
    exp2,
    floor,
    log,
    log2,
    rsqrt,
    sigmoid,
    sin,
    sqrt,
    sqrt_rn,
)
from tle2cuda.ops.reduction import softmax

__all__ = [
    "abs",
    "cdiv",
    "ceil",
    "clamp",
    "cos",
    "div_rn",
    "erf",
    "exp",
    "exp2",
    "fdiv",
    "floor",
    "fma",
    "log",
    "log2",
    "maximum",
    "minimum",
    "rsqrt",
    "sigmoid",
    "sin",
    "softmax",
    "sqrt",
    "sqrt_rn",
    "umulhi",
]
