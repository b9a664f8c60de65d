// softmax_of_parts.cu: emitted by tle2cuda from persistent_softmax.py:218 (softmax_of_parts). Do not edit.
//
//   target    sm_90a, 544 threads per CTA, 65792 bytes of shared memory
//   launch    grid of CTAs, one for each program; 65792 bytes of dynamic shared memory
//   warps     softmax_in_parts on warps 0 to 15, fetch_rows on warp 16
//   args      out *fp16 align 16, rows i32, cols i32 divisible by 16,
//             out_stride i32 divisible by 16
//   maps      x_map of x: fp16, shape (rows, cols / 256, 256), strides (x_stride, 256, 1),
//             box (1, 32, 256)
//   constants PART = 8192, PARTS = 2, WIDTH = 256, STAGES = 4

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

// Barrier of the 512 threads of the default warps: hardware barrier 1.
__device__ __forceinline__ void default_warps_barrier() { named_barrier_sync(1, 512); }

// Shared memory of one CTA.
struct Shared {
    alignas(128) __half ring[4][32][256];     // persistent_softmax.py:231
    alignas(16) float max_slots[16];          // scratch of persistent_softmax.py:142
    alignas(16) float sum_slots[16];          // scratch of persistent_softmax.py:150
    alignas(8) Barrier parts_full[4];         // persistent_softmax.py:234
    alignas(8) Barrier parts_empty[4];        // persistent_softmax.py:234
};
static_assert(sizeof(Shared) <= 65792, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(544)
softmax_of_parts(__half* out, const int rows, const int cols, const int out_stride,
                 const __grid_constant__ TensorMap x_map)
{
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 4; ++stage) {
            mbarrier_init(&shared.parts_full[stage], 1);
            mbarrier_init(&shared.parts_empty[stage], 512);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 16) {  // fetch_rows: warp 16
        if (threadIdx.x == 512) {  // the others have nothing to do
            // for row in range(tl.program_id(0), rows, tl.num_programs(0)):   persistent_rows.py:57
            const int pid_x = blockIdx.x;
            const int num_programs_x = gridDim.x;
            int place_stage = 0;
            int place_lap = 0;
            for (int row = pid_x; row < rows; row += num_programs_x) {
                // for part in range(PARTS):                                   persistent_rows.py:58
                int place_stage_2 = place_stage;
                int place_lap_2 = place_lap;
                for (int part = 0; part < 2; ++part) {
                    // slot = writer.acquire(place)                            persistent_rows.py:59
                    mbarrier_wait(&shared.parts_empty[place_stage_2], (place_lap_2 + 1) & 1);
                    // tle.gpu.copy(desc, slot.part, [PART // WIDTH, WIDT ...  persistent_rows.py:63
                    mbarrier_expect_bytes(&shared.parts_full[place_stage_2], 16384);
                    tma_load_3d(shared.ring[place_stage_2], &x_map, &shared.parts_full[place_stage_2], 0, part * 32, row);
                    // place = place.advance()                                 persistent_rows.py:65
                    place_lap_2 += static_cast<int>(place_stage_2 + 1 == 4);
                    place_stage_2 = place_stage_2 + 1 == 4 ? 0 : place_stage_2 + 1;
                }
                place_stage = place_stage_2;
                place_lap = place_lap_2;
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // softmax_in_parts: warps 0 to 15
    // for row in range(tl.program_id(0), rows, tl.num_programs(0)):       persistent_softmax.py:135
    const int pid_x = blockIdx.x;
    const int num_programs_x = gridDim.x;
    int place_stage = 0;
    int place_lap = 0;
    for (int row = pid_x; row < rows; row += num_programs_x) {
        // for part in range(PARTS):                                       persistent_softmax.py:138
        Vector<float, 8> highest[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            #pragma unroll
            for (int k = 0; k < 8; ++k)
                highest[run][k] = -infinity();
        int ahead_stage = place_stage;
        int ahead_lap = place_lap;
        for (int part = 0; part < 2; ++part) {
            // logits = load_part(reader.wait(ahead).slot, PART).to(t ...  persistent_softmax.py:139
            mbarrier_wait(&shared.parts_full[ahead_stage], ahead_lap & 1);
            // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))   persistent_rows.py:121
            __half* const view = shared.ring[ahead_stage][0];
            // ahead = ahead.advance()                                     persistent_softmax.py:141
            ahead_lap += static_cast<int>(ahead_stage + 1 == 4);
            // tile [8192]: element = 8 * thread + 4096 * run + k;  run < 2, k < 8
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // return tl.load(tle.gpu.local_ptr(slot.part.reshape([P ...  persistent_rows.py:121
                const Vector<__half, 8> ring_value = load_vector<8>(&view[8 * thread + 4096 * run]);

                // col = tl.arange(0, PART)                                persistent_softmax.py:133
                const int col = 8 * thread + 4096 * run;
                #pragma unroll
                for (int k = 0; k < 8; ++k) {
                    // logits = load_part(reader.wait(ahead).slot, PA ...  persistent_softmax.py:139
                    const float logits = __half2float(ring_value[k]);
                    // highest = tl.maximum(highest, tl.where(part * ...   persistent_softmax.py:140
                    highest[run][k] = fmaxf(highest[run][k], part * 8192 + col < cols ? logits : -infinity());
                }
            }
            ahead_stage = ahead_stage + 1 == 4 ? 0 : ahead_stage + 1;
        }

        // peak = tl.max(highest, axis=0) * LOG2_E                         persistent_softmax.py:142
        float highest_max = highest[0][0];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) highest_max = fmaxf(highest_max, highest[run][k]);
        }
        highest_max = partition_all_reduce(highest_max, shared.max_slots, [](float a, float b) { return fmaxf(a, b); }, thread, default_warps_barrier);
        const float peak = highest_max * 1.442695f;

        // for part in range(PARTS):                                       persistent_softmax.py:146
        Vector<float, 8> weights[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            #pragma unroll
            for (int k = 0; k < 8; ++k)
                weights[run][k] = 0.0f;
        int ahead_stage_2 = place_stage;
        int ahead_lap_2 = place_lap;
        for (int part = 0; part < 2; ++part) {
            // logits = load_part(reader.wait(ahead).slot, PART).to(t ...  persistent_softmax.py:147
            mbarrier_wait(&shared.parts_full[ahead_stage_2], ahead_lap_2 & 1);
            // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))   persistent_rows.py:121
            __half* const view = shared.ring[ahead_stage_2][0];

            // ahead = ahead.advance()                                     persistent_softmax.py:149
            ahead_lap_2 += static_cast<int>(ahead_stage_2 + 1 == 4);
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // return tl.load(tle.gpu.local_ptr(slot.part.reshape([P ...  persistent_rows.py:121
                const Vector<__half, 8> ring_value = load_vector<8>(&view[8 * thread + 4096 * run]);

                // col = tl.arange(0, PART)                                persistent_softmax.py:133
                const int col = 8 * thread + 4096 * run;
                #pragma unroll
                for (int k = 0; k < 8; ++k) {
                    // logits = load_part(reader.wait(ahead).slot, PA ...  persistent_softmax.py:147
                    const float logits = __half2float(ring_value[k]);
                    // weights += tl.where(part * PART + col < cols, ...   persistent_softmax.py:148
                    const float chosen = part * 8192 + col < cols ? exp2_approx(logits * 1.442695f - peak) : 0.0f;
                    weights[run][k] += chosen;
                }
            }
            ahead_stage_2 = ahead_stage_2 + 1 == 4 ? 0 : ahead_stage_2 + 1;
        }

        // scale = 1.0 / tl.sum(weights, axis=0)                           persistent_softmax.py:150
        float weights_sum = 0.0f;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) weights_sum += weights[run][k];
        }
        weights_sum = partition_all_reduce(weights_sum, shared.sum_slots, [](float a, float b) { return a + b; }, thread, default_warps_barrier);
        const float scale = divide_approx(1.0f, weights_sum);

        // for part in range(PARTS):                                       persistent_softmax.py:153
        int place_stage_2 = place_stage;
        int place_lap_2 = place_lap;
        for (int part = 0; part < 2; ++part) {
            // logits = load_part(reader.wait(place).slot, PART).to(t ...  persistent_softmax.py:154
            mbarrier_wait(&shared.parts_full[place_stage_2], place_lap_2 & 1);

            // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))   persistent_rows.py:121
            __half* const view = shared.ring[place_stage_2][0];
            Vector<float, 8> logits[2];
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                const Vector<__half, 8> ring_value = load_vector<8>(&view[8 * thread + 4096 * run]);

                // logits = load_part(reader.wait(place).slot, PART). ...  persistent_softmax.py:154
                #pragma unroll
                for (int k = 0; k < 8; ++k) logits[run][k] = __half2float(ring_value[k]);
            }
            fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

            // reader.release(place)                                       persistent_softmax.py:155
            mbarrier_arrive(&shared.parts_empty[place_stage_2]);

            // place = place.advance()                                     persistent_softmax.py:156
            place_lap_2 += static_cast<int>(place_stage_2 + 1 == 4);
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // tl.store(target + part * PART + col, tl.exp2(logit ...  persistent_softmax.py:157
                Vector<__half, 8> out_value;
                #pragma unroll
                for (int k = 0; k < 8; ++k) {
                    out_value[k] = __float2half(exp2_approx(logits[run][k] * 1.442695f - peak) * scale);
                }

                // col = tl.arange(0, PART)                                persistent_softmax.py:133
                const int col = 8 * thread + 4096 * run;
                // tl.store(target + part * PART + col, tl.exp2(logit ...  persistent_softmax.py:157
                store_vector_if<uint4>(part * 8192 + col < cols, out + static_cast<long long>(row) * out_stride + part * 8192 + col, out_value);
            }
            place_stage_2 = place_stage_2 + 1 == 4 ? 0 : place_stage_2 + 1;
        }
        place_stage = place_stage_2;
        place_lap = place_lap_2;
    }
}
