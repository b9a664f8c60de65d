// Collectives of a warp (CUDA C++ Programming Guide, "Warp Vote", "Warp Match", "Warp Reduce", "Warp Shuffle Functions").
#pragma once

#include <string.h>

#include "abi.h"
#include "keywords.h"

namespace tle2cuda_emulator {

template <class T>
TLE2CUDA_INLINE uint64_t to_bits(const T& value)
{
    static_assert(sizeof(T) <= 8, "at most 8 bytes travel between lanes at once");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(T));
    return bits;
}

template <class T>
TLE2CUDA_INLINE T from_bits(uint64_t bits)
{
    T value;
    memcpy(&value, &bits, sizeof(T));
    return value;
}

template <class T>
TLE2CUDA_INLINE T shuffle(Collective kind, unsigned mask, const T& value, int other, int width, int line)
{
    return from_bits<T>(tle2cuda_warp(kind, mask, to_bits(value), other, static_cast<unsigned>(width), line));
}

TLE2CUDA_INLINE uint64_t collective(Collective kind, unsigned mask, uint64_t value, int line)
{
    return tle2cuda_warp(kind, mask, value, 0, 32, line);
}

}  // namespace tle2cuda_emulator

// Overloads, not templates, for the types that CUDA has, so that arguments convert as they do there; `__half` and the like
// are added by their headers.
#define TLE2CUDA_SHUFFLES(type)                                                                                            \
    TLE2CUDA_INLINE type __shfl_sync(unsigned mask, type value, int lane, int width = 32, int line = __builtin_LINE())    \
    {                                                                                                                      \
        return tle2cuda_emulator::shuffle(tle2cuda_emulator::SHUFFLE_INDEX, mask, value, lane, width, line);              \
    }                                                                                                                      \
    TLE2CUDA_INLINE type __shfl_up_sync(                                                                                   \
        unsigned mask, type value, unsigned delta, int width = 32, int line = __builtin_LINE())                           \
    {                                                                                                                      \
        return tle2cuda_emulator::shuffle(                                                                                 \
            tle2cuda_emulator::SHUFFLE_UP, mask, value, static_cast<int>(delta), width, line);                            \
    }                                                                                                                      \
    TLE2CUDA_INLINE type __shfl_down_sync(                                                                                 \
        unsigned mask, type value, unsigned delta, int width = 32, int line = __builtin_LINE())                           \
    {                                                                                                                      \
        return tle2cuda_emulator::shuffle(                                                                                 \
            tle2cuda_emulator::SHUFFLE_DOWN, mask, value, static_cast<int>(delta), width, line);                          \
    }                                                                                                                      \
    TLE2CUDA_INLINE type __shfl_xor_sync(                                                                                  \
        unsigned mask, type value, int lane_mask, int width = 32, int line = __builtin_LINE())                            \
    {                                                                                                                      \
        return tle2cuda_emulator::shuffle(tle2cuda_emulator::SHUFFLE_XOR, mask, value, lane_mask, width, line);           \
    }

TLE2CUDA_SHUFFLES(int)
TLE2CUDA_SHUFFLES(unsigned)
TLE2CUDA_SHUFFLES(long)
TLE2CUDA_SHUFFLES(unsigned long)
TLE2CUDA_SHUFFLES(long long)
TLE2CUDA_SHUFFLES(unsigned long long)
TLE2CUDA_SHUFFLES(float)
TLE2CUDA_SHUFFLES(double)

TLE2CUDA_INLINE void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE())
{
    tle2cuda_emulator::collective(tle2cuda_emulator::SYNC_WARP, mask, 0, line);
}
TLE2CUDA_INLINE int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE())
{
    return static_cast<int>(tle2cuda_emulator::collective(tle2cuda_emulator::VOTE_ALL, mask, predicate != 0, line));
}
TLE2CUDA_INLINE int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE())
{
    return static_cast<int>(tle2cuda_emulator::collective(tle2cuda_emulator::VOTE_ANY, mask, predicate != 0, line));
}
TLE2CUDA_INLINE int __uni_sync(unsigned mask, int predicate, int line = __builtin_LINE())
{
    return static_cast<int>(tle2cuda_emulator::collective(tle2cuda_emulator::VOTE_UNIFORM, mask, predicate != 0, line));
}
TLE2CUDA_INLINE unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE())
{
    return static_cast<unsigned>(tle2cuda_emulator::collective(tle2cuda_emulator::VOTE_BALLOT, mask, predicate != 0, line));
}
TLE2CUDA_INLINE unsigned __activemask(int line = __builtin_LINE()) { return tle2cuda_emulator::tle2cuda_active_mask(line); }

template <class T>
TLE2CUDA_INLINE unsigned __match_any_sync(unsigned mask, T value, int line = __builtin_LINE())
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "lanes match 4 or 8 bytes");
    return static_cast<unsigned>(tle2cuda_emulator::collective(
        tle2cuda_emulator::MATCH_ANY, mask, tle2cuda_emulator::to_bits(value), line));
}
template <class T>
TLE2CUDA_INLINE unsigned __match_all_sync(unsigned mask, T value, int* predicate, int line = __builtin_LINE())
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "lanes match 4 or 8 bytes");
    const auto matching = static_cast<unsigned>(tle2cuda_emulator::collective(
        tle2cuda_emulator::MATCH_ALL, mask, tle2cuda_emulator::to_bits(value), line));
    *predicate = matching != 0;
    return matching;
}

#define TLE2CUDA_REDUCTION(function, type, kind)                                                                   \
    TLE2CUDA_INLINE type function(unsigned mask, type value, int line = __builtin_LINE())                          \
    {                                                                                                              \
        return static_cast<type>(tle2cuda_emulator::collective(                                                    \
            tle2cuda_emulator::kind, mask, static_cast<unsigned>(value), line));                                   \
    }

TLE2CUDA_REDUCTION(__reduce_add_sync, int, REDUCE_ADD)
TLE2CUDA_REDUCTION(__reduce_add_sync, unsigned, REDUCE_ADD)
TLE2CUDA_REDUCTION(__reduce_min_sync, int, REDUCE_MIN_SIGNED)
TLE2CUDA_REDUCTION(__reduce_min_sync, unsigned, REDUCE_MIN_UNSIGNED)
TLE2CUDA_REDUCTION(__reduce_max_sync, int, REDUCE_MAX_SIGNED)
TLE2CUDA_REDUCTION(__reduce_max_sync, unsigned, REDUCE_MAX_UNSIGNED)
TLE2CUDA_REDUCTION(__reduce_and_sync, unsigned, REDUCE_AND)
TLE2CUDA_REDUCTION(__reduce_or_sync, unsigned, REDUCE_OR)
TLE2CUDA_REDUCTION(__reduce_xor_sync, unsigned, REDUCE_XOR)

#undef TLE2CUDA_REDUCTION
