"""MoE Align Block Size in one cluster of eight CTAs that add up their counts in rank 0's shared memory.

For any number of slots. The atomics on rank 0's totals return where each CTA's slots begin inside a group;
rank 0 finds the starts, and every CTA reads them from there.
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
def moe_align_cluster_fused(
    topk_ids,
    sorted_ids,
    expert_ids,
    num_post_pad,
    numel,
    sorted_capacity,
    expert_capacity,
    mesh: tl.constexpr,
    CLUSTER_SIZE: tl.constexpr,
    FIRST_EXPERT: tl.constexpr,
    NUM_GROUPS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    SLOT_TILE: tl.constexpr,
    GROUP_TILE: tl.constexpr,
):
    cluster_rank = tle.shard_id(mesh, "cluster_x")
    is_rank0 = cluster_rank == 0
    group = tl.arange(0, GROUP_TILE)
    count = group_counters(GROUP_TILE)  # this CTA's, then the rank of its next slot in each group
    total = group_counters(GROUP_TILE)  # the cluster's, in rank 0
    start = group_counters(GROUP_TILE)  # found by rank 0, then copied by every CTA

    fill_all(sorted_ids, numel, sorted_capacity, cluster_rank, CLUSTER_SIZE, SLOT_TILE)
    fill_all(expert_ids, 0, expert_capacity, cluster_rank, CLUSTER_SIZE, SLOT_TILE)
    tl.store(tle.gpu.local_ptr(count, (group,)), 0)
    if is_rank0:
        tl.store(tle.gpu.local_ptr(total, (group,)), 0)
    tle.distributed_barrier(mesh)

    num_tiles = tl.cdiv(numel, SLOT_TILE)
    for tile in range(cluster_rank, num_tiles, CLUSTER_SIZE):
        slot = tile * SLOT_TILE + tl.arange(0, SLOT_TILE)
        slot_group, is_routed = load_groups(topk_ids, slot, numel, FIRST_EXPERT, NUM_GROUPS)
        count_up(count, slot_group, is_routed)
    cluster_total = tle.gpu.local_ptr(tle.remote(total, 0, scope=mesh), (group,))
    mine = tl.load(tle.gpu.local_ptr(count, (group,)))
    before = tl.atomic_add(cluster_total, mine, sem="relaxed", scope="cta")
    tl.store(tle.gpu.local_ptr(count, (group,)), before)
    tle.distributed_barrier(mesh)

    if is_rank0:
        padded = pad_to_blocks(tl.load(tle.gpu.local_ptr(total, (group,))), BLOCK_SIZE)
        group_start, post_pad = tle.cumsum(padded, axis=0)
        tl.store(tle.gpu.local_ptr(start, (group,)), group_start)
        tl.store(num_post_pad, post_pad)
    tle.distributed_barrier(mesh)

    group_start = tl.load(tle.gpu.local_ptr(tle.remote(start, 0, scope=mesh), (group,)))
    group_total = tl.load(cluster_total)
    tle.distributed_barrier(mesh)  # everyone has read rank 0's: the copies may be written
    tl.store(tle.gpu.local_ptr(start, (group,)), group_start)
    tl.store(tle.gpu.local_ptr(total, (group,)), group_total)

    for one_group in range(cluster_rank, NUM_GROUPS, CLUSTER_SIZE):
        first_place = tl.load(tle.gpu.local_ptr(start, (one_group,)))
        last_place = first_place + tl.load(tle.gpu.local_ptr(total, (one_group,)))
        for place in range(first_place, last_place, BLOCK_SIZE):
            tl.store(expert_ids + place // BLOCK_SIZE, one_group + FIRST_EXPERT)

    for tile in range(cluster_rank, num_tiles, CLUSTER_SIZE):
        slot = tile * SLOT_TILE + tl.arange(0, SLOT_TILE)
        slot_group, is_routed = load_groups(topk_ids, slot, numel, FIRST_EXPERT, NUM_GROUPS)
        rank = count_up(count, slot_group, is_routed)
        first_place = tl.load(tle.gpu.local_ptr(start, (slot_group,)), mask=is_routed, other=0)
        tl.store(sorted_ids + first_place + rank, slot, mask=is_routed)
