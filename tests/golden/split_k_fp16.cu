// split_k.cu: emitted by tle2cuda from decode_matmul.py:77 (split_k). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 61440 bytes of shared memory
//   launch    grid of CTAs, one for each program; 61440 bytes of dynamic shared memory
//   args      x *fp16 align 16, weights *fp16 align 16, out *fp16 align 16,
//             partial *fp32 align 16, tickets *i32 align 16, M i32, N i32 divisible by 16,
//             K i32 divisible by 16, k_per_cta i32 divisible by 16,
//             stride_xm i32 divisible by 16, stride_wn i32 divisible by 16,
//             stride_om i32 divisible by 16
//   constants BLOCK_M = 16, BLOCK_N = 64, BLOCK_K = 128

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

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Orders this thread's accesses before it against those after it, as the whole GPU sees them (PTX ISA,
// fence.acq_rel.gpu). __threadfence() is the dearer fence.sc.
__device__ __forceinline__ void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

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

// The machine word that moves BYTES bytes at once: Word<16>::Type is uint4.
template <int BYTES>
struct Word;
template <>
struct Word<1> { using Type = unsigned char; };
template <>
struct Word<2> { using Type = unsigned short; };
template <>
struct Word<4> { using Type = unsigned; };
template <>
struct Word<8> { using Type = uint2; };
template <>
struct Word<16> { using Type = uint4; };

// How a vector splits into words: COUNT words of up to 16 bytes.
template <typename T, int N>
struct Words {
    static constexpr int BYTES = sizeof(T) * N;
    static constexpr int COUNT = BYTES < 16 ? 1 : BYTES / 16;
    using Type = typename Word<BYTES / COUNT>::Type;
};

// Load N neighbours, cached in L2 only (ld.cg); the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_cg(const T* pointer)
{
    using Split = Words<T, N>;
    Vector<T, N> result;
    #pragma unroll
    for (int i = 0; i < Split::COUNT; ++i) {
        const typename Split::Type word = __ldcg(reinterpret_cast<const typename Split::Type*>(pointer) + i);
        memcpy(reinterpret_cast<unsigned char*>(&result) + i * sizeof(word), &word, sizeof(word));
    }
    return result;
}
template <int N>  // bool: a byte other than 0 is true
__device__ __forceinline__ Vector<bool, N> load_vector_cg(const bool* pointer)
{
    const Vector<unsigned char, N> bytes = load_vector_cg<N>(reinterpret_cast<const unsigned char*>(pointer));
    Vector<bool, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = bytes[k] != 0;
    return result;
}

// Load one element, cached in L2 only (ld.cg).
template <typename T>
__device__ __forceinline__ T load_cg(const T* pointer)
{
    return load_vector_cg<1>(pointer)[0];
}

// Store 16 bytes of global memory if a condition holds: one predicated access (PTX ISA, st.global), around which nothing
// branches.
__device__ __forceinline__ void store_bits_if(bool condition, uint4* pointer, uint4 bits)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %1, 0;\n\t@p st.global.v4.u32 [%0], {%2, %3, %4, %5};\n\t}"
        :: "l"(pointer), "r"(static_cast<int>(condition)), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
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

// sums[64, 16] += a[64, 16] @ b[16, 16] of one warpgroup: float16, a in rows along K, b in rows along K.
// In flight until a wait: sums and operands stay as they are up to there. Without `accumulate` sums are not read. Called by all of
// its threads (PTX ISA, wgmma.mma_async; sm_90a).
__device__ __forceinline__ void wgmma_m64n16k16_f32_f16(
    Vector<float, 2>* sums, Descriptor a, Descriptor b, bool accumulate)
{
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %10, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7"
        "}, %8, %9, accumulate, 1, 1, 0, 0;\n"
        "}"
        : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1]), "+f"(sums[2][0]), "+f"(sums[2][1]),
          "+f"(sums[3][0]), "+f"(sums[3][1])
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// Waits until at most the last PENDING groups are in flight. Called by all threads of the warpgroup (PTX ISA, wgmma.wait_group;
// sm_90a).
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

// Shared memory of one CTA.
struct Shared {
    union {  // never alive at the same time
        alignas(1024) __half weight_tile[3][2][64][64];  // 3 stages of decode_matmul.py:43, 128-byte swizzle
        alignas(16) __half result_exchange[1024];  // scratch of decode_matmul.py:112
    };
    union {  // never alive at the same time
        alignas(1024) __half x_tile[3][2][16][64];  // 3 stages of decode_matmul.py:44, 128-byte swizzle
        alignas(16) int arrived_broadcast[1];     // scratch of decode_matmul.py:106
    };
};
static_assert(sizeof(Shared) <= 61440, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
split_k(const __half* __restrict__ x, const __half* __restrict__ weights, __half* out,
        float* partial, int* tickets, const int M, const int N, const int K, const int k_per_cta,
        const int stride_xm, const int stride_wn, const int stride_om)
{
    extern __shared__ __align__(1024) unsigned char shared_bytes[];
    Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
    const int thread = threadIdx.x;

    // pid_n, pid_m, part = tl.program_id(0), tl.program_id(1), tl.program_ ...  decode_matmul.py:94
    const int pid_n = blockIdx.x;
    const int pid_m = blockIdx.y;
    const int part = blockIdx.z;

    // first_k = part * k_per_cta                                                decode_matmul.py:95
    const int first_k = part * k_per_cta;
    // x, weights, M, N, first_k, tl.minimum(K, first_k + k_per_cta), pid_m ...  decode_matmul.py:97
    const int end_k = min(K, first_k + k_per_cta);

    // for first in range(first_k, end_k, BLOCK_K):                              decode_matmul.py:40
    const unsigned remaining = static_cast<unsigned>(end_k - first_k);
    long long x_ptrs_offset_ahead = 0ll;
    long long weight_ptrs_offset_ahead = 0ll;

    // weight_ptrs = weights + tl.minimum(cols, N - 1).to(tl.int64)[:, None ...  decode_matmul.py:38
    const __half* weight_ptrs[8];

    // k = first_k + tl.arange(0, BLOCK_K)                                       decode_matmul.py:35
    const int index = thread % 16 * 8;
    const int k_ = first_k + index;
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // rows, cols = pid_m * BLOCK_M + tl.arange(0, BLOCK_M), pid_n * BL ...  decode_matmul.py:34
        const int cols = pid_n * 64 + thread / 16 + 8 * run;
        weight_ptrs[run] = weights + static_cast<long long>(min(cols, N - 1)) * stride_wn + k_;
    }

    // x_ptrs = x + rows[:, None] * stride_xm + k[None, :]                       decode_matmul.py:37
    const __half* x_ptrs[2];

    // k = first_k + tl.arange(0, BLOCK_K)                                       decode_matmul.py:35
    const int index_2 = thread % 16 * 8;
    const int k_3 = first_k + index_2;
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // rows, cols = pid_m * BLOCK_M + tl.arange(0, BLOCK_M), pid_n * BL ...  decode_matmul.py:34
        const int rows = pid_m * 16 + thread / 16 + 8 * run;
        x_ptrs[run] = x + rows * stride_xm + k_3;
    }
    #pragma unroll
    for (int stage = 0; stage < 2; ++stage) {
        if (first_k < end_k && static_cast<unsigned>(stage * 128) < remaining) {
            // left = end_k - first                                              decode_matmul.py:41
            const int left = end_k - (first_k + stage * 128);

            // weight_tile = tl.load(weight_ptrs, mask=is_left, other=0.0)       decode_matmul.py:43
            #pragma unroll
            for (int run = 0; run < 8; ++run) {
                cp_async_zero_fill<16>(&shared.weight_tile[stage][thread / 8 % 2][thread / 16 + 8 * run][swizzled<128, 2>(thread / 16 + 8 * run, thread % 8 * 8)], weight_ptrs[run] + weight_ptrs_offset_ahead, index < left ? 16 : 0);
            }

            // x_tile = tl.load(x_ptrs, mask=inside & is_left, other=0.0)        decode_matmul.py:44
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // rows, cols = pid_m * BLOCK_M + tl.arange(0, BLOCK_M), pi ...  decode_matmul.py:34
                const int rows = pid_m * 16 + thread / 16 + 8 * run;
                cp_async_zero_fill<16>(&shared.x_tile[stage][thread / 8 % 2][thread / 16 + 8 * run][swizzled<128, 2>(thread / 16 + 8 * run, thread % 8 * 8)], x_ptrs[run] + x_ptrs_offset_ahead, rows < M && index_2 < left ? 16 : 0);
            }
        }
        cp_async_commit();
        x_ptrs_offset_ahead += 128ll;
        weight_ptrs_offset_ahead += 128ll;
    }

    // for first in range(first_k, end_k, BLOCK_K):                              decode_matmul.py:40
    Vector<float, 2> acc[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            acc[run][k] = 0.0f;
    int iteration = 0;
    keep_sums(acc);
    for (int first = first_k; first < end_k; first += 128) {
        const int stage = iteration % 3;
        cp_async_wait<1>();
        const int left = end_k - first;
        const unsigned remaining_2 = static_cast<unsigned>(left);
        const int free_stage = (iteration + 2) % 3;
        fence_async_proxy();  // shows what was written to the ring `weight_tile` and the ring `x_tile` to the tensor cores
        __syncthreads();  // orders the accesses to the ring `weight_tile` and the ring `x_tile` before it and after it

        // acc = tl.dot(weight_tile, tl.trans(x_tile), acc)                      decode_matmul.py:45
        const Descriptor weight_tile_first = wgmma_descriptor<128>(shared.weight_tile[stage], 16, 1024);  // rows along K
        const Descriptor x_tile_first = wgmma_descriptor<128>(shared.x_tile[stage], 16, 1024);  // rows along K
        wgmma_fence();
        #pragma unroll
        for (int step = 0; step < 8; ++step)
            wgmma_m64n16k16_f32_f16(acc, weight_tile_first + step / 4 * 512 + step % 4 * 2, x_tile_first + step / 4 * 128 + step % 4 * 2, true);
        wgmma_commit();
        wgmma_wait<1>();

        // left = end_k - first                                                  decode_matmul.py:41
        const int left_2 = end_k - (first + 256);

        // weight_tile = tl.load(weight_ptrs, mask=is_left, other=0.0)           decode_matmul.py:43
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            cp_async_zero_fill<16>(&shared.weight_tile[free_stage][thread / 8 % 2][thread / 16 + 8 * run][swizzled<128, 2>(thread / 16 + 8 * run, thread % 8 * 8)], weight_ptrs[run] + weight_ptrs_offset_ahead, index < left_2 && remaining_2 > 256u ? 16 : 0);
        }

        // x_tile = tl.load(x_ptrs, mask=inside & is_left, other=0.0)            decode_matmul.py:44
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // rows, cols = pid_m * BLOCK_M + tl.arange(0, BLOCK_M), pid_n ...   decode_matmul.py:34
            const int rows = pid_m * 16 + thread / 16 + 8 * run;
            cp_async_zero_fill<16>(&shared.x_tile[free_stage][thread / 8 % 2][thread / 16 + 8 * run][swizzled<128, 2>(thread / 16 + 8 * run, thread % 8 * 8)], x_ptrs[run] + x_ptrs_offset_ahead, rows < M && index_2 < left_2 && remaining_2 > 256u ? 16 : 0);
        }
        cp_async_commit();

        // for first in range(first_k, end_k, BLOCK_K):                          decode_matmul.py:40
        x_ptrs_offset_ahead += 128ll;
        weight_ptrs_offset_ahead += 128ll;
        iteration += 1;
    }
    wgmma_wait<0>();
    keep_sums(acc);
    cp_async_wait<0>();  // zeros of iterations that do not exist have landed

    // tile = pid_m * tl.num_programs(0) + pid_n                                decode_matmul.py:100
    const int num_programs_x = gridDim.x;
    const int tile = pid_m * num_programs_x + pid_n;
    // parts = tl.num_programs(2)                                               decode_matmul.py:101
    const int parts = gridDim.z;
    // tile [64, 16]: row = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread % 4 * 2 + run / 2 * 8 + k;  run < 4, k < 2
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // within = tl.arange(0, BLOCK_N)[:, None] * BLOCK_M + tl.arange(0 ...  decode_matmul.py:102
        const int within = thread / 32 * 256 + thread / 4 % 8 * 16 + thread % 4 * 2 + run % 2 * 128 + run / 2 * 8;
        // tl.store(places + part * (BLOCK_M * BLOCK_N), acc)                   decode_matmul.py:104
        store_vector(partial + static_cast<long long>(tile) * parts * 1024ll + within + part * 1024, acc[run]);
    }
    // tl.debug_barrier()  # the ticket tells others of what all threads h ...  decode_matmul.py:105
    __syncthreads();  // all writes come before the release

    // arrived = tl.atomic_add(tickets + tile, 1, sem="acq_rel")                decode_matmul.py:106
    if (thread == 0) {
        fence_gpu();  // release: what this thread wrote comes before the atomics
        shared.arrived_broadcast[0] = atomicAdd(tickets + tile, 1);
        fence_gpu();  // acquire: what follows sees what the atomics saw
    }
    __syncthreads();  // every thread reads the value that one thread obtained
    const int arrived = shared.arrived_broadcast[0];

    // if arrived == parts - 1:                                                 decode_matmul.py:107
    if (arrived == parts - 1) {
        // for other in range(parts):                                           decode_matmul.py:109
        Vector<float, 4> total[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            #pragma unroll
            for (int k = 0; k < 4; ++k)
                total[run][k] = 0.0f;
        for (int other = 0; other < parts; ++other) {
            // tile [64, 16]: row = thread / 4 + 32 * run, column = thread % 4 * 4 + k;  run < 2, k < 4
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // within = tl.arange(0, BLOCK_N)[:, None] * BLOCK_M + tl. ...  decode_matmul.py:102
                const int within = 4 * thread + 512 * run;

                // total += tl.load(places + other * (BLOCK_M * BLOCK_N), ...   decode_matmul.py:110
                const Vector<float, 4> partial_value = load_vector_cg<4>(partial + static_cast<long long>(tile) * parts * 1024ll + within + other * 1024);
                #pragma unroll
                for (int k = 0; k < 4; ++k) total[run][k] += partial_value[k];
            }
        }
        Vector<__half, 4> result[2];

        // tile [16, 64]: row = thread % 4 * 4 + k, column = thread / 4 + 32 * run;  run < 2, k < 4
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // result = tl.trans(total).to(out.dtype.element_ty)                decode_matmul.py:112
            #pragma unroll
            for (int k = 0; k < 4; ++k) result[run][k] = __float2half(total[run][k]);
        }

        // result = tl.trans(total).to(out.dtype.element_ty)                    decode_matmul.py:112
        #pragma unroll
        for (int run = 0; run < 8; ++run)
            shared.result_exchange[thread / 64 * 64 + ((thread / 2 % 16 * 2) ^ (thread / 32) ^ (run % 4 * 8) ^ (run / 4 * 4)) * 2 + thread % 2 + run % 4 * 256 + run / 4 * 128] = result[run / 4][run % 4];
        __syncthreads();  // the whole tile is in shared memory
        Vector<__half, 8> result_2;
        #pragma unroll
        for (int run = 0; run < 8; ++run)
            result_2[run] = shared.result_exchange[thread / 2 % 16 * 64 + ((thread / 64 * 2) ^ (thread % 32) ^ (4 * run)) * 2 + thread / 32 % 2];

        // rows, cols = pid_m * BLOCK_M + tl.arange(0, BLOCK_M), pid_n * BL ...  decode_matmul.py:34
        const int rows = pid_m * 16 + thread / 8;
        const int cols = pid_n * 64 + thread % 8 * 8;
        // tl.store(out + rows[:, None] * stride_om + cols[None, :], resul ...  decode_matmul.py:114
        store_vector_if<uint4>(rows < M && cols < N, out + rows * stride_om + cols, result_2);
        // tl.atomic_xchg(tickets + tile, 0, sem="relaxed")  # as the next ...  decode_matmul.py:115
        if (thread == 0) atomicExch(tickets + tile, 0);
    }
}
