// reshape_chain.cu: emitted by tle2cuda from memory.py:266 (reshape_chain). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 8192 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16
//   constants M = 16, N = 64

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
    alignas(16) int flat_exchange[1024];      // scratch of memory.py:269
    alignas(16) int exchange[1024];           // scratch of memory.py:273
};
static_assert(sizeof(Shared) <= 8192, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
reshape_chain(const int* __restrict__ x, int* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    Vector<int, 4> flat[2];
    Vector<int, 4> product[2];

    // tile [1024]: element = 4 * thread + 512 * run + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, M * N)                                                     memory.py:268
        const int i = 4 * thread + 512 * run;
        // flat = tl.load(x + i)                                                       memory.py:269
        flat[run] = load_vector<4>(x + i);
        // matrix = tl.reshape(flat * 3, (M, N))                                       memory.py:270
        #pragma unroll
        for (int k = 0; k < 4; ++k) product[run][k] = flat[run][k] * 3;
    }

    // flat = tl.load(x + i)                                                           memory.py:269
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        shared.flat_exchange[thread / 32 * 64 + ((thread % 16 * 2) ^ (thread / 16) ^ (run % 4 * 16) ^ (run / 4 * 8)) + run % 2 * 512 + run / 4 * 256] = flat[run / 4][run % 4];
    __syncthreads();  // the whole tile is in shared memory
    int flat_2[8];
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        flat_2[run] = shared.flat_exchange[thread / 2 % 16 * 64 + ((thread / 64 * 2) ^ (thread % 64) ^ (run % 4 * 8) ^ (run / 4 * 4))];
    int difference[8];

    // tile [1024]: element = thread % 16 * 64 + thread / 16 + run % 4 * 16 + run / 4 * 8;  run < 8
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // tl.store(out + i, again - flat)                                             memory.py:273
        difference[run] = product[run / 4][run % 4] - flat_2[run];
    }

    // tl.store(out + i, again - flat)                                                 memory.py:273
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        shared.exchange[((thread / 64 * 2) ^ thread ^ (run % 4 * 8) ^ (run / 4 * 4)) + run % 4 * 256 + run / 4 * 128] = difference[run];
    __syncthreads();  // the whole tile is in shared memory
    Vector<int, 4> converted[2];
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        converted[run / 4][run % 4] = shared.exchange[thread % 16 * 64 + ((thread % 16 * 2) ^ (thread / 16) ^ (run % 4 * 16) ^ (run / 4 * 8))];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, M * N)                                                     memory.py:268
        const int i = 4 * thread + 512 * run;
        // tl.store(out + i, again - flat)                                             memory.py:273
        store_vector(out + i, converted[run]);
    }
}
