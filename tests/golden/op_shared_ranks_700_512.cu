// shared_ranks.cu: emitted by tle2cuda from shared.py:176 (shared_ranks). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 2080 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, rank *i32 align 16, n i32
//   constants BINS = 512, BLOCK = 1024

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

// Shared memory of one CTA.
struct Shared {
    alignas(16) int counts[512];              // shared.py:179
    alignas(16) int before_scan[8];           // scratch of shared.py:184
};
static_assert(sizeof(Shared) <= 2080, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
shared_ranks(const int* __restrict__ x, int* out, int* rank, const int n)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // counts.store(tl.zeros((BINS,), tl.int32))                                       shared.py:180
    store_vector(&shared.counts[2 * thread], fill_vector<2>(0));
    __syncthreads();  // orders the stores to `counts` before the atomics on it

    // i = tl.arange(0, BLOCK)                                                         shared.py:178
    const int i = 4 * thread;

    // key = tl.load(x + i, mask=i < n, other=0)                                       shared.py:181
    const Vector<int, 4> key = load_edge<4>(x + i, n - i, 0);
    Vector<int, 4> mine;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const bool inside = i + k < n;

        // mine = tl.atomic_add(tle.gpu.local_ptr(counts, (key,)), 1, mask=i < n)      shared.py:182
        mine[k] = 0;
        if (inside) mine[k] = atomicAdd(&shared.counts[key[k]], 1);
    }
    __syncthreads();  // orders the atomics on `counts` before the loads of it

    // totals = counts.load()                                                          shared.py:183
    const Vector<int, 2> totals = load_vector<2>(&shared.counts[2 * thread]);

    // before, _ = tle.cumsum(totals, axis=0)                                          shared.py:184
    int sum = 0, value;
    #pragma unroll
    for (int k = 0; k < 2; ++k) sum += totals[k];
    int before_sum = cta_exclusive_integer_sum<8, false>(sum, value, shared.before_scan);
    Vector<int, 2> before;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        before[k] = before_sum;
        before_sum += totals[k];
    }

    // counts.store(before)                                                            shared.py:185
    store_vector(&shared.counts[2 * thread], before);
    __syncthreads();  // orders the stores to `counts` before the loads of it

    // tl.store(rank + i, tl.where(i < n, 0, mine))                                    shared.py:188
    Vector<int, 4> rank_value;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        // place = tl.load(tle.gpu.local_ptr(counts, (key,))) + mine                   shared.py:186
        const int counts_value = shared.counts[key[k]];
        const int place = counts_value + mine[k];
        // key = tl.load(x + i, mask=i < n, other=0)                                   shared.py:181
        const bool inside_2 = i + k < n;
        // tl.store(out + place, key, mask=i < n)                                      shared.py:187
        if (inside_2) out[place] = key[k];
        rank_value[k] = inside_2 ? 0 : mine[k];
    }
    store_vector(rank + i, rank_value);
}
