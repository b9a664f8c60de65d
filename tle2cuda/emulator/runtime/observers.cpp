// The observers, and which of them a request asks for.
#include "elements.h"

namespace tle2cuda_emulator {

namespace {

// Accesses outside of arguments, of scratch, and of each shared variable and each member of `Shared` by itself.
class Bounds : public Observer {
public:
    void accessed(const Thread&, const Access& access, const Place& place) override
    {
        if (place.space == Space::GLOBAL) {
            if (place.offset >= 0 && uint64_t(place.offset) + access.bytes <= place.buffer->bytes) return;
        } else if (place.space == Space::SHARED) {
            const auto offset = static_cast<unsigned>(place.offset);
            const Variable* const variable = nearest_variable(offset, access.bytes);
            if (place.cta && variable && offset >= variable->begin && offset + access.bytes <= variable->end) return;
        } else {
            return;
        }
        add_finding("out_of_bounds", described(access), access.pc);
    }

    static std::string described(const Access& access)
    {
        return std::string(verb(access.kind)) + " " + std::to_string(access.bytes) + " bytes at " + describe_address(access.address);
    }
};

// Accesses that the compiler took for aligned and that are not.
class Alignment : public Observer {
public:
    void accessed(const Thread&, const Access& access, const Place& place) override
    {
        if (place.space == Space::OTHER || reinterpret_cast<uintptr_t>(access.address) % access.alignment == 0) return;
        add_finding("misaligned", Bounds::described(access), access.pc);
    }
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
std::unique_ptr<Observer> make_alignment_observer() { return std::make_unique<Alignment>(); }
std::unique_ptr<Observer> make_access_counter() { return std::make_unique<AccessCounter>(); }

void create_observers()
{
    for (const std::string& name : launch.request.detect) {
        if (name == "bounds") launch.observers.push_back(make_bounds_observer());
        if (name == "alignment") launch.observers.push_back(make_alignment_observer());
        if (name == "races") launch.observers.push_back(make_race_detector());
        if (name == "uninitialized") launch.observers.push_back(make_uninitialized_detector());
        if (name == "exit") launch.observers.push_back(make_exit_detector());
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
