#include "fiber.h"

#include <string.h>

namespace tle2cuda_emulator {

#if defined(__x86_64__) && !defined(TLE2CUDA_UCONTEXT)

// System V ABI: a function keeps rbx, rbp, r12 to r15 and the stack pointer. MXCSR is the same in all fibers.
extern "C" void tle2cuda_switch(void** from, void* to);
asm(R"(
    .text
    .p2align 4
    .globl tle2cuda_switch
    .type tle2cuda_switch, @function
tle2cuda_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size tle2cuda_switch, .-tle2cuda_switch
)");

void make_context(Context& context, void* stack, size_t bytes, void (*function)())
{
    // At a function's first instruction the stack pointer is 8 below a multiple of 16: the caller pushed its address.
    uintptr_t top = (reinterpret_cast<uintptr_t>(stack) + bytes) & ~uintptr_t(15);
    void** words = reinterpret_cast<void**>(top) - 8;
    memset(words, 0, 8 * sizeof(void*));
    words[6] = reinterpret_cast<void*>(function);  // behind six registers: what `ret` takes
    context.stack_pointer = words;
}

void switch_context(Context& from, Context& to) { tle2cuda_switch(&from.stack_pointer, to.stack_pointer); }

Frame suspended_frame(const Context& context)
{
    const auto* words = static_cast<const uintptr_t*>(context.stack_pointer);
    return {words[6], words[5]};
}

const void* suspended_stack(const Context& context) { return context.stack_pointer; }

#elif defined(__aarch64__) && !defined(TLE2CUDA_UCONTEXT)

// AAPCS64: a function keeps x19 to x28, the frame pointer x29, and the low halves of v8 to v15; x30 is where it returns.
extern "C" void tle2cuda_switch(void** from, void* to);
asm(R"(
    .text
    .p2align 4
    .globl tle2cuda_switch
    .type tle2cuda_switch, %function
tle2cuda_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size tle2cuda_switch, .-tle2cuda_switch
)");

void make_context(Context& context, void* stack, size_t bytes, void (*function)())
{
    uintptr_t top = (reinterpret_cast<uintptr_t>(stack) + bytes) & ~uintptr_t(15);
    void** words = reinterpret_cast<void**>(top) - 20;
    memset(words, 0, 20 * sizeof(void*));
    words[11] = reinterpret_cast<void*>(function);  // x30
    context.stack_pointer = words;
}

void switch_context(Context& from, Context& to) { tle2cuda_switch(&from.stack_pointer, to.stack_pointer); }

Frame suspended_frame(const Context& context)
{
    const auto* words = static_cast<const uintptr_t*>(context.stack_pointer);
    return {words[11], words[10]};
}

const void* suspended_stack(const Context& context) { return context.stack_pointer; }

#else

void make_context(Context& context, void* stack, size_t bytes, void (*function)())
{
    getcontext(&context.state);
    context.state.uc_stack.ss_sp = stack;
    context.state.uc_stack.ss_size = bytes;
    context.state.uc_link = nullptr;
    makecontext(&context.state, function, 0);
}

void switch_context(Context& from, Context& to) { swapcontext(&from.state, &to.state); }

Frame suspended_frame(const Context&) { return {0, 0}; }
const void* suspended_stack(const Context&) { return nullptr; }

#endif

}  // namespace tle2cuda_emulator
