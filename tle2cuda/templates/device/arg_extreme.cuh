// defines: argmax_takes
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
// defines: argmin_takes
// Whether element j with value b, not i with value a, is the minimum: NaN loses against everything; of equal values
// the one with the smaller index wins (TIE_LEFT), or the larger. Without branches: lanes would go different ways.
template <bool TIE_LEFT, typename T>
__device__ __forceinline__ bool argmin_takes(T a, int i, T b, int j)
{
    const bool nan_a = a != a;
    const bool nan_b = b != b;
    const bool wins_tie = TIE_LEFT ? j < i : j > i;
    return (b < a) | (nan_a & !nan_b) | (wins_tie & ((a == b) | (nan_a & nan_b)));
}
// defines: maximum_key
// A float as an integer in the same order, but -0 equal to 0 and NaN before everything.
__device__ __forceinline__ int maximum_key(float value)
{
    const int bits = __float_as_int(value + 0.0f);
    return value != value ? -0x7fffffff - 1 : bits ^ ((bits >> 31) & 0x7fffffff);
}
// defines: warp_argmax
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
// defines: minimum_key
// A float as an integer in the same order, but -0 equal to 0 and NaN behind everything.
__device__ __forceinline__ int minimum_key(float value)
{
    const int bits = __float_as_int(value + 0.0f);
    return value != value ? 0x7fffffff : bits ^ ((bits >> 31) & 0x7fffffff);
}
// defines: warp_argmin
// The minimum of the values `item0` of the 32 lanes of a warp and its index `item1`, as argmin_takes finds it, by
// `key`, an integer of the value in the same order; every lane receives both. Called by whole warps.
template <bool TIE_LEFT, typename Items, typename Key>
__device__ __forceinline__ Items warp_argmin(Items items, Key key)
{
    const bool is_extreme = key == __reduce_min_sync(0xffffffffu, key);
    const int index = TIE_LEFT ? __reduce_min_sync(0xffffffffu, is_extreme ? items.item1 : 0x7fffffff)
                               : __reduce_max_sync(0xffffffffu, is_extreme ? items.item1 : -0x7fffffff - 1);
    const unsigned lanes = __ballot_sync(0xffffffffu, is_extreme && items.item1 == index);
    items.item0 = __shfl_sync(0xffffffffu, items.item0, __ffs(lanes) - 1);
    items.item1 = index;
    return items;
}
