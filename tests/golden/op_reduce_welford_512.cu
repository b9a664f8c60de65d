// reduce_custom.cu: emitted by tle2cuda from collectives.py:103 (reduce_custom). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 48 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp32 align 16
//   constants BLOCK = 512

namespace {

struct Items_fp32_fp32_fp32 { float item0; float item1; float item2; };

// Quotient within 2 ulp over the full range, as Triton divides (PTX ISA, div.full.f32).
__device__ __forceinline__ float divide_approx(float a, float b)
{
    float quotient;
    asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
    return quotient;
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
__device__ __forceinline__ T lanes_all_reduce_in_order(T value, Combine combine)
{
    if constexpr (MASK != 0) {
        constexpr int LOWEST = MASK & -MASK;
        const T other = shuffle_xor<LOWEST>(value);
        const bool is_upper = threadIdx.x & LOWEST;
        value = combine(is_upper ? other : value, is_upper ? value : other);
        value = lanes_all_reduce_in_order<MASK & (MASK - 1)>(value, combine);
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

// Shared memory of one CTA.
struct Shared {
    alignas(16) float mean_slots[4];          // scratch of collectives.py:107
    alignas(16) float m2_slots[4];            // scratch of collectives.py:107
    alignas(16) float weight_slots[4];        // scratch of collectives.py:107
};
static_assert(sizeof(Shared) <= 48, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
reduce_custom(const float* __restrict__ x, float* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // i = tl.arange(0, BLOCK)                                                    collectives.py:105
    const int i = 4 * thread;
    // value = tl.load(x + i)                                                     collectives.py:106
    const Vector<float, 4> value = load_vector<4>(x + i);
    // mean, m2, weight = tl.reduce((value, tl.zeros_like(value), tl.full((B ...  collectives.py:107
    const auto combine = [&](Items_fp32_fp32_fp32 a, Items_fp32_fp32_fp32 b) -> Items_fp32_fp32_fp32 {
        // delta = mean_b - mean_a                                                 collectives.py:96
        const float delta = b.item0 - a.item0;
        // weight = weight_a + weight_b                                            collectives.py:97
        const float weight = a.item2 + b.item2;
        // share = weight_b / weight                                               collectives.py:98
        const float share = divide_approx(b.item2, weight);
        return Items_fp32_fp32_fp32{a.item0 + delta * share, a.item1 + b.item1 + delta * delta * a.item2 * share, weight};
    };
    Items_fp32_fp32_fp32 mean_partial = Items_fp32_fp32_fp32{value[0], 0.0f, 1.0f};
    #pragma unroll
    for (int k = 1; k < 4; ++k)
        mean_partial = combine(mean_partial, Items_fp32_fp32_fp32{value[k], 0.0f, 1.0f});
    mean_partial = lanes_all_reduce_in_order<31>(mean_partial, combine);
    if (thread % 32 == 0) {
        shared.mean_slots[thread / 32] = mean_partial.item0;
        shared.m2_slots[thread / 32] = mean_partial.item1;
        shared.weight_slots[thread / 32] = mean_partial.item2;
    }
    __syncthreads();  // the partial results of all warps are in their slots
    mean_partial = Items_fp32_fp32_fp32{shared.mean_slots[0], shared.m2_slots[0], shared.weight_slots[0]};
    #pragma unroll
    for (int part = 1; part < 4; ++part)
        mean_partial = combine(mean_partial, Items_fp32_fp32_fp32{shared.mean_slots[part], shared.m2_slots[part], shared.weight_slots[part]});
    const float mean = mean_partial.item0;
    const float m2 = mean_partial.item1;
    const float weight = mean_partial.item2;

    // tl.store(out, mean)                                                        collectives.py:108
    if (thread == 0) *out = mean;
    // tl.store(out + 1, m2 / weight)                                             collectives.py:109
    if (thread == 0) out[1] = divide_approx(m2, weight);
}
