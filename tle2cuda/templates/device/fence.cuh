// defines: fence_cta
// Orders this thread's accesses before it against those after it, as the CTA sees them (PTX ISA, fence.acq_rel.cta).
// __threadfence_block() is the dearer fence.sc.
__device__ __forceinline__ void fence_cta() { asm volatile("fence.acq_rel.cta;" ::: "memory"); }
// twin:
__device__ __forceinline__ void fence_cta() { __threadfence_block(); }
// defines: fence_cluster
// Orders this thread's accesses before it against those after it, as the cluster sees them (PTX ISA,
// fence.acq_rel.cluster; sm_90).
__device__ __forceinline__ void fence_cluster() { asm volatile("fence.acq_rel.cluster;" ::: "memory"); }
// twin:
__device__ __forceinline__ void fence_cluster() { __threadfence(); }
// defines: fence_gpu
// Orders this thread's accesses before it against those after it, as the whole GPU sees them (PTX ISA,
// fence.acq_rel.gpu). __threadfence() is the dearer fence.sc.
__device__ __forceinline__ void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
// twin:
__device__ __forceinline__ void fence_gpu() { __threadfence(); }
// defines: fence_system
// Orders this thread's accesses before it against those after it, as every GPU and the host see them (PTX ISA,
// fence.acq_rel.sys). __threadfence_system() is the dearer fence.sc.
__device__ __forceinline__ void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
// twin:
__device__ __forceinline__ void fence_system() { __threadfence_system(); }
