"""Special functions of float64 arrays that NumPy lacks, each within a few units in the last place.

They are the meanings of the CUDA math library's functions of the same name. Where the standard library has a
function of one number it is mapped over the array; the others are series, quadratures that converge to the rounding
error, and Newton iterations. All take and give float64; special values are CUDA's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SQRT_PI = math.sqrt(math.pi)
_SQRT_HALF = math.sqrt(0.5)
_SQRT_HALF_LOW = -4.833646656726457e-17  # what the double above lacks
_EULER = 0.5772156649015329


def _mapped(function: Callable[[float], float]) -> Callable[[Any], Floats]:
    vectorized = np.vectorize(function, otypes=[np.float64])

    def over_array(x: Any) -> Floats:
        return np.asarray(vectorized(np.asarray(x, np.float64)))

    return over_array


def _tgamma(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, x)
    if x == -math.inf or (x < 0 and x == math.floor(x)):
        return math.nan
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf


def _lgamma(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


erf = _mapped(math.erf)
erfc = _mapped(math.erfc)
tgamma = _mapped(_tgamma)
lgamma = _mapped(_lgamma)


# -- the error function's relatives ------------------------------------------------------------------


def _square(x: Floats) -> tuple[Floats, Floats]:
    """``x * x`` and what rounding it lost."""
    square = x * x
    high = x * 134217729.0  # 2**27 + 1 splits the significand
    high = high - (high - x)
    low = x - high
    return square, ((high * high - square) + 2 * high * low) + low * low


def erfcx(x: Any) -> Floats:
    """``exp(x * x) * erfc(x)``."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        middle = np.where(np.abs(x) < 26, x, 0.0)
        square, low = _square(middle)
        near = np.exp(square) * (1 + low) * erfc(middle)
        t = 0.5 / (x * x)
        tail = 1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t * (1 - 9 * t * (1 - 11 * t)))))
        far = np.where(x > 0, tail / (x * _SQRT_PI), np.where(x < 0, np.inf, x))
        return np.where(np.abs(x) < 26, near, far)


def erfinv(y: Any) -> Floats:
    """Inverse of `erf`."""
    y = np.asarray(y, np.float64)
    with np.errstate(all="ignore"):
        magnitude = np.abs(y)
        inside = np.where(magnitude < 0.5, magnitude, 0.25)
        logarithm = np.log1p(-inside * inside)
        part = 4.3307467508 + logarithm / 2  # Winitzki's approximation starts Newton's iteration
        x = np.sqrt(np.maximum(np.sqrt(part * part - logarithm / 0.147) - part, 0))
        for _ in range(3):
            step = (erf(x) - inside) * (_SQRT_PI / 2) * np.exp(x * x)
            x = x - step / (1 + x * step)
        central = np.where(inside < 1e-8, inside * (_SQRT_PI / 2), x)
        outer = _erfcinv_tail(np.where(magnitude >= 0.5, 1 - magnitude, 0.25))
        result = np.copysign(np.where(magnitude < 0.5, central, outer), y)
        return np.where(magnitude <= 1, result, np.nan)


def _erfcinv_tail(y: Floats) -> Floats:
    """Inverse of `erfc` for 0 <= y <= 0.5, by Newton's iteration on its logarithm."""
    with np.errstate(all="ignore"):
        safe = np.where(y > 0, y, 0.25)
        target = np.log(safe)
        x = np.sqrt(np.maximum(-target - 0.5 * np.log(np.maximum(-target, 0.7) * math.pi), 0.1))
        for _ in range(6):
            scaled = erfcx(x)
            x = x + (np.log(scaled) - x * x - target) * (_SQRT_PI / 2) * scaled
        return np.where(y > 0, x, np.inf)


def erfcinv(y: Any) -> Floats:
    """Inverse of `erfc`."""
    y = np.asarray(y, np.float64)
    with np.errstate(all="ignore"):
        low = _erfcinv_tail(np.where((y >= 0) & (y < 0.5), y, 0.25))
        high = -_erfcinv_tail(np.where((y > 1.5) & (y <= 2), 2 - y, 0.25))
        middle = erfinv(np.where((y >= 0.5) & (y <= 1.5), 1 - y, 0.0))
        result = np.where(y < 0.5, low, np.where(y > 1.5, high, middle))
        return np.where((y >= 0) & (y <= 2), result, np.nan)


def normcdf(x: Any) -> Floats:
    """Cumulative distribution of the standard normal."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        t = -x * _SQRT_HALF
        # In the tail erfc magnifies the error of its argument, so the part that rounding cut off counts too.
        high = t * 134217729.0
        high = high - (high - t)
        half_high = 0.7071067690849304  # 26 bits of sqrt(1/2)
        half_low = _SQRT_HALF - half_high
        x_high = x * 134217729.0
        x_high = x_high - (x_high - x)
        x_low = x - x_high
        exact = -((x_high * half_high + t) + x_high * half_low + x_low * half_high + x_low * half_low)
        lost = np.where(np.isfinite(exact), exact - x * _SQRT_HALF_LOW, 0.0)
        return np.asarray(0.5 * (erfc(t) - 2 / _SQRT_PI * np.exp(-t * t) * lost))


def normcdfinv(p: Any) -> Floats:
    """Inverse of `normcdf`."""
    p = np.asarray(p, np.float64)
    return np.asarray(-math.sqrt(2) * erfcinv(2 * p))


# -- Bessel functions --------------------------------------------------------------------------------

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)


def _panels(low: float, high: float, count: int) -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss and Legendre's rule on equal panels."""
    half = (high - low) / count / 2
    middles = low + half * (2 * np.arange(count) + 1)
    return (middles[:, None] + half * _NODES).reshape(-1), np.tile(half * _WEIGHTS, count)


def _hankel(order: int, x: Floats) -> tuple[Floats, Floats]:
    """The two slowly varying factors of Hankel's expansion for large x, and their number of terms by accuracy."""
    mu = 4.0 * order * order
    p, q = np.ones_like(x), np.zeros_like(x)
    term = np.ones_like(x)
    for k in range(1, 24):
        factor = (mu - (2 * k - 1) ** 2) / (k * 8 * x)
        grows = np.abs(factor) >= 1
        term = np.where(grows, 0.0, term * factor)
        sign = -1 if k % 4 in (2, 3) else 1
        if k % 2:
            q = q + sign * term
        else:
            p = p + sign * term
    return p, q


def _oscillation(order: int, x: Floats) -> tuple[Floats, Floats]:
    """Cosine and sine of ``x - (order / 2 + 1 / 4) * pi``, without cancellation in the difference."""
    sine, cosine = np.sin(x), np.cos(x)
    quarter = _SQRT_HALF
    # Subtract pi / 4, then as many right angles as the order says.
    c, s = (cosine + sine) * quarter, (sine - cosine) * quarter
    for _ in range(order % 4):
        c, s = s, -c
    return c, s


def _split(order: int, x: Floats, near: Callable[[Floats], Floats], second_kind: bool) -> Floats:
    """By quadrature for small and middle arguments, by Hankel's expansion for large ones."""
    limit = max(60.0, 2.0 * order * order)
    result = near(np.where(x < limit, x, 1.0))
    large = np.where(x >= limit, x, limit)
    p, q = _hankel(order, large)
    c, s = _oscillation(order, large)
    wave = p * s + q * c if second_kind else p * c - q * s
    expansion = np.where(np.isinf(large), 0.0, np.sqrt(2 / (math.pi * large)) * wave)
    return np.where(x < limit, result, expansion)


def _first_kind_series(order: int, x: Floats, sign: float) -> Floats:
    """Power series of J (sign -1) and I (sign 1)."""
    half = x / 2
    term = half**order / math.factorial(order)
    total = term.copy()
    for k in range(1, 30):
        term = term * (sign * half * half) / (k * (k + order))
        total = total + term
    return np.asarray(total)


def _first_kind(order: int, x: Floats) -> Floats:
    """J of order >= 0 for x >= 0."""

    def near(values: Floats) -> Floats:
        # The trapezoid rule on a period converges faster than any power of the number of points.
        count = 2 * int(max(80.0, 1.2 * float(np.max(values, initial=0.0)) + 4 * order + 60))
        theta = (np.arange(count) + 0.5) * (math.pi / count)
        waves = np.cos(order * theta - np.multiply.outer(values, np.sin(theta)))
        small = _first_kind_series(order, np.where(values < 4, values, 0.0), -1.0)
        return np.where(values < 4, small, waves.mean(axis=-1))

    return _split(order, x, near, second_kind=False)


def _second_kind(order: int, x: Floats) -> Floats:
    """Y of order 0 or 1 for x > 0."""

    def near(values: Floats) -> Floats:
        middle = np.where(values >= 3, values, 3.0)
        theta, weights = _panels(0.0, math.pi, 6)
        waves = np.sin(np.multiply.outer(middle, np.sin(theta)) - order * theta) @ weights
        t, weights = _panels(0.0, math.asinh(250.0 / 3), 6)
        decaying = (np.exp(order * t) + (-1.0) ** order * np.exp(-order * t)) * weights
        tail = np.exp(-np.multiply.outer(middle, np.sinh(t))) @ decaying
        return np.where(values >= 3, (waves - tail) / math.pi, _second_kind_series(order, values))

    return _split(order, x, near, second_kind=True)


def _second_kind_series(order: int, x: Floats) -> Floats:
    """Y of order 0 or 1 for small x, by its power series with a logarithm."""
    small = np.where(x < 3, x, 1.0)
    quarter = small * small / 4
    logarithm = np.log(small / 2) + _EULER
    total, term, harmonic = np.zeros_like(small), np.ones_like(small), 0.0
    if order == 0:
        for k in range(1, 26):
            term = term * -quarter / (k * k)
            harmonic += 1 / k
            total = total + term * harmonic
        return 2 / math.pi * (logarithm * _first_kind_series(0, small, -1.0) - total)
    term = small / 2
    total = term.copy()  # k = 0: psi(1) + psi(2) + 2 * euler = 1
    for k in range(1, 26):
        term = term * -quarter / (k * (k + 1))
        harmonic += 1 / k
        total = total + term * (2 * harmonic + 1 / (k + 1))
    return np.asarray(
        2 / math.pi * logarithm * _first_kind_series(1, small, -1.0) - 2 / (math.pi * small) - total / math.pi
    )


def _with_parity(order: int, x: Any) -> Floats:
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        magnitude = np.where(np.isnan(x), 0.0, np.abs(x))
        values = _first_kind(order, np.minimum(magnitude, 1e300))
        values = np.where(np.isinf(magnitude), 0.0, values)
        return np.where(np.isnan(x), np.nan, np.where((x < 0) & (order % 2 == 1), -values, values))


def j0(x: Any) -> Floats:
    """Bessel function of the first kind, order 0."""
    return _with_parity(0, x)


def j1(x: Any) -> Floats:
    """Bessel function of the first kind, order 1."""
    return _with_parity(1, x)


def _positive(order: int, x: Any) -> Floats:
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        values = _second_kind(order, np.where(x > 0, np.minimum(x, 1e300), 1.0))
        values = np.where(np.isinf(x), 0.0, values)
        return np.where(x > 0, values, np.where(x == 0, -np.inf, np.nan))


def y0(x: Any) -> Floats:
    """Bessel function of the second kind, order 0."""
    return _positive(0, x)


def y1(x: Any) -> Floats:
    """Bessel function of the second kind, order 1."""
    return _positive(1, x)


def jn(n: Any, x: Any) -> Floats:
    """Bessel function of the first kind of integer order; NaN for a negative one."""
    n, x = np.broadcast_arrays(np.asarray(n, np.int64), np.asarray(x, np.float64))
    result = np.full(x.shape, np.nan)
    for order in np.unique(n[n >= 0]):
        result = np.where(n == order, _with_parity(int(order), x), result)
    return result


def yn(n: Any, x: Any) -> Floats:
    """Bessel function of the second kind of integer order, by the recurrence; NaN for a negative one."""
    n, x = np.broadcast_arrays(np.asarray(n, np.int64), np.asarray(x, np.float64))
    with np.errstate(all="ignore"):
        before, current = y0(x), y1(x)
        result = np.where(n == 0, before, np.where(n == 1, current, np.nan))
        for order in range(1, int(np.max(n, initial=1))):
            before, current = current, np.where(np.isinf(x), 0.0, 2 * order / x * current - before)
            current = np.where(np.isneginf(before), -np.inf, current)
            result = np.where(n == order + 1, current, result)
        return np.where(x < 0, np.nan, np.where((x == 0) & (n >= 0), -np.inf, result))


def _modified(order: int, x: Any) -> Floats:
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        magnitude = np.abs(x)
        bounded = np.where(magnitude < 720, magnitude, 0.0)
        theta = (np.arange(256) + 0.5) * (math.pi / 256)
        scaled = np.exp(np.multiply.outer(bounded, -2 * np.sin(theta / 2) ** 2)) * np.cos(order * theta)
        quadrature = np.exp(bounded / 2) * scaled.mean(axis=-1) * np.exp(bounded / 2)
        series = _first_kind_series(order, np.where(magnitude < 4, magnitude, 0.0), 1.0)
        result = np.where(magnitude < 4, series, np.where(magnitude < 720, quadrature, magnitude * np.inf))
        return np.copysign(result, x) if order % 2 else result


def cyl_bessel_i0(x: Any) -> Floats:
    """Modified Bessel function of the first kind, order 0."""
    return _modified(0, x)


def cyl_bessel_i1(x: Any) -> Floats:
    """Modified Bessel function of the first kind, order 1."""
    return _modified(1, x)


# -- small ones --------------------------------------------------------------------------------------


def sinpi(x: Any) -> Floats:
    """``sin(pi * x)``, exact at the multiples of one half."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        turn = np.fmod(x, 2.0)
        nearest = np.rint(2 * turn)
        rest = math.pi * (turn - nearest / 2)
        quadrant = np.nan_to_num(nearest).astype(np.int64) & 3
        value = np.choose(quadrant, [np.sin(rest), np.cos(rest), -np.sin(rest), -np.cos(rest)])
        return np.where(np.isfinite(x), np.where(turn == np.trunc(turn), np.copysign(0.0, x), value), np.nan)


def cospi(x: Any) -> Floats:
    """``cos(pi * x)``, exact at the multiples of one half."""
    x = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        turn = np.abs(np.fmod(x, 2.0))
        nearest = np.rint(2 * turn)
        rest = math.pi * (turn - nearest / 2)
        quadrant = np.nan_to_num(nearest).astype(np.int64) & 3
        value = np.choose(quadrant, [np.cos(rest), -np.sin(rest), -np.cos(rest), np.sin(rest)])
        halves = (turn == 0.5) | (turn == 1.5)
        return np.where(np.isfinite(x), np.where(halves, 0.0, value), np.nan)


def norm(*components: Any) -> Floats:
    """Euclidean length without overflow on the way; infinite when a component is, even beside NaN."""
    parts = [np.abs(np.asarray(c, np.float64)) for c in components]
    with np.errstate(all="ignore"):
        largest = parts[0]
        for part in parts[1:]:
            largest = np.fmax(largest, part)
        _, exponent = np.frexp(np.where(np.isfinite(largest), largest, 1.0))
        scaled = [np.ldexp(part, -exponent) for part in parts]
        length = np.ldexp(np.sqrt(sum(part * part for part in scaled)), exponent)
        infinite = np.zeros(np.shape(length), bool)
        for part in parts:
            infinite = infinite | np.isinf(part)
        return np.where(infinite, np.inf, length)


def remainder(x: Any, y: Any) -> Floats:
    """IEEE 754 remainder: ``x - n * y`` with the nearest integer n."""
    x, y = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))

    def one(a: float, b: float) -> float:
        if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
            return math.nan
        return math.remainder(a, b)

    return np.asarray(np.vectorize(one, otypes=[np.float64])(x, y))


def round_half_away(x: Any) -> Floats:
    """Nearest integer, halves away from zero."""
    x = np.asarray(x, np.float64)
    whole = np.trunc(x)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), whole))
