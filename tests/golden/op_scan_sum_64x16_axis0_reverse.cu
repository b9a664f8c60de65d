// scan_2d.cu: emitted by tle2cuda from collectives.py:188 (scan_2d). Do not edit.
//
//   target    sm_90a, 64 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16
//   constants FN = cumsum, AXIS = 0, REVERSE = True, M = 64, N = 16

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

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(64)
scan_2d(const int* __restrict__ x, int* out)
{
    const int thread = threadIdx.x;

    // rows, cols = tl.arange(0, M), tl.arange(0, N)                              collectives.py:189
    const int rows = thread % 4 * 16;
    const int cols = thread / 4;
    // at = rows[:, None] * N + cols[None, :]                                     collectives.py:190
    const int at = rows * 16 + cols;

    // tl.store(out + at, FN(tl.load(x + at), AXIS, REVERSE))                     collectives.py:191
    Vector<int, 16> x_2;
    #pragma unroll
    for (int k = 0; k < 16; ++k) x_2[k] = x[at + 16 * k];

    // return tl.cumsum(x, axis, reverse)                                         collectives.py:318
    Vector<int, 16> x_cumsum;
    int running = 0;
    #pragma unroll
    for (int k = 15; k >= 0; --k) {
        running += x_2[k];
        x_cumsum[k] = running;
    }
    const int total = lanes_scan<4, true>(running, [](int a, int b) { return a + b; });
    const int prefix = shuffle_previous<4, true>(total, 1);
    if (thread % 4 < 3) {
        #pragma unroll
        for (int k = 0; k < 16; ++k) x_cumsum[k] = prefix + x_cumsum[k];
    }

    // tl.store(out + at, FN(tl.load(x + at), AXIS, REVERSE))                     collectives.py:191
    #pragma unroll
    for (int k = 0; k < 16; ++k) out[at + 16 * k] = x_cumsum[k];
}
