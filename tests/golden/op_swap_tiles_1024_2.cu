// swap_tiles.cu: emitted by tle2cuda from control.py:30 (swap_tiles). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, y *i32 align 16, out *i32 align 16, rounds i32
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
swap_tiles(const int* __restrict__ x, const int* __restrict__ y, int* out, const int rounds)
{
    const int thread = threadIdx.x;

    Vector<int, 4> a[2];
    Vector<int, 4> b[2];

    // tile [1024]: element = 4 * thread + 512 * run + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, N)                                                         control.py:32
        const int i = 4 * thread + 512 * run;
        // a, b = tl.load(x + i), tl.load(y + i)                                       control.py:33
        a[run] = load_vector<4>(x + i);
        b[run] = load_vector<4>(y + i);
    }

    // for step in range(rounds):                                                      control.py:34
    Vector<int, 4> a_2[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            a_2[run][k] = a[run][k];
    Vector<int, 4> b_2[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            b_2[run][k] = b[run][k];
    for (int step = 0; step < rounds; ++step) {
        Vector<int, 4> b_3[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // a, b = b, a + step                                                      control.py:35
            #pragma unroll
            for (int k = 0; k < 4; ++k) b_3[run][k] = a_2[run][k] + step;
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            #pragma unroll
            for (int k = 0; k < 4; ++k)
                a_2[run][k] = b_2[run][k];
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            #pragma unroll
            for (int k = 0; k < 4; ++k)
                b_2[run][k] = b_3[run][k];
    }
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, N)                                                         control.py:32
        const int i = 4 * thread + 512 * run;
        // tl.store(out + i, a)                                                        control.py:36
        store_vector(out + i, a_2[run]);
        // tl.store(out + N + i, b)                                                    control.py:37
        store_vector(out + 1024 + i, b_2[run]);
    }
}
