// turned_accumulator.cu: emitted by tle2cuda from control.py:78 (turned_accumulator). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 1024 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, rounds i32
//   constants N = 16

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
    alignas(16) int exchange[256];            // scratch of control.py:84
};
static_assert(sizeof(Shared) <= 1024, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
turned_accumulator(const int* __restrict__ x, int* out, const int rounds)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // r, c = tl.arange(0, N), tl.arange(0, N)                                         control.py:80
    const int r = thread / 8;
    const int r_2 = thread % 8 * 2;
    // at = r[:, None] * N + c[None, :]                                                control.py:81
    const int at = r * 16 + r_2;
    // acc = tl.load(x + at)                                                           control.py:82
    const Vector<int, 2> acc = load_vector<2>(x + at);

    // for _ in range(rounds):                                                         control.py:83
    Vector<int, 2> acc_2;
    #pragma unroll
    for (int k = 0; k < 2; ++k)
        acc_2[k] = acc[k];
    for (int step = 0; step < rounds; ++step) {
        // acc = acc + tl.trans(acc) * 2                                               control.py:84
        Vector<int, 2> product;
        #pragma unroll
        for (int k = 0; k < 2; ++k) product[k] = acc_2[k] * 2;
        __syncthreads();  // orders the loads of the scratch `exchange` before the stores to it
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            shared.exchange[thread / 32 * 32 + ((thread / 32 * 2) ^ (thread % 16) ^ (8 * run)) * 2 + thread / 16 % 2 + 128 * run] = product[run];
        __syncthreads();  // the whole tile is in shared memory
        Vector<int, 2> converted;
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            converted[run] = shared.exchange[thread / 2 % 8 * 32 + ((thread / 2 % 8 * 2) ^ (thread / 16) ^ (8 * run)) * 2 + thread % 2];
        #pragma unroll
        for (int k = 0; k < 2; ++k) acc_2[k] += converted[k];
    }

    // tl.store(out + at, acc)                                                         control.py:85
    store_vector(out + at, acc_2);
}
