// product.cu: emitted by tle2cuda from dot.py:18 (product). Do not edit.
//
//   target    sm_100a, 512 threads per CTA, 38912 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      a *fp16 align 16, b *fp16 align 16, out *fp32 align 16
//   constants M = 256, N = 32, K = 64, OUT = float32, PRECISION = 'tf32'

#include <cuda_fp16.h>

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Makes this thread's mbarrier_init known to the cluster and to the copy engine (PTX ISA, fence.mbarrier_init; sm_90).
__device__ __forceinline__ void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
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

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// A fresh mbarrier whose phases take `arrivals` arrivals. Called by one thread; fence_mbarrier_init and a barrier follow before
// anyone uses it (PTX ISA, mbarrier.init; sm_80).
__device__ __forceinline__ void mbarrier_init(Barrier* barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

// Waits until the phase of this parity has ended. What its arrivals and copies did comes before what the calling thread does
// next (PTX ISA, mbarrier.try_wait; sm_90).
__device__ __forceinline__ void mbarrier_wait(Barrier* barrier, unsigned parity)
{
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "WAIT:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@done bra DONE;\n"
        "bra WAIT;\n"
        "DONE:\n"
        "}" ::"r"(shared_address(barrier)), "r"(parity) : "memory");
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Allocates COLUMNS columns of tensor memory, a power of two from 32 on, and writes the address of the first to shared memory; waits
// while other CTAs hold them. The CTA allocates no more. Called by all threads of one warp (PTX ISA, tcgen05.alloc; sm_100a).
template <int COLUMNS>
__device__ __forceinline__ void tcgen05_alloc(unsigned* start)
{
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(start)), "n"(COLUMNS) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
}

// Arrives at an mbarrier once all products are complete that this thread has started. Called by one thread (PTX ISA, tcgen05.commit;
// sm_100a).
__device__ __forceinline__ void tcgen05_commit(Barrier* barrier)
{
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Gives the columns back, as every CTA must before it exits. Called by all threads of one warp, once nothing reads or writes them any
// more (PTX ISA, tcgen05.dealloc; sm_100a).
template <int COLUMNS>
__device__ __forceinline__ void tcgen05_dealloc(unsigned start)
{
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(start), "n"(COLUMNS) : "memory");
}

using Descriptor = unsigned long long;                   // names an operand in shared memory

// Names an operand of tcgen05.mma in shared memory: panels of rows under the swizzle of 32, 64 or 128 bytes, as long as these are.
// From eight rows to the next eight it is `stride_bytes`, and from panel to panel, where rows run along M or N, `leading_bytes`. Added
// numbers move it by 16 bytes (PTX ISA, tcgen05, "Shared Memory Descriptor").
template <int SWIZZLE_BYTES>
__device__ __forceinline__ Descriptor tcgen05_descriptor(const void* tile, unsigned leading_bytes, unsigned stride_bytes)
{
    constexpr Descriptor swizzle = SWIZZLE_BYTES == 128 ? 2 : SWIZZLE_BYTES == 64 ? 4 : 6, version = 1;
    return (swizzle << 61) | (version << 46) | (static_cast<Descriptor>(stride_bytes >> 4) << 32)
         | (static_cast<Descriptor>(leading_bytes >> 4) << 16) | ((shared_address(tile) & 0x3FFFF) >> 4);
}

// Orders what this thread does in tensor memory behind what others did there before the barrier that it just passed (PTX ISA,
// tcgen05.fence::after_thread_sync; sm_100a).
__device__ __forceinline__ void tcgen05_fence_after_sync() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

// Orders what this thread did in tensor memory before what others do there behind the next barrier (PTX ISA,
// tcgen05.fence::before_thread_sync; sm_100a).
__device__ __forceinline__ void tcgen05_fence_before_sync() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }

// Loads 16 columns of 32 lanes of tensor memory; each thread gets a lane. In flight until tcgen05_wait_ld. Called by all
// threads of a warp, which reach the quarter of the lanes that is theirs in their warpgroup (PTX ISA, tcgen05.ld; sm_100a).
__device__ __forceinline__ void tcgen05_ld_32x32b_x16_f32(float* sums, unsigned address)
{
    asm volatile(
        "tcgen05.ld.sync.aligned.32x32b.x16.b32 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
        "}, [%16];"
        : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3]), "=f"(sums[4]), "=f"(sums[5]), "=f"(sums[6]), "=f"(sums[7]),
          "=f"(sums[8]), "=f"(sums[9]), "=f"(sums[10]), "=f"(sums[11]), "=f"(sums[12]), "=f"(sums[13]), "=f"(sums[14]), "=f"(sums[15])
        : "r"(address));
}

// sums[128, 32] += a[128, 16] @ b[16, 32] in tensor memory: float16, a in rows along K, b in rows along N.
// In flight until a commit has arrived. Without `accumulate` sums are not read. Called by one thread (PTX ISA, tcgen05.mma; sm_100a).
__device__ __forceinline__ void tcgen05_m128n32k16_f32_f16_b_along_n(
    unsigned sums, Descriptor a, Descriptor b, bool accumulate)
{
    // Instruction descriptor: types of sums, a and b, whether these lie along M and N, N / 8, M / 16.
    constexpr unsigned instruction = 1u << 4 | 0u << 7 | 0u << 10 | 0u << 15 | 1u << 16
                                   | 32u / 8 << 17 | 128u / 16 << 24;
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %4, 0;\n"
        "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, accumulate;\n"
        "}" ::"r"(sums), "l"(a), "l"(b), "r"(instruction), "r"(static_cast<int>(accumulate)) : "memory");
}

// Waits until this warp's loads from tensor memory are in registers. Called by all of its threads (PTX ISA, tcgen05.wait::ld; sm_100a).
__device__ __forceinline__ void tcgen05_wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(16) unsigned tensor_memory[1];    // dot.py:25
    alignas(1024) __half x_tile[16384];       // operand of dot.py:25: [256, 64], rows in 16-byte chunks, swizzled
    alignas(512) __half y_tile[2048];         // operand of dot.py:25: [64, 32], rows in 16-byte chunks, swizzled
    alignas(8) Barrier product_done;          // dot.py:25
};
static_assert(sizeof(Shared) <= 38912, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(512)
product(const __half* __restrict__ a, const __half* __restrict__ b, float* out)
{
    __shared__ Shared shared;
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);  // known to be the same in all lanes
    const int thread = threadIdx.x;

    if (thread < 32) tcgen05_alloc<64>(shared.tensor_memory);
    if (thread == 0) {
        mbarrier_init(&shared.product_done, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up
    const unsigned tensor_memory = shared.tensor_memory[0];

    Vector<__half, 8> x[4];

    // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)                   dot.py:22
    const int k_ = thread % 8 * 8;
    // tile [256, 64]: row = thread / 8 + 64 * run, column = thread % 8 * 8 + k;  run < 4, k < 8
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)               dot.py:22
        const int rows = thread / 8 + 64 * run;
        // x = tl.load(a + rows[:, None] * K + k[None, :])                                 dot.py:23
        x[run] = load_vector<8>(a + rows * 64 + k_);
    }
    const int k_3 = thread / 8;
    const int cols = thread % 8 * 4;

    // y = tl.load(b + k[:, None] * N + cols[None, :])                                     dot.py:24
    const Vector<__half, 4> y = load_vector<4>(b + k_3 * 32 + cols);

    // tl.store(out + rows[:, None] * N + cols[None, :], tl.dot(x, y, input_precision ...  dot.py:25
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        store_vector(&shared.x_tile[(thread ^ (thread / 8 % 8)) * 8 + 4096 * run], x[run]);
    store_vector(&shared.y_tile[((thread / 16 % 4 * 2) ^ thread) * 4], y);
    fence_async_proxy();  // shows what was written to the scratch `x_tile` and the scratch `y_tile` to the tensor cores
    __syncthreads();  // orders the accesses to the scratch `x_tile` and the scratch `y_tile` before it and after it
    if (thread == 0) {
        const Descriptor x_first = tcgen05_descriptor<128>(shared.x_tile, 16, 1024);  // rows along K
        const Descriptor y_first = tcgen05_descriptor<64>(shared.y_tile, 4096, 512);  // rows along N
        tcgen05_fence_after_sync();
        #pragma unroll
        for (int row = 0; row < 2; ++row)
            #pragma unroll
            for (int step = 0; step < 4; ++step)
                tcgen05_m128n32k16_f32_f16_b_along_n(tensor_memory + 32 * row, x_first + 1024 * row + 2 * step, y_first + 64 * step, step > 0);
        tcgen05_commit(&shared.product_done);
    }
    mbarrier_wait(&shared.product_done, 0);
    Vector<float, 16> product;
    tcgen05_fence_after_sync();
    const unsigned product_address = tensor_memory + (thread / 32 % 4 << 21) + 16 * warpgroup;  // in the lanes of this warp
    tcgen05_ld_32x32b_x16_f32(&product[0], product_address);
    tcgen05_wait_ld();
    tcgen05_fence_before_sync();

    // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)                   dot.py:22
    const int rows = thread / 256 * 128 + thread % 128;
    const int cols_2 = thread / 128 % 2 * 16;

    // tl.store(out + rows[:, None] * N + cols[None, :], tl.dot(x, y, input_precision ...  dot.py:25
    store_vector(out + rows * 32 + cols_2, product);
    __syncthreads();  // nobody reads tensor memory any more
    if (thread < 32) tcgen05_dealloc<64>(tensor_memory);
}
