// Counting. Threads run one after the other, so the lanes of a warp come to an instruction one by one, and nothing says which
// of their accesses would have been one request on a GPU, whose lanes run in step. Accesses of the lanes of one warp belong
// together when they have the same call chain, and each lane has come there as often since the last event that held up all
// lanes of the warp (its epoch): in a loop, the first turns make one request, the second turns the next.
#include <link.h>

#include <map>
#include <unordered_map>

#include "observer.h"
#include "requests.h"

namespace tle2cuda_emulator {

namespace {

enum Memory : unsigned { GLOBAL, SHARED, REMOTE, NONE };
constexpr unsigned ACCESS_KINDS = 3;
constexpr const char* MEMORY_NAMES[NONE] = {"global", "shared", "remote"};
constexpr const char* ACCESS_NAMES[ACCESS_KINDS] = {"load", "store", "atomic"};
constexpr unsigned ATOMIC = static_cast<unsigned>(AccessKind::ATOMIC);
constexpr const char* BARRIER_NAMES[] = {"cta_barrier", "named_barrier", "cluster_barrier", "grid_barrier"};

constexpr unsigned MAX_DEPTH = 6;

// Return addresses in the kernel's library, innermost first.
struct Chain {
    uintptr_t pcs[MAX_DEPTH] = {};
    unsigned depth = 0;
};

// An instruction at a place. What happened there, in sums over the launch.
struct Site {
    Chain chain;
    int line = 0;  // of a call that says so itself
    const char* name = "";  // of a collective or barrier; accesses have a memory and a kind
    unsigned memory = GLOBAL, kind = 0;
    unsigned bytes = 0;  // of one lane
    bool is_aligned = true;
    uint64_t requests = 0, accesses = 0;  // of warps, of lanes
    uint64_t sectors = 0, used_bytes = 0;
    uint64_t phases = 0, wavefronts = 0;
    uint64_t turns = 0, most_lanes = 0;  // of atomics
    uint64_t widths[WIDTHS] = {};        // accesses of lanes by 1, 2, 4, 8 and 16 bytes
    std::unordered_map<uint64_t, uint64_t> updates;  // of atomics, by address
};

struct SiteKey {
    uint64_t hash;
    const char* name;
    unsigned what, bytes;
    int line;
    bool operator==(const SiteKey& other) const
    {
        return hash == other.hash && name == other.name && what == other.what && bytes == other.bytes && line == other.line;
    }
};

struct RequestKey {
    uint32_t site, epoch, turn;
    bool operator==(const RequestKey& other) const
    {
        return site == other.site && epoch == other.epoch && turn == other.turn;
    }
};

struct Hash {
    static uint64_t mix(uint64_t h, uint64_t value)
    {
        h = (h ^ value) * 0x9e3779b97f4a7c15u;
        return h ^ h >> 32;
    }
    size_t operator()(const SiteKey& key) const
    {
        return mix(mix(key.hash, key.what), uint64_t(key.bytes) << 32 ^ static_cast<unsigned>(key.line)) ^
               reinterpret_cast<uintptr_t>(key.name);
    }
    size_t operator()(const RequestKey& key) const { return mix(mix(key.site, key.epoch), key.turn); }
};

// A request whose lanes have not all come yet.
struct Pending {
    uint32_t lanes = 0;
    uint64_t addresses[WARP_LANES];
};

// How often each lane has been at a site in its epoch.
struct Turns {
    uint32_t epoch[WARP_LANES] = {};
    uint32_t count[WARP_LANES] = {};
};

struct WarpState {
    uint32_t epoch[WARP_LANES] = {};
    std::vector<std::unique_ptr<Turns>> turns;  // by number of the site
    std::unordered_map<RequestKey, Pending, Hash> pending;
};

std::vector<Site> sites;
std::unordered_map<SiteKey, uint32_t, Hash> site_numbers;
std::vector<std::unique_ptr<WarpState>> warps;  // by slot of the CTA, and in it
uintptr_t library_begin = 0, library_end = 0;

int find_library(dl_phdr_info* info, size_t, void*)
{
    if (info->dlpi_addr != launch.library_base) return 0;
    library_begin = launch.library_base;
    for (unsigned i = 0; i < info->dlpi_phnum; ++i)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            library_end = std::max<uintptr_t>(library_end, info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz);
    return 1;
}

bool in_library(uintptr_t address)
{
    if (!library_end) dl_iterate_phdr(find_library, nullptr);
    return address >= library_begin && address < library_end;
}

// The calling thread's chain of calls in the kernel's library. Everything is compiled with frame pointers. Behind the kernel
// come the wrappers that the runner calls; they are the same for all, and have no line of the emitted file.
__attribute__((noinline)) Chain calls()
{
    Chain chain;
    if (!current || current->state == State::EXITED) return chain;
    auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    bool was_inside = false;
    for (unsigned step = 0; step < 32 && chain.depth < MAX_DEPTH; ++step) {
        if (!thread_at(*current, reinterpret_cast<void*>(frame)) || frame % sizeof(void*)) break;
        const auto* words = reinterpret_cast<const uintptr_t*>(frame);
        const bool is_inside = in_library(words[1]);
        if (is_inside)
            chain.pcs[chain.depth++] = words[1];
        else if (was_inside)
            break;
        was_inside = is_inside;
        if (words[0] <= frame) break;
        frame = words[0];
    }
    return chain;
}

uint32_t site_of(const Chain& chain, const char* name, unsigned memory, unsigned kind, unsigned bytes, bool is_aligned, int line)
{
    uint64_t hash = 0;
    for (unsigned i = 0; i < chain.depth; ++i) hash = Hash::mix(hash, chain.pcs[i]);
    const SiteKey key{hash, name, memory << 8 | kind << 1 | is_aligned, bytes, line};
    const auto [found, is_new] = site_numbers.try_emplace(key, static_cast<uint32_t>(sites.size()));
    if (is_new) {
        Site site;
        site.chain = chain;
        site.line = line;
        site.name = name;
        site.memory = memory;
        site.kind = kind;
        site.bytes = bytes;
        site.is_aligned = is_aligned;
        sites.push_back(std::move(site));
    }
    return found->second;
}

// The state of a thread's warp, made at its first use.
std::unique_ptr<WarpState>& state_of(const Thread& thread)
{
    const size_t number = thread.cta->slot * thread.cta->warps.size() + thread.linear / WARP_LANES;
    if (number >= warps.size()) warps.resize(number + 1);
    if (!warps[number]) warps[number] = std::make_unique<WarpState>();
    return warps[number];
}

// ---- Requests ----

bool is_power_of_two(unsigned value) { return value && !(value & (value - 1)); }

// In which pieces a thread of the GPU accesses so many bytes: at most 16 at a time, and no more than the alignment allows.
unsigned piece_bytes(const Site& site, const Pending& request)
{
    unsigned piece = std::min(site.bytes & (0u - site.bytes), MAX_ACCESS_BYTES);
    if (site.is_aligned) return piece;
    // An access whose type promises less alignment than its size is done by words; copies of other sizes have no type.
    if (is_power_of_two(site.bytes) && site.bytes <= MAX_ACCESS_BYTES) piece = std::min(piece, 4u);
    for (unsigned lane = 0; lane < WARP_LANES; ++lane)
        if (request.lanes >> lane & 1)
            while (request.addresses[lane] % piece) piece /= 2;
    return piece;
}

// An address of shared memory belongs to a CTA that lives for a while: another one at its place is another address.
uint64_t identity_of(const Site& site, uint64_t address)
{
    if (site.memory == GLOBAL) return address;
    const uint64_t offset = address - reinterpret_cast<uintptr_t>(launch.shared_base);
    const uint64_t slot = offset / launch.shared_stride;
    const Index index = launch.clusters[slot / launch.cluster_size]->ctas[slot % launch.cluster_size].index;
    const Index grid = launch.request.grid;
    const uint64_t cta = (uint64_t(index.z) * grid.y + index.y) * grid.x + index.x;
    return cta * launch.shared_stride + offset % launch.shared_stride;
}

void count_request(Site& site, const WarpAccess& access)
{
    ++site.requests;
    site.accesses += access.count;
    site.widths[__builtin_ctz(access.bytes)] += access.count;
    if (site.memory == GLOBAL) {
        const Sectors sectors = sectors_of(access);
        site.sectors += sectors.sectors;
        site.used_bytes += sectors.used_bytes;
    } else {
        const Wavefronts fronts = wavefronts_of(access);
        site.phases += fronts.phases;
        site.wavefronts += fronts.wavefronts;
    }
    if (site.kind != ATOMIC) return;
    const unsigned most = most_lanes_on_one_address(access);
    site.turns += most;
    site.most_lanes = std::max<uint64_t>(site.most_lanes, most);
    for (unsigned i = 0; i < access.count; ++i) ++site.updates[identity_of(site, access.addresses[i])];
}

void finish(uint32_t number, const Pending& request)
{
    Site& site = sites[number];
    WarpAccess access;
    access.bytes = piece_bytes(site, request);
    for (unsigned lane = 0; lane < WARP_LANES; ++lane)
        if (request.lanes >> lane & 1) access.lanes[access.count++] = lane;
    for (unsigned part = 0; part < site.bytes / access.bytes; ++part) {
        for (unsigned i = 0; i < access.count; ++i)
            access.addresses[i] = request.addresses[access.lanes[i]] + uint64_t(part) * access.bytes;
        count_request(site, access);
    }
}

// Requests that no lane can join any more: all that are left have gone on.
void finish_older(uint32_t live, WarpState& state)
{
    if (state.pending.empty()) return;
    uint32_t oldest = ~0u;
    for (unsigned lane = 0; lane < WARP_LANES; ++lane)
        if (live >> lane & 1) oldest = std::min(oldest, state.epoch[lane]);
    for (auto it = state.pending.begin(); it != state.pending.end();) {
        if (it->first.epoch < oldest) {
            finish(it->first.site, it->second);
            it = state.pending.erase(it);
        } else {
            ++it;
        }
    }
}

class RequestCounter : public Observer {
public:
    void accessed(const Thread& thread, const Access& access, const Place& place) override
    {
        if (place.space == Space::OTHER || access.bytes == 0) return;
        const unsigned memory = place.space == Space::GLOBAL ? GLOBAL : place.cta == thread.cta ? SHARED : REMOTE;
        const bool is_aligned = access.alignment >= access.bytes;
        const uint32_t number = site_of(calls(), "", memory, static_cast<unsigned>(access.kind), access.bytes, is_aligned, 0);
        const Warp& warp = warp_of(thread);
        const unsigned lane = lane_of(thread);
        WarpState& state = *state_of(thread);
        if (number >= state.turns.size()) state.turns.resize(number + 1);
        if (!state.turns[number]) state.turns[number] = std::make_unique<Turns>();
        Turns& turns = *state.turns[number];
        if (turns.epoch[lane] != state.epoch[lane]) {
            turns.epoch[lane] = state.epoch[lane];
            turns.count[lane] = 0;
        }
        const RequestKey key{number, state.epoch[lane], turns.count[lane]++};
        const auto found = state.pending.try_emplace(key).first;
        Pending& request = found->second;
        request.lanes |= 1u << lane;
        request.addresses[lane] = reinterpret_cast<uintptr_t>(access.address);
        if (warp.present & ~(request.lanes | warp.exited)) return;
        finish(number, request);
        state.pending.erase(found);
    }

    void met(const std::vector<Thread*>& threads) override
    {
        // The threads of a warp need not lie side by side in the list.
        std::map<const Warp*, std::pair<uint32_t, const Thread*>> lanes;
        for (const Thread* thread : threads) {
            auto& [mask, member] = lanes[&warp_of(*thread)];
            mask |= 1u << lane_of(*thread);
            member = thread;
        }
        for (const auto& [warp, entry] : lanes)
            if ((warp->present & ~warp->exited & ~entry.first) == 0) go_on(*entry.second, entry.first);
    }

    void waited(const Thread& thread, const SplitBarrier&, bool) override { go_on(thread, 1u << lane_of(thread)); }

    void thread_exited(const Thread& thread) override
    {
        const Warp& warp = warp_of(thread);
        const uint32_t live = warp.present & ~warp.exited & ~(1u << lane_of(thread));
        std::unique_ptr<WarpState>& state = state_of(thread);
        finish_older(live, *state);
        if (live == 0) state.reset();  // another CTA may take its place
    }

    void arrived(const Thread&, const SplitBarrier& barrier, bool) override { arrivals[&barrier] = calls(); }

    void barrier_completed(BarrierKind kind, int line, const SplitBarrier* barrier) override
    {
        const Chain chain = barrier ? arrivals[barrier] : calls();
        ++sites[site_of(chain, BARRIER_NAMES[static_cast<unsigned>(kind)], NONE, 0, 0, true, line)].requests;
    }

    void collective_completed(const Thread&, unsigned kind, uint32_t lanes, int line) override
    {
        Site& site = sites[site_of(calls(), collective_name(kind), NONE, 0, 0, true, line)];
        ++site.requests;
        site.accesses += static_cast<unsigned>(__builtin_popcount(lanes));
    }

    std::string counters_json() override;

private:
    std::unordered_map<const SplitBarrier*, Chain> arrivals;  // of who came last

    // Lanes of a thread's warp begin an epoch.
    static void go_on(const Thread& thread, uint32_t lanes)
    {
        const Warp& warp = warp_of(thread);
        WarpState& state = *state_of(thread);
        for (unsigned lane = 0; lane < WARP_LANES; ++lane)
            if (lanes >> lane & 1) ++state.epoch[lane];
        finish_older(warp.present & ~warp.exited, state);
    }
};

}  // namespace

// ---- The report ----

namespace {

std::string number(uint64_t value) { return std::to_string(value); }

std::string site_json(const Site& site)
{
    std::string pcs;
    for (unsigned i = 0; i < site.chain.depth; ++i)
        pcs += (i ? ", " : "") + number(site.chain.pcs[i] - 1 - launch.library_base);
    const bool is_access = site.memory < NONE;
    const std::string name = is_access ? std::string(MEMORY_NAMES[site.memory]) + "_" + ACCESS_NAMES[site.kind] : site.name;
    std::string text = "{\"name\": \"" + name + "\", \"pcs\": [" + pcs + "], \"line\": " + number(static_cast<unsigned>(site.line)) +
                       ", \"requests\": " + number(site.requests) + ", \"accesses\": " + number(site.accesses);
    if (is_access) {
        text += ", \"widths\": [";
        for (unsigned i = 0; i < WIDTHS; ++i) text += (i ? ", " : "") + number(site.widths[i]);
        text += "]";
        if (site.memory == GLOBAL)
            text += ", \"sectors\": " + number(site.sectors) + ", \"used_bytes\": " + number(site.used_bytes);
        else
            text += ", \"phases\": " + number(site.phases) + ", \"wavefronts\": " + number(site.wavefronts);
        if (site.kind == ATOMIC) text += ", \"turns\": " + number(site.turns) + ", \"most_lanes\": " + number(site.most_lanes);
    }
    return text + "}";
}

std::string place_json(unsigned memory, uint64_t address)
{
    if (memory == GLOBAL) return describe_address(reinterpret_cast<void*>(address));
    const uint64_t cta = address / launch.shared_stride;
    const Index grid = launch.request.grid;
    return "shared memory of CTA (" + number(cta % grid.x) + ", " + number(cta / grid.x % grid.y) + ", " +
           number(cta / grid.x / grid.y) + "), byte " + number(address % launch.shared_stride);
}

// The address with the most atomics in each memory, whichever instructions they come from.
std::string hottest_json()
{
    std::map<uint64_t, uint64_t> updates[NONE];
    for (const Site& site : sites)
        for (const auto& [address, count] : site.updates) updates[site.memory][address] += count;
    std::string text = "{";
    for (unsigned memory = 0; memory < NONE; ++memory) {
        if (updates[memory].empty()) continue;
        auto most = updates[memory].begin();
        for (auto it = most; it != updates[memory].end(); ++it)
            if (it->second > most->second) most = it;
        text += std::string(text.size() > 1 ? ", " : "") + "\"" + MEMORY_NAMES[memory] + "\": {\"addresses\": " +
                number(updates[memory].size()) + ", \"operations\": " + number(most->second) + ", \"place\": " +
                quoted(place_json(memory, most->first)) + "}";
    }
    return text + "}";
}

}  // namespace

std::string RequestCounter::counters_json()
{
    for (const auto& state : warps)  // of threads that a fatal finding stopped
        if (state)
            for (const auto& [key, request] : state->pending) finish(key.site, request);
    warps.clear();
    std::string text = "\"hottest\": " + hottest_json() + ", \"sites\": [";
    for (size_t i = 0; i < sites.size(); ++i) text += (i ? ", " : "") + site_json(sites[i]);
    return text + "]";
}

std::unique_ptr<Observer> make_request_counter() { return std::make_unique<RequestCounter>(); }

}  // namespace tle2cuda_emulator
