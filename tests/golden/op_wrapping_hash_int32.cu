// hashes.cu: emitted by tle2cuda from wrapping.py:17 (hashes). Do not edit.
//
//   target    sm_90a, 64 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, n i32
//   constants BLOCK = 128

namespace {

// `a + b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T add_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
}

// The 8 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global.nc).
__device__ __forceinline__ uint2 load_bits_nc_if(bool condition, const uint2* pointer, uint2 otherwise)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %3, 0;\n\t@p ld.global.nc.v2.u32 {%0, %1}, [%2];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y)
        : "l"(pointer), "r"(static_cast<int>(condition)));
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

// Load the first `valid` of N neighbours in global memory, in words of type Bits, `other` for the rest (read-only data): one predicated
// access when all are valid, one by one where the edge lies between them.
template <typename Bits, int N, typename T, typename Count, typename Other>
__device__ __forceinline__ Vector<T, N> load_edge_nc_if(const T* pointer, Count valid, Other other)
{
    Vector<T, N> result = load_vector_nc_if<Bits>(valid >= N, pointer, fill_vector<N>(static_cast<T>(other)));
    if (0 < valid && valid < N) {
        #pragma unroll
        for (int k = 0; k < N - 1; ++k)
            if (k < valid) result[k] = pointer[k];
    }
    return result;
}

// `a * b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T mul_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
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

// `a - b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T sub_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) - static_cast<unsigned long long>(b));
}

}  // namespace

extern "C" __global__ void __launch_bounds__(64)
hashes(const int* __restrict__ x, int* out, const int n)
{
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                             wrapping.py:18
    const int pid_x = blockIdx.x;
    const int i = pid_x * 128 + 2 * thread;
    // value = tl.load(x + i, mask=i < n, other=0)                                    wrapping.py:19
    const Vector<int, 2> value = load_edge_nc_if<uint2, 2>(x + i, n - i, 0);

    // tl.store(out + i, tl.where(square < 0, step, step - mixed), mask=i < n)        wrapping.py:24
    Vector<int, 2> out_value;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        // mixed = value * 1103515245 + 12345                                         wrapping.py:20
        const int mixed = add_wrapping(mul_wrapping(value[k], 1103515245), 12345);
        // scaled = mixed * 8 // 8                                                    wrapping.py:21
        const int scaled = mul_wrapping(mixed, 8) / 8;
        // square = value * value                                                     wrapping.py:22
        const int square = mul_wrapping(value[k], value[k]);
        // step = tl.where(mixed + 1 > mixed, scaled, -scaled)                        wrapping.py:23
        const int step = add_wrapping(mixed, 1) > mixed ? scaled : -scaled;
        out_value[k] = square < 0 ? step : sub_wrapping(step, mixed);
    }
    store_edge_if<uint2>(out + i, n - i, out_value);
}
