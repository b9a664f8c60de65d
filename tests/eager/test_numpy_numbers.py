"""NumPy's scalars beside values of a kernel: eager mode computes with them what the interpreter does."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl

GLOBAL = tl.constexpr(np.float64(2.5))


class Settings:
    """Attributes of something from outside."""

    scale = tl.constexpr(np.float32(0.1))


@tle2cuda.jit
def scaled(x, factor=tl.constexpr(np.int64(3))):  # noqa: B008
    return factor * x


@tle2cuda.jit
def arithmetic(x, out, n, S: tl.constexpr):
    i = tl.arange(0, 8)
    v = tl.load(x + i)
    tl.store(out + i, S + v)
    tl.store(out + 8 + i, S - v)
    tl.store(out + 16 + i, S * v)
    tl.store(out + 24 + i, S / v)
    tl.store(out + 32 + i, (S < v) + 2 * (S <= v) + 4 * (S > v) + 8 * (S >= v) + 16 * (S == v) + 32 * (S != v))  # noqa: SIM300
    tl.store(out + 40 + i, v - S)
    tl.store(out + 48 + i, tl.maximum(S, v) + tl.where(v > 2, S, v))
    tl.store(out + 56 + i, S * n + S)


@tle2cuda.jit
def integers(x, out, n, S: tl.constexpr):
    i = tl.arange(0, 8)
    v = tl.load(x + i)
    tl.store(out + i, S // v)
    tl.store(out + 8 + i, S % v)
    tl.store(out + 16 + i, (S & v) + (S | v) * 16)
    tl.store(out + 24 + i, S ^ v)
    tl.store(out + 32 + i, S << v)
    tl.store(out + 40 + i, S >> v)
    tl.store(out + 48 + i, (S * n) // 2)  # 32 bits, which wrap
    tl.store(out + 56 + i, np.int64(5) * v + (n > np.int16(2)))


@tle2cuda.jit
def from_outside(x, out, n, S: tl.constexpr):
    i = tl.arange(0, 8)
    v = tl.load(x + i)
    tl.store(out + i, GLOBAL * v)
    tl.store(out + 8 + i, Settings.scale * v)
    tl.store(out + 16 + i, scaled(v))
    tl.store(out + 24 + i, np.float32(0.1) * v)
    tl.store(out + 32 + i, tl.maximum(np.int64(3), v) / np.sqrt(16.0))
    local = np.float64(0.1)
    tl.store(out + 40 + i, local * v)
    tl.store(out + 48 + i, scaled(v, np.float64(0.1)))


def _results(kernel: Any, kind: Any, n: int, number: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found = []
    for device in ("eager", "interpreter"):
        monkeypatch.setenv("TLE2CUDA_DEVICE", device)
        x = np.array([1, 2, 3, 4, 5, 6, 7, 3], kind)
        out = np.zeros(64, np.float64)
        kernel[(1,)](x, out, n, S=number)
        found.append(out)
    return found


@pytest.mark.parametrize(
    "number",
    [
        np.float64(1 / np.sqrt(16)),
        np.float32(0.1),
        np.float16(0.1),
        ml_dtypes.bfloat16(1.5),
        np.int64(3),
        np.uint8(3),
        np.uint64(3),
        np.bool_(True),
    ],
    ids=lambda number: type(number).__name__,
)
@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_arithmetic(number: Any, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    got, want = _results(arithmetic, kind, 7, number, monkeypatch)
    np.testing.assert_array_equal(got, want)
    assert want[16] == pytest.approx(float(number))


@pytest.mark.parametrize("number", [np.int8(3), np.int32(3), np.int64(3), np.uint32(3)], ids=lambda x: type(x).__name__)
def test_integers(number: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    got, want = _results(integers, np.int32, 2**30, number, monkeypatch)
    np.testing.assert_array_equal(got, want)
    assert want[48] == -536870912


def test_names_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    got, want = _results(from_outside, np.float32, 7, 0, monkeypatch)
    np.testing.assert_array_equal(got, want)
    assert want[0] == 2.5
