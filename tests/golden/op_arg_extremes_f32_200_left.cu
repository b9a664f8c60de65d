// arg_extremes.cu: emitted by tle2cuda from collectives.py:71 (arg_extremes). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 64 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp32 align 16, where *i32 align 16, n i32
//   constants BLOCK = 256, LEFT = True

namespace {

struct Items_fp32_i32 { float item0; int item1; };

// Whether element j with value b, not i with value a, is the maximum: NaN loses against everything; of equal values
// the one with the smaller index wins (TIE_LEFT), or the larger.
template <bool TIE_LEFT, typename T>
__device__ __forceinline__ bool argmax_takes(T a, int i, T b, int j)
{
    if (b > a) return true;
    const bool nan_a = a != a;
    const bool nan_b = b != b;
    if (nan_a != nan_b) return nan_a;
    return (a == b || nan_a) && (TIE_LEFT ? j < i : j > i);
}

// Whether element j with value b, not i with value a, is the minimum: NaN loses against everything; of equal values
// the one with the smaller index wins (TIE_LEFT), or the larger.
template <bool TIE_LEFT, typename T>
__device__ __forceinline__ bool argmin_takes(T a, int i, T b, int j)
{
    if (b < a) return true;
    const bool nan_a = a != a;
    const bool nan_b = b != b;
    if (nan_a != nan_b) return nan_a;
    return (a == b || nan_a) && (TIE_LEFT ? j < i : j > i);
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

// The value that lane `lane ^ MASK` of the warp holds. Called by whole warps.
template <int MASK, typename T>
__device__ __forceinline__ T shuffle_xor(T value)
{
    return shuffle_words(value, [](unsigned word) { return __shfl_xor_sync(0xffffffffu, word, MASK); });
}

// Reduce across the lanes of a warp that differ in the bits of MASK; all of them receive the result. The value of the
// lower lane is always the first operand, so that every lane computes the same. Called by whole warps.
template <int MASK, typename T, typename Combine>
__device__ __forceinline__ T lanes_all_reduce(T value, Combine combine)
{
    if constexpr (MASK != 0) {
        constexpr int LOWEST = MASK & -MASK;
        const T other = shuffle_xor<LOWEST>(value);
        value = threadIdx.x & LOWEST ? combine(other, value) : combine(value, other);
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
    alignas(16) float largest_slots[4];       // scratch of collectives.py:74
    alignas(16) int at_largest_slots[4];      // scratch of collectives.py:74
    alignas(16) float smallest_slots[4];      // scratch of collectives.py:75
    alignas(16) int at_smallest_slots[4];     // scratch of collectives.py:75
};
static_assert(sizeof(Shared) <= 64, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
arg_extremes(const float* __restrict__ x, float* out, int* where, const int n)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // i = tl.arange(0, BLOCK)                                                     collectives.py:72
    const int i = 2 * thread;
    // value = tl.load(x + i, mask=i < n, other=0)                                 collectives.py:73
    const Vector<float, 2> value = load_edge<2>(x + i, n - i, 0.0f);
    // largest, at_largest = tl.max(value, axis=0, return_indices=True, retur ...  collectives.py:74
    const auto combine = [](Items_fp32_i32 a, Items_fp32_i32 b) { return argmax_takes<true>(a.item0, a.item1, b.item0, b.item1) ? b : a; };

    // i = tl.arange(0, BLOCK)                                                     collectives.py:72
    const int i_2 = 2 * thread;
    Items_fp32_i32 largest_partial = Items_fp32_i32{value[0], i_2};
    #pragma unroll
    for (int k = 1; k < 2; ++k)
        largest_partial = combine(largest_partial, Items_fp32_i32{value[k], i + k});
    largest_partial = lanes_all_reduce<31>(largest_partial, combine);
    if (thread % 32 == 0) {
        shared.largest_slots[thread / 32] = largest_partial.item0;
        shared.at_largest_slots[thread / 32] = largest_partial.item1;
    }
    __syncthreads();  // the partial results of all warps are in their slots
    largest_partial = Items_fp32_i32{shared.largest_slots[0], shared.at_largest_slots[0]};
    #pragma unroll
    for (int part = 1; part < 4; ++part)
        largest_partial = combine(largest_partial, Items_fp32_i32{shared.largest_slots[part], shared.at_largest_slots[part]});
    const float largest = largest_partial.item0;
    const int at_largest = largest_partial.item1;

    // smallest, at_smallest = tl.min(value, axis=0, return_indices=True, ret ...  collectives.py:75
    const auto combine_2 = [](Items_fp32_i32 a, Items_fp32_i32 b) { return argmin_takes<true>(a.item0, a.item1, b.item0, b.item1) ? b : a; };
    Items_fp32_i32 smallest_partial = Items_fp32_i32{value[0], i_2};
    #pragma unroll
    for (int k = 1; k < 2; ++k)
        smallest_partial = combine_2(smallest_partial, Items_fp32_i32{value[k], i + k});
    smallest_partial = lanes_all_reduce<31>(smallest_partial, combine_2);
    if (thread % 32 == 0) {
        shared.smallest_slots[thread / 32] = smallest_partial.item0;
        shared.at_smallest_slots[thread / 32] = smallest_partial.item1;
    }
    __syncthreads();  // the partial results of all warps are in their slots
    smallest_partial = Items_fp32_i32{shared.smallest_slots[0], shared.at_smallest_slots[0]};
    #pragma unroll
    for (int part = 1; part < 4; ++part)
        smallest_partial = combine_2(smallest_partial, Items_fp32_i32{shared.smallest_slots[part], shared.at_smallest_slots[part]});
    const float smallest = smallest_partial.item0;
    const int at_smallest = smallest_partial.item1;

    // tl.store(out, largest)                                                      collectives.py:76
    if (thread == 0) *out = largest;
    // tl.store(out + 1, smallest)                                                 collectives.py:77
    if (thread == 0) out[1] = smallest;
    // tl.store(where, at_largest)                                                 collectives.py:78
    if (thread == 0) *where = at_largest;
    // tl.store(where + 1, at_smallest)                                            collectives.py:79
    if (thread == 0) where[1] = at_smallest;
    // tl.store(where + 2, tl.argmax(value, 0))                                    collectives.py:80
    if (thread == 0) where[2] = at_largest;
    // tl.store(where + 3, tl.argmin(value, 0))                                    collectives.py:81
    if (thread == 0) where[3] = at_smallest;
}
