// matmul.cu: emitted by tle2cuda from dot.py:89 (matmul). Do not edit.
//
//   target    sm_100a, 128 threads per CTA, 22528 bytes of shared memory
//   loops     dot.py:100 has no stages for `a`: it comes in pieces of less than 4 bytes
//   loops     dot.py:100 has no stages for `b`: it comes in pieces of less than 4 bytes
//   launch    grid of CTAs, one for each program
//   args      a_ptr *fp16 align 16, b_ptr *fp16 align 16, out *fp32 align 16, M i32, N i32,
//             K i32, first i32 divisible by 16, stride_am i32, stride_bk i32
//   constants stride_ak = 1, stride_bn = 1, BLOCK_M = 64, BLOCK_N = 64, BLOCK_K = 32,
//             PRECISION = 'tf32'

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

// Loads 64 columns of 16 lanes of tensor memory; they lie as sums of mma.m16n8 do. In flight until tcgen05_wait_ld. Called by all
// threads of a warp, which reach the quarter of the lanes that is theirs in their warpgroup (PTX ISA, tcgen05.ld; sm_100a).
__device__ __forceinline__ void tcgen05_ld_16x256b_x8_f32(float* sums, unsigned address)
{
    asm volatile(
        "tcgen05.ld.sync.aligned.16x256b.x8.b32 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, [%32];"
        : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3]), "=f"(sums[4]), "=f"(sums[5]), "=f"(sums[6]), "=f"(sums[7]),
          "=f"(sums[8]), "=f"(sums[9]), "=f"(sums[10]), "=f"(sums[11]), "=f"(sums[12]), "=f"(sums[13]), "=f"(sums[14]), "=f"(sums[15]),
          "=f"(sums[16]), "=f"(sums[17]), "=f"(sums[18]), "=f"(sums[19]), "=f"(sums[20]), "=f"(sums[21]), "=f"(sums[22]), "=f"(sums[23]),
          "=f"(sums[24]), "=f"(sums[25]), "=f"(sums[26]), "=f"(sums[27]), "=f"(sums[28]), "=f"(sums[29]), "=f"(sums[30]), "=f"(sums[31])
        : "r"(address));
}

// sums[64, 64] += a[64, 16] @ b[16, 64] in tensor memory: float16, a in rows along K, b in rows along N.
// In flight until a commit has arrived. Without `accumulate` sums are not read. Called by one thread (PTX ISA, tcgen05.mma; sm_100a).
__device__ __forceinline__ void tcgen05_m64n64k16_f32_f16_b_along_n(
    unsigned sums, Descriptor a, Descriptor b, bool accumulate)
{
    // Instruction descriptor: types of sums, a and b, whether these lie along M and N, N / 8, M / 16.
    constexpr unsigned instruction = 1u << 4 | 0u << 7 | 0u << 10 | 0u << 15 | 1u << 16
                                   | 64u / 8 << 17 | 64u / 16 << 24;
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
    alignas(16) unsigned tensor_memory[1];    // dot.py:103
    union {  // never alive at the same time
        alignas(512) __half a_tile[2048];         // operand of dot.py:103: [64, 32], rows in 16-byte chunks, swizzled
        alignas(16) float acc_exchange[4096];     // scratch of dot.py:100
    };
    alignas(1024) __half b_tile[2048];        // operand of dot.py:103: [32, 64], rows in 16-byte chunks, swizzled
    alignas(8) Barrier acc_done;              // dot.py:103
};
static_assert(sizeof(Shared) <= 22528, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
matmul(const __half* __restrict__ a_ptr, const __half* __restrict__ b_ptr, float* out, const int M,
       const int N, const int K, const int first, const int stride_am, const int stride_bk)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread < 32) tcgen05_alloc<64>(shared.tensor_memory);
    if (thread == 0) {
        mbarrier_init(&shared.acc_done, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up
    const unsigned tensor_memory = shared.tensor_memory[0];

    // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                           dot.py:94
    const int pid_x = blockIdx.x;
    // cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)                           dot.py:95
    const int pid_y = blockIdx.y;
    // b_ptrs += BLOCK_K * stride_bk                                                      dot.py:105
    const long long b_ptrs_step = static_cast<long long>(32 * stride_bk);
    // for start in range(tl.cdiv(K, BLOCK_K)):                                           dot.py:100
    long long a_ptrs_offset = 0ll;
    long long b_ptrs_offset = 0ll;
    // k = tl.arange(0, BLOCK_K)                                                           dot.py:96
    const int k_ = thread % 32;
    // cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)                           dot.py:95
    const int cols = pid_y * 64 + thread % 64;

    // b = tl.load(b_ptrs, mask=(k[:, None] < K - start * BLOCK_K) & (cols[None, :] ...   dot.py:102
    const bool inside = cols < N;
    unsigned acc_done_phase = 0;
    for (int start = 0; start < (K + 31) / 32; ++start) {
        __half a[16];

        // tile [64, 32]: row = thread / 32 + 4 * run, column = thread % 32;  run < 16
        #pragma unroll
        for (int run = 0; run < 16; ++run) {
            // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                   dot.py:94
            const int rows = pid_x * 64 + thread / 32 + 4 * run;
            // a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (k[None, :] < K - star ...  dot.py:101
            a[run] = load_nc_if(rows < M && k_ < K - start * 32, a_ptr + first * stride_am + rows * stride_am + k_ + a_ptrs_offset, __float2half(0.0f));
        }
        __half b[16];

        // tile [32, 64]: row = thread / 64 + 2 * run, column = thread % 64;  run < 16
        #pragma unroll
        for (int run = 0; run < 16; ++run) {
            // k = tl.arange(0, BLOCK_K)                                                   dot.py:96
            const int k_3 = thread / 64 + 2 * run;
            // b = tl.load(b_ptrs, mask=(k[:, None] < K - start * BLOCK_K) & (cols[N ...  dot.py:102
            b[run] = load_nc_if(k_3 < K - start * 32 && inside, b_ptr + k_3 * stride_bk + cols + b_ptrs_offset, __float2half(0.0f));
        }

        // acc += tl.dot(a, b, input_precision=PRECISION)                                 dot.py:103
        #pragma unroll
        for (int run = 0; run < 16; ++run)
            shared.a_tile[((thread / 64 * 8) ^ thread ^ (run % 2 * 16)) + 128 * run] = a[run];
        #pragma unroll
        for (int run = 0; run < 16; ++run)
            shared.b_tile[((thread / 64 * 8) ^ thread ^ (run % 4 * 16)) + 128 * run] = b[run];
        fence_async_proxy();  // shows what was written to the scratch `a_tile` and the scratch `b_tile` to the tensor cores
        __syncthreads();  // orders the accesses to the scratch `a_tile`, the scratch `b_tile` and `acc_done` before it and after it
        if (thread == 0) {
            const Descriptor a_first = tcgen05_descriptor<64>(shared.a_tile, 16, 512);  // rows along K
            const Descriptor b_first = tcgen05_descriptor<128>(shared.b_tile, 4096, 1024);  // rows along N
            tcgen05_fence_after_sync();
            #pragma unroll
            for (int step = 0; step < 2; ++step)
                tcgen05_m64n64k16_f32_f16_b_along_n(tensor_memory, a_first + 2 * step, b_first + 128 * step, start != 0 || step > 0);
            tcgen05_commit(&shared.acc_done);
        }
        mbarrier_wait(&shared.acc_done, acc_done_phase);
        acc_done_phase ^= 1;

        // for start in range(tl.cdiv(K, BLOCK_K)):                                       dot.py:100
        a_ptrs_offset += 32ll;
        b_ptrs_offset += b_ptrs_step;
    }

    // for start in range(tl.cdiv(K, BLOCK_K)):                                           dot.py:100
    Vector<float, 2> acc[16];
    if (0 < (K + 31) / 32) {
        tcgen05_fence_after_sync();
        const unsigned acc_address = tensor_memory + (thread / 32 % 4 << 21);  // in the lanes of this warp
        tcgen05_ld_16x256b_x8_f32(&acc[0][0], acc_address);
        tcgen05_wait_ld();
        tcgen05_fence_before_sync();
    } else {
        #pragma unroll
        for (int run = 0; run < 16; ++run) acc[run] = {};
    }
    #pragma unroll
    for (int run = 0; run < 16; ++run) {
        Vector<float, 2> packed;
        #pragma unroll
        for (int k = 0; k < 2; ++k) packed[k] = acc[run / 2 * 2 + k][run % 2];
        store_vector(&shared.acc_exchange[(thread ^ (run % 4 * 4)) * 2 + run % 4 * 1024 + run / 4 * 256], packed);
    }
    __syncthreads();  // the whole tile is in shared memory
    float acc_2[32];
    #pragma unroll
    for (int run = 0; run < 16; ++run) {
        const Vector<float, 2> unpacked = load_vector<2>(&shared.acc_exchange[thread / 8 % 2 * 2048 + thread % 2 * 1024 + thread / 16 % 4 * 256 + ((thread / 8 % 2) ^ run) * 16 + ((thread % 2) ^ (thread / 64)) * 8 + thread / 2 % 4 * 2]);
        #pragma unroll
        for (int k = 0; k < 2; ++k) acc_2[run / 4 * 8 + run % 4 + 4 * k] = unpacked[k];
    }

    // cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)                           dot.py:95
    const int cols_2 = pid_y * 64 + thread % 64;
    // b = tl.load(b_ptrs, mask=(k[:, None] < K - start * BLOCK_K) & (cols[None, :] ...   dot.py:102
    const bool inside_2 = cols_2 < N;
    // tile [64, 64]: row = thread / 64 + 2 * run, column = thread % 64;  run < 32
    #pragma unroll
    for (int run = 0; run < 32; ++run) {
        // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                       dot.py:94
        const int rows = pid_x * 64 + thread / 64 + 2 * run;
        // tl.store(out + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None ...  dot.py:106
        if (rows < M && inside_2) *(out + rows * N + cols_2) = acc_2[run];
    }
    __syncthreads();  // nobody reads tensor memory any more
    if (thread < 32) tcgen05_dealloc<64>(tensor_memory);
}
