// defines: bulk_reduce_add_s32
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `add`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_add_s32(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_add_s32(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_ADD, TYPE_I32, nullptr, __LINE__);
}
// defines: bulk_reduce_add_u32
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `add`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_add_u32(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_add_u32(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_ADD, TYPE_U32, nullptr, __LINE__);
}
// defines: bulk_reduce_add_u64
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `add`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_add_u64(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_add_u64(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_ADD, TYPE_U64, nullptr, __LINE__);
}
// defines: bulk_reduce_add_f32
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `add`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_add_f32(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_add_f32(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_ADD, TYPE_F32, nullptr, __LINE__);
}
// defines: bulk_reduce_add_f64
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `add`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_add_f64(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_add_f64(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_ADD, TYPE_F64, nullptr, __LINE__);
}
// defines: bulk_reduce_add_f16
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `add`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_add_f16(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_add_f16(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_ADD, TYPE_F16, nullptr, __LINE__);
}
// defines: bulk_reduce_add_bf16
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `add`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_add_bf16(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_add_bf16(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_ADD, TYPE_BF16, nullptr, __LINE__);
}
// defines: bulk_reduce_and_b32
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `and`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_and_b32(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.and.b32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_and_b32(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_AND, TYPE_U32, nullptr, __LINE__);
}
// defines: bulk_reduce_and_b64
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `and`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_and_b64(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.and.b64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_and_b64(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_AND, TYPE_U64, nullptr, __LINE__);
}
// defines: bulk_reduce_max_s32
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `max`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_max_s32(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_max_s32(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MAX, TYPE_I32, nullptr, __LINE__);
}
// defines: bulk_reduce_max_u32
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `max`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_max_u32(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_max_u32(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MAX, TYPE_U32, nullptr, __LINE__);
}
// defines: bulk_reduce_max_s64
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `max`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_max_s64(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_max_s64(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MAX, TYPE_I64, nullptr, __LINE__);
}
// defines: bulk_reduce_max_u64
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `max`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_max_u64(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_max_u64(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MAX, TYPE_U64, nullptr, __LINE__);
}
// defines: bulk_reduce_min_s32
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `min`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_min_s32(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_min_s32(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MIN, TYPE_I32, nullptr, __LINE__);
}
// defines: bulk_reduce_min_u32
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `min`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_min_u32(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_min_u32(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MIN, TYPE_U32, nullptr, __LINE__);
}
// defines: bulk_reduce_min_s64
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `min`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_min_s64(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_min_s64(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MIN, TYPE_I64, nullptr, __LINE__);
}
// defines: bulk_reduce_min_u64
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `min`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_min_u64(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_min_u64(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MIN, TYPE_U64, nullptr, __LINE__);
}
// defines: bulk_reduce_or_b32
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `or`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_or_b32(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.or.b32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_or_b32(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_OR, TYPE_U32, nullptr, __LINE__);
}
// defines: bulk_reduce_or_b64
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `or`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_or_b64(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.or.b64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_or_b64(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_OR, TYPE_U64, nullptr, __LINE__);
}
// defines: bulk_reduce_xor_b32
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `xor`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_xor_b32(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_xor_b32(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_XOR, TYPE_U32, nullptr, __LINE__);
}
// defines: bulk_reduce_xor_b64
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `xor`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread behind fence_async_proxy (PTX ISA,
// cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_xor_b64(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_xor_b64(void* destination, const void* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_XOR, TYPE_U64, nullptr, __LINE__);
}
