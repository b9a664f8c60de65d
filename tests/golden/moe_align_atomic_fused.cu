// moe_align_atomic_fused.cu: emitted by tle2cuda from atomic_fused.py:22 (moe_align_atomic_fused). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 4128 bytes of shared memory
//   launch    cooperative: all CTAs of the grid resident at once
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32 align 16,
//             num_post_pad *i32 align 16, totals *i32 align 16, starts *i32 align 16, numel i32,
//             sorted_capacity i32, expert_capacity i32
//   constants mesh = DeviceMesh(shape=(16,), names=('block_x',)), FIRST_EXPERT = 0,
//             NUM_GROUPS = 512, BLOCK_SIZE = 16, SLOT_TILE = 256, GROUP_TILE = 512

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

// Orders this thread's accesses before it against those after it, as the whole GPU sees them (PTX ISA,
// fence.acq_rel.gpu). __threadfence() is the dearer fence.sc.
__device__ __forceinline__ void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// A vector whose elements are all equal.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> fill_vector(T value)
{
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = value;
    return result;
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

// Load N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* pointer)
{
    return *reinterpret_cast<const Vector<T, N>*>(pointer);
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int count[512];               // parts.py:26
    alignas(16) int start[512];               // parts.py:26
    alignas(16) int group_start_scan[8];      // scratch of atomic_fused.py:64
};
static_assert(sizeof(Shared) <= 4128, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
moe_align_atomic_fused(const int* topk_ids, int* sorted_ids, int* expert_ids, int* num_post_pad,
                       int* totals, int* starts, const int numel, const int sorted_capacity,
                       const int expert_capacity)
{
    __shared__ Shared shared;
    const cg::grid_group grid = cg::this_grid();
    const int thread = threadIdx.x;

    // cta = tl.program_id(0)                                                     atomic_fused.py:39
    const int cta = blockIdx.x;
    // ctas = tl.num_programs(0)                                                  atomic_fused.py:40
    const int ctas = gridDim.x;
    // num_tiles = sorted_capacity // TILE                                              parts.py:172
    const int num_tiles = sorted_capacity / 256;
    // for tile in tl.range(cta, num_tiles, ctas, loop_unroll_factor=1):                parts.py:173
    #pragma unroll 1
    for (int tile = cta; tile < num_tiles; tile += ctas) {
        // tl.store(sorted_ids + (tile * TILE + tl.arange(0, TILE)), numel)             parts.py:174
        sorted_ids[tile * 256 + thread] = numel;
    }
    // if cta == num_tiles % ctas:                                                      parts.py:175
    if (cta == num_tiles % ctas) {
        // place = num_tiles * TILE + tl.arange(0, TILE)                                parts.py:176
        const int place = num_tiles * 256 + thread;
        // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)            parts.py:177
        if (place < sorted_capacity) sorted_ids[place] = numel;
    }
    // num_tiles = sorted_capacity // TILE                                              parts.py:172
    const int num_tiles_2 = expert_capacity / 256;
    // for tile in tl.range(cta, num_tiles, ctas, loop_unroll_factor=1):                parts.py:173
    #pragma unroll 1
    for (int tile = cta; tile < num_tiles_2; tile += ctas) {
        // tl.store(sorted_ids + (tile * TILE + tl.arange(0, TILE)), numel)             parts.py:174
        expert_ids[tile * 256 + thread] = 0;
    }
    // if cta == num_tiles % ctas:                                                      parts.py:175
    if (cta == num_tiles_2 % ctas) {
        // place = num_tiles * TILE + tl.arange(0, TILE)                                parts.py:176
        const int place = num_tiles_2 * 256 + thread;
        // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)            parts.py:177
        if (place < expert_capacity) expert_ids[place] = 0;
    }
    // if cta == 0:                                                               atomic_fused.py:47
    if (cta == 0) {
        // group = tl.arange(0, GROUP_TILE)                                       atomic_fused.py:41
        const int group = 2 * thread;
        // tl.store(totals + group, 0)                                            atomic_fused.py:48
        store_vector(totals + group, fill_vector<2>(0));
    }
    // group = tl.arange(0, GROUP_TILE)                                           atomic_fused.py:41
    const int group = 2 * thread;
    // tl.store(tle.gpu.local_ptr(count, (group,)), 0)                            atomic_fused.py:49
    store_vector(&shared.count[group], fill_vector<2>(0));
    // tle.distributed_barrier(mesh)                                              atomic_fused.py:50
    grid.sync();

    // num_tiles = tl.cdiv(numel, SLOT_TILE)                                      atomic_fused.py:52
    const int num_tiles_3 = (numel + 255) / 256;
    // for tile in range(cta, num_tiles, ctas):                                   atomic_fused.py:53
    for (int tile = cta; tile < num_tiles_3; tile += ctas) {
        // slot = tile * SLOT_TILE + tl.arange(0, SLOT_TILE)                      atomic_fused.py:54
        const int slot = tile * 256 + thread;
        // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)      parts.py:39
        const int id = load_if(slot < numel, topk_ids + slot, -1);
        // is_routed = (group >= 0) & (group < NUM_GROUPS)                               parts.py:41
        const bool is_routed = id >= 0 && id < 512;
        // return tl.atomic_add(tle.gpu.local_ptr(counters, (group,)), 1, mask=is_r ...  parts.py:48
        if (is_routed) atomicAdd(&shared.count[id], 1);
    }
    __syncthreads();  // orders the atomics on `count` before the loads of it and the stores to it
    fence_gpu();  // release: what this thread wrote comes before the atomics

    // mine = tl.load(tle.gpu.local_ptr(count, (group,)))                         atomic_fused.py:57
    const Vector<int, 2> mine = load_vector<2>(&shared.count[group]);
    // before = tl.atomic_add(totals + group, mine, sem="acq_rel", scope="gpu")   atomic_fused.py:58
    Vector<int, 2> before;
    // before = tl.atomic_add(totals + group, mine, sem="acq_rel", scope="gpu")   atomic_fused.py:58
    #pragma unroll
    for (int k = 0; k < 2; ++k) before[k] = atomicAdd(totals + group + k, mine[k]);
    // tl.store(tle.gpu.local_ptr(count, (group,)), before)                       atomic_fused.py:59
    store_vector(&shared.count[group], before);
    fence_gpu();  // acquire: what follows sees what the atomics saw
    // tle.distributed_barrier(mesh)                                              atomic_fused.py:60
    grid.sync();

    // if cta == 0:                                                               atomic_fused.py:62
    if (cta == 0) {
        // padded = pad_to_blocks(tl.load(totals + group), BLOCK_SIZE)            atomic_fused.py:63
        const Vector<int, 2> count = load_vector<2>(totals + group);

        // return (blocks * BLOCK_SIZE).to(tl.int32)                                     parts.py:33
        Vector<int, 2> padded;
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            // blocks = (count + (BLOCK_SIZE - 1)).to(tl.uint32) // BLOCK_SIZE           parts.py:32
            const unsigned blocks = static_cast<unsigned>(count[k] + 15) / 16u;
            padded[k] = static_cast<int>(blocks * 16u);
        }

        // group_start, post_pad = tle.cumsum(padded, axis=0)                     atomic_fused.py:64
        int sum = 0, post_pad;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum += padded[k];
        int group_start_sum = cta_exclusive_integer_sum<8, false>(sum, post_pad, shared.group_start_scan);
        Vector<int, 2> group_start;
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            group_start[k] = group_start_sum;
            group_start_sum += padded[k];
        }

        // tl.store(starts + group, group_start)                                  atomic_fused.py:65
        store_vector(starts + group, group_start);
        // tl.store(num_post_pad, post_pad)                                       atomic_fused.py:66
        if (thread == 0) *num_post_pad = post_pad;
    }
    // tle.distributed_barrier(mesh)                                              atomic_fused.py:67
    grid.sync();

    // tl.store(tle.gpu.local_ptr(start, (group,)), tl.load(starts + group))      atomic_fused.py:69
    const Vector<int, 2> starts_value = load_vector<2>(starts + group);
    store_vector(&shared.start[group], starts_value);
    // for one_group in range(cta, NUM_GROUPS, ctas):                             atomic_fused.py:70
    for (int one_group = cta; one_group < 512; one_group += ctas) {
        // first_place = tl.load(starts + one_group)                              atomic_fused.py:71
        const int first_place = starts[one_group];
        // last_place = first_place + tl.load(totals + one_group)                 atomic_fused.py:72
        const int totals_value = totals[one_group];
        const int last_place = first_place + totals_value;
        // for place in range(first_place, last_place, BLOCK_SIZE):               atomic_fused.py:73
        for (int place = first_place; place < last_place; place += 16) {
            // tl.store(expert_ids + place // BLOCK_SIZE, one_group + FIRST_ ...  atomic_fused.py:74
            if (thread == 0) expert_ids[place / 16] = one_group;
        }
    }
    __syncthreads();  // orders the stores to `start` before the loads of it

    // for tile in range(cta, num_tiles, ctas):                                   atomic_fused.py:76
    for (int tile = cta; tile < num_tiles_3; tile += ctas) {
        // slot = tile * SLOT_TILE + tl.arange(0, SLOT_TILE)                      atomic_fused.py:77
        const int slot = tile * 256 + thread;
        // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)      parts.py:39
        const int id = load_if(slot < numel, topk_ids + slot, -1);
        // is_routed = (group >= 0) & (group < NUM_GROUPS)                               parts.py:41
        const bool is_routed = id >= 0 && id < 512;
        // return tl.atomic_add(tle.gpu.local_ptr(counters, (group,)), 1, mask=is_r ...  parts.py:48
        int rank = 0;
        if (is_routed) rank = atomicAdd(&shared.count[id], 1);
        // first_place = tl.load(tle.gpu.local_ptr(start, (slot_group,)), ma ...  atomic_fused.py:80
        const int first_place = is_routed ? shared.start[id] : 0;
        // tl.store(sorted_ids + first_place + rank, slot, mask=is_routed)        atomic_fused.py:81
        if (is_routed) *(sorted_ids + first_place + rank) = slot;
    }
}
