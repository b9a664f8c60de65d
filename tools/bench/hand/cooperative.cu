// cooperative.cu: MoE Align Block Size by CTAs that are all resident, with one grid barrier. Each CTA counts its share
// in shared memory and adds it to the global totals, whose old value is the CTA's own offset inside each expert. After
// the barrier every CTA reads and scans the totals by itself.
//
//   launch    grid (ceil_div(numel, TOKENS_PER_CTA), 1, 1), THREADS threads, cooperative
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32, num_post_pad *i32, workspace *Workspace,
//             numel i32, sorted_capacity i32, expert_capacity i32
//   scratch   one Workspace per stream, zeroed once; every launch leaves it ready for the next
//   PREFILL   1: write sentinels everywhere first and slots over them; 0: write each padding place by itself

#include "device.cuh"

#ifndef PREFILL
#define PREFILL 0
#endif

namespace {

// Two sets of totals take turns: a launch adds to one and clears the other, which the launch before it used.
struct Workspace {
    int total[2][EXPERT_SLOTS];
    unsigned epoch;
    unsigned arrivals;
};

__device__ __forceinline__ unsigned load_acquire(const unsigned* word)
{
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

// Barrier over the grid. The CTAs' increments add up to 2^31 exactly, so the top bit flips when the last one arrives
// and the word is ready for the next barrier.
__device__ __forceinline__ void grid_barrier(unsigned* arrivals)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned increment = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u;
        unsigned seen;
        asm volatile("fence.acq_rel.gpu;\n\tatom.add.release.gpu.global.u32 %0, [%1], %2;"
                     : "=r"(seen) : "l"(arrivals), "r"(increment) : "memory");
        while (((seen ^ load_acquire(arrivals)) & 0x80000000u) == 0) {}
    }
    __syncthreads();
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS)
moe_align_cooperative(const int* __restrict__ topk_ids, int* __restrict__ sorted_ids, int* __restrict__ expert_ids,
                      int* __restrict__ num_post_pad, Workspace* workspace, const int numel,
                      const int sorted_capacity, const int expert_capacity)
{
    __shared__ int count[EXPERT_SLOTS];   // this CTA's histogram
    __shared__ int base[EXPERT_SLOTS];    // place of this CTA's first slot of each expert
    __shared__ int start[EXPERT_SLOTS];
    __shared__ int end[EXPERT_SLOTS];
    __shared__ int warp_totals[WARPS];

    const int expert      = threadIdx.x;
    const int thread      = blockIdx.x * THREADS + threadIdx.x;
    const int threads     = gridDim.x * THREADS;
    const int first_token = blockIdx.x * TOKENS_PER_CTA;
    const unsigned epoch  = workspace->epoch;
    int id[TOKENS_PER_THREAD];
    load_ids(id, topk_ids, first_token, numel);
    if (expert < EXPERT_SLOTS) count[expert] = 0;
    if (PREFILL) fill_sentinel(sorted_ids, sorted_capacity, numel, thread, threads);
    __syncthreads();

    int rank[TOKENS_PER_THREAD];
    #pragma unroll
    for (int k = 0; k < TOKENS_PER_THREAD; ++k) rank[k] = is_expert(id[k]) ? atomicAdd(&count[id[k]], 1) : 0;
    __syncthreads();

    int* const totals = workspace->total[epoch & 1];
    const int mine = expert < EXPERT_SLOTS ? count[expert] : 0;
    const int before = mine > 0 ? atomicAdd(&totals[expert], mine) : 0;
    if (blockIdx.x == 0 && expert < EXPERT_SLOTS) workspace->total[(epoch & 1) ^ 1][expert] = 0;
    grid_barrier(&workspace->arrivals);   // the totals are complete, and every sentinel written

    const int total = expert < EXPERT_SLOTS ? __ldcg(&totals[expert]) : 0;
    int post_pad;
    const int expert_start = cta_exclusive_sum(pad_to_blocks(total), warp_totals, post_pad);
    if (expert < EXPERT_SLOTS) {
        base[expert]  = expert_start + before;
        start[expert] = expert_start;
        end[expert]   = expert_start + total;
    }
    __syncthreads();

    #pragma unroll
    for (int k = 0; k < TOKENS_PER_THREAD; ++k)
        if (is_expert(id[k])) sorted_ids[base[id[k]] + rank[k]] = first_token + token_in_cta(k);
    write_expert_ids(expert_ids, expert_capacity, post_pad, start, thread, threads);
    if (!PREFILL) {
        write_padding(sorted_ids, numel, post_pad, start, end, 0, NUM_EXPERTS, thread, threads);
        for (int place = post_pad + thread; place < sorted_capacity; place += threads) sorted_ids[place] = numel;
    }
    if (thread == 0) {
        *num_post_pad = post_pad;
        workspace->epoch = epoch + 1;   // every CTA read it before the barrier
    }
}
