// cluster.cu: MoE Align Block Size by one cluster, for up to CTAS * THREADS * TOKENS_PER_THREAD slots. Each CTA counts
// its share and, after one cluster barrier, reads the counts of all others: their sum is the expert's total, the part
// from lower ranks the CTA's own offset. No atomic crosses CTAs.
//
//   launch    grid (CTAS, 1, 1), THREADS threads, one cluster
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32, num_post_pad *i32,
//             numel i32, slots_per_cta i32 (a multiple of 4), sorted_capacity i32, expert_capacity i32
//   PREFILL   1: write sentinels everywhere first and slots over them; 0: write each padding place by itself

#ifndef CTAS
#define CTAS 8
#endif
#ifndef PREFILL
#define PREFILL 0
#endif

#include "device.cuh"

namespace {

// PTX ISA 8.7, barrier.cluster: arrive has release and wait has acquire semantics unless relaxed.
__device__ __forceinline__ void cluster_arrive()         { asm volatile("barrier.cluster.arrive.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait()           { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }

__device__ __forceinline__ int cluster_rank()
{
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return static_cast<int>(rank);
}

// Reads the word at `local`'s offset in the shared memory of CTA `rank` of the cluster (DSMEM).
__device__ __forceinline__ int load_dsmem(const int* local, const int rank)
{
    int value;
    asm volatile("{\n\t"
                 ".reg .b32 address;\n\t"
                 "mapa.shared::cluster.u32 address, %1, %2;\n\t"
                 "ld.shared::cluster.b32 %0, [address];\n\t"
                 "}"
                 : "=r"(value) : "r"(static_cast<unsigned>(__cvta_generic_to_shared(local))), "r"(rank) : "memory");
    return value;
}

}  // namespace

extern "C" __global__ void __cluster_dims__(CTAS, 1, 1) __launch_bounds__(THREADS)
moe_align_cluster(const int* __restrict__ topk_ids, int* __restrict__ sorted_ids, int* __restrict__ expert_ids,
                  int* __restrict__ num_post_pad, const int numel, const int slots_per_cta, const int sorted_capacity,
                  const int expert_capacity)
{
    __shared__ int count[EXPERT_SLOTS];   // this CTA's histogram, read by the whole cluster
    __shared__ int base[EXPERT_SLOTS];    // place of this CTA's first slot of each expert
    __shared__ int start[EXPERT_SLOTS];
    __shared__ int end[EXPERT_SLOTS];
    __shared__ int warp_totals[WARPS];

    MARK(0);
    const int expert      = threadIdx.x;
    const int cta         = cluster_rank();
    const int thread      = spread_thread(cta, threadIdx.x / 32);
    const int first_token = cta * slots_per_cta;
    int id[TOKENS_PER_THREAD];
    load_ids(id, topk_ids, first_token, min(first_token + slots_per_cta, numel));
    if (expert < EXPERT_SLOTS) count[expert] = 0;
    if (PREFILL) fill_sentinel(sorted_ids, sorted_capacity, numel, thread);
    __syncthreads();
    MARK(1);

    int rank[TOKENS_PER_THREAD];
    count_ids(rank, id, count);
    MARK(2);
    cluster_arrive();
    cluster_wait();   // every CTA's histogram is complete, and every sentinel written
    MARK(3);

    int total = 0, before = 0;
    if (expert < EXPERT_SLOTS) {
        #pragma unroll
        for (int peer = 0; peer < CTAS; ++peer) {
            const int theirs = load_dsmem(&count[expert], peer);
            if (peer < cta) before += theirs;
            total += theirs;
        }
    }
    int post_pad;
    const int expert_start = cta_exclusive_sum(pad_to_blocks(total), warp_totals, post_pad);
    cluster_arrive_relaxed();   // this CTA has read its peers' counts: they may exit
    if (expert < EXPERT_SLOTS) {
        base[expert]  = expert_start + before;
        start[expert] = expert_start;
        end[expert]   = expert_start + total;
    }
    MARK(4);
    if (EXPERT_LOOP) loop_expert_ids(expert_ids, expert_capacity, post_pad, expert, expert_start, total, cta, thread);
    if (!PREFILL) fill_tail(sorted_ids, sorted_capacity, numel, post_pad, thread);
    MARK(5);
    __syncthreads();
    MARK(6);

    #pragma unroll
    for (int k = 0; k < TOKENS_PER_THREAD; ++k)
        if (is_expert(id[k])) sorted_ids[base[id[k]] + rank[k]] = first_token + token_in_cta(k);
    MARK(7);
    // The last warps first, so that other warps do this than search.
    if (!PREFILL)
        write_padding(sorted_ids, numel, end, 0, NUM_EXPERTS, spread_thread(cta, WARPS - 1 - threadIdx.x / 32),
                      CTAS * THREADS);
    if (!EXPERT_LOOP) search_expert_ids(expert_ids, expert_capacity, post_pad, start, thread);
    if (thread == 0) *num_post_pad = post_pad;
    MARK(8);
    cluster_wait();   // peers may still be reading this CTA's counts
}
