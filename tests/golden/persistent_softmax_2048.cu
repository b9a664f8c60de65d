// persistent_softmax.cu: emitted by tle2cuda from persistent_softmax.py:161 (persistent_softmax). Do not edit.
//
//   target    sm_90a, 160 threads per CTA, 8320 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     softmax_of_claimed on warps 0 to 3, fetch_claimed_rows on warp 4
//   args      out *fp16 align 16, claims *i32 align 16, rows i32, cols i32 divisible by 16,
//             out_stride i32 divisible by 16
//   maps      x_map of x: fp16, shape (rows, cols / 256, 256), strides (x_stride, 256, 1),
//             box (1, 8, 256)
//   constants PART = 2048, WIDTH = 256, STAGES = 2, CLAIM = 2

#include <cuda_fp16.h>

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

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
    alignas(128) __half ring[2][8][256];      // persistent_softmax.py:175
    alignas(16) int numbers[2][1];            // persistent_softmax.py:178
    alignas(16) float max_slots[4];           // scratch of persistent_softmax.py:64
    alignas(16) float sum_slots[4];           // scratch of persistent_softmax.py:65
    alignas(16) int following_broadcast[1];   // scratch of persistent_rows.py:105
    alignas(8) Barrier claimed_full[2];       // persistent_softmax.py:179
    alignas(8) Barrier claimed_empty[2];      // persistent_softmax.py:179
};
static_assert(sizeof(Shared) <= 8320, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(160)
persistent_softmax(__half* out, int* claims, const int rows, const int cols, const int out_stride,
                   const __grid_constant__ TensorMap x_map)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.claimed_full[stage], 32);
            mbarrier_init(&shared.claimed_empty[stage], 128);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {  // fetch_claimed_rows: warp 4
        const int thread = threadIdx.x - 128;
        unsigned claimed_filled = 0;

        // last = tl.cdiv(rows, CLAIM) - 1                                     persistent_rows.py:92
        const int last = (rows + 1) / 2 - 1;
        // claim = tl.program_id(0)                                            persistent_rows.py:93
        const int claim = blockIdx.x;
        // claim = tl.num_programs(0) + following                             persistent_rows.py:108
        const int num_programs_x = gridDim.x;

        // while claim <= last:                                                persistent_rows.py:94
        int place_stage = 0;
        int place_lap = 0;
        int claim_2 = claim;
        while (claim_2 <= last) {
            // for row in range(claim * CLAIM, tl.minimum(claim * CLAIM + ...  persistent_rows.py:95
            int place_stage_2 = place_stage;
            int place_lap_2 = place_lap;
            for (int row = claim_2 * 2; row < min(claim_2 * 2 + 2, rows); ++row) {
                // slot = writer.acquire(place)                                persistent_rows.py:97
                mbarrier_wait(&shared.claimed_empty[place_stage_2], (place_lap_2 + 1) & 1);
                // tl.store(tle.gpu.local_ptr(slot.number, (0,)), row)         persistent_rows.py:98
                if (thread == 0) shared.numbers[place_stage_2][0] = row;

                // tle.gpu.copy(desc, slot.part, [PART // WIDTH, WIDTH], ...  persistent_rows.py:102
                if (thread == 0) {
                    mbarrier_add_bytes(&shared.claimed_full[place_stage_2], 4096);
                    tma_load_3d(shared.ring[place_stage_2], &x_map, &shared.claimed_full[place_stage_2], 0, 0, row);
                }

                // writer.commit(place)                                       persistent_rows.py:103
                claimed_filled ^= 1u << place_stage_2;
                mbarrier_arrive(&shared.claimed_full[place_stage_2]);
                // place = place.advance()                                    persistent_rows.py:104
                place_lap_2 += static_cast<int>(place_stage_2 + 1 == 2);
                place_stage_2 = place_stage_2 + 1 == 2 ? 0 : place_stage_2 + 1;
            }
            __syncwarp();  // orders the loads of the scratch `following_broadcast` before the stores to it

            // following = tl.atomic_add(claims, 1, sem="relaxed")  # wh ...  persistent_rows.py:105
            if (thread == 0) shared.following_broadcast[0] = atomicAdd(claims, 1);
            __syncwarp();  // every thread reads the value that one thread obtained
            const int following = shared.following_broadcast[0];

            // if following == last:                                          persistent_rows.py:106
            if (following == last) {
                // tl.store(claims, 0)                                        persistent_rows.py:107
                if (thread == 0) *claims = 0;
            }

            // claim = tl.num_programs(0) + following                         persistent_rows.py:108
            claim_2 = num_programs_x + following;
            place_stage = place_stage_2;
            place_lap = place_lap_2;
        }

        // slot = writer.acquire(place)                                       persistent_rows.py:109
        mbarrier_wait(&shared.claimed_empty[place_stage], (place_lap + 1) & 1);
        // tl.store(tle.gpu.local_ptr(slot.number, (0,)), rows)               persistent_rows.py:110
        if (thread == 0) shared.numbers[place_stage][0] = rows;
        // writer.commit(place)                                               persistent_rows.py:111
        claimed_filled ^= 1u << place_stage;
        mbarrier_arrive(&shared.claimed_full[place_stage]);

        // What nobody waited for lands before the CTA may exit.
        if (thread == 0) {
            for (int stage = 0; stage < 2; ++stage) mbarrier_wait(&shared.claimed_full[stage], ~claimed_filled >> stage & 1);
        }
        return;
    }

    const int thread = threadIdx.x;

    // softmax_of_claimed: warps 0 to 3
    // row = claimed_number(reader.wait(place).slot)                        persistent_softmax.py:55
    mbarrier_wait(&shared.claimed_full[0], 0);
    // return tl.load(tle.gpu.local_ptr(slot.number, (0,)))                   persistent_rows.py:116
    const int row = shared.numbers[0][0];

    // while row < rows:                                                    persistent_softmax.py:56
    int place_stage = 0;
    int place_lap = 0;
    int row_2 = row;
    while (row_2 < rows) {
        // logits = load_part(reader.wait(place).slot, PART).to(tl.flo ...  persistent_softmax.py:57
        mbarrier_wait(&shared.claimed_full[place_stage], place_lap & 1);
        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view = shared.ring[place_stage][0];
        Vector<float, 8> logits[2];

        // tile [2048]: element = 8 * thread + 1024 * run + k;  run < 2, k < 8
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            const Vector<__half, 8> ring_value = load_vector<8>(&view[8 * thread + 1024 * run]);

            // logits = load_part(reader.wait(place).slot, PART).to(tl ...  persistent_softmax.py:57
            #pragma unroll
            for (int k = 0; k < 8; ++k) logits[run][k] = __half2float(ring_value[k]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                            persistent_softmax.py:58
        mbarrier_arrive(&shared.claimed_empty[place_stage]);

        // place = place.advance()                                          persistent_softmax.py:59
        const int place_stage_2 = place_stage + 1 == 2 ? 0 : place_stage + 1;
        place_lap += static_cast<int>(place_stage + 1 == 2);
        Vector<float, 8> logits_2[2];
        Vector<float, 8> product[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // col = tl.arange(0, PART)                                     persistent_softmax.py:53
            const int col = 8 * thread + 1024 * run;

            // logits = tl.where(col < cols, logits, -float("inf"))         persistent_softmax.py:60
            const bool inside = col < cols;
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                logits_2[run][k] = inside ? logits[run][k] : -infinity();

                // weight = tl.exp2(logits * LOG2_E - tl.max(logits, a ...  persistent_softmax.py:64
                product[run][k] = logits_2[run][k] * 1.442695f;
            }
        }

        // weight = tl.exp2(logits * LOG2_E - tl.max(logits, axis=0) * ...  persistent_softmax.py:64
        float logits_max = logits_2[0][0];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) logits_max = fmaxf(logits_max, logits_2[run][k]);
        }
        logits_max = partition_all_reduce(logits_max, shared.max_slots, [](float a, float b) { return fmaxf(a, b); }, thread, default_warps_barrier);
        Vector<float, 8> weight[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                weight[run][k] = exp2_approx(product[run][k] - logits_max * 1.442695f);
            }
        }

        // scale = 1.0 / tl.sum(weight, axis=0)                             persistent_softmax.py:65
        float weight_sum = 0.0f;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) weight_sum += weight[run][k];
        }
        weight_sum = partition_all_reduce(weight_sum, shared.sum_slots, [](float a, float b) { return a + b; }, thread, default_warps_barrier);
        const float scale = divide_approx(1.0f, weight_sum);
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // tl.store(out + row.to(tl.int64) * out_stride + col, wei ...  persistent_softmax.py:66
            Vector<__half, 8> out_value;
            #pragma unroll
            for (int k = 0; k < 8; ++k) out_value[k] = __float2half(weight[run][k] * scale);

            // col = tl.arange(0, PART)                                     persistent_softmax.py:53
            const int col = 8 * thread + 1024 * run;
            // logits = tl.where(col < cols, logits, -float("inf"))         persistent_softmax.py:60
            const bool inside = col < cols;
            // tl.store(out + row.to(tl.int64) * out_stride + col, wei ...  persistent_softmax.py:66
            store_vector_if<uint4>(inside, out + static_cast<long long>(row_2) * out_stride + col, out_value);
        }
        // row = claimed_number(reader.wait(place).slot)                    persistent_softmax.py:67
        mbarrier_wait(&shared.claimed_full[place_stage_2], place_lap & 1);

        // return tl.load(tle.gpu.local_ptr(slot.number, (0,)))               persistent_rows.py:116
        const int row_3 = shared.numbers[place_stage_2][0];
        place_stage = place_stage_2;
        row_2 = row_3;
    }
}
