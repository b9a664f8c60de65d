// The runner: loads one kernel's library, runs one launch as the request on standard input says, writes a report.
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <iostream>
#include <sstream>

#include "elements.h"

namespace tle2cuda_emulator {

namespace {

unsigned char* bytes_at(uint64_t offset) { return reinterpret_cast<unsigned char*>(offset); }

std::vector<unsigned char> from_hexadecimal(const std::string& text)
{
    std::vector<unsigned char> bytes;
    for (size_t i = 0; i + 1 < text.size(); i += 2)
        bytes.push_back(static_cast<unsigned char>(std::stoul(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

// One keyword a line, as `launch.py` writes them. Pointers name a buffer and an offset and are filled in once it is mapped.
struct Pointer {
    size_t parameter, buffer;
    uint64_t offset;
    size_t at = 0;  // where in the parameter the address stands
};

void read_request(std::istream& input, std::vector<Pointer>& pointers)
{
    Request& request = launch.request;
    std::string line;
    while (std::getline(input, line)) {
        std::istringstream words(line);
        std::string key, text;
        words >> key;
        if (key == "library") {
            std::getline(words >> std::ws, request.library);
        } else if (key == "grid") {
            words >> request.grid.x >> request.grid.y >> request.grid.z;
        } else if (key == "cluster") {
            words >> request.cluster.x >> request.cluster.y >> request.cluster.z;
        } else if (key == "cta_threads") {
            words >> request.cta_threads;
        } else if (key == "cooperative") {
            words >> request.cooperative;
        } else if (key == "static_shared") {
            words >> request.static_shared;
        } else if (key == "dynamic_shared") {
            words >> request.dynamic_shared;
        } else if (key == "stack_bytes") {
            words >> request.stack_bytes;
        } else if (key == "schedule") {
            words >> text >> request.seed;
            request.schedule = text == "reverse" ? Schedule::REVERSE : text == "random" ? Schedule::RANDOM : Schedule::FORWARD;
        } else if (key == "delivery") {
            words >> text;
            request.delivery = text == "now" ? Delivery::NOW : text == "random" ? Delivery::RANDOM : Delivery::LATE;
        } else if (key == "resident_clusters") {
            words >> request.resident_clusters;
        } else if (key == "clusters") {
            words >> request.first_cluster >> request.num_clusters >> request.changes_file;
        } else if (key == "access_switch") {
            words >> request.access_switch;
        } else if (key == "stall_s") {
            words >> request.stall_s;
        } else if (key == "limit_s") {
            words >> request.limit_s;
        } else if (key == "detect") {
            while (words >> text) request.detect.push_back(text);
        } else if (key == "files") {
            words >> request.data_file >> request.report_file;
        } else if (key == "buffer") {
            Buffer buffer;
            uint64_t page_offset;
            words >> buffer.bytes >> page_offset;
            buffer.begin = bytes_at(page_offset);
            std::getline(words >> std::ws, buffer.name);
            request.buffers.push_back(buffer);
        } else if (key == "argument") {
            Argument argument;
            words >> argument.buffer >> argument.offset >> argument.bytes >> argument.element_bytes >> argument.is_uninitialized >>
                argument.is_dense;
            std::getline(words >> std::ws, argument.name);
            request.buffers.at(argument.buffer).is_uninitialized |= argument.is_uninitialized;
            request.arguments.push_back(argument);
        } else if (key == "pointer") {
            Pointer pointer{request.values.size(), 0, 0};
            words >> pointer.buffer >> pointer.offset;
            pointers.push_back(pointer);
            request.values.emplace_back(sizeof(void*));
        } else if (key == "tensor_map") {
            Pointer pointer{request.values.size(), 0, 0, offsetof(EncodedTensorMap, address)};
            words >> pointer.buffer >> pointer.offset >> text;
            pointers.push_back(pointer);
            request.values.push_back(from_hexadecimal(text));
        } else if (key == "value") {
            words >> text;
            request.values.push_back(from_hexadecimal(text));
        }
    }
}

void on_fault(int number, siginfo_t* info, void* state)
{
    if (number == SIGFPE && current && finish_division(state)) return;
#if defined(__x86_64__)
    const auto& registers = static_cast<ucontext_t*>(state)->uc_mcontext.gregs;
    const auto pc = static_cast<uintptr_t>(registers[REG_RIP]), frame = static_cast<uintptr_t>(registers[REG_RBP]);
#elif defined(__aarch64__)
    const auto& registers = static_cast<ucontext_t*>(state)->uc_mcontext;
    const uintptr_t pc = registers.pc, frame = registers.regs[29];
#else
    (void)state;
    const uintptr_t pc = 0, frame = 0;
#endif
    if (number == SIGFPE) fail_in_signal("division", "an integer division that the emulator cannot finish", pc, frame);
    if (number == SIGILL) fail_in_signal("trap", "the kernel executes an illegal instruction", pc, frame);
    if (current) {
        const auto* address = static_cast<const unsigned char*>(info->si_addr);
        if (address < current->stack && address + launch.request.stack_bytes > current->stack)
            fail_in_signal("stack", "a thread needs more stack than the emulator gives it", pc, frame);
    }
    fail_in_signal("out_of_bounds", "an access to " + describe_access(info->si_addr, 0), pc, frame);
}

// Ticks once a second of processor time: a thread that runs alone for very long is in an endless loop, and so are threads
// that meet again and again but never come to an end.
void on_tick(int, siginfo_t*, void* state)
{
    static uint64_t last_switches = 0;
    static double alone_s = 0, total_s = 0;
    total_s += 1;
    alone_s = launch.switches == last_switches ? alone_s + 1 : 0;
    last_switches = launch.switches;
    const bool over = launch.request.limit_s > 0 && total_s >= launch.request.limit_s;
    if (!current || (alone_s < launch.request.stall_s && !over)) return;
#if defined(__x86_64__)
    const auto& registers = static_cast<ucontext_t*>(state)->uc_mcontext.gregs;
    const auto pc = static_cast<uintptr_t>(registers[REG_RIP]), frame = static_cast<uintptr_t>(registers[REG_RBP]);
#else
    (void)state;
    const uintptr_t pc = 0, frame = 0;
#endif
    fail_in_signal("endless_loop",
                   over ? "the launch has not ended within its limit of processor time"
                        : "a thread runs without ever meeting another one",
                   pc, frame);
}

void install_handlers()
{
    static unsigned char alternate[256 * 1024];
    stack_t stack{};
    stack.ss_sp = alternate;
    stack.ss_size = sizeof alternate;
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    action.sa_sigaction = on_fault;
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(number, &action, nullptr);
    action.sa_sigaction = on_tick;
    action.sa_flags |= SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    const itimerval second{{1, 0}, {1, 0}};
    setitimer(ITIMER_PROF, &second, nullptr);
}

void load_kernel()
{
    Request& request = launch.request;
    void* const library = dlopen(request.library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) fail("load", dlerror());
    void* const entry = dlsym(library, "tle2cuda_entry");
    launch.entry = reinterpret_cast<void (*)(void* const*)>(entry);
    const auto parameter_bytes = reinterpret_cast<unsigned (*)(unsigned)>(dlsym(library, "tle2cuda_parameter_bytes"));
    Dl_info info;
    if (!launch.entry || !parameter_bytes || !dladdr(entry, &info)) fail("load", "the library holds no kernel");
    launch.library_base = reinterpret_cast<uintptr_t>(info.dli_fbase);
    if (const void* const members = dlsym(library, "tle2cuda_shared_members"))
        add_shared_members(static_cast<const SharedMember*>(members));
    if (const void* const gaps = dlsym(library, "tle2cuda_shared_gaps")) {
        const unsigned bytes = *static_cast<const unsigned*>(gaps);
        (request.dynamic_shared ? request.dynamic_shared : request.static_shared) += bytes;
        launch.member_gaps = bytes;
    }
    for (size_t i = 0; i < request.values.size(); ++i) {
        const unsigned wanted = parameter_bytes(static_cast<unsigned>(i));
        if (wanted != request.values[i].size())
            fail("load", "parameter " + std::to_string(i) + " takes " + std::to_string(wanted) + " bytes, given " +
                 std::to_string(request.values[i].size()));
        // Tensor maps are aligned to 64 bytes.
        const size_t bytes = (wanted + 63) / 64 * 64;
        launch.parameters.push_back(memcpy(aligned_alloc(64, bytes), request.values[i].data(), wanted));
    }
    if (parameter_bytes(static_cast<unsigned>(request.values.size()))) fail("load", "the kernel has more parameters than values");
}

int run()
{
    std::vector<Pointer> pointers;
    read_request(std::cin, pointers);
    install_handlers();
    map_buffers();
    for (const Pointer& pointer : pointers) {
        unsigned char* const address = launch.request.buffers.at(pointer.buffer).begin + pointer.offset;
        memcpy(launch.request.values[pointer.parameter].data() + pointer.at, &address, sizeof address);
    }
    load_kernel();
    create_observers();
    run_launch();
    write_success();
    return 0;
}

}  // namespace

// ---- What threads ask about themselves ----

extern "C" Index tle2cuda_thread_index() { return current->index; }
extern "C" Index tle2cuda_block_index() { return current->cta->index; }
extern "C" Index tle2cuda_block_extent() { return {launch.request.cta_threads, 1, 1}; }
extern "C" Index tle2cuda_grid_extent() { return launch.request.grid; }
extern "C" Index tle2cuda_cluster_extent() { return launch.request.cluster; }
extern "C" Index tle2cuda_cluster_block_index()
{
    const Index shape = launch.request.cluster;
    const unsigned rank = current->cta->rank;
    return {rank % shape.x, rank / shape.x % shape.y, rank / shape.x / shape.y};
}
extern "C" unsigned tle2cuda_cluster_rank() { return current->cta->rank; }
extern "C" unsigned tle2cuda_lane() { return lane_of(*current); }

extern "C" int tle2cuda_printf(const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char* text = nullptr;
    int written = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (written < 0) return written;
    std::string line = text;
    free(text);
    // What has no value is negative on x86 and positive on a GPU: its sign says nothing.
    if (!strstr(format, "-nan"))
        for (size_t at; (at = line.find("-nan")) != std::string::npos;) line.erase(at, 1);
    fwrite(line.data(), 1, line.size(), stdout);
    return static_cast<int>(line.size());
}

extern "C" void tle2cuda_trap(const char* what, int line) { fail("trap", std::string("the kernel stopped at ") + what, line); }

extern "C" uint64_t tle2cuda_clock()
{
    ++launch.clock_reads;
    return launch.switches * 64;
}

}  // namespace tle2cuda_emulator

int main() { return tle2cuda_emulator::run(); }
