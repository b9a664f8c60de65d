// by_cursor.cu: emitted by tle2cuda from async_pipes.py:226 (by_cursor). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 1584 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     put_by_cursor on warps 0 to 3, take_by_cursor on warps 4 to 7
//   args      x *i32 align 16, out *i32 align 16, n i32
//   constants B = 128, CAPACITY = 3

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

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
    alignas(16) int data[3][128];             // async_pipes.py:228
    alignas(8) Barrier x_full[3];             // async_pipes.py:229
    alignas(8) Barrier x_empty[3];            // async_pipes.py:229
};
static_assert(sizeof(Shared) <= 1584, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
by_cursor(const int* x, int* out, const int n)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 3; ++stage) {
            mbarrier_init(&shared.x_full[stage], 128);
            mbarrier_init(&shared.x_empty[stage], 128);
        }
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {  // take_by_cursor: warps 4 to 7
        const int thread = threadIdx.x - 128;

        // for k in range(n):                                                     async_pipes.py:218
        int c_stage = 0;
        int c_lap = 0;
        for (int k_ = 0; k_ < n; ++k_) {
            // row = tl.load(tle.gpu.local_ptr(r.wait(c).slot.data, (B - 1 - ...  async_pipes.py:219
            mbarrier_wait(&shared.x_full[c_stage], c_lap & 1);
            const int row = shared.data[c_stage][127 - thread];
            // r.release(c)                                                       async_pipes.py:220
            mbarrier_arrive(&shared.x_empty[c_stage]);
            // c = c.advance()                                                    async_pipes.py:221
            c_lap += static_cast<int>(c_stage + 1 == 3);
            // tl.store(out + k * B + tl.arange(0, B), row)                       async_pipes.py:222
            *(out + k_ * 128 + thread) = row;
            // c = c.advance()                                                    async_pipes.py:221
            c_stage = c_stage + 1 == 3 ? 0 : c_stage + 1;
        }
        return;
    }

    const int thread = threadIdx.x;

    // put_by_cursor: warps 0 to 3
    // for k in range(n):                                                         async_pipes.py:208
    int c_stage = 0;
    int c_lap = 0;
    for (int k_ = 0; k_ < n; ++k_) {
        // tl.store(tle.gpu.local_ptr(w.acquire(c).data), tl.load(x + k * B ...   async_pipes.py:209
        mbarrier_wait(&shared.x_empty[c_stage], (c_lap + 1) & 1);
        const int x_value = *(x + k_ * 128 + thread);
        shared.data[c_stage][thread] = x_value + k_;

        // w.commit(c)                                                            async_pipes.py:210
        mbarrier_arrive(&shared.x_full[c_stage]);
        // c = c.advance()                                                        async_pipes.py:211
        c_lap += static_cast<int>(c_stage + 1 == 3);
        c_stage = c_stage + 1 == 3 ? 0 : c_stage + 1;
    }
}
