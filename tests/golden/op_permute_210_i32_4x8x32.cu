// permute_3d.cu: emitted by tle2cuda from memory.py:254 (permute_3d). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 4096 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16
//   constants PERM = (2, 1, 0), A = 4, B = 8, C = 32

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
    alignas(16) int turned_exchange[1024];    // scratch of memory.py:257
};
static_assert(sizeof(Shared) <= 4096, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
permute_3d(const int* __restrict__ x, int* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    Vector<int, 4> value[2];

    // a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)                     memory.py:255
    const int b = thread / 8 % 8;
    const int c = thread % 8 * 4;
    // tile [4, 8, 32]: index 0 = thread / 64 + 2 * run, index 1 = thread / 8 % 8, index 2 = thread % 8 * 4 + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)                 memory.py:255
        const int a = thread / 64 + 2 * run;
        // value = tl.load(x + (a[:, None, None] * B + b[None, :, None]) * C + c[ ...  memory.py:256
        value[run] = load_vector<4>(x + a * 256 + b * 32 + c);
    }

    // turned = tl.permute(value, PERM)                                                memory.py:257
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        Vector<int, 2> packed;
        #pragma unroll
        for (int k = 0; k < 2; ++k) packed[k] = value[k][run];
        store_vector(&shared.turned_exchange[thread / 16 % 4 * 128 + thread / 64 * 32 + ((thread % 8 * 2) ^ (thread / 8 % 8) ^ (run % 2 * 8)) * 2 + run % 2 * 512 + run / 2 * 64], packed);
    }
    __syncthreads();  // the whole tile is in shared memory
    Vector<int, 4> turned[2];
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        const Vector<int, 2> unpacked = load_vector<2>(&shared.turned_exchange[thread / 2 % 8 * 128 + thread / 16 % 2 * 64 + ((thread / 32 * 2) ^ (thread % 16) ^ (run / 2 * 8)) * 2 + run % 2 * 32]);
        #pragma unroll
        for (int k = 0; k < 2; ++k) turned[run / 2][run % 2 + 2 * k] = unpacked[k];
    }

    // a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)                     memory.py:255
    const int b_2 = thread % 8;
    // tile [32, 8, 4]: index 0 = thread / 8 + 16 * run, index 1 = thread % 8, index 2 = k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)                 memory.py:255
        const int c_2 = thread / 8 + 16 * run;
        // tl.store(out + (i[:, None, None] * Y + j[None, :, None]) * Z + k[None, ...  memory.py:262
        store_vector(out + c_2 * 32 + b_2 * 4, turned[run]);
    }
}
