// Global and shared memory, and every access to them: kernels are compiled with the instrumentation of ThreadSanitizer, whose
// callbacks are defined here in place of its library. So each load and store of the unmodified text comes by with its address
// and size.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../include/tle2cuda_emulator/numerics.h"
#include "async.h"

namespace tle2cuda_emulator {

namespace {

constexpr size_t GUARD_BYTES = size_t(4) << 20;
constexpr size_t PAGE_BYTES = 4096;

const Cta* cta_of_slot(size_t slot)
{
    const size_t cluster = slot / launch.cluster_size;
    return cluster < launch.clusters.size() ? &launch.clusters[cluster]->ctas[slot % launch.cluster_size] : nullptr;
}

}  // namespace

Place locate(const void* pointer)
{
    const auto* address = static_cast<const unsigned char*>(pointer);
    Place place;
    const size_t shared = static_cast<size_t>(address - launch.shared_base);
    if (address >= launch.shared_base && shared < launch.shared_stride * launch.max_ctas) {
        place.space = Space::SHARED;
        place.cta = cta_of_slot(shared / launch.shared_stride);
        place.offset = static_cast<int64_t>(shared % launch.shared_stride);
        return place;
    }
    for (const Buffer& buffer : launch.request.buffers) {
        if (address + GUARD_BYTES < buffer.begin || address >= buffer.begin + buffer.bytes + GUARD_BYTES) continue;
        place.space = Space::GLOBAL;
        place.buffer = &buffer;
        place.offset = address - buffer.begin;
        return place;
    }
    return place;
}

uint64_t shared_bytes()
{
    return uint64_t(launch.request.static_shared) + launch.request.dynamic_shared - launch.member_gaps;
}

bool has_polled(Thread& thread, const void* address, uint64_t bits)
{
    for (Thread::Polled& polled : thread.polled) {
        if (polled.address != address) continue;
        const bool is_same = polled.bits == bits;
        polled.bits = bits;
        return is_same;
    }
    thread.polled[thread.next_polled++ % Thread::POLLED] = {address, bits};
    return false;
}

void switch_at_access()
{
    const unsigned one_in = launch.request.access_switch;
    if (one_in && launch.random.below(one_in) == 0) yield_ready();
}

namespace {

// Whether an access lies inside of the memory of an argument: most do, and of them nothing more needs to be known.
inline bool is_in_argument(const Access& access)
{
    const auto* const first = static_cast<const unsigned char*>(access.address);
    for (const MemoryRange& range : launch.argument_ranges)
        if (const auto offset = static_cast<uint64_t>(first - range.begin); offset < range.bytes) return offset + access.bytes <= range.bytes;
    return false;
}

// In front of each access: observers see it, and a schedule may switch threads here.
inline void note(const Access& access)
{
    if (!current || thread_at(*current, access.address)) return;
    if (access.kind == AccessKind::WRITE) ++launch.progress;
    switch_at_access();
    if (!launch.observers.empty() && !is_in_argument(access)) {
        const Place place = locate(access.address);
        observe([&](Observer& observer) { observer.accessed(*current, access, place); });
    }
}

void note_performed(const Access& access, bool has_written)
{
    if (current && !thread_at(*current, access.address))
        observe([&](Observer& observer) { observer.performed(*current, access, has_written); });
}

uint64_t peek(const void* address, unsigned bytes)
{
    uint64_t bits = 0;
    memcpy(&bits, address, std::min(bytes, 8u));
    return bits;
}

// A load that other threads' writes may change. Reading the same again gives the others a turn.
void poll(const void* address, unsigned bytes)
{
    if (!has_polled(*current, address, peek(address, bytes))) return;
    yield_polling(0);
    has_polled(*current, address, peek(address, bytes));  // others may have run meanwhile
}

}  // namespace

void note_access(const void* address, unsigned bytes, bool is_write, const void* pc, unsigned alignment)
{
    note({address, bytes, alignment, is_write ? AccessKind::WRITE : AccessKind::READ, ORDER_RELAXED, SCOPE_CTA, true, pc});
}

void note_volatile(const void* address, unsigned bytes, bool is_write, const void* pc)
{
    const Access access{address, bytes, bytes, is_write ? AccessKind::WRITE : AccessKind::READ, ORDER_VOLATILE, SCOPE_SYSTEM, false, pc};
    note(access);
    if (!current) return;
    if (!is_write) poll(address, bytes);
    note_performed(access, is_write);
}

bool thread_at(const Thread& thread, const void* address)
{
    return static_cast<size_t>(static_cast<const unsigned char*>(address) - thread.stack) < launch.request.stack_bytes;
}

// ---- Buffers ----

// Each buffer between inaccessible pages, so that what strays far ends the run.
void map_buffers()
{
    const std::vector<std::string>& detect = launch.request.detect;
    const bool is_checked = std::find(detect.begin(), detect.end(), "bounds") != detect.end();
    uint64_t file_offset = 0;
    for (Buffer& buffer : launch.request.buffers) {
        const auto inside = reinterpret_cast<uintptr_t>(buffer.begin);  // where in its first page it starts
        const size_t pages = (inside + buffer.bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
        void* const memory =
            mmap(nullptr, pages + 2 * GUARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) fail("resources", "cannot reserve memory for argument " + buffer.name);
        unsigned char* const first = static_cast<unsigned char*>(memory) + GUARD_BYTES;
        const int sharing = launch.request.changes_file < 0 ? MAP_SHARED : MAP_PRIVATE;
        if (pages && mmap(first, pages, PROT_READ | PROT_WRITE, sharing | MAP_FIXED, launch.request.data_file,
                          static_cast<off_t>(file_offset)) == MAP_FAILED)
            fail("resources", "cannot map argument " + buffer.name);
        // An access just outside is a finding and does no harm; without the detector it ends the run where a page ends.
        if (is_checked) {
            mprotect(first - PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE);
            mprotect(first + pages, PAGE_BYTES, PROT_READ | PROT_WRITE);
        }
        buffer.begin = first + inside;
        if (is_checked && detect.size() == 1) launch.argument_ranges.push_back({buffer.begin, buffer.bytes});
        file_offset += pages;
    }
}

namespace {

// Whether a private page still is the file's own. Linux says so in 8 bytes for each page (proc(5), /proc/pid/pagemap): bits
// 63 and 62 are set when it is in memory or swapped out, bit 61 when it belongs to a file. Unknown counts as changed.
bool is_untouched(int pagemap, const unsigned char* page)
{
    uint64_t entry = 0;
    const auto at = static_cast<off_t>(reinterpret_cast<uintptr_t>(page) / PAGE_BYTES * sizeof entry);
    if (pagemap < 0 || pread(pagemap, &entry, sizeof entry, at) != static_cast<ssize_t>(sizeof entry)) return false;
    return entry >> 62 == 0 || (entry >> 61 & 1);
}

}  // namespace

// Pages that differ from the file, each behind its number in it: what this process changed, when others run beside it.
// Called at the end, also in a signal handler.
void write_changes()
{
    if (launch.request.changes_file < 0) return;
    const int pagemap = sysconf(_SC_PAGESIZE) == PAGE_BYTES ? open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC) : -1;
    uint64_t file_page = 0;
    for (const Buffer& buffer : launch.request.buffers) {
        const uintptr_t inside = reinterpret_cast<uintptr_t>(buffer.begin) % PAGE_BYTES;
        const unsigned char* const first = buffer.begin - inside;
        const uint64_t pages = (inside + buffer.bytes + PAGE_BYTES - 1) / PAGE_BYTES;
        if (!pages) continue;
        void* const before = mmap(nullptr, pages * PAGE_BYTES, PROT_READ, MAP_SHARED, launch.request.data_file,
                                  static_cast<off_t>(file_page * PAGE_BYTES));
        if (before == MAP_FAILED) _exit(1);
        for (uint64_t page = 0; page < pages; ++page) {
            const size_t at = page * PAGE_BYTES;
            if (is_untouched(pagemap, first + at)) continue;
            if (memcmp(first + at, static_cast<unsigned char*>(before) + at, PAGE_BYTES) == 0) continue;
            unsigned char record[sizeof(uint64_t) + PAGE_BYTES];
            const uint64_t number = file_page + page;
            memcpy(record, &number, sizeof number);
            memcpy(record + sizeof number, first + at, PAGE_BYTES);
            if (write(launch.request.changes_file, record, sizeof record) != static_cast<ssize_t>(sizeof record)) _exit(1);
        }
        munmap(before, pages * PAGE_BYTES);
        file_page += pages;
    }
}

std::string describe_address(const void* address)
{
    const Place place = locate(address);
    char text[200];
    if (place.space == Space::GLOBAL) {
        const auto bytes = static_cast<long long>(place.buffer->bytes);
        const long long offset = place.offset;
        if (offset < 0)
            snprintf(text, sizeof text, "%s, %lld bytes before its beginning", place.buffer->name.c_str(), -offset);
        else if (offset >= bytes)
            snprintf(text, sizeof text, "%s, %lld bytes behind its end (it has %lld bytes)", place.buffer->name.c_str(),
                     offset - bytes, bytes);
        else
            snprintf(text, sizeof text, "%s, byte %lld of %lld", place.buffer->name.c_str(), offset, bytes);
        return text;
    }
    if (place.space == Space::SHARED && place.cta) {
        const auto offset = static_cast<unsigned>(place.offset);
        const std::string of_cta = " in shared memory of CTA " + triple_text(place.cta->index);
        const Variable* const variable = nearest_variable(offset, 1);
        if (!variable) return "a byte outside of every variable" + of_cta;
        const unsigned bytes = variable->end - variable->begin;
        if (offset < variable->begin)
            snprintf(text, sizeof text, ", %u bytes before its beginning", variable->begin - offset);
        else if (offset >= variable->end)
            snprintf(text, sizeof text, ", %u bytes behind its end (it has %u bytes)", offset - variable->end, bytes);
        else
            snprintf(text, sizeof text, ", byte %u of %u,", offset - variable->begin, bytes);
        return variable->name + text + of_cta;
    }
    snprintf(text, sizeof text, "address %p, which belongs to no argument", address);
    return text;
}

// ---- Shared memory ----

extern "C" void* tle2cuda_shared(SharedSlot* slot)
{
    if (slot->offset_plus_one == 0) {
        if (launch.shared_used == 0) launch.shared_used = launch.variable_gaps = VARIABLE_GAP_BYTES;
        const unsigned offset = (launch.shared_used + slot->alignment - 1) / slot->alignment * slot->alignment;
        const unsigned used = offset + slot->bytes - launch.variable_gaps;
        if (used > launch.request.static_shared)
            fail("resources", "the kernel's shared variables take " + std::to_string(used - launch.member_gaps) + " bytes with `" +
                 slot->name + "`, the launch contract says " + std::to_string(launch.request.static_shared - launch.member_gaps));
        launch.shared_used = offset + slot->bytes;
        if (launch.variable_gaps < VARIABLE_GAP_BYTES * MAX_VARIABLE_GAPS) {
            launch.shared_used += VARIABLE_GAP_BYTES;
            launch.variable_gaps += VARIABLE_GAP_BYTES;
        }
        slot->offset_plus_one = offset + 1;
        add_shared_variable(*slot, offset);
    }
    return current->cta->shared + slot->offset_plus_one - 1;
}

extern "C" void* tle2cuda_dynamic_shared()
{
    add_dynamic_shared(static_cast<unsigned>(dynamic_shared_offset()));
    return current->cta->shared + dynamic_shared_offset();
}

extern "C" void* tle2cuda_map_shared(const void* address, unsigned rank)
{
    const Place place = locate(address);
    if (place.space != Space::SHARED) fail("remote", "mapped to another CTA: " + describe_address(address) + ", not shared memory");
    if (rank >= launch.cluster_size)
        fail("remote", "CTA " + std::to_string(rank) + " of a cluster of " + std::to_string(launch.cluster_size));
    return cluster_of(*current).ctas[rank].shared + place.offset;
}

extern "C" int tle2cuda_rank_of(const void* address)
{
    const Place place = locate(address);
    return place.space == Space::SHARED && place.cta ? static_cast<int>(place.cta->rank) : -1;
}

extern "C" unsigned tle2cuda_space_of(const void* address)
{
    const Place place = locate(address);
    return place.space == Space::GLOBAL ? MEMORY_GLOBAL : place.space == Space::SHARED ? MEMORY_SHARED : MEMORY_OTHER;
}

// ---- Atomics ----

namespace {

template <class T>
T as(uint64_t bits)
{
    T value;
    memcpy(&value, &bits, sizeof(T));
    return value;
}

template <class T>
uint64_t bits_of(T value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(T));
    return bits;
}

template <class T>
T combined_integers(unsigned kind, T old, T operand, T compare)
{
    switch (kind) {
        case ATOMIC_ADD: return static_cast<T>(old + operand);
        case ATOMIC_SUB: return static_cast<T>(old - operand);
        case ATOMIC_AND: return static_cast<T>(old & operand);
        case ATOMIC_OR: return static_cast<T>(old | operand);
        case ATOMIC_XOR: return static_cast<T>(old ^ operand);
        case ATOMIC_MIN: return std::min(old, operand);
        case ATOMIC_MAX: return std::max(old, operand);
        case ATOMIC_COMPARE: return old == compare ? operand : old;
        case ATOMIC_INCREMENT: return old >= operand ? T(0) : static_cast<T>(old + 1);
        case ATOMIC_DECREMENT: return old == 0 || old > operand ? operand : static_cast<T>(old - 1);
    }
    return operand;  // exchange
}

// 16-bit floats: reductions know their minimum and maximum, in which a number wins against NaN.
double combined_floats(unsigned kind, double old, double operand)
{
    if (kind == ATOMIC_MIN) return std::fmin(old, operand);
    if (kind == ATOMIC_MAX) return std::fmax(old, operand);
    return old + operand;
}

}  // namespace

uint64_t combined(unsigned kind, unsigned type, uint64_t old, uint64_t operand, uint64_t compare)
{
    if (kind == ATOMIC_EXCHANGE) return operand;
    switch (type) {
        case TYPE_I32:  // sums wrap: computed without a sign, as the bits are the same
            if (kind == ATOMIC_MIN || kind == ATOMIC_MAX)
                return bits_of(combined_integers(kind, as<int32_t>(old), as<int32_t>(operand), int32_t(0)));
            [[fallthrough]];
        case TYPE_U32: return combined_integers(kind, as<uint32_t>(old), as<uint32_t>(operand), as<uint32_t>(compare));
        case TYPE_I64:
            if (kind == ATOMIC_MIN || kind == ATOMIC_MAX)
                return bits_of(combined_integers(kind, as<int64_t>(old), as<int64_t>(operand), int64_t(0)));
            [[fallthrough]];
        case TYPE_U64: return combined_integers(kind, old, operand, compare);
        case TYPE_U16: return combined_integers(kind, as<uint16_t>(old), as<uint16_t>(operand), as<uint16_t>(compare));
        case TYPE_F32: return bits_of(as<float>(old) + as<float>(operand));
        case TYPE_F64: return bits_of(as<double>(old) + as<double>(operand));
        case TYPE_F16: return Half::round(combined_floats(kind, Half::value(as<uint16_t>(old)), Half::value(as<uint16_t>(operand))));
        case TYPE_BF16: return Bfloat16::round(combined_floats(kind, Bfloat16::value(as<uint16_t>(old)), Bfloat16::value(as<uint16_t>(operand))));
    }
    return operand;
}

unsigned element_bytes_of(unsigned type)
{
    switch (type) {
        case TYPE_I64:
        case TYPE_U64:
        case TYPE_F64: return 8;
        case TYPE_F16:
        case TYPE_BF16:
        case TYPE_U16: return 2;
    }
    return 4;
}

extern "C" uint64_t tle2cuda_atomic(
    unsigned kind, unsigned type, void* address, uint64_t operand, uint64_t compare, unsigned order, unsigned scope)
{
    const unsigned bytes = element_bytes_of(type);
    if (reinterpret_cast<uintptr_t>(address) % bytes) fail("misaligned", "an atomic on " + describe_address(address));
    const Access access{address, bytes, bytes, AccessKind::ATOMIC, Order(order), Scope(scope), false, __builtin_return_address(0)};
    note(access);
    uint64_t old = peek(address, bytes);
    if (combined(kind, type, old, operand, compare) == old) {
        poll(address, bytes);
        old = peek(address, bytes);  // others may have run meanwhile
    }
    note_performed(access, kind != ATOMIC_COMPARE || old == compare);
    const uint64_t fresh = combined(kind, type, old, operand, compare);
    if (fresh == old) return old;
    memcpy(address, &fresh, bytes);
    ++launch.progress;
    return old;
}

extern "C" uint64_t tle2cuda_load(const void* address, unsigned bytes, unsigned order, unsigned scope)
{
    const Access access{address, bytes, bytes, AccessKind::READ, Order(order), Scope(scope), false, __builtin_return_address(0)};
    note(access);
    poll(address, bytes);
    note_performed(access, false);
    return peek(address, bytes);
}

extern "C" void tle2cuda_store(void* address, unsigned bytes, uint64_t bits, unsigned order, unsigned scope)
{
    const Access access{address, bytes, bytes, AccessKind::WRITE, Order(order), Scope(scope), false, __builtin_return_address(0)};
    note(access);
    note_performed(access, true);
    memcpy(address, &bits, bytes);
}

extern "C" void tle2cuda_fence(unsigned scope)
{
    observe([&](Observer& observer) { observer.fenced(*current, Scope(scope)); });
}

extern "C" void tle2cuda_pause() { yield_polling(0); }

std::string counters_json()
{
    return "{\"switches\": " + std::to_string(launch.switches) + ", \"barriers\": " + std::to_string(launch.barriers) +
           ", \"collectives\": " + std::to_string(launch.collectives) + observed_counters_json() + "}";
}

}  // namespace tle2cuda_emulator
