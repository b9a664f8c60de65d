// tiles.cu: emitted by tle2cuda from async_pipes.py:311 (tiles). Do not edit.
//
//   target    sm_90a, 192 threads per CTA, 4128 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     take_turned on warps 0 to 3, put_tiles on warps 4 to 5
//   args      x *fp32 align 16, out *fp32 align 16, n i32
//   constants M = 16, N = 32, CAPACITY = 2

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Copies 4, 8 or 16 bytes from global to shared memory, both aligned to as much, as part of this thread's open group. Called by
// each thread for itself (PTX ISA, cp.async; sm_80).
template <int BYTES>
__device__ __forceinline__ void cp_async(void* destination, const void* source)
{
    if constexpr (BYTES == 16)  // past L1, which the data would only pass through
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(destination)), "l"(source) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(destination)), "l"(source), "n"(BYTES) : "memory");
}

// The same as one of the arrivals that the phase's count includes (PTX ISA, cp.async.mbarrier.arrive.noinc; sm_80).
__device__ __forceinline__ void cp_async_mbarrier_arrive_noinc(Barrier* barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
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

// Shared memory of one CTA.
struct Shared {
    alignas(16) float data[2][16][32];        // async_pipes.py:313
    alignas(8) Barrier tiles_full[2];         // async_pipes.py:314
    alignas(8) Barrier tiles_empty[2];        // async_pipes.py:314
};
static_assert(sizeof(Shared) <= 4128, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(192)
tiles(const float* x, float* out, const int n)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.tiles_full[stage], 64);
            mbarrier_init(&shared.tiles_empty[stage], 128);
        }
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {  // put_tiles: warps 4 to 5
        const int thread = threadIdx.x - 128;

        // for k in range(n):                                                     async_pipes.py:290
        // r, c = tl.arange(0, M), tl.arange(0, N)                                async_pipes.py:289
        const int c = thread % 8 * 4;
        for (int k_ = 0; k_ < n; ++k_) {
            // slot = w.acquire(k)                                                async_pipes.py:291
            const int stage = k_ & 1;
            const int lap = k_ >> 1;
            mbarrier_wait(&shared.tiles_empty[stage], (lap + 1) & 1);

            // tle.gpu.copy(x + k * M * N + rows[:, None] * N + c[None, :], ...   async_pipes.py:293
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // r, c = tl.arange(0, M), tl.arange(0, N)                        async_pipes.py:289
                const int r = thread / 8 + 8 * run;
                // rows = (r * 5 + k) % M                                         async_pipes.py:292
                const int rows = (r * 5 + k_) % 16;
                cp_async<16>(&shared.data[stage][thread / 8 + 8 * run][thread % 8 * 4], x + k_ * 16 * 32 + rows * 32 + c);
            }

            // w.commit(k)                                                        async_pipes.py:294
            cp_async_mbarrier_arrive_noinc(&shared.tiles_full[stage]);
        }
        return;
    }

    const int thread = threadIdx.x;
    __builtin_assume(0 <= thread && thread < 128);  // compilers do not take it from the launch bounds

    // take_turned: warps 0 to 3
    // for k in range(n):                                                         async_pipes.py:301
    // a, b = tl.arange(0, N), tl.arange(0, M)                                    async_pipes.py:300
    const int b = thread % 4 * 4;
    const int a = thread / 4;
    for (int k_ = 0; k_ < n; ++k_) {
        // got = r.wait(k)                                                        async_pipes.py:302
        const int stage = k_ & 1;
        const int lap = k_ >> 1;
        mbarrier_wait(&shared.tiles_full[stage], lap & 1);

        // turned = tl.load(tle.gpu.local_ptr(got.slot.tile, (rows, columns)))    async_pipes.py:305
        Vector<float, 4> turned;
        #pragma unroll
        for (int k = 0; k < 4; ++k) turned[k] = shared.data[stage][b + k][a];

        // r.release(k)                                                           async_pipes.py:306
        mbarrier_arrive(&shared.tiles_empty[stage]);
        // tl.store(out + k * M * N + a[:, None] * M + b[None, :], turned)        async_pipes.py:307
        store_vector(out + k_ * 16 * 32 + a * 16 + b, turned);
    }
}
