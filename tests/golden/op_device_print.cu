// printing.cu: emitted by tle2cuda from memory.py:216 (printing). Do not edit.
//
//   target    sm_90a, 32 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, n i32
//   constants BLOCK = 32

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

extern "C" __global__ void __launch_bounds__(32)
printing(const int* __restrict__ x, const int n)
{
    const int thread = threadIdx.x;

    // value = tl.load(x + i, mask=i < n, other=0)                                     memory.py:219
    const int value = load_nc_if(thread < n, x + thread, 0);
    // if n > 1000:                                                                    memory.py:220
    if (n > 1000) {
        // tl.device_print("value", value, value * 2)                                  memory.py:221
        const int product = value * 2;
        printf("pid (%d, %d, %d) idx (%2d) value: (operand 0) %d\n", (int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z, thread, (int)value);
        printf("pid (%d, %d, %d) idx (%2d) value: (operand 1) %d\n", (int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z, thread, (int)product);

        // tl.device_print("n %d", n)                                                  memory.py:222
        if (thread == 0) printf("pid (%d, %d, %d) idx () n %%d: %d\n", (int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z, (int)n);
        // tl.device_print("hexadecimal", i, hex=True)                                 memory.py:223
        printf("pid (%d, %d, %d) idx (%2d) hexadecimal: 0x%08x\n", (int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z, thread, (unsigned)thread);
    }
}
