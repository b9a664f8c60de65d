// copy_by_pointers.cu: emitted by tle2cuda from pipelined_copy.py:43 (copy_by_pointers). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 16448 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     empty_tiles on warps 0 to 3, fill_tiles on warps 4 to 7
//   args      x *fp32 align 16, out *fp32 align 16, cols i32 divisible by 16,
//             x_stride i32 divisible by 16, out_stride i32 divisible by 16
//   constants BLOCK = 1024, TILES = 4, STAGES = 4

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

// One arrival of the warp, behind what all of its lanes did before. Called by whole warps.
__device__ __forceinline__ void mbarrier_arrive_warp(Barrier* barrier)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0) mbarrier_arrive(barrier);
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

// Shared memory of one CTA.
struct Shared {
    alignas(16) float ring[4][1024];          // pipelined_copy.py:45
    alignas(8) Barrier tiles_full[4];         // pipelined_copy.py:46
    alignas(8) Barrier tiles_empty[4];        // pipelined_copy.py:46
};
static_assert(sizeof(Shared) <= 16448, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
copy_by_pointers(const float* x, float* out, const int cols, const int x_stride,
                 const int out_stride)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 4; ++stage) {
            mbarrier_init(&shared.tiles_full[stage], 128);
            mbarrier_init(&shared.tiles_empty[stage], 4);
        }
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {  // fill_tiles: warps 4 to 7
        const int thread = threadIdx.x - 128;

        // row = tl.program_id(0) // ctas_per_row                               pipelined_copy.py:48
        const int pid_x_2 = blockIdx.x;
        // ctas_per_row = tl.cdiv(cols, BLOCK * TILES)                          pipelined_copy.py:47
        const int ctas_per_row_2 = (cols + 4095) / 4096;
        // row = tl.program_id(0) // ctas_per_row                               pipelined_copy.py:48
        const int row_2 = pid_x_2 / ctas_per_row_2;
        // first = tl.program_id(0) % ctas_per_row * (BLOCK * TILES)            pipelined_copy.py:49
        const int first_2 = pid_x_2 % ctas_per_row_2 * 4096;
        // for i in range(TILES):                                               pipelined_copy.py:25
        for (int i = 0; i < 4; ++i) {
            // slot = writer.acquire(i)                                         pipelined_copy.py:27
            const int stage = i & 3;
            const int lap = i >> 2;
            mbarrier_wait(&shared.tiles_empty[stage], (lap + 1) & 1);

            // tl.store(tle.gpu.local_ptr(slot.tile), tile)                     pipelined_copy.py:29
            #pragma unroll
            for (int run = 0; run < 2; ++run) {
                // col = first + i * BLOCK + tl.arange(0, BLOCK)                pipelined_copy.py:26
                const int col = first_2 + i * 1024 + 4 * thread + 512 * run;
                cp_async_zero_fill<16>(&shared.ring[stage][4 * thread + 512 * run], x + static_cast<long long>(row_2) * x_stride + col, col < cols ? 16 : 0);
            }

            // writer.commit(i)                                                 pipelined_copy.py:30
            cp_async_mbarrier_arrive_noinc(&shared.tiles_full[stage]);
        }
        return;
    }

    const int thread = threadIdx.x;

    // ctas_per_row = tl.cdiv(cols, BLOCK * TILES)                              pipelined_copy.py:47
    const int ctas_per_row = (cols + 4095) / 4096;
    // row = tl.program_id(0) // ctas_per_row                                   pipelined_copy.py:48
    const int pid_x = blockIdx.x;
    const int row = pid_x / ctas_per_row;
    // first = tl.program_id(0) % ctas_per_row * (BLOCK * TILES)                pipelined_copy.py:49
    const int first = pid_x % ctas_per_row * 4096;
    // empty_tiles: warps 0 to 3
    // for i in range(TILES):                                                   pipelined_copy.py:35
    for (int i = 0; i < 4; ++i) {
        // tile = tl.load(tle.gpu.local_ptr(reader.wait(i).slot.tile))          pipelined_copy.py:37
        const int stage = i & 3;
        const int lap = i >> 2;
        mbarrier_wait(&shared.tiles_full[stage], lap & 1);
        Vector<float, 4> tile[2];

        // tile [1024]: element = 4 * thread + 512 * run + k;  run < 2, k < 4
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            tile[run] = load_vector<4>(&shared.ring[stage][4 * thread + 512 * run]);
        }

        // reader.release(i)                                                    pipelined_copy.py:38
        mbarrier_arrive_warp(&shared.tiles_empty[stage]);
        #pragma unroll
        for (int run = 0; run < 2; ++run) {
            // col = first + i * BLOCK + tl.arange(0, BLOCK)                    pipelined_copy.py:36
            const int col = first + i * 1024 + 4 * thread + 512 * run;
            // tl.store(out + row.to(tl.int64) * out_stride + col, tile, m ...  pipelined_copy.py:39
            store_vector_if<uint4>(col < cols, out + static_cast<long long>(row) * out_stride + col, tile[run]);
        }
    }
}
