// copy_blocks.cu: emitted by tle2cuda from tensor_copies.py:87 (copy_blocks). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 512 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i16 align 16, A i32, B i32, C i32, D i32, E i32
//   maps      out_map of out: i16, shape (A * B * C, D, E), strides (D * E, E, 1), box (4, 4, 16)
//   constants COL = 4

namespace {

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

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

// The 4 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global.nc).
__device__ __forceinline__ unsigned load_bits_nc_if(bool condition, const unsigned* pointer, unsigned otherwise)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.nc.u32 %0, [%1];\n\t}"
        : "+r"(otherwise)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return otherwise;
}

// Load N neighbours in global memory, in words of type Bits, if a condition holds, else take `otherwise` (read-only data).
// The address is computed either way, so that neighbouring loads can share it.
template <typename Bits, int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_nc_if(bool condition, const T* pointer, Vector<T, N> otherwise)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(otherwise) / sizeof(Bits)); ++i) {
        unsigned char* const word = reinterpret_cast<unsigned char*>(&otherwise) + i * sizeof(Bits);
        Bits bits;
        memcpy(&bits, word, sizeof(Bits));
        bits = load_bits_nc_if(condition, reinterpret_cast<const Bits*>(pointer) + i, bits);
        memcpy(word, &bits, sizeof(Bits));
    }
    return otherwise;
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// One box from shared memory into the array, clipped at its edges, as part of this thread's open bulk group. What wrote
// `source` is followed by fence_async_proxy. Called by one thread (PTX ISA, cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_store_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2) : "memory");
}

// Closes this thread's bulk group (PTX ISA, cp.async.bulk.commit_group; sm_90).
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until all but the last PENDING have read shared memory, which may then be written (PTX ISA, cp.async.bulk.wait_group.read;
// sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(128) short tile[2][2][4][16];     // tensor_copies.py:92
};
static_assert(sizeof(Shared) <= 512, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
copy_blocks(const short* __restrict__ x, const int A, const int B, const int C, const int D,
            const int E, const __grid_constant__ TensorMap out_map)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // five = tl.make_tensor_descriptor(x, [A, B, C, D, E], [B * C * D * E, ...  tensor_copies.py:90
    const long long E_wide = static_cast<long long>(E);
    const long long value = static_cast<long long>(B * C * D * E);

    // tle.gpu.copy(five, tile, [2, 1, 2, 4, 16], [1, 2, 0, 1, COL])             tensor_copies.py:93
    const long long axis2_left = static_cast<long long>(C);
    const long long axis0_left = static_cast<long long>(A) - 1ll;
    const long long axis1_left = static_cast<long long>(B) - 2ll;
    const long long axis3_left = static_cast<long long>(D) - 1ll;
    const long long axis4_left = E_wide - 4ll;

    // tle.gpu.copy(tile.reshape([4, 4, 16]), three, [4, 4, 16], [3, 0, 0])      tensor_copies.py:94
    short* const view = shared.tile[0][0][0];

    // tle.gpu.copy(five, tile, [2, 1, 2, 4, 16], [1, 2, 0, 1, COL])             tensor_copies.py:93
    const Vector<short, 2> x_value = load_vector_nc_if<unsigned>(thread / 64 < axis0_left && 0 < axis1_left && thread / 32 % 2 < axis2_left && thread / 8 % 4 < axis3_left && thread % 8 * 2 < axis4_left, x + value + 2ll * static_cast<long long>(C * D * E) + E_wide + 4 + thread / 64 * value + thread / 32 % 2 * static_cast<long long>(D * E) + thread / 8 % 4 * E_wide + thread % 8 * 2, fill_vector<2, short>(0));
    store_vector(&shared.tile[thread / 64][thread / 32 % 2][thread / 8 % 4][thread % 8 * 2], x_value);
    fence_async_proxy();  // shows what was written to `tile` to the copy engine
    __syncthreads();  // orders the stores to `tile` before the loads of it

    // tle.gpu.copy(tile.reshape([4, 4, 16]), three, [4, 4, 16], [3, 0, 0])      tensor_copies.py:94
    if (thread == 0) {
        tma_store_3d(&out_map, view, 0, 0, 3);
        tma_store_commit();
    }
    if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `tile`
}
