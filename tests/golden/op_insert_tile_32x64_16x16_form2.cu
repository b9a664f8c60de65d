// tile_inserted.cu: emitted by tle2cuda from shapes.py:114 (tile_inserted). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 1024 bytes of shared memory
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

// A vector whose elements are all equal.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> fill_vector(T value)
{
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = value;
    return result;
}

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
    alignas(16) int part_exchange[256];       // scratch of shapes.py:117
};
static_assert(sizeof(Shared) <= 1024, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
tile_inserted(const int* __restrict__ x, const int* __restrict__ y, int* out, const int row)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    Vector<int, 4> value[4];

    // tile [32, 64]: row = thread / 16 + 8 * run, column = thread % 16 * 4 + k;  run < 4, k < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]                shapes.py:115
        const int at = 4 * thread + 512 * run;
        // value = tl.load(x + at)                                                     shapes.py:116
        value[run] = load_vector<4>(x + at);
    }

    // part = tl.load(y + tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :])     shapes.py:117
    const Vector<int, 2> part = load_vector<2>(y + thread / 8 * 16 + thread % 8 * 2);
    Vector<int, 2> packed;
    #pragma unroll
    for (int k = 0; k < 2; ++k) packed[k] = part[k];
    store_vector(&shared.part_exchange[2 * thread], packed);
    __syncthreads();  // the whole tile is in shared memory
    Vector<int, 4> part_2[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        const Vector<int, 4> unpacked = load_vector<4>(&shared.part_exchange[thread / 16 * 16 + thread % 4 * 4 + 128 * run]);
        #pragma unroll
        for (int k = 0; k < 4; ++k) part_2[run][k] = unpacked[k];
    }
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // tl.store(out + at, result + value)                                          shapes.py:126
        Vector<int, 4> out_value;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            out_value[k] = (thread / 4 % 4 + run / 2 * 4 == row * 4 ? part_2[run % 2][k] : value[run][k]) + value[run][k];
        }

        // at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]                shapes.py:115
        const int at = 4 * thread + 512 * run;
        // tl.store(out + at, result + value)                                          shapes.py:126
        store_vector(out + at, out_value);
    }
}
