// scalar_kernel.cu: emitted by tle2cuda from elementwise.py:41 (scalar_kernel). Do not edit.
//
//   target    sm_90a, 64 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, y *fp32 align 16, out *fp32 align 16
//   constants FN = div

namespace {

// Quotient within 2 ulp over the full range, as Triton divides (PTX ISA, div.full.f32).
__device__ __forceinline__ float divide_approx(float a, float b)
{
    float quotient;
    asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
    return quotient;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(64)
scalar_kernel(const float* __restrict__ x, const float* __restrict__ y, float* out)
{
    const int thread = threadIdx.x;

    // p = tl.program_id(0)                                                        elementwise.py:43
    const int p = blockIdx.x;

    // tl.store(out + p, FN(tl.load(x + p), tl.load(y + p)))                       elementwise.py:44
    const float a = x[p];
    const float b = y[p];
    if (thread == 0) out[p] = divide_approx(a, b);
}
