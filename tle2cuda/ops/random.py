"""Random numbers: Philox counters, and the uniform and normal numbers made of them, bit for bit as Triton's.

The generator has no state: a number is a function of the seed and of its offset alone, so a backward pass that computes it
again gets the same one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tle2cuda.errors import DTypeMismatch, InvalidArgument
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import F32, I32, I64, U32, U64, DType, dtype_of
from tle2cuda.ops import arithmetic, bits, core, extrema
from tle2cuda.ops.core import broadcast_all, builtin, constant, emit_value, meaning, numeric, tensor, to_tensor
from tle2cuda.ops.math import cos, log, sin, sqrt
from tle2cuda.ops.numerics import Array, multiply_high

DEFAULT_ROUNDS = 10

# J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3": multipliers, and what the keys advance by.
_MULTIPLIERS = {U32: (0xD2511F53, 0xCD9E8D57), U64: (0xD2E7470EE14C6C93, 0xCA5A826395121157)}
_STEPS = {U32: (0x9E3779B9, 0xBB67AE85), U64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)}

# The largest factors that keep the largest integer below 1.
_UNIFORM_SCALES = {I32: 4.6566127342e-10, I64: 1.0842020432385337e-19}

Words = tuple[tensor, tensor, tensor, tensor]


def _rounds(n_rounds: Any, what: str) -> int:
    rounds = core.static_int(n_rounds, f"{what}: n_rounds")
    if not 0 <= rounds <= 64:
        raise InvalidArgument(f"{what}: n_rounds must be 0 to 64, got {rounds}")
    return rounds


def _words(counters: tuple[tensor, ...], keys: tuple[tensor, ...], rounds: int, what: str) -> Words:
    operands = broadcast_all((*counters, *keys), what)
    element, dims = operands[0].element, operands[0].dims
    first, second, third, fourth = (
        emit_value("philox", operands, element, dims, {"rounds": rounds, "word": word}) for word in range(4)
    )
    return first, second, third, fourth


@builtin
def philox_impl(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, n_rounds: Any = DEFAULT_ROUNDS) -> Words:
    """Philox 4x32 or 4x64: four random words for a counter of four words and a key of two.

    Args:
        c0: First word of the counter, uint32 or uint64; the other words and the key take its dtype.
        c1: Second word.
        c2: Third word.
        c3: Fourth word.
        k0: First word of the key.
        k1: Second word of the key.
        n_rounds: How many rounds; 10 is the recommended number, 6 passes the usual tests.

    Returns:
        Four tiles or scalars of the dtype of `c0`.

    Raises:
        DTypeMismatch: `c0` is neither uint32 nor uint64, or a word has another dtype.

    Example:
        ``a, b, c, d = tl.philox_impl(index, zero, zero, zero, low, high)``
    """
    given = tuple(numeric(v, "tl.philox_impl") for v in (c0, c1, c2, c3, k0, k1))
    dtype = core.dtype_of(given[0])
    if dtype not in (U32, U64):
        raise DTypeMismatch(
            f"tl.philox_impl takes uint32 or uint64, got {core.describe_type(given[0])}", facts=(core.fact("c0", given[0]),)
        )
    words = tuple(core.cast(v, dtype) for v in given)
    return _words(words[:4], words[4:], _rounds(n_rounds, "tl.philox_impl"), "tl.philox_impl")


@builtin
def philox(seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: Any = DEFAULT_ROUNDS) -> Words:
    """Four random words for a seed and a counter of four words.

    Args:
        seed: Integer of up to 64 bits; the key of the generator.
        c0: First word of the counter: 32 or 64 bits, which is also the width of the results.
        c1: Second word, as the others cast to that width.
        c2: Third word.
        c3: Fourth word.
        n_rounds: How many rounds, a constant.

    Returns:
        Four tiles or scalars of uint32 or uint64.

    Raises:
        DTypeMismatch: `seed` is no integer, or `c0` has another width.

    Example:
        ``a, b, c, d = tl.philox(seed, offsets, 0, 0, 0)``
    """
    what = "tl.philox"
    key = numeric(seed, what)
    if not core.dtype_of(key).is_int():
        raise DTypeMismatch(f"{what}: the seed must be an integer, got {core.describe_type(key)}")
    counters = tuple(numeric(v, what) for v in (c0, c1, c2, c3))
    width = core.dtype_of(counters[0]).bits
    if width not in (32, 64):
        raise DTypeMismatch(
            f"{what}: counters have 32 or 64 bits, got {core.describe_type(counters[0])}",
            facts=(core.fact("c0", counters[0]),),
        )
    word = U32 if width == 32 else U64
    wide = core.cast(key, U64)
    if word is U32:
        keys = (core.cast(wide, U32), core.cast(bits.shift_right(wide, 32), U32))
    else:
        keys = (wide, constant(0, U64))
    return _words(tuple(_as_word(v, word) for v in counters), keys, _rounds(n_rounds, what), what)


def _as_word(value: tensor, word: DType) -> tensor:
    """A counter as an unsigned word: the bits of numbers of that width, the value of others."""
    dtype = core.dtype_of(value)
    if dtype.bits == word.bits and dtype.is_floating():
        return emit_value("bitcast", (value,), word, value.dims)
    return core.cast(value, word)


@builtin
def randint4x(seed: Any, offset: Any, n_rounds: Any = DEFAULT_ROUNDS) -> Words:
    """Four random uint32 for each offset: the cheapest way to get many.

    Args:
        seed: Integer of up to 64 bits.
        offset: Tile or scalar of integers, 64-bit ones counting with both halves.
        n_rounds: Rounds of the generator, a constant.

    Returns:
        Four tiles or scalars of uint32.

    Raises:
        DTypeMismatch: `seed` is no integer.

    Example:
        ``a, b, c, d = tl.randint4x(seed, offsets)``
    """
    value = numeric(offset, "tl.randint4x")
    low = core.cast(value, U32)
    zero = constant(0, U32, value.dims)
    high = zero
    if core.dtype_of(value).bits > 32:
        high = core.cast(bits.shift_right(core.cast(value, I64), 32), U32)
    return philox(seed, low, high, zero, zero, n_rounds)


@builtin
def randint(seed: Any, offset: Any, n_rounds: Any = DEFAULT_ROUNDS) -> tensor:
    """A random uint32 for each offset.

    Args:
        seed: Integer of up to 64 bits.
        offset: Tile or scalar of integers.
        n_rounds: Rounds of the generator, a constant.

    Raises:
        DTypeMismatch: `seed` is no integer.

    Example:
        ``pick = tl.randint(seed, offsets) % 8``
    """
    return randint4x(seed, offset, n_rounds)[0]


@builtin
def uint_to_uniform_float(x: Any) -> tensor:
    """Random words as float32 in [0, 1).

    Args:
        x: Tile or scalar of (u)int32 or (u)int64.

    Raises:
        DTypeMismatch: Another dtype.

    Example:
        ``u = tl.uint_to_uniform_float(tl.randint(seed, offsets))``
    """
    value = numeric(x, "tl.uint_to_uniform_float")
    dtype = core.dtype_of(value)
    if dtype not in (I32, U32, I64, U64):
        raise DTypeMismatch(
            f"tl.uint_to_uniform_float takes integers of 32 or 64 bits, got {core.describe_type(value)}",
            facts=(core.fact("x", value),),
        )
    signed = I32 if dtype.bits == 32 else I64
    word = core.cast(value, signed)
    folded = arithmetic.where(word < 0, ~word, word)
    return core.cast(folded, F32) * _UNIFORM_SCALES[signed]


@builtin
def rand(seed: Any, offset: Any, n_rounds: Any = DEFAULT_ROUNDS) -> tensor:
    """A float32 in [0, 1) for each offset, uniformly distributed.

    Args:
        seed: Integer of up to 64 bits.
        offset: Tile or scalar of integers.
        n_rounds: Rounds of the generator, a constant.

    Raises:
        DTypeMismatch: `seed` is no integer.

    Example:
        ``keep = tl.rand(seed, offsets) > p``
    """
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@builtin
def rand4x(seed: Any, offsets: Any, n_rounds: Any = DEFAULT_ROUNDS) -> Words:
    """Four float32 in [0, 1) for each of the offsets.

    Args:
        seed: Integer of up to 64 bits.
        offsets: Tile or scalar of integers.
        n_rounds: Rounds of the generator, a constant.

    Raises:
        DTypeMismatch: `seed` is no integer.

    Example:
        ``a, b, c, d = tl.rand4x(seed, offsets)``
    """
    a, b, c, d = randint4x(seed, offsets, n_rounds)
    return uint_to_uniform_float(a), uint_to_uniform_float(b), uint_to_uniform_float(c), uint_to_uniform_float(d)


@builtin
def pair_uniform_to_normal(u1: Any, u2: Any) -> tuple[tensor, tensor]:
    """Two independent normal numbers of two uniform ones, by Box and Muller.

    Args:
        u1: Uniform in [0, 1); below 1e-7 it counts as that.
        u2: Uniform in [0, 1).

    Raises:
        DTypeMismatch: 16-bit floats; convert them first.

    Example:
        ``a, b = tl.pair_uniform_to_normal(u, v)``
    """
    first = extrema.maximum(1.0e-7, u1)
    angle = to_tensor(u2) * (2 * math.pi)
    radius = sqrt(log(first) * -2.0)
    return radius * cos(angle), radius * sin(angle)


@builtin
def randn(seed: Any, offset: Any, n_rounds: Any = DEFAULT_ROUNDS) -> tensor:
    """A float32 for each offset, normally distributed with mean 0 and variance 1.

    Args:
        seed: Integer of up to 64 bits.
        offset: Tile or scalar of integers.
        n_rounds: Rounds of the generator, a constant.

    Raises:
        DTypeMismatch: `seed` is no integer.

    Example:
        ``noise = tl.randn(seed, offsets)``
    """
    a, b, _, _ = randint4x(seed, offset, n_rounds)
    return pair_uniform_to_normal(uint_to_uniform_float(a), uint_to_uniform_float(b))[0]


@builtin
def randn4x(seed: Any, offset: Any, n_rounds: Any = DEFAULT_ROUNDS) -> Words:
    """Four normally distributed float32 for each offset.

    Args:
        seed: Integer of up to 64 bits.
        offset: Tile or scalar of integers.
        n_rounds: Rounds of the generator, a constant.

    Raises:
        DTypeMismatch: `seed` is no integer.

    Example:
        ``a, b, c, d = tl.randn4x(seed, offsets)``
    """
    u1, u2, u3, u4 = rand4x(seed, offset, n_rounds)
    return *pair_uniform_to_normal(u1, u2), *pair_uniform_to_normal(u3, u4)


# -- meaning ----------------------------------------------------------------------------------------


@meaning("philox")
def _philox(ctx: Any, op: Op, *operands: Array) -> Any:
    dtype = dtype_of(op.result.type)
    kind = np.uint32 if dtype is U32 else np.uint64
    c0, c1, c2, c3, k0, k1 = np.broadcast_arrays(*(np.asarray(v, kind) for v in operands))
    (first, second), (step0, step1) = ((kind(v) for v in table[dtype]) for table in (_MULTIPLIERS, _STEPS))
    with np.errstate(over="ignore"):
        for _ in range(op.attrs["rounds"]):
            high0, low0 = _high(c0, first, dtype), c0 * first
            high2, low2 = _high(c2, second, dtype), c2 * second
            c0, c1, c2, c3 = high2 ^ c1 ^ k0, low2, high0 ^ c3 ^ k1, low0
            k0, k1 = k0 + step0, k1 + step1
    return (c0, c1, c2, c3)[op.attrs["word"]]


def _high(a: Array, b: Any, dtype: DType) -> Any:
    if dtype is U32:
        return (a.astype(np.uint64) * np.uint64(b) >> np.uint64(32)).astype(np.uint32)
    return multiply_high(a, np.full(a.shape, b), 64, False)
