// row_sums.cu: emitted by tle2cuda from async_pipes.py:66 (row_sums). Do not edit.
//
//   target    sm_90a, 160 threads per CTA, 1056 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     put_rows on warps 0 to 3, take_sums on warp 4
//   args      x *i8 align 16, out *fp32 align 16, n i32, columns i32
//   constants B = 512, CAPACITY = 2, WORKERS = 1

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// Load one byte of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
template <typename T, typename Other>
__device__ __forceinline__ T load_byte_if(bool condition, const T* pointer, Other other)
{
    T value = static_cast<T>(other);
    unsigned char byte;
    memcpy(&byte, &value, 1);
    unsigned short bits = byte;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.u8 %0, [%1];\n\t}"
        : "+h"(bits)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    byte = static_cast<unsigned char>(bits);
    memcpy(&value, &byte, 1);
    return value;
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

// Reduce across the 32 lanes of a warp by a commutative function; every lane receives the result. Called by whole warps.
template <typename T, typename Combine>
__device__ __forceinline__ T warp_all_reduce(T value, Combine combine)
{
    #pragma unroll
    for (int lane_mask = 16; lane_mask > 0; lane_mask >>= 1)
        value = combine(value, static_cast<T>(__shfl_xor_sync(0xffffffffu, value, lane_mask)));
    return value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) signed char data[2][512];     // async_pipes.py:68
    alignas(8) Barrier rows_full[2];          // async_pipes.py:69
    alignas(8) Barrier rows_empty[2];         // async_pipes.py:69
};
static_assert(sizeof(Shared) <= 1056, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(160)
row_sums(const signed char* x, float* out, const int n, const int columns)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.rows_full[stage], 128);
            mbarrier_init(&shared.rows_empty[stage], 32);
        }
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {  // take_sums: warp 4
        const int thread = threadIdx.x - 128;

        // for k in range(n):                                                      async_pipes.py:58
        for (int k_ = 0; k_ < n; ++k_) {
            // got = r.wait(k)                                                     async_pipes.py:59
            const int stage = k_ & 1;
            const int lap = k_ >> 1;
            mbarrier_wait(&shared.rows_full[stage], lap & 1);

            // row = tl.load(tle.gpu.local_ptr(got.slot.data))                     async_pipes.py:60
            const Vector<signed char, 16> row = load_vector<16>(&shared.data[stage][16 * thread]);
            // r.release(k)                                                        async_pipes.py:61
            mbarrier_arrive(&shared.rows_empty[stage]);

            // tl.store(out + k, tl.sum(row.to(tl.float32)))                       async_pipes.py:62
            float row_sum = 0.0f;
            #pragma unroll
            for (int k = 0; k < 16; ++k) row_sum += static_cast<float>(row[k]);
            row_sum = warp_all_reduce(row_sum, [](float a, float b) { return a + b; });
            if (thread == 0) out[k_] = row_sum;
        }
        return;
    }

    const int thread = threadIdx.x;

    // put_rows: warps 0 to 3
    // for k in range(n):                                                          async_pipes.py:49
    for (int k_ = 0; k_ < n; ++k_) {
        // slot = w.acquire(k)                                                     async_pipes.py:50
        const int stage = k_ & 1;
        const int lap = k_ >> 1;
        mbarrier_wait(&shared.rows_empty[stage], (lap + 1) & 1);

        // tile [512]: element = thread + 128 * run;  run < 4
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            // i = tl.arange(0, B)                                                 async_pipes.py:48
            const int i = thread + 128 * run;
            // tle.gpu.copy(x + k * columns + i, slot.data, [B], mask=i < col ...  async_pipes.py:51
            const signed char x_value = load_byte_if(i < columns, x + k_ * columns + i, 0);
            shared.data[stage][thread + 128 * run] = x_value;
        }

        // w.commit(k)                                                             async_pipes.py:52
        mbarrier_arrive(&shared.rows_full[stage]);
    }
}
