// buffer_views.cu: emitted by tle2cuda from shared.py:66 (buffer_views). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 16384 bytes of shared memory
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
    alignas(16) int ring[4][1024];            // shared.py:69
};
static_assert(sizeof(Shared) <= 16384, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
buffer_views(const int* x, int* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // for k in range(6):                                                               shared.py:70
    for (int k_ = 0; k_ < 6; ++k_) {
        // tile [1024]: element = 4 * thread + 512 * run + k;  run < 2, k < 4
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // i = tl.arange(0, N)                                                      shared.py:68
            const int i = 4 * thread + 512 * run;
            // current.store(tl.load(x + k * N + i))                                    shared.py:72
            const Vector<int, 4> x_value = load_vector<4>(x + k_ * 1024 + i);
            store_vector(&shared.ring[k_ % 4][4 * thread + 512 * run], x_value);
        }

        // if k >= 2:                                                                   shared.py:73
        if (k_ >= 2) {
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // tl.store(out + (k - 2) * N + i, ring.slot((k + 2) % 4).load())       shared.py:74
                const Vector<int, 4> ring_value = load_vector<4>(&shared.ring[(k_ + 2) % 4][4 * thread + 512 * run]);
                // i = tl.arange(0, N)                                                  shared.py:68
                const int i = 4 * thread + 512 * run;
                // tl.store(out + (k - 2) * N + i, ring.slot((k + 2) % 4).load())       shared.py:74
                store_vector(out + (k_ - 2) * 1024 + i, ring_value);
            }
        }
    }

    // flat = ring.reshape([4 * N])                                                     shared.py:79
    int* const flat = shared.ring[0];
    __syncthreads();  // orders the stores to `ring` before the loads of it

    // h = tl.arange(0, N // 2)                                                         shared.py:76
    const int h = 4 * thread;
    // tile [4, 512]: row = run, column = 4 * thread + k;  run < 4, k < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // tl.store(out + 4 * N + four[:, None] * (N // 2) + h[None, :], left.load())   shared.py:78
        const Vector<int, 4> ring_value = load_vector<4>(&shared.ring[run][4 * thread]);
        store_vector(out + 4096 + 512 * run + h, ring_value);
    }
    __syncthreads();  // orders the loads of `ring` before the stores to it

    // tile [4096]: element = 4 * thread + 512 * run + k;  run < 8, k < 4
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // j = tl.arange(0, 4 * N)                                                      shared.py:80
        const int j = 4 * thread + 512 * run;
        Vector<int, 4> j_2;
        #pragma unroll
        for (int k = 0; k < 4; ++k) j_2[k] = j + k;

        // tl.store(tle.gpu.local_ptr(flat, (j,)), j)                                   shared.py:81
        store_vector(&flat[j], j_2);
    }
    __syncthreads();  // orders the stores to `ring` before the loads of it
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // tl.store(out + 6 * N + i, ring.slot(3).load())                               shared.py:82
        const Vector<int, 4> ring_value = load_vector<4>(&shared.ring[3][4 * thread + 512 * run]);
        // i = tl.arange(0, N)                                                          shared.py:68
        const int i = 4 * thread + 512 * run;
        // tl.store(out + 6 * N + i, ring.slot(3).load())                               shared.py:82
        store_vector(out + 6144 + i, ring_value);
    }
}
