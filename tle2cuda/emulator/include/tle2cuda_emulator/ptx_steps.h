// The steps that inline PTX is made of (tle2cuda/ptx/steps.py): functions of the bits of registers. A PTX type is a struct
// that says how its bits are a value.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <type_traits>

#include "abi.h"
#include "atomics.h"
#include "device_functions.h"
#include "keywords.h"
#include "math.h"
#include "numerics.h"
#include "small_float.h"

namespace tle2cuda_emulator {
namespace ptx {

enum Direction { RN, RZ, RU, RD };
enum Saturation { PLAIN, SAT, FINITE };
enum Test { EQ, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU, NUM, NAN_ };
enum Tf32Rounding { RNA };
enum Side { L, R };
enum ShiftMode { WRAP, CLAMP };

template <class Value, class Word>
struct IntegerType {
    using Bits = Word;
    static constexpr bool IS_FLOAT = false;
    static constexpr int WIDTH = 8 * sizeof(Word);
    static Value value(Bits bits) { return static_cast<Value>(bits); }
    static Bits bits(Value value) { return static_cast<Bits>(value); }
};
struct u8 : IntegerType<uint8_t, uint8_t> {};
struct u16 : IntegerType<uint16_t, uint16_t> {};
struct u32 : IntegerType<uint32_t, uint32_t> {};
struct u64 : IntegerType<uint64_t, uint64_t> {};
struct s8 : IntegerType<int8_t, uint8_t> {};
struct s16 : IntegerType<int16_t, uint16_t> {};
struct s32 : IntegerType<int32_t, uint32_t> {};
struct s64 : IntegerType<int64_t, uint64_t> {};
struct pred {
    using Bits = bool;
    static constexpr bool IS_FLOAT = false;
    static constexpr int WIDTH = 1;
};
struct f32 {
    using Bits = uint32_t;
    static constexpr bool IS_FLOAT = true;
    static constexpr int WIDTH = 32;
    static float value(Bits bits) { return same_bits<float>(bits); }
    static Bits round(double value, Direction direction = RN) { return same_bits<Bits>(tle2cuda_rounded_narrow(value, direction)); }
};
struct f64 {
    using Bits = uint64_t;
    static constexpr bool IS_FLOAT = true;
    static constexpr int WIDTH = 64;
    static double value(Bits bits) { return same_bits<double>(bits); }
    static Bits round(double value, Direction = RN) { return same_bits<Bits>(value); }
};
template <class Format, class Word>
struct SmallType {
    using Bits = Word;
    using Form = Format;
    static constexpr bool IS_FLOAT = true;
    static constexpr int WIDTH = 8 * sizeof(Word);
    static double value(Bits bits) { return Format::value(bits); }
    static Bits round(double value, Direction direction = RN) { return static_cast<Bits>(Format::round(value, direction == RZ)); }
};
struct f16 : SmallType<Half, uint16_t> {};
struct bf16 : SmallType<Bfloat16, uint16_t> {};
struct e4m3 : SmallType<Fp8E4M3, uint8_t> {};
struct e5m2 : SmallType<Fp8E5M2, uint8_t> {};
struct PairOf16 {
    using Bits = uint32_t;
};
struct f16x2 : PairOf16 {};
struct bf16x2 : PairOf16 {};
struct e4m3x2 {
    using Bits = uint16_t;
};
struct e5m2x2 : e4m3x2 {};

template <class T>
using BitsOf = typename T::Bits;

// ---- Operands of a statement ----

// A variable as the bits of a register: what is narrower is extended by its own sign.
template <class Word, class T>
TLE2CUDA_INLINE Word register_of(const T& value)
{
    if constexpr (std::is_pointer<T>::value)
        return static_cast<Word>(reinterpret_cast<uintptr_t>(value));
    else if constexpr (std::is_integral<T>::value)
        return static_cast<Word>(value);
    else {
        Word word = 0;
        memcpy(&word, &value, sizeof(T) < sizeof(Word) ? sizeof(T) : sizeof(Word));
        return word;
    }
}
template <class T, class Word>
TLE2CUDA_INLINE void assign(T& variable, Word word)
{
    if constexpr (std::is_integral<T>::value)
        variable = static_cast<T>(word);
    else
        memcpy(&variable, &word, sizeof(T) < sizeof(Word) ? sizeof(T) : sizeof(Word));
}

// ---- Moving bits ----

template <class T, class A>
TLE2CUDA_INLINE BitsOf<T> copy(A a) { return static_cast<BitsOf<T>>(a); }
template <class T, class A>
TLE2CUDA_INLINE BitsOf<T> resize(A a)
{
    if constexpr (std::is_same<T, s16>::value || std::is_same<T, s32>::value || std::is_same<T, s64>::value || std::is_same<T, s8>::value)
        if constexpr (!std::is_same<A, bool>::value) return static_cast<BitsOf<T>>(static_cast<std::make_signed_t<A>>(a));
    return static_cast<BitsOf<T>>(a);
}
template <class T, class From>
TLE2CUDA_INLINE BitsOf<T> extend(BitsOf<From> a) { return static_cast<BitsOf<T>>(From::value(a)); }
template <class T, class A, class B>
TLE2CUDA_INLINE BitsOf<T> pack(A low, B high)
{
    return static_cast<BitsOf<T>>(static_cast<uint64_t>(low) | static_cast<uint64_t>(high) << (4 * sizeof(BitsOf<T>)));
}
template <class T, class A>
TLE2CUDA_INLINE BitsOf<T> pack(A a, A b, A c, A d)
{
    constexpr int bits = 2 * sizeof(BitsOf<T>);
    return static_cast<BitsOf<T>>(static_cast<uint64_t>(a) | static_cast<uint64_t>(b) << bits | static_cast<uint64_t>(c) << 2 * bits |
                                  static_cast<uint64_t>(d) << 3 * bits);
}
template <class T, class A>
TLE2CUDA_INLINE BitsOf<T> part(A whole, int position)
{
    return static_cast<BitsOf<T>>(static_cast<uint64_t>(whole) >> (8 * sizeof(BitsOf<T>) * position));
}
template <class T>
TLE2CUDA_INLINE BitsOf<T> select(BitsOf<T> a, BitsOf<T> b, bool test) { return test ? a : b; }

// ---- Arithmetic ----

template <class T>
inline BitsOf<T> arithmetic(RoundedOperation operation, BitsOf<T> a_, BitsOf<T> b_, BitsOf<T> c_, Direction direction)
{
    const auto a = T::value(a_), b = T::value(b_), c = T::value(c_);
    if constexpr (std::is_same<T, f32>::value)
        return same_bits<uint32_t>(tle2cuda_rounded_float(operation, direction, a, b, c));
    else if constexpr (std::is_same<T, f64>::value)
        return same_bits<uint64_t>(tle2cuda_rounded_double(operation, direction, a, b, c));
    else
        switch (operation) {
            case ROUNDED_ADD: return T::round(add_to_odd(a, b), direction);
            case ROUNDED_SUB: return T::round(add_to_odd(a, -b), direction);
            case ROUNDED_MUL: return T::round(a * b, direction);
            case ROUNDED_DIV: return T::round(a / b, direction);
            case ROUNDED_FMA: return T::round(add_to_odd(a * b, c), direction);
            default: return T::round(sqrt(a), direction);
        }
}
#define TLE2CUDA_PTX_BINARY(name, operation, expression)                                                               \
    template <class T>                                                                                                 \
    TLE2CUDA_INLINE BitsOf<T> name(BitsOf<T> a_, BitsOf<T> b_, Direction direction = RN)                               \
    {                                                                                                                  \
        if constexpr (T::IS_FLOAT)                                                                                     \
            return arithmetic<T>(operation, a_, b_, 0, direction);                                                     \
        else {                                                                                                         \
            const auto a = T::value(a_), b = T::value(b_);                                                             \
            return static_cast<BitsOf<T>>(expression);                                                                 \
        }                                                                                                              \
    }
TLE2CUDA_PTX_BINARY(add, ROUNDED_ADD, a + b)
TLE2CUDA_PTX_BINARY(sub, ROUNDED_SUB, a - b)
TLE2CUDA_PTX_BINARY(mul, ROUNDED_MUL, static_cast<uint64_t>(a) * static_cast<uint64_t>(b))
TLE2CUDA_PTX_BINARY(quotient, ROUNDED_DIV, b == 0 ? static_cast<decltype(a)>(-1) : b == static_cast<decltype(b)>(-1) ? 0 - a : a / b)
TLE2CUDA_PTX_BINARY(rest, ROUNDED_DIV, b == 0 ? a : b == static_cast<decltype(b)>(-1) && std::is_signed<decltype(b)>::value ? 0 : a % b)
#undef TLE2CUDA_PTX_BINARY
template <class T>
TLE2CUDA_INLINE BitsOf<T> fused(BitsOf<T> a, BitsOf<T> b, BitsOf<T> c, Direction direction)
{
    return arithmetic<T>(ROUNDED_FMA, a, b, c, direction);
}
template <class T>
TLE2CUDA_INLINE BitsOf<T> add_sat(BitsOf<T> a, BitsOf<T> b)
{
    const int64_t sum = static_cast<int64_t>(T::value(a)) + T::value(b);
    return static_cast<BitsOf<T>>(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
}
template <class T>
TLE2CUDA_INLINE BitsOf<T> sub_sat(BitsOf<T> a, BitsOf<T> b)
{
    const int64_t difference = static_cast<int64_t>(T::value(a)) - T::value(b);
    return static_cast<BitsOf<T>>(difference > INT32_MAX ? INT32_MAX : difference < INT32_MIN ? INT32_MIN : difference);
}
template <class T>
TLE2CUDA_INLINE BitsOf<T> mul_high(BitsOf<T> a, BitsOf<T> b)
{
    return static_cast<BitsOf<T>>(static_cast<__int128>(T::value(a)) * T::value(b) >> T::WIDTH);
}
template <class T>
TLE2CUDA_INLINE BitsOf<T> low24(BitsOf<T> a)
{
    return std::is_same<T, s32>::value ? static_cast<uint32_t>(static_cast<int32_t>(a << 8) >> 8) : a & 0xffffffu;
}
template <class T>
inline BitsOf<T> extreme(BitsOf<T> a, BitsOf<T> b, bool want_smaller, bool propagate)
{
    const auto x = T::value(a), y = T::value(b);
    if constexpr (T::IS_FLOAT) {
        const BitsOf<T> canonical = static_cast<BitsOf<T>>(std::is_same<T, f32>::value   ? 0x7fffffffu
                                                           : std::is_same<T, f64>::value ? 0x7fffffffffffffffull
                                                                                         : 0x7fffu);
        if (x != x && y != y) return canonical;
        if (propagate && (x != x || y != y)) return canonical;
        if (x != x) return b;
        if (y != y) return a;
        if (x == y) return (signbit(static_cast<double>(x)) == want_smaller) ? a : b;
    }
    return (x < y) == want_smaller ? a : b;
}
template <class T>
TLE2CUDA_INLINE BitsOf<T> minimum(BitsOf<T> a, BitsOf<T> b, Direction = RN) { return extreme<T>(a, b, true, false); }
template <class T>
TLE2CUDA_INLINE BitsOf<T> maximum(BitsOf<T> a, BitsOf<T> b, Direction = RN) { return extreme<T>(a, b, false, false); }
template <class T>
TLE2CUDA_INLINE BitsOf<T> minimum_nan(BitsOf<T> a, BitsOf<T> b, Direction = RN) { return extreme<T>(a, b, true, true); }
template <class T>
TLE2CUDA_INLINE BitsOf<T> maximum_nan(BitsOf<T> a, BitsOf<T> b, Direction = RN) { return extreme<T>(a, b, false, true); }
template <class T>
TLE2CUDA_INLINE BitsOf<T> absolute(BitsOf<T> a, Direction = RN)
{
    constexpr BitsOf<T> sign = static_cast<BitsOf<T>>(BitsOf<T>(1) << (T::WIDTH - 1));
    if constexpr (T::IS_FLOAT) return static_cast<BitsOf<T>>(a & ~sign);
    return a & sign ? static_cast<BitsOf<T>>(0 - a) : a;
}
template <class T>
TLE2CUDA_INLINE BitsOf<T> neg(BitsOf<T> a, Direction = RN)
{
    constexpr BitsOf<T> sign = static_cast<BitsOf<T>>(BitsOf<T>(1) << (T::WIDTH - 1));
    if constexpr (T::IS_FLOAT) return static_cast<BitsOf<T>>(a ^ sign);
    return static_cast<BitsOf<T>>(0 - a);
}

template <class T>
TLE2CUDA_INLINE BitsOf<T> copysign(BitsOf<T> a, BitsOf<T> b, Direction = RN)
{
    constexpr BitsOf<T> sign = static_cast<BitsOf<T>>(BitsOf<T>(1) << (T::WIDTH - 1));
    return (a & sign) | (b & ~sign);
}

#define TLE2CUDA_PTX_FUNCTION(name, expression)                                                                        \
    template <class T>                                                                                                 \
    inline BitsOf<T> name(BitsOf<T> a, Direction = RN)                                                                 \
    {                                                                                                                  \
        const double x = T::value(a);                                                                                  \
        return T::round(expression);                                                                                   \
    }
TLE2CUDA_PTX_FUNCTION(ex2, exp2(x))
TLE2CUDA_PTX_FUNCTION(lg2, log2(x))
TLE2CUDA_PTX_FUNCTION(rsqrt, 1 / ::sqrt(x))
TLE2CUDA_PTX_FUNCTION(sine, ::sin(x))
TLE2CUDA_PTX_FUNCTION(cosine, ::cos(x))
TLE2CUDA_PTX_FUNCTION(tangent, ::tanh(x))
#undef TLE2CUDA_PTX_FUNCTION
template <class T>
TLE2CUDA_INLINE BitsOf<T> rcp(BitsOf<T> a, Direction direction)
{
    return arithmetic<T>(ROUNDED_DIV, T::round(1.0), a, 0, direction);
}
template <class T>
TLE2CUDA_INLINE BitsOf<T> root(BitsOf<T> a, Direction direction) { return arithmetic<T>(ROUNDED_SQRT, a, 0, 0, direction); }
template <class T>
TLE2CUDA_INLINE uint32_t flush(uint32_t a) { return same_bits<uint32_t>(flushed(same_bits<float>(a))); }
template <class T>
inline BitsOf<T> saturate(BitsOf<T> a)
{
    const double x = T::value(a);
    return T::round(x > 0 ? (x < 1 ? x : 1.0) : 0.0);
}
template <class T>
inline BitsOf<T> relu(BitsOf<T> a)
{
    const double x = T::value(a);
    return x != x || x > 0 ? a : 0;
}

// ---- Bits ----

template <class T>
TLE2CUDA_INLINE BitsOf<T> bit_and(BitsOf<T> a, BitsOf<T> b, Direction = RN) { return a & b; }
template <class T>
TLE2CUDA_INLINE BitsOf<T> bit_or(BitsOf<T> a, BitsOf<T> b, Direction = RN) { return a | b; }
template <class T>
TLE2CUDA_INLINE BitsOf<T> bit_xor(BitsOf<T> a, BitsOf<T> b, Direction = RN) { return a ^ b; }
template <class T>
TLE2CUDA_INLINE BitsOf<T> bit_not(BitsOf<T> a, Direction = RN)
{
    if constexpr (std::is_same<T, pred>::value) return !a;
    return static_cast<BitsOf<T>>(~a);
}
template <class T>
TLE2CUDA_INLINE BitsOf<T> cnot(BitsOf<T> a, Direction = RN) { return a == 0; }
template <class T>
TLE2CUDA_INLINE BitsOf<T> shl(BitsOf<T> a, uint32_t amount)
{
    return amount < T::WIDTH ? static_cast<BitsOf<T>>(a << amount) : BitsOf<T>(0);
}
template <class T>
TLE2CUDA_INLINE BitsOf<T> shr(BitsOf<T> a, uint32_t amount)
{
    const auto x = T::value(a);
    return static_cast<BitsOf<T>>(amount < T::WIDTH ? x >> amount : x < 0 ? -1 : 0);
}
template <class T>
TLE2CUDA_INLINE uint32_t shf(uint32_t low, uint32_t high, uint32_t amount, Side side, ShiftMode mode)
{
    const unsigned by = mode == WRAP ? amount & 31 : amount < 32 ? amount : 32;
    const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
    if (side == R) return static_cast<uint32_t>(both >> by);
    return by == 32 ? low : static_cast<uint32_t>(both << by >> 32);
}
template <class T>
TLE2CUDA_INLINE uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, unsigned table)
{
    uint32_t result = 0;
    for (unsigned row = 0; row < 8; ++row)
        if (table >> row & 1) result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    return result;
}
template <class T>
TLE2CUDA_INLINE uint32_t prmt(uint32_t a, uint32_t b, uint32_t selector)
{
    const uint64_t both = static_cast<uint64_t>(b) << 32 | a;
    uint32_t result = 0;
    for (int byte = 0; byte < 4; ++byte) {
        const unsigned choice = selector >> 4 * byte & 15;
        uint32_t value = both >> 8 * (choice & 7) & 255;
        if (choice & 8) value = value & 128 ? 255 : 0;
        result |= value << 8 * byte;
    }
    return result;
}
TLE2CUDA_INLINE uint64_t low_ones(unsigned count) { return count >= 64 ? ~0ull : (1ull << count) - 1; }
template <class T>
inline BitsOf<T> bfe(BitsOf<T> a, uint32_t start, uint32_t length)
{
    const unsigned position = start & 255;
    unsigned count = length & 255;
    if (count > T::WIDTH) count = T::WIDTH;
    const uint64_t wide = a;
    uint64_t field = position < T::WIDTH ? wide >> position & low_ones(count) : 0;
    if constexpr (std::is_same<T, s32>::value || std::is_same<T, s64>::value) {
        const unsigned last = position + count - 1 < T::WIDTH ? position + count - 1 : T::WIDTH - 1;
        const unsigned left = position < T::WIDTH ? T::WIDTH - position : 0, held = count < left ? count : left;
        if (count > 0 && (wide >> last & 1)) field |= ~low_ones(held);
    }
    return static_cast<BitsOf<T>>(field);
}
template <class T>
inline BitsOf<T> bfi(BitsOf<T> a, BitsOf<T> b, uint32_t start, uint32_t length)
{
    const unsigned position = start & 255;
    if (position >= T::WIDTH) return b;
    const uint64_t mask = low_ones(length & 255) << position;
    return static_cast<BitsOf<T>>((static_cast<uint64_t>(b) & ~mask) | (static_cast<uint64_t>(a) << position & mask));
}
template <class T>
TLE2CUDA_INLINE BitsOf<T> sad(BitsOf<T> a, BitsOf<T> b, BitsOf<T> c)
{
    return static_cast<BitsOf<T>>((T::value(a) < T::value(b) ? b - a : a - b) + c);
}
template <class T>
TLE2CUDA_INLINE uint32_t popc(BitsOf<T> a) { return __builtin_popcountll(a); }
template <class T>
TLE2CUDA_INLINE uint32_t clz(BitsOf<T> a) { return a ? __builtin_clzll(a) - (64 - T::WIDTH) : T::WIDTH; }
template <class T>
TLE2CUDA_INLINE BitsOf<T> brev(BitsOf<T> a, Direction = RN)
{
    return static_cast<BitsOf<T>>(__brevll(a) >> (64 - T::WIDTH));
}

// ---- Comparison and conversion ----

template <class T>
inline bool compare(BitsOf<T> a, BitsOf<T> b, Test test)
{
    const auto x = T::value(a), y = T::value(b);
    const bool unordered = x != x || y != y;
    switch (test) {
        case EQ: return x == y;
        case NE: return !unordered && x != y;
        case LT: return x < y;
        case LE: return x <= y;
        case GT: return x > y;
        case GE: return x >= y;
        case EQU: return unordered || x == y;
        case NEU: return x != y;
        case LTU: return unordered || x < y;
        case LEU: return unordered || x <= y;
        case GTU: return unordered || x > y;
        case GEU: return unordered || x >= y;
        case NUM: return !unordered;
        default: return unordered;
    }
}
TLE2CUDA_INLINE double whole_number(double x, Direction direction)
{
    return direction == RN ? nearbyint(x) : direction == RZ ? trunc(x) : direction == RD ? floor(x) : ceil(x);
}
template <class T>
inline BitsOf<T> whole(BitsOf<T> a, Direction direction) { return T::round(whole_number(T::value(a), direction)); }
template <class T>
TLE2CUDA_INLINE uint32_t tf32(uint32_t a, int direction, bool to_nearest_away)
{
    if ((a & 0x7f800000u) == 0x7f800000u) return a;
    if (to_nearest_away) return (a + 0x1000u) & ~0x1fffu;
    return (direction == RZ ? a : a + 0xfffu + (a >> 13 & 1)) & ~0x1fffu;
}
template <class T>
TLE2CUDA_INLINE uint32_t tf32(uint32_t a, Tf32Rounding) { return tf32<T>(a, RN, true); }
template <class T>
TLE2CUDA_INLINE uint32_t tf32(uint32_t a, Direction direction) { return tf32<T>(a, direction, false); }

template <class To, class From>
inline BitsOf<To> convert(BitsOf<From> a, Direction direction, Saturation saturation)
{
    const auto x = From::value(a);
    if constexpr (To::IS_FLOAT && From::IS_FLOAT) {
        if constexpr (!std::is_same<To, f32>::value && !std::is_same<To, f64>::value) {
            if (saturation == FINITE) return static_cast<BitsOf<To>>(To::Form::round(x, direction == RZ, true));
        }
        return To::round(x, direction);
    } else if constexpr (To::IS_FLOAT) {
        using Value = decltype(x);
        const bool negative = std::is_signed<Value>::value && x < 0;
        const uint64_t magnitude = negative ? 0ull - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
        static constexpr Rounding rounding[] = {ROUND_NEAREST, ROUND_ZERO, ROUND_UP, ROUND_DOWN};
        if constexpr (std::is_same<To, f32>::value)
            return same_bits<uint32_t>(rounded_integer<float>(negative, magnitude, rounding[direction]));
        else if constexpr (std::is_same<To, f64>::value)
            return same_bits<uint64_t>(rounded_integer<double>(negative, magnitude, rounding[direction]));
        else
            return To::round(static_cast<double>(x), direction);
    } else if constexpr (From::IS_FLOAT) {
        constexpr bool is_signed = std::is_signed<decltype(To::value(0))>::value;
        const double number = whole_number(x, direction);
        // PTX ISA, cvt: NaN becomes 0 only from 32-bit floats to at most 32 bits.
        if (number != number)
            return static_cast<BitsOf<To>>(std::is_same<From, f64>::value || To::WIDTH == 64 ? 1ull << (To::WIDTH - 1) : 0);
        const double beyond = ldexp(1.0, is_signed ? To::WIDTH - 1 : To::WIDTH), lowest = is_signed ? -beyond : 0.0;
        if (number < lowest) return static_cast<BitsOf<To>>(is_signed ? 1ull << (To::WIDTH - 1) : 0);
        if (number >= beyond) return static_cast<BitsOf<To>>(is_signed ? (1ull << (To::WIDTH - 1)) - 1 : ~0ull);
        return is_signed ? static_cast<BitsOf<To>>(static_cast<int64_t>(number)) : static_cast<BitsOf<To>>(static_cast<uint64_t>(number));
    } else {
        if (saturation == SAT) {
            const __int128 wide = x;
            constexpr bool is_signed = std::is_signed<decltype(To::value(0))>::value;
            const __int128 most = (static_cast<__int128>(1) << (is_signed ? To::WIDTH - 1 : To::WIDTH)) - 1;
            const __int128 least = is_signed ? -most - 1 : 0;
            return static_cast<BitsOf<To>>(wide > most ? most : wide < least ? least : wide);
        }
        return static_cast<BitsOf<To>>(x);
    }
}

// ---- Memory and special registers ----

template <class T>
TLE2CUDA_INLINE BitsOf<T> load(uint64_t address, Order order, Scope scope)
{
    return static_cast<BitsOf<T>>(tle2cuda_load(reinterpret_cast<const void*>(address), sizeof(BitsOf<T>), order, scope));
}
template <class T>
TLE2CUDA_INLINE void store(uint64_t address, BitsOf<T> bits, Order order, Scope scope)
{
    tle2cuda_store(reinterpret_cast<void*>(address), sizeof(BitsOf<T>), bits, order, scope);
}
template <class T>
TLE2CUDA_INLINE BitsOf<T> atomic(AtomicKind kind, uint64_t address, BitsOf<T> operand, BitsOf<T> compare, Order order, Scope scope)
{
    constexpr ElementType type = std::is_same<T, f32>::value   ? TYPE_F32
                                 : std::is_same<T, f64>::value ? TYPE_F64
                                 : std::is_same<T, s32>::value ? TYPE_I32
                                 : std::is_same<T, s64>::value ? TYPE_I64
                                 : T::WIDTH == 64              ? TYPE_U64
                                 : T::WIDTH == 16              ? TYPE_U16
                                                               : TYPE_U32;
    return static_cast<BitsOf<T>>(
        tle2cuda_atomic(kind, type, reinterpret_cast<void*>(address), operand, compare, order, scope));
}

TLE2CUDA_INLINE uint64_t special_clock64() { return tle2cuda_clock(); }
TLE2CUDA_INLINE uint64_t special_clock() { return tle2cuda_clock(); }
TLE2CUDA_INLINE uint64_t special_clock_hi() { return tle2cuda_clock() >> 32; }
inline uint64_t special_globaltimer()
{
    tle2cuda_clock();  // says that a clock was read
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}
inline uint64_t special_globaltimer_lo() { return special_globaltimer() & 0xffffffffu; }
inline uint64_t special_globaltimer_hi() { return special_globaltimer() >> 32; }
TLE2CUDA_INLINE uint64_t special_laneid() { return tle2cuda_lane(); }
inline uint64_t linear_thread()
{
    const Index at = tle2cuda_thread_index(), extent = tle2cuda_block_extent();
    return at.x + extent.x * (at.y + static_cast<uint64_t>(extent.y) * at.z);
}
inline uint64_t special_warpid() { return linear_thread() / 32; }
TLE2CUDA_INLINE uint64_t special_smid() { return 0; }  // one CTA at a time has the only multiprocessor
TLE2CUDA_INLINE uint64_t special_nsmid() { return 1; }
#define TLE2CUDA_PTX_INDEX(name, function)                                       \
    TLE2CUDA_INLINE uint64_t special_##name##_x() { return function().x; }       \
    TLE2CUDA_INLINE uint64_t special_##name##_y() { return function().y; }       \
    TLE2CUDA_INLINE uint64_t special_##name##_z() { return function().z; }
TLE2CUDA_PTX_INDEX(tid, tle2cuda_thread_index)
TLE2CUDA_PTX_INDEX(ntid, tle2cuda_block_extent)
TLE2CUDA_PTX_INDEX(ctaid, tle2cuda_block_index)
TLE2CUDA_PTX_INDEX(nctaid, tle2cuda_grid_extent)
#undef TLE2CUDA_PTX_INDEX

}  // namespace ptx
}  // namespace tle2cuda_emulator
