// replicated.cu: MoE Align Block Size by a few CTAs that do not communicate. Every CTA counts all the slots, so each
// knows every expert's start; CTA r then writes the experts [r * EXPERTS_PER_CTA, (r + 1) * EXPERTS_PER_CTA). Counting
// again costs less than a barrier between CTAs while the slots of one thread fit in a few registers.
//
//   launch    grid (CTAS, 1, 1), THREADS threads
//   args      topk_ids *i32 align 16, sorted_ids *i32, expert_ids *i32, num_post_pad *i32,
//             numel i32, sorted_capacity i32, expert_capacity i32

#include "device.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
moe_align_replicated(const int* __restrict__ topk_ids, int* __restrict__ sorted_ids, int* __restrict__ expert_ids,
                     int* __restrict__ num_post_pad, const int numel, const int sorted_capacity,
                     const int expert_capacity)
{
    constexpr int EXPERTS_PER_CTA = (NUM_EXPERTS + CTAS - 1) / CTAS;

    __shared__ int count[EXPERT_SLOTS];
    __shared__ int start[EXPERT_SLOTS];
    __shared__ int end[EXPERT_SLOTS];
    __shared__ int warp_totals[WARPS];

    MARK(0);
    const int cta    = blockIdx.x;
    const int expert = threadIdx.x;
    const int thread = spread_thread(cta, threadIdx.x / 32);
    int id[TOKENS_PER_THREAD];
    load_ids(id, topk_ids, 0, numel);
    if (expert < EXPERT_SLOTS) count[expert] = 0;
    __syncthreads();
    MARK(1);

    int rank[TOKENS_PER_THREAD];
    count_ids(rank, id, count);
    MARK(2);
    __syncthreads();
    MARK(3);

    const int total = expert < EXPERT_SLOTS ? count[expert] : 0;
    int post_pad;
    const int expert_start = cta_exclusive_sum(pad_to_blocks(total), warp_totals, post_pad);
    if (expert < EXPERT_SLOTS) {
        start[expert] = expert_start;
        end[expert]   = expert_start + total;
    }
    MARK(4);
    if (EXPERT_LOOP) loop_expert_ids(expert_ids, expert_capacity, post_pad, expert, expert_start, total, cta, thread);
    fill_tail(sorted_ids, sorted_capacity, numel, post_pad, thread);
    MARK(5);
    __syncthreads();
    MARK(6);

    // All slots of an expert are written by one CTA: ranks differ from CTA to CTA.
    const int first_expert = cta * EXPERTS_PER_CTA;
    const int last_expert  = min(first_expert + EXPERTS_PER_CTA, NUM_EXPERTS);
    #pragma unroll
    for (int k = 0; k < TOKENS_PER_THREAD; ++k)
        if (id[k] >= first_expert && id[k] < last_expert) sorted_ids[start[id[k]] + rank[k]] = token_in_cta(k);
    MARK(7);
    write_padding(sorted_ids, numel, end, first_expert, last_expert, threadIdx.x, THREADS);
    if (!EXPERT_LOOP) search_expert_ids(expert_ids, expert_capacity, post_pad, start, thread);
    if (thread == 0) *num_post_pad = post_pad;
    MARK(8);
}
