// defines: tma_reduce_add_1d
// needs: TensorMap shared_address
// As tma_store_1d, but each element is combined with the array's by `add` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_add_1d(const TensorMap* map, const void* source, int c0)
{
    asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%0, {%2}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_add_1d(const TensorMap* map, const void* source, int c0)
{
    const int coordinates[] = {c0};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 1, tle2cuda_emulator::ATOMIC_ADD, __LINE__);
}
// defines: tma_reduce_add_2d
// needs: TensorMap shared_address
// As tma_store_2d, but each element is combined with the array's by `add` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_add_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_add_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    const int coordinates[] = {c0, c1};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 2, tle2cuda_emulator::ATOMIC_ADD, __LINE__);
}
// defines: tma_reduce_add_3d
// needs: TensorMap shared_address
// As tma_store_3d, but each element is combined with the array's by `add` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_add_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_add_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    const int coordinates[] = {c0, c1, c2};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 3, tle2cuda_emulator::ATOMIC_ADD, __LINE__);
}
// defines: tma_reduce_add_4d
// needs: TensorMap shared_address
// As tma_store_4d, but each element is combined with the array's by `add` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_add_4d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3)
{
    asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_add_4d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3)
{
    const int coordinates[] = {c0, c1, c2, c3};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 4, tle2cuda_emulator::ATOMIC_ADD, __LINE__);
}
// defines: tma_reduce_add_5d
// needs: TensorMap shared_address
// As tma_store_5d, but each element is combined with the array's by `add` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_add_5d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3, int c4)
{
    asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_add_5d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3, int c4)
{
    const int coordinates[] = {c0, c1, c2, c3, c4};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 5, tle2cuda_emulator::ATOMIC_ADD, __LINE__);
}
// defines: tma_reduce_and_1d
// needs: TensorMap shared_address
// As tma_store_1d, but each element is combined with the array's by `and` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_and_1d(const TensorMap* map, const void* source, int c0)
{
    asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.and.tile.bulk_group [%0, {%2}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_and_1d(const TensorMap* map, const void* source, int c0)
{
    const int coordinates[] = {c0};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 1, tle2cuda_emulator::ATOMIC_AND, __LINE__);
}
// defines: tma_reduce_and_2d
// needs: TensorMap shared_address
// As tma_store_2d, but each element is combined with the array's by `and` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_and_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.and.tile.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_and_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    const int coordinates[] = {c0, c1};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 2, tle2cuda_emulator::ATOMIC_AND, __LINE__);
}
// defines: tma_reduce_and_3d
// needs: TensorMap shared_address
// As tma_store_3d, but each element is combined with the array's by `and` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_and_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.and.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_and_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    const int coordinates[] = {c0, c1, c2};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 3, tle2cuda_emulator::ATOMIC_AND, __LINE__);
}
// defines: tma_reduce_and_4d
// needs: TensorMap shared_address
// As tma_store_4d, but each element is combined with the array's by `and` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_and_4d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3)
{
    asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta.and.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_and_4d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3)
{
    const int coordinates[] = {c0, c1, c2, c3};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 4, tle2cuda_emulator::ATOMIC_AND, __LINE__);
}
// defines: tma_reduce_and_5d
// needs: TensorMap shared_address
// As tma_store_5d, but each element is combined with the array's by `and` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_and_5d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3, int c4)
{
    asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta.and.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_and_5d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3, int c4)
{
    const int coordinates[] = {c0, c1, c2, c3, c4};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 5, tle2cuda_emulator::ATOMIC_AND, __LINE__);
}
// defines: tma_reduce_max_1d
// needs: TensorMap shared_address
// As tma_store_1d, but each element is combined with the array's by `max` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_max_1d(const TensorMap* map, const void* source, int c0)
{
    asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.max.tile.bulk_group [%0, {%2}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_max_1d(const TensorMap* map, const void* source, int c0)
{
    const int coordinates[] = {c0};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 1, tle2cuda_emulator::ATOMIC_MAX, __LINE__);
}
// defines: tma_reduce_max_2d
// needs: TensorMap shared_address
// As tma_store_2d, but each element is combined with the array's by `max` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_max_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_max_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    const int coordinates[] = {c0, c1};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 2, tle2cuda_emulator::ATOMIC_MAX, __LINE__);
}
// defines: tma_reduce_max_3d
// needs: TensorMap shared_address
// As tma_store_3d, but each element is combined with the array's by `max` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_max_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.max.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_max_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    const int coordinates[] = {c0, c1, c2};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 3, tle2cuda_emulator::ATOMIC_MAX, __LINE__);
}
// defines: tma_reduce_max_4d
// needs: TensorMap shared_address
// As tma_store_4d, but each element is combined with the array's by `max` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_max_4d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3)
{
    asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta.max.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_max_4d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3)
{
    const int coordinates[] = {c0, c1, c2, c3};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 4, tle2cuda_emulator::ATOMIC_MAX, __LINE__);
}
// defines: tma_reduce_max_5d
// needs: TensorMap shared_address
// As tma_store_5d, but each element is combined with the array's by `max` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_max_5d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3, int c4)
{
    asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta.max.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_max_5d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3, int c4)
{
    const int coordinates[] = {c0, c1, c2, c3, c4};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 5, tle2cuda_emulator::ATOMIC_MAX, __LINE__);
}
// defines: tma_reduce_min_1d
// needs: TensorMap shared_address
// As tma_store_1d, but each element is combined with the array's by `min` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_min_1d(const TensorMap* map, const void* source, int c0)
{
    asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.min.tile.bulk_group [%0, {%2}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_min_1d(const TensorMap* map, const void* source, int c0)
{
    const int coordinates[] = {c0};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 1, tle2cuda_emulator::ATOMIC_MIN, __LINE__);
}
// defines: tma_reduce_min_2d
// needs: TensorMap shared_address
// As tma_store_2d, but each element is combined with the array's by `min` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_min_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.tile.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_min_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    const int coordinates[] = {c0, c1};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 2, tle2cuda_emulator::ATOMIC_MIN, __LINE__);
}
// defines: tma_reduce_min_3d
// needs: TensorMap shared_address
// As tma_store_3d, but each element is combined with the array's by `min` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_min_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.min.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_min_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    const int coordinates[] = {c0, c1, c2};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 3, tle2cuda_emulator::ATOMIC_MIN, __LINE__);
}
// defines: tma_reduce_min_4d
// needs: TensorMap shared_address
// As tma_store_4d, but each element is combined with the array's by `min` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_min_4d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3)
{
    asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta.min.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_min_4d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3)
{
    const int coordinates[] = {c0, c1, c2, c3};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 4, tle2cuda_emulator::ATOMIC_MIN, __LINE__);
}
// defines: tma_reduce_min_5d
// needs: TensorMap shared_address
// As tma_store_5d, but each element is combined with the array's by `min` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_min_5d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3, int c4)
{
    asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta.min.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_min_5d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3, int c4)
{
    const int coordinates[] = {c0, c1, c2, c3, c4};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 5, tle2cuda_emulator::ATOMIC_MIN, __LINE__);
}
// defines: tma_reduce_or_1d
// needs: TensorMap shared_address
// As tma_store_1d, but each element is combined with the array's by `or` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_or_1d(const TensorMap* map, const void* source, int c0)
{
    asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.or.tile.bulk_group [%0, {%2}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_or_1d(const TensorMap* map, const void* source, int c0)
{
    const int coordinates[] = {c0};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 1, tle2cuda_emulator::ATOMIC_OR, __LINE__);
}
// defines: tma_reduce_or_2d
// needs: TensorMap shared_address
// As tma_store_2d, but each element is combined with the array's by `or` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_or_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.or.tile.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_or_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    const int coordinates[] = {c0, c1};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 2, tle2cuda_emulator::ATOMIC_OR, __LINE__);
}
// defines: tma_reduce_or_3d
// needs: TensorMap shared_address
// As tma_store_3d, but each element is combined with the array's by `or` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_or_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.or.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_or_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    const int coordinates[] = {c0, c1, c2};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 3, tle2cuda_emulator::ATOMIC_OR, __LINE__);
}
// defines: tma_reduce_or_4d
// needs: TensorMap shared_address
// As tma_store_4d, but each element is combined with the array's by `or` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_or_4d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3)
{
    asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta.or.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_or_4d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3)
{
    const int coordinates[] = {c0, c1, c2, c3};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 4, tle2cuda_emulator::ATOMIC_OR, __LINE__);
}
// defines: tma_reduce_or_5d
// needs: TensorMap shared_address
// As tma_store_5d, but each element is combined with the array's by `or` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_or_5d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3, int c4)
{
    asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta.or.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_or_5d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3, int c4)
{
    const int coordinates[] = {c0, c1, c2, c3, c4};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 5, tle2cuda_emulator::ATOMIC_OR, __LINE__);
}
// defines: tma_reduce_xor_1d
// needs: TensorMap shared_address
// As tma_store_1d, but each element is combined with the array's by `xor` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_xor_1d(const TensorMap* map, const void* source, int c0)
{
    asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.xor.tile.bulk_group [%0, {%2}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_xor_1d(const TensorMap* map, const void* source, int c0)
{
    const int coordinates[] = {c0};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 1, tle2cuda_emulator::ATOMIC_XOR, __LINE__);
}
// defines: tma_reduce_xor_2d
// needs: TensorMap shared_address
// As tma_store_2d, but each element is combined with the array's by `xor` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_xor_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.xor.tile.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_xor_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    const int coordinates[] = {c0, c1};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 2, tle2cuda_emulator::ATOMIC_XOR, __LINE__);
}
// defines: tma_reduce_xor_3d
// needs: TensorMap shared_address
// As tma_store_3d, but each element is combined with the array's by `xor` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_xor_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.xor.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_xor_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    const int coordinates[] = {c0, c1, c2};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 3, tle2cuda_emulator::ATOMIC_XOR, __LINE__);
}
// defines: tma_reduce_xor_4d
// needs: TensorMap shared_address
// As tma_store_4d, but each element is combined with the array's by `xor` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_xor_4d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3)
{
    asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta.xor.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_xor_4d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3)
{
    const int coordinates[] = {c0, c1, c2, c3};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 4, tle2cuda_emulator::ATOMIC_XOR, __LINE__);
}
// defines: tma_reduce_xor_5d
// needs: TensorMap shared_address
// As tma_store_5d, but each element is combined with the array's by `xor` (PTX ISA, cp.reduce.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_reduce_xor_5d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3, int c4)
{
    asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta.xor.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}
// twin:
__device__ __forceinline__ void tma_reduce_xor_5d(const TensorMap* map, const void* source, int c0, int c1, int c2, int c3, int c4)
{
    const int coordinates[] = {c0, c1, c2, c3, c4};
    tle2cuda_emulator::tle2cuda_tensor_store(map, source, coordinates, 5, tle2cuda_emulator::ATOMIC_XOR, __LINE__);
}
