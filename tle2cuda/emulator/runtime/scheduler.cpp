// Who runs when. One operating-system thread runs all fibers, so that a schedule and its seed give the same execution
// everywhere; different seeds run in processes of their own.
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "async.h"
#include "repeats.h"
#include "tensor_memory.h"

namespace tle2cuda_emulator {

Launch& launch = *new Launch;  // never destroyed: the process ends with `_exit` or while fibers still hold it
Thread* current = nullptr;

namespace {

// Rounds in which all threads polled and nothing changed, after which they poll in vain. Loops may count their turns and
// give up, so there are many; the fewer the more threads poll.
constexpr uint64_t MAX_QUIET_ROUNDS = 20'000;
constexpr uint64_t MAX_QUIET_POLLS = 20'000'000;
constexpr uint64_t MIN_QUIET_ROUNDS = 200;
// As many, and another cluster may start beside those that wait, as on a GPU with room for it.
constexpr uint64_t QUIET_ROUNDS_ALONE = 4;

size_t bit_of(const Thread& thread) { return size_t(thread.cta->slot) * launch.padded_threads + thread.linear; }

Thread& thread_of(size_t bit)
{
    const size_t slot = bit / launch.padded_threads;
    Cta& cta = launch.clusters[slot / launch.cluster_size]->ctas[slot % launch.cluster_size];
    return cta.threads[bit % launch.padded_threads];
}

void exit_thread()
{
    Thread& thread = *current;
    copies_of_thread_exited(thread);
    thread.state = State::EXITED;
    ++launch.progress;
    observe([&](Observer& observer) { observer.thread_exited(thread); });
    --thread.cta->live;
    warp_lane_exited(thread);
    split_barriers_exited(thread);
    if (thread.cta->live == 0) {
        check_registers(*thread.cta);
        tensor_memory_of_cta_exited(*thread.cta);
        copies_of_cta_exited(*thread.cta);
        --cluster_of(thread).live_ctas;
    }
    switch_context(thread.context, launch.host);
    __builtin_unreachable();
}

void thread_main()
{
    launch.entry(launch.parameters.data());
    exit_thread();
}

Index unflatten(uint64_t linear, Index extent)
{
    return {static_cast<unsigned>(linear % extent.x), static_cast<unsigned>(linear / extent.x % extent.y),
            static_cast<unsigned>(linear / extent.x / extent.y)};
}

// A cluster of the grid takes a slot: fresh shared memory, all threads at their beginning.
void start_cluster(Cluster& cluster, uint64_t number)
{
    const Request& request = launch.request;
    const Index shape = request.cluster;
    const Index clusters{request.grid.x / shape.x, request.grid.y / shape.y, request.grid.z / shape.z};
    const Index place = unflatten(number, clusters);
    cluster.barrier = SplitBarrier();
    cluster.barrier.live = uint64_t(launch.cluster_size) * request.cta_threads;
    cluster.live_ctas = launch.cluster_size;
    for (Cta& cta : cluster.ctas) {
        const Index inside = unflatten(cta.rank, shape);
        cta.index = {place.x * shape.x + inside.x, place.y * shape.y + inside.y, place.z * shape.z + inside.z};
        cta.live = request.cta_threads;
        std::fill(std::begin(cta.barriers), std::end(cta.barriers), CtaBarrier());
        cta.mbarriers.clear();
        cta.products.assign((cta.warps.size() + 3) / 4, nullptr);
        // Not zero: what a kernel reads without having written it should show.
        memset(cta.shared, static_cast<int>(0xa5 ^ (request.seed & 0x7f)), launch.shared_stride);
        for (size_t i = 0; i < cta.warps.size(); ++i) {
            const unsigned lanes = std::min<unsigned>(request.cta_threads - static_cast<unsigned>(i) * WARP_LANES, WARP_LANES);
            cta.warps[i] = Warp();
            cta.warps[i].present = lanes == WARP_LANES ? 0xffffffffu : (1u << lanes) - 1;
        }
        for (Thread& thread : cta.threads) {
            thread.state = State::READY;
            thread.wait = Wait();
            thread.has_arrived_in_cluster = false;
            std::fill(std::begin(thread.polled), std::end(thread.polled), Thread::Polled());
            thread.element_copies = thread.bulk_copies = thread.matrix_products = CopyGroups();
            thread.products = 0;
            thread.has_matrix_fence = thread.has_tensor_fence = false;
            thread.tensor_products.clear();
            thread.tensor_loads.clear();
            thread.unfenced_loads.clear();
            make_context(thread.context, thread.stack, request.stack_bytes, thread_main);
            launch.ready.add(bit_of(thread));
        }
    }
    ++launch.progress;
    observe([&](Observer& observer) { observer.cluster_started(cluster); });
}

void* reserve(size_t bytes)
{
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) fail("resources", "cannot reserve " + std::to_string(bytes) + " bytes for stacks or shared memory");
    // A huge page for each stack would cost 2 MiB for the few kilobytes that are used.
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    return memory;
}

void add_slot()
{
    const Request& request = launch.request;
    auto cluster = std::make_unique<Cluster>();
    cluster->ctas.resize(launch.cluster_size);
    for (unsigned rank = 0; rank < launch.cluster_size; ++rank) {
        Cta& cta = cluster->ctas[rank];
        cta.cluster = cluster.get();
        cta.rank = rank;
        cta.slot = static_cast<unsigned>(launch.clusters.size()) * launch.cluster_size + rank;
        cta.shared = launch.shared_base + cta.slot * launch.shared_stride;
        cta.stacks = static_cast<unsigned char*>(reserve(request.stack_bytes * request.cta_threads));
        cta.threads.resize(request.cta_threads);
        cta.warps.resize((request.cta_threads + WARP_LANES - 1) / WARP_LANES);
        for (unsigned linear = 0; linear < request.cta_threads; ++linear) {
            Thread& thread = cta.threads[linear];
            thread.cta = &cta;
            thread.linear = linear;
            thread.index = {linear, 0, 0};
            thread.stack = cta.stacks + linear * request.stack_bytes;
        }
    }
    launch.clusters.push_back(std::move(cluster));
    launch.ready.resize(launch.clusters.size() * launch.cluster_size * size_t(launch.padded_threads));
}

bool start_another_slot()
{
    if (launch.started == launch.order.size() || (launch.clusters.size() + 1) * launch.cluster_size > launch.max_ctas) return false;
    add_slot();
    start_cluster(*launch.clusters.back(), launch.order[launch.started++]);
    return true;
}

void prepare()
{
    const Request& request = launch.request;
    const uint64_t ctas = uint64_t(request.grid.x) * request.grid.y * request.grid.z;
    launch.cluster_size = request.cluster.x * request.cluster.y * request.cluster.z;
    launch.padded_threads = (request.cta_threads + 63) / 64 * 64;
    launch.random = Random(request.seed);
    const uint64_t clusters = ctas / launch.cluster_size;
    launch.order.resize(clusters);
    for (uint64_t i = 0; i < clusters; ++i) launch.order[i] = request.schedule == Schedule::REVERSE ? clusters - 1 - i : i;
    if (request.schedule == Schedule::RANDOM)
        for (uint64_t i = clusters; i > 1; --i) std::swap(launch.order[i - 1], launch.order[launch.random.below(i)]);
    const uint64_t first = std::min(request.first_cluster, clusters), count = std::min(request.num_clusters, clusters - first);
    launch.order = std::vector<uint64_t>(launch.order.begin() + static_cast<int64_t>(first),
                                         launch.order.begin() + static_cast<int64_t>(first + count));
    constexpr uint64_t MAX_CTAS = 2048;
    launch.max_ctas = request.cooperative ? ctas : std::min<uint64_t>(ctas, std::max<uint64_t>(MAX_CTAS, launch.cluster_size));
    launch.shared_stride = (dynamic_shared_offset() + request.dynamic_shared + VARIABLE_GAP_BYTES + 4095) / 4096 * 4096;
    launch.shared_base = static_cast<unsigned char*>(reserve(std::max<size_t>(launch.shared_stride * launch.max_ctas, 4096)));
    launch.grid_barrier.live = ctas * request.cta_threads;
    const uint64_t together = request.cooperative ? clusters : std::min<uint64_t>(count, request.resident_clusters);
    for (uint64_t i = 0; i < together; ++i) start_another_slot();
}

Thread* pick()
{
    if (launch.request.schedule == Schedule::RANDOM && !launch.polling.empty() && launch.random.below(64) == 0) {
        for (Thread* thread : launch.polling) wake(*thread);
        launch.polling.clear();
    }
    int64_t bit = -1;
    switch (launch.request.schedule) {
        case Schedule::FORWARD: bit = launch.ready.first(); break;
        case Schedule::REVERSE: bit = launch.ready.last(); break;
        case Schedule::RANDOM: bit = launch.ready.any(launch.random); break;
    }
    return bit < 0 ? nullptr : &thread_of(static_cast<size_t>(bit));
}

// Threads that wait for bytes which no copy brings are told apart: the count is wrong, not the order of things.
[[noreturn]] void fail_stuck(const char* kind, const char* message)
{
    for (const auto& cluster : launch.clusters)
        for (const Cta& cta : cluster->ctas)
            for (const Thread& thread : cta.threads) {
                const Mbarrier* const barrier = thread.state == State::EXITED ? nullptr : thread.wait.mbarrier;
                if (barrier && barrier->pending == 0 && barrier->bytes)
                    fail("mbarrier", "the phase of " + mbarrier_name(*barrier) + " never ends: all have arrived, and of the bytes it expects " +
                         (barrier->bytes > 0 ? "no copy brings the last " + std::to_string(barrier->bytes)
                                             : "copies brought " + std::to_string(-barrier->bytes) + " too many"), 0, true);
            }
    fail(kind, message, 0, true);
}

bool is_anyone_alive()
{
    return std::any_of(launch.clusters.begin(), launch.clusters.end(), [](const auto& cluster) { return cluster->live_ctas != 0; });
}

}  // namespace

void run_launch()
{
    prepare();
    uint64_t quiet = 0, last_progress = 0;
    Repeats repeats;
    for (;;) {
        if (!launch.copies.empty()) deliver_at_random();
        if (Thread* thread = pick()) {
            launch.ready.remove(bit_of(*thread));
            ++launch.switches;
            current = thread;
            switch_context(launch.host, thread->context);
            current = nullptr;
            // The cluster's last thread gone: the next one takes its place.
            if (thread->state == State::EXITED && cluster_of(*thread).live_ctas == 0 && launch.started < launch.order.size())
                start_cluster(cluster_of(*thread), launch.order[launch.started++]);
            continue;
        }
        if (!launch.copies.empty() && deliver_late()) continue;
        if (launch.polling.empty()) {
            if (!is_anyone_alive()) {
                observe([](Observer& observer) { observer.finished(); });
                return;
            }
            fail_stuck("deadlock", "no thread can go on");
        }
        quiet = launch.progress == last_progress ? quiet + 1 : 0;
        last_progress = launch.progress;
        // Threads that meet between two reads make progress, and may yet come back to where they were.
        const bool is_repeating = quiet == 0 && repeats.is_stuck();
        if ((quiet >= QUIET_ROUNDS_ALONE || is_repeating) && start_another_slot()) {
            quiet = 0;
            repeats.reset();
        } else {
            const uint64_t by_polls = MAX_QUIET_POLLS / launch.polling.size();
            if (is_repeating || quiet > std::min(MAX_QUIET_ROUNDS, std::max(MIN_QUIET_ROUNDS, by_polls)))
                fail_stuck("endless_wait", "threads read the same values again and again, and no thread will change them");
        }
        for (Thread* thread : launch.polling) wake(*thread);
        launch.polling.clear();
    }
}

void leave()
{
    Thread& thread = *current;
    switch_context(thread.context, launch.host);
}

void wake(Thread& thread)
{
    thread.state = State::READY;
    thread.wait.kind = WaitKind::NONE;
    thread.wait.mbarrier = nullptr;
    launch.ready.add(bit_of(thread));
}

void yield_ready()
{
    wake(*current);
    leave();
}

void yield_polling(int line)
{
    Thread& thread = *current;
    thread.state = State::POLLING;
    thread.wait = Wait();
    thread.wait.kind = WaitKind::POLL;
    thread.wait.line = line;
    launch.polling.push_back(&thread);
    leave();
}

void yield_polling_at(const void* mbarrier, unsigned parity, int line)
{
    Thread& thread = *current;
    thread.state = State::POLLING;
    thread.wait = Wait();
    thread.wait.kind = WaitKind::POLL;
    thread.wait.line = line;
    thread.wait.mbarrier = mbarrier_at(mbarrier, "waits at", line).barrier;
    thread.wait.parity = parity & 1;
    launch.polling.push_back(&thread);
    leave();
    thread.wait.mbarrier = nullptr;
}

void ReadySet::resize(size_t bits)
{
    words_.resize((bits + 63) / 64);
    summary_.resize((words_.size() + 63) / 64);
}

int64_t ReadySet::first() const
{
    for (size_t i = 0; i < summary_.size(); ++i) {
        if (!summary_[i]) continue;
        const size_t word = i * 64 + static_cast<size_t>(__builtin_ctzll(summary_[i]));
        return static_cast<int64_t>(word * 64 + static_cast<size_t>(__builtin_ctzll(words_[word])));
    }
    return -1;
}

int64_t ReadySet::last() const
{
    for (size_t i = summary_.size(); i-- > 0;) {
        if (!summary_[i]) continue;
        const size_t word = i * 64 + 63 - static_cast<size_t>(__builtin_clzll(summary_[i]));
        return static_cast<int64_t>(word * 64 + 63 - static_cast<size_t>(__builtin_clzll(words_[word])));
    }
    return -1;
}

int64_t ReadySet::any(Random& random) const
{
    // From a random word on, the next that is not empty; in it, from a random bit on, the next that is set.
    const size_t start = random.below(words_.size());
    for (size_t step = 0; step <= summary_.size(); ++step) {
        const size_t i = (start / 64 + step) % summary_.size();
        uint64_t candidates = summary_[i];
        if (step == 0) candidates &= ~uint64_t(0) << start % 64;
        if (!candidates) continue;
        const size_t word = i * 64 + static_cast<size_t>(__builtin_ctzll(candidates));
        const uint64_t bits = words_[word];
        const unsigned turn = static_cast<unsigned>(random.below(64));
        const uint64_t turned = turn ? bits >> turn | bits << (64 - turn) : bits;
        return static_cast<int64_t>(word * 64 + (static_cast<size_t>(__builtin_ctzll(turned)) + turn) % 64);
    }
    return -1;
}

}  // namespace tle2cuda_emulator
