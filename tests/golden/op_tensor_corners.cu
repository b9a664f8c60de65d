// copy_corners.cu: emitted by tle2cuda from tensor_copies.py:43 (copy_corners). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 640 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, rows *i32 align 16, cols *i32 align 16, out *fp32 align 16,
//             M i32, N i32
//   maps      x_map of x: fp32, shape (M, N), strides (N, 1), box (8, 16)
//             out_map of out: fp32, shape (M, N), strides (N, 1), box (8, 16)
//   constants BM = 8, BN = 16, ON = False

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// The same for global memory (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }

// Makes this thread's mbarrier_init known to the cluster and to the copy engine (PTX ISA, fence.mbarrier_init; sm_90).
__device__ __forceinline__ void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Load one element of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ float load_if(bool condition, const float* pointer, float other)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.f32 %0, [%1];\n\t}"
        : "+f"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return other;
}

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
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

// Waits until all bulk groups of this thread but the last PENDING are complete (PTX ISA, cp.async.bulk.wait_group; sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(PENDING) : "memory"); }

// Waits until all but the last PENDING have read shared memory, which may then be written (PTX ISA, cp.async.bulk.wait_group.read;
// sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(128) float tile[8][16];           // tensor_copies.py:47
    alignas(8) Barrier tile_landed;           // scratch of tensor_copies.py:55
};
static_assert(sizeof(Shared) <= 640, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
copy_corners(const float* x, const int* rows, const int* cols, float* out, const int M,
             const int N, const __grid_constant__ TensorMap x_map,
             const __grid_constant__ TensorMap out_map)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread == 0) {
        mbarrier_init(&shared.tile_landed, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    // source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])           tensor_copies.py:45
    const long long N_wide = static_cast<long long>(N);
    // for k in range(M // BM):                                                  tensor_copies.py:49
    unsigned tile_landed_phase = 0;
    for (int k_ = 0; k_ < M / 8; ++k_) {
        // row, col = tl.load(rows + k), tl.load(cols + k)                       tensor_copies.py:50
        const int row = rows[k_];
        const int col = cols[k_];

        // tle.gpu.copy(source, tile, [BM, BN], [k * BM, col])                   tensor_copies.py:55
        const bool fits_engine = (col & 3) == 0;
        if (thread == 0) tma_store_wait();  // the copy engine has written `out`
        fence_async_proxy();  // shows what was written to `tile` to the copy engine
        __syncthreads();  // orders the accesses to `tile` and `tile_landed` before it and after it
        if (fits_engine) {
            if (thread == 0) {
                mbarrier_expect_bytes(&shared.tile_landed, 512);
                tma_load_2d(shared.tile, &x_map, &shared.tile_landed, col, k_ * 8);
            }
            mbarrier_wait(&shared.tile_landed, tile_landed_phase);
            tile_landed_phase ^= 1;
        } else {
            const long long value = static_cast<long long>(k_ * 8);
            const long long rows_left = static_cast<long long>(M) - value;
            const long long col_wide = static_cast<long long>(col);
            const long long cols_left = N_wide - col_wide;
            const float x_value = load_if(thread / 16 < rows_left && thread % 16 < cols_left && col_wide + thread % 16 >= 0ll, x + value * N_wide + col_wide + thread / 16 * N_wide + thread % 16, 0.0f);
            shared.tile[thread / 16][thread % 16] = x_value;
        }

        // tle.gpu.copy(tile, target, [BM, BN], [row, col])                      tensor_copies.py:56
        const bool fits_engine_2 = (row >= 0 && col >= 0 && fits_engine) && ((N & 3) == 0 || N - col >= 16);
        if (fits_engine_2) {
            fence_async_proxy_global();  // shows what was written to `out` to the copy engine
            fence_async_proxy();  // shows what was written to `tile` to the copy engine
            __syncthreads();  // orders the stores to `tile` before the loads of it
            if (thread == 0) {
                tma_store_2d(&out_map, shared.tile, col, row);
                tma_store_commit();
            }
        } else {
            const long long row_wide = static_cast<long long>(row);
            const long long rows_left = static_cast<long long>(M) - row_wide;
            const long long col_wide = static_cast<long long>(col);
            const long long cols_left = N_wide - col_wide;
            const float tile_value = shared.tile[thread / 16][thread % 16];
            if (thread / 16 < rows_left && row_wide + thread / 16 >= 0ll && thread % 16 < cols_left && col_wide + thread % 16 >= 0ll) *(out + row_wide * N_wide + col_wide + thread / 16 * N_wide + thread % 16) = tile_value;
        }
    }
    if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `tile`
}
