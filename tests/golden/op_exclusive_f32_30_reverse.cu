// exclusive.cu: emitted by tle2cuda from collectives.py:251 (exclusive). Do not edit.
//
//   target    sm_90a, 32 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp32 align 16, total *fp32 align 16, n i32
//   constants REVERSE = True, BLOCK = 32

namespace {

// Load one element of global memory if a condition holds, else take `other` (read-only data): one predicated load (PTX ISA,
// ld.global.nc). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ float load_nc_if(bool condition, const float* pointer, float other)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.nc.f32 %0, [%1];\n\t}"
        : "+f"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return other;
}

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

// The value that lane `source` of the warp holds. Called by whole warps.
template <typename T>
__device__ __forceinline__ T shuffle_from(T value, int source)
{
    return shuffle_words(value, [source](unsigned word) { return __shfl_sync(0xffffffffu, word, source); });
}

// Exclusive prefix sums over groups of WIDTH neighbouring lanes (with REVERSE from the last lane down), and the sum of the
// group in `total`. Called by whole warps.
template <int WIDTH, bool REVERSE, typename T>
__device__ __forceinline__ T warp_exclusive_sum(T value, T& total)
{
    const int lane = threadIdx.x % WIDTH;
    const T inclusive = lanes_scan<WIDTH, REVERSE>(value, [](T a, T b) { return static_cast<T>(a + b); });
    const T before = shuffle_previous<WIDTH, REVERSE>(inclusive, 1);
    total = shuffle_from(inclusive, threadIdx.x % 32 - lane + (REVERSE ? 0 : WIDTH - 1));
    return lane == (REVERSE ? WIDTH - 1 : 0) ? T(0) : before;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(32)
exclusive(const float* __restrict__ x, float* out, float* total, const int n)
{
    const int thread = threadIdx.x;

    // value = tl.load(x + i, mask=i < n, other=0)                                collectives.py:253
    const bool inside = thread < n;
    const float value = load_nc_if(inside, x + thread, 0.0f);
    // before, everything = tle.cumsum(value, axis=0, reverse=REVERSE)            collectives.py:254
    float everything;
    float before = warp_exclusive_sum<32, true>(value, everything);
    // tl.store(out + i, before, mask=i < n)                                      collectives.py:255
    if (inside) out[thread] = before;
    // tl.store(total, everything)                                                collectives.py:256
    if (thread == 0) *total = everything;
}
