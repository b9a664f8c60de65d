// two_kernel.cu: MoE Align Block Size in two launches.
//
//   1. moe_align_count    grid (2, 1, 1), 1024 threads: CTA 0 counts all slots, scans and writes the expert ids;
//                         CTA 1 fills sorted_ids with the sentinel
//   2. moe_align_scatter  grid (any), 256 threads: every slot takes the next place of its expert
//   args      topk_ids *i32, sorted_ids *i32 align 16, expert_ids *i32, num_post_pad *i32, next_place *i32 [NUM_EXPERTS],
//             numel i32, sorted_capacity i32, expert_capacity i32

#ifndef NUM_EXPERTS
#define NUM_EXPERTS 512
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 16
#endif

static_assert(NUM_EXPERTS <= 1024, "one thread per expert");

namespace {

constexpr int THREADS = 1024;

// Exclusive sum over 1024 threads.
__device__ __forceinline__ int cta_exclusive_sum(const int value, int (&warp_totals)[32], int& total)
{
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    int inclusive = value;
    #pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const int below = __shfl_up_sync(0xffffffffu, inclusive, step);
        if (lane >= step) inclusive += below;
    }
    if (lane == 31) warp_totals[warp] = inclusive;
    __syncthreads();
    const int before = __reduce_add_sync(0xffffffffu, lane < warp ? warp_totals[lane] : 0);
    total = __reduce_add_sync(0xffffffffu, warp_totals[lane]);
    return before + inclusive - value;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS)
moe_align_count(const int* __restrict__ topk_ids, int* __restrict__ sorted_ids, int* __restrict__ expert_ids,
                int* __restrict__ num_post_pad, int* __restrict__ next_place, const int numel,
                const int sorted_capacity, const int expert_capacity)
{
    __shared__ int count[THREADS];
    __shared__ int start[THREADS];
    __shared__ int warp_totals[32];

    if (blockIdx.x == 1) {
        for (int place = 4 * threadIdx.x; place < sorted_capacity; place += 4 * THREADS) {
            if (place + 4 <= sorted_capacity) {
                *reinterpret_cast<int4*>(sorted_ids + place) = make_int4(numel, numel, numel, numel);
            } else {
                for (int i = place; i < sorted_capacity; ++i) sorted_ids[i] = numel;
            }
        }
        return;
    }

    count[threadIdx.x] = 0;
    __syncthreads();
    for (int token = threadIdx.x; token < numel; token += THREADS) {
        const int id = topk_ids[token];
        if (static_cast<unsigned>(id) < NUM_EXPERTS) atomicAdd(&count[id], 1);
    }
    __syncthreads();

    const int padded = (count[threadIdx.x] + BLOCK_SIZE - 1) / BLOCK_SIZE * BLOCK_SIZE;
    int post_pad;
    const int expert_start = cta_exclusive_sum(padded, warp_totals, post_pad);
    start[threadIdx.x] = expert_start;
    if (threadIdx.x < NUM_EXPERTS) next_place[threadIdx.x] = expert_start;
    if (threadIdx.x == 0) *num_post_pad = post_pad;
    __syncthreads();

    for (int block = threadIdx.x; block < expert_capacity; block += THREADS) {
        const int place = block * BLOCK_SIZE;
        int owner = 0;
        if (place < post_pad) {
            #pragma unroll
            for (int step = THREADS / 2; step > 0; step /= 2)
                if (start[owner + step] <= place) owner += step;
        }
        expert_ids[block] = owner;
    }
}

extern "C" __global__ void __launch_bounds__(256)
moe_align_scatter(const int* __restrict__ topk_ids, int* __restrict__ sorted_ids, int* __restrict__ next_place,
                  const int numel)
{
    for (int token = blockIdx.x * 256 + threadIdx.x; token < numel; token += gridDim.x * 256) {
        const int id = topk_ids[token];
        if (static_cast<unsigned>(id) < NUM_EXPERTS) sorted_ids[atomicAdd(&next_place[id], 1)] = token;
    }
}
