// matmul.cu: emitted by tle2cuda from dot.py:89 (matmul). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 14336 bytes of shared memory
//   loops     dot.py:100 has no stages for `a`: it comes in pieces of less than 4 bytes
//   loops     dot.py:100 has no stages for `b`: it comes in pieces of less than 4 bytes
//   launch    grid of CTAs, one for each program
//   args      a_ptr *fp16 align 16, b_ptr *fp16 align 16, out *fp32 align 16, M i32, N i32,
//             K i32, first i32 divisible by 16, stride_am i32, stride_bk i32
//   constants stride_ak = 1, stride_bn = 1, BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 32,
//             PRECISION = 'tf32'

#include <cuda_fp16.h>

namespace {

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Loads four 8 x 8 matrices of 16-bit elements (or 16-byte rows of others): lane l passes row l % 8 of matrix l / 8, and gets of
// each matrix the 4 bytes l % 4 of row l / 4. Called by all lanes of a warp (PTX ISA, ldmatrix; sm_75).
__device__ __forceinline__ void ldmatrix_x4(unsigned* words, const void* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "r"(shared_address(row)) : "memory");
}

// Four 8 x 8 matrices of 16-bit elements, each transposed on the way: lane l passes row l % 8 of matrix l / 8, and gets of each
// matrix elements 2 * (l % 4) and the next one of column l / 4. Called by all lanes of a warp (PTX ISA, ldmatrix; sm_75).
__device__ __forceinline__ void ldmatrix_x4_trans(unsigned* words, const void* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "r"(shared_address(row)) : "memory");
}

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

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// Load N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* pointer)
{
    return *reinterpret_cast<const Vector<T, N>*>(pointer);
}

// sums[16, 8] += a[16, 16] @ b[16, 8] of one warp, float16 operands. Called by all its lanes (PTX ISA, mma; sm_80).
__device__ __forceinline__ void mma_m16n8k16_f32_f16(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(128) __half a_tile[1024];         // operand of dot.py:103: [32, 32], rows in 16-byte chunks, swizzled
    alignas(128) __half b_tile[2048];         // operand of dot.py:103: [32, 64], rows in 16-byte chunks, swizzled
    alignas(16) float acc_exchange[2048];     // scratch of dot.py:100
};
static_assert(sizeof(Shared) <= 14336, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
matmul(const __half* __restrict__ a_ptr, const __half* __restrict__ b_ptr, float* out, const int M,
       const int N, const int K, const int first, const int stride_am, const int stride_bk)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                           dot.py:94
    const int pid_x = blockIdx.x;
    // cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)                           dot.py:95
    const int pid_y = blockIdx.y;
    // b_ptrs += BLOCK_K * stride_bk                                                      dot.py:105
    const long long b_ptrs_step = static_cast<long long>(32 * stride_bk);

    // for start in range(tl.cdiv(K, BLOCK_K)):                                           dot.py:100
    Vector<float, 2> acc[8];
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            acc[run][k] = 0.0f;
    long long a_ptrs_offset = 0ll;
    long long b_ptrs_offset = 0ll;

    // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                           dot.py:94
    const int k_3 = thread % 32;

    // cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)                           dot.py:95
    const int cols = pid_y * 64 + thread % 64;
    for (int start = 0; start < (K + 31) / 32; ++start) {
        __half a[8];

        // tile [32, 32]: row = thread / 32 + 4 * run, column = thread % 32;  run < 8
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                   dot.py:94
            const int k_ = thread / 32 + 4 * run;
            const int rows = pid_x * 32 + k_;
            // a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (k[None, :] < K - star ...  dot.py:101
            a[run] = load_nc_if(rows < M && k_3 < K - start * 32, a_ptr + first * stride_am + rows * stride_am + k_3 + a_ptrs_offset, __float2half(0.0f));
        }
        __half b[16];

        // tile [32, 64]: row = thread / 64 + 2 * run, column = thread % 64;  run < 16
        #pragma unroll
        for (int run = 0; run < 16; ++run) {
            // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                   dot.py:94
            const int k_ = thread / 64 + 2 * run;
            // b = tl.load(b_ptrs, mask=(k[:, None] < K - start * BLOCK_K) & (cols[N ...  dot.py:102
            b[run] = load_nc_if(k_ < K - start * 32 && cols < N, b_ptr + k_ * stride_bk + cols + b_ptrs_offset, __float2half(0.0f));
        }
        __syncthreads();  // orders the accesses to the scratch `a_tile` and the scratch `b_tile` before it and after it

        // acc += tl.dot(a, b, input_precision=PRECISION)                                 dot.py:103
        #pragma unroll
        for (int run = 0; run < 8; ++run)
            shared.a_tile[((thread / 64 * 8) ^ thread ^ (run % 2 * 16)) + 128 * run] = a[run];
        #pragma unroll
        for (int run = 0; run < 16; ++run)
            shared.b_tile[((thread / 64 * 8) ^ thread ^ (run % 4 * 16)) + 128 * run] = b[run];
        __syncthreads();  // orders the accesses to the scratch `a_tile` and the scratch `b_tile` before it and after it
        #pragma unroll
        for (int step = 0; step < 2; ++step) {
            unsigned a_part[4];  // rows of this warp
            ldmatrix_x4(a_part, &shared.a_tile[thread / 64 * 512 + thread % 16 * 32 + ((2 * step) ^ (thread / 2 % 4) ^ (thread / 16 % 2)) * 8]);
            unsigned b_part[2][4];  // columns of this warp, two fragments a time
            #pragma unroll
            for (int column = 0; column < 2; ++column)
                ldmatrix_x4_trans(b_part[column], &shared.b_tile[1024 * step + thread % 16 * 64 + ((2 * column) ^ (thread / 32 % 2 * 4) ^ (thread % 8) ^ (thread / 16 % 2)) * 8]);
            #pragma unroll
            for (int column = 0; column < 4; ++column)
                mma_m16n8k16_f32_f16(&acc[2 * column], a_part, &b_part[column / 2][column % 2 * 2]);
        }

        // for start in range(tl.cdiv(K, BLOCK_K)):                                       dot.py:100
        a_ptrs_offset += 32ll;
        b_ptrs_offset += b_ptrs_step;
    }

    // for start in range(tl.cdiv(K, BLOCK_K)):                                           dot.py:100
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        Vector<float, 2> packed;
        #pragma unroll
        for (int k = 0; k < 2; ++k) packed[k] = acc[run / 2 * 2 + k][run % 2];
        store_vector(&shared.acc_exchange[(thread ^ (run % 4 * 4)) * 2 + run % 4 * 512 + run / 4 * 256], packed);
    }
    __syncthreads();  // the whole tile is in shared memory
    float acc_2[16];
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        const Vector<float, 2> unpacked = load_vector<2>(&shared.acc_exchange[thread / 8 % 2 * 1024 + thread % 2 * 512 + thread / 16 % 2 * 256 + thread / 32 % 2 * 64 + ((thread / 8 % 2) ^ (run % 4)) * 16 + ((thread % 2) ^ (thread / 64)) * 8 + thread / 2 % 4 * 2 + run / 4 * 128]);
        #pragma unroll
        for (int k = 0; k < 2; ++k) acc_2[run / 4 * 8 + run % 4 + 4 * k] = unpacked[k];
    }
    #pragma unroll
    for (int run = 0; run < 16; ++run) {
        // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                       dot.py:94
        const int k_ = thread / 64 + 2 * run;
        const int rows = pid_x * 32 + k_;
        // tl.store(out + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None ...  dot.py:106
        if (rows < M && cols < N) *(out + rows * N + cols) = acc_2[run];
    }
}
