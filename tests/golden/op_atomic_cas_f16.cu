// compare_and_swap.cu: emitted by tle2cuda from atomics.py:97 (compare_and_swap). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 128 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp16 align 16, expected *fp16 align 16, out *fp16 align 16, old *fp16 align 16
//   constants BLOCK = 64

#include <cuda_fp16.h>

namespace {

// Orders this thread's accesses before it against those after it, as the whole GPU sees them (PTX ISA,
// fence.acq_rel.gpu). __threadfence() is the dearer fence.sc.
__device__ __forceinline__ void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(16) __half before_broadcast[64];  // scratch of atomics.py:99
};
static_assert(sizeof(Shared) <= 128, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
compare_and_swap(const __half* __restrict__ x, const __half* __restrict__ expected, __half* out,
                 __half* old)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // i = tl.arange(0, BLOCK)                                                         atomics.py:98
    const int i = thread % 64;

    // before = tl.atomic_cas(out + i, tl.load(expected + i), tl.load(x + i))          atomics.py:99
    const __half expected_value = expected[i];
    const __half x_value = x[i];
    __half before;
    fence_gpu();  // release: what this thread wrote comes before the atomics
    if (thread < 64) shared.before_broadcast[thread % 64] = __ushort_as_half(atomicCAS(reinterpret_cast<unsigned short*>(out + i), __half_as_ushort(expected_value), __half_as_ushort(x_value)));
    fence_gpu();  // acquire: what follows sees what the atomics saw
    __syncthreads();  // the old values are in shared memory
    before = shared.before_broadcast[thread % 64];

    // tl.store(old + i, before)                                                      atomics.py:100
    if (thread < 64) old[i] = before;
}
