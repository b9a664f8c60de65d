// turned_product.cu: emitted by tle2cuda from dot.py:39 (turned_product). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 12288 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      a *fp32 align 16, b *fp32 align 16, out *fp32 align 16
//   constants M = 64, N = 32, K = 32, FIRST = True, SECOND = True

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

// sums[16, 8] += a[16, 8] @ b[8, 8] of one warp, floats less their lowest 13 bits. Called by all its lanes (PTX ISA, mma; sm_80).
__device__ __forceinline__ void mma_m16n8k8_f32_tf32(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(128) float x_tile[2048];          // operand of dot.py:50: [64, 32], columns in 16-byte chunks, swizzled
    alignas(128) float y_tile[1024];          // operand of dot.py:50: [32, 32], columns in 16-byte chunks, swizzled
};
static_assert(sizeof(Shared) <= 12288, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
turned_product(const float* __restrict__ a, const float* __restrict__ b, float* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    Vector<float, 4> x[4];

    // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)                   dot.py:41
    const int rows = thread % 16 * 4;

    // tile [64, 32]: row = thread % 16 * 4 + k, column = thread / 16 + 8 * run;  run < 4, k < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        const int cols = thread / 16 + 8 * run;

        // x = tl.load(a + rows[:, None] + k[None, :] * M)                                 dot.py:43
        x[run] = load_vector<4>(a + rows + cols * 64);
    }
    Vector<float, 4> b_value[2];
    const int cols_2 = thread % 8 * 4;

    // tile [32, 32]: row = thread / 8 + 16 * run, column = thread % 8 * 4 + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)               dot.py:41
        const int cols = thread / 8 + 16 * run;
        // y = tl.trans(tl.load(b + cols[:, None] * K + k[None, :]))                       dot.py:47
        b_value[run] = load_vector<4>(b + cols * 32 + cols_2);
    }

    // tl.store(out + rows[:, None] * N + cols[None, :], tl.dot(x, y))                     dot.py:50
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        store_vector(&shared.x_tile[((thread / 16 % 4 * 2) ^ thread) * 4 + 512 * run], x[run]);
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        store_vector(&shared.y_tile[(thread ^ (thread / 8 % 8)) * 4 + 512 * run], b_value[run]);
    __syncthreads();  // orders the accesses to the scratch `x_tile` and the scratch `y_tile` before it and after it
    Vector<float, 2> product[8];
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            product[run][k] = 0.0f;
    #pragma unroll
    for (int step = 0; step < 4; ++step) {
        unsigned x_part[4];  // rows of this warp
        #pragma unroll
        for (int piece = 0; piece < 4; ++piece)
            x_part[piece] = bit_cast<unsigned>(shared.x_tile[512 * step + piece / 2 * 256 + thread % 4 * 64 + ((piece % 2) ^ (thread / 32 * 2) ^ (thread % 4)) * 8 + thread / 4 % 8]);
        unsigned y_part[2][4];  // columns of this warp, two fragments a time
        #pragma unroll
        for (int column = 0; column < 2; ++column)
            ldmatrix_x4(y_part[column], &shared.y_tile[512 * column + thread / 16 % 2 * 256 + thread % 8 * 32 + ((2 * step) ^ (thread % 8) ^ (thread / 8 % 2)) * 4]);
        #pragma unroll
        for (int column = 0; column < 4; ++column)
            mma_m16n8k8_f32_tf32(&product[2 * column], x_part, &y_part[column / 2][column % 2 * 2]);
    }

    // tile [64, 32]: row = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread % 4 * 2 + run / 2 * 8 + k;  run < 8, k < 2
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)               dot.py:41
        const int rows_2 = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8;
        const int cols = thread % 4 * 2 + run / 2 * 8;
        // tl.store(out + rows[:, None] * N + cols[None, :], tl.dot(x, y))                 dot.py:50
        store_vector(out + rows_2 * 32 + cols, product[run]);
    }
}
