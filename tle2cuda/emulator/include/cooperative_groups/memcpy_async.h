// Stands in for CUDA's cooperative_groups/memcpy_async.h: a group's copies, and the waits for them.
#pragma once

#include "../cooperative_groups.h"
#include "../cuda/barrier"
#include "../tle2cuda_emulator/asynchronous.h"

namespace cooperative_groups {

// `bytes` from global to shared memory, each thread a part; called by all threads of the group.
template <class Group, class T, class Shape>
TLE2CUDA_INLINE void memcpy_async(const Group& group, T* to, const T* from, Shape bytes, int line = __builtin_LINE())
{
    tle2cuda_emulator::copy_share(to, from, bytes, static_cast<unsigned>(group.thread_rank()), static_cast<unsigned>(group.size()), line);
    tle2cuda_emulator::tle2cuda_cp_async_commit();
}

// All but the last COUNT copies are complete, and every thread of the group sees them.
template <unsigned COUNT, class Group>
TLE2CUDA_INLINE void wait_prior(const Group& group, int line = __builtin_LINE())
{
    tle2cuda_emulator::tle2cuda_cp_async_wait(COUNT);
    group.sync(line);
}
template <class Group>
TLE2CUDA_INLINE void wait(const Group& group, int line = __builtin_LINE())
{
    wait_prior<0>(group, line);
}

}  // namespace cooperative_groups
