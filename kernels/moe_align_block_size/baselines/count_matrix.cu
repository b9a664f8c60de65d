// count_matrix.cu: MoE Align Block Size in one cooperative launch through a matrix of counts in global memory.
//
//   launch    grid (CTAS, 1, 1), 1024 threads, cooperative, at most 1024 CTAs
//   args      topk_ids *i32, sorted_ids *i32 align 16, expert_ids *i32, num_post_pad *i32,
//             matrix *i32 [CTAS + 1, NUM_EXPERTS], arrivals *u32 zeroed once,
//             numel i32, sorted_capacity i32, expert_capacity i32

#ifndef NUM_EXPERTS
#define NUM_EXPERTS 256
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 16
#endif

static_assert(NUM_EXPERTS <= 256, "the matrix and its scan are sized for at most 256 experts");

namespace {

constexpr int THREADS = 1024;
constexpr int WARPS   = THREADS / 32;

// Barrier over the grid; all increments of one barrier add up to 2^31, so the top bit flips when the last CTA arrives.
__device__ __forceinline__ void grid_barrier(unsigned* arrivals)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const unsigned increment = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u;
        const unsigned seen = atomicAdd(arrivals, increment);
        while (((seen ^ *static_cast<volatile unsigned*>(arrivals)) & 0x80000000u) == 0) {}
        __threadfence();
    }
    __syncthreads();
}

__device__ __forceinline__ int warp_inclusive_sum(int value)
{
    #pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const int below = __shfl_up_sync(0xffffffffu, value, step);
        if (threadIdx.x % 32 >= step) value += below;
    }
    return value;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS)
moe_align_count_matrix(const int* __restrict__ topk_ids, int* __restrict__ sorted_ids, int* __restrict__ expert_ids,
                       int* __restrict__ num_post_pad, int* matrix, unsigned* arrivals, const int numel,
                       const int sorted_capacity, const int expert_capacity)
{
    __shared__ int count[NUM_EXPERTS];       // this CTA's counts, then its next place of each expert
    __shared__ int start[NUM_EXPERTS + 1];
    __shared__ int warp_totals[WARPS];

    const int lane    = threadIdx.x % 32;
    const int warp    = threadIdx.x / 32;
    const int thread  = blockIdx.x * THREADS + threadIdx.x;
    const int threads = gridDim.x * THREADS;

    // Each CTA counts one contiguous share of the slots.
    const int share       = (numel + gridDim.x - 1) / gridDim.x;
    const int first_token = min(static_cast<int>(blockIdx.x) * share, numel);
    const int last_token  = min(first_token + share, numel);
    if (threadIdx.x < NUM_EXPERTS) count[threadIdx.x] = 0;
    for (int place = 4 * thread; place < sorted_capacity; place += 4 * threads) {
        if (place + 4 <= sorted_capacity) {
            *reinterpret_cast<int4*>(sorted_ids + place) = make_int4(numel, numel, numel, numel);
        } else {
            for (int i = place; i < sorted_capacity; ++i) sorted_ids[i] = numel;
        }
    }
    __syncthreads();
    for (int token = first_token + threadIdx.x; token < last_token; token += THREADS) {
        const int id = topk_ids[token];
        if (static_cast<unsigned>(id) < NUM_EXPERTS) atomicAdd(&count[id], 1);
    }
    __syncthreads();
    if (threadIdx.x < NUM_EXPERTS) matrix[blockIdx.x * NUM_EXPERTS + threadIdx.x] = count[threadIdx.x];
    grid_barrier(arrivals);

    // One warp per expert turns its column into offsets and leaves the expert's total in the last row.
    for (int expert = blockIdx.x * WARPS + warp; expert < NUM_EXPERTS; expert += gridDim.x * WARPS) {
        int before = 0;
        for (int first = 0; first < gridDim.x; first += 32) {
            const int row   = first + lane;
            int* const cell = matrix + row * NUM_EXPERTS + expert;
            const int mine  = row < gridDim.x ? __ldcg(cell) : 0;
            const int sum   = warp_inclusive_sum(mine);
            if (row < gridDim.x) *cell = before + sum - mine;
            before += __shfl_sync(0xffffffffu, sum, 31);
        }
        if (lane == 0) matrix[gridDim.x * NUM_EXPERTS + expert] = before;
    }
    grid_barrier(arrivals);

    // Every CTA scans the totals.
    const int total    = threadIdx.x < NUM_EXPERTS ? __ldcg(matrix + gridDim.x * NUM_EXPERTS + threadIdx.x) : 0;
    const int padded   = (total + BLOCK_SIZE - 1) / BLOCK_SIZE * BLOCK_SIZE;
    const int in_warp  = warp_inclusive_sum(padded);
    if (lane == 31) warp_totals[warp] = in_warp;
    __syncthreads();
    const int below    = __reduce_add_sync(0xffffffffu, lane < warp ? warp_totals[lane] : 0);
    const int post_pad = __reduce_add_sync(0xffffffffu, warp_totals[lane]);
    if (threadIdx.x < NUM_EXPERTS) {
        start[threadIdx.x] = below + in_warp - padded;
        count[threadIdx.x] = start[threadIdx.x] + __ldcg(matrix + blockIdx.x * NUM_EXPERTS + threadIdx.x);
    }
    if (threadIdx.x == 0) start[NUM_EXPERTS] = post_pad;
    __syncthreads();

    for (int token = first_token + threadIdx.x; token < last_token; token += THREADS) {
        const int id = topk_ids[token];
        if (static_cast<unsigned>(id) < NUM_EXPERTS) sorted_ids[atomicAdd(&count[id], 1)] = token;
    }
    for (int expert = thread; expert < NUM_EXPERTS; expert += threads)
        for (int place = start[expert]; place < start[expert + 1]; place += BLOCK_SIZE)
            expert_ids[place / BLOCK_SIZE] = expert;
    for (int block = post_pad / BLOCK_SIZE + thread; block < expert_capacity; block += threads) expert_ids[block] = 0;
    if (thread == 0) *num_post_pad = post_pad;
}
