"""Signed arithmetic that wraps, and what a compiler that takes overflow for impossible would make of it."""

from __future__ import annotations

from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import Array, Inputs, OpCase, add_case, numbers, poison

N = 203


@tle2cuda.jit
def hashes(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    mixed = value * 1103515245 + 12345
    scaled = mixed * 8 // 8
    square = value * value
    step = tl.where(mixed + 1 > mixed, scaled, -scaled)
    tl.store(out + i, tl.where(square < 0, step, step - mixed), mask=i < n)


@tle2cuda.jit
def generator(x, out, n, ROUNDS: tl.constexpr):
    """A linear generator, its state a scalar that a loop carries."""
    state = tl.load(x + tl.program_id(0))
    high = state - state
    for _ in range(ROUNDS):
        state = state * 1664525 + 1013904223
        high += (state * 4 // 4) ^ state
    tl.store(out + tl.program_id(0), high)


def _hash(x: Array) -> Array:
    mixed = x * x.dtype.type(1103515245) + x.dtype.type(12345)
    eight = mixed * x.dtype.type(8)
    scaled = (np.abs(eight.astype(object)) // 8 * np.where(eight < 0, -1, 1)).astype(x.dtype)
    step = np.where(mixed + x.dtype.type(1) > mixed, scaled, -scaled)
    return np.where(x * x < 0, step, step - mixed)


def _generate(x: Array, rounds: int) -> Array:
    state, high = x.copy(), np.zeros_like(x)
    for _ in range(rounds):
        state = state * x.dtype.type(1664525) + x.dtype.type(1013904223)
        four = state * x.dtype.type(4)
        high += (np.abs(four.astype(object)) // 4 * np.where(four < 0, -1, 1)).astype(x.dtype) ^ state
    return high


def _register() -> None:
    for dtype in (np.int32, np.int64):
        name = np.dtype(dtype).name

        def make(rng: np.random.Generator, dtype: Any = dtype) -> Inputs:
            return {"x": numbers(rng, N, dtype, special=True), "out": poison(N, dtype), "n": N}

        def hashed(inputs: Inputs) -> dict[str, Array]:
            with np.errstate(over="ignore"):
                return {"out": _hash(inputs["x"])}

        def generated(inputs: Inputs) -> dict[str, Array]:
            with np.errstate(over="ignore"):
                return {"out": np.concatenate([_generate(inputs["x"][:8], 5), inputs["out"][8:]])}

        add_case(OpCase(f"wrapping_hash_{name}", "wrapping", hashes, (2,), make, hashed, {"BLOCK": 128}, 2))
        add_case(OpCase(f"wrapping_generator_{name}", "wrapping", generator, (8,), make, generated, {"ROUNDS": 5}, 1))


_register()
