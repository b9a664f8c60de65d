// scaled_product.cu: emitted by tle2cuda from dot.py:160 (scaled_product). Do not edit.
//
//   target    sm_120a, 128 threads per CTA, 1536 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      a *u8 align 16, a_scale *u8 align 16, b *u8 align 16, b_scale *u8 align 16,
//             out *fp32 align 16
//   constants A_FORMAT = 'e2m1', B_FORMAT = 'e2m1', A_PACK = True, B_PACK = True, FAST = False,
//             AM = 32, AK = 32, BK = 32, BN = 16, M = 32, N = 16, GROUPS = 2

namespace {

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

// sums[16, 8] += a[16, 64] @ b[64, 8] of one warp, blocks times their scales: pairs of e2m1, one exponent (e8m0) for 32 elements.
// Of `a_scales` the even lanes of four hold rows 0 to 7, the odd ones the others; of `b_scales` the first lane of four holds a column.
// Called by all its lanes (PTX ISA, mma with .block_scale; sm_120a).
__device__ __forceinline__ void mma_m16n8k64_f32_mx_e2m1(
    Vector<float, 2>* sums, const unsigned* a, const unsigned* b, unsigned a_scales, unsigned b_scales)
{
    asm volatile("mma.sync.aligned.kind::mxf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {0, 0}, {%11}, {0, 0};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales), "r"(b_scales));
}

// Four scales of a row in one register. Called by each thread for itself.
template <typename T>
__device__ __forceinline__ unsigned scale_word(const T* scales)
{
    unsigned word;
    static_assert(sizeof(T) == 1);
    memcpy(&word, scales, sizeof(word));
    return word;
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
    alignas(128) unsigned char x_tile[1024];  // operand of dot.py:178: [32, 32], rows in 16-byte chunks, swizzled
    alignas(128) unsigned char y_tile[512];   // operand of dot.py:178: [32, 16], columns in 16-byte chunks, swizzled
};
static_assert(sizeof(Shared) <= 1536, "the launch contract gives the CTA this much shared memory");

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
    store_vector(&shared.x_tile[((thread / 16 % 2 * 2) ^ thread) * 8], x);
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        shared.y_tile[thread % 4 * 128 + ((thread % 2 * 16) ^ (thread / 4)) + 32 * run] = y[run];

    // x = tl.load(a + tl.arange(0, AM)[:, None] * AK + tl.arange(0, AK)[None, :])        dot.py:167
    const int rows_4 = thread / 64 * 16 + thread % 2 * 8 + thread / 4 % 8;
    // xs = tl.load(a_scale + rows[:, None] * GROUPS + groups[None, :])                   dot.py:172
    const Vector<unsigned char, 2> xs = load_vector<2>(a_scale + rows_4 * 2);

    // ys = tl.load(b_scale + cols[:, None] * GROUPS + groups[None, :])                   dot.py:175
    unsigned char ys_2 = ys;
    Vector<unsigned char, 2> ys_3;
    ys_3[0] = shuffle_from(ys_2, thread / 4 % 16 * 2);
    ys_3[1] = shuffle_from(ys_2, thread / 4 % 16 * 2 + 1);
    __syncthreads();  // orders the accesses to the scratch `x_tile` and the scratch `y_tile` before it and after it

    // product = tl.dot_scaled(x, xs, A_FORMAT, y, ys, B_FORMAT, start, FAST, A_PACK ...  dot.py:178
    Vector<float, 2> product[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            product[run][k] = 1.0f;
    Vector<unsigned char, 4> xs_2;
    #pragma unroll
    for (int k = 0; k < 4; ++k)
        xs_2[k] = xs[k % 2];
    Vector<unsigned char, 4> ys_4;
    #pragma unroll
    for (int k = 0; k < 4; ++k)
        ys_4[k] = ys_3[k % 2];
    unsigned x_part[4];  // rows of this warp
    ldmatrix_x4(x_part, &shared.x_tile[thread / 64 * 512 + thread % 16 * 32 + ((thread / 4 % 2) ^ (thread / 16 % 2)) * 16]);
    unsigned y_part[2];  // columns of this warp
    ldmatrix_x2(y_part, &shared.y_tile[thread / 32 % 2 * 256 + thread % 8 * 32 + ((thread / 4 % 2) ^ (thread / 8 % 2)) * 16]);
    mma_m16n8k64_f32_mx_e2m1(product, x_part, y_part, scale_word(&xs_2[0]), scale_word(&ys_4[0]));

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
        store_vector(out + at, product[run]);
    }
}
