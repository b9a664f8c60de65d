"""Random numbers: Philox 4x32 and 4x64, and what is made of its words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tle2cuda.eager.elementwise import FUNCTIONS, maximum, multiply_high
from tle2cuda.eager.numbers import Array
from tle2cuda.eager.operators import cast, mul_operator
from tle2cuda.eager.values import Tile, describe, method, numeric, static_int, to_tile
from tle2cuda.errors import DTypeMismatch
from tle2cuda.ir.types import F32, I32, I64, U32, U64

_ROUNDS = 10
_CONSTANTS = {  # of 32-bit and of 64-bit words: the key's increments, the multipliers
    4: (0x9E3779B9, 0xBB67AE85, 0xD2511F53, 0xCD9E8D57),
    8: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B, 0xD2E7470EE14C6C93, 0xCA5A826395121157),
}


def _rounds(counter: tuple[Array, ...], key: tuple[Array, Array], rounds: int) -> tuple[Array, ...]:
    c0, c1, c2, c3 = counter
    k0, k1 = key
    kind = c0.dtype.type
    step0, step1, factor0, factor1 = (kind(x) for x in _CONSTANTS[c0.dtype.itemsize])
    for _ in range(rounds):
        first, third = c0, c2
        c0 = multiply_high(np.full_like(third, factor1), third) ^ c1 ^ k0
        c2 = multiply_high(np.full_like(first, factor0), first) ^ c3 ^ k1
        c1 = np.asarray(third * factor1)
        c3 = np.asarray(first * factor0)
        k0, k1 = np.asarray(k0 + step0), np.asarray(k1 + step1)
    return c0, c1, c2, c3


def philox_impl(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, n_rounds: Any = _ROUNDS) -> tuple[Tile, ...]:
    """The rounds of Philox on words of 32 or 64 bits."""
    tiles = [to_tile(x, "tl.philox_impl") for x in (c0, c1, c2, c3, k0, k1)]
    unsigned = np.dtype(f"u{tiles[0].data.dtype.itemsize}")
    words = np.broadcast_arrays(*(tile.data.astype(unsigned) for tile in tiles))
    counter = tuple(np.ascontiguousarray(word) for word in words[:4])
    key = (np.ascontiguousarray(words[4]), np.ascontiguousarray(words[5]))
    shape = words[0].shape
    results = _rounds(counter, key, static_int(n_rounds, "n_rounds"))
    dtype = U32 if unsigned.itemsize == 4 else U64
    return tuple(Tile(word.reshape(shape), dtype) for word in results)


def philox(seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: Any = _ROUNDS) -> tuple[Tile, ...]:
    """`tl.philox`."""
    given = numeric(seed, "tl.philox")
    if not given.dtype.is_int():
        raise DTypeMismatch(f"tl.philox: the seed must be an integer, got {describe(given)}")
    key = cast(given, U64)
    counters = [to_tile(x, "tl.philox") for x in (c0, c1, c2, c3)]
    if counters[0].dtype.bits not in (32, 64):
        raise DTypeMismatch(f"tl.philox: counters have 32 or 64 bits, got {describe(counters[0])}")
    if any(not tile.dtype.is_int() for tile in counters):
        raise DTypeMismatch(f"tl.philox takes integers, got {', '.join(describe(tile) for tile in counters)}")
    if counters[0].dtype.bits == 64:
        words = [cast(tile, U64) for tile in counters]
        return philox_impl(words[0], words[1], words[2], words[3], key, cast(0, U64), n_rounds)
    low, high = Tile(key.data.astype(np.uint32), U32), Tile((key.data >> np.uint64(32)).astype(np.uint32), U32)
    words = [cast(tile, U32) for tile in counters]
    return philox_impl(words[0], words[1], words[2], words[3], low, high, n_rounds)


def randint4x(seed: Any, offset: Any, n_rounds: Any = _ROUNDS) -> tuple[Tile, ...]:
    """Four words of random bits."""
    place = to_tile(offset, "tl.randint4x")
    low = cast(place, U32)
    zero = Tile(np.zeros_like(low.data), U32)
    if place.dtype.bits > 32:
        high = Tile((place.data.astype(np.uint64) >> np.uint64(32)).astype(np.uint32), U32)
    else:
        high = zero
    return philox(seed, low, high, zero, zero, n_rounds)


def randint(seed: Any, offset: Any, n_rounds: Any = _ROUNDS) -> Tile:
    """One word of random bits."""
    return randint4x(seed, offset, n_rounds)[0]


@method
def uint_to_uniform_float(x: Any) -> Any:
    """A word as a float32 in [0, 1)."""
    word = to_tile(x)
    signed = word.data.astype(np.uint32).view(np.int32) if word.data.dtype.itemsize == 4 else word.data.view(np.int64)
    scale = 4.6566127342e-10 if word.data.dtype.itemsize == 4 else 1.0842020432385337e-19
    folded = Tile(np.where(signed < 0, ~signed, signed), I32 if word.data.dtype.itemsize == 4 else I64)
    return mul_operator(cast(folded, F32), scale)


def rand(seed: Any, offset: Any, n_rounds: Any = _ROUNDS) -> Any:
    """Uniform in [0, 1)."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


def rand4x(seed: Any, offsets: Any, n_rounds: Any = _ROUNDS) -> tuple[Tile, ...]:
    """Four of them."""
    return tuple(uint_to_uniform_float(word) for word in randint4x(seed, offsets, n_rounds))


@method
def pair_uniform_to_normal(u1: Any, u2: Any) -> tuple[Tile, Tile]:
    """Box-Muller."""
    first = maximum(1.0e-7, u1)
    theta = mul_operator(to_tile(u2), 2 * math.pi)
    radius = FUNCTIONS["sqrt"](mul_operator(-2.0, FUNCTIONS["log"](first)))
    return mul_operator(radius, FUNCTIONS["cos"](theta)), mul_operator(radius, FUNCTIONS["sin"](theta))


def randn(seed: Any, offset: Any, n_rounds: Any = _ROUNDS) -> Tile:
    """Standard normal."""
    words = randint4x(seed, offset, n_rounds)
    return pair_uniform_to_normal(uint_to_uniform_float(words[0]), uint_to_uniform_float(words[1]))[0]


def randn4x(seed: Any, offset: Any, n_rounds: Any = _ROUNDS) -> tuple[Tile, ...]:
    """Four of them."""
    a, b, c, d = rand4x(seed, offset, n_rounds)
    return (*pair_uniform_to_normal(a, b), *pair_uniform_to_normal(c, d))
