// softmax.cu: emitted by tle2cuda from softmax.py:15 (softmax). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 64 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      out *fp32 align 16, x *fp32 align 16, row_stride i32 divisible by 16,
//             cols i32 divisible by 16
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

// Positive infinity.
__device__ __forceinline__ float infinity()
{
    return __int_as_float(0x7f800000);
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
    alignas(16) float max_slots[8];           // scratch of softmax.py:19
    alignas(16) float total_slots[8];         // scratch of softmax.py:20
};
static_assert(sizeof(Shared) <= 64, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
softmax(float* out, const float* __restrict__ x, const int row_stride, const int cols)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // row_start = tl.program_id(0).to(tl.int64) * row_stride                          softmax.py:16
    const int pid_x = blockIdx.x;
    const long long row_start = static_cast<long long>(pid_x) * row_stride;
    Vector<float, 4> row[4];

    // tile [4096]: element = 4 * thread + 1024 * run + k;  run < 4, k < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // col = tl.arange(0, BLOCK)                                                   softmax.py:17
        const int col = 4 * thread + 1024 * run;
        // row = tl.load(x + row_start + col, mask=col < cols, other=-float("inf" ...  softmax.py:18
        const bool inside = col < cols;
        row[run] = load_vector_nc_if<uint4>(inside, x + row_start + col, fill_vector<4>(-infinity()));
    }

    // weight = tl.exp(row - tl.max(row, axis=0))                                      softmax.py:19
    float row_max = row[0][0];
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) row_max = fmaxf(row_max, row[run][k]);
    }
    row_max = cta_all_reduce(row_max, shared.max_slots, [](float a, float b) { return fmaxf(a, b); });
    Vector<float, 4> weight[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) weight[run][k] = __expf(row[run][k] - row_max);
    }

    // total = tl.sum(weight, axis=0)                                                  softmax.py:20
    float total = 0.0f;
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) total += weight[run][k];
    }
    total = cta_all_reduce(total, shared.total_slots, [](float a, float b) { return a + b; });
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // tl.store(out + row_start + col, weight / total, mask=col < cols)            softmax.py:21
        Vector<float, 4> out_value;
        #pragma unroll
        for (int k = 0; k < 4; ++k) out_value[k] = divide_approx(weight[run][k], total);

        // col = tl.arange(0, BLOCK)                                                   softmax.py:17
        const int col = 4 * thread + 1024 * run;
        // row = tl.load(x + row_start + col, mask=col < cols, other=-float("inf" ...  softmax.py:18
        const bool inside = col < cols;
        // tl.store(out + row_start + col, weight / total, mask=col < cols)            softmax.py:21
        store_vector_if<uint4>(inside, out + row_start + col, out_value);
    }
}
