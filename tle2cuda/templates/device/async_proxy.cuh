// defines: fence_async_proxy
// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// twin:
__device__ __forceinline__ void fence_async_proxy()
{
    tle2cuda_emulator::tle2cuda_proxy_fence(tle2cuda_emulator::PROXY_SHARED);
}
// defines: fence_async_proxy_global
// The same for global memory (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
// twin:
__device__ __forceinline__ void fence_async_proxy_global()
{
    tle2cuda_emulator::tle2cuda_proxy_fence(tle2cuda_emulator::PROXY_GLOBAL);
}
// defines: fence_async_proxy_all
// The same for all memory, shared memory of other CTAs included (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy_all() { asm volatile("fence.proxy.async;" ::: "memory"); }
// twin:
__device__ __forceinline__ void fence_async_proxy_all()
{
    using namespace tle2cuda_emulator;
    tle2cuda_proxy_fence(PROXY_SHARED | PROXY_GLOBAL | PROXY_MBARRIER);
}
