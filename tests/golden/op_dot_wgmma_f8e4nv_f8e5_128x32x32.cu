// product.cu: emitted by tle2cuda from dot.py:18 (product). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 5120 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      a *fp8e4nv align 16, b *fp8e5 align 16, out *fp32 align 16
//   constants M = 128, N = 32, K = 32, OUT = float32, PRECISION = 'tf32'

#include <cuda_fp8.h>

namespace {

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

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

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Closes the warpgroup's group of products. Called by all of its threads (PTX ISA, wgmma.commit_group; sm_90a).
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

using Descriptor = unsigned long long;                   // names an operand in shared memory

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Names an operand of wgmma in shared memory: panels of rows under the swizzle of 32, 64 or 128 bytes, as long as these are. From
// eight rows to the next eight it is `stride_bytes`, and from panel to panel, where rows run along M or N, `leading_bytes`. Added
// numbers move it by 16 bytes (PTX ISA, wgmma, "Matrix Descriptor Format").
template <int SWIZZLE_BYTES>
__device__ __forceinline__ Descriptor wgmma_descriptor(const void* tile, unsigned leading_bytes, unsigned stride_bytes)
{
    constexpr Descriptor swizzle = SWIZZLE_BYTES == 128 ? 1 : SWIZZLE_BYTES == 64 ? 2 : 3;
    return (swizzle << 62) | (static_cast<Descriptor>(stride_bytes >> 4) << 32) | (static_cast<Descriptor>(leading_bytes >> 4) << 16)
         | ((shared_address(tile) & 0x3FFFF) >> 4);
}

// Orders what the warpgroup did with accumulators and operands before the next wgmma. Called by all of its threads (PTX ISA,
// wgmma.fence; sm_90a).
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// sums[64, 32] += a[64, 32] @ b[32, 32] of one warpgroup: float8 (e4m3) and float8 (e5m2), a in rows along K, b in rows along K.
// In flight until a wait: sums and operands stay as they are up to there. Without `accumulate` sums are not read. Called by all of
// its threads (PTX ISA, wgmma.mma_async; sm_90a).
__device__ __forceinline__ void wgmma_m64n32k32_f32_e4m3_e5m2(
    Vector<float, 2>* sums, Descriptor a, Descriptor b, bool accumulate)
{
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %18, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e5m2 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
        "}, %16, %17, accumulate, 1, 1;\n"
        "}"
        : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1]), "+f"(sums[2][0]), "+f"(sums[2][1]),
          "+f"(sums[3][0]), "+f"(sums[3][1]), "+f"(sums[4][0]), "+f"(sums[4][1]), "+f"(sums[5][0]), "+f"(sums[5][1]),
          "+f"(sums[6][0]), "+f"(sums[6][1]), "+f"(sums[7][0]), "+f"(sums[7][1])
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// Waits until at most the last PENDING groups are in flight. Called by all threads of the warpgroup (PTX ISA, wgmma.wait_group;
// sm_90a).
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(256) __nv_fp8_e4m3 x_tile[4096];  // operand of dot.py:25: [128, 32], rows in 16-byte chunks, swizzled
    alignas(256) __nv_fp8_e5m2 y_tile[1024];  // operand of dot.py:25: [32, 32], columns in 16-byte chunks, swizzled
};
static_assert(sizeof(Shared) <= 5120, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
product(const __nv_fp8_e4m3* __restrict__ a, const __nv_fp8_e5m2* __restrict__ b, float* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    Vector<__nv_fp8_e4m3, 16> x[2];

    // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)                   dot.py:22
    const int cols = thread % 2 * 16;
    // tile [128, 32]: row = thread / 2 + 64 * run, column = thread % 2 * 16 + k;  run < 2, k < 16
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)               dot.py:22
        const int rows = thread / 2 + 64 * run;
        // x = tl.load(a + rows[:, None] * K + k[None, :])                                 dot.py:23
        x[run] = load_vector<16>(a + rows * 32 + cols);
    }
    const int cols_2 = thread / 4;
    const int cols_3 = thread % 4 * 8;

    // y = tl.load(b + k[:, None] * N + cols[None, :])                                     dot.py:24
    const Vector<__nv_fp8_e5m2, 8> y = load_vector<8>(b + cols_2 * 32 + cols_3);

    // tl.store(out + rows[:, None] * N + cols[None, :], tl.dot(x, y, input_precision ...  dot.py:25
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        store_vector(&shared.x_tile[(thread ^ (thread / 8 % 2)) * 16 + 2048 * run], x[run]);
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        shared.y_tile[thread % 4 * 256 + ((thread / 4) ^ (run / 4 * 16)) + 32 * run] = y[run];
    fence_async_proxy();  // shows what was written to the scratch `x_tile` and the scratch `y_tile` to the tensor cores
    __syncthreads();  // orders the accesses to the scratch `x_tile` and the scratch `y_tile` before it and after it
    Vector<float, 2> product[16];
    const Descriptor x_first = wgmma_descriptor<32>(shared.x_tile, 16, 256);  // rows along K
    const Descriptor y_first = wgmma_descriptor<32>(shared.y_tile, 16, 256);  // rows along K
    wgmma_fence();
    #pragma unroll
    for (int row = 0; row < 2; ++row)
        wgmma_m64n32k32_f32_e4m3_e5m2(&product[8 * row], x_first + 128 * row, y_first, false);
    wgmma_commit();
    wgmma_wait<0>();

    // tile [128, 32]: row = thread / 32 * 16 + thread / 4 % 8 + run / 8 * 64 + run % 2 * 8, column = thread % 4 * 2 + run / 2 % 4 * 8 + k;  run < 16, k < 2
    #pragma unroll
    for (int run = 0; run < 16; ++run) {
        // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)               dot.py:22
        const int rows = thread / 32 * 16 + thread / 4 % 8 + run / 8 * 64 + run % 2 * 8;
        const int cols_4 = thread % 4 * 2 + run / 2 % 4 * 8;
        // tl.store(out + rows[:, None] * N + cols[None, :], tl.dot(x, y, input_preci ...  dot.py:25
        store_vector(out + rows * 32 + cols_4, product[run]);
    }
}
