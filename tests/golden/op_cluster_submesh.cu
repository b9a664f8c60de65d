// submesh_both.cu: emitted by tle2cuda from distributed.py:106 (submesh_both). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, clusters of (4, 1, 1), 32 bytes of shared memory
//   launch    grid of CTAs, a multiple of the cluster (4, 1, 1)
//   args      out *i32 align 16
//   constants mesh = DeviceMesh(shape=(4,), names=('cluster_x',))

namespace {

// Address of the same shared-memory object in CTA `rank` of the cluster (PTX ISA, mapa; sm_90).
template <typename T>
__device__ __forceinline__ T* cluster_map(T* pointer, int rank)
{
    unsigned long long address;
    asm("mapa.u64 %0, %1, %2;" : "=l"(address) : "l"(pointer), "r"(rank));
    return reinterpret_cast<T*>(address);
}

// Rank of this CTA in its cluster (PTX ISA, %cluster_ctarank; sm_90).
__device__ __forceinline__ int cluster_rank()
{
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return static_cast<int>(rank);
}

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

// Barrier of all threads of the cluster; orders global memory and the shared memory of all its CTAs.
// Called by every thread (PTX ISA, barrier.cluster; sm_90).
__device__ __forceinline__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) unsigned member_barrier[1];   // distributed.py:113
    alignas(16) int box[1];                   // distributed.py:109
};
static_assert(sizeof(Shared) <= 32, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(128)
submesh_both(int* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread < 1) shared.member_barrier[thread] = 0;
    cluster_sync();  // the counters of the barriers among members are zero

    // rank = tle.shard_id(mesh, "cluster_x")                                     distributed.py:108
    const int rank = cluster_rank();
    // tl.store(tle.gpu.local_ptr(box, (0,)), rank)                               distributed.py:110
    if (thread == 0) shared.box[0] = rank;
    // tle.distributed_barrier(mesh)                                              distributed.py:111
    cluster_sync();

    // for step in range(5):                                                      distributed.py:112
    for (int step = 0; step < 5; ++step) {
        // tle.distributed_barrier(mesh[:2])                                      distributed.py:113
        cluster_barrier_members<0x3u, 0, 2>(shared.member_barrier[0]);

        // if rank < 2:                                                           distributed.py:114
        if (rank < 2) {
            // peer = tle.remote(box, 1 - rank, scope=mesh)                       distributed.py:115
            int* const peer = cluster_map(shared.box, 1 - rank);
            // value = tl.load(tle.gpu.local_ptr(peer, (0,)))                     distributed.py:116
            const int value = peer[0];
            // tle.distributed_barrier(mesh[:2])                                  distributed.py:117
            cluster_barrier_members<0x3u, 0, 2>(shared.member_barrier[0]);

            // tl.store(tle.gpu.local_ptr(box, (0,)), value * 2 + step)           distributed.py:118
            if (thread == 0) shared.box[0] = value * 2 + step;
        }
    }

    // tle.distributed_barrier(mesh)                                              distributed.py:119
    cluster_sync();

    // tl.store(out + rank, tl.load(tle.gpu.local_ptr(box, (0,))))                distributed.py:120
    const int box_value = shared.box[0];
    if (thread == 0) out[rank] = box_value;
    cluster_sync();  // no CTA leaves while members wait at its counters
}
