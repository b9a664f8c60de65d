// flipped.cu: emitted by tle2cuda from shapes.py:83 (flipped). Do not edit.
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

// An object of any type from another lane, 4 bytes at a time: `exchange` shuffles one word.
template <typename T, typename Exchange>
__device__ __forceinline__ T shuffle_words(const T& value, Exchange exchange)
{
    constexpr int COUNT = (sizeof(T) + 3) / 4;
    unsigned words[COUNT] = {};
    memcpy(words, &value, sizeof(T));
    #pragma unroll
    for (int i = 0; i < COUNT; ++i) words[i] = exchange(words[i]);
    T result;
    memcpy(&result, words, sizeof(T));
    return result;
}

// The value that lane `lane ^ MASK` of the warp holds. Called by whole warps.
template <int MASK, typename T>
__device__ __forceinline__ T shuffle_xor(T value)
{
    return shuffle_words(value, [](unsigned word) { return __shfl_xor_sync(0xffffffffu, word, MASK); });
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
flipped(const int* __restrict__ x, int* out)
{
    const int thread = threadIdx.x;

    Vector<int, 4> x_value[2];
    // tile [16, 64]: row = thread / 16 + 8 * run, column = thread % 16 * 4 + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]                 shapes.py:84
        const int at = 4 * thread + 512 * run;
        // tl.store(out + at, tl.flip(tl.load(x + at), AXIS))                           shapes.py:85
        x_value[run] = load_vector<4>(x + at);
    }

    // tl.store(out + at, tl.flip(tl.load(x + at), AXIS))                               shapes.py:85
    Vector<int, 4> x_converted[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            x_converted[run][k] = shuffle_xor<15>(x_value[run][k ^ 3]);
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]                 shapes.py:84
        const int at = 4 * thread + 512 * run;
        // tl.store(out + at, tl.flip(tl.load(x + at), AXIS))                           shapes.py:85
        store_vector(out + at, x_converted[run]);
    }
}
