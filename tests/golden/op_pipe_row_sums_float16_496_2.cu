// row_sums.cu: emitted by tle2cuda from async_pipes.py:66 (row_sums). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 2096 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     put_rows on warps 0 to 3, take_sums on warps 4 to 7
//   args      x *fp16 align 16, out *fp32 align 16, n i32, columns i32 divisible by 16
//   constants B = 512, CAPACITY = 2, WORKERS = 4

#include <cuda_fp16.h>

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// The same as one of the arrivals that the phase's count includes (PTX ISA, cp.async.mbarrier.arrive.noinc; sm_80).
__device__ __forceinline__ void cp_async_mbarrier_arrive_noinc(Barrier* barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Copies the first `valid_bytes` of 4, 8 or 16 bytes from global to shared memory, both aligned to as much, and zeros for the
// rest, as part of this thread's open group. Called by each thread for itself (PTX ISA, cp.async with src-size; sm_80).
template <int BYTES>
__device__ __forceinline__ void cp_async_zero_fill(void* destination, const void* source, unsigned valid_bytes)
{
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(destination)), "l"(source), "r"(valid_bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(destination)), "l"(source), "n"(BYTES), "r"(valid_bytes) : "memory");
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

// Barrier of the 128 threads of partition `take_sums`: hardware barrier 1.
__device__ __forceinline__ void take_sums_barrier() { named_barrier_sync(1, 128); }

// Shared memory of one CTA.
struct Shared {
    alignas(16) __half data[2][512];          // async_pipes.py:68
    alignas(16) float sum_slots[4];           // scratch of async_pipes.py:62
    alignas(8) Barrier rows_full[2];          // async_pipes.py:69
    alignas(8) Barrier rows_empty[2];         // async_pipes.py:69
};
static_assert(sizeof(Shared) <= 2096, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
row_sums(const __half* x, float* out, const int n, const int columns)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.rows_full[stage], 128);
            mbarrier_init(&shared.rows_empty[stage], 128);
        }
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {  // take_sums: warps 4 to 7
        const int thread = threadIdx.x - 128;

        // for k in range(n):                                                      async_pipes.py:58
        for (int k_ = 0; k_ < n; ++k_) {
            // got = r.wait(k)                                                     async_pipes.py:59
            const int stage = k_ & 1;
            const int lap = k_ >> 1;
            mbarrier_wait(&shared.rows_full[stage], lap & 1);

            // row = tl.load(tle.gpu.local_ptr(got.slot.data))                     async_pipes.py:60
            const Vector<__half, 4> row = load_vector<4>(&shared.data[stage][4 * thread]);
            // r.release(k)                                                        async_pipes.py:61
            mbarrier_arrive(&shared.rows_empty[stage]);
            take_sums_barrier();  // orders the loads of the scratch `sum_slots` before the stores to it

            // tl.store(out + k, tl.sum(row.to(tl.float32)))                       async_pipes.py:62
            float row_sum = 0.0f;
            #pragma unroll
            for (int k = 0; k < 4; ++k) row_sum += __half2float(row[k]);
            row_sum = partition_all_reduce(row_sum, shared.sum_slots, [](float a, float b) { return a + b; }, thread, take_sums_barrier);
            if (thread == 0) out[k_] = row_sum;
        }
        return;
    }

    const int thread = threadIdx.x;

    // put_rows: warps 0 to 3
    // for k in range(n):                                                          async_pipes.py:49
    // i = tl.arange(0, B)                                                         async_pipes.py:48
    const int i = thread % 64 * 8;
    for (int k_ = 0; k_ < n; ++k_) {
        // slot = w.acquire(k)                                                     async_pipes.py:50
        const int stage = k_ & 1;
        const int lap = k_ >> 1;
        mbarrier_wait(&shared.rows_empty[stage], (lap + 1) & 1);

        // tle.gpu.copy(x + k * columns + i, slot.data, [B], mask=i < columns)     async_pipes.py:51
        if (thread < 64) cp_async_zero_fill<16>(&shared.data[stage][thread % 64 * 8], x + k_ * columns + i, i < columns ? 16 : 0);
        // w.commit(k)                                                             async_pipes.py:52
        cp_async_mbarrier_arrive_noinc(&shared.rows_full[stage]);
    }
}
