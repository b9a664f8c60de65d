// The observers, and which of them a request asks for.
#include "observer.h"

namespace tle2cuda_emulator {

namespace {

// Accesses outside of what the kernel was given, and vectors that are not aligned as they must be.
class Bounds : public Observer {
public:
    void accessed(const Thread&, const Access& access, const Place& place) override
    {
        bool is_inside = true;
        if (place.space == Space::GLOBAL)
            is_inside = place.offset >= 0 && uint64_t(place.offset) + access.bytes <= place.buffer->bytes;
        else if (place.space == Space::SHARED)
            is_inside = place.cta && uint64_t(place.offset) + access.bytes <= shared_bytes();
        const char* const kind = !is_inside ? "out_of_bounds" : is_misaligned(access) ? "misaligned" : nullptr;
        if (!kind) return;
        const char* const verb = access.kind == AccessKind::READ ? "reads " : access.kind == AccessKind::WRITE ? "writes " : "updates ";
        add_finding(kind, verb + std::to_string(access.bytes) + " bytes at " + describe_address(access.address), access.pc);
    }

private:
    static bool is_misaligned(const Access& access) { return reinterpret_cast<uintptr_t>(access.address) % access.alignment != 0; }
};

// Accesses of single threads by memory and kind.
class AccessCounter : public Observer {
public:
    void accessed(const Thread& thread, const Access& access, const Place& place) override
    {
        if (place.space == Space::OTHER) return;
        const bool is_shared = place.space == Space::SHARED;
        remote_ += is_shared && place.cta != thread.cta;
        if (access.kind == AccessKind::ATOMIC) {
            ++atomics_[is_shared];
        } else if (access.kind == AccessKind::READ) {
            ++reads_[is_shared];
            read_bytes_[is_shared] += access.bytes;
        } else {
            ++writes_[is_shared];
            written_bytes_[is_shared] += access.bytes;
        }
    }

    std::vector<std::pair<std::string, uint64_t>> counters() const override
    {
        return {{"global_reads", reads_[0]},          {"global_writes", writes_[0]},
                {"global_atomics", atomics_[0]},      {"shared_reads", reads_[1]},
                {"shared_writes", writes_[1]},        {"shared_atomics", atomics_[1]},
                {"global_bytes_read", read_bytes_[0]}, {"global_bytes_written", written_bytes_[0]},
                {"remote_accesses", remote_}};
    }

private:
    uint64_t reads_[2] = {}, writes_[2] = {}, atomics_[2] = {};  // of global and of shared memory
    uint64_t read_bytes_[2] = {}, written_bytes_[2] = {};
    uint64_t remote_ = 0;
};

}  // namespace

std::unique_ptr<Observer> make_bounds_observer() { return std::make_unique<Bounds>(); }
std::unique_ptr<Observer> make_access_counter() { return std::make_unique<AccessCounter>(); }

void create_observers()
{
    for (const std::string& name : launch.request.detect) {
        if (name == "bounds") launch.observers.push_back(make_bounds_observer());
        if (name == "counters") launch.observers.push_back(make_access_counter());
    }
}

std::string observed_counters_json()
{
    std::string result;
    for (const auto& observer : launch.observers)
        for (const auto& [name, value] : observer->counters()) result += ", \"" + name + "\": " + std::to_string(value);
    return result;
}

}  // namespace tle2cuda_emulator
