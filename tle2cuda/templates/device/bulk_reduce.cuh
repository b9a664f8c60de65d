// defines: bulk_reduce_add
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `add`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread (PTX ISA, cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_add(int* destination, const int* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bulk_reduce_add(unsigned* destination, const unsigned* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bulk_reduce_add(unsigned long long* destination, const unsigned long long* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bulk_reduce_add(float* destination, const float* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bulk_reduce_add(double* destination, const double* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_add(int* destination, const int* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_ADD, TYPE_I32, nullptr, __LINE__);
}
__device__ __forceinline__ void bulk_reduce_add(unsigned* destination, const unsigned* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_ADD, TYPE_U32, nullptr, __LINE__);
}
__device__ __forceinline__ void bulk_reduce_add(unsigned long long* destination, const unsigned long long* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_ADD, TYPE_U64, nullptr, __LINE__);
}
__device__ __forceinline__ void bulk_reduce_add(float* destination, const float* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_ADD, TYPE_F32, nullptr, __LINE__);
}
__device__ __forceinline__ void bulk_reduce_add(double* destination, const double* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_ADD, TYPE_F64, nullptr, __LINE__);
}
// defines: bulk_reduce_and
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `and`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread (PTX ISA, cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_and(unsigned* destination, const unsigned* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.and.b32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bulk_reduce_and(unsigned long long* destination, const unsigned long long* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.and.b64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_and(unsigned* destination, const unsigned* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_AND, TYPE_U32, nullptr, __LINE__);
}
__device__ __forceinline__ void bulk_reduce_and(unsigned long long* destination, const unsigned long long* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_AND, TYPE_U64, nullptr, __LINE__);
}
// defines: bulk_reduce_max
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `max`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread (PTX ISA, cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_max(int* destination, const int* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bulk_reduce_max(unsigned* destination, const unsigned* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bulk_reduce_max(long long* destination, const long long* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bulk_reduce_max(unsigned long long* destination, const unsigned long long* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_max(int* destination, const int* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MAX, TYPE_I32, nullptr, __LINE__);
}
__device__ __forceinline__ void bulk_reduce_max(unsigned* destination, const unsigned* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MAX, TYPE_U32, nullptr, __LINE__);
}
__device__ __forceinline__ void bulk_reduce_max(long long* destination, const long long* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MAX, TYPE_I64, nullptr, __LINE__);
}
__device__ __forceinline__ void bulk_reduce_max(unsigned long long* destination, const unsigned long long* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MAX, TYPE_U64, nullptr, __LINE__);
}
// defines: bulk_reduce_min
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `min`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread (PTX ISA, cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_min(int* destination, const int* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bulk_reduce_min(unsigned* destination, const unsigned* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bulk_reduce_min(long long* destination, const long long* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bulk_reduce_min(unsigned long long* destination, const unsigned long long* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_min(int* destination, const int* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MIN, TYPE_I32, nullptr, __LINE__);
}
__device__ __forceinline__ void bulk_reduce_min(unsigned* destination, const unsigned* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MIN, TYPE_U32, nullptr, __LINE__);
}
__device__ __forceinline__ void bulk_reduce_min(long long* destination, const long long* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MIN, TYPE_I64, nullptr, __LINE__);
}
__device__ __forceinline__ void bulk_reduce_min(unsigned long long* destination, const unsigned long long* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_MIN, TYPE_U64, nullptr, __LINE__);
}
// defines: bulk_reduce_or
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `or`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread (PTX ISA, cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_or(unsigned* destination, const unsigned* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.or.b32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bulk_reduce_or(unsigned long long* destination, const unsigned long long* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.or.b64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_or(unsigned* destination, const unsigned* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_OR, TYPE_U32, nullptr, __LINE__);
}
__device__ __forceinline__ void bulk_reduce_or(unsigned long long* destination, const unsigned long long* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_OR, TYPE_U64, nullptr, __LINE__);
}
// defines: bulk_reduce_xor
// needs: shared_address
// Combines elements of global memory with those at `source` in shared memory by `xor`, as part of this thread's open bulk
// group. Addresses and size are multiples of 16 bytes. Called by one thread (PTX ISA, cp.reduce.async.bulk; sm_90).
__device__ __forceinline__ void bulk_reduce_xor(unsigned* destination, const unsigned* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b32 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bulk_reduce_xor(unsigned long long* destination, const unsigned long long* source, unsigned bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b64 [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_reduce_xor(unsigned* destination, const unsigned* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_XOR, TYPE_U32, nullptr, __LINE__);
}
__device__ __forceinline__ void bulk_reduce_xor(unsigned long long* destination, const unsigned long long* source, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_reduce(destination, source, bytes, ATOMIC_XOR, TYPE_U64, nullptr, __LINE__);
}
