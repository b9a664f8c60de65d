// defines: min_nan
// The smaller of two numbers, NaN when either is NaN (PTX ISA, min.NaN.f32; there is no such instruction for double).
template <typename T>
__device__ __forceinline__ T min_nan(T a, T b)
{
    if constexpr (sizeof(T) == sizeof(float)) {
        T result;
        asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
        return result;
    } else {
        return a != a ? a : b != b ? b : fmin(a, b);
    }
}
// twin:
template <typename T>
__device__ __forceinline__ T min_nan(T a, T b)
{
    if constexpr (sizeof(T) == sizeof(float))
        return tle2cuda_emulator::minimum_nan(a, b);
    else
        return a != a ? a : b != b ? b : fmin(a, b);
}
// defines: max_nan
// The larger of two numbers, NaN when either is NaN (PTX ISA, max.NaN.f32; there is no such instruction for double).
template <typename T>
__device__ __forceinline__ T max_nan(T a, T b)
{
    if constexpr (sizeof(T) == sizeof(float)) {
        T result;
        asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
        return result;
    } else {
        return a != a ? a : b != b ? b : fmax(a, b);
    }
}
// twin:
template <typename T>
__device__ __forceinline__ T max_nan(T a, T b)
{
    if constexpr (sizeof(T) == sizeof(float))
        return tle2cuda_emulator::maximum_nan(a, b);
    else
        return a != a ? a : b != b ? b : fmax(a, b);
}
