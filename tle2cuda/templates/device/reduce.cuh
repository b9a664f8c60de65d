// defines: lanes_all_reduce
// needs: shuffle_xor
// Reduce across the lanes of a warp that differ in the bits of MASK by a commutative function; all of them receive the
// result. Called by whole warps.
template <int MASK, typename T, typename Combine>
__device__ __forceinline__ T lanes_all_reduce(T value, Combine combine)
{
    if constexpr (MASK != 0) {
        value = combine(value, shuffle_xor<MASK & -MASK>(value));
        value = lanes_all_reduce<MASK & (MASK - 1)>(value, combine);
    }
    return value;
}
// defines: lanes_all_reduce_in_order
// needs: shuffle_xor
// Reduce across the lanes of a warp that differ in the bits of MASK; all of them receive the result. The value of the
// lower lane is always the first operand, so that every lane computes the same. Called by whole warps.
template <int MASK, typename T, typename Combine>
__device__ __forceinline__ T lanes_all_reduce_in_order(T value, Combine combine)
{
    if constexpr (MASK != 0) {
        constexpr int LOWEST = MASK & -MASK;
        const T other = shuffle_xor<LOWEST>(value);
        const bool is_upper = threadIdx.x & LOWEST;
        value = combine(is_upper ? other : value, is_upper ? value : other);
        value = lanes_all_reduce_in_order<MASK & (MASK - 1)>(value, combine);
    }
    return value;
}
// defines: warp_all_reduce
// Reduce across the 32 lanes of a warp by a commutative function; every lane receives the result. Called by whole warps.
template <typename T, typename Combine>
__device__ __forceinline__ T warp_all_reduce(T value, Combine combine)
{
    #pragma unroll
    for (int lane_mask = 16; lane_mask > 0; lane_mask >>= 1)
        value = combine(value, static_cast<T>(__shfl_xor_sync(0xffffffffu, value, lane_mask)));
    return value;
}
// defines: warps_all_reduce
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
// defines: cta_all_reduce
// needs: warp_all_reduce
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
// defines: partition_all_reduce
// needs: warp_all_reduce
// Reduce across the WARPS warps of a partition by a commutative function, through one shared slot per warp; every thread
// receives the result. Called by all threads of the partition, each with its number in it; they meet at `barrier` between
// writing and reading the slots, and have to meet again before the slots are written again.
template <int WARPS, typename T, typename Slot, typename Combine, typename Barrier>
__device__ __forceinline__ T partition_all_reduce(T value, Slot (&slots)[WARPS], Combine combine, int thread, Barrier barrier)
{
    value = warp_all_reduce(value, combine);
    if (thread % 32 == 0) slots[thread / 32] = value;
    barrier();
    value = slots[0];
    #pragma unroll
    for (int warp = 1; warp < WARPS; ++warp) value = combine(value, static_cast<T>(slots[warp]));
    return value;
}
