// collectives.cu: emitted by tle2cuda from async_partitions.py:51 (collectives). Do not edit.
//
//   target    sm_90a, 384 threads per CTA, 7248 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     statistics on warps 0 to 3, write_prefix on warps 4 to 7,
//             write_counts on warps 8 to 9, write_sorted on warp 10
//   args      x *i32 align 16, out *i32 align 16, prefix *i32 align 16, counts *i32 align 16,
//             ordered *i32 align 16, n i32
//   constants B = 256, WARPS = (4, 2, 1)

namespace {

struct Items_i32_i32 { int item0; int item1; };

// In place of `WarpSlots` for rows that no warp shares with another.
struct NoSlots {
    static __device__ __forceinline__ int thread() { return threadIdx.x; }
};

// Shared memory for exchanges between the warps of a partition, which begins with FIRST_THREAD and meets at BARRIER: two
// halves of SIZE keys for each of its THREADS threads, used in turn, so that one barrier for each exchange is enough.
template <typename T, int SIZE_, int THREADS, int FIRST_THREAD, void (*BARRIER)()>
struct PartitionSlots {
    static constexpr int SIZE = SIZE_;
    T* slots;
    int half = 0;

    template <int COUNT>
    __device__ __forceinline__ void exchange(const T (&mine)[COUNT], T (&theirs)[COUNT], int mask)
    {
        T* here = slots + half * SIZE * THREADS + thread();
        #pragma unroll
        for (int k = 0; k < COUNT; ++k) here[k * THREADS] = mine[k];
        BARRIER();
        const T* there = slots + half * SIZE * THREADS + (thread() ^ mask);
        #pragma unroll
        for (int k = 0; k < COUNT; ++k) theirs[k] = there[k * THREADS];
        half ^= 1;
    }

    static __device__ __forceinline__ int thread() { return threadIdx.x - FIRST_THREAD; }
};

// Whether element j with value b, not i with value a, is the maximum: NaN loses against everything; of equal values
// the one with the smaller index wins (TIE_LEFT), or the larger. Without branches: lanes would go different ways.
template <bool TIE_LEFT, typename T>
__device__ __forceinline__ bool argmax_takes(T a, int i, T b, int j)
{
    const bool nan_a = a != a;
    const bool nan_b = b != b;
    const bool wins_tie = TIE_LEFT ? j < i : j > i;
    return (b > a) | (nan_a & !nan_b) | (wins_tie & ((a == b) | (nan_a & nan_b)));
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

// Waits until `threads` threads, whole warps, have come to hardware barrier `barrier` (0 to 15), each partition in a place of its
// own. Called by all lanes of a warp (PTX ISA, barrier.sync; not .aligned).
__device__ __forceinline__ void meeting_barrier_sync(int barrier, int threads)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Waits until `threads` threads, whole warps, have come to hardware barrier `barrier` (1 to 15; 0 is that of __syncthreads).
// Called by all lanes of a warp (PTX ISA, barrier.sync).
__device__ __forceinline__ void named_barrier_sync(int barrier, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// The value that lane `source` of the warp holds. Called by whole warps.
template <typename T>
__device__ __forceinline__ T shuffle_from(T value, int source)
{
    return shuffle_words(value, [source](unsigned word) { return __shfl_sync(0xffffffffu, word, source); });
}

// Exclusive prefix sums over groups of WIDTH neighbouring lanes (with REVERSE from the last lane down), and the sum of the
// group in `total`. Called by whole warps.
template <int WIDTH, bool REVERSE, typename T>
__device__ __forceinline__ T warp_exclusive_sum(T value, T& total)
{
    const int lane = threadIdx.x % WIDTH;
    const T inclusive = lanes_scan<WIDTH, REVERSE>(value, [](T a, T b) { return static_cast<T>(a + b); });
    const T before = shuffle_previous<WIDTH, REVERSE>(inclusive, 1);
    total = shuffle_from(inclusive, threadIdx.x % 32 - lane + (REVERSE ? 0 : WIDTH - 1));
    return lane == (REVERSE ? WIDTH - 1 : 0) ? T(0) : before;
}

// Exclusive prefix sums of one value per thread over the first WARPS warps of a partition, which the others repeat (with
// REVERSE from the last down), and the sum of all in `total`. Called by all threads of the partition, each with its number
// in it; they meet at `barrier` between writing and reading the slots, one for each warp.
template <int WARPS, bool REVERSE, typename T, typename Barrier>
__device__ __forceinline__ T partition_exclusive_sum(T value, T& total, T* slots, int thread, Barrier barrier)
{
    const int lane = thread % 32;
    const int warp = thread / 32;
    T of_warp;
    const T before = warp_exclusive_sum<32, REVERSE>(value, of_warp);
    if (lane == 0 && warp < WARPS) slots[warp] = of_warp;
    barrier();
    const T earlier = warp_exclusive_sum<WARPS, REVERSE>(slots[lane % WARPS], total);
    return static_cast<T>(shuffle_from(earlier, warp % WARPS) + before);
}

// The warpgroup gives registers back, down to REGISTERS a thread (a multiple of 8 from 24 to 256). Called by all of its threads
// (PTX ISA, setmaxnreg; sm_90a).
template <int REGISTERS>
__device__ __forceinline__ void registers_decrease() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }

// The warpgroup takes registers, up to REGISTERS a thread, and waits until others have given them back. Called by all of its
// threads (PTX ISA, setmaxnreg; sm_90a).
template <int REGISTERS>
__device__ __forceinline__ void registers_increase() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }

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

// The maximum of the values `item0` of the 32 lanes of a warp and its index `item1`, as argmax_takes finds it, by
// `key`, an integer of the value in the same order; every lane receives both. Called by whole warps.
template <bool TIE_LEFT, typename Items, typename Key>
__device__ __forceinline__ Items warp_argmax(Items items, Key key)
{
    const bool is_extreme = key == __reduce_max_sync(0xffffffffu, key);
    const int index = TIE_LEFT ? __reduce_min_sync(0xffffffffu, is_extreme ? items.item1 : 0x7fffffff)
                               : __reduce_max_sync(0xffffffffu, is_extreme ? items.item1 : -0x7fffffff - 1);
    const unsigned lanes = __ballot_sync(0xffffffffu, is_extreme && items.item1 == index);
    items.item0 = __shfl_sync(0xffffffffu, items.item0, __ffs(lanes) - 1);
    items.item1 = index;
    return items;
}

// Barrier of the 384 threads of the CTA, wherever they come to it: hardware barrier 0.
__device__ __forceinline__ void all_warps_barrier() { meeting_barrier_sync(0, 384); }

// Barrier of the 128 threads of the default warps: hardware barrier 1.
__device__ __forceinline__ void default_warps_barrier() { named_barrier_sync(1, 128); }

// Barrier of the 128 threads of partition `write_prefix`: hardware barrier 2.
__device__ __forceinline__ void write_prefix_barrier() { named_barrier_sync(2, 128); }

// Barrier of the 64 threads of partition `write_counts`: hardware barrier 3.
__device__ __forceinline__ void write_counts_barrier() { named_barrier_sync(3, 64); }

// Shared memory of one CTA.
struct Shared {
    alignas(16) int buffer[256];              // async_partitions.py:54
    alignas(16) int handed[1];                // async_partitions.py:57
    union {  // never alive at the same time
        alignas(16) int sum_slots[2];             // scratch of async_partitions.py:20
        alignas(16) int exchange[256];            // scratch of async_partitions.py:20
    };
    alignas(16) int exchanged_keys[1024];     // scratch of async_partitions.py:20
    alignas(16) int before_scan[4];           // scratch of async_partitions.py:28
    alignas(16) int warp_totals[4];           // scratch of async_partitions.py:30
    union {  // never alive at the same time
        alignas(16) int bins[16];                 // scratch of async_partitions.py:38
        alignas(16) int exchange_2[256];          // scratch of async_partitions.py:40
    };
    alignas(16) int argmax_slots[2];          // scratch of async_partitions.py:39
    alignas(16) int argmax_slots_2[2];        // scratch of async_partitions.py:39
};
static_assert(sizeof(Shared) <= 7248, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1)
collectives(const int* x, int* out, int* prefix, int* counts, int* ordered, const int n)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (warp >= 4) {
        all_warps_barrier();  // what the default warps did in front
        if (warp >= 8) registers_decrease<24>();
        if (warp < 8) {  // write_prefix: warps 4 to 7
            registers_decrease<24>();
            const int thread = threadIdx.x - 128;

            // i = tl.arange(0, B)                                            async_partitions.py:53
            const int i_2 = 2 * thread;
            // row = tl.load(x + i)                                           async_partitions.py:27
            const Vector<int, 2> row = load_vector<2>(x + i_2);

            // before, total = tle.cumsum(row, axis=0)                        async_partitions.py:28
            int sum = 0, total;
            #pragma unroll
            for (int k = 0; k < 2; ++k) sum += row[k];
            int before_sum = partition_exclusive_sum<4, false>(sum, total, shared.before_scan, thread, write_prefix_barrier);
            Vector<int, 2> before;
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                before[k] = before_sum;
                before_sum += row[k];
            }

            // tl.store(out + i, before + total)                              async_partitions.py:29
            Vector<int, 2> prefix_value;
            #pragma unroll
            for (int k = 0; k < 2; ++k) prefix_value[k] = before[k] + total;
            store_vector(prefix + i_2, prefix_value);

            // tl.store(out + B + i, tl.cumsum(row, axis=0))                  async_partitions.py:30
            Vector<int, 2> row_cumsum;
            int running = 0;
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                running += row[k];
                row_cumsum[k] = running;
            }
            const int total_2 = lanes_scan<32, false>(running, [](int a, int b) { return a + b; });
            if (thread % 32 == 31) shared.warp_totals[thread / 32] = total_2;
            write_prefix_barrier();  // the totals of all warps are in their slots
            int prefix_2 = shuffle_previous<32, false>(total_2, 1);
            bool has_prefix = thread % 32 > 0;
            #pragma unroll
            for (int part = 2; part >= 0; --part) {
                if (part < thread / 32) {
                    const int earlier = shared.warp_totals[part];
                    prefix_2 = has_prefix ? earlier + prefix_2 : earlier;
                    has_prefix = true;
                }
            }
            if (has_prefix) {
                #pragma unroll
                for (int k = 0; k < 2; ++k) row_cumsum[k] = prefix_2 + row_cumsum[k];
            }
            store_vector(prefix + 256 + i_2, row_cumsum);
        } else if (warp < 10) {  // write_counts: warps 8 to 9
            const int thread = threadIdx.x - 256;

            // total, row = tle.gpu.warp_specialize(                          async_partitions.py:57
            const int handed_value = shared.handed[0];
            // factor = tl.load(x) + 1                                        async_partitions.py:56
            const int factor = handed_value + 1;
            // i = tl.arange(0, B)                                            async_partitions.py:53
            const int i_2 = 4 * thread;
            // row = tl.load(x + i)                                           async_partitions.py:37
            const Vector<int, 4> row = load_vector<4>(x + i_2);

            // tl.store(out + tl.arange(0, 16), tl.histogram(row & 15, 1 ...  async_partitions.py:38
            Vector<int, 4> value;
            #pragma unroll
            for (int k = 0; k < 4; ++k) value[k] = row[k] & 15;
            for (int bin = thread; bin < 16; bin += 64) shared.bins[bin] = 0;
            write_counts_barrier();  // all bins are zero
            #pragma unroll
            for (int k = 0; k < 4; ++k)
                if (static_cast<unsigned>(value[k]) < 16u) atomicAdd(&shared.bins[value[k]], 1);
            write_counts_barrier();  // all values are counted
            int counts_2 = shared.bins[thread % 16];
            if (thread < 16) counts[thread % 16] = counts_2 * factor;

            // tl.store(out + 16, tl.argmax(row, axis=0))                     async_partitions.py:39
            const auto combine = [](Items_i32_i32 a, Items_i32_i32 b) { return argmax_takes<true>(a.item0, a.item1, b.item0, b.item1) ? b : a; };

            // i = tl.arange(0, B)                                            async_partitions.py:53
            const int i_3 = 4 * thread;
            Items_i32_i32 row_argmax_partial = Items_i32_i32{row[0], i_3};
            #pragma unroll
            for (int k = 1; k < 4; ++k)
                row_argmax_partial = combine(row_argmax_partial, Items_i32_i32{row[k], i_2 + k});
            row_argmax_partial = warp_argmax<true>(row_argmax_partial, row_argmax_partial.item0);
            if (thread % 32 == 0) {
                shared.argmax_slots[thread / 32] = row_argmax_partial.item0;
                shared.argmax_slots_2[thread / 32] = row_argmax_partial.item1;
            }
            write_counts_barrier();  // the partial results of all warps are in their slots
            row_argmax_partial = Items_i32_i32{shared.argmax_slots[0], shared.argmax_slots_2[0]};
            #pragma unroll
            for (int part = 1; part < 2; ++part)
                row_argmax_partial = combine(row_argmax_partial, Items_i32_i32{shared.argmax_slots[part], shared.argmax_slots_2[part]});
            const int row_argmax = row_argmax_partial.item1;

            // tl.store(out + 16, tl.argmax(row, axis=0))                     async_partitions.py:39
            if (thread == 0) counts[16] = row_argmax;

            // tl.store(out + 32 + i, tl.flip(tl.reshape(row, (B // 4, 4 ...  async_partitions.py:40
            Vector<int, 4> packed_2;
            #pragma unroll
            for (int k = 0; k < 4; ++k) packed_2[k] = row[k];
            store_vector(&shared.exchange_2[4 * thread], packed_2);
            write_counts_barrier();  // the whole tile is in shared memory
            int row_converted[4];
            const Vector<int, 4> unpacked = load_vector<4>(&shared.exchange_2[(4 * thread) ^ 252]);
            #pragma unroll
            for (int k = 0; k < 4; ++k) row_converted[k] = unpacked[k ^ 3];

            // tile [256]: element = thread + 64 * run;  run < 4
            #pragma unroll
            for (int run = 0; run < 4; ++run) {
                // i = tl.arange(0, B)                                        async_partitions.py:53
                const int i_4 = thread + 64 * run;
                // tl.store(out + 32 + i, tl.flip(tl.reshape(row, (B // ...   async_partitions.py:40
                *(counts + 32 + i_4) = row_converted[run];
            }
        } else if (warp < 11) {  // write_sorted: warp 10
            const int thread = threadIdx.x - 320;

            // i = tl.arange(0, B)                                            async_partitions.py:53
            const int i_2 = 8 * thread;

            // tl.store(out + i, tl.sort(tl.load(x + i), descending=True ...  async_partitions.py:47
            const Vector<int, 8> x_value_2 = load_vector<8>(x + i_2);
            int keys[1][8];
            #pragma unroll
            for (int k = 0; k < 8; ++k) keys[0][k] = x_value_2[k];
            sort_rows<32, 1, 32, true>(keys, NoSlots{});
            Vector<int, 8> x_sorted;
            #pragma unroll
            for (int k = 0; k < 8; ++k) x_sorted[k] = keys[0][k];
            Vector<int, 4> buffer_value[2];

            // tile [256]: element = 4 * thread + 128 * run + k;  run < 2, k < 4
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // i = tl.arange(0, B)                                        async_partitions.py:53
                const int i_3 = 4 * thread + 128 * run;
                // tl.store(out + i, tl.sort(tl.load(x + i), descending= ...  async_partitions.py:47
                #pragma unroll
                for (int k = 0; k < 4; ++k) buffer_value[run][k] = shared.buffer[255 - i_3 - k];
            }
            Vector<int, 8> buffer_converted;
            int received[8];
            received[0] = shuffle_from(thread & 1 ? buffer_value[1][0] : buffer_value[0][0], thread % 16 * 2 + thread / 16);
            received[1] = shuffle_from(thread & 1 ? buffer_value[1][1] : buffer_value[0][1], thread % 16 * 2 + thread / 16);
            received[2] = shuffle_from(thread & 1 ? buffer_value[1][2] : buffer_value[0][2], thread % 16 * 2 + thread / 16);
            received[3] = shuffle_from(thread & 1 ? buffer_value[1][3] : buffer_value[0][3], thread % 16 * 2 + thread / 16);
            received[4] = shuffle_from(thread & 1 ? buffer_value[0][0] : buffer_value[1][0], (thread % 16 * 2 + thread / 16) ^ 1);
            received[5] = shuffle_from(thread & 1 ? buffer_value[0][1] : buffer_value[1][1], (thread % 16 * 2 + thread / 16) ^ 1);
            received[6] = shuffle_from(thread & 1 ? buffer_value[0][2] : buffer_value[1][2], (thread % 16 * 2 + thread / 16) ^ 1);
            received[7] = shuffle_from(thread & 1 ? buffer_value[0][3] : buffer_value[1][3], (thread % 16 * 2 + thread / 16) ^ 1);
            buffer_converted[0] = thread & 16 ? received[4] : received[0];
            buffer_converted[1] = thread & 16 ? received[5] : received[1];
            buffer_converted[2] = thread & 16 ? received[6] : received[2];
            buffer_converted[3] = thread & 16 ? received[7] : received[3];
            buffer_converted[4] = thread & 16 ? received[0] : received[4];
            buffer_converted[5] = thread & 16 ? received[1] : received[5];
            buffer_converted[6] = thread & 16 ? received[2] : received[6];
            buffer_converted[7] = thread & 16 ? received[3] : received[7];
            Vector<int, 8> ordered_value;
            #pragma unroll
            for (int k = 0; k < 8; ++k) ordered_value[k] = x_sorted[k] + buffer_converted[k];
            store_vector(ordered + i_2, ordered_value);
        }
        all_warps_barrier();  // all partitions are done
        return;
    }

    const int thread = threadIdx.x;

    // i = tl.arange(0, B)                                                    async_partitions.py:53
    const int i = 2 * thread;
    Vector<int, 2> packed;
    #pragma unroll
    for (int k = 0; k < 2; ++k) packed[k] = (i + k) * n;

    // tl.store(tle.gpu.local_ptr(buffer), i * n)                             async_partitions.py:55
    store_vector(&shared.buffer[2 * thread], packed);
    // factor = tl.load(x) + 1                                                async_partitions.py:56
    const int x_value = *x;
    // total, row = tle.gpu.warp_specialize(                                  async_partitions.py:57
    if (thread == 0) shared.handed[0] = x_value;
    all_warps_barrier();  // the workers see what was done so far

    // statistics: warps 0 to 3
    registers_increase<240>();
    // i = tl.arange(0, B)                                                    async_partitions.py:53
    const int i_2 = thread % 64 * 4;

    // row = tl.load(x + tl.arange(0, B)) + offset                            async_partitions.py:19
    const Vector<int, 4> x_value_2 = load_vector<4>(x + i_2);
    Vector<int, 4> row;
    #pragma unroll
    for (int k = 0; k < 4; ++k) row[k] = x_value_2[k] + n;

    // return tl.sum(row), tl.sort(row)                                       async_partitions.py:20
    int row_sum = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) row_sum += row[k];
    row_sum = __reduce_add_sync(0xffffffffu, row_sum);
    if ((thread & 95) == 0) shared.sum_slots[thread / 32 % 2] = row_sum;
    default_warps_barrier();  // the partial results of all warps are in their slots
    row_sum = shared.sum_slots[0];
    #pragma unroll
    for (int part = 1; part < 2; ++part)
        row_sum += shared.sum_slots[part];
    int keys[1][4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) keys[0][k] = row[k];
    sort_rows<64, 1, 64, false>(keys, PartitionSlots<int, 4, 128, 0, default_warps_barrier>{shared.exchanged_keys});
    Vector<int, 4> row_sorted;
    #pragma unroll
    for (int k = 0; k < 4; ++k) row_sorted[k] = keys[0][k];
    if (thread < 64) {
        Vector<int, 4> packed_2;
        #pragma unroll
        for (int k = 0; k < 4; ++k) packed_2[k] = row_sorted[k];
        store_vector(&shared.exchange[thread % 64 * 4], packed_2);
    }
    default_warps_barrier();  // the whole tile is in shared memory
    Vector<int, 2> converted;
    const Vector<int, 2> unpacked = load_vector<2>(&shared.exchange[2 * thread]);
    #pragma unroll
    for (int k = 0; k < 2; ++k) converted[k] = unpacked[k];
    all_warps_barrier();  // all partitions are done

    // tl.store(out + i, row + total)                                         async_partitions.py:67
    Vector<int, 2> out_value;
    #pragma unroll
    for (int k = 0; k < 2; ++k) out_value[k] = converted[k] + row_sum;
    store_vector(out + i, out_value);
}
