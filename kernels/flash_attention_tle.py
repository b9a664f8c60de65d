"""Attention, forward, written out in TLE: the copy engine brings keys and values, two warpgroups own 64 queries each.

While the softmax of one block of keys is computed, the product of the block before with the values is still in flight, and
so are those of the other warpgroup. All sequences have one length; several heads of q may share one of k and v.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tle2cuda
import tle2cuda.language as tl
from kernels.flash_attention import LOG2_E, checked_scale, layout_of_one_length, lse_strides
from tle2cuda.language import tle


@tle2cuda.jit
def fetch(
    q_writer, k_writer, v_writer, q, k, v, batch, head, block, blocks, kv_head,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr,
):  # fmt: skip
    """Ask for the queries, then for keys and values, from the last block to the first."""
    tle.gpu.copy(q, q_writer.acquire(0).q, [1, 1, BLOCK_M, HEAD], [batch, head, block * BLOCK_M, 0])
    q_writer.commit(0)
    for i in range(blocks):
        key = (blocks - 1 - i) * BLOCK_N
        tle.gpu.copy(k, k_writer.acquire(i).k, [1, 1, BLOCK_N, HEAD], [batch, kv_head, key, 0])
        k_writer.commit(i)
        tle.gpu.copy(v, v_writer.acquire(i).v, [1, 1, BLOCK_N, HEAD], [batch, kv_head, key, 0])
        v_writer.commit(i)


@tle2cuda.jit
def masked(score, i, rows, blocks, length, CAUSAL: tl.constexpr, BLOCK_N: tl.constexpr):
    """The scores of the i-th block from the end, minus infinity where a query sees no key.

    Where queries see no later keys, those that there are see none beyond the last one either.
    """
    first = (blocks - 1 - i) * BLOCK_N
    index = tl.arange(0, BLOCK_N)
    seen = index[None, :] <= (rows - first)[:, None] if CAUSAL else index[None, :] < length - first
    return tl.where(seen, score, float("-inf"))


@tle2cuda.jit
def softmax_step(
    score, largest, total, scale, MASKED: tl.constexpr, GROWTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):  # fmt: skip
    """Weights of a block of keys, the sums with them, the largest scores, and what the past is worth.

    Of each row there are 8 sums: every eighth column belongs to one, as a thread holds them. They are added up at the end.
    With GROWTH the largest score stays what it is until one is greater by that, so that what was summed before keeps its
    scale, but for few blocks.
    """
    found = tl.max(score, 1) * scale
    now = tl.where(found > largest + GROWTH, found, largest) if GROWTH > 0 else tl.maximum(largest, found)
    shift = tl.where(now == float("-inf"), 0.0, now) if MASKED else now  # of rows that see no key yet
    weight = tl.exp2(score * scale - shift[:, None])
    share = tl.exp2(largest - shift)
    sums = tl.sum(tl.reshape(weight, [BLOCK_M, BLOCK_N // 8, 8]), 1)
    return weight, total * share[:, None] + sums, now, share


@tle2cuda.jit
def next_block(
    i, query, weight, acc, total, largest, k_reader, v_reader, rows, blocks, length, scale, dtype: tl.constexpr,
    CAUSAL: tl.constexpr, MASKED: tl.constexpr, GROWTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """The product of the block before is in flight while this one's scores become weights."""
    score = tle.gpu.wgmma(query, k_reader.wait(i).slot.k, trans_b=True)
    acc = tle.gpu.wgmma(weight, v_reader.wait(i - 1).slot.v, acc)
    score = tle.gpu.wgmma_wait(1, score)
    k_reader.release(i)
    if MASKED:
        score = masked(score, i, rows, blocks, length, CAUSAL, BLOCK_N)
    coming, total, largest, share = softmax_step(score, largest, total, scale, MASKED, GROWTH, BLOCK_M, BLOCK_N)
    acc = tle.gpu.wgmma_wait(0, acc)
    v_reader.release(i - 1)
    return coming.to(dtype), acc * share[:, None], total, largest


@tle2cuda.jit
def attend(
    q_reader, k_reader, v_reader, out, lse, batch, head, block, blocks, length, scale, dtype: tl.constexpr,
    CAUSAL: tl.constexpr, HOLD: tl.constexpr, GROWTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    HEAD: tl.constexpr,
):  # fmt: skip
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    q_tile = q_reader.wait(0).slot.q
    query = tl.load(tle.gpu.local_ptr(q_tile)) if HOLD else q_tile
    score = tle.gpu.wgmma_wait(0, tle.gpu.wgmma(query, k_reader.wait(0).slot.k, trans_b=True))
    k_reader.release(0)
    score = masked(score, 0, rows, blocks, length, CAUSAL, BLOCK_N)
    largest = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M, 8], tl.float32)
    weight, total, largest, _ = softmax_step(score, largest, total, scale, True, GROWTH, BLOCK_M, BLOCK_N)
    weight = weight.to(dtype)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    first = 1
    if CAUSAL and BLOCK_M > BLOCK_N:  # the diagonal crosses more blocks than the last one
        first = tl.minimum(BLOCK_M // BLOCK_N, blocks)
        for i in range(1, first):
            weight, acc, total, largest = next_block(
                i, query, weight, acc, total, largest, k_reader, v_reader, rows, blocks, length, scale, dtype, CAUSAL,
                True, GROWTH, BLOCK_M, BLOCK_N,
            )  # fmt: skip
    for i in range(first, blocks):
        weight, acc, total, largest = next_block(
            i, query, weight, acc, total, largest, k_reader, v_reader, rows, blocks, length, scale, dtype, CAUSAL, False,
            GROWTH, BLOCK_M, BLOCK_N,
        )  # fmt: skip
    acc = tle.gpu.wgmma_wait(0, tle.gpu.wgmma(weight, v_reader.wait(blocks - 1).slot.v, acc))
    v_reader.release(blocks - 1)
    total_of_row = tl.sum(total, 1)
    share = 1.0 / total_of_row
    tl.store(tle.gpu.local_ptr(q_tile), (acc * share[:, None]).to(dtype))  # nobody needs the queries any more
    tle.gpu.copy(q_tile, out, [1, 1, BLOCK_M, HEAD], [batch, head, block * BLOCK_M, 0])
    tl.store(lse + rows, (largest + tl.log2(total_of_row)) * 0.6931471805599453, mask=rows < length)


@tle2cuda.jit
def attention_tle(
    q, k, v, out, lse, batches, heads, kv_heads, length, scale,
    stride_qb, stride_qh, stride_qm, stride_kb, stride_kh, stride_kn, stride_vb, stride_vh, stride_vn,
    stride_ob, stride_oh, stride_om, stride_lb, stride_lh,
    CAUSAL: tl.constexpr, HEAD: tl.constexpr, GROUP: tl.constexpr, NEAR: tl.constexpr, BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr, STAGES: tl.constexpr, HOLD: tl.constexpr, GROWTH: tl.constexpr,
):  # fmt: skip
    """Of NEAR heads, CTAs are neighbours that work on the same rows, those first that see most keys.

    One head after the other would leave most multiprocessors without work while the last head's last rows take their time.
    """
    dtype: tl.constexpr = q.dtype.element_ty
    rows, keys = [1, 1, BLOCK_M, HEAD], [1, 1, BLOCK_N, HEAD]
    q_desc = tl.make_tensor_descriptor(q, [batches, heads, length, HEAD], [stride_qb, stride_qh, stride_qm, 1], rows)
    k_desc = tl.make_tensor_descriptor(k, [batches, kv_heads, length, HEAD], [stride_kb, stride_kh, stride_kn, 1], keys)
    v_desc = tl.make_tensor_descriptor(v, [batches, kv_heads, length, HEAD], [stride_vb, stride_vh, stride_vn, 1], keys)
    out_desc = tl.make_tensor_descriptor(out, [batches, heads, length, HEAD], [stride_ob, stride_oh, stride_om, 1], rows)
    q_tile = tle.gpu.alloc([1, BLOCK_M, HEAD], dtype=dtype)
    k_ring = tle.gpu.alloc([STAGES, BLOCK_N, HEAD], dtype=dtype)
    v_ring = tle.gpu.alloc([STAGES, BLOCK_N, HEAD], dtype=dtype)
    queries = tle.pipe(capacity=1, name="queries", one_shot=True, q=q_tile)
    k_pipe = tle.pipe(capacity=STAGES, name="keys", k=k_ring)
    v_pipe = tle.pipe(capacity=STAGES, name="values", v=v_ring)
    place, batch = tl.program_id(0), tl.program_id(2)
    if CAUSAL:
        place = tl.num_programs(0) - 1 - place  # rows that see most keys first
    block, head = place // NEAR, tl.program_id(1) * NEAR + place % NEAR
    blocks = tl.cdiv(length, BLOCK_N)
    if CAUSAL:
        blocks = tl.minimum(blocks, tl.cdiv((block + 1) * BLOCK_M, BLOCK_N))
    kv_head = head // GROUP
    lse += batch.to(tl.int64) * stride_lb + head.to(tl.int64) * stride_lh
    readers = (queries.reader(), k_pipe.reader(), v_pipe.reader())
    writers = (queries.writer(), k_pipe.writer(), v_pipe.writer())
    tile, sizes = (batch, head, block, blocks), (BLOCK_M, BLOCK_N, HEAD)
    tle.gpu.warp_specialize(
        [
            (attend, (*readers, out_desc, lse, *tile, length, scale, dtype, CAUSAL, HOLD, GROWTH, *sizes)),
            (fetch, (*writers, q_desc, k_desc, v_desc, *tile, kv_head, *sizes)),
        ],
        [1],
        [40],
    )


class Tile(NamedTuple):
    """Sizes of a CTA's work: 64 queries for each four warps.

    With `hold` queries stay in registers, and products read a third less of shared memory. Heads of 256 have no registers
    for them, and those of 64 are better off with two CTAs on a multiprocessor.

    The largest score of a row follows the scores when they have grown by `growth`, as an exponent of two: by 8, weights are
    up to 256, which float16 holds as well as those up to 1. Heads of 64 have few sums to rescale, and follow at once.
    """

    block_m: int
    block_n: int
    stages: int
    num_warps: int
    hold: bool = False
    growth: float = 8.0


TILES = {64: Tile(64, 128, 2, 4, growth=0.0), 128: Tile(128, 128, 2, 8, hold=True), 256: Tile(128, 64, 2, 8)}
NEAR_HEADS = 4  # whose keys and values the L2 cache holds at once


def attend_rows(
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    lse: Any,
    *,
    causal: bool = False,
    scale: float | None = None,
    tile: Tile | None = None,
) -> Any:
    """Writes attention to `out` and the logarithms of the sums to `lse`, as `flash_attention` does.

    Args:
        q: Queries, [batch, heads, length, head_dim], head_dim 64, 128 or 256, strides multiples of 16 bytes.
        k: Keys, of the same length.
        v: Values, shaped like `k`.
        out: Result, shaped like `q`.
        lse: float32 [batch, heads, length], contiguous.
        causal: Queries see no later keys.
        scale: Of the scores, positive; left out: one over the square root of head_dim.
        tile: Sizes of a CTA's work, others than those of `TILES`.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    layout = layout_of_one_length(q, k, v, out, lse)
    block_m, block_n, stages, num_warps, hold, growth = tile or TILES[layout.head_dim]
    near = math.gcd(layout.heads, NEAR_HEADS)
    grid = (-(-layout.length_q // block_m) * near, layout.heads // near, layout.batches)
    steps = [step for name in ("q", "k", "v", "out") for step in layout.strides[name]]
    scale = checked_scale(scale, layout.head_dim)
    attention_tle[grid](
        q, k, v, out, lse, layout.batches, layout.heads, layout.heads // layout.group, layout.length_q, scale * LOG2_E,
        *steps, *lse_strides(lse), CAUSAL=causal, HEAD=layout.head_dim, GROUP=layout.group, NEAR=near, BLOCK_M=block_m,
        BLOCK_N=block_n, STAGES=stages, HOLD=hold, GROWTH=growth, num_warps=num_warps,
    )  # fmt: skip
    return out
