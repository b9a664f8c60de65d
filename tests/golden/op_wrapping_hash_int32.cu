// hashes.cu: emitted by tle2cuda from wrapping.py:17 (hashes). Do not edit.
//
//   target    sm_90a, 64 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, n i32
//   constants BLOCK = 128

namespace {

// `a + b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T add_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
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

// `a * b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T mul_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
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

// `a - b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T sub_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) - static_cast<unsigned long long>(b));
}

}  // namespace

extern "C" __global__ void __launch_bounds__(64)
hashes(const int* __restrict__ x, int* out, const int n)
{
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                             wrapping.py:18
    const int pid_x = blockIdx.x;
    const int i = pid_x * 128 + 2 * thread;
    // value = tl.load(x + i, mask=i < n, other=0)                                    wrapping.py:19
    const Vector<int, 2> value = load_edge<2>(x + i, n - i, 0);

    // tl.store(out + i, tl.where(square < 0, step, step - mixed), mask=i < n)        wrapping.py:24
    Vector<int, 2> out_value;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        // mixed = value * 1103515245 + 12345                                         wrapping.py:20
        const int mixed = add_wrapping(mul_wrapping(value[k], 1103515245), 12345);
        // scaled = mixed * 8 // 8                                                    wrapping.py:21
        const int scaled = mul_wrapping(mixed, 8) / 8;
        // square = value * value                                                     wrapping.py:22
        const int square = mul_wrapping(value[k], value[k]);
        // step = tl.where(mixed + 1 > mixed, scaled, -scaled)                        wrapping.py:23
        const int step = add_wrapping(mixed, 1) > mixed ? scaled : -scaled;
        out_value[k] = square < 0 ? step : sub_wrapping(step, mixed);
    }
    store_edge(out + i, n - i, out_value);
}
