"""Arithmetic with a rounding direction on float32 and float64 arrays: what `__fadd_rd` and its relatives compute.

The nearest result is NumPy's; the exact one is compared with it as a fraction, and where it lies on the side that the
direction asks for, the neighbour is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tle2cuda.ir.types import F32, DType
from tle2cuda.ops.numerics import fused_multiply_add

Array = NDArray[Any]
Exact = Callable[..., Fraction]


def _nearest_fma(a: Array, b: Array, c: Array) -> Array:
    if a.dtype == np.float32:
        return fused_multiply_add(a, b, c, F32)
    with np.errstate(all="ignore"):
        plain = a * b + c

    def one(x: float, y: float, z: float, plain: float) -> float:
        if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
            return plain
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        if exact == 0:
            return plain
        try:
            return float(exact)
        except OverflowError:
            return math.copysign(math.inf, exact)

    return np.asarray(np.vectorize(one, otypes=[np.float64])(a, b, c, plain))


_NEAREST: dict[str, Callable[..., Array]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "rcp": lambda a: np.array(1, a.dtype) / a,
    "sqrt": np.sqrt,
    "fma": _nearest_fma,
}


def _sign(number: Fraction) -> int:
    return (number > 0) - (number < 0)


def _error_of_square_root(root: float, x: float) -> int:
    return _sign(Fraction(x) - Fraction(root) ** 2)


_EXACT: dict[str, Exact] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1 / a,
    "fma": lambda a, b, c: a * b + c,
}


def _error(name: str, nearest: float, operands: Sequence[float]) -> int:
    """Sign of exact minus nearest, for finite operands."""
    if name == "sqrt":
        return 0 if nearest != nearest else _error_of_square_root(nearest, operands[0])
    if name in ("div", "rcp") and operands[-1] == 0:
        return 0
    exact = _EXACT[name](*map(Fraction, operands))
    if math.isinf(nearest):
        return -1 if nearest > 0 else 1
    return _sign(exact - Fraction(nearest))


def rounded(name: str, direction: str, operands: Sequence[Array]) -> Array:
    """The result of an operation rounded in a direction.

    Args:
        name: ``add``, ``sub``, ``mul``, ``div``, ``rcp``, ``sqrt`` or ``fma``.
        direction: ``rn``, ``rd``, ``ru`` or ``rz``.
        operands: Arrays of one dtype, float32 or float64.
    """
    arrays = np.broadcast_arrays(*(np.asarray(operand) for operand in operands))
    with np.errstate(all="ignore"):
        nearest = np.asarray(_NEAREST[name](*arrays))
    if direction == "rn":
        return nearest
    # An exact sum of zero is -0 when rounded down, unless both parts are +0.
    if direction == "rd" and name in ("add", "sub", "fma"):
        nearest = _minus_zero(name, nearest, arrays)

    def one(result: Any, *values: Any) -> int:
        finite = all(math.isfinite(value) for value in values)
        return _error(name, float(result), [float(value) for value in values]) if finite else 0

    errors = np.asarray(np.vectorize(one, otypes=[np.int64])(nearest, *arrays)) if nearest.size else np.zeros(nearest.shape)
    return step(nearest, errors, direction)


def _minus_zero(name: str, nearest: Array, arrays: Sequence[Array]) -> Array:
    first, last = (arrays[0], arrays[-1]) if name != "fma" else (arrays[0] * arrays[1], arrays[2])
    last_sign = np.signbit(last) != (name == "sub")
    cancelled = (nearest == 0) & (np.signbit(first) != last_sign) & ((first != 0) == (last != 0))
    return np.where(cancelled, -np.zeros_like(nearest), nearest)


def step(nearest: Array, errors: Array, direction: str) -> Array:
    """The nearest values moved to the side of the direction, by the sign of exact minus nearest."""
    down, up = errors < 0, errors > 0
    if direction == "rz":
        down, up = down & (nearest > 0), up & (nearest < 0)
    elif direction == "rd":
        up = np.zeros_like(up)
    elif direction == "ru":
        down = np.zeros_like(down)
    with np.errstate(all="ignore"):
        low = np.nextafter(nearest, np.array(-np.inf, nearest.dtype))
        high = np.nextafter(nearest, np.array(np.inf, nearest.dtype))
    return np.where(down, low, np.where(up, high, nearest))


def from_integer(values: Array, target: DType, direction: str) -> Array:
    """Integers as float32 or float64, rounded in a direction."""
    nearest = np.asarray(values).astype(np.float32 if target is F32 else np.float64)
    if direction == "rn":
        return nearest

    def one(exact: Any, result: Any) -> int:
        return (int(exact) > int(result)) - (int(exact) < int(result))

    errors = np.asarray(np.vectorize(one, otypes=[np.int64])(np.asarray(values), nearest))
    return step(nearest, errors, direction)


def to_float32(values: Array, direction: str) -> Array:
    """float64 as float32, rounded in a direction."""
    wide = np.asarray(values, np.float64)
    with np.errstate(all="ignore"):
        nearest = wide.astype(np.float32)
        if direction == "rn":
            return nearest
        difference = np.where(np.isinf(wide), 0.0, wide - nearest.astype(np.float64))
        errors = np.sign(np.nan_to_num(difference, posinf=1.0, neginf=-1.0)).astype(np.int64)
    return step(nearest, errors, direction)
