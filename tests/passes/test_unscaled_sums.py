"""Multiplications of a loop's sums that warps leave out where their factors are one."""

from __future__ import annotations

import re

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from kernels.flash_attention import attention_forward
from tests.kernels.places import on


@tle2cuda.jit
def scaled(a, b, factors, out, count, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Sums of products, whose rows are scaled in front of each."""
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.full((M, N), 1.0, tl.float32)
    for step in range(count):
        x = tl.load(a + i[:, None] * K + k[None, :])
        y = tl.load(b + k[:, None] * N + j[None, :])
        acc = tl.dot(x, y, acc * tl.load(factors + step * M + i)[:, None])
    tl.store(out + i[:, None] * N + j[None, :], acc)


def loops_of(source: str) -> list[str]:
    """The text of what a warp may leave out."""
    return re.findall(r"if \(__any_sync\(0xffffffffu, (.*)\)\) \{\n((?:.*\n)*?) *\}\n", source)


def test_attention_leaves_out_factors_of_one() -> None:
    pointers, strides = "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16", ",".join(["i32:16"] * 14)
    signature = f"{pointers},None,None,i32:16,i32:16,fp32,1,{strides},False,128,128,128"
    source = tle2cuda.emit(attention_forward, signature, num_warps=8, num_stages=2, arch="sm_90a").source
    assert [test for test, _ in loops_of(source)] == 2 * ["share[0] != 1.0f || share[1] != 1.0f"]


def test_some_rows_have_factors_and_others_none() -> None:
    """Sums of integers in float32 are exact: whatever is left out must not be missed."""
    random = np.random.default_rng(3)
    a, b = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((64, 16), (16, 128)))
    factors = np.ones((5, 64), np.float32)
    factors[1, 3], factors[2, 40:], factors[4, :] = 2.0, 0.5, 4.0
    expected = np.ones((64, 128), np.float32)
    for row in factors:
        expected = expected * row[:, None] + a.astype(np.float32) @ b.astype(np.float32)
    out = np.full_like(expected, 7)
    with on("emulator"):
        scaled[1,](a, b, factors, out, 5, M=64, N=128, K=16, num_warps=4)
    np.testing.assert_array_equal(out, expected)
