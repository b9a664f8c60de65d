// defines: cluster_sync
// Barrier of all threads of the cluster; orders global memory and the shared memory of all its CTAs.
// Called by every thread (PTX ISA, barrier.cluster; sm_90).
__device__ __forceinline__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// twin:
__device__ __forceinline__ void cluster_sync()
{
    tle2cuda_emulator::tle2cuda_cluster_arrive(true, __LINE__);
    tle2cuda_emulator::tle2cuda_cluster_wait(true, __LINE__);
}
// defines: cluster_rank
// Rank of this CTA in its cluster (PTX ISA, %cluster_ctarank; sm_90).
__device__ __forceinline__ int cluster_rank()
{
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return static_cast<int>(rank);
}
// twin:
__device__ __forceinline__ int cluster_rank() { return static_cast<int>(tle2cuda_emulator::tle2cuda_cluster_rank()); }
// defines: cluster_map
// Address of the same shared-memory object in CTA `rank` of the cluster (PTX ISA, mapa; sm_90).
template <typename T>
__device__ __forceinline__ T* cluster_map(T* pointer, int rank)
{
    unsigned long long address;
    asm("mapa.u64 %0, %1, %2;" : "=l"(address) : "l"(pointer), "r"(rank));
    return reinterpret_cast<T*>(address);
}
// twin:
template <typename T>
__device__ __forceinline__ T* cluster_map(T* pointer, int rank)
{
    return static_cast<T*>(tle2cuda_emulator::tle2cuda_map_shared(pointer, static_cast<unsigned>(rank)));
}
// defines: cluster_await_members
// needs: cluster_map cluster_rank
// Thread 0 of each of the COUNT CTAs in the bit mask MEMBERS counts itself in at the counter of member LOWEST, and waits until
// the count reaches the next multiple of COUNT, so that the counter never needs to be reset. Called by all threads that meet
// before and behind it (PTX ISA, memory consistency model: release and acquire at cluster scope; sm_90).
template <unsigned MEMBERS, int LOWEST, int COUNT>
__device__ __forceinline__ void cluster_await_members(unsigned& counter)
{
    if (threadIdx.x == 0 && (MEMBERS >> cluster_rank() & 1u)) {
        unsigned* const arrived = cluster_map(&counter, LOWEST);
        unsigned before;
        asm volatile("atom.add.acq_rel.cluster.u32 %0, [%1], 1;" : "=r"(before) : "l"(arrived) : "memory");
        const unsigned wanted = before - before % COUNT + COUNT;
        unsigned seen = before + 1;
        while (static_cast<int>(seen - wanted) < 0)
            asm volatile("ld.acquire.cluster.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
    }
}
// twin:
template <unsigned MEMBERS, int LOWEST, int COUNT>
__device__ __forceinline__ void cluster_await_members(unsigned& counter)
{
    using namespace tle2cuda_emulator;
    if (threadIdx.x == 0 && (MEMBERS >> cluster_rank() & 1u)) {
        unsigned* const arrived = cluster_map(&counter, LOWEST);
        const unsigned before = atomic(ATOMIC_ADD, arrived, 1u, 0u, ORDER_ACQ_REL, SCOPE_CLUSTER);
        const unsigned wanted = before - before % COUNT + COUNT;
        unsigned seen = before + 1;
        while (static_cast<int>(seen - wanted) < 0) seen = load(arrived, ORDER_ACQUIRE, SCOPE_CLUSTER);
    }
}
// defines: cluster_barrier_members
// needs: cluster_await_members
// Barrier of the COUNT CTAs of the cluster in the bit mask MEMBERS; other CTAs only meet among their own threads.
// Called by every thread. The counter of member LOWEST starts at 0, and the cluster has met after that; its CTA may not exit
// while members wait. Orders what members wrote before against what members read after.
template <unsigned MEMBERS, int LOWEST, int COUNT>
__device__ __forceinline__ void cluster_barrier_members(unsigned& counter)
{
    __syncthreads();
    cluster_await_members<MEMBERS, LOWEST, COUNT>(counter);
    __syncthreads();
}
// defines: cluster_barrier_members_by
// needs: cluster_await_members
// The same behind all partitions, called by the threads that meet at `meet`.
template <unsigned MEMBERS, int LOWEST, int COUNT, typename Meet>
__device__ __forceinline__ void cluster_barrier_members_by(unsigned& counter, Meet meet)
{
    meet();
    cluster_await_members<MEMBERS, LOWEST, COUNT>(counter);
    meet();
}
