// mbarrier objects (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier"): phases that end once all
// arrivals have come and all expected bytes have been delivered.
#include <algorithm>
#include <cstring>

#include "async.h"

namespace tle2cuda_emulator {

namespace {

constexpr unsigned MAX_ARRIVALS = (1u << 20) - 1;
constexpr int64_t MAX_BYTES = (1 << 20) - 1;
constexpr unsigned MBARRIER_BYTES = 8;

Cta& cta_of(const void* address, const char* what, int line)
{
    const Place place = locate(address);
    if (place.space != Space::SHARED || !place.cta)
        fail("mbarrier", std::string(what) + " an mbarrier at " + describe_address(address) + ", not in shared memory", line);
    if (reinterpret_cast<uintptr_t>(address) % MBARRIER_BYTES)
        fail("misaligned", std::string(what) + " an mbarrier at " + describe_address(address) + ", which is not aligned to 8 bytes", line);
    if (place.cta->cluster != current->cta->cluster)
        fail("mbarrier", std::string(what) + " an mbarrier of another cluster", line);
    return const_cast<Cta&>(*place.cta);
}

unsigned offset_in(const Cta& cta, const void* address)
{
    return static_cast<unsigned>(static_cast<const unsigned char*>(address) - cta.shared);
}

void touch(const void* address, AccessKind kind, bool is_plain, const void* pc)
{
    switch_at_access();
    if (launch.observers.empty()) return;
    const Access access{address, MBARRIER_BYTES, MBARRIER_BYTES, kind, ORDER_RELAXED, SCOPE_CLUSTER, is_plain, pc};
    const Place place = locate(address);
    observe([&](Observer& observer) { observer.mbarrier_touched(*current, access, place); });
}

std::string counted(uint64_t count, const char* what) { return std::to_string(count) + " " + what + (count == 1 ? "" : "s"); }

// What the phase's end does: whoever waits for it goes on, the next one begins.
void complete_phase(Mbarrier& barrier)
{
    for (const auto& copy : barrier.in_flight) {
        if (copy->is_arrival()) continue;
        const Party& at = barrier.expected.pc ? barrier.expected : copy->party;
        add_finding("mbarrier", "the phase of " + mbarrier_name(barrier) + " ends while a " + copy_name(*copy) + " of " +
                    std::to_string(copy->barrier_bytes) + " bytes is in flight to it: it expects too few bytes", at, &copy->party);
        break;
    }
    ++barrier.phase;
    barrier.pending = barrier.arrivals;
    ++launch.progress;
    observe([&](Observer& observer) { observer.mbarrier_completed(barrier); });
    for (Thread* thread : barrier.waiting) wake(*thread);
    barrier.waiting.clear();
}

void complete_if_ready(Mbarrier& barrier)
{
    if (barrier.pending == 0 && barrier.bytes == 0) complete_phase(barrier);
}

bool has_ended(const Mbarrier& barrier, unsigned parity) { return (barrier.phase & 1) != (parity & 1); }

void expect(Mbarrier& barrier, unsigned bytes, const void* pc, int line)
{
    barrier.bytes += bytes;
    barrier.expected = {pc, current->cta->index, current->index};
    if (barrier.bytes > MAX_BYTES)
        fail("mbarrier", mbarrier_name(barrier) + " expects " + std::to_string(barrier.bytes) + " bytes, more than the 1048575 that it can count", line);
}

// At every point where threads meet a random schedule may go on with another one.
void switch_at_random()
{
    if (launch.request.schedule == Schedule::RANDOM) yield_ready();
}

int waited(Mbarrier& barrier, unsigned scope)
{
    current->has_tensor_fence = false;
    observe([&](Observer& observer) { observer.mbarrier_waited(*current, barrier, Scope(scope)); });
    return 1;
}

Mbarrier& own_mbarrier(void* address, const char* what, int line)
{
    const FoundMbarrier found = mbarrier_at(address, what, line);
    if (found.cta != current->cta) fail("mbarrier", std::string(what) + " an mbarrier of another CTA, which PTX has no instruction for", line);
    return *found.barrier;
}

template <class Ended>
int test(void* address, Mbarrier& barrier, unsigned may_suspend, unsigned scope, int line, unsigned parity, Ended ended)
{
    if (ended()) return waited(barrier, scope);
    // A thread that asks again and again gives way; one that may be suspended does at once.
    const bool asks_again = has_polled(*current, address, barrier.phase);
    if (may_suspend || asks_again) yield_polling_at(address, parity, line);
    return ended() ? waited(barrier, scope) : 0;
}

}  // namespace

FoundMbarrier mbarrier_at(const void* address, const char* what, int line)
{
    Cta& cta = cta_of(address, what, line);
    const auto found = cta.mbarriers.find(offset_in(cta, address));
    if (found == cta.mbarriers.end())
        fail("mbarrier", std::string(what) + " " + element_name(address) + ", where no mbarrier has been initialised", line);
    return {&found->second, &cta};
}

std::string mbarrier_name(const Mbarrier& barrier) { return element_name(barrier.address); }

std::string mbarrier_state(const Mbarrier& barrier)
{
    std::string text = "phase " + std::to_string(barrier.phase);
    if (barrier.pending) text += ", " + std::to_string(barrier.pending) + " of " + std::to_string(barrier.arrivals) + " arrivals missing";
    if (barrier.bytes > 0) text += ", " + std::to_string(barrier.bytes) + " expected bytes missing";
    if (barrier.bytes < 0) text += ", " + std::to_string(-barrier.bytes) + " bytes more than expected";
    return text;
}

void complete_at(Mbarrier& barrier, const std::shared_ptr<Copy>& copy)
{
    const auto place = std::find(barrier.in_flight.begin(), barrier.in_flight.end(), copy);
    if (place != barrier.in_flight.end()) barrier.in_flight.erase(place);
    observe([&](Observer& observer) { observer.copy_completed_at(barrier, *copy); });
    if (copy->is_arrival()) {
        if (barrier.pending == 0) {
            add_finding("mbarrier", "an arrival behind cp.async is one more than the " + std::to_string(barrier.arrivals) +
                        " that a phase of " + mbarrier_name(barrier) + " takes", copy->party);
            return;
        }
        --barrier.pending;
    } else {
        barrier.bytes -= copy->barrier_bytes;
    }
    complete_if_ready(barrier);
}

extern "C" void tle2cuda_mbarrier_init(void* address, unsigned arrivals, int line)
{
    const void* const pc = __builtin_return_address(0);
    Cta& cta = cta_of(address, "initialises", line);
    if (&cta != current->cta) fail("mbarrier", "initialises an mbarrier of another CTA, which PTX has no instruction for", line);
    if (arrivals == 0 || arrivals > MAX_ARRIVALS)
        fail("mbarrier", "initialises an mbarrier for " + counted(arrivals, "arrival") + "; a phase takes 1 to 1048575", line);
    touch(address, AccessKind::WRITE, true, pc);
    const Party party{pc, current->cta->index, current->index};
    Mbarrier& barrier = cta.mbarriers[offset_in(cta, address)];
    if (barrier.arrivals)
        add_finding("mbarrier", "initialises " + element_name(address) + " again, which has not been invalidated: it is in " +
                    mbarrier_state(barrier), party, &barrier.initialized);
    if (!barrier.waiting.empty()) fail("mbarrier", "initialises " + element_name(address) + " while threads wait at it", line, true);
    barrier = Mbarrier();
    barrier.address = address;
    barrier.arrivals = barrier.pending = arrivals;
    barrier.initialized = party;
    memset(address, 0xb7, MBARRIER_BYTES);  // opaque
    ++launch.progress;
    observe([&](Observer& observer) { observer.mbarrier_initialized(*current, barrier); });
}

extern "C" void tle2cuda_mbarrier_invalidate(void* address, int line)
{
    const void* const pc = __builtin_return_address(0);
    Mbarrier& barrier = own_mbarrier(address, "invalidates", line);
    touch(address, AccessKind::WRITE, true, pc);
    if (!barrier.in_flight.empty())
        fail("mbarrier", "invalidates " + element_name(address) + " while a " + copy_name(*barrier.in_flight.front()) + " will complete at it", line);
    // Those that poll it are not in its list.
    const std::vector<Thread>& threads = current->cta->threads;
    if (std::any_of(threads.begin(), threads.end(), [&](const Thread& thread) { return thread.wait.mbarrier == &barrier; }))
        fail("mbarrier", "invalidates " + element_name(address) + " while threads wait at it", line, true);
    current->cta->mbarriers.erase(offset_in(*current->cta, address));
}

extern "C" uint64_t tle2cuda_mbarrier_arrive(
    void* address, unsigned arrivals, unsigned expected_bytes, unsigned is_drop, unsigned order, unsigned scope, int line)
{
    const void* const pc = __builtin_return_address(0);
    const FoundMbarrier found = mbarrier_at(address, "arrives at", line);
    touch(address, AccessKind::ATOMIC, false, pc);
    Mbarrier& barrier = *found.barrier;
    if (found.cta->live == 0) add_finding("exit", "arrives at " + element_name(address) + ", which has exited", pc);
    if (arrivals == 0 || arrivals > barrier.pending)
        fail("mbarrier", std::string("arrives ") + (arrivals == 1 ? "" : std::to_string(arrivals) + " times ") + "at " + mbarrier_name(barrier) +
             ", beyond the " + counted(barrier.arrivals, "arrival") + " of a phase: it is in " + mbarrier_state(barrier), line, true);
    const uint64_t token = barrier.phase;
    observe([&](Observer& observer) { observer.mbarrier_arrived(*current, barrier, Order(order), Scope(scope)); });
    if (expected_bytes) expect(barrier, expected_bytes, pc, line);
    barrier.pending -= arrivals;
    if (is_drop) barrier.arrivals -= arrivals;
    ++launch.progress;
    complete_if_ready(barrier);
    switch_at_random();
    return token;
}

extern "C" void tle2cuda_mbarrier_expect(void* address, unsigned bytes, int line)
{
    const void* const pc = __builtin_return_address(0);
    const FoundMbarrier found = mbarrier_at(address, "expects bytes at", line);
    touch(address, AccessKind::ATOMIC, false, pc);
    expect(*found.barrier, bytes, pc, line);
    complete_if_ready(*found.barrier);
}

extern "C" int tle2cuda_mbarrier_test(void* address, unsigned parity, unsigned may_suspend, unsigned scope, int line)
{
    Mbarrier& barrier = own_mbarrier(address, "waits at", line);
    touch(address, AccessKind::READ, false, __builtin_return_address(0));
    return test(address, barrier, may_suspend, scope, line, parity, [&] { return has_ended(barrier, parity); });
}

extern "C" int tle2cuda_mbarrier_test_token(void* address, uint64_t token, unsigned may_suspend, unsigned scope, int line)
{
    const void* const pc = __builtin_return_address(0);
    Mbarrier& barrier = own_mbarrier(address, "waits at", line);
    touch(address, AccessKind::READ, false, pc);
    if (barrier.phase > token + 1 || barrier.phase < token)
        add_finding("mbarrier", "waits at " + mbarrier_name(barrier) + " for its phase " + std::to_string(token) +
                    ", which is neither the current one nor the one before: it is in " + mbarrier_state(barrier), pc);
    return test(address, barrier, may_suspend, scope, line, token & 1, [&] { return barrier.phase > token; });
}

extern "C" void tle2cuda_mbarrier_wait(void* address, unsigned parity, unsigned scope, int line)
{
    Mbarrier& barrier = own_mbarrier(address, "waits at", line);
    touch(address, AccessKind::READ, false, __builtin_return_address(0));
    while (!has_ended(barrier, parity)) {
        Thread& thread = *current;
        thread.wait = Wait();
        thread.wait.kind = WaitKind::MBARRIER;
        thread.wait.line = line;
        thread.wait.mbarrier = &barrier;
        thread.wait.parity = parity & 1;
        thread.state = State::WAITING;
        barrier.waiting.push_back(&thread);
        leave();
    }
    waited(barrier, scope);
    switch_at_random();
}

extern "C" unsigned tle2cuda_mbarrier_pending(const void* address, int line)
{
    return mbarrier_at(address, "asks", line).barrier->pending;
}

}  // namespace tle2cuda_emulator
