// Collectives of a warp. A lane leaves its operand and waits; the last of those its mask names computes for all.
#include "observer.h"
#include "warp_matrices.h"

namespace tle2cuda_emulator {

const char* collective_name(unsigned kind)
{
    switch (kind) {
        case SHUFFLE_INDEX: return "__shfl_sync";
        case SHUFFLE_UP: return "__shfl_up_sync";
        case SHUFFLE_DOWN: return "__shfl_down_sync";
        case SHUFFLE_XOR: return "__shfl_xor_sync";
        case SYNC_WARP: return "__syncwarp";
        case VOTE_ALL: return "__all_sync";
        case VOTE_ANY: return "__any_sync";
        case VOTE_UNIFORM: return "__uni_sync";
        case VOTE_BALLOT: return "__ballot_sync";
        case MATCH_ANY: return "__match_any_sync";
        case MATCH_ALL: return "__match_all_sync";
        case REDUCE_ADD: return "__reduce_add_sync";
        case REDUCE_MIN_SIGNED:
        case REDUCE_MIN_UNSIGNED: return "__reduce_min_sync";
        case REDUCE_MAX_SIGNED:
        case REDUCE_MAX_UNSIGNED: return "__reduce_max_sync";
        case REDUCE_AND: return "__reduce_and_sync";
        case REDUCE_OR: return "__reduce_or_sync";
        case REDUCE_XOR: return "__reduce_xor_sync";
        case MATRIX_ROWS: return "ldmatrix";
        case MATRIX_PRODUCT: return "mma";
    }
    return "a warp collective";
}

namespace {

// Lanes of the mask that are still there, and the lowest of them.
struct Members {
    Thread* lanes[WARP_LANES];
    uint32_t mask = 0;
    Thread* lowest = nullptr;
};

// PTX ISA, shfl.sync: the source lane, or the own one where that lies outside of the segment.
unsigned source_lane(const Wait& wait, unsigned lane)
{
    const unsigned first = lane & ~(wait.width - 1);
    const unsigned operand = static_cast<unsigned>(wait.other);
    switch (wait.collective) {
        case SHUFFLE_INDEX: return first | (operand & (wait.width - 1));
        case SHUFFLE_UP: return operand <= lane - first ? lane - operand : lane;
        case SHUFFLE_DOWN: return operand < first + wait.width - lane ? lane + operand : lane;
        default: {
            const unsigned source = lane ^ operand;
            return source < first + wait.width ? source : lane;
        }
    }
}

void shuffle(Members& members)
{
    for (unsigned lane = 0; lane < WARP_LANES; ++lane) {
        if (!(members.mask >> lane & 1)) continue;
        Thread& thread = *members.lanes[lane];
        const unsigned source = source_lane(thread.wait, lane);
        // From a lane that takes no part the GPU delivers anything; a recognisable pattern shows up in results.
        const bool has_source = source < WARP_LANES && (members.mask >> source & 1);
        thread.result = has_source ? members.lanes[source]->wait.value : 0xdeadbeefdeadbeefu;
    }
}

uint64_t reduce(unsigned kind, uint64_t a, uint64_t b)
{
    const auto x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b);
    const auto i = static_cast<int32_t>(x), j = static_cast<int32_t>(y);
    switch (kind) {
        case REDUCE_ADD: return static_cast<uint32_t>(x + y);
        case REDUCE_MIN_SIGNED: return static_cast<uint32_t>(i < j ? i : j);
        case REDUCE_MAX_SIGNED: return static_cast<uint32_t>(i > j ? i : j);
        case REDUCE_MIN_UNSIGNED: return x < y ? x : y;
        case REDUCE_MAX_UNSIGNED: return x > y ? x : y;
        case REDUCE_AND: return x & y;
        case REDUCE_OR: return x | y;
        default: return x ^ y;
    }
}

void vote(Members& members, unsigned kind)
{
    uint32_t ballot = 0;
    for (unsigned lane = 0; lane < WARP_LANES; ++lane)
        if (members.mask >> lane & 1 && members.lanes[lane]->wait.value) ballot |= 1u << lane;
    uint64_t result = ballot;
    if (kind == VOTE_ALL) result = ballot == members.mask;
    if (kind == VOTE_ANY) result = ballot != 0;
    if (kind == VOTE_UNIFORM) result = ballot == 0 || ballot == members.mask;
    for (unsigned lane = 0; lane < WARP_LANES; ++lane)
        if (members.mask >> lane & 1) members.lanes[lane]->result = result;
}

void match(Members& members, unsigned kind)
{
    for (unsigned lane = 0; lane < WARP_LANES; ++lane) {
        if (!(members.mask >> lane & 1)) continue;
        uint32_t same = 0;
        for (unsigned other = 0; other < WARP_LANES; ++other)
            if (members.mask >> other & 1 && members.lanes[other]->wait.value == members.lanes[lane]->wait.value)
                same |= 1u << other;
        members.lanes[lane]->result = kind == MATCH_ANY ? same : same == members.mask ? same : 0;
    }
}

void complete(Members& members)
{
    const unsigned kind = members.lowest->wait.collective;
    ++launch.collectives;
    observe([&](Observer& o) { o.collective_completed(*members.lowest, kind, members.mask, members.lowest->wait.line); });
    ++launch.progress;
    if (kind <= SHUFFLE_XOR) {
        shuffle(members);
    } else if (kind == MATCH_ANY || kind == MATCH_ALL) {
        match(members, kind);
    } else if (kind >= VOTE_ALL && kind <= VOTE_BALLOT) {
        vote(members, kind);
    } else if (kind == MATRIX_ROWS || kind == MATRIX_PRODUCT) {
        uint64_t operands[WARP_LANES] = {};
        for (unsigned lane = 0; lane < WARP_LANES; ++lane)
            if (members.mask >> lane & 1) operands[lane] = members.lanes[lane]->wait.value;
        complete_matrices(kind, operands, members.mask, members.lowest->wait.line);
    } else if (kind >= REDUCE_ADD) {
        uint64_t total = 0;
        bool has_total = false;
        for (unsigned lane = 0; lane < WARP_LANES; ++lane) {
            if (!(members.mask >> lane & 1)) continue;
            const uint64_t value = members.lanes[lane]->wait.value;
            total = has_total ? reduce(kind, total, value) : value;
            has_total = true;
        }
        for (unsigned lane = 0; lane < WARP_LANES; ++lane)
            if (members.mask >> lane & 1) members.lanes[lane]->result = total;
    }
    warp_of(*members.lowest).waiting &= ~members.mask;
    std::vector<Thread*> threads;
    for (unsigned lane = 0; lane < WARP_LANES; ++lane) {
        if (!(members.mask >> lane & 1)) continue;
        wake(*members.lanes[lane]);
        if (!launch.observers.empty()) threads.push_back(members.lanes[lane]);
    }
    observe([&](Observer& observer) { kind == SYNC_WARP ? observer.met(threads) : observer.exchanged(threads); });
}

// Complete the collective that `thread` waits at, if all lanes of its mask that have not exited wait at the same one.
void try_complete(Thread& thread)
{
    Warp& warp = warp_of(thread);
    const uint32_t wanted = thread.wait.mask & warp.present & ~warp.exited;
    if (wanted & ~warp.waiting) return;
    Members members;
    members.mask = wanted;
    Thread* const first = &thread.cta->threads[thread.linear / WARP_LANES * WARP_LANES];
    for (unsigned lane = 0; lane < WARP_LANES; ++lane) {
        if (!(wanted >> lane & 1)) continue;
        Thread& peer = first[lane];
        if (peer.wait.collective != thread.wait.collective || peer.wait.mask != thread.wait.mask ||
            peer.wait.line != thread.wait.line)
            return;
        members.lanes[lane] = &peer;
        if (!members.lowest) members.lowest = &peer;
    }
    complete(members);
}

}  // namespace

void warp_lane_exited(Thread& thread)
{
    Warp& warp = warp_of(thread);
    warp.exited |= 1u << lane_of(thread);
    Thread* const first = &thread.cta->threads[thread.linear / WARP_LANES * WARP_LANES];
    for (unsigned lane = 0; lane < WARP_LANES; ++lane)
        if (warp.waiting >> lane & 1) try_complete(first[lane]);
}

extern "C" uint64_t tle2cuda_warp(unsigned kind, unsigned mask, uint64_t value, int other, unsigned width, int line)
{
    Thread& thread = *current;
    if (!(mask >> lane_of(thread) & 1))
        fail("collective", std::string(collective_name(kind)) + ": the mask does not name the calling lane", line);
    if (width == 0 || width > WARP_LANES || (width & (width - 1)))
        fail("collective", std::string(collective_name(kind)) + ": the width must be a power of two up to 32", line);
    Wait& wait = thread.wait;
    wait.kind = WaitKind::WARP;
    wait.collective = static_cast<uint8_t>(kind);
    wait.line = line;
    wait.mask = mask;
    wait.width = width;
    wait.other = other;
    wait.value = value;
    thread.state = State::WAITING;
    warp_of(thread).waiting |= 1u << lane_of(thread);
    try_complete(thread);
    leave();
    return thread.result;
}

// Any lane of the mask may be the elected one, and for one mask it is always the same.
extern "C" unsigned tle2cuda_elect(unsigned mask, int line)
{
    tle2cuda_warp(VOTE_BALLOT, mask, 1, 0, WARP_LANES, line);
    const uint32_t members = mask & warp_of(*current).present;
    if (launch.request.schedule == Schedule::FORWARD) return lane_of(*current) == static_cast<unsigned>(__builtin_ctz(members));
    unsigned wanted = static_cast<unsigned>(__builtin_popcount(members)) - 1;
    if (launch.request.schedule == Schedule::RANDOM) wanted = static_cast<unsigned>(Random(launch.request.seed ^ mask).below(wanted + 1));
    uint32_t left = members;
    for (; wanted; --wanted) left &= left - 1;
    return lane_of(*current) == static_cast<unsigned>(__builtin_ctz(left));
}

// PTX ISA, setmaxnreg: by all threads of a warpgroup; whether its warps agree is known when the CTA exits.
extern "C" void tle2cuda_set_registers(unsigned registers, int line)
{
    tle2cuda_warp(VOTE_UNIFORM, 0xffffffffu, registers, 0, WARP_LANES, line);
    Warp& warp = warp_of(*current);
    const unsigned first = static_cast<unsigned>(__builtin_ctz(warp.present));
    if (registers % 8 || registers < 24 || registers > 256)
        fail("collective", "setmaxnreg " + std::to_string(registers) + ": a multiple of 8 from 24 to 256", line);
    if (lane_of(*current) == first) warp.registers.push_back(registers);
}

void check_registers(const Cta& cta)
{
    constexpr size_t GROUP = 4;  // warps of a warpgroup
    for (size_t i = 0; i < cta.warps.size(); ++i)
        if (cta.warps[i].registers != cta.warps[i / GROUP * GROUP].registers)
            fail("collective", "setmaxnreg: warps " + std::to_string(i / GROUP * GROUP) + " and " + std::to_string(i) +
                 " of one warpgroup did not execute the same ones", 0);
}

extern "C" unsigned tle2cuda_active_mask(int)
{
    // Lanes that run together are a matter of chance on a GPU since Volta; here each lane runs alone.
    return 1u << lane_of(*current);
}

}  // namespace tle2cuda_emulator
