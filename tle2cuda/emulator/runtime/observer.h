// What detectors and counters implement: they see every access and everything that orders accesses, in the order in which the
// emulated threads do it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model.h"

namespace tle2cuda_emulator {

enum class Space : uint8_t { GLOBAL, SHARED, OTHER };
enum class AccessKind : uint8_t { READ, WRITE, ATOMIC };

// Where an address lies.
struct Place {
    Space space = Space::OTHER;
    const Buffer* buffer = nullptr;  // of global memory; the address may lie up to a guard's width outside of it
    const Cta* cta = nullptr;        // of shared memory
    int64_t offset = 0;
};

enum class BarrierKind : uint8_t { CTA, NAMED, CLUSTER, GRID };

struct Access {
    const void* address;
    unsigned bytes;
    unsigned alignment;  // that the compiler relied on, in bytes
    AccessKind kind;
    Order order;  // ORDER_RELAXED for plain accesses too: these are neither atomic nor volatile
    Scope scope;
    bool is_plain;
    const void* pc;  // behind the call in the kernel's code, for `add_finding`
};

class Observer {
public:
    virtual ~Observer() = default;

    // A cluster takes its place: fresh shared memory, its threads have done nothing yet.
    virtual void cluster_started(const Cluster&) {}
    virtual void thread_exited(const Thread&) {}
    // Called before the access happens, for all memory but the thread's own stack.
    virtual void accessed(const Thread&, const Access&, const Place&) {}
    // An access that is not plain takes place now: other threads may have run since `accessed`. A compare-and-swap that found
    // another value has not written.
    virtual void performed(const Thread&, const Access&, bool /* has_written */) {}
    virtual void fenced(const Thread&, Scope) {}
    // All of these threads have come to one barrier of their CTA (SCOPE_CTA) or to one __syncwarp: what each did before is in
    // front of what any of them does after.
    virtual void met(const std::vector<Thread*>&) {}
    // The same at a barrier of the CTA, with its number.
    virtual void met_at(const std::vector<Thread*>& threads, unsigned /* barrier */) { met(threads); }
    // These lanes exchanged values, by a shuffle, a vote, a match or a reduction.
    virtual void exchanged(const std::vector<Thread*>& threads) { met(threads); }
    // A thread is counted at a barrier of its CTA and goes on.
    virtual void signalled(const Thread&, unsigned /* barrier */) {}
    // The two halves of a barrier of the cluster or the grid.
    virtual void arrived(const Thread&, const SplitBarrier&, bool /* is_release */) {}
    virtual void waited(const Thread&, const SplitBarrier&, bool /* is_acquire */) {}
    // An mbarrier: accesses to the object itself, and how it orders those who arrive and those who wait for the phase's end.
    virtual void mbarrier_touched(const Thread&, const Access&, const Place&) {}
    virtual void mbarrier_initialized(const Thread&, const Mbarrier&) {}
    virtual void mbarrier_arrived(const Thread&, const Mbarrier&, Order, Scope) {}
    virtual void mbarrier_completed(const Mbarrier&) {}
    virtual void mbarrier_waited(const Thread&, const Mbarrier&, Scope) {}
    // An asynchronous copy: its issue, each of its accesses as if they happened then, its end at an mbarrier, or seen by the
    // thread that waits for its groups (with `is_read`, that it has read).
    virtual void copy_issued(const Thread&, Copy&) {}
    virtual void copy_accessed(const Thread&, const Copy&, const Access&, const Place&) {}
    virtual void copy_completed_at(const Mbarrier&, const Copy&) {}
    virtual void copies_waited(const Thread&, const CopyList&, bool /* is_read */) {}
    // PROXY_SHARED and so on.
    virtual void proxy_fenced(const Thread&, unsigned /* spaces */) {}
    // How often that happened, for those who count: once for each barrier, and for each collective with its lanes, of whom
    // `member` is one. `line` is what the call says of itself. Barriers of cluster and grid are given, for the thread that
    // completes one may do so by its end.
    virtual void barrier_completed(BarrierKind, int /* line */, const SplitBarrier* = nullptr) {}
    virtual void collective_completed(const Thread& /* member */, unsigned /* kind */, uint32_t /* lanes */, int /* line */) {}
    // The run is over.
    virtual void finished() {}
    // Members of the report's JSON object of counters, separated by commas.
    virtual std::string counters_json() { return {}; }
};

// The observers that the request asks for: called once, before the launch.
void create_observers();
// What each observer counted, as members of a JSON object, each with a comma in front.
std::string observed_counters_json();

std::unique_ptr<Observer> make_bounds_observer();
std::unique_ptr<Observer> make_request_counter();
std::unique_ptr<Observer> make_alignment_observer();
std::unique_ptr<Observer> make_race_detector();
std::unique_ptr<Observer> make_uninitialized_detector();
std::unique_ptr<Observer> make_exit_detector();

Place locate(const void* address);
// Bytes of shared memory that a CTA of this kernel has.
uint64_t shared_bytes();

template <class Function>
inline void observe(Function function)
{
    for (const auto& observer : launch.observers) function(*observer);
}

}  // namespace tle2cuda_emulator
