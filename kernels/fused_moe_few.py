"""A mixture of experts' layer for very few tokens: one launch, whose time is that of reading the chosen experts' weights.

Each (token, choice) is taken by itself, so nothing is sorted. One warp of each CTA asks the copy engine for weights without
a pause: those of both halves of the first product, then those of the second, for which it needs not to know the first one's
results. The others multiply what arrives, meet all CTAs once in between, and add up a token's choices in registers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import element_strides, has_tensor_copies, persistent_ctas
from kernels.moe_align_block_size.arrays import has_clusters, stream_of
from kernels.persistent_rows import claims_for
from tle2cuda.language import tle


@tle2cuda.jit
def fetch_weights(
    writer, gate_up, down, topk_ids, tokens, num_experts, SIZE, INNER,
    TOP_K: tl.constexpr, ROWS: tl.constexpr, PANELS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Asks for all weights that this CTA multiplies, a ring ahead of those who do: two times ROWS rows in each stage."""
    COLS: tl.constexpr = PANELS * WIDTH
    place = writer.cursor(0)
    tiles = INNER // ROWS
    for task in range(tl.program_id(0), tokens * TOP_K * tiles, tl.num_programs(0)):
        expert = tl.load(topk_ids + task // tiles)
        if (expert >= 0) & (expert < num_experts):
            row = expert * 2 * INNER + task % tiles * ROWS
            for step in range(tl.cdiv(SIZE, COLS)):
                slot = writer.acquire(place)
                tle.gpu.copy(gate_up, slot.first, [ROWS, PANELS, WIDTH], [row, step * PANELS, 0])
                tle.gpu.copy(gate_up, slot.second, [ROWS, PANELS, WIDTH], [row + INNER, step * PANELS, 0])
                writer.commit(place)
                place = place.advance()
    tiles = SIZE // (2 * ROWS)
    for task in range(tl.num_programs(0) - 1 - tl.program_id(0), tokens * tiles, tl.num_programs(0)):
        for choice in range(TOP_K):
            expert = tl.load(topk_ids + task // tiles * TOP_K + choice)
            if (expert >= 0) & (expert < num_experts):
                row = expert * SIZE + task % tiles * (2 * ROWS)
                for step in range(tl.cdiv(INNER, COLS)):
                    slot = writer.acquire(place)
                    tle.gpu.copy(down, slot.first, [ROWS, PANELS, WIDTH], [row, step * PANELS, 0])
                    tle.gpu.copy(down, slot.second, [ROWS, PANELS, WIDTH], [row + ROWS, step * PANELS, 0])
                    writer.commit(place)
                    place = place.advance()


@tle2cuda.jit
def sums_of_rows(products, ROWS: tl.constexpr, PANELS: tl.constexpr, WIDTH: tl.constexpr):
    return tl.sum(tl.reshape(products, [ROWS, PANELS * WIDTH]), 1)


@tle2cuda.jit
def wait_for_all(counters):
    """All CTAs have come here, and what they wrote before can be read; `counters` are zero again behind the last one."""
    ctas = tl.num_programs(0)
    tl.debug_barrier()  # the count tells others of what all threads have stored
    tl.atomic_add(counters, 1, sem="release")
    while tl.atomic_add(counters, 0, sem="acquire") < ctas:
        pass
    tl.debug_barrier()
    if tl.atomic_add(counters + 1, 1, sem="acq_rel") == ctas - 1:
        tl.atomic_xchg(counters, 0, sem="relaxed")
        tl.atomic_xchg(counters + 1, 0, sem="relaxed")


@tle2cuda.jit
def multiply_weights(
    reader, x, hidden, out, topk_weights, topk_ids, counters, tokens, num_experts, SIZE, INNER, stride_xm, stride_om,
    TOP_K: tl.constexpr, ROWS: tl.constexpr, PANELS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    COLS: tl.constexpr = PANELS * WIDTH
    cols = tl.arange(0, PANELS)[None, :, None] * WIDTH + tl.arange(0, WIDTH)[None, None, :]
    row = tl.arange(0, ROWS)
    place = reader.cursor(0)
    tiles = INNER // ROWS
    for task in range(tl.program_id(0), tokens * TOP_K * tiles, tl.num_programs(0)):
        choice = task // tiles
        expert = tl.load(topk_ids + choice)
        if (expert >= 0) & (expert < num_experts):
            source = x + (choice // TOP_K).to(tl.int64) * stride_xm
            gate = tl.zeros([ROWS, PANELS, WIDTH], tl.float32)
            up = tl.zeros([ROWS, PANELS, WIDTH], tl.float32)
            for step in range(tl.cdiv(SIZE, COLS)):
                col = step * COLS + cols
                value = tl.load(source + col, mask=col < SIZE, other=0.0).to(tl.float32)
                slot = reader.wait(place).slot
                gate += tl.load(tle.gpu.local_ptr(slot.first)).to(tl.float32) * value
                up += tl.load(tle.gpu.local_ptr(slot.second)).to(tl.float32) * value
                reader.release(place)
                place = place.advance()
            gates = sums_of_rows(gate, ROWS, PANELS, WIDTH)
            result = gates * tl.sigmoid(gates) * sums_of_rows(up, ROWS, PANELS, WIDTH)
            target = hidden + choice.to(tl.int64) * INNER + task % tiles * ROWS + row
            tl.store(target, result.to(hidden.dtype.element_ty))
    wait_for_all(counters)
    tiles, steps = SIZE // (2 * ROWS), tl.cdiv(INNER, COLS)
    for task in range(tl.num_programs(0) - 1 - tl.program_id(0), tokens * tiles, tl.num_programs(0)):
        token = task // tiles
        first = tl.zeros([ROWS, PANELS, WIDTH], tl.float32)
        second = tl.zeros([ROWS, PANELS, WIDTH], tl.float32)
        source = hidden + token.to(tl.int64) * TOP_K * INNER
        ahead = tl.load(source + cols, mask=cols < INNER, other=0.0)
        for turn in range(TOP_K * steps):
            choice = token * TOP_K + turn // steps
            value = ahead.to(tl.float32) * tl.load(topk_weights + choice)
            # What the next turn multiplies is under way in this one.
            col = (turn + 1) % steps * COLS + cols
            is_there = (col < INNER) & (turn + 1 < TOP_K * steps)
            ahead = tl.load(source + (turn + 1) // steps * INNER + col, mask=is_there, other=0.0)
            expert = tl.load(topk_ids + choice)
            if (expert >= 0) & (expert < num_experts):
                slot = reader.wait(place).slot
                first += tl.load(tle.gpu.local_ptr(slot.first)).to(tl.float32) * value
                second += tl.load(tle.gpu.local_ptr(slot.second)).to(tl.float32) * value
                reader.release(place)
                place = place.advance()
        target = out + token.to(tl.int64) * stride_om + task % tiles * (2 * ROWS) + row
        tl.store(target, sums_of_rows(first, ROWS, PANELS, WIDTH).to(out.dtype.element_ty))
        tl.store(target + ROWS, sums_of_rows(second, ROWS, PANELS, WIDTH).to(out.dtype.element_ty))


@tle2cuda.jit
def moe_few_tokens(
    x, w_gate_up, w_down, topk_weights, topk_ids, hidden, out, counters, tokens, num_experts, SIZE, INNER, stride_xm,
    stride_om, TOP_K: tl.constexpr, ROWS: tl.constexpr, PANELS: tl.constexpr, WIDTH: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """out[token]: the layer's result; hidden[token * TOP_K + choice] holds what is between the products."""
    dtype: tl.constexpr = w_gate_up.dtype.element_ty
    box: tl.constexpr = [ROWS, PANELS, WIDTH]
    # The engine's boxes are at most 256 elements wide, so that rows are described as panels.
    gate_up = tl.make_tensor_descriptor(w_gate_up, [num_experts * 2 * INNER, SIZE // WIDTH, WIDTH], [SIZE, WIDTH, 1], box)
    down = tl.make_tensor_descriptor(w_down, [num_experts * SIZE, INNER // WIDTH, WIDTH], [INNER, WIDTH, 1], box)
    first = tle.gpu.alloc([STAGES, ROWS, PANELS, WIDTH], dtype=dtype, nv_mma_shared_layout=False)
    second = tle.gpu.alloc([STAGES, ROWS, PANELS, WIDTH], dtype=dtype, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=STAGES, name="weights", first=first, second=second)
    sizes = (tokens, num_experts, SIZE, INNER)
    shape = (TOP_K, ROWS, PANELS, WIDTH)
    tle.gpu.warp_specialize(
        [
            (
                multiply_weights,
                (pipe.reader(), x, hidden, out, topk_weights, topk_ids, counters, *sizes, stride_xm, stride_om, *shape),
            ),
            (fetch_weights, (pipe.writer(), gate_up, down, topk_ids, *sizes, *shape)),
        ],
        [1],
    )


class Tile(NamedTuple):
    """Sizes of a CTA's work: two tiles of `rows` rows of weights and `panels` times WIDTH columns are a stage."""

    rows: int
    panels: int
    stages: int
    num_warps: int


WIDTH = 128
TILE = Tile(8, 16, 3, 8)


def takes_few_tokens(x: Any, w_gate_up: Any, w_down: Any, topk_ids: Any) -> bool:
    """Whether `fused_moe_few` is the faster way: one token, whose choices all read other weights.

    It takes sm_90, 16-bit weights without gaps, and whole panels of both inner sizes. From two tokens on a few more weights
    are read, and two products are level on an H200.
    """
    _, size, inner = w_down.shape
    fits = inner % WIDTH == 0 and size % WIDTH == 0 and topk_ids.shape[0] == 1
    whole = all(
        element_strides(w) == (w.shape[1] * w.shape[2], w.shape[2], 1) and w.itemsize == 2 for w in (w_gate_up, w_down)
    )
    return fits and whole and has_tensor_copies(w_gate_up[0], w_down[0]) and has_clusters(*stream_of(x)[:2])


def fused_moe_few(
    x: Any, w_gate_up: Any, w_down: Any, topk_weights: Any, topk_ids: Any, hidden: Any, out: Any, *, counters: Any = None,
    tile: Tile = TILE, ctas: int | None = None,
) -> Any:  # fmt: skip
    """Writes the layer's result to `out`; arguments as those of `fused_moe`, for which `takes_few_tokens` holds.

    Args:
        x: Tokens, [T, H].
        w_gate_up: [E, 2 * I, H].
        w_down: [E, H, I].
        topk_weights: float32 [T, K].
        topk_ids: int32 [T, K].
        hidden: [T * K, I], without gaps: what lies between the products.
        out: Result, [T, H].
        counters: int32 [2], zero before and after each launch, of no other launch at the same time; left out: those of
            the current stream.
        tile: Sizes of a CTA's work.
        ctas: How many CTAs share the work, at most as many as are resident; left out: one for each multiprocessor.
    """
    (tokens, top_k), (experts, size, inner) = topk_ids.shape, w_down.shape
    work = int(tokens) * max(int(top_k) * inner // tile.rows, size // (2 * tile.rows))
    counters = claims_for(x) if counters is None else counters
    grid = (ctas or persistent_ctas(x, work, 1),)
    moe_few_tokens[grid](
        x, w_gate_up, w_down, topk_weights, topk_ids, hidden, out, counters, tokens, experts, size, inner,
        element_strides(x)[0], element_strides(out)[0], TOP_K=top_k, ROWS=tile.rows, PANELS=tile.panels, WIDTH=WIDTH,
        STAGES=tile.stages, num_warps=tile.num_warps, launch_cooperative_grid=True,
    )  # fmt: skip
    return out
