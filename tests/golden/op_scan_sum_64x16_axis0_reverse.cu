// scan_2d.cu: emitted by tle2cuda from collectives.py:211 (scan_2d). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 8192 bytes of shared memory
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
    alignas(16) int x_exchange[1024];         // scratch of collectives.py:214
    alignas(16) int exchange[1024];           // scratch of collectives.py:341
};
static_assert(sizeof(Shared) <= 8192, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
scan_2d(const int* __restrict__ x, int* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    Vector<int, 4> x_2[2];

    // rows, cols = tl.arange(0, M), tl.arange(0, N)                              collectives.py:212
    const int cols = thread % 4 * 4;
    // tile [64, 16]: row = thread / 4 + 32 * run, column = thread % 4 * 4 + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // rows, cols = tl.arange(0, M), tl.arange(0, N)                          collectives.py:212
        const int rows = thread / 4 + 32 * run;
        // at = rows[:, None] * N + cols[None, :]                                 collectives.py:213
        const int at = rows * 16 + cols;
        // tl.store(out + at, FN(tl.load(x + at), AXIS, REVERSE))                 collectives.py:214
        x_2[run] = load_vector<4>(x + at);
    }

    // tl.store(out + at, FN(tl.load(x + at), AXIS, REVERSE))                     collectives.py:214
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        shared.x_exchange[(thread ^ (thread / 32) ^ (run % 4 * 8) ^ (run / 4 * 4)) + run % 4 * 256 + run / 4 * 128] = x_2[run / 4][run % 4];
    __syncthreads();  // the whole tile is in shared memory
    Vector<int, 8> x_3;
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        x_3[run] = shared.x_exchange[thread % 32 * 32 + ((thread % 32) ^ (thread / 32) ^ (4 * run))];

    // return tl.cumsum(x, axis, reverse)                                         collectives.py:341
    Vector<int, 8> x_cumsum;
    int running = 0;
    #pragma unroll
    for (int k = 7; k >= 0; --k) {
        running += x_3[k];
        x_cumsum[k] = running;
    }
    const int total = lanes_scan<8, true>(running, [](int a, int b) { return a + b; });
    const int prefix = shuffle_previous<8, true>(total, 1);
    if (thread % 8 < 7) {
        #pragma unroll
        for (int k = 0; k < 8; ++k) x_cumsum[k] = prefix + x_cumsum[k];
    }
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        shared.exchange[(thread ^ (thread / 32) ^ (4 * run)) + 128 * run] = x_cumsum[run];
    __syncthreads();  // the whole tile is in shared memory
    Vector<int, 4> converted[2];
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        converted[run / 4][run % 4] = shared.exchange[thread % 32 * 32 + ((thread % 32) ^ (thread / 32) ^ (run % 4 * 8) ^ (run / 4 * 4))];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // rows, cols = tl.arange(0, M), tl.arange(0, N)                          collectives.py:212
        const int rows = thread / 4 + 32 * run;
        // at = rows[:, None] * N + cols[None, :]                                 collectives.py:213
        const int at = rows * 16 + cols;
        // tl.store(out + at, FN(tl.load(x + at), AXIS, REVERSE))                 collectives.py:214
        store_vector(out + at, converted[run]);
    }
}
