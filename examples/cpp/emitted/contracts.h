// contracts.h: how the kernels of this folder are to be launched, from their launch contracts. Do not edit.

#pragma once

struct LaunchContract {
    unsigned cta_threads;            // threads per CTA (blockDim.x)
    unsigned cluster_ctas;           // CTAs per cluster; 1 means no cluster
    bool     cooperative;            // all CTAs must be resident at once
    unsigned dynamic_shared_bytes;
};

constexpr LaunchContract vector_add_contract{128, 1, false, 0};
constexpr LaunchContract moe_align_cluster_contract{1024, 8, false, 12480};

// Constants that the kernels were specialised for.
namespace vector_add_constants {
constexpr int BLOCK = 1024;
}

namespace moe_align_cluster_constants {
constexpr int NUM_GROUPS = 512;
constexpr int BLOCK_SIZE = 16;
constexpr int BLOCK_EXPERT = 1024;
constexpr int BLOCK_TOKENS = 1024;
}

// Kernels, as the linker sees their host side.
extern "C" void vector_add(const float* x, const float* y, float* out, int n);
extern "C" void moe_align_cluster(const int* topk_ids, int* sorted_ids, int* expert_ids, int* num_post_pad,
                                  int numel, int sorted_capacity, int expert_capacity);
