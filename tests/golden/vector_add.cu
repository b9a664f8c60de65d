// vector_add.cu: emitted by tle2cuda from vector_add.py:15 (vector_add). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, y *fp32 align 16, out *fp32 align 16, n i32
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
vector_add(const float* __restrict__ x, const float* __restrict__ y, float* out, const int n)
{
    const int thread = threadIdx.x;

    // offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                     vector_add.py:16
    const int pid_x = blockIdx.x;

    // tile [1024]: element = 4 * thread + 512 * run + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        const int offsets = pid_x * 1024 + 4 * thread + 512 * run;

        // a = tl.load(x + offsets, mask=mask)                                      vector_add.py:18
        const Vector<float, 4> a = load_edge<4>(x + offsets, n - offsets, 0.0f);
        // b = tl.load(y + offsets, mask=mask)                                      vector_add.py:19
        const Vector<float, 4> b = load_edge<4>(y + offsets, n - offsets, 0.0f);

        // tl.store(out + offsets, a + b, mask=mask)                                vector_add.py:20
        Vector<float, 4> out_value;
        #pragma unroll
        for (int k = 0; k < 4; ++k) out_value[k] = a[k] + b[k];
        store_edge(out + offsets, n - offsets, out_value);
    }
}
