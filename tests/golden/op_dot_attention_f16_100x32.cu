// attention.cu: emitted by tle2cuda from dot.py:98 (attention). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 9728 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      q *fp16 align 16, k *fp16 align 16, v *fp16 align 16, out *fp32 align 16, n i32,
//             scale fp32
//   constants BLOCK_M = 32, BLOCK_N = 32, D = 32

#include <cuda_fp16.h>

namespace {

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

// Load N neighbours as values of another type; the pointer is aligned to min(16, N * sizeof(Stored)) bytes. Called by
// each thread for itself.
template <typename T, int N, typename Stored>
__device__ __forceinline__ Vector<T, N> load_vector_as(const Stored* pointer)
{
    const Vector<Stored, N> stored = load_vector<N>(pointer);
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = static_cast<T>(stored[k]);
    return result;
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

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) __half query_tile[32][40];    // scratch of dot.py:109
    alignas(16) __half key_tile[32][40];      // scratch of dot.py:109
    alignas(16) __half weight_tile[32][40];   // scratch of dot.py:116
    alignas(16) __half value_tile[32][32];    // scratch of dot.py:116
};
static_assert(sizeof(Shared) <= 9728, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
attention(const __half* __restrict__ q, const __half* __restrict__ k_,
          const __half* __restrict__ v, float* out, const int n, const float scale)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, D)      dot.py:100
    const int pid_x = blockIdx.x;
    const int d = thread / 4;
    const int rows = pid_x * 32 + d;
    const int d_2 = thread % 4 * 8;

    // query = tl.load(q + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, o ...  dot.py:101
    const Vector<__half, 8> query = load_vector_nc_if<uint4>(rows < n, q + rows * 32 + d_2, fill_vector<8>(__float2half(0.0f)));

    // for start in range(0, n, BLOCK_N):                                                 dot.py:105
    float total[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        total[run] = 0.0f;
    Vector<float, 4> acc[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            acc[run][k] = 0.0f;
    float largest[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        largest[run] = -infinity();
    for (int start = 0; start < n; start += 32) {
        // cols = start + tl.arange(0, BLOCK_N)                                           dot.py:106
        const int cols = start + d;
        // key = tl.load(k + cols[:, None] * D + d[None, :], mask=cols[:, None] < n, ...  dot.py:107
        const int index = cols * 32;
        const Vector<__half, 8> key = load_vector_nc_if<uint4>(cols < n, k_ + index + d_2, fill_vector<8>(__float2half(0.0f)));
        // value = tl.load(v + cols[:, None] * D + d[None, :], mask=cols[:, None] < ...   dot.py:108
        const Vector<__half, 8> value = load_vector_nc_if<uint4>(cols < n, v + index + d_2, fill_vector<8>(__float2half(0.0f)));

        // score = tl.dot(query, tl.trans(key)) * scale                                   dot.py:109
        store_vector(&shared.query_tile[thread / 4][thread % 4 * 8], query);
        store_vector(&shared.key_tile[thread / 4][thread % 4 * 8], key);
        __syncthreads();  // `query` and `key` are in shared memory
        float product[8];
        #pragma unroll
        for (int run = 0; run < 8; ++run)
            product[run] = 0.0f;
        #pragma unroll 4
        for (int k_3 = 0; k_3 < 32; k_3 += 4) {
            Vector<float, 4> key_part[4];  // the columns of this thread
            #pragma unroll
            for (int column = 0; column < 4; ++column)
                key_part[column] = load_vector_as<float, 4>(&shared.key_tile[8 * column + thread % 8][k_3]);
            #pragma unroll
            for (int row = 0; row < 2; ++row) {
                const Vector<float, 4> query_part = load_vector_as<float, 4>(&shared.query_tile[16 * row + thread / 8][k_3]);
                #pragma unroll
                for (int step = 0; step < 4; ++step) {
                    #pragma unroll
                    for (int column = 0; column < 4; ++column)
                        product[4 * row + column] += query_part[step] * key_part[column][step];
                }
            }
        }
        float score[8];

        // tile [32, 32]: row = thread / 8 + run / 4 * 16, column = thread % 8 + run % 4 * 8;  run < 8
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            const float score_2 = product[run] * scale;

            // rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.aran ...  dot.py:100
            const int d_3 = thread % 8 + run % 4 * 8;
            // cols = start + tl.arange(0, BLOCK_N)                                       dot.py:106
            const int cols_2 = start + d_3;
            // score = tl.where(cols[None, :] < n, score, float("-inf"))                  dot.py:110
            score[run] = cols_2 < n ? score_2 : -infinity();
        }

        // now = tl.maximum(largest, tl.max(score, 1))                                    dot.py:111
        float score_max[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            score_max[run] = score[4 * run];
            #pragma unroll
            for (int k = 1; k < 4; ++k) score_max[run] = fmaxf(score_max[run], score[4 * run + k]);
            score_max[run] = lanes_all_reduce<7>(score_max[run], [](float a, float b) { return fmaxf(a, b); });
        }
        float now[2];
        float share[2];

        // tile [32]: element = thread / 8 + 16 * run;  run < 2
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            now[run] = fmaxf(largest[run], score_max[run]);

            // share = tl.exp(largest - now)                                              dot.py:112
            share[run] = __expf(largest[run] - now[run]);
        }
        float weight[8];
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            // weight = tl.exp(score - now[:, None])                                      dot.py:113
            weight[run] = __expf(score[run] - now[run / 4]);
        }
        float product_2[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // total = total * share + tl.sum(weight, 1)                                  dot.py:114
            product_2[run] = total[run] * share[run];
        }

        // total = total * share + tl.sum(weight, 1)                                      dot.py:114
        float weight_sum[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            weight_sum[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 4; ++k) weight_sum[run] += weight[4 * run + k];
            weight_sum[run] = lanes_all_reduce<7>(weight_sum[run], [](float a, float b) { return a + b; });
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            total[run] = product_2[run] + weight_sum[run];
        }

        // tile [32, 32]: row = thread / 8 + 16 * run, column = thread % 8 * 4 + k;  run < 2, k < 4
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // acc = acc * share[:, None]                                                 dot.py:115
            #pragma unroll
            for (int k = 0; k < 4; ++k) acc[run][k] = acc[run][k] * share[run];
        }
        __half weight_2[8];
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            // acc = tl.dot(weight.to(value.dtype), value, acc)                           dot.py:116
            weight_2[run] = __float2half(weight[run]);
        }

        // acc = tl.dot(weight.to(value.dtype), value, acc)                               dot.py:116
        #pragma unroll
        for (int run = 0; run < 8; ++run)
            shared.weight_tile[thread / 8 + run / 4 * 16][thread % 8 + run % 4 * 8] = weight_2[run];
        store_vector(&shared.value_tile[thread / 4][thread % 4 * 8], value);
        __syncthreads();  // the left operand and `value` are in shared memory
        #pragma unroll 4
        for (int k_3 = 0; k_3 < 32; k_3 += 4) {
            Vector<float, 4> value_part[4];  // the columns of this thread
            #pragma unroll
            for (int step = 0; step < 4; ++step)
                value_part[step] = load_vector_as<float, 4>(&shared.value_tile[k_3 + step][thread % 8 * 4]);
            #pragma unroll
            for (int row = 0; row < 2; ++row) {
                const Vector<float, 4> a_part = load_vector_as<float, 4>(&shared.weight_tile[16 * row + thread / 8][k_3]);
                #pragma unroll
                for (int step = 0; step < 4; ++step) {
                    #pragma unroll
                    for (int column = 0; column < 4; ++column)
                        acc[row][column] += a_part[step] * value_part[step][column];
                }
            }
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            largest[run] = now[run];
    }

    // rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, D)      dot.py:100
    const int d_4 = thread % 8 * 4;
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // tl.store(out + rows[:, None] * D + d[None, :], acc / total[:, None], mask ...  dot.py:118
        Vector<float, 4> out_value;
        #pragma unroll
        for (int k = 0; k < 4; ++k) out_value[k] = divide_approx(acc[run][k], total[run]);

        // rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, D)  dot.py:100
        const int d_3 = thread / 8 + 16 * run;
        const int rows_2 = pid_x * 32 + d_3;
        // tl.store(out + rows[:, None] * D + d[None, :], acc / total[:, None], mask ...  dot.py:118
        if (rows_2 < n) store_vector(out + rows_2 * 32 + d_4, out_value);
    }
}
