// Shared memory: what the build step makes of `__shared__` declarations (translate.py).
#pragma once

#include "abi.h"
#include "keywords.h"

namespace tle2cuda_emulator {

// The CTA's own copy of a variable. Each declaration, and in templates each instance of it, has a slot of its own.
template <class T>
TLE2CUDA_INLINE T& shared_variable(SharedSlot& slot)
{
    return *static_cast<T*>(tle2cuda_shared(&slot));
}

}  // namespace tle2cuda_emulator
