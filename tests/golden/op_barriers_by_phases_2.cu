// by_phases.cu: emitted by tle2cuda from async_partitions.py:182 (by_phases). Do not edit.
//
//   target    sm_90a, 384 threads per CTA, 1056 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     drain_by_phases on warps 0 to 3, fill_by_phases on warps 4 to 7,
//             drain_by_phases on warps 8 to 9
//   args      x *i32 align 16, out *i32 align 16, n i32
//   constants B = 128, STAGES = 2

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

// As many arrivals at once (PTX ISA, mbarrier.arrive; sm_90).
__device__ __forceinline__ void mbarrier_arrive_count(Barrier* barrier, unsigned arrivals)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
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

// The warpgroup gives registers back, down to REGISTERS a thread (a multiple of 8 from 24 to 256). Called by all of its threads
// (PTX ISA, setmaxnreg; sm_90a).
template <int REGISTERS>
__device__ __forceinline__ void registers_decrease() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }

// The warpgroup takes registers, up to REGISTERS a thread, and waits until others have given them back. Called by all of its
// threads (PTX ISA, setmaxnreg; sm_90a).
template <int REGISTERS>
__device__ __forceinline__ void registers_increase() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }

// Shared memory of one CTA.
struct Shared {
    alignas(16) int ring[2][128];             // async_partitions.py:184
    alignas(8) Barrier full[2];               // async_partitions.py:185
    alignas(8) Barrier free[2];               // async_partitions.py:186
};
static_assert(sizeof(Shared) <= 1056, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1)
by_phases(const int* x, int* out, const int n)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.full[stage], 128);
            mbarrier_init(&shared.free[stage], 512);
        }
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {
        if (warp >= 8) registers_decrease<24>();
        if (warp < 8) {  // fill_by_phases: warps 4 to 7
            registers_decrease<24>();
            const int thread = threadIdx.x - 128;

            // for k in range(n):                                            async_partitions.py:164
            for (int k_ = 0; k_ < n; ++k_) {
                // tle.gpu.barrier_wait(free[k % STAGES], phaseIdx=k // ...  async_partitions.py:165
                mbarrier_wait(&shared.free[k_ % 2], (k_ / 2 + 1) & 1);
                // tl.store(tle.gpu.local_ptr(ring.slot(k % STAGES)), t ...  async_partitions.py:166
                const int x_value = *(x + k_ * 128 + thread);
                shared.ring[k_ % 2][thread] = x_value + k_;
                // tle.gpu.barrier_arrive(full[k % STAGES], phaseIdx=k ...   async_partitions.py:167
                mbarrier_arrive(&shared.full[k_ % 2]);
            }
        } else if (warp < 10) {  // drain_by_phases: warps 8 to 9
            const int thread = threadIdx.x - 256;

            // for k in range(n):                                            async_partitions.py:174
            for (int k_ = 0; k_ < n; ++k_) {
                // tle.gpu.barrier_wait(full[k % STAGES], phaseIdx=k // ...  async_partitions.py:175
                mbarrier_wait(&shared.full[k_ % 2], (k_ / 2) & 1);
                // half = tl.load(tle.gpu.local_ptr(ring.slot(k % STAGE ...  async_partitions.py:176
                const int half_ = shared.ring[k_ % 2][63 - thread];
                // tle.gpu.barrier_arrive(free[k % STAGES], arrive_coun ...  async_partitions.py:177
                mbarrier_arrive_count(&shared.free[k_ % 2], 4);
                // tl.store(out + k * B + part * (B // 2) + i, half)         async_partitions.py:178
                *(out + k_ * 128 + 64 + thread) = half_;
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // drain_by_phases: warps 0 to 3
    registers_increase<240>();

    // for k in range(n):                                                    async_partitions.py:174
    // i = tl.arange(0, B // 2)                                              async_partitions.py:173
    const int i = thread % 64;
    for (int k_ = 0; k_ < n; ++k_) {
        // tle.gpu.barrier_wait(full[k % STAGES], phaseIdx=k // STAGES)      async_partitions.py:175
        mbarrier_wait(&shared.full[k_ % 2], (k_ / 2) & 1);
        // half = tl.load(tle.gpu.local_ptr(ring.slot(k % STAGES), (B - ...  async_partitions.py:176
        const int half_ = shared.ring[k_ % 2][127 - i];
        // tle.gpu.barrier_arrive(free[k % STAGES], arrive_count=2, pha ...  async_partitions.py:177
        mbarrier_arrive_count(&shared.free[k_ % 2], 2);
        // tl.store(out + k * B + part * (B // 2) + i, half)                 async_partitions.py:178
        if (thread < 64) *(out + k_ * 128 + i) = half_;
    }
}
