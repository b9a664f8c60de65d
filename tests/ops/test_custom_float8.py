"""float8e4b15, which software converts: all bytes, rounding, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.ops.harness import tracing
from tle2cuda.errors import KernelError
from tle2cuda.language.extra.cuda import convert_custom_float8_sm70, convert_custom_float8_sm80
from tle2cuda.runtime.mocks import reinterpret

DEVICES = ["interpreter", "eager", "emulator"]


@tle2cuda.jit
def decoded(x, out, half, n, FLAG: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    raw = tl.load(x + i)
    value = raw.to(tl.float8e4b15, bitcast=True) if FLAG else raw.to(tl.float8e4nv, bitcast=True)
    if n > 3:
        value = tl.load(x + N - 1 - i).to(tl.float8e4b15, bitcast=True)
    tl.static_assert(value.dtype == tl.float8e4b15)
    tl.store(out + i, value.to(tl.float32))
    tl.store(half + i, tl.cast(value, tl.float16))


@tle2cuda.jit
def encoded(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(tl.float8e4b15).to(tl.uint8, bitcast=True))


def value_of(byte: int) -> float:
    exponent, fraction = byte >> 3 & 15, byte & 7
    size = fraction / 8 * 2.0**-14 if exponent == 0 else (1 + fraction / 8) * 2.0 ** (exponent - 15)
    return -size if byte & 0x80 else size


@pytest.mark.parametrize("device", DEVICES)
def test_every_byte(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    data = np.arange(256, dtype=np.uint8)
    want = np.array([value_of(byte) for byte in range(256)], np.float32)
    for n, expected in ((2, want), (5, want[::-1])):
        out, half = np.zeros(256, np.float32), np.zeros(256, np.float16)
        decoded[(1,)](data, out, half, n, FLAG=True, N=256)
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(half, expected.astype(np.float16))
        assert (np.signbit(out) == np.signbit(expected)).all()
    back = np.zeros(256, np.uint8)
    encoded[(1,)](want, back, N=256)
    np.testing.assert_array_equal(back, data)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_rounding(device: str, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the nearest, halves away from zero, and no further than 1.875."""
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    x = np.array(
        [1.0, 1.0625, 1.06, 1.9, 3.0, np.inf, -np.inf, -1.9375, -1.0625, 0.0, -0.0, 2.0**-18, 2.0**-17, np.nan, 0.3, 1.87],
        dtype,
    )
    out = np.zeros(16, np.uint8)
    encoded[(1,)](x, out, N=16)
    got = [value_of(int(byte)) for byte in out]
    want = [
        1.0,
        1.125,
        1.0,
        1.875,
        1.875,
        1.875,
        -1.875,
        -1.875,
        -1.125,
        0.0,
        0.0,
        2.0**-17,
        2.0**-17,
        1.875,
        0.3125,
        1.875,
    ]
    assert got == want
    assert out[10] == 0x80


@tle2cuda.jit
def by_name(x, out, back, n, N: tl.constexpr):
    """Through memory of such numbers, and by the functions that Triton's users call."""
    i = tl.arange(0, N)
    value = tl.load(x + i, mask=i < n, other=0.5)
    tl.static_assert(x.dtype.element_ty == tl.float8e4b15)
    tl.store(out + i, convert_custom_float8_sm80(value, tl.float32))
    half = convert_custom_float8_sm70(value, tl.float16)
    tl.store(back + i, half, mask=i < n)
    tl.store(back + N + i, convert_custom_float8_sm80(half.to(tl.float32) * 2, tl.float8e4b15))
    tl.store(back + 2 * N, 0.3)


@pytest.mark.parametrize("device", DEVICES)
def test_pointers_and_functions(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    codes = np.random.default_rng(3).permutation(256).astype(np.uint8)[:128]
    out, back = np.zeros(128, np.float32), np.zeros(257, np.uint8)
    x, target = (reinterpret(array, tl.float8e4b15) for array in (codes, back))
    by_name[(1,)](x, out, target, 100, N=128)
    values = np.array([value_of(int(byte)) for byte in codes], np.float32)
    values[100:] = 0.5
    np.testing.assert_array_equal(out, values)
    np.testing.assert_array_equal(back[:100], codes[:100])
    assert (back[100:128] == 0).all()
    twice = np.array([value_of(int(byte)) for byte in back[128:256]])
    np.testing.assert_array_equal(twice, np.clip(2 * values, -1.875, 1.875))
    assert value_of(int(back[256])) == 0.3125


def test_functions_refuse_other_dtypes() -> None:
    with tracing() as trace, pytest.raises(KernelError, match="takes float16, float32 or float8e4b15, got tile bf16"):
        convert_custom_float8_sm80(trace.symbol(tl.bfloat16, (8,)), tl.float8e4b15)
    with tracing() as trace, pytest.raises(KernelError, match="becomes float16 or float32, not bfloat16"):
        convert_custom_float8_sm70(trace.symbol(tl.float16, (8,)).to(tl.float8e4b15), tl.bfloat16)


def test_it_only_converts() -> None:
    @tle2cuda.jit
    def added(x):
        value = tl.load(x).to(tl.float8e4b15)
        tl.store(x, value + value)

    with pytest.raises(KernelError, match="expected a tile, a scalar or a number"):
        tle2cuda.emit(added, "*fp32")
