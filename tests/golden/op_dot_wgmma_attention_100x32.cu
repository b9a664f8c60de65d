// attention.cu: emitted by tle2cuda from dot.py:110 (attention). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 16384 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      q *fp16 align 16, k *fp16 align 16, v *fp16 align 16, out *fp32 align 16, n i32,
//             scale fp32
//   constants BLOCK_M = 64, BLOCK_N = 32, D = 32

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

// An empty asm: to the compiler these sums change here. Else it may copy or compute some while products are in flight, whose
// registers nothing may touch (PTX ISA, wgmma.mma_async), and each product would wait for the one before (ptxas, C7511, C7514,
// C7515, C7520).
template <int COUNT>
__device__ __forceinline__ void keep_sums(Vector<float, 2> (&sums)[COUNT])
{
    #pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(sums[i][0]), "+f"(sums[i][1]));
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

// Closes the warpgroup's group of products. Called by all of its threads (PTX ISA, wgmma.commit_group; sm_90a).
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

using Descriptor = unsigned long long;                   // names an operand in shared memory

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
    alignas(1024) __half key[3][32][32];      // 3 stages of dot.py:119, 64-byte swizzle
    alignas(1024) __half value[3][32][32];    // 3 stages of dot.py:120, 64-byte swizzle
    alignas(1024) __half query_tile[64][32];  // scratch of dot.py:113
};
static_assert(sizeof(Shared) <= 16384, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
attention(const __half* __restrict__ q, const __half* __restrict__ k_,
          const __half* __restrict__ v, float* out, const int n, const float scale)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

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
    float total[2];
    Vector<float, 2> acc[8];
    if (0 < n) {
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // query = tl.load(q + rows[:, None] * D + d[None, :], mask=rows[:, None ...  dot.py:113
            store_vector(&shared.query_tile[thread / 4 + 32 * run][swizzled<64, 2>(thread / 4 + 32 * run, thread % 4 * 8)], query[run]);
        }

        // rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, D)  dot.py:112
        const int d_2 = thread / 4;
        const int d_3 = thread % 4 * 8;
        #pragma unroll
        for (int stage = 0; stage < 2; ++stage) {
            // for start in range(0, n, BLOCK_N):                                         dot.py:117
            // cols = start + tl.arange(0, BLOCK_N)                                       dot.py:118
            const int cols = stage * 32 + d_2;
            if (stage * 32 < n) {
                // key = tl.load(k + cols[:, None] * D + d[None, :], mask=cols[:, No ...  dot.py:119
                cp_async_zero_fill<16>(&shared.key[stage][thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)], k_ + cols * 32 + d_3, cols < n ? 16 : 0);
            }
            cp_async_commit();
        }

        // for start in range(0, n, BLOCK_N):                                             dot.py:117
        #pragma unroll
        for (int stage = 0; stage < 2; ++stage) {
            // cols = start + tl.arange(0, BLOCK_N)                                       dot.py:118
            const int cols = stage * 32 + d_2;
            if (stage * 32 < n) {
                // value = tl.load(v + cols[:, None] * D + d[None, :], mask=cols[:, ...   dot.py:120
                cp_async_zero_fill<16>(&shared.value[stage][thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)], v + cols * 32 + d_3, cols < n ? 16 : 0);
            }
            cp_async_commit();
        }
        cp_async_wait<3>();
        fence_async_proxy();  // shows what was written to the scratch `query_tile` and the ring `key` to the tensor cores
        __syncthreads();  // orders the stores to the scratch `query_tile` and the ring `key` before the loads of them

        // score = tl.dot(query, tl.trans(key)) * scale                                   dot.py:121
        Vector<float, 2> product[8];
        const Descriptor query_tile_first = wgmma_descriptor<64>(shared.query_tile, 16, 512);  // rows along K
        const Descriptor key_first = wgmma_descriptor<64>(shared.key[0], 16, 512);  // rows along K
        wgmma_fence();
        #pragma unroll
        for (int step = 0; step < 2; ++step)
            wgmma_m64n32k16_f32_f16(product, query_tile_first + 2 * step, key_first + 2 * step, step > 0);
        wgmma_commit();

        // key = tl.load(k + cols[:, None] * D + d[None, :], mask=cols[:, None] < n, ...  dot.py:119
        // cols = start + tl.arange(0, BLOCK_N)                                           dot.py:118
        const int cols = d_2 + 64;
        cp_async_zero_fill<16>(&shared.key[2][thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)], k_ + cols * 32 + d_3, cols < n && n > 64 ? 16 : 0);
        cp_async_commit();

        // for start in range(0, n, BLOCK_N):                                             dot.py:117
        wgmma_wait<0>();
        Vector<float, 2> score[8];
        // tile [64, 32]: row = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread % 4 * 2 + run / 2 * 8 + k;  run < 8, k < 2
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            // rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.aran ...  dot.py:112
            const int d_4 = thread % 4 * 2 + run / 2 * 8;
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                // score = tl.dot(query, tl.trans(key)) * scale                           dot.py:121
                const float score_2 = product[run][k] * scale;
                // score = tl.where(cols[None, :] < n, score, float("-inf"))              dot.py:122
                score[run][k] = d_4 + k < n ? score_2 : -infinity();
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
            now[run] = fmaxf(-infinity(), score_max[run]);

            // share = tl.exp(largest - now)                                              dot.py:124
            share[run] = __expf(-infinity() - now[run]);
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
            product_2[run] = 0.0f * share[run];
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
        float total_2[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            total_2[run] = product_2[run] + weight_sum[run];
        }
        Vector<__half, 2> weight_2[8];
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            // acc = tl.dot(weight.to(value.dtype), value, acc)                           dot.py:128
            #pragma unroll
            for (int k = 0; k < 2; ++k) weight_2[run][k] = __float2half(weight[run][k]);
        }

        // for start in range(0, n, BLOCK_N):                                             dot.py:117
        float total_3[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            total_3[run] = total_2[run];
        Vector<float, 2> acc_2[8];
        #pragma unroll
        for (int run = 0; run < 8; ++run)
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                // acc = acc * share[:, None]                                             dot.py:127
                const float acc_3 = 0.0f * share[run % 2];
                acc_2[run][k] = acc_3;
            }
        float largest[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            largest[run] = now[run];
        Vector<__half, 2> weights[8];
        #pragma unroll
        for (int run = 0; run < 8; ++run)
            #pragma unroll
            for (int k = 0; k < 2; ++k)
                weights[run][k] = weight_2[run][k];
        int iteration = 1;
        for (int start = 32; start < n; start += 32) {
            // for start in range(0, n, BLOCK_N):                                         dot.py:117
            const int stage = iteration % 3;
            cp_async_wait<2>();
            const int stage_2 = (iteration - 1) % 3;
            cp_async_wait<2>();
            fence_async_proxy();  // shows what was written to the ring `key` and the ring `value` to the tensor cores
            __syncthreads();  // orders the accesses to the ring `key` and the ring `value` before it and after it

            // score = tl.dot(query, tl.trans(key)) * scale                               dot.py:121
            Vector<float, 2> product_3[8];
            const Descriptor query_tile_first_2 = wgmma_descriptor<64>(shared.query_tile, 16, 512);  // rows along K
            const Descriptor key_first_2 = wgmma_descriptor<64>(shared.key[stage], 16, 512);  // rows along K
            wgmma_fence();
            #pragma unroll
            for (int step = 0; step < 2; ++step)
                wgmma_m64n32k16_f32_f16(product_3, query_tile_first_2 + 2 * step, key_first_2 + 2 * step, step > 0);
            wgmma_commit();

            // acc = tl.dot(weight.to(value.dtype), value, acc)                           dot.py:128
            const Descriptor value_first = wgmma_descriptor<64>(shared.value[stage_2], 2048, 512);  // rows along N
            wgmma_fence();
            #pragma unroll
            for (int step = 0; step < 2; ++step) {
                unsigned weights_part[4];  // rows of this warp
                #pragma unroll
                for (int piece = 0; piece < 4; ++piece)
                    weights_part[piece] = bit_cast<unsigned>(weights[4 * step + piece]);
                wgmma_m64n32k16_f32_f16_a_registers_b_along_n(acc_2, weights_part, value_first + 64 * step, true);
            }
            wgmma_commit();

            // for start in range(0, n, BLOCK_N):                                         dot.py:117
            const int free_stage = (iteration + 2) % 3;

            // key = tl.load(k + cols[:, None] * D + d[None, :], mask=cols[:, None] ...   dot.py:119
            // cols = start + tl.arange(0, BLOCK_N)                                       dot.py:118
            const int cols_2 = start + 64 + d_2;
            cp_async_zero_fill<16>(&shared.key[free_stage][thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)], k_ + cols_2 * 32 + d_3, cols_2 < n && n - start > 64 ? 16 : 0);
            cp_async_commit();

            // for start in range(0, n, BLOCK_N):                                         dot.py:117
            const int free_stage_2 = (iteration - 1 + 2) % 3;

            // value = tl.load(v + cols[:, None] * D + d[None, :], mask=cols[:, None ...  dot.py:120
            // cols = start + tl.arange(0, BLOCK_N)                                       dot.py:118
            const int cols_3 = start - 32 + 64 + d_2;
            cp_async_zero_fill<16>(&shared.value[free_stage_2][thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)], v + cols_3 * 32 + d_3, cols_3 < n && n - (start - 32) > 64 ? 16 : 0);
            cp_async_commit();

            // for start in range(0, n, BLOCK_N):                                         dot.py:117
            wgmma_wait<1>();
            Vector<float, 2> score_2[8];
            #pragma unroll
            for (int run = 0; run < 8; ++run) {
                // rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl. ...  dot.py:112
                const int d_4 = thread % 4 * 2 + run / 2 * 8;

                // cols = start + tl.arange(0, BLOCK_N)                                   dot.py:118
                const int cols_4 = start + d_4;
                #pragma unroll
                for (int k = 0; k < 2; ++k) {
                    // score = tl.dot(query, tl.trans(key)) * scale                       dot.py:121
                    const float score_3 = product_3[run][k] * scale;
                    // score = tl.where(cols[None, :] < n, score, float("-inf"))          dot.py:122
                    score_2[run][k] = cols_4 + k < n ? score_3 : -infinity();
                }
            }

            // now = tl.maximum(largest, tl.max(score, 1))                                dot.py:123
            float score_max_2[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                score_max_2[run] = score_2[run][0];
                #pragma unroll
                for (int k = 1; k < 8; ++k)
                    score_max_2[run] = fmaxf(score_max_2[run], score_2[run + k / 2 * 2][k % 2]);
                score_max_2[run] = lanes_all_reduce<3>(score_max_2[run], [](float a, float b) { return fmaxf(a, b); });
            }
            float now_2[2];
            float share_2[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                now_2[run] = fmaxf(largest[run], score_max_2[run]);

                // share = tl.exp(largest - now)                                          dot.py:124
                share_2[run] = __expf(largest[run] - now_2[run]);
            }
            Vector<float, 2> weight_3[8];
            #pragma unroll
            for (int run = 0; run < 8; ++run) {
                #pragma unroll
                for (int k = 0; k < 2; ++k) {
                    // weight = tl.exp(score - now[:, None])                              dot.py:125
                    weight_3[run][k] = __expf(score_2[run][k] - now_2[run % 2]);
                }
            }
            float product_4[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // total = total * share + tl.sum(weight, 1)                              dot.py:126
                product_4[run] = total_3[run] * share_2[run];
            }

            // total = total * share + tl.sum(weight, 1)                                  dot.py:126
            float weight_sum_2[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                weight_sum_2[run] = 0.0f;
                #pragma unroll
                for (int k = 0; k < 8; ++k) weight_sum_2[run] += weight_3[run + k / 2 * 2][k % 2];
                weight_sum_2[run] = lanes_all_reduce<3>(weight_sum_2[run], [](float a, float b) { return a + b; });
            }
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                total_3[run] = product_4[run] + weight_sum_2[run];
            }

            // for start in range(0, n, BLOCK_N):                                         dot.py:117
            wgmma_wait<0>();
            iteration += 1;
            #pragma unroll
            for (int run = 0; run < 8; ++run) {
                #pragma unroll
                for (int k = 0; k < 2; ++k) {
                    // acc = acc * share[:, None]                                         dot.py:127
                    acc_2[run][k] = acc_2[run][k] * share_2[run % 2];
                    // acc = tl.dot(weight.to(value.dtype), value, acc)                   dot.py:128
                    weights[run][k] = __float2half(weight_3[run][k]);
                }
            }
            #pragma unroll
            for (int run = 0; run < 2; ++run)
                largest[run] = now_2[run];
        }
        const int stage = (iteration - 1) % 3;
        cp_async_wait<2>();
        fence_async_proxy();  // shows what was written to the ring `value` to the tensor cores
        __syncthreads();  // orders the stores to the ring `value` before the loads of it

        // acc = tl.dot(weight.to(value.dtype), value, acc)                               dot.py:128
        #pragma unroll
        for (int run = 0; run < 8; ++run)
            #pragma unroll
            for (int k = 0; k < 2; ++k)
                acc[run][k] = acc_2[run][k];
        keep_sums(acc);
        const Descriptor value_first = wgmma_descriptor<64>(shared.value[stage], 2048, 512);  // rows along N
        wgmma_fence();
        #pragma unroll
        for (int step = 0; step < 2; ++step) {
            unsigned a_part[4];  // rows of this warp
            #pragma unroll
            for (int piece = 0; piece < 4; ++piece)
                a_part[piece] = bit_cast<unsigned>(weights[4 * step + piece]);
            wgmma_m64n32k16_f32_f16_a_registers_b_along_n(acc, a_part, value_first + 64 * step, true);
        }
        wgmma_commit();
        wgmma_wait<0>();
        cp_async_wait<0>();  // zeros of iterations that do not exist have landed
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            total[run] = total_3[run];
    } else {
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            total[run] = 0.0f;
        #pragma unroll
        for (int run = 0; run < 8; ++run)
            #pragma unroll
            for (int k = 0; k < 2; ++k)
                acc[run][k] = 0.0f;
    }
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // tl.store(out + rows[:, None] * D + d[None, :], acc / total[:, None], mask ...  dot.py:130
        Vector<float, 2> out_value;
        #pragma unroll
        for (int k = 0; k < 2; ++k) out_value[k] = divide_approx(acc[run][k], total[run % 2]);

        // rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, D)  dot.py:112
        const int rows = pid_x * 64 + thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8;
        const int d_2 = thread % 4 * 2 + run / 2 * 8;
        // tl.store(out + rows[:, None] * D + d[None, :], acc / total[:, None], mask ...  dot.py:130
        store_vector_if<uint2>(rows < n, out + rows * 32 + d_2, out_value);
    }
}
