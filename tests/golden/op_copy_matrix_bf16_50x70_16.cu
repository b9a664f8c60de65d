// copy_matrix.cu: emitted by tle2cuda from memory.py:230 (copy_matrix). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *bf16 align 16, out *bf16 align 16, rows i32, cols i32, stride_in i32,
//             stride_out i32
//   constants M = 16, N = 32

#include <cuda_bf16.h>

namespace {

// Load one element of 16 bits in global memory if a condition holds, else take `other` (read-only data): one predicated load
// (PTX ISA, ld.global.nc). Its address is computed either way, so that neighbouring loads can share it.
template <typename T, typename Other>
__device__ __forceinline__ T load_nc_if(bool condition, const T* pointer, Other other)
{
    T value = static_cast<T>(other);
    unsigned short bits;
    memcpy(&bits, &value, sizeof(bits));
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.nc.u16 %0, [%1];\n\t}"
        : "+h"(bits)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    memcpy(&value, &bits, sizeof(bits));
    return value;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
copy_matrix(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* out, const int rows,
            const int cols, const int stride_in, const int stride_out)
{
    const int thread = threadIdx.x;

    // r = tl.program_id(0) * M + tl.arange(0, M)                                      memory.py:231
    const int pid_x = blockIdx.x;

    // c = tl.program_id(1) * N + tl.arange(0, N)                                      memory.py:232
    const int pid_y = blockIdx.y;
    __nv_bfloat16 value[4];
    const int c = pid_y * 32 + thread % 32;

    // tile [16, 32]: row = thread / 32 + 4 * run, column = thread % 32;  run < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // r = tl.program_id(0) * M + tl.arange(0, M)                                  memory.py:231
        const int r = pid_x * 16 + thread / 32 + 4 * run;
        // ok = (r[:, None] < rows) & (c[None, :] < cols)                              memory.py:233
        const bool ok = r < rows && c < cols;
        // value = tl.load(x + r[:, None] * stride_in + c[None, :], mask=ok)           memory.py:234
        value[run] = load_nc_if(ok, x + r * stride_in + c, __float2bfloat16(0.0f));
    }
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // r = tl.program_id(0) * M + tl.arange(0, M)                                  memory.py:231
        const int r = pid_x * 16 + thread / 32 + 4 * run;
        // ok = (r[:, None] < rows) & (c[None, :] < cols)                              memory.py:233
        const bool ok = r < rows && c < cols;
        // tl.store(out + r[:, None] * stride_out + c[None, :], value, mask=ok)        memory.py:235
        if (ok) *(out + r * stride_out + c) = value[run];
    }
}
