// Tensor copies (PTX ISA, cp.async.bulk.tensor): boxes of an array that a tensor map describes, clipped or filled at its edges, under
// the swizzles of shared memory.
#include <algorithm>
#include <cstring>

#include "async.h"

namespace tle2cuda_emulator {

namespace {

constexpr unsigned SHARED_ALIGNMENT = 128;
constexpr unsigned CHUNK_BYTES = 16;  // what a swizzle moves as a whole
constexpr unsigned COORDINATE_BYTES = 16;
constexpr uint32_t NO_ELEMENTS = ~0u;  // last index along a dimension of an empty tensor
constexpr unsigned TYPE_COUNT = 10;   // CUtensorMapDataType, without the formats that round

constexpr unsigned TYPE_BYTES[TYPE_COUNT] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
// Of the atomic operations that a reduction does; 8 and 16-bit integers have none.
constexpr unsigned NO_TYPE = ~0u;
constexpr unsigned ELEMENT_TYPES[TYPE_COUNT] = {NO_TYPE, NO_TYPE, TYPE_U32, TYPE_I32, TYPE_U64, TYPE_I64, TYPE_F16, TYPE_F32, TYPE_F64, TYPE_BF16};
constexpr uint64_t NANS[TYPE_COUNT] = {0, 0, 0, 0, 0, 0, 0x7fff, 0x7fffffff, 0x7fffffffffffffff, 0x7fff};

EncodedTensorMap tensor_map_at(const void* address, unsigned rank, int line)
{
    EncodedTensorMap map;
    memcpy(&map, address, sizeof map);
    if (map.magic != TENSOR_MAP_MAGIC) fail("tensor_map", "a tensor copy by an object that is no tensor map", line);
    if (rank && map.rank != rank)
        fail("tensor_map", "a tensor copy in " + std::to_string(rank) + " dimensions by a tensor map of " + std::to_string(map.rank), line);
    if (rank && locate(address).space == Space::GLOBAL && !map.is_known)
        fail("tensor_map", "a tensor copy by a tensor map in global memory that no fence.proxy.tensormap has made known", line);
    return map;
}

// Where a byte of a box lies under a swizzle: 16-byte chunks change places by bits of the address above them.
unsigned char* swizzled(unsigned char* address, unsigned swizzle)
{
    auto bits = reinterpret_cast<uintptr_t>(address);
    const uintptr_t mask = (uintptr_t(1) << swizzle) - 1;  // 0, 1, 3, 7
    bits ^= (bits >> 7 & mask) << 4;
    return reinterpret_cast<unsigned char*>(bits);
}

struct Box {
    const EncodedTensorMap& map;
    unsigned element_bytes;
    int64_t first[MAX_TENSOR_RANK] = {};
    unsigned counts[MAX_TENSOR_RANK] = {1, 1, 1, 1, 1};  // elements that a copy moves along each dimension
    uint64_t bytes = 1;

    Box(const EncodedTensorMap& map_, const int* coordinates) : map(map_), element_bytes(TYPE_BYTES[map_.type])
    {
        for (unsigned axis = 0; axis < map.rank; ++axis) {
            first[axis] = coordinates[axis];
            const unsigned step = axis ? map.steps[axis] : 1;
            counts[axis] = (map.box[axis] + step - 1) / step;
            bytes *= counts[axis];
        }
        bytes *= element_bytes;
    }
    int64_t extent(unsigned axis) const { return map.last[axis] == NO_ELEMENTS ? 0 : int64_t(map.last[axis]) + 1; }
    bool has(unsigned axis, int64_t index) const { return index >= 0 && index < extent(axis); }
};

// Visits the rows of a box: offset in the dense box, address of the row's element with coordinate 0, and whether the row exists.
template <class Visit>
void for_each_row(const Box& box, Visit visit)
{
    const unsigned row_bytes = box.counts[0] * box.element_bytes;
    unsigned index[MAX_TENSOR_RANK] = {};
    for (uint64_t offset = 0; offset < box.bytes; offset += row_bytes) {
        bool exists = true;
        uint64_t address = box.map.address;
        for (unsigned axis = 1; axis < box.map.rank; ++axis) {
            const int64_t at = box.first[axis] + int64_t(index[axis]) * box.map.steps[axis];
            exists = exists && box.has(axis, at);
            address += static_cast<uint64_t>(at) * box.map.strides_bytes[axis - 1];
        }
        visit(offset, reinterpret_cast<unsigned char*>(address), exists);
        for (unsigned axis = 1; axis < box.map.rank && ++index[axis] == box.counts[axis]; ++axis) index[axis] = 0;
    }
}

// The elements [low, high) of a row that lie inside of the array, as places in the row.
struct Inside {
    int64_t low, high;
};

Inside inside_of(const Box& box, bool exists)
{
    const int64_t count = box.counts[0], extent = box.extent(0);
    if (!exists) return {0, 0};
    const int64_t low = std::min(std::max<int64_t>(-box.first[0], 0), count);
    const int64_t high = std::max(std::min<int64_t>(extent - box.first[0], count), low);
    return {low, high};
}

// Parts of a row that stay together in shared memory: chunks under a swizzle, all of it without.
template <class Visit>
void for_each_part(const Box& box, Inside inside, Visit visit)
{
    const int64_t row = int64_t(box.counts[0]) * box.element_bytes;
    const int64_t low = inside.low * box.element_bytes, high = inside.high * box.element_bytes;
    const int64_t chunk = box.map.swizzle ? CHUNK_BYTES : row;
    for (int64_t begin = 0; begin < row; begin += chunk) {
        const int64_t end = std::min(begin + chunk, row);
        const int64_t from = std::min(std::max(low, begin), end), to = std::max(std::min(high, end), from);
        if (from > begin) visit(begin, from, false);
        if (to > from) visit(from, to, true);
        if (end > to) visit(to, end, false);
    }
}

std::shared_ptr<Copy> new_tensor_copy(const EncodedTensorMap& map, const void* address, const void* pc)
{
    auto copy = std::make_shared<Copy>();
    copy->kind = COPY_TENSOR;
    copy->map = address;
    copy->party = {pc, current->cta->index, current->index};
    copy->fill = map.is_nan_fill ? NANS[map.type] : 0;
    copy->fill_bytes = TYPE_BYTES[map.type];
    return copy;
}

void require_shared_box(const void* address, const Box& box, const char* what, int line)
{
    require_aligned(address, SHARED_ALIGNMENT, what, line);
    const Place place = locate(address);
    if (place.space != Space::SHARED || !place.cta || uint64_t(place.offset) + box.bytes > launch.shared_stride)
        fail("out_of_bounds", std::string(what) + " " + std::to_string(box.bytes) + " bytes at " + describe_address(address) + ", not in shared memory", line);
}

// Coordinates at which an H200 raises an illegal instruction.
void require_coordinates(const Box& box, const char* what, bool is_load, int line)
{
    const int64_t inner_bytes = box.first[0] * box.element_bytes;
    if (inner_bytes % COORDINATE_BYTES)
        fail("misaligned", std::string(what) + " with the innermost coordinate " + std::to_string(box.first[0]) + ", " +
            std::to_string(inner_bytes) + " bytes, no multiple of 16", line);
    for (unsigned axis = 0; axis < box.map.rank && !is_load; ++axis)
        if (box.first[axis] < 0)
            fail("out_of_bounds", std::string(what) + " to the negative coordinate " + std::to_string(box.first[axis]) + " of dimension " +
                std::to_string(axis), line);
}

// An H200 writes whole units of 16 bytes: where rows end within one, and the box reaches beyond, also what lies behind the row.
void require_whole_units(const Box& box, const char* what, int line)
{
    const int64_t extent = box.extent(0), row_bytes = extent * box.element_bytes;
    if (row_bytes % COORDINATE_BYTES == 0 || box.first[0] >= extent || box.first[0] + int64_t(box.map.box[0]) <= extent) return;
    fail("out_of_bounds", std::string(what) + " across the end of rows of " + std::to_string(row_bytes) +
        " bytes, no multiple of 16, which writes beyond it", line);
}

// Elements that a reduction combines (PTX ISA, cp.reduce.async.bulk.tensor); of bits of int64 an H200 raises an illegal instruction.
bool is_reduced(unsigned operation, unsigned type)
{
    const bool is_wide_int = type == TYPE_I64, is_half = type == TYPE_F16 || type == TYPE_BF16;
    const bool is_int = type == TYPE_I32 || type == TYPE_U32 || type == TYPE_U64;
    switch (operation) {
        case ATOMIC_ADD: return is_int || is_half || type == TYPE_F32;
        case ATOMIC_MIN:
        case ATOMIC_MAX: return is_int || is_wide_int || is_half;
        default: return is_int;
    }
}

}  // namespace

extern "C" void tle2cuda_tensor_load(
    void* to, const void* map_address, const int* coordinates, unsigned rank, void* barrier, unsigned cta_mask, int line)
{
    switch_at_access();
    const void* const pc = __builtin_return_address(0);
    const EncodedTensorMap map = tensor_map_at(map_address, rank, line);
    const Box box(map, coordinates);
    require_coordinates(box, "a tensor copy", true, line);
    for (unsigned cta = 0; cta < launch.cluster_size; ++cta) {
        if (cta_mask && !(cta_mask >> cta & 1)) continue;
        const auto there = [&](void* address) -> void* {
            if (!cta_mask) return address;
            return cluster_of(*current).ctas[cta].shared + (static_cast<unsigned char*>(address) - current->cta->shared);
        };
        auto* const target = static_cast<unsigned char*>(there(to));
        require_shared_box(target, box, "a tensor copy writes", line);
        const auto copy = new_tensor_copy(map, map_address, pc);
        for_each_row(box, [&](uint64_t offset, unsigned char* row, bool exists) {
            const unsigned char* const from = row + box.first[0] * box.element_bytes;
            const Inside inside = inside_of(box, exists);
            for_each_part(box, inside, [&](int64_t begin, int64_t end, bool is_inside) {
                copy->pieces.push_back({swizzled(target + offset + begin, map.swizzle), is_inside ? from + begin : nullptr, static_cast<uint32_t>(end - begin)});
            });
            const int64_t low = inside.low * box.element_bytes, high = inside.high * box.element_bytes;
            if (high > low) copy->reads.push_back({nullptr, from + low, static_cast<uint32_t>(high - low)});
        });
        copy->writes.push_back({target, nullptr, static_cast<uint32_t>(box.bytes)});
        copy->barrier = mbarrier_at(there(barrier), "a tensor copy completes at", line).barrier;
        copy->barrier_bytes = static_cast<unsigned>(box.bytes);
        issue(copy);
        if (!cta_mask) break;
    }
}

extern "C" void tle2cuda_tensor_store(
    const void* map_address, const void* from, const int* coordinates, unsigned rank, unsigned operation, int line)
{
    switch_at_access();
    const EncodedTensorMap map = tensor_map_at(map_address, rank, line);
    const Box box(map, coordinates);
    const bool is_copy = operation == ATOMIC_EXCHANGE;
    require_coordinates(box, is_copy ? "a tensor copy" : "a tensor reduction", false, line);
    require_whole_units(box, is_copy ? "a tensor copy" : "a tensor reduction", line);
    require_shared_box(from, box, is_copy ? "a tensor copy reads" : "a tensor reduction reads", line);
    const auto copy = new_tensor_copy(map, map_address, __builtin_return_address(0));
    copy->operation = operation;
    copy->type = ELEMENT_TYPES[map.type];
    if (!is_copy && copy->type == NO_TYPE) fail("tensor_map", "a tensor reduction of 8 or 16-bit integers", line);
    if (!is_copy && !is_reduced(operation, copy->type)) fail("tensor_map", "a tensor reduction that its elements do not have", line);
    auto* const source = static_cast<unsigned char*>(const_cast<void*>(from));
    for_each_row(box, [&](uint64_t offset, unsigned char* row, bool exists) {
        unsigned char* const to = row + box.first[0] * box.element_bytes;
        const Inside inside = inside_of(box, exists);
        for_each_part(box, inside, [&](int64_t begin, int64_t end, bool is_inside) {
            if (is_inside) copy->pieces.push_back({to + begin, swizzled(source + offset + begin, map.swizzle), static_cast<uint32_t>(end - begin)});
        });
        const int64_t low = inside.low * box.element_bytes, high = inside.high * box.element_bytes;
        if (high > low) copy->writes.push_back({to + low, nullptr, static_cast<uint32_t>(high - low)});
    });
    uint64_t moved = 0;
    for (const Piece& piece : copy->pieces) moved += piece.bytes;
    if (moved == box.bytes)
        copy->reads.push_back({nullptr, source, static_cast<uint32_t>(box.bytes)});
    else  // what lies outside of the array is left out
        copy->reads = copy->pieces;
    current->bulk_copies.open.push_back(copy);
    issue(copy);
}

extern "C" void tle2cuda_tensor_prefetch(const void* map, int line) { tensor_map_at(map, 0, line); }

extern "C" void tle2cuda_tensor_map_change(void* address, unsigned field, unsigned axis, uint64_t value, int line)
{
    EncodedTensorMap map = tensor_map_at(address, 0, line);
    for (const auto& copy : launch.copies)
        if (copy->map == address && copy->stage == Stage::ISSUED)
            fail("tensor_map", "a change of a tensor map by which a " + copy_name(*copy) + " is under way", line);
    if (axis >= map.rank || (field == 2 && axis + 1 >= map.rank)) fail("tensor_map", "a change of a dimension that the tensor map lacks", line);
    if (field == 1 && value == 0) fail("tensor_map", "a tensor map without elements", line);
    if (field != 1 && value % CHUNK_BYTES) fail("tensor_map", "a tensor map with an address or stride that is no multiple of 16 bytes", line);
    if (field == 0) map.address = value;
    if (field == 1) map.last[axis] = static_cast<uint32_t>(value - 1);
    if (field == 2) map.strides_bytes[axis] = value;
    map.is_known = 0;
    memcpy(address, &map, sizeof map);
}

extern "C" void tle2cuda_tensor_map_fence(const void* address, int line)
{
    EncodedTensorMap map = tensor_map_at(address, 0, line);
    map.is_known = 1;
    memcpy(const_cast<void*>(address), &map, sizeof map);
}

}  // namespace tle2cuda_emulator
