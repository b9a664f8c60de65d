// defines: TensorMap
// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };
// defines: tma_prefetch_map
// needs: TensorMap
// Fetches the tensor map itself ahead of its first use (PTX ISA, prefetch.tensormap; sm_90). Called by one thread.
__device__ __forceinline__ void tma_prefetch_map(const TensorMap* map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
// twin:
__device__ __forceinline__ void tma_prefetch_map(const TensorMap* map)
{
    tle2cuda_emulator::tle2cuda_tensor_prefetch(map, __LINE__);
}
// defines: tma_load_1d
// needs: Barrier TensorMap shared_address
// One box of the tensor map into shared memory, from element c0 on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_1d(void* destination, const TensorMap* map, Barrier* barrier, int c0)
{
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0) : "memory");
}
// twin:
__device__ __forceinline__ void tma_load_1d(void* destination, const TensorMap* map, Barrier* barrier, int c0)
{
    const int coordinates[] = {c0};
    tle2cuda_emulator::tle2cuda_tensor_load(destination, map, coordinates, 1, barrier, 0, __LINE__);
}
// defines: tma_load_2d
// needs: Barrier TensorMap shared_address
// One box of the tensor map into shared memory, from element (c0, c1) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_2d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1) : "memory");
}
// twin:
__device__ __forceinline__ void tma_load_2d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1)
{
    const int coordinates[] = {c0, c1};
    tle2cuda_emulator::tle2cuda_tensor_load(destination, map, coordinates, 2, barrier, 0, __LINE__);
}
// defines: tma_load_3d
// needs: Barrier TensorMap shared_address
// One box of the tensor map into shared memory, from element (c0, c1, c2) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_3d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2) : "memory");
}
// twin:
__device__ __forceinline__ void tma_load_3d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2)
{
    const int coordinates[] = {c0, c1, c2};
    tle2cuda_emulator::tle2cuda_tensor_load(destination, map, coordinates, 3, barrier, 0, __LINE__);
}
// defines: tma_load_4d
// needs: Barrier TensorMap shared_address
// One box of the tensor map into shared memory, from element (c0, c1, c2, c3) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_4d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2, int c3)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}
// twin:
__device__ __forceinline__ void tma_load_4d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2, int c3)
{
    const int coordinates[] = {c0, c1, c2, c3};
    tle2cuda_emulator::tle2cuda_tensor_load(destination, map, coordinates, 4, barrier, 0, __LINE__);
}
// defines: tma_load_5d
// needs: Barrier TensorMap shared_address
// One box of the tensor map into shared memory, from element (c0, c1, c2, c3, c4) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_5d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2, int c3, int c4)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}
// twin:
__device__ __forceinline__ void tma_load_5d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2, int c3, int c4)
{
    const int coordinates[] = {c0, c1, c2, c3, c4};
    tle2cuda_emulator::tle2cuda_tensor_load(destination, map, coordinates, 5, barrier, 0, __LINE__);
}
