// Stands in for CUDA's cuda_fp8.h. Its constructors convert to nearest even and saturate to the largest finite number, as
// CUDA's do (CUDA Math API, "FP8 Intrinsics": __NV_SATFINITE).
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"

#define TLE2CUDA_FP8(name, FORMAT)                                                                                           \
    struct name {                                                                                                            \
        unsigned char __x;                                                                                                   \
        name() = default;                                                                                                    \
        TLE2CUDA_INLINE explicit name(double value)                                                                          \
            : __x(static_cast<unsigned char>(tle2cuda_emulator::FORMAT::round(value, false, true)))                          \
        {                                                                                                                    \
        }                                                                                                                    \
        TLE2CUDA_INLINE explicit name(float value) : name(static_cast<double>(value)) {}                                     \
        TLE2CUDA_INLINE explicit name(__half value) : name(__half2float(value)) {}                                           \
        TLE2CUDA_INLINE explicit name(__nv_bfloat16 value) : name(__bfloat162float(value)) {}                                \
        TLE2CUDA_INLINE explicit name(int value) : name(static_cast<double>(value)) {}                                       \
        TLE2CUDA_INLINE explicit name(unsigned value) : name(static_cast<double>(value)) {}                                  \
        TLE2CUDA_INLINE explicit name(long long value) : name(static_cast<float>(value)) {}                                  \
        TLE2CUDA_INLINE explicit operator double() const { return tle2cuda_emulator::FORMAT::value(__x); }                   \
        TLE2CUDA_INLINE explicit operator float() const { return static_cast<float>(tle2cuda_emulator::FORMAT::value(__x)); } \
        TLE2CUDA_INLINE explicit operator __half() const { return __half(static_cast<float>(*this)); }                       \
        TLE2CUDA_INLINE explicit operator __nv_bfloat16() const { return __nv_bfloat16(static_cast<float>(*this)); }         \
        TLE2CUDA_INLINE explicit operator bool() const { return (__x & 0x7fu) != 0; }                                        \
    };

TLE2CUDA_FP8(__nv_fp8_e4m3, Fp8E4M3)
TLE2CUDA_FP8(__nv_fp8_e5m2, Fp8E5M2)
#undef TLE2CUDA_FP8
