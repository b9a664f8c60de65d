// defines: Barrier
using Barrier = unsigned long long;                      // one mbarrier object
// defines: shared_address
// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
// defines: mbarrier_init
// needs: Barrier shared_address
// A fresh mbarrier whose phases take `arrivals` arrivals. Called by one thread; fence_mbarrier_init and a barrier follow before
// anyone uses it (PTX ISA, mbarrier.init; sm_80).
__device__ __forceinline__ void mbarrier_init(Barrier* barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
// twin:
__device__ __forceinline__ void mbarrier_init(Barrier* barrier, unsigned arrivals)
{
    tle2cuda_emulator::tle2cuda_mbarrier_init(barrier, arrivals, __LINE__);
}
// defines: mbarrier_invalidate
// needs: Barrier shared_address
// Ends the life of an mbarrier, so that its memory may hold something else. Called by one thread (PTX ISA, mbarrier.inval; sm_80).
__device__ __forceinline__ void mbarrier_invalidate(Barrier* barrier)
{
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}
// twin:
__device__ __forceinline__ void mbarrier_invalidate(Barrier* barrier)
{
    tle2cuda_emulator::tle2cuda_mbarrier_invalidate(barrier, __LINE__);
}
// defines: fence_mbarrier_init
// Makes this thread's mbarrier_init known to the cluster and to the copy engine (PTX ISA, fence.mbarrier_init; sm_90).
__device__ __forceinline__ void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// twin:
__device__ __forceinline__ void fence_mbarrier_init()
{
    tle2cuda_emulator::tle2cuda_fence(tle2cuda_emulator::SCOPE_CLUSTER);
    tle2cuda_emulator::tle2cuda_proxy_fence(tle2cuda_emulator::PROXY_MBARRIER);
}
// defines: mbarrier_expect_bytes
// needs: Barrier shared_address
// Arrives, and the phase then also waits for `bytes` that copies bring. Called by one thread (PTX ISA, mbarrier.arrive.expect_tx;
// sm_90).
__device__ __forceinline__ void mbarrier_expect_bytes(Barrier* barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void mbarrier_expect_bytes(Barrier* barrier, unsigned bytes)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mbarrier_arrive(barrier, 1, bytes, 0, ORDER_RELEASE, SCOPE_CTA, __LINE__);
}
// defines: mbarrier_add_bytes
// needs: Barrier shared_address
// The phase also waits for `bytes` that copies bring; no arrival. Called by one thread (PTX ISA, mbarrier.expect_tx; sm_90).
__device__ __forceinline__ void mbarrier_add_bytes(Barrier* barrier, unsigned bytes)
{
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}
// twin:
__device__ __forceinline__ void mbarrier_add_bytes(Barrier* barrier, unsigned bytes)
{
    tle2cuda_emulator::tle2cuda_mbarrier_expect(barrier, bytes, __LINE__);
}
// defines: mbarrier_arrive
// needs: Barrier shared_address
// One arrival of the calling thread; what it did before is in front of what waits for the phase (PTX ISA, mbarrier.arrive; sm_80).
__device__ __forceinline__ void mbarrier_arrive(Barrier* barrier)
{
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(shared_address(barrier)) : "memory");
}
// twin:
__device__ __forceinline__ void mbarrier_arrive(Barrier* barrier)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mbarrier_arrive(barrier, 1, 0, 0, ORDER_RELEASE, SCOPE_CTA, __LINE__);
}
// defines: mbarrier_arrive_count
// needs: Barrier shared_address
// As many arrivals at once (PTX ISA, mbarrier.arrive; sm_90).
__device__ __forceinline__ void mbarrier_arrive_count(Barrier* barrier, unsigned arrivals)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
// twin:
__device__ __forceinline__ void mbarrier_arrive_count(Barrier* barrier, unsigned arrivals)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mbarrier_arrive(barrier, arrivals, 0, 0, ORDER_RELEASE, SCOPE_CTA, __LINE__);
}
// defines: mbarrier_arrive_remote
// needs: Barrier shared_address
// One arrival at the mbarrier that lies in CTA `rank` of the cluster where `barrier` lies in this one. Waits there have cluster
// scope (PTX ISA, mbarrier.arrive on shared::cluster; sm_90).
__device__ __forceinline__ void mbarrier_arrive_remote(Barrier* barrier, unsigned rank)
{
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
                 "}" ::"r"(shared_address(barrier)), "r"(rank) : "memory");
}
// twin:
__device__ __forceinline__ void mbarrier_arrive_remote(Barrier* barrier, unsigned rank)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mbarrier_arrive(tle2cuda_map_shared(barrier, rank), 1, 0, 0, ORDER_RELEASE, SCOPE_CLUSTER, __LINE__);
}
// defines: mbarrier_free
// needs: Barrier shared_address
// One arrival at the mbarrier that lies in CTA `rank` of the cluster where `barrier` lies in this one, of a thread that has read what
// that phase guards, and shows nothing to others: release of cluster scope, which waits for all memory operations of the thread,
// is not asked for (PTX ISA, mbarrier.arrive on shared::cluster; sm_90).
__device__ __forceinline__ void mbarrier_free(Barrier* barrier, unsigned rank)
{
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
                 "}" ::"r"(shared_address(barrier)), "r"(rank) : "memory");
}
// twin:
__device__ __forceinline__ void mbarrier_free(Barrier* barrier, unsigned rank)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mbarrier_arrive(tle2cuda_map_shared(barrier, rank), 1, 0, 0, ORDER_RELEASE, SCOPE_CLUSTER, __LINE__);
}
// defines: mbarrier_expect_bytes_remote
// needs: Barrier shared_address
// mbarrier_expect_bytes at the mbarrier of CTA `rank` (PTX ISA, mbarrier.arrive.expect_tx on shared::cluster; sm_90).
__device__ __forceinline__ void mbarrier_expect_bytes_remote(Barrier* barrier, unsigned bytes, unsigned rank)
{
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %2;\n"
                 "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [remote], %1;\n"
                 "}" ::"r"(shared_address(barrier)), "r"(bytes), "r"(rank) : "memory");
}
// twin:
__device__ __forceinline__ void mbarrier_expect_bytes_remote(Barrier* barrier, unsigned bytes, unsigned rank)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mbarrier_arrive(tle2cuda_map_shared(barrier, rank), 1, bytes, 0, ORDER_RELEASE, SCOPE_CLUSTER, __LINE__);
}
// defines: mbarrier_wait
// needs: Barrier shared_address
// Waits until the phase of this parity has ended. What its arrivals and copies did comes before what the calling thread does
// next (PTX ISA, mbarrier.try_wait; sm_90).
__device__ __forceinline__ void mbarrier_wait(Barrier* barrier, unsigned parity)
{
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "WAIT:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@done bra DONE;\n"
        "bra WAIT;\n"
        "DONE:\n"
        "}" ::"r"(shared_address(barrier)), "r"(parity) : "memory");
}
// twin:
__device__ __forceinline__ void mbarrier_wait(Barrier* barrier, unsigned parity)
{
    tle2cuda_emulator::tle2cuda_mbarrier_wait(barrier, parity, tle2cuda_emulator::SCOPE_CTA, __LINE__);
}
// defines: mbarrier_wait_cluster
// needs: Barrier shared_address
// The same where arrivals come from other CTAs of the cluster (PTX ISA, mbarrier.try_wait; sm_90).
__device__ __forceinline__ void mbarrier_wait_cluster(Barrier* barrier, unsigned parity)
{
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "WAIT:\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
        "@done bra DONE;\n"
        "bra WAIT;\n"
        "DONE:\n"
        "}" ::"r"(shared_address(barrier)), "r"(parity) : "memory");
}
// twin:
__device__ __forceinline__ void mbarrier_wait_cluster(Barrier* barrier, unsigned parity)
{
    tle2cuda_emulator::tle2cuda_mbarrier_wait(barrier, parity, tle2cuda_emulator::SCOPE_CLUSTER, __LINE__);
}
// defines: mbarrier_try_wait
// needs: Barrier shared_address
// Whether the phase of this parity has ended; the thread may sleep for a while first (PTX ISA, mbarrier.try_wait; sm_90).
__device__ __forceinline__ bool mbarrier_try_wait(Barrier* barrier, unsigned parity)
{
    unsigned ended;
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, done;\n"
                 "}" : "=r"(ended) : "r"(shared_address(barrier)), "r"(parity) : "memory");
    return ended != 0;
}
// twin:
__device__ __forceinline__ bool mbarrier_try_wait(Barrier* barrier, unsigned parity)
{
    return tle2cuda_emulator::tle2cuda_mbarrier_test(barrier, parity, true, tle2cuda_emulator::SCOPE_CTA, __LINE__) != 0;
}
// defines: mbarrier_test_wait
// needs: Barrier shared_address
// Whether the phase of this parity has ended, at once (PTX ISA, mbarrier.test_wait; sm_80).
__device__ __forceinline__ bool mbarrier_test_wait(Barrier* barrier, unsigned parity)
{
    unsigned ended;
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 done, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, done;\n"
                 "}" : "=r"(ended) : "r"(shared_address(barrier)), "r"(parity) : "memory");
    return ended != 0;
}
// twin:
__device__ __forceinline__ bool mbarrier_test_wait(Barrier* barrier, unsigned parity)
{
    return tle2cuda_emulator::tle2cuda_mbarrier_test(barrier, parity, false, tle2cuda_emulator::SCOPE_CTA, __LINE__) != 0;
}
// defines: mbarrier_poll
// needs: mbarrier_test_wait
// Waits until the phase of this parity has ended, asking again and again. What its arrivals and copies did comes before what
// the calling thread does next (sm_80).
__device__ __forceinline__ void mbarrier_poll(Barrier* barrier, unsigned parity)
{
    while (!mbarrier_test_wait(barrier, parity)) {
    }
}
// twin:
__device__ __forceinline__ void mbarrier_poll(Barrier* barrier, unsigned parity)
{
    tle2cuda_emulator::tle2cuda_mbarrier_wait(barrier, parity, tle2cuda_emulator::SCOPE_CTA, __LINE__);
}
// defines: mbarrier_arrive_each
// needs: mbarrier_arrive
// As many arrivals, one after the other. Called by one thread (sm_80).
__device__ __forceinline__ void mbarrier_arrive_each(Barrier* barrier, int arrivals)
{
    for (int i = 0; i < arrivals; ++i) mbarrier_arrive(barrier);
}
