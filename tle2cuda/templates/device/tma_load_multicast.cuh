// defines: tma_load_multicast_1d
// needs: Barrier TensorMap shared_address
// The same box into shared memory of each CTA of the cluster in the bit mask `ctas`, at the places of `destination` and of
// `barrier` in this one. Called by one thread (PTX ISA, cp.async.bulk.tensor with .multicast::cluster; sm_90).
__device__ __forceinline__ void tma_load_multicast_1d(void* destination, const TensorMap* map, Barrier* barrier, unsigned short ctas, int c0)
{
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4}], [%2], %3;"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "h"(ctas), "r"(c0) : "memory");
}
// twin:
__device__ __forceinline__ void tma_load_multicast_1d(void* destination, const TensorMap* map, Barrier* barrier, unsigned short ctas, int c0)
{
    const int coordinates[] = {c0};
    tle2cuda_emulator::tle2cuda_tensor_load(destination, map, coordinates, 1, barrier, ctas, __LINE__);
}
// defines: tma_load_multicast_2d
// needs: Barrier TensorMap shared_address
// The same box into shared memory of each CTA of the cluster in the bit mask `ctas`, at the places of `destination` and of
// `barrier` in this one. Called by one thread (PTX ISA, cp.async.bulk.tensor with .multicast::cluster; sm_90).
__device__ __forceinline__ void tma_load_multicast_2d(void* destination, const TensorMap* map, Barrier* barrier, unsigned short ctas, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5}], [%2], %3;"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "h"(ctas), "r"(c0), "r"(c1) : "memory");
}
// twin:
__device__ __forceinline__ void tma_load_multicast_2d(void* destination, const TensorMap* map, Barrier* barrier, unsigned short ctas, int c0, int c1)
{
    const int coordinates[] = {c0, c1};
    tle2cuda_emulator::tle2cuda_tensor_load(destination, map, coordinates, 2, barrier, ctas, __LINE__);
}
// defines: tma_load_multicast_3d
// needs: Barrier TensorMap shared_address
// The same box into shared memory of each CTA of the cluster in the bit mask `ctas`, at the places of `destination` and of
// `barrier` in this one. Called by one thread (PTX ISA, cp.async.bulk.tensor with .multicast::cluster; sm_90).
__device__ __forceinline__ void tma_load_multicast_3d(void* destination, const TensorMap* map, Barrier* barrier, unsigned short ctas, int c0, int c1, int c2)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5, %6}], [%2], %3;"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "h"(ctas), "r"(c0), "r"(c1), "r"(c2) : "memory");
}
// twin:
__device__ __forceinline__ void tma_load_multicast_3d(void* destination, const TensorMap* map, Barrier* barrier, unsigned short ctas, int c0, int c1, int c2)
{
    const int coordinates[] = {c0, c1, c2};
    tle2cuda_emulator::tle2cuda_tensor_load(destination, map, coordinates, 3, barrier, ctas, __LINE__);
}
// defines: tma_load_multicast_4d
// needs: Barrier TensorMap shared_address
// The same box into shared memory of each CTA of the cluster in the bit mask `ctas`, at the places of `destination` and of
// `barrier` in this one. Called by one thread (PTX ISA, cp.async.bulk.tensor with .multicast::cluster; sm_90).
__device__ __forceinline__ void tma_load_multicast_4d(void* destination, const TensorMap* map, Barrier* barrier, unsigned short ctas, int c0, int c1, int c2, int c3)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5, %6, %7}], [%2], %3;"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "h"(ctas), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}
// twin:
__device__ __forceinline__ void tma_load_multicast_4d(void* destination, const TensorMap* map, Barrier* barrier, unsigned short ctas, int c0, int c1, int c2, int c3)
{
    const int coordinates[] = {c0, c1, c2, c3};
    tle2cuda_emulator::tle2cuda_tensor_load(destination, map, coordinates, 4, barrier, ctas, __LINE__);
}
// defines: tma_load_multicast_5d
// needs: Barrier TensorMap shared_address
// The same box into shared memory of each CTA of the cluster in the bit mask `ctas`, at the places of `destination` and of
// `barrier` in this one. Called by one thread (PTX ISA, cp.async.bulk.tensor with .multicast::cluster; sm_90).
__device__ __forceinline__ void tma_load_multicast_5d(void* destination, const TensorMap* map, Barrier* barrier, unsigned short ctas, int c0, int c1, int c2, int c3, int c4)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%4, %5, %6, %7, %8}], [%2], %3;"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "h"(ctas), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}
// twin:
__device__ __forceinline__ void tma_load_multicast_5d(void* destination, const TensorMap* map, Barrier* barrier, unsigned short ctas, int c0, int c1, int c2, int c3, int c4)
{
    const int coordinates[] = {c0, c1, c2, c3, c4};
    tle2cuda_emulator::tle2cuda_tensor_load(destination, map, coordinates, 5, barrier, ctas, __LINE__);
}
