// defines: lanes_scan
// needs: shuffle_previous
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
// defines: warp_exclusive_sum
// needs: lanes_scan shuffle_previous shuffle_from
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
// defines: cta_exclusive_sum
// needs: warp_exclusive_sum
// Exclusive prefix sums of one value per thread over the first WARPS warps, which the others repeat, in the order of
// threads (with REVERSE from the last down), and the sum of all in `total`. Called by all threads. Contains one CTA
// barrier, between writing and reading the slots, one for each warp; another one has to follow before they are written
// again. After it every warp sums the totals of the warps for itself, which saves a second barrier.
template <int WARPS, bool REVERSE, typename T>
__device__ __forceinline__ T cta_exclusive_sum(T value, T& total, T* slots)
{
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    T of_warp;
    const T before = warp_exclusive_sum<32, REVERSE>(value, of_warp);
    if (lane == 0 && warp < WARPS) slots[warp] = of_warp;
    __syncthreads();
    const T earlier = warp_exclusive_sum<WARPS, REVERSE>(slots[lane % WARPS], total);
    return static_cast<T>(shuffle_from(earlier, warp % WARPS) + before);
}
// defines: cta_exclusive_integer_sum
// needs: lanes_scan
// Exclusive prefix sums of one 32-bit integer per thread over the WARPS warps of a CTA, in the order of threads (with REVERSE
// from the last down), and the sum of all in `total`. Called by all threads. Contains one CTA barrier, between writing and
// reading the slots, one for each warp; another one has to follow before they are written again. After it every warp adds
// the totals of those before it, and of all, by one instruction each (PTX ISA, redux.sync).
template <int WARPS, bool REVERSE, typename T>
__device__ __forceinline__ T cta_exclusive_integer_sum(T value, T& total, T* slots)
{
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const T inclusive = lanes_scan<32, false>(value, [](T a, T b) -> T { return a + b; });
    if (lane == 31) slots[warp] = inclusive;
    __syncthreads();
    const T of_warp = lane < WARPS ? slots[lane] : 0;
    const T earlier = __reduce_add_sync(0xffffffffu, lane < warp ? of_warp : 0);
    total = __reduce_add_sync(0xffffffffu, of_warp);
    return REVERSE ? total - earlier - inclusive : earlier + inclusive - value;
}
// defines: partition_exclusive_sum
// needs: warp_exclusive_sum
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
