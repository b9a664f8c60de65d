// defines: add_wrapping
// `a + b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T add_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
}
// defines: sub_wrapping
// `a - b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T sub_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) - static_cast<unsigned long long>(b));
}
// defines: mul_wrapping
// `a * b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T mul_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
}
