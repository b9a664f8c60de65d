"""Attention, forward: softmax(q @ k^T) @ v in one pass over the keys; grouped heads, causal masks, sequences of any length.

Either all sequences of a batch have one length, [batch, heads, length, head_dim], or they lie one behind the other,
[tokens, heads, head_dim], and `cu_q`, `cu_k` say where each begins, and at last where the last one ends.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import are_rows_dense, element_strides

LOG2_E = 1.4426950408889634


@tle2cuda.jit
def over_keys(
    acc,
    total,
    largest,
    query,
    k_ptrs,
    v_ptrs,
    stride_kn,
    stride_vn,
    last_key,
    first,
    end,
    length_k,
    scale,
    CAUSAL: tl.constexpr,
    MASKED: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Adds the keys from `first` to `end` to a running softmax, whose exponents count in powers of two."""
    for start in range(first, end, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        if MASKED:
            key = tl.load(k_ptrs, mask=cols[:, None] < length_k, other=0.0)
        else:
            key = tl.load(k_ptrs)
        score = tl.dot(query, tl.trans(key))
        if MASKED:
            score = tl.where(cols[None, :] < length_k, score, float("-inf"))
            if CAUSAL:
                score = tl.where(cols[None, :] <= last_key[:, None], score, float("-inf"))
        now = tl.maximum(largest, tl.max(score, 1) * scale)
        shift = tl.where(now == float("-inf"), 0.0, now) if MASKED else now  # of rows that see no key yet
        weight = tl.exp2(score * scale - shift[:, None])
        share = tl.exp2(largest - shift)
        total = total * share + tl.sum(weight, 1)
        if MASKED:
            value = tl.load(v_ptrs, mask=cols[:, None] < length_k, other=0.0)
        else:
            value = tl.load(v_ptrs)
        acc = tl.dot(weight.to(value.dtype), value, acc * share[:, None])
        largest = now
        k_ptrs += BLOCK_N * stride_kn
        v_ptrs += BLOCK_N * stride_vn
    return acc, total, largest


@tle2cuda.jit
def attention_forward(
    q,
    k,
    v,
    out,
    lse,
    cu_q,
    cu_k,
    length_q,
    length_k,
    scale,
    group,
    stride_qb,
    stride_qh,
    stride_qm,
    stride_kb,
    stride_kh,
    stride_kn,
    stride_vb,
    stride_vh,
    stride_vn,
    stride_ob,
    stride_oh,
    stride_om,
    stride_lb,
    stride_lh,
    CAUSAL: tl.constexpr,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    block, head, batch = tl.program_id(0), tl.program_id(1).to(tl.int64), tl.program_id(2).to(tl.int64)
    if CAUSAL:
        block = tl.num_programs(0) - 1 - block  # rows that see most keys first
    q += batch * stride_qb + head * stride_qh
    k += batch * stride_kb + head // group * stride_kh
    v += batch * stride_vb + head // group * stride_vh
    out += batch * stride_ob + head * stride_oh
    lse += batch * stride_lb + head * stride_lh
    if cu_q is not None:
        first_q, first_k = tl.load(cu_q + batch).to(tl.int64), tl.load(cu_k + batch).to(tl.int64)
        length_q = (tl.load(cu_q + batch + 1) - first_q).to(tl.int32)
        length_k = (tl.load(cu_k + batch + 1) - first_k).to(tl.int32)
        if block * BLOCK_M >= length_q:
            return
        q += first_q * stride_qm
        k += first_k * stride_kn
        v += first_k * stride_vn
        out += first_q * stride_om
        lse += first_q

    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    n, d = tl.arange(0, BLOCK_N), tl.arange(0, HEAD)
    row64 = rows.to(tl.int64)[:, None]
    query = tl.load(q + row64 * stride_qm + d[None, :], mask=rows[:, None] < length_q, other=0.0)
    k_ptrs = k + n[:, None] * stride_kn + d[None, :]
    v_ptrs = v + n[:, None] * stride_vn + d[None, :]
    # The last query sees the last key. Blocks of keys that all rows see whole need no mask.
    past = length_k - length_q
    end, whole = length_k, length_k
    if CAUSAL:
        end = tl.maximum(tl.minimum(length_k, (block + 1) * BLOCK_M + past), 0)
        whole = tl.maximum(tl.minimum(length_k, block * BLOCK_M + past + 1), 0)
    whole = whole // BLOCK_N * BLOCK_N

    largest = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    acc, total, largest = over_keys(
        acc, total, largest, query, k_ptrs, v_ptrs, stride_kn, stride_vn, rows + past, 0, whole, length_k, scale,
        CAUSAL, False, BLOCK_N,
    )  # fmt: skip
    k_ptrs += whole.to(tl.int64) * stride_kn
    v_ptrs += whole.to(tl.int64) * stride_vn
    acc, total, largest = over_keys(
        acc, total, largest, query, k_ptrs, v_ptrs, stride_kn, stride_vn, rows + past, whole, end, length_k, scale,
        CAUSAL, True, BLOCK_N,
    )  # fmt: skip

    result = acc / tl.where(total > 0.0, total, 1.0)[:, None]
    out_ptrs = out + row64 * stride_om + d[None, :]
    tl.store(out_ptrs, result.to(out.dtype.element_ty), mask=rows[:, None] < length_q)
    tl.store(lse + rows, (largest + tl.log2(total)) * 0.6931471805599453, mask=rows < length_q)


class Tile(NamedTuple):
    """Sizes of a CTA's work."""

    block_m: int
    block_n: int
    num_warps: int
    num_stages: int


TILES = {
    16: Tile(64, 64, 4, 3),
    32: Tile(64, 64, 4, 3),
    64: Tile(64, 64, 4, 3),
    128: Tile(128, 128, 8, 2),
    256: Tile(128, 64, 8, 2),
}


class Layout(NamedTuple):
    """What a launch must know of the arrays: counts, lengths, and for each array the strides of batch, head and row."""

    batches: int
    heads: int
    group: int
    length_q: int
    length_k: int
    head_dim: int
    strides: dict[str, tuple[int, int, int]]
    lse_shape: tuple[int, ...]


def layout_of(q: Any, k: Any, cu_q: Any, cu_k: Any, max_q: int | None, max_k: int | None, **others: Any) -> Layout:
    """Checks shapes, and gathers what launches need.

    Args:
        q: Queries.
        k: Keys.
        cu_q: Where the queries of each sequence begin, or None.
        cu_k: The same of keys.
        max_q: Length of the longest sequence of queries, where `cu_q` is given.
        max_k: The same of keys.
        **others: Arrays shaped like `q`, or, with names in v, dk, dv, like `k`.

    Raises:
        ValueError: Something does not fit.
    """
    arrays = {"q": q, "k": k, **others}
    for name, array in others.items():
        like = k if name in ("v", "dk", "dv") else q
        if array.shape != like.shape:
            raise ValueError(f"{name} must have the shape {tuple(like.shape)}, got {tuple(array.shape)}")
    packed = cu_q is not None
    if packed != (cu_k is not None) or packed != (max_q is not None) or packed != (max_k is not None):
        raise ValueError("sequences one behind the other need cu_q, cu_k, max_q and max_k, others none of them")
    rank = 3 if packed else 4
    if len(q.shape) != rank or len(k.shape) != rank or q.shape[-1] != k.shape[-1] or q.shape[-1] not in TILES:
        form = "[tokens, heads, head_dim]" if packed else "[batch, heads, length, head_dim]"
        raise ValueError(f"expected {form}, head_dim of {list(TILES)}, got q {tuple(q.shape)} and k {tuple(k.shape)}")
    head_axis = 1
    heads, kv_heads = int(q.shape[head_axis]), int(k.shape[head_axis])
    if kv_heads == 0 or heads % kv_heads or (not packed and q.shape[0] != k.shape[0]):
        raise ValueError(f"heads and batches of q {tuple(q.shape)} and k {tuple(k.shape)} do not fit")
    strides = {}
    for name, array in arrays.items():
        steps = element_strides(array)
        if not are_rows_dense(array):
            raise ValueError(f"the elements of a head must be neighbours, {name} has strides {steps}")
        strides[name] = (0, steps[1], steps[0]) if packed else steps[:3]
    batches = int(cu_q.shape[0]) - 1 if packed else int(q.shape[0])
    lengths = (max_q, max_k) if packed else (int(q.shape[2]), int(k.shape[2]))
    lse_shape = (heads, int(q.shape[0])) if packed else tuple(q.shape[:3])
    return Layout(batches, heads, heads // kv_heads, *lengths, int(q.shape[-1]), strides, lse_shape)


def layout_of_one_length(q: Any, k: Any, v: Any, out: Any, lse: Any) -> Layout:
    """`layout_of` arrays [batch, heads, length, head_dim], all of one length, and `lse` [batch, heads, length].

    Raises:
        ValueError: Something does not fit.
    """
    layout = layout_of(q, k, None, None, None, None, v=v, out=out)
    check_lse(layout, lse=lse)
    if layout.length_q != layout.length_k:
        raise ValueError(f"q and k must have one length, got {tuple(q.shape)} and {tuple(k.shape)}")
    return layout


def flash_attention(
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    lse: Any,
    *,
    causal: bool = False,
    scale: float | None = None,
    cu_q: Any = None,
    cu_k: Any = None,
    max_q: int | None = None,
    max_k: int | None = None,
    tile: Tile | None = None,
) -> Any:
    """Writes attention to `out`, and the logarithm of the sum of exponentials of each row's scores to `lse`.

    Args:
        q: Queries, [batch, heads, length, head_dim], or [tokens, heads, head_dim] with `cu_q`.
        k: Keys; several heads of q may share one.
        v: Values, shaped like `k`.
        out: Result, shaped like `q`; 0 where a query sees no key.
        lse: float32 [batch, heads, length], or [heads, tokens], contiguous; minus infinity where a query sees no key.
        causal: The last query sees all keys, each one before it one less.
        scale: Of the scores, positive; left out: one over the square root of head_dim.
        cu_q: int32 [batch + 1]: where each sequence begins.
        cu_k: The same of keys.
        max_q: Length of the longest sequence, where `cu_q` is given.
        max_k: The same of keys.
        tile: Sizes of a CTA's work, others than those of `TILES`.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    layout = layout_of(q, k, cu_q, cu_k, max_q, max_k, v=v, out=out)
    check_lse(layout, lse=lse)
    block_m, block_n, num_warps, num_stages = tile or TILES[layout.head_dim]
    scale = checked_scale(scale, layout.head_dim)
    grid = (-(-layout.length_q // block_m), layout.heads, layout.batches)
    steps = [step for name in ("q", "k", "v", "out") for step in layout.strides[name]]
    attention_forward[grid](
        q, k, v, out, lse, cu_q, cu_k, layout.length_q, layout.length_k, scale * LOG2_E, layout.group, *steps,
        *lse_strides(lse), CAUSAL=causal, HEAD=layout.head_dim, BLOCK_M=block_m, BLOCK_N=block_n, num_warps=num_warps,
        num_stages=num_stages,
    )  # fmt: skip
    return out


def check_lse(layout: Layout, **arrays: Any) -> None:
    """Raises ValueError unless arrays have a number for each query of a layout, those of a head side by side."""
    for name, array in arrays.items():
        if tuple(array.shape) != layout.lse_shape or not are_rows_dense(array):
            found = f"{tuple(array.shape)} with strides {element_strides(array)}"
            raise ValueError(f"{name} must have the shape {layout.lse_shape} and dense rows, got {found}")


def checked_scale(scale: float | None, head_dim: int) -> float:
    """The factor of the scores.

    Raises:
        ValueError: It is not positive: the largest score would not be that of the largest product.
    """
    if scale is None:
        return float(head_dim**-0.5)
    if not 0.0 < scale < float("inf"):
        raise ValueError(f"scale must be positive and finite, got {scale}")
    return scale


def lse_strides(lse: Any) -> tuple[int, int]:
    """Strides of batch and head."""
    steps = element_strides(lse)
    return (steps[0], steps[1]) if len(steps) == 3 else (0, steps[0])


class Attention(NamedTuple):
    """Results in float64, of one sequence and head."""

    out: NDArray[Any]
    lse: NDArray[Any]
    weights: NDArray[Any]


def one_head(q: NDArray[Any], k: NDArray[Any], v: NDArray[Any], causal: bool, scale: float) -> Attention:
    """Attention of one sequence and head, [length, head_dim], in float64."""
    score = q.astype(np.float64) @ k.astype(np.float64).T * scale
    if causal:
        score = np.where(np.tri(*score.shape, k=score.shape[1] - score.shape[0], dtype=bool), score, -np.inf)
    peak = score.max(-1, initial=-np.inf, keepdims=True)
    weights = np.exp(score - np.where(np.isfinite(peak), peak, 0.0))
    total = weights.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = np.where(total > 0, peak + np.log(total), -np.inf)[:, 0]
    weights = weights / np.where(total > 0, total, 1.0)
    return Attention(weights @ v.astype(np.float64), lse, weights)


def attention_reference(
    q: NDArray[Any],
    k: NDArray[Any],
    v: NDArray[Any],
    *,
    causal: bool = False,
    scale: float | None = None,
    cu_q: NDArray[Any] | None = None,
    cu_k: NDArray[Any] | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """`out` and `lse` in NumPy, in float64."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    group = q.shape[1] // k.shape[1]
    out, lse = np.zeros(q.shape), np.zeros((q.shape[1], q.shape[0]) if cu_q is not None else q.shape[:3])
    for at_q, at_k, at_lse in places(q.shape, cu_q, cu_k, group):
        found = one_head(q[at_q], k[at_k], v[at_k], causal, scale)
        out[at_q], lse[at_lse] = found.out, found.lse
    return out, lse


def places(
    shape: tuple[int, ...], cu_q: NDArray[Any] | None, cu_k: NDArray[Any] | None, group: int
) -> list[tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]]:
    """Of each sequence and head: its indices into arrays like q, like k, and like lse."""
    if cu_q is None or cu_k is None:
        return [((b, h), (b, h // group), (b, h)) for b in range(shape[0]) for h in range(shape[1])]
    found: list[tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]] = []
    for b in range(len(cu_q) - 1):
        of_q, of_k = slice(int(cu_q[b]), int(cu_q[b + 1])), slice(int(cu_k[b]), int(cu_k[b + 1]))
        found += [((of_q, h), (of_k, h // group), (h, of_q)) for h in range(shape[1])]
    return found
