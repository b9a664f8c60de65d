// CUDA's built-in vector types (CUDA C++ Programming Guide, "Built-in Vector Types"): members, sizes, alignments.
#pragma once

#include "abi.h"
#include "keywords.h"

#define TLE2CUDA_VECTORS(name, type, align2, align4)                                                              \
    struct name##1 {                                                                                              \
        type x;                                                                                                   \
    };                                                                                                            \
    struct alignas(align2) name##2 {                                                                              \
        type x, y;                                                                                                \
    };                                                                                                            \
    struct name##3 {                                                                                              \
        type x, y, z;                                                                                             \
    };                                                                                                            \
    struct alignas(align4) name##4 {                                                                              \
        type x, y, z, w;                                                                                          \
    };                                                                                                            \
    TLE2CUDA_INLINE name##1 make_##name##1(type x) { return {x}; }                                                \
    TLE2CUDA_INLINE name##2 make_##name##2(type x, type y) { return {x, y}; }                                     \
    TLE2CUDA_INLINE name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                          \
    TLE2CUDA_INLINE name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

TLE2CUDA_VECTORS(char, signed char, 2, 4)
TLE2CUDA_VECTORS(uchar, unsigned char, 2, 4)
TLE2CUDA_VECTORS(short, short, 4, 8)
TLE2CUDA_VECTORS(ushort, unsigned short, 4, 8)
TLE2CUDA_VECTORS(int, int, 8, 16)
TLE2CUDA_VECTORS(uint, unsigned, 8, 16)
TLE2CUDA_VECTORS(long, long, 16, 16)
TLE2CUDA_VECTORS(ulong, unsigned long, 16, 16)
TLE2CUDA_VECTORS(longlong, long long, 16, 16)
TLE2CUDA_VECTORS(ulonglong, unsigned long long, 16, 16)
TLE2CUDA_VECTORS(float, float, 8, 16)
TLE2CUDA_VECTORS(double, double, 16, 16)

#undef TLE2CUDA_VECTORS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(tle2cuda_emulator::Index index) : x(index.x), y(index.y), z(index.z) {}
    operator uint3() const { return {x, y, z}; }
};

// The built-in variables are calls whose results the compiler keeps.
#define threadIdx (::tle2cuda_emulator::tle2cuda_thread_index())
#define blockIdx (::tle2cuda_emulator::tle2cuda_block_index())
#define blockDim (::tle2cuda_emulator::tle2cuda_block_extent())
#define gridDim (::tle2cuda_emulator::tle2cuda_grid_extent())
#define warpSize 32
