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
        add_finding("out_of_bounds", std::string(verb(access.kind)) + " " + describe_access(access.address, access.bytes), access.pc);
    }

    void copy_accessed(const Thread& thread, const Copy&, const Access& access, const Place& place) override { accessed(thread, access, place); }
};

// Accesses that the compiler took for aligned and that are not.
class Alignment : public Observer {
public:
    void accessed(const Thread&, const Access& access, const Place& place) override
    {
        if (place.space == Space::OTHER || reinterpret_cast<uintptr_t>(access.address) % access.alignment == 0) return;
        const std::string what = std::string(verb(access.kind)) + " " + std::to_string(access.bytes) + " bytes at ";
        add_finding("misaligned", what + describe_address(access.address), access.pc);
    }
};

}  // namespace

std::unique_ptr<Observer> make_bounds_observer() { return std::make_unique<Bounds>(); }
std::unique_ptr<Observer> make_alignment_observer() { return std::make_unique<Alignment>(); }

void create_observers()
{
    for (const std::string& name : launch.request.detect) {
        if (name == "bounds") launch.observers.push_back(make_bounds_observer());
        if (name == "alignment") launch.observers.push_back(make_alignment_observer());
        if (name == "races") launch.observers.push_back(make_race_detector());
        if (name == "uninitialized") launch.observers.push_back(make_uninitialized_detector());
        if (name == "exit") launch.observers.push_back(make_exit_detector());
        if (name == "counters") launch.observers.push_back(make_request_counter());
    }
}

std::string observed_counters_json()
{
    std::string result;
    for (const auto& observer : launch.observers)
        if (const std::string members = observer->counters_json(); !members.empty()) result += ", " + members;
    return result;
}

}  // namespace tle2cuda_emulator
