// What `__half` and `__nv_bfloat16` share: arithmetic with one rounding, comparisons, conversions, packed pairs.
#pragma once

#include "atomics.h"
#include "math.h"
#include "numerics.h"

namespace tle2cuda_emulator {

// Sums and products of two 16-bit floats, rounded to double first, round to the same result as the exact ones would: double
// has more than twice their digits.

TLE2CUDA_INLINE double widened(uint16_t bits, Half*) { return static_cast<double>(half_to_float(bits)); }
TLE2CUDA_INLINE double widened(uint16_t bits, Bfloat16*) { return static_cast<double>(bfloat16_to_float(bits)); }

}  // namespace tle2cuda_emulator

// All functions of one type. FORMAT is its format, TO_FLOAT and FROM_FLOAT its own conversions.
#define TLE2CUDA_SMALL_FLOAT(type, FORMAT, TO_FLOAT, FROM_FLOAT)                                                             \
    TLE2CUDA_INLINE double tle2cuda_wide(type a)                                                                             \
    {                                                                                                                        \
        return tle2cuda_emulator::widened(a.bits, static_cast<tle2cuda_emulator::FORMAT*>(nullptr));                        \
    }                                                                                                                        \
    TLE2CUDA_INLINE type tle2cuda_narrow(double a, type)                                                                     \
    {                                                                                                                        \
        return type::of_bits(static_cast<uint16_t>(tle2cuda_emulator::FORMAT::round(a)));                                   \
    }                                                                                                                        \
    TLE2CUDA_INLINE type __hadd(type a, type b) { return tle2cuda_narrow(tle2cuda_wide(a) + tle2cuda_wide(b), a); }         \
    TLE2CUDA_INLINE type __hsub(type a, type b) { return tle2cuda_narrow(tle2cuda_wide(a) - tle2cuda_wide(b), a); }         \
    TLE2CUDA_INLINE type __hmul(type a, type b) { return tle2cuda_narrow(tle2cuda_wide(a) * tle2cuda_wide(b), a); }         \
    TLE2CUDA_INLINE type __hdiv(type a, type b) { return FROM_FLOAT(TO_FLOAT(a) / TO_FLOAT(b)); }                           \
    TLE2CUDA_INLINE type __hadd_rn(type a, type b) { return __hadd(a, b); }                                                 \
    TLE2CUDA_INLINE type __hsub_rn(type a, type b) { return __hsub(a, b); }                                                 \
    TLE2CUDA_INLINE type __hmul_rn(type a, type b) { return __hmul(a, b); }                                                 \
    TLE2CUDA_INLINE type __hfma(type a, type b, type c)                                                                      \
    {                                                                                                                        \
        return type::of_bits(static_cast<uint16_t>(tle2cuda_emulator::fused<tle2cuda_emulator::FORMAT>(                     \
            tle2cuda_wide(a), tle2cuda_wide(b), tle2cuda_wide(c))));                                                        \
    }                                                                                                                        \
    TLE2CUDA_INLINE type __hneg(type a) { return type::of_bits(static_cast<uint16_t>(a.bits ^ 0x8000u)); }                  \
    TLE2CUDA_INLINE type __habs(type a) { return type::of_bits(static_cast<uint16_t>(a.bits & 0x7fffu)); }                  \
    TLE2CUDA_INLINE bool __hisnan(type a) { return tle2cuda_emulator::FORMAT::is_nan(a.bits); }                             \
    TLE2CUDA_INLINE int __hisinf(type a)                                                                                     \
    {                                                                                                                        \
        return (a.bits & 0x7fffu) != tle2cuda_emulator::FORMAT::INFINITY_BITS ? 0 : a.bits >> 15 ? -1 : 1;                  \
    }                                                                                                                        \
    TLE2CUDA_INLINE bool __heq(type a, type b) { return TO_FLOAT(a) == TO_FLOAT(b); }                                       \
    TLE2CUDA_INLINE bool __hne(type a, type b) { return !__hisnan(a) && !__hisnan(b) && TO_FLOAT(a) != TO_FLOAT(b); }       \
    TLE2CUDA_INLINE bool __hlt(type a, type b) { return TO_FLOAT(a) < TO_FLOAT(b); }                                        \
    TLE2CUDA_INLINE bool __hle(type a, type b) { return TO_FLOAT(a) <= TO_FLOAT(b); }                                       \
    TLE2CUDA_INLINE bool __hgt(type a, type b) { return TO_FLOAT(a) > TO_FLOAT(b); }                                        \
    TLE2CUDA_INLINE bool __hge(type a, type b) { return TO_FLOAT(a) >= TO_FLOAT(b); }                                       \
    TLE2CUDA_INLINE type __hmin(type a, type b)                                                                              \
    {                                                                                                                        \
        return __hisnan(a) && __hisnan(b) ? type::of_bits(0x7fff) : FROM_FLOAT(fminf(TO_FLOAT(a), TO_FLOAT(b)));            \
    }                                                                                                                        \
    TLE2CUDA_INLINE type __hmax(type a, type b)                                                                              \
    {                                                                                                                        \
        return __hisnan(a) && __hisnan(b) ? type::of_bits(0x7fff) : FROM_FLOAT(fmaxf(TO_FLOAT(a), TO_FLOAT(b)));            \
    }                                                                                                                        \
    TLE2CUDA_INLINE type __hmin_nan(type a, type b)                                                                          \
    {                                                                                                                        \
        return __hisnan(a) || __hisnan(b) ? type::of_bits(0x7fff) : __hmin(a, b);                                           \
    }                                                                                                                        \
    TLE2CUDA_INLINE type __hmax_nan(type a, type b)                                                                          \
    {                                                                                                                        \
        return __hisnan(a) || __hisnan(b) ? type::of_bits(0x7fff) : __hmax(a, b);                                           \
    }                                                                                                                        \
    TLE2CUDA_INLINE type hfloor(type a) { return FROM_FLOAT(floorf(TO_FLOAT(a))); }                                         \
    TLE2CUDA_INLINE type hceil(type a) { return FROM_FLOAT(ceilf(TO_FLOAT(a))); }                                           \
    TLE2CUDA_INLINE type hrint(type a) { return FROM_FLOAT(nearbyintf(TO_FLOAT(a))); }                                      \
    TLE2CUDA_INLINE type htrunc(type a) { return FROM_FLOAT(truncf(TO_FLOAT(a))); }                                         \
    TLE2CUDA_INLINE type hsqrt(type a) { return FROM_FLOAT(sqrtf(TO_FLOAT(a))); }                                           \
    TLE2CUDA_INLINE type hrsqrt(type a) { return tle2cuda_narrow(1.0 / sqrt(tle2cuda_wide(a)), a); }                        \
    TLE2CUDA_INLINE type hrcp(type a) { return FROM_FLOAT(1.0f / TO_FLOAT(a)); }                                            \
    TLE2CUDA_INLINE type hexp(type a) { return tle2cuda_narrow(exp(tle2cuda_wide(a)), a); }                                 \
    TLE2CUDA_INLINE type hexp2(type a) { return tle2cuda_narrow(exp2(tle2cuda_wide(a)), a); }                               \
    TLE2CUDA_INLINE type hlog(type a) { return tle2cuda_narrow(log(tle2cuda_wide(a)), a); }                                 \
    TLE2CUDA_INLINE type hlog2(type a) { return tle2cuda_narrow(log2(tle2cuda_wide(a)), a); }                               \
    TLE2CUDA_INLINE type hsin(type a) { return tle2cuda_narrow(sin(tle2cuda_wide(a)), a); }                                 \
    TLE2CUDA_INLINE type hcos(type a) { return tle2cuda_narrow(cos(tle2cuda_wide(a)), a); }                                 \
    TLE2CUDA_INLINE type operator+(type a, type b) { return __hadd(a, b); }                                                 \
    TLE2CUDA_INLINE type operator-(type a, type b) { return __hsub(a, b); }                                                 \
    TLE2CUDA_INLINE type operator*(type a, type b) { return __hmul(a, b); }                                                 \
    TLE2CUDA_INLINE type operator/(type a, type b) { return __hdiv(a, b); }                                                 \
    TLE2CUDA_INLINE type operator-(type a) { return __hneg(a); }                                                            \
    TLE2CUDA_INLINE type operator+(type a) { return a; }                                                                    \
    TLE2CUDA_INLINE type& operator+=(type& a, type b) { return a = a + b; }                                                 \
    TLE2CUDA_INLINE type& operator-=(type& a, type b) { return a = a - b; }                                                 \
    TLE2CUDA_INLINE type& operator*=(type& a, type b) { return a = a * b; }                                                 \
    TLE2CUDA_INLINE type& operator/=(type& a, type b) { return a = a / b; }                                                 \
    TLE2CUDA_INLINE bool operator==(type a, type b) { return __heq(a, b); }                                                 \
    TLE2CUDA_INLINE bool operator!=(type a, type b) { return !__heq(a, b); }                                                \
    TLE2CUDA_INLINE bool operator<(type a, type b) { return __hlt(a, b); }                                                  \
    TLE2CUDA_INLINE bool operator<=(type a, type b) { return __hle(a, b); }                                                 \
    TLE2CUDA_INLINE bool operator>(type a, type b) { return __hgt(a, b); }                                                  \
    TLE2CUDA_INLINE bool operator>=(type a, type b) { return __hge(a, b); }                                                 \
    TLE2CUDA_SHUFFLES(type)

// A pair that one 32-bit register holds, and the functions on pairs.
#define TLE2CUDA_SMALL_FLOAT_PAIR(type, pair)                                                                                \
    struct alignas(4) pair {                                                                                                 \
        type x, y;                                                                                                           \
        pair() = default;                                                                                                    \
        TLE2CUDA_INLINE pair(type x_, type y_) : x(x_), y(y_) {}                                                             \
    };                                                                                                                       \
    TLE2CUDA_INLINE pair __hadd2(pair a, pair b) { return pair(a.x + b.x, a.y + b.y); }                                     \
    TLE2CUDA_INLINE pair __hsub2(pair a, pair b) { return pair(a.x - b.x, a.y - b.y); }                                     \
    TLE2CUDA_INLINE pair __hmul2(pair a, pair b) { return pair(a.x * b.x, a.y * b.y); }                                     \
    TLE2CUDA_INLINE pair __hfma2(pair a, pair b, pair c) { return pair(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }     \
    TLE2CUDA_INLINE pair __hmin2(pair a, pair b) { return pair(__hmin(a.x, b.x), __hmin(a.y, b.y)); }                       \
    TLE2CUDA_INLINE pair __hmax2(pair a, pair b) { return pair(__hmax(a.x, b.x), __hmax(a.y, b.y)); }                       \
    TLE2CUDA_INLINE pair operator+(pair a, pair b) { return __hadd2(a, b); }                                                \
    TLE2CUDA_INLINE pair operator-(pair a, pair b) { return __hsub2(a, b); }                                                \
    TLE2CUDA_INLINE pair operator*(pair a, pair b) { return __hmul2(a, b); }                                                \
    TLE2CUDA_SHUFFLES(pair)
