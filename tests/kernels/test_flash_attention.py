"""Attention, forward and backward, against float64: in the interpreter, as emitted files in the emulator, and on a GPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kernels.flash_attention import Tile, attention_reference, flash_attention
from kernels.flash_attention_backward import attention_backward_reference, flash_attention_backward
from tests.kernels.places import on

BF16 = np.dtype(ml_dtypes.bfloat16)
TOLERANCE = {np.dtype(np.float16): 2e-3, BF16: 2e-2}  # of the largest of the results
SMALL = (Tile(32, 16, 4, 3), Tile(16, 32, 4, 2))
POISON = 7


def problem(q_shape: tuple[int, ...], k_shape: tuple[int, ...], dtype: Any = np.float16) -> list[np.ndarray]:
    """Queries, keys, values, and a gradient of the result."""
    random = np.random.default_rng(len(q_shape) * q_shape[-2])
    return [random.standard_normal(shape).astype(dtype) for shape in (q_shape, k_shape, k_shape, q_shape)]


def check(actual: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    limit = tolerance * max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(actual.astype(np.float64), expected, rtol=0, atol=limit)


def run(where: str, inputs: list[np.ndarray], tiles: Any, causal: bool, **packed: Any) -> None:
    """Runs both directions and checks every result."""
    q, k, v, do = inputs
    lse_shape = (q.shape[1], q.shape[0]) if packed else q.shape[:3]
    outputs = [np.full_like(x, POISON) for x in (q, q, k, v)] + [np.full(lse_shape, POISON, np.float32) for _ in range(2)]
    arrays, starts = [*inputs, *outputs], {name: packed[name] for name in ("cu_q", "cu_k") if name in packed}
    if where == "gpu":
        import cupy

        arrays, packed = [cupy.asarray(x) for x in arrays], packed | {name: cupy.asarray(x) for name, x in starts.items()}
    q, k, v, do, out, dq, dk, dv, lse, delta = arrays
    with on(where):
        flash_attention(q, k, v, out, lse, causal=causal, tile=tiles and tiles[0], **packed)
        flash_attention_backward(q, k, v, out, lse, do, dq, dk, dv, delta, causal=causal, tiles=tiles, **packed)
    out, lse, dq, dk, dv = (x.get() if where == "gpu" else x for x in (out, lse, dq, dk, dv))
    expected, expected_lse = attention_reference(*inputs[:3], causal=causal, **starts)
    tolerance = TOLERANCE[inputs[0].dtype]
    check(out, expected, tolerance)
    np.testing.assert_allclose(lse, expected_lse, rtol=1e-3, atol=1e-3)
    gradients = attention_backward_reference(*inputs, causal=causal, **starts)
    for actual, wanted in zip((dq, dk, dv), gradients, strict=True):
        check(actual, wanted, 2 * tolerance)


@pytest.mark.parametrize(
    ("shape", "keys", "heads", "causal", "dtype"),
    [
        ((2, 2, 37, 32), 50, 2, True, np.float16),
        ((1, 4, 50, 16), 20, 2, True, BF16),  # the first queries see no key
        ((1, 6, 33, 64), 47, 2, False, np.float16),
        ((1, 2, 1, 16), 70, 1, True, np.float16),
    ],
)
def test_one_length(shape: tuple[int, ...], keys: int, heads: int, causal: bool, dtype: Any) -> None:
    inputs = problem(shape, (shape[0], heads, keys, shape[3]), dtype)
    run("interpreter", inputs, SMALL, causal)


def packed(lengths_q: list[int], lengths_k: list[int]) -> dict[str, Any]:
    starts = [np.cumsum([0, *lengths]).astype(np.int32) for lengths in (lengths_q, lengths_k)]
    return {"cu_q": starts[0], "cu_k": starts[1], "max_q": max(lengths_q), "max_k": max(lengths_k)}


@pytest.mark.parametrize("causal", [False, True])
def test_packed_sequences(causal: bool) -> None:
    run("interpreter", problem((78, 2, 32), (118, 1, 32)), SMALL, causal, **packed([5, 0, 40, 33], [5, 3, 40, 70]))


def test_emitted() -> None:
    """Sequences of different lengths, edges in both directions, two heads that share one."""
    run("emulator", problem((44, 2, 16), (50, 1, 16)), SMALL, True, **packed([7, 37], [19, 31]))


@pytest.mark.parametrize("causal", [False, True])
def test_emitted_for_warpgroups(causal: bool) -> None:
    run("emulator", problem((1, 1, 37, 16), (1, 1, 44, 16)), (Tile(64, 32, 4, 3), Tile(32, 64, 4, 2)), causal)


@pytest.mark.gpu
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("head", "dtype"), [(64, np.float16), (128, BF16), (256, np.float16)])
def test_on_a_gpu(head: int, dtype: Any, causal: bool) -> None:
    run("gpu", problem((2, 4, 500, head), (2, 2, 611, head), dtype), None, causal)
    run("gpu", problem((600, 2, head), (700, 2, head), dtype), None, causal, **packed([1, 299, 300], [200, 300, 200]))


def test_wrong_shapes_are_refused() -> None:
    q, k, v, _ = problem((1, 3, 8, 16), (1, 2, 8, 16))
    with pytest.raises(ValueError, match="heads and batches"):
        flash_attention(q, k, v, q, np.zeros((1, 3, 8), np.float32))
    q, k, v, _ = problem((1, 2, 8, 16), (1, 2, 8, 16))
    with pytest.raises(ValueError, match="dense rows"):
        flash_attention(q, k, v, q, np.zeros((1, 2, 16), np.float32)[..., ::2])
    with pytest.raises(ValueError, match="scale must be positive"):
        flash_attention(q, k, v, q, np.zeros((1, 2, 8), np.float32), scale=-1.0)
    q, k, v, _ = problem((1, 2, 8, 24), (1, 2, 8, 24))
    with pytest.raises(ValueError, match="head_dim of"):
        flash_attention(q, k, v, q, np.zeros((1, 2, 8), np.float32))
    q, k, v, _ = problem((8, 2, 16), (8, 2, 16))
    with pytest.raises(ValueError, match="need cu_q, cu_k, max_q and max_k"):
        flash_attention(q, k, v, q, np.zeros((2, 8), np.float32), cu_q=np.zeros(2, np.int32))
