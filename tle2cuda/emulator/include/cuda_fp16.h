// Stands in for CUDA's cuda_fp16.h.
#pragma once

#include "tle2cuda_emulator/small_float.h"

struct alignas(2) __half {
    uint16_t bits;

    __half() = default;
    TLE2CUDA_INLINE __half(float value) : bits(tle2cuda_emulator::half_from_float(value)) {}
    TLE2CUDA_INLINE __half(double value) : bits(static_cast<uint16_t>(tle2cuda_emulator::Half::round(value))) {}
    TLE2CUDA_INLINE __half(int value) : __half(static_cast<double>(value)) {}
    TLE2CUDA_INLINE __half(unsigned value) : __half(static_cast<double>(value)) {}
    TLE2CUDA_INLINE __half(long long value) : __half(static_cast<double>(value)) {}
    TLE2CUDA_INLINE __half(unsigned long long value) : __half(static_cast<double>(value)) {}
    TLE2CUDA_INLINE __half(short value) : __half(static_cast<float>(value)) {}
    TLE2CUDA_INLINE __half(unsigned short value) : __half(static_cast<float>(value)) {}
    TLE2CUDA_INLINE operator float() const { return tle2cuda_emulator::half_to_float(bits); }
    TLE2CUDA_INLINE explicit operator bool() const { return (bits & 0x7fffu) != 0; }

    static TLE2CUDA_INLINE __half of_bits(uint16_t bits)
    {
        __half result;
        result.bits = bits;
        return result;
    }
};
typedef __half half;

TLE2CUDA_INLINE float __half2float(__half a) { return tle2cuda_emulator::half_to_float(a.bits); }
TLE2CUDA_INLINE __half __float2half(float a) { return __half::of_bits(tle2cuda_emulator::half_from_float(a)); }
TLE2CUDA_INLINE __half __float2half_rn(float a) { return __float2half(a); }
TLE2CUDA_INLINE __half __float2half_rz(float a)
{
    return __half::of_bits(static_cast<uint16_t>(tle2cuda_emulator::Half::round(static_cast<double>(a), true)));
}
TLE2CUDA_INLINE __half __double2half(double a) { return __half(a); }
TLE2CUDA_INLINE __half __int2half_rn(int a) { return __half(a); }
TLE2CUDA_INLINE __half __uint2half_rn(unsigned a) { return __half(a); }
TLE2CUDA_INLINE __half __ll2half_rn(long long a) { return __half(a); }
TLE2CUDA_INLINE __half __short2half_rn(short a) { return __half(a); }
TLE2CUDA_INLINE int __half2int_rz(__half a) { return __float2int_rz(__half2float(a)); }
TLE2CUDA_INLINE int __half2int_rn(__half a) { return __float2int_rn(__half2float(a)); }
TLE2CUDA_INLINE unsigned short __half_as_ushort(__half a) { return a.bits; }
TLE2CUDA_INLINE short __half_as_short(__half a) { return static_cast<short>(a.bits); }
TLE2CUDA_INLINE __half __ushort_as_half(unsigned short a) { return __half::of_bits(a); }
TLE2CUDA_INLINE __half __short_as_half(short a) { return __half::of_bits(static_cast<uint16_t>(a)); }

TLE2CUDA_SMALL_FLOAT(__half, Half, __half2float, __float2half)
TLE2CUDA_SMALL_FLOAT_PAIR(__half, __half2)
typedef __half2 half2;

TLE2CUDA_INLINE __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
TLE2CUDA_INLINE __half2 make_half2(__half a, __half b) { return __half2(a, b); }
TLE2CUDA_INLINE __half2 __half2half2(__half a) { return __half2(a, a); }
TLE2CUDA_INLINE __half2 __float2half2_rn(float a) { return __half2half2(__float2half(a)); }
TLE2CUDA_INLINE __half2 __floats2half2_rn(float a, float b) { return __half2(__float2half(a), __float2half(b)); }
TLE2CUDA_INLINE __half2 __float22half2_rn(float2 a) { return __floats2half2_rn(a.x, a.y); }
TLE2CUDA_INLINE float2 __half22float2(__half2 a) { return make_float2(__half2float(a.x), __half2float(a.y)); }
TLE2CUDA_INLINE __half __low2half(__half2 a) { return a.x; }
TLE2CUDA_INLINE __half __high2half(__half2 a) { return a.y; }
TLE2CUDA_INLINE float __low2float(__half2 a) { return __half2float(a.x); }
TLE2CUDA_INLINE float __high2float(__half2 a) { return __half2float(a.y); }

namespace tle2cuda_emulator {
template <>
struct ElementTypeOf<__half> { static constexpr ElementType VALUE = TYPE_F16; };
}  // namespace tle2cuda_emulator

TLE2CUDA_ATOMIC(atomicAdd, ATOMIC_ADD, __half)
