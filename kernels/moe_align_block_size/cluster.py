"""MoE Align Block Size by one cluster whose CTAs keep their slots in registers and wait for each other once.

Each CTA counts its share in its own shared memory. After one cluster barrier it reads all its peers'
counts: their sum is the group's total, the part from lower ranks is where its own slots begin. No atomic
leaves a CTA.
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

CLUSTER_SIZE = 8
CLUSTER_MESH = tle.device_mesh({"block_cluster": [("cluster_x", CLUSTER_SIZE)]})


@tle2cuda.jit(do_not_specialize=["numel", "sorted_capacity", "expert_capacity"])
def moe_align_cluster(
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
    SLOT_TILE: tl.constexpr,  # CLUSTER_SIZE * SLOT_TILE >= numel
    GROUP_TILE: tl.constexpr,
    SEARCH_STEPS: tl.constexpr,
    THREADS: tl.constexpr,
    PREFILL: tl.constexpr,  # sentinels everywhere first, or only to the places that no slot takes
):
    cta = tle.shard_id(mesh, "cluster_x")
    slot = cta * SLOT_TILE + tl.arange(0, SLOT_TILE)
    group = tl.arange(0, GROUP_TILE)
    count = group_counters(GROUP_TILE)  # this CTA's, read by the whole cluster
    base = group_counters(GROUP_TILE)  # place of this CTA's first slot of each group
    start = group_counters(GROUP_TILE)
    end = group_counters(GROUP_TILE)

    slot_group, is_routed = load_groups(topk_ids, slot, numel, FIRST_EXPERT, NUM_GROUPS)
    tl.store(tle.gpu.local_ptr(count, (group,)), 0)
    if PREFILL:
        fill_all(sorted_ids, numel, sorted_capacity, cta, CLUSTER_SIZE, 4 * THREADS)
    rank = count_up(count, slot_group, is_routed)
    tle.distributed_barrier(mesh)

    total = tl.zeros((GROUP_TILE,), tl.int32)
    before = tl.zeros((GROUP_TILE,), tl.int32)
    for peer in range(CLUSTER_SIZE):
        peer_count = tl.load(tle.gpu.local_ptr(tle.remote(count, peer, scope=mesh), (group,)))
        total += peer_count
        before += tl.where(peer < cta, peer_count, 0)

    group_start, post_pad = tle.cumsum(pad_to_blocks(total, BLOCK_SIZE), axis=0)
    tl.store(tle.gpu.local_ptr(start, (group,)), group_start)
    tl.store(tle.gpu.local_ptr(base, (group,)), group_start + before)
    if not PREFILL:
        tl.store(tle.gpu.local_ptr(end, (group,)), group_start + total)

    if not PREFILL:
        fill_tail(sorted_ids, numel, post_pad, sorted_capacity, cta, CLUSTER_SIZE, THREADS)  # needs nothing of others

    first_place = tl.load(tle.gpu.local_ptr(base, (slot_group,)), mask=is_routed, other=0)
    tl.store(sorted_ids + (first_place + rank), slot, mask=is_routed)
    if not PREFILL:
        write_padding(sorted_ids, numel, end, 0, NUM_GROUPS, cta, CLUSTER_SIZE, BLOCK_SIZE, THREADS)
    write_expert_ids(
        expert_ids,
        start,
        post_pad,
        expert_capacity,
        cta,
        CLUSTER_SIZE,
        FIRST_EXPERT,
        BLOCK_SIZE,
        SEARCH_STEPS,
        THREADS,
    )
    if cta == 0:
        tl.store(num_post_pad, post_pad)
    tle.distributed_barrier(mesh)  # peers may still be reading this CTA's counts
