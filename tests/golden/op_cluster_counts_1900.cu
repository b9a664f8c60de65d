// remote_counts.cu: emitted by tle2cuda from distributed.py:64 (remote_counts). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, clusters of (8, 1, 1), 128 bytes of shared memory
//   launch    grid of CTAs, a multiple of the cluster (8, 1, 1)
//   args      x *i32 align 16, out *i32 align 16, ranks *i32 align 16, n i32
//   constants mesh = DeviceMesh(shape=(8,), names=('cluster_x',)), BINS = 32, N = 256

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

// Orders this thread's accesses before it against those after it, as the whole GPU sees them (PTX ISA,
// fence.acq_rel.gpu). __threadfence() is the dearer fence.sc.
__device__ __forceinline__ void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// Load N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* pointer)
{
    return *reinterpret_cast<const Vector<T, N>*>(pointer);
}

// Load the first `valid` of N neighbours, `other` for the rest: one access when all are valid, else one by one.
template <int N, typename T, typename Count, typename Other>
__device__ __forceinline__ Vector<T, N> load_edge(const T* pointer, Count valid, Other other)
{
    if (valid >= N) return load_vector<N>(pointer);
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = k < valid ? pointer[k] : static_cast<T>(other);
    return result;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int counts[32];               // distributed.py:69
};
static_assert(sizeof(Shared) <= 128, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(128)
remote_counts(const int* __restrict__ x, int* out, int* ranks, const int n)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // rank = tle.shard_id(mesh, "cluster_x")                                      distributed.py:68
    const int rank = cluster_rank();
    // counts.store(tl.zeros((BINS,), tl.int32))                                   distributed.py:70
    if (thread < 32) shared.counts[thread % 32] = 0;
    // tle.distributed_barrier(mesh)                                               distributed.py:71
    cluster_sync();

    // first = tle.remote(counts, 0, scope=mesh)                                   distributed.py:72
    int* const first = cluster_map(shared.counts, 0);
    // at = tl.program_id(0) * N + i                                               distributed.py:73
    const int pid_x = blockIdx.x;
    // i = tl.arange(0, N)                                                         distributed.py:66
    const int i = 2 * thread;
    // at = tl.program_id(0) * N + i                                               distributed.py:73
    const int at = pid_x * 256 + i;

    // key = tl.load(x + at, mask=at < n, other=0)                                 distributed.py:74
    const Vector<int, 2> key = load_edge<2>(x + at, n - at, 0);
    Vector<int, 2> old;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        const bool inside = at + k < n;

        // old = tl.atomic_add(tle.gpu.local_ptr(first, (key,)), 1, mask=at < ...  distributed.py:75
        old[k] = 0;
        if (inside) old[k] = atomicAdd(&first[key[k]], 1);
    }

    // tl.atomic_max(tle.gpu.local_ptr(first, (BINS - 1,)), rank)                  distributed.py:76
    __syncthreads();  // the whole CTA's writes come before the release
    if (thread == 0) {
        fence_gpu();  // release: what this thread wrote comes before the atomics
        atomicMax(&first[31], rank);
    }

    // tle.distributed_barrier(mesh)                                               distributed.py:77
    cluster_sync();

    // if rank == 0:                                                               distributed.py:78
    if (rank == 0) {
        // tl.store(out + b, counts.load())                                        distributed.py:79
        const int counts_value = shared.counts[thread % 32];
        // b = tl.arange(0, BINS)                                                  distributed.py:67
        const int b = thread % 32;
        // tl.store(out + b, counts.load())                                        distributed.py:79
        if (thread < 32) out[b] = counts_value;
    }
    fence_gpu();  // release: what this thread wrote comes before the atomics
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        // key = tl.load(x + at, mask=at < n, other=0)                             distributed.py:74
        const bool inside_2 = at + k < n;
        // tl.atomic_add(ranks + key * N * 8 + old, 1, mask=at < n)                distributed.py:80
        if (inside_2) atomicAdd(ranks + key[k] * 256 * 8 + old[k], 1);
    }
}
