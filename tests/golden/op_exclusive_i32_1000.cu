// exclusive.cu: emitted by tle2cuda from collectives.py:251 (exclusive). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 16 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, total *i32 align 16, n i32
//   constants REVERSE = False, BLOCK = 1024

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
    alignas(16) int before_scan[4];           // scratch of collectives.py:254
};
static_assert(sizeof(Shared) <= 16, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
exclusive(const int* __restrict__ x, int* out, int* total, const int n)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // i = tl.arange(0, BLOCK)                                                    collectives.py:252
    const int i = 8 * thread;
    // value = tl.load(x + i, mask=i < n, other=0)                                collectives.py:253
    const Vector<int, 8> value = load_edge<8>(x + i, n - i, 0);

    // before, everything = tle.cumsum(value, axis=0, reverse=REVERSE)            collectives.py:254
    int sum = 0, everything;
    #pragma unroll
    for (int k = 0; k < 8; ++k) sum += value[k];
    int before_sum = cta_exclusive_integer_sum<4, false>(sum, everything, shared.before_scan);
    Vector<int, 8> before;
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        before[k] = before_sum;
        before_sum += value[k];
    }

    // tl.store(out + i, before, mask=i < n)                                      collectives.py:255
    store_edge(out + i, n - i, before);
    // tl.store(total, everything)                                                collectives.py:256
    if (thread == 0) *total = everything;
}
