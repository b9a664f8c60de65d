// own_places.cu: emitted by tle2cuda from atomics.py:17 (own_places). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, old *i32 align 16, n i32
//   constants OP = add, BLOCK = 256

namespace {

// Orders this thread's accesses before it against those after it, as the whole GPU sees them (PTX ISA,
// fence.acq_rel.gpu). __threadfence() is the dearer fence.sc.
__device__ __forceinline__ void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

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

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Store the first `valid` of N neighbours: one access when all are valid, else one by one.
template <int N, typename T, typename Count>
__device__ __forceinline__ void store_edge(T* pointer, Count valid, const Vector<T, N>& value)
{
    if (valid >= N) {
        store_vector(pointer, value);
        return;
    }
    #pragma unroll
    for (int k = 0; k < N; ++k)
        if (k < valid) pointer[k] = value[k];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
own_places(const int* __restrict__ x, int* out, int* old, const int n)
{
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                              atomics.py:19
    const int pid_x = blockIdx.x;
    const int i = pid_x * 256 + 2 * thread;

    // value = tl.load(x + i, mask=i < n, other=0)                                     atomics.py:20
    const Vector<int, 2> value = load_edge<2>(x + i, n - i, 0);
    fence_gpu();  // release: what this thread wrote comes before the atomics
    Vector<int, 2> before;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        const bool inside = i + k < n;

        // before = OP(out + i, value, (i < n) & (i % 3 != 1))                         atomics.py:21
        const bool m = inside && (i + k) % 3 != 1;
        // return tl.atomic_add(p, v, mask=m)                                          atomics.py:48
        before[k] = 0;
        if (m) before[k] = atomicAdd(out + i + k, value[k]);
    }
    fence_gpu();  // acquire: what follows sees what the atomics saw

    // tl.store(old + i, before, mask=i < n)                                           atomics.py:22
    store_edge(old + i, n - i, before);
}
