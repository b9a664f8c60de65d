"""Matrix products: what a thread holds fits its registers, and the text stays short."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tle2cuda
from kernels.matmul import matmul as tutorial
from kernels.matmul_persistent import matmul_persistent
from tests.golden import nvrtc_compile
from tests.opcases import cases
from tests.opcases.dot import matmul
from tle2cuda.runtime import toolkit
from tle2cuda.runtime.sass import disassemble


@pytest.mark.parametrize(
    ("dtype", "tile", "warps"),
    [("fp16", (64, 64, 32), 4), ("fp16", (128, 128, 32), 4), ("fp32", (128, 128, 32), 4), ("fp32", (128, 256, 64), 8)],
)
def test_nothing_is_spilled(dtype: str, tile: tuple[int, int, int], warps: int) -> None:
    sizes = ", ".join(map(str, tile))
    signature = f"*{dtype}:16, *{dtype}:16, *fp32:16, i32, i32, i32, i32, i32:16, 1, i32:16, 1, {sizes}, 'tf32'"
    compiled = tle2cuda.compile(matmul, signature=signature, num_warps=warps, arch="sm_90a")
    assert (compiled.report.spill_store_bytes, compiled.report.local_bytes) == (0, 0)
    kernel = compiled.source[compiled.source.index('extern "C"') :]
    assert kernel.count("\n") < 150


def test_operands_lie_apart_from_bank_conflicts() -> None:
    """Without tensor cores, rows of K are padded by 16 bytes, rows of N are not."""
    signature = "*fp32:16, *fp32:16, *fp32:16, i32, i32, i32, i32, i32:16, 1, i32:16, 1, 64, 64, 32, 'ieee'"
    source = tle2cuda.emit(matmul, signature=signature).source
    assert "float a_tile[64][36];" in source and "float b_tile[32][64];" in source


@pytest.mark.skipif(toolkit.find_tool("nvdisasm") is None, reason="nvdisasm is not installed")
@pytest.mark.parametrize(
    ("tile", "warps", "products", "loads"), [((128, 128, 32), 4, 64, 16), ((128, 256, 64), 8, 128, 32)]
)
def test_machine_code_of_the_tutorial(tile: tuple[int, int, int], warps: int, products: int, loads: int) -> None:
    """As many matrix loads as a warp's rows and columns need, each fragment once; nothing in local memory."""
    opcodes = _opcodes(tile, warps, "sm_90")
    found = {name: opcodes.count(name) for name in ("HMMA", "LDSM", "LDL", "STL")}
    assert found == {"HMMA": products, "LDSM": loads, "LDL": 0, "STL": 0}


@pytest.mark.skipif(toolkit.find_tool("nvdisasm") is None, reason="nvdisasm is not installed")
@pytest.mark.parametrize(
    ("tile", "warps", "products"), [((128, 128, 32), 4, 4), ((128, 128, 64), 8, 4), ((128, 256, 64), 8, 4)]
)
def test_machine_code_of_warpgroups(tile: tuple[int, int, int], warps: int, products: int) -> None:
    """One instruction for each step along K and block of 64 rows, its descriptors in uniform registers all along."""
    opcodes = _opcodes(tile, warps, "sm_90a")
    found = {name: opcodes.count(name) for name in ("HGMMA", "HMMA", "LDSM", "LDL", "STL")}
    assert found == {"HGMMA": products, "HMMA": 0, "LDSM": 0, "LDL": 0, "STL": 0}
    _check_descriptors(opcodes)


@pytest.mark.skipif(toolkit.find_tool("nvdisasm") is None, reason="nvdisasm is not installed")
def test_machine_code_beside_the_copy_engine() -> None:
    """The same where thread 0 asks for boxes between products, and warps stay whole as it does not wait alone."""
    boxes = ", ".join(f"tensordesc<fp16[{shape}]>" for shape in ("128, 64", "64, 128", "128, 128"))
    signature = f"{boxes}, i32:16, i32:16, i32:16, 128, 128, 64, 8, False, False"
    compiled = tle2cuda.compile(matmul_persistent, signature=signature, num_warps=8, num_stages=4, arch="sm_90a")
    _check_descriptors(_opcodes_of(compiled))


def _check_descriptors(opcodes: list[str]) -> None:
    """From the first step of a product to its last nothing is moved to uniform registers."""
    steps = [place for place, opcode in enumerate(opcodes) if opcode == "HGMMA"]
    for first, last in zip(steps[::4], steps[3::4], strict=True):
        assert "R2UR" not in opcodes[first:last], "descriptors are moved between products"


def _opcodes(tile: tuple[int, int, int], warps: int, arch: str) -> list[str]:
    """The machine code of the tutorial's product."""
    sizes = ", ".join(map(str, tile))
    signature = f"*fp16:16, *fp16:16, *fp16:16, {'i32:16, ' * 4}1, i32:16, 1, i32:16, 1, {sizes}, 8"
    compiled = tle2cuda.compile(tutorial, signature=signature, num_warps=warps, arch=arch)
    return _opcodes_of(compiled)


def _opcodes_of(compiled: Any) -> list[str]:
    return re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9]+)", compiled.asm["sass"])


@pytest.mark.parametrize(
    ("name", "arch", "opcodes"),
    [
        ("dot_scaled_wide_mixed", "sm_100a", ("UTCQMMA", "UTCCP")),  # a row of 256 sums in each thread
        ("dot_scaled_square_mxfp4", "sm_100f", ("UTCOMMA", "UTCCP")),
        ("dot_scaled_wide_nvfp4", "sm_103a", ("UTCOMMA", "UTCCP")),
        ("dot_scaled_wide_mxfp8", "sm_120a", ("QMMA.SF.16832.F32.E4M3.E5M2.E8",)),
        ("dot_scaled_nvfp4", "sm_121a", ("OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X",)),
        ("box_results_200x144x72_128x64x32_3_1_float16", "sm_90a", ("HGMMA", "UTMALDG.2D", "UTMASTG.2D", "STSM.16.M88.4")),
    ],
)
def test_machine_code_has_its_instructions(name: str, arch: str, opcodes: tuple[str, ...]) -> None:
    """Scaled blocks, and boxes that the copy engine brings and takes away."""
    compiled = nvrtc_compile(cases()[name].emit(arch).source, arch)
    assert (compiled.spill_bytes, compiled.stack_bytes) == (0, 0)
    if toolkit.find_tool("nvdisasm") is not None:
        code = disassemble(compiled.cubin)
        assert [each for each in opcodes if f" {each}" not in code] == []


def test_rows_of_sums_are_loaded_from_tensor_memory_in_parts() -> None:
    signature = "*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,i32:16,i32:16,1,i32:16,1,i32:16,1,128,256,64,8"
    compiled = tle2cuda.compile(tutorial, signature=signature, num_warps=4, arch="sm_100a")
    assert (compiled.report.spill_store_bytes, compiled.report.local_bytes) == (0, 0)
    kernel = compiled.source[compiled.source.index('extern "C"') :]
    assert kernel.count("tcgen05_wait_ld();") == 2
    assert "Vector<float, 128> acc" in kernel
