// moe_align_single_cta.cu: emitted by tle2cuda from single_cta.py:20 (moe_align_single_cta). Do not edit.
//
//   target    sm_90a, 1024 threads per CTA, 8320 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32 align 16,
//             num_post_pad *i32 align 16, numel i32, sorted_capacity i32, expert_capacity i32
//   constants FIRST_EXPERT = 0, NUM_GROUPS = 512, BLOCK_SIZE = 16, SLOT_TILE = 4096,
//             GROUP_TILE = 1024, SEARCH_STEPS = 9, THREADS = 1024, RUNS = False

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

// A vector whose elements are all equal.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> fill_vector(T value)
{
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = value;
    return result;
}

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

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Store the first `valid` of N neighbours: one access when all are valid, else one by one.
template <int N, typename T, typename Count>
__device__ __forceinline__ void store_edge(T* pointer, Count valid, const Vector<T, N>& value)
{
    if (valid >= N) {
        store_vector(pointer, value);
        return;
    }
    #pragma unroll
    for (int k = 0; k < N; ++k)
        if (k < valid) pointer[k] = value[k];
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int count[1024];              // parts.py:26
    alignas(16) int start[1024];              // parts.py:26
    alignas(16) int group_start_scan[32];     // scratch of single_cta.py:51
};
static_assert(sizeof(Shared) <= 8320, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(1024)
moe_align_single_cta(const int* __restrict__ topk_ids, int* sorted_ids, int* expert_ids,
                     int* num_post_pad, const int numel, const int sorted_capacity,
                     const int expert_capacity)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // slot = tl.arange(0, SLOT_TILE)                                               single_cta.py:37
    const int slot = 4 * thread;
    // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)          parts.py:39
    const Vector<int, 4> id = load_edge<4>(topk_ids + slot, numel - slot, -1);

    // is_routed = (group >= 0) & (group < NUM_GROUPS)                                   parts.py:41
    Vector<bool, 4> is_routed;
    #pragma unroll
    for (int k = 0; k < 4; ++k) is_routed[k] = id[k] >= 0 && id[k] < 512;

    // num_tiles = sorted_capacity // TILE                                              parts.py:172
    const int num_tiles = sorted_capacity / 4096;
    // tl.store(tle.gpu.local_ptr(count, (group,)), 0)                              single_cta.py:44
    shared.count[thread] = 0;
    // for tile in tl.range(cta, num_tiles, ctas, loop_unroll_factor=1):                parts.py:173
    #pragma unroll 1
    for (int tile = 0; tile < num_tiles; ++tile) {
        // tl.store(sorted_ids + (tile * TILE + tl.arange(0, TILE)), numel)             parts.py:174
        store_vector(sorted_ids + tile * 4096 + slot, fill_vector<4>(numel));
    }
    __syncthreads();  // orders the stores to `count` before the atomics on it

    // place = num_tiles * TILE + tl.arange(0, TILE)                                    parts.py:176
    const int place = num_tiles * 4096 + slot;

    // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)                parts.py:177
    store_edge(sorted_ids + place, sorted_capacity - place, fill_vector<4>(numel));
    Vector<int, 4> rank;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        // return tl.atomic_add(tle.gpu.local_ptr(counters, (group,)), 1, mask=is_r ...  parts.py:48
        rank[k] = 0;
        if (is_routed[k]) rank[k] = atomicAdd(&shared.count[id[k]], 1);
    }

    // tl.debug_barrier()  # also puts the sentinels below the slots                single_cta.py:48
    __syncthreads();

    // total = tl.load(tle.gpu.local_ptr(count, (group,)))                          single_cta.py:50
    const int total = shared.count[thread];
    // blocks = (count + (BLOCK_SIZE - 1)).to(tl.uint32) // BLOCK_SIZE                   parts.py:32
    const unsigned blocks = static_cast<unsigned>(total + 15) / 16u;
    // return (blocks * BLOCK_SIZE).to(tl.int32)                                         parts.py:33
    const int value = static_cast<int>(blocks * 16u);
    // group_start, post_pad = tle.cumsum(pad_to_blocks(total, BLOCK_SIZE), ax ...  single_cta.py:51
    int post_pad;
    int group_start = cta_exclusive_integer_sum<32, false>(value, post_pad, shared.group_start_scan);
    // tl.store(tle.gpu.local_ptr(start, (group,)), group_start)                    single_cta.py:52
    shared.start[thread] = group_start;

    // num_blocks = post_pad // BLOCK_SIZE                                               parts.py:94
    const int num_blocks = post_pad / 16;
    __syncthreads();  // orders the stores to `start` before the loads of it
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        // first_place = tl.load(tle.gpu.local_ptr(start, (slot_group,)), mask ...  single_cta.py:58
        const int first_place = is_routed[k] ? shared.start[id[k]] : 0;
        // tl.store(sorted_ids + (first_place + rank), slot, mask=is_routed)        single_cta.py:59
        if (is_routed[k]) sorted_ids[first_place + rank[k]] = slot + k;
    }
    // while tl.reduce_or(block < num_blocks, axis=0):                                   parts.py:96
    // turn = element >> 5                                                               parts.py:74
    const int turn = thread >> 5;

    // return (turn * CTAS + cta) * 32 + (element & 31)                                  parts.py:77
    const int block_2 = turn * 32 + (thread & 31);
    int block = block_2;
    #pragma unroll 1
    while (block < num_blocks) {
        // owner = owner_of(block * BLOCK_SIZE, start, SEARCH_STEPS)                     parts.py:97
        const int place_2 = block * 16;
        // for step in range(SEARCH_STEPS):                                              parts.py:58
        int owner = 0;
        for (int step = 0; step < 9; ++step) {
            // candidate = owner + (1 << (SEARCH_STEPS - 1 - step))                      parts.py:59
            const int candidate = owner + (1 << (8 - step));
            // owner = tl.where(tl.load(tle.gpu.local_ptr(start, (candidate,))) <= ...   parts.py:60
            const int start_value = shared.start[candidate];
            owner = start_value <= place_2 ? candidate : owner;
        }

        // tl.store(expert_ids + block, owner + FIRST_EXPERT, mask=block < num_blocks)   parts.py:98
        expert_ids[block] = owner;
        // block = tl.where(block < num_blocks, block + CTAS * THREADS, block)           parts.py:99
        block += 1024;
    }

    // while tl.reduce_or(block < expert_capacity, axis=0):                             parts.py:131
    int block_3 = block;
    #pragma unroll 1
    while (block_3 < expert_capacity) {
        // tl.store(expert_ids + block, 0, mask=block < expert_capacity)                parts.py:132
        expert_ids[block_3] = 0;
        // block = tl.where(block < expert_capacity, block + STEP, block)               parts.py:133
        block_3 += 1024;
    }
    // tl.store(num_post_pad, post_pad)                                             single_cta.py:64
    if (thread == 0) *num_post_pad = post_pad;
}
