"""The files of `fixtures/` with inputs and a check of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.emulator.asynchronous import fixture
from tle2cuda.compiler import EmittedKernel
from tle2cuda.emulator import tensor_map
from tle2cuda.runtime.contract import Dim3

Launch = tuple[EmittedKernel, Dim3, dict[str, Any], Callable[[Mapping[str, Any]], str]]
TMA_SHARED_BYTES = (3 * 2 + 2) * 16 * 32 * 4 + 2 * 3 * 8


def _equal(name: str, want: np.ndarray) -> Callable[[Mapping[str, Any]], str]:
    def check(outputs: Mapping[str, Any]) -> str:
        wrong = int((outputs[name] != want).sum())
        return f"{wrong} of {want.size} differ" if wrong else ""

    return check


def tma_pipeline(row_tiles: int = 5, column_tiles: int = 3, ctas: int = 2) -> Launch:
    """Arrays that end within their last tiles."""
    rng = np.random.default_rng(1)
    shape = (max(16 * row_tiles - 3, 1), max(32 * column_tiles - 8, 4))
    x, y = (rng.integers(0, 1000, shape).astype(np.float32) for _ in range(2))
    arrays = {"x_map": x, "y_map": y, "out_map": np.zeros(shape, np.float32)}
    args: dict[str, Any] = {name: tensor_map(array, (16, 32), swizzle_bytes=128) for name, array in arrays.items()}
    args |= {"row_tiles": row_tiles, "column_tiles": column_tiles}
    emitted = fixture("tma_pipeline", args, threads=96, dynamic_shared=TMA_SHARED_BYTES)
    want = x + y * (np.arange(shape[1]) % 32) if row_tiles * column_tiles else arrays["out_map"]
    return emitted, (ctas, 1, 1), args, _equal("out_map", want)


def cp_async_stencil(n: int = 2300, ctas: int = 2) -> Launch:
    """Tiles of 256, the last one partly filled."""
    x = np.random.default_rng(2).integers(0, 1000, n).astype(np.float32)
    tiles = -(-n // 256)
    padded = np.zeros((tiles, 258), np.float32)
    flat = np.zeros(tiles * 256, np.float32)
    flat[:n] = x
    padded[:, 1:-1] = flat.reshape(tiles, 256)
    want = (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]).reshape(-1)[:n]
    args = {"x": x, "out": np.zeros(n, np.float32), "n": n}
    return fixture("cp_async_stencil", args, threads=64, shared=2048), (ctas, 1, 1), args, _equal("out", want)


def block_pipeline(rows: int = 7) -> Launch:
    """Sums of integers, which are exact."""
    x = np.random.default_rng(3).integers(1, 100, (rows, 64)).astype(np.float32)
    args = {"x": x, "out": np.zeros(64, np.float32), "rows": rows}
    emitted = fixture("block_pipeline", args, threads=64, shared=512 + 40)
    return emitted, (1, 1, 1), args, _equal("out", x.sum(0)[::-1])


def matmul(m: int = 200, n: int = 264, k: int = 136, ctas: int = 1) -> Launch:
    """Odd sizes; small integers, so that sums are exact and rounded once."""
    rng = np.random.default_rng(4)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    c = np.zeros((m, n), np.float16)
    boxes = {"a_map": (a, (128, 64)), "b_map": (b, (64, 64)), "c_map": (c, (64, 64))}
    args: dict[str, Any] = {name: tensor_map(array, box, swizzle_bytes=128) for name, (array, box) in boxes.items()}
    args |= {"M": m, "N": n, "K": k}
    emitted = fixture("matmul", args, threads=384, dynamic_shared=230400)
    want = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
    return emitted, (ctas, 1, 1), args, _equal("c_map", want)


LAUNCHES: dict[str, Callable[[], Launch]] = {
    "tma_pipeline": tma_pipeline,
    "cp_async_stencil": cp_async_stencil,
    "block_pipeline": block_pipeline,
    "matmul": matmul,
}
