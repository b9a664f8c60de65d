// moe_align_cooperative.cu: emitted by tle2cuda from cooperative.py:58 (moe_align_cooperative). Do not edit.
//
//   target    sm_90a, 512 threads per CTA, 8304 bytes of shared memory
//   launch    cooperative: all CTAs of the grid resident at once
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32 align 16,
//             num_post_pad *i32 align 16, workspace *i32 align 16, numel i32, slots_per_cta i32,
//             sorted_capacity i32, expert_capacity i32
//   constants FIRST_EXPERT = 0, NUM_GROUPS = 512, BLOCK_SIZE = 16, SLOT_TILE = 512,
//             GROUP_TILE = 512, SEARCH_STEPS = 9, THREADS = 512, ONE_CTA = 4194304

#include <cub/block/block_scan.cuh>

namespace {

using BlockScan = cub::BlockScan<int, 512, cub::BLOCK_SCAN_WARP_SCANS>;

// Reduce across the 32 lanes of a warp by a commutative function; every lane receives the result. Called by whole warps.
template <typename T, typename Combine>
__device__ __forceinline__ T warp_all_reduce(T value, Combine combine)
{
    #pragma unroll
    for (int lane_mask = 16; lane_mask > 0; lane_mask >>= 1)
        value = combine(value, static_cast<T>(__shfl_xor_sync(0xffffffffu, value, lane_mask)));
    return value;
}

// Reduce across the WARPS warps of a CTA by a commutative function, through one shared slot per warp; every thread
// receives the result. Called by all threads. Contains one CTA barrier, between writing and reading the slots; another
// one has to follow before they are written again.
template <int WARPS, typename T, typename Slot, typename Combine>
__device__ __forceinline__ T cta_all_reduce(T value, Slot (&slots)[WARPS], Combine combine)
{
    value = warp_all_reduce(value, combine);
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
    __syncthreads();
    value = slots[0];
    #pragma unroll
    for (int warp = 1; warp < WARPS; ++warp) value = combine(value, static_cast<T>(slots[warp]));
    return value;
}

// Volatile read of a machine word in any state space; wide ones go 8 bytes at a time, as C++ has no wider volatile access.
template <typename T>
__device__ __forceinline__ T load_word_volatile(const T* pointer)
{
    T word;
    if constexpr (sizeof(T) <= 4) {
        word = *reinterpret_cast<const volatile T*>(pointer);
    } else {
        #pragma unroll
        for (int i = 0; i < static_cast<int>(sizeof(T) / 8); ++i) {
            const unsigned long long bits = reinterpret_cast<const volatile unsigned long long*>(pointer)[i];
            memcpy(reinterpret_cast<unsigned char*>(&word) + 8 * i, &bits, 8);
        }
    }
    return word;
}

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

// Load N neighbours anew from memory, whatever caches hold; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_cv(const T* pointer)
{
    using Split = Words<T, N>;
    Vector<T, N> result;
    #pragma unroll
    for (int i = 0; i < Split::COUNT; ++i) {
        const typename Split::Type word = load_word_volatile(reinterpret_cast<const typename Split::Type*>(pointer) + i);
        memcpy(reinterpret_cast<unsigned char*>(&result) + i * sizeof(word), &word, sizeof(word));
    }
    return result;
}
template <int N>  // bool: a byte other than 0 is true
__device__ __forceinline__ Vector<bool, N> load_vector_cv(const bool* pointer)
{
    const Vector<unsigned char, N> bytes = load_vector_cv<N>(reinterpret_cast<const unsigned char*>(pointer));
    Vector<bool, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = bytes[k] != 0;
    return result;
}

// Load one element anew from memory, whatever caches hold.
template <typename T>
__device__ __forceinline__ T load_cv(const T* pointer)
{
    return load_vector_cv<1>(pointer)[0];
}

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
    alignas(16) unsigned char or_slots[16];   // scratch of cooperative.py:52
    alignas(16) BlockScan::TempStorage group_start_scan;  // scratch of cooperative.py:101
};
static_assert(sizeof(Shared) <= 8304, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(512)
moe_align_cooperative(const int* __restrict__ topk_ids, int* sorted_ids, int* expert_ids,
                      int* num_post_pad, int* workspace, const int numel, const int slots_per_cta,
                      const int sorted_capacity, const int expert_capacity)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // cta = tl.program_id(0)                                                      cooperative.py:77
    const int cta = blockIdx.x;
    // ctas = tl.num_programs(0)                                                   cooperative.py:78
    const int ctas = gridDim.x;
    // first_slot = cta * tl.multiple_of(slots_per_cta, 32)                        cooperative.py:79
    const int first_slot = cta * slots_per_cta;
    // last_slot = tl.minimum(first_slot + slots_per_cta, numel)                   cooperative.py:80
    const int last_slot = min(first_slot + slots_per_cta, numel);
    // epoch_ptr = workspace + 2 * GROUP_TILE                                      cooperative.py:89
    int* const epoch_ptr = workspace + 1024;
    // epoch = tl.load(epoch_ptr)                                                  cooperative.py:90
    const int epoch = *epoch_ptr;
    // slot = first_slot + tl.arange(0, SLOT_TILE)                                 cooperative.py:81
    const int slot = first_slot + thread;
    // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)          parts.py:38
    const int id = load_nc_if(slot < last_slot, topk_ids + slot, -1);
    // is_routed = (group >= 0) & (group < NUM_GROUPS)                                   parts.py:40
    const bool is_routed = id >= 0 && id < 512;
    // tl.store(tle.gpu.local_ptr(count, (group,)), 0)                             cooperative.py:92
    shared.count[thread] = 0;
    __syncthreads();  // orders the accesses to `count` and `workspace` before it and after it

    // return tl.atomic_add(tle.gpu.local_ptr(counters, (group,)), 1, mask=is_route ...  parts.py:47
    int rank = 0;
    if (is_routed) rank = atomicAdd(&shared.count[id], 1);
    // if cta == 0:                                                                cooperative.py:96
    if (cta == 0) {
        // tl.store(workspace + (1 - (epoch & 1)) * GROUP_TILE + group, 0)         cooperative.py:98
        *(workspace + (1 - (epoch & 1)) * 512 + thread) = 0;
    }
    // complete = ctas * ONE_CTA                                                   cooperative.py:49
    const int complete = ctas * 4194304;
    __syncthreads();  // orders the atomics on `count` before the loads of it

    // mine = tl.load(tle.gpu.local_ptr(count, (group,)))                          cooperative.py:99
    const int mine = shared.count[thread];
    // old = tl.atomic_add(totals, mine + ONE_CTA, mask=has_group, sem="relax ...  cooperative.py:50
    const int old = atomicAdd(workspace + (epoch & 1) * 512 + thread, mine + 4194304);
    // counted = tl.where(has_group, old + mine + ONE_CTA, complete)               cooperative.py:51
    const int counted = old + mine + 4194304;

    // while tl.reduce_or(counted < complete, axis=0):                             cooperative.py:52
    int counted_2 = counted;
    while (true) {
        __syncthreads();  // orders the loads of the scratch `or_slots` before the stores to it
        bool any = counted_2 < complete;
        any = cta_all_reduce(any, shared.or_slots, [](bool a, bool b) -> bool { return a || b; });
        if (!any) break;

        // counted = tl.load(totals, mask=has_group, other=complete, volatile ...  cooperative.py:53
        counted_2 = load_cv(workspace + (epoch & 1) * 512 + thread);
    }
    // return counted & (ONE_CTA - 1), old & (ONE_CTA - 1)                         cooperative.py:54
    const int total = counted_2 & 4194303;
    const int before = old & 4194303;
    // return (count + (BLOCK_SIZE - 1)) // BLOCK_SIZE * BLOCK_SIZE                      parts.py:32
    const int product = (total + 15) / 16 * 16;
    // group_start, post_pad = tle.cumsum(pad_to_blocks(total, BLOCK_SIZE), ...   cooperative.py:101
    int group_start, post_pad;
    BlockScan(shared.group_start_scan).ExclusiveSum(product, group_start, post_pad);
    // tl.store(tle.gpu.local_ptr(start, (group,)), group_start)                  cooperative.py:102
    shared.start[thread] = group_start;
    // tl.store(tle.gpu.local_ptr(base, (group,)), group_start + before)          cooperative.py:103
    shared.base[thread] = group_start + before;
    // tl.store(tle.gpu.local_ptr(end, (group,)), group_start + total)            cooperative.py:104
    shared.end[thread] = group_start + total;
    __syncthreads();  // orders the stores to `base`, `start` and `end` before the loads of them

    // first_place = tl.load(tle.gpu.local_ptr(base, (slot_group,)), mask=is ...  cooperative.py:106
    const int first_place = is_routed ? shared.base[id] : 0;
    // tl.store(sorted_ids + first_place + rank, slot, mask=is_routed)            cooperative.py:107
    if (is_routed) *(sorted_ids + first_place + rank) = slot;
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
    // write_padding(sorted_ids, numel, end, 0, NUM_GROUPS, ctas - 1 - cta, ...   cooperative.py:121
    const int cta_2 = ctas - 1 - cta;
    // for tile in range(cta, tl.cdiv(num_elements, TILE), ctas):                       parts.py:106
    for (int tile = cta_2; tile < 16; tile += ctas) {
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
    const int turned = cta - ctas / 2;
    // return tl.where(turned < 0, turned + ctas, turned)                                parts.py:67
    const int cta_3 = turned < 0 ? turned + ctas : turned;
    // for first in range(post_pad + cta * TILE, sorted_capacity, ctas * TILE):         parts.py:119
    for (int first = post_pad + cta_3 * 512; first < sorted_capacity; first += ctas * 512) {
        // place = first + tl.arange(0, TILE)                                           parts.py:120
        const int place = first + thread;
        // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)            parts.py:121
        if (place < sorted_capacity) sorted_ids[place] = numel;
    }
    // if cta == 0:                                                               cooperative.py:123
    if (cta == 0) {
        // tl.store(num_post_pad, post_pad)                                       cooperative.py:124
        if (thread == 0) *num_post_pad = post_pad;
        // tl.store(epoch_ptr, epoch + 1)  # every CTA read it before it add ...  cooperative.py:125
        if (thread == 0) *epoch_ptr = epoch + 1;
    }
}
