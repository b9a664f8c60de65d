// What one instruction of a warp costs in memory, by the addresses of its lanes.
#pragma once

#include <stdint.h>

#include <algorithm>

#include "model.h"

namespace tle2cuda_emulator {

constexpr unsigned SECTOR_BYTES = 32;
constexpr unsigned BANKS = 32;
constexpr unsigned BANK_BYTES = 4;
constexpr unsigned MAX_ACCESS_BYTES = 16;  // the widest load or store of one thread
constexpr unsigned WIDTHS = 5;             // 1, 2, 4, 8 and 16 bytes

// The addresses that the lanes of one warp access by one instruction.
struct WarpAccess {
    uint64_t addresses[WARP_LANES];
    unsigned lanes[WARP_LANES];  // whose they are, ascending
    unsigned count = 0;
    unsigned bytes = 0;  // of each lane, at most 16
};

struct Sectors {
    unsigned sectors = 0;
    unsigned used_bytes = 0;  // bytes of them that any lane asks for
};

// Distinct sectors of 32 bytes, and the distinct bytes of them that are used.
inline Sectors sectors_of(const WarpAccess& access)
{
    struct Part {
        uint64_t sector;
        uint32_t bytes;
    };
    Part parts[2 * WARP_LANES];
    unsigned count = 0;
    const auto add = [&](uint64_t begin, uint64_t end) {
        const uint64_t mask = (uint64_t(1) << (end - begin)) - 1;
        parts[count++] = {begin / SECTOR_BYTES, static_cast<uint32_t>(mask << begin % SECTOR_BYTES)};
    };
    for (unsigned i = 0; i < access.count; ++i) {
        const uint64_t begin = access.addresses[i], end = begin + access.bytes;
        const uint64_t border = (begin / SECTOR_BYTES + 1) * SECTOR_BYTES;
        add(begin, std::min(end, border));
        if (end > border) add(border, end);
    }
    std::sort(parts, parts + count, [](const Part& a, const Part& b) { return a.sector < b.sector; });
    Sectors result;
    for (unsigned i = 0; i < count;) {
        const uint64_t sector = parts[i].sector;
        uint32_t bytes = 0;
        for (; i < count && parts[i].sector == sector; ++i) bytes |= parts[i].bytes;
        ++result.sectors;
        result.used_bytes += static_cast<unsigned>(__builtin_popcount(bytes));
    }
    return result;
}

struct Wavefronts {
    unsigned phases = 0;      // wavefronts without any conflict
    unsigned wavefronts = 0;  // in fact
};

// Shared memory serves 32 banks of 4 bytes at a time: one word of each bank, to all lanes that want it. So a warp's accesses
// of 8 bytes come in two phases, those of 16 bytes in four (CUDA C++ Programming Guide, "Shared Memory", 5.x and later).
inline Wavefronts wavefronts_of(const WarpAccess& access)
{
    const unsigned lanes_per_phase = access.bytes <= 4 ? WARP_LANES : WARP_LANES * BANK_BYTES / access.bytes;
    Wavefronts result;
    for (unsigned i = 0; i < access.count;) {
        const unsigned phase = access.lanes[i] / lanes_per_phase;
        uint64_t words[2 * WARP_LANES];
        unsigned count = 0;
        for (; i < access.count && access.lanes[i] / lanes_per_phase == phase; ++i) {
            const uint64_t last = (access.addresses[i] + access.bytes - 1) / BANK_BYTES;
            for (uint64_t word = access.addresses[i] / BANK_BYTES; word <= last && count < 2 * WARP_LANES; ++word)
                words[count++] = word;
        }
        std::sort(words, words + count);
        const auto distinct = static_cast<unsigned>(std::unique(words, words + count) - words);
        unsigned in_bank[BANKS] = {}, most = 0;
        for (unsigned k = 0; k < distinct; ++k) most = std::max(most, ++in_bank[words[k] % BANKS]);
        ++result.phases;
        result.wavefronts += most;
    }
    return result;
}

// The most lanes that access one address: an atomic instruction takes as many turns.
inline unsigned most_lanes_on_one_address(const WarpAccess& access)
{
    uint64_t addresses[WARP_LANES];
    std::copy(access.addresses, access.addresses + access.count, addresses);
    std::sort(addresses, addresses + access.count);
    unsigned most = 0;
    for (unsigned i = 0; i < access.count;) {
        const unsigned first = i;
        while (i < access.count && addresses[i] == addresses[first]) ++i;
        most = std::max(most, i - first);
    }
    return most;
}

}  // namespace tle2cuda_emulator
