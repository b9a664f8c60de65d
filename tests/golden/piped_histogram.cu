// piped_histogram.cu: emitted by tle2cuda from piped_histogram.py:43 (piped_histogram). Do not edit.
//
//   target    sm_90a, 288 threads per CTA, 33920 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     count_values on warps 0 to 7, fetch_values on warp 8
//   args      counts *i32 align 16, n i32
//   maps      values_map of values: i32, shape (n), strides (1), box (256)
//   constants BINS = 256, BLOCK = 2048, STAGES = 4

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Makes this thread's mbarrier_init known to the cluster and to the copy engine (PTX ISA, fence.mbarrier_init; sm_90).
__device__ __forceinline__ void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
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

// One box of the tensor map into shared memory, from element c0 on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_1d(void* destination, const TensorMap* map, Barrier* barrier, int c0)
{
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0) : "memory");
}

// Barrier of the 256 threads of the default warps: hardware barrier 1.
__device__ __forceinline__ void default_warps_barrier() { named_barrier_sync(1, 256); }

// Shared memory of one CTA.
struct Shared {
    alignas(128) int ring[4][2048];           // piped_histogram.py:44
    alignas(16) int counters[256];            // piped_histogram.py:45
    alignas(8) Barrier blocks_full[4];        // piped_histogram.py:46
    alignas(8) Barrier blocks_empty[4];       // piped_histogram.py:46
};
static_assert(sizeof(Shared) <= 33920, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(288)
piped_histogram(int* counts, const int n, const __grid_constant__ TensorMap values_map)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 4; ++stage) {
            mbarrier_init(&shared.blocks_full[stage], 1);
            mbarrier_init(&shared.blocks_empty[stage], 256);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 8) {  // fetch_values: warp 8
        if (threadIdx.x == 256) {  // the others have nothing to do
            // for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl ...  piped_histogram.py:20
            const int pid_x = blockIdx.x;
            const int num_programs_x = gridDim.x;
            int place_stage = 0;
            int place_lap = 0;
            for (int block = pid_x; block < (n + 2047) / 2048; block += num_programs_x) {
                // slot = writer.acquire(place)                                piped_histogram.py:21
                mbarrier_wait(&shared.blocks_empty[place_stage], (place_lap + 1) & 1);

                // tle.gpu.copy(desc, slot.values, [BLOCK], [block * BLOCK])   piped_histogram.py:22
                mbarrier_expect_bytes(&shared.blocks_full[place_stage], 8192);
                #pragma unroll
                for (int part = 0; part < 8; ++part)
                    tma_load_1d(&shared.ring[place_stage][part * 256], &values_map, &shared.blocks_full[place_stage], block * 2048 + part * 256);

                // place = place.advance()                                     piped_histogram.py:24
                place_lap += static_cast<int>(place_stage + 1 == 4);
                place_stage = place_stage + 1 == 4 ? 0 : place_stage + 1;
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // count_values: warps 0 to 7
    // for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_pro ...  piped_histogram.py:32
    const int pid_x = blockIdx.x;
    const int num_programs_x = gridDim.x;

    // tl.store(tle.gpu.local_ptr(counters), tl.zeros([BINS], tl.int32))       piped_histogram.py:30
    shared.counters[thread] = 0;
    default_warps_barrier();  // orders the stores to `counters` before the atomics on it

    // for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_pro ...  piped_histogram.py:32
    int place_stage = 0;
    int place_lap = 0;
    for (int block = pid_x; block < (n + 2047) / 2048; block += num_programs_x) {
        // value = tl.load(tle.gpu.local_ptr(reader.wait(place).slot.values))  piped_histogram.py:33
        mbarrier_wait(&shared.blocks_full[place_stage], place_lap & 1);
        Vector<int, 4> value[2];

        // tile [2048]: element = 4 * thread + 1024 * run + k;  run < 2, k < 4
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            value[run] = load_vector<4>(&shared.ring[place_stage][4 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                               piped_histogram.py:34
        mbarrier_arrive(&shared.blocks_empty[place_stage]);

        // place = place.advance()                                             piped_histogram.py:35
        place_lap += static_cast<int>(place_stage + 1 == 4);
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                // counted = (block * BLOCK + tl.arange(0, BLOCK) < n) & ...   piped_histogram.py:36
                const bool value_2 = block * 2048 + 4 * thread + 1024 * run + k < n && value[run][k] >= 0;
                const bool counted = value_2 && value[run][k] < 256;
                // tl.atomic_add(tle.gpu.local_ptr(counters, (value,)), 1 ...  piped_histogram.py:37
                if (counted) atomicAdd(&shared.counters[value[run][k]], 1);
            }
        }
        place_stage = place_stage + 1 == 4 ? 0 : place_stage + 1;
    }
    default_warps_barrier();  // orders the atomics on `counters` before the loads of it

    // total = tl.load(tle.gpu.local_ptr(counters))                            piped_histogram.py:38
    const int total = shared.counters[thread];
    // tl.atomic_add(counts + bins, total, mask=total > 0, sem="relaxed")      piped_histogram.py:39
    if (total > 0) atomicAdd(counts + thread, total);
}
