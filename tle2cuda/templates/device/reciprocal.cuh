// defines: reciprocal_approx
// Reciprocal of x with the upper half of the bits, the lower ones zero; denormals are zero (PTX ISA, rcp.approx.ftz.f64).
__device__ __forceinline__ double reciprocal_approx(double x)
{
    double result;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(result) : "d"(x));
    return result;
}
// twin:
__device__ __forceinline__ double reciprocal_approx(double x) { return tle2cuda_emulator::reciprocal_high(x); }
