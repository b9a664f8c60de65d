"""Meanings of libdevice against values of 60 digits (data/special_functions.json) and against exact arithmetic."""

from __future__ import annotations

import itertools
import json
import math
import pathlib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tle2cuda.language as tl
from tests.ops.harness import tracing
from tle2cuda.errors import DTypeMismatch
from tle2cuda.ir.device_functions import DEVICE_FUNCTIONS
from tle2cuda.language.extra import libdevice

DATA = json.loads((pathlib.Path(__file__).parent / "data" / "special_functions.json").read_text(encoding="utf-8"))
DTYPES = {np.float32: tl.float32, np.float64: tl.float64, np.int32: tl.int32, np.int64: tl.int64}
DTYPES |= {np.uint32: tl.uint32, np.uint64: tl.uint64}


def run(name: str, *arrays: Any) -> Any:
    """One function of libdevice in the interpreter; NumPy dtypes say which overload."""
    with tracing() as trace:
        inputs = [trace.input(np.asarray(a), DTYPES[np.asarray(a).dtype.type]) for a in arrays]
        return np.asarray(trace.evaluate(getattr(libdevice, name)(*inputs)))


@pytest.mark.parametrize("entry", DATA)
def test_special_functions(entry: str) -> None:
    name, _, order = entry.partition(" ")
    x, want = (np.array([float.fromhex(pair[i]) for pair in DATA[entry]]) for i in (0, 1))
    first = (np.full(x.shape, int(order), np.int32),) if order else ()
    got = run(name, *first, x)
    # Near the zeros of these the error is bounded absolutely.
    scale = 1.0 if name in ("j0", "j1", "y0", "y1", "jn", "yn", "lgamma") else 0.0
    assert (np.abs(got - want) <= 16 * 2.0**-52 * (np.abs(want) + scale)).all()
    single = run(name, *first, x.astype(np.float32))
    assert single.dtype == np.float32
    assert (np.abs(single - want) <= 2.0**-23 * np.abs(want) + 1e-14 * scale).all()


def test_special_values() -> None:
    inf, nan = np.inf, np.nan

    def check(name: str, x: list[float], want: list[float]) -> None:
        for kind in (np.float32, np.float64):
            np.testing.assert_array_equal(run(name, np.array(x, kind)), np.array(want, kind), err_msg=name)

    check("tgamma", [0.0, -0.0, -1, inf, -inf, 200, nan], [inf, -inf, nan, inf, nan, inf, nan])
    check("lgamma", [0.0, -3, inf, -inf, 1, 2, nan], [inf, inf, inf, inf, 0, 0, nan])
    check("erfinv", [1, -1, 1.5, 0, nan], [inf, -inf, nan, 0, nan])
    check("erfcinv", [0, 2, 2.5, -1, 1, nan], [inf, -inf, nan, nan, 0, nan])
    check("normcdfinv", [0, 1, 1.5, 0.5, nan], [-inf, inf, nan, 0, nan])
    check("normcdf", [-inf, inf, 0, nan], [0, 1, 0.5, nan])
    check("erfcx", [inf, -inf, nan], [0, inf, nan])
    check("y0", [0, -1, inf, nan], [-inf, nan, 0, nan])
    check("j1", [0, inf, -inf, nan], [0, 0, 0, nan])
    check("sinpi", [0.5, 1, 1.5, -2, inf, nan], [1, 0, -1, -0.0, nan, nan])
    check("cospi", [0.5, 1, 1.5, -2, inf, nan], [0, -1, 0, 1, nan, nan])
    check("logb", [0, inf, -inf, 8, 0.75, nan], [-inf, inf, inf, 3, -1, nan])
    check("round", [0.5, 1.5, -2.5, 0.25, inf], [1, 2, -3, 0, inf])
    check("rint", [0.5, 1.5, -2.5, 0.25, inf], [0, 2, -2, 0, inf])
    check("cyl_bessel_i1", [-800, 800, 0, nan], [-inf, inf, 0, nan])
    assert run("ilogb", np.array([0, inf, nan, 8, 0.3])).tolist() == [-(2**31), 2**31 - 1, -(2**31), 3, -2]
    assert run("saturatef", np.array([nan, -1, 0.5, 2, inf], np.float32)).tolist() == [0, 0, 0.5, 1, 1]
    assert run("hypot", np.array([inf, 3e300, nan]), np.array([nan, 4e300, 1])).tolist()[:2] == [inf, 5e300]
    assert run("fdim", np.array([3.0, 1, nan]), np.array([1.0, 3, 1])).tolist()[:2] == [2, 0]
    assert run("nextafter", np.float32([1, 0]), np.float32([2, -1])).tolist() == [1 + 2.0**-23, -(2.0**-149)]
    assert run("isnan", np.array([nan, 1, inf])).tolist() == [True, False, False]
    assert run("isinf", np.float32([nan, 1, -inf])).tolist() == [False, False, True]
    assert run("finitef", np.float32([nan, 1, inf])).tolist() == [False, True, False]
    assert run("signbit", np.array([-0.0, 1, -inf])).tolist() == [1, 0, 1]
    assert run("copysign", np.float32([3, 3]), np.float32([-0.0, 1])).tolist() == [-3, 3]
    assert run("remainder", np.array([5.0, 7, 1]), np.array([2.0, 2, 0])).tolist()[:2] == [1, -1]
    assert run("fmod", np.array([5.5, -7]), np.array([2.0, 2])).tolist() == [1.5, -1]
    assert run("ldexp", np.float32([3, 1]), np.int32([4, -149])).tolist() == [48, 2.0**-149]
    assert run("pow", np.float32([-2, 2, 3]), np.int32([3, -1, 0])).tolist() == [-8, 0.5, 1]
    assert run("norm4d", *(np.array([v]) for v in (2.0, 4.0, 4.0, 8.0))).tolist() == [10]
    assert run("rnorm3d", *(np.array([v]) for v in (2.0, 3.0, 6.0))).tolist() == [1 / 7]
    assert run("rcp64h", np.array([4.0, -0.5])).tolist() == [0.25, -2]


def test_integers() -> None:
    x = np.array([0, 1, -1, 12345, -(2**31), 2**31 - 1, 0x00F0], np.int32)
    words = [int(v) & 0xFFFFFFFF for v in x]
    assert run("popc", x).tolist() == [bin(w).count("1") for w in words]
    assert run("clz", x).tolist() == [32 - w.bit_length() for w in words]
    assert run("ffs", x).tolist() == [(w & -w).bit_length() for w in words]
    assert run("brev", x).view(np.uint32).tolist() == [int(f"{w:032b}"[::-1], 2) for w in words]
    wide = x.astype(np.int64) * 2**31 - 3
    words = [int(v) & (2**64 - 1) for v in wide]
    assert run("popc", wide).tolist() == [bin(w).count("1") for w in words]
    assert run("clz", wide).tolist() == [64 - w.bit_length() for w in words]
    assert run("ffs", wide).tolist() == [(w & -w).bit_length() for w in words]
    assert run("brev", wide).view(np.uint64).tolist() == [int(f"{w:064b}"[::-1], 2) for w in words]
    y = x[::-1].copy()
    assert run("mulhi", x, y).tolist() == [int(a) * int(b) >> 32 for a, b in zip(x, y, strict=True)]
    assert run("hadd", x, y).tolist() == [(int(a) + int(b)) >> 1 for a, b in zip(x, y, strict=True)]
    assert run("rhadd", x, y).tolist() == [(int(a) + int(b) + 1) >> 1 for a, b in zip(x, y, strict=True)]
    assert run("sad", np.int32([3, -5]), np.int32([10, 2]), np.uint32([1, 1])).tolist() == [8, 8]
    assert run("mul24", np.int32([0x1000003, -3]), np.int32([2, 5])).tolist() == [6, -15]
    assert run("mul24", np.uint32([0xFFFFFFFF]), np.uint32([0xFFFFFF])).tolist() == [0xFFFFFF**2 & 0xFFFFFFFF]
    assert run("byte_perm", np.int32([0x33221100]), np.int32([0x77665544]), np.int32([0x7250])).tolist() == [0x77225500]
    assert run("abs", np.int32([-3, -(2**31)])).tolist() == [3, -(2**31)]


def test_bits() -> None:
    x = np.array([1.5, -0.0, np.inf])
    assert run("double_as_longlong", x).tolist() == x.view(np.int64).tolist()
    assert run("longlong_as_double", x.view(np.int64)).tolist() == x.tolist()
    high, low = run("double2hiint", x), run("double2loint", x)
    assert run("hiloint2double", high, low).tolist() == x.tolist()
    single = x.astype(np.float32)
    assert run("float_as_int", single).tolist() == single.view(np.int32).tolist()
    assert run("float_as_uint", single).tolist() == single.view(np.int32).tolist()
    assert run("int_as_float", single.view(np.int32)).tolist() == single.tolist()
    assert run("uint_as_float", single.view(np.uint32)).tolist() == single.tolist()


RNG = np.random.default_rng(3)
EXACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1 / a,
    "fma": lambda a, b, c: a * b + c,
}
COUNTS = {"rcp": 1, "fma": 3}


def _is_rounded(result: Any, exact: Fraction, direction: str) -> bool:
    """Whether a float is the exact value rounded in a direction: it lies on the right side, its neighbour does not."""
    kind = type(result)
    value = Fraction(float(result)) if math.isfinite(result) else (2**5000 if result > 0 else -(2**5000))
    if value == exact:
        return True
    if direction == "rz":
        direction = "rd" if exact > 0 else "ru"
    if direction == "rn":
        up, down = np.nextafter(result, kind(np.inf)), np.nextafter(result, kind(-np.inf))
        error = abs(value - exact)
        return all(not math.isfinite(n) or abs(Fraction(float(n)) - exact) >= error for n in (up, down))
    toward = kind(np.inf if direction == "rd" else -np.inf)
    neighbour = np.nextafter(result, toward)
    beyond = Fraction(float(neighbour)) if math.isfinite(neighbour) else (2**5000 if neighbour > 0 else -(2**5000))
    return value < exact < beyond if direction == "rd" else beyond < exact < value


@pytest.mark.parametrize(("name", "direction"), [*itertools.product(EXACT, ("rn", "rd", "ru", "rz"))])
def test_rounding_directions(name: str, direction: str) -> None:
    for kind in (np.float32, np.float64):
        spread = 2.0 ** RNG.integers(-60, 60, (3, 40))
        operands = [(RNG.standard_normal(40) * scale).astype(kind) for scale in spread[: COUNTS.get(name, 2)]]
        got = run(f"{name}_{direction}", *operands)
        for result, *values in zip(got, *operands, strict=True):
            exact = EXACT[name](*(Fraction(float(v)) for v in values))
            assert _is_rounded(result, exact, direction), (values, result)


def test_rounding_of_overflow_and_zero() -> None:
    largest = np.finfo(np.float32).max
    one = np.float32([1.0])
    wanted = {"rn": (np.inf, False), "rd": (largest, True), "ru": (np.inf, False), "rz": (largest, False)}
    for direction, (over, zero) in wanted.items():
        assert run(f"mul_{direction}", np.float32([largest]), np.float32([2])) == over
        assert bool(np.signbit(run(f"sub_{direction}", one, one)[0])) is zero
        assert run(f"add_{direction}", np.float32([np.inf]), one) == np.inf
    assert run("sqrt_rd", np.float32([2])) < run("sqrt_ru", np.float32([2]))
    assert run("sqrt_rz", np.array([2.0])) == run("sqrt_rd", np.array([2.0]))
    assert np.isnan(run("sqrt_ru", np.array([-2.0])))


def test_conversions() -> None:
    x = np.array([1.5, -1.5, 2.5, 3e9, -3e9, 1e20, -1e20, np.nan, 0.25])
    low, high = -(2**31), 2**31 - 1
    assert run("double2int_rn", x).tolist() == [2, -2, 2, high, low, high, low, low, 0]
    assert run("double2int_rd", x).tolist()[:3] == [1, -2, 2]
    assert run("double2int_ru", x).tolist()[:3] == [2, -1, 3]
    assert run("float2int_rz", x.astype(np.float32)).tolist() == [1, -1, 2, high, low, high, low, 0, 0]
    assert run("float2uint_rn", x.astype(np.float32)).view(np.uint32).tolist()[3:6] == [3000000000, 0, 2**32 - 1]
    assert run("double2ll_rz", x).tolist()[5:8] == [2**63 - 1, -(2**63), -(2**63)]
    assert run("llrint", x).tolist()[:5] == [2, -2, 2, 3 * 10**9, -3 * 10**9]
    assert run("llround", x).tolist()[:3] == [2, -2, 3]
    big = np.array([2**24 + 1, -(2**24) - 1], np.int32)
    assert run("int2float_rn", big).tolist() == [2**24, -(2**24)]
    assert run("int2float_ru", big).tolist() == [2**24 + 2, -(2**24)]
    assert run("int2float_rz", big).tolist() == [2**24, -(2**24)]
    assert run("ull2double_ru", np.array([2**64 - 1], np.uint64)).tolist() == [2.0**64]
    assert run("ull2double_rd", np.array([2**64 - 1], np.uint64)).tolist() == [2.0**64 - 2.0**11]
    assert run("double2float_rn", np.array([0.1])).tolist() == [float(np.float32(0.1))]
    assert run("double2float_ru", np.array([1 + 2.0**-40])).tolist() == [1 + 2.0**-23]
    assert run("double2float_rz", np.array([1e300])).tolist() == [float(np.finfo(np.float32).max)]


def test_every_overload_is_computed() -> None:
    for name, overloads in DEVICE_FUNCTIONS.items():
        for overload in overloads:
            with tracing() as trace:
                inputs = [trace.symbol(dtype, (8,)) for dtype in overload.arguments]
                result = getattr(libdevice, name)(*inputs)
                assert result.dtype is overload.result
            kinds = {dtype: kind for kind, dtype in DTYPES.items()}
            values = [np.array([0.5, 1, 3], kinds[dtype]) for dtype in overload.arguments]
            assert run(name, *values).dtype.itemsize == overload.result.bytes


def test_nothing_is_converted() -> None:
    with tracing() as trace:
        half, single = trace.symbol(tl.float16, (8,)), trace.symbol(tl.float32, (8,))
        with pytest.raises(DTypeMismatch) as caught:
            libdevice.exp(half)
        assert caught.value.message == "libdevice.exp takes (float32) or (float64), got (float16)"
        with pytest.raises(DTypeMismatch, match=r"libdevice.atan2 takes .* got \(float32, int32\)"):
            libdevice.atan2(single, 2)
        assert libdevice.pow(single, 2).dtype == tl.float32
        assert libdevice.pow(arg0=single, arg1=2.0).dtype == tl.float32
        assert libdevice.ldexp(single, 3).dtype == tl.float32
    with pytest.raises(AttributeError, match="libdevice has no function 'nothing'"):
        libdevice.nothing  # noqa: B018
