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
    """Rounds up to whole blocks."""
    return (count + (BLOCK_SIZE - 1)) // BLOCK_SIZE * BLOCK_SIZE


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
def half_a_turn(cta, ctas):
    """The CTA's number counted from the middle one: CTAs that share out one job begin where another's end."""
    turned = cta - ctas // 2
    return tl.where(turned < 0, turned + ctas, turned)


@tle2cuda.jit
def write_expert_ids(
    expert_ids,
    start,
    post_pad,
    expert_capacity,
    cta,
    ctas,
    FIRST_EXPERT: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    SEARCH_STEPS: tl.constexpr,
    TILE: tl.constexpr,
):
    """Writes the expert of every block, and 0 past the padded total: the share of CTA `cta` of `ctas`."""
    for tile in range(cta, tl.cdiv(expert_capacity, TILE), ctas):
        block = tile * TILE + tl.arange(0, TILE)
        place = block * BLOCK_SIZE
        owner = owner_of(place, start, SEARCH_STEPS)
        expert = tl.where(place < post_pad, owner + FIRST_EXPERT, 0)
        tl.store(expert_ids + block, expert, mask=block < expert_capacity)


@tle2cuda.jit
def write_padding(
    sorted_ids,
    numel,
    end,
    first_group,
    last_group,
    cta,
    ctas,
    BLOCK_SIZE: tl.constexpr,
    TILE: tl.constexpr,
):
    """Writes the sentinel behind the slots of groups first_group ... last_group - 1, up to a whole block."""
    num_elements = (last_group - first_group) * BLOCK_SIZE
    for tile in range(cta, tl.cdiv(num_elements, TILE), ctas):
        element = tile * TILE + tl.arange(0, TILE)
        has_group = element < num_elements
        group = first_group + element // BLOCK_SIZE
        group_end = tl.load(tle.gpu.local_ptr(end, (group,)), mask=has_group, other=0)
        place = group_end + element % BLOCK_SIZE
        is_padding = has_group & (place < pad_to_blocks(group_end, BLOCK_SIZE))
        tl.store(sorted_ids + place, numel, mask=is_padding)


@tle2cuda.jit
def fill_tail(sorted_ids, numel, post_pad, sorted_capacity, cta, ctas, TILE: tl.constexpr):
    """Writes the sentinel to every place past the padded total."""
    for first in range(post_pad + cta * TILE, sorted_capacity, ctas * TILE):
        place = first + tl.arange(0, TILE)
        tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)


@tle2cuda.jit
def fill_all(sorted_ids, numel, sorted_capacity, cta, ctas, TILE: tl.constexpr):
    """Writes the sentinel to every place, to be overwritten by the slots after a barrier."""
    for tile in range(cta, tl.cdiv(sorted_capacity, TILE), ctas):
        place = tile * TILE + tl.arange(0, TILE)
        tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)
