// add_shared.cu: emitted by tle2cuda from multicast.py:51 (add_shared). Do not edit.
//
//   target    sm_90a, 160 threads per CTA, clusters of (2, 1, 1), 6272 bytes of shared memory
//   launch    grid of CTAs, a multiple of the cluster (2, 1, 1)
//   warps     add_rows on warps 0 to 3, fetch_rows on warp 4
//   args      out *fp32 align 16, M i32, N i32
//   maps      x_map of x: fp32, shape (M, N), strides (N, 1), box (8, 32)
//             bias_map of bias: fp32, shape (8, N), strides (N, 1), box (4, 32)
//   constants mesh = DeviceMesh(shape=(2,), names=('cluster_x',)), BM = 8, BN = 32, CAPACITY = 3

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

// One box of the tensor map into shared memory, from element (c0, c1) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_2d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1) : "memory");
}

// The same box into shared memory of each CTA of the cluster in the bit mask `ctas`, at the places of `destination` and of
// `barrier` in this one. Called by one thread (PTX ISA, cp.async.bulk.tensor with .multicast::cluster; sm_90).
__device__ __forceinline__ void tma_load_multicast_2d(void* destination, const TensorMap* map, Barrier* barrier, unsigned short ctas, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5}], [%2], %3;"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "h"(ctas), "r"(c0), "r"(c1) : "memory");
}

// Shared memory of one CTA.
struct Shared {
    alignas(128) float xs[3][8][32];          // multicast.py:54
    alignas(128) float biases[3][8][32];      // multicast.py:55
    alignas(8) Barrier tiles_full[3];         // multicast.py:56
    alignas(8) Barrier tiles_empty[3];        // multicast.py:56
};
static_assert(sizeof(Shared) <= 6272, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(160)
add_shared(float* out, const int M, const int N, const __grid_constant__ TensorMap x_map,
           const __grid_constant__ TensorMap bias_map)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 3; ++stage) {
            mbarrier_init(&shared.tiles_full[stage], 1);
            mbarrier_init(&shared.tiles_empty[stage], 8);
        }
        fence_mbarrier_init();
    }
    cluster_sync();  // all CTAs of the cluster have set up their barriers

    if (warp >= 4) {  // fetch_rows: warp 4
        if (threadIdx.x == 128) {  // the others have nothing to do
            // rank = tle.shard_id(mesh, "cluster_x")                                multicast.py:24
            const int rank = cluster_rank();

            // for cluster in range(tl.program_id(0) // 2, tl.cdiv(M, 2 * BM), ...   multicast.py:26
            const int pid_x = blockIdx.x;
            const int num_programs_x = gridDim.x;
            int turn = 0;
            const int rank_2 = cluster_rank();
            for (int cluster_ = pid_x / 2; cluster_ < (M + 15) / 16; cluster_ += num_programs_x / 2) {
                // for col in range(0, N, BN):                                       multicast.py:27
                int turn_2 = turn;
                for (int col = 0; col < N; col += 32) {
                    // slot = writer.acquire(turn)                                   multicast.py:28
                    const int stage = turn_2 % 3;
                    const int lap = turn_2 / 3;
                    mbarrier_wait_cluster(&shared.tiles_empty[stage], (lap + 1) & 1);

                    // tle.gpu.copy(x, slot.x, [BM, BN], [(cluster * 2 + rank) ...   multicast.py:29
                    mbarrier_expect_bytes(&shared.tiles_full[stage], 2048);
                    tma_load_2d(shared.xs[stage], &x_map, &shared.tiles_full[stage], col, (cluster_ * 2 + rank) * 8);
                    // tle.gpu.copy(bias, slot.bias, [BM, BN], [0, col], multic ...  multicast.py:30
                    tma_load_multicast_2d(shared.biases[stage][rank_2 * 4], &bias_map, &shared.tiles_full[stage], 0x3, col, rank_2 * 4);
                    // turn += 1                                                     multicast.py:32
                    turn_2 += 1;
                }
                turn = turn_2;
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // add_rows: warps 0 to 3
    // rank = tle.shard_id(mesh, "cluster_x")                                        multicast.py:37
    const int rank = cluster_rank();

    // for cluster in range(tl.program_id(0) // 2, tl.cdiv(M, 2 * BM), tl.num_p ...  multicast.py:40
    const int pid_x = blockIdx.x;
    const int num_programs_x = gridDim.x;
    int turn = 0;
    for (int cluster_ = pid_x / 2; cluster_ < (M + 15) / 16; cluster_ += num_programs_x / 2) {
        // row = (cluster * 2 + rank) * BM                                           multicast.py:41
        const int row = (cluster_ * 2 + rank) * 8;
        // for col in range(0, N, BN):                                               multicast.py:42
        int turn_2 = turn;
        for (int col = 0; col < N; col += 32) {
            // slot = reader.wait(turn).slot                                         multicast.py:43
            const int stage = turn_2 % 3;
            const int lap = turn_2 / 3;
            mbarrier_wait(&shared.tiles_full[stage], lap & 1);
            float total[2];

            // tile [8, 32]: row = thread / 32 + 4 * run, column = thread % 32;  run < 2
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // total = tl.load(tle.gpu.local_ptr(slot.x)) + tl.load(tle.gpu ...  multicast.py:44
                const float xs_value = shared.xs[stage][thread / 32 + 4 * run][thread % 32];
                const float xs_value_2 = shared.biases[stage][thread / 32 + 4 * run][thread % 32];
                total[run] = xs_value + xs_value_2;
            }
            fence_async_proxy();  // the loads of `xs` and `biases` come before what the copy engine writes

            // reader.release(turn)                                                  multicast.py:45
            __syncwarp();
            if (thread % 32 < 2) mbarrier_free(&shared.tiles_empty[stage], thread % 32);

            // turn += 1                                                             multicast.py:46
            turn_2 += 1;
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // tl.store(out + (row + i) * N + col + j, total, mask=(row + i ...  multicast.py:47
                const int index = row + thread / 32 + 4 * run;
                if (index < M && col + thread % 32 < N) *(out + index * N + col + thread % 32) = total[run];
            }
        }
        turn = turn_2;
    }

    // def add_shared(x, bias, out, M, N, mesh: tl.constexpr, BM: tl.constexpr, ...  multicast.py:51
    cluster_sync();  // no CTA may exit while others fill its stages or arrive at its barriers
}
