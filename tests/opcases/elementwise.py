"""Arithmetic, bits, comparisons, selection, math functions and conversions, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, EXACT, F8E4NV, F8E5, Array, Inputs, OpCase, Tolerance, add_case, numbers, poison
from tle2cuda.language.extra import libdevice

N = 1003  # odd, so that the last CTA ends within a vector


@tle2cuda.jit
def unary_kernel(x, out, n, FN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, FN(tl.load(x + i, mask=i < n)), mask=i < n)


@tle2cuda.jit
def binary_kernel(x, y, out, n, FN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=1)
    b = tl.load(y + i, mask=i < n, other=1)
    tl.store(out + i, FN(a, b), mask=i < n)


@tle2cuda.jit
def ternary_kernel(x, y, z, out, n, FN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    tl.store(out + i, FN(tl.load(x + i, mask=ok), tl.load(y + i, mask=ok), tl.load(z + i, mask=ok)), mask=ok)


@tle2cuda.jit
def scalar_kernel(x, y, out, FN: tl.constexpr):
    """The same function on scalars: one thread stores what all threads compute."""
    p = tl.program_id(0)
    tl.store(out + p, FN(tl.load(x + p), tl.load(y + p)))


def _elementwise(
    name: str,
    family: str,
    fn: Any,
    reference: Callable[..., Array],
    operands: Callable[[np.random.Generator], tuple[Array, ...]],
    out_dtype: Any,
    tolerance: Tolerance = EXACT,
    block: int = 512,
    num_warps: int = 4,
) -> None:
    kernels = {1: unary_kernel, 2: binary_kernel, 3: ternary_kernel}

    def make(rng: np.random.Generator) -> Inputs:
        arrays = operands(rng)
        named = dict(zip("xyz", arrays, strict=False))
        return {**named, "out": poison(arrays[0].shape, out_dtype), "n": arrays[0].size}

    def expect(inputs: Inputs) -> dict[str, Array]:
        with np.errstate(all="ignore"):
            arrays = [inputs[key] for key in "xyz" if key in inputs]
            return {"out": np.asarray(reference(*arrays)).astype(out_dtype)}

    count = len(operands(np.random.default_rng(0)))
    size = operands(np.random.default_rng(0))[0].size
    add_case(
        OpCase(
            name,
            family,
            kernels[count],
            (-(-size // block),),
            make,
            expect,
            {"FN": fn, "BLOCK": block},
            num_warps,
            tolerance,
            uses_stack=fn in (tl.sin, tl.cos),
        )
    )


# ---- operators ------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def add(a, b):
    return a + b


@tle2cuda.jit
def sub(a, b):
    return a - b


@tle2cuda.jit
def mul(a, b):
    return a * b


@tle2cuda.jit
def div(a, b):
    return a / b


@tle2cuda.jit
def floordiv(a, b):
    return a // b


@tle2cuda.jit
def mod(a, b):
    return a % b


@tle2cuda.jit
def bits(a, b):
    return ((a & b) | (a ^ 5)) ^ ~b


@tle2cuda.jit
def logic(a, b):
    return ((a & b) | (a ^ b)) ^ ~b


@tle2cuda.jit
def shifts(a, b):
    return (a << (b & 7)) ^ (a >> (b & 7))


@tle2cuda.jit
def shifts_by_any_amount(a, b):
    return (a << b) ^ (a >> b)


@tle2cuda.jit
def negate_abs(a):
    return tl.abs(a) - (-a)


@tle2cuda.jit
def compare_all(a, b):
    """All six predicates in one number."""
    lower = (a == b).to(tl.int32) + 2 * (a != b).to(tl.int32) + 4 * (a < b).to(tl.int32)
    return lower + 8 * (a <= b).to(tl.int32) + 16 * (a > b).to(tl.int32) + 32 * (a >= b).to(tl.int32)


def compare_reference(a: Array, b: Array) -> Array:
    flags = [a == b, a != b, a < b, a <= b, a > b, a >= b]
    return sum(flag.astype(np.int32) << bit for bit, flag in enumerate(flags))


def trunc_div(a: Array, b: Array) -> Array:
    exact = [int(abs(int(x)) // abs(int(y))) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a, b, strict=True)]
    return np.array(exact, object).astype(a.dtype)


def trunc_mod(a: Array, b: Array) -> Array:
    exact = [(abs(int(x)) % abs(int(y))) * (-1 if x < 0 else 1) for x, y in zip(a, b, strict=True)]
    return np.array(exact, object).astype(a.dtype)


def two(dtype: Any, special: bool = True, n: int = N) -> Callable[[np.random.Generator], tuple[Array, ...]]:
    return lambda rng: (numbers(rng, n, dtype, special), numbers(rng, n, dtype, special))


def one(dtype: Any, special: bool = True) -> Callable[[np.random.Generator], tuple[Array, ...]]:
    return lambda rng: (numbers(rng, N, dtype, special),)


def divisible(dtype: Any) -> Callable[[np.random.Generator], tuple[Array, ...]]:
    """Dividends and divisors without zero divisors, and without the one quotient that overflows."""

    def make(rng: np.random.Generator) -> tuple[Array, ...]:
        a, b = numbers(rng, N, dtype, True), numbers(rng, N, dtype, True)
        small = rng.random(N) < 0.5
        b = np.where(small, b % np.array(13, dtype), b).astype(dtype)
        b[b == 0] = 3
        if np.dtype(dtype).kind == "i":
            a[a == np.iinfo(dtype).min] += 1
        return a, b

    return make


def any_amount(dtype: Any) -> Callable[[np.random.Generator], tuple[Array, ...]]:
    """Values, and amounts around and far from [0, bits)."""
    bits = 8 * np.dtype(dtype).itemsize

    def make(rng: np.random.Generator) -> tuple[Array, ...]:
        near = rng.integers(-2 if np.dtype(dtype).kind == "i" else 0, bits + 3, N).astype(dtype)
        return numbers(rng, N, dtype, True), np.where(rng.random(N) < 0.8, near, numbers(rng, N, dtype, True))

    return make


def shift_reference(a: Array, b: Array) -> Array:
    """What PTX does: an amount outside [0, bits), a negative one counting as large, shifts out everything."""
    bits = 8 * a.dtype.itemsize
    steps = [int(y) if 0 <= y < bits else bits for y in b]
    left = [int(x) << y for x, y in zip(a, steps, strict=True)]
    right = [int(x) >> y for x, y in zip(a, steps, strict=True)]
    return np.array([(x ^ y) & ((1 << bits) - 1) for x, y in zip(left, right, strict=True)], f"u{bits // 8}").view(a.dtype)


INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
FLOATS = {"f16": np.float16, "bf16": BF16, "f32": np.float32, "f64": np.float64}


def short(code: str) -> str:
    """`i4` -> `i32`."""
    return f"{code[0]}{8 * int(code[1:])}"


def _in_float(function: Callable[..., Array], dtype: Any) -> Callable[..., Array]:
    """A NumPy function computed in float32 (float64 for float64), as narrow floats are."""
    wide = np.float64 if np.dtype(dtype) == np.float64 else np.float32
    return lambda *arrays: np.asarray(function(*(a.astype(wide) for a in arrays)))


def _register_operators() -> None:
    for code in INTEGERS:
        for fn, function in ((add, np.add), (sub, np.subtract), (mul, np.multiply)):
            _elementwise(f"{fn.__name__}_{short(code)}", "arithmetic", fn, function, two(code), code)
        _elementwise(f"floordiv_{short(code)}", "arithmetic", floordiv, trunc_div, divisible(code), code)
        _elementwise(f"mod_{short(code)}", "arithmetic", mod, trunc_mod, divisible(code), code)
        _elementwise(
            f"bits_{short(code)}", "arithmetic", bits, lambda a, b: ((a & b) | (a ^ a.dtype.type(5))) ^ ~b, two(code), code
        )
        _elementwise(
            f"shifts_{short(code)}",
            "arithmetic",
            shifts,
            lambda a, b: (a << (b & b.dtype.type(7))) ^ (a >> (b & b.dtype.type(7))),
            two(code),
            code,
        )
        _elementwise(
            f"shifts_any_{short(code)}", "arithmetic", shifts_by_any_amount, shift_reference, any_amount(code), code
        )
        _elementwise(f"compare_{short(code)}", "compare", compare_all, compare_reference, two(code), "i4")
    for label, dtype in FLOATS.items():
        for fn, function in ((add, np.add), (sub, np.subtract), (mul, np.multiply)):
            _elementwise(f"{fn.__name__}_{label}", "arithmetic", fn, _in_float(function, dtype), two(dtype), dtype)
        _elementwise(
            f"div_{label}", "arithmetic", div, _in_float(np.divide, dtype), two(dtype, special=False), dtype, Tolerance(2)
        )
        _elementwise(f"compare_{label}", "compare", compare_all, compare_reference, two(dtype), "i4")
    _elementwise("logic_bool", "arithmetic", logic, lambda a, b: ((a & b) | (a ^ b)) ^ ~b, two("?"), "?")
    for label, dtype in (("f32", np.float32), ("f64", np.float64)):
        _elementwise(f"mod_{label}", "arithmetic", mod, np.fmod, _mod_operands(dtype), dtype, Tolerance(4, 8.0))
    for label, dtype in (("f8e4nv", F8E4NV), ("f8e5", F8E5)):
        _elementwise(f"compare_{label}", "compare", compare_all, compare_reference, two(dtype), "i4")


def _mod_operands(dtype: Any) -> Callable[[np.random.Generator], tuple[Array, ...]]:
    def make(rng: np.random.Generator) -> tuple[Array, ...]:
        # Quotients far from integers: next to them the rounded quotient decides the result.
        divisor = (rng.random(N) * 3 + 0.5) * rng.choice([-1, 1], N)
        quotient = rng.integers(0, 9, N) + 0.1 + 0.8 * rng.random(N)
        return (quotient * divisor * rng.choice([-1, 1], N)).astype(dtype), divisor.astype(dtype)

    return make


# ---- functions ------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def minimum(a, b):
    return tl.minimum(a, b)


@tle2cuda.jit
def maximum(a, b):
    return tl.maximum(a, b)


@tle2cuda.jit
def minimum_nan(a, b):
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@tle2cuda.jit
def maximum_nan(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@tle2cuda.jit
def clamp(x, low, high):
    return tl.clamp(x, tl.minimum(low, high), tl.maximum(low, high))


@tle2cuda.jit
def where(a, b):
    return tl.where(a > b, a, tl.where(a == b, 0, b))


@tle2cuda.jit
def fma(a, b, c):
    return tl.fma(a, b, c)


@tle2cuda.jit
def umulhi(a, b):
    return tl.umulhi(a, b)


@tle2cuda.jit
def ceiling_division(a, b):
    return tl.cdiv(a, b)


@tle2cuda.jit
def div_rn(a, b):
    return tl.div_rn(a, b)


@tle2cuda.jit
def fdiv(a, b):
    return tl.fdiv(a, b)


@tle2cuda.jit
def promoted(a, b):
    """Mixed dtypes, numbers beside tiles, both orders of operands."""
    return (a + b) * 2 - (1 + a) + (b - 3)


def _with_zeros_ordered(kind: str, propagate: bool, dtype: Any) -> Callable[..., Array]:
    def function(a: Array, b: Array) -> Array:
        a, b = a.astype(np.float64), b.astype(np.float64)
        pick = {"min": (np.minimum, np.fmin), "max": (np.maximum, np.fmax)}[kind][0 if propagate else 1]
        both_zero = (a == 0) & (b == 0)
        negative = np.signbit(a) | np.signbit(b) if kind == "min" else np.signbit(a) & np.signbit(b)
        return np.where(both_zero, np.where(negative, -0.0, 0.0), pick(a, b))

    return function


def _register_functions() -> None:
    for code in ("i1", "u2", "i4", "u4", "i8", "u8"):
        _elementwise(f"minimum_{short(code)}", "arithmetic", minimum, np.minimum, two(code), code)
        _elementwise(f"maximum_{short(code)}", "arithmetic", maximum, np.maximum, two(code), code)
    for label, dtype in FLOATS.items():
        for fn, kind in ((minimum, "min"), (maximum, "max")):
            _elementwise(
                f"{fn.__name__}_{label}", "arithmetic", fn, _with_zeros_ordered(kind, False, dtype), two(dtype), dtype
            )
        for fn, kind in ((minimum_nan, "min"), (maximum_nan, "max")):
            _elementwise(
                f"{fn.__name__}_{label}", "arithmetic", fn, _with_zeros_ordered(kind, True, dtype), two(dtype), dtype
            )
        _elementwise(
            f"where_{label}",
            "arithmetic",
            where,
            lambda a, b: np.where(a > b, a, np.where(a == b, np.zeros_like(a), b)),
            two(dtype),
            dtype,
        )
    _elementwise(
        "clamp_f32",
        "arithmetic",
        clamp,
        lambda x, a, b: np.minimum(np.maximum(x, np.minimum(a, b)), np.maximum(a, b)),
        lambda rng: tuple(numbers(rng, N, np.float32) for _ in range(3)),
        np.float32,
    )
    for label, dtype in (("f32", np.float32), ("f64", np.float64), ("f16", np.float16)):
        _elementwise(
            f"fma_{label}",
            "arithmetic",
            fma,
            lambda a, b, c: a.astype(np.longdouble) * b.astype(np.longdouble) + c.astype(np.longdouble),
            lambda rng, dtype=dtype: tuple(numbers(rng, N, dtype) for _ in range(3)),
            dtype,
            Tolerance(1) if dtype is np.float64 else EXACT,
        )
    for code in ("u4", "i4", "u8", "i8"):
        bits_ = 8 * int(code[1])
        unsigned = f"u{code[1]}"
        _elementwise(
            f"umulhi_{short(code)}",
            "arithmetic",
            umulhi,
            lambda a, b, s=bits_, u=unsigned: np.array(
                [int(x) * int(y) >> s for x, y in zip(a.view(u), b.view(u), strict=True)], object
            ).astype(u),
            two(code),
            code,
        )
    _elementwise(
        "cdiv_i32",
        "arithmetic",
        ceiling_division,
        lambda a, b: -(-a // b),
        lambda rng: (rng.integers(0, 10**6, N, "i4"), rng.integers(1, 5000, N, "i4")),
        "i4",
    )
    _elementwise("div_rn_f32", "arithmetic", div_rn, np.divide, two(np.float32), np.float32)
    _elementwise("fdiv_f32", "arithmetic", fdiv, np.divide, two(np.float32, False), np.float32, Tolerance(2))
    mixed = (
        ("i8_i32", "i1", "i4", "i4"),
        ("i32_i64", "i4", "i8", "i8"),
        ("u8_i16", "u1", "i2", "i2"),
        ("u32_i32", "u4", "i4", "u4"),
        ("i32_f16", "i4", "f2", "f2"),
        ("f16_f32", "f2", "f4", "f4"),
        ("i64_f32", "i8", "f4", "f4"),
    )
    for label, left, right, result in mixed:
        _elementwise(
            f"promote_{label}",
            "arithmetic",
            promoted,
            _promoted_reference(result),
            lambda rng, left=left, right=right: (
                rng.integers(1, 50, N).astype(left),
                rng.integers(3, 50, N).astype(right),
            ),
            result,
        )


def _promoted_reference(result: str) -> Callable[..., Array]:
    def function(a: Array, b: Array) -> Array:
        wide_a, wide_b = a.astype(result), b.astype(result)
        return (wide_a + wide_b) * 2 - (1 + wide_a) + (wide_b - 3)

    return function


# ---- math -----------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def rsqrt_abs(x):
    return tl.rsqrt(tl.abs(x) + 0.25)


_MATH: tuple[tuple[str, Any, Callable[[Array], Array], float, float, Tolerance], ...] = (
    # Name, function, NumPy, smallest and largest argument, and the tolerance for float32 (approximate functions).
    ("exp", tl.exp, np.exp, -10, 10, Tolerance(16)),
    ("exp2", tl.exp2, np.exp2, -20, 20, Tolerance(4)),
    ("log", tl.log, np.log, 1e-3, 100, Tolerance(4, 1.0)),
    ("log2", tl.log2, np.log2, 1e-3, 100, Tolerance(4, 1.0)),
    ("sin", tl.sin, np.sin, -20, 20, Tolerance(4, 1.0)),
    ("cos", tl.cos, np.cos, -20, 20, Tolerance(4, 1.0)),
    ("sqrt", tl.sqrt, np.sqrt, 0, 1e4, Tolerance(2)),
    ("sqrt_rn", tl.sqrt_rn, np.sqrt, 0, 1e4, EXACT),
    ("rsqrt", tl.rsqrt, lambda x: 1 / np.sqrt(x), 1e-3, 1e4, Tolerance(4)),
    ("erf", tl.erf, np.vectorize(math.erf, otypes=[float]), -4, 4, Tolerance(4)),
    ("floor", tl.floor, np.floor, -100, 100, EXACT),
    ("ceil", tl.ceil, np.ceil, -100, 100, EXACT),
    ("abs", tl.abs, np.abs, -100, 100, EXACT),
    ("sigmoid", tl.sigmoid, lambda x: 1 / (1 + np.exp(-x)), -10, 10, Tolerance(16)),
    ("tanh", libdevice.tanh, np.tanh, -4, 4, Tolerance(4)),
    ("rint", libdevice.rint, np.rint, -100, 100, EXACT),
    ("trunc", libdevice.trunc, np.trunc, -100, 100, EXACT),
    ("round", libdevice.round, lambda x: np.trunc(x + np.copysign(0.5, x)), -100, 100, EXACT),
    ("log1p", libdevice.log1p, np.log1p, -0.5, 10, Tolerance(4)),
    ("expm1", libdevice.expm1, np.expm1, -2, 5, Tolerance(4)),
)
_DOUBLE_TOO = ("exp", "log", "sin", "sqrt", "floor", "erf", "tanh", "abs", "rsqrt")


def _register_math() -> None:
    for name, fn, function, low, high, tolerance in _MATH:

        def exact(x: Array, function: Callable[[Array], Array] = function) -> Array:
            return function(x.astype(np.float64))

        for label, dtype in (("f32", np.float32), ("f64", np.float64)):
            if dtype is np.float64 and name not in _DOUBLE_TOO:
                continue

            def operands(rng: np.random.Generator, low=low, high=high, dtype=dtype) -> tuple[Array, ...]:
                x = (rng.random(N) * (high - low) + low).astype(dtype)
                x[:4] = [low, high, (low + high) / 2, 1.5]
                return (x,)

            _elementwise(f"{name}_{label}", "math", fn, exact, operands, dtype, tolerance)
    for name, fn, function in (("floor", tl.floor, np.floor), ("ceil", tl.ceil, np.ceil), ("abs", tl.abs, np.abs)):
        for label, dtype in (("f16", np.float16), ("bf16", BF16)):
            if name != "abs":
                continue
            _elementwise(f"{name}_{label}", "math", fn, _in_float(function, dtype), one(dtype), dtype)
    for code in ("i1", "i2", "i4", "i8"):
        _elementwise(f"abs_{short(code)}", "math", tl.abs, np.abs, one(code), code)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 3e38, 1e-30], np.float32)
    for name, fn, function in (
        ("exp", tl.exp, np.exp),
        ("log", tl.log, np.log),
        ("sqrt", tl.sqrt, np.sqrt),
        ("floor", tl.floor, np.floor),
        ("rsqrt", tl.rsqrt, lambda x: 1 / np.sqrt(x)),
        ("abs", tl.abs, np.abs),
    ):
        _elementwise(
            f"{name}_special_values",
            "math",
            fn,
            lambda x, function=function: function(x.astype(np.float64)),
            lambda rng: (np.tile(special, 7),),
            np.float32,
            Tolerance(4, 1.0),
            block=16,
            num_warps=1,
        )


# ---- conversions ----------------------------------------------------------------------------------------------------


@tle2cuda.jit
def cast_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, value.to(out.dtype.element_ty), mask=i < n)


@tle2cuda.jit
def cast_toward_zero_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, value.to(out.dtype.element_ty, fp_downcast_rounding="rtz"), mask=i < n)


@tle2cuda.jit
def bitcast_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.cast(value, out.dtype.element_ty, bitcast=True), mask=i < n)


@tle2cuda.jit
def pointer_cast_kernel(x, out, n, BLOCK: tl.constexpr):
    """Reads float32 through a pointer to int32, of a tile of pointers and of the scalar pointer."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    words = x.to(tl.pointer_type(tl.int32), bitcast=True)
    tl.store(out + i, tl.load(words + i, mask=i < n) ^ 1, mask=i < n)


ALL_DTYPES: dict[str, Any] = {
    "bool": np.bool_,
    **{short(code): np.dtype(code) for code in INTEGERS},
    **FLOATS,
    "f8e4nv": F8E4NV,
    "f8e5": F8E5,
}


def _cast_source(source: Any, target: Any) -> Callable[[np.random.Generator], Array]:
    """Values of `source` that `target` can take; `_cast_beyond_case` has others."""
    source, target = np.dtype(source), np.dtype(target)

    def make(rng: np.random.Generator) -> Array:
        if source.kind in "iub":
            return numbers(rng, N, source, source.kind != "b" and target.kind in "iub")
        if target.kind in "iu":
            info = np.iinfo(target)
            low, high = max(info.min, -500), min(info.max, 500)
            return (rng.random(N) * (high - low) + low).astype(source)
        return numbers(rng, N, source, special=True)

    return make


def _cast_reference(target: Any) -> Callable[[Array], Array]:
    """By NumPy; to float8 with saturation, which ml_dtypes leaves out."""
    target = np.dtype(target)

    def function(x: Array) -> Array:
        if target.kind == "b":
            return x.astype(np.float64) != 0 if x.dtype.kind not in "iub" else x != 0
        if target in (F8E4NV, F8E5):
            limit = 448.0 if target == F8E4NV else 57344.0
            wide = x.astype(np.float64)
            return np.clip(wide, -limit, limit).astype(np.float32).astype(target)
        if x.dtype.kind not in "iub" and target.kind in "iu":
            return np.trunc(x.astype(np.float64)).astype(np.int64).astype(target)
        if target in (BF16, np.dtype(np.float16)) and x.dtype.kind in "iu":
            return x.astype(np.float64).astype(np.float32).astype(target)
        return x.astype(target)

    return function


@tle2cuda.jit
def cast_beyond_kernel(x, i8, u8, i16, u16, i32, u32, i64, u64, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i)
    tl.store(i8 + i, a.to(tl.int8))
    tl.store(u8 + i, a.to(tl.uint8))
    tl.store(i16 + i, a.to(tl.int16))
    tl.store(u16 + i, a.to(tl.uint16))
    tl.store(i32 + i, a.to(tl.int32))
    tl.store(u32 + i, a.to(tl.uint32))
    tl.store(i64 + i, a.to(tl.int64))
    tl.store(u64 + i, a.to(tl.uint64))


def _cast_beyond_case(source: Any) -> None:
    """Floats that the integers cannot hold, as PTX defines cvt; narrow integers are the low bits of int32."""
    values = [
        0.0,
        -0.5,
        -1.5,
        300.75,
        -300.75,
        70000.5,
        -70000.5,
        3e9,
        -3e9,
        5e9,
        1e19,
        -1e19,
        1e25,
        np.nan,
        np.inf,
        -np.inf,
    ]
    x = np.array(values, source)
    names = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")

    def to_integer(bits: int, is_signed: bool) -> list[int]:
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
        sign_bit = (1 << bits - 1) if bits == 64 or x.dtype == np.float64 else 0
        nan = sign_bit - (1 << bits) if is_signed and sign_bit else sign_bit
        limit = {np.inf: high, -np.inf: low}
        return [nan if v != v else limit[v] if v in limit else min(max(int(v), low), high) for v in x.tolist()]

    def expect(inputs: Inputs) -> dict[str, Array]:
        of_int32 = np.array(to_integer(32, True))
        by_name = {name: np.array(to_integer(int(name[1:]), name[0] == "i"), ALL_DTYPES[name]) for name in names[4:]}
        return by_name | {name: of_int32.astype(ALL_DTYPES[name]) for name in names[:4]}

    def make(rng: np.random.Generator) -> Inputs:
        return {"x": x, **{name: poison(x.size, ALL_DTYPES[name]) for name in names}}

    name = f"cast_beyond_f{x.dtype.itemsize * 8}"
    add_case(OpCase(name, "casts", cast_beyond_kernel, (1,), make, expect, {"BLOCK": len(values)}))


def _cast_case(kernel: Any, name: str, source: Callable[[np.random.Generator], Array], target: Any, function: Any) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        x = source(rng)
        return {"x": x, "out": poison(x.size, target), "n": x.size}

    def expect(inputs: Inputs) -> dict[str, Array]:
        with np.errstate(all="ignore"):
            return {"out": np.asarray(function(inputs["x"])).astype(target)}

    add_case(OpCase(name, "casts", kernel, (2,), make, expect, {"BLOCK": 512}))


def _register_casts() -> None:
    wanted = [(a, b) for a in ("bool", "i32", "f32") for b in ALL_DTYPES]
    wanted += [(a, b) for b in ("bool", "i32", "f32") for a in ALL_DTYPES]
    wanted += [("i8", "u8"), ("u8", "i8"), ("i8", "i64"), ("u16", "i64"), ("i64", "i8"), ("u64", "f64"), ("i64", "f64")]
    wanted += [("f64", "f16"), ("f64", "bf16"), ("f16", "bf16"), ("bf16", "f16"), ("f16", "f64"), ("f64", "i64")]
    wanted += [("f8e5", "f8e4nv"), ("f16", "f8e5"), ("bf16", "f8e4nv"), ("i16", "f16"), ("u8", "bf16"), ("u32", "f32")]
    for a, b in dict.fromkeys(wanted):
        if a != b:
            source = _cast_source(ALL_DTYPES[a], ALL_DTYPES[b])
            _cast_case(cast_kernel, f"cast_{a}_{b}", source, ALL_DTYPES[b], _cast_reference(ALL_DTYPES[b]))
    for source_type in (np.float32, np.float64):
        _cast_beyond_case(source_type)
    for b in ("f16", "bf16"):
        _cast_case(cast_toward_zero_kernel, f"cast_rtz_f32_{b}", _ordinary, ALL_DTYPES[b], _toward_zero(ALL_DTYPES[b]))
    for a, b in (("f32", "i32"), ("u32", "f32"), ("f64", "i64"), ("i64", "f64"), ("f16", "i16"), ("i16", "bf16")):
        _cast_case(
            bitcast_kernel,
            f"bitcast_{a}_{b}",
            lambda rng, a=a: numbers(rng, N, ALL_DTYPES[a]),
            ALL_DTYPES[b],
            lambda x, b=b: x.view(ALL_DTYPES[b]),
        )
    for a, b in (("i8", "u8"), ("f8e5", "u8"), ("u8", "f8e4nv")):
        _cast_case(
            bitcast_kernel,
            f"bitcast_{a}_{b}",
            lambda rng, a=a: (rng.integers(0, 96, N, "u1")).view(ALL_DTYPES[a]),
            ALL_DTYPES[b],
            lambda x, b=b: x.view(ALL_DTYPES[b]),
        )
    _cast_case(
        pointer_cast_kernel,
        "bitcast_pointer",
        lambda rng: numbers(rng, N, np.float32),
        np.int32,
        lambda x: x.view(np.int32) ^ 1,
    )


def _ordinary(rng: np.random.Generator) -> Array:
    return numbers(rng, N, np.float32)


def _toward_zero(target: Any) -> Callable[[Array], Array]:
    def function(x: Array) -> Array:
        nearest = x.astype(target)
        too_far = np.abs(nearest.astype(np.float64)) > np.abs(x.astype(np.float64))
        step = np.where(too_far, 1, 0).astype(np.int16)
        return (nearest.view(np.int16) - step).view(target)

    return function


# ---- tiles and CTAs of other sizes, scalars -------------------------------------------------------------------------


def _register_sizes() -> None:
    sizes = ((1, 1, 1), (2, 32, 1), (31, 64, 4), (1000, 128, 4), (1000, 1024, 8), (5000, 4096, 4), (1000, 1024, 32))
    for n, block, warps in sizes:
        for label, dtype in (("i8", "i1"), ("f16", "f2"), ("f32", "f4"), ("i64", "i8")):
            _elementwise(
                f"size_{n}_{block}_{warps}_{label}",
                "creation",
                add,
                np.add,
                two(dtype, False, n),
                dtype,
                block=block,
                num_warps=warps,
            )
    for name, fn, function, dtype, tolerance in (
        ("add_i32", add, np.add, "i4", EXACT),
        ("mod_i64", mod, trunc_mod, "i8", EXACT),
        ("div_f32", div, np.divide, "f4", Tolerance(2)),
        ("bits_u8", bits, lambda a, b: ((a & b) | (a ^ np.uint8(5))) ^ ~b, "u1", EXACT),
        ("minimum_f16", minimum, np.minimum, "f2", EXACT),
        ("where_f64", where, lambda a, b: np.where(a > b, a, np.where(a == b, 0, b)), "f8", EXACT),
    ):

        def make(rng: np.random.Generator, dtype: str = dtype) -> Inputs:
            x, y = divisible(dtype)(rng) if dtype[0] in "iu" else two(dtype, False)(rng)
            return {"x": x[:5], "y": y[:5], "out": poison(5, dtype)}

        def expect(inputs: Inputs, function: Callable[..., Array] = function) -> dict[str, Array]:
            with np.errstate(all="ignore"):
                return {"out": np.asarray(function(inputs["x"], inputs["y"])).astype(inputs["out"].dtype)}

        add_case(OpCase(f"scalar_{name}", "arithmetic", scalar_kernel, (5,), make, expect, {"FN": fn}, 2, tolerance))


@tle2cuda.jit
def unfolded(x, out, n, N: tl.constexpr):
    """What arithmetic with 0, NaN and infinities in it gives may not be guessed from the operation."""
    i = tl.arange(0, N)
    v = tl.load(x + i).to(tl.float32)
    s = tl.load(x + n).to(tl.float32)
    tl.store(out + i, v / v)
    tl.store(out + N + i, v * 0 + (v - v))
    tl.store(out + 2 * N + i, 0.0 / v)
    tl.store(out + 3 * N + i, v % v)
    tl.store(out + 4 * N + i, v + 0.0)
    tl.store(out + 5 * N + i, tl.where(not (v < 1), 1.0, 0.0) + tl.where(v == v, 2.0, 0.0))
    tl.store(out + 6 * N + i, tl.where(v != v, s / s, s * 0))
    tl.store(out + 7 * N + i, (0.0 - v) * 1.0 + tl.maximum(s, s) * 0)


def _register_unfolded() -> None:
    def make(rng: np.random.Generator) -> Inputs:
        x = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1, -3, 65504], np.float16)
        return {"x": x, "out": poison(64, np.float32), "n": 3}

    def expect(inputs: Inputs) -> dict[str, Array]:
        v = inputs["x"].astype(np.float32)
        zero, s = np.float32(0), v[3]
        with np.errstate(all="ignore"):
            rest = np.where(np.isinf(v), v, np.where((v == 0) | np.isnan(v), np.nan, zero))  # as Triton's formula gives it
            rows = [v / v, v * 0 + (v - v), zero / v, rest, v + zero]
            rows += [np.where(~(v < 1), 1, 0) + np.where(v == v, 2, 0), np.full(8, s / s), np.full(8, np.nan)]
        return {"out": np.concatenate(rows).astype(np.float32)}

    add_case(OpCase("unfolded_floats", "elementwise", unfolded, (1,), make, expect, {"N": 8}, 1))


_register_operators()
_register_functions()
_register_math()
_register_casts()
_register_sizes()
_register_unfolded()
