"""Attention by a host function of a kernel module, against float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernels.flash_attention import attention_reference
from tests.kernels.places import on


def check_attention(
    attend_rows: Callable[..., Any],
    where: str,
    shape: tuple[int, ...],
    kv_heads: int,
    causal: bool,
    tile: Any,
    spread: float = 1.0,
) -> None:
    """Random arrays, as `attend_rows` leaves attention of them and the logarithms of the sums; queries of this spread."""
    batch, _, length, head = shape
    random = np.random.default_rng(length)
    q = (spread * random.standard_normal(shape)).astype(np.float16)
    k, v = (random.standard_normal((batch, kv_heads, length, head)).astype(np.float16) for _ in range(2))
    with on(where) as there:
        out, lse = there(np.full_like(q, 7)), there(np.full(shape[:3], 7, np.float32))
        attend_rows(there(q), there(k), there(v), out, lse, causal=causal, tile=tile)
    found, found_lse = (x.get() if where == "gpu" else x for x in (out, lse))
    expected, expected_lse = attention_reference(q, k, v, causal=causal)
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=0, atol=2e-3)
    np.testing.assert_allclose(found_lse, expected_lse, rtol=1e-3, atol=1e-3)
