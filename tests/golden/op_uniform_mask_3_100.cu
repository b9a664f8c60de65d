// copy_uniform_mask.cu: emitted by tle2cuda from memory.py:55 (copy_uniform_mask). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, flag i32, n i32
//   constants BLOCK = 128

namespace {

// Load one element of global memory if a condition holds, else take `other` (read-only data): one predicated load (PTX ISA,
// ld.global.nc). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ int load_nc_if(bool condition, const int* pointer, int other)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.nc.s32 %0, [%1];\n\t}"
        : "+r"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return other;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
copy_uniform_mask(const int* __restrict__ x, int* out, const int flag, const int n)
{
    const int thread = threadIdx.x;

    // value = tl.load(x + i, mask=(i < n) & (flag > 2), other=-1)                      memory.py:58
    const int value = load_nc_if(thread < n && flag > 2, x + thread, -1);
    // tl.store(out + i, value, mask=(flag != 4) & (i <= n))                            memory.py:59
    if (flag != 4 && thread <= n) out[thread] = value;
}
