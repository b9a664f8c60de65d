// Names of what lies in memory: arguments and their elements, shared variables and members of the `Shared` struct.
#pragma once

#include <string>
#include <vector>

#include "observer.h"

namespace tle2cuda_emulator {

// A shared variable, or a member of the struct that emitted files keep theirs in.
struct Variable {
    std::string name;
    unsigned begin = 0, end = 0;  // bytes of the CTA's shared memory
    Shape shape{};
};

// Members come with the library; variables when they are first used.
void add_shared_members(const SharedMember* members);
void add_shared_variable(const SharedSlot& slot, unsigned offset);
void add_dynamic_shared(unsigned offset);

// The variables at an offset: several, when a union holds them; none between them.
const std::vector<Variable>& shared_variables();
// The last variable that begins at or in front of an offset, or the first one; nullptr when there are none.
const Variable* nearest_variable(unsigned offset, unsigned bytes);

// Not in the gaps that the emulator leaves: what strays there is the matter of the detector of bounds.
bool is_in_variable(const Place& place);

// "count[5] in shared memory of CTA (0, 0, 0)", "x[5]".
std::string element_name(const void* address);

// Of what lies outside: "element 8 of argument x, which has 8 elements"; of no bytes, the place alone is told.
std::string describe_access(const void* address, uint64_t bytes);

inline const char* verb(AccessKind kind) { return kind == AccessKind::READ ? "reads" : kind == AccessKind::WRITE ? "writes" : "updates"; }
std::string triple_text(Index index);

}  // namespace tle2cuda_emulator
