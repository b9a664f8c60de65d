// turned_product.cu: emitted by tle2cuda from dot.py:27 (turned_product). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 12800 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      a *fp32 align 16, b *fp32 align 16, out *fp32 align 16
//   constants M = 64, N = 32, K = 32, FIRST = True, SECOND = True

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

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) float x_tile[32][64];         // scratch of dot.py:38
    alignas(16) float y_tile[32][36];         // scratch of dot.py:38
};
static_assert(sizeof(Shared) <= 12800, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
turned_product(const float* __restrict__ a, const float* __restrict__ b, float* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    Vector<float, 4> x[4];

    // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)                   dot.py:29
    const int rows = thread % 16 * 4;

    // tile [64, 32]: row = thread % 16 * 4 + k, column = thread / 16 + 8 * run;  run < 4, k < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        const int cols = thread / 16 + 8 * run;

        // x = tl.load(a + rows[:, None] + k[None, :] * M)                                 dot.py:31
        x[run] = load_vector<4>(a + rows + cols * 64);
    }
    Vector<float, 4> b_value[2];
    const int cols_2 = thread % 8 * 4;

    // tile [32, 32]: row = thread / 8 + 16 * run, column = thread % 8 * 4 + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)               dot.py:29
        const int cols = thread / 8 + 16 * run;
        // y = tl.trans(tl.load(b + cols[:, None] * K + k[None, :]))                       dot.py:35
        b_value[run] = load_vector<4>(b + cols * 32 + cols_2);
    }

    // tl.store(out + rows[:, None] * N + cols[None, :], tl.dot(x, y))                     dot.py:38
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        store_vector(&shared.x_tile[thread / 16 + 8 * run][thread % 16 * 4], x[run]);
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        store_vector(&shared.y_tile[thread / 8 + 16 * run][thread % 8 * 4], b_value[run]);
    __syncthreads();  // `x` and `y` are in shared memory
    Vector<float, 4> product[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            product[run][k] = 0.0f;
    #pragma unroll 4
    for (int k_ = 0; k_ < 32; k_ += 4) {
        Vector<float, 4> x_part[4];  // the rows of this thread
        #pragma unroll
        for (int step = 0; step < 4; ++step)
            x_part[step] = load_vector<4>(&shared.x_tile[k_ + step][thread / 8 * 4]);
        Vector<float, 4> y_part[4];  // the columns of this thread
        #pragma unroll
        for (int column = 0; column < 4; ++column)
            y_part[column] = load_vector<4>(&shared.y_tile[8 * column + thread % 8][k_]);
        #pragma unroll
        for (int row = 0; row < 4; ++row) {
            #pragma unroll
            for (int step = 0; step < 4; ++step) {
                #pragma unroll
                for (int column = 0; column < 4; ++column)
                    product[column][row] += x_part[step][row] * y_part[column][step];
            }
        }
    }

    // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)                   dot.py:29
    const int rows_2 = thread / 8 * 4;

    // tile [64, 32]: row = thread / 8 * 4 + k, column = thread % 8 + 8 * run;  run < 4, k < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        const int cols = thread % 8 + 8 * run;

        // tl.store(out + rows[:, None] * N + cols[None, :], tl.dot(x, y))                 dot.py:38
        #pragma unroll
        for (int k = 0; k < 4; ++k) *(out + rows_2 * 32 + 32 * k + cols) = product[run][k];
    }
}
