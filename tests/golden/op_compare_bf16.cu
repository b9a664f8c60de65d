// binary_kernel.cu: emitted by tle2cuda from elementwise.py:26 (binary_kernel). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *bf16 align 16, y *bf16 align 16, out *i32 align 16, n i32
//   constants FN = compare_all, BLOCK = 512

#include <cuda_bf16.h>

namespace {

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

// Store 16 bytes of global memory if a condition holds: one predicated access (PTX ISA, st.global), around which nothing
// branches.
__device__ __forceinline__ void store_bits_if(bool condition, uint4* pointer, uint4 bits)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %1, 0;\n\t@p st.global.v4.u32 [%0], {%2, %3, %4, %5};\n\t}"
        :: "l"(pointer), "r"(static_cast<int>(condition)), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
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
binary_kernel(const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ y, int* out,
              const int n)
{
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                          elementwise.py:27
    const int pid_x = blockIdx.x;
    const int i = pid_x * 512 + 4 * thread;
    // a = tl.load(x + i, mask=i < n, other=1)                                     elementwise.py:28
    const Vector<__nv_bfloat16, 4> a = load_edge_nc_if<uint2, 4>(x + i, n - i, __float2bfloat16(1.0f));
    // b = tl.load(y + i, mask=i < n, other=1)                                     elementwise.py:29
    const Vector<__nv_bfloat16, 4> b = load_edge_nc_if<uint2, 4>(y + i, n - i, __float2bfloat16(1.0f));

    // return lower + 8 * (a <= b).to(tl.int32) + 16 * (a > b).to(tl.int32) ...   elementwise.py:150
    Vector<int, 4> out_value;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        // lower = (a == b).to(tl.int32) + 2 * (a != b).to(tl.int32) + 4 * ( ...  elementwise.py:149
        const int sum = static_cast<int>(a[k] == b[k]) + static_cast<int>(a[k] != b[k]) * 2;
        const int lower = sum + static_cast<int>(a[k] < b[k]) * 4;
        // return lower + 8 * (a <= b).to(tl.int32) + 16 * (a > b).to(tl.int ...  elementwise.py:150
        const int sum_2 = lower + static_cast<int>(a[k] <= b[k]) * 8 + static_cast<int>(a[k] > b[k]) * 16;
        out_value[k] = sum_2 + static_cast<int>(a[k] >= b[k]) * 32;
    }

    // tl.store(out + i, FN(a, b), mask=i < n)                                     elementwise.py:30
    store_edge_if<uint4>(out + i, n - i, out_value);
}
