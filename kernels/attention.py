"""Attention, forward: softmax(q @ k^T) @ v in one pass over the keys, one CTA per block of queries and head."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import is_contiguous


@tle2cuda.jit
def attention(
    q, k, v, out, length, scale, CAUSAL: tl.constexpr, HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    head = tl.program_id(1).to(tl.int64) * length * HEAD
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, HEAD)
    at = rows[:, None] * HEAD + d[None, :]
    query = tl.load(q + head + at, mask=rows[:, None] < length, other=0.0)
    largest = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    end = tl.minimum(length, (tl.program_id(0) + 1) * BLOCK_M) if CAUSAL else length
    for start in range(0, end, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        places = cols[:, None] * HEAD + d[None, :]
        key = tl.load(k + head + places, mask=cols[:, None] < length, other=0.0)
        score = tl.dot(query, tl.trans(key)) * (scale * 1.44269504)  # exp(x) = exp2(x * log2(e))
        if CAUSAL:
            score = tl.where(rows[:, None] >= cols[None, :], score, float("-inf"))
        else:
            score = tl.where(cols[None, :] < length, score, float("-inf"))
        now = tl.maximum(largest, tl.max(score, 1))
        weight = tl.exp2(score - now[:, None])
        share = tl.exp2(largest - now)
        total = total * share + tl.sum(weight, 1)
        value = tl.load(v + head + places, mask=cols[:, None] < length, other=0.0)
        acc = tl.dot(weight.to(value.dtype), value, acc * share[:, None])
        largest = now
    result = acc / total[:, None]
    tl.store(out + head + at, result.to(out.dtype.element_ty), mask=rows[:, None] < length)


def attend(q: Any, k: Any, v: Any, out: Any, causal: bool = False, block: tuple[int, int] = (128, 64)) -> Any:
    """Writes attention to `out`; all four `[..., length, head]`, contiguous, of one dtype and shape."""
    if not q.shape == k.shape == v.shape == out.shape:
        raise ValueError(f"expected four arrays of one shape, got {q.shape}, {k.shape}, {v.shape} and {out.shape}")
    if not all(map(is_contiguous, (q, k, v, out))):
        raise ValueError("expected four contiguous arrays")
    *batch, length, head = q.shape
    grid = (-(-length // block[0]), int(np.prod(batch)))
    constants = {"CAUSAL": causal, "HEAD": head, "BLOCK_M": block[0], "BLOCK_N": block[1]}
    attention[grid](q, k, v, out, length, head**-0.5, **constants, num_warps=4 if head <= 64 else 8)
    return out


def attention_reference(q: NDArray[Any], k: NDArray[Any], v: NDArray[Any], causal: bool = False) -> NDArray[Any]:
    """The same in NumPy, computed in float64."""
    wide_q, wide_k, wide_v = (x.astype(np.float64) for x in (q, k, v))
    score = wide_q @ wide_k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        length = q.shape[-2]
        score = np.where(np.tri(length, dtype=bool), score, -np.inf)
    weight = np.exp(score - score.max(-1, keepdims=True))
    return (weight @ wide_v / weight.sum(-1, keepdims=True)).astype(q.dtype)
