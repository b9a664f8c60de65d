// tiles_of_rows.cu: emitted by tle2cuda from inner_partitions.py:19 (tiles_of_rows). Do not edit.
//
//   target    sm_90a, 384 threads per CTA, 1152 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     drain_tile on warps 0 to 3, fill_tile on warp 8, drain_tile on warps 4 to 7
//   args      out *i32 align 16, sums *i32 align 16, tiles i32, count i32, columns i32
//   maps      x_map of x: i32, shape (tiles * count, columns), strides (columns, 1), box (1, 64)
//   constants B = 64, STAGES = 4, HOW = 'tensor', READERS = 2

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

// Waits until `threads` threads, whole warps, have come to hardware barrier `barrier` (0 to 15), each partition in a place of its
// own. Called by all lanes of a warp (PTX ISA, barrier.sync; not .aligned).
__device__ __forceinline__ void meeting_barrier_sync(int barrier, int threads)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Waits until `threads` threads, whole warps, have come to hardware barrier `barrier` (1 to 15; 0 is that of __syncthreads).
// Called by all lanes of a warp (PTX ISA, barrier.sync).
__device__ __forceinline__ void named_barrier_sync(int barrier, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// The warpgroup gives registers back, down to REGISTERS a thread (a multiple of 8 from 24 to 256). Called by all of its threads
// (PTX ISA, setmaxnreg; sm_90a).
template <int REGISTERS>
__device__ __forceinline__ void registers_decrease() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }

// The warpgroup takes registers, up to REGISTERS a thread, and waits until others have given them back. Called by all of its
// threads (PTX ISA, setmaxnreg; sm_90a).
template <int REGISTERS>
__device__ __forceinline__ void registers_increase() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }

// One box of the tensor map into shared memory, from element (c0, c1) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_2d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1) : "memory");
}

// Barrier of the 128 threads of the default warps: hardware barrier 1.
__device__ __forceinline__ void default_warps_barrier() { named_barrier_sync(1, 128); }

// Barrier of the 256 threads of `drain_tile`, wherever they come to it: hardware barrier 2.
__device__ __forceinline__ void all_drain_tile_barrier() { meeting_barrier_sync(2, 256); }

// Shared memory of one CTA.
struct Shared {
    alignas(128) int ring[4][64];             // inner_partitions.py:23
    alignas(16) int sum_slots[2];             // scratch of inner_partitions.py:69
    alignas(8) Barrier rows_full[4];          // inner_partitions.py:24
    alignas(8) Barrier rows_empty[4];         // inner_partitions.py:24
};
static_assert(sizeof(Shared) <= 1152, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1)
tiles_of_rows(int* out, int* sums, const int tiles, const int count, const int columns,
              const __grid_constant__ TensorMap x_map)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 4; ++stage) {
            mbarrier_init(&shared.rows_full[stage], 1);
            mbarrier_init(&shared.rows_empty[stage], 256);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {
        if (warp >= 8) registers_decrease<24>();
        if (warp < 8) {  // drain_tile: warps 4 to 7
            registers_decrease<40>();
            const int thread = threadIdx.x - 128;

            // for tile in range(tl.program_id(0), tiles, tl.num_program ...  inner_partitions.py:26
            const int pid_x_2 = blockIdx.x;
            const int num_programs_x_2 = gridDim.x;
            // i = tl.arange(0, B)                                            inner_partitions.py:62
            const int i = thread % 64;
            for (int tile = pid_x_2; tile < tiles; tile += num_programs_x_2) {
                // first = tile * count                                       inner_partitions.py:27
                const int first = tile * count;
                // start = tile // tl.num_programs(0) * count                 inner_partitions.py:29
                const int start = tile / num_programs_x_2 * count;
                // for k in range(count):                                     inner_partitions.py:64
                for (int k_ = 0; k_ < count; ++k_) {
                    // row = r.wait(start + k).slot.data.load()               inner_partitions.py:65
                    const int stage = (start + k_) & 3;
                    const int lap = (start + k_) >> 2;
                    mbarrier_wait(&shared.rows_full[stage], lap & 1);
                    const int row = shared.ring[stage][thread % 64];
                    fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

                    // r.release(start + k)                                   inner_partitions.py:66
                    mbarrier_arrive(&shared.rows_empty[stage]);
                    // tl.store(out + ((first + k) * 2 + part) * columns ...  inner_partitions.py:67
                    if (thread < 64 && i < columns) *(out + ((first + k_) * 2 + 1) * columns + i) = row * 2;
                }
                all_drain_tile_barrier();  // `drain_tile` and `fill_tile` are done
            }
        } else if (warp < 9) {  // fill_tile: warp 8
            if (threadIdx.x == 256) {  // the others have nothing to do
                const int pid_x_2 = blockIdx.x;

                // for tile in range(tl.program_id(0), tiles, tl.num_pro ...  inner_partitions.py:26
                const int num_programs_x_2 = gridDim.x;
                for (int tile = pid_x_2; tile < tiles; tile += num_programs_x_2) {
                    // first = tile * count                                   inner_partitions.py:27
                    const int first = tile * count;
                    // start = tile // tl.num_programs(0) * count             inner_partitions.py:29
                    const int start = tile / num_programs_x_2 * count;
                    // cursor = w.cursor(start)                               inner_partitions.py:46
                    const int stage = start & 3;
                    const int lap = start >> 2;

                    // for k in range(count):                                 inner_partitions.py:47
                    int cursor_stage = stage;
                    int cursor_lap = lap;
                    for (int k_ = 0; k_ < count; ++k_) {
                        // slot = w.acquire(cursor)                           inner_partitions.py:48
                        mbarrier_wait(&shared.rows_empty[cursor_stage], (cursor_lap + 1) & 1);
                        // tle.gpu.copy(desc, slot.data, [1, B], [first ...   inner_partitions.py:50
                        mbarrier_expect_bytes(&shared.rows_full[cursor_stage], 256);
                        tma_load_2d(shared.ring[cursor_stage], &x_map, &shared.rows_full[cursor_stage], 0, first + k_);
                        // cursor = cursor.advance()                          inner_partitions.py:56
                        cursor_lap += static_cast<int>(cursor_stage + 1 == 4);
                        cursor_stage = cursor_stage + 1 == 4 ? 0 : cursor_stage + 1;
                    }
                }
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):        inner_partitions.py:26
    const int pid_x = blockIdx.x;
    const int num_programs_x = gridDim.x;
    // drain_tile: warps 0 to 3
    registers_increase<240>();
    // i = tl.arange(0, B)                                                    inner_partitions.py:62
    const int i = thread % 64;
    for (int tile = pid_x; tile < tiles; tile += num_programs_x) {
        // first = tile * count                                               inner_partitions.py:27
        const int first = tile * count;
        // start = tile // tl.num_programs(0) * count                         inner_partitions.py:29
        const int start = tile / num_programs_x * count;
        // for k in range(count):                                             inner_partitions.py:64
        int total = 0;
        for (int k_ = 0; k_ < count; ++k_) {
            // row = r.wait(start + k).slot.data.load()                       inner_partitions.py:65
            const int stage = (start + k_) & 3;
            const int lap = (start + k_) >> 2;
            mbarrier_wait(&shared.rows_full[stage], lap & 1);
            const int row = shared.ring[stage][thread % 64];
            fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

            // r.release(start + k)                                           inner_partitions.py:66
            mbarrier_arrive(&shared.rows_empty[stage]);
            // tl.store(out + ((first + k) * 2 + part) * columns + i, ro ...  inner_partitions.py:67
            if (thread < 64 && i < columns) *(out + (first + k_) * 2 * columns + i) = row;
            // total += row                                                   inner_partitions.py:68
            total += row;
        }

        // return tl.sum(total, axis=0)                                       inner_partitions.py:69
        int total_sum = total;
        total_sum = __reduce_add_sync(0xffffffffu, total_sum);
        if ((thread & 95) == 0) shared.sum_slots[thread / 32 % 2] = total_sum;
        default_warps_barrier();  // the partial results of all warps are in their slots
        total_sum = shared.sum_slots[0];
        #pragma unroll
        for (int part = 1; part < 2; ++part)
            total_sum += shared.sum_slots[part];
        all_drain_tile_barrier();  // `drain_tile` and `fill_tile` are done

        // tl.store(sums + tile, total)                                       inner_partitions.py:39
        if (thread == 0) sums[tile] = total_sum;
    }
}
