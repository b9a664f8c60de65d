// moe_gate_up.cu: emitted by tle2cuda from fused_moe.py:53 (moe_gate_up). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 73728 bytes of shared memory
//   launch    grid of CTAs, one for each program; 73728 bytes of dynamic shared memory
//   args      x *bf16 align 16, weights *bf16 align 16, hidden *bf16 align 16,
//             sorted_ids *i32 align 16, expert_ids *i32 align 16, num_post_pad *i32 align 16,
//             num_slots i32 divisible by 16, N i32 divisible by 16, K i32 divisible by 16,
//             stride_xm i32 divisible by 16, stride_we i32 divisible by 16,
//             stride_wn i32 divisible by 16, stride_hm i32 divisible by 16
//   constants TOP_K = 8, BLOCK_M = 64, BLOCK_N = 64, BLOCK_K = 64, GROUP_M = 8

#include <cuda_bf16.h>

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

// Quotient within 2 ulp over the full range, as Triton divides (PTX ISA, div.full.f32).
__device__ __forceinline__ float divide_approx(float a, float b)
{
    float quotient;
    asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
    return quotient;
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

// sums[64, 128] += a[64, 16] @ b[16, 128] of one warpgroup: bfloat16, a in rows along K, b in rows along K.
// In flight until a wait: sums and operands stay as they are up to there. Without `accumulate` sums are not read. Called by all of
// its threads (PTX ISA, wgmma.mma_async; sm_90a).
__device__ __forceinline__ void wgmma_m64n128k16_f32_bf16(
    Vector<float, 2>* sums, Descriptor a, Descriptor b, bool accumulate)
{
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, accumulate, 1, 1, 0, 0;\n"
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
    alignas(1024) __nv_bfloat16 x_tile[3][64][64];  // 3 stages of fused_moe.py:41, 128-byte swizzle
    alignas(1024) __nv_bfloat16 weight_tile[3][128][64];  // 3 stages of fused_moe.py:42, 128-byte swizzle
};
static_assert(sizeof(Shared) <= 73728, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
moe_gate_up(const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ weights,
            __nv_bfloat16* hidden, const int* __restrict__ sorted_ids,
            const int* __restrict__ expert_ids, const int* __restrict__ num_post_pad,
            const int num_slots, const int N, const int K, const int stride_xm,
            const int stride_we, const int stride_wn, const int stride_hm)
{
    extern __shared__ __align__(1024) unsigned char shared_bytes[];
    Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
    const int thread = threadIdx.x;

    // tiles_m = tl.load(num_post_pad) // BLOCK_M                                    fused_moe.py:74
    const int num_post_pad_value = *num_post_pad;
    const int tiles_m = num_post_pad_value / 64;

    // if tl.program_id(0) >= tiles_m * tl.cdiv(N, BLOCK_N):                         fused_moe.py:75
    const int pid = blockIdx.x;
    const int tiles_n = (N + 63) / 64;
    if (pid >= tiles_m * tiles_n) return;

    // first_m = pid // (GROUP_M * tiles_n) * GROUP_M                                fused_moe.py:27
    const int first_m = pid / (8 * tiles_n) * 8;
    // group_m = tl.minimum(tiles_m - first_m, GROUP_M)                              fused_moe.py:28
    const int group_m = min(tiles_m - first_m, 8);
    // return first_m + pid % (GROUP_M * tiles_n) % group_m, pid % (GROUP_M * t ...  fused_moe.py:29
    const int pid_m = first_m + pid % (8 * tiles_n) % group_m;
    const int pid_n = pid % (8 * tiles_n) / group_m;

    // expert = tl.load(expert_ids + pid_m).to(tl.int64)                             fused_moe.py:79
    const int expert_ids_value = expert_ids[pid_m];
    const long long expert = static_cast<long long>(expert_ids_value);
    bool is_real[4];
    long long value[4];

    // tile [64]: element = thread / 8 + 16 * run;  run < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // slots = tl.load(sorted_ids + pid_m * BLOCK_M + tl.arange(0, BLOCK_M))     fused_moe.py:78
        const int k_ = thread / 8 + 16 * run;
        const int slots = *(sorted_ids + pid_m * 64 + k_);
        // is_real = slots < num_slots                                               fused_moe.py:80
        is_real[run] = slots < num_slots;
        // x_ptrs = x + (slots // TOP_K).to(tl.int64)[:, None] * stride_xm + k[ ...  fused_moe.py:84
        value[run] = static_cast<long long>(slots / 8);
    }
    long long product[4];

    // tile [64, 1]: row = thread / 8 + 16 * run, column = 0;  run < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        product[run] = value[run] * static_cast<long long>(stride_xm);
    }

    // for first in range(0, K, BLOCK_K):                                            fused_moe.py:39
    long long x_ptrs_offset_ahead = 0ll;
    long long weight_ptrs_offset_ahead = 0ll;
    // x_ptrs = x + (slots // TOP_K).to(tl.int64)[:, None] * stride_xm + k[None, :]  fused_moe.py:84
    const __nv_bfloat16* x_ptrs[4];

    // slots = tl.load(sorted_ids + pid_m * BLOCK_M + tl.arange(0, BLOCK_M))         fused_moe.py:78
    const int k_ = thread % 8 * 8;
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        x_ptrs[run] = x + product[run] + k_;
    }

    // weight_ptrs = weights + expert * stride_we + rows.to(tl.int64)[:, None] ...   fused_moe.py:85
    const __nv_bfloat16* weight_ptrs[8];

    // slots = tl.load(sorted_ids + pid_m * BLOCK_M + tl.arange(0, BLOCK_M))         fused_moe.py:78
    const int k_3 = thread % 8 * 8;
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // k, both = tl.arange(0, BLOCK_K), tl.arange(0, 2 * BLOCK_N)                fused_moe.py:81
        const int both = thread / 8 + 16 * run;
        // rows = tl.minimum(pid_n * BLOCK_N + both % BLOCK_N, N - 1) + both // ...  fused_moe.py:83
        const int rows = min(pid_n * 64 + both % 64, N - 1) + both / 64 * N;
        weight_ptrs[run] = weights + expert * static_cast<long long>(stride_we) + static_cast<long long>(rows) * stride_wn + k_3;
    }
    #pragma unroll
    for (int stage = 0; stage < 2; ++stage) {
        if (stage * 64 < K) {
            // left = K - first                                                      fused_moe.py:40
            const int left = K - stage * 64;

            // x_tile = tl.load(x_ptrs, mask=is_real[:, None] & (k[None, :] < l ...  fused_moe.py:41
            const bool inside = k_ < left;
            #pragma unroll
            for (int run = 0; run < 4; ++run) {
                cp_async_zero_fill<16>(&shared.x_tile[stage][thread / 8 + 16 * run][swizzled<128, 2>(thread / 8 + 16 * run, thread % 8 * 8)], x_ptrs[run] + x_ptrs_offset_ahead, is_real[run] && inside ? 16 : 0);
            }

            // weight_tile = tl.load(weight_ptrs, mask=k[None, :] < left, other ...  fused_moe.py:42
            // x_tile = tl.load(x_ptrs, mask=is_real[:, None] & (k[None, :] < l ...  fused_moe.py:41
            const bool inside_2 = k_3 < left;
            #pragma unroll
            for (int run = 0; run < 8; ++run) {
                cp_async_zero_fill<16>(&shared.weight_tile[stage][thread / 8 + 16 * run][swizzled<128, 2>(thread / 8 + 16 * run, thread % 8 * 8)], weight_ptrs[run] + weight_ptrs_offset_ahead, inside_2 ? 16 : 0);
            }
        }
        cp_async_commit();
        x_ptrs_offset_ahead += 64ll;
        weight_ptrs_offset_ahead += 64ll;
    }

    // for first in range(0, K, BLOCK_K):                                            fused_moe.py:39
    Vector<float, 2> acc[32];
    #pragma unroll
    for (int run = 0; run < 32; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            acc[run][k] = 0.0f;
    keep_sums(acc);
    for (int first = 0; first < K; first += 64) {
        const int stage = first / 64 % 3;
        cp_async_wait<1>();
        const int left = K - first;
        const int free_stage = (first / 64 + 2) % 3;
        fence_async_proxy();  // shows what was written to the ring `x_tile` and the ring `weight_tile` to the tensor cores
        __syncthreads();  // orders the accesses to the ring `x_tile` and the ring `weight_tile` before it and after it

        // acc = tl.dot(x_tile, tl.trans(weight_tile), acc)                          fused_moe.py:46
        const Descriptor x_tile_first = wgmma_descriptor<128>(shared.x_tile[stage], 16, 1024);  // rows along K
        const Descriptor weight_tile_first = wgmma_descriptor<128>(shared.weight_tile[stage], 16, 1024);  // rows along K
        wgmma_fence();
        #pragma unroll
        for (int step = 0; step < 4; ++step)
            wgmma_m64n128k16_f32_bf16(acc, x_tile_first + 2 * step, weight_tile_first + 2 * step, true);
        wgmma_commit();
        wgmma_wait<1>();

        // left = K - first                                                          fused_moe.py:40
        const int left_2 = K - (first + 128);

        // x_tile = tl.load(x_ptrs, mask=is_real[:, None] & (k[None, :] < left) ...  fused_moe.py:41
        const bool inside = k_ < left_2;
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            cp_async_zero_fill<16>(&shared.x_tile[free_stage][thread / 8 + 16 * run][swizzled<128, 2>(thread / 8 + 16 * run, thread % 8 * 8)], x_ptrs[run] + x_ptrs_offset_ahead, is_real[run] && inside && left > 128 ? 16 : 0);
        }

        // weight_tile = tl.load(weight_ptrs, mask=k[None, :] < left, other=0.0)     fused_moe.py:42
        // x_tile = tl.load(x_ptrs, mask=is_real[:, None] & (k[None, :] < left) ...  fused_moe.py:41
        const bool inside_2 = k_3 < left_2;
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            cp_async_zero_fill<16>(&shared.weight_tile[free_stage][thread / 8 + 16 * run][swizzled<128, 2>(thread / 8 + 16 * run, thread % 8 * 8)], weight_ptrs[run] + weight_ptrs_offset_ahead, inside_2 && left > 128 ? 16 : 0);
        }
        cp_async_commit();

        // for first in range(0, K, BLOCK_K):                                        fused_moe.py:39
        x_ptrs_offset_ahead += 64ll;
        weight_ptrs_offset_ahead += 64ll;
    }
    wgmma_wait<0>();
    keep_sums(acc);
    cp_async_wait<0>();  // zeros of iterations that do not exist have landed
    Vector<__nv_bfloat16, 2> result[16];

    // tile [64, 64]: row = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread % 4 * 2 + run / 2 * 8 + k;  run < 16, k < 2
    #pragma unroll
    for (int run = 0; run < 16; ++run) {
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            // result = gate * tl.sigmoid(gate) * up                                 fused_moe.py:88
            const float product_2 = acc[run][k] * divide_approx(1.0f, 1.0f + __expf(0.0f - acc[run][k]));
            const float result_2 = product_2 * acc[run + 16][k];
            // tl.store(hidden_ptrs, result.to(hidden.dtype.element_ty), mask=i ...  fused_moe.py:91
            result[run][k] = __float2bfloat16(result_2);
        }
    }
    int slots[2];
    long long slots_wide[2];

    // tile [64]: element = thread / 32 * 16 + thread / 4 % 8 + 8 * run;  run < 2
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // slots = tl.load(sorted_ids + pid_m * BLOCK_M + tl.arange(0, BLOCK_M))     fused_moe.py:78
        const int k_4 = thread / 32 * 16 + thread / 4 % 8 + 8 * run;
        slots[run] = *(sorted_ids + pid_m * 64 + k_4);
        // hidden_ptrs = hidden + slots.to(tl.int64)[:, None] * stride_hm + col ...  fused_moe.py:90
        slots_wide[run] = static_cast<long long>(slots[run]);
    }
    long long product_2[2];

    // tile [64, 1]: row = thread / 32 * 16 + thread / 4 % 8 + 8 * run, column = 0;  run < 2
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        product_2[run] = slots_wide[run] * static_cast<long long>(stride_hm);
    }

    // tl.store(hidden_ptrs, result.to(hidden.dtype.element_ty), mask=is_real[: ...  fused_moe.py:91
    Vector<__nv_bfloat16, 8> result_converted[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        #pragma unroll
        for (int k = 0; k < 8; ++k)
            result_converted[run][k] = result[run / 2 * 8 + run % 2 + k / 2 * 2][k % 2];
        exchange_words<1, 1>(result_converted[run]);
        exchange_words<2, 2>(result_converted[run]);
    }
    bool is_real_2[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // is_real = slots < num_slots                                               fused_moe.py:80
        is_real_2[run] = slots[run] < num_slots;
    }
    // tile [64, 64]: row = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread % 4 * 8 + run / 2 * 32 + k;  run < 4, k < 8
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // slots = tl.load(sorted_ids + pid_m * BLOCK_M + tl.arange(0, BLOCK_M))     fused_moe.py:78
        const int k_4 = thread % 4 * 8 + run / 2 * 32;
        // cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)                            fused_moe.py:89
        const int cols = pid_n * 64 + k_4;
        // tl.store(hidden_ptrs, result.to(hidden.dtype.element_ty), mask=is_re ...  fused_moe.py:91
        store_vector_if<uint4>(is_real_2[run % 2] && cols < N, hidden + product_2[run % 2] + cols, result_converted[run]);
    }
}
