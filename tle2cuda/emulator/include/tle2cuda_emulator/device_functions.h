// Functions of CUDA's math library that the host's lacks, and integer and conversion intrinsics. Float versions compute in
// double and round once.
#pragma once

#include <limits.h>
#include <math.h>

#include "abi.h"
#include "keywords.h"
#include "math.h"

// ---- Special functions ----

inline double erfcx(double x)
{
    if (!(fabs(x) < 26)) {
        if (!(x > 0)) return x < 0 ? __builtin_inf() : x;
        const double t = 0.5 / (x * x);  // the asymptotic series
        return (1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t * (1 - 9 * t))))) / (x * 1.7724538509055160273);
    }
    const double square = x * x;
    return exp(square) * (1 + fma(x, x, -square)) * erfc(x);
}

// Newton's iteration on the logarithm of erfc, which has about the same slope everywhere in the tail.
inline double erfcinv(double y)
{
    if (!(y >= 0 && y <= 2)) return __builtin_nan("");
    if (y >= 0.5 && y <= 1.5) return erfinv(1 - y);
    const double tail = y < 1 ? y : 2 - y;
    double x = __builtin_inf();
    if (tail > 0) {
        const double target = log(tail);
        x = sqrt(fmax(-target - 0.5 * log(fmax(-target, 0.7) * 3.14159265358979323846), 0.1));
        for (int step = 0; step < 6; ++step) {
            const double scaled = erfcx(x);
            x += (log(scaled) - x * x - target) * 0.88622692545275801365 * scaled;
        }
    }
    return y < 1 ? x : -x;
}

inline double normcdf(double x)
{
    // In the tail erfc magnifies the error of its argument, so what rounding it cut off counts too.
    const double half = 0.70710678118654752440, half_low = -4.833646656726457e-17;
    const double t = -x * half;
    const double lost = isfinite(t) ? -fma(x, half, t) - x * half_low : 0.0;
    return 0.5 * (erfc(t) - 1.1283791670955126 * exp(-t * t) * lost);
}
inline double normcdfinv(double p) { return -1.41421356237309504880 * erfcinv(2 * p); }

// Modified Bessel functions: the power series, or the trapezoid rule on the integral over a period, which converges faster
// than any power of the number of points.
inline double tle2cuda_modified_bessel(int order, double x)
{
    const double magnitude = fabs(x);
    double result;
    if (magnitude < 4) {
        double term = order == 0 ? 1 : magnitude / 2;
        result = term;
        for (int k = 1; k < 30; ++k) {
            term *= magnitude * magnitude / 4 / (k * (k + order));
            result += term;
        }
    } else if (magnitude < 720) {
        double sum = 0;
        for (int point = 0; point < 256; ++point) {
            const double theta = (point + 0.5) * (3.14159265358979323846 / 256), sine = sin(theta / 2);
            sum += exp(-2 * magnitude * sine * sine) * (order == 0 ? 1 : cos(theta));
        }
        result = exp(magnitude / 2) * (sum / 256) * exp(magnitude / 2);
    } else {
        result = magnitude * __builtin_inf();
    }
    return order == 0 ? result : copysign(result, x);
}
inline double cyl_bessel_i0(double x) { return tle2cuda_modified_bessel(0, x); }
inline double cyl_bessel_i1(double x) { return tle2cuda_modified_bessel(1, x); }

inline double rcbrt(double x) { return 1 / cbrt(x); }
inline double norm4d(double a, double b, double c, double d)
{
    if (isinf(a) || isinf(b) || isinf(c) || isinf(d)) return __builtin_inf();
    return hypot(hypot(a, b), hypot(c, d));
}
inline double norm3d(double a, double b, double c) { return norm4d(a, b, c, 0); }
inline double rhypot(double a, double b) { return 1 / hypot(a, b); }
inline double rnorm3d(double a, double b, double c) { return 1 / norm3d(a, b, c); }
inline double rnorm4d(double a, double b, double c, double d) { return 1 / norm4d(a, b, c, d); }

#define TLE2CUDA_IN_DOUBLE_1(name) \
    inline float name##f(float a) { return static_cast<float>(name(static_cast<double>(a))); }
#define TLE2CUDA_IN_DOUBLE_2(name) \
    inline float name##f(float a, float b) { return static_cast<float>(name(static_cast<double>(a), static_cast<double>(b))); }
#define TLE2CUDA_IN_DOUBLE_3(name)                                                                                     \
    inline float name##f(float a, float b, float c)                                                                    \
    {                                                                                                                  \
        return static_cast<float>(name(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c)));       \
    }
#define TLE2CUDA_IN_DOUBLE_4(name)                                                                                     \
    inline float name##f(float a, float b, float c, float d)                                                           \
    {                                                                                                                  \
        return static_cast<float>(                                                                                     \
            name(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c), static_cast<double>(d)));     \
    }
TLE2CUDA_IN_DOUBLE_1(erfcx)
TLE2CUDA_IN_DOUBLE_1(erfcinv)
TLE2CUDA_IN_DOUBLE_1(normcdf)
TLE2CUDA_IN_DOUBLE_1(normcdfinv)
TLE2CUDA_IN_DOUBLE_1(cyl_bessel_i0)
TLE2CUDA_IN_DOUBLE_1(cyl_bessel_i1)
TLE2CUDA_IN_DOUBLE_2(rhypot)
TLE2CUDA_IN_DOUBLE_3(norm3d)
TLE2CUDA_IN_DOUBLE_3(rnorm3d)
TLE2CUDA_IN_DOUBLE_4(norm4d)
TLE2CUDA_IN_DOUBLE_4(rnorm4d)
#undef TLE2CUDA_IN_DOUBLE_1
#undef TLE2CUDA_IN_DOUBLE_2
#undef TLE2CUDA_IN_DOUBLE_3
#undef TLE2CUDA_IN_DOUBLE_4

namespace tle2cuda_emulator {
// rcp.approx.ftz.f64: the upper half of the bits of the reciprocal of the upper half.
TLE2CUDA_INLINE double reciprocal_high(double x)
{
    constexpr unsigned long long upper = 0xffffffff00000000ull;
    const double high = same_bits<double>(same_bits<unsigned long long>(x) & upper);
    return same_bits<double>(same_bits<unsigned long long>(1.0 / high) & upper);
}
}  // namespace tle2cuda_emulator

// ---- Integers ----

TLE2CUDA_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
TLE2CUDA_INLINE unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }
TLE2CUDA_INLINE int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
TLE2CUDA_INLINE int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
TLE2CUDA_INLINE unsigned __uhadd(unsigned a, unsigned b) { return static_cast<unsigned>((0ull + a + b) >> 1); }
TLE2CUDA_INLINE unsigned __urhadd(unsigned a, unsigned b) { return static_cast<unsigned>((1ull + a + b) >> 1); }

// ---- Rounded arithmetic and conversions ----

#define TLE2CUDA_ROUNDED_MORE(suffix, direction)                                                                       \
    TLE2CUDA_INLINE double __drcp_##suffix(double a) { return __ddiv_##suffix(1.0, a); }                               \
    TLE2CUDA_INLINE float __int2float_##suffix(int x) { return __double2float_##suffix(x); }                           \
    TLE2CUDA_INLINE float __uint2float_##suffix(unsigned x) { return __double2float_##suffix(x); }                     \
    TLE2CUDA_INLINE float __ll2float_##suffix(long long x)                                                             \
    {                                                                                                                  \
        return tle2cuda_emulator::rounded_integer<float>(x < 0, x < 0 ? 0ull - x : x, direction);                      \
    }                                                                                                                  \
    TLE2CUDA_INLINE double __ll2double_##suffix(long long x)                                                           \
    {                                                                                                                  \
        return tle2cuda_emulator::rounded_integer<double>(x < 0, x < 0 ? 0ull - x : x, direction);                     \
    }                                                                                                                  \
    TLE2CUDA_INLINE float __ull2float_##suffix(unsigned long long x)                                                   \
    {                                                                                                                  \
        return tle2cuda_emulator::rounded_integer<float>(false, x, direction);                                         \
    }                                                                                                                  \
    TLE2CUDA_INLINE double __ull2double_##suffix(unsigned long long x)                                                 \
    {                                                                                                                  \
        return tle2cuda_emulator::rounded_integer<double>(false, x, direction);                                        \
    }

namespace tle2cuda_emulator {
// An integer as a float: its leading bits, and one more where the direction asks for it.
template <class T>
inline T rounded_integer(bool is_negative, unsigned long long magnitude, Rounding direction)
{
    constexpr int digits = sizeof(T) == 4 ? 24 : 53;
    const int bits = magnitude ? 64 - __builtin_clzll(magnitude) : 0;
    const int cut = bits > digits ? bits - digits : 0;
    const unsigned long long rest = magnitude & ((1ull << cut) - 1);
    unsigned long long kept = magnitude >> cut;
    if (rest != 0) {
        const unsigned long long half = 1ull << (cut - 1);
        const bool away = direction == ROUND_NEAREST ? rest > half || (rest == half && (kept & 1))
                          : direction == ROUND_UP    ? !is_negative
                          : direction == ROUND_DOWN  ? is_negative
                                                     : false;
        kept += away;
    }
    const T result = static_cast<T>(ldexp(static_cast<double>(kept), cut));
    return is_negative ? -result : result;
}

// A float with an integer's value as that integer: out of range saturates; NaN gives `nan`.
template <class To>
TLE2CUDA_INLINE To to_integer(double whole, double lowest, double beyond, To nan)
{
    return whole != whole ? nan : saturated<To>(whole, lowest, beyond);
}
}  // namespace tle2cuda_emulator

TLE2CUDA_ROUNDED_MORE(rn, tle2cuda_emulator::ROUND_NEAREST)
TLE2CUDA_ROUNDED_MORE(rz, tle2cuda_emulator::ROUND_ZERO)
TLE2CUDA_ROUNDED_MORE(ru, tle2cuda_emulator::ROUND_UP)
TLE2CUDA_ROUNDED_MORE(rd, tle2cuda_emulator::ROUND_DOWN)
#undef TLE2CUDA_ROUNDED_MORE
TLE2CUDA_INLINE float __frcp_rz(float x) { return __fdiv_rz(1.0f, x); }
TLE2CUDA_INLINE float __frcp_ru(float x) { return __fdiv_ru(1.0f, x); }
TLE2CUDA_INLINE float __frcp_rd(float x) { return __fdiv_rd(1.0f, x); }

// PTX ISA, cvt: NaN becomes 0 only from 32-bit floats to 32-bit integers.
#define TLE2CUDA_CONVERSIONS(suffix, function)                                                                         \
    TLE2CUDA_INLINE int __float2int_##suffix(float x)                                                                  \
    {                                                                                                                  \
        return tle2cuda_emulator::to_integer<int>(function(static_cast<double>(x)), -2147483648.0, 2147483648.0, 0);   \
    }                                                                                                                  \
    TLE2CUDA_INLINE unsigned __float2uint_##suffix(float x)                                                            \
    {                                                                                                                  \
        return tle2cuda_emulator::to_integer<unsigned>(function(static_cast<double>(x)), 0.0, 4294967296.0, 0u);       \
    }                                                                                                                  \
    TLE2CUDA_INLINE int __double2int_##suffix(double x)                                                                \
    {                                                                                                                  \
        return tle2cuda_emulator::to_integer<int>(function(x), -2147483648.0, 2147483648.0, INT_MIN);                  \
    }                                                                                                                  \
    TLE2CUDA_INLINE unsigned __double2uint_##suffix(double x)                                                          \
    {                                                                                                                  \
        return tle2cuda_emulator::to_integer<unsigned>(function(x), 0.0, 4294967296.0, 0x80000000u);                   \
    }                                                                                                                  \
    TLE2CUDA_INLINE long long __double2ll_##suffix(double x)                                                           \
    {                                                                                                                  \
        return tle2cuda_emulator::to_integer<long long>(                                                               \
            function(x), -9223372036854775808.0, 9223372036854775808.0, LLONG_MIN);                                    \
    }                                                                                                                  \
    TLE2CUDA_INLINE unsigned long long __double2ull_##suffix(double x)                                                 \
    {                                                                                                                  \
        return tle2cuda_emulator::to_integer<unsigned long long>(                                                      \
            function(x), 0.0, 18446744073709551616.0, 0x8000000000000000ull);                                          \
    }                                                                                                                  \
    TLE2CUDA_INLINE long long __float2ll_##suffix(float x) { return __double2ll_##suffix(x); }                         \
    TLE2CUDA_INLINE unsigned long long __float2ull_##suffix(float x) { return __double2ull_##suffix(x); }

TLE2CUDA_CONVERSIONS(rn, nearbyint)
TLE2CUDA_CONVERSIONS(rz, trunc)
TLE2CUDA_CONVERSIONS(ru, ceil)
TLE2CUDA_CONVERSIONS(rd, floor)
#undef TLE2CUDA_CONVERSIONS
