// matmul.cu: emitted by tle2cuda from dot.py:77 (matmul). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 14848 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      a_ptr *fp16 align 16, b_ptr *fp16 align 16, out *fp32 align 16, M i32, N i32,
//             K i32, first i32 divisible by 16, stride_am i32, stride_bk i32
//   constants stride_ak = 1, stride_bn = 1, BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 32,
//             PRECISION = 'tf32'

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
    alignas(16) __half a_tile[32][40];        // scratch of dot.py:91
    alignas(16) __half b_tile[32][64];        // scratch of dot.py:91
    alignas(16) float acc_exchange[2048];     // scratch of dot.py:88
};
static_assert(sizeof(Shared) <= 14848, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
matmul(const __half* __restrict__ a_ptr, const __half* __restrict__ b_ptr, float* out, const int M,
       const int N, const int K, const int first, const int stride_am, const int stride_bk)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                           dot.py:82
    const int pid_x = blockIdx.x;
    // cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)                           dot.py:83
    const int pid_y = blockIdx.y;

    // for start in range(tl.cdiv(K, BLOCK_K)):                                            dot.py:88
    Vector<float, 4> acc[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            acc[run][k] = 0.0f;
    long long a_ptrs_offset = 0ll;
    long long b_ptrs_offset = 0ll;

    // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                           dot.py:82
    const int k_3 = thread % 32;

    // cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)                           dot.py:83
    const int cols = pid_y * 64 + thread % 64;
    for (int start = 0; start < (K + 31) / 32; ++start) {
        __half a[8];

        // tile [32, 32]: row = thread / 32 + 4 * run, column = thread % 32;  run < 8
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                   dot.py:82
            const int k_ = thread / 32 + 4 * run;
            const int rows = pid_x * 32 + k_;
            // a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (k[None, :] < K - start ...  dot.py:89
            a[run] = load_nc_if(rows < M && k_3 < K - start * 32, a_ptr + first * stride_am + rows * stride_am + k_3 + a_ptrs_offset, __float2half(0.0f));
        }
        __half b[16];

        // tile [32, 64]: row = thread / 64 + 2 * run, column = thread % 64;  run < 16
        #pragma unroll
        for (int run = 0; run < 16; ++run) {
            // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                   dot.py:82
            const int k_ = thread / 64 + 2 * run;
            // b = tl.load(b_ptrs, mask=(k[:, None] < K - start * BLOCK_K) & (cols[No ...  dot.py:90
            b[run] = load_nc_if(k_ < K - start * 32 && cols < N, b_ptr + k_ * stride_bk + cols + b_ptrs_offset, __float2half(0.0f));
        }
        __syncthreads();  // orders the accesses to the scratch `a_tile` and the scratch `b_tile` before it and after it

        // acc += tl.dot(a, b, input_precision=PRECISION)                                  dot.py:91
        #pragma unroll
        for (int run = 0; run < 8; ++run) shared.a_tile[thread / 32 + 4 * run][thread % 32] = a[run];
        #pragma unroll
        for (int run = 0; run < 16; ++run) shared.b_tile[thread / 64 + 2 * run][thread % 64] = b[run];
        __syncthreads();  // `a` and `b` are in shared memory
        #pragma unroll 4
        for (int k_ = 0; k_ < 32; k_ += 4) {
            Vector<float, 4> b_part[4];  // the columns of this thread
            #pragma unroll
            for (int step = 0; step < 4; ++step)
                b_part[step] = load_vector_as<float, 4>(&shared.b_tile[k_ + step][thread / 64 * 32 + thread % 8 * 4]);
            #pragma unroll
            for (int row = 0; row < 4; ++row) {
                const Vector<float, 4> a_part = load_vector_as<float, 4>(&shared.a_tile[8 * row + thread / 8 % 8][k_]);
                #pragma unroll
                for (int step = 0; step < 4; ++step) {
                    #pragma unroll
                    for (int column = 0; column < 4; ++column) acc[row][column] += a_part[step] * b_part[step][column];
                }
            }
        }

        // for start in range(tl.cdiv(K, BLOCK_K)):                                        dot.py:88
        a_ptrs_offset += 32ll;
        b_ptrs_offset += static_cast<long long>(32 * stride_bk);
    }

    // for start in range(tl.cdiv(K, BLOCK_K)):                                            dot.py:88
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        Vector<float, 4> packed;
        #pragma unroll
        for (int k = 0; k < 4; ++k) packed[k] = acc[k][run];
        store_vector(&shared.acc_exchange[(thread ^ (2 * run)) * 4 + 512 * run], packed);
    }
    __syncthreads();  // the whole tile is in shared memory
    float acc_2[16];
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        const Vector<float, 4> unpacked = load_vector<4>(&shared.acc_exchange[thread % 4 * 512 + thread / 32 % 2 * 256 + thread / 64 * 32 + ((thread % 4 * 2) ^ (thread / 4 % 8)) * 4 + 64 * run]);
        #pragma unroll
        for (int k = 0; k < 4; ++k) acc_2[run + 4 * k] = unpacked[k];
    }
    #pragma unroll
    for (int run = 0; run < 16; ++run) {
        // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                       dot.py:82
        const int k_ = thread / 64 + 2 * run;
        const int rows = pid_x * 32 + k_;
        // tl.store(out + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] ...  dot.py:94
        if (rows < M && cols < N) *(out + rows * N + cols) = acc_2[run];
    }
}
