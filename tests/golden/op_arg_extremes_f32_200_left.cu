// arg_extremes.cu: emitted by tle2cuda from collectives.py:71 (arg_extremes). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 64 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp32 align 16, where *i32 align 16, n i32
//   constants BLOCK = 256, LEFT = True

namespace {

struct Items_fp32_i32 { float item0; int item1; };

// Whether element j with value b, not i with value a, is the maximum: NaN loses against everything; of equal values
// the one with the smaller index wins (TIE_LEFT), or the larger. Without branches: lanes would go different ways.
template <bool TIE_LEFT, typename T>
__device__ __forceinline__ bool argmax_takes(T a, int i, T b, int j)
{
    const bool nan_a = a != a;
    const bool nan_b = b != b;
    const bool wins_tie = TIE_LEFT ? j < i : j > i;
    return (b > a) | (nan_a & !nan_b) | (wins_tie & ((a == b) | (nan_a & nan_b)));
}

// Whether element j with value b, not i with value a, is the minimum: NaN loses against everything; of equal values
// the one with the smaller index wins (TIE_LEFT), or the larger. Without branches: lanes would go different ways.
template <bool TIE_LEFT, typename T>
__device__ __forceinline__ bool argmin_takes(T a, int i, T b, int j)
{
    const bool nan_a = a != a;
    const bool nan_b = b != b;
    const bool wins_tie = TIE_LEFT ? j < i : j > i;
    return (b < a) | (nan_a & !nan_b) | (wins_tie & ((a == b) | (nan_a & nan_b)));
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

// A float as an integer in the same order, but -0 equal to 0 and NaN before everything.
__device__ __forceinline__ int maximum_key(float value)
{
    const int bits = __float_as_int(value + 0.0f);
    return value != value ? -0x7fffffff - 1 : bits ^ ((bits >> 31) & 0x7fffffff);
}

// A float as an integer in the same order, but -0 equal to 0 and NaN behind everything.
__device__ __forceinline__ int minimum_key(float value)
{
    const int bits = __float_as_int(value + 0.0f);
    return value != value ? 0x7fffffff : bits ^ ((bits >> 31) & 0x7fffffff);
}

// The maximum of the values `item0` of the 32 lanes of a warp and its index `item1`, as argmax_takes finds it, by
// `key`, an integer of the value in the same order; every lane receives both. Called by whole warps.
template <bool TIE_LEFT, typename Items, typename Key>
__device__ __forceinline__ Items warp_argmax(Items items, Key key)
{
    const bool is_extreme = key == __reduce_max_sync(0xffffffffu, key);
    const int index = TIE_LEFT ? __reduce_min_sync(0xffffffffu, is_extreme ? items.item1 : 0x7fffffff)
                               : __reduce_max_sync(0xffffffffu, is_extreme ? items.item1 : -0x7fffffff - 1);
    const unsigned lanes = __ballot_sync(0xffffffffu, is_extreme && items.item1 == index);
    items.item0 = __shfl_sync(0xffffffffu, items.item0, __ffs(lanes) - 1);
    items.item1 = index;
    return items;
}

// The minimum of the values `item0` of the 32 lanes of a warp and its index `item1`, as argmin_takes finds it, by
// `key`, an integer of the value in the same order; every lane receives both. Called by whole warps.
template <bool TIE_LEFT, typename Items, typename Key>
__device__ __forceinline__ Items warp_argmin(Items items, Key key)
{
    const bool is_extreme = key == __reduce_min_sync(0xffffffffu, key);
    const int index = TIE_LEFT ? __reduce_min_sync(0xffffffffu, is_extreme ? items.item1 : 0x7fffffff)
                               : __reduce_max_sync(0xffffffffu, is_extreme ? items.item1 : -0x7fffffff - 1);
    const unsigned lanes = __ballot_sync(0xffffffffu, is_extreme && items.item1 == index);
    items.item0 = __shfl_sync(0xffffffffu, items.item0, __ffs(lanes) - 1);
    items.item1 = index;
    return items;
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
    largest_partial = warp_argmax<true>(largest_partial, maximum_key(largest_partial.item0));
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
    smallest_partial = warp_argmin<true>(smallest_partial, minimum_key(smallest_partial.item0));
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
