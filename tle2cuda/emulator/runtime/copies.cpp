// Asynchronous copies: cp.async in groups, bulk copies and reductions, and when they read and write (PTX ISA, "Data Movement and
// Conversion Instructions: Asynchronous copy").
#include <algorithm>
#include <cstring>

#include "async.h"

namespace tle2cuda_emulator {

namespace {

constexpr unsigned BULK_ALIGNMENT = 16;

Party here(const void* pc) { return {pc, current->cta->index, current->index}; }

void perform_reads(Copy& copy)
{
    size_t total = 0;
    for (const Piece& piece : copy.pieces) total += piece.bytes;
    copy.data.resize(total);
    unsigned char* to = copy.data.data();
    for (const Piece& piece : copy.pieces) {
        if (piece.from) {
            memcpy(to, piece.from, piece.bytes);
        } else {
            for (uint32_t i = 0; i < piece.bytes; ++i) to[i] = static_cast<unsigned char>(copy.fill >> 8 * (i % copy.fill_bytes));
        }
        to += piece.bytes;
    }
    copy.stage = Stage::READ;
}

void reduce(const Copy& copy, const Piece& piece, const unsigned char* data)
{
    const unsigned bytes = element_bytes_of(copy.type);
    for (uint32_t at = 0; at < piece.bytes; at += bytes) {
        uint64_t old = 0, operand = 0;
        memcpy(&old, piece.to + at, bytes);
        memcpy(&operand, data + at, bytes);
        const uint64_t fresh = combined(copy.operation, copy.type, old, operand, 0);
        memcpy(piece.to + at, &fresh, bytes);
    }
}

void perform_writes(Copy& copy)
{
    if (copy.perform) copy.perform();
    const unsigned char* from = copy.data.data();
    for (const Piece& piece : copy.pieces) {
        if (copy.operation == ATOMIC_EXCHANGE)
            memcpy(piece.to, from, piece.bytes);
        else
            reduce(copy, piece, from);
        from += piece.bytes;
    }
    copy.data = {};
    ++launch.progress;
}

void finish(std::shared_ptr<Copy> copy);

// One step: it reads, or it writes and is complete.
void advance(const std::shared_ptr<Copy>& copy)
{
    if (copy->stage == Stage::DONE) return;
    for (const auto& prior : copy->prior) finish(prior);
    if (copy->stage == Stage::ISSUED) {
        perform_reads(*copy);
        return;
    }
    perform_writes(*copy);
    copy->stage = Stage::DONE;
    const auto place = std::find(launch.copies.begin(), launch.copies.end(), copy);
    if (place != launch.copies.end()) launch.copies.erase(place);
    if (copy->barrier) complete_at(*copy->barrier, copy);
    // What held it together may go: a loop's products would lead to each other back to the first.
    copy->prior.clear();
    copy->perform = nullptr;
}

void finish(std::shared_ptr<Copy> copy)
{
    while (copy->stage != Stage::DONE) advance(copy);
}

// The memory that a copy names exists: where it strays by little the detector of bounds says so, too.
void require_inside(const void* address, uint64_t bytes, Space space, const char* what, int line)
{
    const Place place = locate(address);
    if (place.space != space)
        fail("out_of_bounds", std::string(what) + " " + std::to_string(bytes) + " bytes at " + describe_address(address) + ", not in " +
             (space == Space::SHARED ? "shared" : "global") + " memory", line);
    const bool is_inside = space == Space::GLOBAL ? place.offset >= 0 && uint64_t(place.offset) + bytes <= place.buffer->bytes
                                                  : place.cta && uint64_t(place.offset) + bytes <= launch.shared_stride;
    if (!is_inside) fail("out_of_bounds", std::string(what) + " " + describe_access(address, bytes), line);
}

Space space_of(const void* address) { return locate(address).space; }

void require_size(unsigned bytes, const char* what, int line)
{
    if (bytes % BULK_ALIGNMENT) fail("misaligned", std::string(what) + " of " + std::to_string(bytes) + " bytes, no multiple of 16", line);
}

// The same place in another CTA of the cluster.
void* in_cta(void* address, unsigned rank)
{
    return cluster_of(*current).ctas[rank].shared + (static_cast<unsigned char*>(address) - current->cta->shared);
}

std::shared_ptr<Copy> new_copy(CopyKind kind, const void* pc)
{
    auto copy = std::make_shared<Copy>();
    copy->kind = kind;
    copy->is_async_proxy = kind != COPY_ELEMENT;
    copy->party = here(pc);
    return copy;
}

void add_linear(Copy& copy, void* to, const void* from, unsigned bytes)
{
    copy.pieces.push_back({static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), bytes});
    if (from) copy.reads.push_back({nullptr, static_cast<const unsigned char*>(from), bytes});
    copy.writes.push_back({static_cast<unsigned char*>(to), nullptr, bytes});
}

void see(const Copy& copy, const Piece& piece, AccessKind kind)
{
    const bool is_write = kind != AccessKind::READ;
    const void* const address = is_write ? piece.to : piece.from;
    const bool is_atomic = is_write && copy.operation != ATOMIC_EXCHANGE;
    const Access access{address, piece.bytes, 1, is_atomic ? AccessKind::ATOMIC : kind, ORDER_RELAXED,
                        is_atomic ? SCOPE_GPU : SCOPE_CTA, !is_atomic, copy.party.pc};
    const Place place = locate(address);
    observe([&](Observer& observer) { observer.copy_accessed(*current, copy, access, place); });
}

std::string unfinished(const Copy& copy)
{
    return copy_name(copy) + (copy.writes.empty() ? "" : " to " + element_name(copy.writes.front().to));
}

bool touches(const Copy& copy, const Cta& cta)
{
    const auto is_in = [&](const unsigned char* address) {
        return address >= cta.shared && address < cta.shared + launch.shared_stride;
    };
    return std::any_of(copy.pieces.begin(), copy.pieces.end(), [&](const Piece& piece) { return is_in(piece.to) || is_in(piece.from); });
}

bool is_barrier_of(const Mbarrier& barrier, const Cta& cta)
{
    return std::any_of(cta.mbarriers.begin(), cta.mbarriers.end(), [&](const auto& entry) { return &entry.second == &barrier; });
}

}  // namespace

std::string copy_name(const Copy& copy)
{
    const bool is_copy = copy.operation == ATOMIC_EXCHANGE;
    switch (copy.kind) {
        case COPY_ELEMENT: return "cp.async copy";
        case COPY_BULK: return is_copy ? "bulk copy" : "bulk reduction";
        case COPY_TENSOR: return is_copy ? "tensor copy" : "tensor reduction";
        case COPY_MATRIX: return "matrix product";
    }
    return "copy";
}

void wait_for(CopyGroups& groups, unsigned pending, bool is_read, bool with_open)
{
    CopyList done;
    const size_t count = groups.committed.size() > pending ? groups.committed.size() - pending : 0;
    for (size_t i = 0; i < count; ++i) done.insert(done.end(), groups.committed[i].begin(), groups.committed[i].end());
    if (with_open) done.insert(done.end(), groups.open.begin(), groups.open.end());
    for (const auto& copy : done) {
        copy->has_been_read = true;
        copy->is_awaited |= !is_read;
        if (!is_read)
            finish(copy);
        else if (copy->stage == Stage::ISSUED)
            advance(copy);
    }
    observe([&](Observer& observer) { observer.copies_waited(*current, done, is_read); });
    if (!is_read) groups.committed.erase(groups.committed.begin(), groups.committed.begin() + static_cast<int64_t>(count));
    if (with_open) groups.open.clear();
    if (launch.request.schedule == Schedule::RANDOM) yield_ready();
}

void commit(CopyGroups& groups)
{
    groups.committed.push_back(std::move(groups.open));
    groups.open.clear();
}

void require_aligned(const void* address, unsigned alignment, const char* what, int line)
{
    if (reinterpret_cast<uintptr_t>(address) % alignment)
        fail("misaligned", std::string(what) + " at " + describe_address(address) + ", which is not aligned to " +
             std::to_string(alignment) + " bytes", line);
}

void announce(const std::shared_ptr<Copy>& copy)
{
    observe([&](Observer& observer) { observer.copy_issued(*current, *copy); });
    if (launch.observers.empty()) return;
    for (const Piece& piece : copy->reads) see(*copy, piece, AccessKind::READ);
    for (const Piece& piece : copy->writes) see(*copy, piece, AccessKind::WRITE);
}

void put_in_flight(const std::shared_ptr<Copy>& copy)
{
    if (copy->barrier) copy->barrier->in_flight.push_back(copy);
    launch.copies.push_back(copy);
    if (launch.request.delivery == Delivery::NOW) finish(copy);
    if (launch.request.schedule == Schedule::RANDOM) yield_ready();
}

void issue(const std::shared_ptr<Copy>& copy)
{
    announce(copy);
    put_in_flight(copy);
}

void deliver_at_random()
{
    if (launch.request.delivery != Delivery::RANDOM || launch.random.below(4) != 0) return;
    advance(std::shared_ptr<Copy>(launch.copies[launch.random.below(launch.copies.size())]));
}

// Those that someone waits for first, and of them the last: in this order they need not come.
bool deliver_late()
{
    for (const bool is_awaited : {true, false})
        for (size_t i = launch.copies.size(); i-- > 0;) {
            const std::shared_ptr<Copy> copy = launch.copies[i];
            if (is_awaited && (!copy->barrier || copy->barrier->waiting.empty())) continue;
            finish(copy);
            return true;
        }
    return false;
}

void copies_of_thread_exited(Thread& thread)
{
    for (CopyGroups* groups : {&thread.element_copies, &thread.bulk_copies, &thread.matrix_products}) {
        CopyList copies = groups->open;
        for (const CopyList& group : groups->committed) copies.insert(copies.end(), group.begin(), group.end());
        for (const auto& copy : copies) {
            if (std::any_of(copy->reads.begin(), copy->reads.end(), [](const Piece& p) { return space_of(p.from) == Space::SHARED; })
                    ? !copy->has_been_read
                    : copy->kind == COPY_ELEMENT && !copy->is_awaited)
                add_finding("exit", "a thread exits and has not waited for its " + unfinished(*copy) +
                            (copy->kind == COPY_ELEMENT ? "" : ", which may still read the shared memory of its CTA"), copy->party);
            if (copy->stage == Stage::ISSUED) advance(copy);  // what it reads may not live on
            if (copy->kind == COPY_ELEMENT) finish(copy);
        }
        *groups = CopyGroups();
    }
}

void copies_of_cta_exited(Cta& cta)
{
    const CopyList copies = launch.copies;
    for (const auto& copy : copies) {
        const bool is_here = touches(*copy, cta) || (copy->barrier && is_barrier_of(*copy->barrier, cta));
        if (!is_here || copy->stage == Stage::DONE) continue;
        if (copy->barrier && !copy->is_arrival())
            add_finding("exit", "CTA " + triple_text(cta.index) + " exits while the " + unfinished(*copy) + " is in flight: nothing waits for it",
                        copy->party);
        finish(copy);
    }
    for (const auto& [offset, barrier] : cta.mbarriers)
        if (barrier.bytes)
            add_finding("mbarrier", "CTA " + triple_text(cta.index) + " exits while " + mbarrier_name(barrier) + " is in " + mbarrier_state(barrier),
                        barrier.expected.pc ? barrier.expected : barrier.initialized);
}

// ---- cp.async ----

extern "C" void tle2cuda_cp_async(void* to, const void* from, unsigned bytes, unsigned valid_bytes, int line)
{
    switch_at_access();
    const auto copy = new_copy(COPY_ELEMENT, __builtin_return_address(0));
    if (valid_bytes > bytes) fail("collective", "cp.async reads " + std::to_string(valid_bytes) + " bytes for " + std::to_string(bytes), line);
    require_aligned(to, bytes, "cp.async writes", line);
    require_inside(to, bytes, Space::SHARED, "cp.async writes", line);
    if (valid_bytes) {
        require_aligned(from, bytes, "cp.async reads", line);
        require_inside(from, valid_bytes, Space::GLOBAL, "cp.async reads", line);
        copy->pieces.push_back({static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), valid_bytes});
        copy->reads.push_back({nullptr, static_cast<const unsigned char*>(from), valid_bytes});
    }
    if (valid_bytes < bytes) copy->pieces.push_back({static_cast<unsigned char*>(to) + valid_bytes, nullptr, bytes - valid_bytes});
    copy->writes.push_back({static_cast<unsigned char*>(to), nullptr, bytes});
    current->element_copies.open.push_back(copy);
    issue(copy);
}

extern "C" void tle2cuda_cp_async_commit() { commit(current->element_copies); }
extern "C" void tle2cuda_cp_async_wait(unsigned pending_groups) { wait_for(current->element_copies, pending_groups, false, false); }
extern "C" void tle2cuda_cp_async_wait_all() { wait_for(current->element_copies, 0, false, true); }

extern "C" void tle2cuda_cp_async_arrive(void* address, unsigned is_counted, int line)
{
    switch_at_access();
    const FoundMbarrier found = mbarrier_at(address, "arrives at", line);
    const auto arrival = new_copy(COPY_ELEMENT, __builtin_return_address(0));
    CopyGroups& groups = current->element_copies;
    for (const CopyList& group : groups.committed) arrival->prior.insert(arrival->prior.end(), group.begin(), group.end());
    arrival->prior.insert(arrival->prior.end(), groups.open.begin(), groups.open.end());
    for (const auto& copy : arrival->prior) copy->is_awaited = true;
    // Without .noinc the phase takes one arrival more, which this is.
    if (!is_counted) ++found.barrier->pending;
    arrival->barrier = found.barrier;
    issue(arrival);
}

// ---- Bulk copies ----

extern "C" void tle2cuda_bulk_copy(void* to, const void* from, unsigned bytes, void* barrier, unsigned cta_mask, int line)
{
    switch_at_access();
    const void* const pc = __builtin_return_address(0);
    require_size(bytes, "a bulk copy", line);
    require_aligned(from, BULK_ALIGNMENT, "a bulk copy reads", line);
    require_aligned(to, BULK_ALIGNMENT, "a bulk copy writes", line);
    if (bytes == 0) return;
    if (!barrier) {
        require_inside(from, bytes, Space::SHARED, "a bulk copy reads", line);
        require_inside(to, bytes, Space::GLOBAL, "a bulk copy writes", line);
        const auto copy = new_copy(COPY_BULK, pc);
        add_linear(*copy, to, from, bytes);
        current->bulk_copies.open.push_back(copy);
        issue(copy);
        return;
    }
    require_inside(from, bytes, space_of(from) == Space::SHARED ? Space::SHARED : Space::GLOBAL, "a bulk copy reads", line);
    for (unsigned rank = 0; rank < launch.cluster_size; ++rank) {
        if (cta_mask && !(cta_mask >> rank & 1)) continue;
        void* const target = cta_mask ? in_cta(to, rank) : to;
        void* const signal = cta_mask ? in_cta(barrier, rank) : barrier;
        require_inside(target, bytes, Space::SHARED, "a bulk copy writes", line);
        const auto copy = new_copy(COPY_BULK, pc);
        add_linear(*copy, target, from, bytes);
        copy->barrier = mbarrier_at(signal, "a bulk copy completes at", line).barrier;
        copy->barrier_bytes = bytes;
        issue(copy);
        if (!cta_mask) break;
    }
}

extern "C" void tle2cuda_bulk_reduce(
    void* to, const void* from, unsigned bytes, unsigned operation, unsigned type, void* barrier, int line)
{
    switch_at_access();
    require_size(bytes, "a bulk reduction", line);
    require_aligned(from, BULK_ALIGNMENT, "a bulk reduction reads", line);
    require_aligned(to, BULK_ALIGNMENT, "a bulk reduction updates", line);
    if (bytes == 0) return;
    require_inside(from, bytes, Space::SHARED, "a bulk reduction reads", line);
    require_inside(to, bytes, barrier ? Space::SHARED : Space::GLOBAL, "a bulk reduction updates", line);
    const auto copy = new_copy(COPY_BULK, __builtin_return_address(0));
    copy->operation = operation;
    copy->type = type;
    add_linear(*copy, to, from, bytes);
    if (barrier) {
        copy->barrier = mbarrier_at(barrier, "a bulk reduction completes at", line).barrier;
        copy->barrier_bytes = bytes;
    } else {
        current->bulk_copies.open.push_back(copy);
    }
    issue(copy);
}

extern "C" void tle2cuda_bulk_commit() { commit(current->bulk_copies); }
extern "C" void tle2cuda_bulk_wait(unsigned pending_groups, unsigned is_read)
{
    wait_for(current->bulk_copies, pending_groups, is_read != 0, false);
}

extern "C" void tle2cuda_proxy_fence(unsigned spaces)
{
    observe([&](Observer& observer) { observer.proxy_fenced(*current, spaces); });
}

// ---- Addresses in the shared window ----

namespace {
constexpr unsigned WINDOW_BITS = 24;
}

extern "C" unsigned tle2cuda_shared_window(const void* address)
{
    const Place place = locate(address);
    if (place.space != Space::SHARED || !place.cta) fail("remote", "the shared address of " + describe_address(address) + ", not in shared memory");
    const auto offset = static_cast<unsigned>(place.offset);
    return place.cta == current->cta ? offset : (place.cta->rank + 1) << WINDOW_BITS | offset;
}

extern "C" void* tle2cuda_from_shared_window(unsigned address)
{
    const unsigned rank = address >> WINDOW_BITS, offset = address & ((1u << WINDOW_BITS) - 1);
    if (rank > launch.cluster_size || offset >= launch.shared_stride) fail("out_of_bounds", "a shared address outside of the cluster's shared memory");
    return (rank ? cluster_of(*current).ctas[rank - 1].shared : current->cta->shared) + offset;
}

}  // namespace tle2cuda_emulator
