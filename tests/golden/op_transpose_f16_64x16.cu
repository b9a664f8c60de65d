// transpose.cu: emitted by tle2cuda from memory.py:247 (transpose). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp16 align 16, out *fp16 align 16
//   constants M = 64, N = 16

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

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
transpose(const __half* __restrict__ x, __half* out)
{
    const int thread = threadIdx.x;

    // r, c = tl.arange(0, M), tl.arange(0, N)                                         memory.py:248
    const int r = thread / 2;
    const int c = thread % 2 * 8;
    // value = tl.load(x + r[:, None] * N + c[None, :])                                memory.py:249
    const Vector<__half, 8> value = load_vector<8>(x + r * 16 + c);
    // tl.store(out + c[:, None] * M + r[None, :], tl.trans(value) + 1)                memory.py:250
    #pragma unroll
    for (int k = 0; k < 8; ++k) *(out + c * 64 + 64 * k + r) = value[k] + __float2half(1.0f);
}
