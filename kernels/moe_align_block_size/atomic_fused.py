"""MoE Align Block Size in one cooperative kernel with three grid barriers: for any number of slots.

Phases: clear the outputs; count in shared memory, add to global counts; one CTA finds the starts; everyone
scatters.
"""

from __future__ import annotations

import tle2cuda
import tle2cuda.language as tl
from kernels.moe_align_block_size.parts import (
    count_up,
    fill_all,
    group_counters,
    load_groups,
    pad_to_blocks,
)
from tle2cuda.language import tle


@tle2cuda.jit(do_not_specialize=["numel", "sorted_capacity", "expert_capacity"])
def moe_align_atomic_fused(
    topk_ids,
    sorted_ids,
    expert_ids,
    num_post_pad,
    totals,  # [GROUP_TILE]
    starts,  # [GROUP_TILE]
    numel,
    sorted_capacity,
    expert_capacity,
    mesh: tl.constexpr,
    FIRST_EXPERT: tl.constexpr,
    NUM_GROUPS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    SLOT_TILE: tl.constexpr,
    GROUP_TILE: tl.constexpr,
):
    cta = tl.program_id(0)
    ctas = tl.num_programs(0)
    group = tl.arange(0, GROUP_TILE)
    count = group_counters(GROUP_TILE)  # this CTA's, then the rank of its next slot in each group
    start = group_counters(GROUP_TILE)

    fill_all(sorted_ids, numel, sorted_capacity, cta, ctas, SLOT_TILE)
    fill_all(expert_ids, 0, expert_capacity, cta, ctas, SLOT_TILE)
    if cta == 0:
        tl.store(totals + group, 0)
    tl.store(tle.gpu.local_ptr(count, (group,)), 0)
    tle.distributed_barrier(mesh)

    num_tiles = tl.cdiv(numel, SLOT_TILE)
    for tile in range(cta, num_tiles, ctas):
        slot = tile * SLOT_TILE + tl.arange(0, SLOT_TILE)
        slot_group, is_routed = load_groups(topk_ids, slot, numel, FIRST_EXPERT, NUM_GROUPS)
        count_up(count, slot_group, is_routed)
    mine = tl.load(tle.gpu.local_ptr(count, (group,)))
    before = tl.atomic_add(totals + group, mine, sem="acq_rel", scope="gpu")
    tl.store(tle.gpu.local_ptr(count, (group,)), before)
    tle.distributed_barrier(mesh)

    if cta == 0:
        padded = pad_to_blocks(tl.load(totals + group), BLOCK_SIZE)
        group_start, post_pad = tle.cumsum(padded, axis=0)
        tl.store(starts + group, group_start)
        tl.store(num_post_pad, post_pad)
    tle.distributed_barrier(mesh)

    tl.store(tle.gpu.local_ptr(start, (group,)), tl.load(starts + group))
    for one_group in range(cta, NUM_GROUPS, ctas):
        first_place = tl.load(starts + one_group)
        last_place = first_place + tl.load(totals + one_group)
        for place in range(first_place, last_place, BLOCK_SIZE):
            tl.store(expert_ids + place // BLOCK_SIZE, one_group + FIRST_EXPERT)

    for tile in range(cta, num_tiles, ctas):
        slot = tile * SLOT_TILE + tl.arange(0, SLOT_TILE)
        slot_group, is_routed = load_groups(topk_ids, slot, numel, FIRST_EXPERT, NUM_GROUPS)
        rank = count_up(count, slot_group, is_routed)
        first_place = tl.load(tle.gpu.local_ptr(start, (slot_group,)), mask=is_routed, other=0)
        tl.store(sorted_ids + first_place + rank, slot, mask=is_routed)
