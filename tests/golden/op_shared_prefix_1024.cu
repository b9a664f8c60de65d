// prefix_in_shared.cu: emitted by tle2cuda from shared.py:135 (prefix_in_shared). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 4096 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16
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

// Shared memory of one CTA.
struct Shared {
    alignas(16) int buf[1024];                // shared.py:138
};
static_assert(sizeof(Shared) <= 4096, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
prefix_in_shared(const int* __restrict__ x, int* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    Vector<int, 4> value[2];

    // tile [1024]: element = 4 * thread + 512 * run + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, N)                                                         shared.py:137
        const int i = 4 * thread + 512 * run;
        // value = tl.load(x + i)                                                      shared.py:139
        value[run] = load_vector<4>(x + i);
        // tl.store(tle.gpu.local_ptr(buf), value)                                     shared.py:140
        store_vector(&shared.buf[4 * thread + 512 * run], value[run]);
    }

    // while distance < N:                                                             shared.py:142
    Vector<int, 4> value_2[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            value_2[run][k] = value[run][k];
    int distance = 1;
    while (distance < 1024) {
        __syncthreads();  // orders the stores to `buf` before the loads of it
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // i = tl.arange(0, N)                                                     shared.py:137
            const int i = 4 * thread + 512 * run;
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                // before = tl.load(tle.gpu.local_ptr(buf, (i - distance,)), mask ...  shared.py:143
                const int before = i + k >= distance ? shared.buf[i + k - distance] : 0;
                // value += before                                                     shared.py:144
                value_2[run][k] += before;
            }
        }

        // distance *= 2                                                               shared.py:146
        distance = distance * 2;
        __syncthreads();  // orders the loads of `buf` before the stores to it
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // i = tl.arange(0, N)                                                     shared.py:137
            const int i = 4 * thread + 512 * run;
            // tl.store(tle.gpu.local_ptr(buf, (i,)), value)                           shared.py:145
            store_vector(&shared.buf[i], value_2[run]);
        }
    }
    __syncthreads();  // orders the stores to `buf` before the loads of it
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, N)                                                         shared.py:137
        const int i = 4 * thread + 512 * run;

        // tl.store(out + i, tl.load(tle.gpu.local_ptr(buf, (N - 1 - i,))))            shared.py:147
        Vector<int, 4> buf_value;
        #pragma unroll
        for (int k = 0; k < 4; ++k) buf_value[k] = shared.buf[1023 - i - k];
        store_vector(out + i, buf_value);
    }
}
