// ring_of_boxes.cu: emitted by tle2cuda from bulk_pipes.py:121 (ring_of_boxes). Do not edit.
//
//   target    sm_90a, 160 threads per CTA, 4224 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     take_boxes on warps 0 to 3, put_boxes on warp 4
//   args      out *fp32 align 16, M i32, N i32
//   maps      x_map of x: fp32, shape (M, N), strides (stride, 1), box (16, 16)
//             y_map of y: fp32, shape (M, N), strides (stride, 1), box (16, 16), NaN outside
//   constants FORM = 'plain', BM = 16, BN = 16

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

// One arrival of the calling thread; what it did before is in front of what waits for the phase (PTX ISA, mbarrier.arrive; sm_80).
__device__ __forceinline__ void mbarrier_arrive(Barrier* barrier)
{
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(shared_address(barrier)) : "memory");
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
    alignas(128) float a[2][16][16];          // bulk_pipes.py:123
    alignas(128) float b[2][16][16];          // bulk_pipes.py:124
    alignas(8) Barrier boxes_full[2];         // bulk_pipes.py:125
    alignas(8) Barrier boxes_empty[2];        // bulk_pipes.py:125
};
static_assert(sizeof(Shared) <= 4224, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(160)
ring_of_boxes(float* out, const int M, const int N, const __grid_constant__ TensorMap x_map,
              const __grid_constant__ TensorMap y_map)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.boxes_full[stage], 1);
            mbarrier_init(&shared.boxes_empty[stage], 128);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {  // put_boxes: warp 4
        if (threadIdx.x == 128) {  // the others have nothing to do
            // a = tl.make_block_ptr(x, (M, N), (stride, 1), (tl.program_id(0) ...  bulk_pipes.py:92
            const int pid_x = blockIdx.x;
            // for k in range(tl.cdiv(N, BN)):                                      bulk_pipes.py:94
            int a_col = -8;
            for (int k_ = 0; k_ < (N + 15) / 16; ++k_) {
                // slot = w.acquire(k)                                              bulk_pipes.py:95
                const int stage = k_ & 1;
                const int lap = k_ >> 1;
                mbarrier_wait(&shared.boxes_empty[stage], (lap + 1) & 1);

                // tl.store(tle.gpu.local_ptr(slot.a), first)                      bulk_pipes.py:100
                mbarrier_expect_bytes(&shared.boxes_full[stage], 2048);
                tma_load_2d(shared.a[stage], &x_map, &shared.boxes_full[stage], a_col, pid_x * 16 - 3);
                // tl.store(tle.gpu.local_ptr(slot.b), second)                     bulk_pipes.py:103
                tma_load_2d(shared.b[stage], &y_map, &shared.boxes_full[stage], k_ * 16, pid_x * 16);
                // a = tl.advance(a, (0, BN))                                      bulk_pipes.py:105
                a_col += 16;
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // take_boxes: warps 0 to 3
    // i = tl.program_id(0) * BM + tl.arange(0, BM)                                bulk_pipes.py:111
    const int pid_x = blockIdx.x;
    // for k in range(tl.cdiv(N, BN)):                                             bulk_pipes.py:112
    for (int k_ = 0; k_ < (N + 15) / 16; ++k_) {
        // got = r.wait(k)                                                         bulk_pipes.py:113
        const int stage = k_ & 1;
        const int lap = k_ >> 1;
        mbarrier_wait(&shared.boxes_full[stage], lap & 1);
        float total[2];

        // tile [16, 16]: row = thread / 16 + 8 * run, column = thread % 16;  run < 2
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // total = tl.load(tle.gpu.local_ptr(got.slot.a)) + tl.load(tle.g ...  bulk_pipes.py:114
            const float a_value = shared.a[stage][thread / 16 + 8 * run][thread % 16];
            const float a_value_2 = shared.b[stage][thread / 16 + 8 * run][thread % 16];
            total[run] = a_value + a_value_2;
        }
        fence_async_proxy();  // the loads of `a` and `b` come before what the copy engine writes

        // r.release(k)                                                            bulk_pipes.py:115
        mbarrier_arrive(&shared.boxes_empty[stage]);

        // j = k * BN + tl.arange(0, BN)                                           bulk_pipes.py:116
        const int j = k_ * 16 + thread % 16;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // i = tl.program_id(0) * BM + tl.arange(0, BM)                        bulk_pipes.py:111
            const int i = pid_x * 16 + thread / 16 + 8 * run;
            // tl.store(out + i[:, None] * N + j[None, :], total, mask=(i[:, ...   bulk_pipes.py:117
            if (i < M && j < N) *(out + i * N + j) = total[run];
        }
    }
}
