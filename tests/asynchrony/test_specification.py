"""The short examples of the language's description that are no kernels elsewhere, in the interpreter and the emulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.emulator import emulate
from tle2cuda.language import tle

B = 64


@tle2cuda.jit
def scale(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tle.load(x + i, mask=i < n, other=0.0, is_async=True)
    tl.store(y + i, v * 2, mask=i < n)


@tle2cuda.jit
def buffers(src, dst, k):
    """Slots by a scalar, windows, reshapes, handles that are swapped."""
    rows, cols = tl.arange(0, 64), tl.arange(0, 32)
    block = tl.load(src + rows[:, None] * 32 + cols[None, :])
    ring = tle.gpu.alloc([3, 64, 32], dtype=tl.float16, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    cur = ring.slot(k % 3)
    tl.store(tle.gpu.local_ptr(cur), block)
    left = cur.subslice(0, 16, dim=1)
    flat = cur.reshape([2048])
    half = tl.arange(0, 16)
    tl.store(dst + rows[:, None] * 16 + half[None, :], tl.load(tle.gpu.local_ptr(left)))
    tl.store(dst + 1024 + tl.arange(0, 2048), tl.load(tle.gpu.local_ptr(flat)))
    a, b = ring.slot(0), ring.slot(1)
    tl.store(tle.gpu.local_ptr(a), block + 1)
    tl.store(tle.gpu.local_ptr(b), block + 2)
    for _ in tl.static_range(3):
        a, b = b, a
    tl.store(dst + 3072 + rows[:, None] * 32 + cols[None, :], tl.load(tle.gpu.local_ptr(a)))


@tle2cuda.jit
def groups(p, out, limit, M: tl.constexpr, K: tl.constexpr):
    """Two groups of copies, the first of which is waited for first."""
    ring = tle.gpu.alloc([2, M, K], dtype=tl.float32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    place = tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :]
    tle.gpu.copy(p + place, ring.slot(0), [M, K], is_async=True)
    tle.gpu.async_commit_group()
    tle.gpu.copy(p + M * K + place, ring.slot(1), [M, K], is_async=True, mask=place < limit)
    tle.gpu.async_commit_group()
    tle.gpu.async_wait_group(1)
    first = tl.load(tle.gpu.local_ptr(ring.slot(0)))
    tle.gpu.async_wait_group(0)
    tl.store(out + place, first - tl.load(tle.gpu.local_ptr(ring.slot(1))))


@tle2cuda.jit
def products(a, b, c, K, BK: tl.constexpr):
    """A loop that asks to be pipelined."""
    m, k = tl.arange(0, 16), tl.arange(0, BK)
    acc = tl.zeros([16, 16], tl.float32)
    for first in tle.gpu.pipeline(0, K, BK, num_stages=3):
        left = tl.load(a + m[:, None] * K + first + k[None, :])
        right = tle.gpu.memory_space(tl.load(b + (first + k)[:, None] * 16 + m[None, :]), "shared_memory")
        acc = tl.dot(left, right, acc)
    tl.store(c + m[:, None] * 16 + m[None, :], acc)


@tle2cuda.jit
def main_part(src, BLOCK: tl.constexpr):
    return tl.sum(tl.load(src + tl.arange(0, BLOCK)), axis=0)


@tle2cuda.jit
def side_part(log):
    tl.store(log, 1)


@tle2cuda.jit
def partitions(src, out, log):
    total = tle.gpu.warp_specialize([(main_part, (src, 1024)), (side_part, (log,))], [1], [40])
    tl.store(out, total)


def whole(count: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(7).integers(-4, 5, count).astype(dtype)


X = whole(2 * B - 5)
ROWS = whole(2048, np.float16).reshape(64, 32)
PAIR = whole(2 * 8 * 16)
LEFT, RIGHT = whole(16 * 48, np.float16).reshape(16, 48), whole(48 * 16, np.float16).reshape(48, 16)
LONG = whole(1024)
MASKED = np.where(np.arange(128) < 100, PAIR[128:], 0)
CASES: dict[str, tuple[Any, int, dict[str, Any], dict[str, Any], dict[str, np.ndarray]]] = {
    "scale": (scale, 2, {"x": X, "y": np.zeros_like(X), "n": X.size}, {"B": B}, {"y": 2 * X}),
    "buffers": (
        buffers,
        1,
        {"src": ROWS, "dst": np.zeros(5120, np.float16), "k": 8},
        {},
        {"dst": np.concatenate([ROWS[:, :16].ravel(), ROWS.ravel(), ROWS.ravel() + 2])},
    ),
    "groups": (
        groups,
        1,
        {"p": PAIR, "out": np.zeros(128, np.float32), "limit": 100},
        {"M": 8, "K": 16},
        {"out": PAIR[:128] - MASKED},
    ),
    "products": (
        products,
        1,
        {"a": LEFT, "b": RIGHT, "c": np.zeros((16, 16), np.float32), "K": 48},
        {"BK": 16},
        {"c": LEFT.astype(np.float32) @ RIGHT.astype(np.float32)},
    ),
    "partitions": (
        partitions,
        1,
        {"src": LONG, "out": np.zeros(1, np.float32), "log": np.zeros(1, np.int32)},
        {},
        {"out": LONG.sum(keepdims=True), "log": np.ones(1, np.int32)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_in_the_interpreter(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")
    kernel, grid, given, constants, want = CASES[name]
    arrays = {key: value.copy() if isinstance(value, np.ndarray) else value for key, value in given.items()}
    kernel[(grid,)](*arrays.values(), **constants)
    for key, expected in want.items():
        np.testing.assert_array_equal(arrays[key], expected)


@pytest.mark.parametrize("name", CASES)
def test_in_the_emulator(name: str) -> None:
    kernel, grid, given, constants, want = CASES[name]
    for schedule in ("forward", "reverse", "random"):
        found = emulate(kernel, grid, {**given, **constants}, schedule=schedule, seeds=range(2), detect="all").check()
        for key, expected in want.items():
            np.testing.assert_array_equal(found.outputs[key], expected)
