// defines: argmax_takes
// Whether element j with value b, not i with value a, is the maximum: NaN loses against everything; of equal values
// the one with the smaller index wins (TIE_LEFT), or the larger.
template <bool TIE_LEFT, typename T>
__device__ __forceinline__ bool argmax_takes(T a, int i, T b, int j)
{
    if (b > a) return true;
    const bool nan_a = a != a;
    const bool nan_b = b != b;
    if (nan_a != nan_b) return nan_a;
    return (a == b || nan_a) && (TIE_LEFT ? j < i : j > i);
}
// defines: argmin_takes
// Whether element j with value b, not i with value a, is the minimum: NaN loses against everything; of equal values
// the one with the smaller index wins (TIE_LEFT), or the larger.
template <bool TIE_LEFT, typename T>
__device__ __forceinline__ bool argmin_takes(T a, int i, T b, int j)
{
    if (b < a) return true;
    const bool nan_a = a != a;
    const bool nan_b = b != b;
    if (nan_a != nan_b) return nan_a;
    return (a == b || nan_a) && (TIE_LEFT ? j < i : j > i);
}
