// The callbacks of ThreadSanitizer's instrumentation (GCC and Clang, -fsanitize=thread), in place of its library.
#include <stdint.h>
#include <string.h>

#include <string>

#include "model.h"

using tle2cuda_emulator::note_access;
using tle2cuda_emulator::note_volatile;

// What the sanitizer of signed overflow hands over (-fsanitize=signed-integer-overflow, in kernels that are checked for it).
struct OverflowType {
    uint16_t kind;
    uint16_t info;  // bit 0: signed; above: log2 of the bits
    char name[1];
};
struct OverflowPlace {
    const char* file;
    uint32_t line, column;
    const OverflowType* type;
};

namespace {

long long number_of(const OverflowPlace& place, uintptr_t value)
{
    const unsigned bits = 1u << (place.type->info >> 1);
    return bits >= 64 ? static_cast<long long>(value) : static_cast<long long>(value << (64 - bits)) >> (64 - bits);
}

void note_overflow(const OverflowPlace& place, uintptr_t a, const char* sign, uintptr_t b, const void* pc)
{
    const std::string text = std::to_string(number_of(place, a)) + sign + std::to_string(number_of(place, b));
    tle2cuda_emulator::add_finding("wrapped", "an offset wraps in " + std::to_string(1u << (place.type->info >> 1)) + " bits: " + text, pc);
}

}  // namespace

#define TLE2CUDA_HERE __builtin_return_address(0)
#define TLE2CUDA_CALLBACKS(bytes)                                                                                     \
    void __tsan_read##bytes(void* address) { note_access(address, bytes, false, TLE2CUDA_HERE, bytes); }              \
    void __tsan_write##bytes(void* address) { note_access(address, bytes, true, TLE2CUDA_HERE, bytes); }              \
    void __tsan_read_write##bytes(void* address) { note_access(address, bytes, true, TLE2CUDA_HERE, bytes); }         \
    void __tsan_unaligned_read##bytes(void* address) { note_access(address, bytes, false, TLE2CUDA_HERE, 1); }        \
    void __tsan_unaligned_write##bytes(void* address) { note_access(address, bytes, true, TLE2CUDA_HERE, 1); }        \
    void __tsan_volatile_read##bytes(void* address) { note_volatile(address, bytes, false, TLE2CUDA_HERE); }          \
    void __tsan_volatile_write##bytes(void* address) { note_volatile(address, bytes, true, TLE2CUDA_HERE); }          \
    void __tsan_unaligned_volatile_read##bytes(void* address) { note_volatile(address, bytes, false, TLE2CUDA_HERE); }\
    void __tsan_unaligned_volatile_write##bytes(void* address) { note_volatile(address, bytes, true, TLE2CUDA_HERE); }

extern "C" {

void __ubsan_handle_add_overflow(OverflowPlace* place, uintptr_t a, uintptr_t b)
{
    note_overflow(*place, a, " + ", b, TLE2CUDA_HERE);
}
void __ubsan_handle_sub_overflow(OverflowPlace* place, uintptr_t a, uintptr_t b)
{
    note_overflow(*place, a, " - ", b, TLE2CUDA_HERE);
}
void __ubsan_handle_mul_overflow(OverflowPlace* place, uintptr_t a, uintptr_t b)
{
    note_overflow(*place, a, " * ", b, TLE2CUDA_HERE);
}
void __ubsan_handle_negate_overflow(OverflowPlace* place, uintptr_t a)
{
    note_overflow(*place, 0, " - ", a, TLE2CUDA_HERE);
}
void __ubsan_handle_divrem_overflow(OverflowPlace* place, uintptr_t a, uintptr_t b)
{
    note_overflow(*place, a, " / ", b, TLE2CUDA_HERE);
}

TLE2CUDA_CALLBACKS(1)
TLE2CUDA_CALLBACKS(2)
TLE2CUDA_CALLBACKS(4)
TLE2CUDA_CALLBACKS(8)
TLE2CUDA_CALLBACKS(16)

void __tsan_read_range(void* address, unsigned long bytes)
{
    note_access(address, static_cast<unsigned>(bytes), false, TLE2CUDA_HERE, 1);
}
void __tsan_write_range(void* address, unsigned long bytes)
{
    note_access(address, static_cast<unsigned>(bytes), true, TLE2CUDA_HERE, 1);
}
// Some compilers call these, others the library's own, which kernels are linked to find as `__wrap_memcpy` and so on.
#define TLE2CUDA_BLOCKS(prefix)                                                      \
    void* prefix##memcpy(void* to, const void* from, unsigned long bytes)            \
    {                                                                                \
        note_access(from, static_cast<unsigned>(bytes), false, TLE2CUDA_HERE, 1);    \
        note_access(to, static_cast<unsigned>(bytes), true, TLE2CUDA_HERE, 1);       \
        return memcpy(to, from, bytes);                                              \
    }                                                                                \
    void* prefix##memmove(void* to, const void* from, unsigned long bytes)           \
    {                                                                                \
        note_access(from, static_cast<unsigned>(bytes), false, TLE2CUDA_HERE, 1);    \
        note_access(to, static_cast<unsigned>(bytes), true, TLE2CUDA_HERE, 1);       \
        return memmove(to, from, bytes);                                             \
    }                                                                                \
    void* prefix##memset(void* to, int value, unsigned long bytes)                   \
    {                                                                                \
        note_access(to, static_cast<unsigned>(bytes), true, TLE2CUDA_HERE, 1);       \
        return memset(to, value, bytes);                                             \
    }
TLE2CUDA_BLOCKS(__tsan_)
TLE2CUDA_BLOCKS(__wrap_)

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

}  // extern "C"
