// ring.cu: emitted by tle2cuda from distributed.py:23 (ring). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, clusters of (4, 1, 1), 16 bytes of shared memory
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

// Barrier of all threads of the cluster; orders global memory and the shared memory of all its CTAs.
// Called by every thread (PTX ISA, barrier.cluster; sm_90).
__device__ __forceinline__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int box[1];                   // distributed.py:26
};
static_assert(sizeof(Shared) <= 16, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(128)
ring(int* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // rank = tle.shard_id(mesh, "cluster_x")                                      distributed.py:25
    const int rank = cluster_rank();
    // tl.store(tle.gpu.local_ptr(box, (0,)), rank * 10 + tl.program_id(0) * 100)  distributed.py:27
    const int pid_x = blockIdx.x;
    if (thread == 0) shared.box[0] = rank * 10 + pid_x * 100;
    // tle.distributed_barrier(mesh)                                               distributed.py:28
    cluster_sync();

    // neighbour = tle.remote(box, (rank + 1) % 4, scope=mesh)                     distributed.py:29
    int* const neighbour = cluster_map(shared.box, (rank + 1) % 4);
    // value = tl.load(tle.gpu.local_ptr(neighbour, (0,)))                         distributed.py:30
    const int value = neighbour[0];
    // tle.distributed_barrier(mesh)                                               distributed.py:31
    cluster_sync();

    // tl.store(out + tl.program_id(0), value)                                     distributed.py:32
    if (thread == 0) out[pid_x] = value;
}
