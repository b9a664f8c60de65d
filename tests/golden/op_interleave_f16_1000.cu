// interleave_1d.cu: emitted by tle2cuda from shapes.py:19 (interleave_1d). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp16 align 16, y *fp16 align 16, out *fp16 align 16, n i32
//   constants N = 1024

#include <cuda_fp16.h>

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

// An empty asm: to the compiler the register changes here, so that what is packed in it is taken apart only behind.
__device__ __forceinline__ void keep_packed(unsigned& word) { asm("" : "+r"(word)); }

// The 32-bit registers that N elements narrower than a register fill. Choosing between two vectors takes one move per
// register here, where the compiler would take the elements apart first and move each.
template <typename T, int N>
struct alignas(alignof(Vector<T, N>)) Registers {
    unsigned word[sizeof(T) * N / 4];

    __device__ __forceinline__ void keep_whole()
    {
        #pragma unroll
        for (int i = 0; i < static_cast<int>(sizeof(word) / 4); ++i) keep_packed(word[i]);
    }
};

// Load N neighbours if a condition holds, else take `otherwise`; for elements narrower than a register.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_packed_if(bool condition, const T* pointer, Vector<T, N> otherwise)
{
    Registers<T, N> registers;
    memcpy(&registers, &otherwise, sizeof(registers));
    if (condition) registers = *reinterpret_cast<const Registers<T, N>*>(pointer);
    registers.keep_whole();
    memcpy(&otherwise, &registers, sizeof(registers));
    return otherwise;
}

// Load the first `valid` of N neighbours, `other` for the rest: one access when all are valid, else one by one; for elements narrower than a register.
template <int N, typename T, typename Count, typename Other>
__device__ __forceinline__ Vector<T, N> load_narrow_edge(const T* pointer, Count valid, Other other)
{
    Vector<T, N> edge = fill_vector<N>(static_cast<T>(other));
    if (valid < N) {
        #pragma unroll
        for (int k = 0; k < N; ++k)
            if (k < valid) edge[k] = pointer[k];
    }
    return load_packed_if(valid >= N, pointer, edge);
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

// Store the first `valid` of N neighbours of less than 4 bytes: words of type Bits when all are valid, else one by one.
template <typename Bits, int N, typename T, typename Count>
__device__ __forceinline__ void store_narrow_edge(T* pointer, Count valid, const Vector<T, N>& value)
{
    if (valid >= N) {
        store_narrow<Bits>(pointer, value);
        return;
    }
    #pragma unroll
    for (int k = 0; k < N; ++k)
        if (k < valid) pointer[k] = value[k];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
interleave_1d(const __half* __restrict__ x, const __half* __restrict__ y, __half* out, const int n)
{
    const int thread = threadIdx.x;

    // i = tl.arange(0, N)                                                              shapes.py:20
    const int i = 8 * thread;

    // pairs = tl.interleave(tl.load(x + i, mask=i < n, other=0), tl.load(y + i, m ...  shapes.py:21
    const Vector<__half, 8> x_value = load_narrow_edge<8>(x + i, n - i, __float2half(0.0f));
    const Vector<__half, 8> y_value = load_narrow_edge<8>(y + i, n - i, __float2half(0.0f));
    Vector<__half, 16> pairs;
    #pragma unroll
    for (int k = 0; k < 16; ++k) pairs[k] = k % 2 == 0 ? x_value[k / 2] : y_value[k / 2];

    // o = tl.arange(0, 2 * N)                                                          shapes.py:22
    const int o = 16 * thread;
    // tl.store(out + o, pairs, mask=o < 2 * n)                                         shapes.py:23
    store_narrow_edge<uint4>(out + o, 2 * n - o, pairs);
}
