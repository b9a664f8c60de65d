// What twins of device helpers call in place of PTX instructions (templates/device/*.cuh, sections `// twin:`).
#pragma once

#include "abi.h"
#include "atomics.h"
#include "keywords.h"
#include "math.h"

namespace tle2cuda_emulator {

// min.NaN.f32 and max.NaN.f32: any NaN gives the canonical NaN.
TLE2CUDA_INLINE float minimum_nan(float a, float b) { return a != a || b != b ? __int_as_float(0x7fffffff) : fminf(a, b); }
TLE2CUDA_INLINE float maximum_nan(float a, float b) { return a != a || b != b ? __int_as_float(0x7fffffff) : fmaxf(a, b); }

// div.full.f32, ex2.approx.ftz.f32 and sqrt.approx.ftz.f32, correctly rounded.
TLE2CUDA_INLINE float divide_full(float a, float b) { return a / b; }
TLE2CUDA_INLINE float exp2_ftz(float x) { return flushed(static_cast<float>(exp2(static_cast<double>(flushed(x))))); }
TLE2CUDA_INLINE float sqrt_ftz(float x) { return sqrtf(flushed(x)); }

}  // namespace tle2cuda_emulator
