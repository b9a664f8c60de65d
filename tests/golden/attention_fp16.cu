// attention.cu: emitted by tle2cuda from attention.py:16 (attention). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 65536 bytes of shared memory
//   launch    grid of CTAs, one for each program; 65536 bytes of dynamic shared memory
//   args      q *fp16 align 16, k *fp16 align 16, v *fp16 align 16, out *fp16 align 16,
//             length i32, scale fp32
//   constants CAUSAL = True, HEAD = 64, BLOCK_M = 128, BLOCK_N = 64

#include <cuda_fp16.h>

namespace {

// The same bits as another type of the same size.
template <typename To, typename From>
__device__ __forceinline__ To bit_cast(const From& value)
{
    static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
    To result;
    memcpy(&result, &value, sizeof(To));
    return result;
}

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

// 2 to the power of x within 2 ulp; denormals are zero (PTX ISA, ex2.approx.ftz.f32).
__device__ __forceinline__ float exp2_approx(float x)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// A vector whose elements are all equal.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> fill_vector(T value)
{
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = value;
    return result;
}

// Positive infinity.
__device__ __forceinline__ float infinity()
{
    return __int_as_float(0x7f800000);
}

// An empty asm: to the compiler these sums change here. Else it may copy or compute some while products are in flight, whose
// registers nothing may touch (PTX ISA, wgmma.mma_async), and each product would wait for the one before (ptxas, C7511, C7514,
// C7515, C7520).
template <int COUNT>
__device__ __forceinline__ void keep_sums(Vector<float, 2> (&sums)[COUNT])
{
    #pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(sums[i][0]), "+f"(sums[i][1]));
}

// An object of any type from another lane, 4 bytes at a time: `exchange` shuffles one word.
template <typename T, typename Exchange>
__device__ __forceinline__ T shuffle_words(const T& value, Exchange exchange)
{
    constexpr int COUNT = (sizeof(T) + 3) / 4;
    unsigned words[COUNT] = {};
    memcpy(words, &value, sizeof(T));
    #pragma unroll
    for (int i = 0; i < COUNT; ++i) words[i] = exchange(words[i]);
    T result;
    memcpy(&result, words, sizeof(T));
    return result;
}

// The value that lane `lane ^ MASK` of the warp holds. Called by whole warps.
template <int MASK, typename T>
__device__ __forceinline__ T shuffle_xor(T value)
{
    return shuffle_words(value, [](unsigned word) { return __shfl_xor_sync(0xffffffffu, word, MASK); });
}

// Reduce across the lanes of a warp that differ in the bits of MASK by a commutative function; all of them receive the
// result. Called by whole warps.
template <int MASK, typename T, typename Combine>
__device__ __forceinline__ T lanes_all_reduce(T value, Combine combine)
{
    if constexpr (MASK != 0) {
        value = combine(value, shuffle_xor<MASK & -MASK>(value));
        value = lanes_all_reduce<MASK & (MASK - 1)>(value, combine);
    }
    return value;
}

// The 16 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global.nc).
__device__ __forceinline__ uint4 load_bits_nc_if(bool condition, const uint4* pointer, uint4 otherwise)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %5, 0;\n\t@p ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y), "+r"(otherwise.z), "+r"(otherwise.w)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return otherwise;
}

// Load N neighbours in global memory, in words of type Bits, if a condition holds, else take `otherwise` (read-only data).
// The address is computed either way, so that neighbouring loads can share it.
template <typename Bits, int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_nc_if(bool condition, const T* pointer, Vector<T, N> otherwise)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(otherwise) / sizeof(Bits)); ++i) {
        unsigned char* const word = reinterpret_cast<unsigned char*>(&otherwise) + i * sizeof(Bits);
        Bits bits;
        memcpy(&bits, word, sizeof(Bits));
        bits = load_bits_nc_if(condition, reinterpret_cast<const Bits*>(pointer) + i, bits);
        memcpy(word, &bits, sizeof(Bits));
    }
    return otherwise;
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

// sums[64, 64] += a[64, 16] @ b[16, 64] of one warpgroup: float16, a in rows along K, b in rows along K.
// In flight until a wait: sums and operands stay as they are up to there. Without `accumulate` sums are not read. Called by all of
// its threads (PTX ISA, wgmma.mma_async; sm_90a).
__device__ __forceinline__ void wgmma_m64n64k16_f32_f16(
    Vector<float, 2>* sums, Descriptor a, Descriptor b, bool accumulate)
{
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, %32, %33, accumulate, 1, 1, 0, 0;\n"
        "}"
        : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1]), "+f"(sums[2][0]), "+f"(sums[2][1]),
          "+f"(sums[3][0]), "+f"(sums[3][1]), "+f"(sums[4][0]), "+f"(sums[4][1]), "+f"(sums[5][0]), "+f"(sums[5][1]),
          "+f"(sums[6][0]), "+f"(sums[6][1]), "+f"(sums[7][0]), "+f"(sums[7][1]), "+f"(sums[8][0]), "+f"(sums[8][1]),
          "+f"(sums[9][0]), "+f"(sums[9][1]), "+f"(sums[10][0]), "+f"(sums[10][1]), "+f"(sums[11][0]), "+f"(sums[11][1]),
          "+f"(sums[12][0]), "+f"(sums[12][1]), "+f"(sums[13][0]), "+f"(sums[13][1]), "+f"(sums[14][0]), "+f"(sums[14][1]),
          "+f"(sums[15][0]), "+f"(sums[15][1])
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

// sums[64, 64] += a[64, 16] @ b[16, 64] of one warpgroup: float16, a as fragments in registers, b in rows along N.
// In flight until a wait: sums and operands stay as they are up to there. Without `accumulate` sums are not read. Called by all of
// its threads (PTX ISA, wgmma.mma_async; sm_90a).
__device__ __forceinline__ void wgmma_m64n64k16_f32_f16_a_registers_b_along_n(
    Vector<float, 2>* sums, const unsigned (&a)[4], Descriptor b, bool accumulate)
{
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %37, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, {%32, %33, %34, %35}, %36, accumulate, 1, 1, 1;\n"
        "}"
        : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1]), "+f"(sums[2][0]), "+f"(sums[2][1]),
          "+f"(sums[3][0]), "+f"(sums[3][1]), "+f"(sums[4][0]), "+f"(sums[4][1]), "+f"(sums[5][0]), "+f"(sums[5][1]),
          "+f"(sums[6][0]), "+f"(sums[6][1]), "+f"(sums[7][0]), "+f"(sums[7][1]), "+f"(sums[8][0]), "+f"(sums[8][1]),
          "+f"(sums[9][0]), "+f"(sums[9][1]), "+f"(sums[10][0]), "+f"(sums[10][1]), "+f"(sums[11][0]), "+f"(sums[11][1]),
          "+f"(sums[12][0]), "+f"(sums[12][1]), "+f"(sums[13][0]), "+f"(sums[13][1]), "+f"(sums[14][0]), "+f"(sums[14][1]),
          "+f"(sums[15][0]), "+f"(sums[15][1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)));
}

// Waits until at most the last PENDING groups are in flight. Called by all threads of the warpgroup (PTX ISA, wgmma.wait_group;
// sm_90a).
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(1024) __half key[3][64][64];      // 3 stages of attention.py:31, 128-byte swizzle
    alignas(1024) __half value[3][64][64];    // 3 stages of attention.py:41, 128-byte swizzle
    alignas(1024) __half query_tile[8192];    // operand of attention.py:32: [128, 64], rows in 16-byte chunks, swizzled
};
static_assert(sizeof(Shared) <= 65536, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
attention(const __half* __restrict__ q, const __half* __restrict__ k_,
          const __half* __restrict__ v, __half* out, const int length, const float scale)
{
    extern __shared__ __align__(1024) unsigned char shared_bytes[];
    Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
    const int thread = threadIdx.x;

    // head = tl.program_id(1).to(tl.int64) * length * HEAD                          attention.py:19
    const int pid_y = blockIdx.y;
    const long long head = static_cast<long long>(pid_y) * length * 64ll;
    // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                     attention.py:20
    const int pid_x = blockIdx.x;
    // end = tl.minimum(length, (tl.program_id(0) + 1) * BLOCK_M) if CAUSAL els ...  attention.py:27
    const int end = min(length, (pid_x + 1) * 128);
    Vector<__half, 8> query[8];
    // d = tl.arange(0, HEAD)                                                        attention.py:21
    const int d = thread % 8 * 8;
    // tile [128, 64]: row = thread / 8 + 16 * run, column = thread % 8 * 8 + k;  run < 8, k < 8
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                 attention.py:20
        const int rows = pid_x * 128 + thread / 8 + 16 * run;
        // at = rows[:, None] * HEAD + d[None, :]                                    attention.py:22
        const int at = rows * 64 + d;
        // query = tl.load(q + head + at, mask=rows[:, None] < length, other=0.0)    attention.py:23
        query[run] = load_vector_nc_if<uint4>(rows < length, q + head + at, fill_vector<8>(__float2half(0.0f)));
    }

    // for start in range(0, end, BLOCK_N):                                          attention.py:28
    // d = tl.arange(0, HEAD)                                                        attention.py:21
    const int d_3 = thread % 8 * 8;
    #pragma unroll
    for (int stage = 0; stage < 2; ++stage) {
        if (stage * 64 < end) {
            // key = tl.load(k + head + places, mask=cols[:, None] < length, ot ...  attention.py:31
            #pragma unroll
            for (int run = 0; run < 4; ++run) {
                // d = tl.arange(0, HEAD)                                            attention.py:21
                const int d_2 = thread / 8 + 16 * run;
                // cols = start + tl.arange(0, BLOCK_N)                              attention.py:29
                const int cols = stage * 64 + d_2;
                // places = cols[:, None] * HEAD + d[None, :]                        attention.py:30
                const int places = cols * 64 + d_3;
                cp_async_zero_fill<16>(&shared.key[stage][thread / 8 + 16 * run][swizzled<128, 2>(thread / 8 + 16 * run, thread % 8 * 8)], k_ + head + places, cols < length ? 16 : 0);
            }

            // value = tl.load(v + head + places, mask=cols[:, None] < length, ...   attention.py:41
            #pragma unroll
            for (int run = 0; run < 4; ++run) {
                // d = tl.arange(0, HEAD)                                            attention.py:21
                const int d_2 = thread / 8 + 16 * run;
                // cols = start + tl.arange(0, BLOCK_N)                              attention.py:29
                const int cols = stage * 64 + d_2;
                // places = cols[:, None] * HEAD + d[None, :]                        attention.py:30
                const int places = cols * 64 + d_3;
                cp_async_zero_fill<16>(&shared.value[stage][thread / 8 + 16 * run][swizzled<128, 2>(thread / 8 + 16 * run, thread % 8 * 8)], v + head + places, cols < length ? 16 : 0);
            }
        }
        cp_async_commit();
    }

    // score = tl.dot(query, tl.trans(key)) * (scale * 1.44269504)  # exp(x) = ...   attention.py:32
    #pragma unroll
    for (int run = 0; run < 8; ++run)
        store_vector(&shared.query_tile[(thread ^ (thread / 8 % 8)) * 8 + 1024 * run], query[run]);

    // for start in range(0, end, BLOCK_N):                                          attention.py:28
    float total[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        total[run] = 0.0f;
    Vector<float, 2> acc[32];
    #pragma unroll
    for (int run = 0; run < 32; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            acc[run][k] = 0.0f;
    float largest[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run)
        largest[run] = -infinity();
    for (int start = 0; start < end; start += 64) {
        const int stage = start / 64 % 3;
        cp_async_wait<1>();
        const int free_stage = (start / 64 + 2) % 3;
        fence_async_proxy();  // shows what was written to the ring `key`, the ring `value` and the scratch `query_tile` to the tensor cores
        __syncthreads();  // orders the accesses to the ring `key`, the ring `value` and the scratch `query_tile` before it and after it

        // key = tl.load(k + head + places, mask=cols[:, None] < length, other=0.0)  attention.py:31
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            // d = tl.arange(0, HEAD)                                                attention.py:21
            const int d_2 = thread / 8 + 16 * run;
            // cols = start + tl.arange(0, BLOCK_N)                                  attention.py:29
            const int cols = start + 128 + d_2;
            // places = cols[:, None] * HEAD + d[None, :]                            attention.py:30
            const int places = cols * 64 + d_3;
            cp_async_zero_fill<16>(&shared.key[free_stage][thread / 8 + 16 * run][swizzled<128, 2>(thread / 8 + 16 * run, thread % 8 * 8)], k_ + head + places, cols < length && end - start > 128 ? 16 : 0);
        }

        // value = tl.load(v + head + places, mask=cols[:, None] < length, othe ...  attention.py:41
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            // d = tl.arange(0, HEAD)                                                attention.py:21
            const int d_2 = thread / 8 + 16 * run;
            // cols = start + tl.arange(0, BLOCK_N)                                  attention.py:29
            const int cols = start + 128 + d_2;
            // places = cols[:, None] * HEAD + d[None, :]                            attention.py:30
            const int places = cols * 64 + d_3;
            cp_async_zero_fill<16>(&shared.value[free_stage][thread / 8 + 16 * run][swizzled<128, 2>(thread / 8 + 16 * run, thread % 8 * 8)], v + head + places, cols < length && end - start > 128 ? 16 : 0);
        }
        cp_async_commit();

        // score = tl.dot(query, tl.trans(key)) * (scale * 1.44269504)  # exp(x ...  attention.py:32
        Vector<float, 2> product[32];
        const Descriptor query_first = wgmma_descriptor<128>(shared.query_tile, 16, 1024);  // rows along K
        const Descriptor key_first = wgmma_descriptor<128>(shared.key[stage], 16, 1024);  // rows along K
        wgmma_fence();
        #pragma unroll
        for (int step = 0; step < 4; ++step)
            #pragma unroll
            for (int row = 0; row < 2; ++row)
                wgmma_m64n64k16_f32_f16(&product[16 * row], query_first + 512 * row + 2 * step, key_first + 2 * step, step > 0);
        wgmma_commit();
        wgmma_wait<0>();
        Vector<float, 2> score[32];

        // tile [128, 64]: row = thread / 32 * 16 + thread / 4 % 8 + run / 16 * 64 + run % 2 * 8, column = thread % 4 * 2 + run / 2 % 8 * 8 + k;  run < 32, k < 2
        #pragma unroll
        for (int run = 0; run < 32; ++run) {
            // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)             attention.py:20
            const int rows = pid_x * 128 + thread / 32 * 16 + thread / 4 % 8 + run / 16 * 64 + run % 2 * 8;
            // d = tl.arange(0, HEAD)                                                attention.py:21
            const int d_2 = thread % 4 * 2 + run / 2 % 8 * 8;

            // cols = start + tl.arange(0, BLOCK_N)                                  attention.py:29
            const int cols = start + d_2;
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                const float score_2 = product[run][k] * (scale * 1.442695f);

                // score = tl.where(rows[:, None] >= cols[None, :], score, floa ...  attention.py:34
                score[run][k] = rows >= cols + k ? score_2 : -infinity();
            }
        }

        // now = tl.maximum(largest, tl.max(score, 1))                               attention.py:37
        float score_max[4];
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            score_max[run] = score[run / 2 * 16 + run % 2][0];
            #pragma unroll
            for (int k = 1; k < 16; ++k)
                score_max[run] = fmaxf(score_max[run], score[run / 2 * 16 + run % 2 + k / 2 * 2][k % 2]);
            score_max[run] = lanes_all_reduce<3>(score_max[run], [](float a, float b) { return fmaxf(a, b); });
        }
        float now[4];

        // tile [128]: element = thread / 32 * 16 + thread / 4 % 8 + run / 2 * 64 + run % 2 * 8;  run < 4
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            now[run] = fmaxf(largest[run], score_max[run]);
        }
        Vector<float, 2> weight[32];
        #pragma unroll
        for (int run = 0; run < 32; ++run) {
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                // weight = tl.exp2(score - now[:, None])                            attention.py:38
                weight[run][k] = exp2_approx(score[run][k] - now[run / 16 * 2 + run % 2]);
            }
        }
        float share[4];
        float product_2[4];
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            // share = tl.exp2(largest - now)                                        attention.py:39
            share[run] = exp2_approx(largest[run] - now[run]);
            // total = total * share + tl.sum(weight, 1)                             attention.py:40
            product_2[run] = total[run] * share[run];
        }

        // total = total * share + tl.sum(weight, 1)                                 attention.py:40
        float weight_sum[4];
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            weight_sum[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 16; ++k)
                weight_sum[run] += weight[run / 2 * 16 + run % 2 + k / 2 * 2][k % 2];
            weight_sum[run] = lanes_all_reduce<3>(weight_sum[run], [](float a, float b) { return a + b; });
        }
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            total[run] = product_2[run] + weight_sum[run];
        }
        Vector<__half, 2> weight_2[32];
        #pragma unroll
        for (int run = 0; run < 32; ++run) {
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                // acc = tl.dot(weight.to(value.dtype), value, acc * share[:, N ...  attention.py:42
                weight_2[run][k] = __float2half(weight[run][k]);
                acc[run][k] = acc[run][k] * share[run / 16 * 2 + run % 2];
            }
        }

        // acc = tl.dot(weight.to(value.dtype), value, acc * share[:, None])         attention.py:42
        keep_sums(acc);
        const Descriptor value_first = wgmma_descriptor<128>(shared.value[stage], 8192, 1024);  // rows along N
        wgmma_fence();
        #pragma unroll
        for (int step = 0; step < 4; ++step) {
            unsigned a_part[2][4];  // rows of this warp
            #pragma unroll
            for (int row = 0; row < 2; ++row)
                #pragma unroll
                for (int piece = 0; piece < 4; ++piece)
                    a_part[row][piece] = bit_cast<unsigned>(weight_2[16 * row + 4 * step + piece]);
            #pragma unroll
            for (int row = 0; row < 2; ++row)
                wgmma_m64n64k16_f32_f16_a_registers_b_along_n(&acc[16 * row], a_part[row], value_first + 128 * step, true);
        }
        wgmma_commit();
        wgmma_wait<0>();
        #pragma unroll
        for (int run = 0; run < 4; ++run)
            largest[run] = now[run];
    }
    cp_async_wait<0>();  // zeros of iterations that do not exist have landed
    Vector<__half, 2> result[32];
    #pragma unroll
    for (int run = 0; run < 32; ++run) {
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            // result = acc / total[:, None]                                         attention.py:44
            const float result_2 = divide_approx(acc[run][k], total[run / 16 * 2 + run % 2]);
            // tl.store(out + head + at, result.to(out.dtype.element_ty), mask= ...  attention.py:45
            result[run][k] = __float2half(result_2);
        }
    }

    // tl.store(out + head + at, result.to(out.dtype.element_ty), mask=rows[:, ...   attention.py:45
    Vector<__half, 8> result_converted[8];
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        #pragma unroll
        for (int k = 0; k < 8; ++k)
            result_converted[run][k] = result[run / 2 * 8 + run % 2 + k / 2 * 2][k % 2];
        exchange_words<1, 1>(result_converted[run]);
        exchange_words<2, 2>(result_converted[run]);
    }

    // tile [128, 64]: row = thread / 32 * 16 + thread / 4 % 8 + run / 4 * 64 + run % 2 * 8, column = thread % 4 * 8 + run / 2 % 2 * 32 + k;  run < 8, k < 8
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)                 attention.py:20
        const int rows = pid_x * 128 + thread / 32 * 16 + thread / 4 % 8 + run / 4 * 64 + run % 2 * 8;
        // d = tl.arange(0, HEAD)                                                    attention.py:21
        const int d_2 = thread % 4 * 8 + run / 2 % 2 * 32;
        // at = rows[:, None] * HEAD + d[None, :]                                    attention.py:22
        const int at = rows * 64 + d_2;
        // tl.store(out + head + at, result.to(out.dtype.element_ty), mask=rows ...  attention.py:45
        store_vector_if<uint4>(rows < length, out + head + at, result_converted[run]);
    }
}
