// hinted.cu: emitted by tle2cuda from memory.py:205 (hinted). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, n i32
//   constants BLOCK = 256

namespace {

// Whether `a + b` fits in T, an integer of at most 32 bits: computed in 64, it survives the conversion to T.
template <typename T>
__device__ __forceinline__ bool add_fits(T a, T b)
{
    const auto exact = static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b);
    return static_cast<unsigned long long>(static_cast<T>(exact)) == exact;
}

// Say which tl.device_assert failed, where, and end the launch with an error. Called by one thread for itself.
__device__ __noinline__ void assertion_failed(const char* message, const char* file, int line)
{
    printf(
        "%s:%d: tl.device_assert failed: %s (CTA %d, %d, %d, thread %d)\n",
        file, line, message, (int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z, (int)threadIdx.x
    );
    __trap();
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

// Whether `a * b` fits in T, an integer of at most 32 bits: computed in 64, it survives the conversion to T.
template <typename T>
__device__ __forceinline__ bool mul_fits(T a, T b)
{
    const auto exact = static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b);
    return static_cast<unsigned long long>(static_cast<T>(exact)) == exact;
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
hinted(const int* __restrict__ x, int* out, const int n)
{
    const int thread = threadIdx.x;

    // start = tl.multiple_of(tl.program_id(0) * BLOCK, BLOCK)                         memory.py:207
    const int pid_x = blockIdx.x;
    if (!mul_fits(pid_x, 256)) assertion_failed("int32 overflow detected for operation mul", "memory.py", 207);
    const int start = pid_x * 256;

    // tile [256]: element = thread + 128 * run;  run < 2
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.max_contiguous(tl.multiple_of(start + tl.arange(0, BLOCK), BLOC ...  memory.py:208
        const int index = thread + 128 * run;
        if (!add_fits(start, index)) assertion_failed("int32 overflow detected for operation add", "memory.py", 208);
    }

    // tl.device_assert(n >= 0, "no negative length")                                  memory.py:209
    if (n < 0) assertion_failed("no negative length", "memory.py", 209);
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.max_contiguous(tl.multiple_of(start + tl.arange(0, BLOCK), BLOC ...  memory.py:208
        const int index = thread + 128 * run;
        // tl.device_assert(i >= 0)                                                    memory.py:210
        if (start + index < 0) assertion_failed("", "memory.py", 210);
    }

    // tl.store(out + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)                   memory.py:212
    const Vector<int, 2> x_value = load_edge<2>(x + start + 2 * thread, n - (start + 2 * thread), 0);
    Vector<int, 2> out_value;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        if (!add_fits(x_value[k], 1)) assertion_failed("int32 overflow detected for operation add", "memory.py", 212);
        out_value[k] = x_value[k] + 1;
    }
    store_edge(out + start + 2 * thread, n - (start + 2 * thread), out_value);
}
