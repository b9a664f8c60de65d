"""MoE Align Block Size for any number of slots and up to 8192 experts, by a whole GPU with one grid barrier.

The plan is that of the cooperative version, with loops in place of registers: over tiles of slots, which
are read again after the barrier, and over tiles of groups, with a running sum of their padded counts.
"""

from __future__ import annotations

import tle2cuda
import tle2cuda.language as tl
from kernels.moe_align_block_size.parts import (
    count_up,
    fill_tail,
    group_counters,
    load_groups,
    pad_to_blocks,
    write_expert_ids,
    write_padding,
)
from tle2cuda.language import tle


def wide_workspace_words(group_slots: int) -> int:
    """Ints of scratch, zeroed once: two sets of totals and the epoch."""
    return 2 * group_slots + 1


@tle2cuda.jit(do_not_specialize=["numel", "sorted_capacity", "expert_capacity"])
def moe_align_wide(
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
    SLOT_TILE: tl.constexpr,
    GROUP_TILE: tl.constexpr,
    GROUP_SLOTS: tl.constexpr,  # NUM_GROUPS rounded up to a power of two, at least GROUP_TILE
    SEARCH_STEPS: tl.constexpr,
    THREADS: tl.constexpr,
    CTAS: tl.constexpr,
):
    cta = tl.program_id(0)
    count = group_counters(GROUP_SLOTS)  # this CTA's, then its next place of each group
    start = group_counters(GROUP_SLOTS)
    end = group_counters(GROUP_SLOTS)

    epoch_ptr = workspace + 2 * GROUP_SLOTS
    epoch = tl.load(epoch_ptr)
    totals = workspace + (epoch & 1) * GROUP_SLOTS
    spare_totals = workspace + (1 - (epoch & 1)) * GROUP_SLOTS
    for first_group in range(0, GROUP_SLOTS, GROUP_TILE):
        group = first_group + tl.arange(0, GROUP_TILE)
        tl.store(tle.gpu.local_ptr(count, (group,)), 0)
        if cta == 0:
            tl.store(spare_totals + group, 0)

    num_tiles = tl.cdiv(numel, SLOT_TILE)
    for tile in range(cta, num_tiles, CTAS):
        slot = tile * SLOT_TILE + tl.arange(0, SLOT_TILE)
        slot_group, is_routed = load_groups(topk_ids, slot, numel, FIRST_EXPERT, NUM_GROUPS)
        count_up(count, slot_group, is_routed)

    for first_group in range(0, NUM_GROUPS, GROUP_TILE):
        group = first_group + tl.arange(0, GROUP_TILE)
        mine = tl.load(tle.gpu.local_ptr(count, (group,)))
        before = tl.atomic_add(totals + group, mine, mask=mine > 0, sem="relaxed", scope="gpu")
        tl.store(tle.gpu.local_ptr(count, (group,)), before, mask=mine > 0)
    tle.distributed_barrier(mesh)

    post_pad = 0
    for first_group in range(0, GROUP_SLOTS, GROUP_TILE):
        group = first_group + tl.arange(0, GROUP_TILE)
        total = tl.load(totals + group, cache_modifier=".cg")
        start_in_tile, tile_places = tle.cumsum(pad_to_blocks(total, BLOCK_SIZE), axis=0)
        group_start = post_pad + start_in_tile
        before = tl.load(tle.gpu.local_ptr(count, (group,)))
        tl.store(tle.gpu.local_ptr(count, (group,)), group_start + before)
        tl.store(tle.gpu.local_ptr(start, (group,)), group_start)
        tl.store(tle.gpu.local_ptr(end, (group,)), group_start + total)
        post_pad += tile_places

    for tile in range(cta, num_tiles, CTAS):
        slot = tile * SLOT_TILE + tl.arange(0, SLOT_TILE)
        slot_group, is_routed = load_groups(topk_ids, slot, numel, FIRST_EXPERT, NUM_GROUPS)
        place = count_up(count, slot_group, is_routed)
        tl.store(sorted_ids + place, slot, mask=is_routed)

    write_padding(sorted_ids, numel, end, 0, NUM_GROUPS, cta, CTAS, BLOCK_SIZE, THREADS)
    write_expert_ids(
        expert_ids,
        start,
        post_pad,
        expert_capacity,
        cta,
        CTAS,
        FIRST_EXPERT,
        BLOCK_SIZE,
        SEARCH_STEPS,
        THREADS,
    )
    fill_tail(sorted_ids, numel, post_pad, sorted_capacity, cta, CTAS, THREADS)
    if cta == 0:
        tl.store(num_post_pad, post_pad)
        tl.store(epoch_ptr, epoch + 1)  # every CTA read it before the barrier
