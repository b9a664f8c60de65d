// Stands in for CUDA's cuda_bf16.h.
#pragma once

#include "tle2cuda_emulator/small_float.h"

struct alignas(2) __nv_bfloat16 {
    uint16_t bits;

    __nv_bfloat16() = default;
    TLE2CUDA_INLINE __nv_bfloat16(float value) : bits(tle2cuda_emulator::bfloat16_from_float(value)) {}
    TLE2CUDA_INLINE __nv_bfloat16(double value) : bits(static_cast<uint16_t>(tle2cuda_emulator::Bfloat16::round(value))) {}
    TLE2CUDA_INLINE __nv_bfloat16(int value) : __nv_bfloat16(static_cast<double>(value)) {}
    TLE2CUDA_INLINE __nv_bfloat16(unsigned value) : __nv_bfloat16(static_cast<double>(value)) {}
    TLE2CUDA_INLINE __nv_bfloat16(short value) : __nv_bfloat16(static_cast<float>(value)) {}
    TLE2CUDA_INLINE __nv_bfloat16(unsigned short value) : __nv_bfloat16(static_cast<float>(value)) {}
    TLE2CUDA_INLINE operator float() const { return tle2cuda_emulator::bfloat16_to_float(bits); }
    TLE2CUDA_INLINE explicit operator bool() const { return (bits & 0x7fffu) != 0; }

    static TLE2CUDA_INLINE __nv_bfloat16 of_bits(uint16_t bits)
    {
        __nv_bfloat16 result;
        result.bits = bits;
        return result;
    }
};
typedef __nv_bfloat16 nv_bfloat16;

TLE2CUDA_INLINE float __bfloat162float(__nv_bfloat16 a) { return tle2cuda_emulator::bfloat16_to_float(a.bits); }
TLE2CUDA_INLINE __nv_bfloat16 __float2bfloat16(float a)
{
    return __nv_bfloat16::of_bits(tle2cuda_emulator::bfloat16_from_float(a));
}
TLE2CUDA_INLINE __nv_bfloat16 __float2bfloat16_rn(float a) { return __float2bfloat16(a); }
TLE2CUDA_INLINE __nv_bfloat16 __float2bfloat16_rz(float a)
{
    return __nv_bfloat16::of_bits(static_cast<uint16_t>(tle2cuda_emulator::Bfloat16::round(static_cast<double>(a), true)));
}
TLE2CUDA_INLINE __nv_bfloat16 __double2bfloat16(double a) { return __nv_bfloat16(a); }
TLE2CUDA_INLINE __nv_bfloat16 __int2bfloat16_rn(int a) { return __nv_bfloat16(a); }
TLE2CUDA_INLINE __nv_bfloat16 __uint2bfloat16_rn(unsigned a) { return __nv_bfloat16(a); }
TLE2CUDA_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.bits; }
TLE2CUDA_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short a) { return __nv_bfloat16::of_bits(a); }

TLE2CUDA_SMALL_FLOAT(__nv_bfloat16, Bfloat16, __bfloat162float, __float2bfloat16)
TLE2CUDA_SMALL_FLOAT_PAIR(__nv_bfloat16, __nv_bfloat162)
typedef __nv_bfloat162 nv_bfloat162;

TLE2CUDA_INLINE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
TLE2CUDA_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __nv_bfloat162(a, a); }
TLE2CUDA_INLINE __nv_bfloat162 __floats2bfloat162_rn(float a, float b)
{
    return __nv_bfloat162(__float2bfloat16(a), __float2bfloat16(b));
}
TLE2CUDA_INLINE float2 __bfloat1622float2(__nv_bfloat162 a)
{
    return make_float2(__bfloat162float(a.x), __bfloat162float(a.y));
}

namespace tle2cuda_emulator {
template <>
struct ElementTypeOf<__nv_bfloat16> { static constexpr ElementType VALUE = TYPE_BF16; };
}  // namespace tle2cuda_emulator

TLE2CUDA_ATOMIC(atomicAdd, ATOMIC_ADD, __nv_bfloat16)
