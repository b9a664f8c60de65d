"""Attention written out in TLE against float64: in the interpreter, as emitted files in the emulator, and on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.flash_attention import attention_reference
from kernels.flash_attention_tle import Tile, attend_rows
from tests.kernels.places import on

SMALL = Tile(64, 64, 2, 4)
PLACES = ["interpreter", "emulator", pytest.param("gpu", marks=pytest.mark.gpu)]


def run(where: str, shape: tuple[int, int, int, int], kv_heads: int, causal: bool, tile: Tile | None) -> None:
    batch, _, length, head = shape
    random = np.random.default_rng(length)
    q = random.standard_normal(shape).astype(np.float16)
    k, v = (random.standard_normal((batch, kv_heads, length, head)).astype(np.float16) for _ in range(2))
    with on(where) as there:
        out, lse = there(np.full_like(q, 7)), there(np.full(shape[:3], 7, np.float32))
        attend_rows(there(q), there(k), there(v), out, lse, causal=causal, tile=tile)
    found, found_lse = (x.get() if where == "gpu" else x for x in (out, lse))
    expected, expected_lse = attention_reference(q, k, v, causal=causal)
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=0, atol=2e-3)
    np.testing.assert_allclose(found_lse, expected_lse, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("causal", [False, True])
def test_attention(where: str, causal: bool) -> None:
    """More blocks of keys than stages, the last one cut short, two heads that share one; a diagonal across two blocks."""
    run(where, (1, 2, 200, 64), 1, causal, SMALL)
    run(where, (1, 1, 140, 64), 1, causal, SMALL._replace(block_n=32))


@pytest.mark.gpu
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("head", [64, 128, 256])
def test_on_a_gpu(head: int, causal: bool) -> None:
    run("gpu", (2, 4, 1000, head), 2, causal, None)


def test_wrong_lengths_are_refused() -> None:
    q, k = np.zeros((1, 1, 8, 64), np.float16), np.zeros((1, 1, 9, 64), np.float16)
    with pytest.raises(ValueError, match="must have one length"):
        attend_rows(q, k, k, q, np.zeros((1, 1, 8), np.float32))
