"""A mixture of experts' feed-forward layer: each token passes through the experts that a router chose for it.

    out[t] = sum over k of weight[t, k] * down[e] @ (silu(gate[e] @ x[t]) * (up[e] @ x[t])),   e = ids[t, k]

MoE Align sorts the (token, choice) slots by expert and pads each expert's run to whole blocks of rows. Then one product
gathers rows of x and leaves silu(gate) * up, one multiplies that by the experts' second matrices and the router's weights,
and a sum over the choices ends it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import are_rows_dense, element_strides, new_array, power_of_two


@tle2cuda.jit
def block_and_columns(tiles_m, N, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """Which block of rows and which columns a program has; GROUP_M blocks at a time share an expert's columns."""
    pid = tl.program_id(0)
    tiles_n = tl.cdiv(N, BLOCK_N)
    first_m = pid // (GROUP_M * tiles_n) * GROUP_M
    group_m = tl.minimum(tiles_m - first_m, GROUP_M)
    return first_m + pid % (GROUP_M * tiles_n) % group_m, pid % (GROUP_M * tiles_n) // group_m


@tle2cuda.jit
def product_of_rows(x_ptrs, is_real, weight_ptrs, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """[BLOCK_M, BLOCK_N]: rows times rows of weights, both given by pointers to their first BLOCK_K elements."""
    k = tl.arange(0, BLOCK_K)
    # Few rows go to the right side of the product: on the left tensor cores take no less than 64 at a time.
    turned: tl.constexpr = BLOCK_M < 64
    acc = tl.zeros([BLOCK_N, BLOCK_M] if turned else [BLOCK_M, BLOCK_N], tl.float32)
    for first in range(0, K, BLOCK_K):
        left = K - first
        x_tile = tl.load(x_ptrs, mask=is_real[:, None] & (k[None, :] < left), other=0.0)
        weight_tile = tl.load(weight_ptrs, mask=k[None, :] < left, other=0.0)
        if turned:
            acc = tl.dot(weight_tile, tl.trans(x_tile), acc)
        else:
            acc = tl.dot(x_tile, tl.trans(weight_tile), acc)
        x_ptrs += BLOCK_K
        weight_ptrs += BLOCK_K
    return tl.trans(acc) if turned else acc


@tle2cuda.jit
def moe_gate_up(
    x,
    weights,
    hidden,
    sorted_ids,
    expert_ids,
    num_post_pad,
    num_slots,
    N,
    K,
    stride_xm,
    stride_we,
    stride_wn,
    stride_hm,
    TOP_K: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """hidden[slot] = silu(gate @ x[token]) * (up @ x[token]); gate and up are the halves of `weights[expert]`."""
    tiles_m = tl.load(num_post_pad) // BLOCK_M
    if tl.program_id(0) >= tiles_m * tl.cdiv(N, BLOCK_N):
        return
    pid_m, pid_n = block_and_columns(tiles_m, N, BLOCK_N, GROUP_M)
    slots = tl.load(sorted_ids + pid_m * BLOCK_M + tl.arange(0, BLOCK_M))
    expert = tl.load(expert_ids + pid_m).to(tl.int64)
    is_real = slots < num_slots
    k, both = tl.arange(0, BLOCK_K), tl.arange(0, 2 * BLOCK_N)
    # One tile holds rows of the gate, then those of the other half; rows beyond the last one repeat it.
    rows = tl.minimum(pid_n * BLOCK_N + both % BLOCK_N, N - 1) + both // BLOCK_N * N
    x_ptrs = x + (slots // TOP_K).to(tl.int64)[:, None] * stride_xm + k[None, :]
    weight_ptrs = weights + expert * stride_we + rows.to(tl.int64)[:, None] * stride_wn + k[None, :]
    acc = product_of_rows(x_ptrs, is_real, weight_ptrs, K, BLOCK_M, 2 * BLOCK_N, BLOCK_K)
    gate, up = tl.split(tl.permute(tl.reshape(acc, [BLOCK_M, 2, BLOCK_N]), (0, 2, 1)))
    result = gate * tl.sigmoid(gate) * up
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    hidden_ptrs = hidden + slots.to(tl.int64)[:, None] * stride_hm + cols[None, :]
    tl.store(hidden_ptrs, result.to(hidden.dtype.element_ty), mask=is_real[:, None] & (cols[None, :] < N))


@tle2cuda.jit
def moe_down(
    hidden,
    weights,
    topk_weights,
    partial,
    sorted_ids,
    expert_ids,
    num_post_pad,
    num_slots,
    N,
    K,
    stride_hm,
    stride_we,
    stride_wn,
    stride_pm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """partial[slot] = topk_weights[slot] * (weights[expert] @ hidden[slot])."""
    tiles_m = tl.load(num_post_pad) // BLOCK_M
    if tl.program_id(0) >= tiles_m * tl.cdiv(N, BLOCK_N):
        return
    pid_m, pid_n = block_and_columns(tiles_m, N, BLOCK_N, GROUP_M)
    slots = tl.load(sorted_ids + pid_m * BLOCK_M + tl.arange(0, BLOCK_M))
    expert = tl.load(expert_ids + pid_m).to(tl.int64)
    is_real = slots < num_slots
    cols, k = pid_n * BLOCK_N + tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    inner = tl.minimum(cols, N - 1)
    hidden_ptrs = hidden + slots.to(tl.int64)[:, None] * stride_hm + k[None, :]
    weight_ptrs = weights + expert * stride_we + inner.to(tl.int64)[:, None] * stride_wn + k[None, :]
    acc = product_of_rows(hidden_ptrs, is_real, weight_ptrs, K, BLOCK_M, BLOCK_N, BLOCK_K)
    acc *= tl.load(topk_weights + slots, mask=is_real, other=0.0)[:, None]
    partial_ptrs = partial + slots.to(tl.int64)[:, None] * stride_pm + cols[None, :]
    tl.store(partial_ptrs, acc.to(partial.dtype.element_ty), mask=is_real[:, None] & (cols[None, :] < N))


@tle2cuda.jit
def moe_sum(
    partial,
    topk_ids,
    out,
    num_experts,
    N,
    stride_pm,
    stride_om,
    TOP_K: tl.constexpr,
    CHOICES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """out[token]: the sum of `partial` over the token's choices that are experts."""
    token = tl.program_id(0).to(tl.int64)
    choice, col = tl.arange(0, CHOICES), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    expert = tl.load(topk_ids + token * TOP_K + choice, mask=choice < TOP_K, other=-1)
    is_one = (expert >= 0) & (expert < num_experts)
    places = (token * TOP_K + choice)[:, None] * stride_pm + col[None, :]
    terms = tl.load(partial + places, mask=is_one[:, None] & (col[None, :] < N), other=0.0)
    total = tl.sum(terms.to(tl.float32), 0)
    tl.store(out + token * stride_om + col, total.to(out.dtype.element_ty), mask=col < N)


class Tile(NamedTuple):
    """Sizes of a CTA's work in one of the products."""

    block_n: int
    block_k: int
    group_m: int
    num_warps: int
    num_stages: int


class Tiles(NamedTuple):
    """Rows of a block, which both products share, and the rest."""

    block_m: int
    gate_up: Tile
    down: Tile


# By slots per expert: at most so many, and what is used. So few slots that most multiprocessors have one block or two are
# better off with two CTAs each.
FEW_SLOTS = 32
TILES_OF_FEW = Tiles(16, Tile(64, 128, 4, 4, 3), Tile(64, 128, 4, 4, 3))
TILES: tuple[tuple[float, Tiles], ...] = (
    (24, Tiles(16, Tile(64, 128, 4, 4, 4), Tile(64, 128, 4, 4, 4))),
    (96, Tiles(64, Tile(64, 64, 8, 4, 4), Tile(128, 64, 8, 4, 4))),
    (float("inf"), Tiles(128, Tile(128, 64, 8, 8, 3), Tile(128, 64, 8, 8, 3))),
)
_SUM_BLOCK = 1024


def choose_tiles(num_slots: int, num_experts: int) -> Tiles:
    """The sizes for this many slots."""
    if num_slots <= FEW_SLOTS:
        return TILES_OF_FEW
    return next(tiles for most, tiles in TILES if num_slots <= most * num_experts)


class Workspace(NamedTuple):
    """Arrays between the launches: what MoE Align writes, both products' results, and two counts that are zero."""

    aligned: Any
    hidden: Any
    partial: Any
    counters: Any


def new_workspace(x: Any, w_gate_up: Any, top_k: int, block_m: int) -> Workspace:
    """A workspace for `fused_moe`, in the library of `x`."""
    from kernels.moe_align_block_size import AlignedBlocks, expert_capacity, sorted_capacity
    from kernels.moe_align_block_size.arrays import new_ints

    experts, twice, _ = w_gate_up.shape
    slots = int(x.shape[0]) * top_k
    capacities = (sorted_capacity(slots, block_m, experts), expert_capacity(slots, block_m, experts), 1)
    aligned = AlignedBlocks(*(new_ints(x, count) for count in capacities))
    counters = new_ints(x, 2, zero=True)
    return Workspace(aligned, new_array(x, (slots, twice // 2)), new_array(x, (slots, x.shape[1])), counters)


def fused_moe(
    x: Any,
    w_gate_up: Any,
    w_down: Any,
    topk_weights: Any,
    topk_ids: Any,
    out: Any,
    *,
    tiles: Tiles | None = None,
    workspace: Workspace | None = None,
) -> Any:
    """Writes the layer's result to `out`.

    Args:
        x: Tokens, [T, H].
        w_gate_up: [E, 2 * I, H]: of each expert the gate's rows, then the others.
        w_down: [E, H, I].
        topk_weights: float32 [T, K], the router's weights.
        topk_ids: int32 [T, K], the experts; a choice outside of [0, E) counts nothing.
        out: Result, [T, H].
        tiles: Sizes of the CTAs' work in the products behind MoE Align; left out: those of `TILES`, or for one token
            the single launch of `kernels.fused_moe_few`.
        workspace: What `new_workspace` made for these sizes; left out: a new one.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    from kernels.fused_moe_few import fused_moe_few, takes_few_tokens
    from kernels.moe_align_block_size import moe_align_block_size
    from kernels.moe_align_block_size.arrays import flatten_ids, in_rows

    (tokens, size), (experts, twice, _) = x.shape, w_gate_up.shape
    inner, top_k = twice // 2, int(topk_ids.shape[1])
    wanted = {"w_gate_up": (experts, 2 * inner, size), "w_down": (experts, size, inner), "out": (tokens, size)}
    for name, array in {"w_gate_up": w_gate_up, "w_down": w_down, "out": out}.items():
        if tuple(array.shape) != wanted[name]:
            raise ValueError(f"{name} must be {list(wanted[name])} for x {list(x.shape)}, got {list(array.shape)}")
        if not are_rows_dense(array, x):
            raise ValueError("the elements of a row must be neighbours")
    if tuple(topk_weights.shape) != tuple(topk_ids.shape) or topk_ids.shape[0] != tokens:
        raise ValueError(f"topk_ids and topk_weights must be [{tokens}, K]")
    if tokens == 0:
        return out
    slots = tokens * top_k
    ids, router = flatten_ids(topk_ids), in_rows(topk_weights)
    if tiles is None and takes_few_tokens(x, w_gate_up, w_down, topk_ids):
        hidden = new_array(x, (slots, inner)) if workspace is None else workspace.hidden
        counters = None if workspace is None else workspace.counters
        choices = ids.reshape(tokens, top_k)
        return fused_moe_few(x, w_gate_up, w_down, router, choices, hidden, out, counters=counters)
    tiles = tiles or choose_tiles(slots, experts)
    aligned, hidden, partial, _ = workspace or new_workspace(x, w_gate_up, top_k, tiles.block_m)
    moe_align_block_size(ids, tiles.block_m, experts, out=aligned)
    blocks = min(int(aligned.expert_ids.shape[0]), slots)

    n, k, group_m, warps, stages = tiles.gate_up
    moe_gate_up[(blocks * -(-inner // n),)](
        x, w_gate_up, hidden, *aligned, slots, inner, size, element_strides(x)[0], *element_strides(w_gate_up)[:2],
        element_strides(hidden)[0], TOP_K=top_k, BLOCK_M=tiles.block_m, BLOCK_N=n, BLOCK_K=k, GROUP_M=group_m,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    n, k, group_m, warps, stages = tiles.down
    moe_down[(blocks * -(-size // n),)](
        hidden, w_down, router, partial, *aligned, slots, size, inner, element_strides(hidden)[0],
        *element_strides(w_down)[:2], element_strides(partial)[0], BLOCK_M=tiles.block_m, BLOCK_N=n, BLOCK_K=k,
        GROUP_M=group_m, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    block = min(_SUM_BLOCK, power_of_two(size))
    moe_sum[(tokens, -(-size // block))](
        partial, ids, out, experts, size, element_strides(partial)[0], element_strides(out)[0], TOP_K=top_k,
        CHOICES=power_of_two(top_k), BLOCK=block, num_warps=4,
    )  # fmt: skip
    return out


def fused_moe_reference(
    x: NDArray[Any], w_gate_up: NDArray[Any], w_down: NDArray[Any], topk_weights: NDArray[Any], topk_ids: NDArray[Any]
) -> NDArray[Any]:
    """The same in NumPy, in float64."""
    experts, inner = w_down.shape[0], w_down.shape[2]
    out = np.zeros(x.shape)
    for expert in range(experts):
        token, choice = np.nonzero(topk_ids == expert)
        both = x[token].astype(np.float64) @ w_gate_up[expert].astype(np.float64).T
        gate, up = both[:, :inner], both[:, inner:]
        result = gate / (1 + np.exp(-gate)) * up @ w_down[expert].astype(np.float64).T
        np.add.at(out, token, result * topk_weights[token, choice, None])
    return out
