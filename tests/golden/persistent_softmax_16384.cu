// softmax_of_packed_rows.cu: emitted by tle2cuda from persistent_softmax.py:186 (softmax_of_packed_rows). Do not edit.
//
//   target    sm_90a, 160 threads per CTA, 53632 bytes of shared memory
//   launch    grid of CTAs, one for each program; 53632 bytes of dynamic shared memory
//   warps     softmax_packed on warps 0 to 3, fetch_claimed_rows on warp 4
//   args      out *fp16 align 16, claims *i32 align 16, rows i32, cols i32 divisible by 16,
//             out_stride i32 divisible by 16
//   maps      x_map of x: fp16, shape (rows, cols / 256, 256), strides (x_stride, 256, 1),
//             box (1, 8, 256)
//   constants PART = 2048, PARTS = 8, WIDTH = 256, STAGES = 13, CLAIM = 1, THREADS = 128,
//             VECTOR = 8, REGISTERS = 0

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

// Store 16 bytes of global memory as one access (PTX ISA, st.global).
__device__ __forceinline__ void store_bits(uint4* pointer, uint4 bits)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" :: "l"(pointer), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
}

// Store 16 bytes of global memory if a condition holds: one predicated access (PTX ISA, st.global), around which nothing
// branches.
__device__ __forceinline__ void store_bits_if(bool condition, uint4* pointer, uint4 bits)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %1, 0;\n\t@p st.global.v4.u32 [%0], {%2, %3, %4, %5};\n\t}"
        :: "l"(pointer), "r"(static_cast<int>(condition)), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
}

// Store N neighbours of less than 4 bytes in global memory, in words of type Bits: elements, the compiler may write apart.
// Called by each thread for itself.
template <typename Bits, int N, typename T>
__device__ __forceinline__ void store_narrow(T* pointer, const Vector<T, N>& value)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(value) / sizeof(Bits)); ++i) {
        Bits bits;
        memcpy(&bits, reinterpret_cast<const unsigned char*>(&value) + i * sizeof(Bits), sizeof(Bits));
        store_bits(reinterpret_cast<Bits*>(pointer) + i, bits);
    }
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
    alignas(128) __half ring[13][8][256];     // persistent_softmax.py:204
    alignas(16) int numbers[13][1];           // persistent_softmax.py:207
    alignas(16) float row_peak_slots[4];      // scratch of persistent_softmax.py:116
    alignas(16) float sum_slots[4];           // scratch of persistent_softmax.py:117
    alignas(16) int following_broadcast[1];   // scratch of persistent_rows.py:105
    alignas(8) Barrier claimed_full[13];      // persistent_softmax.py:208
    alignas(8) Barrier claimed_empty[13];     // persistent_softmax.py:208
};
static_assert(sizeof(Shared) <= 53632, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(160)
softmax_of_packed_rows(__half* out, int* claims, const int rows, const int cols,
                       const int out_stride, const __grid_constant__ TensorMap x_map)
{
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 13; ++stage) {
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
        const int last = rows - 1;
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
            for (int row = claim_2; row < min(claim_2 + 1, rows); ++row) {
                // for part in range(PARTS):                                   persistent_rows.py:96
                int place_stage_3 = place_stage_2;
                int place_lap_3 = place_lap_2;
                for (int part = 0; part < 8; ++part) {
                    // slot = writer.acquire(place)                            persistent_rows.py:97
                    mbarrier_wait(&shared.claimed_empty[place_stage_3], (place_lap_3 + 1) & 1);
                    // tl.store(tle.gpu.local_ptr(slot.number, (0,)), row)     persistent_rows.py:98
                    if (thread == 0) shared.numbers[place_stage_3][0] = row;

                    // tle.gpu.copy(desc, slot.part, [PART // WIDTH, WID ...  persistent_rows.py:102
                    if (thread == 0) {
                        mbarrier_add_bytes(&shared.claimed_full[place_stage_3], 4096);
                        tma_load_3d(shared.ring[place_stage_3], &x_map, &shared.claimed_full[place_stage_3], 0, part * 8, row);
                    }

                    // writer.commit(place)                                   persistent_rows.py:103
                    claimed_filled ^= 1u << place_stage_3;
                    mbarrier_arrive(&shared.claimed_full[place_stage_3]);
                    // place = place.advance()                                persistent_rows.py:104
                    place_lap_3 += static_cast<int>(place_stage_3 + 1 == 13);
                    place_stage_3 = place_stage_3 + 1 == 13 ? 0 : place_stage_3 + 1;
                }
                place_stage_2 = place_stage_3;
                place_lap_2 = place_lap_3;
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
            for (int stage = 0; stage < 13; ++stage) mbarrier_wait(&shared.claimed_full[stage], ~claimed_filled >> stage & 1);
        }
        return;
    }

    const int thread = threadIdx.x;

    // softmax_packed: warps 0 to 3
    // row = claimed_number(reader.wait(place).slot)                        persistent_softmax.py:96
    mbarrier_wait(&shared.claimed_full[0], 0);
    // return tl.load(tle.gpu.local_ptr(slot.number, (0,)))                   persistent_rows.py:116
    const int row = shared.numbers[0][0];

    // while row < rows:                                                    persistent_softmax.py:97
    int place_stage = 0;
    int place_lap = 0;
    int row_2 = row;
    while (row_2 < rows) {
        // arrived = load_part(reader.wait(place).slot, PART)              persistent_softmax.py:102
        mbarrier_wait(&shared.claimed_full[place_stage], place_lap & 1);
        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view = shared.ring[place_stage][0];
        Vector<__half, 8> arrived[2];

        // tile [2048]: element = 8 * thread + 1024 * run + k;  run < 2, k < 8
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived[run] = load_vector<8>(&view[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_softmax.py:103
        mbarrier_arrive(&shared.claimed_empty[place_stage]);
        // place = place.advance()                                         persistent_softmax.py:104
        const int place_stage_2 = place_stage + 1 == 13 ? 0 : place_stage + 1;
        const int place_lap_2 = place_lap + static_cast<int>(place_stage + 1 == 13);

        // highest = tl.reduce(tl.reduce(logits, 2, larger), 0, large ...  persistent_softmax.py:109
        const auto combine = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        Vector<__half, 2> logits_combined;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            logits_combined[run] = arrived[run][0];
            #pragma unroll
            for (int k = 1; k < 8; ++k)
                logits_combined[run] = combine(logits_combined[run], arrived[run][k]);
        }
        const auto combine_2 = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        __half combined = logits_combined[0];
        #pragma unroll
        for (int k = 1; k < 2; ++k) combined = combine_2(combined, logits_combined[k]);
        const float highest = __half2float(combined);

        // peak = tl.maximum(before, highest * LOG2_E)                     persistent_softmax.py:110
        const float peak = fmaxf(-infinity(), highest * 1.442695f);
        // base = tl.where(peak == -float("inf"), 0.0, peak)               persistent_softmax.py:111
        const float base = peak == -infinity() ? 0.0f : peak;
        Vector<float, 8> weight[2];

        // tile [2, 128, 8]: index 0 = run, index 1 = thread, index 2 = k;  run < 2, k < 8
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // weight = tl.exp2(logits.to(tl.float32) * LOG2_E - ...   persistent_softmax.py:112
                weight[run][k] = exp2_approx(__half2float(arrived[run][k]) * 1.442695f - base);
            }
        }

        // total = total * tl.exp2(before - base) + tl.sum(tl.sum(wei ...  persistent_softmax.py:113
        Vector<float, 2> weight_sum;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            weight_sum[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) weight_sum[run] += weight[run][k];
        }
        float sum = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum += weight_sum[k];
        Vector<__half, 8> held_0[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // held = held + (weight.to(arrived.dtype),)                   persistent_softmax.py:115
            #pragma unroll
            for (int k = 0; k < 8; ++k) held_0[run][k] = __float2half(weight[run][k]);
        }

        // arrived = load_part(reader.wait(place).slot, PART)              persistent_softmax.py:102
        mbarrier_wait(&shared.claimed_full[place_stage_2], place_lap_2 & 1);

        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view_2 = shared.ring[place_stage_2][0];
        Vector<__half, 8> arrived_2[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived_2[run] = load_vector<8>(&view_2[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_softmax.py:103
        mbarrier_arrive(&shared.claimed_empty[place_stage_2]);
        // place = place.advance()                                         persistent_softmax.py:104
        const int place_stage_3 = place_stage_2 + 1 == 13 ? 0 : place_stage_2 + 1;
        const int place_lap_3 = place_lap_2 + static_cast<int>(place_stage_2 + 1 == 13);

        // highest = tl.reduce(tl.reduce(logits, 2, larger), 0, large ...  persistent_softmax.py:109
        const auto combine_3 = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        Vector<__half, 2> logits_combined_2;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            logits_combined_2[run] = arrived_2[run][0];
            #pragma unroll
            for (int k = 1; k < 8; ++k)
                logits_combined_2[run] = combine_3(logits_combined_2[run], arrived_2[run][k]);
        }
        const auto combine_4 = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        __half combined_2 = logits_combined_2[0];
        #pragma unroll
        for (int k = 1; k < 2; ++k) combined_2 = combine_4(combined_2, logits_combined_2[k]);
        const float highest_2 = __half2float(combined_2);

        // peak = tl.maximum(before, highest * LOG2_E)                     persistent_softmax.py:110
        const float peak_2 = fmaxf(peak, highest_2 * 1.442695f);

        // base = tl.where(peak == -float("inf"), 0.0, peak)               persistent_softmax.py:111
        const float base_2 = peak_2 == -infinity() ? 0.0f : peak_2;
        Vector<float, 8> weight_2[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // weight = tl.exp2(logits.to(tl.float32) * LOG2_E - ...   persistent_softmax.py:112
                weight_2[run][k] = exp2_approx(__half2float(arrived_2[run][k]) * 1.442695f - base_2);
            }
        }

        // total = total * tl.exp2(before - base) + tl.sum(tl.sum(wei ...  persistent_softmax.py:113
        Vector<float, 2> weight_sum_2;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            weight_sum_2[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) weight_sum_2[run] += weight_2[run][k];
        }
        float sum_2 = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum_2 += weight_sum_2[k];
        Vector<__half, 8> held_1[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // held = held + (weight.to(arrived.dtype),)                   persistent_softmax.py:115
            #pragma unroll
            for (int k = 0; k < 8; ++k) held_1[run][k] = __float2half(weight_2[run][k]);
        }

        // arrived = load_part(reader.wait(place).slot, PART)              persistent_softmax.py:102
        mbarrier_wait(&shared.claimed_full[place_stage_3], place_lap_3 & 1);

        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view_3 = shared.ring[place_stage_3][0];
        Vector<__half, 8> arrived_3[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived_3[run] = load_vector<8>(&view_3[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_softmax.py:103
        mbarrier_arrive(&shared.claimed_empty[place_stage_3]);
        // place = place.advance()                                         persistent_softmax.py:104
        const int place_stage_4 = place_stage_3 + 1 == 13 ? 0 : place_stage_3 + 1;
        const int place_lap_4 = place_lap_3 + static_cast<int>(place_stage_3 + 1 == 13);

        // highest = tl.reduce(tl.reduce(logits, 2, larger), 0, large ...  persistent_softmax.py:109
        const auto combine_5 = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        Vector<__half, 2> logits_combined_3;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            logits_combined_3[run] = arrived_3[run][0];
            #pragma unroll
            for (int k = 1; k < 8; ++k)
                logits_combined_3[run] = combine_5(logits_combined_3[run], arrived_3[run][k]);
        }
        const auto combine_6 = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        __half combined_3 = logits_combined_3[0];
        #pragma unroll
        for (int k = 1; k < 2; ++k) combined_3 = combine_6(combined_3, logits_combined_3[k]);
        const float highest_3 = __half2float(combined_3);

        // peak = tl.maximum(before, highest * LOG2_E)                     persistent_softmax.py:110
        const float peak_3 = fmaxf(peak_2, highest_3 * 1.442695f);

        // base = tl.where(peak == -float("inf"), 0.0, peak)               persistent_softmax.py:111
        const float base_3 = peak_3 == -infinity() ? 0.0f : peak_3;
        Vector<float, 8> weight_3[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // weight = tl.exp2(logits.to(tl.float32) * LOG2_E - ...   persistent_softmax.py:112
                weight_3[run][k] = exp2_approx(__half2float(arrived_3[run][k]) * 1.442695f - base_3);
            }
        }

        // total = total * tl.exp2(before - base) + tl.sum(tl.sum(wei ...  persistent_softmax.py:113
        Vector<float, 2> weight_sum_3;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            weight_sum_3[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) weight_sum_3[run] += weight_3[run][k];
        }
        float sum_3 = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum_3 += weight_sum_3[k];
        Vector<__half, 8> held_2[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // held = held + (weight.to(arrived.dtype),)                   persistent_softmax.py:115
            #pragma unroll
            for (int k = 0; k < 8; ++k) held_2[run][k] = __float2half(weight_3[run][k]);
        }

        // arrived = load_part(reader.wait(place).slot, PART)              persistent_softmax.py:102
        mbarrier_wait(&shared.claimed_full[place_stage_4], place_lap_4 & 1);

        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view_4 = shared.ring[place_stage_4][0];
        Vector<__half, 8> arrived_4[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived_4[run] = load_vector<8>(&view_4[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_softmax.py:103
        mbarrier_arrive(&shared.claimed_empty[place_stage_4]);
        // place = place.advance()                                         persistent_softmax.py:104
        const int place_stage_5 = place_stage_4 + 1 == 13 ? 0 : place_stage_4 + 1;
        const int place_lap_5 = place_lap_4 + static_cast<int>(place_stage_4 + 1 == 13);

        // highest = tl.reduce(tl.reduce(logits, 2, larger), 0, large ...  persistent_softmax.py:109
        const auto combine_7 = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        Vector<__half, 2> logits_combined_4;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            logits_combined_4[run] = arrived_4[run][0];
            #pragma unroll
            for (int k = 1; k < 8; ++k)
                logits_combined_4[run] = combine_7(logits_combined_4[run], arrived_4[run][k]);
        }
        const auto combine_8 = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        __half combined_4 = logits_combined_4[0];
        #pragma unroll
        for (int k = 1; k < 2; ++k) combined_4 = combine_8(combined_4, logits_combined_4[k]);
        const float highest_4 = __half2float(combined_4);

        // peak = tl.maximum(before, highest * LOG2_E)                     persistent_softmax.py:110
        const float peak_4 = fmaxf(peak_3, highest_4 * 1.442695f);

        // base = tl.where(peak == -float("inf"), 0.0, peak)               persistent_softmax.py:111
        const float base_4 = peak_4 == -infinity() ? 0.0f : peak_4;
        Vector<float, 8> weight_4[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // weight = tl.exp2(logits.to(tl.float32) * LOG2_E - ...   persistent_softmax.py:112
                weight_4[run][k] = exp2_approx(__half2float(arrived_4[run][k]) * 1.442695f - base_4);
            }
        }

        // total = total * tl.exp2(before - base) + tl.sum(tl.sum(wei ...  persistent_softmax.py:113
        Vector<float, 2> weight_sum_4;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            weight_sum_4[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) weight_sum_4[run] += weight_4[run][k];
        }
        float sum_4 = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum_4 += weight_sum_4[k];
        Vector<__half, 8> held_3[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // held = held + (weight.to(arrived.dtype),)                   persistent_softmax.py:115
            #pragma unroll
            for (int k = 0; k < 8; ++k) held_3[run][k] = __float2half(weight_4[run][k]);
        }

        // arrived = load_part(reader.wait(place).slot, PART)              persistent_softmax.py:102
        mbarrier_wait(&shared.claimed_full[place_stage_5], place_lap_5 & 1);

        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view_5 = shared.ring[place_stage_5][0];
        Vector<__half, 8> arrived_5[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived_5[run] = load_vector<8>(&view_5[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_softmax.py:103
        mbarrier_arrive(&shared.claimed_empty[place_stage_5]);
        // place = place.advance()                                         persistent_softmax.py:104
        const int place_stage_6 = place_stage_5 + 1 == 13 ? 0 : place_stage_5 + 1;
        const int place_lap_6 = place_lap_5 + static_cast<int>(place_stage_5 + 1 == 13);

        // highest = tl.reduce(tl.reduce(logits, 2, larger), 0, large ...  persistent_softmax.py:109
        const auto combine_9 = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        Vector<__half, 2> logits_combined_5;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            logits_combined_5[run] = arrived_5[run][0];
            #pragma unroll
            for (int k = 1; k < 8; ++k)
                logits_combined_5[run] = combine_9(logits_combined_5[run], arrived_5[run][k]);
        }
        const auto combine_10 = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        __half combined_5 = logits_combined_5[0];
        #pragma unroll
        for (int k = 1; k < 2; ++k) combined_5 = combine_10(combined_5, logits_combined_5[k]);
        const float highest_5 = __half2float(combined_5);

        // peak = tl.maximum(before, highest * LOG2_E)                     persistent_softmax.py:110
        const float peak_5 = fmaxf(peak_4, highest_5 * 1.442695f);

        // base = tl.where(peak == -float("inf"), 0.0, peak)               persistent_softmax.py:111
        const float base_5 = peak_5 == -infinity() ? 0.0f : peak_5;
        Vector<float, 8> weight_5[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // weight = tl.exp2(logits.to(tl.float32) * LOG2_E - ...   persistent_softmax.py:112
                weight_5[run][k] = exp2_approx(__half2float(arrived_5[run][k]) * 1.442695f - base_5);
            }
        }

        // total = total * tl.exp2(before - base) + tl.sum(tl.sum(wei ...  persistent_softmax.py:113
        Vector<float, 2> weight_sum_5;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            weight_sum_5[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) weight_sum_5[run] += weight_5[run][k];
        }
        float sum_5 = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum_5 += weight_sum_5[k];
        Vector<__half, 8> held_4[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // held = held + (weight.to(arrived.dtype),)                   persistent_softmax.py:115
            #pragma unroll
            for (int k = 0; k < 8; ++k) held_4[run][k] = __float2half(weight_5[run][k]);
        }

        // arrived = load_part(reader.wait(place).slot, PART)              persistent_softmax.py:102
        mbarrier_wait(&shared.claimed_full[place_stage_6], place_lap_6 & 1);

        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view_6 = shared.ring[place_stage_6][0];
        Vector<__half, 8> arrived_6[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived_6[run] = load_vector<8>(&view_6[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_softmax.py:103
        mbarrier_arrive(&shared.claimed_empty[place_stage_6]);
        // place = place.advance()                                         persistent_softmax.py:104
        const int place_stage_7 = place_stage_6 + 1 == 13 ? 0 : place_stage_6 + 1;
        const int place_lap_7 = place_lap_6 + static_cast<int>(place_stage_6 + 1 == 13);

        // highest = tl.reduce(tl.reduce(logits, 2, larger), 0, large ...  persistent_softmax.py:109
        const auto combine_11 = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        Vector<__half, 2> logits_combined_6;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            logits_combined_6[run] = arrived_6[run][0];
            #pragma unroll
            for (int k = 1; k < 8; ++k)
                logits_combined_6[run] = combine_11(logits_combined_6[run], arrived_6[run][k]);
        }
        const auto combine_12 = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        __half combined_6 = logits_combined_6[0];
        #pragma unroll
        for (int k = 1; k < 2; ++k) combined_6 = combine_12(combined_6, logits_combined_6[k]);
        const float highest_6 = __half2float(combined_6);

        // peak = tl.maximum(before, highest * LOG2_E)                     persistent_softmax.py:110
        const float peak_6 = fmaxf(peak_5, highest_6 * 1.442695f);

        // base = tl.where(peak == -float("inf"), 0.0, peak)               persistent_softmax.py:111
        const float base_6 = peak_6 == -infinity() ? 0.0f : peak_6;
        Vector<float, 8> weight_6[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // weight = tl.exp2(logits.to(tl.float32) * LOG2_E - ...   persistent_softmax.py:112
                weight_6[run][k] = exp2_approx(__half2float(arrived_6[run][k]) * 1.442695f - base_6);
            }
        }

        // total = total * tl.exp2(before - base) + tl.sum(tl.sum(wei ...  persistent_softmax.py:113
        Vector<float, 2> weight_sum_6;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            weight_sum_6[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) weight_sum_6[run] += weight_6[run][k];
        }
        float sum_6 = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum_6 += weight_sum_6[k];
        Vector<__half, 8> held_5[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // held = held + (weight.to(arrived.dtype),)                   persistent_softmax.py:115
            #pragma unroll
            for (int k = 0; k < 8; ++k) held_5[run][k] = __float2half(weight_6[run][k]);
        }

        // arrived = load_part(reader.wait(place).slot, PART)              persistent_softmax.py:102
        mbarrier_wait(&shared.claimed_full[place_stage_7], place_lap_7 & 1);

        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view_7 = shared.ring[place_stage_7][0];
        Vector<__half, 8> arrived_7[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived_7[run] = load_vector<8>(&view_7[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_softmax.py:103
        mbarrier_arrive(&shared.claimed_empty[place_stage_7]);
        // place = place.advance()                                         persistent_softmax.py:104
        const int place_stage_8 = place_stage_7 + 1 == 13 ? 0 : place_stage_7 + 1;
        const int place_lap_8 = place_lap_7 + static_cast<int>(place_stage_7 + 1 == 13);

        // highest = tl.reduce(tl.reduce(logits, 2, larger), 0, large ...  persistent_softmax.py:109
        const auto combine_13 = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        Vector<__half, 2> logits_combined_7;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            logits_combined_7[run] = arrived_7[run][0];
            #pragma unroll
            for (int k = 1; k < 8; ++k)
                logits_combined_7[run] = combine_13(logits_combined_7[run], arrived_7[run][k]);
        }
        const auto combine_14 = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        __half combined_7 = logits_combined_7[0];
        #pragma unroll
        for (int k = 1; k < 2; ++k) combined_7 = combine_14(combined_7, logits_combined_7[k]);
        const float highest_7 = __half2float(combined_7);

        // peak = tl.maximum(before, highest * LOG2_E)                     persistent_softmax.py:110
        const float peak_7 = fmaxf(peak_6, highest_7 * 1.442695f);

        // base = tl.where(peak == -float("inf"), 0.0, peak)               persistent_softmax.py:111
        const float base_7 = peak_7 == -infinity() ? 0.0f : peak_7;
        Vector<float, 8> weight_7[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // weight = tl.exp2(logits.to(tl.float32) * LOG2_E - ...   persistent_softmax.py:112
                weight_7[run][k] = exp2_approx(__half2float(arrived_7[run][k]) * 1.442695f - base_7);
            }
        }

        // total = total * tl.exp2(before - base) + tl.sum(tl.sum(wei ...  persistent_softmax.py:113
        Vector<float, 2> weight_sum_7;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            weight_sum_7[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) weight_sum_7[run] += weight_7[run][k];
        }
        float sum_7 = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum_7 += weight_sum_7[k];
        Vector<__half, 8> held_6[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // held = held + (weight.to(arrived.dtype),)                   persistent_softmax.py:115
            #pragma unroll
            for (int k = 0; k < 8; ++k) held_6[run][k] = __float2half(weight_7[run][k]);
        }

        // arrived = load_part(reader.wait(place).slot, PART)              persistent_softmax.py:102
        mbarrier_wait(&shared.claimed_full[place_stage_8], place_lap_8 & 1);

        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view_8 = shared.ring[place_stage_8][0];
        Vector<__half, 8> arrived_8[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived_8[run] = load_vector<8>(&view_8[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_softmax.py:103
        mbarrier_arrive(&shared.claimed_empty[place_stage_8]);

        // place = place.advance()                                         persistent_softmax.py:104
        const int place_stage_9 = place_stage_8 + 1 == 13 ? 0 : place_stage_8 + 1;
        place_lap = place_lap_8 + static_cast<int>(place_stage_8 + 1 == 13);
        Vector<__half, 8> arrived_9[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // col = tl.arange(0, PART)                                     persistent_softmax.py:94
            const int col = 8 * thread + 1024 * run;

            // arrived = tl.where(part * PART + col < cols, arrived, ...   persistent_softmax.py:106
            const bool inside = col + 14336 < cols;
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                arrived_9[run][k] = inside ? arrived_8[run][k] : __float2half(-infinity());
            }
        }

        // highest = tl.reduce(tl.reduce(logits, 2, larger), 0, large ...  persistent_softmax.py:109
        const auto combine_15 = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        Vector<__half, 2> logits_combined_8;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            logits_combined_8[run] = arrived_9[run][0];
            #pragma unroll
            for (int k = 1; k < 8; ++k)
                logits_combined_8[run] = combine_15(logits_combined_8[run], arrived_9[run][k]);
        }
        const auto combine_16 = [&](__half a, __half b) -> __half {
            return __hmax(a, b);
        };
        __half combined_8 = logits_combined_8[0];
        #pragma unroll
        for (int k = 1; k < 2; ++k) combined_8 = combine_16(combined_8, logits_combined_8[k]);
        const float highest_8 = __half2float(combined_8);

        // peak = tl.maximum(before, highest * LOG2_E)                     persistent_softmax.py:110
        const float peak_8 = fmaxf(peak_7, highest_8 * 1.442695f);

        // base = tl.where(peak == -float("inf"), 0.0, peak)               persistent_softmax.py:111
        const float base_8 = peak_8 == -infinity() ? 0.0f : peak_8;
        Vector<float, 8> weight_8[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // weight = tl.exp2(logits.to(tl.float32) * LOG2_E - ...   persistent_softmax.py:112
                weight_8[run][k] = exp2_approx(__half2float(arrived_9[run][k]) * 1.442695f - base_8);
            }
        }

        // total = total * tl.exp2(before - base) + tl.sum(tl.sum(wei ...  persistent_softmax.py:113
        Vector<float, 2> weight_sum_8;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            weight_sum_8[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) weight_sum_8[run] += weight_8[run][k];
        }
        float sum_8 = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum_8 += weight_sum_8[k];
        Vector<__half, 8> held_7[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // held = held + (weight.to(arrived.dtype),)                   persistent_softmax.py:115
            #pragma unroll
            for (int k = 0; k < 8; ++k) held_7[run][k] = __float2half(weight_8[run][k]);
        }

        // row_peak = tl.max(peak, axis=0)                                 persistent_softmax.py:116
        float row_peak = peak_8;
        row_peak = partition_all_reduce(row_peak, shared.row_peak_slots, [](float a, float b) { return fmaxf(a, b); }, thread, default_warps_barrier);
        // scale = 1.0 / tl.sum(total * tl.exp2(peak - row_peak), axis=0)  persistent_softmax.py:117
        const float value = exp2_approx(peak_8 - row_peak);

        // total = total * tl.exp2(before - base) + tl.sum(tl.sum(wei ...  persistent_softmax.py:113
        const float total = 0.0f * exp2_approx(-infinity() - base) + sum;
        const float total_2 = total * exp2_approx(peak - base_2) + sum_2;
        const float total_3 = total_2 * exp2_approx(peak_2 - base_3) + sum_3;
        const float total_4 = total_3 * exp2_approx(peak_3 - base_4) + sum_4;
        const float total_5 = total_4 * exp2_approx(peak_4 - base_5) + sum_5;
        const float total_6 = total_5 * exp2_approx(peak_5 - base_6) + sum_6;
        const float total_7 = total_6 * exp2_approx(peak_6 - base_7) + sum_7;
        const float total_8 = total_7 * exp2_approx(peak_7 - base_8) + sum_8;
        float sum_9 = total_8 * value;
        sum_9 = partition_all_reduce(sum_9, shared.sum_slots, [](float a, float b) { return a + b; }, thread, default_warps_barrier);

        // scale = 1.0 / tl.sum(total * tl.exp2(peak - row_peak), axis=0)  persistent_softmax.py:117
        const float scale = divide_approx(1.0f, sum_9);
        // target = out + row.to(tl.int64) * out_stride                    persistent_softmax.py:119
        __half* const target = out + static_cast<long long>(row_2) * out_stride;

        // factor = tl.exp2(peaks[part] - row_peak) * scale                persistent_softmax.py:121
        const float factor = exp2_approx(peak - row_peak) * scale;
        Vector<float, 8> product[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // result = (held[part].to(tl.float32) * factor[None, :, ...   persistent_softmax.py:122
            #pragma unroll
            for (int k = 0; k < 8; ++k) product[run][k] = __half2float(held_0[run][k]) * factor;
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // tl.store(target + part * PART + col, result)                persistent_softmax.py:126
            Vector<__half, 8> out_value;
            #pragma unroll
            for (int k = 0; k < 8; ++k) out_value[k] = __float2half(product[run][k]);

            // col = tl.arange(0, PART)                                     persistent_softmax.py:94
            const int col = 8 * thread + 1024 * run;
            // tl.store(target + part * PART + col, result)                persistent_softmax.py:126
            store_narrow<uint4>(target + col, out_value);
        }
        const float factor_2 = exp2_approx(peak_2 - row_peak) * scale;
        Vector<float, 8> product_2[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // result = (held[part].to(tl.float32) * factor[None, :, ...   persistent_softmax.py:122
            #pragma unroll
            for (int k = 0; k < 8; ++k) product_2[run][k] = __half2float(held_1[run][k]) * factor_2;
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // tl.store(target + part * PART + col, result)                persistent_softmax.py:126
            Vector<__half, 8> out_value;
            #pragma unroll
            for (int k = 0; k < 8; ++k) out_value[k] = __float2half(product_2[run][k]);

            // col = tl.arange(0, PART)                                     persistent_softmax.py:94
            const int col = 8 * thread + 1024 * run;
            // tl.store(target + part * PART + col, result)                persistent_softmax.py:126
            store_narrow<uint4>(target + 2048 + col, out_value);
        }
        const float factor_3 = exp2_approx(peak_3 - row_peak) * scale;
        Vector<float, 8> product_3[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // result = (held[part].to(tl.float32) * factor[None, :, ...   persistent_softmax.py:122
            #pragma unroll
            for (int k = 0; k < 8; ++k) product_3[run][k] = __half2float(held_2[run][k]) * factor_3;
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // tl.store(target + part * PART + col, result)                persistent_softmax.py:126
            Vector<__half, 8> out_value;
            #pragma unroll
            for (int k = 0; k < 8; ++k) out_value[k] = __float2half(product_3[run][k]);

            // col = tl.arange(0, PART)                                     persistent_softmax.py:94
            const int col = 8 * thread + 1024 * run;
            // tl.store(target + part * PART + col, result)                persistent_softmax.py:126
            store_narrow<uint4>(target + 4096 + col, out_value);
        }
        const float factor_4 = exp2_approx(peak_4 - row_peak) * scale;
        Vector<float, 8> product_4[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // result = (held[part].to(tl.float32) * factor[None, :, ...   persistent_softmax.py:122
            #pragma unroll
            for (int k = 0; k < 8; ++k) product_4[run][k] = __half2float(held_3[run][k]) * factor_4;
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // tl.store(target + part * PART + col, result)                persistent_softmax.py:126
            Vector<__half, 8> out_value;
            #pragma unroll
            for (int k = 0; k < 8; ++k) out_value[k] = __float2half(product_4[run][k]);

            // col = tl.arange(0, PART)                                     persistent_softmax.py:94
            const int col = 8 * thread + 1024 * run;
            // tl.store(target + part * PART + col, result)                persistent_softmax.py:126
            store_narrow<uint4>(target + 6144 + col, out_value);
        }
        const float factor_5 = exp2_approx(peak_5 - row_peak) * scale;
        Vector<float, 8> product_5[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // result = (held[part].to(tl.float32) * factor[None, :, ...   persistent_softmax.py:122
            #pragma unroll
            for (int k = 0; k < 8; ++k) product_5[run][k] = __half2float(held_4[run][k]) * factor_5;
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // tl.store(target + part * PART + col, result)                persistent_softmax.py:126
            Vector<__half, 8> out_value;
            #pragma unroll
            for (int k = 0; k < 8; ++k) out_value[k] = __float2half(product_5[run][k]);

            // col = tl.arange(0, PART)                                     persistent_softmax.py:94
            const int col = 8 * thread + 1024 * run;
            // tl.store(target + part * PART + col, result)                persistent_softmax.py:126
            store_narrow<uint4>(target + 8192 + col, out_value);
        }
        const float factor_6 = exp2_approx(peak_6 - row_peak) * scale;
        Vector<float, 8> product_6[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // result = (held[part].to(tl.float32) * factor[None, :, ...   persistent_softmax.py:122
            #pragma unroll
            for (int k = 0; k < 8; ++k) product_6[run][k] = __half2float(held_5[run][k]) * factor_6;
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // tl.store(target + part * PART + col, result)                persistent_softmax.py:126
            Vector<__half, 8> out_value;
            #pragma unroll
            for (int k = 0; k < 8; ++k) out_value[k] = __float2half(product_6[run][k]);

            // col = tl.arange(0, PART)                                     persistent_softmax.py:94
            const int col = 8 * thread + 1024 * run;
            // tl.store(target + part * PART + col, result)                persistent_softmax.py:126
            store_narrow<uint4>(target + 10240 + col, out_value);
        }
        const float factor_7 = exp2_approx(peak_7 - row_peak) * scale;
        Vector<float, 8> product_7[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // result = (held[part].to(tl.float32) * factor[None, :, ...   persistent_softmax.py:122
            #pragma unroll
            for (int k = 0; k < 8; ++k) product_7[run][k] = __half2float(held_6[run][k]) * factor_7;
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // tl.store(target + part * PART + col, result)                persistent_softmax.py:126
            Vector<__half, 8> out_value;
            #pragma unroll
            for (int k = 0; k < 8; ++k) out_value[k] = __float2half(product_7[run][k]);

            // col = tl.arange(0, PART)                                     persistent_softmax.py:94
            const int col = 8 * thread + 1024 * run;
            // tl.store(target + part * PART + col, result)                persistent_softmax.py:126
            store_narrow<uint4>(target + 12288 + col, out_value);
        }
        const float factor_8 = value * scale;
        Vector<float, 8> product_8[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // result = (held[part].to(tl.float32) * factor[None, :, ...   persistent_softmax.py:122
            #pragma unroll
            for (int k = 0; k < 8; ++k) product_8[run][k] = __half2float(held_7[run][k]) * factor_8;
        }
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // tl.store(target + part * PART + col, result, mask=part ...  persistent_softmax.py:124
            Vector<__half, 8> out_value;
            #pragma unroll
            for (int k = 0; k < 8; ++k) out_value[k] = __float2half(product_8[run][k]);

            // col = tl.arange(0, PART)                                     persistent_softmax.py:94
            const int col = 8 * thread + 1024 * run;
            // arrived = tl.where(part * PART + col < cols, arrived, ...   persistent_softmax.py:106
            const bool inside = col + 14336 < cols;
            // tl.store(target + part * PART + col, result, mask=part ...  persistent_softmax.py:124
            store_vector_if<uint4>(inside, target + 14336 + col, out_value);
        }
        // row = claimed_number(reader.wait(place).slot)                   persistent_softmax.py:127
        mbarrier_wait(&shared.claimed_full[place_stage_9], place_lap & 1);

        // return tl.load(tle.gpu.local_ptr(slot.number, (0,)))               persistent_rows.py:116
        const int row_3 = shared.numbers[place_stage_9][0];
        place_stage = place_stage_9;
        row_2 = row_3;
    }
}
