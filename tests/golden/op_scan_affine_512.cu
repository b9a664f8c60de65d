// scan_affine.cu: emitted by tle2cuda from collectives.py:224 (scan_affine). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 32 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      scale *i32 align 16, shift *i32 align 16, out *i32 align 16
//   constants REVERSE = False, BLOCK = 512, APART = 1

namespace {

struct Items_i32_i32 { int item0; int item1; };

// `a + b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T add_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
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

// The value that the lane DISTANCE further down (with REVERSE: up) holds, inside groups of WIDTH lanes; the own value
// where there is none. Called by whole warps.
template <int WIDTH, bool REVERSE, typename T>
__device__ __forceinline__ T shuffle_previous(T value, int distance)
{
    return shuffle_words(value, [distance](unsigned word) {
        return REVERSE ? __shfl_down_sync(0xffffffffu, word, distance, WIDTH)
                       : __shfl_up_sync(0xffffffffu, word, distance, WIDTH);
    });
}

// Inclusive scan over groups of WIDTH neighbouring lanes, from the last lane down with REVERSE. What comes first is the
// first operand of `combine`, which need not be commutative. Called by whole warps.
template <int WIDTH, bool REVERSE, typename T, typename Combine>
__device__ __forceinline__ T lanes_scan(T value, Combine combine)
{
    const int lane = threadIdx.x % WIDTH;
    const int position = REVERSE ? WIDTH - 1 - lane : lane;
    #pragma unroll
    for (int distance = 1; distance < WIDTH; distance *= 2) {
        const T other = shuffle_previous<WIDTH, REVERSE>(value, distance);
        if (position >= distance) value = combine(other, value);
    }
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

// `a * b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T mul_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int __totals[4];              // scratch of collectives.py:226
    alignas(16) int value_totals[4];          // scratch of collectives.py:226
};
static_assert(sizeof(Shared) <= 32, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
scan_affine(const int* __restrict__ scale, const int* __restrict__ shift, int* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // i = tl.arange(0, BLOCK) * APART                                            collectives.py:225
    const int i = 4 * thread;

    // _, value = tl.associative_scan((tl.load(scale + i), tl.load(shift + i ...  collectives.py:226
    const Vector<int, 4> scale_value = load_vector<4>(scale + i);
    const Vector<int, 4> shift_value = load_vector<4>(shift + i);
    const auto combine = [&](Items_i32_i32 a, Items_i32_i32 b) -> Items_i32_i32 {
        return Items_i32_i32{mul_wrapping(a.item0, b.item0), add_wrapping(mul_wrapping(b.item0, a.item1), b.item1)};
    };
    Items_i32_i32 scale_scanned_partial[4];
    Items_i32_i32 running = {};
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        running = k == 0 ? Items_i32_i32{scale_value[k], shift_value[k]} : combine(running, Items_i32_i32{scale_value[k], shift_value[k]});
        scale_scanned_partial[k] = running;
    }
    const Items_i32_i32 total = lanes_scan<32, false>(running, combine);
    if (thread % 32 == 31) {
        shared.__totals[thread / 32] = total.item0;
        shared.value_totals[thread / 32] = total.item1;
    }
    __syncthreads();  // the totals of all warps are in their slots
    Items_i32_i32 prefix = shuffle_previous<32, false>(total, 1);
    bool has_prefix = thread % 32 > 0;
    #pragma unroll
    for (int part = 2; part >= 0; --part) {
        if (part < thread / 32) {
            const Items_i32_i32 earlier = Items_i32_i32{shared.__totals[part], shared.value_totals[part]};
            prefix = has_prefix ? combine(earlier, prefix) : earlier;
            has_prefix = true;
        }
    }
    if (has_prefix) {
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            scale_scanned_partial[k] = combine(prefix, scale_scanned_partial[k]);
    }
    Vector<int, 4> value;
    #pragma unroll
    for (int run = 0; run < 4; ++run) value[run] = scale_scanned_partial[run].item1;

    // tl.store(out + i, value)                                                   collectives.py:227
    store_vector(out + i, value);
}
