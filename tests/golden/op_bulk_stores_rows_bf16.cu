// store_rows.cu: emitted by tle2cuda from bulk_stores.py:17 (store_rows). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 8192 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *bf16 align 16, out *bf16 align 16, M i32 divisible by 16
//   constants STRIDE = 256, ROWS = 16, COLS = 256

#include <cuda_bf16.h>

namespace {

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Neighbouring bytes of shared memory to global memory, as part of this thread's open bulk group. Called by one thread behind
// fence_async_proxy (PTX ISA, cp.async.bulk; sm_90).
__device__ __forceinline__ void bulk_store(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}

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

// Load N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* pointer)
{
    return *reinterpret_cast<const Vector<T, N>*>(pointer);
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Closes this thread's bulk group (PTX ISA, cp.async.bulk.commit_group; sm_90).
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until all but the last PENDING have read shared memory, which may then be written (PTX ISA, cp.async.bulk.wait_group.read;
// sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(16) __nv_bfloat16 tile[16][256];  // bulk_stores.py:20
};
static_assert(sizeof(Shared) <= 8192, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
store_rows(const __nv_bfloat16* x, __nv_bfloat16* out, const int M)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // for row in range(tl.program_id(0) * ROWS, M, tl.num_programs(0) * ROWS):    bulk_stores.py:21
    const int pid_x = blockIdx.x;
    const int num_programs_x = gridDim.x;
    for (int row = pid_x * 16; row < M; row += num_programs_x * 16) {
        if (thread == 0) tma_store_wait_read();  // the copy engine has read `tile`
        __syncthreads();  // orders the loads of `tile` before the stores to it

        // tile [16, 256]: row = thread / 32 + 4 * run, column = thread % 32 * 8 + k;  run < 4, k < 8
        #pragma unroll
        for (int run = 0; run < 4; ++run) {
            // tl.store(tle.gpu.local_ptr(tile), tl.load(x + (row + ROWS - 1 ...   bulk_stores.py:22
            const Vector<__nv_bfloat16, 8> x_value = load_vector<8>(x + (row + 16 - 1) * 256 - thread / 32 * 256 - 1024 * run + thread % 32 * 8);
            store_vector(&shared.tile[thread / 32 + 4 * run][thread % 32 * 8], x_value);
        }
        fence_async_proxy();  // shows what was written to `tile` to the copy engine
        __syncthreads();  // orders the stores to `tile` before the loads of it

        // tle.gpu.copy(tile, out + (row + i) * STRIDE + j, [ROWS, COLS])          bulk_stores.py:23
        if (thread == 0) {
            #pragma unroll
            for (int row_2 = 0; row_2 < 16; ++row_2)
                bulk_store(out + row * 256 + row_2 * 256ll, shared.tile[row_2], 512);
            tma_store_commit();
        }
    }
    if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `tile`
}
