// moe_align_cooperative.cu: emitted by tle2cuda from cooperative.py:52 (moe_align_cooperative). Do not edit.
//
//   target    sm_90a, 512 threads per CTA, 8256 bytes of shared memory
//   launch    cooperative: all CTAs of the grid resident at once
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32 align 16,
//             num_post_pad *i32 align 16, workspace *i32 align 16, numel i32, slots_per_cta i32,
//             sorted_capacity i32, expert_capacity i32
//   constants FIRST_EXPERT = 0, NUM_GROUPS = 512, BLOCK_SIZE = 16, SLOT_TILE = 512,
//             GROUP_TILE = 512, SEARCH_STEPS = 9, THREADS = 512, CTAS = 16, ONE_CTA = 4194304

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
    alignas(16) int group_start_scan[16];     // scratch of cooperative.py:98
};
static_assert(sizeof(Shared) <= 8256, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(512)
moe_align_cooperative(const int* __restrict__ topk_ids, int* sorted_ids, int* expert_ids,
                      int* num_post_pad, int* workspace, const int numel, const int slots_per_cta,
                      const int sorted_capacity, const int expert_capacity)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // cta = tl.program_id(0)                                                      cooperative.py:72
    const int cta = blockIdx.x;
    // first_slot = cta * tl.multiple_of(slots_per_cta, 32)                        cooperative.py:73
    const int first_slot = cta * slots_per_cta;
    // last_slot = tl.minimum(first_slot + slots_per_cta, numel)                   cooperative.py:74
    const int last_slot = min(first_slot + slots_per_cta, numel);
    // epoch_ptr = workspace + 2 * GROUP_TILE                                      cooperative.py:83
    int* const epoch_ptr = workspace + 1024;
    // epoch = tl.load(epoch_ptr)                                                  cooperative.py:84
    const int epoch = *epoch_ptr;
    // slot = first_slot + tl.arange(0, SLOT_TILE)                                 cooperative.py:75
    const int slot = first_slot + thread;
    // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)          parts.py:39
    const int id = load_nc_if(slot < last_slot, topk_ids + slot, -1);
    // is_routed = (group >= 0) & (group < NUM_GROUPS)                                   parts.py:41
    const bool is_routed = id >= 0 && id < 512;
    // tl.store(tle.gpu.local_ptr(count, (group,)), 0)                             cooperative.py:86
    shared.count[thread] = 0;
    __syncthreads();  // orders the stores to `count` before the atomics on it

    // return tl.atomic_add(tle.gpu.local_ptr(counters, (group,)), 1, mask=is_route ...  parts.py:48
    int rank = 0;
    if (is_routed) rank = atomicAdd(&shared.count[id], 1);
    __syncthreads();  // orders the atomics on `count` before the loads of it

    // mine = tl.load(tle.gpu.local_ptr(count, (group,)))                          cooperative.py:90
    const int mine = shared.count[thread];
    // old = tl.atomic_add(totals, mine + ONE_CTA, mask=has_group, sem="relax ...  cooperative.py:91
    const int old = atomicAdd(workspace + (epoch & 1) * 512 + thread, mine + 4194304);
    // if cta == 0:                                                                cooperative.py:92
    if (cta == 0) {
        // tl.store(workspace + (1 - (epoch & 1)) * GROUP_TILE + group, 0)         cooperative.py:94
        *(workspace + (1 - (epoch & 1)) * 512 + thread) = 0;
    }
    // counted = wait_for_all(totals, old + mine + ONE_CTA, has_group, CTAS * ...  cooperative.py:95
    const int counted = old + mine + 4194304;

    // while tl.reduce_or(counted < complete, axis=0):                             cooperative.py:46
    int counted_2 = counted;
    #pragma unroll 1
    while (counted_2 < 67108864) {
        // counted = tl.load(totals, mask=counted < complete, other=counted, ...   cooperative.py:47
        counted_2 = load_cv(workspace + (epoch & 1) * 512 + thread);
    }
    // total = counted & (ONE_CTA - 1)                                             cooperative.py:96
    const int total = counted_2 & 4194303;
    // before = old & (ONE_CTA - 1)  # from the CTAs that came before this one     cooperative.py:97
    const int before = old & 4194303;
    // blocks = (count + (BLOCK_SIZE - 1)).to(tl.uint32) // BLOCK_SIZE                   parts.py:32
    const unsigned blocks = static_cast<unsigned>(total + 15) / 16u;
    // return (blocks * BLOCK_SIZE).to(tl.int32)                                         parts.py:33
    const int value = static_cast<int>(blocks * 16u);
    // group_start, post_pad = tle.cumsum(pad_to_blocks(total, BLOCK_SIZE), a ...  cooperative.py:98
    int post_pad;
    int group_start = cta_exclusive_integer_sum<16, false>(value, post_pad, shared.group_start_scan);
    // tl.store(tle.gpu.local_ptr(start, (group,)), group_start)                   cooperative.py:99
    shared.start[thread] = group_start;
    // tl.store(tle.gpu.local_ptr(base, (group,)), group_start + before)          cooperative.py:100
    shared.base[thread] = group_start + before;
    // tl.store(tle.gpu.local_ptr(end, (group,)), group_start + total)            cooperative.py:101
    shared.end[thread] = group_start + total;
    // while tl.reduce_or(place < sorted_capacity, axis=0):                             parts.py:164
    // turn = element >> 5                                                               parts.py:74
    const int turn = thread >> 5;
    // return (turn * CTAS + cta) * 32 + (element & 31)                                  parts.py:77
    const int index = thread & 31;
    const int block = turn * 512 + cta * 32 + index;

    // place = post_pad + in_turns(cta, CTAS, THREADS)                                  parts.py:163
    const int place_2 = post_pad + block;
    int place = place_2;
    #pragma unroll 1
    while (place < sorted_capacity) {
        // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)            parts.py:165
        sorted_ids[place] = numel;
        // place = tl.where(place < sorted_capacity, place + CTAS * THREADS, place)     parts.py:166
        place += 8192;
    }
    __syncthreads();  // orders the stores to `base`, `end` and `start` before the loads of them

    // first_place = tl.load(tle.gpu.local_ptr(base, (slot_group,)), mask=is ...  cooperative.py:104
    const int first_place = is_routed ? shared.base[id] : 0;
    // tl.store(sorted_ids + (first_place + rank), slot, mask=is_routed)          cooperative.py:105
    if (is_routed) sorted_ids[first_place + rank] = slot;
    // while tl.reduce_or(element < num_elements, axis=0):                              parts.py:151
    // turn = THREADS // 32 - 1 - turn                                                   parts.py:76
    const int turn_2 = 15 - turn;

    // return (turn * CTAS + cta) * 32 + (element & 31)                                  parts.py:77
    const int element_2 = turn_2 * 512 + cta * 32 + index;
    int element = element_2;
    #pragma unroll 1
    while (element < 8192) {
        // group = first_group + (element.to(tl.uint32) // BLOCK_SIZE).to(tl.int32)     parts.py:152
        const unsigned element_3 = static_cast<unsigned>(element);
        const int group = static_cast<int>(element_3 / 16u);
        // group_end = tl.load(tle.gpu.local_ptr(end, (group,)), mask=element < nu ...  parts.py:153
        const int group_end = shared.end[group];
        // place = group_end + (element.to(tl.uint32) % BLOCK_SIZE).to(tl.int32)        parts.py:154
        const int place_3 = group_end + static_cast<int>(element_3 % 16u);
        // blocks = (count + (BLOCK_SIZE - 1)).to(tl.uint32) // BLOCK_SIZE               parts.py:32
        const unsigned blocks_2 = static_cast<unsigned>(group_end + 15) / 16u;
        // tl.store(sorted_ids + place, numel, mask=is_padding)                         parts.py:156
        if (place_3 < static_cast<int>(blocks_2 * 16u)) sorted_ids[place_3] = numel;
        // element = tl.where(element < num_elements, element + CTAS * THREADS, el ...  parts.py:157
        element += 8192;
    }
    // num_blocks = post_pad // BLOCK_SIZE                                               parts.py:94
    const int num_blocks = post_pad / 16;

    // while tl.reduce_or(block < num_blocks, axis=0):                                   parts.py:96
    int block_2 = block;
    #pragma unroll 1
    while (block_2 < num_blocks) {
        // owner = owner_of(block * BLOCK_SIZE, start, SEARCH_STEPS)                     parts.py:97
        const int place_3 = block_2 * 16;
        // for step in range(SEARCH_STEPS):                                              parts.py:58
        int owner = 0;
        for (int step = 0; step < 9; ++step) {
            // candidate = owner + (1 << (SEARCH_STEPS - 1 - step))                      parts.py:59
            const int candidate = owner + (1 << (8 - step));
            // owner = tl.where(tl.load(tle.gpu.local_ptr(start, (candidate,))) <= ...   parts.py:60
            const int start_value = shared.start[candidate];
            owner = start_value <= place_3 ? candidate : owner;
        }

        // tl.store(expert_ids + block, owner + FIRST_EXPERT, mask=block < num_blocks)   parts.py:98
        expert_ids[block_2] = owner;
        // block = tl.where(block < num_blocks, block + CTAS * THREADS, block)           parts.py:99
        block_2 += 8192;
    }

    // while tl.reduce_or(block < expert_capacity, axis=0):                             parts.py:131
    int block_3 = block_2;
    #pragma unroll 1
    while (block_3 < expert_capacity) {
        // tl.store(expert_ids + block, 0, mask=block < expert_capacity)                parts.py:132
        expert_ids[block_3] = 0;
        // block = tl.where(block < expert_capacity, block + STEP, block)               parts.py:133
        block_3 += 8192;
    }
    // if cta == 0:                                                               cooperative.py:119
    if (cta == 0) {
        // tl.store(num_post_pad, post_pad)                                       cooperative.py:120
        if (thread == 0) *num_post_pad = post_pad;
        // tl.store(epoch_ptr, epoch + 1)  # every CTA read it before it add ...  cooperative.py:121
        if (thread == 0) *epoch_ptr = epoch + 1;
    }
}
