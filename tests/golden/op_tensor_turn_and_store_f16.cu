// turn_and_store.cu: emitted by tle2cuda from tensor_copies.py:126 (turn_and_store). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 9216 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   maps      x_map of x: fp16, shape (M, N), strides (N, 1), box (32, 64), 128-byte swizzle
//             out_map of out: fp16, shape (N, M), strides (M, 1), box (64, 32), 64-byte swizzle
//   constants BM = 32, BN = 64

#include <cuda_fp16.h>

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
    alignas(1024) __half tile[32][64];        // tensor_copies.py:130; 128-byte swizzle
    alignas(512) __half other[64][32];        // tensor_copies.py:131; 64-byte swizzle
    alignas(8) Barrier tile_landed;           // scratch of tensor_copies.py:133
};
static_assert(sizeof(Shared) <= 9216, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
turn_and_store(const __grid_constant__ TensorMap x_map, const __grid_constant__ TensorMap out_map)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread == 0) {
        mbarrier_init(&shared.tile_landed, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    // i, j = tl.program_id(0) * BM, tl.program_id(1) * BN                      tensor_copies.py:132
    const int pid_x = blockIdx.x;
    const int i = pid_x * 32;
    const int pid_y = blockIdx.y;
    const int j = pid_y * 64;

    // tle.gpu.copy(source, tile, [BM, BN], [i, j])                             tensor_copies.py:133
    if (thread == 0) {
        mbarrier_expect_bytes(&shared.tile_landed, 4096);
        tma_load_2d(shared.tile, &x_map, &shared.tile_landed, j, i);
    }
    mbarrier_wait(&shared.tile_landed, 0);
    Vector<__half, 8> tile_value[2];

    // tile [32, 64]: row = thread / 32 * 8 + k, column = thread % 32 + 32 * run;  run < 2, k < 8
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            // tl.store(tle.gpu.local_ptr(other), tl.trans(tl.load(tle.gpu ...  tensor_copies.py:134
            tile_value[run][k] = shared.tile[thread / 32 * 8 + k][swizzled<128, 2>(thread / 32 * 8 + k, thread % 32 + 32 * run)];
        }
    }

    // tile [64, 32]: row = thread % 32 + 32 * run, column = thread / 32 * 8 + k;  run < 2, k < 8
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        Vector<__half, 8> packed;
        #pragma unroll
        for (int k = 0; k < 8; ++k) packed[k] = tile_value[run][k];

        // tl.store(tle.gpu.local_ptr(other), tl.trans(tl.load(tle.gpu.loc ...  tensor_copies.py:134
        store_vector(&shared.other[thread % 32 + 32 * run][swizzled<64, 2>(thread % 32 + 32 * run, thread / 32 * 8)], packed);
    }
    fence_async_proxy();  // shows what was written to `other` to the copy engine
    __syncthreads();  // orders the stores to `other` before the loads of it

    // tle.gpu.copy(other, target, [BN, BM], [j, i])                            tensor_copies.py:135
    if (thread == 0) {
        tma_store_2d(&out_map, shared.other, i, j);
        tma_store_commit();
    }
    if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `other`
}
