// Tensor memory and the instructions that work on it (PTX ISA, "TensorCore 5th Generation Family Instructions"): 128 lanes of 512
// columns of 32 bits for each CTA. A product reads its operands and writes its sums at any time between its issue, by one thread, and
// the arrival of a commit; a load fills registers when the warp waits for it, or before. Products are exact and round each sum once,
// as those of warp_matrices.cpp.
#include <algorithm>
#include <cstring>

#include "async.h"
#include "matrix_operand.h"
#include "tensor_memory.h"
#include "warp_matrices.h"

namespace tle2cuda_emulator {

namespace {

constexpr unsigned LEAST_COLUMNS = 32;
constexpr unsigned QUARTER_LANES = 32;
constexpr unsigned STEP_BYTES = 32;       // of K in one instruction
constexpr uint32_t IN_FLIGHT = 0x7fdeadba;  // what registers hold until a load has filled them: NaN

const char* const KIND = "tensor_memory";

// What an instruction descriptor and the kind of the instruction say.
struct Instruction {
    unsigned m, n, a_type, b_type;
    bool is_integer, is_a_along_m, is_b_along_n;
    unsigned scales = SCALES_NONE, first_scale = 0;
    unsigned a_scales = 0, b_scales = 0;  // columns
};

constexpr unsigned SCALE_COLUMNS = 4;  // that a copy of scales writes

struct Cells {
    unsigned lane, column;

    explicit Cells(unsigned address) : lane(address >> 16), column(address & 0xffff) {}
};

TensorMemory& memory_of(Cta& cta)
{
    if (!cta.tensor_memory) cta.tensor_memory = std::make_shared<TensorMemory>();
    return *cta.tensor_memory;
}

std::string columns_text(unsigned first, unsigned count)
{
    return "columns " + std::to_string(first) + " to " + std::to_string(first + count - 1) + " of tensor memory";
}

bool is_allocated(const TensorMemory& memory, unsigned first, unsigned count)
{
    return first + count <= TENSOR_COLUMNS
        && std::all_of(memory.is_allocated.begin() + first, memory.is_allocated.begin() + first + count, [](bool is) { return is; });
}

// All lanes of the warp come, with the same value.
void come_together(const char* what, uint64_t value, int line)
{
    if (!tle2cuda_warp(VOTE_UNIFORM, 0xffffffffu, value, 0, WARP_LANES, line))
        fail("collective", std::string(what) + ": lanes of one warp pass different operands", line);
}

unsigned bits_of(uint64_t word, unsigned first, unsigned count) { return static_cast<unsigned>(word >> first & ((uint64_t(1) << count) - 1)); }

unsigned type_of(unsigned kind, unsigned number, int line)
{
    switch (kind) {
        case TENSOR_F16:
            if (number <= 1) return number ? MATRIX_BF16 : MATRIX_F16;
            break;
        case TENSOR_TF32:
            if (number == 2) return MATRIX_TF32;
            break;
        case TENSOR_I8:
            if (number == 1) return MATRIX_S8;
            break;
        default:
            if (number <= 1) return number ? MATRIX_E5M2 : MATRIX_E4M3;
    }
    fail(KIND, "tcgen05.mma: its kind has no operands of type " + std::to_string(number) + ", or the emulator does not know them", line);
}

// PTX ISA, tcgen05, "Instruction Descriptor", tables of the kinds f16, tf32, f8f6f4 and i8.
Instruction decoded(unsigned word, unsigned kind, int line)
{
    if (bits_of(word, 0, 4) || bits_of(word, 6, 1) || bits_of(word, 13, 2) || bits_of(word, 23, 1) || bits_of(word, 29, 3))
        fail(KIND, "tcgen05.mma: an instruction descriptor that says more than types, directions, M and N", line);
    const unsigned sums = bits_of(word, 4, 2);
    const bool is_integer = kind == TENSOR_I8;
    if (sums != (is_integer ? 2u : 1u)) fail(KIND, "tcgen05.mma: sums of type " + std::to_string(sums) + " are not those of its kind, or no 32-bit ones", line);
    Instruction found{bits_of(word, 24, 5) << 4, bits_of(word, 17, 6) << 3, type_of(kind, bits_of(word, 7, 3), line),
                      type_of(kind, bits_of(word, 10, 3), line), is_integer, bits_of(word, 15, 1) != 0, bits_of(word, 16, 1) != 0};
    const unsigned unit = found.m == 64 ? 8 : 16;
    if ((found.m != 64 && found.m != 128) || found.n == 0 || found.n > 256 || found.n % unit || (is_integer && found.n > 32 && found.n % 16))
        fail(KIND, "tcgen05.mma: there is none of M = " + std::to_string(found.m) + " and N = " + std::to_string(found.n), line);
    if (kind == TENSOR_TF32 && (found.is_a_along_m || found.is_b_along_n))
        fail(KIND, "tcgen05.mma: operands of 32 bits along M or N need a swizzle that the emulator does not know", line);
    return found;
}

// PTX ISA, tcgen05, "Instruction Descriptor", tables of the kinds mxf8f6f4, mxf4 and mxf4nvf4.
Instruction decoded_scaled(unsigned word, unsigned kind, unsigned a_scales, unsigned b_scales, int line)
{
    if (bits_of(word, 0, 4) || bits_of(word, 6, 1) || bits_of(word, 13, 2) || bits_of(word, 31, 1))
        fail(KIND, "tcgen05.mma: an instruction descriptor that says more than types, directions, M, N and scales", line);
    const bool is_bytes = kind == TENSOR_MXF8F6F4;
    const auto type = [&](unsigned number) {
        if (!is_bytes && number == 1) return static_cast<unsigned>(MATRIX_E2M1);
        if (is_bytes && number <= 1) return static_cast<unsigned>(number ? MATRIX_E5M2 : MATRIX_E4M3);
        fail(KIND, "tcgen05.mma: its kind has no operands of type " + std::to_string(number) + ", or the emulator does not know them", line);
    };
    Instruction found{bits_of(word, 24, 5) << 4, bits_of(word, 17, 6) << 3, type(bits_of(word, 7, 3)), type(bits_of(word, 10, 3)),
                      false, bits_of(word, 15, 1) != 0, bits_of(word, 16, 1) != 0};
    if (found.m != 128 || found.n == 0 || found.n > 256 || found.n % 8)
        fail(KIND, "tcgen05.mma with scales: there is none of M = " + std::to_string(found.m) + " and N = " + std::to_string(found.n), line);
    if (!is_bytes && (found.is_a_along_m || found.is_b_along_n)) fail(KIND, "tcgen05.mma: operands of 4 bits lie along K alone", line);
    const bool is_exponent = bits_of(word, 23, 1);
    if (is_exponent == (kind == TENSOR_MXF4NVF4))
        fail(KIND, std::string("tcgen05.mma: scales of the type ") + (is_exponent ? "e8m0" : "e4m3") + " are not those of its kind here", line);
    found.scales = is_exponent ? SCALES_E8M0_32 : SCALES_E4M3_16;
    found.first_scale = bits_of(word, 29, 2);
    const unsigned unit = is_bytes ? 1 : is_exponent ? 2 : 4;  // scales of an instruction
    if (found.first_scale != bits_of(word, 4, 2) || found.first_scale % unit)
        fail(KIND, "tcgen05.mma: scales of a begin with number " + std::to_string(found.first_scale) + ", those of b with number " +
             std::to_string(bits_of(word, 4, 2)) + ", in units of " + std::to_string(unit), line);
    found.a_scales = a_scales;
    found.b_scales = b_scales;
    return found;
}

// PTX ISA, tcgen05, "Shared Memory Descriptor".
MatrixOperand named_by(uint64_t descriptor, bool is_transposed, unsigned type, int line)
{
    if (bits_of(descriptor, 46, 3) != 1) fail(KIND, "tcgen05.mma: bits 46 to 48 of a matrix descriptor must say 1", line);
    if (bits_of(descriptor, 14, 2) || bits_of(descriptor, 30, 2) || bits_of(descriptor, 49, 12))
        fail(KIND, "tcgen05.mma: a matrix descriptor with bits that should be 0", line);
    const unsigned mode = bits_of(descriptor, 61, 3);
    if (mode != 0 && mode != 2 && mode != 4 && mode != 6) fail(KIND, "tcgen05.mma: no swizzle that the emulator knows: " + std::to_string(mode), line);
    if (mode == 0 && is_transposed) fail(KIND, "tcgen05.mma: operands along M and N need a swizzle here", line);
    return {descriptor, mode ? 4 - mode / 2 : 0, is_transposed, type, 14};
}

void add_reads(Copy& copy, const MatrixOperand& operand, unsigned count, unsigned depth, int line)
{
    const unsigned chunk = 16 / operand.element_bytes;
    for (unsigned index = 0; index < count; index += operand.is_transposed ? chunk : 1)
        for (unsigned k = 0; k < depth; k += operand.is_transposed ? 1 : chunk) {
            copy.reads.push_back({nullptr, operand.at(index, k), 16});
            if (locate(copy.reads.back().from).space != Space::SHARED)
                fail("out_of_bounds", "a matrix product reads " + describe_address(copy.reads.back().from), line);
        }
}

// The lane of a row: of 64 rows each quarter of the lanes has 16.
unsigned lane_of_row(unsigned row, unsigned m, unsigned first) { return first + (m == 64 ? row / 16 * QUARTER_LANES + row % 16 : row); }

// Scale of element k of a row of A, or of a column of B, which lies in the tensor memory of each quarter of the lanes.
double scale_at(const TensorMemory& memory, const Instruction& instruction, unsigned columns, unsigned index, unsigned k, const Party& party)
{
    if (instruction.scales == SCALES_NONE) return 1.0;
    const unsigned lane = index % QUARTER_LANES, column = columns + index / QUARTER_LANES;
    if (!memory.is_written[lane * TENSOR_COLUMNS + column])
        add_finding(KIND, "a product reads scales from lane " + std::to_string(lane) + " and column " + std::to_string(column) +
                    " of tensor memory, which nothing has written", party);
    const unsigned number = instruction.first_scale + k / elements_of_scale(instruction.scales);
    return matrix_scale(static_cast<unsigned char>(memory.cells[lane * TENSOR_COLUMNS + column] >> 8 * number), instruction.scales);
}

void multiply(TensorMemory& memory, Cells sums, const Instruction& instruction, const MatrixOperand& a, const MatrixOperand& b, bool adds,
              const Party& party)
{
    const unsigned packed = instruction.a_type == MATRIX_E2M1 ? 2 : 1;  // elements of a byte
    const unsigned depth = STEP_BYTES / a.element_bytes * packed;
    std::vector<double> x(size_t(instruction.m) * depth), y(size_t(instruction.n) * depth);
    for (unsigned k = 0; k < depth; ++k) {
        for (unsigned row = 0; row < instruction.m; ++row)
            x[row * depth + k] = matrix_element(a.at(row, k / packed), k % packed, instruction.a_type) *
                                 scale_at(memory, instruction, instruction.a_scales, row, k, party);
        for (unsigned column = 0; column < instruction.n; ++column)
            y[column * depth + k] = matrix_element(b.at(column, k / packed), k % packed, instruction.b_type) *
                                    scale_at(memory, instruction, instruction.b_scales, column, k, party);
    }
    for (unsigned row = 0; row < instruction.m; ++row) {
        const unsigned lane = lane_of_row(row, instruction.m, sums.lane);
        for (unsigned column = 0; column < instruction.n; ++column) {
            uint32_t& cell = memory.cell(lane, sums.column + column);
            if (adds && !memory.is_written[lane * TENSOR_COLUMNS + sums.column + column])
                add_finding(KIND, "a product adds to lane " + std::to_string(lane) + " and column " + std::to_string(sums.column + column) +
                            " of tensor memory, which nothing has written", party);
            double sum = 0.0;
            if (adds && instruction.is_integer) sum = static_cast<int32_t>(cell);
            if (adds && !instruction.is_integer) {
                float value;
                memcpy(&value, &cell, sizeof value);
                sum = static_cast<double>(value);
            }
            for (unsigned k = 0; k < depth; ++k) sum += x[row * depth + k] * y[column * depth + k];
            if (instruction.is_integer) {
                cell = static_cast<uint32_t>(static_cast<int64_t>(sum));
            } else {
                const auto value = static_cast<float>(sum);
                memcpy(&cell, &value, sizeof value);
            }
            memory.is_written[lane * TENSOR_COLUMNS + sums.column + column] = true;
        }
    }
}

// A product that is in flight to some of these columns.
const TensorProduct* in_flight(const TensorMemory& memory, unsigned first, unsigned count)
{
    for (const TensorProduct& product : memory.products)
        if (product.copy->stage != Stage::DONE && product.column < first + count && first < product.column + product.columns) return &product;
    return nullptr;
}

void forget_complete(TensorMemory& memory)
{
    auto& products = memory.products;
    products.erase(std::remove_if(products.begin(), products.end(), [](const TensorProduct& p) { return p.copy->stage == Stage::DONE; }), products.end());
}

// Loads of other threads that no fence of theirs orders before what comes behind a barrier.
void require_fenced_loads(const Cta& cta, unsigned first, unsigned count, const Party& party)
{
    for (const Thread& thread : cta.threads) {
        if (&thread == current) continue;
        for (const TensorRange& load : thread.unfenced_loads)
            if (load.column < first + count && first < load.column + load.columns) {
                add_finding(KIND, "a product writes " + columns_text(load.column, load.columns) + ", which another thread has loaded, and no "
                            "tcgen05.fence::before_thread_sync stands behind that load", party, &load.party);
                return;
            }
    }
}

void require_fence(const Party& party, const char* what)
{
    if (!current->has_tensor_fence)
        add_finding(KIND, std::string(what) + ": no tcgen05.fence::after_thread_sync stands between it and the last barrier", party);
}

void fill(const TensorLoad& load)
{
    const TensorMemory& memory = *current->cta->tensor_memory;
    const unsigned lane = lane_of(*current);
    auto* const to = static_cast<uint32_t*>(load.registers);
    const auto read = [&](unsigned at, unsigned column) {
        if (!memory.is_written[at * TENSOR_COLUMNS + column])
            add_finding(KIND, "a load reads lane " + std::to_string(at) + " and column " + std::to_string(column) + " of tensor memory, which nothing has written", load.party);
        return memory.cells[at * TENSOR_COLUMNS + column];
    };
    for (unsigned i = 0; i < load.count; ++i) {
        if (load.shape == TENSOR_32X32B) {
            to[i] = read(load.lane + lane, load.column + i);
            continue;
        }
        for (unsigned k = 0; k < 4; ++k) to[4 * i + k] = read(load.lane + lane / 4 + k / 2 * 8, load.column + 8 * i + lane % 4 * 2 + k % 2);
    }
}

unsigned columns_of(unsigned shape, unsigned count) { return shape == TENSOR_32X32B ? count : 8 * count; }

}  // namespace

void tensor_memory_of_cta_exited(Cta& cta)
{
    if (!cta.tensor_memory) return;
    TensorMemory& memory = *cta.tensor_memory;
    for (const TensorProduct& product : memory.products)
        if (product.copy->stage != Stage::DONE)
            add_finding("exit", "CTA " + triple_text(cta.index) + " exits while a matrix product is in flight: nothing waits for it", product.copy->party);
    for (const TensorRange& range : memory.allocations)
        add_finding(KIND, "CTA " + triple_text(cta.index) + " exits and has not given back " + columns_text(range.column, range.columns), range.party);
    cta.tensor_memory.reset();
}

extern "C" unsigned tle2cuda_tcgen05_alloc(unsigned columns, int line)
{
    const void* const pc = __builtin_return_address(0);
    come_together("tcgen05.alloc", columns, line);
    Thread& thread = *current;
    TensorMemory& memory = memory_of(*thread.cta);
    if (columns < LEAST_COLUMNS || columns > TENSOR_COLUMNS || (columns & (columns - 1)))
        fail(KIND, "tcgen05.alloc of " + std::to_string(columns) + " columns; it takes a power of two from 32 to 512", line);
    const bool is_first = lane_of(thread) == static_cast<unsigned>(__builtin_ctz(warp_of(thread).present));
    if (is_first) {
        if (memory.has_given_up) fail(KIND, "tcgen05.alloc: the CTA has given up its right to allocate", line);
        unsigned first = 0;
        while (first + columns <= TENSOR_COLUMNS && std::any_of(memory.is_allocated.begin() + first, memory.is_allocated.begin() + first + columns, [](bool is) { return is; }))
            first += columns;
        if (first + columns > TENSOR_COLUMNS) fail(KIND, "tcgen05.alloc of " + std::to_string(columns) + " columns: so many are not free, and only this CTA can free them", line);
        std::fill(memory.is_allocated.begin() + first, memory.is_allocated.begin() + first + columns, true);
        memory.allocations.push_back({first, columns, {pc, thread.cta->index, thread.index}});
        memory.has_given_up = true;  // the helper does that right behind
    }
    tle2cuda_warp(VOTE_UNIFORM, 0xffffffffu, 0, 0, WARP_LANES, line);
    return memory.allocations.back().column;
}

extern "C" void tle2cuda_tcgen05_dealloc(unsigned address, unsigned columns, int line)
{
    const void* const pc = __builtin_return_address(0);
    come_together("tcgen05.dealloc", address, line);
    Thread& thread = *current;
    TensorMemory& memory = memory_of(*thread.cta);
    if (lane_of(thread) != static_cast<unsigned>(__builtin_ctz(warp_of(thread).present))) return;
    const auto found = std::find_if(memory.allocations.begin(), memory.allocations.end(),
                                    [&](const TensorRange& range) { return range.column == address && range.columns == columns; });
    if (found == memory.allocations.end()) fail(KIND, "tcgen05.dealloc of what is not allocated: " + columns_text(address & 0xffff, columns), line);
    if (const TensorProduct* product = in_flight(memory, address, columns))
        add_finding(KIND, "tcgen05.dealloc of " + columns_text(address, columns) + " while a product is in flight to them",
                    {pc, thread.cta->index, thread.index}, &product->copy->party);
    std::fill(memory.is_allocated.begin() + address, memory.is_allocated.begin() + address + columns, false);
    memory.allocations.erase(found);
}

namespace {

// Starts a product of operands that descriptors name.
void start_product(unsigned sums, uint64_t a, uint64_t b, unsigned instruction, unsigned kind, const Instruction& what, bool is_accumulating,
                   const void* pc, int line)
{
    Thread& thread = *current;
    Cta& cta = *thread.cta;
    TensorMemory& memory = memory_of(cta);
    const Cells cells(sums);
    if (cells.lane != 0 && !(what.m == 64 && cells.lane == 16))
        fail(KIND, "tcgen05.mma: sums of " + std::to_string(what.m) + " rows cannot begin in lane " + std::to_string(cells.lane), line);
    if (!is_allocated(memory, cells.column, what.n)) fail(KIND, "tcgen05.mma writes " + columns_text(cells.column, what.n) + ", which are not allocated", line);
    std::vector<TensorColumns> scales;
    if (what.scales != SCALES_NONE) {
        scales = {{what.a_scales, SCALE_COLUMNS}, {what.b_scales, (what.n + QUARTER_LANES - 1) / QUARTER_LANES}};
        for (const TensorColumns& range : scales)
            if (!is_allocated(memory, range.column, range.columns))
                fail(KIND, "tcgen05.mma reads scales from " + columns_text(range.column, range.columns) + ", which are not allocated", line);
    }
    const Party party{pc, cta.index, thread.index};
    require_fence(party, "tcgen05.mma");
    require_fenced_loads(cta, cells.column, what.n, party);
    const MatrixOperand first = named_by(a, what.is_a_along_m, what.a_type, line), second = named_by(b, what.is_b_along_n, what.b_type, line);
    const auto copy = std::make_shared<Copy>();
    copy->kind = COPY_MATRIX;
    copy->party = party;
    add_reads(*copy, first, what.m, STEP_BYTES / first.element_bytes, line);
    add_reads(*copy, second, what.n, STEP_BYTES / second.element_bytes, line);
    copy->perform = [held = cta.tensor_memory, cells, what, first, second, is_accumulating, party] {
        multiply(*held, cells, what, first, second, is_accumulating, party);
    };
    forget_complete(memory);
    // Those of one thread, kind, shape and accumulator come one after the other, and behind the thread's copies of their scales.
    const unsigned shape = instruction >> 17 & 0xfff;
    for (const TensorProduct& earlier : memory.products) {
        if (earlier.thread != &thread) continue;
        const bool is_alike = earlier.sums == sums && earlier.kind == kind && (earlier.instruction >> 17 & 0xfff) == shape;
        const bool is_scales = std::any_of(scales.begin(), scales.end(), [&](const TensorColumns& range) { return range.meets(earlier.column, earlier.columns); });
        if (is_alike || is_scales) copy->prior.push_back(earlier.copy);
    }
    memory.products.push_back({copy, &thread, sums, kind, instruction, cells.column, what.n, scales});
    thread.tensor_products.push_back(copy);
    issue(copy);
}

}  // namespace

extern "C" void tle2cuda_tcgen05_multiply(
    unsigned sums, uint64_t a, uint64_t b, unsigned instruction, unsigned kind, unsigned is_accumulating, int line)
{
    switch_at_access();
    start_product(sums, a, b, instruction, kind, decoded(instruction, kind, line), is_accumulating != 0, __builtin_return_address(0), line);
}

extern "C" void tle2cuda_tcgen05_multiply_scaled(unsigned sums, uint64_t a, uint64_t b, unsigned instruction, unsigned kind, unsigned a_scales,
                                                 unsigned b_scales, unsigned is_accumulating, int line)
{
    switch_at_access();
    const Instruction what = decoded_scaled(instruction, kind, a_scales, b_scales, line);
    start_product(sums, a, b, instruction, kind, what, is_accumulating != 0, __builtin_return_address(0), line);
}

// tcgen05.cp.32x128b.warpx4 of 32 rows of 16 bytes without a swizzle.
extern "C" void tle2cuda_tcgen05_copy(unsigned columns, uint64_t source, int line)
{
    switch_at_access();
    const void* const pc = __builtin_return_address(0);
    Thread& thread = *current;
    Cta& cta = *thread.cta;
    TensorMemory& memory = memory_of(cta);
    const Cells cells(columns);
    if (cells.lane != 0) fail(KIND, "tcgen05.cp to all quarters of the lanes cannot begin in lane " + std::to_string(cells.lane), line);
    if (!is_allocated(memory, cells.column, SCALE_COLUMNS))
        fail(KIND, "tcgen05.cp writes " + columns_text(cells.column, SCALE_COLUMNS) + ", which are not allocated", line);
    const Party party{pc, cta.index, thread.index};
    require_fence(party, "tcgen05.cp");
    const MatrixOperand rows = named_by(source, false, MATRIX_S8, line);
    forget_complete(memory);
    const auto copy = std::make_shared<Copy>();
    for (const TensorProduct& earlier : memory.products) {
        const bool is_read = std::any_of(earlier.scales.begin(), earlier.scales.end(),
                                         [&](const TensorColumns& range) { return range.meets(cells.column, SCALE_COLUMNS); });
        if (earlier.copy->stage == Stage::DONE) continue;
        if (is_read || (earlier.column < cells.column + SCALE_COLUMNS && cells.column < earlier.column + earlier.columns))
            add_finding(KIND, "a copy writes " + columns_text(cells.column, SCALE_COLUMNS) + " while a product that uses them is in flight", party,
                        &earlier.copy->party);
    }
    copy->kind = COPY_MATRIX;
    copy->party = party;
    for (unsigned lane = 0; lane < QUARTER_LANES; ++lane) {
        copy->reads.push_back({nullptr, rows.at(lane, 0), 16});
        if (locate(copy->reads.back().from).space != Space::SHARED)
            fail("out_of_bounds", "a copy of scales reads " + describe_address(copy->reads.back().from), line);
    }
    copy->perform = [held = cta.tensor_memory, cells, rows] {
        for (unsigned lane = 0; lane < TENSOR_LANES; ++lane)
            for (unsigned i = 0; i < SCALE_COLUMNS; ++i) {
                memcpy(&held->cell(lane, cells.column + i), rows.at(lane % QUARTER_LANES, 4 * i), 4);
                held->is_written[lane * TENSOR_COLUMNS + cells.column + i] = true;
            }
    };
    memory.products.push_back({copy, &thread, columns, 0, 0, cells.column, SCALE_COLUMNS, {}});
    thread.tensor_products.push_back(copy);
    issue(copy);
}

extern "C" void tle2cuda_tcgen05_commit(void* barrier, int line)
{
    switch_at_access();
    const FoundMbarrier found = mbarrier_at(barrier, "tcgen05.commit arrives at", line);
    const auto arrival = std::make_shared<Copy>();
    arrival->kind = COPY_ELEMENT;
    arrival->is_async_proxy = false;
    arrival->party = {__builtin_return_address(0), current->cta->index, current->index};
    arrival->prior = current->tensor_products;
    for (const auto& copy : arrival->prior) copy->is_awaited = true;
    arrival->barrier = found.barrier;
    current->tensor_products.clear();
    issue(arrival);
}

extern "C" void tle2cuda_tcgen05_fence(unsigned is_after)
{
    Thread& thread = *current;
    if (is_after)
        thread.has_tensor_fence = true;
    else
        thread.unfenced_loads.clear();
}

extern "C" void tle2cuda_tcgen05_load(void* registers, unsigned address, unsigned shape, unsigned count, int line)
{
    const void* const pc = __builtin_return_address(0);
    come_together("tcgen05.ld", address, line);
    Thread& thread = *current;
    TensorMemory& memory = memory_of(*thread.cta);
    const Cells cells(address);
    const unsigned quarter = thread.linear / WARP_LANES % 4 * QUARTER_LANES, columns = columns_of(shape, count);
    if (cells.lane != quarter && !(shape == TENSOR_16X256B && cells.lane == quarter + 16))
        fail(KIND, "tcgen05.ld: warp " + std::to_string(thread.linear / WARP_LANES) + " loads from lane " + std::to_string(cells.lane) +
             " on, and reaches lanes " + std::to_string(quarter) + " to " + std::to_string(quarter + QUARTER_LANES - 1) + " alone", line);
    if (!is_allocated(memory, cells.column, columns)) fail(KIND, "tcgen05.ld reads " + columns_text(cells.column, columns) + ", which are not allocated", line);
    const Party party{pc, thread.cta->index, thread.index};
    require_fence(party, "tcgen05.ld");
    if (const TensorProduct* product = in_flight(memory, cells.column, columns))
        add_finding(KIND, "a load reads " + columns_text(cells.column, columns) + " while a product is in flight to them", party, &product->copy->party);
    const unsigned count_of_registers = shape == TENSOR_32X32B ? count : 4 * count;
    std::fill_n(static_cast<uint32_t*>(registers), count_of_registers, IN_FLIGHT);
    const TensorLoad load{registers, cells.lane, cells.column, shape, count, party};
    thread.unfenced_loads.push_back({cells.column, columns, party});
    if (launch.request.delivery == Delivery::NOW || (launch.request.delivery == Delivery::RANDOM && launch.random.below(2)))
        fill(load);
    else
        thread.tensor_loads.push_back(load);
}

extern "C" void tle2cuda_tcgen05_wait_load(int line)
{
    tle2cuda_warp(VOTE_UNIFORM, 0xffffffffu, 0, 0, WARP_LANES, line);
    std::vector<TensorLoad> loads;
    loads.swap(current->tensor_loads);
    for (const TensorLoad& load : loads) fill(load);
}

}  // namespace tle2cuda_emulator
