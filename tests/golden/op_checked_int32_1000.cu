// checked_arithmetic.cu: emitted by tle2cuda from debug_builds.py:13 (checked_arithmetic). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 48 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, y *i32 align 16, out *i32 align 16, totals *i32 align 16, n i32
//   constants BLOCK = 256

namespace {

// Whether `a + b` fits in T, an integer of at most 32 bits: computed in 64, it survives the conversion to T.
template <typename T>
__device__ __forceinline__ bool add_fits(T a, T b)
{
    const auto exact = static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b);
    return static_cast<unsigned long long>(static_cast<T>(exact)) == exact;
}

// Say which tl.device_assert failed, where, and end the launch with an error. Called by one thread for itself.
__device__ __noinline__ void assertion_failed(const char* message, const char* file, int line)
{
    printf(
        "%s:%d: tl.device_assert failed: %s (CTA %d, %d, %d, thread %d)\n",
        file, line, message, (int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z, (int)threadIdx.x
    );
    __trap();
}

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

// Load the first `valid` of N neighbours, `other` for the rest: one access when all are valid, else one by one.
template <int N, typename T, typename Count, typename Other>
__device__ __forceinline__ Vector<T, N> load_edge(const T* pointer, Count valid, Other other)
{
    if (valid >= N) return load_vector<N>(pointer);
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = k < valid ? pointer[k] : static_cast<T>(other);
    return result;
}

// Whether `a * b` fits in T, an integer of at most 32 bits: computed in 64, it survives the conversion to T.
template <typename T>
__device__ __forceinline__ bool mul_fits(T a, T b)
{
    const auto exact = static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b);
    return static_cast<unsigned long long>(static_cast<T>(exact)) == exact;
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Store the first `valid` of N neighbours: one access when all are valid, else one by one.
template <int N, typename T, typename Count>
__device__ __forceinline__ void store_edge(T* pointer, Count valid, const Vector<T, N>& value)
{
    if (valid >= N) {
        store_vector(pointer, value);
        return;
    }
    #pragma unroll
    for (int k = 0; k < N; ++k)
        if (k < valid) pointer[k] = value[k];
}

// Whether `a - b` fits in T, an integer of at most 32 bits: computed in 64, it survives the conversion to T.
template <typename T>
__device__ __forceinline__ bool sub_fits(T a, T b)
{
    const auto exact = static_cast<unsigned long long>(a) - static_cast<unsigned long long>(b);
    return static_cast<unsigned long long>(static_cast<T>(exact)) == exact;
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
    union {  // never alive at the same time
        alignas(16) long long sum_slots[4];       // scratch of debug_builds.py:22
        alignas(16) long long warp_totals[4];     // scratch of debug_builds.py:24
        alignas(16) int max_slots[4];             // scratch of debug_builds.py:24
    };
    union {  // never alive at the same time
        alignas(16) int total_slots[4];           // scratch of debug_builds.py:22
        alignas(16) int warp_totals_2[4];         // scratch of debug_builds.py:24
    };
};
static_assert(sizeof(Shared) <= 48, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
checked_arithmetic(const int* __restrict__ x, const int* __restrict__ y, int* out, int* totals,
                   const int n)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // pid = tl.program_id(0)                                                     debug_builds.py:15
    const int pid = blockIdx.x;
    // i = pid * BLOCK + tl.arange(0, BLOCK)                                      debug_builds.py:16
    if (!mul_fits(pid, 256)) assertion_failed("int32 overflow detected for operation mul", "debug_builds.py", 16);

    // tile [256]: element = thread + 128 * run;  run < 2
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        if (!add_fits(pid * 256, thread + 128 * run)) assertion_failed("int32 overflow detected for operation add", "debug_builds.py", 16);
    }
    const int i = pid * 256 + 2 * thread;

    // a, b = tl.load(x + i, mask=mask, other=0), tl.load(y + i, mask=mask, ...   debug_builds.py:18
    const Vector<int, 2> a = load_edge<2>(x + i, n - i, 0);
    const Vector<int, 2> b = load_edge<2>(y + i, n - i, 0);

    // tl.store(out + i, tl.add((a * 2 - b) + (b - a) * 3, wrapped, sanitize ...  debug_builds.py:21
    Vector<int, 2> difference_2;
    Vector<int, 2> out_value;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        // mask = i < n                                                           debug_builds.py:17
        const bool mask = i + k < n;
        // tl.device_assert(a <= b, "x is above y", mask=mask)                    debug_builds.py:19
        if (mask && a[k] > b[k]) assertion_failed("x is above y", "debug_builds.py", 19);
        // wrapped = tl.add(a, tl.mul(b, 100, sanitize_overflow=False), sani ...  debug_builds.py:20
        const int wrapped = a[k] + b[k] * 100;

        // tl.store(out + i, tl.add((a * 2 - b) + (b - a) * 3, wrapped, sani ...  debug_builds.py:21
        if (!mul_fits(a[k], 2)) assertion_failed("int32 overflow detected for operation mul", "debug_builds.py", 21);
        const int product = a[k] * 2;
        if (!sub_fits(product, b[k])) assertion_failed("int32 overflow detected for operation sub", "debug_builds.py", 21);
        const int difference = product - b[k];
        if (!sub_fits(b[k], a[k])) assertion_failed("int32 overflow detected for operation sub", "debug_builds.py", 21);
        difference_2[k] = b[k] - a[k];
        if (!mul_fits(difference_2[k], 3)) assertion_failed("int32 overflow detected for operation mul", "debug_builds.py", 21);
        const int product_2 = difference_2[k] * 3;
        if (!add_fits(difference, product_2)) assertion_failed("int32 overflow detected for operation add", "debug_builds.py", 21);
        out_value[k] = difference + product_2 + wrapped;
    }
    store_edge(out + i, n - i, out_value);

    // total = tl.sum(b - a, axis=0)                                              debug_builds.py:22
    Vector<long long, 2> value;
    #pragma unroll
    for (int k = 0; k < 2; ++k) value[k] = static_cast<long long>(difference_2[k]);
    long long sum = 0ll;
    #pragma unroll
    for (int k = 0; k < 2; ++k) sum += value[k];
    sum = cta_all_reduce(sum, shared.sum_slots, [](long long a, long long b) { return a + b; });
    if (!(sum >= -2147483648ll && sum <= 2147483647ll)) assertion_failed("int32 overflow detected for operation add", "debug_builds.py", 22);
    int total = 0;
    #pragma unroll
    for (int k = 0; k < 2; ++k) total += difference_2[k];
    total = warps_all_reduce(__reduce_add_sync(0xffffffffu, total), shared.total_slots, [](int a, int b) { return a + b; });

    // tl.store(totals + 2 * pid, total)                                          debug_builds.py:23
    if (!mul_fits(2, pid)) assertion_failed("int32 overflow detected for operation mul", "debug_builds.py", 23);
    if (thread == 0) totals[2 * pid] = total;

    // tl.store(totals + 2 * pid + 1, tl.max(tl.cumsum(b - a, 0), axis=0) * ...   debug_builds.py:24
    Vector<long long, 2> cumsum;
    long long running = 0ll;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        running += value[k];
        cumsum[k] = running;
    }
    const long long total_2 = lanes_scan<32, false>(running, [](long long a, long long b) { return a + b; });
    if (thread % 32 == 31) shared.warp_totals[thread / 32] = total_2;
    __syncthreads();  // the totals of all warps are in their slots
    long long prefix = shuffle_previous<32, false>(total_2, 1);
    bool has_prefix = thread % 32 > 0;
    #pragma unroll
    for (int part = 2; part >= 0; --part) {
        if (part < thread / 32) {
            const long long earlier = shared.warp_totals[part];
            prefix = has_prefix ? earlier + prefix : earlier;
            has_prefix = true;
        }
    }
    if (has_prefix) {
        #pragma unroll
        for (int k = 0; k < 2; ++k) cumsum[k] = prefix + cumsum[k];
    }
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        if (!(cumsum[k] >= -2147483648ll && cumsum[k] <= 2147483647ll)) assertion_failed("int32 overflow detected for operation add", "debug_builds.py", 24);
    }
    Vector<int, 2> cumsum_2;
    int running_2 = 0;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        running_2 += difference_2[k];
        cumsum_2[k] = running_2;
    }
    const int total_3 = lanes_scan<32, false>(running_2, [](int a, int b) { return a + b; });
    if (thread % 32 == 31) shared.warp_totals_2[thread / 32] = total_3;
    __syncthreads();  // the totals of all warps are in their slots
    int prefix_2 = shuffle_previous<32, false>(total_3, 1);
    bool has_prefix_2 = thread % 32 > 0;
    #pragma unroll
    for (int part_2 = 2; part_2 >= 0; --part_2) {
        if (part_2 < thread / 32) {
            const int earlier_2 = shared.warp_totals_2[part_2];
            prefix_2 = has_prefix_2 ? earlier_2 + prefix_2 : earlier_2;
            has_prefix_2 = true;
        }
    }
    if (has_prefix_2) {
        #pragma unroll
        for (int k = 0; k < 2; ++k) cumsum_2[k] = prefix_2 + cumsum_2[k];
    }
    int largest = cumsum_2[0];
    #pragma unroll
    for (int k = 1; k < 2; ++k) largest = max(largest, cumsum_2[k]);
    largest = warps_all_reduce(__reduce_max_sync(0xffffffffu, largest), shared.max_slots, [](int a, int b) { return max(a, b); });
    if (!mul_fits(largest, 2)) assertion_failed("int32 overflow detected for operation mul", "debug_builds.py", 24);
    if (!sub_fits(largest * 2, total)) assertion_failed("int32 overflow detected for operation sub", "debug_builds.py", 24);
    if (thread == 0) totals[2 * pid + 1] = largest * 2 - total;
}
