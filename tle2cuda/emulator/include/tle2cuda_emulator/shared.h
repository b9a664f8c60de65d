// Shared memory: what the build step makes of `__shared__` declarations (translate.py).
#pragma once

#include <stddef.h>

#include <type_traits>

#include "abi.h"
#include "keywords.h"

namespace tle2cuda_emulator {

// The CTA's own copy of a variable. Each declaration, and in templates each instance of it, has a slot of its own.
template <class T>
TLE2CUDA_INLINE T& shared_variable(SharedSlot& slot)
{
    return *static_cast<T*>(tle2cuda_shared(&slot));
}

template <class T>
constexpr Shape shape_of()
{
    using Element = std::remove_all_extents_t<T>;
    constexpr unsigned rank = std::rank_v<T> < 4 ? std::rank_v<T> : 4;
    return {static_cast<unsigned>(sizeof(Element)), rank,
            {static_cast<unsigned>(std::extent_v<T, 0>), static_cast<unsigned>(std::extent_v<T, 1>),
             static_cast<unsigned>(std::extent_v<T, 2>), static_cast<unsigned>(std::extent_v<T, 3>)}};
}

// Bytes that are kept free behind a member of `Shared`, so that an access just behind it, by an element or a row, hits no other
// member. A multiple of the struct's alignment, which every member behind it may need.
template <class T, unsigned ALIGNMENT>
constexpr unsigned gap_behind()
{
    constexpr unsigned row = sizeof(std::remove_extent_t<T>);
    // Tiles under a swizzle are large, and matrix descriptors have room for 256 KiB.
    constexpr unsigned wanted = row < 1024 || ALIGNMENT >= 1024 ? 1024 : row < 16384 ? row : 16384;
    return (wanted + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

}  // namespace tle2cuda_emulator

// A member of a struct, as one of the list `tle2cuda_shared_members`.
#define TLE2CUDA_SHARED_MEMBER(type, member)                                                            \
    {#member, static_cast<unsigned>(offsetof(type, member)), static_cast<unsigned>(sizeof(type::member)), \
     ::tle2cuda_emulator::shape_of<decltype(type::member)>()}
