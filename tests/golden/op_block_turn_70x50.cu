// copy_grid.cu: emitted by tle2cuda from block_pointers.py:30 (copy_grid). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 1024 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp16 align 16, out *fp16 align 16, M i32, N i32
//   constants BM = 32, BN = 16

#include <cuda_fp16.h>

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

// Shared memory of one CTA.
struct Shared {
    alignas(16) __half exchange[512];         // scratch of block_pointers.py:35
};
static_assert(sizeof(Shared) <= 1024, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
copy_grid(const __half* __restrict__ x, __half* out, const int M, const int N)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // rows, cols = tl.program_id(0) * BM, tl.program_id(1) * BN                block_pointers.py:32
    const int pid_x = blockIdx.x;
    const int rows = pid_x * 32;
    const int pid_y = blockIdx.y;
    const int cols = pid_y * 16;

    // source = tl.make_block_ptr(x, (M, N), (N, 1), (rows, cols), (BM, BN ...  block_pointers.py:33
    const long long M_wide = static_cast<long long>(M);
    const long long N_wide = static_cast<long long>(N);

    // tl.store(target, tl.trans(tl.load(source, boundary_check=(0, 1))), ...   block_pointers.py:35
    const long long rows_wide = static_cast<long long>(rows);
    const long long cols_wide = static_cast<long long>(cols);
    const long long rows_left = M_wide - rows_wide;
    const long long cols_left = N_wide - cols_wide;
    __half x_value[4];

    // tile [32, 16]: row = thread / 16 + 8 * run, column = thread % 16;  run < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        x_value[run] = load_nc_if(thread / 16 + 8 * run < rows_left && rows_wide + thread / 16 + 8 * run >= 0ll && thread % 16 < cols_left, x + rows_wide * N_wide + cols_wide + (thread / 16 + 8 * run) * N_wide + thread % 16, __float2half(0.0f));
    }
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        shared.exchange[thread / 64 * 64 + ((thread / 64 * 2) ^ (thread % 16) ^ (4 * run)) * 4 + thread / 16 % 4 + 128 * run] = x_value[run];
    __syncthreads();  // the whole tile is in shared memory
    __half x_converted[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        x_converted[run] = shared.exchange[thread / 4 % 8 * 64 + ((thread / 4 % 8 * 2) ^ (thread / 32) ^ (4 * run)) * 4 + thread % 4];

    // tile [16, 32]: row = thread / 32 + 4 * run, column = thread % 32;  run < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        if (thread / 32 + 4 * run < cols_left && thread % 32 < rows_left && rows_wide + thread % 32 >= 0ll) *(out + cols_wide * M_wide + rows_wide + (thread / 32 + 4 * run) * M_wide + thread % 32) = x_converted[run];
    }
}
