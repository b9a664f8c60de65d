"""Device functions that the MoE Align Block Size kernels share.

Words used in all of them:

    slot     an element of `topk_ids`; its number is what gets sorted
    group    the slots of one expert; group g is expert g + FIRST_EXPERT. FIRST_EXPERT is 0, or -1 when the
             filtered slots (id -1) make a group of their own
    place    an element of `sorted_ids`
    start    a group's first place, a multiple of BLOCK_SIZE;   end   the place after its last slot

Slots whose id is in no group are left out. Constants: NUM_GROUPS groups, tiles over the groups of
GROUP_TILE elements (a power of two >= NUM_GROUPS; at least one per thread, so that no thread holds a copy
of another's), and SEARCH_STEPS = ceil(log2(NUM_GROUPS)).
"""

from __future__ import annotations

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.language import tle


@tle2cuda.jit
def group_counters(SIZE: tl.constexpr):
    """Shared memory for one int per group."""
    return tle.gpu.alloc([SIZE], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)


@tle2cuda.jit
def pad_to_blocks(count, BLOCK_SIZE: tl.constexpr):
    """Rounds up to whole blocks. Divides without signs, which is an instruction where the block size is a power of two."""
    blocks = (count + (BLOCK_SIZE - 1)).to(tl.uint32) // BLOCK_SIZE
    return (blocks * BLOCK_SIZE).to(tl.int32)


@tle2cuda.jit
def load_groups(topk_ids, slot, numel, FIRST_EXPERT: tl.constexpr, NUM_GROUPS: tl.constexpr):
    """The group of each slot, and whether it has one: an id may be out of range, a slot past the end."""
    id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)
    group = id - FIRST_EXPERT
    is_routed = (group >= 0) & (group < NUM_GROUPS)
    return group.to(tl.int32), is_routed


@tle2cuda.jit
def count_up(counters, group, is_routed):
    """Counts each slot in shared memory, and returns how many of its group were counted before it."""
    return tl.atomic_add(tle.gpu.local_ptr(counters, (group,)), 1, mask=is_routed, sem="relaxed", scope="cta")


@tle2cuda.jit
def owner_of(place, start, SEARCH_STEPS: tl.constexpr):
    """The group whose places include `place` (below the padded total), by binary search.

    It is the last group that starts at or before `place`: an empty group starts where the next one does.
    """
    owner = tl.zeros_like(place)
    for step in range(SEARCH_STEPS):
        candidate = owner + (1 << (SEARCH_STEPS - 1 - step))
        owner = tl.where(tl.load(tle.gpu.local_ptr(start, (candidate,))) <= place, candidate, owner)
    return owner


@tle2cuda.jit
def in_turns(cta, CTAS: tl.constexpr, THREADS: tl.constexpr, LAST_FIRST: tl.constexpr = False):
    """Numbers for the THREADS elements of CTA `cta` of CTAS, which take turns by 32.

    Work for fewer elements than there are is shared by all CTAs, and neighbouring lanes still do neighbouring items. With
    LAST_FIRST it begins at each CTA's last elements: of two jobs the one goes to warps that the other leaves alone.

    What walks on from these numbers does so in a loop that each thread leaves when it is done (`tl.reduce_or`).
    """
    element = tl.arange(0, THREADS)
    turn = element >> 5
    if LAST_FIRST:
        turn = THREADS // 32 - 1 - turn
    return (turn * CTAS + cta) * 32 + (element & 31)


@tle2cuda.jit
def write_expert_ids(
    expert_ids,
    start,
    post_pad,
    expert_capacity,
    cta,
    CTAS: tl.constexpr,
    FIRST_EXPERT: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    SEARCH_STEPS: tl.constexpr,
    THREADS: tl.constexpr,
):
    """Writes the expert of every block, and 0 past those in use: for each block its group is searched."""
    num_blocks = post_pad // BLOCK_SIZE
    block = in_turns(cta, CTAS, THREADS)
    while tl.reduce_or(block < num_blocks, axis=0):
        owner = owner_of(block * BLOCK_SIZE, start, SEARCH_STEPS)
        tl.store(expert_ids + block, owner + FIRST_EXPERT, mask=block < num_blocks)
        block = tl.where(block < num_blocks, block + CTAS * THREADS, block)
    clear_blocks(expert_ids, block, expert_capacity, CTAS * THREADS)


@tle2cuda.jit
def write_expert_runs(
    expert_ids,
    group_start,
    total,
    post_pad,
    expert_capacity,
    cta,
    CTAS: tl.constexpr,
    FIRST_EXPERT: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    GROUP_TILE: tl.constexpr,
    THREADS: tl.constexpr,
):
    """The same without a search: each group writes its own blocks, of which every CTA takes every CTAS-th."""
    expert = tl.arange(0, GROUP_TILE) + FIRST_EXPERT
    first_block = group_start.to(tl.uint32) // BLOCK_SIZE
    last_block = first_block + (total + (BLOCK_SIZE - 1)).to(tl.uint32) // BLOCK_SIZE
    block = first_block + (cta + CTAS - first_block % CTAS) % CTAS  # the first one that is this CTA's
    while tl.reduce_or(block < last_block, axis=0):
        tl.store(expert_ids + block, expert, mask=block < last_block)
        block = tl.where(block < last_block, block + CTAS, block)
    clear_blocks(expert_ids, post_pad // BLOCK_SIZE + in_turns(cta, CTAS, THREADS), expert_capacity, CTAS * THREADS)


@tle2cuda.jit
def clear_blocks(expert_ids, block, expert_capacity, STEP: tl.constexpr):
    """Writes 0 to the experts of the blocks, and of those further on by steps."""
    while tl.reduce_or(block < expert_capacity, axis=0):
        tl.store(expert_ids + block, 0, mask=block < expert_capacity)
        block = tl.where(block < expert_capacity, block + STEP, block)


@tle2cuda.jit
def write_padding(
    sorted_ids,
    numel,
    end,
    first_group,
    last_group,
    cta,
    CTAS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    THREADS: tl.constexpr,
):
    """Writes the sentinel behind the slots of groups first_group ... last_group - 1, up to a whole block."""
    num_elements = (last_group - first_group) * BLOCK_SIZE
    element = in_turns(cta, CTAS, THREADS, LAST_FIRST=True)
    while tl.reduce_or(element < num_elements, axis=0):
        group = first_group + (element.to(tl.uint32) // BLOCK_SIZE).to(tl.int32)
        group_end = tl.load(tle.gpu.local_ptr(end, (group,)), mask=element < num_elements, other=0)
        place = group_end + (element.to(tl.uint32) % BLOCK_SIZE).to(tl.int32)
        is_padding = (element < num_elements) & (place < pad_to_blocks(group_end, BLOCK_SIZE))
        tl.store(sorted_ids + place, numel, mask=is_padding)
        element = tl.where(element < num_elements, element + CTAS * THREADS, element)


@tle2cuda.jit
def fill_tail(sorted_ids, numel, post_pad, sorted_capacity, cta, CTAS: tl.constexpr, THREADS: tl.constexpr):
    """Writes the sentinel to every place past the padded total."""
    place = post_pad + in_turns(cta, CTAS, THREADS)
    while tl.reduce_or(place < sorted_capacity, axis=0):
        tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)
        place = tl.where(place < sorted_capacity, place + CTAS * THREADS, place)


@tle2cuda.jit
def fill_all(sorted_ids, numel, sorted_capacity, cta, ctas, TILE: tl.constexpr):
    """Writes the sentinel to every place, to be overwritten by the slots after a barrier."""
    num_tiles = sorted_capacity // TILE
    for tile in tl.range(cta, num_tiles, ctas, loop_unroll_factor=1):
        tl.store(sorted_ids + (tile * TILE + tl.arange(0, TILE)), numel)
    if cta == num_tiles % ctas:
        place = num_tiles * TILE + tl.arange(0, TILE)
        tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)
