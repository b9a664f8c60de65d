// accumulated.cu: emitted by tle2cuda from dot.py:42 (accumulated). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 13312 bytes of shared memory
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

// Store 8 bytes of global memory as one access (PTX ISA, st.global).
__device__ __forceinline__ void store_bits(uint2* pointer, uint2 bits)
{
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" :: "l"(pointer), "r"(bits.x), "r"(bits.y) : "memory");
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
    alignas(16) __half x_tile[32][40];        // scratch of dot.py:49
    alignas(16) __half y_tile[32][64];        // scratch of dot.py:49
    alignas(16) __half x_tile_2[32][40];      // scratch of dot.py:50
    alignas(16) __half y_tile_2[32][64];      // scratch of dot.py:50
};
static_assert(sizeof(Shared) <= 13312, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
accumulated(const __half* __restrict__ a, const __half* __restrict__ b,
            const __half* __restrict__ c, __half* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)                   dot.py:44
    const int rows = thread / 4;
    const int rows_2 = thread % 4 * 8;
    // x = tl.load(a + rows[:, None] * K + k[None, :])                                     dot.py:46
    const Vector<__half, 8> x = load_vector<8>(a + rows * 32 + rows_2);
    Vector<__half, 8> y[2];
    // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)                   dot.py:44
    const int cols = thread % 8 * 8;
    // tile [32, 64]: row = thread / 8 + 16 * run, column = thread % 8 * 8 + k;  run < 2, k < 8
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)               dot.py:44
        const int rows_3 = thread / 8 + 16 * run;
        // y = tl.load(b + k[:, None] * N + cols[None, :])                                 dot.py:47
        y[run] = load_vector<8>(b + rows_3 * 64 + cols);
    }
    Vector<__half, 4> start[4];
    const int cols_2 = thread / 64 * 32 + thread % 8 * 4;

    // tile [32, 64]: row = thread / 8 % 8 + 8 * run, column = thread / 64 * 32 + thread % 8 * 4 + k;  run < 4, k < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)               dot.py:44
        const int rows_3 = thread / 8 % 8 + 8 * run;
        // at = rows[:, None] * N + cols[None, :]                                          dot.py:45
        const int at = rows_3 * 64 + cols_2;
        // start = tl.load(c + at)                                                         dot.py:48
        start[run] = load_vector<4>(c + at);
    }

    // once = tl.dot(x, y, start, out_dtype=OUT)                                           dot.py:49
    store_vector(&shared.x_tile[thread / 4][thread % 4 * 8], x);
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        store_vector(&shared.y_tile[thread / 8 + 16 * run][thread % 8 * 8], y[run]);
    __syncthreads();  // `x` and `y` are in shared memory
    Vector<__half, 4> once[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            once[run][k] = start[run][k];
    float once_sums[16];
    #pragma unroll
    for (int run = 0; run < 16; ++run) once_sums[run] = __half2float(once[run / 4][run % 4]);
    #pragma unroll 4
    for (int k_ = 0; k_ < 32; k_ += 4) {
        Vector<float, 4> y_part[4];  // the columns of this thread
        #pragma unroll
        for (int step = 0; step < 4; ++step)
            y_part[step] = load_vector_as<float, 4>(&shared.y_tile[k_ + step][thread / 64 * 32 + thread % 8 * 4]);
        #pragma unroll
        for (int row = 0; row < 4; ++row) {
            const Vector<float, 4> x_part = load_vector_as<float, 4>(&shared.x_tile[8 * row + thread / 8 % 8][k_]);
            #pragma unroll
            for (int step = 0; step < 4; ++step) {
                #pragma unroll
                for (int column = 0; column < 4; ++column)
                    once_sums[4 * row + column] += x_part[step] * y_part[step][column];
            }
        }
    }
    #pragma unroll
    for (int run = 0; run < 16; ++run) once[run / 4][run % 4] = __float2half(once_sums[run]);
    Vector<__half, 4> product[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // twice = tl.dot(x, y, once * 2, out_dtype=OUT)                                   dot.py:50
        #pragma unroll
        for (int k = 0; k < 4; ++k) product[run][k] = once[run][k] * __float2half(2.0f);
    }

    // twice = tl.dot(x, y, once * 2, out_dtype=OUT)                                       dot.py:50
    store_vector(&shared.x_tile_2[thread / 4][thread % 4 * 8], x);
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        store_vector(&shared.y_tile_2[thread / 8 + 16 * run][thread % 8 * 8], y[run]);
    __syncthreads();  // `x` and `y` are in shared memory
    float product_sums[16];
    #pragma unroll
    for (int run = 0; run < 16; ++run) product_sums[run] = __half2float(product[run / 4][run % 4]);
    #pragma unroll 4
    for (int k_ = 0; k_ < 32; k_ += 4) {
        Vector<float, 4> y_part[4];  // the columns of this thread
        #pragma unroll
        for (int step = 0; step < 4; ++step)
            y_part[step] = load_vector_as<float, 4>(&shared.y_tile_2[k_ + step][thread / 64 * 32 + thread % 8 * 4]);
        #pragma unroll
        for (int row = 0; row < 4; ++row) {
            const Vector<float, 4> x_part = load_vector_as<float, 4>(&shared.x_tile_2[8 * row + thread / 8 % 8][k_]);
            #pragma unroll
            for (int step = 0; step < 4; ++step) {
                #pragma unroll
                for (int column = 0; column < 4; ++column)
                    product_sums[4 * row + column] += x_part[step] * y_part[step][column];
            }
        }
    }
    #pragma unroll
    for (int run = 0; run < 16; ++run) product[run / 4][run % 4] = __float2half(product_sums[run]);
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // tl.store(out + at, start + twice)                                               dot.py:51
        Vector<__half, 4> out_value;
        #pragma unroll
        for (int k = 0; k < 4; ++k) out_value[k] = start[run][k] + product[run][k];

        // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)               dot.py:44
        const int rows_3 = thread / 8 % 8 + 8 * run;
        // at = rows[:, None] * N + cols[None, :]                                          dot.py:45
        const int at = rows_3 * 64 + cols_2;
        // tl.store(out + at, start + twice)                                               dot.py:51
        store_narrow<uint2>(out + at, out_value);
    }
}
