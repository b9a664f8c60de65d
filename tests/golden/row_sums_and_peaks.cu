// row_sums_and_peaks.cu: emitted by tle2cuda from row_reduction.py:65 (row_sums_and_peaks). Do not edit.
//
//   target    sm_90a, 288 threads per CTA, 33024 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     sum_tiles on warps 0 to 3, find_peaks on warps 4 to 7, fetch_tiles on warp 8
//   args      totals *fp32 align 16, peaks *fp32 align 16, rows i32, cols i32 divisible by 16
//   maps      x_map of x: fp32, shape (rows, cols), strides (x_stride, 1), box (8, 256)
//   constants BLOCK_ROWS = 8, BLOCK_COLS = 256, STAGES = 4, PEAK_WARPS = 4

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

// Positive infinity.
__device__ __forceinline__ float infinity()
{
    return __int_as_float(0x7f800000);
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

// One box of the tensor map into shared memory, from element (c0, c1) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_2d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1) : "memory");
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

// Barrier of the 128 threads of the default warps: hardware barrier 1.
__device__ __forceinline__ void default_warps_barrier() { named_barrier_sync(1, 128); }

// Barrier of the 128 threads of partition `find_peaks`: hardware barrier 2.
__device__ __forceinline__ void find_peaks_barrier() { named_barrier_sync(2, 128); }

// Shared memory of one CTA.
struct Shared {
    alignas(128) float ring[4][8][256];       // row_reduction.py:78
    alignas(16) float sum_slots[16];          // scratch of row_reduction.py:33
    alignas(16) float max_slots[16];          // scratch of row_reduction.py:46
    alignas(8) Barrier tiles_full[4];         // row_reduction.py:79
    alignas(8) Barrier tiles_empty[4];        // row_reduction.py:79
};
static_assert(sizeof(Shared) <= 33024, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(288)
row_sums_and_peaks(float* totals, float* peaks, const int rows, const int cols,
                   const __grid_constant__ TensorMap x_map)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 4; ++stage) {
            mbarrier_init(&shared.tiles_full[stage], 1);
            mbarrier_init(&shared.tiles_empty[stage], 256);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {
        if (warp < 8) {  // find_peaks: warps 4 to 7
            const int thread = threadIdx.x - 128;
            const int pid_x_2 = blockIdx.x;

            // first_row = tl.program_id(0) * BLOCK_ROWS                         row_reduction.py:80
            const int first_row_2 = pid_x_2 * 8;

            // for k in range(tl.cdiv(cols, BLOCK_COLS)):                        row_reduction.py:40
            Vector<float, 4> highest[4];
            #pragma unroll
            for (int run = 0; run < 4; ++run)
                #pragma unroll
                for (int k = 0; k < 4; ++k)
                    highest[run][k] = -infinity();

            // col = tl.arange(0, BLOCK_COLS)                                    row_reduction.py:38
            const int col = thread % 64 * 4;
            for (int k_ = 0; k_ < (cols + 255) / 256; ++k_) {
                // tile = tl.load(tle.gpu.local_ptr(reader.wait(k).slot.til ...  row_reduction.py:41
                const int stage = k_ & 3;
                const int lap = k_ >> 2;
                mbarrier_wait(&shared.tiles_full[stage], lap & 1);
                Vector<float, 4> tile[4];

                // tile [8, 256]: row = thread / 64 + 2 * run, column = thread % 64 * 4 + k;  run < 4, k < 4
                #pragma unroll
                for (int run = 0; run < 4; ++run) {
                    tile[run] = load_vector<4>(&shared.ring[stage][thread / 64 + 2 * run][thread % 64 * 4]);
                }
                fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

                // reader.release(k)                                             row_reduction.py:42
                mbarrier_arrive(&shared.tiles_empty[stage]);
                #pragma unroll
                for (int run = 0; run < 4; ++run) {
                    #pragma unroll
                    for (int k = 0; k < 4; ++k) {
                        // highest = tl.maximum(highest, tl.where(inside, t ...  row_reduction.py:44
                        highest[run][k] = fmaxf(highest[run][k], k_ * 256 + col < cols ? tile[run][k] : -infinity());
                    }
                }
            }

            // tl.store(peaks + row, tl.max(highest, axis=1), mask=row < rows)   row_reduction.py:46
            float highest_max[4];
            #pragma unroll
            for (int run = 0; run < 4; ++run) {
                highest_max[run] = highest[run][0];
                #pragma unroll
                for (int k = 1; k < 4; ++k)
                    highest_max[run] = fmaxf(highest_max[run], highest[run][k]);
                highest_max[run] = warp_all_reduce(highest_max[run], [](float a, float b) { return fmaxf(a, b); });
            }
            #pragma unroll
            for (int run = 0; run < 4; ++run)
                if (thread % 32 == 0) shared.max_slots[thread / 32 % 2 * 8 + thread / 64 + 2 * run] = highest_max[run];
            find_peaks_barrier();  // the partial results of all warps are in their slots
            #pragma unroll
            for (int run = 0; run < 4; ++run) {
                highest_max[run] = shared.max_slots[thread / 64 + 2 * run];
                #pragma unroll
                for (int part = 1; part < 2; ++part)
                    highest_max[run] = fmaxf(highest_max[run], shared.max_slots[thread / 64 + 2 * run + 8 * part]);
            }

            // tile [8]: element = thread / 64 + 2 * run;  run < 4
            #pragma unroll
            for (int run = 0; run < 4; ++run) {
                // row = first_row + tl.arange(0, BLOCK_ROWS)                    row_reduction.py:45
                const int row = first_row_2 + thread / 64 + 2 * run;
                // tl.store(peaks + row, tl.max(highest, axis=1), mask=row ...   row_reduction.py:46
                if ((thread & 63) == 0 && row < rows) peaks[row] = highest_max[run];
            }
        } else {  // fetch_tiles: warp 8
            if (threadIdx.x == 256) {  // the others have nothing to do
                // first_row = tl.program_id(0) * BLOCK_ROWS                     row_reduction.py:80
                const int pid_x_2 = blockIdx.x;
                const int first_row_2 = pid_x_2 * 8;
                // for k in range(tl.cdiv(cols, BLOCK_COLS)):                    row_reduction.py:20
                for (int k_ = 0; k_ < (cols + 255) / 256; ++k_) {
                    // slot = writer.acquire(k)                                  row_reduction.py:21
                    const int stage = k_ & 3;
                    const int lap = k_ >> 2;
                    mbarrier_wait(&shared.tiles_empty[stage], (lap + 1) & 1);

                    // tle.gpu.copy(desc, slot.tile, [BLOCK_ROWS, BLOCK_COL ...  row_reduction.py:22
                    mbarrier_expect_bytes(&shared.tiles_full[stage], 8192);
                    tma_load_2d(shared.ring[stage], &x_map, &shared.tiles_full[stage], k_ * 256, first_row_2);
                }
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // first_row = tl.program_id(0) * BLOCK_ROWS                                 row_reduction.py:80
    const int pid_x = blockIdx.x;
    const int first_row = pid_x * 8;

    // sum_tiles: warps 0 to 3
    // for k in range(tl.cdiv(cols, BLOCK_COLS)):                                row_reduction.py:29
    Vector<float, 4> partial[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            partial[run][k] = 0.0f;
    for (int k_ = 0; k_ < (cols + 255) / 256; ++k_) {
        // partial += tl.load(tle.gpu.local_ptr(reader.wait(k).slot.tile)). ...  row_reduction.py:30
        const int stage = k_ & 3;
        const int lap = k_ >> 2;
        mbarrier_wait(&shared.tiles_full[stage], lap & 1);

        // tile [8, 256]: row = thread / 64 + 2 * run, column = thread % 64 * 4 + k;  run < 4, k < 4
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            const Vector<float, 4> ring_value = load_vector<4>(&shared.ring[stage][thread / 64 + 2 * run][thread % 64 * 4]);
            #pragma unroll
            for (int k = 0; k < 4; ++k) partial[run][k] += ring_value[k];
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(k)                                                     row_reduction.py:31
        mbarrier_arrive(&shared.tiles_empty[stage]);
    }

    // tl.store(totals + row, tl.sum(partial, axis=1), mask=row < rows)          row_reduction.py:33
    float partial_sum[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        partial_sum[run] = 0.0f;
        #pragma unroll
        for (int k = 0; k < 4; ++k) partial_sum[run] += partial[run][k];
        partial_sum[run] = warp_all_reduce(partial_sum[run], [](float a, float b) { return a + b; });
    }
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        if (thread % 32 == 0) shared.sum_slots[thread / 32 % 2 * 8 + thread / 64 + 2 * run] = partial_sum[run];
    default_warps_barrier();  // the partial results of all warps are in their slots
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        partial_sum[run] = shared.sum_slots[thread / 64 + 2 * run];
        #pragma unroll
        for (int part = 1; part < 2; ++part)
            partial_sum[run] += shared.sum_slots[thread / 64 + 2 * run + 8 * part];
    }

    // tile [8]: element = thread / 64 + 2 * run;  run < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // row = first_row + tl.arange(0, BLOCK_ROWS)                            row_reduction.py:32
        const int row = first_row + thread / 64 + 2 * run;
        // tl.store(totals + row, tl.sum(partial, axis=1), mask=row < rows)      row_reduction.py:33
        if ((thread & 63) == 0 && row < rows) totals[row] = partial_sum[run];
    }
}
