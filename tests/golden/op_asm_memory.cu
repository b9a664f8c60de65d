// memory_kernel.cu: emitted by tle2cuda from inline_asm.py:314 (memory_kernel). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 16 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, total *i32 align 16, n i32
//   constants BLOCK = 128

namespace {

// Inline PTX of inline_asm.py:317.
__device__ __forceinline__ int asm_ld(int* a)
{
    int result;
    asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(result) : "l"(a) : "memory");
    return result;
}

// Inline PTX of inline_asm.py:320.
__device__ __forceinline__ int asm_st(int* a, int b)
{
    int result;
    asm volatile("st.global.b32 [%1+0], %2; mov.u32 %0, 0;" : "=r"(result) : "l"(a), "r"(b) : "memory");
    return result;
}

// Inline PTX of inline_asm.py:324.
__device__ __forceinline__ int asm_ld_2(int* a)
{
    int result;
    asm volatile("ld.acquire.gpu.b32 %0, [%1+4];" : "=r"(result) : "l"(a) : "memory");
    return result;
}

// Inline PTX of inline_asm.py:325.
__device__ __forceinline__ int asm_fence()
{
    int result;
    asm volatile("fence.acq_rel.gpu; mov.u32 %0, 0;" : "=r"(result) : : "memory");
    return result;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int first_broadcast[1];       // scratch of inline_asm.py:324
};
static_assert(sizeof(Shared) <= 16, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
memory_kernel(int* x, int* out, int* total, const int n)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // value = tl.inline_asm_elementwise(                                          inline_asm.py:317
    const int value = asm_ld(x + thread);
    // "st.global.b32 [$1+0], $2; mov.u32 $0, 0;", "=r,l,r", [out + i, value ...   inline_asm.py:321
    const int product = value * 2;
    // tl.inline_asm_elementwise(                                                  inline_asm.py:320
    asm_st(out + thread, product);
    // tl.debug_barrier()                                                          inline_asm.py:323
    __syncthreads();

    // first = tl.inline_asm_elementwise("ld.acquire.gpu.b32 $0, [$1+4];", "= ...  inline_asm.py:324
    const int own_first = asm_ld_2(out);
    if (thread == 0) shared.first_broadcast[0] = own_first;
    __syncthreads();  // every thread takes what the first thread saw
    const int first = shared.first_broadcast[0];

    // tl.inline_asm_elementwise("fence.acq_rel.gpu; mov.u32 $0, 0;", "=r", [ ...  inline_asm.py:325
    asm_fence();
    // if first > 0:                                                               inline_asm.py:326
    if (first > 0) {
        // tl.store(total, first + n)                                              inline_asm.py:327
        if (thread == 0) *total = first + n;
    }
}
