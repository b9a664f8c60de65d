// How the runner calls a kernel: an array with the address of each parameter's value, as for `cuLaunchKernel`.
#pragma once

#include <stddef.h>

#include <type_traits>
#include <utility>

// Reads of parameters are no accesses to memory. A function without instrumentation takes in none that has it.
#define TLE2CUDA_UNOBSERVED __attribute__((no_sanitize("thread")))

namespace tle2cuda_emulator {

template <class... Parameters, size_t... Places>
TLE2CUDA_UNOBSERVED inline void call(void (*kernel)(Parameters...), void* const* values, std::index_sequence<Places...>)
{
    kernel(*static_cast<std::remove_const_t<Parameters>*>(values[Places])...);
}

template <class... Parameters>
TLE2CUDA_UNOBSERVED inline void call(void (*kernel)(Parameters...), void* const* values)
{
    call(kernel, values, std::index_sequence_for<Parameters...>());
}

template <class... Parameters>
inline unsigned parameter_bytes(void (*)(Parameters...), unsigned index)
{
    const unsigned bytes[] = {static_cast<unsigned>(sizeof(Parameters))..., 0};
    return index < sizeof...(Parameters) ? bytes[index] : 0;
}

}  // namespace tle2cuda_emulator

#define TLE2CUDA_ENTRY(kernel)                                                                                          \
    extern "C" TLE2CUDA_UNOBSERVED void tle2cuda_entry(void* const* values)                                             \
    {                                                                                                                   \
        ::tle2cuda_emulator::call(kernel, values);                                                                      \
    }                                                                                                                   \
    extern "C" unsigned tle2cuda_parameter_bytes(unsigned index)                                                        \
    {                                                                                                                   \
        return ::tle2cuda_emulator::parameter_bytes(kernel, index);                                                     \
    }
