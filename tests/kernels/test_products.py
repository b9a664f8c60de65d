"""Matrix product and attention against float64: in the interpreter, as emitted files in the emulator, and on a GPU."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
import pytest

import tle2cuda
from kernels import matmul_tle
from kernels.attention import attend, attention, attention_reference
from kernels.matmul import matmul, matmul_reference, multiply
from tests.emulator.watched import watched
from tle2cuda.emulator import emulate
from tle2cuda.runtime.device import DEVICE_VARIABLE

ON = pytest.mark.parametrize("where", ["interpreter", pytest.param("gpu", marks=pytest.mark.gpu)])
BF16 = np.dtype(ml_dtypes.bfloat16)
# Of the largest of the results: one rounding to their dtype; for float32 two operands without their last 13 bits.
TOLERANCE = {np.dtype(np.float16): 2e-3, BF16: 1e-2, np.dtype(np.float32): 4e-3}
SMALL = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP_M": 2}


def random(shape: tuple[int, ...], dtype: Any, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def operands(m: int, n: int, k: int, dtype: Any, turned: str) -> tuple[np.ndarray, np.ndarray]:
    """Two matrices; `turned` says for each whether it lies by rows (n) or by columns (t)."""
    a, b = random((m, k), dtype, 1), random((k, n), dtype, 2)
    return tuple(np.asfortranarray(x) if way == "t" else x for x, way in zip((a, b), turned, strict=True))  # type: ignore[return-value]


def check(actual: np.ndarray, expected: np.ndarray) -> None:
    limit = TOLERANCE[actual.dtype] * max(1.0, float(np.abs(expected.astype(np.float64)).max()))
    np.testing.assert_allclose(actual.astype(np.float64), expected.astype(np.float64), rtol=0, atol=limit)


def run(where: str, function: Any, arrays: list[np.ndarray], out: np.ndarray, **options: Any) -> np.ndarray:
    if where == "interpreter":
        with mock.patch.dict(os.environ, {DEVICE_VARIABLE: "interpreter"}):
            return function(*arrays, out, **options)
    import cupy

    on_device = [cupy.asarray(x) for x in arrays]
    return function(*on_device, cupy.asarray(out), **options).get()


@ON
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("size", [(1, 1, 1), (15, 17, 33), (127, 129, 64), (128, 32, 1)])
def test_matmul(where: str, dtype: Any, size: tuple[int, int, int]) -> None:
    a, b = operands(*size, dtype, "nn")
    out = np.full(size[:2], 7, dtype)
    check(run(where, multiply, [a, b], out, **(SMALL if where == "interpreter" else {})), matmul_reference(a, b))


@pytest.mark.gpu
@pytest.mark.parametrize("turned", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("num_warps", [1, 4, 8])
def test_matmul_on_a_gpu(turned: str, num_warps: int) -> None:
    a, b = operands(500, 300, 200, np.float16, turned)
    tile = SMALL if num_warps == 1 else {}
    check(
        run("gpu", multiply, [a, b], np.zeros((500, 300), np.float16), num_warps=num_warps, **tile), matmul_reference(a, b)
    )


@pytest.mark.parametrize("turned", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize(("dtype", "num_warps"), [(np.float16, 4), (BF16, 1), (np.float32, 2)])
def test_emitted_matmul(dtype: Any, num_warps: int, turned: str) -> None:
    """Odd sizes: edges in every direction, more than one tile, masked steps along K; every detector is silent."""
    m, n, k = 33, 47, 65
    a, b = operands(m, n, k, dtype, turned)
    out = np.full((m, n), 7, dtype)
    strides = [stride // x.itemsize for x in (a, b, out) for stride in x.strides]
    names = ("stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cm", "stride_cn")
    flat = [x.reshape(-1, order="A") for x in (a, b)]
    args = {"a": flat[0], "b": flat[1], "c": out, "M": m, "N": n, "K": k, **dict(zip(names, strides, strict=True)), **SMALL}
    result = watched(matmul, 4, args, num_warps=num_warps, schedule="random", seed=3)
    check(result.outputs["c"], matmul_reference(a, b))


@ON
@pytest.mark.parametrize("dtype", [np.float16, BF16])
@pytest.mark.parametrize("size", [(1, 8, 8), (65, 136, 200), (300, 520, 64)])
def test_matmul_in_tle(where: str, dtype: Any, size: tuple[int, int, int]) -> None:
    a, b = operands(*size, dtype, "nn")
    tile = {"BLOCK_M": 128, "BLOCK_N": 32, "BLOCK_K": 16, "STAGES": 2} if where == "interpreter" else {}
    got = run(where, matmul_tle.multiply, [a, b], np.full(size[:2], 7, dtype), num_ctas=3, **tile)
    check(got, matmul_reference(a, b))


@pytest.mark.parametrize(("schedule", "steps"), [("forward", 1), ("reverse", 2), ("random", 5)])
def test_emitted_matmul_in_tle(schedule: str, steps: int) -> None:
    """Fewer steps than stages, as many, and more; a tile at the edge, and two tiles for a CTA."""
    m, n, k = 133, 72, 32 * steps - 8
    a, b = operands(m, n, k, np.float16, "nn")
    strides = {"stride_am": k, "stride_bk": n, "stride_cm": n}
    tile = {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 32, "STAGES": 2, "GROUP_M": 2}
    args = {"a": a.reshape(-1), "b": b.reshape(-1), "c": np.full((m, n), 7, np.float16), "M": m, "N": n, "K": k}
    result = watched(matmul_tle.matmul_tle, 2, {**args, **strides, **tile}, num_warps=4, schedule=schedule, seed=3)
    check(result.outputs["c"], matmul_reference(a, b))
    stores = result.counters.shared_stores
    assert stores.requests and stores.phases == stores.wavefronts  # no bank conflicts


def test_halves_of_a_tile_do_not_wait_for_stores_while_they_multiply() -> None:
    """Each stores rows that the other never does: before the next tile's sums are sent off, the last ones have been."""
    signature = ",".join(["*fp16:16"] * 3 + ["i32:16"] * 6)
    source = tle2cuda.emit(matmul_tle.matmul_tle, signature, matmul_tle.TILE).source
    kernel = source[source.index("__global__") :]
    assert kernel.count("tma_store_wait();") == 2
    assert kernel.count("store_matrices(") == 2 * matmul_tle.TILE["BLOCK_N"] // 64


def attention_inputs(length: int, head: int) -> list[np.ndarray]:
    return [random((2, length, head), np.float16, seed) for seed in range(3)]


@ON
@pytest.mark.parametrize("causal", [False, True])
def test_attention(where: str, causal: bool) -> None:
    arrays = attention_inputs(100, 32)
    block = (32, 32) if where == "interpreter" else (128, 64)
    got = run(where, attend, arrays, np.zeros_like(arrays[0]), causal=causal, block=block)
    check(got, attention_reference(*arrays, causal))


@pytest.mark.gpu
@pytest.mark.parametrize("head", [64, 128])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_on_a_gpu(head: int, causal: bool) -> None:
    arrays = attention_inputs(1000, head)
    check(run("gpu", attend, arrays, np.zeros_like(arrays[0]), causal=causal), attention_reference(*arrays, causal))


@pytest.mark.parametrize(("head", "num_warps"), [(16, 4), (64, 2)])
def test_emitted_attention(head: int, num_warps: int) -> None:
    """Weights go from one product to the next in registers (two warps of 32 rows), or through shared memory (four)."""
    arrays = attention_inputs(50, head)
    names = dict(zip(("q", "k", "v", "out"), (*arrays, np.zeros_like(arrays[0])), strict=True))
    constants = {"CAUSAL": True, "HEAD": head, "BLOCK_M": 32, "BLOCK_N": 32}
    args = {**names, "length": 50, "scale": head**-0.5, **constants}
    result = watched(attention, (2, 2), args, num_warps=num_warps, schedule="reverse")
    check(result.outputs["out"], attention_reference(*arrays, True))


@pytest.mark.parametrize(("dtype", "turned"), [(np.float16, "nn"), (np.float16, "tt"), (np.float32, "nn")])
def test_shared_memory_has_no_bank_conflicts(dtype: Any, turned: str) -> None:
    a, b = operands(64, 64, 64, dtype, turned)
    out = np.zeros((64, 64), dtype)
    strides = [stride // x.itemsize for x in (a, b, out) for stride in x.strides]
    names = ("stride_am", "stride_ak", "stride_bk", "stride_bn", "stride_cm", "stride_cn")
    flat = {"a": a.reshape(-1, order="A"), "b": b.reshape(-1, order="A"), "c": out, "M": 64, "N": 64, "K": 64}
    tile = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 1}
    args = {**flat, **dict(zip(names, strides, strict=True)), **tile}
    counters = emulate(matmul, 1, args, detect="counters").check().counters
    for traffic in (counters.shared_loads, counters.shared_stores):
        assert traffic.phases == traffic.wavefronts
        # Halves: `cp.async` brings them, the products read them, and lanes trade sums in registers before these are stored.
        assert bool(traffic.requests) == (dtype == np.float32)
