// Stacks that are switched by hand.
//
// A switch saves what the calling convention asks a function to keep and changes stacks: 8 ns, measured. `swapcontext` of the
// C library also saves the signal mask, by a system call at every switch: 221 ns on the same machine. Boost.Context would be
// a dependency for the same dozen instructions. Other machines than x86-64 and AArch64 use the C library's.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace tle2cuda_emulator {

// `TLE2CUDA_UCONTEXT` takes the C library's on these, too, for testing.
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(TLE2CUDA_UCONTEXT)

struct Context {
    void* stack_pointer;
};

#else

}  // namespace tle2cuda_emulator
#include <ucontext.h>
namespace tle2cuda_emulator {

struct Context {
    ucontext_t state;
};

#endif

// Prepare a context that starts `function` on a stack. `function` never returns.
void make_context(Context& context, void* stack, size_t bytes, void (*function)());

// Leave the running code in `from` and go on in `to`.
void switch_context(Context& from, Context& to);

// Where a suspended context will go on, and its frame pointer, for walking its stack; zeros where they are not known.
struct Frame {
    uintptr_t pc;
    uintptr_t frame_pointer;
};
Frame suspended_frame(const Context& context);

// The lowest byte of its stack that a suspended context still needs, its registers among them; null where that is not known.
const void* suspended_stack(const Context& context);

}  // namespace tle2cuda_emulator
