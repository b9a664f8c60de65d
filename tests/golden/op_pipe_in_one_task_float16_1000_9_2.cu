// in_one_task.cu: emitted by tle2cuda from async_pipes.py:185 (in_one_task). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 6208 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp16 align 16, out *fp32 align 16, n i32, columns i32
//   constants B = 1024, AHEAD = 2

#include <cuda_fp16.h>

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// Reduce across the 32 lanes of a warp by a commutative function; every lane receives the result. Called by whole warps.
template <typename T, typename Combine>
__device__ __forceinline__ T warp_all_reduce(T value, Combine combine)
{
    #pragma unroll
    for (int lane_mask = 16; lane_mask > 0; lane_mask >>= 1)
        value = combine(value, static_cast<T>(__shfl_xor_sync(0xffffffffu, value, lane_mask)));
    return value;
}

// Reduce across the WARPS warps of a CTA by a commutative function, through one shared slot per warp; every thread
// receives the result. Called by all threads. Contains one CTA barrier, between writing and reading the slots; another
// one has to follow before they are written again.
template <int WARPS, typename T, typename Slot, typename Combine>
__device__ __forceinline__ T cta_all_reduce(T value, Slot (&slots)[WARPS], Combine combine)
{
    value = warp_all_reduce(value, combine);
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
    __syncthreads();
    value = slots[0];
    #pragma unroll
    for (int warp = 1; warp < WARPS; ++warp) value = combine(value, static_cast<T>(slots[warp]));
    return value;
}

// Load one element of 16 bits in global memory if a condition holds, else take `other`: one predicated load
// (PTX ISA, ld.global). Its address is computed either way, so that neighbouring loads can share it.
template <typename T, typename Other>
__device__ __forceinline__ T load_if(bool condition, const T* pointer, Other other)
{
    T value = static_cast<T>(other);
    unsigned short bits;
    memcpy(&bits, &value, sizeof(bits));
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.u16 %0, [%1];\n\t}"
        : "+h"(bits)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    memcpy(&value, &bits, sizeof(bits));
    return value;
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
    alignas(16) __half data[3][1024];         // async_pipes.py:187
    alignas(16) float max_slots[4];           // scratch of async_pipes.py:201
    alignas(8) Barrier rows_full[3];          // async_pipes.py:188
    alignas(8) Barrier rows_empty[3];         // async_pipes.py:188
};
static_assert(sizeof(Shared) <= 6208, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
in_one_task(const __half* x, float* out, const int n, const int columns)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread == 0) {
        for (int stage = 0; stage < 3; ++stage) {
            mbarrier_init(&shared.rows_full[stage], 128);
            mbarrier_init(&shared.rows_empty[stage], 128);
        }
    }
    __syncthreads();  // all threads see the barriers set up

    // for k in range(min(n, AHEAD)):                                             async_pipes.py:191
    for (int k_ = 0; k_ < min(n, 2); ++k_) {
        // tl.store(tle.gpu.local_ptr(w.acquire(k).data), tl.load(x + k * co ...  async_pipes.py:192
        const int stage = k_ % 3;
        const int lap = k_ / 3;
        mbarrier_wait(&shared.rows_empty[stage], (lap + 1) & 1);

        // tile [1024]: element = thread + 128 * run;  run < 8
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            // i = tl.arange(0, B)                                                async_pipes.py:190
            const int i = thread + 128 * run;

            // tl.store(tle.gpu.local_ptr(w.acquire(k).data), tl.load(x + k ...   async_pipes.py:192
            const bool inside = i < columns;
            const __half x_value = load_if(inside, x + k_ * columns + i, __float2half(0.0f));
            shared.data[stage][thread + 128 * run] = x_value;
        }

        // w.commit(k)                                                            async_pipes.py:193
        mbarrier_arrive(&shared.rows_full[stage]);
    }
    // for k in range(n):                                                         async_pipes.py:194
    for (int k_ = 0; k_ < n; ++k_) {
        // if k + AHEAD < n:                                                      async_pipes.py:195
        if (k_ + 2 < n) {
            // tl.store(tle.gpu.local_ptr(w.acquire(k + AHEAD).data), row)        async_pipes.py:197
            const int stage = (k_ + 2) % 3;
            const int lap = (k_ + 2) / 3;
            __half row[8];
            #pragma unroll
            for (int run = 0; run < 8; ++run) {
                // i = tl.arange(0, B)                                            async_pipes.py:190
                const int i = thread + 128 * run;
                // tl.store(tle.gpu.local_ptr(w.acquire(k).data), tl.load(x ...   async_pipes.py:192
                const bool inside = i < columns;
                // row = tl.load(x + (k + AHEAD) * columns + i, mask=i < col ...  async_pipes.py:196
                row[run] = load_if(inside, x + (k_ + 2) * columns + i, __float2half(0.0f));
            }
            mbarrier_wait(&shared.rows_empty[stage], (lap + 1) & 1);
            #pragma unroll
            for (int run = 0; run < 8; ++run) {
                // tl.store(tle.gpu.local_ptr(w.acquire(k + AHEAD).data), row)    async_pipes.py:197
                shared.data[stage][thread + 128 * run] = row[run];
            }
            // w.commit(k + AHEAD)                                                async_pipes.py:198
            mbarrier_arrive(&shared.rows_full[stage]);
        }

        // row = tl.load(tle.gpu.local_ptr(r.wait(k).slot.data)).to(tl.float32)   async_pipes.py:199
        const int stage = k_ % 3;
        const int lap = k_ / 3;
        mbarrier_wait(&shared.rows_full[stage], lap & 1);
        float row[8];
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            const __half data_value = shared.data[stage][thread + 128 * run];

            // row = tl.load(tle.gpu.local_ptr(r.wait(k).slot.data)).to(tl.f ...  async_pipes.py:199
            row[run] = __half2float(data_value);
        }
        // r.release(k)                                                           async_pipes.py:200
        mbarrier_arrive(&shared.rows_empty[stage]);
        __syncthreads();  // orders the loads of the scratch `max_slots` before the stores to it

        // tl.store(out + k * columns + i, row - tl.max(row), mask=i < columns)   async_pipes.py:201
        float row_max = row[0];
        #pragma unroll
        for (int k = 1; k < 8; ++k) row_max = fmaxf(row_max, row[k]);
        row_max = cta_all_reduce(row_max, shared.max_slots, [](float a, float b) { return fmaxf(a, b); });
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            // i = tl.arange(0, B)                                                async_pipes.py:190
            const int i = thread + 128 * run;
            // tl.store(tle.gpu.local_ptr(w.acquire(k).data), tl.load(x + k ...   async_pipes.py:192
            const bool inside = i < columns;
            // tl.store(out + k * columns + i, row - tl.max(row), mask=i < c ...  async_pipes.py:201
            if (inside) *(out + k_ * columns + i) = row[run] - row_max;
        }
    }
}
