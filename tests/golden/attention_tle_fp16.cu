// attention_tle.cu: emitted by tle2cuda from flash_attention_tle.py:123 (attention_tle). Do not edit.
//
//   target    sm_90a, 384 threads per CTA, 164864 bytes of shared memory
//   launch    grid of CTAs, one for each program; 164864 bytes of dynamic shared memory
//   warps     attend on warps 0 to 7, fetch on warp 8
//   args      lse *fp32 align 16, length i32, scale fp32, stride_lb i32, stride_lh i32
//   maps      out_map of out: fp16, shape (batches, heads, length, 128),
//             strides (stride_ob, stride_oh, stride_om, 1), box (1, 1, 128, 64), 128-byte swizzle
//             q_map of q: fp16, shape (batches, heads, length, 128),
//             strides (stride_qb, stride_qh, stride_qm, 1), box (1, 1, 128, 64), 128-byte swizzle
//             k_map of k: fp16, shape (batches, kv_heads, length, 128),
//             strides (stride_kb, stride_kh, stride_kn, 1), box (1, 1, 128, 64), 128-byte swizzle
//             v_map of v: fp16, shape (batches, kv_heads, length, 128),
//             strides (stride_vb, stride_vh, stride_vn, 1), box (1, 1, 128, 64), 128-byte swizzle
//   constants CAUSAL = True, HEAD = 128, GROUP = 1, NEAR = 4, BLOCK_M = 128, BLOCK_N = 128,
//             STAGES = 2, HOLD = True, GROWTH = 8.0

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

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

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

// One box of the tensor map into shared memory, from element (c0, c1, c2, c3) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_4d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2, int c3)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}

// One box from shared memory into the array, clipped at its edges, as part of this thread's open bulk group. What wrote
// `source` is followed by fence_async_proxy. Called by one thread (PTX ISA, cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_store_4d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}

// Closes this thread's bulk group (PTX ISA, cp.async.bulk.commit_group; sm_90).
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

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

// sums[64, 128] += a[64, 16] @ b[16, 128] of one warpgroup: float16, a as fragments in registers, b in rows along K.
// In flight until a wait: sums and operands stay as they are up to there. Without `accumulate` sums are not read. Called by all of
// its threads (PTX ISA, wgmma.mma_async; sm_90a).
__device__ __forceinline__ void wgmma_m64n128k16_f32_f16_a_registers(
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
        "}, {%64, %65, %66, %67}, %68, accumulate, 1, 1, 0;\n"
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

// Barrier of the 256 threads of the default warps: hardware barrier 1.
__device__ __forceinline__ void default_warps_barrier() { named_barrier_sync(1, 256); }

// Shared memory of one CTA.
struct Shared {
    alignas(1024) __half q_tile[1][2][128][64];  // flash_attention_tle.py:140; 128-byte swizzle
    alignas(1024) __half k_ring[2][2][128][64];  // flash_attention_tle.py:141; 128-byte swizzle
    alignas(1024) __half v_ring[2][2][128][64];  // flash_attention_tle.py:142; 128-byte swizzle
    alignas(8) Barrier queries_full;          // flash_attention_tle.py:143
    alignas(8) Barrier keys_full[2];          // flash_attention_tle.py:144
    alignas(8) Barrier keys_empty[2];         // flash_attention_tle.py:144
    alignas(8) Barrier values_full[2];        // flash_attention_tle.py:145
    alignas(8) Barrier values_empty[2];       // flash_attention_tle.py:145
};
static_assert(sizeof(Shared) <= 164864, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(384, 1)
attention_tle(float* lse, const int length, const float scale, const int stride_lb,
              const int stride_lh, const __grid_constant__ TensorMap out_map,
              const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
              const __grid_constant__ TensorMap v_map)
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
        }
        mbarrier_init(&shared.queries_full, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 8) {
        registers_decrease<40>();
        if (warp < 9) {  // fetch: warp 8
            if (threadIdx.x == 256) {  // the others have nothing to do
                // place = tl.num_programs(0) - 1 - place  # rows th ...  flash_attention_tle.py:148
                const int num_programs_x_2 = gridDim.x;
                // place, batch = tl.program_id(0), tl.program_id(2)      flash_attention_tle.py:146
                const int place_3 = blockIdx.x;
                // place = tl.num_programs(0) - 1 - place  # rows th ...  flash_attention_tle.py:148
                const int place_4 = num_programs_x_2 - 1 - place_3;
                // block, head = place // NEAR, tl.program_id(1) * N ...  flash_attention_tle.py:149
                const int block_2 = place_4 / 4;
                // place, batch = tl.program_id(0), tl.program_id(2)      flash_attention_tle.py:146
                const int batch_2 = blockIdx.z;
                // block, head = place // NEAR, tl.program_id(1) * N ...  flash_attention_tle.py:149
                const int pid_y_2 = blockIdx.y;
                const int head_2 = pid_y_2 * 4 + place_4 % 4;
                // blocks = tl.cdiv(length, BLOCK_N)                      flash_attention_tle.py:150
                const int blocks_3 = (length + 127) / 128;
                // blocks = tl.minimum(blocks, tl.cdiv((block + 1) * ...  flash_attention_tle.py:152
                const int blocks_4 = min(blocks_3, ((block_2 + 1) * 128 + 127) / 128);

                // tle.gpu.copy(q, q_writer.acquire(0).q, [1, 1, BLOC ...  flash_attention_tle.py:24
                mbarrier_expect_bytes(&shared.queries_full, 32768);
                #pragma unroll
                for (int panel = 0; panel < 2; ++panel)
                    tma_load_4d(shared.q_tile[0][panel], &q_map, &shared.queries_full, panel * 64, block_2 * 128, head_2, batch_2);

                // for i in range(blocks):                                 flash_attention_tle.py:26
                for (int i = 0; i < blocks_4; ++i) {
                    // key = (blocks - 1 - i) * BLOCK_N                    flash_attention_tle.py:27
                    const int key = (blocks_4 - 1 - i) * 128;

                    // tle.gpu.copy(k, k_writer.acquire(i).k, [1, 1, ...   flash_attention_tle.py:28
                    const int stage = i & 1;
                    const int lap = i >> 1;
                    mbarrier_wait(&shared.keys_empty[stage], (lap + 1) & 1);
                    mbarrier_expect_bytes(&shared.keys_full[stage], 32768);
                    #pragma unroll
                    for (int panel = 0; panel < 2; ++panel)
                        tma_load_4d(shared.k_ring[stage][panel], &k_map, &shared.keys_full[stage], panel * 64, key, head_2, batch_2);

                    // tle.gpu.copy(v, v_writer.acquire(i).v, [1, 1, ...   flash_attention_tle.py:30
                    mbarrier_wait(&shared.values_empty[stage], (lap + 1) & 1);
                    mbarrier_expect_bytes(&shared.values_full[stage], 32768);
                    #pragma unroll
                    for (int panel = 0; panel < 2; ++panel)
                        tma_load_4d(shared.v_ring[stage][panel], &v_map, &shared.values_full[stage], panel * 64, key, head_2, batch_2);
                }
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // place, batch = tl.program_id(0), tl.program_id(2)                  flash_attention_tle.py:146
    const int place = blockIdx.x;
    const int batch = blockIdx.z;
    // place = tl.num_programs(0) - 1 - place  # rows that see most ...   flash_attention_tle.py:148
    const int num_programs_x = gridDim.x;
    const int place_2 = num_programs_x - 1 - place;

    // block, head = place // NEAR, tl.program_id(1) * NEAR + place ...   flash_attention_tle.py:149
    const int block = place_2 / 4;
    const int pid_y = blockIdx.y;
    const int head = pid_y * 4 + place_2 % 4;

    // blocks = tl.cdiv(length, BLOCK_N)                                  flash_attention_tle.py:150
    const int blocks = (length + 127) / 128;
    // blocks = tl.minimum(blocks, tl.cdiv((block + 1) * BLOCK_M, BL ...  flash_attention_tle.py:152
    const int blocks_2 = min(blocks, ((block + 1) * 128 + 127) / 128);
    // attend: warps 0 to 7
    registers_increase<232>();
    // q_tile = q_reader.wait(0).slot.q                                    flash_attention_tle.py:90
    mbarrier_wait(&shared.queries_full, 0);
    Vector<__half, 2> query[32];
    // tile [128, 128]: row = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8, column = thread % 4 * 2 + run / 2 * 8 + k;  run < 32, k < 2
    #pragma unroll
    for (int run = 0; run < 32; ++run) {
        // query = tl.load(tle.gpu.local_ptr(q_tile)) if HOLD else q_tile  flash_attention_tle.py:91
        query[run] = load_vector<2>(&shared.q_tile[0][run / 16][thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8][swizzled<128, 2>(thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8, thread % 4 * 2 + run / 2 % 8 * 8)]);
    }

    // score = tle.gpu.wgmma_wait(0, tle.gpu.wgmma(query, k_reader.wa ...  flash_attention_tle.py:92
    mbarrier_wait(&shared.keys_full[0], 0);
    Vector<float, 2> product[32];
    const Descriptor k_first = wgmma_descriptor<128>(shared.k_ring[0], 16, 1024);  // rows along K
    wgmma_fence();
    #pragma unroll
    for (int step = 0; step < 8; ++step) {
        unsigned query_part[4];  // rows of this warp
        #pragma unroll
        for (int piece = 0; piece < 4; ++piece)
            query_part[piece] = bit_cast<unsigned>(query[4 * step + piece]);
        wgmma_m64n128k16_f32_f16_a_registers(product, query_part, k_first + step / 4 * 1024 + step % 4 * 2, step > 0);
    }
    wgmma_commit();
    wgmma_wait<0>();
    fence_async_proxy();  // the loads of `q_tile` come before what the copy engine writes

    // k_reader.release(0)                                                 flash_attention_tle.py:93
    __syncwarp();
    if (thread % 32 == 0) mbarrier_arrive(&shared.keys_empty[0]);

    // first = (blocks - 1 - i) * BLOCK_N                                  flash_attention_tle.py:40
    const int first = (blocks_2 - 1) * 128;
    Vector<float, 2> score[32];
    #pragma unroll
    for (int run = 0; run < 32; ++run) {
        // rows = block * BLOCK_M + tl.arange(0, BLOCK_M)                  flash_attention_tle.py:89
        const int index = thread % 4 * 2 + run / 2 * 8;
        const int index_2 = thread / 32 * 16 + thread / 4 % 8 + run % 2 * 8;
        const int rows = block * 128 + index_2;
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            // seen = index[None, :] <= (rows - first)[:, None] if CA ...  flash_attention_tle.py:42
            const bool seen = index + k <= rows - first;
            // return tl.where(seen, score, float("-inf"))                 flash_attention_tle.py:43
            score[run][k] = seen ? product[run][k] : -infinity();
        }
    }

    // found = tl.max(score, 1) * scale                                    flash_attention_tle.py:56
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

    // tile [128]: element = thread / 32 * 16 + thread / 4 % 8 + 8 * run;  run < 2
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        const float found = score_max[run] * scale;

        // now = tl.where(found > largest + GROWTH, found, largest) i ...  flash_attention_tle.py:57
        now[run] = found > -infinity() ? found : -infinity();
        // shift = tl.where(now == float("-inf"), 0.0, now) if MASKED ...  flash_attention_tle.py:58
        shift[run] = now[run] == -infinity() ? 0.0f : now[run];
    }
    Vector<float, 2> weight[32];
    #pragma unroll
    for (int run = 0; run < 32; ++run) {
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            // weight = tl.exp2(score * scale - shift[:, None])            flash_attention_tle.py:59
            weight[run][k] = exp2_approx(score[run][k] * scale - shift[run % 2]);
        }
    }
    float share[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // share = tl.exp2(largest - shift)                                flash_attention_tle.py:60
        share[run] = exp2_approx(-infinity() - shift[run]);
    }

    // sums = tl.sum(tl.reshape(weight, [BLOCK_M, BLOCK_N // 8, 8]), 1)    flash_attention_tle.py:61
    Vector<float, 2> sums[2];
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        sums[run / 2][run % 2] = 0.0f;
        #pragma unroll
        for (int k = 0; k < 16; ++k) sums[run / 2][run % 2] += weight[run / 2 + 2 * k][run % 2];
    }
    Vector<float, 2> total[2];

    // tile [128, 8]: row = thread / 32 * 16 + thread / 4 % 8 + 8 * run, column = thread % 4 * 2 + k;  run < 2, k < 2
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // return weight, total * share[:, None] + sums, now, share        flash_attention_tle.py:62
        #pragma unroll
        for (int k = 0; k < 2; ++k) total[run][k] = 0.0f * share[run] + sums[run][k];
    }
    Vector<__half, 2> weight_2[32];
    #pragma unroll
    for (int run = 0; run < 32; ++run) {
        // weight = weight.to(dtype)                                       flash_attention_tle.py:98
        #pragma unroll
        for (int k = 0; k < 2; ++k) weight_2[run][k] = __float2half(weight[run][k]);
    }

    // for i in range(first, blocks):                                     flash_attention_tle.py:108
    Vector<__half, 2> weight_3[32];
    #pragma unroll
    for (int run = 0; run < 32; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            weight_3[run][k] = weight_2[run][k];
    Vector<float, 2> acc[32];
    #pragma unroll
    for (int run = 0; run < 32; ++run)
        #pragma unroll
        for (int k = 0; k < 2; ++k)
            acc[run][k] = 0.0f;
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
    for (int i = 1; i < blocks_2; ++i) {
        // score = tle.gpu.wgmma(query, k_reader.wait(i).slot.k, tran ...  flash_attention_tle.py:71
        const int stage = i & 1;
        const int lap = i >> 1;
        mbarrier_wait(&shared.keys_full[stage], lap & 1);
        Vector<float, 2> score_2[32];
        const Descriptor k_first_2 = wgmma_descriptor<128>(shared.k_ring[stage], 16, 1024);  // rows along K
        wgmma_fence();
        #pragma unroll
        for (int step = 0; step < 8; ++step) {
            unsigned query_part[4];  // rows of this warp
            #pragma unroll
            for (int piece = 0; piece < 4; ++piece)
                query_part[piece] = bit_cast<unsigned>(query[4 * step + piece]);
            wgmma_m64n128k16_f32_f16_a_registers(score_2, query_part, k_first_2 + step / 4 * 1024 + step % 4 * 2, step > 0);
        }
        wgmma_commit();

        // acc = tle.gpu.wgmma(weight, v_reader.wait(i - 1).slot.v, acc)   flash_attention_tle.py:72
        const int stage_2 = (i - 1) & 1;
        const int lap_2 = (i - 1) >> 1;
        mbarrier_wait(&shared.values_full[stage_2], lap_2 & 1);
        const Descriptor v_first = wgmma_descriptor<128>(shared.v_ring[stage_2], 16384, 1024);  // rows along N
        wgmma_fence();
        #pragma unroll
        for (int step = 0; step < 8; ++step) {
            unsigned weight_part[4];  // rows of this warp
            #pragma unroll
            for (int piece = 0; piece < 4; ++piece)
                weight_part[piece] = bit_cast<unsigned>(weight_3[4 * step + piece]);
            wgmma_m64n128k16_f32_f16_a_registers_b_along_n(acc, weight_part, v_first + 128 * step, true);
        }
        wgmma_commit();

        // score = tle.gpu.wgmma_wait(1, score)                            flash_attention_tle.py:73
        wgmma_wait<1>();
        // k_reader.release(i)                                             flash_attention_tle.py:74
        __syncwarp();
        if (thread % 32 == 0) mbarrier_arrive(&shared.keys_empty[stage]);

        // found = tl.max(score, 1) * scale                                flash_attention_tle.py:56
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
            const float found = score_max_2[run] * scale;

            // now = tl.where(found > largest + GROWTH, found, larges ...  flash_attention_tle.py:57
            now_2[run] = found > largest[run] + 8.0f ? found : largest[run];
        }
        Vector<float, 2> weight_4[32];
        #pragma unroll
        for (int run = 0; run < 32; ++run) {
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                // weight = tl.exp2(score * scale - shift[:, None])        flash_attention_tle.py:59
                weight_4[run][k] = exp2_approx(score_2[run][k] * scale - now_2[run % 2]);
            }
        }
        float share_2[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // share = tl.exp2(largest - shift)                            flash_attention_tle.py:60
            share_2[run] = exp2_approx(largest[run] - now_2[run]);
        }

        // sums = tl.sum(tl.reshape(weight, [BLOCK_M, BLOCK_N // 8, 8 ...  flash_attention_tle.py:61
        Vector<float, 2> sums_2[2];
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            sums_2[run / 2][run % 2] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 16; ++k)
                sums_2[run / 2][run % 2] += weight_4[run / 2 + 2 * k][run % 2];
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 2; ++k) {
                // return weight, total * share[:, None] + sums, now, ...  flash_attention_tle.py:62
                total_2[run][k] = total_2[run][k] * share_2[run] + sums_2[run][k];
            }
        }

        // acc = tle.gpu.wgmma_wait(0, acc)                                flash_attention_tle.py:78
        wgmma_wait<0>();

        // v_reader.release(i - 1)                                         flash_attention_tle.py:79
        __syncwarp();
        if (thread % 32 == 0) mbarrier_arrive(&shared.values_empty[stage_2]);
        #pragma unroll
        for (int run = 0; run < 32; ++run) {
            // return coming.to(dtype), acc * share[:, None], total, ...   flash_attention_tle.py:80
            #pragma unroll
            for (int k = 0; k < 2; ++k) weight_3[run][k] = __float2half(weight_4[run][k]);
        }

        // Factors of one change nothing: a warp that has no others goes on.
        if (__any_sync(0xffffffffu, share_2[0] != 1.0f || share_2[1] != 1.0f)) {
            #pragma unroll
            for (int run = 0; run < 32; ++run) {
                #pragma unroll
                for (int k = 0; k < 2; ++k) acc[run][k] = acc[run][k] * share_2[run % 2];
            }
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            largest[run] = now_2[run];
    }

    // acc = tle.gpu.wgmma_wait(0, tle.gpu.wgmma(weight, v_reader.wa ...  flash_attention_tle.py:113
    const int stage = (blocks_2 - 1) & 1;
    const int lap = (blocks_2 - 1) >> 1;
    mbarrier_wait(&shared.values_full[stage], lap & 1);
    const Descriptor v_first = wgmma_descriptor<128>(shared.v_ring[stage], 16384, 1024);  // rows along N
    wgmma_fence();
    #pragma unroll
    for (int step = 0; step < 8; ++step) {
        unsigned weight_part[4];  // rows of this warp
        #pragma unroll
        for (int piece = 0; piece < 4; ++piece)
            weight_part[piece] = bit_cast<unsigned>(weight_3[4 * step + piece]);
        wgmma_m64n128k16_f32_f16_a_registers_b_along_n(acc, weight_part, v_first + 128 * step, true);
    }
    wgmma_commit();
    wgmma_wait<0>();

    // v_reader.release(blocks - 1)                                       flash_attention_tle.py:114
    __syncwarp();
    if (thread % 32 == 0) mbarrier_arrive(&shared.values_empty[stage]);

    // total_of_row = tl.sum(total, 1)                                    flash_attention_tle.py:115
    float total_of_row[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        total_of_row[run] = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) total_of_row[run] += total_2[run][k];
        total_of_row[run] = lanes_all_reduce<3>(total_of_row[run], [](float a, float b) { return a + b; });
    }
    float share_2[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // share = 1.0 / total_of_row                                     flash_attention_tle.py:116
        share_2[run] = divide_approx(1.0f, total_of_row[run]);
    }
    Vector<__half, 2> q_tile_value[32];
    #pragma unroll
    for (int run = 0; run < 32; ++run) {
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            // tl.store(tle.gpu.local_ptr(q_tile), (acc * share[:, N ...  flash_attention_tle.py:117
            q_tile_value[run][k] = __float2half(acc[run][k] * share_2[run % 2]);
        }
    }
    #pragma unroll
    for (int part = 0; part < 8; ++part)
        store_matrices(&shared.q_tile[0][part / 4][thread / 32 * 16 + thread % 16][swizzled<128, 2>(thread % 8, part % 4 * 16 + thread / 16 % 2 * 8)], q_tile_value[4 * part], q_tile_value[4 * part + 1], q_tile_value[4 * part + 2], q_tile_value[4 * part + 3]);
    fence_async_proxy();  // shows what was written to `q_tile` to the copy engine
    default_warps_barrier();  // orders the stores to `q_tile` before the loads of it

    // tle.gpu.copy(q_tile, out, [1, 1, BLOCK_M, HEAD], [batch, head ...  flash_attention_tle.py:118
    if (thread == 0) {
        #pragma unroll
        for (int panel = 0; panel < 2; ++panel)
            tma_store_4d(&out_map, shared.q_tile[0][panel], panel * 64, block * 128, head, batch);
        tma_store_commit();
    }
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // rows = block * BLOCK_M + tl.arange(0, BLOCK_M)                  flash_attention_tle.py:89
        const int index = thread / 32 * 16 + thread / 4 % 8 + 8 * run;
        const int rows = block * 128 + index;
        // tl.store(lse + rows, (largest + tl.log2(total_of_row)) * ...   flash_attention_tle.py:119
        if ((thread & 3) == 0 && rows < length) *(lse + static_cast<long long>(batch) * stride_lb + static_cast<long long>(head) * stride_lh + rows) = (largest[run] + log2f(total_of_row[run])) * 0.6931472f;
    }
    if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `q_tile`
}
