// block_matmul.cu: emitted by tle2cuda from block_pointers.py:66 (block_matmul). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 7168 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      a *fp16 align 16, b *fp16 align 16, c *fp16 align 16, M i32, N i32, K i32
//   constants BM = 32, BN = 32, BK = 32

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

// Load N neighbours as values of another type; the pointer is aligned to min(16, N * sizeof(Stored)) bytes. Called by
// each thread for itself.
template <typename T, int N, typename Stored>
__device__ __forceinline__ Vector<T, N> load_vector_as(const Stored* pointer)
{
    const Vector<Stored, N> stored = load_vector<N>(pointer);
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = static_cast<T>(stored[k]);
    return result;
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) __half left_tile[32][40];     // scratch of block_pointers.py:75
    alignas(16) __half right_tile[32][40];    // scratch of block_pointers.py:75
    alignas(16) __half exchange[1024];        // scratch of block_pointers.py:79
};
static_assert(sizeof(Shared) <= 7168, "the launch contract gives the CTA this much shared memory");

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
    float acc[8];
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        acc[run] = 0.0f;
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
            shared.left_tile[thread / 32 + 4 * run][thread % 32] = left[run];
        #pragma unroll
        for (int run = 0; run < 8; ++run)
            shared.right_tile[thread / 32 + 4 * run][thread % 32] = right[run];
        __syncthreads();  // `left` and `right` are in shared memory
        #pragma unroll 4
        for (int k_ = 0; k_ < 32; k_ += 4) {
            Vector<float, 4> right_part[4];  // the columns of this thread
            #pragma unroll
            for (int column = 0; column < 4; ++column)
                right_part[column] = load_vector_as<float, 4>(&shared.right_tile[8 * column + thread % 8][k_]);
            #pragma unroll
            for (int row_2 = 0; row_2 < 2; ++row_2) {
                const Vector<float, 4> left_part = load_vector_as<float, 4>(&shared.left_tile[16 * row_2 + thread / 8][k_]);
                #pragma unroll
                for (int step_2 = 0; step_2 < 4; ++step_2) {
                    #pragma unroll
                    for (int column = 0; column < 4; ++column)
                        acc[4 * row_2 + column] += left_part[step_2] * right_part[column][step_2];
                }
            }
        }

        // a_ptr = tl.advance(a_ptr, (0, BK))                                   block_pointers.py:76
        a_ptr_col += 32;
        // b_ptr = tl.advance(b_ptr, (BK, 0))                                   block_pointers.py:77
        b_ptr_row += 32;
    }
    __half acc_2[8];

    // tile [32, 32]: row = thread / 8 + run / 4 * 16, column = thread % 8 + run % 4 * 8;  run < 8
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // tl.store(c_ptr, acc.to(tl.float16), boundary_check=(0, 1))           block_pointers.py:79
        acc_2[run] = __float2half(acc[run]);
    }

    // tl.store(c_ptr, acc.to(tl.float16), boundary_check=(0, 1))               block_pointers.py:79
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        Vector<__half, 2> packed;
        #pragma unroll
        for (int k = 0; k < 2; ++k) packed[k] = acc_2[run + 4 * k];
        store_vector(&shared.exchange[(thread ^ (8 * run)) * 2 + 256 * run], packed);
    }
    __syncthreads();  // the whole tile is in shared memory
    __half acc_converted[8];
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        const Vector<__half, 2> unpacked = load_vector<2>(&shared.exchange[thread / 8 % 4 * 256 + ((thread / 32 * 8) ^ (thread % 32)) * 2 + 64 * run]);
        #pragma unroll
        for (int k = 0; k < 2; ++k) acc_converted[run + 4 * k] = unpacked[k];
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
