// tile_inserted.cu: emitted by tle2cuda from shapes.py:114 (tile_inserted). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, y *i32 align 16, out *i32 align 16, row i32
//   constants FORM = 2, M = 32, N = 64, P = 16, Q = 16

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
tile_inserted(const int* __restrict__ x, const int* __restrict__ y, int* out, const int row)
{
    const int thread = threadIdx.x;

    Vector<int, 2> value[8];
    // tile [32, 64]: row = thread / 8 + run / 4 * 16, column = thread % 8 * 2 + run % 4 * 16 + k;  run < 8, k < 2
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]                shapes.py:115
        const int at = thread / 8 * 64 + thread % 8 * 2 + run / 4 * 1024 + run % 4 * 16;
        // value = tl.load(x + at)                                                     shapes.py:116
        value[run] = load_vector<2>(x + at);
    }

    // part = tl.load(y + tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :])     shapes.py:117
    const Vector<int, 2> part = load_vector<2>(y + thread / 8 * 16 + thread % 8 * 2);
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // tl.store(out + at, result + value)                                          shapes.py:126
        Vector<int, 2> out_value;
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            out_value[k] = (run == row * 4 ? part[k] : value[run][k]) + value[run][k];
        }

        // at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]                shapes.py:115
        const int at = thread / 8 * 64 + thread % 8 * 2 + run / 4 * 1024 + run % 4 * 16;
        // tl.store(out + at, result + value)                                          shapes.py:126
        store_vector(out + at, out_value);
    }
}
