"""Adds two matrices whose tiles come through a ring in three ways: loads and stores, cp.async, and the copy engine (TMA).

The counterpart of `pipelined_copy` with two fields: a stage holds a tile of either matrix, and is full when both are there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import check_same, has_tensor_copies, power_of_two, row_stride
from kernels.pipelined_copy import FORMS
from tle2cuda.language import tle


@tle2cuda.jit
def fill_pairs(writer, x, y, x_stride, y_stride, cols, row, first, BLOCK: tl.constexpr, TILES: tl.constexpr):
    for i in range(TILES):
        col = first + i * BLOCK + tl.arange(0, BLOCK)
        slot = writer.acquire(i)
        x_tile = tl.load(x + row.to(tl.int64) * x_stride + col, mask=col < cols, other=0)
        y_tile = tl.load(y + row.to(tl.int64) * y_stride + col, mask=col < cols, other=0)
        tl.store(tle.gpu.local_ptr(slot.x), x_tile)
        tl.store(tle.gpu.local_ptr(slot.y), y_tile)
        writer.commit(i)


@tle2cuda.jit
def add_pairs(reader, out, out_stride, cols, row, first, BLOCK: tl.constexpr, TILES: tl.constexpr):
    for i in range(TILES):
        col = first + i * BLOCK + tl.arange(0, BLOCK)
        slot = reader.wait(i).slot
        total = tl.load(tle.gpu.local_ptr(slot.x)) + tl.load(tle.gpu.local_ptr(slot.y))
        reader.release(i)
        tl.store(out + row.to(tl.int64) * out_stride + col, total, mask=col < cols)


@tle2cuda.jit
def add_by_pointers(
    x,
    y,
    out,
    cols,
    x_stride,
    y_stride,
    out_stride,
    BLOCK: tl.constexpr,
    TILES: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Four warps load and fill the ring, the kernel's own warps add and store."""
    x_ring = tle.gpu.alloc([STAGES, BLOCK], dtype=x.dtype.element_ty, nv_mma_shared_layout=False)
    y_ring = tle.gpu.alloc([STAGES, BLOCK], dtype=y.dtype.element_ty, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=STAGES, name="pairs", x=x_ring, y=y_ring)
    ctas_per_row = tl.cdiv(cols, BLOCK * TILES)
    row = tl.program_id(0) // ctas_per_row
    first = tl.program_id(0) % ctas_per_row * (BLOCK * TILES)
    tle.gpu.warp_specialize(
        [
            (add_pairs, (pipe.reader(), out, out_stride, cols, row, first, BLOCK, TILES)),
            (fill_pairs, (pipe.writer(), x, y, x_stride, y_stride, cols, row, first, BLOCK, TILES)),
        ],
        [4],
    )


@tle2cuda.jit
def fetch_pair(x, y, x_slot, y_slot, inside, BLOCK: tl.constexpr):
    """Two tiles on their way by cp.async, as one group."""
    tle.gpu.copy(x, x_slot, [BLOCK], mask=inside, is_async=True)
    tle.gpu.copy(y, y_slot, [BLOCK], mask=inside, is_async=True)
    tle.gpu.async_commit_group()


@tle2cuda.jit
def add_by_cp_async(
    x,
    y,
    out,
    cols,
    x_stride,
    y_stride,
    out_stride,
    BLOCK: tl.constexpr,
    TILES: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Every thread adds what it has fetched itself."""
    x_ring = tle.gpu.alloc([STAGES, BLOCK], dtype=x.dtype.element_ty, nv_mma_shared_layout=False)
    y_ring = tle.gpu.alloc([STAGES, BLOCK], dtype=y.dtype.element_ty, nv_mma_shared_layout=False)
    ctas_per_row = tl.cdiv(cols, BLOCK * TILES)
    row = (tl.program_id(0) // ctas_per_row).to(tl.int64)
    col = tl.program_id(0) % ctas_per_row * (BLOCK * TILES) + tl.arange(0, BLOCK)
    x_source = x + row * x_stride + col
    y_source = y + row * y_stride + col
    target = out + row * out_stride + col
    for i in tl.static_range(min(STAGES, TILES)):
        at = i * BLOCK
        fetch_pair(x_source + at, y_source + at, x_ring.slot(i), y_ring.slot(i), col + at < cols, BLOCK)
    for i in tl.static_range(TILES):
        tle.gpu.async_wait_group(min(STAGES, TILES - i) - 1)
        x_slot, y_slot = x_ring.slot(i % STAGES), y_ring.slot(i % STAGES)
        total = tl.load(tle.gpu.local_ptr(x_slot)) + tl.load(tle.gpu.local_ptr(y_slot))
        if i + STAGES < TILES:
            at = (i + STAGES) * BLOCK
            fetch_pair(x_source + at, y_source + at, x_slot, y_slot, col + at < cols, BLOCK)
        tl.store(target + i * BLOCK, total, mask=col + i * BLOCK < cols)


@tle2cuda.jit
def ask_for_pair(writer, x_desc, y_desc, row, col, i, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr):
    slot = writer.acquire(i)
    tle.gpu.copy(x_desc, slot.x, [BLOCK_ROWS, BLOCK_COLS], [row, col + i * BLOCK_COLS])
    tle.gpu.copy(y_desc, slot.y, [BLOCK_ROWS, BLOCK_COLS], [row, col + i * BLOCK_COLS])
    writer.commit(i)


@tle2cuda.jit
def add_by_tma(
    x,
    y,
    out,
    rows,
    cols,
    x_stride,
    y_stride,
    out_stride,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLS: tl.constexpr,
    TILES: tl.constexpr,
    STAGES: tl.constexpr,
):
    """One thread asks for tiles, all add them; writer and reader of the ring are the same warps."""
    x_desc = tl.make_tensor_descriptor(x, [rows, cols], [x_stride, 1], [BLOCK_ROWS, BLOCK_COLS])
    y_desc = tl.make_tensor_descriptor(y, [rows, cols], [y_stride, 1], [BLOCK_ROWS, BLOCK_COLS])
    x_ring = tle.gpu.alloc([STAGES, BLOCK_ROWS, BLOCK_COLS], dtype=x.dtype.element_ty, nv_mma_shared_layout=False)
    y_ring = tle.gpu.alloc([STAGES, BLOCK_ROWS, BLOCK_COLS], dtype=y.dtype.element_ty, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=STAGES, name="pairs", x=x_ring, y=y_ring)
    writer, reader = pipe.writer(), pipe.reader()
    ctas_per_row = tl.cdiv(cols, BLOCK_COLS * TILES)
    row = tl.program_id(0) // ctas_per_row * BLOCK_ROWS
    col = tl.program_id(0) % ctas_per_row * (BLOCK_COLS * TILES)
    tile_row = row + tl.arange(0, BLOCK_ROWS)
    tile_col = col + tl.arange(0, BLOCK_COLS)
    target = out + tile_row.to(tl.int64)[:, None] * out_stride + tile_col[None, :]
    for i in tl.static_range(min(STAGES, TILES)):
        ask_for_pair(writer, x_desc, y_desc, row, col, i, BLOCK_ROWS, BLOCK_COLS)
    for i in tl.static_range(TILES):
        slot = reader.wait(i).slot
        total = tl.load(tle.gpu.local_ptr(slot.x)) + tl.load(tle.gpu.local_ptr(slot.y))
        if i + STAGES < TILES:
            reader.release(i)
            ask_for_pair(writer, x_desc, y_desc, row, col, i + STAGES, BLOCK_ROWS, BLOCK_COLS)
        inside = (tile_row < rows)[:, None] & (tile_col + i * BLOCK_COLS < cols)[None, :]
        tl.store(target + i * BLOCK_COLS, total, mask=inside)


def add_rows(
    x: Any,
    y: Any,
    out: Any,
    form: str = "cp_async",
    *,
    tile_bytes: int = 4096,
    tiles: int | None = None,
    stages: int | None = None,
    num_warps: int | None = None,
) -> Any:
    """Writes x + y to `out`: matrices of one shape and dtype, whose rows may lie apart.

    Args:
        x: The first matrix.
        y: The second one.
        out: The target.
        form: "pointer", "cp_async" or "tma".
        tile_bytes: Bytes of one tile of one matrix, a power of two.
        tiles: Tiles that a CTA adds. Left out: 4, and 1 by TMA, where more wait for each other.
        stages: Tiles that may be on their way at a time; left out: as many as a CTA adds.
        num_warps: Warps of a CTA; left out: 16 bytes of a tile for each thread.

    Raises:
        ValueError: The matrices do not fit each other, or TMA cannot reach their rows.
    """
    check_same(x=x, y=y, out=out)
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    rows, cols = x.shape
    strides = row_stride(x), row_stride(y), row_stride(out)
    tiles = tiles or (1 if form == "tma" else 4)
    stages = min(stages or tiles, tiles)
    warps = num_warps or max(1, min(tile_bytes // (16 * 32), 8))
    if rows == 0 or cols == 0:
        return out
    if form == "tma":
        if not has_tensor_copies(x, y):
            raise ValueError("TMA needs addresses and row strides that are multiples of 16 bytes; use another form")
        block_cols = max(min(power_of_two(cols), 256, tile_bytes // x.itemsize), 16 // x.itemsize)
        blocks = {"BLOCK_ROWS": max(tile_bytes // (block_cols * x.itemsize), 1), "BLOCK_COLS": block_cols}
        grid = (-(-rows // blocks["BLOCK_ROWS"]) * -(-cols // (block_cols * tiles)),)
        add_by_tma[grid](x, y, out, rows, cols, *strides, **blocks, TILES=tiles, STAGES=stages, num_warps=warps)
        return out
    block = tile_bytes // x.itemsize
    kernel = add_by_cp_async if form == "cp_async" else add_by_pointers
    grid = (rows * -(-cols // (block * tiles)),)
    kernel[grid](x, y, out, cols, *strides, BLOCK=block, TILES=tiles, STAGES=stages, num_warps=warps)
    return out


def add_reference(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """The same in NumPy."""
    return np.add(x, y)
