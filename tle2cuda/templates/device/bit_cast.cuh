// defines: bit_cast
// The same bits as another type of the same size.
template <typename To, typename From>
__device__ __forceinline__ To bit_cast(const From& value)
{
    static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
    To result;
    memcpy(&result, &value, sizeof(To));
    return result;
}
// defines: double_bits
// A double as the unsigned integer that 64-bit atomics take, and back.
__device__ __forceinline__ unsigned long long double_as_bits(double value)
{
    return static_cast<unsigned long long>(__double_as_longlong(value));
}
__device__ __forceinline__ double bits_as_double(unsigned long long bits)
{
    return __longlong_as_double(static_cast<long long>(bits));
}
