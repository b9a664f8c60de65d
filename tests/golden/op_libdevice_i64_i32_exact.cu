// one_argument_kernel.cu: emitted by tle2cuda from device_functions.py:44 (one_argument_kernel). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i64 align 16, out *i32 align 16, n i32
//   constants FNS = (<function clz>, <function ffs>, <function popc>), BLOCK = 256

namespace {

// The 16 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global).
__device__ __forceinline__ uint4 load_bits_if(bool condition, const uint4* pointer, uint4 otherwise)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %5, 0;\n\t@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y), "+r"(otherwise.z), "+r"(otherwise.w)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return otherwise;
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

// Load the first `valid` of N neighbours in global memory, in words of type Bits, `other` for the rest: one predicated
// access when all are valid, one by one where the edge lies between them.
template <typename Bits, int N, typename T, typename Count, typename Other>
__device__ __forceinline__ Vector<T, N> load_edge_if(const T* pointer, Count valid, Other other)
{
    Vector<T, N> result = load_vector_if<Bits>(valid >= N, pointer, fill_vector<N>(static_cast<T>(other)));
    if (0 < valid && valid < N) {
        #pragma unroll
        for (int k = 0; k < N - 1; ++k)
            if (k < valid) result[k] = pointer[k];
    }
    return result;
}

// Load one element of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ long long load_if(bool condition, const long long* pointer, long long other)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.s64 %0, [%1];\n\t}"
        : "+l"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return other;
}

// Store 8 bytes of global memory if a condition holds: one predicated access (PTX ISA, st.global), around which nothing
// branches.
__device__ __forceinline__ void store_bits_if(bool condition, uint2* pointer, uint2 bits)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %1, 0;\n\t@p st.global.v2.u32 [%0], {%2, %3};\n\t}"
        :: "l"(pointer), "r"(static_cast<int>(condition)), "r"(bits.x), "r"(bits.y) : "memory");
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

// Store the first `valid` of N neighbours in global memory, in words of type Bits: one predicated access when all are valid, one by
// one where the edge lies between them.
template <typename Bits, int N, typename T, typename Count>
__device__ __forceinline__ void store_edge_if(T* pointer, Count valid, const Vector<T, N>& value)
{
    store_vector_if<Bits>(valid >= N, pointer, value);
    if (0 < valid && valid < N) {
        #pragma unroll
        for (int k = 0; k < N - 1; ++k)
            if (k < valid) pointer[k] = value[k];
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
one_argument_kernel(const long long* x, int* out, const int n)
{
    const int thread = threadIdx.x;

    // i = tl.arange(0, BLOCK)                                                device_functions.py:46
    const int i = 2 * thread;

    // tl.store(out + row, FNS[k](tl.load(x + row, mask=i < n, other=1)) ...  device_functions.py:49
    const Vector<long long, 2> x_value = load_edge_if<uint4, 2>(x + i, n - i, 1ll);
    Vector<int, 2> out_value;
    #pragma unroll
    for (int k = 0; k < 2; ++k) out_value[k] = __clzll(x_value[k]);
    store_edge_if<uint2>(out + i, n - i, out_value);

    // tile [256]: element = thread + 128 * run;  run < 2
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, BLOCK)                                            device_functions.py:46
        const int i_2 = thread + 128 * run;
        // row = k * n + i                                                    device_functions.py:48
        const int row = n + i_2;

        // tl.store(out + row, FNS[k](tl.load(x + row, mask=i < n, other ...  device_functions.py:49
        const bool inside = i_2 < n;
        const long long x_value_2 = load_if(inside, x + row, 1ll);
        if (inside) out[row] = __ffsll(x_value_2);
    }

    // row = k * n + i                                                        device_functions.py:48
    const int row = 2 * n + i;

    // tl.store(out + row, FNS[k](tl.load(x + row, mask=i < n, other=1)) ...  device_functions.py:49
    const Vector<long long, 2> x_value_2 = load_edge_if<uint4, 2>(x + row, n - i, 1ll);
    Vector<int, 2> out_value_2;
    #pragma unroll
    for (int k = 0; k < 2; ++k) out_value_2[k] = __popcll(x_value_2[k]);
    store_edge_if<uint2>(out + row, n - i, out_value_2);
}
