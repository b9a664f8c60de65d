// What cuda::barrier, cuda::pipeline and cooperative_groups::memcpy_async share: copies by the calling thread that may be complete
// at once or only when a barrier or a wait says so.
#pragma once

#include "abi.h"
#include "keywords.h"

namespace tle2cuda_emulator {

// The calling thread's part of a copy by `threads` threads: every so many chunks of `CHUNK` bytes.
template <unsigned CHUNK>
TLE2CUDA_INLINE void copy_asynchronously(unsigned char* to, const unsigned char* from, size_t bytes, unsigned rank, unsigned threads, int line)
{
    for (size_t at = size_t(rank) * CHUNK; at < bytes; at += size_t(threads) * CHUNK) tle2cuda_cp_async(to + at, from + at, CHUNK, CHUNK, line);
}

// cp.async moves 16, 8 or 4 bytes from global to shared memory; anything else is copied at once.
inline void copy_share(void* to, const void* from, size_t bytes, unsigned rank, unsigned threads, int line)
{
    auto* const target = static_cast<unsigned char*>(to);
    const auto* const source = static_cast<const unsigned char*>(from);
    const size_t mixed = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes;
    const bool is_fetch = tle2cuda_space_of(to) == MEMORY_SHARED && tle2cuda_space_of(from) == MEMORY_GLOBAL;
    if (is_fetch && mixed % 16 == 0) return copy_asynchronously<16>(target, source, bytes, rank, threads, line);
    if (is_fetch && mixed % 8 == 0) return copy_asynchronously<8>(target, source, bytes, rank, threads, line);
    if (is_fetch && mixed % 4 == 0) return copy_asynchronously<4>(target, source, bytes, rank, threads, line);
    for (size_t at = rank; at < bytes; at += threads) target[at] = source[at];
}

}  // namespace tle2cuda_emulator
