// moe_align_cluster.cu: emitted by tle2cuda from cluster.py:30 (moe_align_cluster). Do not edit.
//
//   target    sm_90a, 512 threads per CTA, clusters of (8, 1, 1), 8288 bytes of shared memory
//   launch    grid of CTAs, a multiple of the cluster (8, 1, 1)
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32 align 16,
//             num_post_pad *i32 align 16, numel i32, sorted_capacity i32, expert_capacity i32
//   constants mesh = DeviceMesh(shape=(8,), names=('cluster_x',)), CLUSTER_SIZE = 8,
//             FIRST_EXPERT = 0, NUM_GROUPS = 512, BLOCK_SIZE = 16, SLOT_TILE = 512,
//             GROUP_TILE = 512, SEARCH_STEPS = 9, THREADS = 512, PREFILL = False

#include <cooperative_groups.h>
#include <cub/block/block_scan.cuh>

namespace cg = cooperative_groups;

namespace {

using BlockScan = cub::BlockScan<int, 512, cub::BLOCK_SCAN_WARP_SCANS>;

// Shared memory of one CTA.
struct Shared {
    alignas(16) int count[512];               // parts.py:26
    alignas(16) int base[512];                // parts.py:26
    alignas(16) int start[512];               // parts.py:26
    alignas(16) int end[512];                 // parts.py:26
    alignas(16) BlockScan::TempStorage group_start_scan;  // scratch of cluster.py:71
};
static_assert(sizeof(Shared) <= 8288, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(512)
moe_align_cluster(const int* __restrict__ topk_ids, int* sorted_ids, int* expert_ids,
                  int* num_post_pad, const int numel, const int sorted_capacity,
                  const int expert_capacity)
{
    __shared__ Shared shared;
    const cg::cluster_group cluster = cg::this_cluster();
    const int thread = threadIdx.x;

    // cta = tle.shard_id(mesh, "cluster_x")                                           cluster.py:49
    const int cta = static_cast<int>(cluster.block_rank());
    // slot = cta * SLOT_TILE + tl.arange(0, SLOT_TILE)                                cluster.py:50
    const int slot = cta * 512 + thread;
    // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)          parts.py:38
    const int id = slot < numel ? topk_ids[slot] : -1;
    // is_routed = (group >= 0) & (group < NUM_GROUPS)                                   parts.py:40
    const bool is_routed = id >= 0 && id < 512;
    // tl.store(tle.gpu.local_ptr(count, (group,)), 0)                                 cluster.py:58
    shared.count[thread] = 0;
    __syncthreads();  // orders the stores to `count` before the atomics on it

    // return tl.atomic_add(tle.gpu.local_ptr(counters, (group,)), 1, mask=is_route ...  parts.py:47
    int rank = 0;
    if (is_routed) rank = atomicAdd(&shared.count[id], 1);
    // tle.distributed_barrier(mesh)                                                   cluster.py:62
    cluster.sync();

    // peer_count = tl.load(tle.gpu.local_ptr(tle.remote(count, peer, scope=mesh) ...  cluster.py:67
    int* const peer_count = cluster.map_shared_rank(shared.count, 0);
    int* const peer_count_2 = cluster.map_shared_rank(shared.count, 1);
    int* const peer_count_3 = cluster.map_shared_rank(shared.count, 2);
    int* const peer_count_4 = cluster.map_shared_rank(shared.count, 3);
    int* const peer_count_5 = cluster.map_shared_rank(shared.count, 4);
    int* const peer_count_6 = cluster.map_shared_rank(shared.count, 5);
    int* const peer_count_7 = cluster.map_shared_rank(shared.count, 6);
    int* const peer_count_8 = cluster.map_shared_rank(shared.count, 7);
    const int peer_count_9 = peer_count[thread];

    // before += tl.where(peer < cta, peer_count, 0)                                   cluster.py:69
    const int before = cta > 0 ? peer_count_9 : 0;
    // peer_count = tl.load(tle.gpu.local_ptr(tle.remote(count, peer, scope=mesh) ...  cluster.py:67
    const int peer_count_10 = peer_count_2[thread];
    // total += peer_count                                                             cluster.py:68
    const int total = peer_count_9 + peer_count_10;
    // before += tl.where(peer < cta, peer_count, 0)                                   cluster.py:69
    const int before_2 = before + (cta > 1 ? peer_count_10 : 0);
    // peer_count = tl.load(tle.gpu.local_ptr(tle.remote(count, peer, scope=mesh) ...  cluster.py:67
    const int peer_count_11 = peer_count_3[thread];
    // total += peer_count                                                             cluster.py:68
    const int total_2 = total + peer_count_11;
    // before += tl.where(peer < cta, peer_count, 0)                                   cluster.py:69
    const int before_3 = before_2 + (cta > 2 ? peer_count_11 : 0);
    // peer_count = tl.load(tle.gpu.local_ptr(tle.remote(count, peer, scope=mesh) ...  cluster.py:67
    const int peer_count_12 = peer_count_4[thread];
    // total += peer_count                                                             cluster.py:68
    const int total_3 = total_2 + peer_count_12;
    // before += tl.where(peer < cta, peer_count, 0)                                   cluster.py:69
    const int before_4 = before_3 + (cta > 3 ? peer_count_12 : 0);
    // peer_count = tl.load(tle.gpu.local_ptr(tle.remote(count, peer, scope=mesh) ...  cluster.py:67
    const int peer_count_13 = peer_count_5[thread];
    // total += peer_count                                                             cluster.py:68
    const int total_4 = total_3 + peer_count_13;
    // before += tl.where(peer < cta, peer_count, 0)                                   cluster.py:69
    const int before_5 = before_4 + (cta > 4 ? peer_count_13 : 0);
    // peer_count = tl.load(tle.gpu.local_ptr(tle.remote(count, peer, scope=mesh) ...  cluster.py:67
    const int peer_count_14 = peer_count_6[thread];
    // total += peer_count                                                             cluster.py:68
    const int total_5 = total_4 + peer_count_14;
    // before += tl.where(peer < cta, peer_count, 0)                                   cluster.py:69
    const int before_6 = before_5 + (cta > 5 ? peer_count_14 : 0);
    // peer_count = tl.load(tle.gpu.local_ptr(tle.remote(count, peer, scope=mesh) ...  cluster.py:67
    const int peer_count_15 = peer_count_7[thread];
    // total += peer_count                                                             cluster.py:68
    const int total_6 = total_5 + peer_count_15;
    // before += tl.where(peer < cta, peer_count, 0)                                   cluster.py:69
    const int before_7 = before_6 + (cta > 6 ? peer_count_15 : 0);
    // peer_count = tl.load(tle.gpu.local_ptr(tle.remote(count, peer, scope=mesh) ...  cluster.py:67
    const int peer_count_16 = peer_count_8[thread];
    // total += peer_count                                                             cluster.py:68
    const int total_7 = total_6 + peer_count_16;
    // before += tl.where(peer < cta, peer_count, 0)                                   cluster.py:69
    const int before_8 = before_7 + (cta > 7 ? peer_count_16 : 0);
    // return (count + (BLOCK_SIZE - 1)) // BLOCK_SIZE * BLOCK_SIZE                      parts.py:32
    const int value = (total_7 + 15) / 16 * 16;
    // group_start, post_pad = tle.cumsum(pad_to_blocks(total, BLOCK_SIZE), axis=0)    cluster.py:71
    int group_start, post_pad;
    BlockScan(shared.group_start_scan).ExclusiveSum(value, group_start, post_pad);
    // tl.store(tle.gpu.local_ptr(start, (group,)), group_start)                       cluster.py:72
    shared.start[thread] = group_start;
    // tl.store(tle.gpu.local_ptr(base, (group,)), group_start + before)               cluster.py:73
    shared.base[thread] = group_start + before_8;
    // tl.store(tle.gpu.local_ptr(end, (group,)), group_start + total)                 cluster.py:75
    shared.end[thread] = group_start + total_7;
    __syncthreads();  // orders the stores to `base`, `start` and `end` before the loads of them

    // first_place = tl.load(tle.gpu.local_ptr(base, (slot_group,)), mask=is_rout ...  cluster.py:77
    const int first_place = is_routed ? shared.base[id] : 0;
    // tl.store(sorted_ids + first_place + rank, slot, mask=is_routed)                 cluster.py:78
    if (is_routed) *(sorted_ids + first_place + rank) = slot;
    // for tile in range(cta, tl.cdiv(expert_capacity, TILE), ctas):                     parts.py:84
    for (int tile = cta; tile < (expert_capacity + 511) / 512; tile += 8) {
        // owner = tl.where(tl.load(tle.gpu.local_ptr(start, (candidate,))) <= plac ...  parts.py:59
        const int start_value = shared.start[256];
        // block = tile * TILE + tl.arange(0, TILE)                                      parts.py:85
        const int block = tile * 512 + thread;
        // place = block * BLOCK_SIZE                                                    parts.py:86
        const int place = block * 16;
        // owner = tl.where(tl.load(tle.gpu.local_ptr(start, (candidate,))) <= plac ...  parts.py:59
        const int owner = start_value <= place ? 256 : 0;
        // candidate = owner + (1 << (SEARCH_STEPS - 1 - step))                          parts.py:58
        const int candidate = owner + 128;
        // owner = tl.where(tl.load(tle.gpu.local_ptr(start, (candidate,))) <= plac ...  parts.py:59
        const int start_value_2 = shared.start[candidate];
        const int owner_2 = start_value_2 <= place ? candidate : owner;
        // candidate = owner + (1 << (SEARCH_STEPS - 1 - step))                          parts.py:58
        const int candidate_2 = owner_2 + 64;
        // owner = tl.where(tl.load(tle.gpu.local_ptr(start, (candidate,))) <= plac ...  parts.py:59
        const int start_value_3 = shared.start[candidate_2];
        const int owner_3 = start_value_3 <= place ? candidate_2 : owner_2;
        // candidate = owner + (1 << (SEARCH_STEPS - 1 - step))                          parts.py:58
        const int candidate_3 = owner_3 + 32;
        // owner = tl.where(tl.load(tle.gpu.local_ptr(start, (candidate,))) <= plac ...  parts.py:59
        const int start_value_4 = shared.start[candidate_3];
        const int owner_4 = start_value_4 <= place ? candidate_3 : owner_3;
        // candidate = owner + (1 << (SEARCH_STEPS - 1 - step))                          parts.py:58
        const int candidate_4 = owner_4 + 16;
        // owner = tl.where(tl.load(tle.gpu.local_ptr(start, (candidate,))) <= plac ...  parts.py:59
        const int start_value_5 = shared.start[candidate_4];
        const int owner_5 = start_value_5 <= place ? candidate_4 : owner_4;
        // candidate = owner + (1 << (SEARCH_STEPS - 1 - step))                          parts.py:58
        const int candidate_5 = owner_5 + 8;
        // owner = tl.where(tl.load(tle.gpu.local_ptr(start, (candidate,))) <= plac ...  parts.py:59
        const int start_value_6 = shared.start[candidate_5];
        const int owner_6 = start_value_6 <= place ? candidate_5 : owner_5;
        // candidate = owner + (1 << (SEARCH_STEPS - 1 - step))                          parts.py:58
        const int candidate_6 = owner_6 + 4;
        // owner = tl.where(tl.load(tle.gpu.local_ptr(start, (candidate,))) <= plac ...  parts.py:59
        const int start_value_7 = shared.start[candidate_6];
        const int owner_7 = start_value_7 <= place ? candidate_6 : owner_6;
        // candidate = owner + (1 << (SEARCH_STEPS - 1 - step))                          parts.py:58
        const int candidate_7 = owner_7 + 2;
        // owner = tl.where(tl.load(tle.gpu.local_ptr(start, (candidate,))) <= plac ...  parts.py:59
        const int start_value_8 = shared.start[candidate_7];
        const int owner_8 = start_value_8 <= place ? candidate_7 : owner_7;
        // candidate = owner + (1 << (SEARCH_STEPS - 1 - step))                          parts.py:58
        const int candidate_8 = owner_8 + 1;
        // owner = tl.where(tl.load(tle.gpu.local_ptr(start, (candidate,))) <= plac ...  parts.py:59
        const int start_value_9 = shared.start[candidate_8];
        const int owner_9 = start_value_9 <= place ? candidate_8 : owner_8;
        // expert = tl.where(place < post_pad, owner + FIRST_EXPERT, 0)                  parts.py:88
        const int expert = place < post_pad ? owner_9 : 0;
        // tl.store(expert_ids + block, expert, mask=block < expert_capacity)            parts.py:89
        if (block < expert_capacity) expert_ids[block] = expert;
    }
    // last_first = CLUSTER_SIZE - 1 - cta  # the CTAs that write expert ids come ...  cluster.py:92
    const int last_first = 7 - cta;
    // for tile in range(cta, tl.cdiv(num_elements, TILE), ctas):                       parts.py:106
    for (int tile = last_first; tile < 16; tile += 8) {
        // element = tile * TILE + tl.arange(0, TILE)                                   parts.py:107
        const int element = tile * 512 + thread;
        // group = first_group + element // BLOCK_SIZE                                  parts.py:109
        const int group = element / 16;
        // has_group = element < num_elements                                           parts.py:108
        const bool has_group = element < 8192;
        // group_end = tl.load(tle.gpu.local_ptr(end, (group,)), mask=has_group, o ...  parts.py:110
        const int group_end = has_group ? shared.end[group] : 0;
        // place = group_end + element % BLOCK_SIZE                                     parts.py:111
        const int place = group_end + element % 16;
        // is_padding = has_group & (place < pad_to_blocks(group_end, BLOCK_SIZE))      parts.py:112
        const bool is_padding = has_group && place < (group_end + 15) / 16 * 16;
        // tl.store(sorted_ids + place, numel, mask=is_padding)                         parts.py:113
        if (is_padding) sorted_ids[place] = numel;
    }
    // turned = cta - ctas // 2                                                          parts.py:66
    const int turned = cta - 4;
    // return tl.where(turned < 0, turned + ctas, turned)                                parts.py:67
    const int middle_first = turned < 0 ? turned + 8 : turned;
    // for first in range(post_pad + cta * TILE, sorted_capacity, ctas * TILE):         parts.py:119
    for (int first = post_pad + middle_first * 512; first < sorted_capacity; first += 4096) {
        // place = first + tl.arange(0, TILE)                                           parts.py:120
        const int place = first + thread;
        // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)            parts.py:121
        if (place < sorted_capacity) sorted_ids[place] = numel;
    }
    // if cta == 0:                                                                    cluster.py:96
    if (cta == 0) {
        // tl.store(num_post_pad, post_pad)                                            cluster.py:97
        if (thread == 0) *num_post_pad = post_pad;
    }
    // tle.distributed_barrier(mesh)  # peers may still be reading this CTA's counts   cluster.py:98
    cluster.sync();
}
