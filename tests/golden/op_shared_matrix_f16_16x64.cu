// matrix_buffer.cu: emitted by tle2cuda from shared.py:27 (matrix_buffer). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 2048 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp16 align 16, out *fp16 align 16
//   constants M = 16, N = 64, MMA = False

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

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) __half buf[16][64];           // shared.py:31
};
static_assert(sizeof(Shared) <= 2048, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
matrix_buffer(const __half* __restrict__ x, __half* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // r, c = tl.arange(0, M), tl.arange(0, N)                                          shared.py:29
    const int r = thread / 8;
    const int c = thread % 8 * 8;
    // at = r[:, None] * N + c[None, :]                                                 shared.py:30
    const int at = r * 64 + c;
    // buf.store(tl.load(x + at))                                                       shared.py:32
    const Vector<__half, 8> x_value = load_vector<8>(x + at);
    store_vector(&shared.buf[thread / 8][thread % 8 * 8], x_value);
    // whole = buf.load()                                                               shared.py:33
    const Vector<__half, 8> whole = load_vector<8>(&shared.buf[thread / 8][thread % 8 * 8]);
    __syncthreads();  // orders the stores to `buf` before the loads of it

    // r, c = tl.arange(0, M), tl.arange(0, N)                                          shared.py:29
    const int r_2 = thread % 2 * 8;
    const int c_2 = thread / 2;

    // turned = tl.load(tle.gpu.local_ptr(buf, (rows, cols)))                           shared.py:36
    Vector<__half, 8> turned;
    #pragma unroll
    for (int k = 0; k < 8; ++k) turned[k] = shared.buf[r_2 + k][c_2];

    // tl.store(out + at, whole)                                                        shared.py:37
    store_narrow<uint4>(out + at, whole);
    // tl.store(out + M * N + cols * M + rows, turned)                                  shared.py:38
    store_narrow<uint4>(out + 1024 + c_2 * 16 + r_2, turned);
    // tl.store(out + 2 * M * N, tl.load(tle.gpu.local_ptr(buf, (M - 1, 1))))           shared.py:39
    const __half buf_value = shared.buf[15][1];
    if (thread == 0) out[2048] = buf_value;
}
