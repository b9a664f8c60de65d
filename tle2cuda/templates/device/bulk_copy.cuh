// defines: bulk_load
// needs: Barrier shared_address
// Neighbouring bytes from global into shared memory, completing on `barrier`. Addresses and size are multiples of 16 bytes.
// Called by one thread (PTX ISA, cp.async.bulk; sm_90).
__device__ __forceinline__ void bulk_load(void* destination, const void* source, unsigned bytes, Barrier* barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(shared_address(destination)), "l"(source), "r"(bytes), "r"(shared_address(barrier)) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_load(void* destination, const void* source, unsigned bytes, Barrier* barrier)
{
    tle2cuda_emulator::tle2cuda_bulk_copy(destination, source, bytes, barrier, 0, __LINE__);
}
// defines: bulk_load_multicast
// needs: Barrier shared_address
// The same into each CTA of the cluster in the bit mask `ctas`, at the places of `destination` and `barrier` in this one (PTX
// ISA, cp.async.bulk with .multicast::cluster; sm_90).
__device__ __forceinline__ void bulk_load_multicast(void* destination, const void* source, unsigned bytes, Barrier* barrier, unsigned short ctas)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;"
                 ::"r"(shared_address(destination)), "l"(source), "r"(bytes), "r"(shared_address(barrier)), "h"(ctas) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_load_multicast(void* destination, const void* source, unsigned bytes, Barrier* barrier, unsigned short ctas)
{
    tle2cuda_emulator::tle2cuda_bulk_copy(destination, source, bytes, barrier, ctas, __LINE__);
}
// defines: bulk_send
// needs: Barrier shared_address
// Neighbouring bytes of this CTA's shared memory to where `destination` lies in CTA `rank` of the cluster, completing on its
// `barrier`. Called by one thread behind fence_async_proxy (PTX ISA, cp.async.bulk; sm_90).
__device__ __forceinline__ void bulk_send(void* destination, const void* source, unsigned bytes, Barrier* barrier, unsigned rank)
{
    asm volatile("{\n"
                 ".reg .b32 there, signal;\n"
                 "mapa.shared::cluster.u32 there, %0, %4;\n"
                 "mapa.shared::cluster.u32 signal, %3, %4;\n"
                 "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [there], [%1], %2, [signal];\n"
                 "}" ::"r"(shared_address(destination)), "r"(shared_address(source)), "r"(bytes), "r"(shared_address(barrier)), "r"(rank) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_send(void* destination, const void* source, unsigned bytes, Barrier* barrier, unsigned rank)
{
    using namespace tle2cuda_emulator;
    tle2cuda_bulk_copy(tle2cuda_map_shared(destination, rank), source, bytes, tle2cuda_map_shared(barrier, rank), 0, __LINE__);
}
// defines: bulk_store
// needs: shared_address
// Neighbouring bytes of shared memory to global memory, as part of this thread's open bulk group. Called by one thread behind
// fence_async_proxy (PTX ISA, cp.async.bulk; sm_90).
__device__ __forceinline__ void bulk_store(void* destination, const void* source, unsigned bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 ::"l"(destination), "r"(shared_address(source)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void bulk_store(void* destination, const void* source, unsigned bytes)
{
    tle2cuda_emulator::tle2cuda_bulk_copy(destination, source, bytes, nullptr, 0, __LINE__);
}
// defines: tma_store_commit
// Closes this thread's bulk group (PTX ISA, cp.async.bulk.commit_group; sm_90).
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// twin:
__device__ __forceinline__ void tma_store_commit() { tle2cuda_emulator::tle2cuda_bulk_commit(); }
// defines: tma_store_wait
// Waits until all bulk groups of this thread but the last PENDING are complete (PTX ISA, cp.async.bulk.wait_group; sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(PENDING) : "memory"); }
// twin:
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait() { tle2cuda_emulator::tle2cuda_bulk_wait(PENDING, false); }
// defines: tma_store_wait_read
// Waits until all but the last PENDING have read shared memory, which may then be written (PTX ISA, cp.async.bulk.wait_group.read;
// sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory"); }
// twin:
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait_read() { tle2cuda_emulator::tle2cuda_bulk_wait(PENDING, true); }
