// Waiting loops in which threads meet at barriers: something happens all the time, and nothing changes.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace tle2cuda_emulator {

// Tells whether a launch is where it was before: all its memory, and the stacks and registers of all threads, hold the same.
//
// The scheduler asks at moments when every thread waits. States are kept at growing distances (Brent), so that what is
// looked at costs little beside what runs; a loop that counts its turns, or works through data, never repeats.
class Repeats {
public:
    // Whether the launch has come back to one state often enough that it will not leave it.
    bool is_stuck();
    // Something else began: forget what was seen.
    void reset() { *this = Repeats(); }

private:
    uint64_t rounds_ = 0, kept_at_ = 0;
    uint64_t threads_ = 0, memory_ = 0, clock_reads_ = 0;  // of the state that is kept
    unsigned matches_ = 0;
};

}  // namespace tle2cuda_emulator
