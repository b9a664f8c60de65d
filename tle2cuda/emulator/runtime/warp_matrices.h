// Matrix instructions of one warp, computed by the last lane that comes.
#pragma once

#include <stdint.h>

namespace tle2cuda_emulator {

// Compute for all lanes what MATRIX_ROWS or MATRIX_PRODUCT asks for; `operands` are addresses of each lane's descriptions.
void complete_matrices(unsigned kind, const uint64_t* operands, uint32_t mask, int line);

// Element `index` of operands of a MatrixType: registers of a lane, or neighbours in memory.
double matrix_element(const void* elements, unsigned index, unsigned type);

// A scale of a MatrixScales type.
double matrix_scale(unsigned char bits, unsigned scales);

inline unsigned elements_of_scale(unsigned scales) { return scales == 2 ? 16 : 32; }

}  // namespace tle2cuda_emulator
