"""float8e4b15, which software converts: all bytes, rounding, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import KernelError

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


def test_it_only_converts() -> None:
    @tle2cuda.jit
    def added(x):
        value = tl.load(x).to(tl.float8e4b15)
        tl.store(x, value + value)

    with pytest.raises(KernelError, match="expected a tile, a scalar or a number"):
        tle2cuda.emit(added, "*fp32")
