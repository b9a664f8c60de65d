"""Attention, forward, written out in TLE: the copy engine brings keys and values, warpgroups own 64 queries each.

CTAs stay on their multiprocessors and claim tiles of queries while they run, those first that see most keys. While the
softmax of one block of keys is computed, the product of the block before with the values is still in flight, and so are
those of the other warpgroups. So it goes on from tile to tile: a tile's results are written while the first scores of the
next are in flight. All sequences have one length; several heads of q may share one of k and v.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tle2cuda
import tle2cuda.language as tl
from kernels.flash_attention import LOG2_E, layout_of, lse_strides
from kernels.matrices import persistent_ctas
from kernels.persistent_rows import claims_for
from tle2cuda.language import tle


@tle2cuda.jit
def place_of(
    tile, tiles_m, batches, heads, kv_heads, length, near_heads, CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Batch, head, head of keys, first row and blocks of keys of a tile.

    Tiles of some heads, whose keys and values fit into the L2 cache, are neighbours: their last rows first, which see most
    keys.
    """
    heads_before = tile // (near_heads * tiles_m) * near_heads
    near = tl.minimum(batches * heads - heads_before, near_heads)
    inside = tile % (near_heads * tiles_m)
    at = heads_before + inside % near
    block = inside // near
    blocks = tl.cdiv(length, BLOCK_N)
    if CAUSAL:
        block = tiles_m - 1 - block
        blocks = tl.minimum(blocks, tl.cdiv((block + 1) * BLOCK_M, BLOCK_N))
    head = at % heads
    return at // heads, head, head // (heads // kv_heads), block * BLOCK_M, blocks


@tle2cuda.jit
def queries_of(slot, GROUP: tl.constexpr):
    """The queries of a group in a slot."""
    if GROUP == 0:
        return slot.a
    if GROUP == 1:
        return slot.b
    return slot.c


@tle2cuda.jit
def put_place(slot, blocks, row, head, batch):
    """Tells the warpgroups which tile comes: how many blocks of keys, none behind the last tile, and where it lies."""
    tl.store(tle.gpu.local_ptr(slot.place, (0,)), blocks)
    tl.store(tle.gpu.local_ptr(slot.place, (1,)), row)
    tl.store(tle.gpu.local_ptr(slot.place, (2,)), head)
    tl.store(tle.gpu.local_ptr(slot.place, (3,)), batch)


@tle2cuda.jit
def told(slot, NUMBER: tl.constexpr):
    """A number of `put_place`."""
    return tl.load(tle.gpu.local_ptr(slot.place, (NUMBER,)))


@tle2cuda.jit
def fetch(
    q_writer, k_writer, v_writer, q, k, v, claims, tiles, tiles_m, batches, heads, kv_heads, length,
    near_heads, GROUPS: tl.constexpr, ROWS: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr,
):  # fmt: skip
    """Claims tiles; asks for their queries, then for keys and values, from the last block to the first.

    The first tile of a CTA is its own number. `claims` counts the others, and is zero again in the end: whoever makes the
    last claim knows that no other will come, as each tile that is worked on is followed by one more claim.
    """
    place, turn, tile = q_writer.cursor(0), 0, tl.program_id(0)
    while tile < tiles:
        batch, head, kv_head, row, blocks = place_of(
            tile, tiles_m, batches, heads, kv_heads, length, near_heads, CAUSAL, ROWS * GROUPS, BLOCK_N
        )  # fmt: skip
        slot = q_writer.acquire(place)
        put_place(slot, blocks, row, head, batch)
        for group in tl.static_range(GROUPS):
            tle.gpu.copy(q, queries_of(slot, group), [1, 1, ROWS, HEAD], [batch, head, row + ROWS * group, 0])
        q_writer.commit(place)
        place = place.advance()
        following = tl.atomic_add(claims, 1, sem="relaxed")
        for i in range(blocks):
            key = (blocks - 1 - i) * BLOCK_N
            tle.gpu.copy(k, k_writer.acquire(turn + i).k, [1, 1, BLOCK_N, HEAD], [batch, kv_head, key, 0])
            k_writer.commit(turn + i)
            tle.gpu.copy(v, v_writer.acquire(turn + i).v, [1, 1, BLOCK_N, HEAD], [batch, kv_head, key, 0])
            v_writer.commit(turn + i)
        turn += blocks
        if following == tiles - 1:
            tl.atomic_xchg(claims, 0, sem="relaxed")
        tile = tl.num_programs(0) + following
    put_place(q_writer.acquire(place), 0, 0, 0, 0)
    q_writer.commit(place)


@tle2cuda.jit
def masked(score, block, row, length, CAUSAL: tl.constexpr, BLOCK_N: tl.constexpr, ROWS: tl.constexpr):
    """The scores of a block of keys, minus infinity where a query sees no key.

    Queries that there are see no keys that there are not, where they see no later ones.
    """
    cols = tl.arange(0, BLOCK_N)
    if CAUSAL:
        rows = row - block * BLOCK_N + tl.arange(0, ROWS)
        return tl.where(rows[:, None] - cols[None, :] >= 0, score, float("-inf"))
    return tl.where(cols[None, :] < length - block * BLOCK_N, score, float("-inf"))


@tle2cuda.jit
def softmax_step(score, largest, total, scale, MASKED: tl.constexpr, BLOCK_N: tl.constexpr, ROWS: tl.constexpr):
    """Weights of a block of keys, the sums with them, the largest scores, and what the past is worth.

    Of each row there are 8 sums: every eighth column belongs to one, as a thread holds them. They are added up at the end.
    """
    now = tl.maximum(largest, tl.max(score, 1) * scale)
    shift = tl.where(now == float("-inf"), 0.0, now) if MASKED else now  # of rows that see no key yet
    weight = tl.exp2(score * scale - shift[:, None])
    share = tl.exp2(largest - shift)
    sums = tl.sum(tl.reshape(weight, [ROWS, BLOCK_N // 8, 8]), 1)
    return weight, total * share[:, None] + sums, now, share


@tle2cuda.jit
def first_softmax(score, block, row, length, scale, CAUSAL: tl.constexpr, BLOCK_N: tl.constexpr, ROWS: tl.constexpr):
    """The step of a tile's first block, the last one that its queries see."""
    score = masked(score, block, row, length, CAUSAL, BLOCK_N, ROWS)
    largest = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS, 8], tl.float32)
    weight, total, largest, _ = softmax_step(score, largest, total, scale, True, BLOCK_N, ROWS)
    return weight, total, largest


@tle2cuda.jit
def next_block(
    turn, block, query, weight, acc, total, largest, k_reader, v_reader, row, length, scale, dtype: tl.constexpr,
    CAUSAL: tl.constexpr, MASKED: tl.constexpr, BLOCK_N: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """The product of the block before is in flight while this one's scores become weights."""
    score = tle.gpu.wgmma(query, k_reader.wait(turn).slot.k, trans_b=True)
    acc = tle.gpu.wgmma(weight, v_reader.wait(turn - 1).slot.v, acc)
    score = tle.gpu.wgmma_wait(1, score)
    k_reader.release(turn)
    if MASKED:
        score = masked(score, block, row, length, CAUSAL, BLOCK_N, ROWS)
    coming, total, largest, share = softmax_step(score, largest, total, scale, MASKED, BLOCK_N, ROWS)
    acc = tle.gpu.wgmma_wait(0, acc)
    v_reader.release(turn - 1)
    return coming.to(dtype), acc * share[:, None], total, largest


@tle2cuda.jit
def finish(
    acc, total, largest, out, lse, batch, head, row, length, stride_ob, stride_oh, stride_om, stride_lb, stride_lh,
    HEAD: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Writes the results of some queries, in parts where they are wide."""
    PART: tl.constexpr = min(HEAD, 128)
    total_of_row = tl.sum(total, 1)
    share = 1.0 / total_of_row
    batch, head, i = batch.to(tl.int64), head.to(tl.int64), tl.arange(0, ROWS)
    out += batch * stride_ob + head * stride_oh + row.to(tl.int64) * stride_om
    for part in tl.static_range(HEAD // PART):
        columns = acc if PART == HEAD else tle.extract_tile(acc, (0, part), (ROWS, PART))
        places = out + i[:, None] * stride_om + (part * PART + tl.arange(0, PART))[None, :]
        tl.store(places, (columns * share[:, None]).to(out.dtype.element_ty), mask=(i < length - row)[:, None])
    lse += batch * stride_lb + head * stride_lh + row
    tl.store(lse + i, (largest + tl.log2(total_of_row)) * 0.6931471805599453, mask=i < length - row)


@tle2cuda.jit
def attend(
    q_reader, k_reader, v_reader, out, lse, length, scale, stride_ob, stride_oh, stride_om, stride_lb, stride_lh,
    dtype: tl.constexpr, GROUP: tl.constexpr, GROUPS: tl.constexpr, ROWS: tl.constexpr, CAUSAL: tl.constexpr,
    BLOCK_N: tl.constexpr, HEAD: tl.constexpr,
):  # fmt: skip
    """ROWS queries of each tile."""
    slot = q_reader.wait(0).slot
    blocks, row, head, batch = told(slot, 0), told(slot, 1) + ROWS * GROUP, told(slot, 2), told(slot, 3)
    score = tle.gpu.wgmma_wait(0, tle.gpu.wgmma(queries_of(slot, GROUP), k_reader.wait(0).slot.k, trans_b=True))
    k_reader.release(0)
    weight, total, largest = first_softmax(score, blocks - 1, row, length, scale, CAUSAL, BLOCK_N, ROWS)
    weight = weight.to(dtype)
    turn, count = 0, 0
    while blocks > 0:
        acc = tl.zeros([ROWS, HEAD], tl.float32)
        first = 1
        query = queries_of(q_reader.wait(count).slot, GROUP)
        if CAUSAL and ROWS * GROUPS > BLOCK_N:  # the diagonal crosses more blocks than the last one
            first = tl.maximum(blocks - (row + 1) // BLOCK_N, 1)
            for i in range(1, first):
                weight, acc, total, largest = next_block(
                    turn + i, blocks - 1 - i, query, weight, acc, total, largest, k_reader, v_reader, row, length, scale,
                    dtype, CAUSAL, True, BLOCK_N, ROWS,
                )  # fmt: skip
        for i in range(first, blocks):
            weight, acc, total, largest = next_block(
                turn + i, blocks - 1 - i, query, weight, acc, total, largest, k_reader, v_reader, row, length, scale,
                dtype, CAUSAL, False, BLOCK_N, ROWS,
            )  # fmt: skip
        q_reader.release(count)
        turn += blocks
        count += 1
        slot = q_reader.wait(count).slot
        blocks = told(slot, 0)
        if blocks > 0:
            acc = tle.gpu.wgmma(weight, v_reader.wait(turn - 1).slot.v, acc)
            score = tle.gpu.wgmma(queries_of(slot, GROUP), k_reader.wait(turn).slot.k, trans_b=True)
            acc = tle.gpu.wgmma_wait(1, acc)
            v_reader.release(turn - 1)
            finish(
                acc, total, largest, out, lse, batch, head, row, length, stride_ob, stride_oh, stride_om, stride_lb,
                stride_lh, HEAD, ROWS,
            )  # fmt: skip
            row, head, batch = told(slot, 1) + ROWS * GROUP, told(slot, 2), told(slot, 3)
            score = tle.gpu.wgmma_wait(0, score)
            k_reader.release(turn)
            coming, total, largest = first_softmax(score, blocks - 1, row, length, scale, CAUSAL, BLOCK_N, ROWS)
            weight = coming.to(dtype)
        else:
            acc = tle.gpu.wgmma_wait(0, tle.gpu.wgmma(weight, v_reader.wait(turn - 1).slot.v, acc))
            v_reader.release(turn - 1)
            finish(
                acc, total, largest, out, lse, batch, head, row, length, stride_ob, stride_oh, stride_om, stride_lb,
                stride_lh, HEAD, ROWS,
            )  # fmt: skip
    q_reader.release(count)


@tle2cuda.jit(do_not_specialize=["near_heads"])
def attention_tle(
    q, k, v, out, lse, claims, batches, heads, kv_heads, length, near_heads, scale,
    stride_qb, stride_qh, stride_qm, stride_kb, stride_kh, stride_kn, stride_vb, stride_vh, stride_vn,
    stride_ob, stride_oh, stride_om, stride_lb, stride_lh,
    CAUSAL: tl.constexpr, HEAD: tl.constexpr, GROUPS: tl.constexpr, ROWS: tl.constexpr, BLOCK_N: tl.constexpr,
    STAGES: tl.constexpr, QUERIES: tl.constexpr,
):  # fmt: skip
    dtype: tl.constexpr = q.dtype.element_ty
    rows, keys = [1, 1, ROWS, HEAD], [1, 1, BLOCK_N, HEAD]
    q_desc = tl.make_tensor_descriptor(q, [batches, heads, length, HEAD], [stride_qb, stride_qh, stride_qm, 1], rows)
    k_desc = tl.make_tensor_descriptor(k, [batches, kv_heads, length, HEAD], [stride_kb, stride_kh, stride_kn, 1], keys)
    v_desc = tl.make_tensor_descriptor(v, [batches, kv_heads, length, HEAD], [stride_vb, stride_vh, stride_vn, 1], keys)
    place = tle.gpu.alloc([QUERIES, 4], dtype=tl.int32, nv_mma_shared_layout=False)
    q_a = tle.gpu.alloc([QUERIES, ROWS, HEAD], dtype=dtype)
    k_ring = tle.gpu.alloc([STAGES, BLOCK_N, HEAD], dtype=dtype)
    v_ring = tle.gpu.alloc([STAGES, BLOCK_N, HEAD], dtype=dtype)
    names: tl.constexpr = ("a", "b", "c")[:GROUPS]
    k_pipe = tle.pipe(capacity=STAGES, name="keys", readers=names, k=k_ring)
    v_pipe = tle.pipe(capacity=STAGES, name="values", readers=names, v=v_ring)
    if GROUPS == 1:
        q_pipe = tle.pipe(capacity=QUERIES, name="queries", readers=names, place=place, a=q_a)
    else:
        q_b = tle.gpu.alloc([QUERIES, ROWS, HEAD], dtype=dtype)
        if GROUPS == 2:
            q_pipe = tle.pipe(capacity=QUERIES, name="queries", readers=names, place=place, a=q_a, b=q_b)
        else:
            q_c = tle.gpu.alloc([QUERIES, ROWS, HEAD], dtype=dtype)
            q_pipe = tle.pipe(capacity=QUERIES, name="queries", readers=names, place=place, a=q_a, b=q_b, c=q_c)
    tiles_m = tl.cdiv(length, ROWS * GROUPS)
    sizes = (tiles_m * heads * batches, tiles_m, batches, heads, kv_heads, length, near_heads)
    writers = (q_pipe.writer(), k_pipe.writer(), v_pipe.writer())
    fetching = (fetch, (*writers, q_desc, k_desc, v_desc, claims, *sizes, GROUPS, ROWS, CAUSAL, BLOCK_N, HEAD))
    rest = (out, lse, length, scale, stride_ob, stride_oh, stride_om, stride_lb, stride_lh, dtype)
    shape = (GROUPS, ROWS, CAUSAL, BLOCK_N, HEAD)
    a = (attend, (q_pipe.reader("a"), k_pipe.reader("a"), v_pipe.reader("a"), *rest, 0, *shape))
    if GROUPS == 1:
        tle.gpu.warp_specialize([a, fetching], [1], [40])
    else:
        b = (attend, (q_pipe.reader("b"), k_pipe.reader("b"), v_pipe.reader("b"), *rest, 1, *shape))
        if GROUPS == 2:
            tle.gpu.warp_specialize([a, b, fetching], [4, 1], [232, 40])
        else:
            c = (attend, (q_pipe.reader("c"), k_pipe.reader("c"), v_pipe.reader("c"), *rest, 2, *shape))
            tle.gpu.warp_specialize([a, b, c, fetching], [4, 4, 1], [160, 160, 32])


class Tile(NamedTuple):
    """Sizes of a CTA's work.

    Attributes:
        groups: Partitions, 1 to 3, each of which goes its own way; several have four warps each.
        rows: Queries of a partition, 64 for each four of its warps.
        block_n: Keys of a block.
        stages: Blocks of keys, and of values, that the rings hold.
        queries: Tiles of queries that are held.
        ctas: CTAs of a multiprocessor.
    """

    groups: int
    rows: int
    block_n: int
    stages: int
    queries: int
    ctas: int


TILES = {64: Tile(1, 64, 128, 2, 2, 2), 128: Tile(2, 64, 128, 2, 2, 1), 256: Tile(2, 64, 64, 2, 1, 1)}
CACHED_BYTES = 16 << 20  # of keys and values: half of what an H200's L2 cache keeps near


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
        scale: Of the scores; left out: one over the square root of head_dim.
        tile: Sizes of a CTA's work, others than those of `TILES`.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    layout = layout_of(q, k, None, None, None, None, v=v, out=out)
    if layout.length_q != layout.length_k or tuple(lse.shape) != layout.lse_shape:
        raise ValueError(
            f"q, k and lse must have one length, got {tuple(q.shape)}, {tuple(k.shape)} and {tuple(lse.shape)}"
        )
    tile = tile or TILES[layout.head_dim]
    tiles = -(-layout.length_q // (tile.rows * tile.groups)) * layout.heads * layout.batches
    steps = [step for name in ("q", "k", "v", "out") for step in layout.strides[name]]
    scale = layout.head_dim**-0.5 if scale is None else scale
    near_heads = max(1, CACHED_BYTES // (2 * layout.length_k * layout.head_dim * k.itemsize))
    attention_tle[(persistent_ctas(q, tiles, tile.ctas),)](
        q, k, v, out, lse, claims_for(q), layout.batches, layout.heads, layout.heads // layout.group, layout.length_q,
        near_heads, scale * LOG2_E, *steps, *lse_strides(lse), CAUSAL=causal, HEAD=layout.head_dim, GROUPS=tile.groups,
        ROWS=tile.rows, BLOCK_N=tile.block_n, STAGES=tile.stages, QUERIES=tile.queries, num_warps=tile.rows // 16,
    )  # fmt: skip
    return out
