// moe_align_replicated.cu: emitted by tle2cuda from replicated.py:26 (moe_align_replicated). Do not edit.
//
//   target    sm_90a, 1024 threads per CTA, 12416 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32 align 16,
//             num_post_pad *i32 align 16, numel i32, sorted_capacity i32, expert_capacity i32
//   constants FIRST_EXPERT = 0, NUM_GROUPS = 512, GROUPS_PER_CTA = 16, BLOCK_SIZE = 16,
//             SLOT_TILE = 4096, GROUP_TILE = 1024, SEARCH_STEPS = 9, THREADS = 1024, CTAS = 32,
//             RUNS = True

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
    alignas(16) int count[1024];              // parts.py:26
    alignas(16) int start[1024];              // parts.py:26
    alignas(16) int end[1024];                // parts.py:26
    alignas(16) int group_start_scan[32];     // scratch of replicated.py:57
};
static_assert(sizeof(Shared) <= 12416, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(1024)
moe_align_replicated(const int* __restrict__ topk_ids, int* sorted_ids, int* expert_ids,
                     int* num_post_pad, const int numel, const int sorted_capacity,
                     const int expert_capacity)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // cta = tl.program_id(0)                                                       replicated.py:45
    const int cta = blockIdx.x;
    // slot = tl.arange(0, SLOT_TILE)                                               replicated.py:46
    const int slot = 4 * thread;
    // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)          parts.py:39
    const Vector<int, 4> id = load_edge<4>(topk_ids + slot, numel - slot, -1);

    // is_routed = (group >= 0) & (group < NUM_GROUPS)                                   parts.py:41
    Vector<bool, 4> is_routed;
    #pragma unroll
    for (int k = 0; k < 4; ++k) is_routed[k] = id[k] >= 0 && id[k] < 512;

    // tl.store(tle.gpu.local_ptr(count, (group,)), 0)                              replicated.py:53
    shared.count[thread] = 0;
    __syncthreads();  // orders the stores to `count` before the atomics on it
    Vector<int, 4> rank;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        // return tl.atomic_add(tle.gpu.local_ptr(counters, (group,)), 1, mask=is_r ...  parts.py:48
        rank[k] = 0;
        if (is_routed[k]) rank[k] = atomicAdd(&shared.count[id[k]], 1);
    }
    __syncthreads();  // orders the atomics on `count` before the loads of it

    // total = tl.load(tle.gpu.local_ptr(count, (group,)))                          replicated.py:56
    const int total = shared.count[thread];
    // blocks = (count + (BLOCK_SIZE - 1)).to(tl.uint32) // BLOCK_SIZE                   parts.py:32
    const unsigned blocks = static_cast<unsigned>(total + 15) / 16u;
    // return (blocks * BLOCK_SIZE).to(tl.int32)                                         parts.py:33
    const int value = static_cast<int>(blocks * 16u);
    // group_start, post_pad = tle.cumsum(pad_to_blocks(total, BLOCK_SIZE), ax ...  replicated.py:57
    int post_pad;
    int group_start = cta_exclusive_integer_sum<32, false>(value, post_pad, shared.group_start_scan);
    // tl.store(tle.gpu.local_ptr(start, (group,)), group_start)                    replicated.py:58
    shared.start[thread] = group_start;
    // tl.store(tle.gpu.local_ptr(end, (group,)), group_start + total)              replicated.py:59
    shared.end[thread] = group_start + total;
    // first_block = group_start.to(tl.uint32) // BLOCK_SIZE                            parts.py:119
    const unsigned first_block = static_cast<unsigned>(group_start) / 16u;
    // last_block = first_block + (total + (BLOCK_SIZE - 1)).to(tl.uint32) // BLOC ...  parts.py:120
    const unsigned last_block = first_block + blocks;
    // block = first_block + (cta + CTAS - first_block % CTAS) % CTAS  # the first ...  parts.py:121
    const unsigned block = first_block + (static_cast<unsigned>(cta + 32) - first_block % 32u) % 32u;

    // while tl.reduce_or(block < last_block, axis=0):                                  parts.py:122
    unsigned block_2 = block;
    #pragma unroll 1
    while (block_2 < last_block) {
        // tl.store(expert_ids + block, expert, mask=block < last_block)                parts.py:123
        expert_ids[block_2] = thread;
        // block = tl.where(block < last_block, block + CTAS, block)                    parts.py:124
        block_2 += 32u;
    }
    // while tl.reduce_or(block < expert_capacity, axis=0):                             parts.py:131
    // turn = element >> 5                                                               parts.py:74
    const int turn = thread >> 5;
    // return (turn * CTAS + cta) * 32 + (element & 31)                                  parts.py:77
    const int index = thread & 31;
    const int index_2 = turn * 1024 + cta * 32 + index;

    // clear_blocks(expert_ids, post_pad // BLOCK_SIZE + in_turns(cta, CTAS, THREA ...  parts.py:125
    const int block_4 = post_pad / 16 + index_2;
    int block_3 = block_4;
    #pragma unroll 1
    while (block_3 < expert_capacity) {
        // tl.store(expert_ids + block, 0, mask=block < expert_capacity)                parts.py:132
        expert_ids[block_3] = 0;
        // block = tl.where(block < expert_capacity, block + STEP, block)               parts.py:133
        block_3 += 32768;
    }

    // while tl.reduce_or(place < sorted_capacity, axis=0):                             parts.py:164
    // place = post_pad + in_turns(cta, CTAS, THREADS)                                  parts.py:163
    const int place_2 = post_pad + index_2;
    int place = place_2;
    #pragma unroll 1
    while (place < sorted_capacity) {
        // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)            parts.py:165
        sorted_ids[place] = numel;
        // place = tl.where(place < sorted_capacity, place + CTAS * THREADS, place)     parts.py:166
        place += 32768;
    }
    // first_group = cta * GROUPS_PER_CTA                                           replicated.py:78
    const int first_group = cta * 16;
    // last_group = tl.minimum(first_group + GROUPS_PER_CTA, NUM_GROUPS)            replicated.py:79
    const int last_group = min(first_group + 16, 512);

    // num_elements = (last_group - first_group) * BLOCK_SIZE                           parts.py:149
    const int num_elements = (last_group - first_group) * 16;
    __syncthreads();  // orders the stores to `start` and `end` before the loads of them
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        // is_mine = is_routed & (slot_group >= first_group) & (slot_group < l ...  replicated.py:80
        const bool is_mine = is_routed[k] && id[k] >= first_group && id[k] < last_group;
        // first_place = tl.load(tle.gpu.local_ptr(start, (slot_group,)), mask ...  replicated.py:81
        const int first_place = is_mine ? shared.start[id[k]] : 0;
        // tl.store(sorted_ids + (first_place + rank), slot, mask=is_mine)          replicated.py:82
        if (is_mine) sorted_ids[first_place + rank[k]] = slot + k;
    }
    // while tl.reduce_or(element < num_elements, axis=0):                              parts.py:151
    // turn = THREADS // 32 - 1 - turn                                                   parts.py:76
    const int turn_2 = 31 - turn;

    // return (turn * CTAS + cta) * 32 + (element & 31)                                  parts.py:77
    const int element_2 = turn_2 * 32 + index;
    int element = element_2;
    #pragma unroll 1
    while (element < num_elements) {
        // group = first_group + (element.to(tl.uint32) // BLOCK_SIZE).to(tl.int32)     parts.py:152
        const unsigned element_3 = static_cast<unsigned>(element);
        const int group = first_group + static_cast<int>(element_3 / 16u);
        // group_end = tl.load(tle.gpu.local_ptr(end, (group,)), mask=element < nu ...  parts.py:153
        const int group_end = shared.end[group];
        // place = group_end + (element.to(tl.uint32) % BLOCK_SIZE).to(tl.int32)        parts.py:154
        const int place_3 = group_end + static_cast<int>(element_3 % 16u);
        // blocks = (count + (BLOCK_SIZE - 1)).to(tl.uint32) // BLOCK_SIZE               parts.py:32
        const unsigned blocks_2 = static_cast<unsigned>(group_end + 15) / 16u;
        // tl.store(sorted_ids + place, numel, mask=is_padding)                         parts.py:156
        if (place_3 < static_cast<int>(blocks_2 * 16u)) sorted_ids[place_3] = numel;
        // element = tl.where(element < num_elements, element + CTAS * THREADS, el ...  parts.py:157
        element += 1024;
    }
    // if cta == 0:                                                                 replicated.py:97
    if (cta == 0) {
        // tl.store(num_post_pad, post_pad)                                         replicated.py:98
        if (thread == 0) *num_post_pad = post_pad;
    }
}
