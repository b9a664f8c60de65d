// scaled_product.cu: emitted by tle2cuda from dot.py:160 (scaled_product). Do not edit.
//
//   target    sm_100a, 128 threads per CTA, 53248 bytes of shared memory
//   launch    grid of CTAs, one for each program; 53248 bytes of dynamic shared memory
//   args      a *fp8e4nv align 16, b *fp8e5 align 16, b_scale *u8 align 16, out *fp32 align 16
//   constants a_scale = None, A_FORMAT = 'e4m3', B_FORMAT = 'e5m2', A_PACK = True, B_PACK = True,
//             FAST = False, AM = 128, AK = 256, BK = 256, BN = 64, M = 128, N = 64, GROUPS = 8

#include <cuda_fp8.h>

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

using Descriptor = unsigned long long;                   // names an operand in shared memory

// Copies scales of 128 rows, four of each, to four columns of tensor memory: 32 lanes of 16 bytes, to each quarter of the lanes. Goes
// before the products that this thread starts behind it; in flight until a commit has arrived. Called by one thread (PTX ISA,
// tcgen05.cp; sm_100a).
__device__ __forceinline__ void tcgen05_copy_scales(unsigned columns, const void* scales)
{
    constexpr Descriptor version = 1, stride_bytes = 128;  // from eight lanes to the next eight
    const Descriptor source = (version << 46) | (stride_bytes >> 4 << 32) | ((shared_address(scales) & 0x3FFFF) >> 4);
    asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(columns), "l"(source) : "memory");
}

// Gives the columns back, as every CTA must before it exits. Called by all threads of one warp, once nothing reads or writes them any
// more (PTX ISA, tcgen05.dealloc; sm_100a).
template <int COLUMNS>
__device__ __forceinline__ void tcgen05_dealloc(unsigned start)
{
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(start), "n"(COLUMNS) : "memory");
}

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

// Loads 32 columns of 32 lanes of tensor memory; each thread gets a lane. In flight until tcgen05_wait_ld. Called by all
// threads of a warp, which reach the quarter of the lanes that is theirs in their warpgroup (PTX ISA, tcgen05.ld; sm_100a).
__device__ __forceinline__ void tcgen05_ld_32x32b_x32_f32(float* sums, unsigned address)
{
    asm volatile(
        "tcgen05.ld.sync.aligned.32x32b.x32.b32 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, [%32];"
        : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3]), "=f"(sums[4]), "=f"(sums[5]), "=f"(sums[6]), "=f"(sums[7]),
          "=f"(sums[8]), "=f"(sums[9]), "=f"(sums[10]), "=f"(sums[11]), "=f"(sums[12]), "=f"(sums[13]), "=f"(sums[14]), "=f"(sums[15]),
          "=f"(sums[16]), "=f"(sums[17]), "=f"(sums[18]), "=f"(sums[19]), "=f"(sums[20]), "=f"(sums[21]), "=f"(sums[22]), "=f"(sums[23]),
          "=f"(sums[24]), "=f"(sums[25]), "=f"(sums[26]), "=f"(sums[27]), "=f"(sums[28]), "=f"(sums[29]), "=f"(sums[30]), "=f"(sums[31])
        : "r"(address));
}

// sums[128, 64] += a[128, 32] @ b[32, 64] in tensor memory, blocks times their scales there: float8 (e4m3) and float8 (e5m2), a in rows along K, b in rows along N; scales: exponents (e8m0) for 32 elements.
// Of each cell of scales those from number `first` on count. In flight until a commit has arrived. Without `accumulate` sums are not
// read. Called by one thread (PTX ISA, tcgen05.mma with .block_scale; sm_100a).
__device__ __forceinline__ void tcgen05_m128n64k32_f32_mx_e4m3_e5m2_b_along_n(
    unsigned sums, Descriptor a, Descriptor b, unsigned a_scales, unsigned b_scales, unsigned first, bool accumulate)
{
    // Instruction descriptor: types of a and b, whether these lie along M and N, N / 8, type of scales, M / 16, first scale of both.
    const unsigned instruction = 0u << 7 | 1u << 10 | 0u << 15 | 1u << 16
                               | 64u / 8 << 17 | 1u << 23 | 128u / 16 << 24 | first << 4 | first << 29;
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %6, 0;\n"
        "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 [%0], %1, %2, %3, [%4], [%5], accumulate;\n"
        "}" ::"r"(sums), "l"(a), "l"(b), "r"(instruction), "r"(a_scales), "r"(b_scales), "r"(static_cast<int>(accumulate)) : "memory");
}

// Waits until this warp's loads from tensor memory are in registers. Called by all of its threads (PTX ISA, tcgen05.wait::ld; sm_100a).
__device__ __forceinline__ void tcgen05_wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(16) unsigned tensor_memory[1];    // dot.py:178
    alignas(1024) __nv_fp8_e4m3 x_tile[32768];  // operand of dot.py:178: [128, 256], rows in 16-byte chunks, swizzled
    alignas(512) __nv_fp8_e5m2 y_tile[16384];  // operand of dot.py:178: [256, 64], rows in 16-byte chunks, swizzled
    alignas(128) unsigned char a_scale_tile[1024];  // operand of dot.py:178: [128, 8], rows in 16-byte chunks, swizzled
    alignas(16) unsigned char ys_exchange[512];  // scratch of dot.py:175
    alignas(128) unsigned char ys_tile[1024];  // operand of dot.py:178: [128, 8], rows in 16-byte chunks, swizzled
    alignas(8) Barrier product_done;          // dot.py:178
};
static_assert(sizeof(Shared) <= 53248, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
scaled_product(const __nv_fp8_e4m3* __restrict__ a, const __nv_fp8_e5m2* __restrict__ b,
               const unsigned char* __restrict__ b_scale, float* out)
{
    extern __shared__ __align__(1024) unsigned char shared_bytes[];
    Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
    const int thread = threadIdx.x;

    if (thread < 32) tcgen05_alloc<128>(shared.tensor_memory);
    if (thread == 0) {
        mbarrier_init(&shared.product_done, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up
    const unsigned tensor_memory = shared.tensor_memory[0];

    Vector<__nv_fp8_e4m3, 16> x[16];

    // tile [128, 256]: row = thread / 16 + 8 * run, column = thread % 16 * 16 + k;  run < 16, k < 16
    #pragma unroll
    for (int run = 0; run < 16; ++run) {
        // x = tl.load(a + tl.arange(0, AM)[:, None] * AK + tl.arange(0, AK)[None, :])    dot.py:167
        const int rows = thread / 16 + 8 * run;
        x[run] = load_vector<16>(a + rows * 256 + thread % 16 * 16);
    }
    Vector<__nv_fp8_e5m2, 16> y[8];

    // y = tl.load(b + tl.arange(0, BK)[:, None] * BN + tl.arange(0, BN)[None, :])        dot.py:168
    const int cols = thread % 4 * 16;

    // tile [256, 64]: row = thread / 4 + 32 * run, column = thread % 4 * 16 + k;  run < 8, k < 16
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        y[run] = load_vector<16>(b + thread / 4 * 64 + 2048 * run + cols);
    }
    const int cols_2 = thread / 2;

    // rows, cols, groups = tl.arange(0, M), tl.arange(0, N), tl.arange(0, GROUPS)        dot.py:169
    const int groups = thread % 2 * 4;
    // ys = tl.load(b_scale + cols[:, None] * GROUPS + groups[None, :])                   dot.py:175
    const Vector<unsigned char, 4> ys = load_vector<4>(b_scale + cols_2 * 8 + groups);

    // product = tl.dot_scaled(x, xs, A_FORMAT, y, ys, B_FORMAT, start, FAST, A_PACK ...  dot.py:178
    #pragma unroll
    for (int run = 0; run < 16; ++run)
        store_vector(&shared.x_tile[thread / 8 % 2 * 16384 + thread / 16 * 128 + ((thread % 8) ^ (thread / 16)) * 16 + 1024 * run], x[run]);
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        store_vector(&shared.y_tile[(thread ^ (thread / 8 % 4)) * 16 + 2048 * run], y[run]);
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        shared.a_scale_tile[thread / 4 % 2 * 512 + thread / 8 * 16 + thread % 4 + run % 2 * 256 + run / 2 * 4] = 127;

    // ys = tl.load(b_scale + cols[:, None] * GROUPS + groups[None, :])                   dot.py:175
    Vector<unsigned char, 4> packed;
    #pragma unroll
    for (int k = 0; k < 4; ++k) packed[k] = ys[k];
    store_vector(&shared.ys_exchange[4 * thread], packed);
    __syncthreads();  // the whole tile is in shared memory
    unsigned char ys_2[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run) ys_2[run] = shared.ys_exchange[thread + 128 * run];

    // product = tl.dot_scaled(x, xs, A_FORMAT, y, ys, B_FORMAT, start, FAST, A_PACK ...  dot.py:178
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        shared.ys_tile[thread / 4 % 2 * 512 + thread / 8 * 16 + thread % 4 + run % 2 * 256 + run / 2 * 4] = ys_2[run % 4];
    fence_async_proxy();  // shows what was written to the scratch `x_tile`, the scratch `y_tile`, the scratch `a_scale_tile` and the scratch `ys_tile` to the tensor cores
    __syncthreads();  // orders the stores to the scratch `ys_tile` before the loads of it
    if (thread == 0) {
        const Descriptor x_first = tcgen05_descriptor<128>(shared.x_tile, 16, 1024);  // rows along K
        const Descriptor y_first = tcgen05_descriptor<64>(shared.y_tile, 16384, 512);  // rows along N
        tcgen05_fence_after_sync();
        #pragma unroll
        for (int part = 0; part < 2; ++part)
            tcgen05_copy_scales(tensor_memory + 64 + 4 * part, shared.a_scale_tile + 512 * part);
        #pragma unroll
        for (int part_2 = 0; part_2 < 2; ++part_2)
            tcgen05_copy_scales(tensor_memory + 72 + 4 * part_2, shared.ys_tile + 512 * part_2);
        #pragma unroll
        for (int step = 0; step < 8; ++step)
            tcgen05_m128n64k32_f32_mx_e4m3_e5m2_b_along_n(tensor_memory, x_first + step / 4 * 1024 + step % 4 * 2, y_first + 128 * step, tensor_memory + 64 + step / 4 * 4, tensor_memory + 72 + step / 4 * 4, step % 4, step > 0);
        tcgen05_commit(&shared.product_done);
    }
    mbarrier_wait(&shared.product_done, 0);
    Vector<float, 64> product;
    tcgen05_fence_after_sync();
    const unsigned product_address = tensor_memory + (thread / 32 % 4 << 21);  // in the lanes of this warp
    #pragma unroll
    for (int part = 0; part < 2; ++part)
        tcgen05_ld_32x32b_x32_f32(&product[32 * part], product_address + 32 * part);
    tcgen05_wait_ld();
    tcgen05_fence_before_sync();
    Vector<float, 64> product_2;
    #pragma unroll
    for (int k = 0; k < 64; ++k) product_2[k] = 1.0f + product[k];

    // at = rows[:, None] * N + cols[None, :]                                             dot.py:176
    const int at = 64 * thread;

    // tl.store(out + at, product)                                                        dot.py:179
    store_vector(out + at, product_2);
    __syncthreads();  // nobody reads tensor memory any more
    if (thread < 32) tcgen05_dealloc<128>(tensor_memory);
}
