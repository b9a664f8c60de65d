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
    ],
)
def test_product(name: str, arch: str, spelling: str) -> None:
    case = cases()[name]
    emitted = case.emit(arch=arch)
    kernel = emitted.source[emitted.source.index('extern "C"') :]
    assert spelling in kernel and ("mma_" in kernel) == ("mma_" in spelling)
    oldest = "sm_70" if spelling == "+= " else "sm_89" if "e4m3" in spelling else "sm_80"
    assert emitted.contract.min_arch == oldest
    inputs = case.inputs()
    args = {spec.name: inputs[spec.name] for spec in emitted.contract.args}
    result = emulate(emitted, emitted.contract.launch_grid(case.grid), args, detect="all").check()
    assert not case.differences(result.outputs, case.reference(case.inputs()))
