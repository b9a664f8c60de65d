// Sorts tokens by expert, every expert's share padded to whole blocks, and checks the result against its definition.

#include "launch.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace constants = moe_align_cluster_constants;

namespace {

struct Aligned {
    std::vector<int> sorted_ids, expert_ids;
    int num_post_pad;
};

// Expert ids with the long tail of a real router: expert e is chosen with a weight of 1 / (1 + e)^1.2.
std::vector<int> zipf_ids(int count)
{
    std::vector<double> weights(constants::NUM_GROUPS);
    for (std::size_t expert = 0; expert < weights.size(); ++expert)
        weights[expert] = std::pow(1.0 + static_cast<double>(expert), -1.2);
    std::mt19937 generator(7);
    std::discrete_distribution<int> choose(weights.begin(), weights.end());
    std::vector<int> ids(count);
    std::generate(ids.begin(), ids.end(), [&] { return choose(generator); });
    return ids;
}

Aligned run(const std::vector<int>& topk_ids, int sorted_capacity, int expert_capacity)
{
    const DeviceArray<int> topk_device(topk_ids), sorted_device(sorted_capacity), expert_device(expert_capacity),
        total_device(1);
    launch(moe_align_cluster, moe_align_cluster_contract, moe_align_cluster_contract.cluster_ctas, nullptr,
           topk_device.data(), sorted_device.data(), expert_device.data(), total_device.data(),
           static_cast<int>(topk_ids.size()), sorted_capacity, expert_capacity);
    check(cudaDeviceSynchronize(), "moe_align_cluster");
    return {sorted_device.to_host(), expert_device.to_host(), total_device.to_host()[0]};
}

// Returns what is wrong with the result, or null. The order of tokens inside an expert is free.
const char* find_error(const std::vector<int>& topk_ids, const Aligned& result)
{
    const int numel = static_cast<int>(topk_ids.size());
    std::vector<std::vector<int>> tokens(constants::NUM_GROUPS);
    for (int token = 0; token < numel; ++token) tokens[topk_ids[token]].push_back(token);

    int start = 0;
    for (int expert = 0; expert < constants::NUM_GROUPS; ++expert) {
        const int count = static_cast<int>(tokens[expert].size());
        const int padded = (count + constants::BLOCK_SIZE - 1) / constants::BLOCK_SIZE * constants::BLOCK_SIZE;
        if (start + padded > static_cast<int>(result.sorted_ids.size())) return "the result overflows";
        std::vector<int> found(result.sorted_ids.begin() + start, result.sorted_ids.begin() + start + count);
        std::sort(found.begin(), found.end());
        if (found != tokens[expert]) return "an expert has other tokens than its own";
        for (int slot = start + count; slot < start + padded; ++slot)
            if (result.sorted_ids[slot] != numel) return "a padding slot does not hold the sentinel";
        for (int block = start / constants::BLOCK_SIZE; block < (start + padded) / constants::BLOCK_SIZE; ++block)
            if (result.expert_ids[block] != expert) return "a block names another expert";
        start += padded;
    }
    if (result.num_post_pad != start) return "the padded total is wrong";
    for (std::size_t slot = start; slot < result.sorted_ids.size(); ++slot)
        if (result.sorted_ids[slot] != numel) return "a slot past the total does not hold the sentinel";
    return nullptr;
}

}  // namespace

int main()
{
    // The kernel keeps every slot in a register of the cluster: no more than these fit.
    constexpr int max_slots = constants::CLUSTER_SIZE * constants::SLOT_TILE;
    for (const int numel : {1, 256, max_slots - 1, max_slots}) {
        const std::vector<int> topk_ids = zipf_ids(numel);
        const int used_experts = std::min(numel, constants::NUM_GROUPS);
        const int capacity = numel + used_experts * (constants::BLOCK_SIZE - 1);
        const int blocks = (capacity + constants::BLOCK_SIZE - 1) / constants::BLOCK_SIZE;
        const Aligned result = run(topk_ids, blocks * constants::BLOCK_SIZE, blocks);
        if (const char* error = find_error(topk_ids, result)) {
            std::printf("moe_align: %d tokens: %s\n", numel, error);
            return 1;
        }
        std::printf("moe_align: %d tokens, %d slots, as defined\n", numel, result.num_post_pad);
    }
}
