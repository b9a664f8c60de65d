"""Matrix products: what a thread holds fits its registers, and the text stays short."""

from __future__ import annotations

import pytest

import tle2cuda
from tests.opcases.dot import matmul


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
    assert kernel.count("\n") < 120


def test_operands_lie_apart_from_bank_conflicts() -> None:
    """Without tensor cores, rows of K are padded by 16 bytes, rows of N are not."""
    signature = "*fp32:16, *fp32:16, *fp32:16, i32, i32, i32, i32, i32:16, 1, i32:16, 1, 64, 64, 32, 'ieee'"
    source = tle2cuda.emit(matmul, signature=signature).source
    assert "float a_tile[64][36];" in source and "float b_tile[32][64];" in source
