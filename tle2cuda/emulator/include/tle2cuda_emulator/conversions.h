// `static_cast` from a float to an integer as the GPU does it: what is too large saturates; NaN becomes 0, or the sign bit alone
// where the float is a double or the integer has 64 bits (PTX ISA, cvt). C++ leaves all of that undefined, and x86 gives the
// smallest integer. Included last: from here on the keyword is ours.
#pragma once

#include <type_traits>

#include "keywords.h"

namespace tle2cuda_emulator {

template <class To, class From>
TLE2CUDA_INLINE constexpr To saturating(From value)
{
    constexpr bool IS_SIGNED = std::is_signed_v<To>;
    constexpr int BITS = static_cast<int>(sizeof(To)) * 8 - IS_SIGNED;
    // 2^BITS in two steps, as a shift by 64 is undefined.
    constexpr From BEYOND = static_cast<From>(1ull << (BITS - 1)) * 2;
    constexpr To LARGEST = static_cast<To>(~0ull >> (64 - BITS));
    if (value != value) {
        // Narrower integers than `int` come by way of 32 bits, as nvcc converts them, and have nothing of that bit.
        constexpr bool IS_SIGN_BIT = sizeof(To) == 8 || (sizeof(From) == 8 && sizeof(To) == 4);
        return IS_SIGN_BIT ? static_cast<To>(1ull << (sizeof(To) * 8 - 1)) : To(0);
    }
    if (value >= BEYOND) return LARGEST;
    if (value < (IS_SIGNED ? -BEYOND : From(0))) return IS_SIGNED ? static_cast<To>(-LARGEST - 1) : To(0);
    return static_cast<To>(value);
}

template <class To, class From>
TLE2CUDA_INLINE constexpr std::enable_if_t<std::is_arithmetic_v<From> && !std::is_reference_v<To>, To> converted(From value)
{
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>)
        return saturating<To>(value);
    else
        return static_cast<To>(value);
}

template <class To, class From>
TLE2CUDA_INLINE constexpr std::enable_if_t<!std::is_arithmetic_v<std::decay_t<From>> || std::is_reference_v<To>, To> converted(From&& value)
{
    return static_cast<To>(static_cast<From&&>(value));
}

}  // namespace tle2cuda_emulator

#define static_cast ::tle2cuda_emulator::converted

// Also a word that the standard library spells inside attributes, so it must not be a macro any earlier.
#define __noinline__ __attribute__((noinline))
