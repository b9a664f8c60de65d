// defines: tcgen05_alloc
// needs: shared_address
// Allocates COLUMNS columns of tensor memory, a power of two from 32 on, and writes the address of the first to shared memory; waits
// while other CTAs hold them. The CTA allocates no more. Called by all threads of one warp (PTX ISA, tcgen05.alloc; sm_100a).
template <int COLUMNS>
__device__ __forceinline__ void tcgen05_alloc(unsigned* start)
{
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(start)), "n"(COLUMNS) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
}
// twin:
template <int COLUMNS>
__device__ __forceinline__ void tcgen05_alloc(unsigned* start)
{
    const unsigned address = tle2cuda_emulator::tle2cuda_tcgen05_alloc(COLUMNS, __LINE__);
    if (tle2cuda_emulator::tle2cuda_lane() == 0) *start = address;
}
// defines: tcgen05_dealloc
// Gives the columns back, as every CTA must before it exits. Called by all threads of one warp, once nothing reads or writes them any
// more (PTX ISA, tcgen05.dealloc; sm_100a).
template <int COLUMNS>
__device__ __forceinline__ void tcgen05_dealloc(unsigned start)
{
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(start), "n"(COLUMNS) : "memory");
}
// twin:
template <int COLUMNS>
__device__ __forceinline__ void tcgen05_dealloc(unsigned start)
{
    tle2cuda_emulator::tle2cuda_tcgen05_dealloc(start, COLUMNS, __LINE__);
}
// defines: tcgen05_descriptor
// needs: Descriptor shared_address
// Names an operand of tcgen05.mma in shared memory: panels of rows under the swizzle of 32, 64 or 128 bytes, as long as these are.
// From eight rows to the next eight it is `stride_bytes`, and from panel to panel, where rows run along M or N, `leading_bytes`. Added
// numbers move it by 16 bytes (PTX ISA, tcgen05, "Shared Memory Descriptor").
template <int SWIZZLE_BYTES>
__device__ __forceinline__ Descriptor tcgen05_descriptor(const void* tile, unsigned leading_bytes, unsigned stride_bytes)
{
    constexpr Descriptor swizzle = SWIZZLE_BYTES == 128 ? 2 : SWIZZLE_BYTES == 64 ? 4 : 6, version = 1;
    return (swizzle << 61) | (version << 46) | (static_cast<Descriptor>(stride_bytes >> 4) << 32)
         | (static_cast<Descriptor>(leading_bytes >> 4) << 16) | ((shared_address(tile) & 0x3FFFF) >> 4);
}
// defines: tcgen05_copy_scales
// needs: Descriptor shared_address
// Copies scales of 128 rows, four of each, to four columns of tensor memory: 32 lanes of 16 bytes, to each quarter of the lanes. Goes
// before the products that this thread starts behind it; in flight until a commit has arrived. Called by one thread (PTX ISA,
// tcgen05.cp; sm_100a).
__device__ __forceinline__ void tcgen05_copy_scales(unsigned columns, const void* scales)
{
    constexpr Descriptor version = 1, stride_bytes = 128;  // from eight lanes to the next eight
    const Descriptor source = (version << 46) | (stride_bytes >> 4 << 32) | ((shared_address(scales) & 0x3FFFF) >> 4);
    asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(columns), "l"(source) : "memory");
}
// twin:
__device__ __forceinline__ void tcgen05_copy_scales(unsigned columns, const void* scales)
{
    constexpr Descriptor version = 1, stride_bytes = 128;
    const Descriptor source = (version << 46) | (stride_bytes >> 4 << 32) | ((shared_address(scales) & 0x3FFFF) >> 4);
    tle2cuda_emulator::tle2cuda_tcgen05_copy(columns, source, __LINE__);
}
// defines: tcgen05_commit
// needs: Barrier shared_address
// Arrives at an mbarrier once all products are complete that this thread has started. Called by one thread (PTX ISA, tcgen05.commit;
// sm_100a).
__device__ __forceinline__ void tcgen05_commit(Barrier* barrier)
{
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}
// twin:
__device__ __forceinline__ void tcgen05_commit(Barrier* barrier)
{
    tle2cuda_emulator::tle2cuda_tcgen05_commit(barrier, __LINE__);
}
// defines: tcgen05_fence_after_sync
// Orders what this thread does in tensor memory behind what others did there before the barrier that it just passed (PTX ISA,
// tcgen05.fence::after_thread_sync; sm_100a).
__device__ __forceinline__ void tcgen05_fence_after_sync() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
// twin:
__device__ __forceinline__ void tcgen05_fence_after_sync() { tle2cuda_emulator::tle2cuda_tcgen05_fence(1); }
// defines: tcgen05_fence_before_sync
// Orders what this thread did in tensor memory before what others do there behind the next barrier (PTX ISA,
// tcgen05.fence::before_thread_sync; sm_100a).
__device__ __forceinline__ void tcgen05_fence_before_sync() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
// twin:
__device__ __forceinline__ void tcgen05_fence_before_sync() { tle2cuda_emulator::tle2cuda_tcgen05_fence(0); }
// defines: tcgen05_wait_ld
// Waits until this warp's loads from tensor memory are in registers. Called by all of its threads (PTX ISA, tcgen05.wait::ld; sm_100a).
__device__ __forceinline__ void tcgen05_wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
// twin:
__device__ __forceinline__ void tcgen05_wait_ld() { tle2cuda_emulator::tle2cuda_tcgen05_wait_load(__LINE__); }
