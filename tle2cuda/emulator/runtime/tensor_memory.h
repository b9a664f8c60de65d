// Tensor memory of a CTA: its cells, who holds which columns, and the products in flight to them.
#pragma once

#include <array>

#include "async.h"

namespace tle2cuda_emulator {

constexpr unsigned TENSOR_LANES = 128, TENSOR_COLUMNS = 512;

struct TensorColumns {
    unsigned column, columns;

    bool meets(unsigned first, unsigned count) const { return column < first + count && first < column + columns; }
};

// A product, or a copy of scales, which writes four columns.
struct TensorProduct {
    std::shared_ptr<Copy> copy;
    const Thread* thread;
    unsigned sums, kind, instruction;  // as the thread passed them
    unsigned column, columns;          // that it writes
    std::vector<TensorColumns> scales;  // that it reads
};

struct TensorMemory {
    std::vector<uint32_t> cells = std::vector<uint32_t>(TENSOR_LANES * TENSOR_COLUMNS, 0x7fa5a5a5);
    std::vector<bool> is_written = std::vector<bool>(TENSOR_LANES * TENSOR_COLUMNS);
    std::vector<bool> is_allocated = std::vector<bool>(TENSOR_COLUMNS);
    std::vector<TensorRange> allocations;
    bool has_given_up = false;  // its right to allocate
    std::vector<TensorProduct> products;

    uint32_t& cell(unsigned lane, unsigned column) { return cells[lane * TENSOR_COLUMNS + column]; }
};

// The CTA's exit: nothing is in flight, and all columns are given back.
void tensor_memory_of_cta_exited(Cta& cta);

}  // namespace tle2cuda_emulator
