// gather_rows.cu: emitted by tle2cuda from sorting.py:61 (gather_rows). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, index *i32 align 16, out *fp32 align 16
//   constants AXIS = 1, M = 128, N = 32, P = 128, Q = 32

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
gather_rows(const float* __restrict__ x, const int* __restrict__ index, float* out)
{
    const int thread = threadIdx.x;

    Vector<float, 4> value[8];
    Vector<int, 4> index_value[8];

    // tile [128, 32]: row = thread / 8 + 16 * run, column = thread % 8 * 4 + k;  run < 8, k < 4
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // value = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[Non ...  sorting.py:62
        const int index_2 = thread / 8 * 32 + 512 * run;
        value[run] = load_vector<4>(x + index_2 + thread % 8 * 4);
        // at = tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :]                sorting.py:63
        const int at = index_2 + thread % 8 * 4;
        // tl.store(out + at, tl.gather(value, tl.load(index + at), AXIS))             sorting.py:64
        index_value[run] = load_vector<4>(index + at);
    }

    // tl.store(out + at, tl.gather(value, tl.load(index + at), AXIS))                 sorting.py:64
    Vector<float, 4> value_gathered[8];
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int place = index_value[run][k] & 31;
            const int source_lane = thread / 8 % 4 * 8 + place / 4;
            value_gathered[run][k] = shuffle_from(value[run][0], source_lane);
            const float fetched = shuffle_from(value[run][1], source_lane);
            if (place % 4 == 1) value_gathered[run][k] = fetched;
            const float fetched_2 = shuffle_from(value[run][2], source_lane);
            if (place % 4 == 2) value_gathered[run][k] = fetched_2;
            const float fetched_3 = shuffle_from(value[run][3], source_lane);
            if (place % 4 == 3) value_gathered[run][k] = fetched_3;
        }
    }
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // value = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[Non ...  sorting.py:62
        const int index_2 = thread / 8 * 32 + 512 * run;
        // at = tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :]                sorting.py:63
        const int at = index_2 + thread % 8 * 4;
        // tl.store(out + at, tl.gather(value, tl.load(index + at), AXIS))             sorting.py:64
        store_vector(out + at, value_gathered[run]);
    }
}
