// two_products.cu: emitted by tle2cuda from tle_wgmma.py:42 (two_products). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 8192 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      q *fp16 align 16, k *fp16 align 16, v *fp16 align 16, out *fp32 align 16
//   constants M = 64, N = 32, D = 32

#include <cuda_fp16.h>

namespace {

// The same bits as another type of the same size.
template <typename To, typename From>
__device__ __forceinline__ To bit_cast(const From& value)
{
    static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
    To result;
    memcpy(&result, &value, sizeof(To));
    return result;
}

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

// sums[64, 32] += a[64, 16] @ b[16, 32] of one warpgroup: float16, a in rows along K, b in rows along K.
// In flight until a wait: sums and operands stay as they are up to there. Without `accumulate` sums are not read. Called by all of
// its threads (PTX ISA, wgmma.mma_async; sm_90a).
__device__ __forceinline__ void wgmma_m64n32k16_f32_f16(
    Vector<float, 2>* sums, Descriptor a, Descriptor b, bool accumulate)
{
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %18, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
        "}, %16, %17, accumulate, 1, 1, 0, 0;\n"
        "}"
        : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1]), "+f"(sums[2][0]), "+f"(sums[2][1]),
          "+f"(sums[3][0]), "+f"(sums[3][1]), "+f"(sums[4][0]), "+f"(sums[4][1]), "+f"(sums[5][0]), "+f"(sums[5][1]),
          "+f"(sums[6][0]), "+f"(sums[6][1]), "+f"(sums[7][0]), "+f"(sums[7][1])
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// sums[64, 32] += a[64, 16] @ b[16, 32] of one warpgroup: float16, a as fragments in registers, b in rows along N.
// In flight until a wait: sums and operands stay as they are up to there. Without `accumulate` sums are not read. Called by all of
// its threads (PTX ISA, wgmma.mma_async; sm_90a).
__device__ __forceinline__ void wgmma_m64n32k16_f32_f16_a_registers_b_along_n(
    Vector<float, 2>* sums, const unsigned (&a)[4], Descriptor b, bool accumulate)
{
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %21, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
        "}, {%16, %17, %18, %19}, %20, accumulate, 1, 1, 1;\n"
        "}"
        : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1]), "+f"(sums[2][0]), "+f"(sums[2][1]),
          "+f"(sums[3][0]), "+f"(sums[3][1]), "+f"(sums[4][0]), "+f"(sums[4][1]), "+f"(sums[5][0]), "+f"(sums[5][1]),
          "+f"(sums[6][0]), "+f"(sums[6][1]), "+f"(sums[7][0]), "+f"(sums[7][1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)));
}

// Waits until at most the last PENDING groups are in flight. Called by all threads of the warpgroup (PTX ISA, wgmma.wait_group;
// sm_90a).
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(512) __half buffer[64][32];       // tle_wgmma.py:22; 64-byte swizzle
    alignas(512) __half buffer_2[32][32];     // tle_wgmma.py:22; 64-byte swizzle
    alignas(512) __half buffer_3[32][32];     // tle_wgmma.py:22; 64-byte swizzle
};
static_assert(sizeof(Shared) <= 8192, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
two_products(const __half* __restrict__ q, const __half* __restrict__ k_,
             const __half* __restrict__ v, float* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    const int cols = thread % 4 * 8;

    // tile [64, 32]: row = thread / 4 + 32 * run, column = thread % 4 * 8 + k;  run < 2, k < 8
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // rows, cols, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)         tle_wgmma.py:44
        const int rows = thread / 4 + 32 * run;
        // at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[N ...  tle_wgmma.py:23
        const int at = rows * 32 + cols;
        // tl.store(tle.gpu.local_ptr(buffer), tl.load(pointer + at))                tle_wgmma.py:24
        const Vector<__half, 8> q_value = load_vector<8>(q + at);
        store_vector(&shared.buffer[thread / 4 + 32 * run][swizzled<64, 2>(thread / 4 + 32 * run, thread % 4 * 8)], q_value);
    }

    // rows, cols, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)             tle_wgmma.py:44
    const int cols_2 = thread / 4;
    const int cols_3 = thread % 4 * 8;
    // at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]   tle_wgmma.py:23
    const int at = cols_2 * 32 + cols_3;

    // tl.store(tle.gpu.local_ptr(buffer), tl.load(pointer + at))                    tle_wgmma.py:24
    const Vector<__half, 8> k_value = load_vector<8>(k_ + at);
    store_vector(&shared.buffer_2[thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)], k_value);
    const Vector<__half, 8> v_value = load_vector<8>(v + at);
    store_vector(&shared.buffer_3[thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)], v_value);
    fence_async_proxy();  // shows what was written to `buffer` to the tensor cores
    __syncthreads();  // orders the stores to `buffer` before the loads of it

    // score = tle.gpu.wgmma(x, y, trans_b=True)                                     tle_wgmma.py:46
    Vector<float, 2> score[8];
    const Descriptor buffer_first = wgmma_descriptor<64>(shared.buffer, 16, 512);  // rows along K
    const Descriptor buffer_first_2 = wgmma_descriptor<64>(shared.buffer_2, 16, 512);  // rows along K
    wgmma_fence();
    #pragma unroll
    for (int step = 0; step < 2; ++step)
        wgmma_m64n32k16_f32_f16(score, buffer_first + 2 * step, buffer_first_2 + 2 * step, step > 0);
    wgmma_commit();

    // score = tle.gpu.wgmma_wait(0, score)                                          tle_wgmma.py:47
    wgmma_wait<0>();
    Vector<__half, 2> weight[8];
    // tile [64, 32]: row = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread % 4 * 2 + run / 2 * 8 + k;  run < 8, k < 2
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // weight = score.to(q.dtype.element_ty)                                     tle_wgmma.py:48
        #pragma unroll
        for (int k = 0; k < 2; ++k) weight[run][k] = __float2half(score[run][k]);
    }

    // result = tle.gpu.wgmma(weight, z)                                             tle_wgmma.py:49
    Vector<float, 2> result[8];
    const Descriptor buffer_first_3 = wgmma_descriptor<64>(shared.buffer_3, 2048, 512);  // rows along N
    wgmma_fence();
    #pragma unroll
    for (int step = 0; step < 2; ++step) {
        unsigned weight_part[4];  // rows of this warp
        #pragma unroll
        for (int piece = 0; piece < 4; ++piece)
            weight_part[piece] = bit_cast<unsigned>(weight[4 * step + piece]);
        wgmma_m64n32k16_f32_f16_a_registers_b_along_n(result, weight_part, buffer_first_3 + 64 * step, step > 0);
    }
    wgmma_commit();

    // again = tle.gpu.wgmma(x, y, trans_b=True)                                     tle_wgmma.py:50
    Vector<float, 2> again[8];
    const Descriptor buffer_first_4 = wgmma_descriptor<64>(shared.buffer, 16, 512);  // rows along K
    const Descriptor buffer_first_5 = wgmma_descriptor<64>(shared.buffer_2, 16, 512);  // rows along K
    wgmma_fence();
    #pragma unroll
    for (int step = 0; step < 2; ++step)
        wgmma_m64n32k16_f32_f16(again, buffer_first_4 + 2 * step, buffer_first_5 + 2 * step, step > 0);
    wgmma_commit();

    // result = tle.gpu.wgmma_wait(1, result)                                        tle_wgmma.py:51
    wgmma_wait<1>();
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // rows, cols, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)         tle_wgmma.py:44
        const int rows = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8;
        // at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[N ...  tle_wgmma.py:23
        const int index = rows * 32;
        // rows, cols, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)         tle_wgmma.py:44
        const int cols_4 = thread % 4 * 2 + run / 2 * 8;
        // tl.store(out + rows[:, None] * D + d[None, :], result)                    tle_wgmma.py:52
        store_vector(out + index + cols_4, result[run]);
    }

    // again = tle.gpu.wgmma_wait(0, again)                                          tle_wgmma.py:53
    wgmma_wait<0>();
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // rows, cols, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)         tle_wgmma.py:44
        const int rows = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8;
        // at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[N ...  tle_wgmma.py:23
        const int index = rows * 32;
        // rows, cols, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)         tle_wgmma.py:44
        const int cols_4 = thread % 4 * 2 + run / 2 * 8;
        // tl.store(out + M * D + rows[:, None] * N + cols[None, :], again)          tle_wgmma.py:54
        store_vector(out + 2048 + index + cols_4, again[run]);
    }
}
