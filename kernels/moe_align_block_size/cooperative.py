"""MoE Align Block Size by a whole GPU whose CTAs keep their slots in registers and wait for each other once.

Each CTA counts its share in shared memory and adds it to totals in global memory; the old totals are where
its own slots begin inside each group. After one grid barrier every CTA reads and scans the totals by
itself.

The totals must be zero at the start, and no CTA can clear them at the end without a second barrier. So
there are two sets that take turns: a launch uses the one its epoch names and clears the other, which the
launch before it used.
"""

from __future__ import annotations

import tle2cuda
import tle2cuda.language as tl
from kernels.moe_align_block_size.parts import (
    count_up,
    fill_all,
    fill_tail,
    group_counters,
    load_groups,
    pad_to_blocks,
    write_expert_ids,
    write_padding,
)
from tle2cuda.language import tle


def cooperative_workspace_words(group_tile: int) -> int:
    """Ints of scratch, zeroed once: two sets of totals and the epoch."""
    return 2 * group_tile + 1


@tle2cuda.jit(do_not_specialize=["numel", "sorted_capacity", "expert_capacity"])
def moe_align_cooperative(
    topk_ids,
    sorted_ids,
    expert_ids,
    num_post_pad,
    workspace,
    numel,
    sorted_capacity,
    expert_capacity,
    mesh: tl.constexpr,
    FIRST_EXPERT: tl.constexpr,
    NUM_GROUPS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    SLOT_TILE: tl.constexpr,  # number of CTAs * SLOT_TILE >= numel
    GROUP_TILE: tl.constexpr,
    SEARCH_STEPS: tl.constexpr,
    THREADS: tl.constexpr,
    PREFILL: tl.constexpr,  # sentinels everywhere first, or only to the places that no slot takes
):
    cta = tl.program_id(0)
    ctas = tl.num_programs(0)
    slot = cta * SLOT_TILE + tl.arange(0, SLOT_TILE)
    group = tl.arange(0, GROUP_TILE)
    count = group_counters(GROUP_TILE)
    base = group_counters(GROUP_TILE)  # place of this CTA's first slot of each group
    start = group_counters(GROUP_TILE)
    end = group_counters(GROUP_TILE)

    epoch_ptr = workspace + 2 * GROUP_TILE
    epoch = tl.load(epoch_ptr)
    slot_group, is_routed = load_groups(topk_ids, slot, numel, FIRST_EXPERT, NUM_GROUPS)
    tl.store(tle.gpu.local_ptr(count, (group,)), 0)
    if PREFILL:
        fill_all(sorted_ids, numel, sorted_capacity, cta, ctas, 4 * THREADS)
    rank = count_up(count, slot_group, is_routed)

    totals = workspace + (epoch & 1) * GROUP_TILE + group
    mine = tl.load(tle.gpu.local_ptr(count, (group,)))
    before = tl.atomic_add(totals, mine, mask=mine > 0, sem="relaxed", scope="gpu")
    if cta == 0:
        tl.store(workspace + (1 - (epoch & 1)) * GROUP_TILE + group, 0)
    tle.distributed_barrier(mesh)

    total = tl.load(totals, cache_modifier=".cg")
    group_start, post_pad = tle.cumsum(pad_to_blocks(total, BLOCK_SIZE), axis=0)
    tl.store(tle.gpu.local_ptr(start, (group,)), group_start)
    tl.store(tle.gpu.local_ptr(base, (group,)), group_start + before)
    if not PREFILL:
        tl.store(tle.gpu.local_ptr(end, (group,)), group_start + total)

    first_place = tl.load(tle.gpu.local_ptr(base, (slot_group,)), mask=is_routed, other=0)
    tl.store(sorted_ids + first_place + rank, slot, mask=is_routed)
    write_expert_ids(
        expert_ids,
        start,
        post_pad,
        expert_capacity,
        cta,
        ctas,
        FIRST_EXPERT,
        BLOCK_SIZE,
        SEARCH_STEPS,
        THREADS,
    )
    if not PREFILL:
        write_padding(sorted_ids, numel, end, 0, NUM_GROUPS, cta, ctas, BLOCK_SIZE, THREADS)
        fill_tail(sorted_ids, numel, post_pad, sorted_capacity, cta, ctas, THREADS)
    if cta == 0:
        tl.store(num_post_pad, post_pad)
        tl.store(epoch_ptr, epoch + 1)  # every CTA read it before the barrier
