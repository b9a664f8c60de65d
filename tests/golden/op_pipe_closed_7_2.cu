// closed_ring.cu: emitted by tle2cuda from async_pipes.py:152 (closed_ring). Do not edit.
//
//   target    sm_90a, 160 threads per CTA, 560 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     take_until on warps 0 to 3, put_until on warp 4
//   args      x *fp32 align 16, out *fp32 align 16
//   constants B = 64, CAPACITY = 2

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Neighbouring bytes from global into shared memory, completing on `barrier`. Addresses and size are multiples of 16 bytes.
// Called by one thread (PTX ISA, cp.async.bulk; sm_90).
__device__ __forceinline__ void bulk_load(void* destination, const void* source, unsigned bytes, Barrier* barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(shared_address(destination)), "l"(source), "r"(bytes), "r"(shared_address(barrier)) : "memory");
}

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Makes this thread's mbarrier_init known to the cluster and to the copy engine (PTX ISA, fence.mbarrier_init; sm_90).
__device__ __forceinline__ void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
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

// Shared memory of one CTA.
struct Shared {
    alignas(16) float data[2][64];            // async_pipes.py:154
    alignas(16) int x_closed[2];              // async_pipes.py:155
    alignas(8) Barrier x_full[2];             // async_pipes.py:155
    alignas(8) Barrier x_empty[2];            // async_pipes.py:155
};
static_assert(sizeof(Shared) <= 560, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(160)
closed_ring(const float* x, float* out)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.x_full[stage], 1);
            mbarrier_init(&shared.x_empty[stage], 128);
            shared.x_closed[stage] = 0;
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {  // put_until: warp 4
        if (threadIdx.x == 128) {  // the others have nothing to do
            unsigned x_filled = 0;

            // go_on = tl.load(x) >= 0                                            async_pipes.py:127
            const float x_value = *x;
            const bool go_on = x_value >= 0.0f;

            // while go_on:                                                       async_pipes.py:128
            int k_ = 0;
            bool go_on_2 = go_on;
            while (go_on_2) {
                // slot = w.acquire(k)                                            async_pipes.py:129
                const int stage = k_ & 1;
                const int lap = k_ >> 1;
                mbarrier_wait(&shared.x_empty[stage], (lap + 1) & 1);

                // tl.store(tle.gpu.local_ptr(slot.data), tl.load(x + k * B ...   async_pipes.py:130
                mbarrier_expect_bytes(&shared.x_full[stage], 256);
                bulk_load(shared.data[stage], x + k_ * 64, 256, &shared.x_full[stage]);
                x_filled ^= 1u << stage;

                // k += 1                                                         async_pipes.py:132
                k_ += 1;
                // go_on = tl.load(x + k * B) >= 0                                async_pipes.py:133
                const float x_value_2 = x[k_ * 64];
                go_on_2 = x_value_2 >= 0.0f;
            }

            // w.close(k)                                                         async_pipes.py:134
            const int stage = k_ & 1;
            const int lap = k_ >> 1;
            mbarrier_wait(&shared.x_empty[stage], (lap + 1) & 1);
            shared.x_closed[stage] = 1;
            x_filled ^= 1u << stage;
            mbarrier_arrive(&shared.x_full[stage]);

            // What nobody waited for lands before the CTA may exit.
            for (int stage = 0; stage < 2; ++stage) mbarrier_wait(&shared.x_full[stage], ~x_filled >> stage & 1);
        }
        return;
    }

    const int thread = threadIdx.x;

    // take_until: warps 0 to 3
    // got = r.wait(0)                                                            async_pipes.py:141
    mbarrier_wait(&shared.x_full[0], 0);
    const bool is_closed = shared.x_closed[0] != 0;

    // while closed == 0:                                                         async_pipes.py:143
    int k_ = 0;
    bool closed = is_closed;
    while (static_cast<int>(closed) == 0) {
        // row = tl.load(tle.gpu.local_ptr(r.wait(k).slot.data, (B - 1 - tl. ...  async_pipes.py:144
        const int stage = k_ & 1;
        const int lap = k_ >> 1;
        mbarrier_wait(&shared.x_full[stage], lap & 1);
        const float row = shared.data[stage][63 - thread % 64];
        fence_async_proxy();  // the loads of `data` come before what the copy engine writes

        // r.release(k)                                                           async_pipes.py:145
        mbarrier_arrive(&shared.x_empty[stage]);
        // k += 1                                                                 async_pipes.py:147
        const int k_3 = k_ + 1;
        // closed = r.wait(k).is_closed                                           async_pipes.py:148
        const int stage_2 = k_3 & 1;
        const int lap_2 = k_3 >> 1;
        // tl.store(out + k * B + tl.arange(0, B), row)                           async_pipes.py:146
        if (thread < 64) *(out + k_ * 64 + thread % 64) = row;

        // closed = r.wait(k).is_closed                                           async_pipes.py:148
        mbarrier_wait(&shared.x_full[stage_2], lap_2 & 1);
        const bool is_closed_2 = shared.x_closed[stage_2] != 0;
        k_ = k_3;
        closed = is_closed_2;
    }
}
