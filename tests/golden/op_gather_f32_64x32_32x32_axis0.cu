// gather_rows.cu: emitted by tle2cuda from sorting.py:61 (gather_rows). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 8192 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, index *i32 align 16, out *fp32 align 16
//   constants AXIS = 0, M = 64, N = 32, P = 32, Q = 32

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
    alignas(16) float source[2048];           // scratch of sorting.py:64
};
static_assert(sizeof(Shared) <= 8192, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
gather_rows(const float* __restrict__ x, const int* __restrict__ index, float* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    Vector<float, 4> value[4];

    // tile [64, 32]: row = thread / 8 + 16 * run, column = thread % 8 * 4 + k;  run < 4, k < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // value = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[Non ...  sorting.py:62
        value[run] = load_vector<4>(x + thread / 8 * 32 + 512 * run + thread % 8 * 4);
    }
    Vector<int, 4> index_value[2];

    // tile [32, 32]: row = thread / 8 + 16 * run, column = thread % 8 * 4 + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // at = tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :]                sorting.py:63
        const int at = 4 * thread + 512 * run;
        // tl.store(out + at, tl.gather(value, tl.load(index + at), AXIS))             sorting.py:64
        index_value[run] = load_vector<4>(index + at);
    }

    // tl.store(out + at, tl.gather(value, tl.load(index + at), AXIS))                 sorting.py:64
    #pragma unroll
    for (int k = 0; k < 4; ++k)
        store_vector(&shared.source[4 * thread + 512 * k], value[k]);
    __syncthreads();  // the whole tile is in shared memory
    Vector<float, 4> value_gathered[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int place = index_value[run][k] & 63;
            value_gathered[run][k] = shared.source[thread % 8 * 4 + k + place * 32];
        }
    }
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // at = tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :]                sorting.py:63
        const int at = 4 * thread + 512 * run;
        // tl.store(out + at, tl.gather(value, tl.load(index + at), AXIS))             sorting.py:64
        store_vector(out + at, value_gathered[run]);
    }
}
