"""Copies the rows of a matrix in three ways: loads and stores, cp.async, and the copy engine (TMA).

In each of them a CTA copies `TILES` tiles, and at most `STAGES` are on their way into shared memory at a time. What
differs is who moves the bytes. With loads and stores some warps fill the ring and others empty it. With cp.async every
thread fetches for itself, and nobody meets. With TMA one thread asks for whole tiles, in both directions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import check_same, has_tensor_copies, power_of_two, row_stride
from tle2cuda.language import tle

FORMS = ("pointer", "cp_async", "tma")


@tle2cuda.jit
def fill_tiles(writer, x, x_stride, cols, row, first, BLOCK: tl.constexpr, TILES: tl.constexpr):
    for i in range(TILES):
        col = first + i * BLOCK + tl.arange(0, BLOCK)
        slot = writer.acquire(i)
        tile = tl.load(x + row.to(tl.int64) * x_stride + col, mask=col < cols, other=0)
        tl.store(tle.gpu.local_ptr(slot.tile), tile)
        writer.commit(i)


@tle2cuda.jit
def empty_tiles(reader, out, out_stride, cols, row, first, BLOCK: tl.constexpr, TILES: tl.constexpr):
    for i in range(TILES):
        col = first + i * BLOCK + tl.arange(0, BLOCK)
        tile = tl.load(tle.gpu.local_ptr(reader.wait(i).slot.tile))
        reader.release(i)
        tl.store(out + row.to(tl.int64) * out_stride + col, tile, mask=col < cols)


@tle2cuda.jit
def copy_by_pointers(x, out, cols, x_stride, out_stride, BLOCK: tl.constexpr, TILES: tl.constexpr, STAGES: tl.constexpr):
    """Four warps load and fill the ring, the kernel's own warps empty it and store."""
    ring = tle.gpu.alloc([STAGES, BLOCK], dtype=x.dtype.element_ty, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=STAGES, name="tiles", tile=ring)
    ctas_per_row = tl.cdiv(cols, BLOCK * TILES)
    row = tl.program_id(0) // ctas_per_row
    first = tl.program_id(0) % ctas_per_row * (BLOCK * TILES)
    tle.gpu.warp_specialize(
        [
            (empty_tiles, (pipe.reader(), out, out_stride, cols, row, first, BLOCK, TILES)),
            (fill_tiles, (pipe.writer(), x, x_stride, cols, row, first, BLOCK, TILES)),
        ],
        [4],
    )


@tle2cuda.jit
def fetch(source, slot, inside, BLOCK: tl.constexpr):
    """A tile on its way by cp.async, as a group of its own."""
    tle.gpu.copy(source, slot, [BLOCK], mask=inside, is_async=True)
    tle.gpu.async_commit_group()


@tle2cuda.jit
def copy_by_cp_async(x, out, cols, x_stride, out_stride, BLOCK: tl.constexpr, TILES: tl.constexpr, STAGES: tl.constexpr):
    """Every thread stores what it has fetched itself."""
    ring = tle.gpu.alloc([STAGES, BLOCK], dtype=x.dtype.element_ty, nv_mma_shared_layout=False)
    ctas_per_row = tl.cdiv(cols, BLOCK * TILES)
    row = (tl.program_id(0) // ctas_per_row).to(tl.int64)
    col = tl.program_id(0) % ctas_per_row * (BLOCK * TILES) + tl.arange(0, BLOCK)
    source = x + row * x_stride + col
    target = out + row * out_stride + col
    for i in tl.static_range(min(STAGES, TILES)):
        fetch(source + i * BLOCK, ring.slot(i), col + i * BLOCK < cols, BLOCK)
    for i in tl.static_range(TILES):
        # Groups are complete in order: of those that were fetched, all behind this one may still be on their way.
        tle.gpu.async_wait_group(min(STAGES, TILES - i) - 1)
        tile = tl.load(tle.gpu.local_ptr(ring.slot(i % STAGES)))
        if i + STAGES < TILES:
            fetch(source + (i + STAGES) * BLOCK, ring.slot(i % STAGES), col + (i + STAGES) * BLOCK < cols, BLOCK)
        tl.store(target + i * BLOCK, tile, mask=col + i * BLOCK < cols)


@tle2cuda.jit
def ask_for_tile(writer, desc, row, col, i, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr):
    slot = writer.acquire(i)
    tle.gpu.copy(desc, slot.tile, [BLOCK_ROWS, BLOCK_COLS], [row, col + i * BLOCK_COLS])
    writer.commit(i)


@tle2cuda.jit
def copy_by_tma(
    x,
    out,
    rows,
    cols,
    x_stride,
    out_stride,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLS: tl.constexpr,
    TILES: tl.constexpr,
    STAGES: tl.constexpr,
):
    """One thread asks for tiles and sends them on; writer and reader of the ring are the same warps."""
    source = tl.make_tensor_descriptor(x, [rows, cols], [x_stride, 1], [BLOCK_ROWS, BLOCK_COLS])
    target = tl.make_tensor_descriptor(out, [rows, cols], [out_stride, 1], [BLOCK_ROWS, BLOCK_COLS])
    ring = tle.gpu.alloc([STAGES, BLOCK_ROWS, BLOCK_COLS], dtype=x.dtype.element_ty, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=STAGES, name="tiles", tile=ring)
    writer, reader = pipe.writer(), pipe.reader()
    ctas_per_row = tl.cdiv(cols, BLOCK_COLS * TILES)
    row = tl.program_id(0) // ctas_per_row * BLOCK_ROWS
    col = tl.program_id(0) % ctas_per_row * (BLOCK_COLS * TILES)
    for i in tl.static_range(min(STAGES, TILES)):
        ask_for_tile(writer, source, row, col, i, BLOCK_ROWS, BLOCK_COLS)
    for i in tl.static_range(TILES):
        tile = reader.wait(i).slot.tile
        tle.gpu.copy(tile, target, [BLOCK_ROWS, BLOCK_COLS], [row, col + i * BLOCK_COLS])
        if i + STAGES < TILES:
            reader.release(i)
            ask_for_tile(writer, source, row, col, i + STAGES, BLOCK_ROWS, BLOCK_COLS)


def copy_rows(
    x: Any,
    out: Any,
    form: str = "cp_async",
    *,
    tile_bytes: int = 2048,
    tiles: int | None = None,
    stages: int | None = None,
    num_warps: int | None = None,
) -> Any:
    """Writes `x` to `out`: matrices of one shape and dtype, whose rows may lie apart.

    Args:
        x: The source.
        out: The target.
        form: "pointer", "cp_async" or "tma".
        tile_bytes: Bytes of one tile, a power of two.
        tiles: Tiles that a CTA copies. Left out: 4 by pointers, else 1: many CTAs hide more than a ring does.
        stages: Tiles that may be on their way at a time; left out: as many as a CTA copies.
        num_warps: Warps of a CTA; left out: 16 bytes of a tile for each thread, and 1 by TMA.

    Raises:
        ValueError: The matrices do not fit each other, or TMA cannot reach their rows.
    """
    check_same(x=x, out=out)
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    rows, cols = x.shape
    strides = row_stride(x), row_stride(out)
    tiles = tiles or (4 if form == "pointer" else 1)
    stages = min(stages or tiles, tiles)
    if rows == 0 or cols == 0:
        return out
    if form == "tma":
        _check_reach(x, out)
        block_cols = max(min(power_of_two(cols), 256, tile_bytes // x.itemsize), 16 // x.itemsize)
        block_rows = max(tile_bytes // (block_cols * x.itemsize), 1)
        grid = (-(-rows // block_rows) * -(-cols // (block_cols * tiles)),)
        copy_by_tma[grid](
            x, out, rows, cols, *strides, block_rows, block_cols, TILES=tiles, STAGES=stages, num_warps=num_warps or 1
        )
        return out
    block = tile_bytes // x.itemsize
    kernel = copy_by_cp_async if form == "cp_async" else copy_by_pointers
    warps = num_warps or max(1, min(tile_bytes // (16 * 32), 8))
    grid = (rows * -(-cols // (block * tiles)),)
    kernel[grid](x, out, cols, *strides, BLOCK=block, TILES=tiles, STAGES=stages, num_warps=warps)
    return out


def _check_reach(*matrices: Any) -> None:
    if not has_tensor_copies(*matrices):
        raise ValueError("TMA needs addresses and row strides that are multiples of 16 bytes; use another form")


def copy_reference(x: NDArray[Any]) -> NDArray[Any]:
    """The same in NumPy."""
    return np.ascontiguousarray(x)
