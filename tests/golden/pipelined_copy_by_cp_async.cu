// copy_by_cp_async.cu: emitted by tle2cuda from pipelined_copy.py:67 (copy_by_cp_async). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 16384 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp32 align 16, cols i32 divisible by 16,
//             x_stride i32 divisible by 16, out_stride i32 divisible by 16
//   constants BLOCK = 1024, TILES = 4, STAGES = 4

namespace {

// Closes this thread's group of copies, which may be empty (PTX ISA, cp.async.commit_group; sm_80).
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most the last PENDING groups of this thread are in flight; other threads see the data behind a barrier (PTX ISA,
// cp.async.wait_group; sm_80).
template <int PENDING>
__device__ __forceinline__ void cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory"); }

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

// Shared memory of one CTA.
struct Shared {
    alignas(16) float ring[4][1024];          // pipelined_copy.py:69
};
static_assert(sizeof(Shared) <= 16384, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
copy_by_cp_async(const float* __restrict__ x, float* out, const int cols, const int x_stride,
                 const int out_stride)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // ctas_per_row = tl.cdiv(cols, BLOCK * TILES)                              pipelined_copy.py:70
    const int ctas_per_row = (cols + 4095) / 4096;
    // row = (tl.program_id(0) // ctas_per_row).to(tl.int64)                    pipelined_copy.py:71
    const int pid_x = blockIdx.x;
    const long long row = static_cast<long long>(pid_x / ctas_per_row);
    // tle.gpu.copy(source, slot, [BLOCK], mask=inside, is_async=True)          pipelined_copy.py:62
    // col = tl.program_id(0) % ctas_per_row * (BLOCK * TILES) + tl.arange ...  pipelined_copy.py:72
    const int col = pid_x % ctas_per_row * 4096 + 4 * thread;
    // fetch(source + i * BLOCK, ring.slot(i), col + i * BLOCK < cols, BLOCK)   pipelined_copy.py:76
    const bool inside = col < cols;
    cp_async_zero_fill<16>(&shared.ring[0][4 * thread], x + row * static_cast<long long>(x_stride) + col, inside ? 16 : 0);
    // tle.gpu.async_commit_group()                                             pipelined_copy.py:63
    cp_async_commit();

    // tle.gpu.copy(source, slot, [BLOCK], mask=inside, is_async=True)          pipelined_copy.py:62
    // fetch(source + i * BLOCK, ring.slot(i), col + i * BLOCK < cols, BLOCK)   pipelined_copy.py:76
    const bool inside_2 = col + 1024 < cols;
    cp_async_zero_fill<16>(&shared.ring[1][4 * thread], x + row * static_cast<long long>(x_stride) + col + 1024, inside_2 ? 16 : 0);

    // tle.gpu.async_commit_group()                                             pipelined_copy.py:63
    cp_async_commit();

    // tle.gpu.copy(source, slot, [BLOCK], mask=inside, is_async=True)          pipelined_copy.py:62
    // fetch(source + i * BLOCK, ring.slot(i), col + i * BLOCK < cols, BLOCK)   pipelined_copy.py:76
    const bool inside_3 = col + 2048 < cols;
    cp_async_zero_fill<16>(&shared.ring[2][4 * thread], x + row * static_cast<long long>(x_stride) + col + 2048, inside_3 ? 16 : 0);

    // tle.gpu.async_commit_group()                                             pipelined_copy.py:63
    cp_async_commit();

    // tle.gpu.copy(source, slot, [BLOCK], mask=inside, is_async=True)          pipelined_copy.py:62
    // fetch(source + i * BLOCK, ring.slot(i), col + i * BLOCK < cols, BLOCK)   pipelined_copy.py:76
    const bool inside_4 = col + 3072 < cols;
    cp_async_zero_fill<16>(&shared.ring[3][4 * thread], x + row * static_cast<long long>(x_stride) + col + 3072, inside_4 ? 16 : 0);

    // tle.gpu.async_commit_group()                                             pipelined_copy.py:63
    cp_async_commit();
    // tle.gpu.async_wait_group(min(STAGES, TILES - i) - 1)                     pipelined_copy.py:79
    cp_async_wait<3>();
    // tile = tl.load(tle.gpu.local_ptr(ring.slot(i % STAGES)))                 pipelined_copy.py:80
    const Vector<float, 4> tile = load_vector<4>(&shared.ring[0][4 * thread]);
    // tl.store(target + i * BLOCK, tile, mask=col + i * BLOCK < cols)          pipelined_copy.py:83
    store_vector_if<uint4>(inside, out + row * static_cast<long long>(out_stride) + col, tile);
    // tle.gpu.async_wait_group(min(STAGES, TILES - i) - 1)                     pipelined_copy.py:79
    cp_async_wait<2>();
    // tile = tl.load(tle.gpu.local_ptr(ring.slot(i % STAGES)))                 pipelined_copy.py:80
    const Vector<float, 4> tile_2 = load_vector<4>(&shared.ring[1][4 * thread]);
    // tl.store(target + i * BLOCK, tile, mask=col + i * BLOCK < cols)          pipelined_copy.py:83
    store_vector_if<uint4>(inside_2, out + row * static_cast<long long>(out_stride) + col + 1024, tile_2);
    // tle.gpu.async_wait_group(min(STAGES, TILES - i) - 1)                     pipelined_copy.py:79
    cp_async_wait<1>();
    // tile = tl.load(tle.gpu.local_ptr(ring.slot(i % STAGES)))                 pipelined_copy.py:80
    const Vector<float, 4> tile_3 = load_vector<4>(&shared.ring[2][4 * thread]);
    // tl.store(target + i * BLOCK, tile, mask=col + i * BLOCK < cols)          pipelined_copy.py:83
    store_vector_if<uint4>(inside_3, out + row * static_cast<long long>(out_stride) + col + 2048, tile_3);
    // tle.gpu.async_wait_group(min(STAGES, TILES - i) - 1)                     pipelined_copy.py:79
    cp_async_wait<0>();
    // tile = tl.load(tle.gpu.local_ptr(ring.slot(i % STAGES)))                 pipelined_copy.py:80
    const Vector<float, 4> tile_4 = load_vector<4>(&shared.ring[3][4 * thread]);
    // tl.store(target + i * BLOCK, tile, mask=col + i * BLOCK < cols)          pipelined_copy.py:83
    store_vector_if<uint4>(inside_4, out + row * static_cast<long long>(out_stride) + col + 3072, tile_4);
}
