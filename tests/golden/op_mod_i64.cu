// binary_kernel.cu: emitted by tle2cuda from elementwise.py:26 (binary_kernel). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i64 align 16, y *i64 align 16, out *i64 align 16, n i32
//   constants FN = mod, BLOCK = 512

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
binary_kernel(const long long* __restrict__ x, const long long* __restrict__ y, long long* out,
              const int n)
{
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                          elementwise.py:27
    const int pid_x = blockIdx.x;

    // tile [512]: element = 2 * thread + 256 * run + k;  run < 2, k < 2
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        const int i = pid_x * 512 + 2 * thread + 256 * run;

        // a = tl.load(x + i, mask=i < n, other=1)                                 elementwise.py:28
        const Vector<long long, 2> a = load_edge<2>(x + i, n - i, 1ll);
        // b = tl.load(y + i, mask=i < n, other=1)                                 elementwise.py:29
        const Vector<long long, 2> b = load_edge<2>(y + i, n - i, 1ll);

        // return a % b                                                           elementwise.py:118
        Vector<long long, 2> out_value;
        #pragma unroll
        for (int k = 0; k < 2; ++k) out_value[k] = a[k] % b[k];

        // tl.store(out + i, FN(a, b), mask=i < n)                                 elementwise.py:30
        store_edge(out + i, n - i, out_value);
    }
}
