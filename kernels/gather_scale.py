"""Gathers rows of a table, the numbers of which are data, and scales each: one role fetches rows, the other scales them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import check_same, has_tensor_copies, power_of_two, row_stride
from tle2cuda.language import tle


@tle2cuda.jit
def fetch_by_tma(writer, table, index, count, rows, cols, table_stride, first, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """One request of the copy engine for each row. Numbers outside of the table bring zeros."""
    desc = tl.make_tensor_descriptor(table, [rows, cols], [table_stride, 1], [1, BLOCK])
    for k in range(tl.cdiv(cols, BLOCK)):
        slot = writer.acquire(k)
        for i in tl.static_range(ROWS):
            row = tl.load(index + first + i, mask=first + i < count, other=-1)
            tle.gpu.copy(desc, slot.rows.slot(i), [BLOCK], [row, k * BLOCK])
        writer.commit(k)


@tle2cuda.jit
def fetch_by_cp_async(
    writer, table, index, count, rows, cols, table_stride, first, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    """Threads fetch 16 bytes each, whatever rows these belong to."""
    place = first + tl.arange(0, ROWS)
    row = tl.load(index + place, mask=place < count, other=-1)
    exists = (row >= 0) & (row < rows)
    source = table + row.to(tl.int64)[:, None] * table_stride
    for k in range(tl.cdiv(cols, BLOCK)):
        col = k * BLOCK + tl.arange(0, BLOCK)
        slot = writer.acquire(k)
        inside = exists[:, None] & (col < cols)[None, :]
        tle.gpu.copy(source + col[None, :], slot.rows, [ROWS, BLOCK], mask=inside, is_async=True)
        writer.commit(k)


@tle2cuda.jit
def scale_rows(reader, scale, out, count, cols, out_stride, first, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    place = first + tl.arange(0, ROWS)
    factor = tl.load(scale + place, mask=place < count, other=0.0)
    target = out + place.to(tl.int64)[:, None] * out_stride
    for k in range(tl.cdiv(cols, BLOCK)):
        col = k * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(tle.gpu.local_ptr(reader.wait(k).slot.rows)).to(tl.float32)
        reader.release(k)
        tl.store(target + col[None, :], value * factor[:, None], mask=(place < count)[:, None] & (col < cols)[None, :])


@tle2cuda.jit
def gather_scale(
    table,
    index,
    scale,
    out,
    count,
    rows,
    cols,
    table_stride,
    out_stride,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    STAGES: tl.constexpr,
    BY_TMA: tl.constexpr,
):
    ring = tle.gpu.alloc([STAGES, ROWS, BLOCK], dtype=table.dtype.element_ty, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=STAGES, name="gathered", rows=ring)
    first = tl.program_id(0) * ROWS
    use = (scale_rows, (pipe.reader(), scale, out, count, cols, out_stride, first, ROWS, BLOCK))
    given = (pipe.writer(), table, index, count, rows, cols, table_stride, first, ROWS, BLOCK)
    if BY_TMA:
        tle.gpu.warp_specialize([use, (fetch_by_tma, given)], [1])
    else:
        tle.gpu.warp_specialize([use, (fetch_by_cp_async, given)], [4])


def gather_scale_rows(
    table: Any,
    index: Any,
    scale: Any,
    out: Any,
    *,
    by_tma: bool = True,
    rows_per_cta: int = 8,
    block: int | None = None,
    stages: int = 4,
    num_warps: int = 4,
) -> Any:
    """Writes ``table[index[i]] * scale[i]`` to row i of `out`; zeros where `index[i]` is no row of the table.

    Args:
        table: [rows, cols]; its rows begin at multiples of 16 bytes.
        index: int32 [count].
        scale: float32 [count].
        out: [count, cols], of the table's dtype.
        by_tma: Whether the copy engine fetches; else cp.async does.
        rows_per_cta: Rows that a CTA gathers, a power of two.
        block: Columns of a stage, a power of two; left out: 512, no more than there are.
        stages: Stages of the ring.
        num_warps: Warps that scale.

    Raises:
        ValueError: The arrays do not fit each other, or rows cannot be fetched so.
    """
    rows, cols = table.shape
    (count,) = index.shape
    check_same(table=table[:0], out=out[:0])
    if tuple(scale.shape) != (count,) or out.shape[0] != count:
        raise ValueError(f"expected {count} scales and rows, got {tuple(scale.shape)} and {tuple(out.shape)}")
    if not has_tensor_copies(table):
        raise ValueError("asynchronous copies need an address and a row stride that are multiples of 16 bytes")
    if count == 0:
        return out
    wide = block or max(min(power_of_two(cols), 512), 16 // table.itemsize)
    gather_scale[(-(-count // rows_per_cta),)](
        table,
        index,
        scale,
        out,
        count,
        rows,
        cols,
        row_stride(table),
        row_stride(out),
        ROWS=rows_per_cta,
        BLOCK=wide,
        STAGES=stages,
        BY_TMA=by_tma,
        num_warps=num_warps,
    )
    return out


def gather_scale_reference(table: NDArray[Any], index: NDArray[np.integer], scale: NDArray[np.floating]) -> NDArray[Any]:
    """The same in NumPy."""
    exists = (index >= 0) & (index < len(table))
    gathered = table[np.where(exists, index, 0)].astype(np.float32) * scale[:, None]
    return np.where(exists[:, None], gathered, 0).astype(table.dtype)
