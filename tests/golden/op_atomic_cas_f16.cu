// compare_and_swap.cu: emitted by tle2cuda from atomics.py:97 (compare_and_swap). Do not edit.
//
//   target    sm_90a, 64 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp16 align 16, expected *fp16 align 16, out *fp16 align 16, old *fp16 align 16
//   constants BLOCK = 64

#include <cuda_fp16.h>

namespace {

// Orders this thread's accesses before it against those after it, as the whole GPU sees them (PTX ISA,
// fence.acq_rel.gpu). __threadfence() is the dearer fence.sc.
__device__ __forceinline__ void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

}  // namespace

extern "C" __global__ void __launch_bounds__(64)
compare_and_swap(const __half* __restrict__ x, const __half* __restrict__ expected, __half* out,
                 __half* old)
{
    const int thread = threadIdx.x;

    // before = tl.atomic_cas(out + i, tl.load(expected + i), tl.load(x + i))          atomics.py:99
    const __half expected_value = expected[thread];
    const __half x_value = x[thread];
    fence_gpu();  // release: what this thread wrote comes before the atomics
    const __half before = __ushort_as_half(atomicCAS(reinterpret_cast<unsigned short*>(out + thread), __half_as_ushort(expected_value), __half_as_ushort(x_value)));
    fence_gpu();  // acquire: what follows sees what the atomics saw

    // tl.store(old + i, before)                                                      atomics.py:100
    old[thread] = before;
}
