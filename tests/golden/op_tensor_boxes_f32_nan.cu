// copy_boxes.cu: emitted by tle2cuda from tensor_copies.py:19 (copy_boxes). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 2176 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp32 align 16, M i32, N i32, row i32, col i32
//   maps      x_map of x: fp32, shape (M, N), strides (N, 1), box (16, 32), NaN outside
//             out_map of out: fp32, shape (M - 1, N), strides (N, 1), box (16, 32)
//   constants BM = 16, BN = 32, MMA = False, PADDING = 'nan'

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

// Load one element of global memory if a condition holds, else take `other` (read-only data): one predicated load (PTX ISA,
// ld.global.nc). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ float load_nc_if(bool condition, const float* pointer, float other)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.nc.f32 %0, [%1];\n\t}"
        : "+f"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)));
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

// A NaN.
__device__ __forceinline__ float quiet_nan()
{
    return __int_as_float(0x7fc00000);
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Store the first `valid` of N neighbours: one access when all are valid, else one by one.
template <int N, typename T, typename Count>
__device__ __forceinline__ void store_edge(T* pointer, Count valid, const Vector<T, N>& value)
{
    if (valid >= N) {
        store_vector(pointer, value);
        return;
    }
    #pragma unroll
    for (int k = 0; k < N; ++k)
        if (k < valid) pointer[k] = value[k];
}

// One box of the tensor map into shared memory, from element (c0, c1) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_2d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1) : "memory");
}

// One box from shared memory into the array, clipped at its edges, as part of this thread's open bulk group. What wrote
// `source` is followed by fence_async_proxy. Called by one thread (PTX ISA, cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_store_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1) : "memory");
}

// Closes this thread's bulk group (PTX ISA, cp.async.bulk.commit_group; sm_90).
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until all but the last PENDING have read shared memory, which may then be written (PTX ISA, cp.async.bulk.wait_group.read;
// sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(128) float tile[16][32];          // tensor_copies.py:23
    alignas(8) Barrier tile_landed;           // scratch of tensor_copies.py:25
};
static_assert(sizeof(Shared) <= 2176, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
copy_boxes(const float* __restrict__ x, float* out, const int M, const int N, const int row,
           const int col, const __grid_constant__ TensorMap x_map,
           const __grid_constant__ TensorMap out_map)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread == 0) {
        mbarrier_init(&shared.tile_landed, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    // source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN], padd ...  tensor_copies.py:21
    const long long N_wide = static_cast<long long>(N);

    // i, j = tl.program_id(0) * BM, tl.program_id(1) * BN                       tensor_copies.py:24
    const int pid_x = blockIdx.x;
    const int i = pid_x * 16;
    const int pid_y = blockIdx.y;
    const int j = pid_y * 32;

    // tle.gpu.copy(source, tile, [BM, BN], [i + row, j + col])                  tensor_copies.py:25
    const bool fits_engine = ((j + col) & 3) == 0;
    if (fits_engine) {
        if (thread == 0) {
            mbarrier_expect_bytes(&shared.tile_landed, 2048);
            tma_load_2d(shared.tile, &x_map, &shared.tile_landed, j + col, i + row);
        }
        mbarrier_wait(&shared.tile_landed, 0);
    } else {
        const long long value = static_cast<long long>(i + row);
        const long long rows_left = static_cast<long long>(M) - value;
        const long long value_2 = static_cast<long long>(j + col);
        const long long cols_left = N_wide - value_2;

        // tile [16, 32]: row = thread / 32 + 4 * run, column = thread % 32;  run < 4
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            const float x_value = load_nc_if(thread / 32 + 4 * run < rows_left && value + thread / 32 + 4 * run >= 0ll && thread % 32 < cols_left && value_2 + thread % 32 >= 0ll, x + value * N_wide + value_2 + (thread / 32 + 4 * run) * N_wide + thread % 32, quiet_nan());

            // tle.gpu.copy(source, tile, [BM, BN], [i + row, j + col])          tensor_copies.py:25
            shared.tile[thread / 32 + 4 * run][thread % 32] = x_value;
        }
    }

    // tle.gpu.copy(tile, target, [BM, BN], [i, j])                              tensor_copies.py:26
    const bool fits_engine_2 = (N & 3) == 0 || N - j >= 32;
    fence_async_proxy();  // shows what was written to `tile` to the copy engine
    __syncthreads();  // orders the stores to `tile` before the loads of it
    if (fits_engine_2) {
        if (thread == 0) {
            tma_store_2d(&out_map, shared.tile, j, i);
            tma_store_commit();
        }
    } else {
        const long long i_wide = static_cast<long long>(i);
        const long long rows_left = static_cast<long long>(M - 1) - i_wide;
        const long long j_wide = static_cast<long long>(j);
        const long long cols_left = N_wide - j_wide;
        const Vector<float, 4> tile_value = load_vector<4>(&shared.tile[thread / 8][thread % 8 * 4]);
        if (thread / 8 < rows_left && i_wide + thread / 8 >= 0ll) store_edge(out + i_wide * N_wide + j_wide + thread / 8 * N_wide + thread % 8 * 4, cols_left - thread % 8 * 4, tile_value);
    }
    if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `tile`
}
