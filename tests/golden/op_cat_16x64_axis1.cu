// cat_rows.cu: emitted by tle2cuda from shapes.py:63 (cat_rows). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16
//   constants AXIS = 1, M = 16, N = 64

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
cat_rows(const int* __restrict__ x, int* out)
{
    const int thread = threadIdx.x;

    Vector<int, 4> value[2];
    Vector<int, 4> difference[2];

    // tile [16, 64]: row = thread / 16 + 8 * run, column = thread % 16 * 4 + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // value = tl.load(x + rows * N + cols)                                         shapes.py:65
        value[run] = load_vector<4>(x + thread / 16 * 64 + 512 * run + thread % 16 * 4);
        // both = tl.cat(value, 3 - value, can_reorder=True, dim=AXIS)                  shapes.py:66
        #pragma unroll
        for (int k = 0; k < 4; ++k) difference[run][k] = 3 - value[run][k];
    }

    // tile [16, 128]: row = thread / 16 + run % 2 * 8, column = thread % 16 * 4 + run / 2 * 64 + k;  run < 4, k < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        Vector<int, 4> both;
        #pragma unroll
        for (int k = 0; k < 4; ++k) both[k] = run / 2 == 0 ? value[run % 2][k] : difference[run % 2][k];

        // tl.store(out + rows * (2 * N) + tl.arange(0, 2 * N)[None, :], both)          shapes.py:70
        store_vector(out + thread / 16 * 128 + run % 2 * 1024 + thread % 16 * 4 + run / 2 * 64, both);
    }
}
