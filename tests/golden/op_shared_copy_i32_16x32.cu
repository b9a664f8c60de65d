// copies.cu: emitted by tle2cuda from shared.py:205 (copies). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 2048 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, n i32
//   constants M = 16, N = 32

namespace {

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

// The 16 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global).
__device__ __forceinline__ uint4 load_bits_if(bool condition, const uint4* pointer, uint4 otherwise)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %5, 0;\n\t@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y), "+r"(otherwise.z), "+r"(otherwise.w)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return otherwise;
}

// Load N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* pointer)
{
    return *reinterpret_cast<const Vector<T, N>*>(pointer);
}

// Load N neighbours in global memory, in words of type Bits, if a condition holds, else take `otherwise`.
// The address is computed either way, so that neighbouring loads can share it.
template <typename Bits, int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_if(bool condition, const T* pointer, Vector<T, N> otherwise)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(otherwise) / sizeof(Bits)); ++i) {
        unsigned char* const word = reinterpret_cast<unsigned char*>(&otherwise) + i * sizeof(Bits);
        Bits bits;
        memcpy(&bits, word, sizeof(Bits));
        bits = load_bits_if(condition, reinterpret_cast<const Bits*>(pointer) + i, bits);
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

// Store the first `valid` of N neighbours: one access when all are valid, else one by one.
template <int N, typename T, typename Count>
__device__ __forceinline__ void store_edge(T* pointer, Count valid, const Vector<T, N>& value)
{
    if (valid >= N) {
        store_vector(pointer, value);
        return;
    }
    #pragma unroll
    for (int k = 0; k < N; ++k)
        if (k < valid) pointer[k] = value[k];
}

// Shared memory of one CTA.
struct Shared {
    alignas(1024) int buf[16][32];            // shared.py:209
};
static_assert(sizeof(Shared) <= 2048, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
copies(const int* x, int* out, const int n)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // r, c = tl.arange(0, M), tl.arange(0, N)                                         shared.py:207
    const int r = thread / 8;
    const int c = thread % 8 * 4;
    // at = r[:, None] * N + c[None, :]                                                shared.py:208
    const int at = r * 32 + c;
    // tle.gpu.copy(x + at, buf, [M, N])                                               shared.py:210
    const Vector<int, 4> x_value = load_vector<4>(x + at);
    store_vector(&shared.buf[thread / 8][thread % 8 * 4], x_value);
    // tle.gpu.copy(buf, out + at, [M, N])                                             shared.py:211
    const Vector<int, 4> buf_value = load_vector<4>(&shared.buf[thread / 8][thread % 8 * 4]);
    store_vector(out + at, buf_value);
    // tle.gpu.copy(x + at, buf, [M, N], mask=(r[:, None] < n) & (c[None, :] >= 0))    shared.py:212
    const Vector<int, 4> x_value_2 = load_vector_if<uint4>(r < n, x + at, fill_vector<4>(0));
    store_vector(&shared.buf[thread / 8][thread % 8 * 4], x_value_2);
    // tle.gpu.copy(buf, out + M * N + at, (M, N), mask=c[None, :] < n)                shared.py:213
    const Vector<int, 4> buf_value_2 = load_vector<4>(&shared.buf[thread / 8][thread % 8 * 4]);
    store_edge(out + 512 + at, n - c, buf_value_2);
    // tle.gpu.copy(x + c[None, :], buf, [M, N])                                       shared.py:214
    const Vector<int, 4> x_value_3 = load_vector<4>(x + c);
    store_vector(&shared.buf[thread / 8][thread % 8 * 4], x_value_3);
    // tl.store(out + 2 * M * N + at, buf.load())                                      shared.py:215
    const Vector<int, 4> buf_value_3 = load_vector<4>(&shared.buf[thread / 8][thread % 8 * 4]);
    store_vector(out + 1024 + at, buf_value_3);
}
