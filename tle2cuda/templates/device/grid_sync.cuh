// defines: grid_sync
// Barrier of all CTAs of a cooperative launch; orders global memory. Called by every thread. `words[0]` is zeroed once,
// before the first launch: CTA 0 adds what is missing to 2^31, so that a full round flips the top bit and leaves the
// rest as it was (PTX ISA, memory consistency model: release and acquire at GPU scope).
__device__ __forceinline__ void grid_sync(unsigned* words)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned ctas = gridDim.x * gridDim.y * gridDim.z;
        const bool first = blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0;
        const unsigned amount = first ? 0x80000000u - (ctas - 1) : 1u;
        unsigned before;
        unsigned seen;
        asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;"
                     : "=r"(before)
                     : "l"(words), "r"(amount)
                     : "memory");
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(words) : "memory");
        } while (((before ^ seen) & 0x80000000u) == 0);
    }
    __syncthreads();
}
// twin:
__device__ __forceinline__ void grid_sync(unsigned* words)
{
    using namespace tle2cuda_emulator;
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned ctas = gridDim.x * gridDim.y * gridDim.z;
        const bool first = blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0;
        const unsigned amount = first ? 0x80000000u - (ctas - 1) : 1u;
        const unsigned before = atomic(ATOMIC_ADD, words, amount, 0u, ORDER_ACQ_REL, SCOPE_GPU);
        unsigned seen;
        do {
            seen = load(words, ORDER_ACQUIRE, SCOPE_GPU);
        } while (((before ^ seen) & 0x80000000u) == 0);
    }
    __syncthreads();
}
