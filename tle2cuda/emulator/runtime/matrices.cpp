// Matrix products of a warpgroup (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions: wgmma"). Like a copy, a product reads
// shared memory at any time between its issue, by all 128 threads, and a wait for its group, which is when accumulators change.
#include <array>
#include <cstring>

#include "../include/tle2cuda_emulator/numerics.h"
#include "async.h"

namespace tle2cuda_emulator {

namespace {

constexpr unsigned GROUP_THREADS = 128;
constexpr unsigned ROWS = 64, DEPTH = 16;
constexpr unsigned ELEMENT_BYTES = 2;

// PTX ISA, "Matrix Descriptor Format", with two bits of address more.
struct Operand {
    const unsigned char* start;
    uint64_t leading_bytes, stride_bytes;
    unsigned swizzle;  // 0 none, 1 to 3 for 32, 64 and 128 bytes
    bool is_transposed;  // neighbours along M or N, not along K

    Operand(uint64_t descriptor, bool is_transposed_)
        : start(static_cast<const unsigned char*>(tle2cuda_from_shared_window(static_cast<unsigned>(descriptor & 0xffff) << 4))),
          leading_bytes((descriptor >> 16 & 0x3fff) << 4), stride_bytes((descriptor >> 32 & 0x3fff) << 4),
          swizzle(descriptor >> 62 ? 4 - static_cast<unsigned>(descriptor >> 62) : 0), is_transposed(is_transposed_)
    {
    }
    const unsigned char* at(unsigned index, unsigned k) const
    {
        const uint64_t span = uint64_t(16) << swizzle;
        uint64_t offset;
        if (is_transposed)
            offset = index / (span / ELEMENT_BYTES) * leading_bytes + k / 8 * stride_bytes + k % 8 * span + index % (span / ELEMENT_BYTES) * ELEMENT_BYTES;
        else if (swizzle)
            offset = index / 8 * stride_bytes + index % 8 * span + k * ELEMENT_BYTES;
        else
            offset = index / 8 * stride_bytes + k / 8 * leading_bytes + index % 8 * 16 + k % 8 * ELEMENT_BYTES;
        auto bits = reinterpret_cast<uintptr_t>(start) + offset;
        bits ^= (bits >> 7 & ((1u << swizzle) - 1)) << 4;
        return reinterpret_cast<const unsigned char*>(bits);
    }
};

struct Product {
    unsigned columns, type;
    bool is_accumulating;
    bool has_registers;
    uint64_t a, b;
    bool is_a_transposed, is_b_transposed;
    std::array<float*, GROUP_THREADS> accumulators{};
    std::array<std::array<unsigned, 4>, GROUP_THREADS> registers{};
};

double value_of(uint16_t bits, unsigned type) { return type == TYPE_BF16 ? Bfloat16::value(bits) : Half::value(bits); }

double value_at(const unsigned char* address, unsigned type)
{
    uint16_t bits;
    memcpy(&bits, address, sizeof bits);
    return value_of(bits, type);
}

// Who holds element (row, k) of a first operand in registers, and where: fragments of 8 x 8, two elements a register.
double value_in_registers(const Product& product, unsigned row, unsigned k)
{
    const unsigned thread = row / 16 * WARP_LANES + row % 8 * 4 + k % 8 / 2;
    const unsigned bits = product.registers[thread][row % 16 / 8 + k / 8 * 2];
    return value_of(static_cast<uint16_t>(bits >> 16 * (k % 2)), product.type);
}

void multiply(const Product& product, const Operand* a_in_memory, const Operand& b_in_memory)
{
    std::vector<double> a(ROWS * DEPTH), b(size_t(product.columns) * DEPTH);
    for (unsigned k = 0; k < DEPTH; ++k) {
        for (unsigned row = 0; row < ROWS; ++row)
            a[row * DEPTH + k] = a_in_memory ? value_at(a_in_memory->at(row, k), product.type) : value_in_registers(product, row, k);
        for (unsigned column = 0; column < product.columns; ++column)
            b[column * DEPTH + k] = value_at(b_in_memory.at(column, k), product.type);
    }
    for (unsigned thread = 0; thread < GROUP_THREADS; ++thread) {
        float* const accumulators = product.accumulators[thread];
        if (!accumulators) continue;
        const unsigned lane = thread % WARP_LANES;
        for (unsigned i = 0; i < product.columns / 2; ++i) {
            const unsigned row = thread / WARP_LANES * 16 + lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
            double sum = product.is_accumulating ? static_cast<double>(accumulators[i]) : 0.0;
            for (unsigned k = 0; k < DEPTH; ++k) sum += a[row * DEPTH + k] * b[column * DEPTH + k];
            accumulators[i] = static_cast<float>(sum);
        }
    }
}

// The bytes that an operand reads, chunk by chunk.
void add_reads(Copy& copy, const Operand& operand, unsigned count)
{
    const unsigned step = operand.is_transposed ? 8 : 1;
    for (unsigned index = 0; index < count; index += step)
        for (unsigned k = 0; k < DEPTH; k += operand.is_transposed ? 1 : 8) copy.reads.push_back({nullptr, operand.at(index, k), 16});
}

void require_whole(const Copy& copy, int line)
{
    for (const Piece& piece : copy.reads)
        if (locate(piece.from).space != Space::SHARED) fail("out_of_bounds", "a matrix product reads " + describe_address(piece.from), line);
}

}  // namespace

extern "C" void tle2cuda_wgmma(
    float* accumulators, unsigned columns, uint64_t a, const unsigned* a_registers, uint64_t b, unsigned is_accumulating,
    unsigned is_a_transposed, unsigned is_b_transposed, unsigned type, int line)
{
    const void* const pc = __builtin_return_address(0);
    tle2cuda_warp(VOTE_UNIFORM, 0xffffffffu, 0, 0, WARP_LANES, line);  // .sync.aligned
    Thread& thread = *current;
    CopyList& products = thread.cta->products[thread.linear / GROUP_THREADS];
    const unsigned place = thread.linear % GROUP_THREADS;
    const size_t number = thread.products++;
    static std::map<const Copy*, std::shared_ptr<Product>> descriptions;
    const bool is_first = number == products.size();
    if (is_first) {
        auto copy = std::make_shared<Copy>();
        copy->kind = COPY_MATRIX;
        copy->party = {pc, thread.cta->index, thread.index};
        const auto product = std::make_shared<Product>();
        *product = {columns, type, is_accumulating != 0, a_registers != nullptr, a, b, is_a_transposed != 0, is_b_transposed != 0, {}, {}};
        const Operand second(b, is_b_transposed != 0);
        if (is_b_transposed && !second.swizzle) fail("collective", "wgmma: operands along N need a swizzle here", line);
        std::shared_ptr<Operand> first;
        if (!a_registers) {
            first = std::make_shared<Operand>(a, is_a_transposed != 0);
            add_reads(*copy, *first, ROWS);
        }
        add_reads(*copy, second, columns);
        require_whole(*copy, line);
        copy->perform = [product, first, second] { multiply(*product, first.get(), second); };
        descriptions[copy.get()] = product;
        products.push_back(copy);
    }
    const std::shared_ptr<Copy> copy = products[number];
    Product& product = *descriptions.at(copy.get());
    if (product.columns != columns || product.b != b || (product.has_registers ? !a_registers : product.a != a))
        fail("collective", "wgmma: threads of one warpgroup name different matrices", line);
    product.accumulators[place] = accumulators;
    if (a_registers) std::copy(a_registers, a_registers + 4, product.registers[place].begin());
    thread.matrix_products.open.push_back(copy);
    const bool is_last = ++copy->issuers == GROUP_THREADS;
    if (is_first) announce(copy);
    if (!is_last) return;
    descriptions.erase(copy.get());
    put_in_flight(copy);
}

extern "C" void tle2cuda_wgmma_commit(int line)
{
    tle2cuda_warp(VOTE_UNIFORM, 0xffffffffu, 0, 0, WARP_LANES, line);
    commit(current->matrix_products);
}

extern "C" void tle2cuda_wgmma_wait(unsigned pending_groups, int line)
{
    tle2cuda_warp(VOTE_UNIFORM, 0xffffffffu, 0, 0, WARP_LANES, line);
    CopyGroups& groups = current->matrix_products;
    for (size_t i = 0; i + pending_groups < groups.committed.size(); ++i)
        for (const auto& copy : groups.committed[i])
            while (copy->issuers < GROUP_THREADS) yield_polling(line);  // the other warps of the warpgroup come, too
    wait_for(groups, pending_groups, false, false);
}

}  // namespace tle2cuda_emulator
