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

// Load one element of global memory if a condition holds, else take `other` (read-only data): one predicated load (PTX ISA,
// ld.global.nc). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ int load_nc_if(bool condition, const int* pointer, int other)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.nc.s32 %0, [%1];\n\t}"
        : "+r"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return other;
}

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
    const int id = load_nc_if(slot < numel, topk_ids + slot, -1);
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

    // for peer in range(CLUSTER_SIZE):                                                cluster.py:66
    int total = 0;
    int before = 0;
    for (int peer = 0; peer < 8; ++peer) {
        // peer_count = tl.load(tle.gpu.local_ptr(tle.remote(count, peer, scope=m ...  cluster.py:67
        int* const peer_count = cluster.map_shared_rank(shared.count, peer);
        const int peer_count_2 = peer_count[thread];
        // total += peer_count                                                         cluster.py:68
        total += peer_count_2;
        // before += tl.where(peer < cta, peer_count, 0)                               cluster.py:69
        before += peer < cta ? peer_count_2 : 0;
    }
    // return (count + (BLOCK_SIZE - 1)) // BLOCK_SIZE * BLOCK_SIZE                      parts.py:32
    const int product = (total + 15) / 16 * 16;
    // group_start, post_pad = tle.cumsum(pad_to_blocks(total, BLOCK_SIZE), axis=0)    cluster.py:71
    int group_start, post_pad;
    BlockScan(shared.group_start_scan).ExclusiveSum(product, group_start, post_pad);
    // tl.store(tle.gpu.local_ptr(start, (group,)), group_start)                       cluster.py:72
    shared.start[thread] = group_start;
    // tl.store(tle.gpu.local_ptr(base, (group,)), group_start + before)               cluster.py:73
    shared.base[thread] = group_start + before;
    // tl.store(tle.gpu.local_ptr(end, (group,)), group_start + total)                 cluster.py:75
    shared.end[thread] = group_start + total;
    __syncthreads();  // orders the stores to `base`, `start` and `end` before the loads of them

    // first_place = tl.load(tle.gpu.local_ptr(base, (slot_group,)), mask=is_rout ...  cluster.py:77
    const int first_place = is_routed ? shared.base[id] : 0;
    // tl.store(sorted_ids + first_place + rank, slot, mask=is_routed)                 cluster.py:78
    if (is_routed) *(sorted_ids + first_place + rank) = slot;
    // for tile in range(cta, tl.cdiv(expert_capacity, TILE), ctas):                     parts.py:84
    for (int tile = cta; tile < (expert_capacity + 511) / 512; tile += 8) {
        // for step in range(SEARCH_STEPS):                                              parts.py:57
        int owner = 0;
        // block = tile * TILE + tl.arange(0, TILE)                                      parts.py:85
        const int block = tile * 512 + thread;
        // place = block * BLOCK_SIZE                                                    parts.py:86
        const int place = block * 16;
        for (int step = 0; step < 9; ++step) {
            // candidate = owner + (1 << (SEARCH_STEPS - 1 - step))                      parts.py:58
            const int candidate = owner + (1 << (8 - step));
            // owner = tl.where(tl.load(tle.gpu.local_ptr(start, (candidate,))) <= ...   parts.py:59
            const int start_value = shared.start[candidate];
            owner = start_value <= place ? candidate : owner;
        }

        // expert = tl.where(place < post_pad, owner + FIRST_EXPERT, 0)                  parts.py:88
        const int expert = place < post_pad ? owner : 0;
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
        // group_end = tl.load(tle.gpu.local_ptr(end, (group,)), mask=has_group, o ...  parts.py:110
        const int group_end = shared.end[group];
        // place = group_end + element % BLOCK_SIZE                                     parts.py:111
        const int place = group_end + element % 16;
        // is_padding = has_group & (place < pad_to_blocks(group_end, BLOCK_SIZE))      parts.py:112
        const bool is_padding = place < (group_end + 15) / 16 * 16;
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
