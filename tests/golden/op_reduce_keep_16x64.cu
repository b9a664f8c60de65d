// reduce_keep.cu: emitted by tle2cuda from collectives.py:52 (reduce_keep). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 1024 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16
//   constants M = 16, N = 64

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
    alignas(16) int sum_slots[256];           // scratch of collectives.py:57
};
static_assert(sizeof(Shared) <= 1024, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
reduce_keep(const int* __restrict__ x, int* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    Vector<int, 4> value[2];

    // rows, cols = tl.arange(0, M), tl.arange(0, N)                               collectives.py:54
    const int cols = thread % 16 * 4;
    // tile [16, 64]: row = thread / 16 + 8 * run, column = thread % 16 * 4 + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // rows, cols = tl.arange(0, M), tl.arange(0, N)                           collectives.py:54
        const int rows = thread / 16 + 8 * run;
        // at = rows[:, None] * N + cols[None, :]                                  collectives.py:55
        const int at = rows * 64 + cols;
        // value = tl.load(x + at)                                                 collectives.py:56
        value[run] = load_vector<4>(x + at);
    }

    // tl.store(out + at, value - tl.max(value, axis=1, keep_dims=True) + tl. ...  collectives.py:57
    int value_max[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        value_max[run] = value[run][0];
        #pragma unroll
        for (int k = 1; k < 4; ++k) value_max[run] = max(value_max[run], value[run][k]);
        value_max[run] = lanes_all_reduce<15>(value_max[run], [](int a, int b) { return max(a, b); });
    }
    Vector<int, 4> difference[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) difference[run][k] = value[run][k] - value_max[run];
    }
    Vector<int, 4> value_sum;
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        value_sum[run] = 0;
        #pragma unroll
        for (int k = 0; k < 2; ++k) value_sum[run] += value[k][run];
        value_sum[run] = lanes_all_reduce<16>(value_sum[run], [](int a, int b) { return a + b; });
    }
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        if ((thread & 16) == 0) shared.sum_slots[thread / 32 * 64 + thread % 16 * 4 + run] = value_sum[run];
    __syncthreads();  // the partial results of all warps are in their slots
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        value_sum[run] = shared.sum_slots[thread % 16 * 4 + run];
        #pragma unroll
        for (int part = 1; part < 4; ++part)
            value_sum[run] += shared.sum_slots[thread % 16 * 4 + run + 64 * part];
    }
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        Vector<int, 4> out_value;
        #pragma unroll
        for (int k = 0; k < 4; ++k) out_value[k] = difference[run][k] + value_sum[k];

        // rows, cols = tl.arange(0, M), tl.arange(0, N)                           collectives.py:54
        const int rows = thread / 16 + 8 * run;
        // at = rows[:, None] * N + cols[None, :]                                  collectives.py:55
        const int at = rows * 64 + cols;
        // tl.store(out + at, value - tl.max(value, axis=1, keep_dims=True) + ...  collectives.py:57
        store_vector(out + at, out_value);
    }
}
