// device.cuh: what the hand-written MoE Align Block Size kernels share. These kernels are the yardstick for the ones
// that the compiler emits; each file is one kernel, sized by the macros below.
//
//   NUM_EXPERTS        experts, at most THREADS
//   BLOCK_SIZE         slots per block of one expert
//   THREADS            threads per CTA, a multiple of 32
//   TOKENS_PER_THREAD  ids each thread keeps in registers: 1, 2, or a multiple of 4 (then loaded 16 bytes at a time)

#pragma once

#ifndef NUM_EXPERTS
#define NUM_EXPERTS 512
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 16
#endif
#ifndef THREADS
#define THREADS 1024
#endif
#ifndef TOKENS_PER_THREAD
#define TOKENS_PER_THREAD 1
#endif

static_assert(NUM_EXPERTS <= THREADS, "one thread per expert");
static_assert(TOKENS_PER_THREAD < 4 || TOKENS_PER_THREAD % 4 == 0, "16-byte loads take four ids");

namespace {

constexpr int WARPS          = THREADS / 32;
constexpr int TOKENS_PER_CTA = THREADS * TOKENS_PER_THREAD;

__host__ __device__ constexpr int ceil_log2(const int n) { return n <= 1 ? 0 : 1 + ceil_log2((n + 1) / 2); }

constexpr int SEARCH_STEPS = ceil_log2(NUM_EXPERTS);
constexpr int EXPERT_SLOTS = 1 << SEARCH_STEPS;   // NUM_EXPERTS rounded up to a power of two

// The slot that register k of this thread holds, relative to the CTA's first: runs of four neighbours per thread
// where 16-byte loads are used, else one token per thread and run.
__device__ __forceinline__ int token_in_cta(const int k)
{
    return TOKENS_PER_THREAD % 4 == 0 ? 4 * (threadIdx.x + k / 4 * THREADS) + k % 4 : threadIdx.x + k * THREADS;
}

// Loads this thread's ids; slots past the end read as -1.
__device__ __forceinline__ void load_ids(int (&id)[TOKENS_PER_THREAD], const int* __restrict__ topk_ids,
                                         const int first_token, const int numel)
{
    if constexpr (TOKENS_PER_THREAD % 4 == 0) {
        #pragma unroll
        for (int k = 0; k < TOKENS_PER_THREAD; k += 4) {
            const int token = first_token + token_in_cta(k);
            if (token + 4 <= numel) {
                const int4 four = *reinterpret_cast<const int4*>(topk_ids + token);
                id[k] = four.x; id[k + 1] = four.y; id[k + 2] = four.z; id[k + 3] = four.w;
            } else {
                #pragma unroll
                for (int i = 0; i < 4; ++i) id[k + i] = token + i < numel ? topk_ids[token + i] : -1;
            }
        }
    } else {
        #pragma unroll
        for (int k = 0; k < TOKENS_PER_THREAD; ++k) {
            const int token = first_token + token_in_cta(k);
            id[k] = token < numel ? topk_ids[token] : -1;
        }
    }
}

__device__ __forceinline__ bool is_expert(const int id) { return static_cast<unsigned>(id) < NUM_EXPERTS; }

__device__ __forceinline__ int pad_to_blocks(const int count)
{
    return (count + BLOCK_SIZE - 1) / BLOCK_SIZE * BLOCK_SIZE;
}

// Writes the sentinel to places `first + 4 * thread`, stride `4 * threads`, 16 bytes at a time.
__device__ __forceinline__ void fill_sentinel(int* __restrict__ sorted_ids, const int capacity, const int sentinel,
                                              const int thread, const int threads)
{
    for (int place = 4 * thread; place < capacity; place += 4 * threads) {
        if (place + 4 <= capacity) {
            *reinterpret_cast<int4*>(sorted_ids + place) = make_int4(sentinel, sentinel, sentinel, sentinel);
        } else {
            for (int i = place; i < capacity; ++i) sorted_ids[i] = sentinel;
        }
    }
}

// Exclusive sum over the CTA with one barrier: each warp scans its values, then sums the totals of the warps before it.
__device__ __forceinline__ int cta_exclusive_sum(const int value, int (&warp_totals)[WARPS], int& total)
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
    const int warp_total = lane < WARPS ? warp_totals[lane] : 0;
    const int before = __reduce_add_sync(0xffffffffu, lane < warp ? warp_total : 0);
    total = __reduce_add_sync(0xffffffffu, warp_total);
    return before + inclusive - value;
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

__device__ __forceinline__ void write_expert_ids(int* __restrict__ expert_ids, const int capacity, const int post_pad,
                                                 const int (&start)[EXPERT_SLOTS], const int thread, const int threads)
{
    for (int block = thread; block < capacity; block += threads) {
        const int place = block * BLOCK_SIZE;
        expert_ids[block] = place < post_pad ? owner_of(place, start) : 0;
    }
}

// Writes the sentinel to the padding places of experts `first_expert` ... `last_expert - 1`, one place per thread and
// step: at most BLOCK_SIZE - 1 an expert, from its end to the next expert's start.
__device__ __forceinline__ void write_padding(int* __restrict__ sorted_ids, const int sentinel, const int post_pad,
                                              const int (&start)[EXPERT_SLOTS], const int (&end)[EXPERT_SLOTS],
                                              const int first_expert, const int last_expert,
                                              const int thread, const int threads)
{
    for (int i = thread; i < (last_expert - first_expert) * BLOCK_SIZE; i += threads) {
        const int expert = first_expert + i / BLOCK_SIZE;
        const int place  = end[expert] + i % BLOCK_SIZE;
        const int limit  = expert + 1 < EXPERT_SLOTS ? start[expert + 1] : post_pad;
        if (place < limit) sorted_ids[place] = sentinel;
    }
}

}  // namespace
