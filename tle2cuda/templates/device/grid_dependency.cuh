// defines: wait_for_previous_grid
// Waits until the grid before this one has ended and its writes are seen; at once unless this one was launched to overlap
// with it. Called by every thread (PTX ISA, griddepcontrol; sm_90).
__device__ __forceinline__ void wait_for_previous_grid() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
// twin:
__device__ __forceinline__ void wait_for_previous_grid() {}
// defines: let_next_grid_begin
// Lets the grid behind this one begin once all CTAs have come here or ended. Orders nothing: what this grid writes is seen
// behind the other one's wait. Called by every thread (PTX ISA, griddepcontrol; sm_90).
__device__ __forceinline__ void let_next_grid_begin() { asm volatile("griddepcontrol.launch_dependents;"); }
// twin:
__device__ __forceinline__ void let_next_grid_begin() {}
