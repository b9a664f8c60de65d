// in_place.cu: emitted by tle2cuda from memory.py:114 (in_place). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, n i32
//   constants BLOCK = 1024

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
in_place(int* x, const int n)
{
    const int thread = threadIdx.x;

    // tile [1024]: element = 4 * thread + 512 * run + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, BLOCK)                                                     memory.py:116
        const int i = 4 * thread + 512 * run;
        // value = tl.load(x + i, mask=i < n, other=0)                                 memory.py:117
        const Vector<int, 4> value = load_edge<4>(x + i, n - i, 0);

        // tl.store(x + i, value * 2, mask=i < n)                                      memory.py:118
        Vector<int, 4> x_value;
        #pragma unroll
        for (int k = 0; k < 4; ++k) x_value[k] = value[k] * 2;
        store_edge(x + i, n - i, x_value);

        // again = tl.load(x + i, mask=i < n, other=0)                                 memory.py:119
        const Vector<int, 4> again = load_edge<4>(x + i, n - i, 0);

        // tl.store(x + i, again + value, mask=i < n)                                  memory.py:120
        Vector<int, 4> x_value_2;
        #pragma unroll
        for (int k = 0; k < 4; ++k) x_value_2[k] = again[k] + value[k];
        store_edge(x + i, n - i, x_value_2);
    }
}
