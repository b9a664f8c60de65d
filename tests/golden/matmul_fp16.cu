// matmul.cu: emitted by tle2cuda from matmul.py:16 (matmul). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 65536 bytes of shared memory
//   launch    grid of CTAs, one for each program; 65536 bytes of dynamic shared memory
//   args      a *fp16 align 16, b *fp16 align 16, c *fp16 align 16, M i32 divisible by 16,
//             N i32 divisible by 16, K i32 divisible by 16, stride_am i32 divisible by 16,
//             stride_bk i32 divisible by 16, stride_cm i32 divisible by 16
//   constants stride_ak = 1, stride_bn = 1, stride_cn = 1, BLOCK_M = 128, BLOCK_N = 128,
//             BLOCK_K = 32, GROUP_M = 8

#include <cuda_fp16.h>

namespace {

// Closes this thread's group of copies, which may be empty (PTX ISA, cp.async.commit_group; sm_80).
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most the last PENDING groups of this thread are in flight; other threads see the data behind a barrier (PTX ISA,
// cp.async.wait_group; sm_80).
template <int PENDING>
__device__ __forceinline__ void cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory"); }

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Copies the first `valid_bytes` of 4, 8 or 16 bytes from global to shared memory, both aligned to as much, and zeros for the
// rest, as part of this thread's open group. Called by each thread for itself (PTX ISA, cp.async with src-size; sm_80).
template <int BYTES>
__device__ __forceinline__ void cp_async_zero_fill(void* destination, const void* source, unsigned valid_bytes)
{
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(destination)), "l"(source), "r"(valid_bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(destination)), "l"(source), "n"(BYTES), "r"(valid_bytes) : "memory");
}

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// Trades words of a vector with lane `lane ^ LANE`: the lower of the two lanes gives its words i + STEP for the upper one's words
// i, where i has no STEP in it. Called by whole warps.
template <int LANE, int STEP, typename T, int N>
__device__ __forceinline__ void exchange_words(Vector<T, N>& vector)
{
    unsigned words[sizeof(vector) / 4];
    memcpy(words, &vector, sizeof(vector));
    const bool is_upper = threadIdx.x & LANE;
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(vector) / 4); ++i) {
        if (i & STEP) continue;
        const unsigned given = is_upper ? words[i] : words[i + STEP];
        const unsigned received = __shfl_xor_sync(0xffffffffu, given, LANE);
        words[i] = is_upper ? received : words[i];
        words[i + STEP] = is_upper ? words[i + STEP] : received;
    }
    memcpy(&vector, words, sizeof(vector));
}

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// An empty asm: to the compiler these sums change here. Else it may copy or compute some while products are in flight, whose
// registers nothing may touch (PTX ISA, wgmma.mma_async), and each product would wait for the one before (ptxas, C7511, C7514,
// C7515, C7520).
template <int COUNT>
__device__ __forceinline__ void keep_sums(Vector<float, 2> (&sums)[COUNT])
{
    #pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(sums[i][0]), "+f"(sums[i][1]));
}

// Store 16 bytes of global memory if a condition holds: one predicated access (PTX ISA, st.global), around which nothing
// branches.
__device__ __forceinline__ void store_bits_if(bool condition, uint4* pointer, uint4 bits)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %1, 0;\n\t@p st.global.v4.u32 [%0], {%2, %3, %4, %5};\n\t}"
        :: "l"(pointer), "r"(static_cast<int>(condition)), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
}

// Store N neighbours in global memory, in words of type Bits, if a condition holds. Called by each thread for itself.
template <typename Bits, int N, typename T>
__device__ __forceinline__ void store_vector_if(bool condition, T* pointer, const Vector<T, N>& value)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(value) / sizeof(Bits)); ++i) {
        Bits bits;
        memcpy(&bits, reinterpret_cast<const unsigned char*>(&value) + i * sizeof(Bits), sizeof(Bits));
        store_bits_if(condition, reinterpret_cast<Bits*>(pointer) + i, bits);
    }
}

// Column at which a row of a swizzled tile holds a column of the array: the 16-byte chunks of a row change places by the number
// of its 128-byte line, as the copy engine stores them (PTX ISA, swizzling modes of tensors).
template <unsigned SPAN_BYTES, unsigned ELEMENT_BYTES>
__device__ __forceinline__ unsigned swizzled(unsigned row, unsigned column)
{
    const unsigned line = row / (128 / SPAN_BYTES);
    return column ^ line % (SPAN_BYTES / 16) * (16 / ELEMENT_BYTES);
}

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

// sums[64, 128] += a[64, 16] @ b[16, 128] of one warpgroup: float16, a in rows along K, b in rows along N.
// In flight until a wait: sums and operands stay as they are up to there. Without `accumulate` sums are not read. Called by all of
// its threads (PTX ISA, wgmma.mma_async; sm_90a).
__device__ __forceinline__ void wgmma_m64n128k16_f32_f16_b_along_n(
    Vector<float, 2>* sums, Descriptor a, Descriptor b, bool accumulate)
{
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, accumulate, 1, 1, 0, 1;\n"
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
          "+f"(sums[30][0]), "+f"(sums[30][1]), "+f"(sums[31][0]), "+f"(sums[31][1])
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// Waits until at most the last PENDING groups are in flight. Called by all threads of the warpgroup (PTX ISA, wgmma.wait_group;
// sm_90a).
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(1024) __half a_tile[4][128][32];  // 4 stages of matmul.py:50, 64-byte swizzle
    alignas(1024) __half b_tile[4][2][32][64];  // 4 stages of matmul.py:51, 128-byte swizzle
};
static_assert(sizeof(Shared) <= 65536, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
matmul(const __half* __restrict__ a, const __half* __restrict__ b, __half* c, const int M,
       const int N, const int K, const int stride_am, const int stride_bk, const int stride_cm)
{
    extern __shared__ __align__(1024) unsigned char shared_bytes[];
    Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
    const int thread = threadIdx.x;

    // pid = tl.program_id(0)                                                           matmul.py:35
    const int pid = blockIdx.x;
    // tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)                      matmul.py:36
    const int tiles_m = (M + 127) / 128;
    const int tiles_n = (N + 127) / 128;
    // first_m = pid // (GROUP_M * tiles_n) * GROUP_M                                   matmul.py:37
    const int first_m = pid / (8 * tiles_n) * 8;
    // group_m = min(tiles_m - first_m, GROUP_M)                                        matmul.py:38
    const int group_m = min(tiles_m - first_m, 8);
    // pid_m = first_m + pid % (GROUP_M * tiles_n) % group_m                            matmul.py:39
    const int pid_m = first_m + pid % (8 * tiles_n) % group_m;
    // pid_n = pid % (GROUP_M * tiles_n) // group_m                                     matmul.py:40
    const int pid_n = pid % (8 * tiles_n) / group_m;
    // b_ptrs += BLOCK_K * stride_bk                                                    matmul.py:54
    const long long b_ptrs_step = static_cast<long long>(32 * stride_bk);
    // for step in range(tl.cdiv(K, BLOCK_K)):                                          matmul.py:49
    long long a_ptrs_offset_ahead = 0ll;
    long long b_ptrs_offset_ahead = 0ll;
    // a_ptrs = a + rows[:, None] * stride_am + k[None, :] * stride_ak                  matmul.py:46
    const __half* a_ptrs[4];

    // k = tl.arange(0, BLOCK_K)                                                        matmul.py:45
    const int k_ = thread % 4 * 8;
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // rows = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M                         matmul.py:43
        const int rows = pid_m * 128 + thread / 4 + 32 * run;
        const int rows_2 = rows % M;
        a_ptrs[run] = a + rows_2 * stride_am + k_;
    }

    // b_ptrs = b + k[:, None] * stride_bk + cols[None, :] * stride_bn                  matmul.py:47
    const __half* b_ptrs[4];

    // cols = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N                             matmul.py:44
    const int cols = pid_n * 128 + thread % 16 * 8;
    const int cols_2 = cols % N;
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // k = tl.arange(0, BLOCK_K)                                                    matmul.py:45
        const int k_3 = thread / 16 + 8 * run;
        b_ptrs[run] = b + k_3 * stride_bk + cols_2;
    }
    #pragma unroll
    for (int stage = 0; stage < 2; ++stage) {
        if (stage < (K + 31) / 32) {
            // a_tile = tl.load(a_ptrs, mask=k[None, :] < K - step * BLOCK_K, othe ...  matmul.py:50
            #pragma unroll
            for (int run = 0; run < 4; ++run) {
                cp_async_zero_fill<16>(&shared.a_tile[stage][thread / 4 + 32 * run][swizzled<64, 2>(thread / 4 + 32 * run, thread % 4 * 8)], a_ptrs[run] + a_ptrs_offset_ahead, k_ < K - stage * 32 ? 16 : 0);
            }

            // b_tile = tl.load(b_ptrs, mask=k[:, None] < K - step * BLOCK_K, othe ...  matmul.py:51
            #pragma unroll
            for (int run = 0; run < 4; ++run) {
                // k = tl.arange(0, BLOCK_K)                                            matmul.py:45
                const int k_3 = thread / 16 + 8 * run;
                cp_async_zero_fill<16>(&shared.b_tile[stage][thread / 8 % 2][thread / 16 + 8 * run][swizzled<128, 2>(thread / 16 + 8 * run, thread % 8 * 8)], b_ptrs[run] + b_ptrs_offset_ahead, k_3 < K - stage * 32 ? 16 : 0);
            }
        }
        cp_async_commit();
        a_ptrs_offset_ahead += 32ll;
        b_ptrs_offset_ahead += b_ptrs_step;
    }

    // for step in range(tl.cdiv(K, BLOCK_K)):                                          matmul.py:49
    Vector<float, 2> acc[64];
    #pragma unroll
    for (int run = 0; run < 64; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            acc[run][k] = 0.0f;
    keep_sums(acc);
    for (int step = 0; step < (K + 31) / 32; ++step) {
        const int stage = step % 4;
        cp_async_wait<1>();
        const int free_stage = (step + 2) % 4;
        fence_async_proxy();  // shows what was written to the ring `a_tile` and the ring `b_tile` to the tensor cores
        __syncthreads();  // orders the accesses to the ring `a_tile` and the ring `b_tile` before it and after it

        // a_tile = tl.load(a_ptrs, mask=k[None, :] < K - step * BLOCK_K, other=0.0)    matmul.py:50
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            cp_async_zero_fill<16>(&shared.a_tile[free_stage][thread / 4 + 32 * run][swizzled<64, 2>(thread / 4 + 32 * run, thread % 4 * 8)], a_ptrs[run] + a_ptrs_offset_ahead, k_ < K - (step + 2) * 32 && step + 2 < (K + 31) / 32 ? 16 : 0);
        }

        // b_tile = tl.load(b_ptrs, mask=k[:, None] < K - step * BLOCK_K, other=0.0)    matmul.py:51
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            // k = tl.arange(0, BLOCK_K)                                                matmul.py:45
            const int k_3 = thread / 16 + 8 * run;
            cp_async_zero_fill<16>(&shared.b_tile[free_stage][thread / 8 % 2][thread / 16 + 8 * run][swizzled<128, 2>(thread / 16 + 8 * run, thread % 8 * 8)], b_ptrs[run] + b_ptrs_offset_ahead, k_3 < K - (step + 2) * 32 && step + 2 < (K + 31) / 32 ? 16 : 0);
        }
        cp_async_commit();

        // for step in range(tl.cdiv(K, BLOCK_K)):                                      matmul.py:49
        a_ptrs_offset_ahead += 32ll;
        b_ptrs_offset_ahead += b_ptrs_step;

        // acc = tl.dot(a_tile, b_tile, acc)                                            matmul.py:52
        const Descriptor a_tile_first = wgmma_descriptor<64>(shared.a_tile[stage], 16, 512);  // rows along K
        const Descriptor b_tile_first = wgmma_descriptor<128>(shared.b_tile[stage], 4096, 1024);  // rows along N
        wgmma_fence();
        #pragma unroll
        for (int step_2 = 0; step_2 < 2; ++step_2)
            #pragma unroll
            for (int row = 0; row < 2; ++row)
                wgmma_m64n128k16_f32_f16_b_along_n(&acc[32 * row], a_tile_first + 256 * row + 2 * step_2, b_tile_first + 128 * step_2, true);
        wgmma_commit();
        wgmma_wait<1>();
    }
    wgmma_wait<0>();
    keep_sums(acc);
    cp_async_wait<0>();  // zeros of iterations that do not exist have landed
    Vector<__half, 2> acc_2[64];

    // tile [128, 128]: row = thread / 32 * 16 + thread / 4 % 8 + run / 32 * 64 + run % 2 * 8, column = thread % 4 * 2 + run / 2 % 16 * 8 + k;  run < 64, k < 2
    #pragma unroll
    for (int run = 0; run < 64; ++run) {
        // tl.store(c_ptrs, acc.to(c.dtype.element_ty), mask=(rows[:, None] < M) & ...  matmul.py:59
        #pragma unroll
        for (int k = 0; k < 2; ++k) acc_2[run][k] = __float2half(acc[run][k]);
    }

    // tl.store(c_ptrs, acc.to(c.dtype.element_ty), mask=(rows[:, None] < M) & (co ...  matmul.py:59
    Vector<__half, 8> acc_converted[16];
    #pragma unroll
    for (int run = 0; run < 16; ++run) {
        #pragma unroll
        for (int k = 0; k < 8; ++k)
            acc_converted[run][k] = acc_2[run / 2 * 8 + run % 2 + k / 2 * 2][k % 2];
        exchange_words<1, 1>(acc_converted[run]);
        exchange_words<2, 2>(acc_converted[run]);
    }

    // tile [128, 128]: row = thread / 32 * 16 + thread / 4 % 8 + run / 8 * 64 + run % 2 * 8, column = thread % 4 * 8 + run / 2 % 4 * 32 + k;  run < 16, k < 8
    #pragma unroll
    for (int run = 0; run < 16; ++run) {
        // rows = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M                         matmul.py:43
        const int rows = pid_m * 128 + thread / 32 * 16 + thread / 4 % 8 + run / 8 * 64 + run % 2 * 8;
        // cols = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N                         matmul.py:44
        const int cols_3 = pid_n * 128 + thread % 4 * 8 + run / 2 % 4 * 32;
        // tl.store(c_ptrs, acc.to(c.dtype.element_ty), mask=(rows[:, None] < M) & ...  matmul.py:59
        store_vector_if<uint4>(rows < M && cols_3 < N, c + rows * stride_cm + cols_3, acc_converted[run]);
    }
}
