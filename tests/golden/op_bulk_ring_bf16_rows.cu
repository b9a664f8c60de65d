// ring_of_rows.cu: emitted by tle2cuda from bulk_pipes.py:47 (ring_of_rows). Do not edit.
//
//   target    sm_90a, 160 threads per CTA, 2080 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     take_turned on warps 0 to 3, put_rows on warp 4
//   args      x *bf16 align 16, out *bf16 align 16, first i32 divisible by 16, n i32,
//             stride i32 divisible by 16
//   constants R = 4, B = 128, CAPACITY = 2, WORKER = True

#include <cuda_bf16.h>

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

// Store 8 bytes of global memory as one access (PTX ISA, st.global).
__device__ __forceinline__ void store_bits(uint2* pointer, uint2 bits)
{
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" :: "l"(pointer), "r"(bits.x), "r"(bits.y) : "memory");
}

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// Store N neighbours of less than 4 bytes in global memory, in words of type Bits: elements, the compiler may write apart.
// Called by each thread for itself.
template <typename Bits, int N, typename T>
__device__ __forceinline__ void store_narrow(T* pointer, const Vector<T, N>& value)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(value) / sizeof(Bits)); ++i) {
        Bits bits;
        memcpy(&bits, reinterpret_cast<const unsigned char*>(&value) + i * sizeof(Bits), sizeof(Bits));
        store_bits(reinterpret_cast<Bits*>(pointer) + i, bits);
    }
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) __nv_bfloat16 data[2][4][128];  // bulk_pipes.py:50
    alignas(8) Barrier rows_full[2];          // bulk_pipes.py:51
    alignas(8) Barrier rows_empty[2];         // bulk_pipes.py:51
};
static_assert(sizeof(Shared) <= 2080, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(160)
ring_of_rows(const __nv_bfloat16* x, __nv_bfloat16* out, const int first, const int n,
             const int stride)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.rows_full[stage], 1);
            mbarrier_init(&shared.rows_empty[stage], 128);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {  // put_rows: warp 4
        if (threadIdx.x == 128) {  // the others have nothing to do
            // for k in range(n):                                                   bulk_pipes.py:19
            for (int k_ = 0; k_ < n; ++k_) {
                // slot = w.acquire(k)                                              bulk_pipes.py:20
                const int stage = k_ & 1;
                const int lap = k_ >> 1;
                mbarrier_wait(&shared.rows_empty[stage], (lap + 1) & 1);

                // tle.gpu.copy(start + tl.arange(0, R)[:, None] * stride + tl ...  bulk_pipes.py:25
                mbarrier_expect_bytes(&shared.rows_full[stage], 1024);
                #pragma unroll
                for (int row = 0; row < 4; ++row)
                    bulk_load(shared.data[stage][row], x + first + k_ * 4 * stride + row * static_cast<long long>(stride), 256, &shared.rows_full[stage]);
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // take_turned: warps 0 to 3
    // for k in range(n):                                                           bulk_pipes.py:32
    // j = B - 1 - tl.arange(0, B)                                                  bulk_pipes.py:34
    const int index = thread % 32 * 4;
    const int j = 127 - index;
    for (int k_ = 0; k_ < n; ++k_) {
        // got = r.wait(k)                                                          bulk_pipes.py:33
        const int stage = k_ & 1;
        const int lap = k_ >> 1;
        mbarrier_wait(&shared.rows_full[stage], lap & 1);

        // value = tl.load(tle.gpu.local_ptr(got.slot.data, (rows, tl.broadcas ...  bulk_pipes.py:41
        Vector<__nv_bfloat16, 4> value;
        #pragma unroll
        for (int k = 0; k < 4; ++k) value[k] = shared.data[stage][thread / 32][j - k];
        fence_async_proxy();  // the loads of `data` come before what the copy engine writes

        // r.release(k)                                                             bulk_pipes.py:42
        mbarrier_arrive(&shared.rows_empty[stage]);
        // tl.store(out + (k * R + tl.arange(0, R))[:, None] * B + tl.arange(0 ...  bulk_pipes.py:43
        store_narrow<uint2>(out + k_ * 4 * 128 + thread / 32 * 128 + index, value);
    }
}
