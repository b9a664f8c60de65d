// ring_of_stores.cu: emitted by tle2cuda from tensor_order.py:59 (ring_of_stores). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 4096 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, M i32, N i32 divisible by 16
//   maps      out_map of out: fp32, shape (M, N), strides (N, 1), box (4, 64)
//   constants SLOTS = 4, COLS = 64

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

// The 8 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global).
__device__ __forceinline__ uint2 load_bits_if(bool condition, const uint2* pointer, uint2 otherwise)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %3, 0;\n\t@p ld.global.v2.u32 {%0, %1}, [%2];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return otherwise;
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
    alignas(128) float ring[4][4][64];        // tensor_order.py:62
};
static_assert(sizeof(Shared) <= 4096, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
ring_of_stores(const float* x, const int M, const int N, const __grid_constant__ TensorMap out_map)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // for step in range(tl.cdiv(M, 4)):                                          tensor_order.py:64
    // i, j = tl.arange(0, 4), tl.arange(0, COLS)                                 tensor_order.py:63
    const int i = thread / 32;
    const int j = thread % 32 * 2;
    for (int step = 0; step < (M + 3) / 4; ++step) {
        if (thread == 0) tma_store_wait_read<3>();  // the copy engine has read `ring`
        __syncthreads();  // orders the loads of `ring` before the stores to it

        // row = step * 4 + i[:, None]                                            tensor_order.py:66
        const int row = step * 4 + i;

        // tl.store(tle.gpu.local_ptr(slot), tl.load(x + row * N + j[None, : ...  tensor_order.py:67
        const Vector<float, 2> x_value = load_vector_if<uint2>(row < M && j < N, x + row * N + j, fill_vector<2>(0.0f));
        Vector<float, 2> ring_value;
        #pragma unroll
        for (int k = 0; k < 2; ++k) ring_value[k] = x_value[k] + static_cast<float>(step);
        store_vector(&shared.ring[step % 4][thread / 32][thread % 32 * 2], ring_value);
        fence_async_proxy();  // shows what was written to `ring` to the copy engine
        __syncthreads();  // orders the stores to `ring` before the loads of it

        // tle.gpu.copy(slot, target, [4, COLS], [step * 4, 0])                   tensor_order.py:68
        if (thread == 0) {
            tma_store_2d(&out_map, shared.ring[step % 4], 0, step * 4);
            tma_store_commit();
        }
    }
    if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `ring`
}
