"""Launches of the kernels that multiply matrices, for tools/sanitize.py: small, odd sizes, checked against float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernels import (
    decode_matmul,
    flash_attention,
    flash_attention_backward,
    flash_attention_tle,
    fused_moe,
    grouped_gemm,
    grouped_gemm_tle,
    matmul,
    matmul_persistent,
    matmul_tle,
)

SIZES = ((1, 1, 1), (33, 47, 65), (129, 130, 200))  # M, N, K


def numbers(shape: tuple[int, ...], seed: int, dtype: Any = np.float16) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(actual: Any, expected: np.ndarray, tolerance: float = 4e-3) -> None:
    limit = tolerance * max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(actual.get().astype(np.float64), expected, rtol=0, atol=limit)


def run_matmul(cupy: Any) -> None:
    for m, n, k in SIZES:
        a, b = numbers((m, k), 0), numbers((k, n), 1)
        out = cupy.full((m, n), 7, np.float16)
        close(matmul.multiply(cupy.asarray(a), cupy.asarray(b), out), a.astype(np.float64) @ b.astype(np.float64))
    a, b = numbers((200, 200), 0), numbers((200, 136), 1)
    for split in (False, True):
        out = cupy.full((200, 136), 7, np.float16)
        matmul_persistent.multiply_persistent(cupy.asarray(a), cupy.asarray(b), out, ctas=2, specialize=split)
        close(out, a.astype(np.float64) @ b.astype(np.float64))


def run_matmul_tle(cupy: Any) -> None:
    """Tiles of 64 columns and of 256, two of which each CTA has."""
    a, b = numbers((300, 200), 0), numbers((200, 520), 1)
    for tile in ({}, matmul_tle.TILE):
        out = cupy.full((300, 520), 7, np.float16)
        matmul_tle.multiply(cupy.asarray(a), cupy.asarray(b), out, num_ctas=3, **tile)
        close(out, a.astype(np.float64) @ b.astype(np.float64))


def run_few_rows(cupy: Any) -> None:
    for m, n, k in SIZES:
        x, weights = numbers((m, k), 0), numbers((n, k), 1)
        for parts in (1, 3):
            workspace = decode_matmul.new_workspace(cupy.asarray(x), n, parts)
            for _ in range(2):  # tickets must be left as the next launch needs them
                out = cupy.full((m, n), 7, np.float16)
                arrays = (cupy.asarray(x), cupy.asarray(weights), out)
                decode_matmul.multiply_few_rows(*arrays, parts=parts, workspace=workspace)
                close(out, x.astype(np.float64) @ weights.astype(np.float64).T)


def run_groups(cupy: Any) -> None:
    ends = np.cumsum([5, 0, 130, 1]).astype(np.int32)
    a, b = numbers((int(ends[-1]), 72), 0), numbers((4, 72, 136), 1)
    out = cupy.full((a.shape[0], 136), 7, np.float16)
    for module in (grouped_gemm, grouped_gemm_tle):
        out.fill(7)
        module.multiply_groups(*map(cupy.asarray, (a, b)), out, cupy.asarray(ends), ctas=3)
        close(out, grouped_gemm.grouped_reference(a, b, ends))


def run_attention(cupy: Any) -> None:
    for head in (64, 128, 256):
        for causal in (False, True):
            q, do = numbers((1, 2, 131, head), 0), numbers((1, 2, 131, head), 1)
            k, v = numbers((1, 1, 150, head), 2), numbers((1, 1, 150, head), 3)
            inputs = [cupy.asarray(x) for x in (q, k, v)]
            out, lse, delta = cupy.full_like(inputs[0], 7), *(cupy.full((1, 2, 131), 7, np.float32) for _ in "ab")
            gradients = [cupy.full_like(x, 7) for x in inputs]
            flash_attention.flash_attention(*inputs, out, lse, causal=causal)
            flash_attention_backward.flash_attention_backward(
                *inputs, out, lse, cupy.asarray(do), *gradients, delta, causal=causal
            )
            close(out, flash_attention.attention_reference(q, k, v, causal=causal)[0])
            expected = flash_attention_backward.attention_backward_reference(q, k, v, do, causal=causal)
            for actual, wanted in zip(gradients, expected, strict=True):
                close(actual, wanted)


def run_attention_tle(cupy: Any) -> None:
    for head in (64, 128, 256):
        for causal in (False, True):
            q, k, v = (numbers((1, 2, 300, head), seed) for seed in range(3))
            out, lse = cupy.full(q.shape, 7, np.float16), cupy.full(q.shape[:3], 7, np.float32)
            flash_attention_tle.attend_rows(*map(cupy.asarray, (q, k, v)), out, lse, causal=causal)
            close(out, flash_attention.attention_reference(q, k, v, causal=causal)[0])


def run_fused_moe(cupy: Any) -> None:
    sizes = ((1, 384, 256), (3, 72, 80), (70, 72, 80), (300, 72, 80))  # one for each of the ways that are chosen among
    for tokens, size, inner in sizes:
        x, weights = numbers((tokens, size), 0), np.random.default_rng(1).random((tokens, 2), np.float32)
        w_gate_up, w_down = numbers((4, 2 * inner, size), 2) / 8, numbers((4, size, inner), 3) / 8
        ids = np.random.default_rng(4).integers(-1, 4, (tokens, 2)).astype(np.int32)
        arrays = (x, w_gate_up, w_down, weights, ids)
        out = fused_moe.fused_moe(*map(cupy.asarray, arrays), cupy.full(x.shape, 7, np.float16))
        close(out, fused_moe.fused_moe_reference(*arrays), 1e-2)


RUNNERS: dict[str, Callable[[Any], None]] = {
    "matmul": run_matmul,
    "matmul_tle": run_matmul_tle,
    "few_rows": run_few_rows,
    "groups": run_groups,
    "attention": run_attention,
    "attention_tle": run_attention_tle,
    "fused_moe": run_fused_moe,
}
