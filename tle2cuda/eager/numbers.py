"""How values of a dtype lie in NumPy arrays, how they are rounded, and how they lie in memory.

bfloat16 and float8, which NumPy does not have, are float32 arrays that hold only values of the narrow type.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tle2cuda.ir.types import (
    BF16,
    BOOL,
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

VALUES: dict[DType, np.dtype[Any]] = {
    BOOL: np.dtype(np.bool_),
    I8: np.dtype(np.int8),
    I16: np.dtype(np.int16),
    I32: np.dtype(np.int32),
    I64: np.dtype(np.int64),
    U8: np.dtype(np.uint8),
    U16: np.dtype(np.uint16),
    U32: np.dtype(np.uint32),
    U64: np.dtype(np.uint64),
    F8E4NV: np.dtype(np.float32),
    F8E5: np.dtype(np.float32),
    F16: np.dtype(np.float16),
    BF16: np.dtype(np.float32),
    F32: np.dtype(np.float32),
    F64: np.dtype(np.float64),
}
"""NumPy dtype of the arrays that hold values of a dtype."""

_BITS: dict[DType, np.dtype[Any]] = {BF16: np.dtype(np.uint16), F8E4NV: np.dtype(np.uint8), F8E5: np.dtype(np.uint8)}
MEMORY: dict[DType, np.dtype[Any]] = {**VALUES, BOOL: np.dtype(np.uint8), **_BITS}
"""NumPy dtype of one element in memory."""

# Fraction bits, exponent of the smallest normal number, largest finite number.
_FORMATS: dict[DType, tuple[int, int, float]] = {
    F8E4NV: (3, -6, 448.0),
    F8E5: (2, -14, 57344.0),
    F16: (10, -14, 65504.0),
    BF16: (7, -126, (2 - 2**-7) * 2.0**127),
    F32: (23, -126, (2 - 2**-23) * 2.0**127),
}


def round_to(values: Array, dtype: DType, toward_zero: bool = False) -> Array:
    """Float values rounded once to `dtype`, in the array dtype that holds them.

    Rounds to nearest even and overflows to infinity; float8 saturates to its largest number instead. `toward_zero`
    cuts digits off, and never overflows.
    """
    if dtype is F64:
        return values.astype(np.float64, copy=False)
    if not toward_zero and (dtype is F32 or dtype is F16):
        return values.astype(VALUES[dtype], copy=False)
    if not toward_zero and dtype is BF16 and values.dtype == np.float32:
        return _to_bfloat16(values)
    fraction_bits, smallest, largest = _FORMATS[dtype]
    wide = values.astype(np.float64, copy=False)
    _, exponent = np.frexp(wide)  # wide = m * 2**exponent with 0.5 <= |m| < 1
    unit = np.maximum(exponent - 1, smallest) - fraction_bits
    scaled = np.ldexp(wide, -unit)
    rounded = np.ldexp(np.trunc(scaled) if toward_zero else np.rint(scaled), unit)
    rounded = np.where(np.isfinite(wide), rounded, wide)
    saturates = dtype.is_fp8()
    over = np.abs(rounded) > largest
    if not saturates:
        over &= np.isfinite(wide)
    limit = largest if saturates or toward_zero else np.inf
    return np.where(over, np.copysign(limit, rounded), rounded).astype(VALUES[dtype])


def _to_bfloat16(values: Array) -> Array:
    bits = np.ascontiguousarray(values).view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    nearest = (bits + np.uint32(0x7FFF) + odd) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(values), values, nearest.view(np.float32)).reshape(values.shape)


def convert(values: Array, source: DType, target: DType, toward_zero: bool = False) -> Array:
    """The numbers of `source` as numbers of `target`: `tl.cast` without bitcast, pointers aside."""
    if source is target:
        return values
    if target is BOOL:
        return np.asarray(values != 0)
    if target.is_floating():
        if not source.is_floating():
            if target in (F32, F64):
                return values.astype(VALUES[target])
            # The narrow types are reached from an integer through float32, except float16 and bfloat16.
            wide = values.astype(np.float32) if target.is_fp8() else _exact_wide(values, target)
            return round_to(wide, target)
        if {source, target} == {F16, BF16}:
            values = values.astype(np.float32)
        return round_to(values, target, toward_zero)
    if source.is_floating():
        return _to_integer(values, source, target)
    return values.astype(VALUES[target])


def _exact_wide(values: Array, target: DType) -> Array:
    """Integers as float64 whose rounding to a 16-bit float is that of the integer itself."""
    wide = values.astype(np.float64)
    if values.dtype.itemsize < 8:
        return wide
    # 64-bit integers beyond 2**53 were rounded: put back, as the last bit, that something was cut off.
    back = wide.astype(values.dtype)
    inexact = (back != values) & (np.abs(wide) < 2.0**63)
    toward = np.where(back < values, np.inf, -np.inf)
    even = (np.ascontiguousarray(wide).view(np.uint64) & np.uint64(1)) == 0
    return np.where(inexact & even.reshape(wide.shape), np.nextafter(wide, toward), wide)


def _to_integer(values: Array, source: DType, target: DType) -> Array:
    """Truncates and saturates; targets narrower than 32 bits take the low bits of the conversion to int32."""
    width = max(target.bits, 32)
    signed = target.is_int_signed() or target.bits < 32
    low = -(2.0 ** (width - 1)) if signed else 0.0
    high = 2.0 ** (width - 1) if signed else 2.0**width  # the first number that is too large
    wide = np.dtype(f"{'i' if signed else 'u'}{width // 8}")
    whole = np.trunc(values.astype(np.float64))
    inside = (whole >= low) & (whole < high)
    result = np.where(inside, whole, 0.0).astype(wide)
    limits = np.iinfo(wide)
    result = np.where(whole >= high, np.array(limits.max, wide), result)
    result = np.where(whole < low, np.array(limits.min, wide), result)
    if source is F64 or width == 64:  # NaN is the sign bit alone here, and 0 elsewhere
        sign_bit = np.array(1 << (width - 1), np.uint64).astype(f"u{width // 8}").view(wide)
        result = np.where(np.isnan(values), sign_bit, result)
    return result.astype(VALUES[target])


@functools.cache
def _magnitudes(dtype: DType) -> NDArray[np.float64]:
    """The non-negative float8 numbers in the order of their codes; infinity counts, NaN does not."""
    fraction_bits, smallest, _ = _FORMATS[dtype]
    codes = np.arange(127 if dtype is F8E4NV else 125)
    exponent, fraction = codes >> fraction_bits, codes & ((1 << fraction_bits) - 1)
    significand = np.where(exponent == 0, fraction, fraction + (1 << fraction_bits)).astype(np.float64)
    values = np.ldexp(significand, np.maximum(exponent, 1) - 1 + smallest - fraction_bits)
    if dtype is F8E5:
        values[124] = np.inf
    result: NDArray[np.float64] = values
    return result


def to_bits(values: Array, dtype: DType) -> Array:
    """Values as they lie in memory."""
    if dtype is BF16:
        return np.asarray(
            (np.ascontiguousarray(values).view(np.uint32) >> np.uint32(16)).astype(np.uint16).reshape(values.shape)
        )
    if dtype.is_fp8():
        nan = 0x7F
        codes = np.searchsorted(_magnitudes(dtype), np.abs(values).astype(np.float64)).astype(np.uint8)
        codes = np.where(np.isnan(values), np.uint8(nan), codes)
        return np.asarray(codes | (np.signbit(values).astype(np.uint8) << np.uint8(7)))
    if dtype is BOOL:
        return values.astype(np.uint8)
    return values


def from_bits(stored: Array, dtype: DType) -> Array:
    """What lies in memory as values."""
    if dtype is BF16:
        return np.asarray((stored.astype(np.uint32) << np.uint32(16)).view(np.float32))
    if dtype.is_fp8():
        table = np.full(256, np.nan, np.float32)
        magnitudes = _magnitudes(dtype)
        table[: len(magnitudes)] = magnitudes
        table[128 : 128 + len(magnitudes)] = -magnitudes
        return table[stored]
    if dtype is BOOL:
        return np.asarray(stored != 0)
    return stored


def wide_dtype(dtype: DType) -> np.dtype[Any]:
    """Array dtype in which one arithmetic step is exact enough to be rounded once afterwards."""
    if dtype.is_floating() and dtype.bits < 32:
        return np.dtype(np.float32)
    return VALUES[dtype]
