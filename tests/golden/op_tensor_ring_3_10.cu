// ring_of_barriers.cu: emitted by tle2cuda from tensor_copies.py:139 (ring_of_barriers). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 3200 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      out *fp32 align 16, M i32, N i32
//   maps      x_map of x: fp32, shape (M, N), strides (N, 1), box (1, 256)
//   constants STAGES = 3, BN = 256

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

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

// One box of the tensor map into shared memory, from element (c0, c1) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_2d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1) : "memory");
}

// Shared memory of one CTA.
struct Shared {
    alignas(128) float ring[3][256];          // tensor_copies.py:142
    alignas(8) Barrier landed[3];             // tensor_copies.py:143
};
static_assert(sizeof(Shared) <= 3200, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
ring_of_barriers(float* out, const int M, const int N, const __grid_constant__ TensorMap x_map)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread == 0) {
        for (int stage = 0; stage < 3; ++stage) {
            mbarrier_init(&shared.landed[stage], 1);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    // tle.gpu.copy(source, ring.slot(row), [1, BN], [row, 0], barrier=lan ...  tensor_copies.py:145
    if (thread == 0) {
        mbarrier_expect_bytes(&shared.landed[0], 1024);
        tma_load_2d(shared.ring[0], &x_map, &shared.landed[0], 0, 0);
    }
    if (thread == 0) {
        mbarrier_expect_bytes(&shared.landed[1], 1024);
        tma_load_2d(shared.ring[1], &x_map, &shared.landed[1], 0, 1);
    }
    if (thread == 0) {
        mbarrier_expect_bytes(&shared.landed[2], 1024);
        tma_load_2d(shared.ring[2], &x_map, &shared.landed[2], 0, 2);
    }

    // for row in range(M):                                                     tensor_copies.py:147
    for (int row = 0; row < M; ++row) {
        // stage = row % STAGES                                                 tensor_copies.py:148
        const int stage = row % 3;
        // tle.gpu.barrier_wait(landed[stage], phaseIdx=row // STAGES)          tensor_copies.py:149
        mbarrier_wait(&shared.landed[stage], (row / 3) & 1);
        // tile [256]: element = thread + 128 * run;  run < 2
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // value = tl.load(tle.gpu.local_ptr(ring.slot(stage)))             tensor_copies.py:150
            const float value = shared.ring[stage][thread + 128 * run];
            // i = tl.arange(0, BN)                                             tensor_copies.py:146
            const int i = thread + 128 * run;
            // tl.store(out + row * N + i, value + row, mask=i < N)             tensor_copies.py:151
            if (i < N) *(out + row * N + i) = value + static_cast<float>(row);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes
        __syncthreads();  // orders the loads of `ring` before the stores to it

        // tle.gpu.copy(source, ring.slot(stage), [1, BN], [row + STAGES, ...   tensor_copies.py:152
        if (thread == 0) {
            mbarrier_expect_bytes(&shared.landed[stage], 1024);
            tma_load_2d(shared.ring[stage], &x_map, &shared.landed[stage], 0, row + 3);
        }
    }

    // tle.gpu.barrier_wait(landed[(M + stage) % STAGES], phaseIdx=(M + st ...  tensor_copies.py:154
    mbarrier_wait(&shared.landed[M % 3], (M / 3) & 1);
    mbarrier_wait(&shared.landed[(M + 1) % 3], ((M + 1) / 3) & 1);
    mbarrier_wait(&shared.landed[(M + 2) % 3], ((M + 2) / 3) & 1);
}
