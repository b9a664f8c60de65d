// cluster.cu: MoE Align Block Size by one cluster, for up to CLUSTER_SIZE * THREADS * TOKENS_PER_THREAD slots. Each CTA
// counts its share and, after one cluster barrier, reads the counts of all others: their sum is the expert's total,
// the part from lower ranks the CTA's own offset. No atomic crosses CTAs.
//
//   launch    grid (CLUSTER_SIZE, 1, 1), THREADS threads, one cluster
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32, num_post_pad *i32,
//             numel i32, sorted_capacity i32, expert_capacity i32
//   PREFILL   1: write sentinels everywhere first and slots over them; 0: write each padding place by itself

#include "device.cuh"

#ifndef CLUSTER_SIZE
#define CLUSTER_SIZE 8
#endif
#ifndef PREFILL
#define PREFILL 1
#endif

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

extern "C" __global__ void __cluster_dims__(CLUSTER_SIZE, 1, 1) __launch_bounds__(THREADS)
moe_align_cluster(const int* __restrict__ topk_ids, int* __restrict__ sorted_ids, int* __restrict__ expert_ids,
                  int* __restrict__ num_post_pad, const int numel, const int sorted_capacity,
                  const int expert_capacity)
{
    __shared__ int count[EXPERT_SLOTS];   // this CTA's histogram, read by the whole cluster
    __shared__ int base[EXPERT_SLOTS];    // place of this CTA's first slot of each expert
    __shared__ int start[EXPERT_SLOTS];
    __shared__ int end[EXPERT_SLOTS];
    __shared__ int warp_totals[WARPS];

    const int expert      = threadIdx.x;
    const int cta_rank    = cluster_rank();
    const int thread      = cta_rank * THREADS + threadIdx.x;
    const int first_token = cta_rank * TOKENS_PER_CTA;
    int id[TOKENS_PER_THREAD];
    load_ids(id, topk_ids, first_token, numel);
    if (expert < EXPERT_SLOTS) count[expert] = 0;
    if (PREFILL) fill_sentinel(sorted_ids, sorted_capacity, numel, thread, CLUSTER_SIZE * THREADS);
    __syncthreads();

    int rank[TOKENS_PER_THREAD];
    #pragma unroll
    for (int k = 0; k < TOKENS_PER_THREAD; ++k) rank[k] = is_expert(id[k]) ? atomicAdd(&count[id[k]], 1) : 0;
    cluster_arrive();
    cluster_wait();   // every CTA's histogram is complete, and every sentinel written

    int total = 0, before = 0;
    if (expert < EXPERT_SLOTS) {
        #pragma unroll
        for (int peer = 0; peer < CLUSTER_SIZE; ++peer) {
            const int peer_count = load_dsmem(&count[expert], peer);
            if (peer < cta_rank) before += peer_count;
            total += peer_count;
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
    __syncthreads();

    #pragma unroll
    for (int k = 0; k < TOKENS_PER_THREAD; ++k)
        if (is_expert(id[k])) sorted_ids[base[id[k]] + rank[k]] = first_token + token_in_cta(k);
    write_expert_ids(expert_ids, expert_capacity, post_pad, start, thread, CLUSTER_SIZE * THREADS);
    if (!PREFILL) {
        write_padding(sorted_ids, numel, post_pad, start, end, 0, NUM_EXPERTS, thread, CLUSTER_SIZE * THREADS);
        for (int place = post_pad + thread; place < sorted_capacity; place += CLUSTER_SIZE * THREADS)
            sorted_ids[place] = numel;
    }
    if (thread == 0) *num_post_pad = post_pad;
    cluster_wait();   // peers may still be reading this CTA's counts
}
