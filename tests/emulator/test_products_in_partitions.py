"""A product in the warps of a worker: its operands come through a pipe, its barriers are those of its partition."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.emulator import emulate
from tle2cuda.language import tle


@tle2cuda.jit
def fetch(writer, a, b, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STEPS: tl.constexpr):
    rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    for step in range(STEPS):
        slot = writer.acquire(step)
        left = tl.load(a + rows[:, None] * (K * STEPS) + step * K + k[None, :])
        right = tl.load(b + (step * K + k[:, None]) * N + cols[None, :])
        tl.store(tle.gpu.local_ptr(slot.left), left)
        tl.store(tle.gpu.local_ptr(slot.right), right)
        writer.commit(step)


@tle2cuda.jit
def multiply(reader, out, M: tl.constexpr, N: tl.constexpr, STEPS: tl.constexpr):
    acc = tl.zeros([M, N], tl.float32)
    for step in range(STEPS):
        slot = reader.wait(step).slot
        acc = tl.dot(tl.load(tle.gpu.local_ptr(slot.left)), tl.load(tle.gpu.local_ptr(slot.right)), acc)
        reader.release(step)
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], acc)


@tle2cuda.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STEPS: tl.constexpr, WARPS: tl.constexpr):
    left = tle.gpu.alloc([2, M, K], dtype=tl.float16, nv_mma_shared_layout=False)
    right = tle.gpu.alloc([2, K, N], dtype=tl.float16, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=2, name="tiles", left=left, right=right)
    tle.gpu.warp_specialize(
        [
            (fetch, (pipe.writer(), a, b, M, N, K, STEPS)),
            (multiply, (pipe.reader(), out, M, N, STEPS)),
        ],
        [WARPS],
        [64],
    )


@pytest.mark.parametrize(("warps", "schedule"), [(1, "forward"), (4, "reverse"), (2, "random")])
def test_product(warps: int, schedule: str) -> None:
    m, n, k, steps = 32, 32, 32, 3
    rng = np.random.default_rng(warps)
    a, b = rng.standard_normal((m, k * steps)).astype(np.float16), rng.standard_normal((k * steps, n)).astype(np.float16)
    constants = {"M": m, "N": n, "K": k, "STEPS": steps, "WARPS": warps}
    args = {"a": a, "b": b, "out": np.zeros((m, n), np.float32), **constants}
    result = emulate(product, 1, args, num_warps=4, schedule=schedule, seed=5, detect="all").check()
    np.testing.assert_allclose(result.outputs["out"], a.astype(np.float32) @ b.astype(np.float32), rtol=1e-3, atol=1e-3)
