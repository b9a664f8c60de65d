// An operand of a matrix product in shared memory, as a descriptor names it.
#pragma once

#include <stdint.h>

#include "../include/tle2cuda_emulator/abi.h"

namespace tle2cuda_emulator {

inline unsigned matrix_element_bytes(unsigned type)
{
    return type == MATRIX_TF32 ? 4 : type == MATRIX_F16 || type == MATRIX_BF16 ? 2 : 1;
}

// PTX ISA, "Strides" and "Canonical Layouts" of wgmma and tcgen05, which agree in this.
struct MatrixOperand {
    const unsigned char* start;
    uint64_t leading_bytes, stride_bytes;
    unsigned swizzle;  // 0 none, 1 to 3 for 32, 64 and 128 bytes
    bool is_transposed;  // neighbours along M or N, not along K
    unsigned element_bytes;

    // What both kinds of descriptors say in the same bits: where the operand begins, and its strides.
    MatrixOperand(uint64_t descriptor, unsigned swizzle_, bool is_transposed_, unsigned type, unsigned address_bits)
        : start(static_cast<const unsigned char*>(
              tle2cuda_from_shared_window(static_cast<unsigned>(descriptor & ((uint64_t(1) << address_bits) - 1)) << 4))),
          leading_bytes((descriptor >> 16 & 0x3fff) << 4), stride_bytes((descriptor >> 32 & 0x3fff) << 4), swizzle(swizzle_),
          is_transposed(is_transposed_), element_bytes(matrix_element_bytes(type))
    {
    }
    const unsigned char* at(unsigned index, unsigned k) const
    {
        const uint64_t span = uint64_t(16) << swizzle;
        uint64_t offset;
        const uint64_t row = is_transposed ? k : index, column = uint64_t(is_transposed ? index : k) * element_bytes;
        if (is_transposed)
            offset = column / span * leading_bytes + row / 8 * stride_bytes + row % 8 * span + column % span;
        else if (swizzle)
            offset = row / 8 * stride_bytes + row % 8 * span + column;
        else
            offset = row / 8 * stride_bytes + column / 16 * leading_bytes + row % 8 * 16 + column % 16;
        auto bits = reinterpret_cast<uintptr_t>(start) + offset;
        bits ^= (bits >> 7 & ((1u << swizzle) - 1)) << 4;
        return reinterpret_cast<const unsigned char*>(bits);
    }
};

}  // namespace tle2cuda_emulator
