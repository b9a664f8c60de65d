// three_pipes.cu: emitted by tle2cuda from async_pipes.py:269 (three_pipes). Do not edit.
//
//   target    sm_90a, 160 threads per CTA, 608 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     forward on warps 0 to 1, put_raw on warps 2 to 3, take_last on warp 4
//   args      x *i32 align 16, out *i32 align 16, n i32
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

// Waits until `threads` threads, whole warps, have come to hardware barrier `barrier` (1 to 15; 0 is that of __syncthreads).
// Called by all lanes of a warp (PTX ISA, barrier.sync).
__device__ __forceinline__ void named_barrier_sync(int barrier, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Barrier of the 64 threads of the default warps: hardware barrier 1.
__device__ __forceinline__ void default_warps_barrier() { named_barrier_sync(1, 64); }

// Shared memory of one CTA.
struct Shared {
    alignas(16) int data[2][64];              // async_pipes.py:271
    alignas(8) Barrier raw_full[2];           // async_pipes.py:272
    alignas(8) Barrier raw_empty[2];          // async_pipes.py:272
    alignas(8) Barrier ready_full[2];         // async_pipes.py:273
    alignas(8) Barrier ready_empty[2];        // async_pipes.py:273
    alignas(8) Barrier done_full[2];          // async_pipes.py:274
    alignas(8) Barrier done_empty[2];         // async_pipes.py:274
};
static_assert(sizeof(Shared) <= 608, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(160)
three_pipes(const int* x, int* out, const int n)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.raw_full[stage], 1);
            mbarrier_init(&shared.raw_empty[stage], 64);
            mbarrier_init(&shared.ready_full[stage], 64);
            mbarrier_init(&shared.ready_empty[stage], 32);
            mbarrier_init(&shared.done_full[stage], 32);
            mbarrier_init(&shared.done_empty[stage], 64);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 2) {
        if (warp < 4) {  // put_raw: warps 2 to 3
            const int thread = threadIdx.x - 64;

            // for k in range(n):                                                 async_pipes.py:248
            for (int k_ = 0; k_ < n; ++k_) {
                // if k >= CAPACITY:                                              async_pipes.py:249
                if (k_ >= 2) {
                    // done.wait(k - CAPACITY)                                    async_pipes.py:250
                    const int stage = (k_ - 2) & 1;
                    const int lap = (k_ - 2) >> 1;
                    mbarrier_wait(&shared.done_full[stage], lap & 1);

                    // done.release(k - CAPACITY)                                 async_pipes.py:251
                    mbarrier_arrive(&shared.done_empty[stage]);
                }

                // slot = w.acquire(k)                                            async_pipes.py:252
                const int stage = k_ & 1;
                const int lap = k_ >> 1;
                if (thread == 0) {
                    mbarrier_wait(&shared.raw_empty[stage], (lap + 1) & 1);

                    // tl.store(tle.gpu.local_ptr(slot.data), tl.load(x + k ...   async_pipes.py:253
                    mbarrier_expect_bytes(&shared.raw_full[stage], 256);
                    bulk_load(shared.data[stage], x + k_ * 64, 256, &shared.raw_full[stage]);
                }
            }
        } else {  // take_last: warp 4
            const int thread = threadIdx.x - 128;

            // for k in range(n):                                                 async_pipes.py:260
            // row = tl.load(tle.gpu.local_ptr(r.wait(k).slot.data, (B - 1 - ...  async_pipes.py:261
            const int index = 2 * thread;
            for (int k_ = 0; k_ < n; ++k_) {
                // row = tl.load(tle.gpu.local_ptr(r.wait(k).slot.data, (B - ...  async_pipes.py:261
                const int stage = k_ & 1;
                const int lap = k_ >> 1;
                mbarrier_wait(&shared.ready_full[stage], lap & 1);
                Vector<int, 2> row;
                #pragma unroll
                for (int k = 0; k < 2; ++k) row[k] = shared.data[stage][63 - index - k];
                fence_async_proxy();  // the loads of `data` come before what the copy engine writes

                // r.release(k)                                                   async_pipes.py:262
                mbarrier_arrive(&shared.ready_empty[stage]);
                // done.acquire(k)                                                async_pipes.py:263
                mbarrier_wait(&shared.done_empty[stage], (lap + 1) & 1);
                // done.commit(k)                                                 async_pipes.py:264
                mbarrier_arrive(&shared.done_full[stage]);
                // tl.store(out + k * B + tl.arange(0, B), row)                   async_pipes.py:265
                store_vector(out + k_ * 64 + index, row);
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // forward: warps 0 to 1
    // for k in range(n):                                                         async_pipes.py:236
    for (int k_ = 0; k_ < n; ++k_) {
        // got = first.wait(k)                                                    async_pipes.py:237
        const int stage = k_ & 1;
        const int lap = k_ >> 1;
        mbarrier_wait(&shared.raw_full[stage], lap & 1);

        // slot = second.acquire(k)                                               async_pipes.py:238
        mbarrier_wait(&shared.ready_empty[stage], (lap + 1) & 1);
        // row = tl.load(tle.gpu.local_ptr(got.slot.data))                        async_pipes.py:239
        const int row = shared.data[stage][thread];

        // tl.store(tle.gpu.local_ptr(slot.data), row + 100)                      async_pipes.py:240
        const int sum = row + 100;
        default_warps_barrier();  // orders the loads of `data` before the stores to it
        shared.data[stage][thread] = sum;
        fence_async_proxy();  // shows what was written to `data` to the copy engine

        // second.commit(k)                                                       async_pipes.py:241
        mbarrier_arrive(&shared.ready_full[stage]);
        // first.release(k)                                                       async_pipes.py:242
        mbarrier_arrive(&shared.raw_empty[stage]);
    }
}
