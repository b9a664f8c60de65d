// scalar_atomics.cu: emitted by tle2cuda from atomics.py:112 (scalar_atomics). Do not edit.
//
//   target    sm_90a, 64 threads per CTA, 32 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      counter *i32 align 16, out *i32 align 16, n i32

namespace {

// Orders this thread's accesses before it against those after it, as the whole GPU sees them (PTX ISA,
// fence.acq_rel.gpu). __threadfence() is the dearer fence.sc.
__device__ __forceinline__ void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// `value << amount` for any amount: one outside [0, bits) shifts out everything, as the hardware does and C++ leaves open.
template <typename T>
__device__ __forceinline__ T shift_left(T value, T amount)
{
    constexpr unsigned BITS = 8 * sizeof(T);
    return static_cast<unsigned long long>(amount) < BITS ? static_cast<T>(value << amount) : T(0);
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int ticket_broadcast[1];      // scratch of atomics.py:115
    alignas(16) int skipped_broadcast[1];     // scratch of atomics.py:120
};
static_assert(sizeof(Shared) <= 32, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(64)
scalar_atomics(int* counter, int* out, const int n)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // p = tl.program_id(0)                                                           atomics.py:114
    const int p = blockIdx.x;

    // ticket = tl.atomic_add(counter, 1)                                             atomics.py:115
    __syncthreads();  // the whole CTA's writes come before the release
    if (thread == 0) {
        fence_gpu();  // release: what this thread wrote comes before the atomics
        shared.ticket_broadcast[0] = atomicAdd(counter, 1);
        fence_gpu();  // acquire: what follows sees what the atomics saw
    }
    __syncthreads();  // every thread reads the value that one thread obtained
    const int ticket = shared.ticket_broadcast[0];

    // tl.store(out + ticket * 64 + i, i + ticket)                                    atomics.py:117
    *(out + ticket * 64 + thread) = ticket + thread;

    // tl.atomic_max(counter + 1, p * 10)                                             atomics.py:118
    __syncthreads();  // the whole CTA's writes come before the release
    if (thread == 0) {
        fence_gpu();  // release: what this thread wrote comes before the atomics
        atomicMax(counter + 1, p * 10);
    }

    // tl.atomic_add(counter + 2, 5, mask=p < n)                                      atomics.py:119
    __syncthreads();  // the whole CTA's writes come before the release
    if (thread == 0) {
        fence_gpu();  // release: what this thread wrote comes before the atomics
        if (p < n) atomicAdd(counter + 2, 5);
    }

    // skipped = tl.atomic_add(counter + 3, 7, mask=p > 100)                          atomics.py:120
    __syncthreads();  // the whole CTA's writes come before the release
    if (thread == 0) {
        fence_gpu();  // release: what this thread wrote comes before the atomics
        shared.skipped_broadcast[0] = p > 100 ? atomicAdd(counter + 3, 7) : 0;
        fence_gpu();  // acquire: what follows sees what the atomics saw
    }
    __syncthreads();  // every thread reads the value that one thread obtained
    const int skipped = shared.skipped_broadcast[0];

    // tl.atomic_or(counter + 4, 1 << p, sem="relaxed")                               atomics.py:121
    if (thread == 0) atomicOr(counter + 4, shift_left<int>(1, p));

    // tl.atomic_add(counter + 5, skipped + 1)                                        atomics.py:122
    __syncthreads();  // the whole CTA's writes come before the release
    if (thread == 0) {
        fence_gpu();  // release: what this thread wrote comes before the atomics
        atomicAdd(counter + 5, skipped + 1);
    }
}
