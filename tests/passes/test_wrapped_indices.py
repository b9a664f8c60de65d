"""Indices that wrap around are runs of neighbours; divisions are made no earlier than they stand."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.emulator import emulate


@tle2cuda.jit
def rotated(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at % n))


@tle2cuda.jit
def looked_up(x, places, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + (tl.load(places) * BLOCK + at) % n))


@tle2cuda.jit
def added(x, out, n, count, LATE: tl.constexpr):
    """Adds elements `count` times; the place is divided in the loop or in front of it."""
    at = tl.program_id(0) * 32 + tl.arange(0, 32)
    total = tl.zeros([32], tl.float32)
    place = at
    if not LATE:
        place = at % n
    for _ in range(count):
        if LATE:
            place = at % n
        total += tl.load(x + place)
    tl.store(out + at, total)


def kernel_text(kernel: object, signature: str) -> str:
    source = tle2cuda.emit(kernel, signature=signature, num_warps=1).source
    return source[source.index('extern "C"') :]


def test_runs_are_read_as_vectors_where_they_stay_whole() -> None:
    assert "load_vector<8>(x + " in kernel_text(rotated, "*fp16:16, *fp16:16, i32:16, 512")
    assert "load_vector" not in kernel_text(rotated, "*fp16:16, *fp16:16, i32, 512")


def test_a_number_from_memory_promises_nothing() -> None:
    assert "load_vector" not in kernel_text(looked_up, "*fp16:16, *i32, *fp16:16, i32:16, 512")


@pytest.mark.parametrize("n", [16, 48, 512, 1040])
def test_values_are_right_across_the_seam(n: int) -> None:
    x = np.arange(n, dtype=np.float16)
    result = emulate(rotated, 3, {"x": x, "out": np.zeros(1536, np.float16), "n": n, "BLOCK": 512}, detect="all").check()
    np.testing.assert_array_equal(result.outputs["out"], x[np.arange(1536) % n])


@pytest.mark.parametrize("late", [False, True])
def test_divisions_stay_behind_what_guards_them(late: bool) -> None:
    text = kernel_text(added, f"*fp32:16, *fp32:16, i32, i32, {late}")
    loop = text.index("for (int ")
    assert ("% n" in text[:loop]) == (not late)
    args = {"x": np.ones(32, np.float32), "out": np.ones(32, np.float32), "LATE": late}
    result = emulate(
        added, 1, {**args, "n": 0 if late else 32, "count": 0 if late else 3}, num_warps=1, detect="all"
    ).check()
    np.testing.assert_array_equal(result.outputs["out"], np.full(32, 0 if late else 3, np.float32))
