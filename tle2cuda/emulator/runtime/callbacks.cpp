// The callbacks of ThreadSanitizer's instrumentation (GCC and Clang, -fsanitize=thread), in place of its library.
#include <string.h>

#include "model.h"

using tle2cuda_emulator::note_access;
using tle2cuda_emulator::note_volatile;

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
