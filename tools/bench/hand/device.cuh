// device.cuh: what the hand-written MoE Align Block Size kernels share. These kernels are the yardstick for the ones
// that the compiler emits; each file is one kernel, sized by the macros below.
//
//   NUM_EXPERTS        experts, at most THREADS
//   BLOCK_SIZE         slots per block of one expert
//   CTAS               CTAs in the grid
//   THREADS            threads per CTA, a multiple of 32
//   TOKENS_PER_THREAD  ids each thread keeps in registers; a multiple of 4 is loaded 16 bytes at a time
//   EXPERT_LOOP        expert_ids: 1: each expert's thread writes its blocks; 0: each block's thread searches its expert
//   TIMELINE           1: every warp notes its clock at each MARK, for tools/bench/moe_timeline.py

#pragma once

#ifndef NUM_EXPERTS
#define NUM_EXPERTS 512
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 16
#endif
#ifndef CTAS
#define CTAS 1
#endif
#ifndef THREADS
#define THREADS 1024
#endif
#ifndef TOKENS_PER_THREAD
#define TOKENS_PER_THREAD 1
#endif
#ifndef EXPERT_LOOP
#define EXPERT_LOOP 0
#endif
#ifndef TIMELINE
#define TIMELINE 0
#endif

static_assert(NUM_EXPERTS <= THREADS, "one thread per expert");
static_assert(THREADS % 32 == 0, "whole warps");

namespace {

constexpr int WARPS = THREADS / 32;

__host__ __device__ constexpr int ceil_log2(const int n) { return n <= 1 ? 0 : 1 + ceil_log2((n + 1) / 2); }

constexpr int SEARCH_STEPS = ceil_log2(NUM_EXPERTS);
constexpr int EXPERT_SLOTS = 1 << SEARCH_STEPS;   // NUM_EXPERTS rounded up to a power of two
static_assert(EXPERT_SLOTS <= THREADS, "one thread per counter");

// ---- Sharing out work ----

// Numbers the threads of all CTAs warp by warp, the CTAs taking turns: less work than threads is shared by all CTAs,
// and neighbouring lanes still do neighbouring items.
__device__ __forceinline__ int spread_thread(const int cta, const int warp)
{
    return (warp * CTAS + cta) * 32 + threadIdx.x % 32;
}

// The slot that register k of this thread holds, relative to the CTA's first: runs of four neighbours per thread
// where 16-byte loads are used, else one token per thread and run.
__device__ __forceinline__ int token_in_cta(const int k)
{
    return TOKENS_PER_THREAD % 4 == 0 ? 4 * (threadIdx.x + k / 4 * THREADS) + k % 4 : threadIdx.x + k * THREADS;
}

// Loads this thread's ids out of [first_token, last_token); slots past the end read as -1.
__device__ __forceinline__ void load_ids(int (&id)[TOKENS_PER_THREAD], const int* __restrict__ topk_ids,
                                         const int first_token, const int last_token)
{
    if constexpr (TOKENS_PER_THREAD % 4 == 0) {
        #pragma unroll
        for (int k = 0; k < TOKENS_PER_THREAD; k += 4) {
            const int token = first_token + token_in_cta(k);
            if (token + 4 <= last_token) {
                const int4 four = *reinterpret_cast<const int4*>(topk_ids + token);
                id[k] = four.x; id[k + 1] = four.y; id[k + 2] = four.z; id[k + 3] = four.w;
            } else {
                #pragma unroll
                for (int i = 0; i < 4; ++i) id[k + i] = token + i < last_token ? topk_ids[token + i] : -1;
            }
        }
    } else {
        #pragma unroll
        for (int k = 0; k < TOKENS_PER_THREAD; ++k) {
            const int token = first_token + token_in_cta(k);
            id[k] = token < last_token ? topk_ids[token] : -1;
        }
    }
}

__device__ __forceinline__ bool is_expert(const int id) { return static_cast<unsigned>(id) < NUM_EXPERTS; }

__device__ __forceinline__ int pad_to_blocks(const int count)
{
    return static_cast<int>(static_cast<unsigned>(count + BLOCK_SIZE - 1) / BLOCK_SIZE * BLOCK_SIZE);
}

// Counts each slot in shared memory; returns in `rank` how many of its expert this CTA had counted before it.
__device__ __forceinline__ void count_ids(int (&rank)[TOKENS_PER_THREAD], const int (&id)[TOKENS_PER_THREAD],
                                          int (&count)[EXPERT_SLOTS])
{
    #pragma unroll
    for (int k = 0; k < TOKENS_PER_THREAD; ++k) rank[k] = is_expert(id[k]) ? atomicAdd(&count[id[k]], 1) : 0;
}

// ---- Scan ----

// Exclusive sum over the CTA with one barrier: each warp scans its values, then sums the totals of the warps before it.
__device__ __forceinline__ int cta_exclusive_sum(const int value, int (&warp_totals)[WARPS], int& total)
{
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    int inclusive = value;
    #pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        // Adds where a lane `step` below exists, as the shuffle's own predicate says (PTX ISA 9.7.9, shfl.sync).
        asm volatile("{\n\t"
                     ".reg .pred in_warp;\n\t"
                     ".reg .b32 below;\n\t"
                     "shfl.sync.up.b32 below|in_warp, %0, %1, 0, 0xffffffff;\n\t"
                     "@in_warp add.s32 %0, %0, below;\n\t"
                     "}"
                     : "+r"(inclusive) : "r"(step));
    }
    if (lane == 31) warp_totals[warp] = inclusive;
    __syncthreads();
    const int warp_total = lane < WARPS ? warp_totals[lane] : 0;
    const int before = __reduce_add_sync(0xffffffffu, lane < warp ? warp_total : 0);
    total = __reduce_add_sync(0xffffffffu, warp_total);
    return before + inclusive - value;
}

// ---- Outputs ----

// Writes the sentinel to all places, 16 bytes at a time.
__device__ __forceinline__ void fill_sentinel(int* __restrict__ sorted_ids, const int capacity, const int sentinel,
                                              const int thread)
{
    #pragma unroll 1
    for (int place = 4 * thread; place + 4 <= capacity; place += 4 * CTAS * THREADS)
        *reinterpret_cast<int4*>(sorted_ids + place) = make_int4(sentinel, sentinel, sentinel, sentinel);
    if (thread < capacity % 4) sorted_ids[capacity - 1 - thread] = sentinel;
}

// Writes the sentinel to the places that no block uses.
__device__ __forceinline__ void fill_tail(int* __restrict__ sorted_ids, const int capacity, const int sentinel,
                                          const int post_pad, const int thread)
{
    #pragma unroll 1
    for (int place = post_pad + thread; place < capacity; place += CTAS * THREADS) sorted_ids[place] = sentinel;
}

// Writes the sentinel to the padding places of experts `first_expert` ... `last_expert - 1`, one place per thread and
// step: at most BLOCK_SIZE - 1 an expert, from its end to the next whole block.
__device__ __forceinline__ void write_padding(int* __restrict__ sorted_ids, const int sentinel,
                                              const int (&end)[EXPERT_SLOTS], const int first_expert,
                                              const int last_expert, const int thread, const int threads)
{
    #pragma unroll 1
    for (int i = thread; i < (last_expert - first_expert) * BLOCK_SIZE; i += threads) {
        const int expert_end = end[first_expert + i / BLOCK_SIZE];
        const int place      = expert_end + i % BLOCK_SIZE;
        if (place < pad_to_blocks(expert_end)) sorted_ids[place] = sentinel;
    }
}

// The expert whose places include `place` < post_pad: the last one that starts at or before it. Empty experts start
// where the next one does, so they are never the last.
__device__ __forceinline__ int owner_of(const int place, const int (&start)[EXPERT_SLOTS])
{
    int owner = 0;
    #pragma unroll
    for (int step = EXPERT_SLOTS / 2; step > 0; step /= 2)
        if (start[owner + step] <= place) owner += step;
    return owner;
}

// Writes the expert of every block, and 0 for blocks not in use: each thread searches for its blocks' experts.
__device__ __forceinline__ void search_expert_ids(int* __restrict__ expert_ids, const int capacity, const int post_pad,
                                                  const int (&start)[EXPERT_SLOTS], const int thread)
{
    #pragma unroll 1
    for (int block = thread; block < capacity; block += CTAS * THREADS) {
        const int place = block * BLOCK_SIZE;
        expert_ids[block] = place < post_pad ? owner_of(place, start) : 0;
    }
}

// The same with no search: the thread of an expert writes this CTA's share of its blocks, every CTAS-th.
__device__ __forceinline__ void loop_expert_ids(int* __restrict__ expert_ids, const int capacity, const int post_pad,
                                                const int expert, const int expert_start, const int total,
                                                const int cta, const int thread)
{
    const int first_block = expert_start / BLOCK_SIZE;
    const int last_block  = first_block + (total + BLOCK_SIZE - 1) / BLOCK_SIZE;
    // The first block at or after first_block that is this CTA's: block % CTAS == cta.
    int block = first_block + (cta + CTAS - first_block % CTAS) % CTAS;
    #pragma unroll 1
    for (; block < last_block; block += CTAS) expert_ids[block] = expert;
    #pragma unroll 1
    for (block = post_pad / BLOCK_SIZE + thread; block < capacity; block += CTAS * THREADS) expert_ids[block] = 0;
}

}  // namespace

#if TIMELINE
constexpr int MARKS = 10;
extern "C" {
__device__ unsigned timeline[CTAS * WARPS * MARKS];   // clock cycles, [CTA, warp, mark]
}
#define MARK(i) \
    if (threadIdx.x % 32 == 0) timeline[(blockIdx.x * WARPS + threadIdx.x / 32) * MARKS + (i)] = clock()
#else
#define MARK(i)
#endif
