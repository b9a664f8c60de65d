// own_places_no_old.cu: emitted by tle2cuda from atomics.py:26 (own_places_no_old). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp32 align 16, n i32
//   constants OP = maximum, BLOCK = 256

namespace {

// Orders this thread's accesses before it against those after it, as the whole GPU sees them (PTX ISA,
// fence.acq_rel.gpu). __threadfence() is the dearer fence.sc.
__device__ __forceinline__ void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

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

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
own_places_no_old(const float* __restrict__ x, float* out, const int n)
{
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                              atomics.py:27
    const int pid_x = blockIdx.x;
    const int i = pid_x * 256 + 2 * thread;
    // OP(out + i, tl.load(x + i, mask=i < n, other=0), (i < n) & (i % 3 != 1))        atomics.py:28
    const Vector<float, 2> v = load_edge_nc_if<uint2, 2>(x + i, n - i, 0.0f);

    // return tl.atomic_max(p, v, mask=m)                                              atomics.py:68
    Vector<int, 2> value;
    Vector<bool, 2> value_2;
    Vector<bool, 2> value_3;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        value[k] = __float_as_int(v[k]);

        // OP(out + i, tl.load(x + i, mask=i < n, other=0), (i < n) & (i % 3 != 1))    atomics.py:28
        const bool inside = i + k < n;
        const bool m = inside && (i + k) % 3 != 1;
        value_2[k] = value[k] >= 0 && m;
        value_3[k] = value[k] < 0 && m;
    }
    fence_gpu();  // release: what this thread wrote comes before the atomics
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        // return tl.atomic_max(p, v, mask=m)                                          atomics.py:68
        if (value_2[k]) atomicMax(reinterpret_cast<int*>(out + i + k), value[k]);
        if (value_3[k]) atomicMin(reinterpret_cast<unsigned*>(out + i + k), __float_as_uint(v[k]));
    }
}
