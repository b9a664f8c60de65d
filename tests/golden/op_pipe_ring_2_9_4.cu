// ring.cu: emitted by tle2cuda from async_pipes.py:38 (ring). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 2080 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     put_doubled on warps 0 to 3, take_next on warps 4 to 7
//   args      x *i32 align 16, out *i32 align 16, n i32
//   constants B = 256, CAPACITY = 2, WORKERS = 4

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

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

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int data[2][256];             // async_pipes.py:40
    alignas(8) Barrier x_full[2];             // async_pipes.py:41
    alignas(8) Barrier x_empty[2];            // async_pipes.py:41
};
static_assert(sizeof(Shared) <= 2080, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
ring(const int* x, int* out, const int n)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.x_full[stage], 128);
            mbarrier_init(&shared.x_empty[stage], 128);
        }
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {  // take_next: warps 4 to 7
        const int thread = threadIdx.x - 128;

        // for k in range(n):                                                      async_pipes.py:30
        // value = tl.load(tle.gpu.local_ptr(got.slot.data, (B - 1 - tl.arang ...  async_pipes.py:32
        const int index = 2 * thread;
        for (int k_ = 0; k_ < n; ++k_) {
            // got = r.wait(k)                                                     async_pipes.py:31
            const int stage = k_ & 1;
            const int lap = k_ >> 1;
            mbarrier_wait(&shared.x_full[stage], lap & 1);

            // value = tl.load(tle.gpu.local_ptr(got.slot.data, (B - 1 - tl.a ...  async_pipes.py:32
            Vector<int, 2> value;
            #pragma unroll
            for (int k = 0; k < 2; ++k) value[k] = shared.data[stage][255 - index - k];

            // r.release(k)                                                        async_pipes.py:33
            mbarrier_arrive(&shared.x_empty[stage]);

            // tl.store(out + k * B + tl.arange(0, B), value + 1)                  async_pipes.py:34
            Vector<int, 2> out_value;
            #pragma unroll
            for (int k = 0; k < 2; ++k) out_value[k] = value[k] + 1;
            store_vector(out + k_ * 256 + index, out_value);
        }
        return;
    }

    const int thread = threadIdx.x;

    // put_doubled: warps 0 to 3
    // for k in range(n):                                                          async_pipes.py:21
    for (int k_ = 0; k_ < n; ++k_) {
        // slot = w.acquire(k)                                                     async_pipes.py:22
        const int stage = k_ & 1;
        const int lap = k_ >> 1;
        mbarrier_wait(&shared.x_empty[stage], (lap + 1) & 1);

        // tl.store(tle.gpu.local_ptr(slot.data), tl.load(x + k * B + tl.aran ...  async_pipes.py:23
        const Vector<int, 2> x_value = load_vector<2>(x + k_ * 256 + 2 * thread);
        Vector<int, 2> data_value;
        #pragma unroll
        for (int k = 0; k < 2; ++k) data_value[k] = x_value[k] * 2;
        store_vector(&shared.data[stage][2 * thread], data_value);

        // w.commit(k)                                                             async_pipes.py:24
        mbarrier_arrive(&shared.x_full[stage]);
    }
}
