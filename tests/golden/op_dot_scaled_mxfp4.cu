// scaled_product.cu: emitted by tle2cuda from dot.py:160 (scaled_product). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 6144 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      a *u8 align 16, a_scale *u8 align 16, b *u8 align 16, b_scale *u8 align 16,
//             out *fp32 align 16
//   constants A_FORMAT = 'e2m1', B_FORMAT = 'e2m1', A_PACK = True, B_PACK = True, FAST = False,
//             AM = 32, AK = 32, BK = 32, BN = 16, M = 32, N = 16, GROUPS = 2

#include <cuda_bf16.h>
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

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Two matrices: lane l passes row l % 8 of matrix l / 8 % 2 (PTX ISA, ldmatrix; sm_75).
__device__ __forceinline__ void ldmatrix_x2(unsigned* words, const void* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1]) : "r"(shared_address(row)) : "memory");
}

// Loads four 8 x 8 matrices of 16-bit elements (or 16-byte rows of others): lane l passes row l % 8 of matrix l / 8, and gets of
// each matrix the 4 bytes l % 4 of row l / 4. Called by all lanes of a warp (PTX ISA, ldmatrix; sm_75).
__device__ __forceinline__ void ldmatrix_x4(unsigned* words, const void* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "r"(shared_address(row)) : "memory");
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

// sums[16, 8] += a[16, 16] @ b[16, 8] of one warp, bfloat16 operands. Called by all its lanes (PTX ISA, mma; sm_80).
__device__ __forceinline__ void mma_m16n8k16_f32_bf16(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A NaN.
__device__ __forceinline__ float quiet_nan()
{
    return __int_as_float(0x7fc00000);
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

// The value that lane `source` of the warp holds. Called by whole warps.
template <typename T>
__device__ __forceinline__ T shuffle_from(T value, int source)
{
    return shuffle_words(value, [source](unsigned word) { return __shfl_sync(0xffffffffu, word, source); });
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(128) __nv_bfloat16 a_tile[2048];  // operand of dot.py:178: [32, 64], rows in 16-byte chunks, swizzled
    alignas(128) __nv_bfloat16 b_tile[1024];  // operand of dot.py:178: [64, 16], columns in 16-byte chunks, swizzled
};
static_assert(sizeof(Shared) <= 6144, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
scaled_product(const unsigned char* __restrict__ a, const unsigned char* __restrict__ a_scale,
               const unsigned char* __restrict__ b, const unsigned char* __restrict__ b_scale,
               float* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // x = tl.load(a + tl.arange(0, AM)[:, None] * AK + tl.arange(0, AK)[None, :])        dot.py:167
    const int rows = thread / 4;
    const int rows_2 = thread % 4 * 8;
    const Vector<unsigned char, 8> x = load_vector<8>(a + rows * 32 + rows_2);
    const int rows_3 = thread / 4;

    // y = tl.load(b + tl.arange(0, BK)[:, None] * BN + tl.arange(0, BN)[None, :])        dot.py:168
    const int cols = thread % 4 * 4;
    const Vector<unsigned char, 4> y = load_vector<4>(b + rows_3 * 16 + cols);
    const int cols_2 = thread / 2 % 16;

    // rows, cols, groups = tl.arange(0, M), tl.arange(0, N), tl.arange(0, GROUPS)        dot.py:169
    const int groups = thread % 2;
    // ys = tl.load(b_scale + cols[:, None] * GROUPS + groups[None, :])                   dot.py:175
    const unsigned char ys = *(b_scale + cols_2 * 2 + groups);

    // product = tl.dot_scaled(x, xs, A_FORMAT, y, ys, B_FORMAT, start, FAST, A_PACK ...  dot.py:178
    Vector<__nv_bfloat16, 8> value_2;
    Vector<__nv_bfloat16, 8> value_4;
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        // product = tl.dot_scaled(x, xs, A_FORMAT, y, ys, B_FORMAT, start, FAST, A_ ...  dot.py:178
        const unsigned short x_wide = static_cast<unsigned short>(x[k]);
        const unsigned short shifted = static_cast<unsigned short>(static_cast<unsigned short>(x_wide & 7) << 9);
        const unsigned short shifted_2 = static_cast<unsigned short>(static_cast<unsigned short>(x_wide & 8) << 12);
        const __half value = bit_cast<__half>(static_cast<unsigned short>(shifted | shifted_2));
        value_2[k] = __float2bfloat16(__half2float(value * __float2half(16384.0f)));
        const unsigned short shifted_3 = static_cast<unsigned short>(x_wide >> 4);
        const unsigned short shifted_4 = static_cast<unsigned short>(static_cast<unsigned short>(shifted_3 & 7) << 9);
        const unsigned short shifted_5 = static_cast<unsigned short>(static_cast<unsigned short>(shifted_3 & 8) << 12);
        const __half value_3 = bit_cast<__half>(static_cast<unsigned short>(shifted_4 | shifted_5));
        value_4[k] = __float2bfloat16(__half2float(value_3 * __float2half(16384.0f)));
    }

    // x = tl.load(a + tl.arange(0, AM)[:, None] * AK + tl.arange(0, AK)[None, :])        dot.py:167
    const int rows_4 = thread / 4;
    // rows, cols, groups = tl.arange(0, M), tl.arange(0, N), tl.arange(0, GROUPS)        dot.py:169
    const int groups_2 = thread / 2 % 2;
    // xs = tl.load(a_scale + rows[:, None] * GROUPS + groups[None, :])                   dot.py:172
    const unsigned char xs = *(a_scale + rows_4 * 2 + groups_2);

    // product = tl.dot_scaled(x, xs, A_FORMAT, y, ys, B_FORMAT, start, FAST, A_PACK ...  dot.py:178
    const unsigned short shifted_6 = static_cast<unsigned short>(static_cast<unsigned short>(xs) << 7);
    const __nv_bfloat16 value_5 = bit_cast<__nv_bfloat16>(shifted_6);
    Vector<__nv_bfloat16, 16> product;
    #pragma unroll
    for (int k = 0; k < 16; ++k) {
        product[k] = (k % 2 == 0 ? value_2[k / 2] : value_4[k / 2]) * value_5;
    }
    const bool flag = xs == 255;
    Vector<__nv_bfloat16, 16> chosen;
    #pragma unroll
    for (int k = 0; k < 16; ++k) chosen[k] = flag ? __float2bfloat16(quiet_nan()) : product[k];
    Vector<__nv_bfloat16, 4> value_7;
    Vector<__nv_bfloat16, 4> value_9;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const unsigned short y_wide = static_cast<unsigned short>(y[k]);

        // product = tl.dot_scaled(x, xs, A_FORMAT, y, ys, B_FORMAT, start, FAST, A_ ...  dot.py:178
        const unsigned short shifted_7 = static_cast<unsigned short>(static_cast<unsigned short>(y_wide & 7) << 9);
        const unsigned short shifted_8 = static_cast<unsigned short>(static_cast<unsigned short>(y_wide & 8) << 12);
        const __half value_6 = bit_cast<__half>(static_cast<unsigned short>(shifted_7 | shifted_8));
        value_7[k] = __float2bfloat16(__half2float(value_6 * __float2half(16384.0f)));
        const unsigned short shifted_9 = static_cast<unsigned short>(y_wide >> 4);
        const unsigned short shifted_10 = static_cast<unsigned short>(static_cast<unsigned short>(shifted_9 & 7) << 9);
        const unsigned short shifted_11 = static_cast<unsigned short>(static_cast<unsigned short>(shifted_9 & 8) << 12);
        const __half value_8 = bit_cast<__half>(static_cast<unsigned short>(shifted_10 | shifted_11));
        value_9[k] = __float2bfloat16(__half2float(value_8 * __float2half(16384.0f)));
    }
    const unsigned short shifted_12 = static_cast<unsigned short>(static_cast<unsigned short>(ys) << 7);
    const __nv_bfloat16 value_10 = bit_cast<__nv_bfloat16>(shifted_12);
    __nv_bfloat16 tile_source = value_10;
    Vector<__nv_bfloat16, 4> converted;
    converted[0] = shuffle_from(tile_source, thread % 4 * 8 + thread / 64);
    converted[1] = shuffle_from(tile_source, thread % 4 * 8 + thread / 64 + 2);
    converted[2] = shuffle_from(tile_source, thread % 4 * 8 + thread / 64 + 4);
    converted[3] = shuffle_from(tile_source, thread % 4 * 8 + thread / 64 + 6);
    Vector<__nv_bfloat16, 2> product_2[4];

    // tile [64, 16]: row = thread / 4 * 2 + k, column = thread % 4 * 4 + run;  run < 4, k < 2
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            product_2[run][k] = (k == 0 ? value_7[run] : value_9[run]) * converted[run];
        }
    }
    const bool flag_2 = ys == 255;
    bool tile_source_2 = flag_2;
    Vector<bool, 4> converted_2;
    converted_2[0] = shuffle_from(tile_source_2, thread % 4 * 8 + thread / 64);
    converted_2[1] = shuffle_from(tile_source_2, thread % 4 * 8 + thread / 64 + 2);
    converted_2[2] = shuffle_from(tile_source_2, thread % 4 * 8 + thread / 64 + 4);
    converted_2[3] = shuffle_from(tile_source_2, thread % 4 * 8 + thread / 64 + 6);
    Vector<__nv_bfloat16, 2> chosen_2[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            chosen_2[run][k] = converted_2[run] ? __float2bfloat16(quiet_nan()) : product_2[run][k];
        }
    }
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        Vector<__nv_bfloat16, 8> packed;
        #pragma unroll
        for (int k = 0; k < 8; ++k) packed[k] = chosen[8 * run + k];
        store_vector(&shared.a_tile[((2 * thread) ^ (thread / 4 % 8) ^ run) * 8], packed);
    }
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        store_vector(&shared.b_tile[thread % 4 * 256 + ((thread % 2 * 16) ^ (thread / 4) ^ (4 * run)) * 2 + 64 * run], chosen_2[run]);
    __syncthreads();  // orders the accesses to the scratch `a_tile` and the scratch `b_tile` before it and after it
    Vector<float, 2> product_3[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            product_3[run][k] = 1.0f;
    #pragma unroll
    for (int step = 0; step < 4; ++step) {
        unsigned a_part[4];  // rows of this warp
        ldmatrix_x4(a_part, &shared.a_tile[thread / 64 * 1024 + thread % 16 * 64 + ((2 * step) ^ (thread % 8) ^ (thread / 16 % 2)) * 8]);
        unsigned b_part[2];  // columns of this warp
        ldmatrix_x2(b_part, &shared.b_tile[thread / 32 % 2 * 512 + thread % 8 * 64 + ((2 * step) ^ (thread % 8) ^ (thread / 8 % 2)) * 8]);
        mma_m16n8k16_f32_bf16(product_3, a_part, b_part);
    }

    // y = tl.load(b + tl.arange(0, BK)[:, None] * BN + tl.arange(0, BN)[None, :])        dot.py:168
    const int cols_3 = thread / 32 % 2 * 8 + thread % 4 * 2;
    // tile [32, 16]: row = thread / 64 * 16 + thread / 4 % 8 + 8 * run, column = thread / 32 % 2 * 8 + thread % 4 * 2 + k;  run < 2, k < 2
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // x = tl.load(a + tl.arange(0, AM)[:, None] * AK + tl.arange(0, AK)[None, :])    dot.py:167
        const int rows_5 = thread / 64 * 16 + thread / 4 % 8 + 8 * run;
        // at = rows[:, None] * N + cols[None, :]                                         dot.py:176
        const int at = rows_5 * 16 + cols_3;
        // tl.store(out + at, product)                                                    dot.py:179
        store_vector(out + at, product_3[run]);
    }
}
