// rms_norm_of_packed_rows.cu: emitted by tle2cuda from persistent_rms_norm.py:163 (rms_norm_of_packed_rows). Do not edit.
//
//   target    sm_90a, 160 threads per CTA, 53504 bytes of shared memory
//   launch    grid of CTAs, one for each program; 53504 bytes of dynamic shared memory
//   warps     rms_norm_packed on warps 0 to 3, fetch_claimed_rows on warp 4
//   args      weight *fp16 align 16, out *fp16 align 16, claims *i32 align 16, rows i32,
//             cols i32 divisible by 16, out_stride i32 divisible by 16, eps fp32
//   maps      x_map of x: fp16, shape (rows, cols / 256, 256), strides (x_stride, 256, 1),
//             box (1, 8, 256)
//   constants PART = 2048, PARTS = 8, WIDTH = 256, STAGES = 5, CLAIM = 1, THREADS = 128,
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

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Makes this thread's mbarrier_init known to the cluster and to the copy engine (PTX ISA, fence.mbarrier_init; sm_90).
__device__ __forceinline__ void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// A vector whose elements are all equal.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> fill_vector(T value)
{
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = value;
    return result;
}

// The 16 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global).
__device__ __forceinline__ uint4 load_bits_if(bool condition, const uint4* pointer, uint4 otherwise)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %5, 0;\n\t@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y), "+r"(otherwise.z), "+r"(otherwise.w)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return otherwise;
}

// Load N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* pointer)
{
    return *reinterpret_cast<const Vector<T, N>*>(pointer);
}

// Load N neighbours in global memory, in words of type Bits, if a condition holds, else take `otherwise`.
// The address is computed either way, so that neighbouring loads can share it.
template <typename Bits, int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_if(bool condition, const T* pointer, Vector<T, N> otherwise)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(otherwise) / sizeof(Bits)); ++i) {
        unsigned char* const word = reinterpret_cast<unsigned char*>(&otherwise) + i * sizeof(Bits);
        Bits bits;
        memcpy(&bits, word, sizeof(Bits));
        bits = load_bits_if(condition, reinterpret_cast<const Bits*>(pointer) + i, bits);
        memcpy(word, &bits, sizeof(Bits));
    }
    return otherwise;
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
    alignas(128) __half ring[5][8][256];      // persistent_rms_norm.py:183
    alignas(16) int numbers[5][1];            // persistent_rms_norm.py:186
    alignas(16) __half scales[8][2048];       // persistent_rms_norm.py:187
    alignas(16) float sum_slots[4];           // scratch of persistent_rms_norm.py:101
    alignas(16) int following_broadcast[1];   // scratch of persistent_rows.py:105
    alignas(8) Barrier claimed_full[5];       // persistent_rms_norm.py:188
    alignas(8) Barrier claimed_empty[5];      // persistent_rms_norm.py:188
};
static_assert(sizeof(Shared) <= 53504, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(160)
rms_norm_of_packed_rows(const __half* weight, __half* out, int* claims, const int rows,
                        const int cols, const int out_stride, const float eps,
                        const __grid_constant__ TensorMap x_map)
{
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    Shared& shared = *reinterpret_cast<Shared*>(shared_bytes);
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 5; ++stage) {
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
                    place_lap_3 += static_cast<int>(place_stage_3 + 1 == 5);
                    place_stage_3 = place_stage_3 + 1 == 5 ? 0 : place_stage_3 + 1;
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
            for (int stage = 0; stage < 5; ++stage) mbarrier_wait(&shared.claimed_full[stage], ~claimed_filled >> stage & 1);
        }
        return;
    }

    const int thread = threadIdx.x;

    // rms_norm_packed: warps 0 to 3
    // for part in range(PARTS):                                           persistent_rms_norm.py:85
    for (int part = 0; part < 8; ++part) {
        // tile [2048]: element = 8 * thread + 1024 * run + k;  run < 2, k < 8
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // col = tl.arange(0, PART)                                    persistent_rms_norm.py:84
            const int col = 8 * thread + 1024 * run;
            // at = part * PART + col                                      persistent_rms_norm.py:86
            const int at = part * 2048 + col;
            // tl.store(tle.gpu.local_ptr(scales.slot(part)), tl.load ...  persistent_rms_norm.py:87
            const Vector<__half, 8> weight_value = load_vector_if<uint4>(at < cols, weight + at, fill_vector<8>(__float2half(0.0f)));
            store_vector(&shared.scales[part][8 * thread + 1024 * run], weight_value);
        }
    }

    // row = claimed_number(reader.wait(place).slot)                       persistent_rms_norm.py:89
    mbarrier_wait(&shared.claimed_full[0], 0);
    // return tl.load(tle.gpu.local_ptr(slot.number, (0,)))                   persistent_rows.py:116
    const int row = shared.numbers[0][0];

    // while row < rows:                                                   persistent_rms_norm.py:90
    int place_stage = 0;
    int place_lap = 0;
    int row_2 = row;
    while (row_2 < rows) {
        // arrived = load_part(reader.wait(place).slot, PART)              persistent_rms_norm.py:95
        mbarrier_wait(&shared.claimed_full[place_stage], place_lap & 1);

        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view = shared.ring[place_stage][0];
        Vector<__half, 8> arrived[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived[run] = load_vector<8>(&view[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_rms_norm.py:96
        mbarrier_arrive(&shared.claimed_empty[place_stage]);

        // place = place.advance()                                         persistent_rms_norm.py:97
        const int place_stage_2 = place_stage + 1 == 5 ? 0 : place_stage + 1;
        const int place_lap_2 = place_lap + static_cast<int>(place_stage + 1 == 5);
        Vector<float, 8> value[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // negated = (-arrived).to(tl.float32).reshape([PART ...   persistent_rms_norm.py:98
                value[run][k] = __half2float(__float2half(0.0f) - arrived[run][k]);
            }
        }

        // squares += tl.sum(tl.sum(negated * negated, axis=2), axis=0)    persistent_rms_norm.py:99
        Vector<float, 2> sum;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            sum[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) sum[run] += value[run][k] * value[run][k];
        }
        float sum_2 = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum_2 += sum[k];

        // arrived = load_part(reader.wait(place).slot, PART)              persistent_rms_norm.py:95
        mbarrier_wait(&shared.claimed_full[place_stage_2], place_lap_2 & 1);

        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view_2 = shared.ring[place_stage_2][0];
        Vector<__half, 8> arrived_2[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived_2[run] = load_vector<8>(&view_2[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_rms_norm.py:96
        mbarrier_arrive(&shared.claimed_empty[place_stage_2]);

        // place = place.advance()                                         persistent_rms_norm.py:97
        const int place_stage_3 = place_stage_2 + 1 == 5 ? 0 : place_stage_2 + 1;
        const int place_lap_3 = place_lap_2 + static_cast<int>(place_stage_2 + 1 == 5);
        Vector<float, 8> value_2[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // negated = (-arrived).to(tl.float32).reshape([PART ...   persistent_rms_norm.py:98
                value_2[run][k] = __half2float(__float2half(0.0f) - arrived_2[run][k]);
            }
        }

        // squares += tl.sum(tl.sum(negated * negated, axis=2), axis=0)    persistent_rms_norm.py:99
        Vector<float, 2> sum_3;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            sum_3[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) sum_3[run] += value_2[run][k] * value_2[run][k];
        }
        float sum_4 = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum_4 += sum_3[k];

        // arrived = load_part(reader.wait(place).slot, PART)              persistent_rms_norm.py:95
        mbarrier_wait(&shared.claimed_full[place_stage_3], place_lap_3 & 1);

        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view_3 = shared.ring[place_stage_3][0];
        Vector<__half, 8> arrived_3[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived_3[run] = load_vector<8>(&view_3[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_rms_norm.py:96
        mbarrier_arrive(&shared.claimed_empty[place_stage_3]);

        // place = place.advance()                                         persistent_rms_norm.py:97
        const int place_stage_4 = place_stage_3 + 1 == 5 ? 0 : place_stage_3 + 1;
        const int place_lap_4 = place_lap_3 + static_cast<int>(place_stage_3 + 1 == 5);
        Vector<float, 8> value_3[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // negated = (-arrived).to(tl.float32).reshape([PART ...   persistent_rms_norm.py:98
                value_3[run][k] = __half2float(__float2half(0.0f) - arrived_3[run][k]);
            }
        }

        // squares += tl.sum(tl.sum(negated * negated, axis=2), axis=0)    persistent_rms_norm.py:99
        Vector<float, 2> sum_5;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            sum_5[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) sum_5[run] += value_3[run][k] * value_3[run][k];
        }
        float sum_6 = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum_6 += sum_5[k];

        // arrived = load_part(reader.wait(place).slot, PART)              persistent_rms_norm.py:95
        mbarrier_wait(&shared.claimed_full[place_stage_4], place_lap_4 & 1);

        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view_4 = shared.ring[place_stage_4][0];
        Vector<__half, 8> arrived_4[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived_4[run] = load_vector<8>(&view_4[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_rms_norm.py:96
        mbarrier_arrive(&shared.claimed_empty[place_stage_4]);

        // place = place.advance()                                         persistent_rms_norm.py:97
        const int place_stage_5 = place_stage_4 + 1 == 5 ? 0 : place_stage_4 + 1;
        const int place_lap_5 = place_lap_4 + static_cast<int>(place_stage_4 + 1 == 5);
        Vector<float, 8> value_4[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // negated = (-arrived).to(tl.float32).reshape([PART ...   persistent_rms_norm.py:98
                value_4[run][k] = __half2float(__float2half(0.0f) - arrived_4[run][k]);
            }
        }

        // squares += tl.sum(tl.sum(negated * negated, axis=2), axis=0)    persistent_rms_norm.py:99
        Vector<float, 2> sum_7;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            sum_7[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) sum_7[run] += value_4[run][k] * value_4[run][k];
        }
        float sum_8 = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum_8 += sum_7[k];

        // arrived = load_part(reader.wait(place).slot, PART)              persistent_rms_norm.py:95
        mbarrier_wait(&shared.claimed_full[place_stage_5], place_lap_5 & 1);

        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view_5 = shared.ring[place_stage_5][0];
        Vector<__half, 8> arrived_5[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived_5[run] = load_vector<8>(&view_5[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_rms_norm.py:96
        mbarrier_arrive(&shared.claimed_empty[place_stage_5]);

        // place = place.advance()                                         persistent_rms_norm.py:97
        const int place_stage_6 = place_stage_5 + 1 == 5 ? 0 : place_stage_5 + 1;
        const int place_lap_6 = place_lap_5 + static_cast<int>(place_stage_5 + 1 == 5);
        Vector<float, 8> value_5[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // negated = (-arrived).to(tl.float32).reshape([PART ...   persistent_rms_norm.py:98
                value_5[run][k] = __half2float(__float2half(0.0f) - arrived_5[run][k]);
            }
        }

        // squares += tl.sum(tl.sum(negated * negated, axis=2), axis=0)    persistent_rms_norm.py:99
        Vector<float, 2> sum_9;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            sum_9[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) sum_9[run] += value_5[run][k] * value_5[run][k];
        }
        float sum_10 = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum_10 += sum_9[k];

        // arrived = load_part(reader.wait(place).slot, PART)              persistent_rms_norm.py:95
        mbarrier_wait(&shared.claimed_full[place_stage_6], place_lap_6 & 1);

        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view_6 = shared.ring[place_stage_6][0];
        Vector<__half, 8> arrived_6[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived_6[run] = load_vector<8>(&view_6[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_rms_norm.py:96
        mbarrier_arrive(&shared.claimed_empty[place_stage_6]);

        // place = place.advance()                                         persistent_rms_norm.py:97
        const int place_stage_7 = place_stage_6 + 1 == 5 ? 0 : place_stage_6 + 1;
        const int place_lap_7 = place_lap_6 + static_cast<int>(place_stage_6 + 1 == 5);
        Vector<float, 8> value_6[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // negated = (-arrived).to(tl.float32).reshape([PART ...   persistent_rms_norm.py:98
                value_6[run][k] = __half2float(__float2half(0.0f) - arrived_6[run][k]);
            }
        }

        // squares += tl.sum(tl.sum(negated * negated, axis=2), axis=0)    persistent_rms_norm.py:99
        Vector<float, 2> sum_11;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            sum_11[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) sum_11[run] += value_6[run][k] * value_6[run][k];
        }
        float sum_12 = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum_12 += sum_11[k];

        // arrived = load_part(reader.wait(place).slot, PART)              persistent_rms_norm.py:95
        mbarrier_wait(&shared.claimed_full[place_stage_7], place_lap_7 & 1);

        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view_7 = shared.ring[place_stage_7][0];
        Vector<__half, 8> arrived_7[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived_7[run] = load_vector<8>(&view_7[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_rms_norm.py:96
        mbarrier_arrive(&shared.claimed_empty[place_stage_7]);

        // place = place.advance()                                         persistent_rms_norm.py:97
        const int place_stage_8 = place_stage_7 + 1 == 5 ? 0 : place_stage_7 + 1;
        const int place_lap_8 = place_lap_7 + static_cast<int>(place_stage_7 + 1 == 5);
        Vector<float, 8> value_7[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // negated = (-arrived).to(tl.float32).reshape([PART ...   persistent_rms_norm.py:98
                value_7[run][k] = __half2float(__float2half(0.0f) - arrived_7[run][k]);
            }
        }

        // squares += tl.sum(tl.sum(negated * negated, axis=2), axis=0)    persistent_rms_norm.py:99
        Vector<float, 2> sum_13;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            sum_13[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) sum_13[run] += value_7[run][k] * value_7[run][k];
        }
        float sum_14 = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum_14 += sum_13[k];

        // arrived = load_part(reader.wait(place).slot, PART)              persistent_rms_norm.py:95
        mbarrier_wait(&shared.claimed_full[place_stage_8], place_lap_8 & 1);

        // return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))       persistent_rows.py:121
        __half* const view_8 = shared.ring[place_stage_8][0];
        Vector<__half, 8> arrived_8[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            arrived_8[run] = load_vector<8>(&view_8[8 * thread + 1024 * run]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(place)                                           persistent_rms_norm.py:96
        mbarrier_arrive(&shared.claimed_empty[place_stage_8]);

        // place = place.advance()                                         persistent_rms_norm.py:97
        const int place_stage_9 = place_stage_8 + 1 == 5 ? 0 : place_stage_8 + 1;
        place_lap = place_lap_8 + static_cast<int>(place_stage_8 + 1 == 5);
        Vector<float, 8> value_8[2];
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                // negated = (-arrived).to(tl.float32).reshape([PART ...   persistent_rms_norm.py:98
                value_8[run][k] = __half2float(__float2half(0.0f) - arrived_8[run][k]);
            }
        }

        // squares += tl.sum(tl.sum(negated * negated, axis=2), axis=0)    persistent_rms_norm.py:99
        Vector<float, 2> sum_15;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            sum_15[run] = 0.0f;
            #pragma unroll
            for (int k = 0; k < 8; ++k) sum_15[run] += value_8[run][k] * value_8[run][k];
        }
        float sum_16 = 0.0f;
        #pragma unroll
        for (int k = 0; k < 2; ++k) sum_16 += sum_15[k];

        // rstd = tl.rsqrt(tl.sum(squares, axis=0) / cols + eps)          persistent_rms_norm.py:101
        // squares += tl.sum(tl.sum(negated * negated, axis=2), axis=0)    persistent_rms_norm.py:99
        const float squares = 0.0f + sum_2;
        const float squares_2 = squares + sum_4;
        const float squares_3 = squares_2 + sum_6;
        const float squares_4 = squares_3 + sum_8;
        const float squares_5 = squares_4 + sum_10;
        const float squares_6 = squares_5 + sum_12;
        const float squares_7 = squares_6 + sum_14;
        const float squares_8 = squares_7 + sum_16;
        float squares_sum = squares_8;
        squares_sum = partition_all_reduce(squares_sum, shared.sum_slots, [](float a, float b) { return a + b; }, thread, default_warps_barrier);

        // rstd = tl.rsqrt(tl.sum(squares, axis=0) / cols + eps)          persistent_rms_norm.py:101
        const float rstd = rsqrtf(divide_approx(squares_sum, static_cast<float>(cols)) + eps);

        // target = out + row.to(tl.int64) * out_stride                   persistent_rms_norm.py:103
        __half* const target = out + static_cast<long long>(row_2) * out_stride;
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // scale = tl.load(tle.gpu.local_ptr(scales.slot(part))) ...  persistent_rms_norm.py:105
            const Vector<__half, 8> scales_value = load_vector<8>(&shared.scales[0][8 * thread + 1024 * run]);

            // tl.store(target + part * PART + col, result, mask=par ...  persistent_rms_norm.py:107
            Vector<__half, 8> out_value;
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float scale = __half2float(scales_value[k]);

                // result = held[part].to(tl.float32) * rstd * scale      persistent_rms_norm.py:106
                const float result = __half2float(arrived[run][k]) * rstd * scale;
                out_value[k] = __float2half(result);
            }

            // col = tl.arange(0, PART)                                    persistent_rms_norm.py:84
            const int col = 8 * thread + 1024 * run;
            // tl.store(target + part * PART + col, result, mask=par ...  persistent_rms_norm.py:107
            store_vector_if<uint4>(col < cols, target + col, out_value);
            // scale = tl.load(tle.gpu.local_ptr(scales.slot(part))) ...  persistent_rms_norm.py:105
            const Vector<__half, 8> scales_value_2 = load_vector<8>(&shared.scales[1][8 * thread + 1024 * run]);

            // tl.store(target + part * PART + col, result, mask=par ...  persistent_rms_norm.py:107
            Vector<__half, 8> out_value_2;
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float scale_2 = __half2float(scales_value_2[k]);

                // result = held[part].to(tl.float32) * rstd * scale      persistent_rms_norm.py:106
                const float result_2 = __half2float(arrived_2[run][k]) * rstd * scale_2;
                out_value_2[k] = __float2half(result_2);
            }
            store_vector_if<uint4>(col + 2048 < cols, target + 2048 + col, out_value_2);

            // scale = tl.load(tle.gpu.local_ptr(scales.slot(part))) ...  persistent_rms_norm.py:105
            const Vector<__half, 8> scales_value_3 = load_vector<8>(&shared.scales[2][8 * thread + 1024 * run]);

            // tl.store(target + part * PART + col, result, mask=par ...  persistent_rms_norm.py:107
            Vector<__half, 8> out_value_3;
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float scale_3 = __half2float(scales_value_3[k]);

                // result = held[part].to(tl.float32) * rstd * scale      persistent_rms_norm.py:106
                const float result_3 = __half2float(arrived_3[run][k]) * rstd * scale_3;
                out_value_3[k] = __float2half(result_3);
            }
            store_vector_if<uint4>(col + 4096 < cols, target + 4096 + col, out_value_3);

            // scale = tl.load(tle.gpu.local_ptr(scales.slot(part))) ...  persistent_rms_norm.py:105
            const Vector<__half, 8> scales_value_4 = load_vector<8>(&shared.scales[3][8 * thread + 1024 * run]);

            // tl.store(target + part * PART + col, result, mask=par ...  persistent_rms_norm.py:107
            Vector<__half, 8> out_value_4;
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float scale_4 = __half2float(scales_value_4[k]);

                // result = held[part].to(tl.float32) * rstd * scale      persistent_rms_norm.py:106
                const float result_4 = __half2float(arrived_4[run][k]) * rstd * scale_4;
                out_value_4[k] = __float2half(result_4);
            }
            store_vector_if<uint4>(col + 6144 < cols, target + 6144 + col, out_value_4);

            // scale = tl.load(tle.gpu.local_ptr(scales.slot(part))) ...  persistent_rms_norm.py:105
            const Vector<__half, 8> scales_value_5 = load_vector<8>(&shared.scales[4][8 * thread + 1024 * run]);

            // tl.store(target + part * PART + col, result, mask=par ...  persistent_rms_norm.py:107
            Vector<__half, 8> out_value_5;
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float scale_5 = __half2float(scales_value_5[k]);

                // result = held[part].to(tl.float32) * rstd * scale      persistent_rms_norm.py:106
                const float result_5 = __half2float(arrived_5[run][k]) * rstd * scale_5;
                out_value_5[k] = __float2half(result_5);
            }
            store_vector_if<uint4>(col + 8192 < cols, target + 8192 + col, out_value_5);

            // scale = tl.load(tle.gpu.local_ptr(scales.slot(part))) ...  persistent_rms_norm.py:105
            const Vector<__half, 8> scales_value_6 = load_vector<8>(&shared.scales[5][8 * thread + 1024 * run]);

            // tl.store(target + part * PART + col, result, mask=par ...  persistent_rms_norm.py:107
            Vector<__half, 8> out_value_6;
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float scale_6 = __half2float(scales_value_6[k]);

                // result = held[part].to(tl.float32) * rstd * scale      persistent_rms_norm.py:106
                const float result_6 = __half2float(arrived_6[run][k]) * rstd * scale_6;
                out_value_6[k] = __float2half(result_6);
            }
            store_vector_if<uint4>(col + 10240 < cols, target + 10240 + col, out_value_6);

            // scale = tl.load(tle.gpu.local_ptr(scales.slot(part))) ...  persistent_rms_norm.py:105
            const Vector<__half, 8> scales_value_7 = load_vector<8>(&shared.scales[6][8 * thread + 1024 * run]);

            // tl.store(target + part * PART + col, result, mask=par ...  persistent_rms_norm.py:107
            Vector<__half, 8> out_value_7;
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float scale_7 = __half2float(scales_value_7[k]);

                // result = held[part].to(tl.float32) * rstd * scale      persistent_rms_norm.py:106
                const float result_7 = __half2float(arrived_7[run][k]) * rstd * scale_7;
                out_value_7[k] = __float2half(result_7);
            }
            store_vector_if<uint4>(col + 12288 < cols, target + 12288 + col, out_value_7);

            // scale = tl.load(tle.gpu.local_ptr(scales.slot(part))) ...  persistent_rms_norm.py:105
            const Vector<__half, 8> scales_value_8 = load_vector<8>(&shared.scales[7][8 * thread + 1024 * run]);

            // tl.store(target + part * PART + col, result, mask=par ...  persistent_rms_norm.py:107
            Vector<__half, 8> out_value_8;
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float scale_8 = __half2float(scales_value_8[k]);

                // result = held[part].to(tl.float32) * rstd * scale      persistent_rms_norm.py:106
                const float result_8 = __half2float(arrived_8[run][k]) * rstd * scale_8;
                out_value_8[k] = __float2half(result_8);
            }
            store_vector_if<uint4>(col + 14336 < cols, target + 14336 + col, out_value_8);
        }

        // row = claimed_number(reader.wait(place).slot)                  persistent_rms_norm.py:108
        mbarrier_wait(&shared.claimed_full[place_stage_9], place_lap & 1);
        default_warps_barrier();  // orders the loads of the scratch `sum_slots` before the stores to it

        // return tl.load(tle.gpu.local_ptr(slot.number, (0,)))               persistent_rows.py:116
        const int row_3 = shared.numbers[place_stage_9][0];
        place_stage = place_stage_9;
        row_2 = row_3;
    }
}
