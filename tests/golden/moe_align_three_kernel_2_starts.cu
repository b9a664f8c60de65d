// moe_align_starts.cu: emitted by tle2cuda from staged.py:67 (moe_align_starts). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 64 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      totals *i32 align 16, starts *i32 align 16, num_post_pad *i32 align 16
//   constants NUM_GROUPS = 512, BLOCK_SIZE = 16, GROUP_TILE = 512, CLEAR_TOTALS = True

namespace {

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// A vector whose elements are all equal.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> fill_vector(T value)
{
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = value;
    return result;
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

// Reduce what the WARPS warps of a CTA have each reduced, by a commutative function, through one shared slot per warp;
// every thread receives the result. Called by all threads. Contains one CTA barrier, between writing and reading the
// slots; another one has to follow before they are written again.
template <int WARPS, typename T, typename Slot, typename Combine>
__device__ __forceinline__ T warps_all_reduce(T value, Slot (&slots)[WARPS], Combine combine)
{
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
    __syncthreads();
    value = slots[0];
    #pragma unroll
    for (int warp = 1; warp < WARPS; ++warp) value = combine(value, static_cast<T>(slots[warp]));
    return value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int post_pad_slots[8];        // scratch of staged.py:80
    alignas(16) int warp_totals[8];           // scratch of staged.py:81
};
static_assert(sizeof(Shared) <= 64, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
moe_align_starts(int* totals, int* starts, int* num_post_pad)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // group = tl.arange(0, GROUP_TILE)                                                 staged.py:77
    const int group = 2 * thread;
    // total = tl.load(totals + group, mask=group < NUM_GROUPS, other=0)                staged.py:78
    const Vector<int, 2> total = load_vector<2>(totals + group);

    // return (blocks * BLOCK_SIZE).to(tl.int32)                                         parts.py:33
    Vector<int, 2> padded;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        // blocks = (count + (BLOCK_SIZE - 1)).to(tl.uint32) // BLOCK_SIZE               parts.py:32
        const unsigned blocks = static_cast<unsigned>(total[k] + 15) / 16u;
        padded[k] = static_cast<int>(blocks * 16u);
    }

    // post_pad = tl.sum(padded, axis=0)                                                staged.py:80
    int post_pad = 0;
    #pragma unroll
    for (int k = 0; k < 2; ++k) post_pad += padded[k];
    post_pad = warps_all_reduce(__reduce_add_sync(0xffffffffu, post_pad), shared.post_pad_slots, [](int a, int b) { return a + b; });

    // tl.store(starts + group, tl.cumsum(padded, axis=0) - padded)                     staged.py:81
    Vector<int, 2> padded_cumsum;
    int running = 0;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        running += padded[k];
        padded_cumsum[k] = running;
    }
    const int total_2 = lanes_scan<32, false>(running, [](int a, int b) { return a + b; });
    if (thread % 32 == 31) shared.warp_totals[thread / 32] = total_2;
    __syncthreads();  // the totals of all warps are in their slots
    int prefix = shuffle_previous<32, false>(total_2, 1);
    bool has_prefix = thread % 32 > 0;
    #pragma unroll
    for (int part = 6; part >= 0; --part) {
        if (part < thread / 32) {
            const int earlier = shared.warp_totals[part];
            prefix = has_prefix ? earlier + prefix : earlier;
            has_prefix = true;
        }
    }
    if (has_prefix) {
        #pragma unroll
        for (int k = 0; k < 2; ++k) padded_cumsum[k] = prefix + padded_cumsum[k];
    }
    Vector<int, 2> starts_value;
    #pragma unroll
    for (int k = 0; k < 2; ++k) starts_value[k] = padded_cumsum[k] - padded[k];
    store_vector(starts + group, starts_value);

    // tl.store(starts + GROUP_TILE, post_pad)                                          staged.py:82
    if (thread == 0) starts[512] = post_pad;
    // tl.store(num_post_pad, post_pad)                                                 staged.py:83
    if (thread == 0) *num_post_pad = post_pad;
    // tl.store(totals + group, 0)                                                      staged.py:85
    store_vector(totals + group, fill_vector<2>(0));
}
