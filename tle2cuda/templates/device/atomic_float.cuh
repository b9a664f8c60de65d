// defines: atomic_min_float
// Atomic minimum of floats; returns the old value. Floats of one sign order like their bits as integers: signed
// integers for a positive operand, unsigned and reversed for a negative one. Any scope up to the GPU's.
__device__ __forceinline__ float atomic_min_float(float* address, float value)
{
    if (__float_as_int(value) >= 0)
        return __int_as_float(atomicMin(reinterpret_cast<int*>(address), __float_as_int(value)));
    return __uint_as_float(atomicMax(reinterpret_cast<unsigned*>(address), __float_as_uint(value)));
}
// defines: atomic_min_double
// Atomic minimum of doubles, as for floats.
__device__ __forceinline__ double atomic_min_double(double* address, double value)
{
    const long long bits = __double_as_longlong(value);
    if (bits >= 0) return __longlong_as_double(atomicMin(reinterpret_cast<long long*>(address), bits));
    const unsigned long long old =
        atomicMax(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(bits));
    return __longlong_as_double(static_cast<long long>(old));
}
// defines: atomic_max_float
// Atomic maximum of floats; returns the old value. Floats of one sign order like their bits as integers: signed
// integers for a positive operand, unsigned and reversed for a negative one. Any scope up to the GPU's.
__device__ __forceinline__ float atomic_max_float(float* address, float value)
{
    if (__float_as_int(value) >= 0)
        return __int_as_float(atomicMax(reinterpret_cast<int*>(address), __float_as_int(value)));
    return __uint_as_float(atomicMin(reinterpret_cast<unsigned*>(address), __float_as_uint(value)));
}
// defines: atomic_max_double
// Atomic maximum of doubles, as for floats.
__device__ __forceinline__ double atomic_max_double(double* address, double value)
{
    const long long bits = __double_as_longlong(value);
    if (bits >= 0) return __longlong_as_double(atomicMax(reinterpret_cast<long long*>(address), bits));
    const unsigned long long old =
        atomicMin(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(bits));
    return __longlong_as_double(static_cast<long long>(old));
}
