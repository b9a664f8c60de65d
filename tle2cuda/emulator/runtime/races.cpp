// Data races: two accesses of different threads to one byte, at least one of them a write, not both atomic, with nothing that
// orders them. Each granule of four bytes remembers its last plain write, and since then reads and atomic accesses: each thread's
// last one, or, when many threads read one word, examples from each warp, each CTA.
#include <sys/mman.h>

#include <algorithm>
#include <deque>

#include "clocks.h"
#include "elements.h"
#include "shadow.h"

namespace tle2cuda_emulator {

void* reserve_zeros(size_t bytes)
{
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) fail("resources", "cannot reserve " + std::to_string(bytes) + " bytes for what detectors remember");
    return memory;
}

namespace {

// Accesses by what they conflict with. Volatile ones count as atomic: they are `relaxed` of system scope.
enum class Strength : uint8_t { PLAIN_READ, ATOMIC_READ, ATOMIC_WRITE, PLAIN_WRITE };

bool writes(Strength strength) { return strength >= Strength::ATOMIC_WRITE; }
bool is_atomic(Strength strength) { return strength == Strength::ATOMIC_READ || strength == Strength::ATOMIC_WRITE; }

struct Touch {
    ThreadId thread = 0;
    Time time = 0;
    uint32_t pc = 0;  // offset in the library; 0: no access
};

struct Kind {
    Strength strength = Strength::PLAIN_READ;
    bool is_cta_scope = false;

    bool operator==(const Kind& other) const { return strength == other.strength && is_cta_scope == other.is_cta_scope; }
    // Whatever races with the other races with this one.
    bool covers(const Kind& other) const
    {
        if (strength == Strength::PLAIN_WRITE || *this == other) return true;
        return other.strength == Strength::ATOMIC_READ && strength == Strength::PLAIN_READ;
    }
};

struct Cell {
    Touch write;  // the last plain one
    Touch touch;  // a read or an atomic access since; when there are more, they are in `more`
    uint32_t more = 0;
    Kind kind;    // of `touch`
    bool is_split = false;  // `more` leads to a cell for each byte
};

// Accesses of a kind by the threads of a warp, a CTA, or any.
struct Group {
    Touch last, other;  // of two threads
    Kind kind;
    uint8_t level = 0;
};

constexpr size_t MANY = 40;  // groups, above which they are joined

class Races : public Observer {
public:
    Races() : clocks_(clocks()) { groups_.resize(1); }

    void cluster_started(const Cluster& cluster) override
    {
        for (const Cta& cta : cluster.ctas) shadow_.clear(cta);
    }

    void accessed(const Thread& thread, const Access& access, const Place& place) override
    {
        visit(thread, access, place, clocks_.id_of(thread), nullptr);
    }

    void mbarrier_touched(const Thread& thread, const Access& access, const Place& place) override { accessed(thread, access, place); }

    void mbarrier_initialized(const Thread&, const Mbarrier&) override { has_async_proxy_ = true; }

    void copy_issued(const Thread& thread, Copy& copy) override
    {
        has_async_proxy_ |= copy.is_async_proxy;
        if (!copy.barrier || !copy.is_async_proxy || clocks_.is_fenced_for_copies(*copy.barrier, thread)) return;
        add_finding("proxy", "a " + copy_name(copy) + " completes at " + mbarrier_name(*copy.barrier) +
                    ", and neither fence.mbarrier_init nor fence.proxy.async lies behind its initialisation", copy.party,
                    &copy.barrier->initialized);
    }

    void copy_accessed(const Thread& thread, const Copy& copy, const Access& access, const Place& place) override
    {
        visit(thread, access, place, clocks_.actor_of(copy, access.kind != AccessKind::READ), &copy);
    }

private:
    void visit(const Thread& thread, const Access& access, const Place& place, ThreadId actor, const Copy* copy)
    {
        if (!is_inside(access, place)) return;
        const auto address = reinterpret_cast<uintptr_t>(access.address);
        const auto pc = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(access.pc) - launch.library_base);
        const Visit visit{thread, access, {actor, clocks_.now(), pc}, kind_of(access), copy, place.space == Space::SHARED};
        Cell* cell = shadow_.at(place);
        const uintptr_t end = address + access.bytes;
        for (uintptr_t granule = address / 4 * 4; granule < end; granule += 4, ++cell) {
            const bool is_whole = granule >= address && granule + 4 <= end;
            if (is_whole && !cell->is_split) {
                visit_cell(*cell, visit, granule);
                continue;
            }
            if (!cell->is_split) split(*cell);
            for (uintptr_t byte = std::max(granule, address); byte < std::min(granule + 4, end); ++byte)
                visit_cell(bytes_[cell->more][byte % 4], visit, byte);
        }
    }

    struct Visit {
        const Thread& thread;  // of a copy, who issued it
        const Access& access;
        Touch touch;
        Kind kind;
        const Copy* copy;
        bool is_shared;
    };

    static Kind kind_of(const Access& access)
    {
        const bool is_write = access.kind != AccessKind::READ;
        if (access.is_plain) return {is_write ? Strength::PLAIN_WRITE : Strength::PLAIN_READ, false};
        return {is_write ? Strength::ATOMIC_WRITE : Strength::ATOMIC_READ, access.scope == SCOPE_CTA};
    }

    void split(Cell& cell)
    {
        // What was remembered of all four bytes holds for each; lists are copied, as they go on apart.
        std::array<Cell, 4> bytes;
        for (Cell& byte : bytes) {
            byte = cell;
            if (cell.more) {
                byte.more = new_groups();
                groups_[byte.more] = groups_[cell.more];
            }
        }
        bytes_.push_back(bytes);
        cell = Cell();
        cell.more = static_cast<uint32_t>(bytes_.size() - 1);
        cell.is_split = true;
    }

    uint32_t new_groups()
    {
        if (!free_groups_.empty()) {
            const uint32_t found = free_groups_.back();
            free_groups_.pop_back();
            return found;
        }
        groups_.emplace_back();
        return static_cast<uint32_t>(groups_.size() - 1);
    }

    bool conflicts(const Touch& before, Kind kind, const Visit& visit) const
    {
        if (before.thread == visit.touch.thread || (!writes(kind.strength) && !writes(visit.kind.strength))) return false;
        if (!is_atomic(kind.strength) || !is_atomic(visit.kind.strength)) return true;
        // Atomic accesses exclude each other when the scope of both includes both threads.
        return (kind.is_cta_scope || visit.kind.is_cta_scope) && !clocks_.is_same_cta(before.thread, visit.touch.thread);
    }

    static OrderKind order_for(Kind before) { return writes(before.strength) ? OF_ALL : OF_READS; }

    void compare(const Touch& before, Kind kind, const Visit& visit, uintptr_t address)
    {
        if (!before.pc || !conflicts(before, kind, visit)) return;
        if (clocks_.is_ordered_by_barriers(before.thread, before.time, order_for(kind), visit.thread)) return;
        // A pair of places that has been reported often is not searched for chains any more.
        uint32_t& times = reported_[uint64_t(before.pc) << 32 | visit.touch.pc];
        if (times >= MAX_REPORTS || clocks_.is_ordered(before.thread, before.time, order_for(kind), visit.thread)) return;
        ++times;
        report(before, kind, visit, address);
    }

    void report(const Touch& before, Kind kind, const Visit& visit, uintptr_t address)
    {
        const void* const at = reinterpret_cast<const void*>(address);
        if (!is_in_variable(locate(at))) return;
        std::string text = subject_of(visit) + " " + element_name(at);
        if (Clocks::is_engine(before.thread)) {
            const bool has_written = writes(kind.strength);
            text += std::string(", which the ") + clocks_.copy_of(before.thread).name + issuer_of(before) +
                    (has_written ? " may still be writing" : " may still be reading") + ": nothing waits for it in between";
        } else {
            text += std::string(", and nothing orders that behind the ") +
                    (kind.strength == Strength::PLAIN_WRITE    ? "write"
                     : kind.strength == Strength::ATOMIC_WRITE ? "atomic update"
                                                               : "read") +
                    issuer_of(before);
        }
        add(Clocks::is_engine(before.thread) ? "in_flight" : "race", text, before, visit);
    }

    // "reads", "a bulk copy reads".
    static std::string subject_of(const Visit& visit)
    {
        return (visit.copy ? "a " + copy_name(*visit.copy) + " " : "") + verb(visit.access.kind);
    }

    std::string issuer_of(const Touch& touch) const
    {
        return " by thread " + std::to_string(clocks_.thread_index(touch.thread).x) + " of CTA " + triple_text(clocks_.cta_index(touch.thread));
    }

    void add(const char* kind, const std::string& text, const Touch& before, const Visit& visit) const
    {
        const Party other{reinterpret_cast<const void*>(launch.library_base + before.pc), clocks_.cta_index(before.thread),
                          clocks_.thread_index(before.thread)};
        const Party at{visit.access.pc, visit.thread.cta->index, visit.thread.index};
        add_finding(kind, text, at, &other);
    }

    // What the asynchronous proxy does is ordered with ordinary accesses behind a fence between the proxies alone. It sees a write
    // behind a fence anywhere between the two. A read is done only behind a fence of its own thread: without one it may still be
    // on its way when that thread lets the copy go ahead.
    void check_proxy(const Touch& before, Kind kind, const Visit& visit, uintptr_t address)
    {
        const bool has_written = writes(kind.strength);
        if (!before.pc || (!has_written && !writes(visit.kind.strength)) || clocks_.is_of_async_proxy(before.thread)) return;
        if (!has_written && Clocks::is_engine(before.thread)) return;  // whoever waits for a cp.async knows that it has read
        if (last_fenced_.thread == before.thread && last_fenced_.time == before.time && last_copy_ == visit.touch.thread &&
            last_fenced_has_written_ == has_written)
            return;
        if (!clocks_.is_ordered(before.thread, before.time, order_for(kind), visit.thread)) return;  // a race
        const unsigned spaces = visit.is_shared ? PROXY_SHARED : PROXY_GLOBAL;
        last_fenced_ = before;
        last_fenced_has_written_ = has_written;
        last_copy_ = visit.touch.thread;
        if (has_written ? clocks_.is_fenced_for_copies(before.thread, before.time, spaces, visit.thread)
                        : clocks_.has_fenced(before.thread, before.time, spaces, visit.thread))
            return;
        uint32_t& times = reported_[uint64_t(before.pc) << 32 | visit.touch.pc | uint64_t(1) << 63];
        const void* const at = reinterpret_cast<const void*>(address);
        if (times++ || !is_in_variable(locate(at))) return;
        const std::string text = subject_of(visit) + " " + element_name(at);
        if (!has_written)
            add("proxy", text + ", and no fence.proxy.async of the thread that read it lies behind the read" + issuer_of(before) +
                ": the copy may overtake it", before, visit);
        else if (Clocks::is_engine(before.thread))
            add("proxy", text + ", and no fence.proxy.async lies behind the wait for the " + clocks_.copy_of(before.thread).name +
                issuer_of(before) + ": the copy may miss what that wrote", before, visit);
        else
            add("proxy", text + ", and no fence.proxy.async lies behind the " +
                (kind.strength == Strength::PLAIN_WRITE ? "write" : "atomic update") + issuer_of(before) + ": the copy may miss it",
                before, visit);
    }

    void check_proxy(const Cell& cell, const Visit& visit, uintptr_t address)
    {
        check_proxy(cell.write, {Strength::PLAIN_WRITE, false}, visit, address);
        check_proxy(cell.touch, cell.kind, visit, address);
        if (!cell.more) return;
        for (const Group& group : groups_[cell.more]) {
            check_proxy(group.last, group.kind, visit, address);
            check_proxy(group.other, group.kind, visit, address);
        }
    }

    void visit_cell(Cell& cell, const Visit& visit, uintptr_t address)
    {
        const bool has_many = cell.more != 0;
        if (!has_many && cell.touch.thread == visit.touch.thread && cell.touch.time == visit.touch.time && cell.touch.pc &&
            cell.kind == visit.kind)
            return;
        compare(cell.write, {Strength::PLAIN_WRITE, false}, visit, address);
        if (visit.copy && visit.copy->is_async_proxy) check_proxy(cell, visit, address);
        if (visit.kind.strength != Strength::PLAIN_READ && visit.kind.strength != Strength::ATOMIC_READ) {
            compare(cell.touch, cell.kind, visit, address);
        } else if (writes(cell.kind.strength)) {
            compare(cell.touch, cell.kind, visit, address);
        }
        if (has_many)
            for (const Group& group : groups_[cell.more]) {
                if (!writes(group.kind.strength) && !writes(visit.kind.strength)) continue;
                compare(group.last, group.kind, visit, address);
                compare(group.other, group.kind, visit, address);
            }
        if (visit.kind.strength == Strength::PLAIN_WRITE) {
            drop_groups(cell);
            cell.write = visit.touch;
            cell.touch = Touch();
        } else {
            remember(cell, visit);
        }
    }

    void drop_groups(Cell& cell)
    {
        if (!cell.more) return;
        groups_[cell.more].clear();
        free_groups_.push_back(cell.more);
        cell.more = 0;
    }

    // Whether an access need not be remembered once this one is.
    bool is_superseded(const Touch& before, Kind kind, const Visit& visit)
    {
        if (!before.pc) return true;
        // Who knows that a copy is complete need not know what came in front of it.
        if (visit.copy || !visit.kind.covers(kind)) return false;
        // A later copy asks of each thread whether a fence followed its read.
        if (has_async_proxy_ && before.thread != visit.touch.thread && !writes(kind.strength) &&
            !clocks_.has_fenced(before.thread, before.time, visit.is_shared ? PROXY_SHARED : PROXY_GLOBAL, visit.thread))
            return false;
        return clocks_.is_ordered_by_barriers(before.thread, before.time, OF_ALL, visit.thread);
    }

    void remember(Cell& cell, const Visit& visit)
    {
        if (is_superseded(cell.touch, cell.kind, visit)) {
            cell.touch = visit.touch;
            cell.kind = visit.kind;
            return;
        }
        if (!cell.more) cell.more = new_groups();
        std::vector<Group>& groups = groups_[cell.more];
        const auto own = std::find_if(groups.rbegin(), groups.rend(), [&](const Group& group) { return belongs(visit, group); });
        if (own != groups.rend()) {
            if (own->last.thread != visit.touch.thread) own->other = own->last;
            own->last = visit.touch;
            return;
        }
        groups.erase(std::remove_if(groups.begin(), groups.end(),
                                    [&](const Group& group) {
                                        return is_superseded(group.last, group.kind, visit) && is_superseded(group.other, group.kind, visit);
                                    }),
                     groups.end());
        groups.push_back({visit.touch, {}, visit.kind, 0});
        if (groups.size() > MANY) join(groups);
    }

    bool belongs(const Visit& visit, const Group& group) const
    {
        if (!(group.kind == visit.kind)) return false;
        return are_together(group.last.thread, visit.touch.thread, group.level);
    }

    static bool is_copy(const Group& group) { return Clocks::is_engine(group.last.thread); }

    bool are_together(ThreadId a, ThreadId b, unsigned level) const
    {
        if (Clocks::is_engine(a) || Clocks::is_engine(b)) return a == b;
        return level == 0 ? clocks_.is_same_warp(a, b) : level == 1 ? clocks_.is_same_cta(a, b) : true;
    }

    void join(std::vector<Group>& groups)
    {
        // Of many copies that read one word the last ones stand for all.
        size_t copies = static_cast<size_t>(std::count_if(groups.begin(), groups.end(), is_copy));
        for (auto group = groups.begin(); group != groups.end() && copies > MANY / 4;) {
            const bool is_old = is_copy(*group);
            copies -= is_old;
            group = is_old ? groups.erase(group) : std::next(group);
        }
        for (uint8_t level = 1; level <= 2 && groups.size() > MANY / 2; ++level) {
            std::vector<Group> joined;
            for (const Group& group : groups) {
                const auto found = std::find_if(joined.begin(), joined.end(), [&](const Group& other) {
                    return other.kind == group.kind && are_together(other.last.thread, group.last.thread, level);
                });
                if (found == joined.end()) {
                    joined.push_back(group);
                    joined.back().level = std::max(level, group.level);
                } else {
                    found->other = found->last;
                    found->last = group.last;
                }
            }
            groups = std::move(joined);
        }
    }

    static constexpr uint32_t MAX_REPORTS = 16;

    Clocks& clocks_;
    Shadow<Cell, 4> shadow_;
    std::deque<std::array<Cell, 4>> bytes_;
    std::deque<std::vector<Group>> groups_;
    std::vector<uint32_t> free_groups_;
    std::unordered_map<uint64_t, uint32_t> reported_;  // by pair of places
    bool has_async_proxy_ = false;  // the kernel has copies of that kind, or will: it has made an mbarrier
    Touch last_fenced_;
    bool last_fenced_has_written_ = false;
    ThreadId last_copy_ = 0;
};

// Reads of bytes that nothing has written: of shared memory, of scratch, of arguments that the caller calls uninitialised.
class Uninitialized : public Observer {
public:
    void cluster_started(const Cluster& cluster) override
    {
        for (const Cta& cta : cluster.ctas) written_.clear(cta);
    }

    void accessed(const Thread&, const Access& access, const Place& place) override
    {
        if (!is_inside(access, place) || (place.space == Space::GLOBAL && !place.buffer->is_uninitialized)) return;
        uint8_t* const written = written_.at(place);
        if (access.kind != AccessKind::WRITE)
            for (unsigned i = 0; i < access.bytes; ++i) {
                if (written[i] || !begins_empty(place, i)) continue;
                const void* const at = static_cast<const unsigned char*>(access.address) + i;
                if (!is_in_variable(locate(at))) break;
                add_finding("uninitialized", std::string(verb(access.kind)) + " " + element_name(at) + ", which nothing has written", access.pc);
                break;
            }
        if (access.kind != AccessKind::READ) std::fill_n(written, access.bytes, uint8_t(1));
    }

    void copy_accessed(const Thread& thread, const Copy&, const Access& access, const Place& place) override { accessed(thread, access, place); }
    void mbarrier_touched(const Thread& thread, const Access& access, const Place& place) override
    {
        if (access.is_plain) accessed(thread, access, place);
    }

private:
    static bool begins_empty(const Place& place, unsigned i)
    {
        if (place.space == Space::SHARED) return true;
        const uint64_t offset = uint64_t(place.offset) + i;
        bool belongs_to_one = false;
        for (const Argument& argument : launch.request.arguments) {
            if (&launch.request.buffers[argument.buffer] != place.buffer || offset - argument.offset >= argument.bytes) continue;
            if (!argument.is_uninitialized) return false;
            belongs_to_one = true;
        }
        return belongs_to_one;
    }

    Shadow<uint8_t, 1> written_;
};

// Shared memory of a CTA lives until its last thread exits: nobody else may touch it behind that, or when nothing says that it
// happens before. Nor before the CTA is known to run.
class Exits : public Observer {
public:
    Exits() : clocks_(clocks()) {}

    void cluster_started(const Cluster& cluster) override
    {
        const size_t last = cluster.ctas.back().slot;
        if (visits_.size() <= last) visits_.resize(last + 1);
        for (const Cta& cta : cluster.ctas) visits_[cta.slot].clear();
    }

    void accessed(const Thread& thread, const Access& access, const Place& place) override
    {
        if (place.space != Space::SHARED || !place.cta || place.cta == thread.cta) return;
        if (place.cta->live == 0) {
            add_finding("exit", std::string(verb(access.kind)) + " " + element_name(access.address) + ", which has exited", access.pc);
            return;
        }
        if (!clocks_.knows_cluster(thread))
            add_finding("exit", std::string(verb(access.kind)) + " " + element_name(access.address) +
                        ", which need not have started: this CTA has met no other one yet", access.pc);
        visits_[place.cta->slot][clocks_.id_of(thread)] = {clocks_.now(), access, thread.index, thread.cta->index};
    }

    void mbarrier_touched(const Thread& thread, const Access& access, const Place& place) override { accessed(thread, access, place); }
    void copy_accessed(const Thread& thread, const Copy&, const Access& access, const Place& place) override
    {
        accessed(thread, access, place);
    }

    void thread_exited(const Thread& thread) override
    {
        const Cta& cta = *thread.cta;
        auto& visits = visits_[cta.slot];
        if (visits.empty()) return;
        // The CTA ends with its last thread; what is in front of any thread's end is in front of that.
        const bool is_last = cta.live == 1;
        if (!is_last && ++exits_ % 64 != 1) return;
        std::unordered_map<const void*, unsigned> reported;  // by instruction
        for (auto visit = visits.begin(); visit != visits.end();) {
            const OrderKind kind = visit->second.access.kind == AccessKind::READ ? OF_READS : OF_ALL;
            const auto is_in_front = [&](const Thread& end) { return clocks_.is_ordered(visit->first, visit->second.time, kind, end); };
            // All ends are asked about a visit that no end may follow, so of those few are enough: they are one finding.
            const bool is_looked_at = !is_last || reported[visit->second.access.pc] < ENOUGH_VISITS;
            const bool is_safe = !is_looked_at || is_in_front(thread) ||
                                 (is_last && std::any_of(cta.threads.begin(), cta.threads.end(), is_in_front));
            if (is_last && !is_safe) {
                report(visit->second);
                ++reported[visit->second.access.pc];
            }
            visit = is_safe || is_last ? visits.erase(visit) : std::next(visit);
        }
    }

private:
    struct Visit {
        Time time;
        Access access;
        Index thread, cta;
    };

    static void report(const Visit& visit)
    {
        add_finding("exit", std::string(verb(visit.access.kind)) + " " + element_name(visit.access.address) +
                    ", which may have exited: no barrier of the cluster holds it until this is done",
                    Party{visit.access.pc, visit.cta, visit.thread});
    }

    static constexpr unsigned ENOUGH_VISITS = 32;

    Clocks& clocks_;
    uint64_t exits_ = 0;
    std::vector<std::unordered_map<ThreadId, Visit>> visits_;  // by slot of the CTA that is visited: each thread's last one
};

}  // namespace

std::unique_ptr<Observer> make_race_detector() { return std::make_unique<Races>(); }
std::unique_ptr<Observer> make_uninitialized_detector() { return std::make_unique<Uninitialized>(); }
std::unique_ptr<Observer> make_exit_detector() { return std::make_unique<Exits>(); }

}  // namespace tle2cuda_emulator
