// copy_where.cu: emitted by tle2cuda from memory.py:46 (copy_where). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i8 align 16, keep *u8 align 16, out *i8 align 16, n i32
//   constants BLOCK = 256

namespace {

// Load one byte of global memory if a condition holds, else take `other` (read-only data): one predicated load (PTX ISA,
// ld.global.nc). Its address is computed either way, so that neighbouring loads can share it.
template <typename T, typename Other>
__device__ __forceinline__ T load_byte_nc_if(bool condition, const T* pointer, Other other)
{
    T value = static_cast<T>(other);
    unsigned char byte;
    memcpy(&byte, &value, 1);
    unsigned short bits = byte;
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.nc.u8 %0, [%1];\n\t}"
        : "+h"(bits)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    byte = static_cast<unsigned char>(bits);
    memcpy(&value, &byte, 1);
    return value;
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

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
copy_where(const signed char* __restrict__ x, const unsigned char* __restrict__ keep,
           signed char* out, const int n)
{
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                               memory.py:48
    const int pid_x = blockIdx.x;
    const int i = pid_x * 256 + 2 * thread;

    // ok = tl.load(keep + i, mask=i < n, other=0) != 0                                 memory.py:49
    const Vector<unsigned char, 2> keep_value = load_edge<2>(keep + i, n - i, 0);
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        const bool ok = static_cast<int>(keep_value[k]) != 0;

        // ok = tl.load(keep + i, mask=i < n, other=0) != 0                             memory.py:49
        const bool inside = i + k < n;
        // value = tl.load(x + i, mask=ok & (i < n), other=i.to(x.dtype.element_ty))    memory.py:50
        const signed char value = load_byte_nc_if(ok && inside, x + i + k, static_cast<signed char>(i + k));
        // tl.store(out + i, value, mask=(i < n) & ((i & 1) == 0) | (i < 7))            memory.py:51
        if ((inside && ((i + k) & 1) == 0) || i + k < 7) out[i + k] = value;
    }
}
