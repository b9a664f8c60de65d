"""Elementwise functions: select, minimum and maximum, division in its kinds, mathematics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tle2cuda.eager.numbers import Array, round_to
from tle2cuda.eager.operators import (
    add_operator,
    compute,
    divide_floats,
    floor_divide,
    follow,
    fused,
    mul_operator,
    pair,
    promote,
    several,
    sub_operator,
    to_dtype,
)
from tle2cuda.eager.program import reads_3_9, unchecked
from tle2cuda.eager.values import (
    Tile,
    common_shape,
    describe,
    is_number,
    method,
    number_as,
    numeric,
    to_tile,
    without_width,
)
from tle2cuda.errors import DTypeMismatch, InvalidArgument
from tle2cuda.ir.types import BF16, BOOL, F32, F64, DType
from tle2cuda.ops.extrema import PropagateNan


def where(condition: Any, x: Any, y: Any) -> Tile:
    """`tl.where`."""
    chosen = to_tile(condition, "tl.where")
    if chosen.dtype is not BOOL:
        chosen = Tile(chosen.data != 0, BOOL)
    region = None
    if any(isinstance(v, Tile) and v.is_pointer for v in (x, y)):
        a, b = to_tile(x), to_tile(y)
        if a.dtype != b.dtype:
            raise DTypeMismatch(f"tl.where: {describe(a)} and {describe(b)} are different types")
        dtype: Any = a.dtype
        region = a.region if a.region is b.region else None
    else:
        a, b, dtype = pair(x, y, "tl.where")
    common_shape("tl.where", chosen, a, b)
    exact = None
    if a.exact is not None or b.exact is not None:
        exact = np.where(chosen.data, without_width(a), without_width(b))
    return Tile(np.where(chosen.data, a.data, b.data), dtype, exact, region)


# -- minimum and maximum ------------------------------------------------------------------------------

_EXTREMA: dict[tuple[str, bool], Callable[..., Array]] = {
    ("min", False): np.fmin,
    ("max", False): np.fmax,
    ("min", True): np.minimum,
    ("max", True): np.maximum,
}


def extremum(kind: str, a: Array, b: Array, dtype: DType, propagate: bool = False) -> Array:
    """The smaller or larger elements; of floats, -0.0 is below +0.0, and NaN loses unless it propagates."""
    result = _EXTREMA[kind, propagate or not dtype.is_floating()](a, b)
    if dtype.is_floating():
        zeros = (a == 0) & (b == 0)
        if np.any(zeros):
            negative = np.signbit(a) | np.signbit(b) if kind == "min" else np.signbit(a) & np.signbit(b)
            signed_zero = np.where(negative, result.dtype.type(-0.0), result.dtype.type(0.0))
            result = np.where(zeros, signed_zero, result)
    return result


def _propagates(mode: Any, what: str) -> bool:
    name = getattr(mode, "name", None)  # Triton's own objects have the same names
    if name not in ("ALL", "NONE"):
        raise InvalidArgument(f"{what}: propagate_nan must be a tl.PropagateNan, got {mode!r}")
    return bool(name == "ALL")


def _without_bfloat16(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands as Triton 3.6 takes them for extrema: each bfloat16 one is converted to float32, before they meet."""
    if reads_3_9():
        return values
    return tuple(to_dtype(v, F32) if isinstance(v, Tile) and v.dtype is BF16 else v for v in values)


def _extreme(kind: str, x: Any, y: Any, propagate_nan: Any, what: str) -> Tile:
    (a, b), dtype = several(_without_bfloat16((x, y)), what)
    common_shape(what, a, b)
    data = extremum(kind, a.data, b.data, dtype, _propagates(propagate_nan, what))
    if dtype.kind == "uint" and dtype.bits == 64:  # beyond what 64 bits with a sign hold
        return Tile(data, dtype)
    return follow(np.minimum if kind == "min" else np.maximum, data, dtype, a, b)


@method
def minimum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> Tile:
    """`tl.minimum`."""
    return _extreme("min", x, y, propagate_nan, "tl.minimum")


@method
def maximum(x: Any, y: Any, propagate_nan: Any = PropagateNan.NONE) -> Tile:
    """`tl.maximum`."""
    return _extreme("max", x, y, propagate_nan, "tl.maximum")


@method
def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = PropagateNan.NONE) -> Tile:
    """`tl.clamp` of floats."""
    (value, low, high), dtype = several(_without_bfloat16((x, min, max)), "tl.clamp")
    if not dtype.is_floating():
        raise DTypeMismatch(f"tl.clamp takes floats, got {describe(to_tile(x))}")
    common_shape("tl.clamp", value, low, high)
    a, b, c = (to_dtype(v, dtype).data for v in (value, low, high))
    mode = _propagates(propagate_nan, "tl.clamp")
    return Tile(extremum("min", extremum("max", a, b, dtype, mode), c, dtype, mode), dtype)


# -- arithmetic by name -------------------------------------------------------------------------------


def add(x: Any, y: Any, sanitize_overflow: Any = True) -> Any:
    """`tl.add`."""
    return add_operator(to_tile(x), y) if sanitize_overflow else unchecked(add_operator, to_tile(x), y)


def sub(x: Any, y: Any, sanitize_overflow: Any = True) -> Any:
    """`tl.sub`."""
    return sub_operator(to_tile(x), y) if sanitize_overflow else unchecked(sub_operator, to_tile(x), y)


def mul(x: Any, y: Any, sanitize_overflow: Any = True) -> Any:
    """`tl.mul`."""
    return mul_operator(to_tile(x), y) if sanitize_overflow else unchecked(mul_operator, to_tile(x), y)


@method
def cdiv(x: Any, div: Any) -> Any:
    """``(x + (div - 1)) // div``, truncating."""
    if reads_3_9() and is_number(x) and is_number(div) and div:
        return (x + (div - 1)) // div
    less_one = div - 1
    numerator = to_tile(x) if is_number(x) and is_number(div) else x
    return floor_divide(add_operator(numerator, less_one), div)


def fma(x: Any, y: Any, z: Any) -> Tile:
    """`tl.fma`."""
    values, dtype = several((x, y, z), "tl.fma")
    if not dtype.is_floating():
        raise DTypeMismatch(f"tl.fma takes floats, got {', '.join(describe(v) for v in values)}")
    common_shape("tl.fma", *values)
    a, b, c = (v.data for v in values)
    if dtype.is_fp8():
        return Tile(round_to(fused(a, b, c, F32), dtype), dtype)
    return Tile(fused(a, b, c, dtype), dtype)


def fdiv(x: Any, y: Any, ieee_rounding: Any = False, approx: Any = None) -> Tile:
    """`tl.fdiv`."""
    a, b, dtype = pair(x, y, "tl.fdiv")
    if not dtype.is_floating():
        raise DTypeMismatch(f"tl.fdiv takes floats, got {describe(x)} and {describe(y)}")
    common_shape("tl.fdiv", a, b)
    return divide_floats(a, b, dtype)


def div_rn(x: Any, y: Any) -> Tile:
    """`tl.div_rn`."""
    a, b, dtype = pair(x, y, "tl.div_rn", weak=False)
    if dtype is not F32:
        raise DTypeMismatch(f"tl.div_rn takes float32, got {describe(x)} and {describe(y)}")
    common_shape("tl.div_rn", a, b)
    return divide_floats(a, b, dtype)


def umulhi(x: Any, y: Any) -> Tile:
    """Upper half of an unsigned product."""
    a, b, dtype = pair(x, y, "tl.umulhi")
    if not dtype.is_int() or dtype.bits < 32:
        raise DTypeMismatch(f"tl.umulhi takes integers of 32 or 64 bits, got {describe(x)} and {describe(y)}")
    common_shape("tl.umulhi", a, b)
    unsigned = np.dtype(f"u{dtype.bytes}")
    p, q = a.data.astype(unsigned), b.data.astype(unsigned)
    return Tile(multiply_high(p, q).astype(a.data.dtype), dtype)


def multiply_high(p: Array, q: Array) -> Array:
    """Upper half of the product of unsigned integers of 32 or 64 bits."""
    if p.dtype.itemsize == 4:
        return np.asarray(((p.astype(np.uint64) * q.astype(np.uint64)) >> np.uint64(32)).astype(np.uint32))
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    p1, p0, q1, q0 = p >> half, p & low, q >> half, q & low
    middle = p1 * q0 + ((p0 * q0) >> half)
    other = p0 * q1 + (middle & low)
    return np.asarray(p1 * q1 + (middle >> half) + (other >> half))


# -- mathematics --------------------------------------------------------------------------------------


def _half_away(x: Array) -> Array:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), whole)


def _by_element(function: Callable[..., float]) -> Callable[..., Array]:
    def guarded(*values: float) -> float:
        try:
            return float(function(*values))
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return np.vectorize(guarded, otypes=[np.float64])


MATH: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "sqrt_rn": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "erf": _by_element(math.erf),
    "floor": np.floor,
    "ceil": np.ceil,
    "tanh": np.tanh,
    "rint": np.rint,
    "trunc": np.trunc,
    "round": _half_away,
    "log1p": np.log1p,
    "expm1": np.expm1,
}
"""Functions of one float32 or float64 argument, computed in float64 and rounded once."""


def float_function(name: str, function: Callable[..., Any], what: str, operands: int = 1) -> Callable[..., Tile]:
    """A language function that computes `function` in float64 and rounds once."""

    def apply(*args: Any) -> Tile:
        if len(args) != operands:
            raise TypeError(f"{what} takes {operands} arguments, got {len(args)}")
        values = [numeric(v, what) for v in args]
        dtype = values[0].dtype
        for value in values[1:]:
            dtype = promote(dtype, value.dtype, what)
        if dtype not in (F32, F64):
            raise DTypeMismatch(
                f"{what} takes float32 or float64, got {', '.join(describe(v) for v in values)}",
                help="convert first, x.to(tl.float32)",
            )
        common_shape(what, *values)
        wide = function(*(to_dtype(v, dtype).data.astype(np.float64) for v in values))
        return Tile(round_to(np.asarray(wide), dtype), dtype)

    apply.__name__ = apply.__qualname__ = name
    return apply


FUNCTIONS = {name: method(float_function(name, function, f"tl.{name}")) for name, function in MATH.items()}


@method
def abs(x: Any) -> Tile:
    """Magnitude; the smallest signed integer stays."""
    value = numeric(x, "tl.abs")
    if value.dtype.is_int_unsigned():
        return value
    return Tile(np.abs(value.data), value.dtype)


Tile.operators["abs"] = abs


@method
def sigmoid(x: Any) -> Tile:
    """``1 / (1 + exp(0 - x))``."""
    value = numeric(x, "tl.sigmoid")
    if value.dtype not in (F32, F64):
        raise DTypeMismatch(
            f"tl.sigmoid takes float32 or float64, got {describe(value)}", help="convert first, x.to(tl.float32)"
        )
    one = number_as(1.0, value.dtype)
    falling = FUNCTIONS["exp"](compute("-", number_as(0.0, value.dtype), value, value.dtype))
    return divide_floats(one, compute("+", one, falling, value.dtype), value.dtype)
