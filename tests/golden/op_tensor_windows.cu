// windows.cu: emitted by tle2cuda from tensor_copies.py:173 (windows). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 1024 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, starts *i32 align 16, out *fp32 align 16, N i32
//   maps      out_form of out: fp32, shape (1, 1), strides (4, 1), box (8, 32)
//   constants ROWS = 8, BN = 16

namespace {

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

// Makes this thread's changes of a tensor map in global memory known to its later copies. Called by the thread that changed it
// (PTX ISA, fence.proxy.tensormap; sm_90).
__device__ __forceinline__ void fence_tensor_map(const TensorMap* map)
{
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
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

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
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
    alignas(128) float wide[8][32];           // tensor_copies.py:177
};
static_assert(sizeof(Shared) <= 1024, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
windows(const float* __restrict__ x, const int* __restrict__ starts, float* out, const int N,
        TensorMap* device_maps, const __grid_constant__ TensorMap out_form)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // start = tl.load(starts + tl.program_id(0))                               tensor_copies.py:175
    const int pid_x = blockIdx.x;
    const int start = starts[pid_x];
    // source = tl.make_tensor_descriptor(x + start * N, [ROWS - 1, N], [N ...  tensor_copies.py:176
    const long long cols_left = static_cast<long long>(N);
    // tle.gpu.copy(source, wide.subslice(BN, BN, 1), [ROWS, BN], [1, 4])       tensor_copies.py:179
    const long long cols_left_2 = cols_left - 4ll;

    // tle.gpu.copy(source, wide.subslice(0, BN, 1), [ROWS, BN], [0, 0])        tensor_copies.py:178
    const long long index = thread / 16 * cols_left;
    const float x_value = load_nc_if(thread / 16 < 7ll && thread % 16 < cols_left, x + start * N + index + thread % 16, 0.0f);
    shared.wide[thread / 16][thread % 16] = x_value;

    // tle.gpu.copy(source, wide.subslice(BN, BN, 1), [ROWS, BN], [1, 4])       tensor_copies.py:179
    const float x_value_2 = load_nc_if(thread / 16 < 6ll && thread % 16 < cols_left_2, x + start * N + cols_left + 4 + index + thread % 16, 0.0f);

    // target = tl.make_tensor_descriptor(out, [tl.num_programs(0) * ROWS, ...  tensor_copies.py:180
    const int num_programs_x = gridDim.x;
    const bool out_exists = num_programs_x * 8 > 0;
    const long long out_stride0_bytes = 32ll * 4ll;
    __syncthreads();  // orders the stores to `wide` before later ones

    // tle.gpu.copy(source, wide.subslice(BN, BN, 1), [ROWS, BN], [1, 4])       tensor_copies.py:179
    shared.wide[thread / 16][thread % 16 + 16] = x_value_2;

    // target = tl.make_tensor_descriptor(out, [tl.num_programs(0) * ROWS, ...  tensor_copies.py:180
    TensorMap* const out_map = device_maps + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z) + blockIdx.x;
    if (thread == 0) {
        *out_map = out_form;
        change_tensor_map_base(out_map, out);
        change_tensor_map_extent<0>(out_map, 32);
        change_tensor_map_extent<1>(out_map, max(num_programs_x * 8, 1));
        change_tensor_map_stride<0>(out_map, out_stride0_bytes);
        fence_tensor_map(out_map);
    }
    fence_async_proxy();  // shows what was written to `wide` to the copy engine
    __syncthreads();  // orders the stores to `wide` before the loads of it

    // tle.gpu.copy(wide, target, [ROWS, 2 * BN], [tl.program_id(0) * ROWS ...  tensor_copies.py:181
    if (thread == 0) {
        tma_store_2d(out_map, shared.wide, 0, out_exists ? pid_x * 8 : 2147418112);
        tma_store_commit();
    }
    if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `wide`
}
