// multiply_shared.cu: emitted by tle2cuda from multicast.py:89 (multiply_shared). Do not edit.
//
//   target    sm_90a, 160 threads per CTA, clusters of (2, 2, 1), 58368 bytes of shared memory
//   launch    grid of CTAs, a multiple of the cluster (2, 2, 1); 58368 bytes of dynamic shared memory
//   warps     multiply_tiles on warps 0 to 3, fetch_operands on warp 4
//   args      c *fp32 align 16, M i32, N i32, K i32
//   maps      a_map of a: fp16, shape (M, K), strides (K, 1), box (32, 64)
//             b_map of b: fp16, shape (K, N), strides (N, 1), box (32, 64)
//   constants mesh = DeviceMesh(shape=(2, 2), names=('cluster_m', 'cluster_n')), BLOCK = 64,
//             CAPACITY = 2

#include <cuda_fp16.h>

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

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

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Makes this thread's mbarrier_init known to the cluster and to the copy engine (PTX ISA, fence.mbarrier_init; sm_90).
__device__ __forceinline__ void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

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

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Arrives, and the phase then also waits for `bytes` that copies bring. Called by one thread (PTX ISA, mbarrier.arrive.expect_tx;
// sm_90).
__device__ __forceinline__ void mbarrier_expect_bytes(Barrier* barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}

// One arrival at the mbarrier that lies in CTA `rank` of the cluster where `barrier` lies in this one, of a thread that has read what
// that phase guards, and shows nothing to others: release of cluster scope, which waits for all memory operations of the thread,
// is not asked for (PTX ISA, mbarrier.arrive on shared::cluster; sm_90).
__device__ __forceinline__ void mbarrier_free(Barrier* barrier, unsigned rank)
{
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
                 "}" ::"r"(shared_address(barrier)), "r"(rank) : "memory");
}

// A fresh mbarrier whose phases take `arrivals` arrivals. Called by one thread; fence_mbarrier_init and a barrier follow before
// anyone uses it (PTX ISA, mbarrier.init; sm_80).
__device__ __forceinline__ void mbarrier_init(Barrier* barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

// Waits until the phase of this parity has ended. What its arrivals and copies did comes before what the calling thread does
// next (PTX ISA, mbarrier.try_wait; sm_90).
__device__ __forceinline__ void mbarrier_wait(Barrier* barrier, unsigned parity)
{
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "WAIT:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@done bra DONE;\n"
        "bra WAIT;\n"
        "DONE:\n"
        "}" ::"r"(shared_address(barrier)), "r"(parity) : "memory");
}

// The same where arrivals come from other CTAs of the cluster (PTX ISA, mbarrier.try_wait; sm_90).
__device__ __forceinline__ void mbarrier_wait_cluster(Barrier* barrier, unsigned parity)
{
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "WAIT:\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
        "@done bra DONE;\n"
        "bra WAIT;\n"
        "DONE:\n"
        "}" ::"r"(shared_address(barrier)), "r"(parity) : "memory");
}

// Waits until `threads` threads, whole warps, have come to hardware barrier `barrier` (1 to 15; 0 is that of __syncthreads).
// Called by all lanes of a warp (PTX ISA, barrier.sync).
__device__ __forceinline__ void named_barrier_sync(int barrier, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// The same box into shared memory of each CTA of the cluster in the bit mask `ctas`, at the places of `destination` and of
// `barrier` in this one. Called by one thread (PTX ISA, cp.async.bulk.tensor with .multicast::cluster; sm_90).
__device__ __forceinline__ void tma_load_multicast_2d(void* destination, const TensorMap* map, Barrier* barrier, unsigned short ctas, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5}], [%2], %3;"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "h"(ctas), "r"(c0), "r"(c1) : "memory");
}

// Closes the warpgroup's group of products. Called by all of its threads (PTX ISA, wgmma.commit_group; sm_90a).
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

using Descriptor = unsigned long long;                   // names an operand in shared memory

// Names an operand of wgmma in shared memory: panels of rows under the swizzle of 32, 64 or 128 bytes, as long as these are. From
// eight rows to the next eight it is `stride_bytes`, and from panel to panel, where rows run along M or N, `leading_bytes`. Added
// numbers move it by 16 bytes (PTX ISA, wgmma, "Matrix Descriptor Format").
template <int SWIZZLE_BYTES>
__device__ __forceinline__ Descriptor wgmma_descriptor(const void* tile, unsigned leading_bytes, unsigned stride_bytes)
{
    constexpr Descriptor swizzle = SWIZZLE_BYTES == 128 ? 1 : SWIZZLE_BYTES == 64 ? 2 : 3;
    return (swizzle << 62) | (static_cast<Descriptor>(stride_bytes >> 4) << 32) | (static_cast<Descriptor>(leading_bytes >> 4) << 16)
         | ((shared_address(tile) & 0x3FFFF) >> 4);
}

// Orders what the warpgroup did with accumulators and operands before the next wgmma. Called by all of its threads (PTX ISA,
// wgmma.fence; sm_90a).
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// sums[64, 64] += a[64, 16] @ b[16, 64] of one warpgroup: float16, a in rows along K, b in rows along N.
// In flight until a wait: sums and operands stay as they are up to there. Without `accumulate` sums are not read. Called by all of
// its threads (PTX ISA, wgmma.mma_async; sm_90a).
__device__ __forceinline__ void wgmma_m64n64k16_f32_f16_b_along_n(
    Vector<float, 2>* sums, Descriptor a, Descriptor b, bool accumulate)
{
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, %32, %33, accumulate, 1, 1, 0, 1;\n"
        "}"
        : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1]), "+f"(sums[2][0]), "+f"(sums[2][1]),
          "+f"(sums[3][0]), "+f"(sums[3][1]), "+f"(sums[4][0]), "+f"(sums[4][1]), "+f"(sums[5][0]), "+f"(sums[5][1]),
          "+f"(sums[6][0]), "+f"(sums[6][1]), "+f"(sums[7][0]), "+f"(sums[7][1]), "+f"(sums[8][0]), "+f"(sums[8][1]),
          "+f"(sums[9][0]), "+f"(sums[9][1]), "+f"(sums[10][0]), "+f"(sums[10][1]), "+f"(sums[11][0]), "+f"(sums[11][1]),
          "+f"(sums[12][0]), "+f"(sums[12][1]), "+f"(sums[13][0]), "+f"(sums[13][1]), "+f"(sums[14][0]), "+f"(sums[14][1]),
          "+f"(sums[15][0]), "+f"(sums[15][1])
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// Waits until at most the last PENDING groups are in flight. Called by all threads of the warpgroup (PTX ISA, wgmma.wait_group;
// sm_90a).
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

// Barrier of the 128 threads of the default warps: hardware barrier 1.
__device__ __forceinline__ void default_warps_barrier() { named_barrier_sync(1, 128); }

// Shared memory of one CTA.
struct Shared {
    alignas(1024) __half a_ring[2][64][64];   // multicast.py:94
    alignas(1024) __half b_ring[2][64][64];   // multicast.py:95
    union {  // never alive at the same time
        alignas(1024) __half a_tile[4096];        // operand of multicast.py:82: [64, 64], rows in 16-byte chunks, swizzled
        alignas(16) float acc_exchange[4096];     // scratch of multicast.py:80
    };
    alignas(1024) __half b_tile[4096];        // operand of multicast.py:82: [64, 64], rows in 16-byte chunks, swizzled
    alignas(8) Barrier tiles_full[2];         // multicast.py:96
    alignas(8) Barrier tiles_empty[2];        // multicast.py:96
};
static_assert(sizeof(Shared) <= 58368, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __cluster_dims__(2, 2, 1) __launch_bounds__(160)
multiply_shared(float* c, const int M, const int N, const int K,
                const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map)
{
    extern __shared__ __align__(1024) unsigned char shared_bytes[];
    Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.tiles_full[stage], 1);
            mbarrier_init(&shared.tiles_empty[stage], 12);
        }
        fence_mbarrier_init();
    }
    cluster_sync();  // all CTAs of the cluster have set up their barriers

    if (warp >= 4) {  // fetch_operands: warp 4
        if (threadIdx.x == 128) {  // the others have nothing to do
            // m = tl.program_id(0) // 2 * 2 + tle.shard_id(mesh, "cluster_m")       multicast.py:97
            const int pid_x_2 = blockIdx.x;
            const int value_2 = cluster_rank();
            const int m_2 = pid_x_2 / 2 * 2 + value_2 / 2;

            // n = tl.program_id(1) // 2 * 2 + tle.shard_id(mesh, "cluster_n")       multicast.py:98
            const int pid_y_2 = blockIdx.y;
            const int n_2 = pid_y_2 / 2 * 2 + value_2 % 2;

            // for step in range(tl.cdiv(K, BLOCK)):                                 multicast.py:70
            const int rank = cluster_rank();
            const unsigned ctas = 0x3u << (rank - rank % 2);
            const int member = rank % 2;
            const unsigned ctas_2 = 0x5u << (rank - rank / 2 * 2);
            const int member_2 = rank / 2;
            for (int step = 0; step < (K + 63) / 64; ++step) {
                // slot = writer.acquire(step)                                       multicast.py:71
                const int stage = step & 1;
                const int lap = step >> 1;
                mbarrier_wait_cluster(&shared.tiles_empty[stage], (lap + 1) & 1);

                // tle.gpu.copy(a, slot.a, [BLOCK, BLOCK], [m * BLOCK, step * B ...  multicast.py:72
                mbarrier_expect_bytes(&shared.tiles_full[stage], 16384);
                tma_load_multicast_2d(shared.a_ring[stage][member * 32], &a_map, &shared.tiles_full[stage], ctas, step * 64, m_2 * 64 + member * 32);
                // tle.gpu.copy(b, slot.b, [BLOCK, BLOCK], [step * BLOCK, n * B ...  multicast.py:73
                tma_load_multicast_2d(shared.b_ring[stage][member_2 * 32], &b_map, &shared.tiles_full[stage], ctas_2, n_2 * 64, step * 64 + member_2 * 32);
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // m = tl.program_id(0) // 2 * 2 + tle.shard_id(mesh, "cluster_m")               multicast.py:97
    const int pid_x = blockIdx.x;
    const int value = cluster_rank();
    const int m = pid_x / 2 * 2 + value / 2;

    // n = tl.program_id(1) // 2 * 2 + tle.shard_id(mesh, "cluster_n")               multicast.py:98
    const int pid_y = blockIdx.y;
    const int n = pid_y / 2 * 2 + value % 2;

    // multiply_tiles: warps 0 to 3
    // for step in range(tl.cdiv(K, BLOCK)):                                         multicast.py:80
    Vector<float, 2> acc[16];
    #pragma unroll
    for (int run = 0; run < 16; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            acc[run][k] = 0.0f;
    const int rank = cluster_rank();
    const unsigned ctas = 0x3u << (rank - rank % 2);
    const unsigned ctas_2 = 0x5u << (rank - rank / 2 * 2);
    const unsigned peers = ctas | ctas_2;
    for (int step = 0; step < (K + 63) / 64; ++step) {
        // slot = reader.wait(step).slot                                             multicast.py:81
        const int stage = step & 1;
        const int lap = step >> 1;
        mbarrier_wait(&shared.tiles_full[stage], lap & 1);
        Vector<__half, 8> a_ring_value[4];
        Vector<__half, 8> a_ring_value_2[4];

        // tile [64, 64]: row = thread / 8 + 16 * run, column = thread % 8 * 8 + k;  run < 4, k < 8
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            // acc = tl.dot(tl.load(tle.gpu.local_ptr(slot.a)), tl.load(tle.gpu ...  multicast.py:82
            a_ring_value[run] = load_vector<8>(&shared.a_ring[stage][thread / 8 + 16 * run][thread % 8 * 8]);
            a_ring_value_2[run] = load_vector<8>(&shared.b_ring[stage][thread / 8 + 16 * run][thread % 8 * 8]);
        }

        // acc = tl.dot(tl.load(tle.gpu.local_ptr(slot.a)), tl.load(tle.gpu.loc ...  multicast.py:82
        #pragma unroll
        for (int run = 0; run < 4; ++run)
            store_vector(&shared.a_tile[(thread ^ (thread / 8 % 8)) * 8 + 1024 * run], a_ring_value[run]);
        #pragma unroll
        for (int run = 0; run < 4; ++run)
            store_vector(&shared.b_tile[(thread ^ (thread / 8 % 8)) * 8 + 1024 * run], a_ring_value_2[run]);
        fence_async_proxy();  // shows what was written to `a_ring`, `b_ring`, the scratch `a_tile` and the scratch `b_tile` to the copy engine
        default_warps_barrier();  // orders the accesses to the scratch `a_tile` and the scratch `b_tile` before it and after it
        const Descriptor a_first = wgmma_descriptor<128>(shared.a_tile, 16, 1024);  // rows along K
        const Descriptor b_first = wgmma_descriptor<128>(shared.b_tile, 8192, 1024);  // rows along N
        wgmma_fence();
        #pragma unroll
        for (int step_2 = 0; step_2 < 4; ++step_2)
            wgmma_m64n64k16_f32_f16_b_along_n(acc, a_first + 2 * step_2, b_first + 128 * step_2, true);
        wgmma_commit();
        wgmma_wait<0>();

        // reader.release(step)                                                      multicast.py:83
        __syncwarp();
        if (thread % 32 < 4 && (peers >> thread % 32 & 1)) mbarrier_free(&shared.tiles_empty[stage], thread % 32);
    }
    #pragma unroll
    for (int run = 0; run < 16; ++run) {
        Vector<float, 2> packed;
        #pragma unroll
        for (int k = 0; k < 2; ++k) packed[k] = acc[run / 2 * 2 + k][run % 2];
        store_vector(&shared.acc_exchange[(thread ^ (run % 4 * 4)) * 2 + run % 4 * 1024 + run / 4 * 256], packed);
    }
    default_warps_barrier();  // the whole tile is in shared memory
    float acc_2[32];
    #pragma unroll
    for (int run = 0; run < 16; ++run) {
        const Vector<float, 2> unpacked = load_vector<2>(&shared.acc_exchange[thread / 8 % 2 * 2048 + thread % 2 * 1024 + thread / 16 % 4 * 256 + ((thread / 8 % 2) ^ run) * 16 + ((thread % 2) ^ (thread / 64)) * 8 + thread / 2 % 4 * 2]);
        #pragma unroll
        for (int k = 0; k < 2; ++k) acc_2[run / 4 * 8 + run % 4 + 4 * k] = unpacked[k];
    }

    // i, j = m * BLOCK + tl.arange(0, BLOCK)[:, None], n * BLOCK + tl.arange(0 ...  multicast.py:84
    const int j = n * 64 + thread % 64;
    // tile [64, 64]: row = thread / 64 + 2 * run, column = thread % 64;  run < 32
    #pragma unroll
    for (int run = 0; run < 32; ++run) {
        // i, j = m * BLOCK + tl.arange(0, BLOCK)[:, None], n * BLOCK + tl.aran ...  multicast.py:84
        const int i = m * 64 + thread / 64 + 2 * run;
        // tl.store(c + i * N + j, acc, mask=(i < M) & (j < N))                      multicast.py:85
        if (i < M && j < N) *(c + i * N + j) = acc_2[run];
    }
    // def multiply_shared(a, b, c, M, N, K, mesh: tl.constexpr, BLOCK: tl.cons ...  multicast.py:89
    cluster_sync();  // no CTA may exit while others fill its stages or arrive at its barriers
}
