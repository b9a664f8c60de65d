// moe_align_count.cu: emitted by tle2cuda from staged.py:24 (moe_align_count). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 2048 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32 align 16,
//             counts *i32 align 16, numel i32, sorted_capacity i32, expert_capacity i32
//   constants FIRST_EXPERT = 0, NUM_GROUPS = 512, SLOT_TILE = 256, GROUP_TILE = 512,
//             FILL_TILE = 1024

namespace {

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

// Load one element of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ int load_if(bool condition, const int* pointer, int other)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.s32 %0, [%1];\n\t}"
        : "+r"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return other;
}

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

// Store the first `valid` of N neighbours in global memory, in words of type Bits: one predicated access when all are valid, one by
// one where the edge lies between them.
template <typename Bits, int N, typename T, typename Count>
__device__ __forceinline__ void store_edge_if(T* pointer, Count valid, const Vector<T, N>& value)
{
    store_vector_if<Bits>(valid >= N, pointer, value);
    if (0 < valid && valid < N) {
        #pragma unroll
        for (int k = 0; k < N - 1; ++k)
            if (k < valid) pointer[k] = value[k];
    }
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int count_bins[512];          // scratch of staged.py:46
};
static_assert(sizeof(Shared) <= 2048, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
moe_align_count(const int* topk_ids, int* sorted_ids, int* expert_ids, int* counts,
                const int numel, const int sorted_capacity, const int expert_capacity)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // program = tl.program_id(0)                                                       staged.py:39
    const int program = blockIdx.x;
    // programs = tl.num_programs(0)                                                    staged.py:40
    const int programs = gridDim.x;

    // for tile in tl.range(cta, tl.cdiv(sorted_capacity, TILE), ctas, loop_unroll ...  parts.py:168
    // place = tile * TILE + tl.arange(0, TILE)                                         parts.py:169
    const int index = 4 * thread;
    #pragma unroll 1
    for (int tile = program; tile < (sorted_capacity + 1023) / 1024; tile += programs) {
        const int place = tile * 1024 + index;

        // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)            parts.py:170
        store_edge_if<uint4>(sorted_ids + place, sorted_capacity - place, fill_vector<4>(numel));
    }
    // for tile in tl.range(cta, tl.cdiv(sorted_capacity, TILE), ctas, loop_unroll ...  parts.py:168
    #pragma unroll 1
    for (int tile = program; tile < (expert_capacity + 1023) / 1024; tile += programs) {
        // place = tile * TILE + tl.arange(0, TILE)                                     parts.py:169
        const int place = tile * 1024 + index;
        // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)            parts.py:170
        store_edge_if<uint4>(expert_ids + place, expert_capacity - place, fill_vector<4>(0));
    }
    // slot = program * SLOT_TILE + tl.arange(0, SLOT_TILE)                             staged.py:44
    const int slot = program * 256 + thread;
    // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)          parts.py:38
    const int id = load_if(slot < numel, topk_ids + slot, -1);
    // is_routed = (group >= 0) & (group < NUM_GROUPS)                                   parts.py:40
    const bool is_routed = id >= 0 && id < 512;

    // count = tl.histogram(slot_group, GROUP_TILE, mask=is_routed)                     staged.py:46
    for (int bin = thread; bin < 512; bin += 256) shared.count_bins[bin] = 0;
    __syncthreads();  // all bins are zero
    if (is_routed && static_cast<unsigned>(id) < 512u) atomicAdd(&shared.count_bins[id], 1);
    __syncthreads();  // all values are counted
    Vector<int, 2> count = load_vector<2>(&shared.count_bins[2 * thread]);

    // tl.store(counts + program * GROUP_TILE + tl.arange(0, GROUP_TILE), count)        staged.py:47
    store_vector(counts + program * 512 + 2 * thread, count);
}
