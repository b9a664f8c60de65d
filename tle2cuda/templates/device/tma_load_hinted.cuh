// defines: EVICT_FIRST
constexpr unsigned long long EVICT_FIRST = 0x12F0000000000000;  // policy of the L2 cache for what is used once (PTX ISA, createpolicy)
// defines: EVICT_LAST
constexpr unsigned long long EVICT_LAST = 0x14F0000000000000;  // policy of the L2 cache for what is used again (PTX ISA, createpolicy)
// defines: tma_load_hinted_1d
// needs: Barrier TensorMap shared_address
// tma_load_1d under a policy of the L2 cache. Called by one thread (PTX ISA, cp.async.bulk.tensor with .L2::cache_hint; sm_90).
__device__ __forceinline__ void tma_load_hinted_1d(void* destination, const TensorMap* map, Barrier* barrier, int c0, unsigned long long policy)
{
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%4}], [%2], %3;"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "l"(policy), "r"(c0) : "memory");
}
// twin:
__device__ __forceinline__ void tma_load_hinted_1d(void* destination, const TensorMap* map, Barrier* barrier, int c0, unsigned long long policy)
{
    const int coordinates[] = {c0};
    tle2cuda_emulator::tle2cuda_tensor_load(destination, map, coordinates, 1, barrier, 0, __LINE__);
}
// defines: tma_load_hinted_2d
// needs: Barrier TensorMap shared_address
// tma_load_2d under a policy of the L2 cache. Called by one thread (PTX ISA, cp.async.bulk.tensor with .L2::cache_hint; sm_90).
__device__ __forceinline__ void tma_load_hinted_2d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, unsigned long long policy)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%4, %5}], [%2], %3;"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "l"(policy), "r"(c0), "r"(c1) : "memory");
}
// twin:
__device__ __forceinline__ void tma_load_hinted_2d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, unsigned long long policy)
{
    const int coordinates[] = {c0, c1};
    tle2cuda_emulator::tle2cuda_tensor_load(destination, map, coordinates, 2, barrier, 0, __LINE__);
}
// defines: tma_load_hinted_3d
// needs: Barrier TensorMap shared_address
// tma_load_3d under a policy of the L2 cache. Called by one thread (PTX ISA, cp.async.bulk.tensor with .L2::cache_hint; sm_90).
__device__ __forceinline__ void tma_load_hinted_3d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2, unsigned long long policy)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%4, %5, %6}], [%2], %3;"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "l"(policy), "r"(c0), "r"(c1), "r"(c2) : "memory");
}
// twin:
__device__ __forceinline__ void tma_load_hinted_3d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2, unsigned long long policy)
{
    const int coordinates[] = {c0, c1, c2};
    tle2cuda_emulator::tle2cuda_tensor_load(destination, map, coordinates, 3, barrier, 0, __LINE__);
}
// defines: tma_load_hinted_4d
// needs: Barrier TensorMap shared_address
// tma_load_4d under a policy of the L2 cache. Called by one thread (PTX ISA, cp.async.bulk.tensor with .L2::cache_hint; sm_90).
__device__ __forceinline__ void tma_load_hinted_4d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2, int c3, unsigned long long policy)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%4, %5, %6, %7}], [%2], %3;"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "l"(policy), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}
// twin:
__device__ __forceinline__ void tma_load_hinted_4d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2, int c3, unsigned long long policy)
{
    const int coordinates[] = {c0, c1, c2, c3};
    tle2cuda_emulator::tle2cuda_tensor_load(destination, map, coordinates, 4, barrier, 0, __LINE__);
}
// defines: tma_load_hinted_5d
// needs: Barrier TensorMap shared_address
// tma_load_5d under a policy of the L2 cache. Called by one thread (PTX ISA, cp.async.bulk.tensor with .L2::cache_hint; sm_90).
__device__ __forceinline__ void tma_load_hinted_5d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2, int c3, int c4, unsigned long long policy)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%4, %5, %6, %7, %8}], [%2], %3;"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "l"(policy), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}
// twin:
__device__ __forceinline__ void tma_load_hinted_5d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2, int c3, int c4, unsigned long long policy)
{
    const int coordinates[] = {c0, c1, c2, c3, c4};
    tle2cuda_emulator::tle2cuda_tensor_load(destination, map, coordinates, 5, barrier, 0, __LINE__);
}
