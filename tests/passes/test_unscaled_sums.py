"""Multiplications of a loop's sums that warps leave out where their factors are one."""

from __future__ import annotations

import re

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.kernels.places import on


@tle2cuda.jit
def scaled(a, b, levels, out, count, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BY_STEPS: tl.constexpr):
    """Sums of products, in front of each of which rows are scaled as far as their levels have grown."""
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.full((M, N), 1.0, tl.float32)
    level = tl.zeros((M,), tl.float32)
    for step in range(count):
        x = tl.load(a + i[:, None] * K + k[None, :])
        y = tl.load(b + k[:, None] * N + j[None, :])
        found = tl.load(levels + step * M + i)
        now = tl.where(found > level + 1.0, found, level) if BY_STEPS else tl.maximum(found, level)
        acc = tl.dot(x, y, acc * tl.exp2(level - now)[:, None])
        level = now
    tl.store(out + i[:, None] * N + j[None, :], acc)


def questions(source: str) -> list[str]:
    """What a lane tests."""
    return re.findall(r"if \(__any_sync\(0xffffffffu, (.*)\)\) \{", source)


def test_levels_that_grow_by_steps_mostly_leave_factors_of_one() -> None:
    signature = "*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32,64,128,16,{}"
    found = [
        questions(tle2cuda.emit(scaled, signature.format(x), num_warps=4, arch="sm_90a").source) for x in (True, False)
    ]
    assert [len(each) for each in found] == [1, 0]
    assert re.fullmatch(r"(\w+)\[0\] != 1\.0f \|\| \1\[1\] != 1\.0f", found[0][0])


def test_some_rows_have_factors_and_others_none() -> None:
    """Sums of integers in float32 are exact: whatever is left out must not be missed."""
    random = np.random.default_rng(3)
    a, b = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((64, 16), (16, 128)))
    levels = np.zeros((5, 64), np.float32)
    levels[1, 3], levels[2, 40:], levels[3, 40:], levels[4, :] = 2.0, 1.0, 2.0, 4.0
    expected, level = np.ones((64, 128), np.float32), np.zeros(64, np.float32)
    for row in levels:
        now = np.where(row > level + 1, row, level)
        expected = expected * np.exp2(level - now)[:, None] + a.astype(np.float32) @ b.astype(np.float32)
        level = now
    out = np.full_like(expected, 7)
    with on("emulator"):
        scaled[1,](a, b, levels, out, 5, M=64, N=128, K=16, BY_STEPS=True, num_warps=4)
    np.testing.assert_array_equal(out, expected)
