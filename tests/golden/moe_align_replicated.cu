// moe_align_replicated.cu: emitted by tle2cuda from replicated.py:26 (moe_align_replicated). Do not edit.
//
//   target    sm_90a, 512 threads per CTA, 6240 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32 align 16,
//             num_post_pad *i32 align 16, numel i32, sorted_capacity i32, expert_capacity i32
//   constants FIRST_EXPERT = 0, NUM_GROUPS = 512, GROUPS_PER_CTA = 32, BLOCK_SIZE = 16,
//             SLOT_TILE = 4096, GROUP_TILE = 512, SEARCH_STEPS = 9, THREADS = 512

#include <cub/block/block_scan.cuh>

namespace {

using BlockScan = cub::BlockScan<int, 512, cub::BLOCK_SCAN_WARP_SCANS>;

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// Load N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* pointer)
{
    return *reinterpret_cast<const Vector<T, N>*>(pointer);
}

// Load the first `valid` of N neighbours, `other` for the rest: one access when all are valid, else one by one.
template <int N, typename T, typename Count, typename Other>
__device__ __forceinline__ Vector<T, N> load_edge(const T* pointer, Count valid, Other other)
{
    if (valid >= N) return load_vector<N>(pointer);
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = k < valid ? pointer[k] : static_cast<T>(other);
    return result;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int count[512];               // parts.py:26
    alignas(16) int start[512];               // parts.py:26
    alignas(16) int end[512];                 // parts.py:26
    alignas(16) BlockScan::TempStorage group_start_scan;  // scratch of replicated.py:56
};
static_assert(sizeof(Shared) <= 6240, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(512)
moe_align_replicated(const int* __restrict__ topk_ids, int* sorted_ids, int* expert_ids,
                     int* num_post_pad, const int numel, const int sorted_capacity,
                     const int expert_capacity)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // cta = tl.program_id(0)                                                       replicated.py:43
    const int cta = blockIdx.x;

    // ctas = tl.num_programs(0)                                                    replicated.py:44
    const int ctas = gridDim.x;
    Vector<int, 4> id[2];
    Vector<bool, 4> is_routed[2];

    // tile [4096]: element = 4 * thread + 2048 * run + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // slot = tl.arange(0, SLOT_TILE)                                           replicated.py:45
        const int slot = 4 * thread + 2048 * run;
        // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)      parts.py:38
        id[run] = load_edge<4>(topk_ids + slot, numel - slot, -1);
        // is_routed = (group >= 0) & (group < NUM_GROUPS)                               parts.py:40
        #pragma unroll
        for (int k = 0; k < 4; ++k) is_routed[run][k] = id[run][k] >= 0 && id[run][k] < 512;
    }

    // tl.store(tle.gpu.local_ptr(count, (group,)), 0)                              replicated.py:52
    shared.count[thread] = 0;
    __syncthreads();  // orders the stores to `count` before the atomics on it
    Vector<int, 4> rank[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            // return tl.atomic_add(tle.gpu.local_ptr(counters, (group,)), 1, mask= ...  parts.py:47
            rank[run][k] = 0;
            if (is_routed[run][k]) rank[run][k] = atomicAdd(&shared.count[id[run][k]], 1);
        }
    }
    __syncthreads();  // orders the atomics on `count` before the loads of it

    // total = tl.load(tle.gpu.local_ptr(count, (group,)))                          replicated.py:55
    const int total = shared.count[thread];
    // return (count + (BLOCK_SIZE - 1)) // BLOCK_SIZE * BLOCK_SIZE                      parts.py:32
    const int product = (total + 15) / 16 * 16;
    // group_start, post_pad = tle.cumsum(pad_to_blocks(total, BLOCK_SIZE), ax ...  replicated.py:56
    int group_start, post_pad;
    BlockScan(shared.group_start_scan).ExclusiveSum(product, group_start, post_pad);
    // tl.store(tle.gpu.local_ptr(start, (group,)), group_start)                    replicated.py:57
    shared.start[thread] = group_start;
    // tl.store(tle.gpu.local_ptr(end, (group,)), group_start + total)              replicated.py:58
    shared.end[thread] = group_start + total;
    // first_group = cta * GROUPS_PER_CTA                                           replicated.py:64
    const int first_group = cta * 32;
    // last_group = tl.minimum(first_group + GROUPS_PER_CTA, NUM_GROUPS)            replicated.py:65
    const int last_group = min(first_group + 32, 512);

    // num_elements = (last_group - first_group) * BLOCK_SIZE                           parts.py:105
    const int num_elements = (last_group - first_group) * 16;
    __syncthreads();  // orders the stores to `start` and `end` before the loads of them
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // slot = tl.arange(0, SLOT_TILE)                                           replicated.py:45
        const int slot = 4 * thread + 2048 * run;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            // is_mine = is_routed & (slot_group // GROUPS_PER_CTA == cta)          replicated.py:61
            const bool is_mine = is_routed[run][k] && id[run][k] / 32 == cta;
            // first_place = tl.load(tle.gpu.local_ptr(start, (slot_group,)), ...   replicated.py:62
            const int first_place = is_mine ? shared.start[id[run][k]] : 0;
            // tl.store(sorted_ids + first_place + rank, slot, mask=is_mine)        replicated.py:63
            if (is_mine) *(sorted_ids + first_place + rank[run][k]) = slot + k;
        }
    }

    // for tile in range(cta, tl.cdiv(num_elements, TILE), ctas):                       parts.py:106
    for (int tile = 0; tile < (num_elements + 511) / 512; ++tile) {
        // element = tile * TILE + tl.arange(0, TILE)                                   parts.py:107
        const int element = tile * 512 + thread;
        // group = first_group + element // BLOCK_SIZE                                  parts.py:109
        const int group = first_group + element / 16;
        // has_group = element < num_elements                                           parts.py:108
        const bool has_group = element < num_elements;
        // group_end = tl.load(tle.gpu.local_ptr(end, (group,)), mask=has_group, o ...  parts.py:110
        const int group_end = has_group ? shared.end[group] : 0;
        // place = group_end + element % BLOCK_SIZE                                     parts.py:111
        const int place = group_end + element % 16;
        // is_padding = has_group & (place < pad_to_blocks(group_end, BLOCK_SIZE))      parts.py:112
        const bool is_padding = has_group && place < (group_end + 15) / 16 * 16;
        // tl.store(sorted_ids + place, numel, mask=is_padding)                         parts.py:113
        if (is_padding) sorted_ids[place] = numel;
    }
    // for tile in range(cta, tl.cdiv(expert_capacity, TILE), ctas):                     parts.py:84
    for (int tile = cta; tile < (expert_capacity + 511) / 512; tile += ctas) {
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
    // turned = cta - ctas // 2                                                          parts.py:66
    const int turned = cta - ctas / 2;
    // return tl.where(turned < 0, turned + ctas, turned)                                parts.py:67
    const int cta_2 = turned < 0 ? turned + ctas : turned;
    // for first in range(post_pad + cta * TILE, sorted_capacity, ctas * TILE):         parts.py:119
    for (int first = post_pad + cta_2 * 512; first < sorted_capacity; first += ctas * 512) {
        // place = first + tl.arange(0, TILE)                                           parts.py:120
        const int place = first + thread;
        // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)            parts.py:121
        if (place < sorted_capacity) sorted_ids[place] = numel;
    }
    // if cta == 0:                                                                 replicated.py:81
    if (cta == 0) {
        // tl.store(num_post_pad, post_pad)                                         replicated.py:82
        if (thread == 0) *num_post_pad = post_pad;
    }
}
