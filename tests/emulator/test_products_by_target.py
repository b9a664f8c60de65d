"""Matrix products on architectures with other instructions than the usual target's, in the emulator."""

from __future__ import annotations

import pytest

from tests.opcases import cases
from tle2cuda.emulator import emulate


@pytest.mark.parametrize(
    ("name", "arch", "spelling"),
    [
        ("dot_f8e4nv_f8e5", "sm_90a", "mma_m16n8k32_f32_e4m3_e5m2(&"),
        ("dot_f8e4nv_f8e5", "sm_89", "mma_m16n8k32_f32_e4m3_e5m2(&"),
        ("dot_f8e4nv_f8e5", "sm_80", "mma_m16n8k16_f32_f16(&"),  # float16 holds each float8
        ("dot_f8e5_64x64x32", "sm_75", "+= "),  # ordinary multiply-adds
        ("dot_f64_64x64x32", "sm_80", "mma_m8n8k4_f64("),
        ("dot_odd_f64_16x8x32", "sm_80", "mma_m8n8k4_f64("),
        ("dot_f16_64x64x32", "sm_75", "+= "),
        ("dot_bf16_64x64x32", "sm_120", "mma_m16n8k16_f32_bf16(&"),
        ("dot_ieee_64x32x32", "sm_90a", "+= "),
        ("dot_bf16x6_64x32x32", "sm_90a", "mma_m16n8k8_f32_tf32x3(&"),
        ("dot_wgmma_f16_128x128x32", "sm_100a", "tcgen05_m128n128k16_f32_f16_b_along_n("),
        ("dot_wgmma_f16_64x8x16", "sm_100a", "tcgen05_m64n8k16_f32_f16("),
        ("dot_wgmma_f16_to_f16_64x512x16", "sm_100a", "tcgen05_m64n256k16_f32_f16_b_along_n("),
        ("dot_wgmma_f16_256x32x64", "sm_100a", "tcgen05_m128n32k16_f32_f16_b_along_n("),
        ("dot_wgmma_turned_bfloat16_128x64_tn", "sm_100a", "tcgen05_m128n64k16_f32_bf16_a_along_m("),
        ("dot_wgmma_turned_float32_128x64_nt", "sm_103a", "tcgen05_m128n64k8_f32_tf32("),
        ("dot_wgmma_f8e4nv_f8e5_128x32x32", "sm_100f", "tcgen05_m128n32k32_f32_e4m3_e5m2_b_along_n("),
        ("dot_wgmma_accumulated_i8", "sm_110a", "tcgen05_m64n32k32_s32_s8_b_along_n("),
        ("dot_wgmma_batched_float16_2x128x16x32", "sm_100a", "tcgen05_m128n16k16_f32_f16_b_along_n("),
        ("dot_wgmma_matmul_bfloat16_130x33x129", "sm_100a", "tcgen05_m128n32k16_f32_bf16("),
        ("box_products_7_3_4_128x64x64", "sm_100a", "tcgen05_m128n64k16_f32_f16_b_along_n("),
        ("box_products_5_0_3_64x32x32", "sm_100a", "tcgen05_m64n32k16_f32_f16_b_along_n("),
        ("box_partitions_7_3_4_inner_128x64x64", "sm_100a", "tcgen05_m128n64k16_f32_f16("),
        ("partitions_products_4_2_4", "sm_100a", "tcgen05_m64n32k16_f32_f16_b_along_n("),
        ("dot_turned_i8_tn", "sm_100a", "tcgen05_m64n32k32_s32_s8_a_along_m("),
        ("dot_wgmma_i8_64x32x32", "sm_103a", "mma_m16n8k32_s32_s8("),  # without .kind::i8
        ("dot_wgmma_f16_128x128x32", "sm_120", "mma_m16n8k16_f32_f16("),
        ("dot_scaled_mxfp8", "sm_120a", "mma_m16n8k32_f32_mx_e4m3_e5m2("),
        ("dot_scaled_mixed", "sm_120a", "mma_m16n8k32_f32_mx_e4m3_e4m3("),
        ("dot_scaled_mxfp4", "sm_121a", "mma_m16n8k64_f32_mx_e2m1("),
        ("dot_scaled_wide_nvfp4", "sm_120a", "mma_m16n8k64_f32_nv_e2m1("),
        ("dot_scaled_mxfp8", "sm_120", "mma_m16n8k16_f32_bf16("),  # without the suffix a: scaled as bfloat16
        ("dot_scaled_mxfp8", "sm_100a", "mma_m16n8k16_f32_bf16("),  # fewer than 128 rows
        ("dot_scaled_wide_mxfp8", "sm_100a", "tcgen05_m128n64k32_f32_mx_e4m3_e5m2_b_along_n("),
        ("dot_scaled_wide_mixed", "sm_103a", "tcgen05_m128n256k32_f32_mx_e4m3_e5m2_a_along_m_b_along_n("),
        ("dot_scaled_square_mxfp4", "sm_100f", "tcgen05_m128n64k64_f32_mx_e2m1("),
        ("dot_scaled_wide_nvfp4", "sm_110a", "tcgen05_m128n32k64_f32_nv_e2m1("),
    ],
)
def test_product(name: str, arch: str, spelling: str) -> None:
    case = cases()[name]
    emitted = case.emit(arch=arch)
    kernel = emitted.source[emitted.source.index('extern "C"') :]
    assert spelling in kernel and ("mma_" in kernel) == ("mma_" in spelling)
    assert ("tcgen05_alloc" in kernel) == ("tcgen05_dealloc" in kernel) == ("tcgen05" in spelling)
    is_wide = "tcgen05" in spelling
    narrow = "sm_89" if "e4m3" in spelling else "sm_80"
    has_scales = "_mx_" in spelling or "_nv_" in spelling
    oldest = "sm_100" if is_wide else "sm_120" if has_scales else "sm_70" if spelling == "+= " else narrow
    assert emitted.contract.min_arch == oldest
    inputs = case.inputs()
    args = {spec.name: inputs[spec.name] for spec in emitted.contract.args}
    result = emulate(emitted, emitted.contract.launch_grid(case.grid), args, detect="all").check()
    assert not case.differences(result.outputs, case.reference(case.inputs()))
