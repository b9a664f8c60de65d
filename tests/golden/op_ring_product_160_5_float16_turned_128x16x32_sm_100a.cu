// ring_product.cu: emitted by tle2cuda from pipelined.py:20 (ring_product). Do not edit.
//
//   target    sm_100a, 128 threads per CTA, 57344 bytes of shared memory
//   launch    grid of CTAs, one for each program; 57344 bytes of dynamic shared memory
//   args      a *fp16 align 16, b *fp16 align 16, out *fp32 align 16, K i32 divisible by 16
//   constants STAGES = 5, M = 128, N = 16, BLOCK = 32, TURNED = True

#include <cuda_fp16.h>

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// Closes this thread's group of copies, which may be empty (PTX ISA, cp.async.commit_group; sm_80).
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most the last PENDING groups of this thread are in flight; other threads see the data behind a barrier (PTX ISA,
// cp.async.wait_group; sm_80).
template <int PENDING>
__device__ __forceinline__ void cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory"); }

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Copies the first `valid_bytes` of 4, 8 or 16 bytes from global to shared memory, both aligned to as much, and zeros for the
// rest, as part of this thread's open group. Called by each thread for itself (PTX ISA, cp.async with src-size; sm_80).
template <int BYTES>
__device__ __forceinline__ void cp_async_zero_fill(void* destination, const void* source, unsigned valid_bytes)
{
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(destination)), "l"(source), "r"(valid_bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(destination)), "l"(source), "n"(BYTES), "r"(valid_bytes) : "memory");
}

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Makes this thread's mbarrier_init known to the cluster and to the copy engine (PTX ISA, fence.mbarrier_init; sm_90).
__device__ __forceinline__ void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
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

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

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

// sums[128, 16] += a[128, 16] @ b[16, 16] in tensor memory: float16, a in rows along K, b in rows along K.
// In flight until a commit has arrived. Without `accumulate` sums are not read. Called by one thread (PTX ISA, tcgen05.mma; sm_100a).
__device__ __forceinline__ void tcgen05_m128n16k16_f32_f16(
    unsigned sums, Descriptor a, Descriptor b, bool accumulate)
{
    // Instruction descriptor: types of sums, a and b, whether these lie along M and N, N / 8, M / 16.
    constexpr unsigned instruction = 1u << 4 | 0u << 7 | 0u << 10 | 0u << 15 | 0u << 16
                                   | 16u / 8 << 17 | 128u / 16 << 24;
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
    alignas(16) unsigned tensor_memory[1];    // pipelined.py:34
    alignas(1024) __half x[6][128][32];       // 6 stages of pipelined.py:32, 64-byte swizzle
    alignas(1024) __half y[6][16][32];        // 6 stages of pipelined.py:33, 64-byte swizzle
    alignas(8) Barrier acc_done[2];           // pipelined.py:34
};
static_assert(sizeof(Shared) <= 57344, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
ring_product(const __half* __restrict__ a, const __half* __restrict__ b, float* out, const int K)
{
    extern __shared__ __align__(1024) unsigned char shared_bytes[];
    Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
    const int thread = threadIdx.x;

    if (thread < 32) tcgen05_alloc<32>(shared.tensor_memory);
    if (thread == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.acc_done[stage], 1);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up
    const unsigned tensor_memory = shared.tensor_memory[0];

    // for step in tl.range(0, tl.cdiv(K, BLOCK), num_stages=STAGES):                pipelined.py:31
    long long left_offset_ahead = 0ll;
    long long right_offset_ahead = 0ll;
    // left = a + rows[:, None] * K + k[None, :]                                     pipelined.py:25
    const __half* left[4];

    // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK)         pipelined.py:24
    const int k_ = thread % 4 * 8;
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK)     pipelined.py:24
        const int rows = thread / 4 + 32 * run;
        left[run] = a + rows * K + k_;
    }
    const int k_3 = thread % 4 * 8;
    const int cols = thread / 4 % 16;
    #pragma unroll
    for (int stage = 0; stage < 4; ++stage) {
        if (stage < (K + 31) / 32) {
            // x = tl.load(left, mask=k[None, :] < K - step * BLOCK, other=0.0)      pipelined.py:32
            #pragma unroll
            for (int run = 0; run < 4; ++run) {
                cp_async_zero_fill<16>(&shared.x[stage][thread / 4 + 32 * run][swizzled<64, 2>(thread / 4 + 32 * run, thread % 4 * 8)], left[run] + left_offset_ahead, k_ < K - stage * 32 ? 16 : 0);
            }

            // y = tl.load(right, mask=k[:, None] < K - step * BLOCK, other=0.0)     pipelined.py:33
            if (thread < 64) cp_async_zero_fill<16>(&shared.y[stage][thread / 4 % 16][swizzled<64, 2>(thread / 4 % 16, thread % 4 * 8)], b + k_3 + cols * K + right_offset_ahead, k_3 < K - stage * 32 ? 16 : 0);
        }
        cp_async_commit();
        left_offset_ahead += 32ll;
        right_offset_ahead += 32ll;
    }

    // for step in tl.range(0, tl.cdiv(K, BLOCK), num_stages=STAGES):                pipelined.py:31
    unsigned acc_done_turn = 0;
    for (int step = 0; step < (K + 31) / 32; ++step) {
        const int stage = step % 6;
        cp_async_wait<3>();
        const int free_stage = (step + 4) % 6;
        fence_async_proxy();  // shows what was written to the ring `x` and the ring `y` to the tensor cores
        __syncthreads();  // orders the accesses to the ring `x`, the ring `y` and `acc_done` before it and after it

        // x = tl.load(left, mask=k[None, :] < K - step * BLOCK, other=0.0)          pipelined.py:32
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            cp_async_zero_fill<16>(&shared.x[free_stage][thread / 4 + 32 * run][swizzled<64, 2>(thread / 4 + 32 * run, thread % 4 * 8)], left[run] + left_offset_ahead, k_ < K - (step + 4) * 32 && step + 4 < (K + 31) / 32 ? 16 : 0);
        }

        // y = tl.load(right, mask=k[:, None] < K - step * BLOCK, other=0.0)         pipelined.py:33
        if (thread < 64) cp_async_zero_fill<16>(&shared.y[free_stage][thread / 4 % 16][swizzled<64, 2>(thread / 4 % 16, thread % 4 * 8)], b + k_3 + cols * K + right_offset_ahead, k_3 < K - (step + 4) * 32 && step + 4 < (K + 31) / 32 ? 16 : 0);
        cp_async_commit();
        // for step in tl.range(0, tl.cdiv(K, BLOCK), num_stages=STAGES):            pipelined.py:31
        left_offset_ahead += 32ll;
        right_offset_ahead += 32ll;

        // acc = tl.dot(x, y, acc)                                                   pipelined.py:34
        if (thread == 0) {
            const Descriptor x_first = tcgen05_descriptor<64>(shared.x[stage], 16, 512);  // rows along K
            const Descriptor y_first = tcgen05_descriptor<64>(shared.y[stage], 16, 512);  // rows along K
            tcgen05_fence_after_sync();
            #pragma unroll
            for (int step_2 = 0; step_2 < 2; ++step_2)
                tcgen05_m128n16k16_f32_f16(tensor_memory, x_first + 2 * step_2, y_first + 2 * step_2, step != 0 || step_2 > 0);
            tcgen05_commit(&shared.acc_done[acc_done_turn % 2]);
        }
        mbarrier_wait(&shared.acc_done[(acc_done_turn - 1) % 2], (acc_done_turn - 1) / 2 % 2);  // for the product before this one
        ++acc_done_turn;
    }
    mbarrier_wait(&shared.acc_done[(acc_done_turn - 1) % 2], (acc_done_turn - 1) / 2 % 2);  // for the last product
    Vector<float, 16> acc;
    if (0 < (K + 31) / 32) {
        tcgen05_fence_after_sync();
        const unsigned acc_address = tensor_memory + (thread / 32 % 4 << 21);  // in the lanes of this warp
        tcgen05_ld_32x32b_x16_f32(&acc[0], acc_address);
        tcgen05_wait_ld();
        tcgen05_fence_before_sync();
    } else {
        acc = {};
    }
    cp_async_wait<0>();  // zeros of iterations that do not exist have landed

    // tl.store(out + rows[:, None] * N + cols[None, :], acc)                        pipelined.py:37
    store_vector(out + 16 * thread, acc);
    __syncthreads();  // nobody reads tensor memory any more
    if (thread < 32) tcgen05_dealloc<32>(tensor_memory);
}
