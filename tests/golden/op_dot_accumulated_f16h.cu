// accumulated.cu: emitted by tle2cuda from dot.py:54 (accumulated). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 6144 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      a *fp16 align 16, b *fp16 align 16, c *fp16 align 16, out *fp16 align 16
//   constants M = 32, N = 64, K = 32, OUT = float16

#include <cuda_fp16.h>

namespace {

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// Trades words of a vector with lane `lane ^ LANE`: the lower of the two lanes gives its words i + STEP for the upper one's words
// i, where i has no STEP in it. Called by whole warps.
template <int LANE, int STEP, typename T, int N>
__device__ __forceinline__ void exchange_words(Vector<T, N>& vector)
{
    unsigned words[sizeof(vector) / 4];
    memcpy(words, &vector, sizeof(vector));
    const bool is_upper = threadIdx.x & LANE;
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(vector) / 4); ++i) {
        if (i & STEP) continue;
        const unsigned given = is_upper ? words[i] : words[i + STEP];
        const unsigned received = __shfl_xor_sync(0xffffffffu, given, LANE);
        words[i] = is_upper ? received : words[i];
        words[i + STEP] = is_upper ? words[i + STEP] : received;
    }
    memcpy(&vector, words, sizeof(vector));
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

// Load N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* pointer)
{
    return *reinterpret_cast<const Vector<T, N>*>(pointer);
}

// The same bits as another type of the same size.
template <typename To, typename From>
__device__ __forceinline__ To bit_cast(const From& value)
{
    static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
    To result;
    memcpy(&result, &value, sizeof(To));
    return result;
}

// sums[16, 8] += a[16, 16] @ b[16, 8] of one warp, float16 throughout. Called by all its lanes (PTX ISA, mma; sm_80).
__device__ __forceinline__ void mma_m16n8k16_f16_f16(Vector<__half, 2>* sums, const unsigned* a, const unsigned* b)
{
    unsigned low = bit_cast<unsigned>(sums[0]), high = bit_cast<unsigned>(sums[1]);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                 : "+r"(low), "+r"(high) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    sums[0] = bit_cast<Vector<__half, 2>>(low);
    sums[1] = bit_cast<Vector<__half, 2>>(high);
}

// Store 16 bytes of global memory as one access (PTX ISA, st.global).
__device__ __forceinline__ void store_bits(uint4* pointer, uint4 bits)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" :: "l"(pointer), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
}

// Store N neighbours of less than 4 bytes in global memory, in words of type Bits: elements, the compiler may write apart.
// Called by each thread for itself.
template <typename Bits, int N, typename T>
__device__ __forceinline__ void store_narrow(T* pointer, const Vector<T, N>& value)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(value) / sizeof(Bits)); ++i) {
        Bits bits;
        memcpy(&bits, reinterpret_cast<const unsigned char*>(&value) + i * sizeof(Bits), sizeof(Bits));
        store_bits(reinterpret_cast<Bits*>(pointer) + i, bits);
    }
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(128) __half x_tile[1024];         // operand of dot.py:61: [32, 32], rows in 16-byte chunks, swizzled
    alignas(128) __half y_tile[2048];         // operand of dot.py:61: [32, 64], rows in 16-byte chunks, swizzled
};
static_assert(sizeof(Shared) <= 6144, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
accumulated(const __half* __restrict__ a, const __half* __restrict__ b,
            const __half* __restrict__ c, __half* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)                   dot.py:56
    const int rows = thread / 4;
    const int rows_2 = thread % 4 * 8;
    // x = tl.load(a + rows[:, None] * K + k[None, :])                                     dot.py:58
    const Vector<__half, 8> x = load_vector<8>(a + rows * 32 + rows_2);
    Vector<__half, 8> y[2];
    // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)                   dot.py:56
    const int cols = thread % 8 * 8;
    // tile [32, 64]: row = thread / 8 + 16 * run, column = thread % 8 * 8 + k;  run < 2, k < 8
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)               dot.py:56
        const int rows_3 = thread / 8 + 16 * run;
        // y = tl.load(b + k[:, None] * N + cols[None, :])                                 dot.py:59
        y[run] = load_vector<8>(b + rows_3 * 64 + cols);
    }
    Vector<__half, 2> start[8];

    // tile [32, 64]: row = thread / 64 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread / 32 % 2 * 32 + thread % 4 * 2 + run / 2 * 8 + k;  run < 8, k < 2
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)               dot.py:56
        const int rows_3 = thread / 64 * 16 + thread / 4 % 8 + run % 2 * 8;
        // at = rows[:, None] * N + cols[None, :]                                          dot.py:57
        const int index = rows_3 * 64;
        // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)               dot.py:56
        const int cols_2 = thread / 32 % 2 * 32 + thread % 4 * 2 + run / 2 * 8;
        // at = rows[:, None] * N + cols[None, :]                                          dot.py:57
        const int at = index + cols_2;
        // start = tl.load(c + at)                                                         dot.py:60
        start[run] = load_vector<2>(c + at);
    }

    // once = tl.dot(x, y, start, out_dtype=OUT)                                           dot.py:61
    store_vector(&shared.x_tile[(thread ^ (thread / 8 % 4)) * 8], x);
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        store_vector(&shared.y_tile[(thread ^ (thread / 8 % 8)) * 8 + 1024 * run], y[run]);
    __syncthreads();  // orders the accesses to the scratch `x_tile` and the scratch `y_tile` before it and after it
    Vector<__half, 2> once[8];
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            once[run][k] = start[run][k];
    #pragma unroll
    for (int step = 0; step < 2; ++step) {
        unsigned x_part[4];  // rows of this warp
        ldmatrix_x4(x_part, &shared.x_tile[thread / 64 * 512 + thread % 16 * 32 + ((2 * step) ^ (thread / 2 % 4) ^ (thread / 16 % 2)) * 8]);
        unsigned y_part[2][4];  // columns of this warp, two fragments a time
        #pragma unroll
        for (int column = 0; column < 2; ++column)
            ldmatrix_x4_trans(y_part[column], &shared.y_tile[1024 * step + thread % 16 * 64 + ((2 * column) ^ (thread / 32 % 2 * 4) ^ (thread % 8) ^ (thread / 16 % 2)) * 8]);
        #pragma unroll
        for (int column = 0; column < 4; ++column)
            mma_m16n8k16_f16_f16(&once[2 * column], x_part, &y_part[column / 2][column % 2 * 2]);
    }
    Vector<__half, 2> product[8];
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // twice = tl.dot(x, y, once * 2, out_dtype=OUT)                                   dot.py:62
        #pragma unroll
        for (int k = 0; k < 2; ++k) product[run][k] = once[run][k] * __float2half(2.0f);
    }

    // twice = tl.dot(x, y, once * 2, out_dtype=OUT)                                       dot.py:62
    #pragma unroll
    for (int step = 0; step < 2; ++step) {
        unsigned x_part[4];  // rows of this warp
        ldmatrix_x4(x_part, &shared.x_tile[thread / 64 * 512 + thread % 16 * 32 + ((2 * step) ^ (thread / 2 % 4) ^ (thread / 16 % 2)) * 8]);
        unsigned y_part[2][4];  // columns of this warp, two fragments a time
        #pragma unroll
        for (int column = 0; column < 2; ++column)
            ldmatrix_x4_trans(y_part[column], &shared.y_tile[1024 * step + thread % 16 * 64 + ((2 * column) ^ (thread / 32 % 2 * 4) ^ (thread % 8) ^ (thread / 16 % 2)) * 8]);
        #pragma unroll
        for (int column = 0; column < 4; ++column)
            mma_m16n8k16_f16_f16(&product[2 * column], x_part, &y_part[column / 2][column % 2 * 2]);
    }
    Vector<__half, 2> sum[8];
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // tl.store(out + at, start + twice)                                               dot.py:63
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum[run][k] = start[run][k] + product[run][k];
    }

    // tl.store(out + at, start + twice)                                                   dot.py:63
    Vector<__half, 8> converted[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        #pragma unroll
        for (int k = 0; k < 8; ++k) converted[run][k] = sum[run + k / 2 * 2][k % 2];
        exchange_words<1, 1>(converted[run]);
        exchange_words<2, 2>(converted[run]);
    }

    // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)                   dot.py:56
    const int cols_2 = thread / 32 % 2 * 32 + thread % 4 * 8;
    // tile [32, 64]: row = thread / 64 * 16 + thread / 4 % 8 + 8 * run, column = thread / 32 % 2 * 32 + thread % 4 * 8 + k;  run < 2, k < 8
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)               dot.py:56
        const int rows_3 = thread / 64 * 16 + thread / 4 % 8 + 8 * run;
        // at = rows[:, None] * N + cols[None, :]                                          dot.py:57
        const int index = rows_3 * 64;
        const int at = index + cols_2;
        // tl.store(out + at, start + twice)                                               dot.py:63
        store_narrow<uint4>(out + at, converted[run]);
    }
}
