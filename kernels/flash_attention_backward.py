"""Attention, backward: from the gradient of the result those of queries, keys and values, by `lse` of the forward pass.

Scores are computed again, block by block: once for dk and dv, where a CTA owns a block of keys, and once for dq, where it
owns a block of queries. No CTA adds to what another one writes, so the same input gives the same bits. With s the scores,
p their softmax, and do the gradient of the result:

    dv = p^T @ do,   ds = p * (do @ v^T - delta),   dq = scale * ds @ k,   dk = scale * ds^T @ q,   delta = sum(out * do)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.flash_attention import LOG2_E, Tile, check_lse, checked_scale, layout_of, lse_strides, one_head, places


@tle2cuda.jit
def attention_delta(
    out,
    do,
    delta,
    rows,
    stride_ob,
    stride_oh,
    stride_om,
    stride_db,
    stride_dh,
    stride_dm,
    stride_lb,
    stride_lh,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
):
    """For each query, the sum of `out * do`."""
    head, batch = tl.program_id(1).to(tl.int64), tl.program_id(2).to(tl.int64)
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, HEAD)
    row64 = row.to(tl.int64)[:, None]
    inside = row[:, None] < rows
    result = tl.load(out + batch * stride_ob + head * stride_oh + row64 * stride_om + d[None, :], mask=inside, other=0.0)
    gradient = tl.load(do + batch * stride_db + head * stride_dh + row64 * stride_dm + d[None, :], mask=inside, other=0.0)
    total = tl.sum(result.to(tl.float32) * gradient.to(tl.float32), 1)
    tl.store(delta + batch * stride_lb + head * stride_lh + row, total, mask=row < rows)


@tle2cuda.jit
def over_queries(
    dk,
    dv,
    key,
    value,
    q,
    do,
    lse,
    delta,
    stride_qm,
    stride_dm,
    cols,
    first,
    end,
    length_q,
    past,
    scale,
    MASKED: tl.constexpr,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
):
    """Adds to dk and dv what the queries from `first` to `end` give; scores lie with a row for each key."""
    m, d = tl.arange(0, BLOCK_M), tl.arange(0, HEAD)
    q_ptrs = q + tl.cast(first, tl.int64) * stride_qm + m[:, None] * stride_qm + d[None, :]
    do_ptrs = do + tl.cast(first, tl.int64) * stride_dm + m[:, None] * stride_dm + d[None, :]
    for start in range(first, end, BLOCK_M):
        rows = start + m
        query = tl.load(q_ptrs, mask=rows[:, None] < length_q, other=0.0)
        score = tl.dot(key, tl.trans(query))
        peak = tl.load(lse + rows, mask=rows < length_q, other=0.0) * 1.4426950408889634
        weight = tl.exp2(score * scale - peak[None, :])
        if MASKED:
            weight = tl.where(cols[:, None] <= rows[None, :] + past, weight, 0.0)
        gradient = tl.load(do_ptrs, mask=rows[:, None] < length_q, other=0.0)
        dv = tl.dot(weight.to(gradient.dtype), gradient, dv)
        slope = tl.dot(value, tl.trans(gradient))
        slope = weight * (slope - tl.load(delta + rows, mask=rows < length_q, other=0.0)[None, :])
        dk = tl.dot(slope.to(query.dtype), query, dk)
        q_ptrs += BLOCK_M * stride_qm
        do_ptrs += BLOCK_M * stride_dm
    return dk, dv


@tle2cuda.jit
def attention_dkdv(
    q,
    k,
    v,
    do,
    lse,
    delta,
    dk,
    dv,
    cu_q,
    cu_k,
    length_q,
    length_k,
    scale,
    score_scale,
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
    stride_db,
    stride_dh,
    stride_dm,
    stride_dkb,
    stride_dkh,
    stride_dkn,
    stride_dvb,
    stride_dvh,
    stride_dvn,
    stride_lb,
    stride_lh,
    CAUSAL: tl.constexpr,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """dk and dv of a block of keys: a sum over the queries that see it, of all heads that share it."""
    block, head, batch = tl.program_id(0), tl.program_id(1).to(tl.int64), tl.program_id(2).to(tl.int64)
    q += batch * stride_qb
    k += batch * stride_kb + head * stride_kh
    v += batch * stride_vb + head * stride_vh
    do += batch * stride_db
    dk += batch * stride_dkb + head * stride_dkh
    dv += batch * stride_dvb + head * stride_dvh
    lse += batch * stride_lb
    delta += batch * stride_lb
    if cu_q is not None:
        first_q, first_k = tl.load(cu_q + batch).to(tl.int64), tl.load(cu_k + batch).to(tl.int64)
        length_q = (tl.load(cu_q + batch + 1) - first_q).to(tl.int32)
        length_k = (tl.load(cu_k + batch + 1) - first_k).to(tl.int32)
        if block * BLOCK_N >= length_k:
            return
        q += first_q * stride_qm
        k += first_k * stride_kn
        v += first_k * stride_vn
        do += first_q * stride_dm
        dk += first_k * stride_dkn
        dv += first_k * stride_dvn
        lse += first_q
        delta += first_q

    cols = block * BLOCK_N + tl.arange(0, BLOCK_N)
    d = tl.arange(0, HEAD)
    inside = cols[:, None] < length_k
    key = tl.load(k + cols[:, None].to(tl.int64) * stride_kn + d[None, :], mask=inside, other=0.0)
    value = tl.load(v + cols[:, None].to(tl.int64) * stride_vn + d[None, :], mask=inside, other=0.0)
    # Blocks of queries from `first` to `whole` see a part of the keys.
    past = length_k - length_q
    first, whole = 0, 0
    if CAUSAL:
        first = tl.maximum(block * BLOCK_N - past, 0) // BLOCK_M * BLOCK_M
        whole = tl.maximum((block + 1) * BLOCK_N - 1 - past, 0)
        whole = tl.minimum(tl.cdiv(whole, BLOCK_M) * BLOCK_M, tl.maximum(length_q, first))
    key_sum = tl.zeros([BLOCK_N, HEAD], tl.float32)
    value_sum = tl.zeros([BLOCK_N, HEAD], tl.float32)
    for member in range(group):
        q_head = head * group + member
        q_at, do_at = q + q_head * stride_qh, do + q_head * stride_dh
        lse_at, delta_at = lse + q_head * stride_lh, delta + q_head * stride_lh
        if CAUSAL:
            key_sum, value_sum = over_queries(
                key_sum, value_sum, key, value, q_at, do_at, lse_at, delta_at, stride_qm, stride_dm, cols, first, whole,
                length_q, past, score_scale, True, HEAD, BLOCK_M,
            )  # fmt: skip
        key_sum, value_sum = over_queries(
            key_sum, value_sum, key, value, q_at, do_at, lse_at, delta_at, stride_qm, stride_dm, cols, whole, length_q,
            length_q, past, score_scale, False, HEAD, BLOCK_M,
        )  # fmt: skip
    dk_ptrs = dk + cols[:, None].to(tl.int64) * stride_dkn + d[None, :]
    dv_ptrs = dv + cols[:, None].to(tl.int64) * stride_dvn + d[None, :]
    tl.store(dk_ptrs, (key_sum * scale).to(dk.dtype.element_ty), mask=inside)
    tl.store(dv_ptrs, value_sum.to(dv.dtype.element_ty), mask=inside)


@tle2cuda.jit
def toward_keys(
    dq,
    query,
    gradient,
    peak,
    delta,
    k,
    v,
    stride_kn,
    stride_vn,
    last_key,
    first,
    end,
    length_k,
    scale,
    CAUSAL: tl.constexpr,
    MASKED: tl.constexpr,
    HEAD: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """Adds to dq what the keys from `first` to `end` give."""
    n, d = tl.arange(0, BLOCK_N), tl.arange(0, HEAD)
    k_ptrs = k + tl.cast(first, tl.int64) * stride_kn + n[:, None] * stride_kn + d[None, :]
    v_ptrs = v + tl.cast(first, tl.int64) * stride_vn + n[:, None] * stride_vn + d[None, :]
    for start in range(first, end, BLOCK_N):
        cols = start + n
        if MASKED:
            key = tl.load(k_ptrs, mask=cols[:, None] < length_k, other=0.0)
            value = tl.load(v_ptrs, mask=cols[:, None] < length_k, other=0.0)
        else:
            key, value = tl.load(k_ptrs), tl.load(v_ptrs)
        weight = tl.exp2(tl.dot(query, tl.trans(key)) * scale - peak[:, None])
        if MASKED:
            weight = tl.where(cols[None, :] < length_k, weight, 0.0)
            if CAUSAL:
                weight = tl.where(cols[None, :] <= last_key[:, None], weight, 0.0)
        slope = weight * (tl.dot(gradient, tl.trans(value)) - delta[:, None])
        dq = tl.dot(slope.to(key.dtype), key, dq)
        k_ptrs += BLOCK_N * stride_kn
        v_ptrs += BLOCK_N * stride_vn
    return dq


@tle2cuda.jit
def attention_dq(
    q,
    k,
    v,
    do,
    lse,
    delta,
    dq,
    cu_q,
    cu_k,
    length_q,
    length_k,
    scale,
    score_scale,
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
    stride_db,
    stride_dh,
    stride_dm,
    stride_dqb,
    stride_dqh,
    stride_dqm,
    stride_lb,
    stride_lh,
    CAUSAL: tl.constexpr,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """dq of a block of queries."""
    block, head, batch = tl.program_id(0), tl.program_id(1).to(tl.int64), tl.program_id(2).to(tl.int64)
    if CAUSAL:
        block = tl.num_programs(0) - 1 - block  # rows that see most keys first
    q += batch * stride_qb + head * stride_qh
    k += batch * stride_kb + head // group * stride_kh
    v += batch * stride_vb + head // group * stride_vh
    do += batch * stride_db + head * stride_dh
    dq += batch * stride_dqb + head * stride_dqh
    lse += batch * stride_lb + head * stride_lh
    delta += batch * stride_lb + head * stride_lh
    if cu_q is not None:
        first_q, first_k = tl.load(cu_q + batch).to(tl.int64), tl.load(cu_k + batch).to(tl.int64)
        length_q = (tl.load(cu_q + batch + 1) - first_q).to(tl.int32)
        length_k = (tl.load(cu_k + batch + 1) - first_k).to(tl.int32)
        if block * BLOCK_M >= length_q:
            return
        q += first_q * stride_qm
        k += first_k * stride_kn
        v += first_k * stride_vn
        do += first_q * stride_dm
        dq += first_q * stride_dqm
        lse += first_q
        delta += first_q

    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, HEAD)
    inside = rows[:, None] < length_q
    query = tl.load(q + rows[:, None].to(tl.int64) * stride_qm + d[None, :], mask=inside, other=0.0)
    gradient = tl.load(do + rows[:, None].to(tl.int64) * stride_dm + d[None, :], mask=inside, other=0.0)
    peak = tl.load(lse + rows, mask=rows < length_q, other=0.0) * 1.4426950408889634
    rest = tl.load(delta + rows, mask=rows < length_q, other=0.0)
    past = length_k - length_q
    begin, end, whole = 0, length_k, length_k
    if CAUSAL:
        end = tl.maximum(tl.minimum(length_k, (block + 1) * BLOCK_M + past), 0)
        whole = tl.maximum(tl.minimum(length_k, block * BLOCK_M + past + 1), 0)
    whole = whole // BLOCK_N * BLOCK_N
    total = tl.zeros([BLOCK_M, HEAD], tl.float32)
    total = toward_keys(
        total, query, gradient, peak, rest, k, v, stride_kn, stride_vn, rows + past, begin, whole, length_k,
        score_scale, CAUSAL, False, HEAD, BLOCK_N,
    )  # fmt: skip
    total = toward_keys(
        total, query, gradient, peak, rest, k, v, stride_kn, stride_vn, rows + past, whole, end, length_k,
        score_scale, CAUSAL, True, HEAD, BLOCK_N,
    )  # fmt: skip
    dq_ptrs = dq + rows[:, None].to(tl.int64) * stride_dqm + d[None, :]
    tl.store(dq_ptrs, (total * scale).to(dq.dtype.element_ty), mask=inside)


TILES_DKDV = {
    16: Tile(64, 64, 4, 2),
    32: Tile(64, 64, 4, 2),
    64: Tile(64, 64, 4, 2),
    128: Tile(64, 64, 4, 2),
    256: Tile(32, 64, 8, 2),
}
TILES_DQ = {
    16: Tile(64, 64, 4, 2),
    32: Tile(64, 64, 4, 2),
    64: Tile(64, 64, 4, 2),
    128: Tile(64, 64, 4, 2),
    256: Tile(64, 64, 8, 2),
}
_DELTA_ROWS = 64


def flash_attention_backward(
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    lse: Any,
    do: Any,
    dq: Any,
    dk: Any,
    dv: Any,
    delta: Any,
    *,
    causal: bool = False,
    scale: float | None = None,
    cu_q: Any = None,
    cu_k: Any = None,
    max_q: int | None = None,
    max_k: int | None = None,
    tiles: tuple[Tile, Tile] | None = None,
) -> None:
    """Writes the gradients of queries, keys and values to `dq`, `dk`, `dv`.

    Args:
        q: Queries, as in the forward pass.
        k: Keys.
        v: Values.
        out: What the forward pass wrote.
        lse: The same.
        do: Gradient of `out`.
        dq: Gradient of the queries.
        dk: Gradient of the keys.
        dv: Gradient of the values.
        delta: Scratch, like `lse`.
        causal: As in the forward pass.
        scale: The same.
        cu_q: The same.
        cu_k: The same.
        max_q: The same.
        max_k: The same.
        tiles: Sizes of a CTA's work for dk and dv, and for dq, others than those of `TILES_DKDV` and `TILES_DQ`.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    layout = layout_of(q, k, cu_q, cu_k, max_q, max_k, v=v, out=out, do=do, dq=dq, dk=dk, dv=dv)
    check_lse(layout, lse=lse, delta=delta)
    if lse_strides(lse) != lse_strides(delta):
        raise ValueError(f"lse and delta must have the same strides, got {lse_strides(lse)} and {lse_strides(delta)}")
    of_keys, of_queries = tiles or (TILES_DKDV[layout.head_dim], TILES_DQ[layout.head_dim])
    scale = checked_scale(scale, layout.head_dim)
    steps, head = layout.strides, layout.head_dim
    rows = int(q.shape[0]) if cu_q is not None else layout.length_q
    batches = 1 if cu_q is not None else layout.batches
    attention_delta[-(-rows // _DELTA_ROWS), layout.heads, batches](
        out, do, delta, rows, *steps["out"], *steps["do"], *lse_strides(lse), HEAD=head, BLOCK_M=_DELTA_ROWS, num_warps=4
    )
    inputs = [step for name in ("q", "k", "v", "do") for step in steps[name]]
    sizes = (cu_q, cu_k, layout.length_q, layout.length_k, scale, scale * LOG2_E, layout.group)
    attention_dkdv[-(-layout.length_k // of_keys.block_n), layout.heads // layout.group, layout.batches](
        q, k, v, do, lse, delta, dk, dv, *sizes, *inputs, *steps["dk"], *steps["dv"], *lse_strides(lse), CAUSAL=causal,
        HEAD=head, BLOCK_M=of_keys.block_m, BLOCK_N=of_keys.block_n, num_warps=of_keys.num_warps,
        num_stages=of_keys.num_stages,
    )  # fmt: skip
    attention_dq[-(-layout.length_q // of_queries.block_m), layout.heads, layout.batches](
        q, k, v, do, lse, delta, dq, *sizes, *inputs, *steps["dq"], *lse_strides(lse), CAUSAL=causal, HEAD=head,
        BLOCK_M=of_queries.block_m, BLOCK_N=of_queries.block_n, num_warps=of_queries.num_warps,
        num_stages=of_queries.num_stages,
    )  # fmt: skip


class Gradients(NamedTuple):
    """In float64."""

    dq: NDArray[Any]
    dk: NDArray[Any]
    dv: NDArray[Any]


def attention_backward_reference(
    q: NDArray[Any],
    k: NDArray[Any],
    v: NDArray[Any],
    do: NDArray[Any],
    *,
    causal: bool = False,
    scale: float | None = None,
    cu_q: NDArray[Any] | None = None,
    cu_k: NDArray[Any] | None = None,
) -> Gradients:
    """The same in NumPy, in float64."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    found = Gradients(np.zeros(q.shape), np.zeros(k.shape), np.zeros(k.shape))
    for at_q, at_k, _ in places(q.shape, cu_q, cu_k, q.shape[1] // k.shape[1]):
        forward = one_head(q[at_q], k[at_k], v[at_k], causal, scale)
        gradient = do[at_q].astype(np.float64)
        slope = gradient @ v[at_k].astype(np.float64).T - (gradient * forward.out).sum(-1, keepdims=True)
        slope = forward.weights * slope * scale
        found.dq[at_q] += slope @ k[at_k].astype(np.float64)
        found.dk[at_k] += slope.T @ q[at_q].astype(np.float64)
        found.dv[at_k] += forward.weights.T @ gradient
    return found
