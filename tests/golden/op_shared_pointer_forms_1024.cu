// pointer_forms.cu: emitted by tle2cuda from shared.py:43 (pointer_forms). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 8192 bytes of shared memory
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
    alignas(16) int buf[2048];                // shared.py:46
};
static_assert(sizeof(Shared) <= 8192, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
pointer_forms(const int* __restrict__ x, int* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // tile [1024]: element = 4 * thread + 512 * run + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, N)                                                          shared.py:45
        const int i = 4 * thread + 512 * run;
        // tl.store(base + i, tl.load(x + i))                                           shared.py:48
        const Vector<int, 4> x_value = load_vector<4>(x + i);
        store_vector(&shared.buf[i], x_value);
    }
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, N)                                                          shared.py:45
        const int i = 4 * thread + 512 * run;
        Vector<int, 4> packed;
        #pragma unroll
        for (int k = 0; k < 4; ++k) packed[k] = i * 10 + 10 * k;

        // tl.store(base + (N + i), i * 10)                                             shared.py:49
        const int index = i + 1024;
        store_vector(&shared.buf[index], packed);
    }
    __syncthreads();  // orders the stores to `buf` before later ones

    // tl.store(base + 3, 77)                                                           shared.py:50
    if (thread == 0) shared.buf[3] = 77;

    // k = tl.load(x) % N                                                               shared.py:51
    const int x_value = *x;
    const int k_ = x_value % 1024;
    __syncthreads();  // orders the stores to `buf` before the loads of it

    // one = tl.load(tle.gpu.local_ptr(buf, (k,)))                                      shared.py:52
    const int one = shared.buf[k_];

    // again = tl.load(base + k)                                                        shared.py:53
    const int again = shared.buf[k_];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // everywhere = tl.load(base + tl.zeros((N,), tl.int32))                        shared.py:54
        Vector<int, 4> everywhere;
        #pragma unroll
        for (int k = 0; k < 4; ++k) everywhere[k] = shared.buf[0];

        // i = tl.arange(0, N)                                                          shared.py:45
        const int i = 4 * thread + 512 * run;
        // tl.store(base + (N + i), i * 10)                                             shared.py:49
        const int index = i + 1024;
        // flat = tl.load(tle.gpu.local_ptr(buf, N + i))                                shared.py:55
        const Vector<int, 4> flat = load_vector<4>(&shared.buf[index]);

        // tl.store(out + i, tl.load(base + i) + everywhere + flat + one + again)       shared.py:56
        const Vector<int, 4> buf_value = load_vector<4>(&shared.buf[i]);
        Vector<int, 4> out_value;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            out_value[k] = buf_value[k] + everywhere[k] + flat[k] + one + again;
        }
        store_vector(out + i, out_value);

        // return tl.load(pointer + offset + i)                                         shared.py:62
        const Vector<int, 4> buf_value_2 = load_vector<4>(&shared.buf[i + 1024]);
        // tl.store(out + N + i, read(base, N, i))                                      shared.py:57
        store_vector(out + 1024 + i, buf_value_2);
    }
}
