// divided.cu: emitted by tle2cuda from divided_partitions.py:36 (divided). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 2064 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     ordered on warps 0 to 1, prefix on warp 2, turned_into on warp 3
//   args      x *i32 align 16, out *i32 align 16, prefixes *i32 align 16, n i32
//   constants B = 128, WARPS = (2, 1, 1)

namespace {

// In place of `WarpSlots` for rows that no warp shares with another.
struct NoSlots {
    static __device__ __forceinline__ int thread() { return threadIdx.x; }
};

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

// The value that lane `lane ^ mask` of the warp holds. Called by whole warps.
template <typename T>
__device__ __forceinline__ T shuffle_lanes(T value, int mask)
{
    return shuffle_words(value, [mask](unsigned word) { return __shfl_xor_sync(0xffffffffu, word, mask); });
}

// Keeps the one of two keys that comes first, or with LAST the other one.
template <bool DESCENDING, typename T>
__device__ __forceinline__ T take_better(T mine, T theirs, bool last)
{
    return (theirs < mine) != (DESCENDING != last) ? theirs : mine;
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
    alignas(16) int buffer[128];              // divided_partitions.py:39
    alignas(16) int handed_row[128];          // divided_partitions.py:45
    alignas(16) int handed[128];              // divided_partitions.py:45
    alignas(16) int sum_slots[4];             // scratch of divided_partitions.py:44
    alignas(16) int exchange[128];            // scratch of divided_partitions.py:54
};
static_assert(sizeof(Shared) <= 2064, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
divided(const int* x, int* out, int* prefixes, const int n)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    const int thread = threadIdx.x;

    // buffer.store(i)                                                      divided_partitions.py:40
    shared.buffer[thread] = thread;

    // for k in range(n):                                                   divided_partitions.py:42
    int best = 0;
    int total = 0;
    for (int k_ = 0; k_ < n; ++k_) {
        // row = tl.load(x + k * B + i)                                     divided_partitions.py:43
        const int row = *(x + k_ * 128 + thread);

        // if tl.sum(row, axis=0) != 0:                                     divided_partitions.py:44
        int row_sum = row;
        row_sum = warps_all_reduce(__reduce_add_sync(0xffffffffu, row_sum), shared.sum_slots, [](int a, int b) { return a + b; });
        __syncthreads();  // orders the loads of the scratch `sum_slots` before the stores to it
        int best_2;
        int total_2;
        if (row_sum != 0) {
            // (ordered, (row, k + 1)),                                     divided_partitions.py:47
            const int factor = k_ + 1;

            // low, one = tle.gpu.warp_specialize(                          divided_partitions.py:45
            shared.handed_row[thread] = row;
            __syncthreads();  // the partitions see what was done so far
            if (warp < 2) {  // ordered: warps 0 to 1
                const Vector<int, 4> row_2 = load_vector<4>(&shared.handed_row[thread % 32 * 4]);

                // return tl.sort(row) * factor, tl.sum(row, axis=0)        divided_partitions.py:19
                int keys[1][4];
                #pragma unroll
                for (int k = 0; k < 4; ++k) keys[0][k] = row_2[k];
                sort_rows<32, 1, 32, false>(keys, NoSlots{});
                Vector<int, 4> row_sorted;
                #pragma unroll
                for (int k = 0; k < 4; ++k) row_sorted[k] = keys[0][k];
                Vector<int, 4> handed_value;
                #pragma unroll
                for (int k = 0; k < 4; ++k) handed_value[k] = row_sorted[k] * factor;

                // low, one = tle.gpu.warp_specialize(                      divided_partitions.py:45
                if (thread < 32) store_vector(&shared.handed[thread % 32 * 4], handed_value);
            } else if (warp < 3) {  // prefix: warp 2
                const int thread = threadIdx.x - 64;
                const Vector<int, 4> row_2 = load_vector<4>(&shared.handed_row[4 * thread]);

                // tl.store(out + tl.arange(0, B), tl.cumsum(row, axis=0))  divided_partitions.py:25
                Vector<int, 4> row_cumsum;
                int running = 0;
                #pragma unroll
                for (int k = 0; k < 4; ++k) {
                    running += row_2[k];
                    row_cumsum[k] = running;
                }
                const int total_3 = lanes_scan<32, false>(running, [](int a, int b) { return a + b; });
                const int prefix = shuffle_previous<32, false>(total_3, 1);
                if (thread % 32 > 0) {
                    #pragma unroll
                    for (int k = 0; k < 4; ++k) row_cumsum[k] = prefix + row_cumsum[k];
                }

                // i = tl.arange(0, B)                                      divided_partitions.py:38
                const int i = 4 * thread;
                // tl.store(out + tl.arange(0, B), tl.cumsum(row, axis=0))  divided_partitions.py:25
                store_vector(prefixes + k_ * 128 + i, row_cumsum);
            } else {  // turned_into: warp 3
                const int thread = threadIdx.x - 96;

                // low, one = tle.gpu.warp_specialize(                      divided_partitions.py:45
                const Vector<int, 4> row_2 = load_vector<4>(&shared.handed_row[4 * thread]);
                // i = tl.arange(0, B)                                      divided_partitions.py:38
                const int i = 4 * thread;

                // buffer.store(tl.load(tle.gpu.local_ptr(buffer, (B - ...  divided_partitions.py:32
                Vector<int, 4> sum;
                #pragma unroll
                for (int k = 0; k < 4; ++k) {
                    // buffer.store(tl.load(tle.gpu.local_ptr(buffer, ...   divided_partitions.py:32
                    const int buffer_value = shared.buffer[127 - i - k];
                    sum[k] = buffer_value + row_2[k] * k_;
                }
                __syncwarp();  // orders the loads of `buffer` before the stores to it
                store_vector(&shared.buffer[4 * thread], sum);
            }
            __syncthreads();  // all partitions are done
            const int low = shared.handed[thread];

            // best += tl.flip(low)                                         divided_partitions.py:54
            shared.exchange[thread] = low;
            __syncthreads();  // the whole tile is in shared memory
            int low_converted = shared.exchange[thread ^ 127];
            best_2 = best + low_converted;

            // total += one                                                 divided_partitions.py:55
            total_2 = total + row_sum;
        } else {
            best_2 = best;
            total_2 = total;
        }
        best = best_2;
        total = total_2;
    }

    // tl.store(out + i, best + total)                                      divided_partitions.py:56
    out[thread] = best + total;
    // tl.store(out + B + i, buffer.load())                                 divided_partitions.py:57
    const int buffer_value = shared.buffer[thread];
    *(out + 128 + thread) = buffer_value;
}
