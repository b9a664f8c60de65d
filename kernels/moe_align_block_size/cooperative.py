"""MoE Align Block Size by a whole GPU whose CTAs keep their slots in registers and meet without a barrier.

Each CTA counts its share in shared memory and adds it to totals in global memory; the old totals are where
its own slots begin inside each group. A total also counts, above its sum, the CTAs that have added to it:
whoever reads it knows whether it is complete, and a grid barrier with its fence, its atomic and its polling
after that is not needed. Then every CTA scans the totals by itself.

The totals must be zero at the start, and no CTA can clear them at the end while others may be reading. So
there are two sets that take turns: a launch uses the one its epoch names and clears the other, which the
launch before it used.

All CTAs must be resident (a cooperative launch). A few dozen are the fastest: atomics on one total follow
one another, so that every further CTA makes all of them wait longer.
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

SUM_BITS = 22
"""Bits of a total that hold the sum of counts; the CTAs are counted above, below the sign."""
MAX_SLOTS = (1 << SUM_BITS) - 1
MAX_CTAS = (1 << (31 - SUM_BITS)) - 1


def cooperative_workspace_words(group_tile: int) -> int:
    """Ints of scratch, zeroed once: two sets of totals and the epoch."""
    return 2 * group_tile + 1


@tle2cuda.jit
def wait_for_all(totals, counted, has_group, complete):
    """Waits until all CTAs have added to the totals, which have `counted` so far, and returns these."""
    counted = tl.where(has_group, counted, complete)
    while tl.reduce_or(counted < complete, axis=0):
        counted = tl.load(totals, mask=counted < complete, other=counted, volatile=True)
    return counted


@tle2cuda.jit(do_not_specialize=["numel", "slots_per_cta", "sorted_capacity", "expert_capacity"])
def moe_align_cooperative(
    topk_ids,
    sorted_ids,
    expert_ids,
    num_post_pad,
    workspace,
    numel,
    slots_per_cta,  # a multiple of 32, <= SLOT_TILE; number of CTAs * slots_per_cta >= numel
    sorted_capacity,
    expert_capacity,
    FIRST_EXPERT: tl.constexpr,
    NUM_GROUPS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    SLOT_TILE: tl.constexpr,
    GROUP_TILE: tl.constexpr,
    SEARCH_STEPS: tl.constexpr,
    THREADS: tl.constexpr,
    CTAS: tl.constexpr,
    ONE_CTA: tl.constexpr,  # what a CTA adds to a total for having come; above any sum
):
    cta = tl.program_id(0)
    first_slot = cta * tl.multiple_of(slots_per_cta, 32)
    last_slot = tl.minimum(first_slot + slots_per_cta, numel)
    slot = first_slot + tl.arange(0, SLOT_TILE)
    group = tl.arange(0, GROUP_TILE)
    has_group = group < NUM_GROUPS
    count = group_counters(GROUP_TILE)
    base = group_counters(GROUP_TILE)  # place of this CTA's first slot of each group
    start = group_counters(GROUP_TILE)
    end = group_counters(GROUP_TILE)

    epoch_ptr = workspace + 2 * GROUP_TILE
    epoch = tl.load(epoch_ptr)
    slot_group, is_routed = load_groups(topk_ids, slot, last_slot, FIRST_EXPERT, NUM_GROUPS)
    tl.store(tle.gpu.local_ptr(count, (group,)), 0)
    rank = count_up(count, slot_group, is_routed)

    totals = workspace + (epoch & 1) * GROUP_TILE + group
    mine = tl.load(tle.gpu.local_ptr(count, (group,)))
    old = tl.atomic_add(totals, mine + ONE_CTA, mask=has_group, sem="relaxed", scope="gpu")
    if cta == 0:
        # All of them: a launch with more groups may have used it before, and may use it next.
        tl.store(workspace + (1 - (epoch & 1)) * GROUP_TILE + group, 0)
    counted = wait_for_all(totals, old + mine + ONE_CTA, has_group, CTAS * ONE_CTA)
    total = counted & (ONE_CTA - 1)
    before = old & (ONE_CTA - 1)  # from the CTAs that came before this one
    group_start, post_pad = tle.cumsum(pad_to_blocks(total, BLOCK_SIZE), axis=0)
    tl.store(tle.gpu.local_ptr(start, (group,)), group_start)
    tl.store(tle.gpu.local_ptr(base, (group,)), group_start + before)
    tl.store(tle.gpu.local_ptr(end, (group,)), group_start + total)
    fill_tail(sorted_ids, numel, post_pad, sorted_capacity, cta, CTAS, THREADS)  # needs nothing of other threads

    first_place = tl.load(tle.gpu.local_ptr(base, (slot_group,)), mask=is_routed, other=0)
    tl.store(sorted_ids + (first_place + rank), slot, mask=is_routed)
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
    if cta == 0:
        tl.store(num_post_pad, post_pad)
        tl.store(epoch_ptr, epoch + 1)  # every CTA read it before it added to the totals
