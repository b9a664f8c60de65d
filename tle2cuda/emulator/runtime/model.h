// What a launch consists of while it runs: threads, warps, CTAs, clusters, and who waits for what.
#pragma once

#include <stdint.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../include/tle2cuda_emulator/abi.h"
#include "fiber.h"

namespace tle2cuda_emulator {

constexpr unsigned WARP_LANES = 32;
constexpr unsigned CTA_BARRIERS = 16;  // PTX ISA, barrier{.cta}: barriers 0 to 15

struct Cta;
struct Cluster;
struct Mbarrier;

enum class State : uint8_t {
    READY,    // can go on
    WAITING,  // at a collective, see `Wait`
    POLLING,  // read the same value again; goes on when the others did
    EXITED,
};

enum class WaitKind : uint8_t { NONE, CTA_BARRIER, CLUSTER_BARRIER, GRID_BARRIER, WARP, POLL, MBARRIER };

struct Wait {
    WaitKind kind = WaitKind::NONE;
    uint8_t barrier = 0;     // number of a CTA barrier
    uint8_t reduction = 0;   // BarrierReduction
    uint8_t collective = 0;  // Collective
    int line = 0;            // of the call
    unsigned mask = 0;       // warp collectives: who takes part
    unsigned width = 0;
    int other = 0;
    uint64_t value = 0;  // this thread's operand
    const Mbarrier* mbarrier = nullptr;
    unsigned parity = 0;  // of the phase that it waits for
};

// Who did something, and where.
struct Party {
    const void* pc = nullptr;  // behind the call in the kernel's code
    Index cta{}, thread{};
};

struct Copy;
using CopyList = std::vector<std::shared_ptr<Copy>>;

// Copies of one kind that a thread issued and has not seen complete: those since its last commit, and groups, oldest first.
struct CopyGroups {
    CopyList open;
    std::vector<CopyList> committed;
};

// Columns of tensor memory, and who did something with them.
struct TensorRange {
    unsigned column = 0, columns = 0;
    Party party;
};

// A load from tensor memory that has not filled its registers yet.
struct TensorLoad {
    void* registers;
    unsigned lane, column, shape, count;
    Party party;
};

struct TensorMemory;
struct WarpgroupProducts;

struct Thread {
    Context context;
    unsigned char* stack = nullptr;  // its lowest byte
    Cta* cta = nullptr;
    Index index{};
    unsigned linear = 0;  // in its CTA
    State state = State::EXITED;
    bool has_arrived_in_cluster = false;
    Wait wait;
    uint64_t result = 0;               // of the collective it waited at
    uint64_t cluster_generation = 0;   // of its last arrival
    // What it read last by loads that other threads' writes may change, and found there: a waiting loop may read a few places.
    struct Polled {
        const void* address = nullptr;
        uint64_t bits = 0;
    };
    static constexpr unsigned POLLED = 4;
    Polled polled[POLLED];
    unsigned next_polled = 0;
    CopyGroups element_copies, bulk_copies;  // cp.async, and bulk copies that complete in groups
    CopyGroups matrix_products;              // of its warpgroup
    size_t products = 0;                     // how many it has issued
    bool has_matrix_fence = false;           // its registers are as the next product may find them
    CopyList tensor_products;                // that it has started and not committed
    std::vector<TensorLoad> tensor_loads;
    std::vector<TensorRange> unfenced_loads;  // that no tcgen05.fence::before_thread_sync is behind
    bool has_tensor_fence = false;            // tcgen05.fence::after_thread_sync, since the last barrier
};

struct Warp {
    uint32_t present = 0;  // lanes that the CTA has
    uint32_t waiting = 0;  // lanes at a warp collective
    uint32_t exited = 0;
    std::vector<unsigned> registers;  // what setmaxnreg asked for, in order
};

// PTX ISA, "mbarrier": the object itself is opaque, so it lives here and not in the eight bytes of shared memory.
struct Mbarrier {
    const void* address = nullptr;
    unsigned arrivals = 0;  // that a phase takes
    unsigned pending = 0;   // that the current phase still waits for
    int64_t bytes = 0;      // expected minus delivered
    uint64_t phase = 0;     // phases completed
    CopyList in_flight;     // copies that will complete here
    std::vector<Thread*> waiting;
    Party initialized;
    Party expected;  // who last said how many bytes come
};

struct CtaBarrier {
    unsigned arrived = 0;
    unsigned expected = 0;  // of the call that came first
    unsigned true_count = 0;
    int line = 0;
    bool has_other_line = false;
};

// A barrier whose arrival and wait are two calls, among all threads that have not exited.
struct SplitBarrier {
    uint64_t live = 0;
    uint64_t arrived = 0;
    uint64_t generation = 0;
    int line = 0;  // of the call that came first
};

struct Cta {
    Cluster* cluster = nullptr;
    unsigned rank = 0;  // in its cluster
    unsigned slot = 0;  // place among the CTAs that are alive
    Index index{};
    unsigned live = 0;  // threads that have not exited
    unsigned char* shared = nullptr;
    unsigned char* stacks = nullptr;
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    CtaBarrier barriers[CTA_BARRIERS];
    std::map<unsigned, Mbarrier> mbarriers;  // by offset in shared memory
    std::vector<std::shared_ptr<WarpgroupProducts>> products;  // of each warpgroup
    std::shared_ptr<TensorMemory> tensor_memory;
};

struct Cluster {
    std::vector<Cta> ctas;
    SplitBarrier barrier;
    unsigned live_ctas = 0;
};

enum class Schedule : uint8_t { FORWARD, REVERSE, RANDOM };

// When an asynchronous copy reads and writes: once something waits for it, when it is issued, or at any moment between.
enum class Delivery : uint8_t { LATE, NOW, RANDOM };

// A part of global memory that an argument leads to.
struct Buffer {
    std::string name;
    unsigned char* begin = nullptr;
    uint64_t bytes = 0;
    bool is_uninitialized = false;  // some of it, see its arguments
};

// An array that a kernel is given, as a part of a buffer: arrays may overlap.
struct Argument {
    std::string name;
    size_t buffer = 0;
    uint64_t offset = 0, bytes = 0;
    unsigned element_bytes = 1;
    bool is_uninitialized = false;  // the kernel must write an element before it reads it
    bool is_dense = true;           // no bytes of others lie between its elements
};

// What the host asked for.
struct Request {
    std::string library;
    Index grid{1, 1, 1};
    Index cluster{1, 1, 1};
    unsigned cta_threads = 1;
    bool cooperative = false;
    unsigned static_shared = 0;
    unsigned dynamic_shared = 0;
    size_t stack_bytes = 64 * 1024;
    Schedule schedule = Schedule::FORWARD;
    uint64_t seed = 0;
    Delivery delivery = Delivery::LATE;
    unsigned resident_clusters = 1;  // how many start together when they need not
    uint64_t first_cluster = 0;      // which of the clusters run here, in the order of the schedule
    uint64_t num_clusters = UINT64_MAX;
    unsigned access_switch = 0;      // switch threads at one in so many accesses; 0 never
    double limit_s = 0;              // processor time after which the launch as a whole is given up; 0: never
    double stall_s = 30;             // processor time after which one thread's running alone is an endless loop
    std::vector<std::string> detect;  // names of observers
    int data_file = -1;
    int report_file = -1;
    int changes_file = -1;  // with it, memory is this process's own, and what it changed goes there
    std::vector<Buffer> buffers;
    std::vector<Argument> arguments;
    std::vector<std::vector<unsigned char>> values;  // of the parameters, in order
};

// SplitMix64: small, seeded, the same everywhere.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next()
    {
        uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    uint64_t below(uint64_t bound) { return next() % bound; }

private:
    uint64_t state_;
};

// Threads that are ready, as a bit each, with a summary of which words are not zero.
class ReadySet {
public:
    void resize(size_t bits);
    void add(size_t bit)
    {
        words_[bit / 64] |= uint64_t(1) << bit % 64;
        summary_[bit / 4096] |= uint64_t(1) << bit / 64 % 64;
    }
    void remove(size_t bit)
    {
        if ((words_[bit / 64] &= ~(uint64_t(1) << bit % 64)) == 0) summary_[bit / 4096] &= ~(uint64_t(1) << bit / 64 % 64);
    }
    // The first, the last or any ready thread; -1 when there is none.
    int64_t first() const;
    int64_t last() const;
    int64_t any(Random& random) const;

private:
    std::vector<uint64_t> words_;
    std::vector<uint64_t> summary_;
};

class Observer;

struct MemoryRange {
    const unsigned char* begin;
    uint64_t bytes;
};

struct Launch {
    Request request;
    std::vector<std::unique_ptr<Observer>> observers;
    std::vector<MemoryRange> argument_ranges;  // observers are not told of accesses inside of these
    void (*entry)(void* const*) = nullptr;
    std::vector<void*> parameters;
    uintptr_t library_base = 0;

    std::vector<std::unique_ptr<Cluster>> clusters;  // those that are alive, by slot
    std::vector<uint64_t> order;                     // in which clusters start
    size_t started = 0;
    unsigned cluster_size = 1;
    unsigned padded_threads = 64;  // bits of one CTA in `ready`
    SplitBarrier grid_barrier;

    unsigned char* shared_base = nullptr;  // the shared memory of slot 0, the others behind it
    size_t shared_stride = 0;
    size_t max_ctas = 0;
    unsigned shared_used = 0;  // bytes that `__shared__` variables take so far
    unsigned variable_gaps = 0;  // of that, bytes kept free between variables
    unsigned member_gaps = 0;  // bytes that the emulator adds between the members of `Shared`

    ReadySet ready;
    std::vector<Thread*> polling;
    CopyList copies;  // in flight
    Context host;  // the scheduler's own
    Random random{0};
    uint64_t switches = 0;
    uint64_t progress = 0;  // grows whenever something happens that a waiting thread might wait for
    uint64_t clock_reads = 0;  // a loop may wait for time to pass
    uint64_t barriers = 0;
    uint64_t collectives = 0;
};

extern Launch& launch;
extern Thread* current;

// ---- scheduler.cpp ----

void run_launch();
// Leave the processor: the thread's state says when it goes on.
void leave();
// Make a waiting thread ready.
void wake(Thread& thread);
// Go on later, when others had their turn.
void yield_ready();
void yield_polling(int line);
void yield_polling_at(const void* mbarrier, unsigned parity, int line);
// With the request's chance, at each access: a thread gives way.
void switch_at_access();
// Whether the thread read the same there not long ago.
bool has_polled(Thread& thread, const void* address, uint64_t bits);
bool thread_at(const Thread& thread, const void* address);

// In front of the shared variables, and behind each while there is room: an access just outside of one hits no other. Multiples
// of 128, which leave what lies in which bank.
constexpr unsigned VARIABLE_GAP_BYTES = 1024;
constexpr unsigned MAX_VARIABLE_GAPS = 16;
// Dynamic shared memory lies behind the static variables, aligned as swizzled tiles need it.
inline size_t dynamic_shared_offset()
{
    return (size_t(launch.request.static_shared) + 1023) / 1024 * 1024 + VARIABLE_GAP_BYTES * (MAX_VARIABLE_GAPS + 1);
}
inline Cluster& cluster_of(const Thread& thread) { return *thread.cta->cluster; }
inline Warp& warp_of(const Thread& thread) { return thread.cta->warps[thread.linear / WARP_LANES]; }
inline unsigned lane_of(const Thread& thread) { return thread.linear % WARP_LANES; }

// ---- copies.cpp ----

// At a random moment, some copy; once no thread can go on, the one that was issued last: whether there was any.
void deliver_at_random();
bool deliver_late();

// ---- warp.cpp, barriers.cpp ----

// Warps of a warpgroup must have set the same registers.
void check_registers(const Cta& cta);
// A lane is gone: who waits for it may be able to go on.
void warp_lane_exited(Thread& thread);
void split_barriers_exited(Thread& thread);

// ---- report.cpp ----

// Write the report and end the process. `thread` is the one at fault, or nullptr; its own stack is walked.
[[noreturn]] void fail(const char* kind, const std::string& message, int line = 0, bool with_states = false);
[[noreturn]] void fail_in_signal(const char* kind, const std::string& message, uintptr_t pc, uintptr_t frame_pointer);
void write_success();
// Whether an address lies in the kernel's library.
bool in_kernel(uintptr_t pc);
// A finding does not stop the launch; the first of each place, or pair of places, is kept.
void add_finding(const char* kind, const std::string& message, const void* pc);
void add_finding(const char* kind, const std::string& message, const Party& at, const Party* other = nullptr);
// A text as a JSON string.
std::string quoted(const std::string& text);

// ---- division.cpp ----

// Goes on behind an integer division of the kernel's that the processor refuses. False when the context is not at one.
bool finish_division(void* state);

// ---- memory.cpp ----

void map_buffers();
void write_changes();
// Called in front of every load and store of the kernel (callbacks.cpp); `pc` is behind the call, in the kernel's code.
void note_access(const void* address, unsigned bytes, bool is_write, const void* pc, unsigned alignment);
void note_volatile(const void* address, unsigned bytes, bool is_write, const void* pc);
std::string describe_address(const void* address);
std::string counters_json();

const char* collective_name(unsigned kind);

}  // namespace tle2cuda_emulator
