// copy_by_tma.cu: emitted by tle2cuda from pipelined_copy.py:94 (copy_by_tma). Do not edit.
//
//   target    sm_90a, 32 threads per CTA, 8320 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      cols i32 divisible by 16
//   maps      x_map of x: fp32, shape (rows, cols), strides (x_stride, 1), box (4, 256)
//             out_map of out: fp32, shape (rows, cols), strides (out_stride, 1), box (4, 256)
//   constants BLOCK_ROWS = 4, BLOCK_COLS = 256, TILES = 4, STAGES = 2

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

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

// One box of the tensor map into shared memory, from element (c0, c1) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_2d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1) : "memory");
}

// One box from shared memory into the array, clipped at its edges, as part of this thread's open bulk group. What wrote
// `source` is followed by fence_async_proxy. Called by one thread (PTX ISA, cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_store_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1) : "memory");
}

// Closes this thread's bulk group (PTX ISA, cp.async.bulk.commit_group; sm_90).
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until all but the last PENDING have read shared memory, which may then be written (PTX ISA, cp.async.bulk.wait_group.read;
// sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(128) float ring[2][4][256];       // pipelined_copy.py:109
    alignas(8) Barrier tiles_full[2];         // pipelined_copy.py:110
    alignas(8) Barrier tiles_empty[2];        // pipelined_copy.py:110
};
static_assert(sizeof(Shared) <= 8320, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(32)
copy_by_tma(const int cols, const __grid_constant__ TensorMap x_map,
            const __grid_constant__ TensorMap out_map)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.tiles_full[stage], 1);
            mbarrier_init(&shared.tiles_empty[stage], 32);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    // ctas_per_row = tl.cdiv(cols, BLOCK_COLS * TILES)                        pipelined_copy.py:112
    const int ctas_per_row = (cols + 1023) / 1024;
    // row = tl.program_id(0) // ctas_per_row * BLOCK_ROWS                     pipelined_copy.py:113
    const int pid_x = blockIdx.x;
    const int row = pid_x / ctas_per_row * 4;
    // col = tl.program_id(0) % ctas_per_row * (BLOCK_COLS * TILES)            pipelined_copy.py:114
    const int col = pid_x % ctas_per_row * 1024;
    // slot = writer.acquire(i)                                                 pipelined_copy.py:88
    if (thread == 0) {
        mbarrier_wait(&shared.tiles_empty[0], 1);
        // tle.gpu.copy(desc, slot.tile, [BLOCK_ROWS, BLOCK_COLS], [row, c ...  pipelined_copy.py:89
        mbarrier_expect_bytes(&shared.tiles_full[0], 4096);
        tma_load_2d(shared.ring[0], &x_map, &shared.tiles_full[0], col, row);
    }
    if (thread == 0) {
        mbarrier_wait(&shared.tiles_empty[1], 1);
        mbarrier_expect_bytes(&shared.tiles_full[1], 4096);
        tma_load_2d(shared.ring[1], &x_map, &shared.tiles_full[1], col + 256, row);
    }

    // tile = reader.wait(i).slot.tile                                         pipelined_copy.py:118
    mbarrier_wait(&shared.tiles_full[0], 0);

    // tle.gpu.copy(tile, target, [BLOCK_ROWS, BLOCK_COLS], [row, col + i ...  pipelined_copy.py:119
    if (thread == 0) {
        tma_store_2d(&out_map, shared.ring[0], col, row);
        tma_store_commit();
    }
    if (thread == 0) tma_store_wait_read();  // the copy engine has read `ring`

    // reader.release(i)                                                       pipelined_copy.py:121
    mbarrier_arrive(&shared.tiles_empty[0]);
    // slot = writer.acquire(i)                                                 pipelined_copy.py:88
    if (thread == 0) {
        mbarrier_wait(&shared.tiles_empty[0], 0);
        // tle.gpu.copy(desc, slot.tile, [BLOCK_ROWS, BLOCK_COLS], [row, c ...  pipelined_copy.py:89
        mbarrier_expect_bytes(&shared.tiles_full[0], 4096);
        tma_load_2d(shared.ring[0], &x_map, &shared.tiles_full[0], col + 512, row);
    }

    // tile = reader.wait(i).slot.tile                                         pipelined_copy.py:118
    mbarrier_wait(&shared.tiles_full[1], 0);

    // tle.gpu.copy(tile, target, [BLOCK_ROWS, BLOCK_COLS], [row, col + i ...  pipelined_copy.py:119
    if (thread == 0) {
        tma_store_2d(&out_map, shared.ring[1], col + 256, row);
        tma_store_commit();
    }
    if (thread == 0) tma_store_wait_read();  // the copy engine has read `ring`

    // reader.release(i)                                                       pipelined_copy.py:121
    mbarrier_arrive(&shared.tiles_empty[1]);
    // slot = writer.acquire(i)                                                 pipelined_copy.py:88
    if (thread == 0) {
        mbarrier_wait(&shared.tiles_empty[1], 0);
        // tle.gpu.copy(desc, slot.tile, [BLOCK_ROWS, BLOCK_COLS], [row, c ...  pipelined_copy.py:89
        mbarrier_expect_bytes(&shared.tiles_full[1], 4096);
        tma_load_2d(shared.ring[1], &x_map, &shared.tiles_full[1], col + 768, row);
    }

    // tile = reader.wait(i).slot.tile                                         pipelined_copy.py:118
    mbarrier_wait(&shared.tiles_full[0], 1);

    // tle.gpu.copy(tile, target, [BLOCK_ROWS, BLOCK_COLS], [row, col + i ...  pipelined_copy.py:119
    if (thread == 0) {
        tma_store_2d(&out_map, shared.ring[0], col + 512, row);
        tma_store_commit();
    }

    // tile = reader.wait(i).slot.tile                                         pipelined_copy.py:118
    mbarrier_wait(&shared.tiles_full[1], 1);

    // tle.gpu.copy(tile, target, [BLOCK_ROWS, BLOCK_COLS], [row, col + i ...  pipelined_copy.py:119
    if (thread == 0) {
        tma_store_2d(&out_map, shared.ring[1], col + 768, row);
        tma_store_commit();
    }
    if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `ring`
}
