// replicated.cu: MoE Align Block Size by a few CTAs that do not communicate. Every CTA counts all the slots, so each
// knows every expert's start; CTA r then writes the experts [r * EXPERTS_PER_CTA, (r + 1) * EXPERTS_PER_CTA). Counting
// again costs less than a barrier between CTAs while the slots of one thread fit in a few registers.
//
//   launch    grid (CTAS, 1, 1), THREADS threads
//   args      topk_ids *i32 align 16, sorted_ids *i32, expert_ids *i32, num_post_pad *i32,
//             numel i32, sorted_capacity i32, expert_capacity i32

#include "device.cuh"

#ifndef CTAS
#define CTAS 8
#endif

extern "C" __global__ void __launch_bounds__(THREADS)
moe_align_replicated(const int* __restrict__ topk_ids, int* __restrict__ sorted_ids, int* __restrict__ expert_ids,
                     int* __restrict__ num_post_pad, const int numel, const int sorted_capacity,
                     const int expert_capacity)
{
    constexpr int EXPERTS_PER_CTA = (EXPERT_SLOTS + CTAS - 1) / CTAS;

    __shared__ int count[EXPERT_SLOTS];
    __shared__ int start[EXPERT_SLOTS];
    __shared__ int end[EXPERT_SLOTS];
    __shared__ int warp_totals[WARPS];

    const int expert = threadIdx.x;
    const int thread = blockIdx.x * THREADS + threadIdx.x;
    int id[TOKENS_PER_THREAD];
    load_ids(id, topk_ids, 0, numel);
    if (expert < EXPERT_SLOTS) count[expert] = 0;
    __syncthreads();

    int rank[TOKENS_PER_THREAD];
    #pragma unroll
    for (int k = 0; k < TOKENS_PER_THREAD; ++k) rank[k] = is_expert(id[k]) ? atomicAdd(&count[id[k]], 1) : 0;
    __syncthreads();

    const int total = expert < EXPERT_SLOTS ? count[expert] : 0;
    int post_pad;
    const int expert_start = cta_exclusive_sum(pad_to_blocks(total), warp_totals, post_pad);
    if (expert < EXPERT_SLOTS) {
        start[expert] = expert_start;
        end[expert]   = expert_start + total;
    }
    __syncthreads();

    // All slots of an expert are written by one CTA: ranks differ from CTA to CTA.
    const int first_expert = blockIdx.x * EXPERTS_PER_CTA;
    const int last_expert  = min(first_expert + EXPERTS_PER_CTA, NUM_EXPERTS);
    #pragma unroll
    for (int k = 0; k < TOKENS_PER_THREAD; ++k)
        if (id[k] >= first_expert && id[k] < last_expert) sorted_ids[start[id[k]] + rank[k]] = token_in_cta(k);
    write_padding(sorted_ids, numel, post_pad, start, end, first_expert, last_expert, threadIdx.x, THREADS);
    write_expert_ids(expert_ids, expert_capacity, post_pad, start, thread, CTAS * THREADS);
    for (int place = post_pad + thread; place < sorted_capacity; place += CTAS * THREADS) sorted_ids[place] = numel;
    if (thread == 0) *num_post_pad = post_pad;
}
