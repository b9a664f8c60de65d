// Barriers of the CTA, fences, traps.
#pragma once

#include "abi.h"
#include "keywords.h"

TLE2CUDA_INLINE void __syncthreads(int line = __builtin_LINE())
{
    tle2cuda_emulator::tle2cuda_barrier(0, 0, tle2cuda_emulator::BARRIER_PLAIN, 0, line);
}
TLE2CUDA_INLINE int __syncthreads_count(int predicate, int line = __builtin_LINE())
{
    return tle2cuda_emulator::tle2cuda_barrier(0, 0, tle2cuda_emulator::BARRIER_COUNT, predicate, line);
}
TLE2CUDA_INLINE int __syncthreads_and(int predicate, int line = __builtin_LINE())
{
    return tle2cuda_emulator::tle2cuda_barrier(0, 0, tle2cuda_emulator::BARRIER_AND, predicate, line);
}
TLE2CUDA_INLINE int __syncthreads_or(int predicate, int line = __builtin_LINE())
{
    return tle2cuda_emulator::tle2cuda_barrier(0, 0, tle2cuda_emulator::BARRIER_OR, predicate, line);
}

TLE2CUDA_INLINE void __threadfence_block() { tle2cuda_emulator::tle2cuda_fence(tle2cuda_emulator::SCOPE_CTA); }
TLE2CUDA_INLINE void __threadfence() { tle2cuda_emulator::tle2cuda_fence(tle2cuda_emulator::SCOPE_GPU); }
TLE2CUDA_INLINE void __threadfence_system() { tle2cuda_emulator::tle2cuda_fence(tle2cuda_emulator::SCOPE_SYSTEM); }
TLE2CUDA_INLINE void __nanosleep(unsigned) { tle2cuda_emulator::tle2cuda_pause(); }

[[noreturn]] TLE2CUDA_INLINE void __trap(int line = __builtin_LINE())
{
    tle2cuda_emulator::tle2cuda_trap("__trap()", line);
}
[[noreturn]] inline void tle2cuda_failed_assert(const char* expression, int line)
{
    tle2cuda_emulator::tle2cuda_printf("line %d: assertion `%s` failed\n", line, expression);
    tle2cuda_emulator::tle2cuda_trap("a failed assert()", line);
}
#undef assert
#define assert(expression) ((expression) ? (void)0 : tle2cuda_failed_assert(#expression, __LINE__))
#define printf(...) ::tle2cuda_emulator::tle2cuda_printf(__VA_ARGS__)

TLE2CUDA_INLINE size_t __cvta_generic_to_shared(const void* address)
{
    return tle2cuda_emulator::tle2cuda_shared_window(address);
}
TLE2CUDA_INLINE void* __cvta_shared_to_generic(size_t address)
{
    return tle2cuda_emulator::tle2cuda_from_shared_window(static_cast<unsigned>(address));
}

TLE2CUDA_INLINE long long clock64() { return static_cast<long long>(tle2cuda_emulator::tle2cuda_clock()); }
