"""Constants as CUDA spells them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tle2cuda.ir.types import BOOL, F32, F64, I32, I64, U32, U64, DType
from tle2cuda.lowering.cexpr import LEAST_INT, PRIMARY, UNARY, C

if TYPE_CHECKING:
    from tle2cuda.lowering.state import State

LITERAL_SUFFIXES = {I64: "ll", U64: "ull", U32: "u"}


def literal(state: State, value: object, dtype: DType) -> C:
    """A constant of an element type."""
    if dtype is BOOL:
        return C("true" if value else "false")
    if dtype.is_int():
        return _integer(int(value), dtype)  # type: ignore[call-overload]
    return _floating(state, float(value), dtype)  # type: ignore[arg-type]


def _integer(value: int, dtype: DType) -> C:
    if dtype.kind == "uint":
        value %= 1 << dtype.bits
    if dtype is I32 and value == -(1 << 31):
        return LEAST_INT
    if dtype is I64 and value == -(1 << 63):
        return C("(-9223372036854775807ll - 1)")
    text = f"{value}{LITERAL_SUFFIXES.get(dtype, '')}"
    return C(text, UNARY if value < 0 else PRIMARY)


def _floating(state: State, value: float, dtype: DType) -> C:
    state.include_for(dtype)
    if dtype is F64:
        return _special(state, value, "_double") or C(repr(value), UNARY if _is_negative(value) else PRIMARY)
    value = _rounded_to_float(value)
    number = _special(state, value, "") or _float32(value)
    if dtype is F32:
        return number
    if dtype.cuda == "__half":
        return C(f"__float2half({number.text})")
    if dtype.cuda == "__nv_bfloat16":
        return C(f"__float2bfloat16({number.text})")
    return C(f"{dtype.cuda}({number.text})")


def _rounded_to_float(value: float) -> float:
    """The float that a number becomes: infinity where it is too large."""
    import numpy as np

    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _float32(value: float) -> C:
    import numpy as np

    text = str(np.float32(value))
    if "e" not in text and "." not in text:
        text += ".0"
    return C(text + "f", UNARY if _is_negative(value) else PRIMARY)


def _is_negative(value: float) -> bool:
    return math.copysign(1.0, value) < 0


def _special(state: State, value: float, suffix: str) -> C | None:
    if math.isnan(value):
        return C(f"{state.helper('quiet_nan' + suffix)}()")
    if math.isinf(value):
        text = f"{state.helper('infinity' + suffix)}()"
        return C(f"-{text}", UNARY) if value < 0 else C(text)
    return None
