"""Transposes a matrix: tiles arrive by the copy engine (TMA) and leave as rows of the result."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import has_tensor_copies, row_stride
from tle2cuda.language import tle


@tle2cuda.jit
def transpose(x, out, rows, cols, x_stride, out_stride, BLOCK: tl.constexpr, STORE_BY_TMA: tl.constexpr):
    """One tile a CTA: many CTAs on a multiprocessor hide each other's waiting."""
    source = tl.make_tensor_descriptor(x, [rows, cols], [x_stride, 1], [BLOCK, BLOCK])
    # Without a swizzle the engine takes whole rows of the tile, and rows of the result are stored as whole lines, for which
    # elements change lanes through scratch. Lanes that go down a swizzled tile store 32 bytes of a row: 4 % slower (H200).
    tile = tle.gpu.alloc([BLOCK, BLOCK], dtype=x.dtype.element_ty, nv_mma_shared_layout=STORE_BY_TMA)
    column_tiles = tl.cdiv(cols, BLOCK)
    row = tl.program_id(0) // column_tiles * BLOCK
    col = tl.program_id(0) % column_tiles * BLOCK
    tle.gpu.copy(source, tile, [BLOCK, BLOCK], [row, col])
    turned = tl.trans(tl.load(tle.gpu.local_ptr(tile)))
    if STORE_BY_TMA:
        target = tl.make_tensor_descriptor(out, [cols, rows], [out_stride, 1], [BLOCK, BLOCK])
        turned_tile = tle.gpu.alloc([BLOCK, BLOCK], dtype=x.dtype.element_ty)
        tl.store(tle.gpu.local_ptr(turned_tile), turned)
        tle.gpu.copy(turned_tile, target, [BLOCK, BLOCK], [col, row])
    else:
        out_row = col + tl.arange(0, BLOCK)
        out_col = row + tl.arange(0, BLOCK)
        target_tile = out + out_row.to(tl.int64)[:, None] * out_stride + out_col[None, :]
        tl.store(target_tile, turned, mask=(out_row < cols)[:, None] & (out_col < rows)[None, :])


def transpose_matrix(
    x: Any, out: Any, *, block: int | None = None, num_warps: int | None = None, store_by_tma: bool = False
) -> Any:
    """Writes the transpose of `x` [rows, cols] to `out` [cols, rows], of one dtype.

    Args:
        x: Its rows begin at multiples of 16 bytes.
        out: The target; its rows too when `store_by_tma`.
        block: Rows and columns of a tile, a power of two. Left out: 64, 128 of elements of less than 4 bytes, 32 when
            `store_by_tma`.
        num_warps: Warps of a CTA. Left out: 8, 4 when `store_by_tma`.
        store_by_tma: Whether tiles leave by the copy engine, too.

    Raises:
        ValueError: The matrices do not fit each other, or TMA cannot reach their rows.
    """
    rows, cols = x.shape
    if tuple(out.shape) != (cols, rows) or out.dtype != x.dtype:
        raise ValueError(f"x {x.dtype} {(rows, cols)} and out {out.dtype} {tuple(out.shape)} do not fit")
    if not has_tensor_copies(*((x, out) if store_by_tma else (x,))):
        raise ValueError("TMA needs addresses and row strides that are multiples of 16 bytes")
    if rows == 0 or cols == 0:
        return out
    block = block or (32 if store_by_tma else 64 if x.itemsize >= 4 else 128)
    num_warps = num_warps or (4 if store_by_tma else 8)
    grid = (-(-rows // block) * -(-cols // block),)
    strides = row_stride(x), row_stride(out)
    transpose[grid](x, out, rows, cols, *strides, BLOCK=block, STORE_BY_TMA=store_by_tma, num_warps=num_warps)
    return out


def transpose_reference(x: NDArray[Any]) -> NDArray[Any]:
    """The same in NumPy."""
    return np.ascontiguousarray(x.T)
