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
    // num_tiles = sorted_capacity // TILE                                              parts.py:172
    const int num_tiles = sorted_capacity / 1024;

    // for tile in tl.range(cta, num_tiles, ctas, loop_unroll_factor=1):                parts.py:173
    // tl.store(sorted_ids + (tile * TILE + tl.arange(0, TILE)), numel)                 parts.py:174
    const int index = 4 * thread;
    #pragma unroll 1
    for (int tile = program; tile < num_tiles; tile += programs) {
        store_vector(sorted_ids + tile * 1024 + index, fill_vector<4>(numel));
    }

    // if cta == num_tiles % ctas:                                                      parts.py:175
    if (program == num_tiles % programs) {
        // place = num_tiles * TILE + tl.arange(0, TILE)                                parts.py:176
        const int place = num_tiles * 1024 + index;
        // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)            parts.py:177
        store_edge(sorted_ids + place, sorted_capacity - place, fill_vector<4>(numel));
    }
    // num_tiles = sorted_capacity // TILE                                              parts.py:172
    const int num_tiles_2 = expert_capacity / 1024;
    // for tile in tl.range(cta, num_tiles, ctas, loop_unroll_factor=1):                parts.py:173
    #pragma unroll 1
    for (int tile = program; tile < num_tiles_2; tile += programs) {
        // tl.store(sorted_ids + (tile * TILE + tl.arange(0, TILE)), numel)             parts.py:174
        store_vector(expert_ids + tile * 1024 + index, fill_vector<4>(0));
    }
    // if cta == num_tiles % ctas:                                                      parts.py:175
    if (program == num_tiles_2 % programs) {
        // place = num_tiles * TILE + tl.arange(0, TILE)                                parts.py:176
        const int place = num_tiles_2 * 1024 + index;
        // tl.store(sorted_ids + place, numel, mask=place < sorted_capacity)            parts.py:177
        store_edge(expert_ids + place, expert_capacity - place, fill_vector<4>(0));
    }
    // slot = program * SLOT_TILE + tl.arange(0, SLOT_TILE)                             staged.py:44
    const int slot = program * 256 + thread;
    // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)          parts.py:39
    const int id = load_if(slot < numel, topk_ids + slot, -1);
    // is_routed = (group >= 0) & (group < NUM_GROUPS)                                   parts.py:41
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
