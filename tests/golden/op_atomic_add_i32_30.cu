// own_places.cu: emitted by tle2cuda from atomics.py:17 (own_places). Do not edit.
//
//   target    sm_90a, 32 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, old *i32 align 16, n i32
//   constants OP = add, BLOCK = 32

namespace {

// Orders this thread's accesses before it against those after it, as the whole GPU sees them (PTX ISA,
// fence.acq_rel.gpu). __threadfence() is the dearer fence.sc.
__device__ __forceinline__ void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// Load one element of global memory if a condition holds, else take `other` (read-only data): one predicated load (PTX ISA,
// ld.global.nc). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ int load_nc_if(bool condition, const int* pointer, int other)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.nc.s32 %0, [%1];\n\t}"
        : "+r"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return other;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(32)
own_places(const int* __restrict__ x, int* out, int* old, const int n)
{
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                              atomics.py:19
    const int pid_x = blockIdx.x;
    const int i = pid_x * 32 + thread;

    // value = tl.load(x + i, mask=i < n, other=0)                                     atomics.py:20
    const bool inside = i < n;
    const int value = load_nc_if(inside, x + i, 0);
    fence_gpu();  // release: what this thread wrote comes before the atomics

    // before = OP(out + i, value, (i < n) & (i % 3 != 1))                             atomics.py:21
    const bool m = inside && i % 3 != 1;

    // return tl.atomic_add(p, v, mask=m)                                              atomics.py:48
    int before = 0;
    if (m) before = atomicAdd(out + i, value);
    fence_gpu();  // acquire: what follows sees what the atomics saw

    // tl.store(old + i, before, mask=i < n)                                           atomics.py:22
    if (inside) old[i] = before;
}
