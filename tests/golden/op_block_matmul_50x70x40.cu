// block_matmul.cu: emitted by tle2cuda from block_pointers.py:66 (block_matmul). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 6144 bytes of shared memory
//   loops     block_pointers.py:72 has no stages for `left`: it comes in pieces of less than 4 bytes
//   loops     block_pointers.py:72 has no stages for `right`: it comes in pieces of less than 4 bytes
//   launch    grid of CTAs, one for each program
//   args      a *fp16 align 16, b *fp16 align 16, c *fp16 align 16, M i32, N i32, K i32
//   constants BM = 32, BN = 32, BK = 32

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
    alignas(128) __half left_tile[1024];      // operand of block_pointers.py:75: [32, 32], rows in 16-byte chunks, swizzled
    alignas(128) __half right_tile[1024];     // operand of block_pointers.py:75: [32, 32], columns in 16-byte chunks, swizzled
    alignas(16) __half exchange[1024];        // scratch of block_pointers.py:79
};
static_assert(sizeof(Shared) <= 6144, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
block_matmul(const __half* __restrict__ a, const __half* __restrict__ b, __half* c, const int M,
             const int N, const int K)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // row, col = tl.program_id(0) * BM, tl.program_id(1) * BN                  block_pointers.py:68
    const int pid_x = blockIdx.x;
    const int row = pid_x * 32;
    const int pid_y = blockIdx.y;
    const int col = pid_y * 32;

    // a_ptr = tl.make_block_ptr(a, (M, K), (K, 1), (row, 0), (BM, BK), (1 ...  block_pointers.py:69
    const long long K_wide = static_cast<long long>(K);
    // b_ptr = tl.make_block_ptr(b, (K, N), (1, K), (0, col), (BK, BN), (0 ...  block_pointers.py:70
    const long long N_wide = static_cast<long long>(N);
    // left = tl.load(a_ptr, boundary_check=(0, 1), padding_option="zero")      block_pointers.py:73
    const long long row_wide = static_cast<long long>(row);
    const long long rows_left = static_cast<long long>(M) - row_wide;
    // right = tl.load(b_ptr, boundary_check=(0, 1), padding_option="zero")     block_pointers.py:74
    const long long col_wide = static_cast<long long>(col);
    const long long cols_left = N_wide - col_wide;

    // for _ in range(0, K, BK):                                                block_pointers.py:72
    Vector<float, 2> acc[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            acc[run][k] = 0.0f;
    int a_ptr_col = 0;
    int b_ptr_row = 0;
    for (int step = 0; step < K; step += 32) {
        // left = tl.load(a_ptr, boundary_check=(0, 1), padding_option="zero")  block_pointers.py:73
        const long long a_ptr_col_wide = static_cast<long long>(a_ptr_col);
        const long long cols_left_2 = K_wide - a_ptr_col_wide;

        // right = tl.load(b_ptr, boundary_check=(0, 1), padding_option="z ...  block_pointers.py:74
        const long long b_ptr_row_wide = static_cast<long long>(b_ptr_row);
        const long long rows_left_2 = K_wide - b_ptr_row_wide;
        __half left[8];

        // tile [32, 32]: row = thread / 32 + 4 * run, column = thread % 32;  run < 8
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            // left = tl.load(a_ptr, boundary_check=(0, 1), padding_option ...  block_pointers.py:73
            const long long index = thread / 32 + 4 * run;
            const bool inside = index < rows_left && row_wide + index >= 0ll;
            left[run] = load_nc_if(inside && thread % 32 < cols_left_2 && a_ptr_col_wide + thread % 32 >= 0ll, a + row_wide * K_wide + a_ptr_col_wide + index * K_wide + thread % 32, __float2half(0.0f));
        }
        __half right[8];

        // tile [32, 32]: row = thread % 32, column = thread / 32 + 4 * run;  run < 8
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            const long long index = thread / 32 + 4 * run;

            // right = tl.load(b_ptr, boundary_check=(0, 1), padding_optio ...  block_pointers.py:74
            right[run] = load_nc_if(thread % 32 < rows_left_2 && b_ptr_row_wide + thread % 32 >= 0ll && index < cols_left, b + b_ptr_row_wide + col_wide * K_wide + thread % 32 + index * K_wide, __float2half(0.0f));
        }
        __syncthreads();  // orders the accesses to the scratch `left_tile` and the scratch `right_tile` before it and after it

        // acc = tl.dot(left, right, acc)                                       block_pointers.py:75
        #pragma unroll
        for (int run = 0; run < 8; ++run)
            shared.left_tile[((thread / 64 * 8) ^ thread ^ (run % 2 * 16)) + 128 * run] = left[run];
        #pragma unroll
        for (int run = 0; run < 8; ++run)
            shared.right_tile[((thread / 64 * 8) ^ thread ^ (run % 2 * 16)) + 128 * run] = right[run];
        __syncthreads();  // orders the accesses to the scratch `left_tile` and the scratch `right_tile` before it and after it
        #pragma unroll
        for (int step_2 = 0; step_2 < 2; ++step_2) {
            unsigned left_part[4];  // rows of this warp
            ldmatrix_x4(left_part, &shared.left_tile[thread / 64 * 512 + thread % 16 * 32 + ((2 * step_2) ^ (thread / 2 % 4) ^ (thread / 16 % 2)) * 8]);
            unsigned right_part[4];  // columns of this warp, two fragments a time
            ldmatrix_x4(right_part, &shared.right_tile[thread / 16 % 4 * 256 + thread % 8 * 32 + ((2 * step_2) ^ (thread / 2 % 4) ^ (thread / 8 % 2)) * 8]);
            #pragma unroll
            for (int column = 0; column < 2; ++column)
                mma_m16n8k16_f32_f16(&acc[2 * column], left_part, &right_part[column % 2 * 2]);
        }

        // a_ptr = tl.advance(a_ptr, (0, BK))                                   block_pointers.py:76
        a_ptr_col += 32;
        // b_ptr = tl.advance(b_ptr, (BK, 0))                                   block_pointers.py:77
        b_ptr_row += 32;
    }
    Vector<__half, 2> acc_2[4];

    // tile [32, 32]: row = thread / 64 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread / 32 % 2 * 16 + thread % 4 * 2 + run / 2 * 8 + k;  run < 4, k < 2
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // tl.store(c_ptr, acc.to(tl.float16), boundary_check=(0, 1))           block_pointers.py:79
        #pragma unroll
        for (int k = 0; k < 2; ++k) acc_2[run][k] = __float2half(acc[run][k]);
    }

    // tl.store(c_ptr, acc.to(tl.float16), boundary_check=(0, 1))               block_pointers.py:79
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        Vector<__half, 2> packed;
        #pragma unroll
        for (int k = 0; k < 2; ++k) packed[k] = acc_2[run / 2 * 2 + k][run % 2];
        store_vector(&shared.exchange[thread / 32 % 2 * 512 + ((thread / 32 * 16) ^ (thread % 32) ^ (4 * run)) * 2 + 128 * run], packed);
    }
    __syncthreads();  // the whole tile is in shared memory
    __half acc_converted[8];
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        const Vector<__half, 2> unpacked = load_vector<2>(&shared.exchange[thread / 8 % 4 * 256 + thread % 2 * 128 + ((thread % 2) ^ (thread / 8 % 4 * 2) ^ (thread / 32) ^ (4 * run)) * 8 + thread / 2 % 4 * 2]);
        #pragma unroll
        for (int k = 0; k < 2; ++k) acc_converted[run / 2 * 4 + run % 2 + 2 * k] = unpacked[k];
    }
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // left = tl.load(a_ptr, boundary_check=(0, 1), padding_option="zero")  block_pointers.py:73
        const long long index = thread / 32 + 4 * run;
        const bool inside = index < rows_left && row_wide + index >= 0ll;
        // tl.store(c_ptr, acc.to(tl.float16), boundary_check=(0, 1))           block_pointers.py:79
        if (inside && thread % 32 < cols_left) *(c + row_wide * N_wide + col_wide + index * N_wide + thread % 32) = acc_converted[run];
    }
}
