// segments.cu: emitted by tle2cuda from tensor_copies.py:158 (segments). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 3072 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, starts *i32 align 16, out *fp32 align 16, N i32 divisible by 16
//   maps      x_form of x: fp32, shape (1, 1), strides (4, 1), box (16, 32)
//             out_form of out: fp32, shape (1, 1), strides (4, 1), box (16, 32)
//   constants BM = 16, BN = 32

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

// Lets a tensor map in global memory begin somewhere else. Called by one thread; fence_tensor_map follows the last change (PTX
// ISA, tensormap.replace; sm_90a).
__device__ __forceinline__ void change_tensor_map_base(TensorMap* map, const void* base)
{
    asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(map), "l"(base) : "memory");
}

// The same for the extent of dimension AXIS in elements, 0 being the contiguous one (PTX ISA, tensormap.replace; sm_90a).
template <int AXIS>
__device__ __forceinline__ void change_tensor_map_extent(TensorMap* map, unsigned extent)
{
    asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], %1, %2;" ::"l"(map), "n"(AXIS), "r"(extent) : "memory");
}

// The same for the bytes from one index of dimension AXIS + 1 to the next (PTX ISA, tensormap.replace; sm_90a).
template <int AXIS>
__device__ __forceinline__ void change_tensor_map_stride(TensorMap* map, unsigned long long bytes)
{
    asm volatile("tensormap.replace.tile.global_stride.global.b1024.b64 [%0], %1, %2;" ::"l"(map), "n"(AXIS), "l"(bytes) : "memory");
}

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Makes this thread's mbarrier_init known to the cluster and to the copy engine (PTX ISA, fence.mbarrier_init; sm_90).
__device__ __forceinline__ void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Makes this thread's changes of a tensor map in global memory known to its later copies. Called by the thread that changed it
// (PTX ISA, fence.proxy.tensormap; sm_90).
__device__ __forceinline__ void fence_tensor_map(const TensorMap* map)
{
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
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

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
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
    alignas(1024) float tile[16][32];         // tensor_copies.py:164
    alignas(8) Barrier tile_landed;           // scratch of tensor_copies.py:167
};
static_assert(sizeof(Shared) <= 3072, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
segments(const float* x, const int* __restrict__ starts, float* out, const int N,
         TensorMap* device_maps, const __grid_constant__ TensorMap x_form,
         const __grid_constant__ TensorMap out_form)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread == 0) {
        mbarrier_init(&shared.tile_landed, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    // first = tl.load(starts + tl.program_id(0))                               tensor_copies.py:160
    const int pid_x = blockIdx.x;
    const int first = starts[pid_x];
    // rows = tl.load(starts + tl.program_id(0) + 1) - first                    tensor_copies.py:161
    const int starts_value = starts[pid_x + 1];
    const int rows = starts_value - first;

    // source = tl.make_tensor_descriptor(x + first * N, [rows, N], [N, 1] ...  tensor_copies.py:162
    const bool x_exists = rows > 0 && N > 0;
    const long long x_stride0_bytes = static_cast<long long>(N) * 4ll;
    TensorMap* const x_map = device_maps + (gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z) + blockIdx.x) * 2;
    if (thread == 0) {
        *x_map = x_form;
        change_tensor_map_base(x_map, x + first * N);
        change_tensor_map_extent<0>(x_map, max(N, 1));
        change_tensor_map_extent<1>(x_map, max(rows, 1));
        change_tensor_map_stride<0>(x_map, x_stride0_bytes);
        fence_tensor_map(x_map);
    }

    // target = tl.make_tensor_descriptor(out + first * N, [rows, N], [N, ...   tensor_copies.py:163
    TensorMap* const out_map = device_maps + (gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z) + blockIdx.x) * 2 + 1;
    if (thread == 0) {
        *out_map = out_form;
        change_tensor_map_base(out_map, out + first * N);
        change_tensor_map_extent<0>(out_map, max(N, 1));
        change_tensor_map_extent<1>(out_map, max(rows, 1));
        change_tensor_map_stride<0>(out_map, x_stride0_bytes);
        fence_tensor_map(out_map);
    }

    // for row in range(0, rows + 1, BM):                                       tensor_copies.py:165
    unsigned tile_landed_phase = 0;
    for (int row = 0; row < rows + 1; row += 16) {
        // tle.gpu.copy(source, tile, [BM, BN], [row, col])                     tensor_copies.py:167
        const int chosen = x_exists ? row : 2147418112;
        // for col in range(0, N, BN):                                          tensor_copies.py:166
        for (int col = 0; col < N; col += 32) {
            if (thread == 0) tma_store_wait_read();  // the copy engine has read `tile`

            // tle.gpu.copy(source, tile, [BM, BN], [row, col])                 tensor_copies.py:167
            if (thread == 0) {
                mbarrier_expect_bytes(&shared.tile_landed, 2048);
                tma_load_2d(shared.tile, x_map, &shared.tile_landed, col, chosen);
            }
            mbarrier_wait(&shared.tile_landed, tile_landed_phase);
            tile_landed_phase ^= 1;
            __syncthreads();  // orders the loads of `tile` before the stores to it

            // tl.store(tle.gpu.local_ptr(tile), tl.load(tle.gpu.local_ptr ...  tensor_copies.py:168
            const Vector<float, 4> tile_value = load_vector<4>(&shared.tile[thread / 8][thread % 8 * 4]);
            Vector<float, 4> tile_value_2;
            #pragma unroll
            for (int k = 0; k < 4; ++k) tile_value_2[k] = tile_value[k] + 1.0f;
            store_vector(&shared.tile[thread / 8][thread % 8 * 4], tile_value_2);
            fence_async_proxy();  // shows what was written to `tile` to the copy engine
            __syncthreads();  // orders the accesses to `tile` before it and after it

            // tle.gpu.copy(tile, target, [BM, BN], [row, col])                 tensor_copies.py:169
            if (thread == 0) {
                tma_store_2d(out_map, shared.tile, col, chosen);
                tma_store_commit();
            }
        }
    }
    if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `tile`
}
