// moe_align_offsets.cu: emitted by tle2cuda from staged.py:51 (moe_align_offsets). Do not edit.
//
//   target    sm_90a, 32 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      counts *i32 align 16, totals *i32 align 16
//   constants GROUP_TILE = 512, PROGRAM_TILE = 16

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

// The value that lane `lane ^ MASK` of the warp holds. Called by whole warps.
template <int MASK, typename T>
__device__ __forceinline__ T shuffle_xor(T value)
{
    return shuffle_words(value, [](unsigned word) { return __shfl_xor_sync(0xffffffffu, word, MASK); });
}

// Reduce across the lanes of a warp that differ in the bits of MASK by a commutative function; all of them receive the
// result. Called by whole warps.
template <int MASK, typename T, typename Combine>
__device__ __forceinline__ T lanes_all_reduce(T value, Combine combine)
{
    if constexpr (MASK != 0) {
        value = combine(value, shuffle_xor<MASK & -MASK>(value));
        value = lanes_all_reduce<MASK & (MASK - 1)>(value, combine);
    }
    return value;
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

}  // namespace

extern "C" __global__ void __launch_bounds__(32)
moe_align_offsets(int* counts, int* totals)
{
    const int thread = threadIdx.x;

    // group = tl.program_id(0)                                                         staged.py:58
    const int group = blockIdx.x;
    // count = tl.load(cell)                                                            staged.py:60
    const int count = *(counts + thread % 16 * 512 + group);

    // inclusive = tl.cumsum(count, axis=0)                                             staged.py:61
    int inclusive = count;
    const int total = lanes_scan<16, false>(inclusive, [](int a, int b) { return a + b; });
    const int prefix = shuffle_previous<16, false>(total, 1);
    if (thread % 16 > 0) inclusive = prefix + inclusive;
    __syncthreads();  // orders the loads of `counts` before the stores to it

    // tl.store(cell, inclusive - count)                                                staged.py:62
    if (thread < 16) *(counts + thread % 16 * 512 + group) = inclusive - count;

    // tl.store(totals + group, tl.sum(count, axis=0))                                  staged.py:63
    int count_sum = count;
    count_sum = lanes_all_reduce<15>(count_sum, [](int a, int b) { return a + b; });
    if (thread == 0) totals[group] = count_sum;
}
