// attention.cu: emitted by tle2cuda from dot.py:110 (attention). Do not edit.
//
//   target    sm_100a, 128 threads per CTA, 22528 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      q *fp16 align 16, k *fp16 align 16, v *fp16 align 16, out *fp32 align 16, n i32,
//             scale fp32
//   constants BLOCK_M = 64, BLOCK_N = 32, D = 32

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

// Quotient within 2 ulp over the full range, as Triton divides (PTX ISA, div.full.f32).
__device__ __forceinline__ float divide_approx(float a, float b)
{
    float quotient;
    asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
    return quotient;
}

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

// A vector whose elements are all equal.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> fill_vector(T value)
{
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = value;
    return result;
}

// Positive infinity.
__device__ __forceinline__ float infinity()
{
    return __int_as_float(0x7f800000);
}

// An object of any type from another lane, 4 bytes at a time: `exchange` shuffles one word.
template <typename T, typename Exchange>
__device__ __forceinline__ T shuffle_words(const T& value, Exchange exchange)
{
    constexpr int COUNT = (sizeof(T) + 3) / 4;
    unsigned words[COUNT] = {};
    memcpy(words, &value, sizeof(T));
    #pragma unroll
    for (int i = 0; i < COUNT; ++i) words[i] = exchange(words[i]);
    T result;
    memcpy(&result, words, sizeof(T));
    return result;
}

// The value that lane `lane ^ MASK` of the warp holds. Called by whole warps.
template <int MASK, typename T>
__device__ __forceinline__ T shuffle_xor(T value)
{
    return shuffle_words(value, [](unsigned word) { return __shfl_xor_sync(0xffffffffu, word, MASK); });
}

// Reduce across the lanes of a warp that differ in the bits of MASK by a commutative function; all of them receive the
// result. Called by whole warps.
template <int MASK, typename T, typename Combine>
__device__ __forceinline__ T lanes_all_reduce(T value, Combine combine)
{
    if constexpr (MASK != 0) {
        value = combine(value, shuffle_xor<MASK & -MASK>(value));
        value = lanes_all_reduce<MASK & (MASK - 1)>(value, combine);
    }
    return value;
}

// The 16 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global.nc).
__device__ __forceinline__ uint4 load_bits_nc_if(bool condition, const uint4* pointer, uint4 otherwise)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %5, 0;\n\t@p ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y), "+r"(otherwise.z), "+r"(otherwise.w)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return otherwise;
}

// Load N neighbours in global memory, in words of type Bits, if a condition holds, else take `otherwise` (read-only data).
// The address is computed either way, so that neighbouring loads can share it.
template <typename Bits, int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_nc_if(bool condition, const T* pointer, Vector<T, N> otherwise)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(otherwise) / sizeof(Bits)); ++i) {
        unsigned char* const word = reinterpret_cast<unsigned char*>(&otherwise) + i * sizeof(Bits);
        Bits bits;
        memcpy(&bits, word, sizeof(Bits));
        bits = load_bits_nc_if(condition, reinterpret_cast<const Bits*>(pointer) + i, bits);
        memcpy(word, &bits, sizeof(Bits));
    }
    return otherwise;
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

// Store 8 bytes of global memory if a condition holds: one predicated access (PTX ISA, st.global), around which nothing
// branches.
__device__ __forceinline__ void store_bits_if(bool condition, uint2* pointer, uint2 bits)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %1, 0;\n\t@p st.global.v2.u32 [%0], {%2, %3};\n\t}"
        :: "l"(pointer), "r"(static_cast<int>(condition)), "r"(bits.x), "r"(bits.y) : "memory");
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Store N neighbours in global memory, in words of type Bits, if a condition holds. Called by each thread for itself.
template <typename Bits, int N, typename T>
__device__ __forceinline__ void store_vector_if(bool condition, T* pointer, const Vector<T, N>& value)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(value) / sizeof(Bits)); ++i) {
        Bits bits;
        memcpy(&bits, reinterpret_cast<const unsigned char*>(&value) + i * sizeof(Bits), sizeof(Bits));
        store_bits_if(condition, reinterpret_cast<Bits*>(pointer) + i, bits);
    }
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

// Loads 32 columns of 16 lanes of tensor memory; they lie as sums of mma.m16n8 do. In flight until tcgen05_wait_ld. Called by all
// threads of a warp, which reach the quarter of the lanes that is theirs in their warpgroup (PTX ISA, tcgen05.ld; sm_100a).
__device__ __forceinline__ void tcgen05_ld_16x256b_x4_f32(float* sums, unsigned address)
{
    asm volatile(
        "tcgen05.ld.sync.aligned.16x256b.x4.b32 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
        "}, [%16];"
        : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3]), "=f"(sums[4]), "=f"(sums[5]), "=f"(sums[6]), "=f"(sums[7]),
          "=f"(sums[8]), "=f"(sums[9]), "=f"(sums[10]), "=f"(sums[11]), "=f"(sums[12]), "=f"(sums[13]), "=f"(sums[14]), "=f"(sums[15])
        : "r"(address));
}

// sums[64, 32] += a[64, 16] @ b[16, 32] in tensor memory: float16, a in rows along K, b in rows along K.
// In flight until a commit has arrived. Without `accumulate` sums are not read. Called by one thread (PTX ISA, tcgen05.mma; sm_100a).
__device__ __forceinline__ void tcgen05_m64n32k16_f32_f16(
    unsigned sums, Descriptor a, Descriptor b, bool accumulate)
{
    // Instruction descriptor: types of sums, a and b, whether these lie along M and N, N / 8, M / 16.
    constexpr unsigned instruction = 1u << 4 | 0u << 7 | 0u << 10 | 0u << 15 | 0u << 16
                                   | 32u / 8 << 17 | 64u / 16 << 24;
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %4, 0;\n"
        "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, accumulate;\n"
        "}" ::"r"(sums), "l"(a), "l"(b), "r"(instruction), "r"(static_cast<int>(accumulate)) : "memory");
}

// sums[64, 32] += a[64, 16] @ b[16, 32] in tensor memory: float16, a in rows along K, b in rows along N.
// In flight until a commit has arrived. Without `accumulate` sums are not read. Called by one thread (PTX ISA, tcgen05.mma; sm_100a).
__device__ __forceinline__ void tcgen05_m64n32k16_f32_f16_b_along_n(
    unsigned sums, Descriptor a, Descriptor b, bool accumulate)
{
    // Instruction descriptor: types of sums, a and b, whether these lie along M and N, N / 8, M / 16.
    constexpr unsigned instruction = 1u << 4 | 0u << 7 | 0u << 10 | 0u << 15 | 1u << 16
                                   | 32u / 8 << 17 | 64u / 16 << 24;
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
    alignas(16) unsigned tensor_memory[1];    // dot.py:121
    alignas(1024) __half key[3][32][32];      // 3 stages of dot.py:119, 64-byte swizzle
    alignas(1024) __half value[3][32][32];    // 3 stages of dot.py:120, 64-byte swizzle
    alignas(512) __half query_tile[2048];     // operand of dot.py:121: [64, 32], rows in 16-byte chunks, swizzled
    alignas(512) __half weight_tile[2048];    // operand of dot.py:128: [64, 32], rows in 16-byte chunks, swizzled
    alignas(8) Barrier product_done;          // dot.py:121
    alignas(8) Barrier acc_done;              // dot.py:128
};
static_assert(sizeof(Shared) <= 22528, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
attention(const __half* __restrict__ q, const __half* __restrict__ k_,
          const __half* __restrict__ v, float* out, const int n, const float scale)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread < 32) tcgen05_alloc<32>(shared.tensor_memory);
    if (thread == 0) {
        mbarrier_init(&shared.product_done, 1);
        mbarrier_init(&shared.acc_done, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up
    const unsigned tensor_memory = shared.tensor_memory[0];

    // rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, D)      dot.py:112
    const int pid_x = blockIdx.x;
    Vector<__half, 8> query[2];
    const int d = thread % 4 * 8;

    // tile [64, 32]: row = thread / 4 + 32 * run, column = thread % 4 * 8 + k;  run < 2, k < 8
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        const int rows = pid_x * 64 + thread / 4 + 32 * run;

        // query = tl.load(q + rows[:, None] * D + d[None, :], mask=rows[:, None] < ...   dot.py:113
        query[run] = load_vector_nc_if<uint4>(rows < n, q + rows * 32 + d, fill_vector<8>(__float2half(0.0f)));
    }

    // for start in range(0, n, BLOCK_N):                                                 dot.py:117
    // rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, D)      dot.py:112
    const int d_2 = thread / 4;
    const int d_3 = thread % 4 * 8;
    #pragma unroll
    for (int stage = 0; stage < 2; ++stage) {
        // cols = start + tl.arange(0, BLOCK_N)                                           dot.py:118
        const int cols = stage * 32 + d_2;
        // key = tl.load(k + cols[:, None] * D + d[None, :], mask=cols[:, None] < n, ...  dot.py:119
        const int index = cols * 32;
        if (stage * 32 < n) {
            // key = tl.load(k + cols[:, None] * D + d[None, :], mask=cols[:, None] ...   dot.py:119
            cp_async_zero_fill<16>(&shared.key[stage][thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)], k_ + index + d_3, cols < n ? 16 : 0);
            // value = tl.load(v + cols[:, None] * D + d[None, :], mask=cols[:, None ...  dot.py:120
            cp_async_zero_fill<16>(&shared.value[stage][thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)], v + index + d_3, cols < n ? 16 : 0);
        }
        cp_async_commit();
    }

    // score = tl.dot(query, tl.trans(key)) * scale                                       dot.py:121
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        store_vector(&shared.query_tile[(thread ^ (thread / 8 % 4)) * 8 + 1024 * run], query[run]);

    // for start in range(0, n, BLOCK_N):                                                 dot.py:117
    float total[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        total[run] = 0.0f;
    Vector<float, 2> acc[8];
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            acc[run][k] = 0.0f;
    float largest[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        largest[run] = -infinity();
    unsigned product_done_phase = 0;
    unsigned acc_done_phase = 0;
    for (int start = 0; start < n; start += 32) {
        const int stage = start / 32 % 3;
        cp_async_wait<1>();
        const int free_stage = (start / 32 + 2) % 3;
        fence_async_proxy();  // shows what was written to the ring `key` and the scratch `query_tile` to the tensor cores
        __syncthreads();  // orders the accesses to the ring `key`, the ring `value`, the scratch `query_tile` and the sums `product` in tensor memory before it and after it

        // key = tl.load(k + cols[:, None] * D + d[None, :], mask=cols[:, None] < n, ...  dot.py:119
        // cols = start + tl.arange(0, BLOCK_N)                                           dot.py:118
        const int cols = start + 64 + d_2;
        // key = tl.load(k + cols[:, None] * D + d[None, :], mask=cols[:, None] < n, ...  dot.py:119
        const int index = cols * 32;
        cp_async_zero_fill<16>(&shared.key[free_stage][thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)], k_ + index + d_3, cols < n && n - start > 64 ? 16 : 0);
        // value = tl.load(v + cols[:, None] * D + d[None, :], mask=cols[:, None] < ...   dot.py:120
        cp_async_zero_fill<16>(&shared.value[free_stage][thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)], v + index + d_3, cols < n && n - start > 64 ? 16 : 0);
        cp_async_commit();

        // score = tl.dot(query, tl.trans(key)) * scale                                   dot.py:121
        if (thread == 0) {
            const Descriptor query_first = tcgen05_descriptor<64>(shared.query_tile, 16, 512);  // rows along K
            const Descriptor key_first = tcgen05_descriptor<64>(shared.key[stage], 16, 512);  // rows along K
            tcgen05_fence_after_sync();
            #pragma unroll
            for (int step = 0; step < 2; ++step)
                tcgen05_m64n32k16_f32_f16(tensor_memory, query_first + 2 * step, key_first + 2 * step, step > 0);
            tcgen05_commit(&shared.product_done);
        }
        mbarrier_wait(&shared.product_done, product_done_phase);
        product_done_phase ^= 1;
        Vector<float, 2> product[8];
        tcgen05_fence_after_sync();
        const unsigned product_address = tensor_memory + (thread / 32 % 4 << 21);  // in the lanes of this warp
        tcgen05_ld_16x256b_x4_f32(&product[0][0], product_address);
        tcgen05_wait_ld();
        tcgen05_fence_before_sync();
        Vector<float, 2> score[8];

        // tile [64, 32]: row = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread % 4 * 2 + run / 2 * 8 + k;  run < 8, k < 2
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            // rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.aran ...  dot.py:112
            const int d_4 = thread % 4 * 2 + run / 2 * 8;

            // cols = start + tl.arange(0, BLOCK_N)                                       dot.py:118
            const int cols_2 = start + d_4;
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                const float score_2 = product[run][k] * scale;

                // score = tl.where(cols[None, :] < n, score, float("-inf"))              dot.py:122
                score[run][k] = cols_2 + k < n ? score_2 : -infinity();
            }
        }

        // now = tl.maximum(largest, tl.max(score, 1))                                    dot.py:123
        float score_max[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            score_max[run] = score[run][0];
            #pragma unroll
            for (int k = 1; k < 8; ++k)
                score_max[run] = fmaxf(score_max[run], score[run + k / 2 * 2][k % 2]);
            score_max[run] = lanes_all_reduce<3>(score_max[run], [](float a, float b) { return fmaxf(a, b); });
        }
        float now[2];
        float share[2];

        // tile [64]: element = thread / 32 * 16 + thread / 4 % 8 + 8 * run;  run < 2
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            now[run] = fmaxf(largest[run], score_max[run]);

            // share = tl.exp(largest - now)                                              dot.py:124
            share[run] = __expf(largest[run] - now[run]);
        }
        Vector<float, 2> weight[8];
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            // weight = tl.exp(score - now[:, None])                                      dot.py:125
            #pragma unroll
            for (int k = 0; k < 2; ++k) weight[run][k] = __expf(score[run][k] - now[run % 2]);
        }
        float product_2[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // total = total * share + tl.sum(weight, 1)                                  dot.py:126
            product_2[run] = total[run] * share[run];
        }

        // total = total * share + tl.sum(weight, 1)                                      dot.py:126
        float weight_sum[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            weight_sum[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) weight_sum[run] += weight[run + k / 2 * 2][k % 2];
            weight_sum[run] = lanes_all_reduce<3>(weight_sum[run], [](float a, float b) { return a + b; });
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            total[run] = product_2[run] + weight_sum[run];
        }
        Vector<float, 2> acc_2[8];
        Vector<__half, 2> weight_2[8];
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                // acc = acc * share[:, None]                                             dot.py:127
                acc_2[run][k] = acc[run][k] * share[run % 2];
                // acc = tl.dot(weight.to(value.dtype), value, acc)                       dot.py:128
                weight_2[run][k] = __float2half(weight[run][k]);
            }
        }

        // acc = tl.dot(weight.to(value.dtype), value, acc)                               dot.py:128
        #pragma unroll
        for (int run = 0; run < 8; ++run)
            store_vector(&shared.weight_tile[thread / 32 * 512 + thread / 4 % 8 * 32 + ((thread / 8 % 4) ^ (run / 2)) * 8 + thread % 4 * 2 + run % 2 * 256], weight_2[run]);
        fence_async_proxy();  // shows what was written to the scratch `weight_tile` to the tensor cores
        __syncthreads();  // orders the accesses to the scratch `weight_tile` and the sums `product` in tensor memory before it and after it
        if (thread == 0) {
            const Descriptor a_first = tcgen05_descriptor<64>(shared.weight_tile, 16, 512);  // rows along K
            const Descriptor value_first = tcgen05_descriptor<64>(shared.value[stage], 2048, 512);  // rows along N
            tcgen05_fence_after_sync();
            #pragma unroll
            for (int step = 0; step < 2; ++step)
                tcgen05_m64n32k16_f32_f16_b_along_n(tensor_memory, a_first + 2 * step, value_first + 64 * step, step > 0);
            tcgen05_commit(&shared.acc_done);
        }
        mbarrier_wait(&shared.acc_done, acc_done_phase);
        acc_done_phase ^= 1;
        Vector<float, 2> acc_3[8];
        tcgen05_fence_after_sync();
        const unsigned acc_address = tensor_memory + (thread / 32 % 4 << 21);  // in the lanes of this warp
        tcgen05_ld_16x256b_x4_f32(&acc_3[0][0], acc_address);
        tcgen05_wait_ld();
        tcgen05_fence_before_sync();
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            #pragma unroll
            for (int k = 0; k < 2; ++k) acc[run][k] = acc_2[run][k] + acc_3[run][k];
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            largest[run] = now[run];
    }
    cp_async_wait<0>();  // zeros of iterations that do not exist have landed
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // tl.store(out + rows[:, None] * D + d[None, :], acc / total[:, None], mask ...  dot.py:130
        Vector<float, 2> out_value;
        #pragma unroll
        for (int k = 0; k < 2; ++k) out_value[k] = divide_approx(acc[run][k], total[run % 2]);

        // rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, D)  dot.py:112
        const int rows = pid_x * 64 + thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8;
        const int d_4 = thread % 4 * 2 + run / 2 * 8;
        // tl.store(out + rows[:, None] * D + d[None, :], acc / total[:, None], mask ...  dot.py:130
        store_vector_if<uint2>(rows < n, out + rows * 32 + d_4, out_value);
    }
    __syncthreads();  // nobody reads tensor memory any more
    if (thread < 32) tcgen05_dealloc<32>(tensor_memory);
}
