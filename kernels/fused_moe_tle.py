"""A mixture of experts' feed-forward layer, as `fused_moe`, its products written out in TLE.

Tokens stand on the right side of both products, so that a block of as few as 16 suffices: rows of weights go to two
warpgroups, which share the tokens. The copy engine brings weights, which are most of what there is to read; four more
warps gather the tokens of the first product, a step ahead. CTAs stay, and their ring of tiles runs on from one block of
tokens to the next. Between the products rows lie in the order of MoE Align: the second finds them side by side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tle2cuda
import tle2cuda.language as tl
from kernels import fused_moe as plain
from kernels.fused_moe import Workspace
from kernels.matrices import element_strides, new_array, persistent_ctas
from tle2cuda.language import tle


@tle2cuda.jit
def tile_of(tile, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    """Block of tokens and block of columns: GROUP_M blocks of tokens at a time go through all columns."""
    first = tile // (GROUP_M * tiles_n) * GROUP_M
    blocks = tl.minimum(tiles_m - first, GROUP_M)
    return first + tile % (GROUP_M * tiles_n) % blocks, tile % (GROUP_M * tiles_n) // blocks


@tle2cuda.jit
def fetch_gate_up(
    writer, x, weights, sorted_ids, expert_ids, tiles_m, tiles_n, steps, num_slots, N, K, stride_xm,
    TOP_K: tl.constexpr, TOKENS: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """Rows of the gate and of the other half for either warpgroup, and the tokens that chose the expert."""
    turn, col = 0, tl.arange(0, BLOCK_K)[None, :]
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        m, n = tile_of(tile, tiles_m, tiles_n, GROUP_M)
        expert = tl.load(expert_ids + m)
        slots = tl.load(sorted_ids + m * TOKENS + tl.arange(0, TOKENS))
        is_real = (slots < num_slots)[:, None]
        places = x + (slots // TOP_K).to(tl.int64)[:, None] * stride_xm + col
        coming = tl.load(places, mask=is_real & (col < K), other=0.0)
        for step in range(steps):
            slot = writer.acquire(turn + step)
            k = step * BLOCK_K
            tle.gpu.copy(weights, slot.upper, [1, 64, BLOCK_K], [expert, n * 128, k])
            tle.gpu.copy(weights, slot.upper_up, [1, 64, BLOCK_K], [expert, N + n * 128, k])
            tle.gpu.copy(weights, slot.lower, [1, 64, BLOCK_K], [expert, n * 128 + 64, k])
            tle.gpu.copy(weights, slot.lower_up, [1, 64, BLOCK_K], [expert, N + n * 128 + 64, k])
            tl.store(tle.gpu.local_ptr(slot.x), coming)
            coming = tl.load(places + k + BLOCK_K, mask=is_real & (col + k + BLOCK_K < K), other=0.0)
            writer.commit(turn + step)
        turn += steps


@tle2cuda.jit
def fetch_down(
    writer, hidden, weights, expert_ids, tiles_m, tiles_n, steps,
    TOKENS: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """Rows of weights for either warpgroup, and what the first product has left."""
    turn = 0
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        m, n = tile_of(tile, tiles_m, tiles_n, GROUP_M)
        expert = tl.load(expert_ids + m)
        for step in range(steps):
            slot = writer.acquire(turn + step)
            tle.gpu.copy(weights, slot.upper, [1, 128, BLOCK_K], [expert, n * 256, step * BLOCK_K])
            tle.gpu.copy(weights, slot.lower, [1, 128, BLOCK_K], [expert, n * 256 + 128, step * BLOCK_K])
            tle.gpu.copy(hidden, slot.x, [TOKENS, BLOCK_K], [m * TOKENS, step * BLOCK_K])
            writer.commit(turn + step)
        turn += steps


@tle2cuda.jit
def product(reader, turn, steps, IS_GATED: tl.constexpr, IS_LOWER: tl.constexpr, TOKENS: tl.constexpr):
    """128 rows of weights times the tokens of a tile, or 64 of either half of them: products overlap by one step."""
    acc = tl.zeros((64 if IS_GATED else 128, TOKENS), tl.float32)
    up = acc
    for step in range(steps):
        slot = reader.wait(turn + step).slot
        acc = tle.gpu.wgmma(slot.lower if IS_LOWER else slot.upper, slot.x, acc, trans_b=True)
        if IS_GATED:
            up = tle.gpu.wgmma(slot.lower_up if IS_LOWER else slot.upper_up, slot.x, up, trans_b=True)
            acc, up = tle.gpu.wgmma_wait(2, acc), tle.gpu.wgmma_wait(2, up)
        else:
            acc = tle.gpu.wgmma_wait(1, acc)
        if step > 0:
            reader.release(turn + step - 1)
    acc = tle.gpu.wgmma_wait(0, acc)
    if IS_GATED:
        up = tle.gpu.wgmma_wait(0, up)
    reader.release(turn + steps - 1)
    return acc, up


@tle2cuda.jit
def gate_up_half(
    reader, hidden, tiles_m, tiles_n, steps, N, stride_hm, IS_LOWER: tl.constexpr, TOKENS: tl.constexpr,
    BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """hidden[row] = silu(gate @ x) * (up @ x) for 64 columns of each tile."""
    turn = 0
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        m, n = tile_of(tile, tiles_m, tiles_n, GROUP_M)
        gate, up = product(reader, turn, steps, True, IS_LOWER, TOKENS)
        turn += steps
        result = tl.trans((gate * tl.sigmoid(gate) * up).to(hidden.dtype.element_ty))
        rows, cols = m * TOKENS + tl.arange(0, TOKENS), n * 128 + (64 if IS_LOWER else 0) + tl.arange(0, 64)
        tl.store(hidden + rows.to(tl.int64)[:, None] * stride_hm + cols[None, :], result, mask=cols[None, :] < N)


@tle2cuda.jit
def down_half(
    reader, topk_weights, partial, sorted_ids, tiles_m, tiles_n, steps, num_slots, N, stride_pm,
    IS_LOWER: tl.constexpr, TOKENS: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """partial[slot] = topk_weights[slot] * (weights @ hidden[row]) for 128 columns of each tile."""
    turn = 0
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        m, n = tile_of(tile, tiles_m, tiles_n, GROUP_M)
        slots = tl.load(sorted_ids + m * TOKENS + tl.arange(0, TOKENS))
        is_real = slots < num_slots
        weight = tl.load(topk_weights + slots, mask=is_real, other=0.0)
        acc, _ = product(reader, turn, steps, False, IS_LOWER, TOKENS)
        turn += steps
        rows = partial + slots.to(tl.int64)[:, None] * stride_pm
        for part in tl.static_range(2):
            result = tle.extract_tile(acc, (part, 0), (64, TOKENS)) * weight[None, :]
            cols = n * 256 + (128 if IS_LOWER else 0) + part * 64 + tl.arange(0, 64)
            inside = is_real[:, None] & (cols < N)[None, :]
            tl.store(rows + cols[None, :], tl.trans(result.to(partial.dtype.element_ty)), mask=inside)


@tle2cuda.jit
def moe_gate_up_tle(
    x, weights, hidden, sorted_ids, expert_ids, num_post_pad, num_slots, experts, N, K, stride_xm, stride_we, stride_wn,
    stride_hm, TOP_K: tl.constexpr, TOKENS: tl.constexpr, BLOCK_K: tl.constexpr, STAGES: tl.constexpr,
    GROUP_M: tl.constexpr,
):  # fmt: skip
    """hidden[row] = silu(gate @ x[token]) * (up @ x[token]), rows in the order of `sorted_ids`; 128 columns a tile."""
    dtype: tl.constexpr = x.dtype.element_ty
    desc = tl.make_tensor_descriptor(weights, [experts, 2 * N, K], [stride_we, stride_wn, 1], [1, 64, BLOCK_K])
    upper = tle.gpu.alloc([STAGES, 64, BLOCK_K], dtype=dtype)
    upper_up = tle.gpu.alloc([STAGES, 64, BLOCK_K], dtype=dtype)
    lower = tle.gpu.alloc([STAGES, 64, BLOCK_K], dtype=dtype)
    lower_up = tle.gpu.alloc([STAGES, 64, BLOCK_K], dtype=dtype)
    x_ring = tle.gpu.alloc([STAGES, TOKENS, BLOCK_K], dtype=dtype)
    pipe = tle.pipe(
        capacity=STAGES, name="tiles", readers=("upper", "lower"), upper=upper, upper_up=upper_up, lower=lower,
        lower_up=lower_up, x=x_ring,
    )  # fmt: skip
    tiles = (tl.load(num_post_pad) // TOKENS, tl.cdiv(N, 128), tl.cdiv(K, BLOCK_K))
    ids, sizes = (sorted_ids, expert_ids), (TOKENS, BLOCK_K, GROUP_M)
    first, second = pipe.reader("upper"), pipe.reader("lower")
    tle.gpu.warp_specialize(
        [
            (gate_up_half, (first, hidden, *tiles, N, stride_hm, False, *sizes)),
            (gate_up_half, (second, hidden, *tiles, N, stride_hm, True, *sizes)),
            (fetch_gate_up, (pipe.writer(), x, desc, *ids, *tiles, num_slots, N, K, stride_xm, TOP_K, *sizes)),
        ],
        [4, 4],
        [192, 120],
    )


@tle2cuda.jit
def moe_down_tle(
    hidden, weights, topk_weights, partial, sorted_ids, expert_ids, num_post_pad, num_slots, experts, rows, N, K, stride_hm,
    stride_we, stride_wn, stride_pm, TOKENS: tl.constexpr, BLOCK_K: tl.constexpr, STAGES: tl.constexpr,
    GROUP_M: tl.constexpr,
):  # fmt: skip
    """partial[slot] = topk_weights[slot] * (weights[expert] @ hidden[row]); 256 columns a tile."""
    dtype: tl.constexpr = hidden.dtype.element_ty
    desc = tl.make_tensor_descriptor(weights, [experts, N, K], [stride_we, stride_wn, 1], [1, 128, BLOCK_K])
    hidden_desc = tl.make_tensor_descriptor(hidden, [rows, K], [stride_hm, 1], [TOKENS, BLOCK_K])
    upper = tle.gpu.alloc([STAGES, 128, BLOCK_K], dtype=dtype)
    lower = tle.gpu.alloc([STAGES, 128, BLOCK_K], dtype=dtype)
    x_ring = tle.gpu.alloc([STAGES, TOKENS, BLOCK_K], dtype=dtype)
    pipe = tle.pipe(capacity=STAGES, name="tiles", readers=("upper", "lower"), upper=upper, lower=lower, x=x_ring)
    tiles = (tl.load(num_post_pad) // TOKENS, tl.cdiv(N, 256), tl.cdiv(K, BLOCK_K))
    target, sizes = (topk_weights, partial, sorted_ids), (TOKENS, BLOCK_K, GROUP_M)
    first, second = pipe.reader("upper"), pipe.reader("lower")
    tle.gpu.warp_specialize(
        [
            (down_half, (first, *target, *tiles, num_slots, N, stride_pm, False, *sizes)),
            (down_half, (second, *target, *tiles, num_slots, N, stride_pm, True, *sizes)),
            (fetch_down, (pipe.writer(), hidden_desc, desc, expert_ids, *tiles, *sizes)),
        ],
        [4, 1],
        [232, 40],
    )


class Tile(NamedTuple):
    """Sizes of a CTA's work: 128 columns of the first product, 256 of the second.

    Attributes:
        tokens: Rows of a block, a power of two from 16 to 128.
        block_k: Step along the axis that is summed.
        stages: Stages of the ring.
        group_m: Blocks that go through all columns together.
    """

    tokens: int
    block_k: int
    stages: int
    group_m: int


# By slots per expert: at most so many, and what is used.
TILES: tuple[tuple[float, Tile], ...] = (
    (12, Tile(16, 64, 6, 8)),
    (24, Tile(32, 64, 6, 8)),
    (96, Tile(64, 64, 5, 8)),
    (float("inf"), Tile(128, 64, 4, 8)),
)
_NUM_WARPS = 4


def choose_tile(num_slots: int, num_experts: int) -> Tile:
    """The sizes for this many slots."""
    return next(tile for most, tile in TILES if num_slots <= most * num_experts)


def new_workspace(x: Any, w_gate_up: Any, top_k: int, tokens: int) -> Workspace:
    """A workspace for `fused_moe`, in the library of `x`; `tokens` are those of the tile."""
    workspace = plain.new_workspace(x, w_gate_up, top_k, tokens)
    rows = int(workspace.aligned[0].shape[0])
    return workspace._replace(hidden=new_array(x, (rows, w_gate_up.shape[1] // 2)))


def fused_moe(
    x: Any,
    w_gate_up: Any,
    w_down: Any,
    topk_weights: Any,
    topk_ids: Any,
    out: Any,
    *,
    tile: Tile | None = None,
    workspace: Workspace | None = None,
    ctas: int | None = None,
) -> Any:
    """Writes the layer's result to `out`, as `kernels.fused_moe.fused_moe` does.

    Args:
        x: Tokens, [T, H], 16-bit floats.
        w_gate_up: [E, 2 * I, H]: of each expert the gate's rows, then the others.
        w_down: [E, H, I]. Rows of all matrices begin at multiples of 16 bytes.
        topk_weights: float32 [T, K], the router's weights.
        topk_ids: int32 [T, K], the experts; a choice outside of [0, E) counts nothing.
        out: Result, [T, H].
        tile: Sizes of the CTAs' work, others than those of `TILES`.
        workspace: What `new_workspace` made for these sizes; left out: a new one.
        ctas: How many CTAs share the work of a product; left out: one for each multiprocessor.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    from kernels.moe_align_block_size import moe_align_block_size

    plain.check_shapes(x, w_gate_up, w_down, topk_weights, topk_ids, out)
    (tokens, size), (experts, twice, _), top_k = x.shape, w_gate_up.shape, int(topk_ids.shape[1])
    inner, slots = twice // 2, tokens * top_k
    if tokens == 0:
        return out
    tile = tile or choose_tile(slots, experts)
    aligned, hidden, partial = workspace or new_workspace(x, w_gate_up, top_k, tile.tokens)
    moe_align_block_size(topk_ids, tile.tokens, experts, out=aligned)
    most = min(int(aligned.expert_ids.shape[0]), slots)
    constants = {"TOKENS": tile.tokens, "BLOCK_K": tile.block_k, "STAGES": tile.stages, "GROUP_M": tile.group_m}
    grid = (persistent_ctas(x, most * -(-inner // 128), 1) if ctas is None else ctas,)
    moe_gate_up_tle[grid](
        x, w_gate_up, hidden, *aligned, slots, experts, inner, size, element_strides(x)[0], *element_strides(w_gate_up)[:2],
        element_strides(hidden)[0], TOP_K=top_k, **constants, num_warps=_NUM_WARPS,
    )  # fmt: skip
    grid = (persistent_ctas(x, most * -(-size // 256), 1) if ctas is None else ctas,)
    moe_down_tle[grid](
        hidden, w_down, topk_weights, partial, *aligned, slots, experts, hidden.shape[0], size, inner,
        element_strides(hidden)[0], *element_strides(w_down)[:2], element_strides(partial)[0], **constants,
        num_warps=_NUM_WARPS,
    )  # fmt: skip
    return plain.sum_choices(partial, topk_ids, out, experts)
