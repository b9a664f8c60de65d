// histogram_kernel.cu: emitted by tle2cuda from collectives.py:276 (histogram_kernel). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 256 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, n i32
//   constants BINS = 64, MASKED = True, BLOCK = 1024

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

// Shared memory of one CTA.
struct Shared {
    alignas(16) int counts_bins[64];          // scratch of collectives.py:280
};
static_assert(sizeof(Shared) <= 256, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
histogram_kernel(const int* __restrict__ x, int* out, const int n)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    Vector<int, 4> value[2];

    // tile [1024]: element = 4 * thread + 512 * run + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, BLOCK)                                                collectives.py:277
        const int i = 4 * thread + 512 * run;
        // value = tl.load(x + i, mask=i < n, other=0)                            collectives.py:278
        value[run] = load_edge<4>(x + i, n - i, 0);
    }

    // counts = tl.histogram(value, BINS, mask=(i < n) & (i % 3 != 0))            collectives.py:280
    // i = tl.arange(0, BLOCK)                                                    collectives.py:277
    const int i = 4 * thread;
    for (int bin = thread; bin < 64; bin += 128) shared.counts_bins[bin] = 0;
    __syncthreads();  // all bins are zero
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        // value = tl.load(x + i, mask=i < n, other=0)                                    collectives.py:278
        const bool inside = i + k / 4 * 512 + k % 4 < n;
        if ((inside && (i + k / 4 * 512 + k % 4) % 3 != 0) && static_cast<unsigned>(value[k / 4][k % 4]) < 64u) atomicAdd(&shared.counts_bins[value[k / 4][k % 4]], 1);
    }
    __syncthreads();  // all values are counted
    int counts = shared.counts_bins[thread % 64];

    // tl.store(out + tl.arange(0, BINS), counts)                                 collectives.py:283
    if (thread < 64) out[thread % 64] = counts;
}
