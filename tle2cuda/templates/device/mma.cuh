// defines: mma_m16n8k16_f32_f16
// needs: vector
// sums[16, 8] += a[16, 16] @ b[16, 8] of one warp, float16 operands. Called by all its lanes (PTX ISA, mma; sm_80).
__device__ __forceinline__ void mma_m16n8k16_f32_f16(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// twin:
__device__ __forceinline__ void mma_m16n8k16_f32_f16(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma(16, 16, SUMS_F32, MATRIX_F16, MATRIX_F16, sums, a, b, __LINE__);
}
// defines: mma_m16n8k16_f32_bf16
// needs: vector
// sums[16, 8] += a[16, 16] @ b[16, 8] of one warp, bfloat16 operands. Called by all its lanes (PTX ISA, mma; sm_80).
__device__ __forceinline__ void mma_m16n8k16_f32_bf16(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// twin:
__device__ __forceinline__ void mma_m16n8k16_f32_bf16(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma(16, 16, SUMS_F32, MATRIX_BF16, MATRIX_BF16, sums, a, b, __LINE__);
}
// defines: mma_m16n8k8_f32_tf32
// needs: vector
// sums[16, 8] += a[16, 8] @ b[8, 8] of one warp, floats less their lowest 13 bits. Called by all its lanes (PTX ISA, mma; sm_80).
__device__ __forceinline__ void mma_m16n8k8_f32_tf32(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// twin:
__device__ __forceinline__ void mma_m16n8k8_f32_tf32(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma(16, 8, SUMS_F32, MATRIX_TF32, MATRIX_TF32, sums, a, b, __LINE__);
}
// defines: mma_m16n8k32_f32_e4m3_e4m3
// needs: vector
// sums[16, 8] += a[16, 32] @ b[32, 8] of one warp, float8 operands, e4m3 and e4m3. Called by all its lanes (PTX ISA, mma; sm_89).
__device__ __forceinline__ void mma_m16n8k32_f32_e4m3_e4m3(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// twin:
__device__ __forceinline__ void mma_m16n8k32_f32_e4m3_e4m3(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma(16, 32, SUMS_F32, MATRIX_E4M3, MATRIX_E4M3, sums, a, b, __LINE__);
}
// defines: mma_m16n8k32_f32_e4m3_e5m2
// needs: vector
// sums[16, 8] += a[16, 32] @ b[32, 8] of one warp, float8 operands, e4m3 and e5m2. Called by all its lanes (PTX ISA, mma; sm_89).
__device__ __forceinline__ void mma_m16n8k32_f32_e4m3_e5m2(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// twin:
__device__ __forceinline__ void mma_m16n8k32_f32_e4m3_e5m2(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma(16, 32, SUMS_F32, MATRIX_E4M3, MATRIX_E5M2, sums, a, b, __LINE__);
}
// defines: mma_m16n8k32_f32_e5m2_e4m3
// needs: vector
// sums[16, 8] += a[16, 32] @ b[32, 8] of one warp, float8 operands, e5m2 and e4m3. Called by all its lanes (PTX ISA, mma; sm_89).
__device__ __forceinline__ void mma_m16n8k32_f32_e5m2_e4m3(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// twin:
__device__ __forceinline__ void mma_m16n8k32_f32_e5m2_e4m3(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma(16, 32, SUMS_F32, MATRIX_E5M2, MATRIX_E4M3, sums, a, b, __LINE__);
}
// defines: mma_m16n8k32_f32_e5m2_e5m2
// needs: vector
// sums[16, 8] += a[16, 32] @ b[32, 8] of one warp, float8 operands, e5m2 and e5m2. Called by all its lanes (PTX ISA, mma; sm_89).
__device__ __forceinline__ void mma_m16n8k32_f32_e5m2_e5m2(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// twin:
__device__ __forceinline__ void mma_m16n8k32_f32_e5m2_e5m2(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma(16, 32, SUMS_F32, MATRIX_E5M2, MATRIX_E5M2, sums, a, b, __LINE__);
}
// defines: mma_m16n8k16_f16_f16
// needs: vector bit_cast
// sums[16, 8] += a[16, 16] @ b[16, 8] of one warp, float16 throughout. Called by all its lanes (PTX ISA, mma; sm_80).
__device__ __forceinline__ void mma_m16n8k16_f16_f16(Vector<__half, 2>* sums, const unsigned* a, const unsigned* b)
{
    unsigned low = bit_cast<unsigned>(sums[0]), high = bit_cast<unsigned>(sums[1]);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                 : "+r"(low), "+r"(high) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    sums[0] = bit_cast<Vector<__half, 2>>(low);
    sums[1] = bit_cast<Vector<__half, 2>>(high);
}
// twin:
__device__ __forceinline__ void mma_m16n8k16_f16_f16(Vector<__half, 2>* sums, const unsigned* a, const unsigned* b)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma(16, 16, SUMS_F16, MATRIX_F16, MATRIX_F16, sums, a, b, __LINE__);
}
// defines: mma_m16n8k32_s32_s8
// needs: vector
// sums[16, 8] += a[16, 32] @ b[32, 8] of one warp, int8 operands; sums wrap. Called by all its lanes (PTX ISA, mma; sm_80).
__device__ __forceinline__ void mma_m16n8k32_s32_s8(Vector<int, 2>* sums, const unsigned* a, const unsigned* b)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(sums[0][0]), "+r"(sums[0][1]), "+r"(sums[1][0]), "+r"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// twin:
__device__ __forceinline__ void mma_m16n8k32_s32_s8(Vector<int, 2>* sums, const unsigned* a, const unsigned* b)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma(16, 32, SUMS_S32, MATRIX_S8, MATRIX_S8, sums, a, b, __LINE__);
}
// defines: mma_m16n8k32_f32_mx_e4m3_e4m3
// needs: vector
// sums[16, 8] += a[16, 32] @ b[32, 8] of one warp, blocks times their scales: float8 operands, e4m3 and e4m3, one exponent (e8m0) for 32 elements.
// Of `a_scales` the even lanes of four hold rows 0 to 7, the odd ones the others; of `b_scales` the first lane of four holds a column.
// Called by all its lanes (PTX ISA, mma with .block_scale; sm_120a).
__device__ __forceinline__ void mma_m16n8k32_f32_mx_e4m3_e4m3(
    Vector<float, 2>* sums, const unsigned* a, const unsigned* b, unsigned a_scales, unsigned b_scales)
{
    asm volatile("mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {0, 0}, {%11}, {0, 0};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales), "r"(b_scales));
}
// twin:
__device__ __forceinline__ void mma_m16n8k32_f32_mx_e4m3_e4m3(
    Vector<float, 2>* sums, const unsigned* a, const unsigned* b, unsigned a_scales, unsigned b_scales)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma_scaled(32, MATRIX_E4M3, MATRIX_E4M3, SCALES_E8M0_32, sums, a, b, a_scales, b_scales, __LINE__);
}
// defines: mma_m16n8k32_f32_mx_e4m3_e5m2
// needs: vector
// sums[16, 8] += a[16, 32] @ b[32, 8] of one warp, blocks times their scales: float8 operands, e4m3 and e5m2, one exponent (e8m0) for 32 elements.
// Of `a_scales` the even lanes of four hold rows 0 to 7, the odd ones the others; of `b_scales` the first lane of four holds a column.
// Called by all its lanes (PTX ISA, mma with .block_scale; sm_120a).
__device__ __forceinline__ void mma_m16n8k32_f32_mx_e4m3_e5m2(
    Vector<float, 2>* sums, const unsigned* a, const unsigned* b, unsigned a_scales, unsigned b_scales)
{
    asm volatile("mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e5m2.f32.ue8m0 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {0, 0}, {%11}, {0, 0};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales), "r"(b_scales));
}
// twin:
__device__ __forceinline__ void mma_m16n8k32_f32_mx_e4m3_e5m2(
    Vector<float, 2>* sums, const unsigned* a, const unsigned* b, unsigned a_scales, unsigned b_scales)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma_scaled(32, MATRIX_E4M3, MATRIX_E5M2, SCALES_E8M0_32, sums, a, b, a_scales, b_scales, __LINE__);
}
// defines: mma_m16n8k32_f32_mx_e5m2_e4m3
// needs: vector
// sums[16, 8] += a[16, 32] @ b[32, 8] of one warp, blocks times their scales: float8 operands, e5m2 and e4m3, one exponent (e8m0) for 32 elements.
// Of `a_scales` the even lanes of four hold rows 0 to 7, the odd ones the others; of `b_scales` the first lane of four holds a column.
// Called by all its lanes (PTX ISA, mma with .block_scale; sm_120a).
__device__ __forceinline__ void mma_m16n8k32_f32_mx_e5m2_e4m3(
    Vector<float, 2>* sums, const unsigned* a, const unsigned* b, unsigned a_scales, unsigned b_scales)
{
    asm volatile("mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e5m2.e4m3.f32.ue8m0 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {0, 0}, {%11}, {0, 0};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales), "r"(b_scales));
}
// twin:
__device__ __forceinline__ void mma_m16n8k32_f32_mx_e5m2_e4m3(
    Vector<float, 2>* sums, const unsigned* a, const unsigned* b, unsigned a_scales, unsigned b_scales)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma_scaled(32, MATRIX_E5M2, MATRIX_E4M3, SCALES_E8M0_32, sums, a, b, a_scales, b_scales, __LINE__);
}
// defines: mma_m16n8k32_f32_mx_e5m2_e5m2
// needs: vector
// sums[16, 8] += a[16, 32] @ b[32, 8] of one warp, blocks times their scales: float8 operands, e5m2 and e5m2, one exponent (e8m0) for 32 elements.
// Of `a_scales` the even lanes of four hold rows 0 to 7, the odd ones the others; of `b_scales` the first lane of four holds a column.
// Called by all its lanes (PTX ISA, mma with .block_scale; sm_120a).
__device__ __forceinline__ void mma_m16n8k32_f32_mx_e5m2_e5m2(
    Vector<float, 2>* sums, const unsigned* a, const unsigned* b, unsigned a_scales, unsigned b_scales)
{
    asm volatile("mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e5m2.e5m2.f32.ue8m0 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {0, 0}, {%11}, {0, 0};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales), "r"(b_scales));
}
// twin:
__device__ __forceinline__ void mma_m16n8k32_f32_mx_e5m2_e5m2(
    Vector<float, 2>* sums, const unsigned* a, const unsigned* b, unsigned a_scales, unsigned b_scales)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma_scaled(32, MATRIX_E5M2, MATRIX_E5M2, SCALES_E8M0_32, sums, a, b, a_scales, b_scales, __LINE__);
}
// defines: mma_m16n8k64_f32_mx_e2m1
// needs: vector
// sums[16, 8] += a[16, 64] @ b[64, 8] of one warp, blocks times their scales: pairs of e2m1, one exponent (e8m0) for 32 elements.
// Of `a_scales` the even lanes of four hold rows 0 to 7, the odd ones the others; of `b_scales` the first lane of four holds a column.
// Called by all its lanes (PTX ISA, mma with .block_scale; sm_120a).
__device__ __forceinline__ void mma_m16n8k64_f32_mx_e2m1(
    Vector<float, 2>* sums, const unsigned* a, const unsigned* b, unsigned a_scales, unsigned b_scales)
{
    asm volatile("mma.sync.aligned.kind::mxf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {0, 0}, {%11}, {0, 0};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales), "r"(b_scales));
}
// twin:
__device__ __forceinline__ void mma_m16n8k64_f32_mx_e2m1(
    Vector<float, 2>* sums, const unsigned* a, const unsigned* b, unsigned a_scales, unsigned b_scales)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma_scaled(64, MATRIX_E2M1, MATRIX_E2M1, SCALES_E8M0_32, sums, a, b, a_scales, b_scales, __LINE__);
}
// defines: mma_m16n8k64_f32_nv_e2m1
// needs: vector
// sums[16, 8] += a[16, 64] @ b[64, 8] of one warp, blocks times their scales: pairs of e2m1, one float8 (e4m3) for 16 elements.
// Of `a_scales` the even lanes of four hold rows 0 to 7, the odd ones the others; of `b_scales` the first lane of four holds a column.
// Called by all its lanes (PTX ISA, mma with .block_scale; sm_120a).
__device__ __forceinline__ void mma_m16n8k64_f32_nv_e2m1(
    Vector<float, 2>* sums, const unsigned* a, const unsigned* b, unsigned a_scales, unsigned b_scales)
{
    asm volatile("mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {0, 0}, {%11}, {0, 0};"
                 : "+f"(sums[0][0]), "+f"(sums[0][1]), "+f"(sums[1][0]), "+f"(sums[1][1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(a_scales), "r"(b_scales));
}
// twin:
__device__ __forceinline__ void mma_m16n8k64_f32_nv_e2m1(
    Vector<float, 2>* sums, const unsigned* a, const unsigned* b, unsigned a_scales, unsigned b_scales)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma_scaled(64, MATRIX_E2M1, MATRIX_E2M1, SCALES_E4M3_16, sums, a, b, a_scales, b_scales, __LINE__);
}
// defines: scale_word
// Four scales of a row in one register. Called by each thread for itself.
template <typename T>
__device__ __forceinline__ unsigned scale_word(const T* scales)
{
    unsigned word;
    static_assert(sizeof(T) == 1);
    memcpy(&word, scales, sizeof(word));
    return word;
}
// defines: mma_m8n8k4_f64
// needs: vector
// sums[8, 8] += a[8, 4] @ b[4, 8] of one warp, doubles. Called by all its lanes (PTX ISA, mma; sm_80).
__device__ __forceinline__ void mma_m8n8k4_f64(Vector<double, 2>* sums, const double* a, const double* b)
{
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(sums[0][0]), "+d"(sums[0][1]) : "d"(a[0]), "d"(b[0]));
}
// twin:
__device__ __forceinline__ void mma_m8n8k4_f64(Vector<double, 2>* sums, const double* a, const double* b)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma(8, 4, SUMS_F64, MATRIX_F64, MATRIX_F64, sums, a, b, __LINE__);
}
// defines: mma_m16n8k8_f64
// needs: vector
// sums[16, 8] += a[16, 8] @ b[8, 8] of one warp, doubles. Called by all its lanes (PTX ISA, mma; sm_90).
__device__ __forceinline__ void mma_m16n8k8_f64(Vector<double, 2>* sums, const double* a, const double* b)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(sums[0][0]), "+d"(sums[0][1]), "+d"(sums[1][0]), "+d"(sums[1][1])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}
// twin:
__device__ __forceinline__ void mma_m16n8k8_f64(Vector<double, 2>* sums, const double* a, const double* b)
{
    using namespace tle2cuda_emulator;
    tle2cuda_mma(16, 8, SUMS_F64, MATRIX_F64, MATRIX_F64, sums, a, b, __LINE__);
}
// defines: split_tf32
// A float as the sum of its tf32 part and the rest, of which tf32 keeps another eleven bits. Infinity leaves NaN.
__device__ __forceinline__ void split_tf32(unsigned word, unsigned& large, unsigned& small)
{
    large = word & 0xffffe000u;
    small = __float_as_uint(__uint_as_float(word) - __uint_as_float(large));
}
// defines: mma_m16n8k8_f32_tf32x3
// needs: mma_m16n8k8_f32_tf32 split_tf32
// sums[16, 8] += a[16, 8] @ b[8, 8] of one warp, floats nearly as precise as they are: three products of their parts, the small
// ones first. Called by all its lanes (PTX ISA, mma; sm_80).
__device__ __forceinline__ void mma_m16n8k8_f32_tf32x3(Vector<float, 2>* sums, const unsigned* a, const unsigned* b)
{
    unsigned a_large[4], a_small[4], b_large[2], b_small[2];
    #pragma unroll
    for (int i = 0; i < 4; ++i) split_tf32(a[i], a_large[i], a_small[i]);
    #pragma unroll
    for (int i = 0; i < 2; ++i) split_tf32(b[i], b_large[i], b_small[i]);
    mma_m16n8k8_f32_tf32(sums, a_small, b_large);
    mma_m16n8k8_f32_tf32(sums, a_large, b_small);
    mma_m16n8k8_f32_tf32(sums, a_large, b_large);
}
