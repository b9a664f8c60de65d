// grouped.cu: emitted by tle2cuda from async_partitions.py:256 (grouped). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 6144 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp16 align 16, out *fp16 align 16, n i32, columns i32
//   constants B = 1024, AHEAD = 2

#include <cuda_fp16.h>

namespace {

// Closes this thread's group of copies, which may be empty (PTX ISA, cp.async.commit_group; sm_80).
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
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

// Copies the first `valid` elements, which may be none or more than there are, and zeros for the rest.
template <int BYTES, typename T, typename Count>
__device__ __forceinline__ void cp_async_edge(T* destination, const T* source, Count valid)
{
    constexpr int COUNT = BYTES / sizeof(T);
    const int count = valid >= COUNT ? COUNT : valid <= 0 ? 0 : static_cast<int>(valid);
    cp_async_zero_fill<BYTES>(destination, source, count * sizeof(T));
}

// Waits until at most the last PENDING groups of this thread are in flight; other threads see the data behind a barrier (PTX ISA,
// cp.async.wait_group; sm_80).
template <int PENDING>
__device__ __forceinline__ void cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory"); }

// Waits for all copies of this thread, in groups or not (PTX ISA, cp.async.wait_all; sm_80).
__device__ __forceinline__ void cp_async_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Load one element of 16 bits in global memory if a condition holds, else take `other`: one predicated load
// (PTX ISA, ld.global). Its address is computed either way, so that neighbouring loads can share it.
template <typename T, typename Other>
__device__ __forceinline__ T load_if(bool condition, const T* pointer, Other other)
{
    T value = static_cast<T>(other);
    unsigned short bits;
    memcpy(&bits, &value, sizeof(bits));
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.u16 %0, [%1];\n\t}"
        : "+h"(bits)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    memcpy(&value, &bits, sizeof(bits));
    return value;
}

// Store 16 bytes of global memory as one access (PTX ISA, st.global).
__device__ __forceinline__ void store_bits(uint4* pointer, uint4 bits)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" :: "l"(pointer), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
}

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// Store N neighbours of less than 4 bytes in global memory, in words of type Bits: elements, the compiler may write apart.
// Called by each thread for itself.
template <typename Bits, int N, typename T>
__device__ __forceinline__ void store_narrow(T* pointer, const Vector<T, N>& value)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(value) / sizeof(Bits)); ++i) {
        Bits bits;
        memcpy(&bits, reinterpret_cast<const unsigned char*>(&value) + i * sizeof(Bits), sizeof(Bits));
        store_bits(reinterpret_cast<Bits*>(pointer) + i, bits);
    }
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) __half ring[3][1024];         // async_partitions.py:258
};
static_assert(sizeof(Shared) <= 6144, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
grouped(const __half* x, __half* out, const int n, const int columns)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // tle.gpu.copy(x + k * columns + i, ring.slot(k), [B], is_async=Tr ...  async_partitions.py:261
    // i = tl.arange(0, B)                                                   async_partitions.py:259
    const int i = 8 * thread;
    cp_async_edge<16>(&shared.ring[0][8 * thread], x + i, n > 0 ? columns - i : 0);

    // tle.gpu.async_commit_group()                                          async_partitions.py:262
    cp_async_commit();
    // tile [1024]: element = thread + 128 * run;  run < 8
    #pragma unroll
    for (int run = 0; run < 8; ++run) {
        // i = tl.arange(0, B)                                               async_partitions.py:259
        const int i_2 = thread + 128 * run;

        // tle.gpu.copy(x + k * columns + i, ring.slot(k), [B], is_asyn ...  async_partitions.py:261
        const bool inside = i_2 < columns;
        const __half x_value = load_if(inside && n > 1, x + columns + i_2, __float2half(0.0f));
        shared.ring[1][thread + 128 * run] = x_value;
    }
    cp_async_commit();

    // for k in range(n):                                                    async_partitions.py:263
    for (int k_ = 0; k_ < n; ++k_) {
        // tle.gpu.async_wait_group(AHEAD - 1)                               async_partitions.py:264
        cp_async_wait<1>();
        __syncthreads();  // orders the stores to `ring` before the loads of it

        // row = tl.load(tle.gpu.local_ptr(ring.slot(k % (AHEAD + 1)), ...   async_partitions.py:265
        Vector<__half, 8> row;
        #pragma unroll
        for (int k = 0; k < 8; ++k) row[k] = shared.ring[k_ % 3][1023 - i - k];
        __syncthreads();  // orders the loads of `ring` before the stores to it
        #pragma unroll
        for (int run = 0; run < 8; ++run) {
            // i = tl.arange(0, B)                                           async_partitions.py:259
            const int i_2 = thread + 128 * run;
            // tle.gpu.copy(x + k * columns + i, ring.slot(k), [B], is_ ...  async_partitions.py:261
            const bool inside = i_2 < columns;
            // mask = (i < columns) & (k + AHEAD < n)                        async_partitions.py:266
            const bool mask = inside && k_ + 2 < n;
            // tle.gpu.copy(x + (k + AHEAD) * columns + i, ring.slot((k ...  async_partitions.py:267
            const __half x_value = load_if(mask, x + (k_ + 2) * columns + i_2, __float2half(0.0f));
            shared.ring[(k_ + 2) % 3][thread + 128 * run] = x_value;
        }

        // tle.gpu.async_commit_group()                                      async_partitions.py:268
        cp_async_commit();
        // tl.store(out + k * B + i, row)                                    async_partitions.py:269
        store_narrow<uint4>(out + k_ * 1024 + i, row);
    }
    cp_async_wait_all();  // no thread may exit while the copies it made are in flight
}
