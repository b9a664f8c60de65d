// add_by_tma.cu: emitted by tle2cuda from pipelined_add.py:123 (add_by_tma). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 16512 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      out *fp32 align 16, rows i32, cols i32 divisible by 16,
//             out_stride i32 divisible by 16
//   maps      x_map of x: fp32, shape (rows, cols), strides (x_stride, 1), box (4, 256)
//             y_map of y: fp32, shape (rows, cols), strides (y_stride, 1), box (4, 256)
//   constants BLOCK_ROWS = 4, BLOCK_COLS = 256, TILES = 4, STAGES = 2

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
    alignas(128) float x_ring[2][4][256];     // pipelined_add.py:140
    alignas(128) float y_ring[2][4][256];     // pipelined_add.py:141
    alignas(8) Barrier pairs_full[2];         // pipelined_add.py:142
    alignas(8) Barrier pairs_empty[2];        // pipelined_add.py:142
};
static_assert(sizeof(Shared) <= 16512, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
add_by_tma(float* out, const int rows, const int cols, const int out_stride,
           const __grid_constant__ TensorMap x_map, const __grid_constant__ TensorMap y_map)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.pairs_full[stage], 1);
            mbarrier_init(&shared.pairs_empty[stage], 256);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    // ctas_per_row = tl.cdiv(cols, BLOCK_COLS * TILES)                         pipelined_add.py:144
    const int ctas_per_row = (cols + 1023) / 1024;
    // row = tl.program_id(0) // ctas_per_row * BLOCK_ROWS                      pipelined_add.py:145
    const int pid_x = blockIdx.x;
    const int row = pid_x / ctas_per_row * 4;
    // col = tl.program_id(0) % ctas_per_row * (BLOCK_COLS * TILES)             pipelined_add.py:146
    const int col = pid_x % ctas_per_row * 1024;
    // slot = writer.acquire(i)                                                 pipelined_add.py:116
    if (thread == 0) {
        mbarrier_wait(&shared.pairs_empty[0], 1);
        // tle.gpu.copy(x_desc, slot.x, [BLOCK_ROWS, BLOCK_COLS], [row, co ...  pipelined_add.py:117
        mbarrier_expect_bytes(&shared.pairs_full[0], 8192);
        tma_load_2d(shared.x_ring[0], &x_map, &shared.pairs_full[0], col, row);
        // tle.gpu.copy(y_desc, slot.y, [BLOCK_ROWS, BLOCK_COLS], [row, co ...  pipelined_add.py:118
        tma_load_2d(shared.y_ring[0], &y_map, &shared.pairs_full[0], col, row);
    }
    if (thread == 0) {
        mbarrier_wait(&shared.pairs_empty[1], 1);

        // tle.gpu.copy(x_desc, slot.x, [BLOCK_ROWS, BLOCK_COLS], [row, co ...  pipelined_add.py:117
        mbarrier_expect_bytes(&shared.pairs_full[1], 8192);
        tma_load_2d(shared.x_ring[1], &x_map, &shared.pairs_full[1], col + 256, row);
        // tle.gpu.copy(y_desc, slot.y, [BLOCK_ROWS, BLOCK_COLS], [row, co ...  pipelined_add.py:118
        tma_load_2d(shared.y_ring[1], &y_map, &shared.pairs_full[1], col + 256, row);
    }
    // slot = reader.wait(i).slot                                               pipelined_add.py:153
    mbarrier_wait(&shared.pairs_full[0], 0);

    // total = tl.load(tle.gpu.local_ptr(slot.x)) + tl.load(tle.gpu.local_ ...  pipelined_add.py:154
    const Vector<float, 4> x_ring_value = load_vector<4>(&shared.x_ring[0][thread / 64][thread % 64 * 4]);
    const Vector<float, 4> x_ring_value_2 = load_vector<4>(&shared.y_ring[0][thread / 64][thread % 64 * 4]);
    Vector<float, 4> total;
    #pragma unroll
    for (int k = 0; k < 4; ++k) total[k] = x_ring_value[k] + x_ring_value_2[k];
    fence_async_proxy();  // the loads of `x_ring` and `y_ring` come before what the copy engine writes

    // reader.release(i)                                                        pipelined_add.py:156
    mbarrier_arrive(&shared.pairs_empty[0]);
    // slot = writer.acquire(i)                                                 pipelined_add.py:116
    if (thread == 0) {
        mbarrier_wait(&shared.pairs_empty[0], 0);
        // tle.gpu.copy(x_desc, slot.x, [BLOCK_ROWS, BLOCK_COLS], [row, co ...  pipelined_add.py:117
        mbarrier_expect_bytes(&shared.pairs_full[0], 8192);
        tma_load_2d(shared.x_ring[0], &x_map, &shared.pairs_full[0], col + 512, row);
        // tle.gpu.copy(y_desc, slot.y, [BLOCK_ROWS, BLOCK_COLS], [row, co ...  pipelined_add.py:118
        tma_load_2d(shared.y_ring[0], &y_map, &shared.pairs_full[0], col + 512, row);
    }
    // tile_row = row + tl.arange(0, BLOCK_ROWS)                                pipelined_add.py:147
    const int tile_row = row + thread / 64;
    // tile_col = col + tl.arange(0, BLOCK_COLS)                                pipelined_add.py:148
    const int tile_col = col + thread % 64 * 4;
    // tl.store(target + i * BLOCK_COLS, total, mask=inside)                    pipelined_add.py:159
    store_vector_if<uint4>(tile_row < rows && tile_col < cols, out + static_cast<long long>(tile_row) * out_stride + tile_col, total);
    // slot = reader.wait(i).slot                                               pipelined_add.py:153
    mbarrier_wait(&shared.pairs_full[1], 0);

    // total = tl.load(tle.gpu.local_ptr(slot.x)) + tl.load(tle.gpu.local_ ...  pipelined_add.py:154
    const Vector<float, 4> x_ring_value_3 = load_vector<4>(&shared.x_ring[1][thread / 64][thread % 64 * 4]);
    const Vector<float, 4> x_ring_value_4 = load_vector<4>(&shared.y_ring[1][thread / 64][thread % 64 * 4]);
    Vector<float, 4> total_2;
    #pragma unroll
    for (int k = 0; k < 4; ++k) total_2[k] = x_ring_value_3[k] + x_ring_value_4[k];
    fence_async_proxy();  // the loads of `x_ring` and `y_ring` come before what the copy engine writes

    // reader.release(i)                                                        pipelined_add.py:156
    mbarrier_arrive(&shared.pairs_empty[1]);
    // slot = writer.acquire(i)                                                 pipelined_add.py:116
    if (thread == 0) {
        mbarrier_wait(&shared.pairs_empty[1], 0);
        // tle.gpu.copy(x_desc, slot.x, [BLOCK_ROWS, BLOCK_COLS], [row, co ...  pipelined_add.py:117
        mbarrier_expect_bytes(&shared.pairs_full[1], 8192);
        tma_load_2d(shared.x_ring[1], &x_map, &shared.pairs_full[1], col + 768, row);
        // tle.gpu.copy(y_desc, slot.y, [BLOCK_ROWS, BLOCK_COLS], [row, co ...  pipelined_add.py:118
        tma_load_2d(shared.y_ring[1], &y_map, &shared.pairs_full[1], col + 768, row);
    }
    // tl.store(target + i * BLOCK_COLS, total, mask=inside)                    pipelined_add.py:159
    store_vector_if<uint4>(tile_row < rows && tile_col + 256 < cols, out + static_cast<long long>(tile_row) * out_stride + tile_col + 256, total_2);
    // slot = reader.wait(i).slot                                               pipelined_add.py:153
    mbarrier_wait(&shared.pairs_full[0], 1);

    // total = tl.load(tle.gpu.local_ptr(slot.x)) + tl.load(tle.gpu.local_ ...  pipelined_add.py:154
    const Vector<float, 4> x_ring_value_5 = load_vector<4>(&shared.x_ring[0][thread / 64][thread % 64 * 4]);
    const Vector<float, 4> x_ring_value_6 = load_vector<4>(&shared.y_ring[0][thread / 64][thread % 64 * 4]);
    Vector<float, 4> total_3;
    #pragma unroll
    for (int k = 0; k < 4; ++k) total_3[k] = x_ring_value_5[k] + x_ring_value_6[k];

    // tl.store(target + i * BLOCK_COLS, total, mask=inside)                    pipelined_add.py:159
    store_vector_if<uint4>(tile_row < rows && tile_col + 512 < cols, out + static_cast<long long>(tile_row) * out_stride + tile_col + 512, total_3);
    // slot = reader.wait(i).slot                                               pipelined_add.py:153
    mbarrier_wait(&shared.pairs_full[1], 1);

    // total = tl.load(tle.gpu.local_ptr(slot.x)) + tl.load(tle.gpu.local_ ...  pipelined_add.py:154
    const Vector<float, 4> x_ring_value_7 = load_vector<4>(&shared.x_ring[1][thread / 64][thread % 64 * 4]);
    const Vector<float, 4> x_ring_value_8 = load_vector<4>(&shared.y_ring[1][thread / 64][thread % 64 * 4]);
    Vector<float, 4> total_4;
    #pragma unroll
    for (int k = 0; k < 4; ++k) total_4[k] = x_ring_value_7[k] + x_ring_value_8[k];

    // tl.store(target + i * BLOCK_COLS, total, mask=inside)                    pipelined_add.py:159
    store_vector_if<uint4>(tile_row < rows && tile_col + 768 < cols, out + static_cast<long long>(tile_row) * out_stride + tile_col + 768, total_4);
}
