// branches.cu: emitted by tle2cuda from control.py:229 (branches). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16
//   constants kind = 1, N = 1024

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

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
branches(const int* __restrict__ x, int* out)
{
    const int thread = threadIdx.x;

    // tile [1024]: element = 4 * thread + 512 * run + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, N)                                                        control.py:231
        const int i = 4 * thread + 512 * run;
        // value = tl.load(x + i)                                                     control.py:232
        const Vector<int, 4> value = load_vector<4>(x + i);

        // tl.store(out + i, value * factor)                                          control.py:241
        Vector<int, 4> out_value;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            // value = value * value                                                  control.py:237
            const int value_2 = mul_wrapping(value[k], value[k]);
            out_value[k] = mul_wrapping(value_2, 3);
        }
        store_vector(out + i, out_value);
    }
}
