// What detectors remember of each byte: memory beside every buffer and beside the shared memory of every CTA that can be alive.
#pragma once

#include "observer.h"

namespace tle2cuda_emulator {

// Zero wherever nothing was written; pages that nobody touches cost nothing.
void* reserve_zeros(size_t bytes);

template <class Cell, unsigned GRANULE_BYTES>
class Shadow {
public:
    // The cell of a granule of an access that lies inside of what it names.
    Cell* at(const Place& place)
    {
        if (place.space == Space::SHARED) return shared() + (place.cta->slot * launch.shared_stride + size_t(place.offset)) / GRANULE_BYTES;
        const size_t buffer = static_cast<size_t>(place.buffer - launch.request.buffers.data());
        if (buffers_.empty()) buffers_.resize(launch.request.buffers.size());
        if (!buffers_[buffer]) buffers_[buffer] = reserve(place.buffer->bytes + GRANULE_BYTES);
        const size_t skew = reinterpret_cast<uintptr_t>(place.buffer->begin) % GRANULE_BYTES;
        return buffers_[buffer] + (size_t(place.offset) + skew) / GRANULE_BYTES;
    }
    // The CTA has fresh shared memory.
    void clear(const Cta& cta)
    {
        if (!shared_) return;
        Cell* const first = shared_ + cta.slot * launch.shared_stride / GRANULE_BYTES;
        for (size_t i = 0; i < launch.shared_stride / GRANULE_BYTES; ++i) first[i] = Cell();
    }

private:
    Cell* shared()
    {
        if (!shared_) shared_ = reserve(launch.shared_stride * launch.max_ctas);
        return shared_;
    }
    static Cell* reserve(size_t bytes) { return static_cast<Cell*>(reserve_zeros((bytes / GRANULE_BYTES + 1) * sizeof(Cell))); }

    Cell* shared_ = nullptr;
    std::vector<Cell*> buffers_;
};

// Whether all of an access lies in memory that exists: what does not is the matter of the detector of bounds.
inline bool is_inside(const Access& access, const Place& place)
{
    if (place.space == Space::GLOBAL) return place.offset >= 0 && uint64_t(place.offset) + access.bytes <= place.buffer->bytes;
    return place.space == Space::SHARED && place.cta && uint64_t(place.offset) + access.bytes <= launch.shared_stride;
}

}  // namespace tle2cuda_emulator
