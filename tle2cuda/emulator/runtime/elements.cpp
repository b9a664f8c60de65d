#include "elements.h"

#include <algorithm>

namespace tle2cuda_emulator {

namespace {

std::vector<Variable> variables;  // by offset
const SharedMember* members = nullptr;

void insert(Variable variable)
{
    const auto place = std::upper_bound(variables.begin(), variables.end(), variable,
                                        [](const Variable& a, const Variable& b) { return a.begin < b.begin; });
    variables.insert(place, std::move(variable));
}

void insert_members(unsigned base)
{
    for (const SharedMember* member = members; member->name; ++member)
        insert({member->name, base + member->offset, base + member->offset + member->bytes, member->shape});
}

// `[2][7]`, and the byte where an access begins inside of an element.
std::string indexed(const Shape& shape, uint64_t offset)
{
    std::string result;
    uint64_t element = offset / shape.element_bytes;
    uint64_t inner = 1;
    for (unsigned axis = 1; axis < shape.rank; ++axis) inner *= shape.extents[axis];
    for (unsigned axis = 0; axis < shape.rank; ++axis) {
        result += "[" + std::to_string(element / inner) + "]";
        element %= inner;
        if (axis + 1 < shape.rank) inner /= shape.extents[axis + 1];
    }
    const uint64_t byte = offset % shape.element_bytes;
    return byte ? result + ", byte " + std::to_string(byte) : result;
}

// "element 8 of", "elements 6 to 9 of"; nothing where the bytes are no whole elements.
std::string elements_at(int64_t offset, uint64_t bytes, unsigned element_bytes)
{
    const int64_t size = element_bytes;
    if (offset % size || int64_t(bytes) % size) return "";
    const int64_t first = offset / size, count = std::max<int64_t>(int64_t(bytes) / size, 1);
    if (count == 1) return "element " + std::to_string(first) + " of ";
    return "elements " + std::to_string(first) + " to " + std::to_string(first + count - 1) + " of ";
}

std::string counted(uint64_t elements) { return std::to_string(elements) + (elements == 1 ? " element" : " elements"); }

std::string argument_access(const Place& place, uint64_t bytes)
{
    const Argument* only = nullptr;
    bool is_one = true;
    for (const Argument& argument : launch.request.arguments) {
        if (&launch.request.buffers[argument.buffer] != place.buffer) continue;
        if (only && (only->offset != argument.offset || only->element_bytes != argument.element_bytes)) return "";  // of which?
        is_one &= !only;
        only = &argument;
    }
    if (!only || only->element_bytes == 0) return "";
    const std::string elements = elements_at(place.offset - int64_t(only->offset), bytes, only->element_bytes);
    const char* const has = !only->is_dense ? ", whose memory has " : is_one ? ", which has " : ", which have ";
    return elements.empty() ? "" : elements + place.buffer->name + has + counted(only->bytes / only->element_bytes);
}

std::string shared_access(const Place& place, uint64_t bytes)
{
    const auto offset = static_cast<unsigned>(place.offset);
    const Variable* const variable = nearest_variable(offset, 1);
    if (!variable || variable->shape.rank == 0 || variable->shape.element_bytes <= 1) return "";
    const int64_t inside = int64_t(offset) - int64_t(variable->begin);
    const std::string elements = elements_at(inside, bytes, variable->shape.element_bytes);
    if (elements.empty()) return "";
    std::string extents = counted(variable->shape.extents[0]);
    if (variable->shape.rank > 1) {
        extents.clear();
        for (unsigned axis = 0; axis < variable->shape.rank; ++axis)
            extents += (axis ? " x " : "") + std::to_string(variable->shape.extents[axis]);
        extents += " elements";
    }
    return elements + variable->name + ", which has " + extents + ", in shared memory of CTA " + triple_text(place.cta->index);
}

}  // namespace

void add_shared_members(const SharedMember* of_library) { members = of_library; }

void add_shared_variable(const SharedSlot& slot, unsigned offset)
{
    if (members && std::string(slot.name) == "shared")
        insert_members(offset);
    else
        insert({slot.name, offset, offset + slot.bytes, slot.shape});
}

void add_dynamic_shared(unsigned offset)
{
    static bool is_added = false;
    if (is_added) return;
    is_added = true;
    if (members)
        insert_members(offset);
    else
        insert({"dynamic shared memory", offset, offset + launch.request.dynamic_shared, {1, 1, {launch.request.dynamic_shared}}});
}

const std::vector<Variable>& shared_variables() { return variables; }

const Variable* nearest_variable(unsigned offset, unsigned bytes)
{
    if (variables.empty()) return nullptr;
    const Variable* nearest = nullptr;
    unsigned nearest_distance = 0;
    for (const Variable& variable : variables) {
        if (offset >= variable.begin && offset + bytes <= variable.end) return &variable;
        const unsigned distance = offset < variable.begin ? variable.begin - offset : offset < variable.end ? 0 : offset - variable.end + 1;
        if (nearest && distance >= nearest_distance) continue;
        nearest = &variable;
        nearest_distance = distance;
    }
    return nearest;
}

bool is_in_variable(const Place& place)
{
    if (place.space != Space::SHARED) return true;
    const auto offset = static_cast<unsigned>(place.offset);
    const Variable* const variable = nearest_variable(offset, 1);
    return variable && offset >= variable->begin && offset < variable->end;
}

std::string triple_text(Index index)
{
    return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + ")";
}

std::string element_name(const void* address)
{
    const Place place = locate(address);
    if (place.space == Space::SHARED && place.cta) {
        const auto offset = static_cast<unsigned>(place.offset);
        const Variable* const variable = nearest_variable(offset, 1);
        if (variable && offset >= variable->begin && offset < variable->end)
            return variable->name + indexed(variable->shape, offset - variable->begin) + " in shared memory of CTA " +
                   triple_text(place.cta->index);
    }
    if (place.space == Space::GLOBAL && place.offset >= 0 && uint64_t(place.offset) < place.buffer->bytes)
        for (const Argument& argument : launch.request.arguments) {
            const uint64_t offset = uint64_t(place.offset) - argument.offset;
            if (&launch.request.buffers[argument.buffer] != place.buffer || offset >= argument.bytes) continue;
            return argument.name + indexed({argument.element_bytes, 1, {0}}, offset);
        }
    return describe_address(address);
}

std::string describe_access(const void* address, uint64_t bytes)
{
    const Place place = locate(address);
    std::string text;
    if (place.space == Space::GLOBAL) text = argument_access(place, bytes);
    if (place.space == Space::SHARED && place.cta) text = shared_access(place, bytes);
    if (!text.empty()) return text;
    return (bytes ? std::to_string(bytes) + " bytes at " : "") + describe_address(address);
}

}  // namespace tle2cuda_emulator
