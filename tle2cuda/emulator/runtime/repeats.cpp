#include "repeats.h"

#include <string.h>

#include "model.h"

namespace tle2cuda_emulator {

namespace {

// Rounds before the first state is kept: most waits are over by then.
constexpr uint64_t FIRST_ROUND = 64;
// A loop comes round after a few rounds; states further away are not compared.
constexpr uint64_t LONGEST_PERIOD = 64;
// Under a random schedule one repetition proves little.
constexpr unsigned ENOUGH_MATCHES = 16;

void mix(uint64_t& hash, const void* bytes, size_t count)
{
    const auto* from = static_cast<const unsigned char*>(bytes);
    for (; count >= 8; count -= 8, from += 8) {
        uint64_t word;
        memcpy(&word, from, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 29;
    }
    for (; count; --count, ++from) hash = (hash ^ *from) * 0x100000001b3ull;
}

// 0 where it cannot be told.
uint64_t hash_of_threads()
{
    uint64_t hash = launch.started;
    for (const auto& cluster : launch.clusters)
        for (const Cta& cta : cluster->ctas) {
            for (const auto& [offset, barrier] : cta.mbarriers) {
                const int64_t state[] = {offset, barrier.pending, barrier.bytes, static_cast<int64_t>(barrier.phase)};
                mix(hash, state, sizeof state);
            }
            for (const Thread& thread : cta.threads) {
                mix(hash, &thread.state, sizeof thread.state);
                if (thread.state == State::EXITED) continue;
                const auto* const top = thread.stack + launch.request.stack_bytes;
                const auto* const live = static_cast<const unsigned char*>(suspended_stack(thread.context));
                if (!live) return 0;
                mix(hash, live, static_cast<size_t>(top - live));
            }
        }
    return hash;
}

uint64_t hash_of_memory()
{
    uint64_t hash = 0;
    for (const Buffer& buffer : launch.request.buffers) mix(hash, buffer.begin, buffer.bytes);
    for (const auto& cluster : launch.clusters)
        for (const Cta& cta : cluster->ctas) mix(hash, cta.shared, launch.shared_stride);
    return hash;
}

}  // namespace

bool Repeats::is_stuck()
{
    const uint64_t round = rounds_++;
    if (round >= FIRST_ROUND && (round & (round - 1)) == 0) {
        kept_at_ = round;
        threads_ = hash_of_threads();
        memory_ = hash_of_memory();
        clock_reads_ = launch.clock_reads;
        matches_ = 0;
        return false;
    }
    if (!kept_at_ || round > kept_at_ + LONGEST_PERIOD || clock_reads_ != launch.clock_reads) return false;
    if (threads_ && hash_of_threads() == threads_ && hash_of_memory() == memory_) ++matches_;
    return matches_ >= ENOUGH_MATCHES;
}

}  // namespace tle2cuda_emulator
