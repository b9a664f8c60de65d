// Barriers of CTA, cluster and grid.
#include "observer.h"

namespace tle2cuda_emulator {

namespace {

bool is_waiting(const Thread& thread, WaitKind kind, unsigned barrier)
{
    return thread.state == State::WAITING && thread.wait.kind == kind && thread.wait.barrier == barrier;
}

void wake_waiting(Cta& cta, WaitKind kind, unsigned barrier, uint64_t result)
{
    for (Thread& thread : cta.threads) {
        if (!is_waiting(thread, kind, barrier)) continue;
        thread.result = result;
        wake(thread);
    }
}

uint64_t reduced(const CtaBarrier& barrier, unsigned reduction)
{
    switch (reduction) {
        case BARRIER_COUNT: return barrier.true_count;
        case BARRIER_AND: return barrier.true_count == barrier.arrived;
        case BARRIER_OR: return barrier.true_count != 0;
    }
    return 0;
}

// Count the calling thread in; true when it was the last one.
bool arrive(unsigned number, unsigned count, unsigned reduction, int predicate, int line)
{
    Cta& cta = *current->cta;
    if (number >= CTA_BARRIERS) fail("collective", "there is no barrier " + std::to_string(number) + ", only 0 to 15", line);
    const unsigned expected = count ? count : static_cast<unsigned>(cta.threads.size());
    if (expected % WARP_LANES && count)
        fail("collective", "a barrier of " + std::to_string(count) + " threads: the count must be a multiple of 32", line);
    CtaBarrier& barrier = cta.barriers[number];
    if (barrier.arrived == 0) {
        barrier.expected = expected;
        barrier.line = line;
        barrier.true_count = 0;
    } else if (barrier.expected != expected) {
        fail("collective", "threads give barrier " + std::to_string(number) + " different counts: " +
             std::to_string(barrier.expected) + " and " + std::to_string(expected), line, true);
    }
    ++barrier.arrived;
    barrier.true_count += predicate != 0;
    if (barrier.arrived < barrier.expected) return false;
    ++launch.barriers;
    const BarrierKind kind = number || count ? BarrierKind::NAMED : BarrierKind::CTA;
    observe([&](Observer& observer) { observer.barrier_completed(kind, line); });
    ++launch.progress;
    const uint64_t result = reduced(barrier, reduction);
    barrier.arrived = 0;
    if (!launch.observers.empty()) {
        std::vector<Thread*> threads{current};
        for (Thread& thread : cta.threads)
            if (is_waiting(thread, WaitKind::CTA_BARRIER, number)) threads.push_back(&thread);
        observe([&](Observer& observer) { observer.met_at(threads, number); });
    }
    wake_waiting(cta, WaitKind::CTA_BARRIER, number, result);
    current->result = result;
    return true;
}

// All threads of the CTA must come to the same call: CUDA C++ Programming Guide, "Synchronization Functions".
void check_same_line(unsigned number, int line)
{
    Cta& cta = *current->cta;
    const CtaBarrier& barrier = cta.barriers[number];
    if (barrier.arrived && barrier.line != line && barrier.expected == cta.threads.size()) {
        current->wait.kind = WaitKind::CTA_BARRIER;
        current->wait.barrier = static_cast<uint8_t>(number);
        current->wait.line = line;
        fail("divergent_barrier", "threads of one CTA wait at different barriers", line, true);
    }
}

// The same for the barriers of cluster and grid, whose threads all come to one call too.
void check_same_call(SplitBarrier& barrier, WaitKind kind, int line)
{
    if (barrier.arrived == 0) barrier.line = line;
    if (barrier.line == line) return;
    current->wait.kind = kind;
    current->wait.line = line;
    fail("divergent_barrier", "threads come to different calls of one barrier", line, true);
}

void wait_at(WaitKind kind, int line, unsigned barrier = 0)
{
    Thread& thread = *current;
    thread.wait = Wait();
    thread.wait.kind = kind;
    thread.wait.line = line;
    thread.wait.barrier = static_cast<uint8_t>(barrier);
    thread.state = State::WAITING;
    leave();
}

void release_cluster(Cluster& cluster)
{
    if (cluster.barrier.live == 0 || cluster.barrier.arrived < cluster.barrier.live) return;
    cluster.barrier.arrived = 0;
    ++cluster.barrier.generation;
    ++launch.barriers;
    observe([&](Observer& observer) { observer.barrier_completed(BarrierKind::CLUSTER, cluster.barrier.line, &cluster.barrier); });
    ++launch.progress;
    for (Cta& cta : cluster.ctas) wake_waiting(cta, WaitKind::CLUSTER_BARRIER, 0, 0);
}

void release_grid()
{
    SplitBarrier& barrier = launch.grid_barrier;
    if (barrier.live == 0 || barrier.arrived < barrier.live) return;
    barrier.arrived = 0;
    ++barrier.generation;
    ++launch.barriers;
    observe([&](Observer& observer) { observer.barrier_completed(BarrierKind::GRID, barrier.line, &barrier); });
    ++launch.progress;
    for (auto& cluster : launch.clusters)
        for (Cta& cta : cluster->ctas) wake_waiting(cta, WaitKind::GRID_BARRIER, 0, 0);
}

}  // namespace

void split_barriers_exited(Thread& thread)
{
    Cluster& cluster = cluster_of(thread);
    if (thread.has_arrived_in_cluster && thread.cluster_generation == cluster.barrier.generation) --cluster.barrier.arrived;
    --cluster.barrier.live;
    release_cluster(cluster);
    --launch.grid_barrier.live;
    release_grid();
}

extern "C" int tle2cuda_barrier(unsigned barrier, unsigned count, unsigned reduction, int predicate, int line)
{
    // Where the count is given, some threads may arrive at one call and others wait at another.
    if (barrier < CTA_BARRIERS && count == 0) check_same_line(barrier, line);
    if (arrive(barrier, count, reduction, predicate, line))
        yield_ready();
    else
        wait_at(WaitKind::CTA_BARRIER, line, barrier);
    current->has_tensor_fence = false;
    return static_cast<int>(current->result);
}

extern "C" void tle2cuda_barrier_arrive(unsigned barrier, unsigned count, int line)
{
    observe([&](Observer& observer) { observer.signalled(*current, barrier); });
    arrive(barrier, count, BARRIER_PLAIN, 0, line);
}

extern "C" void tle2cuda_cluster_arrive(int is_release, int line)
{
    Thread& thread = *current;
    SplitBarrier& barrier = cluster_of(thread).barrier;
    if (thread.has_arrived_in_cluster)
        fail("collective", "a second arrival at the cluster barrier without a wait in between", line);
    check_same_call(barrier, WaitKind::CLUSTER_BARRIER, line);
    thread.has_arrived_in_cluster = true;
    thread.cluster_generation = barrier.generation;
    observe([&](Observer& observer) { observer.arrived(thread, barrier, is_release != 0); });
    ++barrier.arrived;
    release_cluster(cluster_of(thread));
}

extern "C" void tle2cuda_cluster_wait(int is_acquire, int line)
{
    Thread& thread = *current;
    if (!thread.has_arrived_in_cluster) fail("collective", "a wait at the cluster barrier without an arrival", line);
    if (cluster_of(thread).barrier.generation == thread.cluster_generation)
        wait_at(WaitKind::CLUSTER_BARRIER, line);
    else
        yield_ready();
    thread.has_arrived_in_cluster = false;
    observe([&](Observer& observer) { observer.waited(thread, cluster_of(thread).barrier, is_acquire != 0); });
}

extern "C" void tle2cuda_grid_sync(int line)
{
    if (!launch.request.cooperative) fail("collective", "a grid barrier in a launch that is not cooperative", line);
    SplitBarrier& barrier = launch.grid_barrier;
    check_same_call(barrier, WaitKind::GRID_BARRIER, line);
    const uint64_t generation = barrier.generation;
    observe([&](Observer& observer) { observer.arrived(*current, barrier, true); });
    ++barrier.arrived;
    release_grid();
    if (barrier.generation == generation)
        wait_at(WaitKind::GRID_BARRIER, line);
    else
        yield_ready();
    observe([&](Observer& observer) { observer.waited(*current, barrier, true); });
}

}  // namespace tle2cuda_emulator
