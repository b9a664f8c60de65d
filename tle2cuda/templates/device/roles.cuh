// defines: registers_decrease
// The warpgroup gives registers back, down to REGISTERS a thread (a multiple of 8 from 24 to 256). Called by all of its threads
// (PTX ISA, setmaxnreg; sm_90a).
template <int REGISTERS>
__device__ __forceinline__ void registers_decrease() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }
// twin:
template <int REGISTERS>
__device__ __forceinline__ void registers_decrease() { tle2cuda_emulator::tle2cuda_set_registers(REGISTERS, __LINE__); }
// defines: registers_increase
// The warpgroup takes registers, up to REGISTERS a thread, and waits until others have given them back. Called by all of its
// threads (PTX ISA, setmaxnreg; sm_90a).
template <int REGISTERS>
__device__ __forceinline__ void registers_increase() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }
// twin:
template <int REGISTERS>
__device__ __forceinline__ void registers_increase() { tle2cuda_emulator::tle2cuda_set_registers(REGISTERS, __LINE__); }
// defines: named_barrier_sync
// Waits until `threads` threads, whole warps, have come to hardware barrier `barrier` (1 to 15; 0 is that of __syncthreads).
// Called by all lanes of a warp (PTX ISA, barrier.sync).
__device__ __forceinline__ void named_barrier_sync(int barrier, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
// twin:
__device__ __forceinline__ void named_barrier_sync(int barrier, int threads)
{
    using namespace tle2cuda_emulator;
    tle2cuda_barrier(static_cast<unsigned>(barrier), static_cast<unsigned>(threads), BARRIER_PLAIN, 0, __LINE__);
}
// defines: meeting_barrier_sync
// Waits until `threads` threads, whole warps, have come to hardware barrier `barrier` (0 to 15), each partition in a place of its
// own. Called by all lanes of a warp (PTX ISA, barrier.sync; not .aligned).
__device__ __forceinline__ void meeting_barrier_sync(int barrier, int threads)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
// twin:
__device__ __forceinline__ void meeting_barrier_sync(int barrier, int threads)
{
    using namespace tle2cuda_emulator;
    tle2cuda_barrier(static_cast<unsigned>(barrier), static_cast<unsigned>(threads), BARRIER_PLAIN, 0, __LINE__);
}
// defines: named_barrier_arrive
// Is counted at hardware barrier `barrier` and goes on. Called by all lanes of a warp (PTX ISA, barrier.arrive).
__device__ __forceinline__ void named_barrier_arrive(int barrier, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
// twin:
__device__ __forceinline__ void named_barrier_arrive(int barrier, int threads)
{
    using namespace tle2cuda_emulator;
    tle2cuda_barrier_arrive(static_cast<unsigned>(barrier), static_cast<unsigned>(threads), __LINE__);
}
// defines: warpgroup_barrier
// Barrier of the 128 threads of one consumer warpgroup (hardware barriers 1 and 2) (PTX ISA, barrier.sync).
__device__ __forceinline__ void warpgroup_barrier(int consumer) { asm volatile("bar.sync %0, 128;" ::"r"(1 + consumer) : "memory"); }
// twin:
__device__ __forceinline__ void warpgroup_barrier(int consumer)
{
    tle2cuda_emulator::tle2cuda_barrier(1u + static_cast<unsigned>(consumer), 128, tle2cuda_emulator::BARRIER_PLAIN, 0, __LINE__);
}
// defines: elect_one
// True in one lane of the warp. Called by all of its lanes (PTX ISA, elect.sync; sm_90).
__device__ __forceinline__ bool elect_one()
{
    unsigned elected;
    asm volatile("{\n"
                 ".reg .pred chosen;\n"
                 "elect.sync _|chosen, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, chosen;\n"
                 "}" : "=r"(elected));
    return elected != 0;
}
// twin:
__device__ __forceinline__ bool elect_one() { return tle2cuda_emulator::tle2cuda_elect(0xffffffffu, __LINE__) != 0; }
