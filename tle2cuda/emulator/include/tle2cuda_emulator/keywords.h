// CUDA's keywords as host C++. `__shared__` has no macro: the build step rewrites such declarations (translate.py), as a
// macro in front of a declaration cannot give each CTA a variable of its own.
#pragma once

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline __attribute__((always_inline))

// What an emitted file tells NVIDIA's compilers, which has to be true here, too.
#undef __builtin_assume
#define __builtin_assume(condition) ((condition) ? static_cast<void>(0) : __builtin_trap())

// Our own wrappers are always inline: what a finding then shows is the line in the emitted file.
#define TLE2CUDA_INLINE inline __attribute__((always_inline))
