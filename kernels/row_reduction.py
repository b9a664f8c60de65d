"""Reduces the rows of a matrix: one role fetches tiles by the copy engine, one or two other roles reduce what arrives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import has_tensor_copies, power_of_two, row_stride
from tle2cuda.language import tle


@tle2cuda.jit
def fetch_tiles(writer, x, rows, cols, x_stride, first_row, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr):
    """The producer: the tiles of some rows from left to right. What lies outside of the matrix arrives as zeros."""
    desc = tl.make_tensor_descriptor(x, [rows, cols], [x_stride, 1], [BLOCK_ROWS, BLOCK_COLS])
    for k in range(tl.cdiv(cols, BLOCK_COLS)):
        slot = writer.acquire(k)
        tle.gpu.copy(desc, slot.tile, [BLOCK_ROWS, BLOCK_COLS], [first_row, k * BLOCK_COLS])
        writer.commit(k)


@tle2cuda.jit
def sum_tiles(reader, totals, rows, cols, first_row, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr):
    partial = tl.zeros([BLOCK_ROWS, BLOCK_COLS], tl.float32)
    for k in range(tl.cdiv(cols, BLOCK_COLS)):
        partial += tl.load(tle.gpu.local_ptr(reader.wait(k).slot.tile)).to(tl.float32)
        reader.release(k)
    row = first_row + tl.arange(0, BLOCK_ROWS)
    tl.store(totals + row, tl.sum(partial, axis=1), mask=row < rows)


@tle2cuda.jit
def find_peaks(reader, peaks, rows, cols, first_row, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr):
    col = tl.arange(0, BLOCK_COLS)
    highest = tl.full([BLOCK_ROWS, BLOCK_COLS], -float("inf"), tl.float32)
    for k in range(tl.cdiv(cols, BLOCK_COLS)):
        tile = tl.load(tle.gpu.local_ptr(reader.wait(k).slot.tile)).to(tl.float32)
        reader.release(k)
        inside = (k * BLOCK_COLS + col < cols)[None, :]
        highest = tl.maximum(highest, tl.where(inside, tile, -float("inf")))
    row = first_row + tl.arange(0, BLOCK_ROWS)
    tl.store(peaks + row, tl.max(highest, axis=1), mask=row < rows)


@tle2cuda.jit
def row_sums(x, totals, rows, cols, x_stride, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr, STAGES: tl.constexpr):
    """One reader."""
    ring = tle.gpu.alloc([STAGES, BLOCK_ROWS, BLOCK_COLS], dtype=x.dtype.element_ty, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=STAGES, name="tiles", tile=ring)
    first_row = tl.program_id(0) * BLOCK_ROWS
    tle.gpu.warp_specialize(
        [
            (sum_tiles, (pipe.reader(), totals, rows, cols, first_row, BLOCK_ROWS, BLOCK_COLS)),
            (fetch_tiles, (pipe.writer(), x, rows, cols, x_stride, first_row, BLOCK_ROWS, BLOCK_COLS)),
        ],
        [1],
    )


@tle2cuda.jit
def row_sums_and_peaks(
    x,
    totals,
    peaks,
    rows,
    cols,
    x_stride,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLS: tl.constexpr,
    STAGES: tl.constexpr,
    PEAK_WARPS: tl.constexpr,
):
    """Two readers of every tile: it is fetched again once both have released it."""
    ring = tle.gpu.alloc([STAGES, BLOCK_ROWS, BLOCK_COLS], dtype=x.dtype.element_ty, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=STAGES, name="tiles", readers=("sum", "peak"), tile=ring)
    first_row = tl.program_id(0) * BLOCK_ROWS
    tle.gpu.warp_specialize(
        [
            (sum_tiles, (pipe.reader("sum"), totals, rows, cols, first_row, BLOCK_ROWS, BLOCK_COLS)),
            (find_peaks, (pipe.reader("peak"), peaks, rows, cols, first_row, BLOCK_ROWS, BLOCK_COLS)),
            (fetch_tiles, (pipe.writer(), x, rows, cols, x_stride, first_row, BLOCK_ROWS, BLOCK_COLS)),
        ],
        [PEAK_WARPS, 1],
    )


def reduce_rows(
    x: Any,
    totals: Any,
    peaks: Any = None,
    *,
    block_rows: int = 8,
    block_cols: int | None = None,
    stages: int = 4,
    num_warps: int = 4,
) -> Any:
    """Writes the sum of each row of `x` to `totals`, and its largest element to `peaks` when that is given.

    Args:
        x: [rows, cols]; its rows begin at multiples of 16 bytes.
        totals: float32 [rows].
        peaks: float32 [rows].
        block_rows: Rows of a CTA, a power of two.
        block_cols: Columns of a tile, a power of two; left out: 1 KiB of a row, no more than there are.
        stages: Tiles that the ring holds.
        num_warps: Warps of each role that reduces.

    Raises:
        ValueError: The arrays do not fit each other, or TMA cannot reach the rows.
    """
    rows, cols = x.shape
    if tuple(totals.shape) != (rows,) or (peaks is not None and tuple(peaks.shape) != (rows,)):
        raise ValueError(f"expected one result for each of {rows} rows")
    if not has_tensor_copies(x):
        raise ValueError("TMA needs an address and a row stride that are multiples of 16 bytes")
    if rows == 0:
        return totals
    wide = block_cols or max(min(power_of_two(cols), 1024 // x.itemsize), 16 // x.itemsize)
    options = {"BLOCK_ROWS": block_rows, "BLOCK_COLS": wide, "STAGES": stages, "num_warps": num_warps}
    grid = (-(-rows // block_rows),)
    if peaks is None:
        row_sums[grid](x, totals, rows, cols, row_stride(x), **options)
    else:
        row_sums_and_peaks[grid](x, totals, peaks, rows, cols, row_stride(x), **options, PEAK_WARPS=num_warps)
    return totals


def reduce_rows_reference(x: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The same in NumPy: sums, computed in float64, and largest elements."""
    return x.sum(axis=1, dtype=np.float64).astype(np.float32), x.max(axis=1).astype(np.float32)
