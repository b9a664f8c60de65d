// cooperative.cu: MoE Align Block Size by CTAs that are all resident and wait for each other once. Each CTA counts its
// share in shared memory and adds it to the global totals, whose old value is the CTA's own offset inside each expert.
// Then every CTA reads and scans the totals by itself.
//
//   launch    grid (CTAS, 1, 1), THREADS threads, cooperative
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32, num_post_pad *i32, workspace *Workspace,
//             numel i32, slots_per_cta i32 (a multiple of 4), sorted_capacity i32, expert_capacity i32
//   scratch   one Workspace per stream, zeroed once; every launch leaves it ready for the next
//   COUNTED   1: each total also counts the CTAs that have added to it, and is read until all have; there is no barrier
//             0: one barrier over the grid

#ifndef COUNTED
#define COUNTED 1
#endif

#include "device.cuh"

namespace {

// Two sets of totals take turns: a launch adds to one and clears the other, which the launch before it used.
struct Workspace {
    unsigned total[2][EXPERT_SLOTS];
    unsigned epoch;
    unsigned arrivals;
};

// A counted total: the number of CTAs that have added to it above the sum of what they added.
constexpr int SUM_BITS     = 22;   // 4 million slots, 1023 CTAs
constexpr unsigned ONE_CTA = 1u << SUM_BITS;
static_assert(CTAS < 1 << (32 - SUM_BITS), "arrivals overflow");
static_assert(static_cast<long long>(CTAS) * THREADS * TOKENS_PER_THREAD < 1 << SUM_BITS, "sums overflow");

// Reads past L1 what other CTAs may be changing (PTX ISA 8.7, ld.relaxed).
__device__ __forceinline__ unsigned load_relaxed(const unsigned* word)
{
    unsigned value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

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
        const unsigned increment = blockIdx.x == 0 ? 0x80000000u - (CTAS - 1) : 1u;
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
                      int* __restrict__ num_post_pad, Workspace* workspace, const int numel, const int slots_per_cta,
                      const int sorted_capacity, const int expert_capacity)
{
    __shared__ int count[EXPERT_SLOTS];   // this CTA's histogram
    __shared__ int base[EXPERT_SLOTS];    // place of this CTA's first slot of each expert
    __shared__ int start[EXPERT_SLOTS];
    __shared__ int end[EXPERT_SLOTS];
    __shared__ int warp_totals[WARPS];

    MARK(0);
    const int cta         = blockIdx.x;
    const int expert      = threadIdx.x;
    const int thread      = spread_thread(cta, threadIdx.x / 32);
    const int first_token = cta * slots_per_cta;
    const unsigned epoch  = workspace->epoch;
    int id[TOKENS_PER_THREAD];
    load_ids(id, topk_ids, first_token, min(first_token + slots_per_cta, numel));
    if (expert < EXPERT_SLOTS) count[expert] = 0;
    __syncthreads();
    MARK(1);

    int rank[TOKENS_PER_THREAD];
    count_ids(rank, id, count);
    MARK(2);
    __syncthreads();
    MARK(3);

    unsigned* const shared_total = &workspace->total[epoch & 1][expert];
    int total = 0, before = 0;
    if (COUNTED) {
        if (expert < EXPERT_SLOTS) {
            const unsigned added = ONE_CTA + count[expert];
            const unsigned old   = atomicAdd(shared_total, added);
            if (cta == 0) workspace->total[(epoch & 1) ^ 1][expert] = 0;
            unsigned sum = old + added;
            while (sum / ONE_CTA != CTAS) sum = load_relaxed(shared_total);
            before = old % ONE_CTA;
            total  = sum % ONE_CTA;
        }
    } else {
        const int mine = expert < EXPERT_SLOTS ? count[expert] : 0;
        if (mine > 0) before = atomicAdd(shared_total, mine);
        if (cta == 0 && expert < EXPERT_SLOTS) workspace->total[(epoch & 1) ^ 1][expert] = 0;
        grid_barrier(&workspace->arrivals);   // the totals are complete
        if (expert < EXPERT_SLOTS) total = __ldcg(shared_total);
    }
    MARK(4);
    int post_pad;
    const int expert_start = cta_exclusive_sum(pad_to_blocks(total), warp_totals, post_pad);
    if (expert < EXPERT_SLOTS) {
        base[expert]  = expert_start + before;
        start[expert] = expert_start;
        end[expert]   = expert_start + total;
    }
    MARK(5);
    if (EXPERT_LOOP) loop_expert_ids(expert_ids, expert_capacity, post_pad, expert, expert_start, total, cta, thread);
    fill_tail(sorted_ids, sorted_capacity, numel, post_pad, thread);
    MARK(6);
    __syncthreads();
    MARK(7);

    #pragma unroll
    for (int k = 0; k < TOKENS_PER_THREAD; ++k)
        if (is_expert(id[k])) sorted_ids[base[id[k]] + rank[k]] = first_token + token_in_cta(k);
    MARK(8);
    // The last warps first, so that other warps do this than search.
    write_padding(sorted_ids, numel, end, 0, NUM_EXPERTS, spread_thread(cta, WARPS - 1 - threadIdx.x / 32),
                  CTAS * THREADS);
    if (!EXPERT_LOOP) search_expert_ids(expert_ids, expert_capacity, post_pad, start, thread);
    if (thread == 0) {
        *num_post_pad = post_pad;
        workspace->epoch = epoch + 1;   // every CTA read it before it added to the totals
    }
    MARK(9);
}
