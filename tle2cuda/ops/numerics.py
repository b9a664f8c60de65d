"""NumPy side of the meanings: array dtypes, rounding to narrow floats, wrapping integers, fused multiply-add.

Without `ml_dtypes`, bfloat16 values are float32 arrays rounded to bfloat16 after every operation, and float8
raises an error.
"""

from __future__ import annotations

import functools
import math
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tle2cuda.errors import ToolchainError
from tle2cuda.ir.types import (
    BF16,
    BOOL,
    F8E4B15,
    F8E4NV,
    F8E5,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    DType,
)

Array = NDArray[Any]

_PLAIN = {
    F8E4B15: np.uint8,  # the bytes, which is all that memory of it is
    BOOL: np.bool_,
    I8: np.int8,
    I16: np.int16,
    I32: np.int32,
    I64: np.int64,
    U8: np.uint8,
    U16: np.uint16,
    U32: np.uint32,
    U64: np.uint64,
    F16: np.float16,
    F32: np.float32,
    F64: np.float64,
}

# dtype: significand bits with the implicit one, exponent of the smallest normal, largest finite, saturates.
_FLOAT_FORMATS = {
    F8E4NV: (4, -6, 448.0, True),
    F8E5: (3, -14, 57344.0, True),
    F16: (11, -14, 65504.0, False),
    BF16: (8, -126, float.fromhex("0x1.fep127"), False),
    F32: (24, -126, float.fromhex("0x1.fffffep127"), False),
}


@functools.cache
def _ml_dtypes() -> ModuleType | None:
    try:
        import ml_dtypes
    except ImportError:
        return None
    module: ModuleType = ml_dtypes
    return module


def value_dtype(dtype: DType) -> np.dtype[Any]:
    """NumPy dtype of arrays that hold values of `dtype`.

    Raises:
        ToolchainError: float8 without `ml_dtypes`.
    """
    plain = _PLAIN.get(dtype)
    if plain is not None:
        return np.dtype(plain)
    module = _ml_dtypes()
    if module is not None:
        names = {BF16: "bfloat16", F8E4NV: "float8_e4m3fn", F8E5: "float8_e5m2"}
        found: np.dtype[Any] = np.dtype(getattr(module, names[dtype]))
        return found
    if dtype is BF16:
        return np.dtype(np.float32)
    raise ToolchainError(f"interpreting {dtype.label} values needs the package ml_dtypes", help="pip install ml_dtypes")


def storage_dtype(dtype: DType) -> np.dtype[Any]:
    """NumPy dtype with the width of one element in memory; equals `value_dtype` where that has the width."""
    values = value_dtype(dtype)
    return values if values.itemsize == dtype.bytes else np.dtype(np.uint16)


def to_storage(values: Array, dtype: DType) -> Array:
    """Values -> what lies in memory (bfloat16 without `ml_dtypes`: its 16 bits)."""
    if storage_dtype(dtype) == value_dtype(dtype):
        return np.asarray(values)
    return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def from_storage(stored: Array, dtype: DType) -> Array:
    """The reverse of `to_storage`."""
    if storage_dtype(dtype) == value_dtype(dtype):
        return np.asarray(stored)
    return (np.asarray(stored).astype(np.uint32) << 16).view(np.float32)


def as_values(array: Any, dtype: DType) -> Array:
    """Result of an operation -> array of `dtype`; floats are rounded to nearest even, integers wrap."""
    array = np.asarray(array)
    if dtype is BF16 and value_dtype(dtype) == np.float32:
        return round_float(array.astype(np.float64), BF16).astype(np.float32)
    with np.errstate(all="ignore"):
        return np.asarray(array.astype(value_dtype(dtype), copy=False))


def compute_dtype(dtype: DType) -> np.dtype[Any]:
    """NumPy dtype in which one arithmetic step on `dtype` is exact enough to be rounded once afterwards."""
    if dtype.is_floating() and dtype.bits < 32:
        return np.dtype(np.float32)
    return value_dtype(dtype)


def widen(array: Array, dtype: DType) -> Array:
    """The operand of one arithmetic step, in `compute_dtype`."""
    return np.asarray(array).astype(compute_dtype(dtype), copy=False)


def round_float(values: NDArray[np.float64], dtype: DType, rounding: str = "rtne") -> NDArray[np.float64]:
    """float64 values rounded to those `dtype` can represent, still as float64.

    Args:
        values: Any float64 array.
        dtype: A float dtype narrower than float64.
        rounding: ``rtne`` or ``rtz``.

    Overflow gives infinity (``rtz``: the largest finite value); float8 saturates, infinities included.
    """
    precision, smallest_exponent, largest, saturates = _FLOAT_FORMATS[dtype]
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(values)
        quantum = np.maximum(exponent - precision, smallest_exponent - precision + 1)
        scaled = np.ldexp(values, -quantum)
        rounded = np.ldexp(np.rint(scaled) if rounding == "rtne" else np.trunc(scaled), quantum)
    finite = np.isfinite(values)
    result = np.where(finite, rounded, values)
    too_large = finite & (np.abs(rounded) > largest)
    if saturates:
        too_large = too_large | np.isinf(values)
    limit = largest if saturates or rounding == "rtz" else np.inf
    return np.where(too_large, np.copysign(limit, values), result)


def convert(array: Array, source: DType, target: DType, rounding: str = "rtne") -> Array:
    """The IR's ``cast``: see the row of `tl.cast` for the rules.

    Float to integer truncates and saturates at 32 or 64 bits; narrower targets take the low bits of the
    conversion to int32. NaN becomes 0, or the sign bit alone when the source is float64 or the target has
    64 bits (PTX ISA, cvt).
    """
    array = np.asarray(array)
    if target.is_bool():
        return np.asarray(array != 0)
    if source.is_floating() and target.is_floating():
        if target is F64 or (target is F32 and source is not F64):
            return array.astype(value_dtype(target))
        rounded = round_float(array.astype(np.float64), target, rounding)
        return rounded.astype(value_dtype(target))
    if source.is_floating():
        wide = target if target.bits >= 32 else I32  # as the emitted text does it
        return float_to_integer(array.astype(np.float64), source, wide).astype(value_dtype(target))
    if target.is_floating():
        if target in (F32, F64):
            return array.astype(value_dtype(target))
        return round_float(array.astype(np.float64), target).astype(value_dtype(target))
    return array.astype(value_dtype(target))


def float_to_integer(values: NDArray[np.float64], source: DType, target: DType) -> Array:
    """float64 values that came from `source` as integers: truncated, saturated; see `convert` for NaN and 8 bits."""
    bits = max(16, target.bits)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if target.is_int_signed() else (0, (1 << bits) - 1)
    nan = 1 << (bits - 1) if source is F64 or bits == 64 else 0
    wide: type[np.generic] = np.int64 if target.is_int_signed() else np.uint64
    truncated = np.trunc(values)
    is_nan = np.isnan(values)
    inside = ~is_nan & (truncated > float(low) - 1) & (truncated < float(high) + (1 if bits < 53 else 0))
    with np.errstate(all="ignore"):
        result = np.where(inside, truncated, 0.0).astype(wide)
    result = np.where(~inside & (values > 0), np.array(high, wide), result)
    result = np.where(~inside & (values < 0), np.array(low, wide), result)
    nan_value = np.array(nan, np.uint64).astype(wide)
    return np.where(is_nan, nan_value, result).astype(wide).astype(value_dtype(target))


def fused_multiply_add(a: Array, b: Array, c: Array, dtype: DType) -> Array:
    """``a * b + c`` rounded once to `dtype`."""
    with np.errstate(all="ignore"):
        x, y, z = (np.asarray(v).astype(np.float64) for v in (a, b, c))
        product = x * y
        error = _product_error(x, y, product) if dtype is F64 else np.zeros_like(product)
        total = product + z
        virtual = total - product
        lost = (product - (total - virtual)) + (z - virtual) + error
        if dtype is F64:
            total = np.where(np.isfinite(lost) & (lost != 0), total + lost, total)  # the sign of a zero is the sum's
            return _exact_where_split_fails(x, y, z, product, total)
        # Round to odd first, so that the second rounding (to the narrow type) sees that digits were cut off.
        even = (np.asarray(total).view(np.uint64) & np.uint64(1)) == 0
        nudged = np.nextafter(total, np.copysign(np.inf, lost))
        inexact = np.isfinite(lost) & (lost != 0) & even
        total = np.where(inexact, nudged, total)
        return round_or_keep(total, dtype)


def _exact_where_split_fails(x: Array, y: Array, z: Array, product: Array, total: Array) -> Array:
    """The result with those elements computed exactly whose product, or a factor's halves, leave the range of float64."""
    from fractions import Fraction

    shape = np.shape(total)
    x, y, z, product, total = (np.atleast_1d(v) for v in np.broadcast_arrays(x, y, z, product, total))
    size = np.abs(product)
    extreme = ~((size < 2.0**1000) & (size > 2.0**-900)) | (np.maximum(np.abs(x), np.abs(y)) > 2.0**990)
    finite = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    result = np.where(np.isinf(z) & np.isfinite(x) & np.isfinite(y), z, total)
    for at in np.argwhere(extreme & finite & (x != 0) & (y != 0)):
        place = tuple(at)
        exact = Fraction(float(x[place])) * Fraction(float(y[place])) + Fraction(float(z[place]))
        try:
            result[place] = float(exact) if exact else result[place]
        except OverflowError:
            result[place] = math.inf if exact > 0 else -math.inf
    return result.reshape(shape)


def round_or_keep(values: NDArray[np.float64], dtype: DType) -> Array:
    """float64 -> `dtype`, rounded to nearest even once."""
    if dtype is F64:
        return values
    if dtype is F32:
        return values.astype(np.float32)
    return round_float(values, dtype).astype(value_dtype(dtype))


def _product_error(x: Array, y: Array, product: Array) -> Array:
    """What float64 ``x * y`` lost, by splitting both factors into halves of 26 bits."""
    splitter = 134217729.0  # 2**27 + 1
    x_high = x * splitter - (x * splitter - x)
    y_high = y * splitter - (y * splitter - y)
    x_low, y_low = x - x_high, y - y_high
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return np.where(np.isfinite(error), error, 0.0)


def c_divide(a: Array, b: Array) -> Array:
    """Integer division that truncates; a zero divisor gives all ones, as the hardware does."""
    with np.errstate(all="ignore"):
        safe = np.where(b == 0, np.ones_like(b), b)
        quotient = a // safe
        if np.issubdtype(np.asarray(a).dtype, np.signedinteger):
            inexact = quotient * safe != a
            quotient = quotient + (inexact & ((a < 0) != (safe < 0))).astype(a.dtype)
        return np.where(b == 0, np.zeros_like(a) - np.ones_like(a), quotient)


def c_remainder(a: Array, b: Array) -> Array:
    """Integer remainder with the sign of the dividend; a zero divisor gives the dividend."""
    with np.errstate(all="ignore"):
        quotient = c_divide(a, b)
        return np.where(b == 0, a, a - quotient * b)


def multiply_high(a: Array, b: Array, bits: int, signed: bool) -> Array:
    """Upper half of the product of two integers of `bits` bits."""
    x, y = (np.asarray(v).astype(object) for v in (a, b))
    mask = (1 << bits) - 1
    high = ((x * y) >> bits) & mask
    if signed:
        high = np.where(high >= 1 << (bits - 1), high - (1 << bits), high)
    return np.asarray(high).astype(np.asarray(a).dtype)
