// gather_scale.cu: emitted by tle2cuda from gather_scale.py:58 (gather_scale). Do not edit.
//
//   target    sm_90a, 160 threads per CTA, 32896 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     scale_rows on warps 0 to 3, fetch_by_tma on warp 4
//   args      index *i32 align 16, scale *fp32 align 16, out *fp16 align 16, count i32,
//             cols i32 divisible by 16, out_stride i32 divisible by 16
//   maps      table_map of table: fp16, shape (rows, cols), strides (table_stride, 1),
//             box (1, 256)
//   constants ROWS = 8, BLOCK = 512, STAGES = 4, BY_TMA = True

#include <cuda_fp16.h>

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Makes this thread's mbarrier_init known to the cluster and to the copy engine (PTX ISA, fence.mbarrier_init; sm_90).
__device__ __forceinline__ void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Load one element of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ float load_if(bool condition, const float* pointer, float other)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.f32 %0, [%1];\n\t}"
        : "+f"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return other;
}

// Load one element of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ int load_if(bool condition, const int* pointer, int other)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.s32 %0, [%1];\n\t}"
        : "+r"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return other;
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

// One arrival of the warp, behind what all of its lanes did before. Called by whole warps.
__device__ __forceinline__ void mbarrier_arrive_warp(Barrier* barrier)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(barrier);
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

// One box of the tensor map into shared memory, from element (c0, c1) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_2d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1) : "memory");
}

// Shared memory of one CTA.
struct Shared {
    alignas(128) __half ring[4][8][512];      // gather_scale.py:73
    alignas(8) Barrier gathered_full[4];      // gather_scale.py:74
    alignas(8) Barrier gathered_empty[4];     // gather_scale.py:74
};
static_assert(sizeof(Shared) <= 32896, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(160)
gather_scale(const int* index, const float* scale, __half* out, const int count, const int cols,
             const int out_stride, const __grid_constant__ TensorMap table_map)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 4; ++stage) {
            mbarrier_init(&shared.gathered_full[stage], 1);
            mbarrier_init(&shared.gathered_empty[stage], 4);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {  // fetch_by_tma: warp 4
        if (threadIdx.x == 128) {  // the others have nothing to do
            const int pid_x_2 = blockIdx.x;

            // first = tl.program_id(0) * ROWS                                    gather_scale.py:75
            const int first_2 = pid_x_2 * 8;
            // for k in range(tl.cdiv(cols, BLOCK)):                              gather_scale.py:20
            for (int k_ = 0; k_ < (cols + 511) / 512; ++k_) {
                // slot = writer.acquire(k)                                       gather_scale.py:21
                const int stage = k_ & 3;
                const int lap = k_ >> 2;
                mbarrier_wait(&shared.gathered_empty[stage], (lap + 1) & 1);

                // row = tl.load(index + first + i, mask=first + i < count, ...   gather_scale.py:23
                const int row = load_if(first_2 < count, index + first_2, -1);

                // tle.gpu.copy(desc, slot.rows.slot(i), [BLOCK], [row, k * ...   gather_scale.py:24
                mbarrier_expect_bytes(&shared.gathered_full[stage], 8192);
                #pragma unroll
                for (int part = 0; part < 2; ++part)
                    tma_load_2d(&shared.ring[stage][0][part * 256], &table_map, &shared.gathered_full[stage], k_ * 512 + part * 256, row);

                // row = tl.load(index + first + i, mask=first + i < count, ...   gather_scale.py:23
                const int row_2 = load_if(first_2 + 1 < count, index + first_2 + 1, -1);

                // tle.gpu.copy(desc, slot.rows.slot(i), [BLOCK], [row, k * ...   gather_scale.py:24
                #pragma unroll
                for (int part = 0; part < 2; ++part)
                    tma_load_2d(&shared.ring[stage][1][part * 256], &table_map, &shared.gathered_full[stage], k_ * 512 + part * 256, row_2);

                // row = tl.load(index + first + i, mask=first + i < count, ...   gather_scale.py:23
                const int row_3 = load_if(first_2 + 2 < count, index + first_2 + 2, -1);

                // tle.gpu.copy(desc, slot.rows.slot(i), [BLOCK], [row, k * ...   gather_scale.py:24
                #pragma unroll
                for (int part = 0; part < 2; ++part)
                    tma_load_2d(&shared.ring[stage][2][part * 256], &table_map, &shared.gathered_full[stage], k_ * 512 + part * 256, row_3);

                // row = tl.load(index + first + i, mask=first + i < count, ...   gather_scale.py:23
                const int row_4 = load_if(first_2 + 3 < count, index + first_2 + 3, -1);

                // tle.gpu.copy(desc, slot.rows.slot(i), [BLOCK], [row, k * ...   gather_scale.py:24
                #pragma unroll
                for (int part = 0; part < 2; ++part)
                    tma_load_2d(&shared.ring[stage][3][part * 256], &table_map, &shared.gathered_full[stage], k_ * 512 + part * 256, row_4);

                // row = tl.load(index + first + i, mask=first + i < count, ...   gather_scale.py:23
                const int row_5 = load_if(first_2 + 4 < count, index + first_2 + 4, -1);

                // tle.gpu.copy(desc, slot.rows.slot(i), [BLOCK], [row, k * ...   gather_scale.py:24
                #pragma unroll
                for (int part = 0; part < 2; ++part)
                    tma_load_2d(&shared.ring[stage][4][part * 256], &table_map, &shared.gathered_full[stage], k_ * 512 + part * 256, row_5);

                // row = tl.load(index + first + i, mask=first + i < count, ...   gather_scale.py:23
                const int row_6 = load_if(first_2 + 5 < count, index + first_2 + 5, -1);

                // tle.gpu.copy(desc, slot.rows.slot(i), [BLOCK], [row, k * ...   gather_scale.py:24
                #pragma unroll
                for (int part = 0; part < 2; ++part)
                    tma_load_2d(&shared.ring[stage][5][part * 256], &table_map, &shared.gathered_full[stage], k_ * 512 + part * 256, row_6);

                // row = tl.load(index + first + i, mask=first + i < count, ...   gather_scale.py:23
                const int row_7 = load_if(first_2 + 6 < count, index + first_2 + 6, -1);

                // tle.gpu.copy(desc, slot.rows.slot(i), [BLOCK], [row, k * ...   gather_scale.py:24
                #pragma unroll
                for (int part = 0; part < 2; ++part)
                    tma_load_2d(&shared.ring[stage][6][part * 256], &table_map, &shared.gathered_full[stage], k_ * 512 + part * 256, row_7);

                // row = tl.load(index + first + i, mask=first + i < count, ...   gather_scale.py:23
                const int row_8 = load_if(first_2 + 7 < count, index + first_2 + 7, -1);

                // tle.gpu.copy(desc, slot.rows.slot(i), [BLOCK], [row, k * ...   gather_scale.py:24
                #pragma unroll
                for (int part = 0; part < 2; ++part)
                    tma_load_2d(&shared.ring[stage][7][part * 256], &table_map, &shared.gathered_full[stage], k_ * 512 + part * 256, row_8);
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // first = tl.program_id(0) * ROWS                                            gather_scale.py:75
    const int pid_x = blockIdx.x;
    const int first = pid_x * 8;
    // scale_rows: warps 0 to 3
    float factor[4];
    // tile [8]: element = thread / 64 + 2 * run;  run < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // place = first + tl.arange(0, ROWS)                                     gather_scale.py:47
        const int place = first + thread / 64 + 2 * run;
        // factor = tl.load(scale + place, mask=place < count, other=0.0)         gather_scale.py:48
        const bool inside = place < count;
        factor[run] = load_if(inside, scale + place, 0.0f);
    }

    // for k in range(tl.cdiv(cols, BLOCK)):                                      gather_scale.py:50
    for (int k_ = 0; k_ < (cols + 511) / 512; ++k_) {
        // value = tl.load(tle.gpu.local_ptr(reader.wait(k).slot.rows)).to(t ...  gather_scale.py:52
        const int stage = k_ & 3;
        const int lap = k_ >> 2;
        mbarrier_wait(&shared.gathered_full[stage], lap & 1);
        Vector<float, 8> value[4];

        // tile [8, 512]: row = thread / 64 + 2 * run, column = thread % 64 * 8 + k;  run < 4, k < 8
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            const Vector<__half, 8> ring_value = load_vector<8>(&shared.ring[stage][thread / 64 + 2 * run][thread % 64 * 8]);
            #pragma unroll
            for (int k = 0; k < 8; ++k) value[run][k] = __half2float(ring_value[k]);
        }
        fence_async_proxy();  // the loads of `ring` come before what the copy engine writes

        // reader.release(k)                                                      gather_scale.py:53
        mbarrier_arrive_warp(&shared.gathered_empty[stage]);

        // col = k * BLOCK + tl.arange(0, BLOCK)                                  gather_scale.py:51
        const int col = k_ * 512 + thread % 64 * 8;
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            // tl.store(target + col[None, :], value * factor[:, None], mask ...  gather_scale.py:54
            Vector<__half, 8> out_value;
            #pragma unroll
            for (int k = 0; k < 8; ++k) out_value[k] = __float2half(value[run][k] * factor[run]);

            // place = first + tl.arange(0, ROWS)                                 gather_scale.py:47
            const int place = first + thread / 64 + 2 * run;
            // factor = tl.load(scale + place, mask=place < count, other=0.0)     gather_scale.py:48
            const bool inside = place < count;
            // tl.store(target + col[None, :], value * factor[:, None], mask ...  gather_scale.py:54
            store_vector_if<uint4>(inside && col < cols, out + static_cast<long long>(place) * out_stride + col, out_value);
        }
    }
}
