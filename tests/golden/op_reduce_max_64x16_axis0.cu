// reduce_2d.cu: emitted by tle2cuda from collectives.py:29 (reduce_2d). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 256 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp32 align 16
//   constants FN = total_max, AXIS = 0, M = 64, N = 16

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

// Store 16 bytes of global memory if a condition holds: one predicated access (PTX ISA, st.global), around which nothing
// branches.
__device__ __forceinline__ void store_bits_if(bool condition, uint4* pointer, uint4 bits)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %1, 0;\n\t@p st.global.v4.u32 [%0], {%2, %3, %4, %5};\n\t}"
        :: "l"(pointer), "r"(static_cast<int>(condition)), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
}

// Store N neighbours in global memory, in words of type Bits, if a condition holds. Called by each thread for itself.
template <typename Bits, int N, typename T>
__device__ __forceinline__ void store_vector_if(bool condition, T* pointer, const Vector<T, N>& value)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(value) / sizeof(Bits)); ++i) {
        Bits bits;
        memcpy(&bits, reinterpret_cast<const unsigned char*>(&value) + i * sizeof(Bits), sizeof(Bits));
        store_bits_if(condition, reinterpret_cast<Bits*>(pointer) + i, bits);
    }
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) float max_slots[64];          // scratch of collectives.py:331
};
static_assert(sizeof(Shared) <= 256, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
reduce_2d(const float* __restrict__ x, float* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    Vector<float, 4> value[2];

    // rows, cols = tl.arange(0, M), tl.arange(0, N)                               collectives.py:30
    const int cols = thread % 4 * 4;
    // tile [64, 16]: row = thread / 4 + 32 * run, column = thread % 4 * 4 + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // rows, cols = tl.arange(0, M), tl.arange(0, N)                           collectives.py:30
        const int rows = thread / 4 + 32 * run;
        // value = tl.load(x + rows[:, None] * N + cols[None, :])                  collectives.py:31
        value[run] = load_vector<4>(x + rows * 16 + cols);
    }

    // return tl.max(x, axis)                                                     collectives.py:331
    Vector<float, 4> value_max;
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        value_max[run] = value[0][run];
        #pragma unroll
        for (int k = 1; k < 2; ++k) value_max[run] = fmaxf(value_max[run], value[k][run]);
        value_max[run] = lanes_all_reduce<28>(value_max[run], [](float a, float b) { return fmaxf(a, b); });
    }
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        if ((thread & 28) == 0) shared.max_slots[thread / 32 * 16 + thread % 4 * 4 + run] = value_max[run];
    __syncthreads();  // the partial results of all warps are in their slots
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        value_max[run] = shared.max_slots[thread % 4 * 4 + run];
        #pragma unroll
        for (int part = 1; part < 4; ++part)
            value_max[run] = fmaxf(value_max[run], shared.max_slots[thread % 4 * 4 + run + 16 * part]);
    }

    // rows, cols = tl.arange(0, M), tl.arange(0, N)                               collectives.py:30
    const int cols_2 = thread % 4 * 4;
    // tl.store(out + cols, FN(value, 0))                                          collectives.py:33
    store_vector_if<uint4>(thread < 4, out + cols_2, value_max);
}
