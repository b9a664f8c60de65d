// matmul_tle.cu: emitted by tle2cuda from matmul_tle.py:80 (matmul_tle). Do not edit.
//
//   target    sm_90a, 384 threads per CTA, 230400 bytes of shared memory
//   launch    grid of CTAs, one for each program; 230400 bytes of dynamic shared memory
//   warps     multiply_half on warps 0 to 3, multiply_half on warps 4 to 7, fetch on warp 8
//   args      M i32, N i32 divisible by 16, K i32
//   maps      c_map of c: fp16, shape (M, N), strides (stride_cm, 1), box (64, 64),
//             128-byte swizzle
//             a_map of a: fp16, shape (M, K), strides (stride_am, 1), box (64, 64),
//             128-byte swizzle
//             b_map of b: fp16, shape (K, N), strides (stride_bk, 1), box (64, 64),
//             128-byte swizzle
//   constants BLOCK_M = 128, BLOCK_N = 256, BLOCK_K = 64, STAGES = 4, GROUP_M = 8

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

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// An empty asm: to the compiler these sums change here. Else it may copy or compute some while products are in flight, whose
// registers nothing may touch (PTX ISA, wgmma.mma_async), and each product would wait for the one before (ptxas, C7511, C7514,
// C7515, C7520).
template <int COUNT>
__device__ __forceinline__ void keep_sums(Vector<float, 2> (&sums)[COUNT])
{
    #pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(sums[i][0]), "+f"(sums[i][1]));
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

// The warpgroup gives registers back, down to REGISTERS a thread (a multiple of 8 from 24 to 256). Called by all of its threads
// (PTX ISA, setmaxnreg; sm_90a).
template <int REGISTERS>
__device__ __forceinline__ void registers_decrease() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }

// The warpgroup takes registers, up to REGISTERS a thread, and waits until others have given them back. Called by all of its
// threads (PTX ISA, setmaxnreg; sm_90a).
template <int REGISTERS>
__device__ __forceinline__ void registers_increase() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }

// Stores four 8 x 8 matrices of 16-bit elements, of which each lane holds two neighbours of row l / 4: lane l names row l % 8 of
// matrix l / 8. Called by all lanes of a warp (PTX ISA, stmatrix; sm_90).
template <typename T>
__device__ __forceinline__ void store_matrices(
    T* row, const Vector<T, 2>& m0, const Vector<T, 2>& m1, const Vector<T, 2>& m2, const Vector<T, 2>& m3)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 ::"r"(shared_address(row)), "r"(reinterpret_cast<const unsigned&>(m0)), "r"(reinterpret_cast<const unsigned&>(m1)),
                   "r"(reinterpret_cast<const unsigned&>(m2)), "r"(reinterpret_cast<const unsigned&>(m3)) : "memory");
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

// Waits until all bulk groups of this thread but the last PENDING are complete (PTX ISA, cp.async.bulk.wait_group; sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(PENDING) : "memory"); }

// Waits until all but the last PENDING have read shared memory, which may then be written (PTX ISA, cp.async.bulk.wait_group.read;
// sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory"); }

// Closes the warpgroup's group of products. Called by all of its threads (PTX ISA, wgmma.commit_group; sm_90a).
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

using Descriptor = unsigned long long;                   // names an operand in shared memory

// Names an operand of wgmma in shared memory: panels of rows under the swizzle of 32, 64 or 128 bytes, as long as these are. From
// eight rows to the next eight it is `stride_bytes`, and from panel to panel, where rows run along M or N, `leading_bytes`. Added
// numbers move it by 16 bytes (PTX ISA, wgmma, "Matrix Descriptor Format").
template <int SWIZZLE_BYTES>
__device__ __forceinline__ Descriptor wgmma_descriptor(const void* tile, unsigned leading_bytes, unsigned stride_bytes)
{
    constexpr Descriptor swizzle = SWIZZLE_BYTES == 128 ? 1 : SWIZZLE_BYTES == 64 ? 2 : 3;
    return (swizzle << 62) | (static_cast<Descriptor>(stride_bytes >> 4) << 32) | (static_cast<Descriptor>(leading_bytes >> 4) << 16)
         | ((shared_address(tile) & 0x3FFFF) >> 4);
}

// Orders what the warpgroup did with accumulators and operands before the next wgmma. Called by all of its threads (PTX ISA,
// wgmma.fence; sm_90a).
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// sums[64, 256] += a[64, 16] @ b[16, 256] of one warpgroup: float16, a in rows along K, b in rows along N.
// In flight until a wait: sums and operands stay as they are up to there. Without `accumulate` sums are not read. Called by all of
// its threads (PTX ISA, wgmma.mma_async; sm_90a).
__device__ __forceinline__ void wgmma_m64n256k16_f32_f16_b_along_n(
    Vector<float, 2>* sums, Descriptor a, Descriptor b, bool accumulate)
{
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
        "}, %128, %129, accumulate, 1, 1, 0, 1;\n"
        "}"
        : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1]), "+f"(sums[2][0]), "+f"(sums[2][1]),
          "+f"(sums[3][0]), "+f"(sums[3][1]), "+f"(sums[4][0]), "+f"(sums[4][1]), "+f"(sums[5][0]), "+f"(sums[5][1]),
          "+f"(sums[6][0]), "+f"(sums[6][1]), "+f"(sums[7][0]), "+f"(sums[7][1]), "+f"(sums[8][0]), "+f"(sums[8][1]),
          "+f"(sums[9][0]), "+f"(sums[9][1]), "+f"(sums[10][0]), "+f"(sums[10][1]), "+f"(sums[11][0]), "+f"(sums[11][1]),
          "+f"(sums[12][0]), "+f"(sums[12][1]), "+f"(sums[13][0]), "+f"(sums[13][1]), "+f"(sums[14][0]), "+f"(sums[14][1]),
          "+f"(sums[15][0]), "+f"(sums[15][1]), "+f"(sums[16][0]), "+f"(sums[16][1]), "+f"(sums[17][0]), "+f"(sums[17][1]),
          "+f"(sums[18][0]), "+f"(sums[18][1]), "+f"(sums[19][0]), "+f"(sums[19][1]), "+f"(sums[20][0]), "+f"(sums[20][1]),
          "+f"(sums[21][0]), "+f"(sums[21][1]), "+f"(sums[22][0]), "+f"(sums[22][1]), "+f"(sums[23][0]), "+f"(sums[23][1]),
          "+f"(sums[24][0]), "+f"(sums[24][1]), "+f"(sums[25][0]), "+f"(sums[25][1]), "+f"(sums[26][0]), "+f"(sums[26][1]),
          "+f"(sums[27][0]), "+f"(sums[27][1]), "+f"(sums[28][0]), "+f"(sums[28][1]), "+f"(sums[29][0]), "+f"(sums[29][1]),
          "+f"(sums[30][0]), "+f"(sums[30][1]), "+f"(sums[31][0]), "+f"(sums[31][1]), "+f"(sums[32][0]), "+f"(sums[32][1]),
          "+f"(sums[33][0]), "+f"(sums[33][1]), "+f"(sums[34][0]), "+f"(sums[34][1]), "+f"(sums[35][0]), "+f"(sums[35][1]),
          "+f"(sums[36][0]), "+f"(sums[36][1]), "+f"(sums[37][0]), "+f"(sums[37][1]), "+f"(sums[38][0]), "+f"(sums[38][1]),
          "+f"(sums[39][0]), "+f"(sums[39][1]), "+f"(sums[40][0]), "+f"(sums[40][1]), "+f"(sums[41][0]), "+f"(sums[41][1]),
          "+f"(sums[42][0]), "+f"(sums[42][1]), "+f"(sums[43][0]), "+f"(sums[43][1]), "+f"(sums[44][0]), "+f"(sums[44][1]),
          "+f"(sums[45][0]), "+f"(sums[45][1]), "+f"(sums[46][0]), "+f"(sums[46][1]), "+f"(sums[47][0]), "+f"(sums[47][1]),
          "+f"(sums[48][0]), "+f"(sums[48][1]), "+f"(sums[49][0]), "+f"(sums[49][1]), "+f"(sums[50][0]), "+f"(sums[50][1]),
          "+f"(sums[51][0]), "+f"(sums[51][1]), "+f"(sums[52][0]), "+f"(sums[52][1]), "+f"(sums[53][0]), "+f"(sums[53][1]),
          "+f"(sums[54][0]), "+f"(sums[54][1]), "+f"(sums[55][0]), "+f"(sums[55][1]), "+f"(sums[56][0]), "+f"(sums[56][1]),
          "+f"(sums[57][0]), "+f"(sums[57][1]), "+f"(sums[58][0]), "+f"(sums[58][1]), "+f"(sums[59][0]), "+f"(sums[59][1]),
          "+f"(sums[60][0]), "+f"(sums[60][1]), "+f"(sums[61][0]), "+f"(sums[61][1]), "+f"(sums[62][0]), "+f"(sums[62][1]),
          "+f"(sums[63][0]), "+f"(sums[63][1])
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// Waits until at most the last PENDING groups are in flight. Called by all threads of the warpgroup (PTX ISA, wgmma.wait_group;
// sm_90a).
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

// Barrier of the 128 threads of the default warps: hardware barrier 1.
__device__ __forceinline__ void default_warps_barrier() { named_barrier_sync(1, 128); }

// Barrier of the 128 threads of partition `multiply_half`: hardware barrier 2.
__device__ __forceinline__ void multiply_half_barrier() { named_barrier_sync(2, 128); }

// Shared memory of one CTA.
struct Shared {
    alignas(1024) __half upper[4][64][64];    // matmul_tle.py:90; 128-byte swizzle
    alignas(1024) __half lower[4][64][64];    // matmul_tle.py:91; 128-byte swizzle
    alignas(1024) __half b_ring[4][4][64][64];  // matmul_tle.py:92; 128-byte swizzle
    alignas(1024) __half upper_out[2][64][64];  // matmul_tle.py:93; 128-byte swizzle
    alignas(1024) __half lower_out[2][64][64];  // matmul_tle.py:94; 128-byte swizzle
    alignas(8) Barrier tiles_full[4];         // matmul_tle.py:95
    alignas(8) Barrier tiles_empty[4];        // matmul_tle.py:95
};
static_assert(sizeof(Shared) <= 230400, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1)
matmul_tle(const int M, const int N, const int K, const __grid_constant__ TensorMap c_map,
           const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map)
{
    extern __shared__ __align__(1024) unsigned char shared_bytes[];
    Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 4; ++stage) {
            mbarrier_init(&shared.tiles_full[stage], 1);
            mbarrier_init(&shared.tiles_empty[stage], 2);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {
        if (warp >= 8) registers_decrease<40>();
        if (warp < 8) {  // multiply_half: warps 4 to 7
            registers_increase<232>();
            const int thread = threadIdx.x - 128;
            const int tiles_m_2 = (M + 127) / 128;

            // tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK ...  matmul_tle.py:98
            const int tiles_n_2 = (N + 255) / 256;
            const int steps_2 = (K + 63) / 64;

            // for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_p ...  matmul_tle.py:56
            const int pid_x = blockIdx.x;
            const int num_programs_x = gridDim.x;
            int turn = 0;
            for (int tile = pid_x; tile < tiles_m_2 * tiles_n_2; tile += num_programs_x) {
                // first = tile // (GROUP_M * tiles_n) * GROUP_M                    matmul_tle.py:25
                const int first = tile / (8 * tiles_n_2) * 8;
                // rows = min(tiles_m - first, GROUP_M)                             matmul_tle.py:26
                const int rows = min(tiles_m_2 - first, 8);
                // return first + tile % (GROUP_M * tiles_n) % rows, tile % (G ...  matmul_tle.py:27
                const int m = first + tile % (8 * tiles_n_2) % rows;
                const int n = tile % (8 * tiles_n_2) / rows;

                // for step in range(steps):                                        matmul_tle.py:59
                Vector<float, 2> acc[64];
                #pragma unroll
                for (int run = 0; run < 64; ++run)
                    #pragma unroll
                    for (int k = 0; k < 2; ++k)
                        acc[run][k] = 0.0f;
                keep_sums(acc);
                for (int step = 0; step < steps_2; ++step) {
                    // slot = reader.wait(turn + step).slot                         matmul_tle.py:60
                    const int stage = (turn + step) & 3;
                    const int lap = (turn + step) >> 2;
                    mbarrier_wait(&shared.tiles_full[stage], lap & 1);

                    // acc = tle.gpu.wgmma(slot.lower, slot.b, acc)                 matmul_tle.py:62
                    const Descriptor lower_first = wgmma_descriptor<128>(shared.lower[stage], 16, 1024);  // rows along K
                    const Descriptor b_first = wgmma_descriptor<128>(shared.b_ring[stage], 8192, 1024);  // rows along N
                    wgmma_fence();
                    #pragma unroll
                    for (int step_2 = 0; step_2 < 4; ++step_2)
                        wgmma_m64n256k16_f32_f16_b_along_n(acc, lower_first + 2 * step_2, b_first + 128 * step_2, true);
                    wgmma_commit();

                    // acc = tle.gpu.wgmma_wait(1, acc)                             matmul_tle.py:65
                    wgmma_wait<1>();
                    // if step > 0:                                                 matmul_tle.py:66
                    if (step > 0) {
                        // reader.release(turn + step - 1)                          matmul_tle.py:67
                        const int stage_2 = (turn + step - 1) & 3;
                        if (thread % 128 == 0) mbarrier_arrive(&shared.tiles_empty[stage_2]);
                    }
                }

                // acc = tle.gpu.wgmma_wait(0, acc)                                 matmul_tle.py:68
                wgmma_wait<0>();
                keep_sums(acc);
                // turn += steps                                                    matmul_tle.py:69
                turn += steps_2;
                // reader.release(turn - 1)                                         matmul_tle.py:70
                const int stage = (turn - 1) & 3;
                if (thread % 128 == 0) mbarrier_arrive(&shared.tiles_empty[stage]);
                // row = (2 * m + (1 if IS_LOWER else 0)) * HALF                    matmul_tle.py:71
                const int row = (2 * m + 1) * 64;
                Vector<__half, 2> lower_out_value[16];
                // tile [64, 64]: row = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread % 4 * 2 + run / 2 * 8 + k;  run < 16, k < 2
                #pragma unroll
                for (int run = 0; run < 16; ++run) {
                    // tl.store(tle.gpu.local_ptr(out), columns.to(out.dtype))      matmul_tle.py:75
                    #pragma unroll
                    for (int k = 0; k < 2; ++k) lower_out_value[run][k] = __float2half(acc[run][k]);
                }
                #pragma unroll
                for (int part = 0; part < 4; ++part)
                    store_matrices(&shared.lower_out[0][thread / 32 * 16 + thread % 16][swizzled<128, 2>(thread % 8, 16 * part + thread / 16 % 2 * 8)], lower_out_value[4 * part], lower_out_value[4 * part + 1], lower_out_value[4 * part + 2], lower_out_value[4 * part + 3]);
                if (thread == 0) tma_store_wait();  // the copy engine has written `c`
                fence_async_proxy();  // shows what was written to `lower_out` to the copy engine
                multiply_half_barrier();  // orders the accesses to `lower_out` before it and after it

                // tle.gpu.copy(out, c, [HALF, OUT_N], [row, n * BLOCK_N + par ...  matmul_tle.py:76
                if (thread == 0) {
                    tma_store_2d(&c_map, shared.lower_out[0], n * 256, row);
                    tma_store_commit();
                }
                Vector<__half, 2> lower_out_value_2[16];
                #pragma unroll
                for (int run = 0; run < 16; ++run) {
                    #pragma unroll
                    for (int k = 0; k < 2; ++k) {
                        // tl.store(tle.gpu.local_ptr(out), columns.to(out.dtype))  matmul_tle.py:75
                        lower_out_value_2[run][k] = __float2half(acc[run + 16][k]);
                    }
                }
                #pragma unroll
                for (int part = 0; part < 4; ++part)
                    store_matrices(&shared.lower_out[1][thread / 32 * 16 + thread % 16][swizzled<128, 2>(thread % 8, 16 * part + thread / 16 % 2 * 8)], lower_out_value_2[4 * part], lower_out_value_2[4 * part + 1], lower_out_value_2[4 * part + 2], lower_out_value_2[4 * part + 3]);
                if (thread == 0) tma_store_wait_read();  // the copy engine has read `lower_out`
                fence_async_proxy();  // shows what was written to `lower_out` to the copy engine
                multiply_half_barrier();  // orders the accesses to `lower_out` before it and after it
                if (thread == 0) {
                    tma_store_2d(&c_map, shared.lower_out[1], n * 256 + 64, row);
                    tma_store_commit();
                }
                Vector<__half, 2> lower_out_value_3[16];
                #pragma unroll
                for (int run = 0; run < 16; ++run) {
                    #pragma unroll
                    for (int k = 0; k < 2; ++k) {
                        lower_out_value_3[run][k] = __float2half(acc[run + 32][k]);
                    }
                }
                #pragma unroll
                for (int part = 0; part < 4; ++part)
                    store_matrices(&shared.lower_out[0][thread / 32 * 16 + thread % 16][swizzled<128, 2>(thread % 8, 16 * part + thread / 16 % 2 * 8)], lower_out_value_3[4 * part], lower_out_value_3[4 * part + 1], lower_out_value_3[4 * part + 2], lower_out_value_3[4 * part + 3]);
                if (thread == 0) tma_store_wait_read();  // the copy engine has read `lower_out`
                fence_async_proxy();  // shows what was written to `lower_out` to the copy engine
                multiply_half_barrier();  // orders the accesses to `lower_out` before it and after it
                if (thread == 0) {
                    tma_store_2d(&c_map, shared.lower_out[0], n * 256 + 128, row);
                    tma_store_commit();
                }
                Vector<__half, 2> lower_out_value_4[16];
                #pragma unroll
                for (int run = 0; run < 16; ++run) {
                    #pragma unroll
                    for (int k = 0; k < 2; ++k) {
                        lower_out_value_4[run][k] = __float2half(acc[run + 48][k]);
                    }
                }
                #pragma unroll
                for (int part = 0; part < 4; ++part)
                    store_matrices(&shared.lower_out[1][thread / 32 * 16 + thread % 16][swizzled<128, 2>(thread % 8, 16 * part + thread / 16 % 2 * 8)], lower_out_value_4[4 * part], lower_out_value_4[4 * part + 1], lower_out_value_4[4 * part + 2], lower_out_value_4[4 * part + 3]);
                if (thread == 0) tma_store_wait_read();  // the copy engine has read `lower_out`
                fence_async_proxy();  // shows what was written to `lower_out` to the copy engine
                multiply_half_barrier();  // orders the accesses to `lower_out` before it and after it
                if (thread == 0) {
                    tma_store_2d(&c_map, shared.lower_out[1], n * 256 + 192, row);
                    tma_store_commit();
                }
            }
            if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `lower_out`
        } else if (warp < 9) {  // fetch: warp 8
            if (threadIdx.x == 256) {  // the others have nothing to do
                // tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, B ...  matmul_tle.py:98
                const int tiles_m_2 = (M + 127) / 128;
                const int tiles_n_2 = (N + 255) / 256;
                const int steps_2 = (K + 63) / 64;

                // for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.n ...  matmul_tle.py:38
                const int pid_x = blockIdx.x;
                const int num_programs_x = gridDim.x;
                int turn = 0;
                for (int tile = pid_x; tile < tiles_m_2 * tiles_n_2; tile += num_programs_x) {
                    // first = tile // (GROUP_M * tiles_n) * GROUP_M                matmul_tle.py:25
                    const int first = tile / (8 * tiles_n_2) * 8;
                    // rows = min(tiles_m - first, GROUP_M)                         matmul_tle.py:26
                    const int rows = min(tiles_m_2 - first, 8);
                    // return first + tile % (GROUP_M * tiles_n) % rows, tile ...   matmul_tle.py:27
                    const int m = first + tile % (8 * tiles_n_2) % rows;
                    const int n = tile % (8 * tiles_n_2) / rows;
                    // for step in range(steps):                                    matmul_tle.py:40
                    for (int step = 0; step < steps_2; ++step) {
                        // slot = writer.acquire(turn + step)                       matmul_tle.py:41
                        const int stage = (turn + step) & 3;
                        const int lap = (turn + step) >> 2;
                        mbarrier_wait(&shared.tiles_empty[stage], (lap + 1) & 1);

                        // tle.gpu.copy(a, slot.upper, [HALF, BLOCK_K], [m * B ...  matmul_tle.py:42
                        mbarrier_expect_bytes(&shared.tiles_full[stage], 49152);
                        tma_load_2d(shared.upper[stage], &a_map, &shared.tiles_full[stage], step * 64, m * 128);
                        // tle.gpu.copy(a, slot.lower, [HALF, BLOCK_K], [m * B ...  matmul_tle.py:43
                        tma_load_2d(shared.lower[stage], &a_map, &shared.tiles_full[stage], step * 64, m * 128 + 64);

                        // tle.gpu.copy(b, slot.b, [BLOCK_K, BLOCK_N], [step * ...  matmul_tle.py:44
                        #pragma unroll
                        for (int panel = 0; panel < 4; ++panel)
                            tma_load_2d(shared.b_ring[stage][panel], &b_map, &shared.tiles_full[stage], n * 256 + panel * 64, step * 64);
                    }

                    // turn += steps                                                matmul_tle.py:46
                    turn += steps_2;
                }
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl. ...  matmul_tle.py:98
    const int tiles_m = (M + 127) / 128;
    const int tiles_n = (N + 255) / 256;
    const int steps = (K + 63) / 64;

    // multiply_half: warps 0 to 3
    registers_increase<232>();

    // for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):  matmul_tle.py:56
    const int pid_x = blockIdx.x;
    const int num_programs_x = gridDim.x;
    int turn = 0;
    for (int tile = pid_x; tile < tiles_m * tiles_n; tile += num_programs_x) {
        // first = tile // (GROUP_M * tiles_n) * GROUP_M                            matmul_tle.py:25
        const int first = tile / (8 * tiles_n) * 8;
        // rows = min(tiles_m - first, GROUP_M)                                     matmul_tle.py:26
        const int rows = min(tiles_m - first, 8);
        // return first + tile % (GROUP_M * tiles_n) % rows, tile % (GROUP_M * ...  matmul_tle.py:27
        const int m = first + tile % (8 * tiles_n) % rows;
        const int n = tile % (8 * tiles_n) / rows;

        // for step in range(steps):                                                matmul_tle.py:59
        Vector<float, 2> acc[64];
        #pragma unroll
        for (int run = 0; run < 64; ++run)
            #pragma unroll
            for (int k = 0; k < 2; ++k)
                acc[run][k] = 0.0f;
        keep_sums(acc);
        for (int step = 0; step < steps; ++step) {
            // slot = reader.wait(turn + step).slot                                 matmul_tle.py:60
            const int stage = (turn + step) & 3;
            const int lap = (turn + step) >> 2;
            mbarrier_wait(&shared.tiles_full[stage], lap & 1);

            // acc = tle.gpu.wgmma(slot.upper, slot.b, acc)                         matmul_tle.py:64
            const Descriptor upper_first = wgmma_descriptor<128>(shared.upper[stage], 16, 1024);  // rows along K
            const Descriptor b_first = wgmma_descriptor<128>(shared.b_ring[stage], 8192, 1024);  // rows along N
            wgmma_fence();
            #pragma unroll
            for (int step_2 = 0; step_2 < 4; ++step_2)
                wgmma_m64n256k16_f32_f16_b_along_n(acc, upper_first + 2 * step_2, b_first + 128 * step_2, true);
            wgmma_commit();

            // acc = tle.gpu.wgmma_wait(1, acc)                                     matmul_tle.py:65
            wgmma_wait<1>();
            // if step > 0:                                                         matmul_tle.py:66
            if (step > 0) {
                // reader.release(turn + step - 1)                                  matmul_tle.py:67
                const int stage_2 = (turn + step - 1) & 3;
                if (thread % 128 == 0) mbarrier_arrive(&shared.tiles_empty[stage_2]);
            }
        }

        // acc = tle.gpu.wgmma_wait(0, acc)                                         matmul_tle.py:68
        wgmma_wait<0>();
        keep_sums(acc);
        // turn += steps                                                            matmul_tle.py:69
        turn += steps;
        // reader.release(turn - 1)                                                 matmul_tle.py:70
        const int stage = (turn - 1) & 3;
        if (thread % 128 == 0) mbarrier_arrive(&shared.tiles_empty[stage]);
        // row = (2 * m + (1 if IS_LOWER else 0)) * HALF                            matmul_tle.py:71
        const int row = 2 * m * 64;
        Vector<__half, 2> upper_out_value[16];
        // tile [64, 64]: row = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread % 4 * 2 + run / 2 * 8 + k;  run < 16, k < 2
        #pragma unroll
        for (int run = 0; run < 16; ++run) {
            // tl.store(tle.gpu.local_ptr(out), columns.to(out.dtype))              matmul_tle.py:75
            #pragma unroll
            for (int k = 0; k < 2; ++k) upper_out_value[run][k] = __float2half(acc[run][k]);
        }
        #pragma unroll
        for (int part = 0; part < 4; ++part)
            store_matrices(&shared.upper_out[0][thread / 32 * 16 + thread % 16][swizzled<128, 2>(thread % 8, 16 * part + thread / 16 % 2 * 8)], upper_out_value[4 * part], upper_out_value[4 * part + 1], upper_out_value[4 * part + 2], upper_out_value[4 * part + 3]);
        if (thread == 0) tma_store_wait();  // the copy engine has written `c`
        fence_async_proxy();  // shows what was written to `upper_out` to the copy engine
        default_warps_barrier();  // orders the accesses to `upper_out` before it and after it

        // tle.gpu.copy(out, c, [HALF, OUT_N], [row, n * BLOCK_N + part * OUT_N])   matmul_tle.py:76
        if (thread == 0) {
            tma_store_2d(&c_map, shared.upper_out[0], n * 256, row);
            tma_store_commit();
        }
        Vector<__half, 2> upper_out_value_2[16];
        #pragma unroll
        for (int run = 0; run < 16; ++run) {
            // tl.store(tle.gpu.local_ptr(out), columns.to(out.dtype))              matmul_tle.py:75
            #pragma unroll
            for (int k = 0; k < 2; ++k) upper_out_value_2[run][k] = __float2half(acc[run + 16][k]);
        }
        #pragma unroll
        for (int part = 0; part < 4; ++part)
            store_matrices(&shared.upper_out[1][thread / 32 * 16 + thread % 16][swizzled<128, 2>(thread % 8, 16 * part + thread / 16 % 2 * 8)], upper_out_value_2[4 * part], upper_out_value_2[4 * part + 1], upper_out_value_2[4 * part + 2], upper_out_value_2[4 * part + 3]);
        if (thread == 0) tma_store_wait_read();  // the copy engine has read `upper_out`
        fence_async_proxy();  // shows what was written to `upper_out` to the copy engine
        default_warps_barrier();  // orders the accesses to `upper_out` before it and after it
        if (thread == 0) {
            tma_store_2d(&c_map, shared.upper_out[1], n * 256 + 64, row);
            tma_store_commit();
        }
        Vector<__half, 2> upper_out_value_3[16];
        #pragma unroll
        for (int run = 0; run < 16; ++run) {
            #pragma unroll
            for (int k = 0; k < 2; ++k) upper_out_value_3[run][k] = __float2half(acc[run + 32][k]);
        }
        #pragma unroll
        for (int part = 0; part < 4; ++part)
            store_matrices(&shared.upper_out[0][thread / 32 * 16 + thread % 16][swizzled<128, 2>(thread % 8, 16 * part + thread / 16 % 2 * 8)], upper_out_value_3[4 * part], upper_out_value_3[4 * part + 1], upper_out_value_3[4 * part + 2], upper_out_value_3[4 * part + 3]);
        if (thread == 0) tma_store_wait_read();  // the copy engine has read `upper_out`
        fence_async_proxy();  // shows what was written to `upper_out` to the copy engine
        default_warps_barrier();  // orders the accesses to `upper_out` before it and after it
        if (thread == 0) {
            tma_store_2d(&c_map, shared.upper_out[0], n * 256 + 128, row);
            tma_store_commit();
        }
        Vector<__half, 2> upper_out_value_4[16];
        #pragma unroll
        for (int run = 0; run < 16; ++run) {
            #pragma unroll
            for (int k = 0; k < 2; ++k) upper_out_value_4[run][k] = __float2half(acc[run + 48][k]);
        }
        #pragma unroll
        for (int part = 0; part < 4; ++part)
            store_matrices(&shared.upper_out[1][thread / 32 * 16 + thread % 16][swizzled<128, 2>(thread % 8, 16 * part + thread / 16 % 2 * 8)], upper_out_value_4[4 * part], upper_out_value_4[4 * part + 1], upper_out_value_4[4 * part + 2], upper_out_value_4[4 * part + 3]);
        if (thread == 0) tma_store_wait_read();  // the copy engine has read `upper_out`
        fence_async_proxy();  // shows what was written to `upper_out` to the copy engine
        default_warps_barrier();  // orders the accesses to `upper_out` before it and after it
        if (thread == 0) {
            tma_store_2d(&c_map, shared.upper_out[1], n * 256 + 192, row);
            tma_store_commit();
        }
    }
    if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `upper_out`
}
