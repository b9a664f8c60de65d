// defines: tma_store_1d
// needs: TensorMap shared_address
// One box from shared memory into the array, clipped at its edges, as part of this thread's open bulk group. What wrote
// `source` is followed by fence_async_proxy. Called by one thread (PTX ISA, cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_store_1d(const TensorMap* map, const void* source, int c0)
{
    asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%2}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0) : "memory");
}
// twin:
__device__ __forceinline__ void tma_store_1d(const TensorMap* map, const void* source, int c0)
{
    const int coordinates[] = {c0};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 1, tle2cuda_emulator::ATOMIC_EXCHANGE, __LINE__);
}
// defines: tma_store_2d
// needs: TensorMap shared_address
// One box from shared memory into the array, clipped at its edges, as part of this thread's open bulk group. What wrote
// `source` is followed by fence_async_proxy. Called by one thread (PTX ISA, cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_store_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1) : "memory");
}
// twin:
__device__ __forceinline__ void tma_store_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    const int coordinates[] = {c0, c1};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 2, tle2cuda_emulator::ATOMIC_EXCHANGE, __LINE__);
}
// defines: tma_store_3d
// needs: TensorMap shared_address
// One box from shared memory into the array, clipped at its edges, as part of this thread's open bulk group. What wrote
// `source` is followed by fence_async_proxy. Called by one thread (PTX ISA, cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_store_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2) : "memory");
}
// twin:
__device__ __forceinline__ void tma_store_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    const int coordinates[] = {c0, c1, c2};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 3, tle2cuda_emulator::ATOMIC_EXCHANGE, __LINE__);
}
// defines: tma_store_4d
// needs: TensorMap shared_address
// One box from shared memory into the array, clipped at its edges, as part of this thread's open bulk group. What wrote
// `source` is followed by fence_async_proxy. Called by one thread (PTX ISA, cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_store_4d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}
// twin:
__device__ __forceinline__ void tma_store_4d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3)
{
    const int coordinates[] = {c0, c1, c2, c3};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 4, tle2cuda_emulator::ATOMIC_EXCHANGE, __LINE__);
}
// defines: tma_store_5d
// needs: TensorMap shared_address
// One box from shared memory into the array, clipped at its edges, as part of this thread's open bulk group. What wrote
// `source` is followed by fence_async_proxy. Called by one thread (PTX ISA, cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_store_5d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3, int c4)
{
    asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}
// twin:
__device__ __forceinline__ void tma_store_5d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3, int c4)
{
    const int coordinates[] = {c0, c1, c2, c3, c4};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 5, tle2cuda_emulator::ATOMIC_EXCHANGE, __LINE__);
}
