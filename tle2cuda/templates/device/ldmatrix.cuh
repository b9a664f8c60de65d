// defines: ldmatrix_x4
// needs: shared_address
// Loads four 8 x 8 matrices of 16-bit elements (or 16-byte rows of others): lane l passes row l % 8 of matrix l / 8, and gets of
// each matrix the 4 bytes l % 4 of row l / 4. Called by all lanes of a warp (PTX ISA, ldmatrix; sm_75).
__device__ __forceinline__ void ldmatrix_x4(unsigned* words, const void* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "r"(shared_address(row)) : "memory");
}
// twin:
__device__ __forceinline__ void ldmatrix_x4(unsigned* words, const void* row)
{
    uint64_t rows[4];
    tle2cuda_emulator::tle2cuda_matrix_rows(reinterpret_cast<uint64_t>(row), rows, 0, __LINE__);
    const unsigned lane = tle2cuda_emulator::tle2cuda_lane();
    for (int matrix = 0; matrix < 4; ++matrix) words[matrix] = reinterpret_cast<const unsigned*>(rows[matrix])[lane % 4];
}
// defines: ldmatrix_x2
// needs: shared_address
// Two matrices: lane l passes row l % 8 of matrix l / 8 % 2 (PTX ISA, ldmatrix; sm_75).
__device__ __forceinline__ void ldmatrix_x2(unsigned* words, const void* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1]) : "r"(shared_address(row)) : "memory");
}
// twin:
__device__ __forceinline__ void ldmatrix_x2(unsigned* words, const void* row)
{
    uint64_t rows[4];
    tle2cuda_emulator::tle2cuda_matrix_rows(reinterpret_cast<uint64_t>(row), rows, 0, __LINE__);
    const unsigned lane = tle2cuda_emulator::tle2cuda_lane();
    for (int matrix = 0; matrix < 2; ++matrix) words[matrix] = reinterpret_cast<const unsigned*>(rows[matrix])[lane % 4];
}
// defines: ldmatrix_x4_trans
// needs: shared_address
// Four 8 x 8 matrices of 16-bit elements, each transposed on the way: lane l passes row l % 8 of matrix l / 8, and gets of each
// matrix elements 2 * (l % 4) and the next one of column l / 4. Called by all lanes of a warp (PTX ISA, ldmatrix; sm_75).
__device__ __forceinline__ void ldmatrix_x4_trans(unsigned* words, const void* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "r"(shared_address(row)) : "memory");
}
// twin:
__device__ __forceinline__ void ldmatrix_x4_trans(unsigned* words, const void* row)
{
    uint64_t rows[8];
    tle2cuda_emulator::tle2cuda_matrix_rows(reinterpret_cast<uint64_t>(row), rows, 1, __LINE__);
    const unsigned column = tle2cuda_emulator::tle2cuda_lane() / 4;
    for (int matrix = 0; matrix < 4; ++matrix) {
        const unsigned low = reinterpret_cast<const unsigned short*>(rows[2 * matrix])[column];
        words[matrix] = low | static_cast<unsigned>(reinterpret_cast<const unsigned short*>(rows[2 * matrix + 1])[column]) << 16;
    }
}
// defines: ldmatrix_x2_trans
// needs: shared_address
// Two matrices, each transposed on the way: lane l passes row l % 8 of matrix l / 8 % 2 (PTX ISA, ldmatrix; sm_75).
__device__ __forceinline__ void ldmatrix_x2_trans(unsigned* words, const void* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1]) : "r"(shared_address(row)) : "memory");
}
// twin:
__device__ __forceinline__ void ldmatrix_x2_trans(unsigned* words, const void* row)
{
    uint64_t rows[8];
    tle2cuda_emulator::tle2cuda_matrix_rows(reinterpret_cast<uint64_t>(row), rows, 1, __LINE__);
    const unsigned column = tle2cuda_emulator::tle2cuda_lane() / 4;
    for (int matrix = 0; matrix < 2; ++matrix) {
        const unsigned low = reinterpret_cast<const unsigned short*>(rows[2 * matrix])[column];
        words[matrix] = low | static_cast<unsigned>(reinterpret_cast<const unsigned short*>(rows[2 * matrix + 1])[column]) << 16;
    }
}
