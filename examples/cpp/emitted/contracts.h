// contracts.h: how the kernels of this folder are to be launched, from their launch contracts. Do not edit.

#pragma once

struct LaunchContract {
    unsigned cta_threads;            // threads per CTA (blockDim.x)
    unsigned cluster_ctas;           // CTAs per cluster; 1 means no cluster
    bool     cooperative;            // all CTAs must be resident at once
    unsigned dynamic_shared_bytes;
};

constexpr LaunchContract vector_add_contract{128, 1, false, 0};

namespace vector_add_constants {
constexpr int BLOCK = 1024;
}

extern "C" void vector_add(const float* x, const float* y, float* out, int n);

constexpr LaunchContract moe_align_cluster_contract{512, 8, false, 0};

namespace moe_align_cluster_constants {
constexpr int CLUSTER_SIZE = 8;
constexpr int FIRST_EXPERT = 0;
constexpr int NUM_GROUPS = 512;
constexpr int BLOCK_SIZE = 16;
constexpr int SLOT_TILE = 512;
constexpr int GROUP_TILE = 512;
constexpr int SEARCH_STEPS = 9;
constexpr int THREADS = 512;
}

extern "C" void moe_align_cluster(const int* topk_ids, int* sorted_ids, int* expert_ids, int* num_post_pad, int numel, int sorted_capacity, int expert_capacity);
