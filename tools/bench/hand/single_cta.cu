// single_cta.cu: MoE Align Block Size by one CTA, for up to THREADS * TOKENS_PER_THREAD slots.
//
//   launch    grid (1, 1, 1), THREADS threads
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32, num_post_pad *i32,
//             numel i32, sorted_capacity i32, expert_capacity i32

#include "device.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
moe_align_single_cta(const int* __restrict__ topk_ids, int* __restrict__ sorted_ids, int* __restrict__ expert_ids,
                     int* __restrict__ num_post_pad, const int numel, const int sorted_capacity,
                     const int expert_capacity)
{
    __shared__ int count[EXPERT_SLOTS];
    __shared__ int start[EXPERT_SLOTS];
    __shared__ int warp_totals[WARPS];

    MARK(0);
    const int thread = threadIdx.x;
    const int expert = threadIdx.x;
    int id[TOKENS_PER_THREAD];
    load_ids(id, topk_ids, 0, numel);
    if (expert < EXPERT_SLOTS) count[expert] = 0;
    fill_sentinel(sorted_ids, sorted_capacity, numel, thread);   // while the ids are on their way
    __syncthreads();
    MARK(1);

    // Each slot's rank inside its expert, kept until the experts' starts are known.
    int rank[TOKENS_PER_THREAD];
    count_ids(rank, id, count);
    MARK(2);
    __syncthreads();
    MARK(3);

    const int total = expert < EXPERT_SLOTS ? count[expert] : 0;
    int post_pad;
    const int expert_start = cta_exclusive_sum(pad_to_blocks(total), warp_totals, post_pad);
    if (expert < EXPERT_SLOTS) start[expert] = expert_start;
    MARK(4);
    if (EXPERT_LOOP) loop_expert_ids(expert_ids, expert_capacity, post_pad, expert, expert_start, total, 0, thread);
    MARK(5);
    __syncthreads();   // starts complete; the sentinels below the scattered slots are written
    MARK(6);

    #pragma unroll
    for (int k = 0; k < TOKENS_PER_THREAD; ++k)
        if (is_expert(id[k])) sorted_ids[start[id[k]] + rank[k]] = token_in_cta(k);
    MARK(7);
    if (!EXPERT_LOOP) search_expert_ids(expert_ids, expert_capacity, post_pad, start, thread);
    if (thread == 0) *num_post_pad = post_pad;
    MARK(8);
}
