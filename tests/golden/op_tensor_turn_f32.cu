// turn.cu: emitted by tle2cuda from tensor_copies.py:98 (turn). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 17408 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      out *fp32 align 16, M i32, N i32
//   maps      x_map of x: fp32, shape (M, N), strides (N, 1), box (64, 32), 128-byte swizzle
//   constants BM = 64, BN = 64

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

// Column at which a row of a swizzled tile holds a column of the array: the 16-byte chunks of a row change places by the number
// of its 128-byte line, as the copy engine stores them (PTX ISA, swizzling modes of tensors).
template <unsigned SPAN_BYTES, unsigned ELEMENT_BYTES>
__device__ __forceinline__ unsigned swizzled(unsigned row, unsigned column)
{
    const unsigned line = row / (128 / SPAN_BYTES);
    return column ^ line % (SPAN_BYTES / 16) * (16 / ELEMENT_BYTES);
}

// One box of the tensor map into shared memory, from element (c0, c1) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_2d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1) : "memory");
}

// Shared memory of one CTA.
struct Shared {
    alignas(1024) float tile[2][64][32];      // tensor_copies.py:101; 128-byte swizzle
    alignas(8) Barrier tile_landed;           // scratch of tensor_copies.py:103
};
static_assert(sizeof(Shared) <= 17408, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
turn(float* out, const int M, const int N, const __grid_constant__ TensorMap x_map)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread == 0) {
        mbarrier_init(&shared.tile_landed, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    // i, j = tl.program_id(0) * BM, tl.program_id(1) * BN                      tensor_copies.py:102
    const int pid_x = blockIdx.x;
    const int i = pid_x * 64;
    const int pid_y = blockIdx.y;
    const int j = pid_y * 64;

    // tle.gpu.copy(source, tile, [BM, BN], [i, j])                             tensor_copies.py:103
    if (thread == 0) {
        mbarrier_expect_bytes(&shared.tile_landed, 16384);
        #pragma unroll
        for (int panel = 0; panel < 2; ++panel)
            tma_load_2d(shared.tile[panel], &x_map, &shared.tile_landed, j + panel * 32, i);
    }
    mbarrier_wait(&shared.tile_landed, 0);
    float tile_value[32];

    // tile [64, 64]: row = thread / 32 * 8 + thread % 8 + run % 2 * 32, column = thread / 8 % 4 + run / 2 * 4;  run < 32
    #pragma unroll
    for (int run = 0; run < 32; ++run) {
        // turned = tl.trans(tl.load(tle.gpu.local_ptr(tile)))                  tensor_copies.py:104
        tile_value[run] = shared.tile[run / 16][thread / 32 * 8 + thread % 8 + run % 2 * 32][swizzled<128, 4>(thread / 32 * 8 + thread % 8 + run % 2 * 32, thread / 8 % 4 + run / 2 % 8 * 4)];
    }
    // tile [64, 64]: row = thread / 8 % 4 + run / 2 * 4, column = thread / 32 * 8 + thread % 8 + run % 2 * 32;  run < 32
    #pragma unroll
    for (int run = 0; run < 32; ++run) {
        // rows, cols = j + tl.arange(0, BN), i + tl.arange(0, BM)              tensor_copies.py:105
        const int rows = j + thread / 8 % 4 + run / 2 * 4;
        const int cols = i + thread / 32 * 8 + thread % 8 + run % 2 * 32;
        // tl.store(out + rows[:, None] * M + cols[None, :], turned, mask= ...  tensor_copies.py:106
        if (rows < N && cols < M) *(out + rows * M + cols) = tile_value[run];
    }
}
