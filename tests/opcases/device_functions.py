"""The functions of libdevice, many in one kernel, and random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import EXACT, Array, Inputs, OpCase, Tolerance, add_case, numbers, poison
from tle2cuda.ir.device_functions import DEVICE_FUNCTIONS, Overload, find_overload
from tle2cuda.ir.types import F32, F64, I32, I64, U32, U64, DType
from tle2cuda.language.extra import libdevice
from tle2cuda.ops.libdevice import meaning_of

N = 203
KINDS = {F32: np.float32, F64: np.float64, I32: np.int32, I64: np.int64, U32: np.uint32, U64: np.uint64}

# Arguments that a function of one float is meant for, where that is not every number between -8 and 8.
RANGES = {
    "acos asin atanh erfinv": (-0.99, 0.99),
    "acosh": (1.0, 50.0),
    "erfcinv": (0.01, 1.99),
    "normcdfinv": (0.01, 0.99),
    "log10 rsqrt rcbrt fast_logf fast_log2f fast_log10f rsqrt_rn sqrt y0 y1 sqrt_rd sqrt_rn sqrt_ru sqrt_rz": (0.1, 50.0),
    "log log2 rcp_rd rcp_rn rcp_ru rcp_rz rcp64h": (0.1, 50.0),
    "log1p": (-0.9, 50.0),
    "lgamma tgamma": (0.1, 20.0),
    "exp10 expm1 fast_exp10f fast_expf fast_sinf fast_cosf fast_tanf": (-1.4, 1.4),
    "fast_powf pow atan2 fdim fmod hypot rhypot remainder": (0.5, 4.0),
    "norm3d norm4d rnorm3d rnorm4d": (0.5, 4.0),
    "jn yn": (1.0, 20.0),
}
# Where CUDA bounds the absolute error, that bound in 16 units of the last place of 1.
BESSEL = {F32: 2.0, F64: 1500.0}  # 2.2e-6 and 5e-12 behind |x| = 8, away from the zeros in front
NEAR_ZERO = "lgamma erfcinv normcdfinv fast_sinf fast_cosf fast_tanf fast_logf fast_log2f fast_log10f".split()
ABSOLUTE = dict.fromkeys("j0 j1 jn y0 y1 yn".split(), BESSEL) | {name: {F32: 1.0, F64: 1.0} for name in NEAR_ZERO}
APPROXIMATE = {"fast_expf": 4.0, "fast_exp10f": 8.0, "fast_powf": 24.0, "rcp64h": 2.0**33}


@tle2cuda.jit
def one_argument_kernel(x, out, n, FNS: tl.constexpr, BLOCK: tl.constexpr):
    """Row k of the output is function k of row k of the input."""
    i = tl.arange(0, BLOCK)
    for k in tl.static_range(len(FNS)):
        row = k * n + i
        tl.store(out + row, FNS[k](tl.load(x + row, mask=i < n, other=1)), mask=i < n)


@tle2cuda.jit
def two_arguments_kernel(x, y, out, n, FNS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for k in tl.static_range(len(FNS)):
        row = k * n + i
        a, b = tl.load(x + row, mask=i < n, other=1), tl.load(y + row, mask=i < n, other=1)
        tl.store(out + row, FNS[k](a, b), mask=i < n)


@tle2cuda.jit
def three_arguments_kernel(x, y, z, out, n, FNS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for k in tl.static_range(len(FNS)):
        row = k * n + i
        a, b = tl.load(x + row, mask=i < n, other=1), tl.load(y + row, mask=i < n, other=1)
        tl.store(out + row, FNS[k](a, b, tl.load(z + row, mask=i < n, other=1)), mask=i < n)


@tle2cuda.jit
def four_arguments_kernel(x, y, z, w, out, n, FNS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for k in tl.static_range(len(FNS)):
        row = k * n + i
        a, b = tl.load(x + row, mask=i < n, other=1), tl.load(y + row, mask=i < n, other=1)
        c, d = tl.load(z + row, mask=i < n, other=1), tl.load(w + row, mask=i < n, other=1)
        tl.store(out + row, FNS[k](a, b, c, d), mask=i < n)


KERNELS = {1: one_argument_kernel, 2: two_arguments_kernel, 3: three_arguments_kernel, 4: four_arguments_kernel}


def _range_of(name: str) -> tuple[float, float]:
    return next((limits for names, limits in RANGES.items() if name in names.split()), (-8.0, 8.0))


def _tolerance(name: str, overload: Overload) -> Tolerance:
    """Twice what CUDA documents, as the interpreter and the host are off a little, too; in few classes."""
    ulps = APPROXIMATE.get(name, 2 * overload.ulps)
    if name in ABSOLUTE:
        return Tolerance(16, ABSOLUTE[name][overload.result])
    return Tolerance(next(limit for limit in (4, 8, 24, 2.0**33) if ulps <= limit)) if ulps else EXACT


def _argument(rng: np.random.Generator, dtype: DType, limits: tuple[float, float], position: int) -> Array:
    if dtype is I32 and limits != (-8.0, 8.0):  # orders and exponents beside a float
        return rng.integers(0, 5, N).astype(np.int32)
    if dtype in (F32, F64):
        values = rng.random(N) * (limits[1] - limits[0]) + limits[0]
        return values.astype(KINDS[dtype])
    return numbers(rng, N, KINDS[dtype], special=position < 2)


def _add(label: str, names: Sequence[str], overload: Overload, tolerance: Tolerance) -> None:
    arguments, result = overload.arguments, overload.result
    kind = np.bool_ if result.is_bool() else KINDS[result]

    def make(rng: np.random.Generator) -> Inputs:
        inputs: Inputs = {}
        for position, (key, dtype) in enumerate(zip("xyzw", arguments, strict=False)):
            inputs[key] = np.concatenate([_argument(rng, dtype, _range_of(name), position) for name in names])
        return {**inputs, "out": poison(N * len(names), kind), "n": N}

    def expect(inputs: Inputs) -> dict[str, Array]:
        rows = []
        with np.errstate(all="ignore"):
            for k, name in enumerate(names):
                found = find_overload(name, arguments)
                assert found is not None
                arrays = [inputs[key][k * N : (k + 1) * N] for key, _ in zip("xyzw", arguments, strict=False)]
                rows.append(np.asarray(meaning_of(name, found)(*arrays)).astype(kind))
        return {"out": np.concatenate(rows)}

    functions = tuple(getattr(libdevice, name) for name in names)
    constants = {"FNS": functions, "BLOCK": 256}
    kernel = KERNELS[len(arguments)]
    add_case(OpCase(label, "libdevice", kernel, (1,), make, expect, constants, tolerance=tolerance, uses_stack=True))


def _register_libdevice() -> None:
    """One case for all functions that take and give the same dtypes, with about the same accuracy."""
    groups: dict[Any, list[tuple[str, Overload]]] = {}
    for name, overloads in DEVICE_FUNCTIONS.items():
        for overload in overloads:
            types = "_".join(dtype.short for dtype in (*overload.arguments, overload.result))
            tolerance = _tolerance(name, overload)
            accuracy = "exact" if tolerance == EXACT else f"{tolerance.ulps:g}_ulps_{tolerance.scale:g}"
            groups.setdefault((f"libdevice_{types}_{accuracy}", tolerance), []).append((name, overload))
    for (label, tolerance), members in groups.items():
        _add(label, [name for name, _ in members], members[0][1], tolerance)


# ---- random numbers -------------------------------------------------------------------------------------------------


@tle2cuda.jit
def random_kernel(offsets, words, floats, seed, n, FOUR: tl.constexpr, ONE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    offset = tl.load(offsets + i, mask=ok, other=0)
    a, b, c, d = tl.randint4x(seed, offset)
    tl.store(words + i, a, mask=ok)
    tl.store(words + n + i, b ^ c ^ d, mask=ok)
    x, y, z, w = FOUR(seed, offset)
    tl.store(floats + i, x, mask=ok)  # each by itself: a sum would be contracted
    tl.store(floats + n + i, y, mask=ok)
    tl.store(floats + 2 * n + i, z, mask=ok)
    tl.store(floats + 3 * n + i, w, mask=ok)
    tl.store(floats + 4 * n + i, ONE(seed, offset, n_rounds=7), mask=ok)


@tle2cuda.jit
def wide_random_kernel(words, seed, BLOCK: tl.constexpr):
    """64-bit words, and of scalars."""
    i = tl.arange(0, BLOCK).to(tl.int64)
    a, b, _, _ = tl.philox(seed, i, 1, 2, 3)
    tl.store(words + i, a ^ b)
    tl.store(words + BLOCK, tl.randint(seed, 5).to(tl.uint64))


def philox_words(seed: int, counter: Sequence[Array], bits: int, rounds: int) -> list[Array]:
    """Philox in Python's integers."""
    mask = (1 << bits) - 1
    multipliers = (0xD2511F53, 0xCD9E8D57) if bits == 32 else (0xD2E7470EE14C6C93, 0xCA5A826395121157)
    steps = (0x9E3779B9, 0xBB67AE85) if bits == 32 else (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
    seed &= 2**64 - 1
    keys = [seed & mask, seed >> bits]
    c = [np.array([int(v) & mask for v in np.broadcast_to(part, np.shape(counter[0]))], object) for part in counter]
    for _ in range(rounds):
        low, high = c[0] * multipliers[0], c[2] * multipliers[1]
        c = [(high >> bits) ^ c[1] ^ keys[0], high & mask, (low >> bits) ^ c[3] ^ keys[1], low & mask]
        keys = [(key + step) & mask for key, step in zip(keys, steps, strict=True)]
    kind = np.uint32 if bits == 32 else np.uint64
    return [part.astype(kind) for part in c]


def _uniform(words: Array) -> Array:
    signed = words.view(np.int32)
    return np.where(signed < 0, ~signed, signed).astype(np.float32) * np.float32(4.6566127342e-10)


def _normal(u: Array, v: Array) -> tuple[Array, Array]:
    radius = np.sqrt(-2 * np.log(np.maximum(u, np.float32(1e-7)).astype(np.float64)))
    angle = 2 * np.pi * v.astype(np.float64)
    return radius * np.cos(angle), radius * np.sin(angle)


def _register_random() -> None:
    for seed, kind, normal in ((3, np.int32, False), (2**40 + 9, np.int64, True)):

        def make(rng: np.random.Generator, kind: Any = kind, seed: int = seed) -> Inputs:
            offsets = numbers(rng, N, kind, special=True)
            return {
                "offsets": offsets,
                "words": poison(2 * N, np.uint32),
                "floats": poison(5 * N, np.float32),
                "seed": seed,
                "n": N,
            }

        def expect(inputs: Inputs, normal: bool = normal) -> dict[str, Array]:
            offsets, seed = inputs["offsets"], inputs["seed"]
            high = offsets >> 32 if offsets.dtype == np.int64 else 0
            full, fewer = (philox_words(seed, (offsets, high, 0, 0), 32, rounds) for rounds in (10, 7))
            u = [_uniform(w) for w in full]
            one = _uniform(fewer[0])
            if normal:
                u = [*_normal(u[0], u[1]), *_normal(u[2], u[3])]
                one = _normal(one, _uniform(fewer[1]))[0]
            words = np.concatenate([full[0], full[1] ^ full[2] ^ full[3]])
            return {"words": words, "floats": np.concatenate([*u, one]).astype(np.float32)}

        add_case(
            OpCase(
                f"random_{'normal' if normal else 'uniform'}_{np.dtype(kind).name}",
                "random",
                random_kernel,
                (2,),
                make,
                expect,
                {"FOUR": tl.randn4x if normal else tl.rand4x, "ONE": tl.randn if normal else tl.rand, "BLOCK": 128},
                tolerance=Tolerance(8, 4.0) if normal else EXACT,
                uses_stack=normal,
            )
        )

    def wide(inputs: Inputs) -> dict[str, Array]:
        c = philox_words(inputs["seed"], (np.arange(64), 1, 2, 3), 64, 10)
        last = philox_words(inputs["seed"], (np.array([5]), 0, 0, 0), 32, 10)[0]
        return {"words": np.concatenate([c[0] ^ c[1], last.astype(np.uint64)])}

    make_wide: Callable[[np.random.Generator], Inputs] = lambda rng: {"words": poison(65, np.uint64), "seed": -5}  # noqa: E731
    add_case(OpCase("random_64_bit_words", "random", wide_random_kernel, (1,), make_wide, wide, {"BLOCK": 64}, num_warps=1))


_register_libdevice()
_register_random()
