// two_readers.cu: emitted by tle2cuda from async_pipes.py:107 (two_readers). Do not edit.
//
//   target    sm_90a, 384 threads per CTA, 2096 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     take_product on warps 0 to 3, put_both on warps 8 to 9, take_largest on warps 4 to 7
//   args      x *i32 align 16, scale *i32 align 16, out *i32 align 16, largest *i32 align 16,
//             n i32
//   constants B = 128, CAPACITY = 2

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

// `a * b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T mul_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
}

// Waits until `threads` threads, whole warps, have come to hardware barrier `barrier` (1 to 15; 0 is that of __syncthreads).
// Called by all lanes of a warp (PTX ISA, barrier.sync).
__device__ __forceinline__ void named_barrier_sync(int barrier, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Reduce across the 32 lanes of a warp by a commutative function; every lane receives the result. Called by whole warps.
template <typename T, typename Combine>
__device__ __forceinline__ T warp_all_reduce(T value, Combine combine)
{
    #pragma unroll
    for (int lane_mask = 16; lane_mask > 0; lane_mask >>= 1)
        value = combine(value, static_cast<T>(__shfl_xor_sync(0xffffffffu, value, lane_mask)));
    return value;
}

// Reduce across the WARPS warps of a partition by a commutative function, through one shared slot per warp; every thread
// receives the result. Called by all threads of the partition, each with its number in it; they meet at `barrier` between
// writing and reading the slots, and have to meet again before the slots are written again.
template <int WARPS, typename T, typename Slot, typename Combine, typename Barrier>
__device__ __forceinline__ T partition_all_reduce(T value, Slot (&slots)[WARPS], Combine combine, int thread, Barrier barrier)
{
    value = warp_all_reduce(value, combine);
    if (thread % 32 == 0) slots[thread / 32] = value;
    barrier();
    value = slots[0];
    #pragma unroll
    for (int warp = 1; warp < WARPS; ++warp) value = combine(value, static_cast<T>(slots[warp]));
    return value;
}

// The warpgroup gives registers back, down to REGISTERS a thread (a multiple of 8 from 24 to 256). Called by all of its threads
// (PTX ISA, setmaxnreg; sm_90a).
template <int REGISTERS>
__device__ __forceinline__ void registers_decrease() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }

// The warpgroup takes registers, up to REGISTERS a thread, and waits until others have given them back. Called by all of its
// threads (PTX ISA, setmaxnreg; sm_90a).
template <int REGISTERS>
__device__ __forceinline__ void registers_increase() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }

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

// Barrier of the 128 threads of partition `take_largest`: hardware barrier 1.
__device__ __forceinline__ void take_largest_barrier() { named_barrier_sync(1, 128); }

// Shared memory of one CTA.
struct Shared {
    alignas(16) int row[2][128];              // async_pipes.py:109
    alignas(16) int factor[2][128];           // async_pipes.py:110
    alignas(16) int largest_slots[4];         // scratch of async_pipes.py:101
    alignas(8) Barrier x_full[2];             // async_pipes.py:111
    alignas(8) Barrier x_empty[2];            // async_pipes.py:111
};
static_assert(sizeof(Shared) <= 2096, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1)
two_readers(const int* x, const int* scale, int* out, int* largest, const int n)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.x_full[stage], 65);
            mbarrier_init(&shared.x_empty[stage], 256);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {
        if (warp >= 8) registers_decrease<24>();
        if (warp < 8) {  // take_largest: warps 4 to 7
            registers_decrease<24>();
            const int thread = threadIdx.x - 128;

            // for k in range(n):                                                  async_pipes.py:99
            for (int k_ = 0; k_ < n; ++k_) {
                // got = r.wait(k)                                                async_pipes.py:100
                const int stage = k_ & 1;
                const int lap = k_ >> 1;
                mbarrier_wait(&shared.x_full[stage], lap & 1);

                // largest = tl.max(tl.load(tle.gpu.local_ptr(got.slot.row)))     async_pipes.py:101
                const int row_value = shared.row[stage][thread];
                int largest_2 = row_value;
                largest_2 = partition_all_reduce(largest_2, shared.largest_slots, [](int a, int b) { return max(a, b); }, thread, take_largest_barrier);
                fence_async_proxy();  // the loads of `row` come before what the copy engine writes
                take_largest_barrier();  // orders the loads of the scratch `largest_slots` before the stores to it

                // r.release(k)                                                   async_pipes.py:102
                mbarrier_arrive(&shared.x_empty[stage]);
                // tl.store(out + k, largest)                                     async_pipes.py:103
                if (thread == 0) largest[k_] = largest_2;
            }
        } else if (warp < 10) {  // put_both: warps 8 to 9
            const int thread = threadIdx.x - 256;

            // for k in range(n):                                                  async_pipes.py:78
            // i = tl.arange(0, B)                                                 async_pipes.py:80
            const int i = 2 * thread;
            for (int k_ = 0; k_ < n; ++k_) {
                // slot = w.acquire(k)                                             async_pipes.py:79
                const int stage = k_ & 1;
                const int lap = k_ >> 1;
                mbarrier_wait(&shared.x_empty[stage], (lap + 1) & 1);

                // tl.store(tle.gpu.local_ptr(slot.row), tl.load(x + k * B + i))   async_pipes.py:81
                if (thread == 0) {
                    mbarrier_expect_bytes(&shared.x_full[stage], 512);
                    bulk_load(shared.row[stage], x + k_ * 128, 512, &shared.x_full[stage]);
                }

                // tl.store(tle.gpu.local_ptr(slot.factor), tl.load(scale + k ...  async_pipes.py:82
                const int scale_value = scale[k_];
                Vector<int, 2> packed;
                #pragma unroll
                for (int k = 0; k < 2; ++k) packed[k] = scale_value + i + k;
                store_vector(&shared.factor[stage][2 * thread], packed);

                // w.commit(k)                                                     async_pipes.py:83
                mbarrier_arrive(&shared.x_full[stage]);
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // take_product: warps 0 to 3
    registers_increase<240>();
    // for k in range(n):                                                          async_pipes.py:89
    for (int k_ = 0; k_ < n; ++k_) {
        // got = r.wait(k)                                                         async_pipes.py:90
        const int stage = k_ & 1;
        const int lap = k_ >> 1;
        mbarrier_wait(&shared.x_full[stage], lap & 1);

        // product = tl.load(tle.gpu.local_ptr(got.slot.row)) * tl.load(tle.g ...  async_pipes.py:91
        const int row_value = shared.row[stage][thread];
        const int row_value_2 = shared.factor[stage][thread];
        const int product = mul_wrapping(row_value, row_value_2);
        fence_async_proxy();  // the loads of `row` come before what the copy engine writes

        // r.release(k)                                                            async_pipes.py:92
        mbarrier_arrive(&shared.x_empty[stage]);
        // tl.store(out + k * B + tl.arange(0, B), product)                        async_pipes.py:93
        *(out + k_ * 128 + thread) = product;
    }
}
