// defines: add_fits
// Whether `a + b` fits in T, an integer of at most 32 bits: computed in 64, it survives the conversion to T.
template <typename T>
__device__ __forceinline__ bool add_fits(T a, T b)
{
    const auto exact = static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b);
    return static_cast<unsigned long long>(static_cast<T>(exact)) == exact;
}
// defines: sub_fits
// Whether `a - b` fits in T, an integer of at most 32 bits: computed in 64, it survives the conversion to T.
template <typename T>
__device__ __forceinline__ bool sub_fits(T a, T b)
{
    const auto exact = static_cast<unsigned long long>(a) - static_cast<unsigned long long>(b);
    return static_cast<unsigned long long>(static_cast<T>(exact)) == exact;
}
// defines: mul_fits
// Whether `a * b` fits in T, an integer of at most 32 bits: computed in 64, it survives the conversion to T.
template <typename T>
__device__ __forceinline__ bool mul_fits(T a, T b)
{
    const auto exact = static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b);
    return static_cast<unsigned long long>(static_cast<T>(exact)) == exact;
}
