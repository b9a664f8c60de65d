// Barriers, collectives, fences and atomics as edges between threads.
#include "clocks.h"

#include <algorithm>
#include <cstring>

namespace tle2cuda_emulator {

namespace {

unsigned bits_for(uint64_t values)
{
    unsigned bits = 0;
    while (uint64_t(1) << bits < values) ++bits;
    return bits;
}

bool is_release(Order order) { return order == ORDER_RELEASE || order == ORDER_ACQ_REL; }
bool is_acquire(Order order) { return order == ORDER_ACQUIRE || order == ORDER_ACQ_REL; }

}  // namespace

void Reach::join(const Reach& other)
{
    grid = std::max(grid, other.grid);
    cluster = std::max(cluster, other.cluster);
    cta = std::max(cta, other.cta);
    warp = std::max(warp, other.warp);
}

Clocks& clocks()
{
    static Clocks* shared = nullptr;
    if (!shared) {
        auto made = std::make_unique<Clocks>();
        shared = made.get();
        launch.observers.insert(launch.observers.begin(), std::move(made));
    }
    return *shared;
}

Clocks::Clocks() : thread_bits_(std::max(bits_for(launch.request.cta_threads), 5u))
{
    const Index shape = launch.request.cluster;
    rank_bits_ = bits_for(uint64_t(shape.x) * shape.y * shape.z);
    places_.resize(1);
}

void Clocks::cluster_started(const Cluster& cluster)
{
    const ThreadId number = clusters_started_++;
    if (uint64_t(number + 1) << (thread_bits_ + rank_bits_) > ENGINE)
        fail("resources", "the detectors cannot tell so many threads apart");
    const unsigned first_slot = cluster.ctas.front().slot;
    const unsigned threads = launch.request.cta_threads;
    for (auto old = slots_.begin(); old != slots_.end();) old = old->second == first_slot ? slots_.erase(old) : std::next(old);
    slots_[number] = first_slot;
    splits_.erase(&cluster.barrier);
    clocks_.resize(std::max(clocks_.size(), size_t(first_slot + cluster.ctas.size()) * threads));
    places_.resize(std::max(places_.size(), size_t(first_slot + cluster.ctas.size()) + 1));
    cta_indices_.resize(size_t(number + 1) << rank_bits_);
    for (const Cta& cta : cluster.ctas) {
        const ThreadId first = (number << rank_bits_ | cta.rank) << thread_bits_;
        cta_indices_[first >> thread_bits_] = cta.index;
        places_[cta.slot + 1].clear();
        for (const Thread& thread : cta.threads) {
            clock_of(thread) = Clock();
            clock_of(thread).id = first | thread.linear;
        }
    }
    ++time_;
}

const Clocks::Clock* Clocks::live_clock(ThreadId id) const
{
    const auto found = slots_.find(cluster_of_id(id));
    if (found == slots_.end()) return nullptr;
    const ThreadId rank = (id >> thread_bits_) & ((1u << rank_bits_) - 1);
    const ThreadId linear = id & ((1u << thread_bits_) - 1);
    return &clocks_[size_t(found->second + rank) * launch.request.cta_threads + linear];
}

// ---- Meeting ----

void Clocks::met(const std::vector<Thread*>& threads)
{
    const Cta& cta = *threads.front()->cta;
    if (threads.size() != cta.threads.size()) {
        const auto lowest = threads.front()->linear / WARP_LANES;
        const bool is_one_warp = std::all_of(
            threads.begin(), threads.end(), [&](const Thread* thread) { return thread->linear / WARP_LANES == lowest; });
        if (is_one_warp)
            meet_lanes(threads);
        else
            meet_some(threads, {});
        return;
    }
    Reach joined[2];
    for (const Thread* thread : threads)
        for (const OrderKind kind : {OF_ALL, OF_READS}) joined[kind].join(clock_of(*thread).reach[kind]);
    const Time time = ++time_;
    for (const Thread* thread : threads)
        for (const OrderKind kind : {OF_ALL, OF_READS}) {
            clock_of(*thread).reach[kind] = joined[kind];
            clock_of(*thread).reach[kind].cta = time;
        }
}

void Clocks::meet_lanes(const std::vector<Thread*>& threads)
{
    const Time time = ++time_;
    const bool is_whole = threads.size() == static_cast<size_t>(__builtin_popcount(warp_of(*threads.front()).present));
    for (const OrderKind kind : {OF_ALL, OF_READS}) {
        Reach joined;
        for (const Thread* thread : threads) joined.join(clock_of(*thread).reach[kind]);
        if (is_whole) joined.warp = time;
        for (const Thread* thread : threads) {
            Clock& clock = clock_of(*thread);
            const Time own_warp = clock.reach[kind].warp;
            clock.reach[kind] = joined;
            if (is_whole) continue;
            // What other lanes know of the whole warp holds for all who meet them, too.
            clock.reach[kind].warp = std::max(own_warp, joined.warp);
            if (!clock.lanes) clock.lanes = std::make_unique<std::array<Time, 2 * WARP_LANES>>();
            for (const Thread* other : threads) (*clock.lanes)[kind * WARP_LANES + lane_of(*other)] = time;
        }
    }
}

// A barrier of some of the CTA's warps: everyone releases, everyone who waits acquires.
void Clocks::meet_some(const std::vector<Thread*>& threads, const std::vector<Release>& before)
{
    const uint32_t log = new_log();
    logs_[log] = before;
    has_cta_scopes_ = true;
    const Time time = ++time_;
    for (const Thread* thread : threads) {
        Clock& clock = clock_of(*thread);
        Snapshot snapshot{clock.reach[OF_READS], {}};
        for (Fence& fence : snapshot.fences) fence = {time, clock.reach[OF_ALL]};
        snapshots_.push_back(snapshot);
        logs_[log].push_back({clock.id, time, static_cast<uint32_t>(snapshots_.size() - 1), true});
    }
    for (const Thread* thread : threads) acquire(clock_of(*thread), log, true, true, true);
    ++time_;
}

void Clocks::signalled(const Thread& thread, unsigned barrier)
{
    Clock& clock = clock_of(thread);
    const Time time = ++time_;
    Snapshot snapshot{clock.reach[OF_READS], {}};
    for (Fence& fence : snapshot.fences) fence = {time, clock.reach[OF_ALL]};
    snapshots_.push_back(snapshot);
    signals_[{thread.cta, barrier}].push_back({clock.id, time, static_cast<uint32_t>(snapshots_.size() - 1), true});
}

void Clocks::met_at(const std::vector<Thread*>& threads, unsigned barrier)
{
    const auto found = signals_.find({threads.front()->cta, barrier});
    if (found == signals_.end()) {
        met(threads);
        return;
    }
    meet_some(threads, found->second);
    signals_.erase(found);
}

// ---- Cluster and grid ----

void Clocks::arrived(const Thread& thread, const SplitBarrier& barrier, bool is_release)
{
    Clock& clock = clock_of(thread);
    const bool is_grid = &barrier == &launch.grid_barrier;
    const uint32_t number = clock.generations[is_grid]++;
    Generation& generation = splits_[&barrier].generations[number % GENERATIONS];
    if (generation.number != number + 1) {
        generation = Generation();
        generation.number = number + 1;
        generation.first[OF_ALL] = generation.first[OF_READS] = time_ + 1;
    }
    generation.last = ++time_;
    for (const OrderKind kind : {OF_ALL, OF_READS}) {
        const bool counts = is_release || kind == OF_READS;
        if (!is_grid) clock.arrivals[kind][number % GENERATIONS] = counts ? time_ : 0;
        if (counts)
            generation.joined[kind].join(clock.reach[kind]);
        else
            generation.first[kind] = 0;
    }
}

void Clocks::waited(const Thread& thread, const SplitBarrier& barrier, bool is_acquire)
{
    Clock& clock = clock_of(thread);
    const bool is_grid = &barrier == &launch.grid_barrier;
    const Generation& generation = splits_[&barrier].generations[(clock.generations[is_grid] - 1) % GENERATIONS];
    for (const OrderKind kind : {OF_ALL, OF_READS}) {
        if (!is_acquire && kind == OF_ALL) continue;
        Reach& reach = clock.reach[kind];
        reach.grid = std::max(reach.grid, generation.joined[kind].grid);
        reach.cluster = std::max(reach.cluster, generation.joined[kind].cluster);
        (is_grid ? reach.grid : reach.cluster) = generation.last;
    }
}

bool Clocks::covers_cluster(Time reach, OrderKind kind, ThreadId earlier, Time time) const
{
    if (time >= reach) return false;
    const Clock* const clock = live_clock(earlier);
    if (!clock) return true;
    const unsigned slot = slots_.at(cluster_of_id(earlier));
    const auto split = splits_.find(&launch.clusters[slot / launch.cluster_size]->barrier);
    if (split == splits_.end()) return true;
    for (const Generation& generation : split->second.generations) {
        if (generation.last != reach || generation.number == 0) continue;
        // What a thread does between its arrival and its wait is not in front.
        return time < generation.first[kind] || time < clock->arrivals[kind][(generation.number - 1) % GENERATIONS];
    }
    return true;
}

bool Clocks::knows_cluster(const Thread& thread) const
{
    const Clock& clock = clock_of(thread);
    if (clock.reach[OF_READS].cluster || clock.reach[OF_READS].grid) return true;
    const auto range = acquirers_.lower_bound(cta_of(clock.id) << thread_bits_);
    return range != acquirers_.end() && is_same_cta(*range, clock.id);
}

// ---- Fences and atomics ----

void Clocks::fenced(const Thread& thread, Scope scope)
{
    Clock& clock = clock_of(thread);
    const Time time = ++time_;
    clock.fences[IN_CTA] = {time, clock.reach[OF_ALL]};
    has_cta_scopes_ |= scope == SCOPE_CTA;
    if (scope != SCOPE_CTA) clock.fences[WIDER] = clock.fences[IN_CTA];
    clock.snapshot = 0;
    if (!clock.has_acquired) return;
    ThreadLog& log = acquisitions_[clock.id];
    for (const int width : {IN_CTA, WIDER}) {
        if (width == WIDER && scope == SCOPE_CTA) continue;
        for (; log.pending[width] < log.all.size(); ++log.pending[width]) {
            Time& effective = log.all[log.pending[width]].effective[width];
            if (!effective) effective = time;
        }
    }
}

std::unordered_map<uintptr_t, uint32_t>& Clocks::places_of(const Place& place)
{
    return places_[place.space == Space::SHARED && place.cta ? place.cta->slot + 1 : 0];
}

uint32_t Clocks::new_log()
{
    logs_.emplace_back();
    return static_cast<uint32_t>(logs_.size() - 1);
}

uint32_t Clocks::snapshot_of(Clock& clock)
{
    Snapshot snapshot{clock.reach[OF_READS], {clock.fences[IN_CTA], clock.fences[WIDER]}};
    if (!clock.snapshot || memcmp(&snapshots_[clock.snapshot - 1], &snapshot, sizeof snapshot) != 0) {
        snapshots_.push_back(snapshot);
        clock.snapshot = static_cast<uint32_t>(snapshots_.size());
    }
    return clock.snapshot - 1;
}

void Clocks::acquire(Clock& clock, uint32_t log, bool is_cta_scope, bool is_effective, bool is_effective_widely)
{
    acquire(clock, log, static_cast<uint32_t>(logs_[log].size()), is_cta_scope, is_effective, is_effective_widely);
}

void Clocks::acquire(Clock& clock, uint32_t log, uint32_t version, bool is_cta_scope, bool is_effective, bool is_effective_widely)
{
    const std::vector<Release>& releases = logs_[log];
    if (version == 0) return;
    // Hearing from oneself teaches nothing.
    const auto is_own = [&](const Release& release) { return release.thread == clock.id; };
    if (is_own(releases[version - 1]) && std::all_of(releases.begin(), releases.begin() + version, is_own)) return;
    clock.has_acquired = true;
    ThreadLog& own = acquisitions_[clock.id];
    if (own.all.empty()) acquirers_.insert(clock.id);
    if (!own.all.empty()) {
        const Acquisition& before = own.all.back();
        if (before.log == log && before.version == version && (before.effective[WIDER] || !is_effective_widely)) return;
    }
    const Time time = ++time_;
    own.all.push_back({time, {is_effective ? time : 0, is_effective_widely ? time : 0}, log, version, is_cta_scope});
}

void Clocks::performed(const Thread& thread, const Access& access, bool has_written)
{
    const Place place = locate(access.address);
    if (place.space == Space::OTHER) return;
    Clock& clock = clock_of(thread);
    auto& places = places_of(place);
    const uintptr_t key = reinterpret_cast<uintptr_t>(access.address) / 4;
    const bool is_cta_scope = access.scope == SCOPE_CTA;
    has_cta_scopes_ |= is_cta_scope;
    auto found = places.find(key);
    if (access.kind != AccessKind::WRITE && found != places.end()) {
        const bool acquires = is_acquire(access.order);
        acquire(clock, found->second, is_cta_scope, acquires, acquires && !is_cta_scope);
    }
    if (!has_written) return;
    // A store puts its own value in the place of all others; an update hands on what was released there before.
    if (found == places.end())
        found = places.emplace(key, new_log()).first;
    else if (access.kind == AccessKind::WRITE)
        found->second = new_log();
    const Time time = ++time_;
    uint32_t snapshot;
    if (is_release(access.order)) {
        const Fence fence{time, clock.reach[OF_ALL]};
        snapshots_.push_back({clock.reach[OF_READS], {fence, is_cta_scope ? clock.fences[WIDER] : fence}});
        snapshot = static_cast<uint32_t>(snapshots_.size() - 1);
    } else {
        snapshot = snapshot_of(clock);
    }
    logs_[found->second].push_back({clock.id, time, snapshot, is_cta_scope});
}

// ---- Questions ----

bool Clocks::covers(const Reach& reach, OrderKind kind, ThreadId owner, ThreadId earlier, Time time) const
{
    if (time < reach.grid) return true;
    if (cluster_of_id(earlier) != cluster_of_id(owner)) return false;
    if (time < reach.cluster && covers_cluster(reach.cluster, kind, earlier, time)) return true;
    if (!is_same_cta(earlier, owner)) return false;
    return time < reach.cta || (time < reach.warp && is_same_warp(earlier, owner));
}

bool Clocks::is_ordered_by_barriers(ThreadId earlier, Time time, OrderKind kind, const Thread& later) const
{
    if (is_engine(earlier)) return false;
    const Clock& clock = clock_of(later);
    if (clock.id == earlier || covers(clock.reach[kind], kind, clock.id, earlier, time)) return true;
    return clock.lanes && is_same_warp(earlier, clock.id) && time < (*clock.lanes)[kind * WARP_LANES + earlier % WARP_LANES];
}

bool Clocks::is_ordered(ThreadId earlier, Time time, OrderKind kind, const Thread& later)
{
    if (is_ordered_by_barriers(earlier, time, kind, later)) return true;
    if (acquirers_.empty()) return false;
    const Clock& clock = clock_of(later);
    const Reach& reach = clock.reach[kind];
    Closure& of_cta = cta_closures_[kind][cta_of(clock.id)];
    add(of_cta, clock.id, {reach.grid, reach.cluster, reach.cta, 0});
    if (follow(of_cta, kind), is_known(of_cta, earlier, time)) return true;
    Closure& own = thread_closures_[kind][clock.id];
    add(own, clock.id, 0, time_ + 1);
    add(own, clock.id, WARP_BITS, reach.warp);
    if (clock.lanes)
        for (unsigned lane = 0; lane < WARP_LANES; ++lane)
            add(own, clock.id / WARP_LANES * WARP_LANES + lane, 0, (*clock.lanes)[kind * WARP_LANES + lane]);
    return follow(own, kind), is_known(own, earlier, time);
}

void Clocks::add(Closure& closure, ThreadId member, unsigned bits, Time until)
{
    if (!until) return;
    const uint64_t first = bits >= 32 ? 0 : member >> bits << bits;
    Time& known = closure.known[first << 6 | bits];
    if (known >= until) return;
    known = until;
    closure.open.push_back({static_cast<ThreadId>(first), bits, until});
}

void Clocks::add(Closure& closure, ThreadId member, const Reach& reach)
{
    add(closure, member, WARP_BITS, reach.warp);
    add(closure, member, thread_bits_, reach.cta);
    add(closure, member, thread_bits_ + rank_bits_, reach.cluster);
    add(closure, member, 32, reach.grid);
}

bool Clocks::is_known(const Closure& closure, ThreadId earlier, Time time) const
{
    for (const unsigned bits : {0u, WARP_BITS, thread_bits_, thread_bits_ + rank_bits_, 32u}) {
        if (bits && is_engine(earlier)) return false;
        const uint64_t first = bits >= 32 ? 0 : earlier >> bits << bits;
        const auto found = closure.known.find(first << 6 | bits);
        if (found != closure.known.end() && time < found->second) return true;
    }
    return false;
}

// From what is known backwards: what those threads acquired, what those knew who released that, and so on.
void Clocks::follow(Closure& closure, OrderKind kind)
{
    while (!closure.open.empty()) {
        const Closure::Group group = closure.open.back();
        closure.open.pop_back();
        const uint64_t end = group.first + (uint64_t(1) << group.bits);
        for (auto id = acquirers_.lower_bound(group.first); id != acquirers_.end() && *id < end; ++id)
            follow_thread(closure, kind, *id, group.until);
    }
}

void Clocks::follow_thread(Closure& closure, OrderKind kind, ThreadId thread, Time until)
{
    const ThreadLog& log = acquisitions_.at(thread);
    size_t& done = closure.done[thread];
    bool is_prefix = true;
    for (size_t i = done; i < log.all.size(); ++i) {
        const Acquisition& acquisition = log.all[i];
        if (acquisition.time > until) break;
        const auto has_effect = [&](int width) {
            return kind == OF_READS || (acquisition.effective[width] && acquisition.effective[width] <= until);
        };
        const bool is_wide = has_effect(WIDER);
        is_prefix = is_prefix && is_wide;
        if (is_prefix) done = i + 1;
        if (is_wide || has_effect(IN_CTA)) follow_log(closure, kind, thread, acquisition, is_wide);
    }
}

void Clocks::follow_log(Closure& closure, OrderKind kind, ThreadId thread, const Acquisition& acquisition, bool is_wide)
{
    // Where nothing is narrower than the GPU, who looks at a log does not matter.
    const uint64_t viewer = has_cta_scopes_ ? uint64_t(cta_of(thread)) + 1 : 0;
    uint32_t& version = closure.versions[viewer << 32 | acquisition.log << 1 | is_wide];
    for (; version < acquisition.version; ++version) {
        const Release& release = logs_[acquisition.log][version];
        if (is_engine(release.thread)) {
            add(closure, release.thread, 0, release.time);
            continue;
        }
        const bool is_same = is_same_cta(release.thread, thread);
        if (!is_same && (release.is_cta_scope || acquisition.is_cta_scope || !is_wide)) continue;
        const Snapshot& snapshot = snapshots_[release.snapshot];
        const Fence& fence = snapshot.fences[is_same ? IN_CTA : WIDER];
        const Time time = kind == OF_ALL ? fence.time : release.time;
        if (!time) continue;
        add(closure, release.thread, 0, time);
        add(closure, release.thread, kind == OF_ALL ? fence.reach : snapshot.reads);
    }
}

// ---- mbarriers and copies ----

// Neither an mbarrier nor a copy belongs to a group of threads: what they say is kept as logs of releases.
void Clocks::mbarrier_initialized(const Thread& thread, const Mbarrier& barrier)
{
    phases_[&barrier] = {new_log(), 0, id_of(thread), ++time_};
}

void Clocks::mbarrier_arrived(const Thread& thread, const Mbarrier& barrier, Order order, Scope scope)
{
    Clock& clock = clock_of(thread);
    const Time time = ++time_;
    const bool is_cta_scope = scope == SCOPE_CTA;
    has_cta_scopes_ |= is_cta_scope;
    uint32_t snapshot;
    if (is_release(order)) {
        const Fence fence{time, clock.reach[OF_ALL]};
        snapshots_.push_back({clock.reach[OF_READS], {fence, is_cta_scope ? clock.fences[WIDER] : fence}});
        snapshot = static_cast<uint32_t>(snapshots_.size() - 1);
    } else {
        snapshot = snapshot_of(clock);
    }
    logs_[phases_.at(&barrier).log].push_back({clock.id, time, snapshot, is_cta_scope});
}

void Clocks::mbarrier_completed(const Mbarrier& barrier)
{
    PhaseLog& phases = phases_.at(&barrier);
    phases.version = static_cast<uint32_t>(logs_[phases.log].size());
}

void Clocks::mbarrier_waited(const Thread& thread, const Mbarrier& barrier, Scope scope)
{
    const PhaseLog& phases = phases_.at(&barrier);
    const bool is_cta_scope = scope == SCOPE_CTA;
    has_cta_scopes_ |= is_cta_scope;
    acquire(clock_of(thread), phases.log, phases.version, is_cta_scope, true, !is_cta_scope);
}

ThreadId Clocks::actor_of(const Copy& copy, bool is_write) { return ENGINE | (copy.actor * 2 + is_write); }

void Clocks::copy_issued(const Thread&, Copy& copy)
{
    copy.actor = static_cast<uint32_t>(copies_.size());
    copies_.push_back({copy.party, copy_name(copy), copy.is_async_proxy});
    if (copies_.size() > ENGINE / 2) fail("resources", "the detectors cannot tell so many asynchronous copies apart");
    ++time_;
}

void Clocks::release_copy(uint32_t log, const Copy& copy, bool is_read_only)
{
    const Time time = ++time_;
    logs_[log].push_back({actor_of(copy, false), time, 0, false});
    if (!is_read_only) logs_[log].push_back({actor_of(copy, true), time, 0, false});
}

void Clocks::copy_completed_at(const Mbarrier& barrier, const Copy& copy)
{
    const uint32_t log = phases_.at(&barrier).log;
    if (!copy.is_arrival()) release_copy(log, copy, false);
    for (const auto& prior : copy.prior) release_copy(log, *prior, false);
}

void Clocks::copies_waited(const Thread& thread, const CopyList& copies, bool is_read)
{
    if (copies.empty()) return;
    const uint32_t log = new_log();
    for (const auto& copy : copies) release_copy(log, *copy, is_read);
    acquire(clock_of(thread), log, false, true, true);
}

void Clocks::proxy_fenced(const Thread& thread, unsigned spaces)
{
    const Clock& clock = clock_of(thread);
    proxy_fences_[cta_of(clock.id)].push_back({clock.id, ++time_, spaces, clock.reach[OF_ALL], nullptr});
    own_proxy_fences_[clock.id].emplace_back(time_, spaces);
}

bool Clocks::is_in_front_of(ThreadId earlier, Time time, ProxyFence& fence)
{
    if (earlier == fence.thread) return time < fence.time;
    if (!is_engine(earlier) && covers(fence.reach, OF_ALL, fence.thread, earlier, time)) return true;
    if (acquirers_.empty()) return false;
    if (!fence.known) {
        fence.known = std::make_unique<Closure>();
        add(*fence.known, fence.thread, 0, fence.time);
        add(*fence.known, fence.thread, fence.reach);
        follow(*fence.known, OF_ALL);
    }
    return is_known(*fence.known, earlier, time);
}

bool Clocks::has_fenced(ThreadId thread, Time time, unsigned spaces, const Thread& later)
{
    const auto found = own_proxy_fences_.find(thread);
    if (found == own_proxy_fences_.end()) return false;
    const auto& fences = found->second;
    auto fence = std::upper_bound(fences.begin(), fences.end(), time, [](Time value, const auto& entry) { return value < entry.first; });
    while (fence != fences.end() && !(fence->second & spaces)) ++fence;
    return fence != fences.end() && is_ordered(thread, fence->first, OF_ALL, later);
}

bool Clocks::is_fenced_for_copies(const Mbarrier& barrier, const Thread& later)
{
    const PhaseLog& phases = phases_.at(&barrier);
    return is_fenced_for_copies(phases.initializer, phases.initialized, PROXY_SHARED | PROXY_MBARRIER, later);
}

bool Clocks::is_fenced_for_copies(ThreadId writer, Time time, unsigned spaces, const Thread& later)
{
    const ThreadId issuer = id_of(later);
    std::vector<ThreadId> ctas{cta_of(issuer)};
    if (!is_engine(writer) && cta_of(writer) != ctas[0]) ctas.push_back(cta_of(writer));
    // Most often the writer's own fence, or that of the thread that issues the copy; at last anyone's.
    for (const int who : {0, 1, 2})
        for (const ThreadId cta : ctas) {
            std::vector<ProxyFence>& fences = proxy_fences_[cta];
            for (size_t i = fences.size(); i-- > 0 && fences[i].time > time;) {
                ProxyFence& fence = fences[i];
                if (!(fence.spaces & spaces)) continue;
                if ((fence.thread == writer) != (who == 0) || (who == 1 && fence.thread != issuer)) continue;
                if (is_ordered(fence.thread, fence.time, OF_ALL, later) && is_in_front_of(writer, time, fence)) return true;
            }
        }
    return false;
}

}  // namespace tle2cuda_emulator
