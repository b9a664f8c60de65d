"""Adds two vectors: the smallest kernel that has a tile, a mask and vector accesses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl


@tle2cuda.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask)
    b = tl.load(y + offsets, mask=mask)
    tl.store(out + offsets, a + b, mask=mask)


def add(x: Any, y: Any, out: Any, block: int = 1024) -> Any:
    """Writes x + y to `out`: arrays of n elements of one dtype, of any library that the launcher takes."""
    n = x.shape[0]
    if not x.shape == y.shape == out.shape == (n,):
        raise ValueError(f"expected three vectors of one length, got {x.shape}, {y.shape} and {out.shape}")
    vector_add[(-(-n // block),)](x, y, out, n, BLOCK=block, num_warps=4)
    return out


def add_reference(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """The same in NumPy."""
    return np.add(x, y)
