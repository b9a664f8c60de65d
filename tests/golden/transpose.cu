// transpose.cu: emitted by tle2cuda from transpose.py:17 (transpose). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 32896 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      out *fp32 align 16, rows i32 divisible by 16, cols i32 divisible by 16,
//             out_stride i32 divisible by 16
//   maps      x_map of x: fp32, shape (rows, cols), strides (x_stride, 1), box (64, 64)
//   constants BLOCK = 64, STORE_BY_TMA = False

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

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
    alignas(128) float tile[64][64];          // transpose.py:22
    alignas(16) float turned_exchange[4096];  // scratch of transpose.py:27
    alignas(8) Barrier tile_landed;           // scratch of transpose.py:26
};
static_assert(sizeof(Shared) <= 32896, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
transpose(float* out, const int rows, const int cols, const int out_stride,
          const __grid_constant__ TensorMap x_map)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread == 0) {
        mbarrier_init(&shared.tile_landed, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    // column_tiles = tl.cdiv(cols, BLOCK)                                           transpose.py:23
    const int column_tiles = (cols + 63) / 64;
    // row = tl.program_id(0) // column_tiles * BLOCK                                transpose.py:24
    const int pid_x = blockIdx.x;
    const int row = pid_x / column_tiles * 64;
    // col = tl.program_id(0) % column_tiles * BLOCK                                 transpose.py:25
    const int col = pid_x % column_tiles * 64;

    // tle.gpu.copy(source, tile, [BLOCK, BLOCK], [row, col])                        transpose.py:26
    if (thread == 0) {
        mbarrier_expect_bytes(&shared.tile_landed, 16384);
        tma_load_2d(shared.tile, &x_map, &shared.tile_landed, col, row);
    }
    mbarrier_wait(&shared.tile_landed, 0);
    Vector<float, 4> tile_value[4];

    // tile [64, 64]: row = thread / 16 + 16 * run, column = thread % 16 * 4 + k;  run < 4, k < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // turned = tl.trans(tl.load(tle.gpu.local_ptr(tile)))                       transpose.py:27
        tile_value[run] = load_vector<4>(&shared.tile[thread / 16 + 16 * run][thread % 16 * 4]);
    }

    // turned = tl.trans(tl.load(tle.gpu.local_ptr(tile)))                           transpose.py:27
    #pragma unroll
    for (int run = 0; run < 16; ++run)
        shared.turned_exchange[thread / 64 * 128 + ((thread % 64) ^ (thread / 64) ^ (run % 2 * 16) ^ (run / 4 * 4)) + run % 2 * 2048 + run / 4 * 512 + run / 2 % 2 * 64] = tile_value[run / 4][run % 4];
    __syncthreads();  // the whole tile is in shared memory
    Vector<float, 4> turned[4];
    #pragma unroll
    for (int run = 0; run < 16; ++run)
        turned[run / 4][run % 4] = shared.turned_exchange[thread % 32 * 128 + thread / 32 % 2 * 64 + ((thread % 32) ^ (thread / 64) ^ (run % 4 * 16) ^ (run / 4 * 4))];

    // out_col = row + tl.arange(0, BLOCK)                                           transpose.py:35
    const int out_col = row + thread % 16 * 4;
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // out_row = col + tl.arange(0, BLOCK)                                       transpose.py:34
        const int out_row = col + thread / 16 + 16 * run;
        // tl.store(target_tile, turned, mask=(out_row < cols)[:, None] & (out_ ...  transpose.py:37
        store_vector_if<uint4>(out_row < cols && out_col < rows, out + static_cast<long long>(out_row) * out_stride + out_col, turned[run]);
    }
}
