"""Softmax of every row of a matrix, one CTA per row, the row in registers from load to store."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl


@tle2cuda.jit
def softmax(out, x, row_stride, cols, BLOCK: tl.constexpr):
    row_start = tl.program_id(0).to(tl.int64) * row_stride
    col = tl.arange(0, BLOCK)
    row = tl.load(x + row_start + col, mask=col < cols, other=-float("inf")).to(tl.float32)
    weight = tl.exp(row - tl.max(row, axis=0))
    total = tl.sum(weight, axis=0)
    tl.store(out + row_start + col, weight / total, mask=col < cols)


def warps_for(cols: int, bytes_per_element: int) -> int:
    """Warps a row is spread over: 64 bytes for each thread, in 16-byte accesses."""
    block = 1 << (cols - 1).bit_length()
    return max(1, min(block * bytes_per_element // (64 * 32), 32))


def softmax_rows(x: Any, out: Any) -> Any:
    """Writes the softmax of each row of `x` [rows, cols] to `out`; both row-major, of one dtype and shape."""
    if len(x.shape) != 2 or x.shape != out.shape:
        raise ValueError(f"expected two matrices of one shape, got {x.shape} and {out.shape}")
    rows, cols = x.shape
    block = 1 << (cols - 1).bit_length()
    softmax[(rows,)](out, x, cols, cols, BLOCK=block, num_warps=warps_for(cols, x.dtype.itemsize))
    return out


def softmax_reference(x: NDArray[Any]) -> NDArray[Any]:
    """The same in NumPy, computed in float64."""
    wide = x.astype(np.float64)
    weight = np.exp(wide - wide.max(axis=1, keepdims=True))
    return (weight / weight.sum(axis=1, keepdims=True)).astype(x.dtype)
