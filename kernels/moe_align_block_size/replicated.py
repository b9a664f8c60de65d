"""MoE Align Block Size by a few CTAs that never wait for each other.

Every CTA counts all the slots, so each knows where every group starts, and then writes only the groups that
are its own. While a thread's slots fit in a few registers, counting everything again costs less than a
barrier between CTAs.
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
    write_expert_runs,
    write_padding,
)
from tle2cuda.language import tle


@tle2cuda.jit(do_not_specialize=["numel", "sorted_capacity", "expert_capacity"])
def moe_align_replicated(
    topk_ids,
    sorted_ids,
    expert_ids,
    num_post_pad,
    numel,
    sorted_capacity,
    expert_capacity,
    FIRST_EXPERT: tl.constexpr,
    NUM_GROUPS: tl.constexpr,
    GROUPS_PER_CTA: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    SLOT_TILE: tl.constexpr,  # >= numel
    GROUP_TILE: tl.constexpr,
    SEARCH_STEPS: tl.constexpr,
    THREADS: tl.constexpr,
    CTAS: tl.constexpr,
    RUNS: tl.constexpr,  # each group writes its blocks' experts; else each block searches for its own
):
    cta = tl.program_id(0)
    slot = tl.arange(0, SLOT_TILE)
    group = tl.arange(0, GROUP_TILE)
    count = group_counters(GROUP_TILE)
    start = group_counters(GROUP_TILE)
    end = group_counters(GROUP_TILE)

    slot_group, is_routed = load_groups(topk_ids, slot, numel, FIRST_EXPERT, NUM_GROUPS)
    tl.store(tle.gpu.local_ptr(count, (group,)), 0)
    rank = count_up(count, slot_group, is_routed)

    total = tl.load(tle.gpu.local_ptr(count, (group,)))
    group_start, post_pad = tle.cumsum(pad_to_blocks(total, BLOCK_SIZE), axis=0)
    tl.store(tle.gpu.local_ptr(start, (group,)), group_start)
    tl.store(tle.gpu.local_ptr(end, (group,)), group_start + total)
    # What needs nothing of other threads comes before they meet.
    if RUNS:
        write_expert_runs(
            expert_ids,
            group_start,
            total,
            post_pad,
            expert_capacity,
            cta,
            CTAS,
            FIRST_EXPERT,
            BLOCK_SIZE,
            GROUP_TILE,
            THREADS,
        )
    fill_tail(sorted_ids, numel, post_pad, sorted_capacity, cta, CTAS, THREADS)

    # One CTA writes all slots of a group: their ranks differ from CTA to CTA.
    first_group = cta * GROUPS_PER_CTA
    last_group = tl.minimum(first_group + GROUPS_PER_CTA, NUM_GROUPS)
    is_mine = is_routed & (slot_group >= first_group) & (slot_group < last_group)
    first_place = tl.load(tle.gpu.local_ptr(start, (slot_group,)), mask=is_mine, other=0)
    tl.store(sorted_ids + (first_place + rank), slot, mask=is_mine)
    write_padding(sorted_ids, numel, end, first_group, last_group, 0, 1, BLOCK_SIZE, THREADS)
    if not RUNS:
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
    if cta == 0:
        tl.store(num_post_pad, post_pad)
