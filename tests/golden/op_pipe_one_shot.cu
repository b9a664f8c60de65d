// one_shot.cu: emitted by tle2cuda from async_pipes.py:177 (one_shot). Do not edit.
//
//   target    sm_90a, 192 threads per CTA, 528 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     take_table on warps 0 to 3, put_table on warps 4 to 5
//   args      x *i32 align 16, table *i32 align 16, out *i32 align 16, n i32
//   constants B = 128

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
    alignas(16) int data[1][128];             // async_pipes.py:179
    alignas(8) Barrier table_full;            // async_pipes.py:180
};
static_assert(sizeof(Shared) <= 528, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(192)
one_shot(const int* x, const int* table, int* out, const int n)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        mbarrier_init(&shared.table_full, 64);
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {  // put_table: warps 4 to 5
        const int thread = threadIdx.x - 128;

        // tl.store(tle.gpu.local_ptr(slot.data), tl.load(table + tl.arange( ...  async_pipes.py:163
        const Vector<int, 2> table_value = load_vector<2>(table + 2 * thread);
        Vector<int, 2> data_value;
        #pragma unroll
        for (int k = 0; k < 2; ++k) data_value[k] = table_value[k] * 3;
        store_vector(&shared.data[0][2 * thread], data_value);

        // w.commit(0)                                                            async_pipes.py:164
        mbarrier_arrive(&shared.table_full);
        return;
    }

    const int thread = threadIdx.x;

    // take_table: warps 0 to 3
    // for k in range(n):                                                         async_pipes.py:170
    for (int k_ = 0; k_ < n; ++k_) {
        // place = tl.load(x + k * B + tl.arange(0, B))                           async_pipes.py:171
        const int place = *(x + k_ * 128 + thread);
        // entry = tl.load(tle.gpu.local_ptr(r.wait(0).slot.data, (place,)))      async_pipes.py:172
        mbarrier_wait(&shared.table_full, 0);
        const int entry = shared.data[0][place];
        // tl.store(out + k * B + tl.arange(0, B), entry)                         async_pipes.py:173
        *(out + k_ * 128 + thread) = entry;
    }
}
