// accumulate.cu: emitted by tle2cuda from control.py:18 (accumulate). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, rows i32
//   constants N = 1024

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

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
accumulate(const int* __restrict__ x, int* out, const int rows)
{
    const int thread = threadIdx.x;

    // for row in range(rows):                                                         control.py:23
    Vector<int, 4> acc[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            acc[run][k] = 0;
    int count = 0;
    for (int row = 0; row < rows; ++row) {
        // tile [1024]: element = 4 * thread + 512 * run + k;  run < 2, k < 4
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // i = tl.arange(0, N)                                                     control.py:20
            const int i = 4 * thread + 512 * run;

            // acc += tl.load(x + row * N + i) * (count + 1)                           control.py:24
            const Vector<int, 4> x_value = load_vector<4>(x + row * 1024 + i);
            #pragma unroll
            for (int k = 0; k < 4; ++k) acc[run][k] += x_value[k] * (count + 1);
        }

        // count += 2                                                                  control.py:25
        count += 2;
    }
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // tl.store(out + i, acc + count)                                              control.py:26
        Vector<int, 4> out_value;
        #pragma unroll
        for (int k = 0; k < 4; ++k) out_value[k] = acc[run][k] + count;

        // i = tl.arange(0, N)                                                         control.py:20
        const int i = 4 * thread + 512 * run;
        // tl.store(out + i, acc + count)                                              control.py:26
        store_vector(out + i, out_value);
    }
}
