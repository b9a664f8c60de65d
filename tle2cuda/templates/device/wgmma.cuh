// defines: Descriptor
using Descriptor = unsigned long long;                   // names an operand in shared memory
// defines: wgmma_descriptor
// needs: Descriptor shared_address
// Names an operand of wgmma in shared memory: panels of rows under the swizzle of 32, 64 or 128 bytes, as long as these are. From
// eight rows to the next eight it is `stride_bytes`, and from panel to panel, where rows run along M or N, `leading_bytes`. Added
// numbers move it by 16 bytes (PTX ISA, wgmma, "Matrix Descriptor Format").
template <int SWIZZLE_BYTES>
__device__ __forceinline__ Descriptor wgmma_descriptor(const void* tile, unsigned leading_bytes, unsigned stride_bytes)
{
    constexpr Descriptor swizzle = SWIZZLE_BYTES == 128 ? 1 : SWIZZLE_BYTES == 64 ? 2 : 3;
    return (swizzle << 62) | (static_cast<Descriptor>(stride_bytes >> 4) << 32) | (static_cast<Descriptor>(leading_bytes >> 4) << 16)
         | ((shared_address(tile) & 0x3FFFF) >> 4);
}
// defines: wgmma_fence
// Orders what the warpgroup did with accumulators and operands before the next wgmma. Called by all of its threads (PTX ISA,
// wgmma.fence; sm_90a).
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// twin:
__device__ __forceinline__ void wgmma_fence() { tle2cuda_emulator::tle2cuda_wgmma_fence(__LINE__); }
// defines: wgmma_commit
// Closes the warpgroup's group of products. Called by all of its threads (PTX ISA, wgmma.commit_group; sm_90a).
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// twin:
__device__ __forceinline__ void wgmma_commit() { tle2cuda_emulator::tle2cuda_wgmma_commit(__LINE__); }
// defines: wgmma_wait
// Waits until at most the last PENDING groups are in flight. Called by all threads of the warpgroup (PTX ISA, wgmma.wait_group;
// sm_90a).
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }
// twin:
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() { tle2cuda_emulator::tle2cuda_wgmma_wait(PENDING, __LINE__); }
// defines: store_matrices
// needs: shared_address vector
// Stores four 8 x 8 matrices of 16-bit elements, of which each lane holds two neighbours of row l / 4: lane l names row l % 8 of
// matrix l / 8. Called by all lanes of a warp (PTX ISA, stmatrix; sm_90).
template <typename T>
__device__ __forceinline__ void store_matrices(
    T* row, const Vector<T, 2>& m0, const Vector<T, 2>& m1, const Vector<T, 2>& m2, const Vector<T, 2>& m3)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 ::"r"(shared_address(row)), "r"(reinterpret_cast<const unsigned&>(m0)), "r"(reinterpret_cast<const unsigned&>(m1)),
                   "r"(reinterpret_cast<const unsigned&>(m2)), "r"(reinterpret_cast<const unsigned&>(m3)) : "memory");
}
// twin:
template <typename T>
__device__ __forceinline__ void store_matrices(
    T* row, const Vector<T, 2>& m0, const Vector<T, 2>& m1, const Vector<T, 2>& m2, const Vector<T, 2>& m3)
{
    uint64_t rows[4];
    tle2cuda_emulator::tle2cuda_matrix_rows(reinterpret_cast<uint64_t>(row), rows, 0, __LINE__);
    const Vector<T, 2>* const matrices[4] = {&m0, &m1, &m2, &m3};
    const unsigned lane = tle2cuda_emulator::tle2cuda_lane();
    for (int matrix = 0; matrix < 4; ++matrix)
        reinterpret_cast<unsigned*>(rows[matrix])[lane % 4] = *reinterpret_cast<const unsigned*>(matrices[matrix]);
}
// defines: stmatrix_x4
// Stores four 8 x 8 matrices of 16-bit elements; lane l gives the shared address of row l % 8 of matrix l / 8. Called by all lanes
// of a warp (PTX ISA, stmatrix; sm_90).
__device__ __forceinline__ void stmatrix_x4(unsigned address, unsigned m0, unsigned m1, unsigned m2, unsigned m3)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 ::"r"(address), "r"(m0), "r"(m1), "r"(m2), "r"(m3) : "memory");
}
// twin:
__device__ __forceinline__ void stmatrix_x4(unsigned address, unsigned m0, unsigned m1, unsigned m2, unsigned m3)
{
    const unsigned rows[4] = {m0, m1, m2, m3}, lane = tle2cuda_emulator::tle2cuda_lane();
    for (int matrix = 0; matrix < 4; ++matrix) {
        const unsigned row = __shfl_sync(0xffffffffu, address, static_cast<int>(8 * matrix + lane / 4), 32, __LINE__);
        static_cast<unsigned*>(tle2cuda_emulator::tle2cuda_from_shared_window(row))[lane % 4] = rows[matrix];
    }
}
