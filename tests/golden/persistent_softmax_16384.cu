// softmax_of_long_rows.cu: emitted by tle2cuda from persistent_softmax.py:152 (softmax_of_long_rows). Do not edit.
//
//   target    sm_90a, 160 threads per CTA, 32896 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     softmax_packed on warps 0 to 3, fetch_rows on warp 4
//   args      out *fp16 align 16, rows i32, cols i32 divisible by 16,
//             out_stride i32 divisible by 16
//   maps      x_map of x: fp16, shape (rows, cols / 256, 256), strides (x_stride, 256, 1),
//             box (1, 64, 256)
//   constants PART = 16384, PARTS = 1, WIDTH = 256, STAGES = 1, PACKED = True

#include <cuda_fp16.h>

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

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

// Reduce across the lanes of a warp that differ in the bits of MASK; all of them receive the result. The value of the
// lower lane is always the first operand, so that every lane computes the same. Called by whole warps.
template <int MASK, typename T, typename Combine>
__device__ __forceinline__ T lanes_all_reduce_in_order(T value, Combine combine)
{
    if constexpr (MASK != 0) {
        constexpr int LOWEST = MASK & -MASK;
        const T other = shuffle_xor<LOWEST>(value);
        const bool is_upper = threadIdx.x & LOWEST;
        value = combine(is_upper ? other : value, is_upper ? value : other);
        value = lanes_all_reduce_in_order<MASK & (MASK - 1)>(value, combine);
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

// Reduce across the 32 lanes of a warp by a commutative function; every lane receives the result. Called by whole warps.
template <typename T, typename Combine>
__device__ __forceinline__ T warp_all_reduce(T value, Combine combine)
{
    #pragma unroll
    for (int lane_mask = 16; lane_mask > 0; lane_mask >>= 1)
        value = combine(value, static_cast<T>(__shfl_xor_sync(0xffffffffu, value, lane_mask)));
    return value;
}

// Reduce across the WARPS warps of a partition by a commutative function, through one shared slot per warp; every thread
// receives the result. Called by all threads of the partition, each with its number in it; they meet at `barrier` between
// writing and reading the slots, and have to meet again before the slots are written again.
template <int WARPS, typename T, typename Slot, typename Combine, typename Barrier>
__device__ __forceinline__ T partition_all_reduce(T value, Slot (&slots)[WARPS], Combine combine, int thread, Barrier barrier)
{
    value = warp_all_reduce(value, combine);
    if (thread % 32 == 0) slots[thread / 32] = value;
    barrier();
    value = slots[0];
    #pragma unroll
    for (int warp = 1; warp < WARPS; ++warp) value = combine(value, static_cast<T>(slots[warp]));
    return value;
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

// One box of the tensor map into shared memory, from element (c0, c1, c2) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_3d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2) : "memory");
}

// Barrier of the 128 threads of the default warps: hardware barrier 1.
__device__ __forceinline__ void default_warps_barrier() { named_barrier_sync(1, 128); }

// Shared memory of one CTA.
struct Shared {
    alignas(128) __half ring[1][64][256];     // persistent_softmax.py:165
    alignas(16) __half custom_slots[4];       // scratch of persistent_softmax.py:88
    alignas(16) float sum_slots[4];           // scratch of persistent_softmax.py:90
    alignas(8) Barrier parts_full;            // persistent_softmax.py:168
    alignas(8) Barrier parts_empty;           // persistent_softmax.py:168
};
static_assert(sizeof(Shared) <= 32896, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(160)
softmax_of_long_rows(__half* out, const int rows, const int cols, const int out_stride,
                     const __grid_constant__ TensorMap x_map)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        mbarrier_init(&shared.parts_full, 1);
        mbarrier_init(&shared.parts_empty, 128);
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {  // fetch_rows: warp 4
        if (threadIdx.x == 128) {  // the others have nothing to do
            // for row in range(tl.program_id(0), rows, tl.num_programs(0)):   persistent_rows.py:53
            const int pid_x = blockIdx.x;
            const int num_programs_x = gridDim.x;
            int place_lap = 0;
            for (int row = pid_x; row < rows; row += num_programs_x) {
                // slot = writer.acquire(place)                                persistent_rows.py:55
                mbarrier_wait(&shared.parts_empty, (place_lap + 1) & 1);
                // tle.gpu.copy(desc, slot.part, [PART // WIDTH, WIDTH], ...   persistent_rows.py:59
                mbarrier_expect_bytes(&shared.parts_full, 32768);
                tma_load_3d(shared.ring[0], &x_map, &shared.parts_full, 0, 0, row);
                // place = place.advance()                                     persistent_rows.py:61
                place_lap += 1;
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // softmax_packed: warps 0 to 3
    // for row in range(tl.program_id(0), rows, tl.num_programs(0)):        persistent_softmax.py:83
    const int pid_x = blockIdx.x;
    const int num_programs_x = gridDim.x;
    int place_lap = 0;
    for (int row = pid_x; row < rows; row += num_programs_x) {
        // arrived = load_part(reader.wait(place).slot, PART)               persistent_softmax.py:84
        mbarrier_wait(&shared.parts_full, place_lap & 1);
        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:104
        __half* const view = &shared.ring[0][0][0];
        Vector<__half, 8> arrived[16];

        // tile [16384]: element = 8 * thread + 1024 * run + k;  run < 16, k < 8
        #pragma unroll
        for (int run = 0; run < 16; ++run) {
            arrived[run] = load_vector<8>(&view[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                            persistent_softmax.py:85
        mbarrier_arrive(&shared.parts_empty);

        // place = place.advance()                                          persistent_softmax.py:86
        place_lap += 1;
        Vector<__half, 8> logits[16];
        #pragma unroll
        for (int run = 0; run < 16; ++run) {
            // col = tl.arange(0, PART)                                     persistent_softmax.py:81
            const int col = 8 * thread + 1024 * run;

            // logits = tl.where(col < cols, arrived, -float("inf"))        persistent_softmax.py:87
            const bool inside = col < cols;
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                logits[run][k] = inside ? arrived[run][k] : __float2half(-infinity());
            }
        }

        // peak = tl.reduce(logits, 0, larger).to(tl.float32)               persistent_softmax.py:88
        const auto combine = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        __half logits_combined = logits[0][0];
        #pragma unroll
        for (int k = 1; k < 128; ++k)
            logits_combined = combine(logits_combined, logits[k / 8][k % 8]);
        logits_combined = lanes_all_reduce_in_order<31>(logits_combined, combine);
        if (thread % 32 == 0) shared.custom_slots[thread / 32] = logits_combined;
        default_warps_barrier();  // the partial results of all warps are in their slots
        logits_combined = shared.custom_slots[0];
        #pragma unroll
        for (int part = 1; part < 4; ++part)
            logits_combined = combine(logits_combined, shared.custom_slots[part]);
        const float peak = __half2float(logits_combined);

        // total_log2 = tl.log2(tl.sum(tl.exp2(relative * LOG2_E), axi ...  persistent_softmax.py:90
        float sum = 0.0f;
        #pragma unroll
        for (int run = 0; run < 16; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // relative = logits.to(tl.float32) - peak                                  persistent_softmax.py:89
                const float relative = __half2float(logits[run][k]) - peak;
                sum += exp2_approx(relative * 1.442695f);
            }
        }
        sum = partition_all_reduce(sum, shared.sum_slots, [](float a, float b) { return a + b; }, thread, default_warps_barrier);
        const float total_log2 = log2f(sum);
        #pragma unroll
        for (int run = 0; run < 16; ++run) {
            // tl.store(out + row.to(tl.int64) * out_stride + col, wei ...  persistent_softmax.py:93
            Vector<__half, 8> out_value;
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // negated = peak + (-logits).to(tl.float32)                persistent_softmax.py:91
                const float negated = peak + __half2float(__float2half(0.0f) - logits[run][k]);
                // weight = tl.exp2(negated * -LOG2_E - total_log2)         persistent_softmax.py:92
                const float weight = exp2_approx(negated * -1.442695f - total_log2);
                out_value[k] = __float2half(weight);
            }

            // col = tl.arange(0, PART)                                     persistent_softmax.py:81
            const int col = 8 * thread + 1024 * run;
            // logits = tl.where(col < cols, arrived, -float("inf"))        persistent_softmax.py:87
            const bool inside = col < cols;
            // tl.store(out + row.to(tl.int64) * out_stride + col, wei ...  persistent_softmax.py:93
            store_vector_if<uint4>(inside, out + static_cast<long long>(row) * out_stride + col, out_value);
        }
    }
}
