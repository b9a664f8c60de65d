"""The compiled text against the emitted one: the same lines, nothing changed but what has to be."""

from __future__ import annotations

import re

import pytest

from tests.golden import GOLDEN_FOLDER
from tle2cuda.emulator.translate import (
    architecture_macro,
    translation_unit,
    with_shared_memory,
    with_twins,
    without_comments,
)
from tle2cuda.errors import NotSupported
from tle2cuda.lowering.helpers import all_helpers, find_helper

GOLDEN = sorted(GOLDEN_FOLDER.glob("*.cu"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_files_keep_their_lines(path) -> None:
    source = path.read_text(encoding="utf-8")
    text = with_shared_memory(with_twins(source))
    before, after = source.split("\n"), text.split("\n")
    assert len(before) == len(after)
    made = r"^__device__ __forceinline__ void ((?:wgmma_m\d|tcgen05_m\d|tcgen05_ld_)\w+)\("
    on_demand = [find_helper(name) for name in re.findall(made, source, re.MULTILINE)]
    helpers = [helper for helper in (*all_helpers().values(), *on_demand) if helper is not None]
    twins = {line for helper in helpers if helper.twin for line in helper.text.split("\n")}
    changed = [line for line, other in zip(before, after, strict=True) if line != other]
    assert all("__shared__" in line or line in twins for line in changed), changed


def test_the_entry_stands_behind_the_emitted_lines() -> None:
    text = translation_unit('extern "C" __global__ void k() {}\n', "k")
    assert text == 'extern "C" __global__ void tle2cuda_kernel_k() {}\nTLE2CUDA_ENTRY(tle2cuda_kernel_k)\n'
    before = "// min(a)\nint f() { return min(1, 2); }\n"
    text = translation_unit(before + 'extern "C" __global__ void\nmin(int* x) { *x = min(*x, 1); }', "min")
    assert text.count("tle2cuda_kernel_min(") == 1 and "\ntle2cuda_kernel_min(int* x) { *x = min(*x, 1); }" in text
    assert architecture_macro("sm_90a") == "-D__CUDA_ARCH__=900"


@pytest.mark.parametrize(
    "declaration",
    [
        "__shared__ Shared shared;",
        "__shared__ float tile[32][33];",
        "__shared__ __align__(128) unsigned char bytes[64];",
        "__shared__ cub::BlockScan<int, 512, cub::BLOCK_SCAN_WARP_SCANS>::TempStorage storage;",
        "extern __shared__ __align__(128) unsigned char shared_bytes[];",
        "__shared__\n    unsigned long long\n    words[4];",
    ],
)
def test_shared_declarations(declaration: str) -> None:
    text = with_shared_memory(f"a\n    {declaration}  // __shared__ int no;\nb")
    assert "__shared__" not in without_comments(text)
    assert "tle2cuda_emulator" in text
    assert text.endswith("// __shared__ int no;\nb")
    assert text.count("\n") == 2 + declaration.count("\n")


def test_other_forms_of_shared_are_refused() -> None:
    with pytest.raises(NotSupported, match="line 2 of the emitted file: the emulator does not know this form"):
        with_shared_memory("\n    __shared__ int x = 5;")


def test_inline_ptx_is_refused_with_its_line() -> None:
    source = '// asm is fine here\nextern "C" __global__ void k()\n{\n    asm volatile("nop;");\n}\n'
    with pytest.raises(NotSupported, match="line 4 of the emitted file: inline PTX: `nop` is not supported without a GPU"):
        translation_unit(source, "k")


def test_comments_are_blanked_in_place() -> None:
    assert without_comments("a // b\nc /* d\ne */ f") == "a     \nc     \n     f"
