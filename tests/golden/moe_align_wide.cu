// moe_align_wide.cu: emitted by tle2cuda from wide.py:29 (moe_align_wide). Do not edit.
//
//   target    sm_90a, 1024 threads per CTA, 12416 bytes of shared memory
//   launch    cooperative: all CTAs of the grid resident at once
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32 align 16,
//             num_post_pad *i32 align 16, workspace *i32 align 16, numel i32,
//             sorted_capacity i32, expert_capacity i32
//   constants mesh = DeviceMesh(shape=(4,), names=('block_x',)), FIRST_EXPERT = 0,
//             NUM_GROUPS = 512, BLOCK_SIZE = 16, SLOT_TILE = 1024, GROUP_TILE = 1024,
//             GROUP_SLOTS = 1024, SEARCH_STEPS = 9, THREADS = 1024, CTAS = 4

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
    alignas(16) int start_in_tile_scan[32];   // scratch of wide.py:81
};
static_assert(sizeof(Shared) <= 12416, "the launch contract gives the CTA this much shared memory");

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
    // epoch_ptr = workspace + 2 * GROUP_SLOTS                                            wide.py:54
    int* const epoch_ptr = workspace + 2048;
    // epoch = tl.load(epoch_ptr)                                                         wide.py:55
    const int epoch = *epoch_ptr;
    // tl.store(tle.gpu.local_ptr(count, (group,)), 0)                                    wide.py:60
    shared.count[thread] = 0;
    __syncthreads();  // orders the accesses to `workspace` and `count` before it and after it

    // if cta == 0:                                                                       wide.py:61
    if (cta == 0) {
        // tl.store(spare_totals + group, 0)                                              wide.py:62
        *(workspace + (1 - (epoch & 1)) * 1024 + thread) = 0;
    }
    // num_tiles = tl.cdiv(numel, SLOT_TILE)                                              wide.py:64
    const int num_tiles = (numel + 1023) / 1024;
    // for tile in range(cta, num_tiles, CTAS):                                           wide.py:65
    for (int tile = cta; tile < num_tiles; tile += 4) {
        // slot = tile * SLOT_TILE + tl.arange(0, SLOT_TILE)                              wide.py:66
        const int slot = tile * 1024 + thread;
        // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)      parts.py:39
        const int id = load_if(slot < numel, topk_ids + slot, -1);
        // is_routed = (group >= 0) & (group < NUM_GROUPS)                               parts.py:41
        const bool is_routed = id >= 0 && id < 512;
        // return tl.atomic_add(tle.gpu.local_ptr(counters, (group,)), 1, mask=is_r ...  parts.py:48
        if (is_routed) atomicAdd(&shared.count[id], 1);
    }
    __syncthreads();  // orders the atomics on `count` before the loads of it and the stores to it

    // mine = tl.load(tle.gpu.local_ptr(count, (group,)))                                 wide.py:72
    const int mine = shared.count[thread];

    // before = tl.atomic_add(totals + group, mine, mask=mine > 0, sem="relaxed", sc ...  wide.py:73
    const bool flag = mine > 0;
    int before = 0;
    if (flag) before = atomicAdd(workspace + (epoch & 1) * 1024 + thread, mine);

    // tl.store(tle.gpu.local_ptr(count, (group,)), before, mask=mine > 0)                wide.py:74
    if (flag) shared.count[thread] = before;
    // tle.distributed_barrier(mesh)                                                      wide.py:75
    grid.sync();

    // total = tl.load(totals + group, cache_modifier=".cg")                              wide.py:80
    const int total = load_cg(workspace + (epoch & 1) * 1024 + thread);
    // blocks = (count + (BLOCK_SIZE - 1)).to(tl.uint32) // BLOCK_SIZE                   parts.py:32
    const unsigned blocks = static_cast<unsigned>(total + 15) / 16u;
    // return (blocks * BLOCK_SIZE).to(tl.int32)                                         parts.py:33
    const int value = static_cast<int>(blocks * 16u);
    // start_in_tile, tile_places = tle.cumsum(pad_to_blocks(total, BLOCK_SIZE), axis=0)  wide.py:81
    int tile_places;
    int start_in_tile = cta_exclusive_integer_sum<32, false>(value, tile_places, shared.start_in_tile_scan);
    // before = tl.load(tle.gpu.local_ptr(count, (group,)))                               wide.py:83
    const int before_2 = shared.count[thread];
    // tl.store(tle.gpu.local_ptr(count, (group,)), group_start + before)                 wide.py:84
    shared.count[thread] = start_in_tile + before_2;
    // tl.store(tle.gpu.local_ptr(start, (group,)), group_start)                          wide.py:85
    shared.start[thread] = start_in_tile;
    // tl.store(tle.gpu.local_ptr(end, (group,)), group_start + total)                    wide.py:86
    shared.end[thread] = start_in_tile + total;
    __syncthreads();  // orders the accesses to `count`, `end` and `start` before it and after it

    // for tile in range(cta, num_tiles, CTAS):                                           wide.py:89
    for (int tile = cta; tile < num_tiles; tile += 4) {
        // slot = tile * SLOT_TILE + tl.arange(0, SLOT_TILE)                              wide.py:90
        const int slot = tile * 1024 + thread;
        // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)      parts.py:39
        const int id = load_if(slot < numel, topk_ids + slot, -1);
        // is_routed = (group >= 0) & (group < NUM_GROUPS)                               parts.py:41
        const bool is_routed = id >= 0 && id < 512;
        // return tl.atomic_add(tle.gpu.local_ptr(counters, (group,)), 1, mask=is_r ...  parts.py:48
        int place = 0;
        if (is_routed) place = atomicAdd(&shared.count[id], 1);
        // tl.store(sorted_ids + place, slot, mask=is_routed)                             wide.py:93
        if (is_routed) sorted_ids[place] = slot;
    }
    // while tl.reduce_or(element < num_elements, axis=0):                              parts.py:151
    // turn = element >> 5                                                               parts.py:74
    const int turn = thread >> 5;
    // turn = THREADS // 32 - 1 - turn                                                   parts.py:76
    const int turn_2 = 31 - turn;

    // return (turn * CTAS + cta) * 32 + (element & 31)                                  parts.py:77
    const int index = thread & 31;
    const int element_2 = turn_2 * 128 + cta * 32 + index;
    int element = element_2;
    #pragma unroll 1
    while (element < 8192) {
        // group = first_group + (element.to(tl.uint32) // BLOCK_SIZE).to(tl.int32)     parts.py:152
        const unsigned element_3 = static_cast<unsigned>(element);
        const int group = static_cast<int>(element_3 / 16u);
        // group_end = tl.load(tle.gpu.local_ptr(end, (group,)), mask=element < nu ...  parts.py:153
        const int group_end = shared.end[group];
        // place = group_end + (element.to(tl.uint32) % BLOCK_SIZE).to(tl.int32)        parts.py:154
        const int place = group_end + static_cast<int>(element_3 % 16u);
        // blocks = (count + (BLOCK_SIZE - 1)).to(tl.uint32) // BLOCK_SIZE               parts.py:32
        const unsigned blocks_2 = static_cast<unsigned>(group_end + 15) / 16u;
        // tl.store(sorted_ids + place, numel, mask=is_padding)                         parts.py:156
        if (place < static_cast<int>(blocks_2 * 16u)) sorted_ids[place] = numel;
        // element = tl.where(element < num_elements, element + CTAS * THREADS, el ...  parts.py:157
        element += 4096;
    }
    // num_blocks = post_pad // BLOCK_SIZE                                               parts.py:94
    const int num_blocks = tile_places / 16;

    // while tl.reduce_or(block < num_blocks, axis=0):                                   parts.py:96
    // return (turn * CTAS + cta) * 32 + (element & 31)                                  parts.py:77
    const int block_2 = turn * 128 + cta * 32 + index;
    int block = block_2;
    #pragma unroll 1
    while (block < num_blocks) {
        // owner = owner_of(block * BLOCK_SIZE, start, SEARCH_STEPS)                     parts.py:97
        const int place = block * 16;
        // for step in range(SEARCH_STEPS):                                              parts.py:58
        int owner = 0;
        for (int step = 0; step < 9; ++step) {
            // candidate = owner + (1 << (SEARCH_STEPS - 1 - step))                      parts.py:59
            const int candidate = owner + (1 << (8 - step));
            // owner = tl.where(tl.load(tle.gpu.local_ptr(start, (candidate,))) <= ...   parts.py:60
            const int start_value = shared.start[candidate];
            owner = start_value <= place ? candidate : owner;
        }

        // tl.store(expert_ids + block, owner + FIRST_EXPERT, mask=block < num_blocks)   parts.py:98
        expert_ids[block] = owner;
        // block = tl.where(block < num_blocks, block + CTAS * THREADS, block)           parts.py:99
        block += 4096;
    }

    // while tl.reduce_or(block < expert_capacity, axis=0):                             parts.py:131
    int block_3 = block;
    #pragma unroll 1
    while (block_3 < expert_capacity) {
        // tl.store(expert_ids + block, 0, mask=block < expert_capacity)                parts.py:132
        expert_ids[block_3] = 0;
        // block = tl.where(block < expert_capacity, block + STEP, block)               parts.py:133
        block_3 += 4096;
    }

    // while tl.reduce_or(place < sorted_capacity, axis=0):                             parts.py:164
    // place = post_pad + in_turns(cta, CTAS, THREADS)                                  parts.py:163
    const int place_2 = tile_places + block_2;
    int place = place_2;
    #pragma unroll 1
    while (place < sorted_capacity) {
        // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)            parts.py:165
        sorted_ids[place] = numel;
        // place = tl.where(place < sorted_capacity, place + CTAS * THREADS, place)     parts.py:166
        place += 4096;
    }
    // if cta == 0:                                                                      wide.py:109
    if (cta == 0) {
        // tl.store(num_post_pad, post_pad)                                              wide.py:110
        if (thread == 0) *num_post_pad = tile_places;
        // tl.store(epoch_ptr, epoch + 1)  # every CTA read it before the barrier        wide.py:111
        if (thread == 0) *epoch_ptr = epoch + 1;
    }
}
