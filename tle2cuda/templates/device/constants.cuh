// defines: infinity
// Positive infinity.
__device__ __forceinline__ float infinity()
{
    return __int_as_float(0x7f800000);
}
// defines: infinity_double
// Positive infinity.
__device__ __forceinline__ double infinity_double()
{
    return __longlong_as_double(0x7ff0000000000000ll);
}
// defines: quiet_nan
// A NaN.
__device__ __forceinline__ float quiet_nan()
{
    return __int_as_float(0x7fc00000);
}
// defines: quiet_nan_double
// A NaN.
__device__ __forceinline__ double quiet_nan_double()
{
    return __longlong_as_double(0x7ff8000000000000ll);
}
