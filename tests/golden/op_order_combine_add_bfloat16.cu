// combine.cu: emitted by tle2cuda from tensor_order.py:96 (combine). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 1024 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *bf16 align 16, starts *i32 align 16, out *bf16 align 16, M i32,
//             N i32 divisible by 16
//   maps      out_map of out: bf16, shape (M, N), strides (N, 1), box (16, 32)
//   constants KIND = 'add'

#include <cuda_bf16.h>

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

// Add N neighbours to global memory, each of them atomically (PTX ISA, red with .bf16x2 and its vectors, sm_90); the
// pointer is aligned to N * 2 bytes. One instruction adds at most eight.
template <int N>
__device__ __forceinline__ void red_add_vector(__nv_bfloat16* pointer, const Vector<__nv_bfloat16, N>& value)
{
    unsigned pair[N / 2];
    memcpy(pair, &value, sizeof(pair));
    if constexpr (N == 2)
        asm volatile("red.relaxed.gpu.global.add.noftz.bf16x2 [%0], %1;" : : "l"(pointer), "r"(pair[0]) : "memory");
    else if constexpr (N == 4)
        asm volatile("red.relaxed.gpu.global.add.noftz.v2.bf16x2 [%0], {%1, %2};"
                     :
                     : "l"(pointer), "r"(pair[0]), "r"(pair[1])
                     : "memory");
    else {
        #pragma unroll
        for (int p = 0; p < N / 2; p += 4)
            asm volatile("red.relaxed.gpu.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};"
                         :
                         : "l"(pointer + 2 * p), "r"(pair[p]), "r"(pair[p + 1]), "r"(pair[p + 2]), "r"(pair[p + 3])
                         : "memory");
    }
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

// As tma_store_2d, but each element is combined with the array's by `add` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_add_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];"
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
    alignas(128) __nv_bfloat16 terms[16][32];  // tensor_order.py:104
};
static_assert(sizeof(Shared) <= 1024, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
combine(const __nv_bfloat16* x, const int* __restrict__ starts, __nv_bfloat16* out, const int M,
        const int N, const __grid_constant__ TensorMap out_map)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // source = tl.make_tensor_descriptor(x, [tl.num_programs(0) * 16, N], [ ...  tensor_order.py:98
    const int num_programs_x = gridDim.x;
    const long long N_wide = static_cast<long long>(N);
    // start = tl.load(starts + tl.program_id(0))                                tensor_order.py:100
    const int pid_x = blockIdx.x;
    const int start = starts[pid_x];
    // value = source.load([tl.program_id(0) * 16, col])                         tensor_order.py:102
    const long long value = static_cast<long long>(pid_x * 16);
    const long long rows_left = static_cast<long long>(num_programs_x * 16) - value;
    // target.atomic_add([start, col], value)                                    tensor_order.py:104
    const bool fits_engine = start >= 0;

    // for col in range(0, N, 32):                                               tensor_order.py:101
    // value = source.load([tl.program_id(0) * 16, col])                         tensor_order.py:102
    const long long index = thread / 8 * N_wide;
    for (int col = 0; col < N; col += 32) {
        // value = source.load([tl.program_id(0) * 16, col])                     tensor_order.py:102
        const long long col_wide = static_cast<long long>(col);
        const long long cols_left = N_wide - col_wide;
        if (thread == 0) tma_store_wait_read();  // the copy engine has read `terms`
        __syncthreads();  // orders the loads of `terms` before the stores to it
        const bool inside = thread % 8 * 4 < cols_left;
        const Vector<__nv_bfloat16, 4> value_2 = load_vector_if<uint2>(thread / 8 < rows_left && value + thread / 8 >= 0ll && inside, x + value * N_wide + col_wide + index + thread % 8 * 4, fill_vector<4>(__float2bfloat16(0.0f)));

        // target.atomic_add([start, col], value)                                tensor_order.py:104
        store_vector(&shared.terms[thread / 8][thread % 8 * 4], value_2);
        if (fits_engine) {
            fence_async_proxy();  // shows what was written to `terms` to the copy engine
            __syncthreads();  // orders the stores to `terms` before the loads of it
            if (thread == 0) {
                tma_reduce_add_2d(&out_map, shared.terms, col, start);
                tma_store_commit();
            }
        } else {
            const long long start_wide = static_cast<long long>(start);
            const long long rows_left_2 = static_cast<long long>(M) - start_wide;
            if (thread / 8 < rows_left_2 && start_wide + thread / 8 >= 0ll && inside) red_add_vector(out + start_wide * N_wide + col_wide + index + thread % 8 * 4, value_2);
        }
    }
    if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `terms`
}
