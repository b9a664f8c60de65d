// What the host reads when the run is over: outcome, findings, counters, as one JSON object. Places in the kernel's code are
// offsets in its library; the host turns them into lines.
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include <map>
#include <set>
#include <tuple>

#include "async.h"

namespace tle2cuda_emulator {

namespace {

struct Finding {
    std::string kind, message;
    Party at, other;
    bool has_other = false;
    uint64_t count = 1;
};
std::map<std::tuple<std::string, uintptr_t, uintptr_t>, Finding> findings;
constexpr size_t MAX_FRAMES = 16;

std::string numbers(const std::vector<uintptr_t>& values)
{
    std::string result = "[";
    for (const uintptr_t value : values) result += (result.size() > 1 ? ", " : "") + std::to_string(value);
    return result + "]";
}

std::string triple(Index index)
{
    return "[" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + "]";
}

// Return addresses in the kernel's code, innermost first, as offsets of the calls. Everything is compiled with frame pointers.
std::vector<uintptr_t> walk(const Thread& thread, uintptr_t pc, uintptr_t frame_pointer)
{
    std::vector<uintptr_t> pcs;
    for (size_t depth = 0; depth < 4 * MAX_FRAMES && pcs.size() < MAX_FRAMES; ++depth) {
        if (pc && in_kernel(pc)) pcs.push_back(pc - 1 - launch.library_base);
        if (!thread_at(thread, reinterpret_cast<void*>(frame_pointer)) || frame_pointer % sizeof(void*)) break;
        const auto* frame = reinterpret_cast<const uintptr_t*>(frame_pointer);
        if (frame[0] <= frame_pointer && frame[0] != 0) break;
        frame_pointer = frame[0];
        pc = frame[1];
    }
    return pcs;
}

std::vector<uintptr_t> walk_suspended(const Thread& thread)
{
    const Frame frame = suspended_frame(thread.context);
    return walk(thread, frame.pc, frame.frame_pointer);
}

std::string state_name(const Thread& thread)
{
    const Wait& wait = thread.wait;
    char text[100];
    switch (thread.state) {
        case State::EXITED: return "exited";
        case State::POLLING:
            if (!wait.mbarrier) return "polls memory";
            return "polls " + mbarrier_name(*wait.mbarrier) + " for parity " + std::to_string(wait.parity) + " (" +
                   mbarrier_state(*wait.mbarrier) + ")";
        case State::READY: return "can go on";
        case State::WAITING: break;
    }
    switch (wait.kind) {
        case WaitKind::CTA_BARRIER:
            if (wait.barrier == 0) return "waits at a CTA barrier";
            snprintf(text, sizeof text, "waits at named barrier %u", wait.barrier);
            return text;
        case WaitKind::MBARRIER:
            return "waits at " + mbarrier_name(*wait.mbarrier) + " for parity " + std::to_string(wait.parity) + " (" +
                   mbarrier_state(*wait.mbarrier) + ")";
        case WaitKind::CLUSTER_BARRIER: return "waits at the cluster barrier";
        case WaitKind::GRID_BARRIER: return "waits at the grid barrier";
        case WaitKind::WARP:
            snprintf(text, sizeof text, "waits at %s with mask 0x%08x", collective_name(wait.collective), wait.mask);
            return text;
        default: return "runs";
    }
}

// Threads that are in the same state at the same place, as one entry each.
std::string states_json()
{
    struct Group {
        const Thread* example;
        uint64_t threads = 0;
        std::set<const Cta*> ctas;
    };
    std::map<std::tuple<std::string, int>, Group> groups;
    for (const auto& cluster : launch.clusters) {
        if (cluster->live_ctas == 0) continue;
        for (const Cta& cta : cluster->ctas) {
            for (const Thread& thread : cta.threads) {
                const bool is_running = &thread == current;
                const std::string name = is_running && thread.state == State::READY ? "runs" : state_name(thread);
                Group& group = groups[{name, thread.state == State::EXITED ? 0 : thread.wait.line}];
                if (group.threads++ == 0) group.example = &thread;
                group.ctas.insert(&cta);
            }
        }
    }
    std::string result = "[";
    for (const auto& [key, group] : groups) {
        const Thread& thread = *group.example;
        std::vector<uintptr_t> pcs;
        if (thread.state != State::EXITED && &thread != current) pcs = walk_suspended(thread);
        if (result.size() > 1) result += ", ";
        result += "{\"state\": " + quoted(std::get<0>(key)) + ", \"line\": " + std::to_string(std::get<1>(key)) +
                  ", \"threads\": " + std::to_string(group.threads) + ", \"ctas\": " + std::to_string(group.ctas.size()) +
                  ", \"cta\": " + triple(thread.cta->index) + ", \"thread\": " + triple(thread.index) +
                  ", \"pcs\": " + numbers(pcs) + "}";
    }
    return result + "]";
}

std::string party_json(const Party& party)
{
    const auto pc = reinterpret_cast<uintptr_t>(party.pc);
    std::vector<uintptr_t> pcs;
    if (in_kernel(pc)) pcs.push_back(pc - 1 - launch.library_base);
    return "\"cta\": " + triple(party.cta) + ", \"thread\": " + triple(party.thread) + ", \"pcs\": " + numbers(pcs);
}

std::string findings_json()
{
    std::string result = "[";
    for (const auto& [key, finding] : findings) {
        if (result.size() > 1) result += ", ";
        result += "{\"kind\": " + quoted(finding.kind) + ", \"message\": " + quoted(finding.message) +
                  ", \"count\": " + std::to_string(finding.count) + ", " + party_json(finding.at);
        if (finding.has_other) result += ", \"other\": {" + party_json(finding.other) + "}";
        result += "}";
    }
    return result + "]";
}

void write_report(const std::string& error)
{
    write_changes();
    const std::string text = "{\"error\": " + error + ", \"findings\": " + findings_json() + ", \"counters\": " + counters_json() + "}\n";
    size_t done = 0;
    while (done < text.size()) {
        const ssize_t written = write(launch.request.report_file, text.data() + done, text.size() - done);
        if (written <= 0) break;
        done += static_cast<size_t>(written);
    }
}

std::string error_json(
    const char* kind, const std::string& message, int line, const std::vector<uintptr_t>& pcs, bool with_states)
{
    std::string result = "{\"kind\": " + quoted(kind) + ", \"message\": " + quoted(message) + ", \"line\": " + std::to_string(line) +
                         ", \"pcs\": " + numbers(pcs);
    if (current) result += ", \"cta\": " + triple(current->cta->index) + ", \"thread\": " + triple(current->index);
    return result + ", \"states\": " + (with_states ? states_json() : "[]") + "}";
}

}  // namespace

bool in_kernel(uintptr_t pc)
{
    Dl_info info;
    return dladdr(reinterpret_cast<void*>(pc), &info) && reinterpret_cast<uintptr_t>(info.dli_fbase) == launch.library_base;
}

std::string quoted(const std::string& text)
{
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
            result += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char code[8];
            snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
            result += code;
        } else {
            result += c;
        }
    }
    return result + "\"";
}

constexpr int FAILED = 3;

void fail(const char* kind, const std::string& message, int line, bool with_states)
{
    std::vector<uintptr_t> pcs;
    if (current) {
        const auto* frame = static_cast<const uintptr_t*>(__builtin_frame_address(0));
        pcs = walk(*current, frame[1], frame[0]);
    }
    fflush(stdout);
    write_report(error_json(kind, message, line, pcs, with_states));
    _exit(FAILED);
}

void fail_in_signal(const char* kind, const std::string& message, uintptr_t pc, uintptr_t frame_pointer)
{
    std::vector<uintptr_t> pcs;
    if (current) pcs = walk(*current, pc + 1, frame_pointer);
    fflush(stdout);
    write_report(error_json(kind, message, 0, pcs, false));
    _exit(FAILED);
}

void write_success()
{
    fflush(stdout);
    write_report("null");
}

void add_finding(const char* kind, const std::string& message, const void* pc)
{
    add_finding(kind, message, Party{pc, current->cta->index, current->index});
}

void add_finding(const char* kind, const std::string& message, const Party& at, const Party* other)
{
    const void* const other_pc = other ? other->pc : nullptr;
    const auto [found, is_new] =
        findings.try_emplace({kind, reinterpret_cast<uintptr_t>(at.pc), reinterpret_cast<uintptr_t>(other_pc)});
    Finding& finding = found->second;
    if (!is_new) {
        ++finding.count;
        return;
    }
    finding.kind = kind;
    finding.message = message;
    finding.at = at;
    finding.has_other = other != nullptr;
    if (other) finding.other = *other;
}

}  // namespace tle2cuda_emulator
