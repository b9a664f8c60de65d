// defines: divide_approx
// Quotient within 2 ulp over the full range, as Triton divides (PTX ISA, div.full.f32).
__device__ __forceinline__ float divide_approx(float a, float b)
{
    float quotient;
    asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
    return quotient;
}
// twin:
__device__ __forceinline__ float divide_approx(float a, float b) { return tle2cuda_emulator::divide_full(a, b); }
// defines: exp2_approx
// 2 to the power of x within 2 ulp; denormals are zero (PTX ISA, ex2.approx.ftz.f32).
__device__ __forceinline__ float exp2_approx(float x)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}
// twin:
__device__ __forceinline__ float exp2_approx(float x) { return tle2cuda_emulator::exp2_ftz(x); }
// defines: sqrt_approx
// Square root within 1 ulp; denormals are zero (PTX ISA, sqrt.approx.ftz.f32).
__device__ __forceinline__ float sqrt_approx(float x)
{
    float result;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}
// twin:
__device__ __forceinline__ float sqrt_approx(float x) { return tle2cuda_emulator::sqrt_ftz(x); }
