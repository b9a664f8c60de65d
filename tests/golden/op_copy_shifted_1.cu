// copy_shifted.cu: emitted by tle2cuda from memory.py:63 (copy_shifted). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp32 align 16, n i32
//   constants shift = 1, BLOCK = 256

namespace {

// Load one element of global memory if a condition holds, else take `other` (read-only data): one predicated load (PTX ISA,
// ld.global.nc). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ float load_nc_if(bool condition, const float* pointer, float other)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.nc.f32 %0, [%1];\n\t}"
        : "+f"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return other;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
copy_shifted(const float* __restrict__ x, float* out, const int n)
{
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                               memory.py:65
    const int pid_x = blockIdx.x;

    // tile [256]: element = thread + 128 * run;  run < 2
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        const int i = pid_x * 256 + thread + 128 * run;

        // tl.store(out + i, tl.load(x + shift + i, mask=i + shift < n, other=0), ...   memory.py:66
        const float x_value = load_nc_if(i + 1 < n, x + 1 + i, 0.0f);
        if (n > i) out[i] = x_value;
    }
}
