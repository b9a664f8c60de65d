"""Signed arithmetic that wraps, what a compiler that takes overflow for impossible would make of it, indices of 64 bits."""

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


ROWS = 17


@tle2cuda.jit
def wide_indices(out, s, N: tl.constexpr, WIDTH: tl.constexpr):
    """Index tiles made 64 bits wide: they read as `int`, and must be wide where that decides anything."""
    col = tl.arange(0, N)
    c = col.to(tl.int64)
    far = (col * WIDTH).to(tl.int64)
    row = 0
    products = (c * c * c * c * c * c * c, far + far + c, (c << 40) + (c ^ c) + (c | c), tl.where(c > 5, c, c) * 4000000000)
    bits = ((-c) << 33, (~c) << 33, c // (c + 1) + (c >> 32), tl.umulhi(c * 123456789, c).to(tl.int64))
    calls = (min(c * 46, col), max(col, c), tl.abs(c - 9) * (c + s), tl.randint(7, c).to(tl.int64))
    moved = (tl.cumsum(c, 0) * 1000000000, tl.gather(c + 5, col, 0) << 35, tl.flip(c, 0) << 35)
    for value in products + bits + calls + moved:
        tl.store(out + row * N + col, value)
        row += 1
    tl.store(out + row * N + col, tl.min(c[:, None] + col[None, :], 0) << 33)
    # A float that becomes an integer is no integer that becomes wide.
    short = (col * s).to(tl.int16)
    half = tl.minimum(col * 0.5, 100.0)
    tl.store(out + (row + 1) * N + col, short + half.to(tl.int64))


def _random_words(seed: int, offsets: Array) -> Array:
    """First words of Philox 4x32 with 10 rounds."""
    low = np.uint64(0xFFFFFFFF)
    x, y, z, w = (offsets.astype(np.uint64), *(np.zeros(offsets.shape, np.uint64) for _ in range(3)))
    key0, key1 = np.uint64(seed), np.uint64(0)
    for _ in range(10):
        a, b = x * np.uint64(0xD2511F53), z * np.uint64(0xCD9E8D57)
        x, y, z, w = (b >> np.uint64(32)) ^ y ^ key0, b & low, (a >> np.uint64(32)) ^ w ^ key1, a & low
        key0, key1 = (key0 + np.uint64(0x9E3779B9)) & low, (key1 + np.uint64(0xBB67AE85)) & low
    return x


def _wide(n: int, s: int, width: int) -> Array:
    c = np.arange(n, dtype=np.int64)
    far = c * width
    high = (c * 123456789).astype(object) * c.astype(object) // 2**64
    rows: list[Array] = [
        c**7,
        far + far + c,
        (c << 40) + c,
        c * 4000000000,
        -c << 33,
        ~c << 33,
        0 * c,
        high.astype(np.int64),
    ]
    rows += [np.minimum(c * 46, c), c, np.abs(c - 9) * (c + s), _random_words(7, c).astype(np.int64)]
    rows += [np.cumsum(c) * 1000000000, (c + 5) << 35, c[::-1] << 35, c << 33, (c * s).astype(np.int16) + c // 2]
    return np.stack(rows).ravel()


def _register_wide() -> None:
    def make(rng: np.random.Generator) -> Inputs:
        return {"out": poison(ROWS * 64, np.int64), "s": 100000}

    def expect(inputs: Inputs) -> dict[str, Array]:
        return {"out": _wide(64, inputs["s"], 1 << 25)}

    for warps in (1, 4):
        constants = {"N": 64, "WIDTH": 1 << 25}
        add_case(OpCase(f"wide_indices_{warps}_warps", "wrapping", wide_indices, (1,), make, expect, constants, warps))


_register_wide()
