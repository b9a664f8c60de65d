// softmax_ahead.cu: emitted by tle2cuda from persistent_softmax.py:30 (softmax_ahead). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 32 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      out *fp16 align 16, x *fp16 align 16, rows i32, cols i32 divisible by 16,
//             out_stride i32 divisible by 16, x_stride i32 divisible by 16
//   constants BLOCK = 4096

#include <cuda_fp16.h>

namespace {

// Reduce across the 32 lanes of a warp by a commutative function; every lane receives the result. Called by whole warps.
template <typename T, typename Combine>
__device__ __forceinline__ T warp_all_reduce(T value, Combine combine)
{
    #pragma unroll
    for (int lane_mask = 16; lane_mask > 0; lane_mask >>= 1)
        value = combine(value, static_cast<T>(__shfl_xor_sync(0xffffffffu, value, lane_mask)));
    return value;
}

// Reduce across the WARPS warps of a CTA by a commutative function, through one shared slot per warp; every thread
// receives the result. Called by all threads. Contains one CTA barrier, between writing and reading the slots; another
// one has to follow before they are written again.
template <int WARPS, typename T, typename Slot, typename Combine>
__device__ __forceinline__ T cta_all_reduce(T value, Slot (&slots)[WARPS], Combine combine)
{
    value = warp_all_reduce(value, combine);
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
    __syncthreads();
    value = slots[0];
    #pragma unroll
    for (int warp = 1; warp < WARPS; ++warp) value = combine(value, static_cast<T>(slots[warp]));
    return value;
}

// Quotient within 2 ulp over the full range, as Triton divides (PTX ISA, div.full.f32).
__device__ __forceinline__ float divide_approx(float a, float b)
{
    float quotient;
    asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
    return quotient;
}

// 2 to the power of x within 2 ulp; denormals are zero (PTX ISA, ex2.approx.ftz.f32).
__device__ __forceinline__ float exp2_approx(float x)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
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

// Positive infinity.
__device__ __forceinline__ float infinity()
{
    return __int_as_float(0x7f800000);
}

// The 16 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global).
__device__ __forceinline__ uint4 load_bits_if(bool condition, const uint4* pointer, uint4 otherwise)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %5, 0;\n\t@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y), "+r"(otherwise.z), "+r"(otherwise.w)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return otherwise;
}

// Load N neighbours in global memory, in words of type Bits, if a condition holds, else take `otherwise`.
// The address is computed either way, so that neighbouring loads can share it.
template <typename Bits, int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_if(bool condition, const T* pointer, Vector<T, N> otherwise)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(otherwise) / sizeof(Bits)); ++i) {
        unsigned char* const word = reinterpret_cast<unsigned char*>(&otherwise) + i * sizeof(Bits);
        Bits bits;
        memcpy(&bits, word, sizeof(Bits));
        bits = load_bits_if(condition, reinterpret_cast<const Bits*>(pointer) + i, bits);
        memcpy(word, &bits, sizeof(Bits));
    }
    return otherwise;
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
    alignas(16) float max_slots[4];           // scratch of persistent_softmax.py:45
    alignas(16) float sum_slots[4];           // scratch of persistent_softmax.py:46
};
static_assert(sizeof(Shared) <= 32, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
softmax_ahead(__half* out, const __half* x, const int rows, const int cols, const int out_stride,
              const int x_stride)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // first = tl.program_id(0)                                             persistent_softmax.py:34
    const int first = blockIdx.x;
    // source = x + first.to(tl.int64) * x_stride + col                     persistent_softmax.py:35
    const long long x_stride_wide = static_cast<long long>(x_stride);
    // for row in range(first, rows, tl.num_programs(0)):                   persistent_softmax.py:37
    const int num_programs_x = gridDim.x;
    Vector<__half, 8> coming[4];
    // tile [4096]: element = 8 * thread + 1024 * run + k;  run < 4, k < 8
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // col = tl.arange(0, BLOCK)                                        persistent_softmax.py:32
        const int col = 8 * thread + 1024 * run;
        // inside = col < cols                                              persistent_softmax.py:33
        const bool inside = col < cols;
        // coming = tl.load(source, mask=inside & (first < rows), othe ...  persistent_softmax.py:36
        coming[run] = load_vector_if<uint4>(inside && first < rows, x + static_cast<long long>(first) * x_stride_wide + col, fill_vector<8>(__float2half(-infinity())));
    }
    Vector<__half, 8> coming_2[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        #pragma unroll
        for (int k = 0; k < 8; ++k)
            coming_2[run][k] = coming[run][k];
    for (int row = first; row < rows; row += num_programs_x) {
        // following = row + tl.num_programs(0)                             persistent_softmax.py:39
        const int following = row + num_programs_x;
        Vector<float, 8> logits[4];
        Vector<float, 8> product[4];
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            // logits = coming.to(tl.float32)                               persistent_softmax.py:38
            #pragma unroll
            for (int k = 0; k < 8; ++k) logits[run][k] = __half2float(coming_2[run][k]);
            // col = tl.arange(0, BLOCK)                                    persistent_softmax.py:32
            const int col = 8 * thread + 1024 * run;
            // inside = col < cols                                          persistent_softmax.py:33
            const bool inside = col < cols;
            // coming = tl.load(source, mask=inside & (following < row ...  persistent_softmax.py:41
            coming_2[run] = load_vector_if<uint4>(inside && following < rows, x + static_cast<long long>(following) * x_stride_wide + col, fill_vector<8>(__float2half(-infinity())));
            // weight = tl.exp2(logits * LOG2_E - tl.max(logits, axis= ...  persistent_softmax.py:45
            #pragma unroll
            for (int k = 0; k < 8; ++k) product[run][k] = logits[run][k] * 1.442695f;
        }

        // weight = tl.exp2(logits * LOG2_E - tl.max(logits, axis=0) * ...  persistent_softmax.py:45
        float logits_max = logits[0][0];
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) logits_max = fmaxf(logits_max, logits[run][k]);
        }
        logits_max = cta_all_reduce(logits_max, shared.max_slots, [](float a, float b) { return fmaxf(a, b); });
        Vector<float, 8> weight[4];
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                weight[run][k] = exp2_approx(product[run][k] - logits_max * 1.442695f);
            }
        }

        // scale = 1.0 / tl.sum(weight, axis=0)                             persistent_softmax.py:46
        float weight_sum = 0.0f;
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) weight_sum += weight[run][k];
        }
        weight_sum = cta_all_reduce(weight_sum, shared.sum_slots, [](float a, float b) { return a + b; });
        const float scale = divide_approx(1.0f, weight_sum);
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            // tl.store(out + row.to(tl.int64) * out_stride + col, wei ...  persistent_softmax.py:47
            Vector<__half, 8> out_value;
            #pragma unroll
            for (int k = 0; k < 8; ++k) out_value[k] = __float2half(weight[run][k] * scale);

            // col = tl.arange(0, BLOCK)                                    persistent_softmax.py:32
            const int col = 8 * thread + 1024 * run;
            // inside = col < cols                                          persistent_softmax.py:33
            const bool inside = col < cols;
            // tl.store(out + row.to(tl.int64) * out_stride + col, wei ...  persistent_softmax.py:47
            store_vector_if<uint4>(inside, out + static_cast<long long>(row) * out_stride + col, out_value);
        }
    }
}
