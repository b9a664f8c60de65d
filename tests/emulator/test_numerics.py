"""Small floats and conversions: every bit pattern, or many, against NumPy and ml_dtypes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.emulator.handwritten import run

BF16 = ml_dtypes.bfloat16
ALL_16 = np.arange(65536, dtype=np.uint16)
EACH = "for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) "


def elementwise(statement: str, args: dict, n: int, includes: str = "") -> dict:
    body = "    " + EACH + statement
    return run(body, {**args, "n": n}, 8, threads=256, includes=includes)


def random_bits(count: int, dtype: type, seed: int) -> np.ndarray:
    bits = np.random.default_rng(seed).integers(0, 2**32, count, np.uint64)
    return bits.astype(f"u{np.dtype(dtype).itemsize}").view(dtype)


def same(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    raw = f"u{want.dtype.itemsize}"
    with np.errstate(all="ignore"):
        both_nan = np.isnan(got.astype(np.float64)) & np.isnan(want.astype(np.float64))
    return (got.view(raw) == want.view(raw)) | both_nan


@pytest.mark.parametrize(
    ("dtype", "header", "to", "back"),
    [
        (np.float16, "cuda_fp16.h", "__half2float", "__float2half"),
        (BF16, "cuda_bf16.h", "__bfloat162float", "__float2bfloat16"),
    ],
)
def test_every_16_bit_float_there_and_back(dtype: type, header: str, to: str, back: str) -> None:
    x = ALL_16.view(dtype)
    args = {"x": x, "wide": np.zeros(65536, np.float32), "out": np.zeros(65536, dtype)}
    out = elementwise(f"{{ wide[i] = {to}(x[i]); out[i] = {back}(wide[i]); }}", args, 65536, header)
    assert same(out["wide"], x.astype(np.float32)).all()
    assert same(out["out"], x).all()


@pytest.mark.parametrize(
    ("dtype", "header", "back", "rz"),
    [
        (np.float16, "cuda_fp16.h", "__float2half", "__float2half_rz"),
        (BF16, "cuda_bf16.h", "__float2bfloat16", "__float2bfloat16_rz"),
    ],
)
def test_rounding_to_16_bits(dtype: type, header: str, back: str, rz: str) -> None:
    near = ALL_16.view(dtype).astype(np.float32).view(np.uint32)[:, None] + np.array([0, 1, 0x1000, 0x7FFF, 0x8000, 0xFFF])
    x = np.concatenate([random_bits(60000, np.float32, 1), near.astype(np.uint32).reshape(-1).view(np.float32)])
    args = {"x": x, "rn": np.zeros(x.size, dtype), "rz": np.zeros(x.size, dtype), "wide": np.zeros(x.size, dtype)}
    kind = "__half" if dtype is np.float16 else "__nv_bfloat16"
    statement = f"{{ rn[i] = {back}(x[i]); rz[i] = {rz}(x[i]); wide[i] = {kind}((double)x[i]); }}"
    out = elementwise(statement, args, x.size, header)
    with np.errstate(all="ignore"):
        nearest = x.astype(dtype)
    assert same(out["rn"], nearest).all()
    assert same(out["wide"], nearest).all()
    with np.errstate(all="ignore"):
        toward_zero = out["rz"].astype(np.float64)
        finite = np.isfinite(x)
        gap = np.abs(np.nextafter(np.abs(out["rz"][finite]), np.array(np.inf, dtype)).astype(np.float64))
    assert (np.abs(toward_zero[finite]) <= np.abs(x[finite].astype(np.float64))).all()
    assert (gap > np.abs(x[finite].astype(np.float64))).all()


@pytest.mark.parametrize(("dtype", "header"), [(np.float16, "cuda_fp16.h"), (BF16, "cuda_bf16.h")])
def test_arithmetic_rounds_once(dtype: type, header: str) -> None:
    a, b, c = (random_bits(50000, dtype, seed) for seed in (2, 3, 4))
    args = {"a": a, "b": b, "c": c, **{name: np.zeros_like(a) for name in ("sum", "product", "fused")}}
    with np.errstate(all="ignore"):
        statement = "{ sum[i] = a[i] + b[i]; product[i] = a[i] * b[i]; fused[i] = __hfma(a[i], b[i], c[i]); }"
        out = elementwise(statement, args, a.size, header)
        wide_a, wide_b, wide_c = (x.astype(np.float64) for x in (a, b, c))
        exact = wide_a.astype(np.longdouble) * wide_b + wide_c
        assert same(out["sum"], (wide_a + wide_b).astype(dtype)).all()
        assert same(out["product"], (wide_a * wide_b).astype(dtype)).all()
        fused = out["fused"].astype(np.longdouble)
        largest = float(ml_dtypes.finfo(dtype).max)
        inside = np.isfinite(exact) & (np.abs(exact) <= largest)
        step = np.spacing(np.abs(out["fused"][inside])).astype(np.longdouble) if dtype is np.float16 else None
    if step is not None:  # NumPy knows the distance to the next number of its own formats only
        assert (np.abs(fused[inside] - exact[inside]) <= step / 2 * (1 + 1e-12)).all()


@pytest.mark.parametrize(
    ("name", "dtype"), [("__nv_fp8_e4m3", ml_dtypes.float8_e4m3fn), ("__nv_fp8_e5m2", ml_dtypes.float8_e5m2)]
)
def test_fp8_conversions_saturate(name: str, dtype: type) -> None:
    codes = np.arange(256, dtype=np.uint8)
    args = {"x": codes, "out": np.zeros(256, np.float32)}
    out = elementwise(f"out[i] = float(*reinterpret_cast<{name}*>(&x[i]));", args, 256, "cuda_fp8.h")["out"]
    assert same(out, codes.view(dtype).astype(np.float32)).all()
    x = np.concatenate([random_bits(60000, np.float32, 5), np.linspace(-500, 500, 4001, dtype=np.float32)])
    args = {"x": x, "out": np.zeros(x.size, np.uint8)}
    out = elementwise(f"*reinterpret_cast<{name}*>(&out[i]) = {name}(x[i]);", args, x.size, "cuda_fp8.h")["out"].view(dtype)
    largest = float(ml_dtypes.finfo(dtype).max)
    with np.errstate(all="ignore"):
        want = np.where(np.isnan(x), x, np.clip(x, -largest, largest)).astype(dtype)
    assert same(out, want).all()


def test_floats_become_integers_as_on_the_gpu() -> None:
    x = np.array([0.9, -0.9, 3e9, -3e9, 1e30, -1e30, np.inf, -np.inf, np.nan, 2147483520.0, -2147483648.0], np.float32)
    args = {
        "x": x,
        "out": np.zeros(x.size, np.int32),
        "wide": np.zeros(x.size, np.int64),
        "positive": np.zeros(x.size, np.uint32),
    }
    statement = """{
        out[i] = static_cast<int>(x[i]);
        wide[i] = static_cast<long long>(x[i]);
        positive[i] = static_cast<unsigned>(x[i]); }"""
    out = elementwise(statement, args, x.size)
    low, high = -(2**31), 2**31 - 1
    assert out["out"].tolist() == [0, 0, high, low, high, low, high, low, 0, 2147483520, low]
    most = 2**63 - 1
    assert out["wide"].tolist()[2:9] == [
        3 * 10**9,
        -3 * 10**9,
        most,
        -most - 1,
        most,
        -most - 1,
        -most - 1,
    ]  # NaN: PTX ISA, cvt
    assert out["positive"].tolist()[:9] == [0, 0, 3 * 10**9, 0, 2**32 - 1, 0, 2**32 - 1, 0, 0]


def test_directed_rounding() -> None:
    a, b = np.array([1, 1, -1, 1 / 3], np.float32), np.array([2**-30, -(2**-30), 2**-30, 2 / 3], np.float32)
    names = ("rn", "rz", "ru", "rd")
    args = {"a": a, "b": b, **{name: np.zeros(4, np.float32) for name in names}}
    statement = "{ " + " ".join(f"{name}[i] = __fadd_{name}(a[i], b[i]);" for name in names) + " }"
    out = elementwise(statement, args, 4)
    up, down = np.nextafter(np.float32(1), np.float32(2)), np.nextafter(np.float32(1), np.float32(0))
    assert out["rn"][:3].tolist() == [1, 1, -1]
    assert out["rz"][:3].tolist() == [1, down, -down]
    assert out["ru"][:3].tolist() == [up, 1, -down]
    assert out["rd"][:3].tolist() == [1, down, -1]


def test_minimum_and_maximum_order_zeros_and_ignore_nan() -> None:
    a, b = np.array([0.0, -0.0, np.nan, 1, np.nan], np.float32), np.array([-0.0, 0.0, 2, np.nan, np.nan], np.float32)
    args = {"a": a, "b": b, "low": np.zeros(5, np.float32), "high": np.zeros(5, np.float32)}
    out = elementwise("{ low[i] = fminf(a[i], b[i]); high[i] = fmaxf(a[i], b[i]); }", args, 5)
    assert np.signbit(out["low"][:2]).all() and not np.signbit(out["high"][:2]).any()
    assert out["low"][2:4].tolist() == [2, 1] and out["high"][2:4].tolist() == [2, 1]
    assert np.isnan(out["low"][4]) and np.isnan(out["high"][4])


def test_integer_intrinsics() -> None:
    x = random_bits(2000, np.uint32, 6)
    y = random_bits(2000, np.uint32, 7)
    args = {
        "x": x,
        "y": y,
        **{name: np.zeros(2000, np.uint32) for name in ("pop", "clz", "ffs", "rev", "high", "perm", "fun")},
    }
    statement = """{
        pop[i] = __popc(x[i]); clz[i] = __clz((int)x[i]); ffs[i] = __ffs((int)x[i]); rev[i] = __brev(x[i]);
        high[i] = __umulhi(x[i], y[i]); perm[i] = __byte_perm(x[i], y[i], 0x7610u);
        fun[i] = __funnelshift_l(x[i], y[i], 11u); }"""
    out = elementwise(statement, args, 2000)
    for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        assert out["pop"][i] == a.bit_count()
        assert out["clz"][i] == 32 - a.bit_length()
        assert out["ffs"][i] == (a & -a).bit_length()
        assert out["rev"][i] == int(f"{a:032b}"[::-1], 2)
        assert out["high"][i] == a * b >> 32
        assert out["perm"][i] == (b >> 24) << 24 | ((b >> 16) & 255) << 16 | (a & 0xFFFF)
        assert out["fun"][i] == ((b << 32 | a) << 11 >> 32) & 0xFFFFFFFF


def test_inverse_error_function() -> None:
    from math import erf

    x = np.concatenate([np.linspace(-0.9999, 0.9999, 500), [1 - 1e-7, 1e-12, 0.0]])
    out = elementwise("out[i] = erfinv(x[i]);", {"x": x, "out": x * 0}, x.size)["out"]
    back = np.array([erf(v) for v in out])
    assert np.allclose(back, x, rtol=1e-13, atol=1e-15)
