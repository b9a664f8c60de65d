// defines: change_tensor_map_base
// needs: TensorMap
// Lets a tensor map in global memory begin somewhere else. Called by one thread; fence_tensor_map follows the last change (PTX
// ISA, tensormap.replace; sm_90a).
__device__ __forceinline__ void change_tensor_map_base(TensorMap* map, const void* base)
{
    asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(map), "l"(base) : "memory");
}
// twin:
__device__ __forceinline__ void change_tensor_map_base(TensorMap* map, const void* base)
{
    tle2cuda_emulator::tle2cuda_tensor_map_change(map, 0, 0, reinterpret_cast<unsigned long long>(base), __LINE__);
}
// defines: change_tensor_map_extent
// needs: TensorMap
// The same for the extent of dimension AXIS in elements, 0 being the contiguous one (PTX ISA, tensormap.replace; sm_90a).
template <int AXIS>
__device__ __forceinline__ void change_tensor_map_extent(TensorMap* map, unsigned extent)
{
    asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], %1, %2;" ::"l"(map), "n"(AXIS), "r"(extent) : "memory");
}
// twin:
template <int AXIS>
__device__ __forceinline__ void change_tensor_map_extent(TensorMap* map, unsigned extent)
{
    tle2cuda_emulator::tle2cuda_tensor_map_change(map, 1, AXIS, extent, __LINE__);
}
// defines: change_tensor_map_stride
// needs: TensorMap
// The same for the bytes from one index of dimension AXIS + 1 to the next (PTX ISA, tensormap.replace; sm_90a).
template <int AXIS>
__device__ __forceinline__ void change_tensor_map_stride(TensorMap* map, unsigned long long bytes)
{
    asm volatile("tensormap.replace.tile.global_stride.global.b1024.b64 [%0], %1, %2;" ::"l"(map), "n"(AXIS), "l"(bytes) : "memory");
}
// twin:
template <int AXIS>
__device__ __forceinline__ void change_tensor_map_stride(TensorMap* map, unsigned long long bytes)
{
    tle2cuda_emulator::tle2cuda_tensor_map_change(map, 2, AXIS, bytes, __LINE__);
}
// defines: fence_tensor_map
// needs: TensorMap
// Makes this thread's changes of a tensor map in global memory known to its later copies. Called by the thread that changed it
// (PTX ISA, fence.proxy.tensormap; sm_90).
__device__ __forceinline__ void fence_tensor_map(const TensorMap* map)
{
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}
// twin:
__device__ __forceinline__ void fence_tensor_map(const TensorMap* map)
{
    tle2cuda_emulator::tle2cuda_tensor_map_fence(map, __LINE__);
}
