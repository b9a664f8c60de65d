// combine.cu: emitted by tle2cuda from bulk_stores.py:74 (combine). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 1024 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i64 align 16, least *i64 align 16, most *i64 align 16, common *i64 align 16,
//             N i32 divisible by 16
//   constants B = 128

namespace {

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Combines elements of global memory with those at `source` in shared memory by `max`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_max_s64(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}

// Combines elements of global memory with those at `source` in shared memory by `min`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_min_s64(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}

// Combines elements of global memory with those at `source` in shared memory by `xor`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_xor_b64(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Closes this thread's bulk group (PTX ISA, cp.async.bulk.commit_group; sm_90).
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until all bulk groups of this thread but the last PENDING are complete (PTX ISA, cp.async.bulk.wait_group; sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(PENDING) : "memory"); }

// Waits until all but the last PENDING have read shared memory, which may then be written (PTX ISA, cp.async.bulk.wait_group.read;
// sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(16) long long line[128];          // bulk_stores.py:77
};
static_assert(sizeof(Shared) <= 1024, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
combine(const long long* x, long long* least, long long* most, long long* common, const int N)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // for start in range(0, N, B):                                                bulk_stores.py:78
    for (int start = 0; start < N; start += 128) {
        if (thread == 0) tma_store_wait_read();  // the copy engine has read `line`
        __syncthreads();  // orders the loads of `line` before the stores to it

        // tl.store(tle.gpu.local_ptr(line), tl.load(x + start + i))               bulk_stores.py:79
        const long long x_value = *(x + start + thread);
        shared.line[thread] = x_value;
        fence_async_proxy();  // shows what was written to `line` to the copy engine
        __syncthreads();  // orders the stores to `line` before the loads of it

        // tl.atomic_min(least + i, tl.load(tle.gpu.local_ptr(line)), sem="re ...  bulk_stores.py:80
        if (thread == 0) {
            bulk_reduce_min_s64(least, shared.line, 1024);
            tma_store_commit();

            // tl.atomic_max(most + i, tl.load(tle.gpu.local_ptr(line)), sem= ...  bulk_stores.py:81
            bulk_reduce_max_s64(most, shared.line, 1024);
            tma_store_commit();
            // tl.atomic_xor(common + i, tl.load(tle.gpu.local_ptr(line)), se ...  bulk_stores.py:82
            bulk_reduce_xor_b64(common, shared.line, 1024);
            tma_store_commit();
        }
    }
    if (thread == 0) tma_store_wait();  // the copy engine has written `most`

    // tl.debug_barrier()                                                          bulk_stores.py:83
    __syncthreads();

    // turned = tl.load(most + (B - 1 - i))                                        bulk_stores.py:84
    const long long turned = most[127 - thread];
    // tl.debug_barrier()                                                          bulk_stores.py:85
    __syncthreads();

    // tl.store(most + i, turned)                                                  bulk_stores.py:86
    most[thread] = turned;
}
