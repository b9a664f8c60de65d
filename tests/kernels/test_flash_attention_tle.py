"""Attention written out in TLE against float64: in the interpreter, as emitted files in the emulator, and on a GPU."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from kernels.flash_attention_tle import Tile, attend_rows
from tests.kernels.attention_runs import check_attention

SMALL = Tile(64, 64, 2, 4)
PLACES = ["interpreter", "emulator", pytest.param("gpu", marks=pytest.mark.gpu)]


run = functools.partial(check_attention, attend_rows)


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("causal", [False, True])
def test_attention(where: str, causal: bool) -> None:
    """More blocks of keys than stages, the last one cut short, two heads that share one; a diagonal across two blocks,
    scores that grow by much, and queries in shared memory; the largest score follows at once or not."""
    run(where, (1, 2, 200, 64), 1, causal, SMALL._replace(hold=True, growth=0.0))
    run(where, (1, 1, 140, 64), 1, causal, SMALL._replace(block_n=32), spread=12.0)


@pytest.mark.gpu
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head", [64, 128, 256])
def test_on_a_gpu(head: int, causal: bool) -> None:
    run("gpu", (2, 4, 1000, head), 2, causal, None)


def test_wrong_lengths_are_refused() -> None:
    q, k = np.zeros((1, 1, 8, 64), np.float16), np.zeros((1, 1, 9, 64), np.float16)
    with pytest.raises(ValueError, match="must have one length"):
        attend_rows(q, k, k, q, np.zeros((1, 1, 8), np.float32))
