// Stands in for CUDA's cooperative_groups.h: grid, cluster, block, tiles of a warp.
#pragma once

#include "tle2cuda_emulator/abi.h"
#include "tle2cuda_emulator/barriers.h"
#include "tle2cuda_emulator/vector_types.h"
#include "tle2cuda_emulator/warp.h"

namespace cooperative_groups {

namespace emulated {
TLE2CUDA_INLINE unsigned thread_rank()
{
    const auto index = tle2cuda_emulator::tle2cuda_thread_index();
    const auto extent = tle2cuda_emulator::tle2cuda_block_extent();
    return (index.z * extent.y + index.y) * extent.x + index.x;
}
TLE2CUDA_INLINE unsigned volume(tle2cuda_emulator::Index extent) { return extent.x * extent.y * extent.z; }
}  // namespace emulated

class thread_block {
public:
    struct arrival_token {};

    TLE2CUDA_INLINE void sync(int line = __builtin_LINE()) const { __syncthreads(line); }
    TLE2CUDA_INLINE unsigned thread_rank() const { return emulated::thread_rank(); }
    TLE2CUDA_INLINE unsigned size() const { return emulated::volume(tle2cuda_emulator::tle2cuda_block_extent()); }
    TLE2CUDA_INLINE unsigned num_threads() const { return size(); }
    TLE2CUDA_INLINE dim3 group_index() const { return tle2cuda_emulator::tle2cuda_block_index(); }
    TLE2CUDA_INLINE dim3 thread_index() const { return tle2cuda_emulator::tle2cuda_thread_index(); }
    TLE2CUDA_INLINE dim3 dim_threads() const { return tle2cuda_emulator::tle2cuda_block_extent(); }
    TLE2CUDA_INLINE dim3 group_dim() const { return dim_threads(); }
};
TLE2CUDA_INLINE thread_block this_thread_block() { return thread_block(); }

class grid_group {
public:
    TLE2CUDA_INLINE bool is_valid() const { return true; }
    TLE2CUDA_INLINE void sync(int line = __builtin_LINE()) const { tle2cuda_emulator::tle2cuda_grid_sync(line); }
    TLE2CUDA_INLINE unsigned long long num_blocks() const
    {
        return emulated::volume(tle2cuda_emulator::tle2cuda_grid_extent());
    }
    TLE2CUDA_INLINE unsigned long long block_rank() const
    {
        const auto index = tle2cuda_emulator::tle2cuda_block_index();
        const auto extent = tle2cuda_emulator::tle2cuda_grid_extent();
        return (static_cast<unsigned long long>(index.z) * extent.y + index.y) * extent.x + index.x;
    }
    TLE2CUDA_INLINE unsigned long long size() const
    {
        return num_blocks() * emulated::volume(tle2cuda_emulator::tle2cuda_block_extent());
    }
    TLE2CUDA_INLINE unsigned long long num_threads() const { return size(); }
    TLE2CUDA_INLINE unsigned long long thread_rank() const
    {
        return block_rank() * emulated::volume(tle2cuda_emulator::tle2cuda_block_extent()) + emulated::thread_rank();
    }
    TLE2CUDA_INLINE dim3 dim_blocks() const { return tle2cuda_emulator::tle2cuda_grid_extent(); }
    TLE2CUDA_INLINE dim3 group_dim() const { return dim_blocks(); }
    TLE2CUDA_INLINE dim3 block_index() const { return tle2cuda_emulator::tle2cuda_block_index(); }
};
TLE2CUDA_INLINE grid_group this_grid() { return grid_group(); }

class cluster_group {
public:
    struct arrival_token {};

    TLE2CUDA_INLINE void sync(int line = __builtin_LINE()) const
    {
        tle2cuda_emulator::tle2cuda_cluster_arrive(1, line);
        tle2cuda_emulator::tle2cuda_cluster_wait(1, line);
    }
    TLE2CUDA_INLINE arrival_token barrier_arrive(int line = __builtin_LINE()) const
    {
        tle2cuda_emulator::tle2cuda_cluster_arrive(1, line);
        return {};
    }
    TLE2CUDA_INLINE void barrier_wait(int line = __builtin_LINE()) const { tle2cuda_emulator::tle2cuda_cluster_wait(1, line); }
    TLE2CUDA_INLINE void barrier_wait(arrival_token&&, int line = __builtin_LINE()) const { barrier_wait(line); }
    TLE2CUDA_INLINE unsigned block_rank() const { return tle2cuda_emulator::tle2cuda_cluster_rank(); }
    TLE2CUDA_INLINE unsigned num_blocks() const { return emulated::volume(tle2cuda_emulator::tle2cuda_cluster_extent()); }
    TLE2CUDA_INLINE dim3 dim_blocks() const { return tle2cuda_emulator::tle2cuda_cluster_extent(); }
    TLE2CUDA_INLINE dim3 block_index() const { return tle2cuda_emulator::tle2cuda_cluster_block_index(); }
    TLE2CUDA_INLINE unsigned thread_rank() const
    {
        return block_rank() * emulated::volume(tle2cuda_emulator::tle2cuda_block_extent()) + emulated::thread_rank();
    }
    TLE2CUDA_INLINE unsigned num_threads() const
    {
        return num_blocks() * emulated::volume(tle2cuda_emulator::tle2cuda_block_extent());
    }
    TLE2CUDA_INLINE unsigned size() const { return num_threads(); }
    template <class T>
    TLE2CUDA_INLINE T* map_shared_rank(T* address, int rank) const
    {
        return static_cast<T*>(tle2cuda_emulator::tle2cuda_map_shared(address, static_cast<unsigned>(rank)));
    }
    TLE2CUDA_INLINE unsigned query_shared_rank(const void* address) const
    {
        return static_cast<unsigned>(tle2cuda_emulator::tle2cuda_rank_of(address));
    }
};
TLE2CUDA_INLINE cluster_group this_cluster() { return cluster_group(); }

// Lanes of one warp: SIZE neighbours, aligned.
template <unsigned SIZE, class Parent = void>
class thread_block_tile {
    static_assert(SIZE >= 1 && SIZE <= 32 && (SIZE & (SIZE - 1)) == 0, "a tile is a power of two of lanes, at most a warp");

public:
    TLE2CUDA_INLINE unsigned thread_rank() const { return tle2cuda_emulator::tle2cuda_lane() % SIZE; }
    static constexpr unsigned size() { return SIZE; }
    static constexpr unsigned num_threads() { return SIZE; }
    TLE2CUDA_INLINE unsigned meta_group_rank() const { return emulated::thread_rank() / SIZE; }
    TLE2CUDA_INLINE unsigned meta_group_size() const
    {
        return (emulated::volume(tle2cuda_emulator::tle2cuda_block_extent()) + SIZE - 1) / SIZE;
    }
    TLE2CUDA_INLINE void sync(int line = __builtin_LINE()) const { __syncwarp(mask(), line); }
    template <class T>
    TLE2CUDA_INLINE T shfl(T value, int lane, int line = __builtin_LINE()) const
    {
        return __shfl_sync(mask(), value, lane, SIZE, line);
    }
    template <class T>
    TLE2CUDA_INLINE T shfl_up(T value, unsigned delta, int line = __builtin_LINE()) const
    {
        return __shfl_up_sync(mask(), value, delta, SIZE, line);
    }
    template <class T>
    TLE2CUDA_INLINE T shfl_down(T value, unsigned delta, int line = __builtin_LINE()) const
    {
        return __shfl_down_sync(mask(), value, delta, SIZE, line);
    }
    template <class T>
    TLE2CUDA_INLINE T shfl_xor(T value, int lane_mask, int line = __builtin_LINE()) const
    {
        return __shfl_xor_sync(mask(), value, lane_mask, SIZE, line);
    }
    TLE2CUDA_INLINE int any(int predicate, int line = __builtin_LINE()) const { return __any_sync(mask(), predicate, line); }
    TLE2CUDA_INLINE int all(int predicate, int line = __builtin_LINE()) const { return __all_sync(mask(), predicate, line); }
    TLE2CUDA_INLINE unsigned ballot(int predicate, int line = __builtin_LINE()) const
    {
        return __ballot_sync(mask(), predicate, line) >> first();
    }

private:
    TLE2CUDA_INLINE unsigned first() const { return tle2cuda_emulator::tle2cuda_lane() / SIZE * SIZE; }
    TLE2CUDA_INLINE unsigned mask() const { return (SIZE == 32 ? 0xffffffffu : (1u << SIZE % 32) - 1) << first(); }
};

template <unsigned SIZE, class Parent>
TLE2CUDA_INLINE thread_block_tile<SIZE, Parent> tiled_partition(const Parent&)
{
    return thread_block_tile<SIZE, Parent>();
}

template <class Group>
TLE2CUDA_INLINE void sync(const Group& group, int line = __builtin_LINE())
{
    group.sync(line);
}

}  // namespace cooperative_groups
