"""Functions of single elements that branch and loop on them: `tl.map_elementwise`."""

from __future__ import annotations

import math

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import Array, Inputs, OpCase, add_case, poison


@tle2cuda.jit
def halved(x, low):
    """Early returns, a loop that ends by what it computes, a counted one, a ternary."""
    if x < low:
        return low
    if x > 3.0:
        n = 0
        while x > 1.0:
            x *= 0.5
            n += 1
        return x + n
    total = 0.0
    for step in range(3):
        total += x * step
    return total if total > 1.0 else -total


@tle2cuda.jit
def common_divisor(a, b):
    steps = 0
    while b != 0:
        a, b = b, a % b
        steps += 1
    return a, steps


@tle2cuda.jit
def in_order(a0, a1, b0, b1):
    """Two neighbours and what belongs to them, the smaller one first."""
    if a0 <= a1:
        return a0, a1, b0, b1
    return a1, a0, b1, b0


@tle2cuda.jit
def hashed(x):
    if x > 0:
        x = (x ^ (x >> 15)) * 739982445
    return x * x


@tle2cuda.jit
def steps_down(n, limit):
    """Loops in loops, whose bounds are the element's own."""
    count = 0
    for start in range(n % 16, n % 3, -2):
        k = start
        while k > 1 and count < limit:
            if k % 2 == 0:
                k //= 2
            else:
                k = 3 * k + 1
            count += 1
    return count


@tle2cuda.jit
def mapped(x, a, b, out, halves, total, n, N: tl.constexpr, LOW: tl.constexpr):
    i = tl.arange(0, N)
    ok = i < n
    value = tl.load(x + i, mask=ok, other=0.0)
    tl.store(halves + i, tl.map_elementwise(halved, value, LOW), mask=ok)
    first, second = tl.load(a + i, mask=ok, other=0), tl.load(b + i, mask=ok, other=0)
    divisor, steps = tl.map_elementwise(common_divisor, first, second)
    tl.store(out + i, divisor, mask=ok)
    tl.store(out + n + i, steps, mask=ok)
    lesser, partner = tl.map_elementwise(in_order, first, second, pack=2)
    tl.store(out + 2 * n + i, lesser, mask=ok)
    tl.store(out + 3 * n + i, partner, mask=ok)
    tl.store(out + 4 * n + i, tl.map_elementwise(steps_down, first, 100), mask=ok)
    tl.store(total, tl.sum(tl.map_elementwise(hashed, first), 0))


def _halved(x: float, low: float) -> float:
    one, x = np.float32, np.float32(x)
    if x < low:
        return low
    if x > 3:
        n = max(0, math.ceil(math.log2(x)))
        return one(x * one(0.5**n)) + one(n)
    total = one(one(0) + x) + one(2) * x
    return total if total > 1 else -total


def _steps(a: int, b: int) -> int:
    return 0 if b == 0 else 1 + _steps(b, int(math.fmod(a, b)))


def _steps_down(n: int) -> int:
    count = 0
    for start in range(n % 16, n % 3, -2):
        k = start
        while k > 1 and count < 100:
            k = 3 * k + 1 if k % 2 else k // 2
            count += 1
    return count


def _make(rng: np.random.Generator) -> Inputs:
    n = 90
    x = (rng.integers(-64, 4096, n) / 16).astype(np.float32)
    x[:4] = np.nan, np.inf, -0.0, 3
    x[1] = -np.inf
    a, b = (rng.integers(0, 1000, n).astype(np.int32) for _ in range(2))
    return {
        "x": x,
        "a": a,
        "b": b,
        "out": poison(5 * n, np.int32),
        "halves": poison(n, np.float32),
        "total": poison(1, np.int32),
        "n": n,
    }


def _expect(inputs: Inputs) -> dict[str, Array]:
    a, b = inputs["a"], inputs["b"]
    halves = [x if np.isnan(x) else _halved(x, 0.25) for x in inputs["x"]]
    halves[0] = -np.float32("nan")
    pairs = [np.stack([a[i : i + 2], b[i : i + 2]]) for i in range(0, len(a), 2)]
    ordered = np.concatenate([pair if pair[0, 0] <= pair[0, 1] else pair[:, ::-1] for pair in pairs], axis=1)
    wide = a.astype(np.uint32)
    mixed = np.where(a > 0, (wide ^ (wide >> 15)) * np.uint32(739982445), wide)
    steps = np.array([_steps(int(p), int(q)) for p, q in zip(a, b, strict=True)], np.int32)
    down = [_steps_down(int(n)) for n in a]
    return {
        "halves": np.array(halves, np.float32),
        "out": np.concatenate([np.gcd(a, b), steps, *ordered, down]).astype(np.int32),
        "total": np.array([(mixed * mixed).sum(dtype=np.uint32)]).astype(np.uint32).view(np.int32),
    }


add_case(OpCase("mapped_elements", "mapping", mapped, (1,), _make, _expect, {"N": 128, "LOW": 0.25}, 2))
