// top_rows.cu: emitted by tle2cuda from sorting.py:34 (top_rows). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 8192 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp32 align 16
//   constants K = 64, LARGEST = True, M = 1, N = 1024

namespace {

// Shared memory for exchanges between warps: two halves of SIZE keys for each of THREADS threads, used in turn, so that one
// CTA barrier for each exchange is enough.
template <typename T, int SIZE_, int THREADS>
struct WarpSlots {
    static constexpr int SIZE = SIZE_;
    T* slots;
    int half = 0;

    // The same keys of thread `thread ^ mask`, at most SIZE of them. Called by all threads; contains one CTA barrier.
    template <int COUNT>
    __device__ __forceinline__ void exchange(const T (&mine)[COUNT], T (&theirs)[COUNT], int mask)
    {
        T* here = slots + half * SIZE * THREADS + threadIdx.x;
        #pragma unroll
        for (int k = 0; k < COUNT; ++k) here[k * THREADS] = mine[k];
        __syncthreads();
        const T* there = slots + half * SIZE * THREADS + (threadIdx.x ^ mask);
        #pragma unroll
        for (int k = 0; k < COUNT; ++k) theirs[k] = there[k * THREADS];
        half ^= 1;
    }

    static __device__ __forceinline__ int thread() { return threadIdx.x; }
};

// Exchanges two keys where they are not in order.
template <bool DESCENDING, typename T>
__device__ __forceinline__ void put_in_order(T& first, T& second)
{
    const T smaller = second < first ? second : first;
    const T larger = second < first ? first : second;
    first = DESCENDING ? larger : smaller;
    second = DESCENDING ? smaller : larger;
}

// Last steps of a bitonic merge: compares elements of one thread, SIZE / 2 and less apart. Groups of SIZE neighbours
// become sorted when each was bitonic.
template <int SIZE, bool DESCENDING, int ROWS, int COUNT, typename T>
__device__ __forceinline__ void merge_in_thread(T (&keys)[ROWS][COUNT])
{
    #pragma unroll
    for (int distance = SIZE / 2; distance > 0; distance /= 2)
        #pragma unroll
        for (int row = 0; row < ROWS; ++row)
            #pragma unroll
            for (int k = 0; k < COUNT; ++k)
                if ((k & distance) == 0) put_in_order<DESCENDING>(keys[row][k], keys[row][k ^ distance]);
}

// Keeps the one of two keys that comes first, or with LAST the other one.
template <bool DESCENDING, typename T>
__device__ __forceinline__ T take_better(T mine, T theirs, bool last)
{
    return (theirs < mine) != (DESCENDING != last) ? theirs : mine;
}

// The BEST first keys of all groups of BEST neighbours, each of which is sorted.
template <bool DESCENDING, int ROWS, int COUNT, int BEST, typename T>
__device__ __forceinline__ void best_in_thread(const T (&keys)[ROWS][COUNT], T (&best)[ROWS][BEST])
{
    constexpr int LEFT = COUNT == BEST ? BEST : COUNT / 2;
    T left[ROWS][LEFT];
    #pragma unroll
    for (int row = 0; row < ROWS; ++row)
        #pragma unroll
        for (int k = 0; k < LEFT; ++k) {
            const int first = k / BEST * 2 * BEST;
            left[row][k] = COUNT == BEST ? keys[row][k]
                                         : take_better<DESCENDING>(keys[row][first + k % BEST],
                                                                   keys[row][first + 2 * BEST - 1 - k % BEST], false);
        }
    if constexpr (COUNT == BEST) {
        #pragma unroll
        for (int row = 0; row < ROWS; ++row)
            #pragma unroll
            for (int k = 0; k < BEST; ++k) best[row][k] = left[row][k];
    } else {
        merge_in_thread<BEST, DESCENDING>(left);
        best_in_thread<DESCENDING>(left, best);
    }
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

// The value that lane `lane ^ mask` of the warp holds. Called by whole warps.
template <typename T>
__device__ __forceinline__ T shuffle_lanes(T value, int mask)
{
    return shuffle_words(value, [mask](unsigned word) { return __shfl_xor_sync(0xffffffffu, word, mask); });
}

// Compares each key with the one that the lane `lane ^ mask` holds in the same register, or with MIRRORED counted from the
// last register on, and keeps the one that comes first, or where `last` holds the other one. Called by whole warps.
template <bool MIRRORED, bool DESCENDING, int ROWS, int COUNT, typename T>
__device__ __forceinline__ void compare_lanes(T (&keys)[ROWS][COUNT], int mask, bool last)
{
    #pragma unroll
    for (int row = 0; row < ROWS; ++row) {
        T theirs[COUNT];
        #pragma unroll
        for (int k = 0; k < COUNT; ++k) theirs[k] = shuffle_lanes(keys[row][MIRRORED ? COUNT - 1 - k : k], mask);
        #pragma unroll
        for (int k = 0; k < COUNT; ++k) keys[row][k] = take_better<DESCENDING>(keys[row][k], theirs[k], last);
    }
}

// Place of a thread among the THREADS that share its row: lanes first, then warps that are WARP_STEP apart; and what to
// XOR to a thread's index to get to the thread at `position ^ mask`.
template <int THREADS, int WARP_STEP>
__device__ __forceinline__ int row_position(int thread)
{
    if constexpr (THREADS > 32) return thread % 32 + thread / (32 * WARP_STEP) % (THREADS / 32) * 32;
    else return thread % THREADS;
}

template <int WARP_STEP>
__device__ __forceinline__ int row_mask(int mask)
{
    return mask % 32 + mask / 32 * 32 * WARP_STEP;
}

// `compare_lanes` with the thread at the place `position ^ mask` of the row, which may be one of another warp. Called by all
// threads; contains CTA barriers for a mask of 32 and more.
template <int THREADS, int WARP_STEP, bool MIRRORED, bool DESCENDING, int ROWS, int COUNT, typename T, typename Slots>
__device__ __forceinline__ void compare_threads(T (&keys)[ROWS][COUNT], int mask, bool last, Slots& slots)
{
    if constexpr (THREADS > 32) {
        if (mask >= 32) {
            #pragma unroll
            for (int first = 0; first < ROWS * COUNT; first += Slots::SIZE) {
                T mine[Slots::SIZE], theirs[Slots::SIZE];
                #pragma unroll
                for (int i = 0; i < Slots::SIZE; ++i) {
                    const int k = (first + i) % COUNT;
                    mine[i] = keys[(first + i) / COUNT][MIRRORED ? COUNT - 1 - k : k];
                }
                slots.exchange(mine, theirs, row_mask<WARP_STEP>(mask));
                #pragma unroll
                for (int i = 0; i < Slots::SIZE; ++i) {
                    T& key = keys[(first + i) / COUNT][(first + i) % COUNT];
                    key = take_better<DESCENDING>(key, theirs[i], last);
                }
            }
            return;
        }
    }
    compare_lanes<MIRRORED, DESCENDING>(keys, mask, last);
}

// Bitonic merge of rows of COUNT keys in each of THREADS threads, whose lowest keys lie in the first thread: places
// `first_step` and less apart are compared, then the keys of each thread. Called by all threads.
template <int THREADS, int WARP_STEP, bool DESCENDING, int ROWS, int COUNT, typename T, typename Slots>
__device__ __forceinline__ void merge_rows(T (&keys)[ROWS][COUNT], int first_step, Slots&& slots)
{
    const int position = row_position<THREADS, WARP_STEP>(slots.thread());
    #pragma unroll 1
    for (int step = first_step; step > 0; step /= 2)
        compare_threads<THREADS, WARP_STEP, false, DESCENDING>(keys, step, (position & step) != 0, slots);
    merge_in_thread<COUNT, DESCENDING>(keys);
}

// Sorts groups of SIZE neighbours in each thread.
template <int SIZE, bool DESCENDING, int ROWS, int COUNT, typename T>
__device__ __forceinline__ void sort_in_thread(T (&keys)[ROWS][COUNT])
{
    if constexpr (SIZE > 1) {
        sort_in_thread<SIZE / 2, DESCENDING>(keys);
        // The halves are sorted the same way: compared with each other's mirror image, they become bitonic.
        #pragma unroll
        for (int row = 0; row < ROWS; ++row)
            #pragma unroll
            for (int k = 0; k < COUNT; ++k)
                if ((k & SIZE / 2) == 0) put_in_order<DESCENDING>(keys[row][k], keys[row][k ^ (SIZE - 1)]);
        merge_in_thread<SIZE / 2, DESCENDING>(keys);
    }
}

// Bitonic sort of rows of COUNT keys in each of THREADS threads, in groups of GROUP threads. Groups of threads twice as
// large are merged from step to step: the second half of each is read backwards. Called by all threads.
template <int THREADS, int WARP_STEP, int GROUP, bool DESCENDING, int ROWS, int COUNT, typename T, typename Slots>
__device__ __forceinline__ void sort_rows(T (&keys)[ROWS][COUNT], Slots&& slots)
{
    const int position = row_position<THREADS, WARP_STEP>(slots.thread());
    sort_in_thread<COUNT, DESCENDING>(keys);
    #pragma unroll 1
    for (int group = 2; group <= GROUP; group *= 2) {
        const bool last = (position & group / 2) != 0;
        compare_threads<THREADS, WARP_STEP, true, DESCENDING>(keys, group - 1, last, slots);
        merge_rows<THREADS, WARP_STEP, DESCENDING>(keys, group / 4, slots);
    }
}

// The first keys of rows of COUNT keys in each of THREADS threads, sorted, in groups of GROUP threads of BEST keys, which
// all get the same ones. The better of each two groups is found until one is left. Called by all threads.
template <int THREADS, int WARP_STEP, int GROUP, bool DESCENDING, int ROWS, int COUNT, int BEST, typename T, typename Slots>
__device__ __forceinline__ void best_of_rows(T (&keys)[ROWS][COUNT], T (&best)[ROWS][BEST], Slots&& slots)
{
    if constexpr (GROUP > 1) sort_rows<THREADS, WARP_STEP, GROUP, DESCENDING>(keys, slots);
    else sort_in_thread<BEST, DESCENDING>(keys);
    best_in_thread<DESCENDING>(keys, best);
    #pragma unroll 1
    for (int group = GROUP; group < THREADS; group *= 2) {
        compare_threads<THREADS, WARP_STEP, true, DESCENDING>(best, group | (GROUP - 1), false, slots);
        merge_rows<THREADS, WARP_STEP, DESCENDING>(best, GROUP / 2, slots);
    }
}

// A float as an integer in the same order: -0 before 0, and NaN, whatever its sign, last. Keys become floats again.
__device__ __forceinline__ int float_key(float value)
{
    const int bits = __float_as_int(value);
    return value != value ? 0x7fffffff : bits ^ ((bits >> 31) & 0x7fffffff);
}

__device__ __forceinline__ float float_of_key(int key)
{
    return __int_as_float(key ^ ((key >> 31) & 0x7fffffff));
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

// Store 16 bytes of global memory if a condition holds: one predicated access (PTX ISA, st.global), around which nothing
// branches.
__device__ __forceinline__ void store_bits_if(bool condition, uint4* pointer, uint4 bits)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %1, 0;\n\t@p st.global.v4.u32 [%0], {%2, %3, %4, %5};\n\t}"
        :: "l"(pointer), "r"(static_cast<int>(condition)), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
}

// Store N neighbours in global memory, in words of type Bits, if a condition holds. Called by each thread for itself.
template <typename Bits, int N, typename T>
__device__ __forceinline__ void store_vector_if(bool condition, T* pointer, const Vector<T, N>& value)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(value) / sizeof(Bits)); ++i) {
        Bits bits;
        memcpy(&bits, reinterpret_cast<const unsigned char*>(&value) + i * sizeof(Bits), sizeof(Bits));
        store_bits_if(condition, reinterpret_cast<Bits*>(pointer) + i, bits);
    }
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int best_keys[2048];          // scratch of sorting.py:37
};
static_assert(sizeof(Shared) <= 8192, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
top_rows(const float* __restrict__ x, float* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // value = tl.load(x + rows * N + tl.arange(0, N)[None, :])                        sorting.py:36
    const Vector<float, 8> value = load_vector<8>(x + 8 * thread);

    // best = tl.topk(value, K, descending=LARGEST)                                    sorting.py:37
    int keys[1][8];
    #pragma unroll
    for (int k = 0; k < 8; ++k) keys[0][k] = float_key(value[k]);
    int best_2[1][8];
    best_of_rows<128, 1, 8, true>(keys, best_2, WarpSlots<int, 8, 128>{shared.best_keys});
    Vector<float, 8> best;
    #pragma unroll
    for (int k = 0; k < 8; ++k) best[k] = float_of_key(best_2[0][k]);

    // tl.store(out + rows * K + tl.arange(0, K)[None, :], best)                       sorting.py:38
    store_vector_if<uint4>(thread < 8, out + thread % 8 * 8, best);
}
