// Asynchronous copies and the mbarriers they complete at.
#pragma once

#include <functional>

#include "elements.h"

namespace tle2cuda_emulator {

// Neighbouring bytes that a copy moves; without a source it fills them.
struct Piece {
    unsigned char* to;
    const unsigned char* from;
    uint32_t bytes;
};

enum class Stage : uint8_t { ISSUED, READ, DONE };

// A copy in flight: what it reads and writes happens at any time until something waits for it.
struct Copy {
    CopyKind kind = COPY_BULK;
    bool is_async_proxy = true;
    Stage stage = Stage::ISSUED;
    bool has_been_read = false, is_awaited = false;  // its thread has waited for that, or handed it to an mbarrier
    Party party;
    std::vector<Piece> pieces;
    std::vector<Piece> reads, writes;  // the same as few large pieces, of which one end is null, for observers
    unsigned operation = ATOMIC_EXCHANGE;  // AtomicKind: a copy, or a reduction of elements of a type
    unsigned type = TYPE_U32;
    uint64_t fill = 0;
    unsigned fill_bytes = 1;
    std::vector<unsigned char> data;  // between reading and writing
    Mbarrier* barrier = nullptr;
    unsigned barrier_bytes = 0;
    const void* map = nullptr;  // the tensor map that it reads
    std::function<void()> perform;  // a matrix product, which is no copy
    unsigned issuers = 0;           // threads of the warpgroup that have issued it
    CopyList prior;                 // that are complete before it is: of an arrival the copies, of a product the one before
    uint32_t actor = 0;  // what the detectors call it

    bool is_arrival() const { return kind == COPY_ELEMENT && barrier; }
};

// ---- mbarriers.cpp ----

struct FoundMbarrier {
    Mbarrier* barrier;
    Cta* cta;
};
// The object at an address; ends the run where there is none.
FoundMbarrier mbarrier_at(const void* address, const char* what, int line);
// A copy that will complete at a barrier has done so, or the arrival that follows copies takes place.
void complete_at(Mbarrier& barrier, const std::shared_ptr<Copy>& copy);
// "full[0] in shared memory of CTA (0, 0, 0)".
std::string mbarrier_name(const Mbarrier& barrier);
std::string mbarrier_state(const Mbarrier& barrier);

// ---- copies.cpp ----

// A new copy by the calling thread, which observers see now and which reads and writes when it is delivered. Threads give way in
// front of what makes a copy, not in the midst: what it names, a barrier or a tensor map, is as it was found until it is in flight.
void issue(const std::shared_ptr<Copy>& copy);
std::string copy_name(const Copy& copy);
void require_aligned(const void* address, unsigned alignment, const char* what, int line);
// What observers see at the issue, without giving way; it is in flight from then on.
void announce(const std::shared_ptr<Copy>& copy);
void put_in_flight(const std::shared_ptr<Copy>& copy);
// All but the last groups of the calling thread are complete, or have at least read.
void wait_for(CopyGroups& groups, unsigned pending, bool is_read, bool with_open);
void commit(CopyGroups& groups);
// The thread's own copy groups; the CTA's exit.
void copies_of_thread_exited(Thread& thread);
void copies_of_cta_exited(Cta& cta);

// Bytes of an element, and the combination of two by an atomic operation (memory.cpp).
unsigned element_bytes_of(unsigned type);
uint64_t combined(unsigned kind, unsigned type, uint64_t old, uint64_t operand, uint64_t compare);

}  // namespace tle2cuda_emulator
