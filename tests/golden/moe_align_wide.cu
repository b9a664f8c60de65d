// moe_align_wide.cu: emitted by tle2cuda from wide.py:30 (moe_align_wide). Do not edit.
//
//   target    sm_90a, 1024 threads per CTA, 12480 bytes of shared memory
//   launch    cooperative: all CTAs of the grid resident at once
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32 align 16,
//             num_post_pad *i32 align 16, workspace *i32 align 16, numel i32,
//             sorted_capacity i32, expert_capacity i32
//   constants mesh = DeviceMesh(shape=(4,), names=('block_x',)), FIRST_EXPERT = 0,
//             NUM_GROUPS = 512, BLOCK_SIZE = 16, SLOT_TILE = 1024, GROUP_TILE = 1024,
//             GROUP_SLOTS = 1024, SEARCH_STEPS = 9, THREADS = 1024

#include <cooperative_groups.h>
#include <cub/block/block_scan.cuh>

namespace cg = cooperative_groups;

namespace {

using BlockScan = cub::BlockScan<int, 1024, cub::BLOCK_SCAN_WARP_SCANS>;

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// The machine word that moves BYTES bytes at once: Word<16>::Type is uint4.
template <int BYTES>
struct Word;
template <>
struct Word<1> { using Type = unsigned char; };
template <>
struct Word<2> { using Type = unsigned short; };
template <>
struct Word<4> { using Type = unsigned; };
template <>
struct Word<8> { using Type = uint2; };
template <>
struct Word<16> { using Type = uint4; };

// How a vector splits into words: COUNT words of up to 16 bytes.
template <typename T, int N>
struct Words {
    static constexpr int BYTES = sizeof(T) * N;
    static constexpr int COUNT = BYTES < 16 ? 1 : BYTES / 16;
    using Type = typename Word<BYTES / COUNT>::Type;
};

// Load N neighbours, cached in L2 only (ld.cg); the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_cg(const T* pointer)
{
    using Split = Words<T, N>;
    Vector<T, N> result;
    #pragma unroll
    for (int i = 0; i < Split::COUNT; ++i) {
        const typename Split::Type word = __ldcg(reinterpret_cast<const typename Split::Type*>(pointer) + i);
        memcpy(reinterpret_cast<unsigned char*>(&result) + i * sizeof(word), &word, sizeof(word));
    }
    return result;
}
template <int N>  // bool: a byte other than 0 is true
__device__ __forceinline__ Vector<bool, N> load_vector_cg(const bool* pointer)
{
    const Vector<unsigned char, N> bytes = load_vector_cg<N>(reinterpret_cast<const unsigned char*>(pointer));
    Vector<bool, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = bytes[k] != 0;
    return result;
}

// Load one element, cached in L2 only (ld.cg).
template <typename T>
__device__ __forceinline__ T load_cg(const T* pointer)
{
    return load_vector_cg<1>(pointer)[0];
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
    alignas(16) int start[1024];              // parts.py:26
    alignas(16) int end[1024];                // parts.py:26
    alignas(16) BlockScan::TempStorage start_in_tile_scan;  // scratch of wide.py:82
};
static_assert(sizeof(Shared) <= 12480, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(1024)
moe_align_wide(const int* topk_ids, int* sorted_ids, int* expert_ids, int* num_post_pad,
               int* workspace, const int numel, const int sorted_capacity,
               const int expert_capacity)
{
    __shared__ Shared shared;
    const cg::grid_group grid = cg::this_grid();
    const int thread = threadIdx.x;

    // cta = tl.program_id(0)                                                             wide.py:49
    const int cta = blockIdx.x;
    // ctas = tl.num_programs(0)                                                          wide.py:50
    const int ctas = gridDim.x;
    // epoch_ptr = workspace + 2 * GROUP_SLOTS                                            wide.py:55
    int* const epoch_ptr = workspace + 2048;
    // epoch = tl.load(epoch_ptr)                                                         wide.py:56
    const int epoch = *epoch_ptr;
    // tl.store(tle.gpu.local_ptr(count, (group,)), 0)                                    wide.py:61
    shared.count[thread] = 0;
    __syncthreads();  // orders the accesses to `workspace` and `count` before it and after it

    // if cta == 0:                                                                       wide.py:62
    if (cta == 0) {
        // tl.store(spare_totals + group, 0)                                              wide.py:63
        *(workspace + (1 - (epoch & 1)) * 1024 + thread) = 0;
    }
    // num_tiles = tl.cdiv(numel, SLOT_TILE)                                              wide.py:65
    const int num_tiles = (numel + 1023) / 1024;
    // for tile in range(cta, num_tiles, ctas):                                           wide.py:66
    for (int tile = cta; tile < num_tiles; tile += ctas) {
        // slot = tile * SLOT_TILE + tl.arange(0, SLOT_TILE)                              wide.py:67
        const int slot = tile * 1024 + thread;
        // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)      parts.py:38
        const int id = load_if(slot < numel, topk_ids + slot, -1);
        // is_routed = (group >= 0) & (group < NUM_GROUPS)                               parts.py:40
        const bool is_routed = id >= 0 && id < 512;
        // return tl.atomic_add(tle.gpu.local_ptr(counters, (group,)), 1, mask=is_r ...  parts.py:47
        if (is_routed) atomicAdd(&shared.count[id], 1);
    }
    __syncthreads();  // orders the atomics on `count` before the loads of it and the stores to it

    // mine = tl.load(tle.gpu.local_ptr(count, (group,)))                                 wide.py:73
    const int mine = shared.count[thread];

    // before = tl.atomic_add(totals + group, mine, mask=mine > 0, sem="relaxed", sc ...  wide.py:74
    const bool flag = mine > 0;
    int before = 0;
    if (flag) before = atomicAdd(workspace + (epoch & 1) * 1024 + thread, mine);

    // tl.store(tle.gpu.local_ptr(count, (group,)), before, mask=mine > 0)                wide.py:75
    if (flag) shared.count[thread] = before;
    // tle.distributed_barrier(mesh)                                                      wide.py:76
    grid.sync();

    // total = tl.load(totals + group, cache_modifier=".cg")                              wide.py:81
    const int total = load_cg(workspace + (epoch & 1) * 1024 + thread);
    // return (count + (BLOCK_SIZE - 1)) // BLOCK_SIZE * BLOCK_SIZE                      parts.py:32
    const int product = (total + 15) / 16 * 16;
    // start_in_tile, tile_places = tle.cumsum(pad_to_blocks(total, BLOCK_SIZE), axis=0)  wide.py:82
    int start_in_tile, tile_places;
    BlockScan(shared.start_in_tile_scan).ExclusiveSum(product, start_in_tile, tile_places);
    // before = tl.load(tle.gpu.local_ptr(count, (group,)))                               wide.py:84
    const int before_2 = shared.count[thread];
    // tl.store(tle.gpu.local_ptr(count, (group,)), group_start + before)                 wide.py:85
    shared.count[thread] = start_in_tile + before_2;
    // tl.store(tle.gpu.local_ptr(start, (group,)), group_start)                          wide.py:86
    shared.start[thread] = start_in_tile;
    // tl.store(tle.gpu.local_ptr(end, (group,)), group_start + total)                    wide.py:87
    shared.end[thread] = start_in_tile + total;
    __syncthreads();  // orders the accesses to `count`, `start` and `end` before it and after it

    // for tile in range(cta, num_tiles, ctas):                                           wide.py:90
    for (int tile = cta; tile < num_tiles; tile += ctas) {
        // slot = tile * SLOT_TILE + tl.arange(0, SLOT_TILE)                              wide.py:91
        const int slot = tile * 1024 + thread;
        // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)      parts.py:38
        const int id = load_if(slot < numel, topk_ids + slot, -1);
        // is_routed = (group >= 0) & (group < NUM_GROUPS)                               parts.py:40
        const bool is_routed = id >= 0 && id < 512;
        // return tl.atomic_add(tle.gpu.local_ptr(counters, (group,)), 1, mask=is_r ...  parts.py:47
        int place = 0;
        if (is_routed) place = atomicAdd(&shared.count[id], 1);
        // tl.store(sorted_ids + place, slot, mask=is_routed)                             wide.py:94
        if (is_routed) sorted_ids[place] = slot;
    }
    // for tile in range(cta, tl.cdiv(expert_capacity, TILE), ctas):                     parts.py:84
    for (int tile = cta; tile < (expert_capacity + 1023) / 1024; tile += ctas) {
        // for step in range(SEARCH_STEPS):                                              parts.py:57
        int owner = 0;
        // block = tile * TILE + tl.arange(0, TILE)                                      parts.py:85
        const int block = tile * 1024 + thread;
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
        const int expert = place < tile_places ? owner : 0;
        // tl.store(expert_ids + block, expert, mask=block < expert_capacity)            parts.py:89
        if (block < expert_capacity) expert_ids[block] = expert;
    }
    // write_padding(sorted_ids, numel, end, 0, NUM_GROUPS, ctas - 1 - cta, ctas, B ...  wide.py:109
    const int cta_2 = ctas - 1 - cta;
    // for tile in range(cta, tl.cdiv(num_elements, TILE), ctas):                       parts.py:106
    for (int tile = cta_2; tile < 8; tile += ctas) {
        // element = tile * TILE + tl.arange(0, TILE)                                   parts.py:107
        const int element = tile * 1024 + thread;
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
    const int turned = cta - ctas / 2;
    // return tl.where(turned < 0, turned + ctas, turned)                                parts.py:67
    const int cta_3 = turned < 0 ? turned + ctas : turned;
    // for first in range(post_pad + cta * TILE, sorted_capacity, ctas * TILE):         parts.py:119
    for (int first = tile_places + cta_3 * 1024; first < sorted_capacity; first += ctas * 1024) {
        // place = first + tl.arange(0, TILE)                                           parts.py:120
        const int place = first + thread;
        // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)            parts.py:121
        if (place < sorted_capacity) sorted_ids[place] = numel;
    }
    // if cta == 0:                                                                      wide.py:111
    if (cta == 0) {
        // tl.store(num_post_pad, post_pad)                                              wide.py:112
        if (thread == 0) *num_post_pad = tile_places;
        // tl.store(epoch_ptr, epoch + 1)  # every CTA read it before the barrier        wide.py:113
        if (thread == 0) *epoch_ptr = epoch + 1;
    }
}
