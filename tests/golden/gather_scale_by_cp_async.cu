// gather_scale.cu: emitted by tle2cuda from gather_scale.py:58 (gather_scale). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 32832 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     scale_rows on warps 0 to 3, fetch_by_cp_async on warps 4 to 7
//   args      table *fp16 align 16, index *i32 align 16, scale *fp32 align 16,
//             out *fp16 align 16, count i32, rows i32, cols i32 divisible by 16,
//             table_stride i32 divisible by 16, out_stride i32 divisible by 16
//   constants ROWS = 8, BLOCK = 512, STAGES = 4, BY_TMA = False

#include <cuda_fp16.h>

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// The same as one of the arrivals that the phase's count includes (PTX ISA, cp.async.mbarrier.arrive.noinc; sm_80).
__device__ __forceinline__ void cp_async_mbarrier_arrive_noinc(Barrier* barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
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

// The value that lane `source` of the warp holds. Called by whole warps.
template <typename T>
__device__ __forceinline__ T shuffle_from(T value, int source)
{
    return shuffle_words(value, [source](unsigned word) { return __shfl_sync(0xffffffffu, word, source); });
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

// Shared memory of one CTA.
struct Shared {
    alignas(16) __half ring[4][8][512];       // gather_scale.py:73
    alignas(8) Barrier gathered_full[4];      // gather_scale.py:74
    alignas(8) Barrier gathered_empty[4];     // gather_scale.py:74
};
static_assert(sizeof(Shared) <= 32832, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
gather_scale(const __half* table, const int* index, const float* scale, __half* out,
             const int count, const int rows, const int cols, const int table_stride,
             const int out_stride)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 4; ++stage) {
            mbarrier_init(&shared.gathered_full[stage], 128);
            mbarrier_init(&shared.gathered_empty[stage], 128);
        }
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {  // fetch_by_cp_async: warps 4 to 7
        const int thread = threadIdx.x - 128;
        const int pid_x_2 = blockIdx.x;

        // first = tl.program_id(0) * ROWS                                        gather_scale.py:75
        const int first_2 = pid_x_2 * 8;
        // place = first + tl.arange(0, ROWS)                                     gather_scale.py:33
        const int place = first_2 + thread % 8;
        // row = tl.load(index + place, mask=place < count, other=-1)             gather_scale.py:34
        const int row = load_if(place < count, index + place, -1);
        // exists = (row >= 0) & (row < rows)                                     gather_scale.py:35
        const bool exists = row >= 0 && row < rows;

        // source = table + row.to(tl.int64)[:, None] * table_stride              gather_scale.py:36
        const long long row_wide = static_cast<long long>(row);
        const long long product = row_wide * static_cast<long long>(table_stride);
        const __half* source = table + product;
        const __half* source_2[4];
        source_2[0] = shuffle_from(source, thread / 8 % 4 * 8 + thread / 64);
        source_2[1] = shuffle_from(source, thread / 8 % 4 * 8 + thread / 64 + 2);
        source_2[2] = shuffle_from(source, thread / 8 % 4 * 8 + thread / 64 + 4);
        source_2[3] = shuffle_from(source, thread / 8 % 4 * 8 + thread / 64 + 6);

        // inside = exists[:, None] & (col < cols)[None, :]                       gather_scale.py:40
        bool tile_source = exists;
        bool exists_converted[4];
        exists_converted[0] = shuffle_from(tile_source, thread / 8 % 4 * 8 + thread / 64);
        exists_converted[1] = shuffle_from(tile_source, thread / 8 % 4 * 8 + thread / 64 + 2);
        exists_converted[2] = shuffle_from(tile_source, thread / 8 % 4 * 8 + thread / 64 + 4);
        exists_converted[3] = shuffle_from(tile_source, thread / 8 % 4 * 8 + thread / 64 + 6);

        // for k in range(tl.cdiv(cols, BLOCK)):                                  gather_scale.py:37
        for (int k_ = 0; k_ < (cols + 511) / 512; ++k_) {
            // slot = writer.acquire(k)                                           gather_scale.py:39
            const int stage = k_ & 3;
            const int lap = k_ >> 2;
            mbarrier_wait(&shared.gathered_empty[stage], (lap + 1) & 1);

            // tle.gpu.copy(source + col[None, :], slot.rows, [ROWS, BLOCK], ...  gather_scale.py:41
            // col = k * BLOCK + tl.arange(0, BLOCK)                              gather_scale.py:38
            const int col = k_ * 512 + thread % 64 * 8;
            #pragma unroll
            for (int run = 0; run < 4; ++run) {
                cp_async_zero_fill<16>(&shared.ring[stage][thread / 64 + 2 * run][thread % 64 * 8], source_2[run] + col, exists_converted[run] && col < cols ? 16 : 0);
            }

            // writer.commit(k)                                                   gather_scale.py:42
            cp_async_mbarrier_arrive_noinc(&shared.gathered_full[stage]);
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

        // reader.release(k)                                                      gather_scale.py:53
        mbarrier_arrive(&shared.gathered_empty[stage]);

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
