// big_buffer.cu: emitted by tle2cuda from shared.py:284 (big_buffer). Do not edit.
//
//   target    sm_90a, 512 threads per CTA, 65792 bytes of shared memory
//   launch    grid of CTAs, one for each program; 65792 bytes of dynamic shared memory
//   args      x *i64 align 16, out *i64 align 16
//   constants N = 8192

namespace {

// Reduce across the 32 lanes of a warp by a commutative function; every lane receives the result. Called by whole warps.
template <typename T, typename Combine>
__device__ __forceinline__ T warp_all_reduce(T value, Combine combine)
{
    #pragma unroll
    for (int lane_mask = 16; lane_mask > 0; lane_mask >>= 1)
        value = combine(value, static_cast<T>(__shfl_xor_sync(0xffffffffu, value, lane_mask)));
    return value;
}

// Reduce across the WARPS warps of a CTA by a commutative function, through one shared slot per warp; every thread
// receives the result. Called by all threads. Contains one CTA barrier, between writing and reading the slots; another
// one has to follow before they are written again.
template <int WARPS, typename T, typename Slot, typename Combine>
__device__ __forceinline__ T cta_all_reduce(T value, Slot (&slots)[WARPS], Combine combine)
{
    value = warp_all_reduce(value, combine);
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
    __syncthreads();
    value = slots[0];
    #pragma unroll
    for (int warp = 1; warp < WARPS; ++warp) value = combine(value, static_cast<T>(slots[warp]));
    return value;
}

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
    alignas(256) long long buf[8192];         // shared.py:287
    alignas(16) long long sum_slots[16];      // scratch of shared.py:289
};
static_assert(sizeof(Shared) <= 65792, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(512)
big_buffer(const long long* __restrict__ x, long long* out)
{
    extern __shared__ __align__(256) unsigned char shared_bytes[];
    Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
    const int thread = threadIdx.x;

    // tile [8192]: element = 2 * thread + 1024 * run + k;  run < 8, k < 2
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // i = tl.arange(0, N)                                                         shared.py:286
        const int i = 2 * thread + 1024 * run;
        // tl.store(tle.gpu.local_ptr(buf, (i,)), tl.load(x + i))                      shared.py:288
        const Vector<long long, 2> x_value = load_vector<2>(x + i);
        store_vector(&shared.buf[i], x_value);
    }
    __syncthreads();  // orders the stores to `buf` before the loads of it
    Vector<long long, 2> buf_value[8];
    Vector<long long, 2> x_value[8];
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // i = tl.arange(0, N)                                                         shared.py:286
        const int i = 2 * thread + 1024 * run;
        // tl.store(out + i, tl.load(tle.gpu.local_ptr(buf, (N - 1 - i,))) + tl.s ...  shared.py:289
        #pragma unroll
        for (int k = 0; k < 2; ++k) buf_value[run][k] = shared.buf[8191 - i - k];
        // tl.store(out + i, tl.load(tle.gpu.local_ptr(buf, (N - 1 - i,))) + tl.s ...  shared.py:289
        x_value[run] = load_vector<2>(x + i);
    }

    // tl.store(out + i, tl.load(tle.gpu.local_ptr(buf, (N - 1 - i,))) + tl.sum(t ...  shared.py:289
    long long x_sum = 0ll;
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        #pragma unroll
        for (int k = 0; k < 2; ++k) x_sum += x_value[run][k];
    }
    x_sum = cta_all_reduce(x_sum, shared.sum_slots, [](long long a, long long b) { return a + b; });
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        Vector<long long, 2> out_value;
        #pragma unroll
        for (int k = 0; k < 2; ++k) out_value[k] = buf_value[run][k] + x_sum;

        // i = tl.arange(0, N)                                                         shared.py:286
        const int i = 2 * thread + 1024 * run;
        // tl.store(out + i, tl.load(tle.gpu.local_ptr(buf, (N - 1 - i,))) + tl.s ...  shared.py:289
        store_vector(out + i, out_value);
    }
}
