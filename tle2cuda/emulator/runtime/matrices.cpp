// Matrix products of a warpgroup (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions: wgmma"). Like a copy, a product reads
// shared memory at any time between its issue, by all 128 threads, and a wait for its group, which is when accumulators change.
// As those of a warp (warp_matrices.cpp) it is exact, and rounds each sum once.
#include <array>
#include <cstring>
#include <deque>

#include "../include/tle2cuda_emulator/numerics.h"
#include "async.h"
#include "matrix_operand.h"
#include "warp_matrices.h"

namespace tle2cuda_emulator {

namespace {

constexpr unsigned GROUP_THREADS = 128;
constexpr unsigned ROWS = 64, STEP_BYTES = 32;  // of K in one instruction

// PTX ISA, "Matrix Descriptor Format", with two bits of address more.
MatrixOperand named_by(uint64_t descriptor, bool is_transposed, unsigned type)
{
    const auto mode = static_cast<unsigned>(descriptor >> 62);
    return {descriptor, mode ? 4 - mode : 0, is_transposed, type, 16};
}

struct Product {
    unsigned columns, sums_type, a_type, b_type;
    bool is_accumulating;
    bool has_registers;
    uint64_t a, b;
    bool is_a_transposed, is_b_transposed;
    std::array<void*, GROUP_THREADS> accumulators{};
    std::array<std::array<unsigned, 4>, GROUP_THREADS> registers{};

    unsigned depth() const { return STEP_BYTES / matrix_element_bytes(a_type); }
    bool is_same(const Product& other) const
    {
        return columns == other.columns && sums_type == other.sums_type && a_type == other.a_type && b_type == other.b_type
            && is_accumulating == other.is_accumulating && has_registers == other.has_registers && (has_registers || a == other.a)
            && b == other.b && is_a_transposed == other.is_a_transposed && is_b_transposed == other.is_b_transposed;
    }
};

// Who holds element (row, k) of a first operand in registers, and where: fragments of eight rows and 16 bytes of K, four bytes of
// it in a register.
double value_in_registers(const Product& product, unsigned row, unsigned k)
{
    const unsigned size = matrix_element_bytes(product.a_type), column = k * size;
    const unsigned thread = row / 16 * WARP_LANES + row % 8 * 4 + column % 16 / 4;
    const unsigned& word = product.registers[thread][row % 16 / 8 + column / 16 * 2];
    return matrix_element(&word, column % 4 / size, product.a_type);
}

// What a sum that starts from 0 or the accumulator becomes, `i` counting the thread's own.
void add_up(const Product& product, void* accumulators, unsigned i, const double* a, const double* b)
{
    const unsigned depth = product.depth();
    const bool adds = product.is_accumulating;
    double products = 0.0;
    if (product.sums_type == SUMS_S32) {
        int64_t sum = adds ? static_cast<int32_t*>(accumulators)[i] : 0;
        for (unsigned k = 0; k < depth; ++k) sum += static_cast<int64_t>(a[k] * b[k]);
        static_cast<int32_t*>(accumulators)[i] = static_cast<int32_t>(static_cast<uint32_t>(sum));
    } else if (product.sums_type == SUMS_F16) {
        auto& sum = static_cast<uint16_t*>(accumulators)[i];
        if (adds) products = Half::value(sum);
        for (unsigned k = 0; k < depth; ++k) products += a[k] * b[k];
        sum = static_cast<uint16_t>(Half::round(products));
    } else {
        auto& sum = static_cast<float*>(accumulators)[i];
        if (adds) products = static_cast<double>(sum);
        for (unsigned k = 0; k < depth; ++k) products += a[k] * b[k];
        sum = static_cast<float>(products);
    }
}

void multiply(const Product& product, const MatrixOperand* a_in_memory, const MatrixOperand& b_in_memory)
{
    const unsigned depth = product.depth();
    std::vector<double> a(size_t(ROWS) * depth), b(size_t(product.columns) * depth);
    for (unsigned k = 0; k < depth; ++k) {
        for (unsigned row = 0; row < ROWS; ++row)
            a[row * depth + k] = a_in_memory ? matrix_element(a_in_memory->at(row, k), 0, product.a_type) : value_in_registers(product, row, k);
        for (unsigned column = 0; column < product.columns; ++column)
            b[column * depth + k] = matrix_element(b_in_memory.at(column, k), 0, product.b_type);
    }
    for (unsigned thread = 0; thread < GROUP_THREADS; ++thread) {
        void* const accumulators = product.accumulators[thread];
        if (!accumulators) continue;
        const unsigned lane = thread % WARP_LANES;
        for (unsigned i = 0; i < product.columns / 2; ++i) {
            const unsigned row = thread / WARP_LANES * 16 + lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
            add_up(product, accumulators, i, &a[row * depth], &b[column * depth]);
        }
    }
}

// The bytes that an operand reads, chunk by chunk.
void add_reads(Copy& copy, const MatrixOperand& operand, unsigned count, unsigned depth)
{
    const unsigned chunk = 16 / operand.element_bytes;
    for (unsigned index = 0; index < count; index += operand.is_transposed ? chunk : 1)
        for (unsigned k = 0; k < depth; k += operand.is_transposed ? 1 : chunk) copy.reads.push_back({nullptr, operand.at(index, k), 16});
}

void require_whole(const Copy& copy, int line)
{
    for (const Piece& piece : copy.reads)
        if (locate(piece.from).space != Space::SHARED) fail("out_of_bounds", "a matrix product reads " + describe_address(piece.from), line);
}

}  // namespace

// The products of a warpgroup that some of its threads have issued and others have not yet: all issue the same, in the same order.
struct WarpgroupProducts {
    struct Open {
        std::shared_ptr<Copy> copy;
        std::shared_ptr<Product> product;
    };
    std::deque<Open> open;
    size_t first = 0;            // the number of the first of these
    std::shared_ptr<Copy> last;  // of those that all have issued
};

extern "C" void tle2cuda_wgmma(
    void* accumulators, unsigned columns, unsigned sums_type, unsigned a_type, unsigned b_type, uint64_t a,
    const unsigned* a_registers, uint64_t b, unsigned is_accumulating, unsigned is_a_transposed, unsigned is_b_transposed, int line)
{
    const void* const pc = __builtin_return_address(0);
    tle2cuda_warp(VOTE_UNIFORM, 0xffffffffu, 0, 0, WARP_LANES, line);  // .sync.aligned
    Thread& thread = *current;
    if (!thread.has_matrix_fence)
        fail("collective", "wgmma: no wgmma.fence stands between what this thread did with its registers and the product", line);
    // Whoever issues a product and whoever waits for it must find it whole: observers know it before the next thread runs.
    switch_at_access();
    auto& held = thread.cta->products[thread.linear / GROUP_THREADS];
    if (!held) held = std::make_shared<WarpgroupProducts>();
    WarpgroupProducts& products = *held;
    const unsigned place = thread.linear % GROUP_THREADS;
    const size_t number = thread.products++ - products.first;
    const Product mine{columns, sums_type, a_type, b_type, is_accumulating != 0, a_registers != nullptr, a, b,
                       is_a_transposed != 0, is_b_transposed != 0, {}, {}};
    if (number == products.open.size()) {
        auto copy = std::make_shared<Copy>();
        copy->kind = COPY_MATRIX;
        copy->party = {pc, thread.cta->index, thread.index};
        const auto product = std::make_shared<Product>(mine);
        const MatrixOperand second = named_by(b, mine.is_b_transposed, b_type);
        if (is_b_transposed && !second.swizzle) fail("collective", "wgmma: operands along N need a swizzle here", line);
        std::shared_ptr<MatrixOperand> first;
        if (!a_registers) {
            first = std::make_shared<MatrixOperand>(named_by(a, mine.is_a_transposed, a_type));
            if (is_a_transposed && !first->swizzle) fail("collective", "wgmma: operands along M need a swizzle here", line);
            add_reads(*copy, *first, ROWS, mine.depth());
        }
        add_reads(*copy, second, columns, mine.depth());
        require_whole(*copy, line);
        copy->perform = [product, first, second] { multiply(*product, first.get(), second); };
        // Those of a warpgroup come one after the other.
        const std::shared_ptr<Copy>& before = products.open.empty() ? products.last : products.open.back().copy;
        if (before) copy->prior.push_back(before);
        products.open.push_back({copy, product});
        announce(copy);
    }
    const auto [copy, product] = products.open[number];
    if (!product->is_same(mine)) fail("collective", "wgmma: threads of one warpgroup name different matrices", line);
    product->accumulators[place] = accumulators;
    if (a_registers) std::copy(a_registers, a_registers + 4, product->registers[place].begin());
    thread.matrix_products.open.push_back(copy);
    if (++copy->issuers < GROUP_THREADS) return;
    products.last = copy;
    products.open.pop_front();
    ++products.first;
    put_in_flight(copy);
}

extern "C" void tle2cuda_wgmma_fence(int line)
{
    tle2cuda_warp(VOTE_UNIFORM, 0xffffffffu, 0, 0, WARP_LANES, line);
    current->has_matrix_fence = true;
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
    current->has_matrix_fence = false;  // from here on the thread may use its registers
    for (size_t i = 0; i + pending_groups < groups.committed.size(); ++i)
        for (const auto& copy : groups.committed[i])
            while (copy->issuers < GROUP_THREADS) yield_polling(line);  // the other warps of the warpgroup come, too
    wait_for(groups, pending_groups, false, false);
}

}  // namespace tle2cuda_emulator
