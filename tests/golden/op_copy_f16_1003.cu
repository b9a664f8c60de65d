// copy_masked.cu: emitted by tle2cuda from memory.py:20 (copy_masked). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp16 align 16, out *fp16 align 16, n i32
//   constants BLOCK = 512

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
copy_masked(const __half* __restrict__ x, __half* out, const int n)
{
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                               memory.py:21
    const int pid_x = blockIdx.x;
    const int i = pid_x * 512 + 4 * thread;
    // tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)                        memory.py:22
    const Vector<__half, 4> x_value = load_narrow_edge<4>(x + i, n - i, __float2half(0.0f));
    store_narrow_edge<uint2>(out + i, n - i, x_value);
}
