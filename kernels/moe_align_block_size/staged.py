"""MoE Align Block Size in several kernels: the four-kernel baseline, and three with shared-memory atomics.

Both cut the slots into one contiguous share per program and keep a table `counts[program, group]`, rows of
GROUP_TILE.
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

# ---- Four kernels: count, offsets within a group, starts of the groups, scatter ----


@tle2cuda.jit(do_not_specialize=["numel", "sorted_capacity", "expert_capacity"])
def moe_align_count(
    topk_ids,
    sorted_ids,
    expert_ids,
    counts,
    numel,
    sorted_capacity,
    expert_capacity,
    FIRST_EXPERT: tl.constexpr,
    NUM_GROUPS: tl.constexpr,
    SLOT_TILE: tl.constexpr,  # one program's share of the slots
    GROUP_TILE: tl.constexpr,
    FILL_TILE: tl.constexpr,
):
    """Clears the outputs, and counts each program's share of the slots by group."""
    program = tl.program_id(0)
    programs = tl.num_programs(0)
    fill_all(sorted_ids, numel, sorted_capacity, program, programs, FILL_TILE)
    fill_all(expert_ids, 0, expert_capacity, program, programs, FILL_TILE)

    slot = program * SLOT_TILE + tl.arange(0, SLOT_TILE)
    slot_group, is_routed = load_groups(topk_ids, slot, numel, FIRST_EXPERT, NUM_GROUPS)
    count = tl.histogram(slot_group, GROUP_TILE, mask=is_routed)
    tl.store(counts + program * GROUP_TILE + tl.arange(0, GROUP_TILE), count)


@tle2cuda.jit
def moe_align_offsets(
    counts,
    totals,
    GROUP_TILE: tl.constexpr,
    PROGRAM_TILE: tl.constexpr,  # rows of `counts`
):
    """Program g turns column g of the counts into offsets and leaves the group's total."""
    group = tl.program_id(0)
    cell = counts + tl.arange(0, PROGRAM_TILE) * GROUP_TILE + group
    count = tl.load(cell)
    inclusive = tl.cumsum(count, axis=0)
    tl.store(cell, inclusive - count)
    tl.store(totals + group, tl.sum(count, axis=0))


@tle2cuda.jit
def moe_align_starts(
    totals,
    starts,  # [GROUP_TILE + 1]; the places of group g end where group g + 1 starts
    num_post_pad,
    NUM_GROUPS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    GROUP_TILE: tl.constexpr,
    CLEAR_TOTALS: tl.constexpr,  # leave the totals zero for the next run
):
    """Finds every group's first place, by one program."""
    group = tl.arange(0, GROUP_TILE)
    total = tl.load(totals + group, mask=group < NUM_GROUPS, other=0)
    padded = pad_to_blocks(total, BLOCK_SIZE)
    post_pad = tl.sum(padded, axis=0)
    tl.store(starts + group, tl.cumsum(padded, axis=0) - padded)
    tl.store(starts + GROUP_TILE, post_pad)
    tl.store(num_post_pad, post_pad)
    if CLEAR_TOTALS:
        tl.store(totals + group, 0)


@tle2cuda.jit
def name_blocks(
    expert_ids,
    starts,
    program,
    programs,
    FIRST_EXPERT: tl.constexpr,
    NUM_GROUPS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    """Writes the expert of every block, group by group."""
    for group in range(program, NUM_GROUPS, programs):
        for place in range(tl.load(starts + group), tl.load(starts + group + 1), BLOCK_SIZE):
            tl.store(expert_ids + place // BLOCK_SIZE, group + FIRST_EXPERT)


@tle2cuda.jit(do_not_specialize=["numel"])
def moe_align_scatter(
    topk_ids,
    sorted_ids,
    expert_ids,
    counts,
    starts,
    numel,
    FIRST_EXPERT: tl.constexpr,
    NUM_GROUPS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    SLOT_TILE: tl.constexpr,
    GROUP_TILE: tl.constexpr,
):
    """Every slot takes the next place of its group from the program's row of offsets in global memory."""
    program = tl.program_id(0)
    name_blocks(expert_ids, starts, program, tl.num_programs(0), FIRST_EXPERT, NUM_GROUPS, BLOCK_SIZE)
    slot = program * SLOT_TILE + tl.arange(0, SLOT_TILE)
    slot_group, is_routed = load_groups(topk_ids, slot, numel, FIRST_EXPERT, NUM_GROUPS)
    row = counts + program * GROUP_TILE
    rank = tl.atomic_add(row + slot_group, 1, mask=is_routed, sem="relaxed", scope="cta")
    first_place = tl.load(starts + slot_group, mask=is_routed, other=0)
    tl.store(sorted_ids + first_place + rank, slot, mask=is_routed)


# ---- Three kernels: counting with atomics gives the offsets at once ----


@tle2cuda.jit(do_not_specialize=["numel", "sorted_capacity", "expert_capacity"])
def moe_align_count_atomic(
    topk_ids,
    sorted_ids,
    expert_ids,
    counts,
    totals,  # zero at the start
    numel,
    sorted_capacity,
    expert_capacity,
    FIRST_EXPERT: tl.constexpr,
    NUM_GROUPS: tl.constexpr,
    SLOT_TILE: tl.constexpr,
    GROUP_TILE: tl.constexpr,
    FILL_TILE: tl.constexpr,
):
    """Clears the outputs, counts in shared memory, adds to the totals: their old values are the offsets."""
    program = tl.program_id(0)
    programs = tl.num_programs(0)
    group = tl.arange(0, GROUP_TILE)
    count = group_counters(GROUP_TILE)
    tl.store(tle.gpu.local_ptr(count, (group,)), 0)
    fill_all(sorted_ids, numel, sorted_capacity, program, programs, FILL_TILE)
    fill_all(expert_ids, 0, expert_capacity, program, programs, FILL_TILE)

    slot = program * SLOT_TILE + tl.arange(0, SLOT_TILE)
    slot_group, is_routed = load_groups(topk_ids, slot, numel, FIRST_EXPERT, NUM_GROUPS)
    count_up(count, slot_group, is_routed)
    mine = tl.load(tle.gpu.local_ptr(count, (group,)))
    offset = tl.atomic_add(totals + group, mine, sem="relaxed", scope="gpu")
    tl.store(counts + program * GROUP_TILE + group, offset)


@tle2cuda.jit(do_not_specialize=["numel"])
def moe_align_scatter_atomic_smem(
    topk_ids,
    sorted_ids,
    expert_ids,
    counts,
    starts,
    numel,
    FIRST_EXPERT: tl.constexpr,
    NUM_GROUPS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    SLOT_TILE: tl.constexpr,
    GROUP_TILE: tl.constexpr,
):
    """Every slot takes the next place of its group from the program's row of offsets in shared memory."""
    program = tl.program_id(0)
    next_rank = group_counters(GROUP_TILE)
    row = counts + program * GROUP_TILE + tl.arange(0, GROUP_TILE)
    tle.gpu.copy(row, next_rank, [NUM_GROUPS])
    name_blocks(expert_ids, starts, program, tl.num_programs(0), FIRST_EXPERT, NUM_GROUPS, BLOCK_SIZE)
    slot = program * SLOT_TILE + tl.arange(0, SLOT_TILE)
    slot_group, is_routed = load_groups(topk_ids, slot, numel, FIRST_EXPERT, NUM_GROUPS)
    rank = count_up(next_rank, slot_group, is_routed)
    first_place = tl.load(starts + slot_group, mask=is_routed, other=0)
    tl.store(sorted_ids + first_place + rank, slot, mask=is_routed)
