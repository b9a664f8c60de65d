// mixed.cu: emitted by tle2cuda from tensor_order.py:43 (mixed). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 640 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, y *fp32 align 16, out *fp32 align 16, M i32, N i32 divisible by 16
//   maps      x_map of x: fp32, shape (M, N), strides (N, 1), box (8, 16)
//             y_map of y: fp32, shape (M, N), strides (N, 1), box (8, 16)

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

// The same for global memory (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }

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

// Shared memory of one CTA.
struct Shared {
    alignas(128) float tile[8][16];           // tensor_order.py:47
    alignas(8) Barrier tile_landed;           // scratch of tensor_order.py:52
};
static_assert(sizeof(Shared) <= 640, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
mixed(float* x, float* y, float* out, const int M, const int N,
      const __grid_constant__ TensorMap x_map, const __grid_constant__ TensorMap y_map)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread == 0) {
        mbarrier_init(&shared.tile_landed, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    // for row in range(0, M, 8):                                                 tensor_order.py:49
    // i, j = tl.arange(0, 8), tl.arange(0, 16)                                   tensor_order.py:48
    const int i = thread / 16;
    const int j = thread % 16;
    unsigned tile_landed_phase = 0;
    for (int row = 0; row < M; row += 8) {
        // place = (row + i[:, None]) * N + j[None, :]                            tensor_order.py:50
        const int place = (row + i) * N + j;

        // tl.store(x + place, tl.load(out + place) * 2)                          tensor_order.py:51
        const float out_value = out[place];
        x[place] = out_value * 2.0f;
        fence_async_proxy_global();  // shows what was written to `x` and `y` to the copy engine
        __syncthreads();  // orders what is in memory before the copy engine accesses it

        // tle.gpu.copy(source, tile, [8, 16], [row, 0])                          tensor_order.py:52
        if (thread == 0) {
            mbarrier_expect_bytes(&shared.tile_landed, 512);
            tma_load_2d(shared.tile, &x_map, &shared.tile_landed, 0, row);
        }
        mbarrier_wait(&shared.tile_landed, tile_landed_phase);
        tile_landed_phase ^= 1;

        // tle.gpu.copy(tile, target, [8, 16], [row, 0])                          tensor_order.py:53
        if (thread == 0) {
            tma_store_2d(&y_map, shared.tile, 0, row);
            tma_store_commit();
        }
        if (thread == 0) tma_store_wait();  // the copy engine has written `y`
        __syncthreads();  // orders the waits at `tile_landed` before the next phase of it

        // turned = (row + 7 - i[:, None]) * N + j[None, :]                       tensor_order.py:54
        const int turned = (row + 7 - i) * N + j;
        // tl.store(out + place, tl.load(y + turned) + 1)                         tensor_order.py:55
        const float y_value = y[turned];
        out[place] = y_value + 1.0f;
    }
}
