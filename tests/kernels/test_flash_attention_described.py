"""Attention over tensor descriptors against float64: in the interpreter, as emitted files in the emulator, and on a GPU."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tle2cuda
from kernels.flash_attention_described import Tile, attend_rows, attention_described
from tests.kernels.attention_runs import check_attention

SMALL = Tile(64, 64, 4, 2)
PLACES = ["interpreter", "emulator", pytest.param("gpu", marks=pytest.mark.gpu)]


run = functools.partial(check_attention, attend_rows)


@pytest.mark.parametrize("where", PLACES)
def test_two_loops_with_a_warp_that_loads(where: str) -> None:
    """Both loops take their queries from one tile, the first may have no iterations; two heads share one."""
    run(where, (1, 2, 192, 64), 1, True, SMALL)


def test_one_loop() -> None:
    run("interpreter", (1, 1, 128, 64), 1, False, SMALL)


@pytest.mark.gpu
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head", [64, 128, 256])
def test_on_a_gpu(head: int, causal: bool) -> None:
    for length in (128, 1024):
        run("gpu", (2, 4, length, head), 2, causal, None)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"k": np.zeros((1, 1, 128, 64), np.float16)}, "must have one length"),
        ({"tile": Tile(128, 64, 4, 2)}, "the length must be a multiple of 128 and 64, got 192"),
        ({"q": np.zeros((1, 1, 192, 128), np.float16)[..., :64]}, "q must be contiguous"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], told: str) -> None:
    q = np.zeros((1, 1, 192, 64), np.float16)
    arrays: dict[str, Any] = {"q": q, "k": q, "v": change.get("k", q), "out": q, "tile": SMALL}
    arrays["lse"] = np.zeros(q.shape[:3], np.float32)
    with pytest.raises(ValueError, match=told):
        attend_rows(**arrays | change)


def test_both_loops_share_the_queries_and_the_registers() -> None:
    """The queries are written to shared memory once, in front; registers move once, and stay where they are."""
    signature = "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,i32:16,i32,fp32,True,128,128,128,True"
    source = tle2cuda.emit(attention_described, signature, num_warps=8, num_stages=2, arch="sm_90a").source
    kernel = source[source.index("struct Shared {") :]
    assert kernel.count(" query_tile[") == 1 and "query_tile_2[" not in kernel
    assert kernel.count("registers_increase<") == kernel.count("registers_decrease<") == 1
    assert kernel.count("load: warp 8") == 2
