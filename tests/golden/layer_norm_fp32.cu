// layer_norm.cu: emitted by tle2cuda from layer_norm.py:16 (layer_norm). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 64 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, weight *fp32 align 16, bias *fp32 align 16, out *fp32 align 16,
//             mean_out *fp32 align 16, rstd_out *fp32 align 16, row_stride i32 divisible by 16,
//             cols i32 divisible by 16, eps fp32
//   constants BLOCK = 4096

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

// The 16 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global.nc).
__device__ __forceinline__ uint4 load_bits_nc_if(bool condition, const uint4* pointer, uint4 otherwise)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %5, 0;\n\t@p ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y), "+r"(otherwise.z), "+r"(otherwise.w)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return otherwise;
}

// Load N neighbours in global memory, in words of type Bits, if a condition holds, else take `otherwise` (read-only data).
// The address is computed either way, so that neighbouring loads can share it.
template <typename Bits, int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_nc_if(bool condition, const T* pointer, Vector<T, N> otherwise)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(otherwise) / sizeof(Bits)); ++i) {
        unsigned char* const word = reinterpret_cast<unsigned char*>(&otherwise) + i * sizeof(Bits);
        Bits bits;
        memcpy(&bits, word, sizeof(Bits));
        bits = load_bits_nc_if(condition, reinterpret_cast<const Bits*>(pointer) + i, bits);
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
    alignas(16) float sum_slots[8];           // scratch of layer_norm.py:24
    alignas(16) float sum_slots_2[8];         // scratch of layer_norm.py:26
};
static_assert(sizeof(Shared) <= 64, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
layer_norm(const float* __restrict__ x, const float* __restrict__ weight,
           const float* __restrict__ bias, float* out, float* mean_out, float* rstd_out,
           const int row_stride, const int cols, const float eps)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // row = tl.program_id(0)                                                       layer_norm.py:17
    const int row = blockIdx.x;
    // row_start = row.to(tl.int64) * row_stride                                    layer_norm.py:18
    const long long row_start = static_cast<long long>(row) * row_stride;
    Vector<float, 4> value[4];
    // tile [4096]: element = 4 * thread + 1024 * run + k;  run < 4, k < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // col = tl.arange(0, BLOCK)                                                layer_norm.py:19
        const int col = 4 * thread + 1024 * run;
        // mask = col < cols                                                        layer_norm.py:20
        const bool mask = col < cols;
        // value = tl.load(x + row_start + col, mask=mask, other=0.0).to(tl.fl ...  layer_norm.py:21
        value[run] = load_vector_nc_if<uint4>(mask, x + row_start + col, fill_vector<4>(0.0f));
    }

    // mean = tl.sum(value, axis=0) / cols                                          layer_norm.py:24
    float value_sum = 0.0f;
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) value_sum += value[run][k];
    }
    value_sum = cta_all_reduce(value_sum, shared.sum_slots, [](float a, float b) { return a + b; });
    const float mean = divide_approx(value_sum, static_cast<float>(cols));
    Vector<float, 4> centred[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // col = tl.arange(0, BLOCK)                                                layer_norm.py:19
        const int col = 4 * thread + 1024 * run;
        // mask = col < cols                                                        layer_norm.py:20
        const bool mask = col < cols;
        // centred = tl.where(mask, value - mean, 0.0)                              layer_norm.py:25
        #pragma unroll
        for (int k = 0; k < 4; ++k) centred[run][k] = mask ? value[run][k] - mean : 0.0f;
    }

    // variance = tl.sum(centred * centred, axis=0) / cols                          layer_norm.py:26
    float sum = 0.0f;
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) sum += centred[run][k] * centred[run][k];
    }
    sum = cta_all_reduce(sum, shared.sum_slots_2, [](float a, float b) { return a + b; });
    const float variance = divide_approx(sum, static_cast<float>(cols));

    // rstd = tl.rsqrt(variance + eps)                                              layer_norm.py:27
    const float rstd = rsqrtf(variance + eps);
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // col = tl.arange(0, BLOCK)                                                layer_norm.py:19
        const int col = 4 * thread + 1024 * run;
        // mask = col < cols                                                        layer_norm.py:20
        const bool mask = col < cols;
        // scale = tl.load(weight + col, mask=mask, other=0.0).to(tl.float32)       layer_norm.py:29
        const Vector<float, 4> scale = load_vector_nc_if<uint4>(mask, weight + col, fill_vector<4>(0.0f));
        // shift = tl.load(bias + col, mask=mask, other=0.0).to(tl.float32)         layer_norm.py:30
        const Vector<float, 4> shift = load_vector_nc_if<uint4>(mask, bias + col, fill_vector<4>(0.0f));

        // tl.store(out + row_start + col, centred * rstd * scale + shift, mas ...  layer_norm.py:31
        Vector<float, 4> out_value;
        #pragma unroll
        for (int k = 0; k < 4; ++k) out_value[k] = centred[run][k] * rstd * scale[k] + shift[k];
        store_vector_if<uint4>(mask, out + row_start + col, out_value);
    }

    // tl.store(mean_out + row, mean)                                               layer_norm.py:32
    if (thread == 0) mean_out[row] = mean;
    // tl.store(rstd_out + row, rstd)                                               layer_norm.py:33
    if (thread == 0) rstd_out[row] = rstd;
}
