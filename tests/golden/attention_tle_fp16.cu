// attention_tle.cu: emitted by tle2cuda from flash_attention_tle.py:239 (attention_tle). Do not edit.
//
//   target    sm_90a, 384 threads per CTA, 231424 bytes of shared memory
//   launch    grid of CTAs, one for each program; 231424 bytes of dynamic shared memory
//   warps     attend on warps 0 to 3, attend on warps 4 to 7, fetch on warp 8
//   args      out *fp16 align 16, lse *fp32 align 16, claims *i32 align 16, batches i32,
//             heads i32, kv_heads i32, length i32, near_heads i32, scale fp32,
//             stride_ob i32 divisible by 16, stride_oh i32 divisible by 16,
//             stride_om i32 divisible by 16, stride_lb i32, stride_lh i32
//   maps      q_map of q: fp16, shape (batches, heads, length, 128),
//             strides (stride_qb, stride_qh, stride_qm, 1), box (1, 1, 64, 64), 128-byte swizzle
//             k_map of k: fp16, shape (batches, kv_heads, length, 128),
//             strides (stride_kb, stride_kh, stride_kn, 1), box (1, 1, 128, 64), 128-byte swizzle
//             v_map of v: fp16, shape (batches, kv_heads, length, 128),
//             strides (stride_vb, stride_vh, stride_vn, 1), box (1, 1, 128, 64), 128-byte swizzle
//   constants CAUSAL = True, HEAD = 128, GROUPS = 2, ROWS = 64, BLOCK_N = 128, STAGES = 2,
//             QUERIES = 2

#include <cuda_fp16.h>

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

// The same bits as another type of the same size.
template <typename To, typename From>
__device__ __forceinline__ To bit_cast(const From& value)
{
    static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
    To result;
    memcpy(&result, &value, sizeof(To));
    return result;
}

// Quotient within 2 ulp over the full range, as Triton divides (PTX ISA, div.full.f32).
__device__ __forceinline__ float divide_approx(float a, float b)
{
    float quotient;
    asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
    return quotient;
}

// 2 to the power of x within 2 ulp; denormals are zero (PTX ISA, ex2.approx.ftz.f32).
__device__ __forceinline__ float exp2_approx(float x)
{
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

// Makes this thread's mbarrier_init known to the cluster and to the copy engine (PTX ISA, fence.mbarrier_init; sm_90).
__device__ __forceinline__ void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Positive infinity.
__device__ __forceinline__ float infinity()
{
    return __int_as_float(0x7f800000);
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

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// Load N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* pointer)
{
    return *reinterpret_cast<const Vector<T, N>*>(pointer);
}

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// The phase also waits for `bytes` that copies bring; no arrival. Called by one thread (PTX ISA, mbarrier.expect_tx; sm_90).
__device__ __forceinline__ void mbarrier_add_bytes(Barrier* barrier, unsigned bytes)
{
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
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

// One box of the tensor map into shared memory, from element (c0, c1, c2, c3) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_4d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2, int c3)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
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

// sums[64, 128] += a[64, 16] @ b[16, 128] of one warpgroup: float16, a in rows along K, b in rows along K.
// In flight until a wait: sums and operands stay as they are up to there. Without `accumulate` sums are not read. Called by all of
// its threads (PTX ISA, wgmma.mma_async; sm_90a).
__device__ __forceinline__ void wgmma_m64n128k16_f32_f16(
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

// sums[64, 128] += a[64, 16] @ b[16, 128] of one warpgroup: float16, a as fragments in registers, b in rows along N.
// In flight until a wait: sums and operands stay as they are up to there. Without `accumulate` sums are not read. Called by all of
// its threads (PTX ISA, wgmma.mma_async; sm_90a).
__device__ __forceinline__ void wgmma_m64n128k16_f32_f16_a_registers_b_along_n(
    Vector<float, 2>* sums, const unsigned (&a)[4], Descriptor b, bool accumulate)
{
    asm volatile(
        "{\n"
        ".reg .pred accumulate;\n"
        "setp.ne.b32 accumulate, %69, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, {%64, %65, %66, %67}, %68, accumulate, 1, 1, 1;\n"
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
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)));
}

// Waits until at most the last PENDING groups are in flight. Called by all threads of the warpgroup (PTX ISA, wgmma.wait_group;
// sm_90a).
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }

// Barrier of the 128 threads of the default warps: hardware barrier 1.
__device__ __forceinline__ void default_warps_barrier() { named_barrier_sync(1, 128); }

// Barrier of the 128 threads of partition `attend`: hardware barrier 2.
__device__ __forceinline__ void attend_barrier() { named_barrier_sync(2, 128); }

// Shared memory of one CTA.
struct Shared {
    alignas(16) int place[2][4];              // flash_attention_tle.py:251
    alignas(1024) __half q_a[2][2][64][64];   // flash_attention_tle.py:252; 128-byte swizzle
    alignas(1024) __half k_ring[2][2][128][64];  // flash_attention_tle.py:253; 128-byte swizzle
    alignas(1024) __half v_ring[2][2][128][64];  // flash_attention_tle.py:254; 128-byte swizzle
    alignas(1024) __half q_b[2][2][64][64];   // flash_attention_tle.py:261; 128-byte swizzle
    union {  // never alive at the same time
        alignas(16) __half exchange[8192];        // scratch of flash_attention_tle.py:174
        alignas(16) __half exchange_2[8192];      // scratch of flash_attention_tle.py:174
    };
    union {  // never alive at the same time
        alignas(16) __half exchange_3[8192];      // scratch of flash_attention_tle.py:174
        alignas(16) __half exchange_4[8192];      // scratch of flash_attention_tle.py:174
    };
    alignas(16) int following_broadcast[1];   // scratch of flash_attention_tle.py:90
    alignas(8) Barrier keys_full[2];          // flash_attention_tle.py:256
    alignas(8) Barrier keys_empty[2];         // flash_attention_tle.py:256
    alignas(8) Barrier values_full[2];        // flash_attention_tle.py:257
    alignas(8) Barrier values_empty[2];       // flash_attention_tle.py:257
    alignas(8) Barrier queries_full[2];       // flash_attention_tle.py:263
    alignas(8) Barrier queries_empty[2];      // flash_attention_tle.py:263
};
static_assert(sizeof(Shared) <= 231424, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1)
attention_tle(__half* out, float* lse, int* claims, const int batches, const int heads,
              const int kv_heads, const int length, const int near_heads, const float scale,
              const int stride_ob, const int stride_oh, const int stride_om, const int stride_lb,
              const int stride_lh, const __grid_constant__ TensorMap q_map,
              const __grid_constant__ TensorMap k_map, const __grid_constant__ TensorMap v_map)
{
    extern __shared__ __align__(1024) unsigned char shared_bytes[];
    Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.keys_full[stage], 1);
            mbarrier_init(&shared.keys_empty[stage], 8);
            mbarrier_init(&shared.values_full[stage], 1);
            mbarrier_init(&shared.values_empty[stage], 8);
            mbarrier_init(&shared.queries_full[stage], 33);
            mbarrier_init(&shared.queries_empty[stage], 256);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {
        if (warp >= 8) registers_decrease<40>();
        if (warp < 8) {  // attend: warps 4 to 7
            registers_increase<232>();
            const int thread = threadIdx.x - 128;

            // slot = q_reader.wait(0).slot                               flash_attention_tle.py:186
            mbarrier_wait(&shared.queries_full[0], 0);
            // return tl.load(tle.gpu.local_ptr(slot.place, (NUMBER,)))    flash_attention_tle.py:66
            const int blocks = shared.place[0][0];
            const int place_value = shared.place[0][1];
            // blocks, row, head, batch = told(slot, 0), told(slot, ...   flash_attention_tle.py:187
            const int row = place_value + 64;
            // return tl.load(tle.gpu.local_ptr(slot.place, (NUMBER,)))    flash_attention_tle.py:66
            const int head = shared.place[0][2];
            const int batch = shared.place[0][3];

            // score = tle.gpu.wgmma_wait(0, tle.gpu.wgmma(queries_o ...  flash_attention_tle.py:188
            mbarrier_wait(&shared.keys_full[0], 0);
            Vector<float, 2> product[32];
            const Descriptor b_first = wgmma_descriptor<128>(shared.q_b[0], 16, 1024);  // rows along K
            const Descriptor k_first = wgmma_descriptor<128>(shared.k_ring[0], 16, 1024);  // rows along K
            wgmma_fence();
            #pragma unroll
            for (int step = 0; step < 8; ++step)
                wgmma_m64n128k16_f32_f16(product, b_first + step / 4 * 512 + step % 4 * 2, k_first + step / 4 * 1024 + step % 4 * 2, step > 0);
            wgmma_commit();
            wgmma_wait<0>();

            // k_reader.release(0)                                        flash_attention_tle.py:189
            __syncwarp();
            if (thread % 32 == 0) mbarrier_arrive(&shared.keys_empty[0]);
            // weight, total, largest = first_softmax(score, blocks ...   flash_attention_tle.py:190
            const int block = blocks - 1;
            Vector<float, 2> score[32];
            // tile [64, 128]: row = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread % 4 * 2 + run / 2 * 8 + k;  run < 32, k < 2
            #pragma unroll
            for (int run = 0; run < 32; ++run) {
                // rows = row - block * BLOCK_N + tl.arange(0, ROWS)      flash_attention_tle.py:113
                const int i = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8;
                const int rows = row - block * 128 + i;

                // cols = tl.arange(0, BLOCK_N)                           flash_attention_tle.py:111
                const int cols = thread % 4 * 2 + run / 2 * 8;
                #pragma unroll
                for (int k = 0; k < 2; ++k) {
                    // return tl.where(rows[:, None] - cols[None, :] ...  flash_attention_tle.py:114
                    score[run][k] = rows - cols - k >= 0 ? product[run][k] : -infinity();
                }
            }

            // now = tl.maximum(largest, tl.max(score, 1) * scale)        flash_attention_tle.py:124
            float score_max[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                score_max[run] = score[run][0];
                #pragma unroll
                for (int k = 1; k < 32; ++k)
                    score_max[run] = fmaxf(score_max[run], score[run + k / 2 * 2][k % 2]);
                score_max[run] = lanes_all_reduce<3>(score_max[run], [](float a, float b) { return fmaxf(a, b); });
            }
            float now[2];
            float shift[2];

            // tile [64]: element = thread / 32 * 16 + thread / 4 % 8 + 8 * run;  run < 2
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                now[run] = fmaxf(-infinity(), score_max[run] * scale);

                // shift = tl.where(now == float("-inf"), 0.0, now) ...   flash_attention_tle.py:125
                shift[run] = now[run] == -infinity() ? 0.0f : now[run];
            }
            Vector<float, 2> weight[32];
            #pragma unroll
            for (int run = 0; run < 32; ++run) {
                #pragma unroll
                for (int k = 0; k < 2; ++k) {
                    // weight = tl.exp2(score * scale - shift[:, None])   flash_attention_tle.py:126
                    weight[run][k] = exp2_approx(score[run][k] * scale - shift[run % 2]);
                }
            }
            float share[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // share = tl.exp2(largest - shift)                       flash_attention_tle.py:127
                share[run] = exp2_approx(-infinity() - shift[run]);
            }

            // sums = tl.sum(tl.reshape(weight, [ROWS, BLOCK_N // 8, ...  flash_attention_tle.py:128
            Vector<float, 2> sums[2];
            #pragma unroll
            for (int run = 0; run < 4; ++run) {
                sums[run / 2][run % 2] = 0.0f;
                #pragma unroll
                for (int k = 0; k < 16; ++k) sums[run / 2][run % 2] += weight[run / 2 + 2 * k][run % 2];
            }
            Vector<float, 2> total[2];

            // tile [64, 8]: row = thread / 32 * 16 + thread / 4 % 8 + 8 * run, column = thread % 4 * 2 + k;  run < 2, k < 2
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // return weight, total * share[:, None] + sums, now ...  flash_attention_tle.py:129
                #pragma unroll
                for (int k = 0; k < 2; ++k) total[run][k] = 0.0f * share[run] + sums[run][k];
            }
            Vector<__half, 2> weight_2[32];
            #pragma unroll
            for (int run = 0; run < 32; ++run) {
                // weight = weight.to(dtype)                              flash_attention_tle.py:191
                #pragma unroll
                for (int k = 0; k < 2; ++k) weight_2[run][k] = __float2half(weight[run][k]);
            }

            // while blocks > 0:                                          flash_attention_tle.py:193
            Vector<__half, 2> weight_3[32];
            #pragma unroll
            for (int run = 0; run < 32; ++run)
                #pragma unroll
                for (int k = 0; k < 2; ++k)
                    weight_3[run][k] = weight_2[run][k];
            Vector<float, 2> total_2[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run)
                #pragma unroll
                for (int k = 0; k < 2; ++k)
                    total_2[run][k] = total[run][k];
            float largest[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run)
                largest[run] = now[run];
            int turn = 0;
            int count = 0;
            int blocks_2 = blocks;
            int row_2 = row;
            int head_2 = head;
            int batch_2 = batch;
            while (blocks_2 > 0) {
                // query = queries_of(q_reader.wait(count).slot, GROUP)   flash_attention_tle.py:196
                const int stage = count & 1;
                const int lap = count >> 1;
                mbarrier_wait(&shared.queries_full[stage], lap & 1);

                // for i in range(first, blocks):                         flash_attention_tle.py:204
                Vector<__half, 2> weight_4[32];
                #pragma unroll
                for (int run = 0; run < 32; ++run)
                    #pragma unroll
                    for (int k = 0; k < 2; ++k)
                        weight_4[run][k] = weight_3[run][k];
                Vector<float, 2> acc[32];
                #pragma unroll
                for (int run = 0; run < 32; ++run)
                    #pragma unroll
                    for (int k = 0; k < 2; ++k)
                        acc[run][k] = 0.0f;
                Vector<float, 2> total_3[2];
                #pragma unroll
                for (int run = 0; run < 2; ++run)
                    #pragma unroll
                    for (int k = 0; k < 2; ++k)
                        total_3[run][k] = total_2[run][k];
                float largest_2[2];
                #pragma unroll
                for (int run = 0; run < 2; ++run)
                    largest_2[run] = largest[run];
                for (int i = 1; i < blocks_2; ++i) {
                    // turn + i, blocks - 1 - i, query, weight, acc, ...  flash_attention_tle.py:206
                    const int turn_2 = turn + i;

                    // score = tle.gpu.wgmma(query, k_reader.wait(tu ...  flash_attention_tle.py:148
                    const int stage_2 = turn_2 & 1;
                    const int lap_2 = turn_2 >> 1;
                    mbarrier_wait(&shared.keys_full[stage_2], lap_2 & 1);
                    Vector<float, 2> score_2[32];
                    const Descriptor b_first_2 = wgmma_descriptor<128>(shared.q_b[stage], 16, 1024);  // rows along K
                    const Descriptor k_first_2 = wgmma_descriptor<128>(shared.k_ring[stage_2], 16, 1024);  // rows along K
                    wgmma_fence();
                    #pragma unroll
                    for (int step = 0; step < 8; ++step)
                        wgmma_m64n128k16_f32_f16(score_2, b_first_2 + step / 4 * 512 + step % 4 * 2, k_first_2 + step / 4 * 1024 + step % 4 * 2, step > 0);
                    wgmma_commit();

                    // acc = tle.gpu.wgmma(weight, v_reader.wait(tur ...  flash_attention_tle.py:149
                    const int stage_3 = (turn_2 - 1) & 1;
                    const int lap_3 = (turn_2 - 1) >> 1;
                    mbarrier_wait(&shared.values_full[stage_3], lap_3 & 1);
                    const Descriptor v_first = wgmma_descriptor<128>(shared.v_ring[stage_3], 16384, 1024);  // rows along N
                    wgmma_fence();
                    #pragma unroll
                    for (int step = 0; step < 8; ++step) {
                        unsigned weight_part[4];  // rows of this warp
                        #pragma unroll
                        for (int piece = 0; piece < 4; ++piece)
                            weight_part[piece] = bit_cast<unsigned>(weight_4[4 * step + piece]);
                        wgmma_m64n128k16_f32_f16_a_registers_b_along_n(acc, weight_part, v_first + 128 * step, true);
                    }
                    wgmma_commit();

                    // score = tle.gpu.wgmma_wait(1, score)               flash_attention_tle.py:150
                    wgmma_wait<1>();
                    // k_reader.release(turn)                             flash_attention_tle.py:151
                    __syncwarp();
                    if (thread % 32 == 0) mbarrier_arrive(&shared.keys_empty[stage_2]);

                    // now = tl.maximum(largest, tl.max(score, 1) * ...   flash_attention_tle.py:124
                    float score_max_2[2];
                    #pragma unroll
                    for (int run = 0; run < 2; ++run) {
                        score_max_2[run] = score_2[run][0];
                        #pragma unroll
                        for (int k = 1; k < 32; ++k)
                            score_max_2[run] = fmaxf(score_max_2[run], score_2[run + k / 2 * 2][k % 2]);
                        score_max_2[run] = lanes_all_reduce<3>(score_max_2[run], [](float a, float b) { return fmaxf(a, b); });
                    }
                    float now_2[2];
                    #pragma unroll
                    for (int run = 0; run < 2; ++run) {
                        now_2[run] = fmaxf(largest_2[run], score_max_2[run] * scale);
                    }
                    Vector<float, 2> weight_5[32];
                    #pragma unroll
                    for (int run = 0; run < 32; ++run) {
                        #pragma unroll
                        for (int k = 0; k < 2; ++k) {
                            // weight = tl.exp2(score * scale - shif ...  flash_attention_tle.py:126
                            weight_5[run][k] = exp2_approx(score_2[run][k] * scale - now_2[run % 2]);
                        }
                    }
                    float share_2[2];
                    #pragma unroll
                    for (int run = 0; run < 2; ++run) {
                        // share = tl.exp2(largest - shift)               flash_attention_tle.py:127
                        share_2[run] = exp2_approx(largest_2[run] - now_2[run]);
                    }

                    // sums = tl.sum(tl.reshape(weight, [ROWS, BLOCK ...  flash_attention_tle.py:128
                    Vector<float, 2> sums_2[2];
                    #pragma unroll
                    for (int run = 0; run < 4; ++run) {
                        sums_2[run / 2][run % 2] = 0.0f;
                        #pragma unroll
                        for (int k = 0; k < 16; ++k)
                            sums_2[run / 2][run % 2] += weight_5[run / 2 + 2 * k][run % 2];
                    }
                    #pragma unroll
                    for (int run = 0; run < 2; ++run) {
                        #pragma unroll
                        for (int k = 0; k < 2; ++k) {
                            // return weight, total * share[:, None] ...  flash_attention_tle.py:129
                            total_3[run][k] = total_3[run][k] * share_2[run] + sums_2[run][k];
                        }
                    }

                    // acc = tle.gpu.wgmma_wait(0, acc)                   flash_attention_tle.py:155
                    wgmma_wait<0>();

                    // v_reader.release(turn - 1)                         flash_attention_tle.py:156
                    __syncwarp();
                    if (thread % 32 == 0) mbarrier_arrive(&shared.values_empty[stage_3]);
                    #pragma unroll
                    for (int run = 0; run < 32; ++run) {
                        #pragma unroll
                        for (int k = 0; k < 2; ++k) {
                            // return coming.to(dtype), acc * share[ ...  flash_attention_tle.py:157
                            weight_4[run][k] = __float2half(weight_5[run][k]);
                            acc[run][k] = acc[run][k] * share_2[run % 2];
                        }
                    }
                    #pragma unroll
                    for (int run = 0; run < 2; ++run)
                        largest_2[run] = now_2[run];
                }

                // q_reader.release(count)                                flash_attention_tle.py:209
                mbarrier_arrive(&shared.queries_empty[stage]);
                // turn += blocks                                         flash_attention_tle.py:210
                turn += blocks_2;
                // count += 1                                             flash_attention_tle.py:211
                count += 1;

                // slot = q_reader.wait(count).slot                       flash_attention_tle.py:212
                const int stage_2 = count & 1;
                const int lap_2 = count >> 1;
                mbarrier_wait(&shared.queries_full[stage_2], lap_2 & 1);

                // return tl.load(tle.gpu.local_ptr(slot.place, (NUMB ...  flash_attention_tle.py:66
                const int blocks_3 = shared.place[stage_2][0];
                attend_barrier();  // orders the loads of the scratch `exchange` before the stores to it

                // if blocks > 0:                                         flash_attention_tle.py:214
                int row_3;
                int head_3;
                int batch_3;
                Vector<__half, 2> weight_5[32];
                Vector<float, 2> total_4[2];
                float largest_3[2];
                if (blocks_3 > 0) {
                    // acc = tle.gpu.wgmma(weight, v_reader.wait(tur ...  flash_attention_tle.py:215
                    const int stage_3 = (turn - 1) & 1;
                    const int lap_3 = (turn - 1) >> 1;
                    mbarrier_wait(&shared.values_full[stage_3], lap_3 & 1);
                    Vector<float, 2> acc_2[32];
                    #pragma unroll
                    for (int run = 0; run < 32; ++run)
                        #pragma unroll
                        for (int k = 0; k < 2; ++k)
                            acc_2[run][k] = acc[run][k];
                    const Descriptor v_first = wgmma_descriptor<128>(shared.v_ring[stage_3], 16384, 1024);  // rows along N
                    wgmma_fence();
                    #pragma unroll
                    for (int step = 0; step < 8; ++step) {
                        unsigned weight_part[4];  // rows of this warp
                        #pragma unroll
                        for (int piece = 0; piece < 4; ++piece)
                            weight_part[piece] = bit_cast<unsigned>(weight_4[4 * step + piece]);
                        wgmma_m64n128k16_f32_f16_a_registers_b_along_n(acc_2, weight_part, v_first + 128 * step, true);
                    }
                    wgmma_commit();

                    // score = tle.gpu.wgmma(queries_of(slot, GROUP) ...  flash_attention_tle.py:216
                    const int stage_4 = turn & 1;
                    const int lap_4 = turn >> 1;
                    mbarrier_wait(&shared.keys_full[stage_4], lap_4 & 1);
                    Vector<float, 2> score_2[32];
                    const Descriptor b_first_2 = wgmma_descriptor<128>(shared.q_b[stage_2], 16, 1024);  // rows along K
                    const Descriptor k_first_2 = wgmma_descriptor<128>(shared.k_ring[stage_4], 16, 1024);  // rows along K
                    wgmma_fence();
                    #pragma unroll
                    for (int step = 0; step < 8; ++step)
                        wgmma_m64n128k16_f32_f16(score_2, b_first_2 + step / 4 * 512 + step % 4 * 2, k_first_2 + step / 4 * 1024 + step % 4 * 2, step > 0);
                    wgmma_commit();

                    // acc = tle.gpu.wgmma_wait(1, acc)                   flash_attention_tle.py:217
                    wgmma_wait<1>();
                    // v_reader.release(turn - 1)                         flash_attention_tle.py:218
                    __syncwarp();
                    if (thread % 32 == 0) mbarrier_arrive(&shared.values_empty[stage_3]);

                    // total_of_row = tl.sum(total, 1)                    flash_attention_tle.py:167
                    float total_of_row[2];
                    #pragma unroll
                    for (int run = 0; run < 2; ++run) {
                        total_of_row[run] = 0.0f;
                        #pragma unroll
                        for (int k = 0; k < 2; ++k) total_of_row[run] += total_3[run][k];
                        total_of_row[run] = lanes_all_reduce<3>(total_of_row[run], [](float a, float b) { return a + b; });
                    }

                    // batch, head, i = batch.to(tl.int64), head.to( ...  flash_attention_tle.py:169
                    const long long batch_4 = static_cast<long long>(batch_2);
                    const long long head_4 = static_cast<long long>(head_2);

                    // out += batch * stride_ob + head * stride_oh + ...  flash_attention_tle.py:170
                    const long long row_wide = static_cast<long long>(row_2);
                    float share_2[2];
                    #pragma unroll
                    for (int run = 0; run < 2; ++run) {
                        // share = 1.0 / total_of_row                     flash_attention_tle.py:168
                        share_2[run] = divide_approx(1.0f, total_of_row[run]);
                    }
                    Vector<__half, 2> value[32];
                    #pragma unroll
                    for (int run = 0; run < 32; ++run) {
                        #pragma unroll
                        for (int k = 0; k < 2; ++k) {
                            // tl.store(places, (columns * share[:, ...   flash_attention_tle.py:174
                            value[run][k] = __float2half(acc_2[run][k] * share_2[run % 2]);
                        }
                    }

                    // tl.store(places, (columns * share[:, None]).t ...  flash_attention_tle.py:174
                    #pragma unroll
                    for (int run = 0; run < 16; ++run) {
                        Vector<__half, 4> packed;
                        #pragma unroll
                        for (int k = 0; k < 4; ++k) packed[k] = value[2 * run + k / 2][k % 2];
                        store_vector(&shared.exchange_3[(thread ^ run) * 4 + 512 * run], packed);
                    }
                    attend_barrier();  // the whole tile is in shared memory
                    Vector<__half, 8> converted[8];
                    #pragma unroll
                    for (int run = 0; run < 16; ++run) {
                        const Vector<__half, 4> unpacked = load_vector<4>(&shared.exchange_3[thread % 16 * 512 + ((thread / 16 * 4) ^ (thread % 16) ^ (run % 4)) * 4 + run / 4 * 128]);
                        #pragma unroll
                        for (int k = 0; k < 4; ++k)
                            converted[run / 4 * 2 + k / 2][run % 4 * 2 + k % 2] = unpacked[k];
                    }

                    // cols = tl.arange(0, BLOCK_N)                       flash_attention_tle.py:111
                    const int cols = thread % 16 * 8;
                    // tile [64, 128]: row = thread / 16 + 8 * run, column = thread % 16 * 8 + k;  run < 8, k < 8
                    #pragma unroll
                    for (int run = 0; run < 8; ++run) {
                        // rows = row - block * BLOCK_N + tl.arange( ...  flash_attention_tle.py:113
                        const int i = thread / 16 + 8 * run;
                        // tl.store(places, (columns * share[:, None ...  flash_attention_tle.py:174
                        store_vector_if<uint4>(i < length - row_2, out + batch_4 * static_cast<long long>(stride_ob) + head_4 * static_cast<long long>(stride_oh) + row_wide * static_cast<long long>(stride_om) + i * stride_om + cols, converted[run]);
                    }
                    #pragma unroll
                    for (int run = 0; run < 2; ++run) {
                        // rows = row - block * BLOCK_N + tl.arange( ...  flash_attention_tle.py:113
                        const int i = thread / 32 * 16 + thread / 4 % 8 + 8 * run;
                        // tl.store(lse + i, (largest + tl.log2(tota ...  flash_attention_tle.py:176
                        if ((thread & 3) == 0 && i < length - row_2) *(lse + batch_4 * static_cast<long long>(stride_lb) + head_4 * static_cast<long long>(stride_lh) + row_wide + i) = (largest_2[run] + log2f(total_of_row[run])) * 0.6931472f;
                    }
                    // return tl.load(tle.gpu.local_ptr(slot.place, ( ...  flash_attention_tle.py:66
                    const int place_value_2 = shared.place[stage_2][1];
                    // row, head, batch = told(slot, 1) + ROWS * GRO ...  flash_attention_tle.py:223
                    const int row_4 = place_value_2 + 64;
                    // return tl.load(tle.gpu.local_ptr(slot.place, ( ...  flash_attention_tle.py:66
                    const int head_5 = shared.place[stage_2][2];
                    const int batch_5 = shared.place[stage_2][3];
                    // score = tle.gpu.wgmma_wait(0, score)               flash_attention_tle.py:224
                    wgmma_wait<0>();
                    // k_reader.release(turn)                             flash_attention_tle.py:225
                    __syncwarp();
                    if (thread % 32 == 0) mbarrier_arrive(&shared.keys_empty[stage_4]);

                    // coming, total, largest = first_softmax(score, ...  flash_attention_tle.py:226
                    const int block_2 = blocks_3 - 1;
                    Vector<float, 2> score_3[32];
                    #pragma unroll
                    for (int run = 0; run < 32; ++run) {
                        // rows = row - block * BLOCK_N + tl.arange( ...  flash_attention_tle.py:113
                        const int i = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8;
                        const int rows = row_4 - block_2 * 128 + i;

                        // cols = tl.arange(0, BLOCK_N)                   flash_attention_tle.py:111
                        const int cols_2 = thread % 4 * 2 + run / 2 * 8;
                        #pragma unroll
                        for (int k = 0; k < 2; ++k) {
                            // return tl.where(rows[:, None] - cols[ ...  flash_attention_tle.py:114
                            score_3[run][k] = rows - cols_2 - k >= 0 ? score_2[run][k] : -infinity();
                        }
                    }

                    // now = tl.maximum(largest, tl.max(score, 1) * ...   flash_attention_tle.py:124
                    float score_max_2[2];
                    #pragma unroll
                    for (int run = 0; run < 2; ++run) {
                        score_max_2[run] = score_3[run][0];
                        #pragma unroll
                        for (int k = 1; k < 32; ++k)
                            score_max_2[run] = fmaxf(score_max_2[run], score_3[run + k / 2 * 2][k % 2]);
                        score_max_2[run] = lanes_all_reduce<3>(score_max_2[run], [](float a, float b) { return fmaxf(a, b); });
                    }
                    float shift_2[2];
                    #pragma unroll
                    for (int run = 0; run < 2; ++run) {
                        largest_3[run] = fmaxf(-infinity(), score_max_2[run] * scale);

                        // shift = tl.where(now == float("-inf"), 0. ...  flash_attention_tle.py:125
                        shift_2[run] = largest_3[run] == -infinity() ? 0.0f : largest_3[run];
                    }
                    Vector<float, 2> weight_6[32];
                    #pragma unroll
                    for (int run = 0; run < 32; ++run) {
                        #pragma unroll
                        for (int k = 0; k < 2; ++k) {
                            // weight = tl.exp2(score * scale - shif ...  flash_attention_tle.py:126
                            weight_6[run][k] = exp2_approx(score_3[run][k] * scale - shift_2[run % 2]);
                        }
                    }
                    float share_3[2];
                    #pragma unroll
                    for (int run = 0; run < 2; ++run) {
                        // share = tl.exp2(largest - shift)               flash_attention_tle.py:127
                        share_3[run] = exp2_approx(-infinity() - shift_2[run]);
                    }

                    // sums = tl.sum(tl.reshape(weight, [ROWS, BLOCK ...  flash_attention_tle.py:128
                    Vector<float, 2> sums_2[2];
                    #pragma unroll
                    for (int run = 0; run < 4; ++run) {
                        sums_2[run / 2][run % 2] = 0.0f;
                        #pragma unroll
                        for (int k = 0; k < 16; ++k)
                            sums_2[run / 2][run % 2] += weight_6[run / 2 + 2 * k][run % 2];
                    }
                    #pragma unroll
                    for (int run = 0; run < 2; ++run) {
                        #pragma unroll
                        for (int k = 0; k < 2; ++k) {
                            // return weight, total * share[:, None] ...  flash_attention_tle.py:129
                            total_4[run][k] = 0.0f * share_3[run] + sums_2[run][k];
                        }
                    }
                    #pragma unroll
                    for (int run = 0; run < 32; ++run) {
                        #pragma unroll
                        for (int k = 0; k < 2; ++k) {
                            // weight = coming.to(dtype)                  flash_attention_tle.py:227
                            weight_5[run][k] = __float2half(weight_6[run][k]);
                        }
                    }
                    row_3 = row_4;
                    head_3 = head_5;
                    batch_3 = batch_5;
                } else {
                    // acc = tle.gpu.wgmma_wait(0, tle.gpu.wgmma(wei ...  flash_attention_tle.py:229
                    const int stage_3 = (turn - 1) & 1;
                    const int lap_3 = (turn - 1) >> 1;
                    mbarrier_wait(&shared.values_full[stage_3], lap_3 & 1);
                    Vector<float, 2> product_2[32];
                    #pragma unroll
                    for (int run = 0; run < 32; ++run)
                        #pragma unroll
                        for (int k = 0; k < 2; ++k)
                            product_2[run][k] = acc[run][k];
                    const Descriptor v_first = wgmma_descriptor<128>(shared.v_ring[stage_3], 16384, 1024);  // rows along N
                    wgmma_fence();
                    #pragma unroll
                    for (int step = 0; step < 8; ++step) {
                        unsigned weight_part[4];  // rows of this warp
                        #pragma unroll
                        for (int piece = 0; piece < 4; ++piece)
                            weight_part[piece] = bit_cast<unsigned>(weight_4[4 * step + piece]);
                        wgmma_m64n128k16_f32_f16_a_registers_b_along_n(product_2, weight_part, v_first + 128 * step, true);
                    }
                    wgmma_commit();
                    wgmma_wait<0>();

                    // v_reader.release(turn - 1)                         flash_attention_tle.py:230
                    __syncwarp();
                    if (thread % 32 == 0) mbarrier_arrive(&shared.values_empty[stage_3]);

                    // total_of_row = tl.sum(total, 1)                    flash_attention_tle.py:167
                    float total_of_row[2];
                    #pragma unroll
                    for (int run = 0; run < 2; ++run) {
                        total_of_row[run] = 0.0f;
                        #pragma unroll
                        for (int k = 0; k < 2; ++k) total_of_row[run] += total_3[run][k];
                        total_of_row[run] = lanes_all_reduce<3>(total_of_row[run], [](float a, float b) { return a + b; });
                    }

                    // batch, head, i = batch.to(tl.int64), head.to( ...  flash_attention_tle.py:169
                    const long long batch_4 = static_cast<long long>(batch_2);
                    const long long head_4 = static_cast<long long>(head_2);

                    // out += batch * stride_ob + head * stride_oh + ...  flash_attention_tle.py:170
                    const long long row_wide = static_cast<long long>(row_2);
                    float share_2[2];
                    #pragma unroll
                    for (int run = 0; run < 2; ++run) {
                        // share = 1.0 / total_of_row                     flash_attention_tle.py:168
                        share_2[run] = divide_approx(1.0f, total_of_row[run]);
                    }
                    Vector<__half, 2> value[32];
                    #pragma unroll
                    for (int run = 0; run < 32; ++run) {
                        #pragma unroll
                        for (int k = 0; k < 2; ++k) {
                            // tl.store(places, (columns * share[:, ...   flash_attention_tle.py:174
                            value[run][k] = __float2half(product_2[run][k] * share_2[run % 2]);
                        }
                    }

                    // tl.store(places, (columns * share[:, None]).t ...  flash_attention_tle.py:174
                    #pragma unroll
                    for (int run = 0; run < 16; ++run) {
                        Vector<__half, 4> packed;
                        #pragma unroll
                        for (int k = 0; k < 4; ++k) packed[k] = value[2 * run + k / 2][k % 2];
                        store_vector(&shared.exchange_4[(thread ^ run) * 4 + 512 * run], packed);
                    }
                    attend_barrier();  // the whole tile is in shared memory
                    Vector<__half, 8> converted[8];
                    #pragma unroll
                    for (int run = 0; run < 16; ++run) {
                        const Vector<__half, 4> unpacked = load_vector<4>(&shared.exchange_4[thread % 16 * 512 + ((thread / 16 * 4) ^ (thread % 16) ^ (run % 4)) * 4 + run / 4 * 128]);
                        #pragma unroll
                        for (int k = 0; k < 4; ++k)
                            converted[run / 4 * 2 + k / 2][run % 4 * 2 + k % 2] = unpacked[k];
                    }

                    // cols = tl.arange(0, BLOCK_N)                       flash_attention_tle.py:111
                    const int cols = thread % 16 * 8;
                    #pragma unroll
                    for (int run = 0; run < 8; ++run) {
                        // rows = row - block * BLOCK_N + tl.arange( ...  flash_attention_tle.py:113
                        const int i = thread / 16 + 8 * run;
                        // tl.store(places, (columns * share[:, None ...  flash_attention_tle.py:174
                        store_vector_if<uint4>(i < length - row_2, out + batch_4 * static_cast<long long>(stride_ob) + head_4 * static_cast<long long>(stride_oh) + row_wide * static_cast<long long>(stride_om) + i * stride_om + cols, converted[run]);
                    }
                    #pragma unroll
                    for (int run = 0; run < 2; ++run) {
                        // rows = row - block * BLOCK_N + tl.arange( ...  flash_attention_tle.py:113
                        const int i = thread / 32 * 16 + thread / 4 % 8 + 8 * run;
                        // tl.store(lse + i, (largest + tl.log2(tota ...  flash_attention_tle.py:176
                        if ((thread & 3) == 0 && i < length - row_2) *(lse + batch_4 * static_cast<long long>(stride_lb) + head_4 * static_cast<long long>(stride_lh) + row_wide + i) = (largest_2[run] + log2f(total_of_row[run])) * 0.6931472f;
                    }
                    row_3 = row_2;
                    head_3 = head_2;
                    batch_3 = batch_2;
                    #pragma unroll
                    for (int run = 0; run < 32; ++run)
                        #pragma unroll
                        for (int k = 0; k < 2; ++k)
                            weight_5[run][k] = weight_4[run][k];
                    #pragma unroll
                    for (int run = 0; run < 2; ++run)
                        #pragma unroll
                        for (int k = 0; k < 2; ++k)
                            total_4[run][k] = total_3[run][k];
                    #pragma unroll
                    for (int run = 0; run < 2; ++run)
                        largest_3[run] = largest_2[run];
                }
                #pragma unroll
                for (int run = 0; run < 32; ++run)
                    #pragma unroll
                    for (int k = 0; k < 2; ++k)
                        weight_3[run][k] = weight_5[run][k];
                #pragma unroll
                for (int run = 0; run < 2; ++run)
                    #pragma unroll
                    for (int k = 0; k < 2; ++k)
                        total_2[run][k] = total_4[run][k];
                #pragma unroll
                for (int run = 0; run < 2; ++run)
                    largest[run] = largest_3[run];
                blocks_2 = blocks_3;
                row_2 = row_3;
                head_2 = head_3;
                batch_2 = batch_3;
            }

            // q_reader.release(count)                                    flash_attention_tle.py:235
            const int stage = count & 1;
            mbarrier_arrive(&shared.queries_empty[stage]);
        } else if (warp < 9) {  // fetch: warp 8
            const int thread = threadIdx.x - 256;
            unsigned keys_filled = 0;
            unsigned values_filled = 0;
            unsigned queries_filled = 0;

            // tiles_m = tl.cdiv(length, ROWS * GROUPS)                   flash_attention_tle.py:267
            const int tiles_m = (length + 127) / 128;
            // sizes = (tiles_m * heads * batches, tiles_m, batches, ...  flash_attention_tle.py:268
            const int tiles = tiles_m * heads * batches;
            // place, turn, tile = q_writer.cursor(0), 0, tl.program_ ...  flash_attention_tle.py:79
            const int tile = blockIdx.x;
            // tile = tl.num_programs(0) + following                      flash_attention_tle.py:100
            const int num_programs_x = gridDim.x;

            // while tile < tiles:                                         flash_attention_tle.py:80
            int place_stage = 0;
            int place_lap = 0;
            int turn = 0;
            int tile_2 = tile;
            while (tile_2 < tiles) {
                // heads_before = tile // (near_heads * tiles_m) * ne ...  flash_attention_tle.py:31
                const int heads_before = tile_2 / (near_heads * tiles_m) * near_heads;
                // near = tl.minimum(batches * heads - heads_before, ...   flash_attention_tle.py:32
                const int near = min(batches * heads - heads_before, near_heads);
                // inside = tile % (near_heads * tiles_m)                  flash_attention_tle.py:33
                const int inside = tile_2 % (near_heads * tiles_m);
                // at = heads_before + inside % near                       flash_attention_tle.py:34
                const int at = heads_before + inside % near;
                // block = inside // near                                  flash_attention_tle.py:35
                const int block = inside / near;
                // block = tiles_m - 1 - block                             flash_attention_tle.py:38
                const int block_2 = tiles_m - 1 - block;
                // blocks = tl.minimum(blocks, tl.cdiv((block + 1) * ...   flash_attention_tle.py:39
                const int blocks = min(tiles_m, ((block_2 + 1) * 128 + 127) / 128);
                // head = at % heads                                       flash_attention_tle.py:40
                const int head = at % heads;

                // return at // heads, head, head // (heads // kv_hea ...  flash_attention_tle.py:41
                const int batch = at / heads;
                const int kv_head = head / (heads / kv_heads);
                const int row = block_2 * 128;

                // slot = q_writer.acquire(place)                          flash_attention_tle.py:84
                mbarrier_wait(&shared.queries_empty[place_stage], (place_lap + 1) & 1);
                // tl.store(tle.gpu.local_ptr(slot.place, (0,)), blocks)   flash_attention_tle.py:57
                if (thread == 0) shared.place[place_stage][0] = blocks;
                // tl.store(tle.gpu.local_ptr(slot.place, (1,)), row)      flash_attention_tle.py:58
                if (thread == 0) shared.place[place_stage][1] = row;
                // tl.store(tle.gpu.local_ptr(slot.place, (2,)), head)     flash_attention_tle.py:59
                if (thread == 0) shared.place[place_stage][2] = head;
                // tl.store(tle.gpu.local_ptr(slot.place, (3,)), batch)    flash_attention_tle.py:60
                if (thread == 0) shared.place[place_stage][3] = batch;

                // tle.gpu.copy(q, queries_of(slot, group), [1, 1, RO ...  flash_attention_tle.py:87
                if (thread == 0) {
                    mbarrier_add_bytes(&shared.queries_full[place_stage], 16384);
                    #pragma unroll
                    for (int panel = 0; panel < 2; ++panel)
                        tma_load_4d(shared.q_a[place_stage][panel], &q_map, &shared.queries_full[place_stage], panel * 64, row, head, batch);
                    mbarrier_add_bytes(&shared.queries_full[place_stage], 16384);
                    #pragma unroll
                    for (int panel = 0; panel < 2; ++panel)
                        tma_load_4d(shared.q_b[place_stage][panel], &q_map, &shared.queries_full[place_stage], panel * 64, row + 64, head, batch);
                }

                // q_writer.commit(place)                                  flash_attention_tle.py:88
                queries_filled ^= 1u << place_stage;
                mbarrier_arrive(&shared.queries_full[place_stage]);
                if (thread == 0) mbarrier_arrive(&shared.queries_full[place_stage]);

                // place = place.advance()                                 flash_attention_tle.py:89
                place_lap += static_cast<int>(place_stage + 1 == 2);

                // following = tl.atomic_add(claims, 1, sem="relaxed")     flash_attention_tle.py:90
                if (thread == 0) shared.following_broadcast[0] = atomicAdd(claims, 1);
                __syncwarp();  // every thread reads the value that one thread obtained
                const int following = shared.following_broadcast[0];
                __syncwarp();  // orders the loads of the scratch `following_broadcast` before the stores to it

                // for i in range(blocks):                                 flash_attention_tle.py:91
                for (int i = 0; i < blocks; ++i) {
                    // key = (blocks - 1 - i) * BLOCK_N                    flash_attention_tle.py:92
                    const int key = (blocks - 1 - i) * 128;

                    // tle.gpu.copy(k, k_writer.acquire(turn + i).k, ...   flash_attention_tle.py:93
                    const int stage = (turn + i) & 1;
                    const int lap = (turn + i) >> 1;
                    if (thread == 0) {
                        mbarrier_wait(&shared.keys_empty[stage], (lap + 1) & 1);
                        mbarrier_expect_bytes(&shared.keys_full[stage], 32768);
                        #pragma unroll
                        for (int panel = 0; panel < 2; ++panel)
                            tma_load_4d(shared.k_ring[stage][panel], &k_map, &shared.keys_full[stage], panel * 64, key, kv_head, batch);
                    }
                    keys_filled ^= 1u << stage;

                    // tle.gpu.copy(v, v_writer.acquire(turn + i).v, ...   flash_attention_tle.py:95
                    if (thread == 0) {
                        mbarrier_wait(&shared.values_empty[stage], (lap + 1) & 1);
                        mbarrier_expect_bytes(&shared.values_full[stage], 32768);
                        #pragma unroll
                        for (int panel = 0; panel < 2; ++panel)
                            tma_load_4d(shared.v_ring[stage][panel], &v_map, &shared.values_full[stage], panel * 64, key, kv_head, batch);
                    }
                    values_filled ^= 1u << stage;
                }

                // turn += blocks                                          flash_attention_tle.py:97
                turn += blocks;
                // if following == tiles - 1:                              flash_attention_tle.py:98
                if (following == tiles - 1) {
                    // tl.atomic_xchg(claims, 0, sem="relaxed")            flash_attention_tle.py:99
                    if (thread == 0) atomicExch(claims, 0);
                }

                // tile = tl.num_programs(0) + following                  flash_attention_tle.py:100
                const int tile_3 = num_programs_x + following;
                place_stage = place_stage + 1 == 2 ? 0 : place_stage + 1;
                tile_2 = tile_3;
            }

            // put_place(q_writer.acquire(place), 0, 0, 0, 0)             flash_attention_tle.py:101
            mbarrier_wait(&shared.queries_empty[place_stage], (place_lap + 1) & 1);
            // tl.store(tle.gpu.local_ptr(slot.place, (0,)), blocks)       flash_attention_tle.py:57
            if (thread == 0) shared.place[place_stage][0] = 0;
            // tl.store(tle.gpu.local_ptr(slot.place, (1,)), row)          flash_attention_tle.py:58
            if (thread == 0) shared.place[place_stage][1] = 0;
            // tl.store(tle.gpu.local_ptr(slot.place, (2,)), head)         flash_attention_tle.py:59
            if (thread == 0) shared.place[place_stage][2] = 0;
            // tl.store(tle.gpu.local_ptr(slot.place, (3,)), batch)        flash_attention_tle.py:60
            if (thread == 0) shared.place[place_stage][3] = 0;

            // q_writer.commit(place)                                     flash_attention_tle.py:102
            queries_filled ^= 1u << place_stage;
            mbarrier_arrive(&shared.queries_full[place_stage]);
            if (thread == 0) mbarrier_arrive(&shared.queries_full[place_stage]);

            // What nobody waited for lands before the CTA may exit.
            if (thread == 0) {
                for (int stage = 0; stage < 2; ++stage) {
                    mbarrier_wait(&shared.keys_full[stage], ~keys_filled >> stage & 1);
                    mbarrier_wait(&shared.values_full[stage], ~values_filled >> stage & 1);
                    mbarrier_wait(&shared.queries_full[stage], ~queries_filled >> stage & 1);
                }
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // attend: warps 0 to 3
    registers_increase<232>();
    // slot = q_reader.wait(0).slot                                       flash_attention_tle.py:186
    mbarrier_wait(&shared.queries_full[0], 0);

    // return tl.load(tle.gpu.local_ptr(slot.place, (NUMBER,)))            flash_attention_tle.py:66
    const int blocks = shared.place[0][0];
    const int row = shared.place[0][1];
    const int head = shared.place[0][2];
    const int batch = shared.place[0][3];

    // score = tle.gpu.wgmma_wait(0, tle.gpu.wgmma(queries_of(slot, ...   flash_attention_tle.py:188
    mbarrier_wait(&shared.keys_full[0], 0);
    Vector<float, 2> product[32];
    const Descriptor a_first = wgmma_descriptor<128>(shared.q_a[0], 16, 1024);  // rows along K
    const Descriptor k_first = wgmma_descriptor<128>(shared.k_ring[0], 16, 1024);  // rows along K
    wgmma_fence();
    #pragma unroll
    for (int step = 0; step < 8; ++step)
        wgmma_m64n128k16_f32_f16(product, a_first + step / 4 * 512 + step % 4 * 2, k_first + step / 4 * 1024 + step % 4 * 2, step > 0);
    wgmma_commit();
    wgmma_wait<0>();

    // k_reader.release(0)                                                flash_attention_tle.py:189
    __syncwarp();
    if (thread % 32 == 0) mbarrier_arrive(&shared.keys_empty[0]);
    // weight, total, largest = first_softmax(score, blocks - 1, row ...  flash_attention_tle.py:190
    const int block = blocks - 1;
    Vector<float, 2> score[32];
    // tile [64, 128]: row = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread % 4 * 2 + run / 2 * 8 + k;  run < 32, k < 2
    #pragma unroll
    for (int run = 0; run < 32; ++run) {
        // rows = row - block * BLOCK_N + tl.arange(0, ROWS)              flash_attention_tle.py:113
        const int i = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8;
        const int rows = row - block * 128 + i;

        // cols = tl.arange(0, BLOCK_N)                                   flash_attention_tle.py:111
        const int cols = thread % 4 * 2 + run / 2 * 8;
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            // return tl.where(rows[:, None] - cols[None, :] >= 0, s ...  flash_attention_tle.py:114
            score[run][k] = rows - cols - k >= 0 ? product[run][k] : -infinity();
        }
    }

    // now = tl.maximum(largest, tl.max(score, 1) * scale)                flash_attention_tle.py:124
    float score_max[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        score_max[run] = score[run][0];
        #pragma unroll
        for (int k = 1; k < 32; ++k)
            score_max[run] = fmaxf(score_max[run], score[run + k / 2 * 2][k % 2]);
        score_max[run] = lanes_all_reduce<3>(score_max[run], [](float a, float b) { return fmaxf(a, b); });
    }
    float now[2];
    float shift[2];

    // tile [64]: element = thread / 32 * 16 + thread / 4 % 8 + 8 * run;  run < 2
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        now[run] = fmaxf(-infinity(), score_max[run] * scale);

        // shift = tl.where(now == float("-inf"), 0.0, now) if MASKE ...  flash_attention_tle.py:125
        shift[run] = now[run] == -infinity() ? 0.0f : now[run];
    }
    Vector<float, 2> weight[32];
    #pragma unroll
    for (int run = 0; run < 32; ++run) {
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            // weight = tl.exp2(score * scale - shift[:, None])           flash_attention_tle.py:126
            weight[run][k] = exp2_approx(score[run][k] * scale - shift[run % 2]);
        }
    }
    float share[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // share = tl.exp2(largest - shift)                               flash_attention_tle.py:127
        share[run] = exp2_approx(-infinity() - shift[run]);
    }

    // sums = tl.sum(tl.reshape(weight, [ROWS, BLOCK_N // 8, 8]), 1)      flash_attention_tle.py:128
    Vector<float, 2> sums[2];
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        sums[run / 2][run % 2] = 0.0f;
        #pragma unroll
        for (int k = 0; k < 16; ++k) sums[run / 2][run % 2] += weight[run / 2 + 2 * k][run % 2];
    }
    Vector<float, 2> total[2];

    // tile [64, 8]: row = thread / 32 * 16 + thread / 4 % 8 + 8 * run, column = thread % 4 * 2 + k;  run < 2, k < 2
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // return weight, total * share[:, None] + sums, now, share       flash_attention_tle.py:129
        #pragma unroll
        for (int k = 0; k < 2; ++k) total[run][k] = 0.0f * share[run] + sums[run][k];
    }
    Vector<__half, 2> weight_2[32];
    #pragma unroll
    for (int run = 0; run < 32; ++run) {
        // weight = weight.to(dtype)                                      flash_attention_tle.py:191
        #pragma unroll
        for (int k = 0; k < 2; ++k) weight_2[run][k] = __float2half(weight[run][k]);
    }

    // while blocks > 0:                                                  flash_attention_tle.py:193
    Vector<__half, 2> weight_3[32];
    #pragma unroll
    for (int run = 0; run < 32; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            weight_3[run][k] = weight_2[run][k];
    Vector<float, 2> total_2[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            total_2[run][k] = total[run][k];
    float largest[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        largest[run] = now[run];
    int turn = 0;
    int count = 0;
    int blocks_2 = blocks;
    int row_2 = row;
    int head_2 = head;
    int batch_2 = batch;
    while (blocks_2 > 0) {
        // query = queries_of(q_reader.wait(count).slot, GROUP)           flash_attention_tle.py:196
        const int stage = count & 1;
        const int lap = count >> 1;
        mbarrier_wait(&shared.queries_full[stage], lap & 1);

        // for i in range(first, blocks):                                 flash_attention_tle.py:204
        Vector<__half, 2> weight_4[32];
        #pragma unroll
        for (int run = 0; run < 32; ++run)
            #pragma unroll
            for (int k = 0; k < 2; ++k)
                weight_4[run][k] = weight_3[run][k];
        Vector<float, 2> acc[32];
        #pragma unroll
        for (int run = 0; run < 32; ++run)
            #pragma unroll
            for (int k = 0; k < 2; ++k)
                acc[run][k] = 0.0f;
        Vector<float, 2> total_3[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            #pragma unroll
            for (int k = 0; k < 2; ++k)
                total_3[run][k] = total_2[run][k];
        float largest_2[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            largest_2[run] = largest[run];
        for (int i = 1; i < blocks_2; ++i) {
            // turn + i, blocks - 1 - i, query, weight, acc, total, ...   flash_attention_tle.py:206
            const int turn_2 = turn + i;

            // score = tle.gpu.wgmma(query, k_reader.wait(turn).slot ...  flash_attention_tle.py:148
            const int stage_2 = turn_2 & 1;
            const int lap_2 = turn_2 >> 1;
            mbarrier_wait(&shared.keys_full[stage_2], lap_2 & 1);
            Vector<float, 2> score_2[32];
            const Descriptor a_first_2 = wgmma_descriptor<128>(shared.q_a[stage], 16, 1024);  // rows along K
            const Descriptor k_first_2 = wgmma_descriptor<128>(shared.k_ring[stage_2], 16, 1024);  // rows along K
            wgmma_fence();
            #pragma unroll
            for (int step = 0; step < 8; ++step)
                wgmma_m64n128k16_f32_f16(score_2, a_first_2 + step / 4 * 512 + step % 4 * 2, k_first_2 + step / 4 * 1024 + step % 4 * 2, step > 0);
            wgmma_commit();

            // acc = tle.gpu.wgmma(weight, v_reader.wait(turn - 1).s ...  flash_attention_tle.py:149
            const int stage_3 = (turn_2 - 1) & 1;
            const int lap_3 = (turn_2 - 1) >> 1;
            mbarrier_wait(&shared.values_full[stage_3], lap_3 & 1);
            const Descriptor v_first = wgmma_descriptor<128>(shared.v_ring[stage_3], 16384, 1024);  // rows along N
            wgmma_fence();
            #pragma unroll
            for (int step = 0; step < 8; ++step) {
                unsigned weight_part[4];  // rows of this warp
                #pragma unroll
                for (int piece = 0; piece < 4; ++piece)
                    weight_part[piece] = bit_cast<unsigned>(weight_4[4 * step + piece]);
                wgmma_m64n128k16_f32_f16_a_registers_b_along_n(acc, weight_part, v_first + 128 * step, true);
            }
            wgmma_commit();

            // score = tle.gpu.wgmma_wait(1, score)                       flash_attention_tle.py:150
            wgmma_wait<1>();
            // k_reader.release(turn)                                     flash_attention_tle.py:151
            __syncwarp();
            if (thread % 32 == 0) mbarrier_arrive(&shared.keys_empty[stage_2]);

            // now = tl.maximum(largest, tl.max(score, 1) * scale)        flash_attention_tle.py:124
            float score_max_2[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                score_max_2[run] = score_2[run][0];
                #pragma unroll
                for (int k = 1; k < 32; ++k)
                    score_max_2[run] = fmaxf(score_max_2[run], score_2[run + k / 2 * 2][k % 2]);
                score_max_2[run] = lanes_all_reduce<3>(score_max_2[run], [](float a, float b) { return fmaxf(a, b); });
            }
            float now_2[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                now_2[run] = fmaxf(largest_2[run], score_max_2[run] * scale);
            }
            Vector<float, 2> weight_5[32];
            #pragma unroll
            for (int run = 0; run < 32; ++run) {
                #pragma unroll
                for (int k = 0; k < 2; ++k) {
                    // weight = tl.exp2(score * scale - shift[:, None])   flash_attention_tle.py:126
                    weight_5[run][k] = exp2_approx(score_2[run][k] * scale - now_2[run % 2]);
                }
            }
            float share_2[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // share = tl.exp2(largest - shift)                       flash_attention_tle.py:127
                share_2[run] = exp2_approx(largest_2[run] - now_2[run]);
            }

            // sums = tl.sum(tl.reshape(weight, [ROWS, BLOCK_N // 8, ...  flash_attention_tle.py:128
            Vector<float, 2> sums_2[2];
            #pragma unroll
            for (int run = 0; run < 4; ++run) {
                sums_2[run / 2][run % 2] = 0.0f;
                #pragma unroll
                for (int k = 0; k < 16; ++k)
                    sums_2[run / 2][run % 2] += weight_5[run / 2 + 2 * k][run % 2];
            }
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                #pragma unroll
                for (int k = 0; k < 2; ++k) {
                    // return weight, total * share[:, None] + sums, ...  flash_attention_tle.py:129
                    total_3[run][k] = total_3[run][k] * share_2[run] + sums_2[run][k];
                }
            }

            // acc = tle.gpu.wgmma_wait(0, acc)                           flash_attention_tle.py:155
            wgmma_wait<0>();

            // v_reader.release(turn - 1)                                 flash_attention_tle.py:156
            __syncwarp();
            if (thread % 32 == 0) mbarrier_arrive(&shared.values_empty[stage_3]);
            #pragma unroll
            for (int run = 0; run < 32; ++run) {
                #pragma unroll
                for (int k = 0; k < 2; ++k) {
                    // return coming.to(dtype), acc * share[:, None] ...  flash_attention_tle.py:157
                    weight_4[run][k] = __float2half(weight_5[run][k]);
                    acc[run][k] = acc[run][k] * share_2[run % 2];
                }
            }
            #pragma unroll
            for (int run = 0; run < 2; ++run)
                largest_2[run] = now_2[run];
        }

        // q_reader.release(count)                                        flash_attention_tle.py:209
        mbarrier_arrive(&shared.queries_empty[stage]);
        // turn += blocks                                                 flash_attention_tle.py:210
        turn += blocks_2;
        // count += 1                                                     flash_attention_tle.py:211
        count += 1;

        // slot = q_reader.wait(count).slot                               flash_attention_tle.py:212
        const int stage_2 = count & 1;
        const int lap_2 = count >> 1;
        mbarrier_wait(&shared.queries_full[stage_2], lap_2 & 1);

        // return tl.load(tle.gpu.local_ptr(slot.place, (NUMBER,)))        flash_attention_tle.py:66
        const int blocks_3 = shared.place[stage_2][0];
        default_warps_barrier();  // orders the loads of the scratch `exchange` before the stores to it

        // if blocks > 0:                                                 flash_attention_tle.py:214
        int row_3;
        int head_3;
        int batch_3;
        Vector<__half, 2> weight_5[32];
        Vector<float, 2> total_4[2];
        float largest_3[2];
        if (blocks_3 > 0) {
            // acc = tle.gpu.wgmma(weight, v_reader.wait(turn - 1).s ...  flash_attention_tle.py:215
            const int stage_3 = (turn - 1) & 1;
            const int lap_3 = (turn - 1) >> 1;
            mbarrier_wait(&shared.values_full[stage_3], lap_3 & 1);
            Vector<float, 2> acc_2[32];
            #pragma unroll
            for (int run = 0; run < 32; ++run)
                #pragma unroll
                for (int k = 0; k < 2; ++k)
                    acc_2[run][k] = acc[run][k];
            const Descriptor v_first = wgmma_descriptor<128>(shared.v_ring[stage_3], 16384, 1024);  // rows along N
            wgmma_fence();
            #pragma unroll
            for (int step = 0; step < 8; ++step) {
                unsigned weight_part[4];  // rows of this warp
                #pragma unroll
                for (int piece = 0; piece < 4; ++piece)
                    weight_part[piece] = bit_cast<unsigned>(weight_4[4 * step + piece]);
                wgmma_m64n128k16_f32_f16_a_registers_b_along_n(acc_2, weight_part, v_first + 128 * step, true);
            }
            wgmma_commit();

            // score = tle.gpu.wgmma(queries_of(slot, GROUP), k_read ...  flash_attention_tle.py:216
            const int stage_4 = turn & 1;
            const int lap_4 = turn >> 1;
            mbarrier_wait(&shared.keys_full[stage_4], lap_4 & 1);
            Vector<float, 2> score_2[32];
            const Descriptor a_first_2 = wgmma_descriptor<128>(shared.q_a[stage_2], 16, 1024);  // rows along K
            const Descriptor k_first_2 = wgmma_descriptor<128>(shared.k_ring[stage_4], 16, 1024);  // rows along K
            wgmma_fence();
            #pragma unroll
            for (int step = 0; step < 8; ++step)
                wgmma_m64n128k16_f32_f16(score_2, a_first_2 + step / 4 * 512 + step % 4 * 2, k_first_2 + step / 4 * 1024 + step % 4 * 2, step > 0);
            wgmma_commit();

            // acc = tle.gpu.wgmma_wait(1, acc)                           flash_attention_tle.py:217
            wgmma_wait<1>();
            // v_reader.release(turn - 1)                                 flash_attention_tle.py:218
            __syncwarp();
            if (thread % 32 == 0) mbarrier_arrive(&shared.values_empty[stage_3]);

            // total_of_row = tl.sum(total, 1)                            flash_attention_tle.py:167
            float total_of_row[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                total_of_row[run] = 0.0f;
                #pragma unroll
                for (int k = 0; k < 2; ++k) total_of_row[run] += total_3[run][k];
                total_of_row[run] = lanes_all_reduce<3>(total_of_row[run], [](float a, float b) { return a + b; });
            }

            // batch, head, i = batch.to(tl.int64), head.to(tl.int64 ...  flash_attention_tle.py:169
            const long long batch_4 = static_cast<long long>(batch_2);
            const long long head_4 = static_cast<long long>(head_2);

            // out += batch * stride_ob + head * stride_oh + row.to( ...  flash_attention_tle.py:170
            const long long row_wide = static_cast<long long>(row_2);
            float share_2[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // share = 1.0 / total_of_row                             flash_attention_tle.py:168
                share_2[run] = divide_approx(1.0f, total_of_row[run]);
            }
            Vector<__half, 2> value[32];
            #pragma unroll
            for (int run = 0; run < 32; ++run) {
                #pragma unroll
                for (int k = 0; k < 2; ++k) {
                    // tl.store(places, (columns * share[:, None]).t ...  flash_attention_tle.py:174
                    value[run][k] = __float2half(acc_2[run][k] * share_2[run % 2]);
                }
            }

            // tl.store(places, (columns * share[:, None]).to(out.dt ...  flash_attention_tle.py:174
            #pragma unroll
            for (int run = 0; run < 16; ++run) {
                Vector<__half, 4> packed;
                #pragma unroll
                for (int k = 0; k < 4; ++k) packed[k] = value[2 * run + k / 2][k % 2];
                store_vector(&shared.exchange[(thread ^ run) * 4 + 512 * run], packed);
            }
            default_warps_barrier();  // the whole tile is in shared memory
            Vector<__half, 8> converted[8];
            #pragma unroll
            for (int run = 0; run < 16; ++run) {
                const Vector<__half, 4> unpacked = load_vector<4>(&shared.exchange[thread % 16 * 512 + ((thread / 16 * 4) ^ (thread % 16) ^ (run % 4)) * 4 + run / 4 * 128]);
                #pragma unroll
                for (int k = 0; k < 4; ++k)
                    converted[run / 4 * 2 + k / 2][run % 4 * 2 + k % 2] = unpacked[k];
            }

            // cols = tl.arange(0, BLOCK_N)                               flash_attention_tle.py:111
            const int cols = thread % 16 * 8;
            // tile [64, 128]: row = thread / 16 + 8 * run, column = thread % 16 * 8 + k;  run < 8, k < 8
            #pragma unroll
            for (int run = 0; run < 8; ++run) {
                // rows = row - block * BLOCK_N + tl.arange(0, ROWS)      flash_attention_tle.py:113
                const int i = thread / 16 + 8 * run;
                // tl.store(places, (columns * share[:, None]).to(ou ...  flash_attention_tle.py:174
                store_vector_if<uint4>(i < length - row_2, out + batch_4 * static_cast<long long>(stride_ob) + head_4 * static_cast<long long>(stride_oh) + row_wide * static_cast<long long>(stride_om) + i * stride_om + cols, converted[run]);
            }
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // rows = row - block * BLOCK_N + tl.arange(0, ROWS)      flash_attention_tle.py:113
                const int i = thread / 32 * 16 + thread / 4 % 8 + 8 * run;
                // tl.store(lse + i, (largest + tl.log2(total_of_row ...  flash_attention_tle.py:176
                if ((thread & 3) == 0 && i < length - row_2) *(lse + batch_4 * static_cast<long long>(stride_lb) + head_4 * static_cast<long long>(stride_lh) + row_wide + i) = (largest_2[run] + log2f(total_of_row[run])) * 0.6931472f;
            }

            // return tl.load(tle.gpu.local_ptr(slot.place, (NUMBER,)))    flash_attention_tle.py:66
            const int row_4 = shared.place[stage_2][1];
            const int head_5 = shared.place[stage_2][2];
            const int batch_5 = shared.place[stage_2][3];

            // score = tle.gpu.wgmma_wait(0, score)                       flash_attention_tle.py:224
            wgmma_wait<0>();
            // k_reader.release(turn)                                     flash_attention_tle.py:225
            __syncwarp();
            if (thread % 32 == 0) mbarrier_arrive(&shared.keys_empty[stage_4]);

            // coming, total, largest = first_softmax(score, blocks ...   flash_attention_tle.py:226
            const int block_2 = blocks_3 - 1;
            Vector<float, 2> score_3[32];
            #pragma unroll
            for (int run = 0; run < 32; ++run) {
                // rows = row - block * BLOCK_N + tl.arange(0, ROWS)      flash_attention_tle.py:113
                const int i = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8;
                const int rows = row_4 - block_2 * 128 + i;

                // cols = tl.arange(0, BLOCK_N)                           flash_attention_tle.py:111
                const int cols_2 = thread % 4 * 2 + run / 2 * 8;
                #pragma unroll
                for (int k = 0; k < 2; ++k) {
                    // return tl.where(rows[:, None] - cols[None, :] ...  flash_attention_tle.py:114
                    score_3[run][k] = rows - cols_2 - k >= 0 ? score_2[run][k] : -infinity();
                }
            }

            // now = tl.maximum(largest, tl.max(score, 1) * scale)        flash_attention_tle.py:124
            float score_max_2[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                score_max_2[run] = score_3[run][0];
                #pragma unroll
                for (int k = 1; k < 32; ++k)
                    score_max_2[run] = fmaxf(score_max_2[run], score_3[run + k / 2 * 2][k % 2]);
                score_max_2[run] = lanes_all_reduce<3>(score_max_2[run], [](float a, float b) { return fmaxf(a, b); });
            }
            float shift_2[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                largest_3[run] = fmaxf(-infinity(), score_max_2[run] * scale);

                // shift = tl.where(now == float("-inf"), 0.0, now) ...   flash_attention_tle.py:125
                shift_2[run] = largest_3[run] == -infinity() ? 0.0f : largest_3[run];
            }
            Vector<float, 2> weight_6[32];
            #pragma unroll
            for (int run = 0; run < 32; ++run) {
                #pragma unroll
                for (int k = 0; k < 2; ++k) {
                    // weight = tl.exp2(score * scale - shift[:, None])   flash_attention_tle.py:126
                    weight_6[run][k] = exp2_approx(score_3[run][k] * scale - shift_2[run % 2]);
                }
            }
            float share_3[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // share = tl.exp2(largest - shift)                       flash_attention_tle.py:127
                share_3[run] = exp2_approx(-infinity() - shift_2[run]);
            }

            // sums = tl.sum(tl.reshape(weight, [ROWS, BLOCK_N // 8, ...  flash_attention_tle.py:128
            Vector<float, 2> sums_2[2];
            #pragma unroll
            for (int run = 0; run < 4; ++run) {
                sums_2[run / 2][run % 2] = 0.0f;
                #pragma unroll
                for (int k = 0; k < 16; ++k)
                    sums_2[run / 2][run % 2] += weight_6[run / 2 + 2 * k][run % 2];
            }
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // return weight, total * share[:, None] + sums, now ...  flash_attention_tle.py:129
                #pragma unroll
                for (int k = 0; k < 2; ++k) total_4[run][k] = 0.0f * share_3[run] + sums_2[run][k];
            }
            #pragma unroll
            for (int run = 0; run < 32; ++run) {
                // weight = coming.to(dtype)                              flash_attention_tle.py:227
                #pragma unroll
                for (int k = 0; k < 2; ++k) weight_5[run][k] = __float2half(weight_6[run][k]);
            }
            row_3 = row_4;
            head_3 = head_5;
            batch_3 = batch_5;
        } else {
            // acc = tle.gpu.wgmma_wait(0, tle.gpu.wgmma(weight, v_r ...  flash_attention_tle.py:229
            const int stage_3 = (turn - 1) & 1;
            const int lap_3 = (turn - 1) >> 1;
            mbarrier_wait(&shared.values_full[stage_3], lap_3 & 1);
            Vector<float, 2> product_2[32];
            #pragma unroll
            for (int run = 0; run < 32; ++run)
                #pragma unroll
                for (int k = 0; k < 2; ++k)
                    product_2[run][k] = acc[run][k];
            const Descriptor v_first = wgmma_descriptor<128>(shared.v_ring[stage_3], 16384, 1024);  // rows along N
            wgmma_fence();
            #pragma unroll
            for (int step = 0; step < 8; ++step) {
                unsigned weight_part[4];  // rows of this warp
                #pragma unroll
                for (int piece = 0; piece < 4; ++piece)
                    weight_part[piece] = bit_cast<unsigned>(weight_4[4 * step + piece]);
                wgmma_m64n128k16_f32_f16_a_registers_b_along_n(product_2, weight_part, v_first + 128 * step, true);
            }
            wgmma_commit();
            wgmma_wait<0>();

            // v_reader.release(turn - 1)                                 flash_attention_tle.py:230
            __syncwarp();
            if (thread % 32 == 0) mbarrier_arrive(&shared.values_empty[stage_3]);

            // total_of_row = tl.sum(total, 1)                            flash_attention_tle.py:167
            float total_of_row[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                total_of_row[run] = 0.0f;
                #pragma unroll
                for (int k = 0; k < 2; ++k) total_of_row[run] += total_3[run][k];
                total_of_row[run] = lanes_all_reduce<3>(total_of_row[run], [](float a, float b) { return a + b; });
            }

            // batch, head, i = batch.to(tl.int64), head.to(tl.int64 ...  flash_attention_tle.py:169
            const long long batch_4 = static_cast<long long>(batch_2);
            const long long head_4 = static_cast<long long>(head_2);

            // out += batch * stride_ob + head * stride_oh + row.to( ...  flash_attention_tle.py:170
            const long long row_wide = static_cast<long long>(row_2);
            float share_2[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // share = 1.0 / total_of_row                             flash_attention_tle.py:168
                share_2[run] = divide_approx(1.0f, total_of_row[run]);
            }
            Vector<__half, 2> value[32];
            #pragma unroll
            for (int run = 0; run < 32; ++run) {
                #pragma unroll
                for (int k = 0; k < 2; ++k) {
                    // tl.store(places, (columns * share[:, None]).t ...  flash_attention_tle.py:174
                    value[run][k] = __float2half(product_2[run][k] * share_2[run % 2]);
                }
            }

            // tl.store(places, (columns * share[:, None]).to(out.dt ...  flash_attention_tle.py:174
            #pragma unroll
            for (int run = 0; run < 16; ++run) {
                Vector<__half, 4> packed;
                #pragma unroll
                for (int k = 0; k < 4; ++k) packed[k] = value[2 * run + k / 2][k % 2];
                store_vector(&shared.exchange_2[(thread ^ run) * 4 + 512 * run], packed);
            }
            default_warps_barrier();  // the whole tile is in shared memory
            Vector<__half, 8> converted[8];
            #pragma unroll
            for (int run = 0; run < 16; ++run) {
                const Vector<__half, 4> unpacked = load_vector<4>(&shared.exchange_2[thread % 16 * 512 + ((thread / 16 * 4) ^ (thread % 16) ^ (run % 4)) * 4 + run / 4 * 128]);
                #pragma unroll
                for (int k = 0; k < 4; ++k)
                    converted[run / 4 * 2 + k / 2][run % 4 * 2 + k % 2] = unpacked[k];
            }

            // cols = tl.arange(0, BLOCK_N)                               flash_attention_tle.py:111
            const int cols = thread % 16 * 8;
            #pragma unroll
            for (int run = 0; run < 8; ++run) {
                // rows = row - block * BLOCK_N + tl.arange(0, ROWS)      flash_attention_tle.py:113
                const int i = thread / 16 + 8 * run;
                // tl.store(places, (columns * share[:, None]).to(ou ...  flash_attention_tle.py:174
                store_vector_if<uint4>(i < length - row_2, out + batch_4 * static_cast<long long>(stride_ob) + head_4 * static_cast<long long>(stride_oh) + row_wide * static_cast<long long>(stride_om) + i * stride_om + cols, converted[run]);
            }
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // rows = row - block * BLOCK_N + tl.arange(0, ROWS)      flash_attention_tle.py:113
                const int i = thread / 32 * 16 + thread / 4 % 8 + 8 * run;
                // tl.store(lse + i, (largest + tl.log2(total_of_row ...  flash_attention_tle.py:176
                if ((thread & 3) == 0 && i < length - row_2) *(lse + batch_4 * static_cast<long long>(stride_lb) + head_4 * static_cast<long long>(stride_lh) + row_wide + i) = (largest_2[run] + log2f(total_of_row[run])) * 0.6931472f;
            }
            row_3 = row_2;
            head_3 = head_2;
            batch_3 = batch_2;
            #pragma unroll
            for (int run = 0; run < 32; ++run)
                #pragma unroll
                for (int k = 0; k < 2; ++k)
                    weight_5[run][k] = weight_4[run][k];
            #pragma unroll
            for (int run = 0; run < 2; ++run)
                #pragma unroll
                for (int k = 0; k < 2; ++k)
                    total_4[run][k] = total_3[run][k];
            #pragma unroll
            for (int run = 0; run < 2; ++run)
                largest_3[run] = largest_2[run];
        }
        #pragma unroll
        for (int run = 0; run < 32; ++run)
            #pragma unroll
            for (int k = 0; k < 2; ++k)
                weight_3[run][k] = weight_5[run][k];
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            #pragma unroll
            for (int k = 0; k < 2; ++k)
                total_2[run][k] = total_4[run][k];
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            largest[run] = largest_3[run];
        blocks_2 = blocks_3;
        row_2 = row_3;
        head_2 = head_3;
        batch_2 = batch_3;
    }

    // q_reader.release(count)                                            flash_attention_tle.py:235
    const int stage = count & 1;
    mbarrier_arrive(&shared.queries_empty[stage]);
}
