// matmul.cu: a matrix product by hand, the yardstick for what the compiler emits from kernels/matmul_tle.py.
//
//   target    sm_90a, 384 threads per CTA (1 producer + 2 consumer warpgroups), 231424 bytes of shared memory
//   launch    grid (num_sms, 1, 1), persistent
//   args      a tensor map f16[M, K] box 64 x 128 swizzle 128, b tensor map f16[K, N] box 64 x 64 swizzle 128,
//             c tensor map f16[M, N] box 64 x 64 swizzle 128, M i32, N i32, K i32
//   constants BLOCK_M = 128, BLOCK_N = 256, BLOCK_K = 64, STAGES = 4, GROUP_M = 16

#include <cuda_fp16.h>

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

namespace {

constexpr int BLOCK_M = 128;
constexpr int BLOCK_N = 256;
constexpr int BLOCK_K = 64;
constexpr int STAGES  = 4;
constexpr int GROUP_M = 16;

using Barrier    = unsigned long long;                   // one mbarrier object
using Descriptor = unsigned long long;                   // one wgmma matrix descriptor

constexpr unsigned STAGE_BYTES = (BLOCK_M + BLOCK_N) * BLOCK_K * sizeof(__half);

// Shared memory of one CTA. Tiles are stored as 128-byte rows under the 128-byte swizzle that TMA writes and wgmma reads.
struct alignas(1024) Shared {
    __half a[STAGES][BLOCK_M][BLOCK_K];                  // rows of A, K contiguous
    __half b[STAGES][BLOCK_N / 64][BLOCK_K][64];         // four 64-column panels of B, N contiguous
    __half c[2][2][64][64];                              // half of each consumer's output tile, on its way to global
    Barrier full[STAGES];                                // mbarrier: the stage has landed
    Barrier empty[STAGES];                               // mbarrier: both consumers are done with the stage
};

__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// PTX ISA 8.6, 9.7.13.15 (mbarrier)
__device__ __forceinline__ void mbarrier_init(Barrier* barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}

__device__ __forceinline__ void mbarrier_expect_bytes(Barrier* barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void mbarrier_arrive(Barrier* barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

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

// PTX ISA 8.6, 9.7.9.26 (cp.async.bulk.tensor): one box of the tensor map, completing on `barrier`
__device__ __forceinline__ void tma_load_2d(void* destination, const TensorMap* map, Barrier* barrier, int column, int row)
{
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
        ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(column), "r"(row) : "memory");
}

// The same, from shared to global; boxes are clipped at the array's edge
__device__ __forceinline__ void tma_store_2d(const TensorMap* map, const void* source, int column, int row)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(column), "r"(row) : "memory");
}

__device__ __forceinline__ void tma_store_commit()    { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ __forceinline__ void tma_store_wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ __forceinline__ void tma_store_wait()      { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// Orders this thread's ordinary shared-memory writes before later reads by the copy engine
__device__ __forceinline__ void fence_async_proxy()   { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Barrier of the 128 threads of one consumer warpgroup (hardware barriers 1 and 2)
__device__ __forceinline__ void warpgroup_barrier(int consumer) { asm volatile("bar.sync %0, 128;" ::"r"(1 + consumer) : "memory"); }

// PTX ISA 8.6, 9.7.13.5.16 (stmatrix): four 8 x 8 matrices; lane l gives the address of row l % 8 of matrix l / 8
__device__ __forceinline__ void stmatrix_x4(unsigned address, unsigned m0, unsigned m1, unsigned m2, unsigned m3)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(m0), "r"(m1), "r"(m2), "r"(m3) : "memory");
}

__device__ __forceinline__ unsigned pack_half2(float low, float high)
{
    const __half2 packed = __floats2half2_rn(low, high);
    return *reinterpret_cast<const unsigned*>(&packed);
}

// PTX ISA 8.6, 9.7.15.5.1: matrix descriptor of a 128-byte-swizzled tile in shared memory (byte offsets in units of 16)
__device__ __forceinline__ Descriptor wgmma_descriptor(const void* tile, unsigned leading_bytes, unsigned stride_bytes)
{
    return (1ull << 62) | (static_cast<Descriptor>(stride_bytes >> 4) << 32) | (static_cast<Descriptor>(leading_bytes >> 4) << 16)
         | ((shared_address(tile) & 0x3FFFF) >> 4);
}

__device__ __forceinline__ void wgmma_fence()  { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING>
__device__ __forceinline__ void wgmma_wait()   { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

// acc[64, 256] += A[64, 16] (K major) @ B[16, 256] (N major)
__device__ __forceinline__ void wgmma_m64n256k16(float (&acc)[128], Descriptor a, Descriptor b)
{
    asm volatile(
        "{\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
        "}, %128, %129, 1, 1, 1, 0, 1;\n"
        "}"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3]), "+f"(acc[4]), "+f"(acc[5]), "+f"(acc[6]), "+f"(acc[7]),
          "+f"(acc[8]), "+f"(acc[9]), "+f"(acc[10]), "+f"(acc[11]), "+f"(acc[12]), "+f"(acc[13]), "+f"(acc[14]),
          "+f"(acc[15]), "+f"(acc[16]), "+f"(acc[17]), "+f"(acc[18]), "+f"(acc[19]), "+f"(acc[20]), "+f"(acc[21]),
          "+f"(acc[22]), "+f"(acc[23]), "+f"(acc[24]), "+f"(acc[25]), "+f"(acc[26]), "+f"(acc[27]), "+f"(acc[28]),
          "+f"(acc[29]), "+f"(acc[30]), "+f"(acc[31]), "+f"(acc[32]), "+f"(acc[33]), "+f"(acc[34]), "+f"(acc[35]),
          "+f"(acc[36]), "+f"(acc[37]), "+f"(acc[38]), "+f"(acc[39]), "+f"(acc[40]), "+f"(acc[41]), "+f"(acc[42]),
          "+f"(acc[43]), "+f"(acc[44]), "+f"(acc[45]), "+f"(acc[46]), "+f"(acc[47]), "+f"(acc[48]), "+f"(acc[49]),
          "+f"(acc[50]), "+f"(acc[51]), "+f"(acc[52]), "+f"(acc[53]), "+f"(acc[54]), "+f"(acc[55]), "+f"(acc[56]),
          "+f"(acc[57]), "+f"(acc[58]), "+f"(acc[59]), "+f"(acc[60]), "+f"(acc[61]), "+f"(acc[62]), "+f"(acc[63]),
          "+f"(acc[64]), "+f"(acc[65]), "+f"(acc[66]), "+f"(acc[67]), "+f"(acc[68]), "+f"(acc[69]), "+f"(acc[70]),
          "+f"(acc[71]), "+f"(acc[72]), "+f"(acc[73]), "+f"(acc[74]), "+f"(acc[75]), "+f"(acc[76]), "+f"(acc[77]),
          "+f"(acc[78]), "+f"(acc[79]), "+f"(acc[80]), "+f"(acc[81]), "+f"(acc[82]), "+f"(acc[83]), "+f"(acc[84]),
          "+f"(acc[85]), "+f"(acc[86]), "+f"(acc[87]), "+f"(acc[88]), "+f"(acc[89]), "+f"(acc[90]), "+f"(acc[91]),
          "+f"(acc[92]), "+f"(acc[93]), "+f"(acc[94]), "+f"(acc[95]), "+f"(acc[96]), "+f"(acc[97]), "+f"(acc[98]),
          "+f"(acc[99]), "+f"(acc[100]), "+f"(acc[101]), "+f"(acc[102]), "+f"(acc[103]), "+f"(acc[104]), "+f"(acc[105]),
          "+f"(acc[106]), "+f"(acc[107]), "+f"(acc[108]), "+f"(acc[109]), "+f"(acc[110]), "+f"(acc[111]), "+f"(acc[112]),
          "+f"(acc[113]), "+f"(acc[114]), "+f"(acc[115]), "+f"(acc[116]), "+f"(acc[117]), "+f"(acc[118]), "+f"(acc[119]),
          "+f"(acc[120]), "+f"(acc[121]), "+f"(acc[122]), "+f"(acc[123]), "+f"(acc[124]), "+f"(acc[125]), "+f"(acc[126]),
          "+f"(acc[127])
        : "l"(a), "l"(b));
}

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1)
matmul(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
       const __grid_constant__ TensorMap c_map, const int M, const int N, const int K)
{
    extern __shared__ unsigned char shared_bytes[];
    Shared& shared = *reinterpret_cast<Shared*>((reinterpret_cast<size_t>(shared_bytes) + 1023) & ~size_t(1023));

    // 0 produces, 1 and 2 consume. Broadcast from lane 0, so that the compiler knows it to be uniform in a warp and keeps
    // what derives from it (the matrix descriptors above all) in uniform registers: worth a fifth of the kernel's speed.
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
    const int k_tiles = (K + BLOCK_K - 1) / BLOCK_K;
    const int m_tiles = (M + BLOCK_M - 1) / BLOCK_M;
    const int n_tiles = (N + BLOCK_N - 1) / BLOCK_N;

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            mbarrier_init(&shared.full[stage], 1);
            mbarrier_init(&shared.empty[stage], 2);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    // for tile in tl.range(tl.program_id(0), num_tiles, tl.num_programs(0)):              matmul.py:30
    int k_step = 0;                                      // stages used so far, over all tiles
    if (warpgroup == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            for (int tile = blockIdx.x; tile < m_tiles * n_tiles; tile += gridDim.x) {
                const int group = tile / (GROUP_M * n_tiles);
                const int group_rows = min(m_tiles - group * GROUP_M, GROUP_M);
                const int m = (group * GROUP_M + tile % (GROUP_M * n_tiles) % group_rows) * BLOCK_M;
                const int n = tile % (GROUP_M * n_tiles) / group_rows * BLOCK_N;
                for (int k_tile = 0; k_tile < k_tiles; ++k_tile, ++k_step) {
                    const int stage = k_step % STAGES;
                    mbarrier_wait(&shared.empty[stage], (k_step / STAGES + 1) & 1);
                    mbarrier_expect_bytes(&shared.full[stage], STAGE_BYTES);
                    tma_load_2d(shared.a[stage], &a_map, &shared.full[stage], k_tile * BLOCK_K, m);
                    #pragma unroll
                    for (int panel = 0; panel < BLOCK_N / 64; ++panel)
                        tma_load_2d(shared.b[stage][panel], &b_map, &shared.full[stage], n + 64 * panel, k_tile * BLOCK_K);
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const int consumer = warpgroup - 1;              // rows 64 * consumer ... of the tile
        const int lane = threadIdx.x % 32;
        const int warp = threadIdx.x / 32 % 4;
        const Descriptor a_first = wgmma_descriptor(shared.a[0][64 * consumer], 16, 1024);
        const Descriptor b_first = wgmma_descriptor(shared.b[0], BLOCK_K * 128, 1024);
        for (int tile = blockIdx.x; tile < m_tiles * n_tiles; tile += gridDim.x) {
            const int group = tile / (GROUP_M * n_tiles);
            const int group_rows = min(m_tiles - group * GROUP_M, GROUP_M);
            const int m = (group * GROUP_M + tile % (GROUP_M * n_tiles) % group_rows) * BLOCK_M;
            const int n = tile % (GROUP_M * n_tiles) / group_rows * BLOCK_N;

            float acc[128];                              // tile f32[64, 256] of this warpgroup
            #pragma unroll
            for (int i = 0; i < 128; ++i) acc[i] = 0.0f;

            for (int k_tile = 0; k_tile < k_tiles; ++k_tile, ++k_step) {
                const int stage = k_step % STAGES;
                mbarrier_wait(&shared.full[stage], (k_step / STAGES) & 1);
                wgmma_fence();
                #pragma unroll
                for (int k = 0; k < BLOCK_K; k += 16)    // acc += tl.dot(a, b)               matmul.py:38
                    wgmma_m64n256k16(acc, a_first + (stage * sizeof(shared.a[0]) + k * sizeof(__half)) / 16,
                                          b_first + (stage * sizeof(shared.b[0]) + k * 128) / 16);
                wgmma_commit();
                // The previous group has read its stage: hand it back while this one runs.
                if (k_tile > 0) {
                    wgmma_wait<1>();
                    if (threadIdx.x % 128 == 0) mbarrier_arrive(&shared.empty[(k_step - 1) % STAGES]);
                }
            }
            wgmma_wait<0>();
            if (threadIdx.x % 128 == 0) mbarrier_arrive(&shared.empty[(k_step - 1) % STAGES]);

            // c_desc.store([m, n], acc.to(tl.float16)), in two halves of 128 columns                matmul.py:42
            #pragma unroll
            for (int half = 0; half < 2; ++half) {
                if (threadIdx.x % 128 == 0) tma_store_wait_read();       // the previous half has left shared memory
                warpgroup_barrier(consumer);

                const int row = 16 * warp + lane / 8 % 2 * 8 + lane % 8;
                #pragma unroll
                for (int j = 0; j < 16; j += 2) {                        // two groups of eight columns a step
                    const float* fragment = &acc[4 * (16 * half + j)];
                    const int chunk = j + lane / 16;                     // 16-byte chunk of the row, swizzled below
                    const unsigned address = shared_address(shared.c[consumer][chunk / 8][row]) + (chunk % 8 ^ row % 8) * 16;
                    stmatrix_x4(address, pack_half2(fragment[0], fragment[1]), pack_half2(fragment[2], fragment[3]),
                                         pack_half2(fragment[4], fragment[5]), pack_half2(fragment[6], fragment[7]));
                }

                fence_async_proxy();
                warpgroup_barrier(consumer);                             // all rows are in shared memory
                if (threadIdx.x % 128 == 0) {
                    tma_store_2d(&c_map, shared.c[consumer][0], n + 128 * half,      m + 64 * consumer);
                    tma_store_2d(&c_map, shared.c[consumer][1], n + 128 * half + 64, m + 64 * consumer);
                    tma_store_commit();
                }
            }
        }
        if (threadIdx.x % 128 == 0) tma_store_wait();
    }
}
