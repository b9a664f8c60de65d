// Counters that need no clock: what the lanes of a warp ask of memory in one instruction, and what they wait at.
#pragma once

#include <string>

#include "model.h"

namespace tle2cuda_emulator {

enum class AccessKind : uint8_t { LOAD, STORE, ATOMIC };
enum class BarrierKind : uint8_t { CTA, NAMED, CLUSTER, GRID };

// An access of the calling thread, outside of its stack. `alignment` is what the access promises: its size, or 1.
void count_access(const void* address, unsigned bytes, AccessKind kind, const void* pc, unsigned alignment);
// A warp collective that lanes of one warp completed; `member` is one of them.
void count_collective(const Thread& member, unsigned kind, uint32_t lanes, int line);
// A barrier that completed.
void count_barrier(BarrierKind kind, int line);
// The calling thread comes to a barrier at which all lanes of its warp wait.
void count_lane_waits();
// The calling thread exits.
void count_lane_exits();
std::string counters_json();

}  // namespace tle2cuda_emulator
