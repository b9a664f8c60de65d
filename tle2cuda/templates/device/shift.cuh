// defines: shift_left
// `value << amount` for any amount: one outside [0, bits) shifts out everything, as the hardware does and C++ leaves open.
template <typename T>
__device__ __forceinline__ T shift_left(T value, T amount)
{
    constexpr unsigned BITS = 8 * sizeof(T);
    return static_cast<unsigned long long>(amount) < BITS ? static_cast<T>(value << amount) : T(0);
}
// defines: shift_right
// `value >> amount` for any amount: one outside [0, bits) leaves 0, of a negative value -1.
template <typename T>
__device__ __forceinline__ T shift_right(T value, T amount)
{
    constexpr unsigned BITS = 8 * sizeof(T);
    if (static_cast<unsigned long long>(amount) < BITS) return static_cast<T>(value >> amount);
    return T(-1) < T(0) ? static_cast<T>(value >> (BITS - 1)) : T(0);
}
