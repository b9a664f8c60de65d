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

}  // namespace

std::unique_ptr<Observer> make_bounds_observer() { return std::make_unique<Bounds>(); }

void create_observers()
{
    for (const std::string& name : launch.request.detect) {
        if (name == "bounds") launch.observers.push_back(make_bounds_observer());
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
