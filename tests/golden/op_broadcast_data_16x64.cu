// broadcast_data.cu: emitted by tle2cuda from memory.py:286 (broadcast_data). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, y *i32 align 16, out *i32 align 16
//   constants M = 16, N = 64

namespace {

// `a + b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T add_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
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

// `a * b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T mul_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
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

// The value that lane `source` of the warp holds. Called by whole warps.
template <typename T>
__device__ __forceinline__ T shuffle_from(T value, int source)
{
    return shuffle_words(value, [source](unsigned word) { return __shfl_sync(0xffffffffu, word, source); });
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
broadcast_data(const int* __restrict__ x, const int* __restrict__ y, int* out)
{
    const int thread = threadIdx.x;

    // r, c = tl.arange(0, M), tl.arange(0, N)                                         memory.py:288
    const int r = thread % 16;
    // column = tl.load(x + r)                                                         memory.py:289
    const int column = x[r];

    // a, b = tl.broadcast(column[:, None], row[None, :])                              memory.py:291
    int tile_source = column;
    int column_converted[2];
    column_converted[0] = shuffle_from(tile_source, thread / 16);
    column_converted[1] = shuffle_from(tile_source, thread / 16 + 8);

    // r, c = tl.arange(0, M), tl.arange(0, N)                                         memory.py:288
    const int c = thread % 16 * 4;
    // row = tl.load(y + c)                                                            memory.py:290
    const Vector<int, 4> row = load_vector<4>(y + c);
    // r, c = tl.arange(0, M), tl.arange(0, N)                                         memory.py:288
    const int c_2 = thread % 16 * 4;

    // tile [16, 64]: row = thread / 16 + 8 * run, column = thread % 16 * 4 + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        Vector<int, 4> packed;
        #pragma unroll
        for (int k = 0; k < 4; ++k) packed[k] = add_wrapping(mul_wrapping(column_converted[run], row[k]), column_converted[run]);

        // r, c = tl.arange(0, M), tl.arange(0, N)                                     memory.py:288
        const int r_2 = thread / 16 + 8 * run;
        // tl.store(out + r[:, None] * N + c[None, :], a * b + both)                   memory.py:293
        store_vector(out + r_2 * 64 + c_2, packed);
    }
}
