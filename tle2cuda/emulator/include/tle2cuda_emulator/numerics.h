// Small floats: bits of fp16, bf16 and the two fp8 formats from and to float and double, with correct rounding. Pure
// functions of bits, shared by the headers and by the runner's atomics.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef TLE2CUDA_INLINE
#define TLE2CUDA_INLINE inline __attribute__((always_inline))
#endif

namespace tle2cuda_emulator {

// A float format: a sign, EXPONENT bits, MANTISSA bits. With INFINITE the largest exponent holds infinity and NaN, as
// IEEE 754 has it; without it (fp8 e4m3) only the one pattern of all ones is NaN, and the rest are numbers.
template <int EXPONENT, int MANTISSA, bool INFINITE>
struct Format {
    static constexpr int BIAS = (1 << (EXPONENT - 1)) - 1;
    static constexpr unsigned SIGN = 1u << (EXPONENT + MANTISSA);
    static constexpr unsigned MAGNITUDE = SIGN - 1;
    static constexpr unsigned INFINITY_BITS = INFINITE ? ((1u << EXPONENT) - 1) << MANTISSA : MAGNITUDE;
    static constexpr unsigned LARGEST = INFINITY_BITS - 1;
    static constexpr unsigned NAN_BITS = MAGNITUDE;  // CUDA's canonical NaN: all ones

    static bool is_nan(unsigned bits) { return INFINITE ? (bits & MAGNITUDE) > INFINITY_BITS : (bits & MAGNITUDE) == MAGNITUDE; }

    static double value(unsigned bits)
    {
        const unsigned magnitude = bits & MAGNITUDE;
        const int exponent = static_cast<int>(magnitude >> MANTISSA);
        const unsigned fraction = magnitude & ((1u << MANTISSA) - 1);
        double result;
        if (is_nan(bits))
            result = __builtin_nan("");
        else if (INFINITE && magnitude == INFINITY_BITS)
            result = __builtin_inf();
        else if (exponent == 0)
            result = ldexp(static_cast<double>(fraction), 1 - BIAS - MANTISSA);
        else
            result = ldexp(static_cast<double>(fraction | 1u << MANTISSA), exponent - BIAS - MANTISSA);
        return bits & SIGN ? -result : result;
    }

    // Round to nearest, ties to even, or towards zero. What is too large becomes infinity (NaN where there is none), or
    // with `saturate` the largest number.
    static unsigned round(double value, bool toward_zero = false, bool saturate = false)
    {
        const unsigned sign = signbit(value) ? SIGN : 0;
        if (value != value) return NAN_BITS;
        double magnitude = fabs(value);
        if (magnitude == __builtin_inf()) return sign | (saturate ? LARGEST : INFINITE ? INFINITY_BITS : NAN_BITS);
        if (magnitude == 0) return sign;
        int exponent;
        frexp(magnitude, &exponent);  // magnitude = m * 2^exponent with 0.5 <= m < 1
        int unit = exponent - 1 - MANTISSA;  // exponent of the last place
        const int smallest = 1 - BIAS - MANTISSA;
        if (unit < smallest) unit = smallest;
        const double scaled = ldexp(magnitude, -unit);  // exact
        const double kept = toward_zero ? floor(scaled) : nearbyint(scaled);
        const uint64_t fraction = static_cast<uint64_t>(kept);
        // A fraction with a leading one adds it to the exponent's field, and a carry moves on to the next exponent.
        const uint64_t bits = (static_cast<uint64_t>(unit - smallest) << MANTISSA) + fraction;
        if (bits > LARGEST) {
            if (toward_zero || saturate) return sign | LARGEST;
            return sign | (INFINITE ? INFINITY_BITS : NAN_BITS);
        }
        return sign | static_cast<unsigned>(bits);
    }
};

using Half = Format<5, 10, true>;
using Bfloat16 = Format<8, 7, true>;
using Fp8E4M3 = Format<4, 3, false>;
using Fp8E5M2 = Format<5, 2, true>;

// The usual directions by whole-word operations: these are what loops over tiles call.
TLE2CUDA_INLINE uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}
TLE2CUDA_INLINE float bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

inline uint16_t half_from_float(float value)
{
    uint32_t bits = float_bits(value);
    const uint32_t sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return 0x7fff;
    if (bits >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and more round to infinity
    if (bits < 0x38800000u) {                                               // below 2^-14: a multiple of 2^-24
        const float scaled = bits_float(bits) * 16777216.0f;
        return static_cast<uint16_t>(sign | static_cast<uint32_t>(nearbyintf(scaled)));
    }
    bits += 0xfffu + (bits >> 13 & 1u);
    return static_cast<uint16_t>(sign | (bits - 0x38000000u) >> 13);
}

inline float half_to_float(uint16_t half)
{
    const uint32_t sign = (half & 0x8000u) << 16;
    const uint32_t magnitude = half & 0x7fffu;
    if (magnitude >= 0x7c00u) return bits_float(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    if (magnitude < 0x400u) return bits_float(sign | float_bits(static_cast<float>(magnitude) * 5.9604644775390625e-08f));
    return bits_float(sign | ((magnitude << 13) + 0x38000000u));
}

inline uint16_t bfloat16_from_float(float value)
{
    uint32_t bits = float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    bits += 0x7fffu + (bits >> 16 & 1u);
    return static_cast<uint16_t>(bits >> 16);
}
TLE2CUDA_INLINE float bfloat16_to_float(uint16_t bits) { return bits_float(static_cast<uint32_t>(bits) << 16); }

// a + b rounded to odd: the sum keeps, in its last bit, whether anything was lost, so that rounding it once more to a
// format at least two bits narrower gives what rounding the exact sum would.
inline double add_to_odd(double a, double b)
{
    const double sum = a + b;
    const double part = sum - a;
    const double lost = (a - (sum - part)) + (b - part);
    if (lost == 0 || lost != lost || !isfinite(sum)) return sum;
    int64_t bits;
    memcpy(&bits, &sum, 8);
    if (bits & 1) return sum;
    bits += (lost > 0) == (sum > 0) ? 1 : -1;
    double odd;
    memcpy(&odd, &bits, 8);
    return odd;
}

// a * b + c rounded once to a 16-bit float: the product of two such numbers is exact in double.
template <class Target>
inline unsigned fused(double a, double b, double c)
{
    return Target::round(add_to_odd(a * b, c));
}

}  // namespace tle2cuda_emulator
