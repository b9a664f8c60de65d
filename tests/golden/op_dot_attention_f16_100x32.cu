// attention.cu: emitted by tle2cuda from dot.py:110 (attention). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 17408 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      q *fp16 align 16, k *fp16 align 16, v *fp16 align 16, out *fp32 align 16, n i32,
//             scale fp32
//   constants BLOCK_M = 32, BLOCK_N = 32, D = 32

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

// Loads four 8 x 8 matrices of 16-bit elements (or 16-byte rows of others): lane l passes row l % 8 of matrix l / 8, and gets of
// each matrix the 4 bytes l % 4 of row l / 4. Called by all lanes of a warp (PTX ISA, ldmatrix; sm_75).
__device__ __forceinline__ void ldmatrix_x4(unsigned* words, const void* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "r"(shared_address(row)) : "memory");
}

// Four 8 x 8 matrices of 16-bit elements, each transposed on the way: lane l passes row l % 8 of matrix l / 8, and gets of each
// matrix elements 2 * (l % 4) and the next one of column l / 4. Called by all lanes of a warp (PTX ISA, ldmatrix; sm_75).
__device__ __forceinline__ void ldmatrix_x4_trans(unsigned* words, const void* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "r"(shared_address(row)) : "memory");
}

// The 16 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global.nc).
__device__ __forceinline__ uint4 load_bits_nc_if(bool condition, const uint4* pointer, uint4 otherwise)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %5, 0;\n\t@p ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y), "+r"(otherwise.z), "+r"(otherwise.w)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return otherwise;
}

// Load N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* pointer)
{
    return *reinterpret_cast<const Vector<T, N>*>(pointer);
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

// sums[16, 8] += a[16, 16] @ b[16, 8] of one warp, float16 operands. Called by all its lanes (PTX ISA, mma; sm_80).
__device__ __forceinline__ void mma_m16n8k16_f32_f16(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
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

// Shared memory of one CTA.
struct Shared {
    alignas(1024) __half key[3][32][32];      // 3 stages of dot.py:119, 64-byte swizzle
    alignas(1024) __half value[3][32][32];    // 3 stages of dot.py:120, 64-byte swizzle
    union {  // never alive at the same time
        alignas(16) __half query_exchange[1024];  // scratch of dot.py:113
        alignas(16) float max_slots[64];          // scratch of dot.py:123
        alignas(128) __half weight_tile[1024];    // operand of dot.py:128: [32, 32], rows in 16-byte chunks, swizzled
    };
    alignas(16) float sum_slots[64];          // scratch of dot.py:126
    alignas(128) __half value_tile[1024];     // operand of dot.py:128: [32, 32], rows in 16-byte chunks, swizzled
};
static_assert(sizeof(Shared) <= 17408, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
attention(const __half* __restrict__ q, const __half* __restrict__ k_,
          const __half* __restrict__ v, float* out, const int n, const float scale)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, D)      dot.py:112
    const int pid_x = blockIdx.x;
    const int d = thread / 4;
    const int rows = pid_x * 32 + d;
    const int d_2 = thread % 4 * 8;

    // query = tl.load(q + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, o ...  dot.py:113
    const Vector<__half, 8> query = load_vector_nc_if<uint4>(rows < n, q + rows * 32 + d_2, fill_vector<8>(__float2half(0.0f)));
    // for start in range(0, n, BLOCK_N):                                                 dot.py:117
    #pragma unroll
    for (int stage = 0; stage < 2; ++stage) {
        // cols = start + tl.arange(0, BLOCK_N)                                           dot.py:118
        const int cols = stage * 32 + d;
        // key = tl.load(k + cols[:, None] * D + d[None, :], mask=cols[:, None] < n, ...  dot.py:119
        const int index = cols * 32;
        if (stage * 32 < n) {
            // key = tl.load(k + cols[:, None] * D + d[None, :], mask=cols[:, None] ...   dot.py:119
            cp_async_zero_fill<16>(&shared.key[stage][thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)], k_ + index + d_2, cols < n ? 16 : 0);
            // value = tl.load(v + cols[:, None] * D + d[None, :], mask=cols[:, None ...  dot.py:120
            cp_async_zero_fill<16>(&shared.value[stage][thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)], v + index + d_2, cols < n ? 16 : 0);
        }
        cp_async_commit();
    }

    // query = tl.load(q + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, o ...  dot.py:113
    Vector<__half, 8> packed;
    #pragma unroll
    for (int k = 0; k < 8; ++k) packed[k] = query[k];
    store_vector(&shared.query_exchange[(thread ^ (thread / 8 % 4)) * 8], packed);
    __syncthreads();  // the whole tile is in shared memory
    Vector<__half, 2> query_2[8];
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        const Vector<__half, 2> unpacked = load_vector<2>(&shared.query_exchange[thread / 64 * 512 + thread / 4 % 8 * 32 + ((thread / 8 % 4) ^ (run / 2)) * 8 + thread % 4 * 2 + run % 2 * 256]);
        #pragma unroll
        for (int k = 0; k < 2; ++k) query_2[run][k] = unpacked[k];
    }

    // for start in range(0, n, BLOCK_N):                                                 dot.py:117
    float total[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        total[run] = 0.0f;
    Vector<float, 2> acc[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            acc[run][k] = 0.0f;
    float largest[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        largest[run] = -infinity();
    int stage = 0;
    for (int start = 0; start < n; start += 32) {
        cp_async_wait<1>();
        const int free_stage = stage == 0 ? 2 : stage - 1;
        __syncthreads();  // orders the accesses to the ring `value` and the ring `key` before it and after it

        // value = tl.load(v + cols[:, None] * D + d[None, :], mask=cols[:, None] < ...   dot.py:120
        const Vector<__half, 8> value = load_vector<8>(&shared.value[stage][thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)]);

        // score = tl.dot(query, tl.trans(key)) * scale                                   dot.py:121
        Vector<float, 2> product[4];
        #pragma unroll
        for (int run = 0; run < 4; ++run)
            #pragma unroll
            for (int k = 0; k < 2; ++k)
                product[run][k] = 0.0f;

        // cols = start + tl.arange(0, BLOCK_N)                                           dot.py:118
        const int cols = start + 64 + d;

        // key = tl.load(k + cols[:, None] * D + d[None, :], mask=cols[:, None] < n, ...  dot.py:119
        const int index = cols * 32;
        #pragma unroll
        for (int step = 0; step < 2; ++step) {
            unsigned query_part[4];  // rows of this warp
            #pragma unroll
            for (int piece = 0; piece < 4; ++piece)
                query_part[piece] = bit_cast<unsigned>(query_2[4 * step + piece]);
            unsigned key_part[4];  // columns of this warp, two fragments a time
            ldmatrix_x4(key_part, &shared.key[stage][thread / 16 % 4 * 8 + thread % 8][swizzled<64, 2>(thread % 8, 16 * step + thread / 8 % 2 * 8)]);
            if (step == 0) {
                // for start in range(0, n, BLOCK_N):                                     dot.py:117
                if (n - start > 64) {
                    // key = tl.load(k + cols[:, None] * D + d[None, :], mask=cols[: ...  dot.py:119
                    cp_async_zero_fill<16>(&shared.key[free_stage][thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)], k_ + index + d_2, cols < n ? 16 : 0);
                    // value = tl.load(v + cols[:, None] * D + d[None, :], mask=cols ...  dot.py:120
                    cp_async_zero_fill<16>(&shared.value[free_stage][thread / 4][swizzled<64, 2>(thread / 4, thread % 4 * 8)], v + index + d_2, cols < n ? 16 : 0);
                }
                cp_async_commit();
            }
            #pragma unroll
            for (int column = 0; column < 2; ++column)
                mma_m16n8k16_f32_f16(&product[2 * column], query_part, &key_part[column % 2 * 2]);
        }
        Vector<float, 2> score[4];

        // tile [32, 32]: row = thread / 64 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread / 32 % 2 * 16 + thread % 4 * 2 + run / 2 * 8 + k;  run < 4, k < 2
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            // rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.aran ...  dot.py:112
            const int d_3 = thread / 32 % 2 * 16 + thread % 4 * 2 + run / 2 * 8;

            // cols = start + tl.arange(0, BLOCK_N)                                       dot.py:118
            const int cols_2 = start + d_3;
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                // score = tl.dot(query, tl.trans(key)) * scale                           dot.py:121
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
            for (int k = 1; k < 4; ++k)
                score_max[run] = fmaxf(score_max[run], score[run + k / 2 * 2][k % 2]);
            score_max[run] = lanes_all_reduce<3>(score_max[run], [](float a, float b) { return fmaxf(a, b); });
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            if (thread % 4 == 0) shared.max_slots[thread / 32 % 2 * 32 + thread / 64 * 16 + thread / 4 % 8 + 8 * run] = score_max[run];
        __syncthreads();  // the partial results of all warps are in their slots
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            score_max[run] = shared.max_slots[thread / 64 * 16 + thread / 4 % 8 + 8 * run];
            #pragma unroll
            for (int part = 1; part < 2; ++part)
                score_max[run] = fmaxf(score_max[run], shared.max_slots[thread / 64 * 16 + thread / 4 % 8 + 8 * run + 32 * part]);
        }
        float now[2];
        float share[2];

        // tile [32]: element = thread / 64 * 16 + thread / 4 % 8 + 8 * run;  run < 2
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            now[run] = fmaxf(largest[run], score_max[run]);

            // share = tl.exp(largest - now)                                              dot.py:124
            share[run] = __expf(largest[run] - now[run]);
        }
        Vector<float, 2> weight[4];
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
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
            for (int k = 0; k < 4; ++k) weight_sum[run] += weight[run + k / 2 * 2][k % 2];
            weight_sum[run] = lanes_all_reduce<3>(weight_sum[run], [](float a, float b) { return a + b; });
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            if (thread % 4 == 0) shared.sum_slots[thread / 32 % 2 * 32 + thread / 64 * 16 + thread / 4 % 8 + 8 * run] = weight_sum[run];
        __syncthreads();  // the partial results of all warps are in their slots
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            weight_sum[run] = shared.sum_slots[thread / 64 * 16 + thread / 4 % 8 + 8 * run];
            #pragma unroll
            for (int part = 1; part < 2; ++part)
                weight_sum[run] += shared.sum_slots[thread / 64 * 16 + thread / 4 % 8 + 8 * run + 32 * part];
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            total[run] = product_2[run] + weight_sum[run];
        }
        Vector<__half, 2> weight_2[4];
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                // acc = acc * share[:, None]                                             dot.py:127
                acc[run][k] = acc[run][k] * share[run % 2];
                // acc = tl.dot(weight.to(value.dtype), value, acc)                       dot.py:128
                weight_2[run][k] = __float2half(weight[run][k]);
            }
        }

        // acc = tl.dot(weight.to(value.dtype), value, acc)                               dot.py:128
        #pragma unroll
        for (int run = 0; run < 4; ++run)
            store_vector(&shared.weight_tile[thread / 64 * 512 + thread / 4 % 8 * 32 + ((thread / 32 % 2 * 2) ^ (thread / 8 % 4) ^ (run / 2)) * 8 + thread % 4 * 2 + run % 2 * 256], weight_2[run]);
        store_vector(&shared.value_tile[(thread ^ (thread / 8 % 4)) * 8], value);
        __syncthreads();  // orders the accesses to the scratch `weight_tile` and the scratch `value_tile` before it and after it
        #pragma unroll
        for (int step = 0; step < 2; ++step) {
            unsigned a_part[4];  // rows of this warp
            ldmatrix_x4(a_part, &shared.weight_tile[thread / 64 * 512 + thread % 16 * 32 + ((2 * step) ^ (thread / 2 % 4) ^ (thread / 16 % 2)) * 8]);
            unsigned value_part[4];  // columns of this warp, two fragments a time
            ldmatrix_x4_trans(value_part, &shared.value_tile[512 * step + thread % 16 * 32 + ((thread / 2 % 4) ^ (thread / 16 % 4)) * 8]);
            #pragma unroll
            for (int column = 0; column < 2; ++column)
                mma_m16n8k16_f32_f16(&acc[2 * column], a_part, &value_part[column % 2 * 2]);
        }

        // for start in range(0, n, BLOCK_N):                                             dot.py:117
        stage = stage + 1 == 3 ? 0 : stage + 1;
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            largest[run] = now[run];
    }
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // tl.store(out + rows[:, None] * D + d[None, :], acc / total[:, None], mask ...  dot.py:130
        Vector<float, 2> out_value;
        #pragma unroll
        for (int k = 0; k < 2; ++k) out_value[k] = divide_approx(acc[run][k], total[run % 2]);

        // rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, D)  dot.py:112
        const int d_3 = thread / 64 * 16 + thread / 4 % 8 + run % 2 * 8;
        const int rows_2 = pid_x * 32 + d_3;
        const int d_4 = thread / 32 % 2 * 16 + thread % 4 * 2 + run / 2 * 8;

        // tl.store(out + rows[:, None] * D + d[None, :], acc / total[:, None], mask ...  dot.py:130
        store_vector_if<uint2>(rows_2 < n, out + rows_2 * 32 + d_4, out_value);
    }
}
