// ring.cu: emitted by tle2cuda from tle_wgmma.py:68 (ring). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 36864 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      a *fp16 align 16, b *fp16 align 16, out *fp32 align 16
//   constants STEPS = 7, STAGES = 3, M = 128, N = 64, BLOCK_K = 32

#include <cuda_fp16.h>

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

// An empty asm: to the compiler these sums change here. Else it may copy or compute some while products are in flight, whose
// registers nothing may touch (PTX ISA, wgmma.mma_async), and each product would wait for the one before (ptxas, C7511, C7514,
// C7515, C7520).
template <int COUNT>
__device__ __forceinline__ void keep_sums(Vector<float, 2> (&sums)[COUNT])
{
    #pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(sums[i][0]), "+f"(sums[i][1]));
}

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

// Column at which a row of a swizzled tile holds a column of the array: the 16-byte chunks of a row change places by the number
// of its 128-byte line, as the copy engine stores them (PTX ISA, swizzling modes of tensors).
template <unsigned SPAN_BYTES, unsigned ELEMENT_BYTES>
__device__ __forceinline__ unsigned swizzled(unsigned row, unsigned column)
{
    const unsigned line = row / (128 / SPAN_BYTES);
    return column ^ line % (SPAN_BYTES / 16) * (16 / ELEMENT_BYTES);
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

// sums[64, 64] += a[64, 16] @ b[16, 64] of one warpgroup: float16, a in rows along K, b in rows along N.
// In flight until a wait: sums and operands stay as they are up to there. Without `accumulate` sums are not read. Called by all of
// its threads (PTX ISA, wgmma.mma_async; sm_90a).
__device__ __forceinline__ void wgmma_m64n64k16_f32_f16_b_along_n(
    Vector<float, 2>* sums, Descriptor a, Descriptor b, bool accumulate)
{
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, %32, %33, accumulate, 1, 1, 0, 1;\n"
        "}"
        : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1]), "+f"(sums[2][0]), "+f"(sums[2][1]),
          "+f"(sums[3][0]), "+f"(sums[3][1]), "+f"(sums[4][0]), "+f"(sums[4][1]), "+f"(sums[5][0]), "+f"(sums[5][1]),
          "+f"(sums[6][0]), "+f"(sums[6][1]), "+f"(sums[7][0]), "+f"(sums[7][1]), "+f"(sums[8][0]), "+f"(sums[8][1]),
          "+f"(sums[9][0]), "+f"(sums[9][1]), "+f"(sums[10][0]), "+f"(sums[10][1]), "+f"(sums[11][0]), "+f"(sums[11][1]),
          "+f"(sums[12][0]), "+f"(sums[12][1]), "+f"(sums[13][0]), "+f"(sums[13][1]), "+f"(sums[14][0]), "+f"(sums[14][1]),
          "+f"(sums[15][0]), "+f"(sums[15][1])
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// Waits until at most the last PENDING groups are in flight. Called by all threads of the warpgroup (PTX ISA, wgmma.wait_group;
// sm_90a).
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(512) __half a_ring[3][128][32];   // tle_wgmma.py:71; 64-byte swizzle
    alignas(1024) __half b_ring[3][32][64];   // tle_wgmma.py:72; 128-byte swizzle
};
static_assert(sizeof(Shared) <= 36864, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
ring(const __half* __restrict__ a, const __half* __restrict__ b, float* out)
{
    __shared__ Shared shared;
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);  // known to be the same in all lanes
    const int thread = threadIdx.x;

    // for step in range(STEPS):                                                     tle_wgmma.py:74
    Vector<float, 2> acc[16];
    #pragma unroll
    for (int run = 0; run < 16; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            acc[run][k] = 0.0f;
    keep_sums(acc);

    // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)       tle_wgmma.py:70
    const int k_ = thread % 4 * 8;
    const int k_3 = thread / 8;
    const int cols = thread % 8 * 8;
    for (int step = 0; step < 7; ++step) {
        Vector<__half, 8> x[2];

        // tile [128, 32]: row = thread / 4 + 64 * run, column = thread % 4 * 8 + k;  run < 2, k < 8
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, B ...  tle_wgmma.py:70
            const int rows = thread / 4 + 64 * run;
            // x = tl.load(a + rows[:, None] * (STEPS * BLOCK_K) + (step * BLOC ...  tle_wgmma.py:75
            x[run] = load_vector<8>(a + rows * 224 + step * 32 + k_);
        }
        // y = tl.load(b + (step * BLOCK_K + k)[:, None] * N + cols[None, :])        tle_wgmma.py:76
        const Vector<__half, 8> y = load_vector<8>(b + (step * 32 + k_3) * 64 + cols);

        // acc = tle.gpu.wgmma_wait(STAGES - 2, acc)                                 tle_wgmma.py:77
        wgmma_wait<1>();
        __syncthreads();  // orders the loads of `a_ring` and `b_ring` before the stores to them
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // tl.store(tle.gpu.local_ptr(a_ring.slot(step % STAGES)), x)            tle_wgmma.py:78
            store_vector(&shared.a_ring[step % 3][thread / 4 + 64 * run][swizzled<64, 2>(thread / 4 + 64 * run, thread % 4 * 8)], x[run]);
        }

        // tl.store(tle.gpu.local_ptr(b_ring.slot(step % STAGES)), y)                tle_wgmma.py:79
        store_vector(&shared.b_ring[step % 3][thread / 8][swizzled<128, 2>(thread / 8, thread % 8 * 8)], y);
        fence_async_proxy();  // shows what was written to `a_ring` and `b_ring` to the tensor cores
        __syncthreads();  // orders the stores to `a_ring` and `b_ring` before the loads of them

        // acc = tle.gpu.wgmma(a_ring.slot(step % STAGES), b_ring.slot(step % S ...  tle_wgmma.py:80
        const Descriptor a_first = wgmma_descriptor<64>(shared.a_ring[step % 3][64 * warpgroup], 16, 512);  // rows along K
        const Descriptor b_first = wgmma_descriptor<128>(shared.b_ring[step % 3], 4096, 1024);  // rows along N
        wgmma_fence();
        #pragma unroll
        for (int step_2 = 0; step_2 < 2; ++step_2)
            wgmma_m64n64k16_f32_f16_b_along_n(acc, a_first + 2 * step_2, b_first + 128 * step_2, true);
        wgmma_commit();
    }

    // acc = tle.gpu.wgmma_wait(0, acc)                                              tle_wgmma.py:81
    wgmma_wait<0>();
    keep_sums(acc);
    // tile [128, 64]: row = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread % 4 * 2 + run / 2 * 8 + k;  run < 16, k < 2
    #pragma unroll
    for (int run = 0; run < 16; ++run) {
        // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)   tle_wgmma.py:70
        const int rows = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8;
        const int cols_2 = thread % 4 * 2 + run / 2 * 8;
        // tl.store(out + rows[:, None] * N + cols[None, :], acc)                    tle_wgmma.py:82
        store_vector(out + rows * 64 + cols_2, acc[run]);
    }
}
