// reduce_1d.cu: emitted by tle2cuda from collectives.py:20 (reduce_1d). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 16 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp32 align 16, n i32
//   constants FN = total_sum, BLOCK = 1024

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

// Load one element of global memory if a condition holds, else take `other` (read-only data): one predicated load (PTX ISA,
// ld.global.nc). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ float load_nc_if(bool condition, const float* pointer, float other)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.nc.f32 %0, [%1];\n\t}"
        : "+f"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return other;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) float sum_slots[4];           // scratch of collectives.py:326
};
static_assert(sizeof(Shared) <= 16, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
reduce_1d(const float* __restrict__ x, float* out, const int n)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // row = tl.program_id(0)                                                      collectives.py:23
    const int row = blockIdx.x;
    float value[8];
    // tile [1024]: element = thread + 128 * run;  run < 8
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // i = tl.arange(0, BLOCK)                                                 collectives.py:22
        const int i = thread + 128 * run;
        // value = tl.load(x + row * n + i, mask=i < n, other=0)                   collectives.py:24
        value[run] = load_nc_if(i < n, x + row * n + i, 0.0f);
    }

    // return tl.sum(x, axis)                                                     collectives.py:326
    float value_sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < 8; ++k) value_sum += value[k];
    value_sum = cta_all_reduce(value_sum, shared.sum_slots, [](float a, float b) { return a + b; });

    // tl.store(out + row, FN(value, 0))                                           collectives.py:25
    if (thread == 0) out[row] = value_sum;
}
