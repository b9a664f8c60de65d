// Device math in the global namespace: integer intrinsics, bit casts, conversions, float functions and intrinsics.
// The approximate intrinsics are computed more exactly than the GPU does, inside the errors that CUDA documents (CUDA C++
// Programming Guide, "Mathematical Functions"); what flushes denormals there does so here.
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmath>
#include <cstdlib>

#include "abi.h"
#include "keywords.h"
#include "numerics.h"
#include "vector_types.h"

using std::abs;

// ---- Minimum and maximum ----

#define TLE2CUDA_EXTREMES(type)                                                                                    \
    TLE2CUDA_INLINE type min(type a, type b) { return b < a ? b : a; }                                             \
    TLE2CUDA_INLINE type max(type a, type b) { return a < b ? b : a; }
#define TLE2CUDA_MIXED_EXTREMES(a_type, b_type, type)                                                              \
    TLE2CUDA_INLINE type min(a_type a, b_type b) { return min(static_cast<type>(a), static_cast<type>(b)); }       \
    TLE2CUDA_INLINE type max(a_type a, b_type b) { return max(static_cast<type>(a), static_cast<type>(b)); }

TLE2CUDA_EXTREMES(int)
TLE2CUDA_EXTREMES(unsigned)
TLE2CUDA_EXTREMES(long)
TLE2CUDA_EXTREMES(unsigned long)
TLE2CUDA_EXTREMES(long long)
TLE2CUDA_EXTREMES(unsigned long long)
TLE2CUDA_MIXED_EXTREMES(int, unsigned, unsigned)
TLE2CUDA_MIXED_EXTREMES(unsigned, int, unsigned)
TLE2CUDA_MIXED_EXTREMES(long long, unsigned long long, unsigned long long)
TLE2CUDA_MIXED_EXTREMES(unsigned long long, long long, unsigned long long)

namespace tle2cuda_emulator {

// The GPU's minimum ignores one NaN and holds -0 for smaller than +0; C leaves the latter open.
template <class T>
TLE2CUDA_INLINE T float_minimum(T a, T b)
{
    if (a != a) return b;
    if (b != b) return a;
    return a < b || (a == b && signbit(a)) ? a : b;
}
template <class T>
TLE2CUDA_INLINE T float_maximum(T a, T b)
{
    if (a != a) return b;
    if (b != b) return a;
    return a > b || (a == b && !signbit(a)) ? a : b;
}
TLE2CUDA_INLINE float flushed(float x) { return fabsf(x) < 1.17549435e-38f ? copysignf(0.0f, x) : x; }

}  // namespace tle2cuda_emulator

#define fminf(a, b) (::tle2cuda_emulator::float_minimum<float>((a), (b)))
#define fmaxf(a, b) (::tle2cuda_emulator::float_maximum<float>((a), (b)))
#define fmin(a, b) (::tle2cuda_emulator::float_minimum<double>((a), (b)))
#define fmax(a, b) (::tle2cuda_emulator::float_maximum<double>((a), (b)))

TLE2CUDA_INLINE float min(float a, float b) { return fminf(a, b); }
TLE2CUDA_INLINE float max(float a, float b) { return fmaxf(a, b); }
TLE2CUDA_INLINE double min(double a, double b) { return fmin(a, b); }
TLE2CUDA_INLINE double max(double a, double b) { return fmax(a, b); }

// ---- Integers ----

TLE2CUDA_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
TLE2CUDA_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
TLE2CUDA_INLINE int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
TLE2CUDA_INLINE int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
TLE2CUDA_INLINE int __ffs(int x) { return __builtin_ffs(x); }
TLE2CUDA_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned long long __brevll(unsigned long long x)
{
    unsigned long long result = 0;
    for (int bit = 0; bit < 64; ++bit) result |= (x >> bit & 1) << (63 - bit);
    return result;
}
inline unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }
TLE2CUDA_INLINE int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
TLE2CUDA_INLINE unsigned __umulhi(unsigned a, unsigned b)
{
    return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
TLE2CUDA_INLINE long long __mul64hi(long long a, long long b)
{
    return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
TLE2CUDA_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
TLE2CUDA_INLINE int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
TLE2CUDA_INLINE unsigned __sad(int a, int b, unsigned c)
{
    const long long difference = static_cast<long long>(a) - b;
    return static_cast<unsigned>(difference < 0 ? -difference : difference) + c;
}
TLE2CUDA_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)
{
    const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) result |= static_cast<unsigned>(bytes >> (8 * (selector >> 4 * i & 7)) & 255) << 8 * i;
    return result;
}
TLE2CUDA_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31) >> 32);
}
TLE2CUDA_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}

// ---- Bits ----

namespace tle2cuda_emulator {
template <class To, class From>
TLE2CUDA_INLINE To same_bits(From value)
{
    static_assert(sizeof(To) == sizeof(From), "the size stays");
    To result;
    memcpy(&result, &value, sizeof(To));
    return result;
}
}  // namespace tle2cuda_emulator

TLE2CUDA_INLINE int __float_as_int(float x) { return tle2cuda_emulator::same_bits<int>(x); }
TLE2CUDA_INLINE unsigned __float_as_uint(float x) { return tle2cuda_emulator::same_bits<unsigned>(x); }
TLE2CUDA_INLINE float __int_as_float(int x) { return tle2cuda_emulator::same_bits<float>(x); }
TLE2CUDA_INLINE float __uint_as_float(unsigned x) { return tle2cuda_emulator::same_bits<float>(x); }
TLE2CUDA_INLINE long long __double_as_longlong(double x) { return tle2cuda_emulator::same_bits<long long>(x); }
TLE2CUDA_INLINE double __longlong_as_double(long long x) { return tle2cuda_emulator::same_bits<double>(x); }
TLE2CUDA_INLINE int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
TLE2CUDA_INLINE int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
TLE2CUDA_INLINE double __hiloint2double(int high, int low)
{
    return __longlong_as_double(static_cast<long long>(static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 |
                                                       static_cast<unsigned>(low)));
}

// ---- Rounded arithmetic ----

#define TLE2CUDA_ROUNDED(suffix, direction)                                                                                 \
    TLE2CUDA_INLINE float __fadd_##suffix(float a, float b)                                                                 \
    {                                                                                                                       \
        return tle2cuda_emulator::tle2cuda_rounded_float(tle2cuda_emulator::ROUNDED_ADD, direction, a, b, 0);              \
    }                                                                                                                       \
    TLE2CUDA_INLINE float __fsub_##suffix(float a, float b)                                                                 \
    {                                                                                                                       \
        return tle2cuda_emulator::tle2cuda_rounded_float(tle2cuda_emulator::ROUNDED_SUB, direction, a, b, 0);              \
    }                                                                                                                       \
    TLE2CUDA_INLINE float __fmul_##suffix(float a, float b)                                                                 \
    {                                                                                                                       \
        return tle2cuda_emulator::tle2cuda_rounded_float(tle2cuda_emulator::ROUNDED_MUL, direction, a, b, 0);              \
    }                                                                                                                       \
    TLE2CUDA_INLINE float __fdiv_##suffix(float a, float b)                                                                 \
    {                                                                                                                       \
        return tle2cuda_emulator::tle2cuda_rounded_float(tle2cuda_emulator::ROUNDED_DIV, direction, a, b, 0);              \
    }                                                                                                                       \
    TLE2CUDA_INLINE float __fmaf_##suffix(float a, float b, float c)                                                        \
    {                                                                                                                       \
        return tle2cuda_emulator::tle2cuda_rounded_float(tle2cuda_emulator::ROUNDED_FMA, direction, a, b, c);              \
    }                                                                                                                       \
    TLE2CUDA_INLINE float __fsqrt_##suffix(float a)                                                                         \
    {                                                                                                                       \
        return tle2cuda_emulator::tle2cuda_rounded_float(tle2cuda_emulator::ROUNDED_SQRT, direction, a, 0, 0);             \
    }                                                                                                                       \
    TLE2CUDA_INLINE double __dadd_##suffix(double a, double b)                                                              \
    {                                                                                                                       \
        return tle2cuda_emulator::tle2cuda_rounded_double(tle2cuda_emulator::ROUNDED_ADD, direction, a, b, 0);             \
    }                                                                                                                       \
    TLE2CUDA_INLINE double __dsub_##suffix(double a, double b)                                                              \
    {                                                                                                                       \
        return tle2cuda_emulator::tle2cuda_rounded_double(tle2cuda_emulator::ROUNDED_SUB, direction, a, b, 0);             \
    }                                                                                                                       \
    TLE2CUDA_INLINE double __dmul_##suffix(double a, double b)                                                              \
    {                                                                                                                       \
        return tle2cuda_emulator::tle2cuda_rounded_double(tle2cuda_emulator::ROUNDED_MUL, direction, a, b, 0);             \
    }                                                                                                                       \
    TLE2CUDA_INLINE double __ddiv_##suffix(double a, double b)                                                              \
    {                                                                                                                       \
        return tle2cuda_emulator::tle2cuda_rounded_double(tle2cuda_emulator::ROUNDED_DIV, direction, a, b, 0);             \
    }                                                                                                                       \
    TLE2CUDA_INLINE double __fma_##suffix(double a, double b, double c)                                                     \
    {                                                                                                                       \
        return tle2cuda_emulator::tle2cuda_rounded_double(tle2cuda_emulator::ROUNDED_FMA, direction, a, b, c);             \
    }                                                                                                                       \
    TLE2CUDA_INLINE double __dsqrt_##suffix(double a)                                                                       \
    {                                                                                                                       \
        return tle2cuda_emulator::tle2cuda_rounded_double(tle2cuda_emulator::ROUNDED_SQRT, direction, a, 0, 0);            \
    }                                                                                                                       \
    TLE2CUDA_INLINE float __double2float_##suffix(double a)                                                                 \
    {                                                                                                                       \
        return tle2cuda_emulator::tle2cuda_rounded_narrow(a, direction);                                                    \
    }

TLE2CUDA_ROUNDED(rn, tle2cuda_emulator::ROUND_NEAREST)
TLE2CUDA_ROUNDED(rz, tle2cuda_emulator::ROUND_ZERO)
TLE2CUDA_ROUNDED(ru, tle2cuda_emulator::ROUND_UP)
TLE2CUDA_ROUNDED(rd, tle2cuda_emulator::ROUND_DOWN)
#undef TLE2CUDA_ROUNDED

// ---- Conversions: the GPU's saturate (more in device_functions.h) ----

namespace tle2cuda_emulator {
template <class To>
TLE2CUDA_INLINE To saturated(double rounded, double lowest, double beyond)
{
    if (rounded != rounded) return 0;
    if (rounded < lowest) return static_cast<To>(lowest);
    if (rounded >= beyond) return static_cast<To>(~(lowest < 0 ? static_cast<To>(1) << (sizeof(To) * 8 - 1) : static_cast<To>(0)));
    return static_cast<To>(rounded);
}
}  // namespace tle2cuda_emulator

TLE2CUDA_INLINE double __int2double_rn(int x) { return x; }
TLE2CUDA_INLINE double __uint2double_rn(unsigned x) { return x; }

// ---- Intrinsics ----

TLE2CUDA_INLINE float __expf(float x) { return tle2cuda_emulator::flushed(static_cast<float>(exp(static_cast<double>(x)))); }
TLE2CUDA_INLINE float __exp10f(float x) { return static_cast<float>(exp10(static_cast<double>(x))); }
TLE2CUDA_INLINE float __logf(float x) { return static_cast<float>(log(static_cast<double>(x))); }
TLE2CUDA_INLINE float __log2f(float x) { return static_cast<float>(log2(static_cast<double>(x))); }
TLE2CUDA_INLINE float __log10f(float x) { return static_cast<float>(log10(static_cast<double>(x))); }
TLE2CUDA_INLINE float __sinf(float x) { return static_cast<float>(sin(static_cast<double>(x))); }
TLE2CUDA_INLINE float __cosf(float x) { return static_cast<float>(cos(static_cast<double>(x))); }
TLE2CUDA_INLINE float __tanf(float x) { return static_cast<float>(tan(static_cast<double>(x))); }
TLE2CUDA_INLINE float __powf(float x, float y) { return static_cast<float>(pow(static_cast<double>(x), static_cast<double>(y))); }
TLE2CUDA_INLINE float __fdividef(float a, float b)
{
    // CUDA documents 0 for divisors between 2^126 and 2^128.
    return fabsf(b) > 8.507059e37f && fabsf(b) <= 3.40282347e38f && isfinite(a) ? copysignf(0.0f, a * copysignf(1.0f, b)) : a / b;
}
TLE2CUDA_INLINE float __frcp_rn(float x) { return 1.0f / x; }
TLE2CUDA_INLINE float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
TLE2CUDA_INLINE float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
TLE2CUDA_INLINE float rsqrtf(float x) { return __frsqrt_rn(x); }
TLE2CUDA_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
TLE2CUDA_INLINE float rcbrtf(float x) { return static_cast<float>(1.0 / cbrt(static_cast<double>(x))); }
TLE2CUDA_INLINE float fdividef(float a, float b) { return a / b; }

namespace tle2cuda_emulator {
// Sine of a number of half turns and of right angles more: the nearest right angles are taken off exactly.
inline double sine_of_turns(double turn, int right_angles)
{
    const double nearest = nearbyint(2 * turn);
    const double rest = 3.14159265358979323846 * (turn - nearest / 2);
    const int quadrant = (static_cast<int>(nearest) + right_angles) & 3;
    const double value = quadrant & 1 ? cos(rest) : sin(rest);
    return quadrant & 2 ? -value : value;
}
}  // namespace tle2cuda_emulator
inline double sinpi(double x)
{
    const double turn = fmod(x, 2.0);
    if (turn != turn) return turn;
    return turn == trunc(turn) ? copysign(0.0, x) : tle2cuda_emulator::sine_of_turns(turn, 0);
}
inline double cospi(double x)
{
    const double turn = fabs(fmod(x, 2.0));
    if (turn != turn) return turn;
    return turn == 0.5 || turn == 1.5 ? 0.0 : tle2cuda_emulator::sine_of_turns(turn, 1);
}
inline float sinpif(float x) { return static_cast<float>(sinpi(static_cast<double>(x))); }
inline float cospif(float x) { return static_cast<float>(cospi(static_cast<double>(x))); }

// The inverse of erf: a start from the central and tail expansions, then Newton's steps on erf or, in the tail, erfc.
inline double erfinv(double y)
{
    const double magnitude = fabs(y);
    if (!(magnitude <= 1)) return __builtin_nan("");
    if (magnitude == 1) return copysign(__builtin_inf(), y);
    if (magnitude == 0) return y;
    const double logarithm = log1p(-magnitude * magnitude);
    const double part = 4.3307467508 + logarithm / 2;  // Winitzki's approximation, a = 0.147
    double x = sqrt(sqrt(part * part - logarithm / 0.147) - part);
    for (int step = 0; step < 4; ++step) {
        const double slope = 1.1283791670955126 * exp(-x * x);
        const double error = magnitude < 0.5 ? erf(x) - magnitude : (1 - magnitude) - erfc(x);
        const double newton = error / slope;
        x -= newton / (1 + x * newton);
    }
    return copysign(x, y);
}
inline float erfinvf(float y) { return static_cast<float>(erfinv(static_cast<double>(y))); }
