"""MoE Align Block Size by one CTA, for inputs that fit in its registers: nothing to agree on with anyone."""

from __future__ import annotations

import tle2cuda
import tle2cuda.language as tl
from kernels.moe_align_block_size.parts import (
    count_up,
    fill_all,
    group_counters,
    load_groups,
    pad_to_blocks,
    write_expert_ids,
    write_expert_runs,
)
from tle2cuda.language import tle


@tle2cuda.jit(do_not_specialize=["numel", "sorted_capacity", "expert_capacity"])
def moe_align_single_cta(
    topk_ids,
    sorted_ids,
    expert_ids,
    num_post_pad,
    numel,
    sorted_capacity,
    expert_capacity,
    FIRST_EXPERT: tl.constexpr,
    NUM_GROUPS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    SLOT_TILE: tl.constexpr,  # >= numel
    GROUP_TILE: tl.constexpr,
    SEARCH_STEPS: tl.constexpr,
    THREADS: tl.constexpr,
    RUNS: tl.constexpr,  # each group writes its blocks' experts; else each block searches for its own
):
    slot = tl.arange(0, SLOT_TILE)
    group = tl.arange(0, GROUP_TILE)
    count = group_counters(GROUP_TILE)
    start = group_counters(GROUP_TILE)

    # The sentinels are written while the ids are on their way.
    slot_group, is_routed = load_groups(topk_ids, slot, numel, FIRST_EXPERT, NUM_GROUPS)
    tl.store(tle.gpu.local_ptr(count, (group,)), 0)
    fill_all(sorted_ids, numel, sorted_capacity, 0, 1, 4 * THREADS)

    rank = count_up(count, slot_group, is_routed)
    tl.debug_barrier()  # also puts the sentinels below the slots

    total = tl.load(tle.gpu.local_ptr(count, (group,)))
    group_start, post_pad = tle.cumsum(pad_to_blocks(total, BLOCK_SIZE), axis=0)
    tl.store(tle.gpu.local_ptr(start, (group,)), group_start)
    if RUNS:
        write_expert_runs(
            expert_ids, group_start, total, post_pad, expert_capacity, 0, 1, FIRST_EXPERT, BLOCK_SIZE, GROUP_TILE, THREADS
        )

    first_place = tl.load(tle.gpu.local_ptr(start, (slot_group,)), mask=is_routed, other=0)
    tl.store(sorted_ids + (first_place + rank), slot, mask=is_routed)
    if not RUNS:
        write_expert_ids(
            expert_ids, start, post_pad, expert_capacity, 0, 1, FIRST_EXPERT, BLOCK_SIZE, SEARCH_STEPS, THREADS
        )
    tl.store(num_post_pad, post_pad)
