// moe_align_cluster_fused.cu: emitted by tle2cuda from cluster_fused.py:22 (moe_align_cluster_fused). Do not edit.
//
//   target    sm_90a, 1024 threads per CTA, clusters of (8, 1, 1), 12416 bytes of shared memory
//   launch    grid of CTAs, a multiple of the cluster (8, 1, 1)
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32 align 16,
//             num_post_pad *i32 align 16, numel i32, sorted_capacity i32, expert_capacity i32
//   constants mesh = DeviceMesh(shape=(8,), names=('cluster_x',)), CLUSTER_SIZE = 8,
//             FIRST_EXPERT = 0, NUM_GROUPS = 512, BLOCK_SIZE = 16, SLOT_TILE = 1024,
//             GROUP_TILE = 1024

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

namespace {

// An object of any type from another lane, 4 bytes at a time: `exchange` shuffles one word.
template <typename T, typename Exchange>
__device__ __forceinline__ T shuffle_words(const T& value, Exchange exchange)
{
    constexpr int COUNT = (sizeof(T) + 3) / 4;
    unsigned words[COUNT] = {};
    memcpy(words, &value, sizeof(T));
    #pragma unroll
    for (int i = 0; i < COUNT; ++i) words[i] = exchange(words[i]);
    T result;
    memcpy(&result, words, sizeof(T));
    return result;
}

// The value that the lane DISTANCE further down (with REVERSE: up) holds, inside groups of WIDTH lanes; the own value
// where there is none. Called by whole warps.
template <int WIDTH, bool REVERSE, typename T>
__device__ __forceinline__ T shuffle_previous(T value, int distance)
{
    return shuffle_words(value, [distance](unsigned word) {
        return REVERSE ? __shfl_down_sync(0xffffffffu, word, distance, WIDTH)
                       : __shfl_up_sync(0xffffffffu, word, distance, WIDTH);
    });
}

// Inclusive scan over groups of WIDTH neighbouring lanes, from the last lane down with REVERSE. What comes first is the
// first operand of `combine`, which need not be commutative. Called by whole warps.
template <int WIDTH, bool REVERSE, typename T, typename Combine>
__device__ __forceinline__ T lanes_scan(T value, Combine combine)
{
    const int lane = threadIdx.x % WIDTH;
    const int position = REVERSE ? WIDTH - 1 - lane : lane;
    #pragma unroll
    for (int distance = 1; distance < WIDTH; distance *= 2) {
        const T other = shuffle_previous<WIDTH, REVERSE>(value, distance);
        if (position >= distance) value = combine(other, value);
    }
    return value;
}

// Exclusive prefix sums of one 32-bit integer per thread over the WARPS warps of a CTA, in the order of threads (with REVERSE
// from the last down), and the sum of all in `total`. Called by all threads. Contains one CTA barrier, between writing and
// reading the slots, one for each warp; another one has to follow before they are written again. After it every warp adds
// the totals of those before it, and of all, by one instruction each (PTX ISA, redux.sync).
template <int WARPS, bool REVERSE, typename T>
__device__ __forceinline__ T cta_exclusive_integer_sum(T value, T& total, T* slots)
{
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const T inclusive = lanes_scan<32, false>(value, [](T a, T b) -> T { return a + b; });
    if (lane == 31) slots[warp] = inclusive;
    __syncthreads();
    const T of_warp = lane < WARPS ? slots[lane] : 0;
    const T earlier = __reduce_add_sync(0xffffffffu, lane < warp ? of_warp : 0);
    total = __reduce_add_sync(0xffffffffu, of_warp);
    return REVERSE ? total - earlier - inclusive : earlier + inclusive - value;
}

// Load one element of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ int load_if(bool condition, const int* pointer, int other)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.s32 %0, [%1];\n\t}"
        : "+r"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return other;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int count[1024];              // parts.py:26
    alignas(16) int total[1024];              // parts.py:26
    alignas(16) int start[1024];              // parts.py:26
    alignas(16) int group_start_scan[32];     // scratch of cluster_fused.py:65
};
static_assert(sizeof(Shared) <= 12416, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(1024)
moe_align_cluster_fused(const int* topk_ids, int* sorted_ids, int* expert_ids, int* num_post_pad,
                        const int numel, const int sorted_capacity, const int expert_capacity)
{
    __shared__ Shared shared;
    const cg::cluster_group cluster = cg::this_cluster();
    const int thread = threadIdx.x;

    // cluster_rank = tle.shard_id(mesh, "cluster_x")                            cluster_fused.py:38
    const int cluster_rank_ = static_cast<int>(cluster.block_rank());
    // is_rank0 = cluster_rank == 0                                              cluster_fused.py:39
    const bool is_rank0 = cluster_rank_ == 0;
    // num_tiles = sorted_capacity // TILE                                              parts.py:172
    const int num_tiles = sorted_capacity / 1024;
    // for tile in tl.range(cta, num_tiles, ctas, loop_unroll_factor=1):                parts.py:173
    #pragma unroll 1
    for (int tile = cluster_rank_; tile < num_tiles; tile += 8) {
        // tl.store(sorted_ids + (tile * TILE + tl.arange(0, TILE)), numel)             parts.py:174
        sorted_ids[tile * 1024 + thread] = numel;
    }
    // if cta == num_tiles % ctas:                                                      parts.py:175
    if (cluster_rank_ == num_tiles % 8) {
        // place = num_tiles * TILE + tl.arange(0, TILE)                                parts.py:176
        const int place = num_tiles * 1024 + thread;
        // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)            parts.py:177
        if (place < sorted_capacity) sorted_ids[place] = numel;
    }
    // num_tiles = sorted_capacity // TILE                                              parts.py:172
    const int num_tiles_2 = expert_capacity / 1024;
    // for tile in tl.range(cta, num_tiles, ctas, loop_unroll_factor=1):                parts.py:173
    #pragma unroll 1
    for (int tile = cluster_rank_; tile < num_tiles_2; tile += 8) {
        // tl.store(sorted_ids + (tile * TILE + tl.arange(0, TILE)), numel)             parts.py:174
        expert_ids[tile * 1024 + thread] = 0;
    }
    // if cta == num_tiles % ctas:                                                      parts.py:175
    if (cluster_rank_ == num_tiles_2 % 8) {
        // place = num_tiles * TILE + tl.arange(0, TILE)                                parts.py:176
        const int place = num_tiles_2 * 1024 + thread;
        // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)            parts.py:177
        if (place < expert_capacity) expert_ids[place] = 0;
    }
    // tl.store(tle.gpu.local_ptr(count, (group,)), 0)                           cluster_fused.py:47
    shared.count[thread] = 0;
    // if is_rank0:                                                              cluster_fused.py:48
    if (is_rank0) {
        // tl.store(tle.gpu.local_ptr(total, (group,)), 0)                       cluster_fused.py:49
        shared.total[thread] = 0;
    }
    // tle.distributed_barrier(mesh)                                             cluster_fused.py:50
    cluster.sync();

    // num_tiles = tl.cdiv(numel, SLOT_TILE)                                     cluster_fused.py:52
    const int num_tiles_3 = (numel + 1023) / 1024;
    // for tile in range(cluster_rank, num_tiles, CLUSTER_SIZE):                 cluster_fused.py:53
    for (int tile = cluster_rank_; tile < num_tiles_3; tile += 8) {
        // slot = tile * SLOT_TILE + tl.arange(0, SLOT_TILE)                     cluster_fused.py:54
        const int slot = tile * 1024 + thread;
        // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)      parts.py:39
        const int id = load_if(slot < numel, topk_ids + slot, -1);
        // is_routed = (group >= 0) & (group < NUM_GROUPS)                               parts.py:41
        const bool is_routed = id >= 0 && id < 512;
        // return tl.atomic_add(tle.gpu.local_ptr(counters, (group,)), 1, mask=is_r ...  parts.py:48
        if (is_routed) atomicAdd(&shared.count[id], 1);
    }
    // cluster_total = tle.gpu.local_ptr(tle.remote(total, 0, scope=mesh), ...   cluster_fused.py:57
    int* const peer_total = cluster.map_shared_rank(shared.total, 0);
    __syncthreads();  // orders the atomics on `count` before the loads of it and the stores to it

    // mine = tl.load(tle.gpu.local_ptr(count, (group,)))                        cluster_fused.py:58
    const int mine = shared.count[thread];
    // before = tl.atomic_add(cluster_total, mine, sem="relaxed", scope="cta")   cluster_fused.py:59
    const int before = atomicAdd(&peer_total[thread], mine);
    // tl.store(tle.gpu.local_ptr(count, (group,)), before)                      cluster_fused.py:60
    shared.count[thread] = before;
    // tle.distributed_barrier(mesh)                                             cluster_fused.py:61
    cluster.sync();

    // if is_rank0:                                                              cluster_fused.py:63
    if (is_rank0) {
        // padded = pad_to_blocks(tl.load(tle.gpu.local_ptr(total, (group,) ...  cluster_fused.py:64
        const int count = shared.total[thread];
        // blocks = (count + (BLOCK_SIZE - 1)).to(tl.uint32) // BLOCK_SIZE               parts.py:32
        const unsigned blocks = static_cast<unsigned>(count + 15) / 16u;
        // return (blocks * BLOCK_SIZE).to(tl.int32)                                     parts.py:33
        const int padded = static_cast<int>(blocks * 16u);
        // group_start, post_pad = tle.cumsum(padded, axis=0)                    cluster_fused.py:65
        int post_pad;
        int group_start = cta_exclusive_integer_sum<32, false>(padded, post_pad, shared.group_start_scan);
        // tl.store(tle.gpu.local_ptr(start, (group,)), group_start)             cluster_fused.py:66
        shared.start[thread] = group_start;
        // tl.store(num_post_pad, post_pad)                                      cluster_fused.py:67
        if (thread == 0) *num_post_pad = post_pad;
    }
    // tle.distributed_barrier(mesh)                                             cluster_fused.py:68
    cluster.sync();

    // group_start = tl.load(tle.gpu.local_ptr(tle.remote(start, 0, scope=m ...  cluster_fused.py:70
    int* const peer_start = cluster.map_shared_rank(shared.start, 0);
    const int group_start = peer_start[thread];
    // group_total = tl.load(cluster_total)                                      cluster_fused.py:71
    const int group_total = peer_total[thread];
    // tle.distributed_barrier(mesh)  # everyone has read rank 0's: the cop ...  cluster_fused.py:72
    cluster.sync();

    // tl.store(tle.gpu.local_ptr(start, (group,)), group_start)                 cluster_fused.py:73
    shared.start[thread] = group_start;
    // tl.store(tle.gpu.local_ptr(total, (group,)), group_total)                 cluster_fused.py:74
    shared.total[thread] = group_total;
    __syncthreads();  // orders the stores to `start` and `total` before the loads of them

    // for one_group in range(cluster_rank, NUM_GROUPS, CLUSTER_SIZE):           cluster_fused.py:76
    for (int one_group = cluster_rank_; one_group < 512; one_group += 8) {
        // first_place = tl.load(tle.gpu.local_ptr(start, (one_group,)))         cluster_fused.py:77
        const int first_place = shared.start[one_group];
        // last_place = first_place + tl.load(tle.gpu.local_ptr(total, (one ...  cluster_fused.py:78
        const int total_value = shared.total[one_group];
        const int last_place = first_place + total_value;
        // for place in range(first_place, last_place, BLOCK_SIZE):              cluster_fused.py:79
        for (int place = first_place; place < last_place; place += 16) {
            // tl.store(expert_ids + place // BLOCK_SIZE, one_group + FIRST ...  cluster_fused.py:80
            if (thread == 0) expert_ids[place / 16] = one_group;
        }
    }

    // for tile in range(cluster_rank, num_tiles, CLUSTER_SIZE):                 cluster_fused.py:82
    for (int tile = cluster_rank_; tile < num_tiles_3; tile += 8) {
        // slot = tile * SLOT_TILE + tl.arange(0, SLOT_TILE)                     cluster_fused.py:83
        const int slot = tile * 1024 + thread;
        // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)      parts.py:39
        const int id = load_if(slot < numel, topk_ids + slot, -1);
        // is_routed = (group >= 0) & (group < NUM_GROUPS)                               parts.py:41
        const bool is_routed = id >= 0 && id < 512;
        // return tl.atomic_add(tle.gpu.local_ptr(counters, (group,)), 1, mask=is_r ...  parts.py:48
        int rank = 0;
        if (is_routed) rank = atomicAdd(&shared.count[id], 1);
        // first_place = tl.load(tle.gpu.local_ptr(start, (slot_group,)), m ...  cluster_fused.py:86
        const int first_place = is_routed ? shared.start[id] : 0;
        // tl.store(sorted_ids + first_place + rank, slot, mask=is_routed)       cluster_fused.py:87
        if (is_routed) *(sorted_ids + first_place + rank) = slot;
    }
}
