// Which accesses of one thread come before which points of another: happens-before as CUDA's memory model has it.
//
// A clock for every pair of threads would be 8192 numbers for each of 8192 threads. But threads meet in groups, and the emulated
// threads run one after the other, so one counter orders all events of the launch, and what a thread knows is four times: all that
// the grid, its cluster, its CTA, its warp did before that time is in front of it. Chains through fences and atomics, which connect
// single threads, are kept as logs of releases and acquisitions and are searched only when those four times do not suffice.
//
// Two kinds of order are told apart. Accesses are in order when a barrier, __syncwarp, or a release and an acquisition lie
// between. For an earlier *read* less is enough: a relaxed atomic or volatile write, and another thread's atomic or volatile read
// of it. The model asks for fences there too, but a read has its value before anything that depends on it happens, and before a
// barrier behind it completes, so what comes after cannot change it.
#pragma once

#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "async.h"

namespace tle2cuda_emulator {

using Time = uint32_t;
using ThreadId = uint32_t;  // cluster, rank in it, thread in the CTA, as fields of bits; unlike slots, never used again

enum OrderKind : unsigned { OF_ALL, OF_READS };

// All that the members did before these times is in front.
struct Reach {
    Time grid = 0, cluster = 0, cta = 0, warp = 0;

    void join(const Reach& other);
};

class Clocks : public Observer {
public:
    Clocks();

    Time now() const { return time_; }
    ThreadId id_of(const Thread& thread) const { return clock_of(thread).id; }
    Index cta_index(ThreadId id) const { return is_engine(id) ? copy_of(id).party.cta : cta_indices_.at(id >> thread_bits_); }
    Index thread_index(ThreadId id) const
    {
        return is_engine(id) ? copy_of(id).party.thread : Index{id & ((1u << thread_bits_) - 1), 0, 0};
    }
    // An asynchronous copy is two actors that no barrier knows: what it reads, and what it writes.
    static bool is_engine(ThreadId id) { return id >> 31; }
    struct Issued {
        Party party;
        std::string name;
        bool is_async_proxy;
    };
    const Issued& copy_of(ThreadId id) const { return copies_[(id & ~ENGINE) / 2]; }
    bool is_of_async_proxy(ThreadId id) const { return is_engine(id) && copy_of(id).is_async_proxy; }
    static ThreadId actor_of(const Copy& copy, bool is_write);
    // Whether a write by `writer` in front of `later` also is for the asynchronous proxy: a proxy fence lies between.
    bool is_fenced_for_copies(ThreadId writer, Time time, unsigned spaces, const Thread& later);
    // Whether the thread itself has executed a proxy fence since then, in front of what `later` does now.
    bool has_fenced(ThreadId thread, Time time, unsigned spaces, const Thread& later);
    // The same of the initialisation of an mbarrier, which has a fence of its own.
    bool is_fenced_for_copies(const Mbarrier& barrier, const Thread& later);
    bool is_same_cta(ThreadId a, ThreadId b) const { return a >> thread_bits_ == b >> thread_bits_; }
    bool is_same_warp(ThreadId a, ThreadId b) const { return a / WARP_LANES == b / WARP_LANES; }
    ThreadId cta_of(ThreadId id) const { return id >> thread_bits_; }

    // Whether what `earlier` did at a time is in front of what `later` does now.
    bool is_ordered(ThreadId earlier, Time time, OrderKind kind, const Thread& later);
    // The same without looking at chains: no means perhaps.
    bool is_ordered_by_barriers(ThreadId earlier, Time time, OrderKind kind, const Thread& later) const;
    // Whether the thread has met all of its cluster, or has heard from another thread of it.
    bool knows_cluster(const Thread& thread) const;

    void cluster_started(const Cluster& cluster) override;
    void performed(const Thread& thread, const Access& access, bool has_written) override;
    void fenced(const Thread& thread, Scope scope) override;
    void met(const std::vector<Thread*>& threads) override;
    // CUDA C++ Programming Guide, "Warp Shuffle Functions" and its neighbours: they order no memory.
    void exchanged(const std::vector<Thread*>&) override {}
    void signalled(const Thread& thread, unsigned barrier) override;
    void met_at(const std::vector<Thread*>& threads, unsigned barrier) override;
    void arrived(const Thread& thread, const SplitBarrier& barrier, bool is_release) override;
    void waited(const Thread& thread, const SplitBarrier& barrier, bool is_acquire) override;
    void mbarrier_initialized(const Thread& thread, const Mbarrier& barrier) override;
    void mbarrier_arrived(const Thread& thread, const Mbarrier& barrier, Order order, Scope scope) override;
    void mbarrier_completed(const Mbarrier& barrier) override;
    void mbarrier_waited(const Thread& thread, const Mbarrier& barrier, Scope scope) override;
    void copy_issued(const Thread& thread, Copy& copy) override;
    void copy_completed_at(const Mbarrier& barrier, const Copy& copy) override;
    void copies_waited(const Thread& thread, const CopyList& copies, bool is_read) override;
    void proxy_fenced(const Thread& thread, unsigned spaces) override;

private:
    static constexpr ThreadId ENGINE = 1u << 31;

    enum { IN_CTA, WIDER };
    static constexpr unsigned WARP_BITS = 5;
    static constexpr unsigned GENERATIONS = 4;  // of a split barrier that are remembered

    struct Fence {
        Time time = 0;
        Reach reach;
    };
    // What a thread publishes by an atomic or a barrier of part of the threads: with its last fence, all that was in front of
    // that; without, what it has read.
    struct Snapshot {
        Reach reads;
        Fence fences[2];  // of any scope, of a scope wider than the CTA
    };
    struct Release {
        ThreadId thread;
        Time time;
        uint32_t snapshot;  // none of a copy, which publishes only what it did itself
        bool is_cta_scope;
    };
    struct Acquisition {
        Time time;
        Time effective[2];  // when a fence of any scope, of a wider one followed; 0: not yet
        uint32_t log;
        uint32_t version;  // how many of the log's releases
        bool is_cta_scope;
    };
    struct Clock {
        ThreadId id = 0;
        Reach reach[2];
        Fence fences[2];
        uint32_t generations[2] = {};                // of its next arrival at the cluster's, the grid's barrier
        Time arrivals[2][GENERATIONS] = {};          // at the cluster's barrier, by kind of order
        uint32_t snapshot = 0;                       // plus one; 0: none yet
        std::unique_ptr<std::array<Time, 2 * WARP_LANES>> lanes;  // from collectives of part of the warp
        bool has_acquired = false;
    };
    struct Generation {
        uint32_t number = 0;
        Time first[2] = {};
        Time last = 0;
        Reach joined[2];
    };
    struct Split {
        Generation generations[GENERATIONS];
    };
    // The releases at an mbarrier since its initialisation, and how many of them lie in front of the end of its last phase.
    struct PhaseLog {
        uint32_t log = 0, version = 0;
        ThreadId initializer = 0;
        Time initialized = 0;
    };
    struct ThreadLog {
        std::vector<Acquisition> all;
        size_t pending[2] = {};  // from here on no fence has followed
    };
    // All that comes before a point: of a CTA, its last barrier; of a thread, what only it acquired. It never shrinks, so it is kept
    // and extended.
    struct Closure {
        struct Group {
            ThreadId first;
            unsigned bits;  // how many low bits of an identity tell the members apart
            Time until;
        };
        std::unordered_map<uint64_t, Time> known;         // by first member and bits
        std::unordered_map<uint64_t, uint32_t> versions;  // how much of each log has been seen
        std::unordered_map<ThreadId, size_t> done;        // how many acquisitions of each thread
        std::vector<Group> open;
    };

    // A fence between the proxies: what its thread knew then.
    struct ProxyFence {
        ThreadId thread;
        Time time;
        unsigned spaces;
        Reach reach;
        std::unique_ptr<Closure> known;
    };

    size_t slot_of(const Thread& thread) const { return size_t(thread.cta->slot) * launch.request.cta_threads + thread.linear; }
    Clock& clock_of(const Thread& thread) { return clocks_[slot_of(thread)]; }
    const Clock& clock_of(const Thread& thread) const { return clocks_[slot_of(thread)]; }
    const Clock* live_clock(ThreadId id) const;
    ThreadId cluster_of_id(ThreadId id) const { return id >> (thread_bits_ + rank_bits_); }
    bool covers(const Reach& reach, OrderKind kind, ThreadId owner, ThreadId earlier, Time time) const;
    bool covers_cluster(Time reach, OrderKind kind, ThreadId earlier, Time time) const;
    void add(Closure& closure, ThreadId member, unsigned bits, Time until);
    void add(Closure& closure, ThreadId member, const Reach& reach);
    bool is_known(const Closure& closure, ThreadId earlier, Time time) const;
    void follow(Closure& closure, OrderKind kind);
    void follow_thread(Closure& closure, OrderKind kind, ThreadId thread, Time until);
    void follow_log(Closure& closure, OrderKind kind, ThreadId thread, const Acquisition& acquisition, bool is_wide);
    uint32_t snapshot_of(Clock& clock);
    uint32_t new_log();
    void acquire(Clock& clock, uint32_t log, bool is_cta_scope, bool is_effective, bool is_effective_widely);
    void acquire(Clock& clock, uint32_t log, uint32_t version, bool is_cta_scope, bool is_effective, bool is_effective_widely);
    void release_copy(uint32_t log, const Copy& copy, bool is_read_only);
    bool is_in_front_of(ThreadId earlier, Time time, ProxyFence& fence);
    void meet_lanes(const std::vector<Thread*>& threads);
    void meet_some(const std::vector<Thread*>& threads, const std::vector<Release>& before);
    std::unordered_map<uintptr_t, uint32_t>& places_of(const Place& place);

    Time time_ = 1;
    unsigned thread_bits_, rank_bits_ = 0;
    ThreadId clusters_started_ = 0;
    std::vector<Clock> clocks_;                    // by slot
    std::unordered_map<ThreadId, unsigned> slots_;  // of clusters that are alive: their first CTA's
    std::vector<Index> cta_indices_;
    std::unordered_map<const SplitBarrier*, Split> splits_;
    std::vector<Snapshot> snapshots_;
    std::vector<std::vector<Release>> logs_;
    std::vector<std::unordered_map<uintptr_t, uint32_t>> places_;  // logs by address: global memory, then each CTA slot
    std::unordered_map<ThreadId, ThreadLog> acquisitions_;
    std::set<ThreadId> acquirers_;
    bool has_cta_scopes_ = false;
    std::unordered_map<ThreadId, Closure> cta_closures_[2], thread_closures_[2];
    std::map<std::pair<const Cta*, unsigned>, std::vector<Release>> signals_;
    std::vector<Issued> copies_;
    std::unordered_map<const Mbarrier*, PhaseLog> phases_;
    std::unordered_map<ThreadId, std::vector<ProxyFence>> proxy_fences_;  // by CTA
    std::unordered_map<ThreadId, std::vector<std::pair<Time, unsigned>>> own_proxy_fences_;  // by thread: when, for which spaces
};

// The one that all detectors share; made with the first of them.
Clocks& clocks();

}  // namespace tle2cuda_emulator
