// cast_kernel.cu: emitted by tle2cuda from elementwise.py:522 (cast_kernel). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp8e4nv align 16, n i32
//   constants BLOCK = 512

#include <cuda_fp8.h>

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

// Load the first `valid` of N neighbours, `other` for the rest: one access when all are valid, else one by one.
template <int N, typename T, typename Count, typename Other>
__device__ __forceinline__ Vector<T, N> load_edge(const T* pointer, Count valid, Other other)
{
    if (valid >= N) return load_vector<N>(pointer);
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = k < valid ? pointer[k] : static_cast<T>(other);
    return result;
}

// Store 4 bytes of global memory as one access (PTX ISA, st.global).
__device__ __forceinline__ void store_bits(unsigned* pointer, unsigned bits)
{
    asm volatile("st.global.u32 [%0], %1;" :: "l"(pointer), "r"(bits) : "memory");
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
cast_kernel(const float* __restrict__ x, __nv_fp8_e4m3* out, const int n)
{
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                         elementwise.py:523
    const int pid_x = blockIdx.x;
    const int i = pid_x * 512 + 4 * thread;
    // value = tl.load(x + i, mask=i < n)                                         elementwise.py:524
    const Vector<float, 4> value = load_edge<4>(x + i, n - i, 0.0f);

    // tl.store(out + i, value.to(out.dtype.element_ty), mask=i < n)              elementwise.py:525
    Vector<__nv_fp8_e4m3, 4> out_value;
    #pragma unroll
    for (int k = 0; k < 4; ++k) out_value[k] = __nv_fp8_e4m3(value[k]);
    store_narrow_edge<unsigned>(out + i, n - i, out_value);
}
