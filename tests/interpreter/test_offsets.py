"""Offsets that wrap in 32 bits: the interpreter reports them when they are used, and only then."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import OffsetOverflow


@pytest.fixture(autouse=True)
def _interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")


@tle2cuda.jit
def row_offsets(x, out, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0) + 70000
    tl.store(out + i, tl.load(x + row * stride + i, mask=i < 0))
    tl.store(out + i, tl.load(x + (row * stride - row * stride) + i))
    tl.store(out + i, tl.load(x + row * stride + i))


def test_an_offset_that_wrapped_is_reported_when_it_is_used() -> None:
    x, out = np.zeros(16, np.float32), np.zeros(16, np.float32)
    with pytest.raises(OffsetOverflow) as caught:
        row_offsets[(1,)](x, out, 70000, BLOCK=16)
    text = str(caught.value)
    assert ": element [0]: the offset wrapped in 32 bits before it reached the pointer: 4900000000 became 605032704" in text
    assert "elements from `x`" in text and "tl.store(out + i, tl.load(x + row * stride + i))" in text
    assert "help: compute the offset in 64 bits" in text


@tle2cuda.jit
def through_control(x, out, stride, steps, which, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    pointers = x + i
    for _ in range(steps):
        pointers += stride * stride  # wraps to 0 for a stride of 2**16
    if which > 0:
        pointers = tl.where(i < 0, x + i, pointers)
    count = 0
    while count < 2:
        pointers = tl.where(i < 4, x + i, pointers)
        count += 1
    tl.store(out + i, tl.load(pointers, mask=i < which))


@pytest.mark.parametrize("which", [3, 4, 5, -1])
def test_loops_branches_and_choices_carry_it(which: int) -> None:
    x, out = np.arange(16, dtype=np.float32), np.ones(16, np.float32)
    if which <= 4:  # the pointers that are accessed are the first four
        through_control[(1,)](x, out, 1 << 16, 3, which, BLOCK=16)
        assert (out == np.where(np.arange(16) < which, x, 0)).all()
        return
    with pytest.raises(OffsetOverflow) as caught:
        through_control[(1,)](x, out, 1 << 16, 3, which, BLOCK=16)
    assert "element [4]" in str(caught.value) and "12884901892 became 4 elements" in str(caught.value)


@tle2cuda.jit
def wide(x, out, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64) + 70000
    hashed = (i.to(tl.uint32) * 2654435761) % 16
    tl.store(out + i, tl.load(x + hashed.to(tl.int32)) + (row * stride).to(tl.float32))


def test_wide_arithmetic_and_hashes_are_no_mistake() -> None:
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    wide[(1,)](x, out, 70000, BLOCK=16)
    hashed = (np.arange(16, dtype=np.uint32) * np.uint32(2654435761)) % 16
    assert (out == x[hashed] + np.float32(4900000000)).all()


@tle2cuda.jit
def stored(out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + (n << 20) + i, 1.0, mask=i < 2)


@tle2cuda.jit
def counted(out, n):
    tl.atomic_add(out + n * n, 1)


def test_stores_shifts_and_atomics_are_watched() -> None:
    out = np.zeros(16, np.float32)
    with pytest.raises(OffsetOverflow, match="4294967296 became 0 elements from `out`"):
        stored[(1,)](out, 1 << 12, BLOCK=8)
    stored[(1,)](out, 0, BLOCK=8)
    assert out.sum() == 2
    with pytest.raises(OffsetOverflow, match="4294967296 became 0 elements from `out`"):
        counted[(1,)](np.zeros(16, np.int32), 1 << 16)
