"""As many warps as the tiles keep busy."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl


@tle2cuda.jit
def scaled(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0) * 2, mask=i < n)


@tle2cuda.jit
def best_first(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    rows = tl.reshape(tl.load(x + i), (1, N))
    tl.store(out + i, tl.reshape(tl.sort(rows, descending=True), (N,)))


@tle2cuda.jit
def clocked(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    stamp = tl.inline_asm_elementwise("mov.u32 $0, %laneid;", "=r", [], tl.int32, is_pure=True, pack=1)
    tl.store(out + i, tl.load(x + i) + stamp)


@tle2cuda.jit
def noisy(x, out, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    noise = tl.log(tl.rand(seed, tl.arange(0, N // 4)))
    tl.store(out + i, tl.load(x + i) + tl.reshape(tl.join(tl.join(noise, noise), tl.join(noise, noise)), (N,)))


def threads(kernel, size, num_warps=4, signature="*i32:16, *i32:16, i32"):
    emitted = tle2cuda.emit(kernel, f"{signature}, {size}", num_warps=num_warps)
    return emitted.contract.cta_threads


@pytest.mark.parametrize(("size", "warps"), [(8, 1), (32, 1), (64, 2), (128, 4), (256, 4), (4096, 4)])
def test_small_tiles_take_fewer_warps(size, warps):
    assert threads(scaled, size) == 32 * warps


def test_rows_that_lie_in_one_warp_take_one():
    assert threads(best_first, 128, signature="*i32:16, *i32:16") == 32


def test_long_operations_count_more_than_the_loads_of_a_larger_tile():
    assert threads(noisy, 256, signature="*fp32:16, *fp32:16, i32") == 64


def test_inline_ptx_keeps_the_threads_that_it_may_ask_for():
    assert threads(clocked, 32, signature="*i32:16, *i32:16") == 128


def test_results_stay(monkeypatch):
    monkeypatch.setenv("TLE2CUDA_DEVICE", "emulator")
    x = np.arange(50, dtype=np.int32)
    out = np.full(50, -1, np.int32)
    scaled[(1,)](x, out, 50, N=64)
    assert (out == 2 * x).all()
