// Matrix instructions of one warp (PTX ISA, "Warp Level Matrix Instructions: mma" and "ldmatrix"). A lane leaves the addresses of
// its registers and waits; the last one computes for all.
//
// Products are exact. A sum starts from the accumulator, adds the products in the order of k in double precision, and rounds once
// to the accumulator's type; .f64 fuses and rounds at each product; .s32 wraps. The hardware's own order and alignment of float
// sums is not specified: results there may differ in the last bits.
#include "warp_matrices.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "../include/tle2cuda_emulator/numerics.h"
#include "observer.h"

namespace tle2cuda_emulator {

namespace {

constexpr uint32_t ALL_LANES = 0xffffffffu;
constexpr unsigned COLUMNS = 8;

struct Rows {
    uint64_t row;
    uint64_t* rows;
    unsigned by_columns;
};

struct Product {
    unsigned rows, depth, sums_type, a_type, b_type;
    void* sums;
    const void* a;
    const void* b;
    unsigned scales, a_scales, b_scales;
};

unsigned bits_of(unsigned type)
{
    switch (type) {
        case MATRIX_F16:
        case MATRIX_BF16: return 16;
        case MATRIX_TF32: return 32;
        case MATRIX_F64: return 64;
        case MATRIX_E2M1: return 4;
        default: return 8;
    }
}

// Which lane holds an element of an operand, and where among its elements. `index` counts rows of A or columns of B: groups of
// eight, lane / 4 inside of each. Along K a lane holds `packed` neighbours, then those 4 * packed further on. A's registers hold
// first both groups of rows, then the further elements.
struct Place {
    unsigned lane, element;
};

Place place(unsigned index, unsigned k, unsigned groups, unsigned packed)
{
    const unsigned inside = k % (4 * packed), further = k / (4 * packed);
    return {index % 8 * 4 + inside / packed, (further * groups + index / 8) * packed + inside % packed};
}

struct Matrices {
    std::vector<double> a, b;  // [row][k], [column][k]
};

// The scale of element k of a row, of whose scales a lane has passed four.
double scale_of(unsigned word, unsigned k, unsigned scales)
{
    if (scales == SCALES_NONE) return 1.0;
    return matrix_scale(static_cast<unsigned char>(word >> 8 * (k / elements_of_scale(scales))), scales);
}

Matrices gather(const Product* const* lanes)
{
    const Product& first = *lanes[0];
    const unsigned bits = bits_of(first.a_type), packed = bits < 32 ? 32 / bits : 1;
    Matrices found;
    for (unsigned row = 0; row < first.rows; ++row)
        for (unsigned k = 0; k < first.depth; ++k) {
            const Place at = place(row, k, first.rows / 8, packed);
            const double scale = scale_of(lanes[row % 8 * 4 + row / 8]->a_scales, k, first.scales);
            found.a.push_back(matrix_element(lanes[at.lane]->a, at.element, first.a_type) * scale);
        }
    for (unsigned column = 0; column < COLUMNS; ++column)
        for (unsigned k = 0; k < first.depth; ++k) {
            const Place at = place(column, k, 1, packed);
            const double scale = scale_of(lanes[column * 4]->b_scales, k, first.scales);
            found.b.push_back(matrix_element(lanes[at.lane]->b, at.element, first.b_type) * scale);
        }
    return found;
}

void multiply(const Product* const* lanes)
{
    const Matrices matrices = gather(lanes);
    for (unsigned lane = 0; lane < WARP_LANES; ++lane) {
        const Product& own = *lanes[lane];
        for (unsigned i = 0; i < own.rows / 4; ++i) {
            const double* const a = &matrices.a[(lane / 4 + i / 2 * 8) * own.depth];
            const double* const b = &matrices.b[(lane % 4 * 2 + i % 2) * own.depth];
            if (own.sums_type == SUMS_S32) {
                auto* const sums = static_cast<int32_t*>(own.sums);
                auto sum = static_cast<int64_t>(sums[i]);
                for (unsigned k = 0; k < own.depth; ++k) sum += static_cast<int64_t>(a[k] * b[k]);
                sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sum));
            } else if (own.sums_type == SUMS_F64) {
                auto* const sums = static_cast<double*>(own.sums);
                for (unsigned k = 0; k < own.depth; ++k) sums[i] = std::fma(a[k], b[k], sums[i]);
            } else if (own.sums_type == SUMS_F16) {
                auto* const sums = static_cast<uint16_t*>(own.sums);
                double sum = Half::value(sums[i]);
                for (unsigned k = 0; k < own.depth; ++k) sum += a[k] * b[k];
                sums[i] = static_cast<uint16_t>(Half::round(sum));
            } else {
                auto* const sums = static_cast<float*>(own.sums);
                double sum = sums[i];
                for (unsigned k = 0; k < own.depth; ++k) sum += a[k] * b[k];
                sums[i] = static_cast<float>(sum);
            }
        }
    }
}

void hand_out_rows(const Rows* const* lanes)
{
    for (unsigned lane = 0; lane < WARP_LANES; ++lane)
        for (unsigned matrix = 0; matrix < 4; ++matrix) {
            if (!lanes[lane]->by_columns) {
                lanes[lane]->rows[matrix] = lanes[8 * matrix + lane / 4]->row;
                continue;
            }
            for (unsigned i = 0; i < 2; ++i) lanes[lane]->rows[2 * matrix + i] = lanes[8 * matrix + lane % 4 * 2 + i]->row;
        }
}

}  // namespace

double matrix_element(const void* elements, unsigned index, unsigned type)
{
    const auto* const bytes = static_cast<const unsigned char*>(elements);
    uint16_t half;
    uint32_t word;
    double wide;
    float single;
    switch (type) {
        case MATRIX_F16: memcpy(&half, bytes + 2 * index, 2); return Half::value(half);
        case MATRIX_BF16: memcpy(&half, bytes + 2 * index, 2); return Bfloat16::value(half);
        case MATRIX_TF32:
            memcpy(&word, bytes + 4 * index, 4);
            word &= ~0x1fffu;  // 10 bits of mantissa; the others are ignored
            memcpy(&single, &word, 4);
            return single;
        case MATRIX_S8: return static_cast<signed char>(bytes[index]);
        case MATRIX_E4M3: return Fp8E4M3::value(bytes[index]);
        case MATRIX_E5M2: return Fp8E5M2::value(bytes[index]);
        case MATRIX_E2M1: {
            static const double numbers[8] = {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0};
            const unsigned bits = bytes[index / 2] >> 4 * (index % 2) & 15;
            return bits & 8 ? -numbers[bits & 7] : numbers[bits];
        }
        default: memcpy(&wide, bytes + 8 * index, 8); return wide;
    }
}

double matrix_scale(unsigned char bits, unsigned scales)
{
    if (scales == SCALES_E4M3_16) return Fp8E4M3::value(bits & 0x7f);  // without a sign
    return bits == 0xff ? std::nan("") : std::ldexp(1.0, static_cast<int>(bits) - 127);
}

void complete_matrices(unsigned kind, const uint64_t* operands, uint32_t mask, int line)
{
    if (mask != ALL_LANES) fail("collective", std::string(collective_name(kind)) + " takes all 32 lanes of a warp", line);
    if (kind == MATRIX_ROWS) {
        const Rows* lanes[WARP_LANES];
        for (unsigned lane = 0; lane < WARP_LANES; ++lane) lanes[lane] = reinterpret_cast<const Rows*>(operands[lane]);
        hand_out_rows(lanes);
        return;
    }
    const Product* lanes[WARP_LANES];
    for (unsigned lane = 0; lane < WARP_LANES; ++lane) lanes[lane] = reinterpret_cast<const Product*>(operands[lane]);
    multiply(lanes);
}

extern "C" void tle2cuda_matrix_rows(uint64_t row, uint64_t* rows, unsigned by_columns, int line)
{
    const Rows mine{row, rows, by_columns};
    tle2cuda_warp(MATRIX_ROWS, ALL_LANES, reinterpret_cast<uint64_t>(&mine), 0, WARP_LANES, line);
}

extern "C" void tle2cuda_mma(unsigned rows, unsigned depth, unsigned sums_type, unsigned a_type, unsigned b_type, void* sums,
                             const void* a, const void* b, int line)
{
    const Product mine{rows, depth, sums_type, a_type, b_type, sums, a, b, SCALES_NONE, 0, 0};
    tle2cuda_warp(MATRIX_PRODUCT, ALL_LANES, reinterpret_cast<uint64_t>(&mine), 0, WARP_LANES, line);
}

extern "C" void tle2cuda_mma_scaled(unsigned depth, unsigned a_type, unsigned b_type, unsigned scales, void* sums, const void* a,
                                    const void* b, unsigned a_scales, unsigned b_scales, int line)
{
    const Product mine{16, depth, SUMS_F32, a_type, b_type, sums, a, b, scales, a_scales, b_scales};
    tle2cuda_warp(MATRIX_PRODUCT, ALL_LANES, reinterpret_cast<uint64_t>(&mine), 0, WARP_LANES, line);
}

}  // namespace tle2cuda_emulator
