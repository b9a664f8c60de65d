// attention.cu: emitted by tle2cuda from attention.py:15 (attention). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 40960 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      q *fp16 align 16, k *fp16 align 16, v *fp16 align 16, out *fp16 align 16,
//             length i32, scale fp32
//   constants CAUSAL = True, HEAD = 64, BLOCK_M = 128, BLOCK_N = 64

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

// Quotient within 2 ulp over the full range, as Triton divides (PTX ISA, div.full.f32).
__device__ __forceinline__ float divide_approx(float a, float b)
{
    float quotient;
    asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
    return quotient;
}

// 2 to the power of x within 2 ulp; denormals are zero (PTX ISA, ex2.approx.ftz.f32).
__device__ __forceinline__ float exp2_approx(float x)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
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

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
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

// Store 16 bytes of global memory if a condition holds: one predicated access (PTX ISA, st.global), around which nothing
// branches.
__device__ __forceinline__ void store_bits_if(bool condition, uint4* pointer, uint4 bits)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %1, 0;\n\t@p st.global.v4.u32 [%0], {%2, %3, %4, %5};\n\t}"
        :: "l"(pointer), "r"(static_cast<int>(condition)), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
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

// Shared memory of one CTA.
struct Shared {
    alignas(128) __half query_tile[8192];     // operand of attention.py:31: [128, 64], rows in 16-byte chunks, swizzled
    union {  // never alive at the same time
        alignas(128) __half key_tile[4096];       // operand of attention.py:31: [64, 64], columns in 16-byte chunks, swizzled
        alignas(16) __half exchange[8192];        // scratch of attention.py:44
    };
    alignas(128) __half value_tile[4096];     // operand of attention.py:41: [64, 64], rows in 16-byte chunks, swizzled
};
static_assert(sizeof(Shared) <= 40960, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
attention(const __half* __restrict__ q, const __half* __restrict__ k_,
          const __half* __restrict__ v, __half* out, const int length, const float scale)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // head = tl.program_id(1).to(tl.int64) * length * HEAD                          attention.py:18
    const int pid_y = blockIdx.y;
    const long long head = static_cast<long long>(pid_y) * length * 64ll;
    // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                     attention.py:19
    const int pid_x = blockIdx.x;
    // end = tl.minimum(length, (tl.program_id(0) + 1) * BLOCK_M) if CAUSAL els ...  attention.py:26
    const int end = min(length, (pid_x + 1) * 128);
    Vector<__half, 8> query[8];
    // d = tl.arange(0, HEAD)                                                        attention.py:20
    const int d = thread % 8 * 8;
    // tile [128, 64]: row = thread / 8 + 16 * run, column = thread % 8 * 8 + k;  run < 8, k < 8
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                 attention.py:19
        const int rows = pid_x * 128 + thread / 8 + 16 * run;
        // at = rows[:, None] * HEAD + d[None, :]                                    attention.py:21
        const int at = rows * 64 + d;
        // query = tl.load(q + head + at, mask=rows[:, None] < length, other=0.0)    attention.py:22
        query[run] = load_vector_nc_if<uint4>(rows < length, q + head + at, fill_vector<8>(__float2half(0.0f)));
    }

    // score = tl.dot(query, tl.trans(key)) * (scale * 1.44269504)  # exp(x) = ...   attention.py:31
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        store_vector(&shared.query_tile[(thread ^ (thread / 8 % 8)) * 8 + 1024 * run], query[run]);

    // for start in range(0, end, BLOCK_N):                                          attention.py:27
    float total[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        total[run] = 0.0f;
    Vector<float, 2> acc[32];
    #pragma unroll
    for (int run = 0; run < 32; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            acc[run][k] = 0.0f;
    float largest[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        largest[run] = -infinity();

    // d = tl.arange(0, HEAD)                                                        attention.py:20
    const int d_3 = thread % 8 * 8;
    for (int start = 0; start < end; start += 64) {
        Vector<__half, 8> key[4];

        // tile [64, 64]: row = thread / 8 + 16 * run, column = thread % 8 * 8 + k;  run < 4, k < 8
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            // d = tl.arange(0, HEAD)                                                attention.py:20
            const int d_2 = thread / 8 + 16 * run;
            // cols = start + tl.arange(0, BLOCK_N)                                  attention.py:28
            const int cols = start + d_2;
            // places = cols[:, None] * HEAD + d[None, :]                            attention.py:29
            const int places = cols * 64 + d_3;
            // key = tl.load(k + head + places, mask=cols[:, None] < length, ot ...  attention.py:30
            key[run] = load_vector_nc_if<uint4>(cols < length, k_ + head + places, fill_vector<8>(__float2half(0.0f)));
        }

        // score = tl.dot(query, tl.trans(key)) * (scale * 1.44269504)  # exp(x ...  attention.py:31
        #pragma unroll
        for (int run = 0; run < 4; ++run)
            store_vector(&shared.key_tile[(thread ^ (thread / 8 % 8)) * 8 + 1024 * run], key[run]);
        __syncthreads();  // orders the accesses to the scratch `query_tile`, the scratch `key_tile` and the scratch `value_tile` before it and after it
        Vector<float, 2> product[32];
        #pragma unroll
        for (int run = 0; run < 32; ++run)
            #pragma unroll
            for (int k = 0; k < 2; ++k)
                product[run][k] = 0.0f;
        #pragma unroll
        for (int step = 0; step < 4; ++step) {
            unsigned query_part[2][4];  // rows of this warp
            #pragma unroll
            for (int row = 0; row < 2; ++row)
                ldmatrix_x4(query_part[row], &shared.query_tile[thread / 32 * 2048 + 1024 * row + thread % 16 * 64 + ((2 * step) ^ (thread % 8) ^ (thread / 16 % 2)) * 8]);
            unsigned key_part[4][4];  // columns of this warp, two fragments a time
            #pragma unroll
            for (int column = 0; column < 4; ++column)
                ldmatrix_x4(key_part[column], &shared.key_tile[1024 * column + thread / 16 % 2 * 512 + thread % 8 * 64 + ((2 * step) ^ (thread % 8) ^ (thread / 8 % 2)) * 8]);
            #pragma unroll
            for (int row = 0; row < 2; ++row)
                #pragma unroll
                for (int column = 0; column < 8; ++column)
                    mma_m16n8k16_f32_f16(&product[16 * row + 2 * column], query_part[row], &key_part[column / 2][column % 2 * 2]);
        }
        Vector<float, 2> score[32];

        // tile [128, 64]: row = thread / 32 * 32 + thread / 4 % 8 + run / 16 * 16 + run % 2 * 8, column = thread % 4 * 2 + run / 2 % 8 * 8 + k;  run < 32, k < 2
        #pragma unroll
        for (int run = 0; run < 32; ++run) {
            // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)             attention.py:19
            const int rows = pid_x * 128 + thread / 32 * 32 + thread / 4 % 8 + run / 16 * 16 + run % 2 * 8;
            // d = tl.arange(0, HEAD)                                                attention.py:20
            const int d_2 = thread % 4 * 2 + run / 2 % 8 * 8;

            // cols = start + tl.arange(0, BLOCK_N)                                  attention.py:28
            const int cols = start + d_2;
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                const float score_2 = product[run][k] * (scale * 1.442695f);

                // score = tl.where(rows[:, None] >= cols[None, :], score, floa ...  attention.py:33
                score[run][k] = rows >= cols + k ? score_2 : -infinity();
            }
        }

        // now = tl.maximum(largest, tl.max(score, 1))                               attention.py:36
        float score_max[4];
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            score_max[run] = score[run / 2 * 16 + run % 2][0];
            #pragma unroll
            for (int k = 1; k < 16; ++k)
                score_max[run] = fmaxf(score_max[run], score[run / 2 * 16 + run % 2 + k / 2 * 2][k % 2]);
            score_max[run] = lanes_all_reduce<3>(score_max[run], [](float a, float b) { return fmaxf(a, b); });
        }
        float now[4];

        // tile [128]: element = thread / 32 * 32 + thread / 4 % 8 + 8 * run;  run < 4
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            now[run] = fmaxf(largest[run], score_max[run]);
        }
        Vector<float, 2> weight[32];
        #pragma unroll
        for (int run = 0; run < 32; ++run) {
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                // weight = tl.exp2(score - now[:, None])                            attention.py:37
                weight[run][k] = exp2_approx(score[run][k] - now[run / 16 * 2 + run % 2]);
            }
        }
        float share[4];
        float product_2[4];
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            // share = tl.exp2(largest - now)                                        attention.py:38
            share[run] = exp2_approx(largest[run] - now[run]);
            // total = total * share + tl.sum(weight, 1)                             attention.py:39
            product_2[run] = total[run] * share[run];
        }

        // total = total * share + tl.sum(weight, 1)                                 attention.py:39
        float weight_sum[4];
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            weight_sum[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 16; ++k)
                weight_sum[run] += weight[run / 2 * 16 + run % 2 + k / 2 * 2][k % 2];
            weight_sum[run] = lanes_all_reduce<3>(weight_sum[run], [](float a, float b) { return a + b; });
        }
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            total[run] = product_2[run] + weight_sum[run];
        }
        Vector<__half, 8> value[4];
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            // d = tl.arange(0, HEAD)                                                attention.py:20
            const int d_2 = thread / 8 + 16 * run;
            // cols = start + tl.arange(0, BLOCK_N)                                  attention.py:28
            const int cols = start + d_2;
            // places = cols[:, None] * HEAD + d[None, :]                            attention.py:29
            const int places = cols * 64 + d_3;
            // value = tl.load(v + head + places, mask=cols[:, None] < length, ...   attention.py:40
            value[run] = load_vector_nc_if<uint4>(cols < length, v + head + places, fill_vector<8>(__float2half(0.0f)));
        }
        Vector<__half, 2> weight_2[32];
        #pragma unroll
        for (int run = 0; run < 32; ++run) {
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                // acc = tl.dot(weight.to(value.dtype), value, acc * share[:, N ...  attention.py:41
                weight_2[run][k] = __float2half(weight[run][k]);
                acc[run][k] = acc[run][k] * share[run / 16 * 2 + run % 2];
            }
        }

        // acc = tl.dot(weight.to(value.dtype), value, acc * share[:, None])         attention.py:41
        #pragma unroll
        for (int run = 0; run < 4; ++run)
            store_vector(&shared.value_tile[(thread ^ (thread / 8 % 8)) * 8 + 1024 * run], value[run]);
        __syncthreads();  // orders the accesses to the scratch `value_tile` and the scratch `key_tile` before it and after it
        #pragma unroll
        for (int step = 0; step < 4; ++step) {
            unsigned a_part[2][4];  // rows of this warp
            #pragma unroll
            for (int row = 0; row < 2; ++row)
                #pragma unroll
                for (int piece = 0; piece < 4; ++piece)
                    a_part[row][piece] = bit_cast<unsigned>(weight_2[16 * row + 4 * step + piece]);
            unsigned value_part[4][4];  // columns of this warp, two fragments a time
            #pragma unroll
            for (int column = 0; column < 4; ++column)
                ldmatrix_x4_trans(value_part[column], &shared.value_tile[1024 * step + thread % 16 * 64 + ((2 * column) ^ (thread % 8) ^ (thread / 16 % 2)) * 8]);
            #pragma unroll
            for (int row = 0; row < 2; ++row)
                #pragma unroll
                for (int column = 0; column < 8; ++column)
                    mma_m16n8k16_f32_f16(&acc[16 * row + 2 * column], a_part[row], &value_part[column / 2][column % 2 * 2]);
        }
        #pragma unroll
        for (int run = 0; run < 4; ++run)
            largest[run] = now[run];
    }
    Vector<__half, 2> result[32];
    #pragma unroll
    for (int run = 0; run < 32; ++run) {
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            // result = acc / total[:, None]                                         attention.py:43
            const float result_2 = divide_approx(acc[run][k], total[run / 16 * 2 + run % 2]);
            // tl.store(out + head + at, result.to(out.dtype.element_ty), mask= ...  attention.py:44
            result[run][k] = __float2half(result_2);
        }
    }

    // tl.store(out + head + at, result.to(out.dtype.element_ty), mask=rows[:, ...   attention.py:44
    #pragma unroll
    for (int run = 0; run < 16; ++run) {
        Vector<__half, 4> packed;
        #pragma unroll
        for (int k = 0; k < 4; ++k) packed[k] = result[run + k / 2 * 16][k % 2];
        store_vector(&shared.exchange[((thread % 4) ^ (thread / 8 * 4) ^ (run / 2)) * 8 + thread / 4 % 2 * 4 + 512 * run], packed);
    }
    __syncthreads();  // the whole tile is in shared memory
    Vector<__half, 8> result_converted[8];
    #pragma unroll
    for (int run = 0; run < 16; ++run) {
        const Vector<__half, 4> unpacked = load_vector<4>(&shared.exchange[thread % 8 * 1024 + thread / 64 * 512 + ((thread / 16 % 4 * 4) ^ (thread % 8) ^ (run % 4)) * 8 + thread / 8 % 2 * 4 + run / 4 * 128]);
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            result_converted[run / 4 * 2 + k / 2][run % 4 * 2 + k % 2] = unpacked[k];
    }
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                 attention.py:19
        const int rows = pid_x * 128 + thread / 8 + 16 * run;
        // at = rows[:, None] * HEAD + d[None, :]                                    attention.py:21
        const int at = rows * 64 + d;
        // tl.store(out + head + at, result.to(out.dtype.element_ty), mask=rows ...  attention.py:44
        store_vector_if<uint4>(rows < length, out + head + at, result_converted[run]);
    }
}
