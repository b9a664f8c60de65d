"""A product for each of several groups of rows, written out in TLE: the copy engine brings tiles, two warpgroups multiply.

The rows of a group lie one behind the other. One description of `a` serves all groups: a tile that crosses the end of its
group brings rows of the next one, which are multiplied and not stored. CTAs stay, and the ring of tiles runs on from one
tile of the result to the next.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import are_rows_dense, element_strides, is_without_products, persistent_ctas
from tle2cuda.language import tle


@tle2cuda.jit
def fetch(
    writer, a, b, ends, groups, tiles_n, steps,
    B_BY_COLUMNS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Ask for the tiles of every step, a ring ahead of those who multiply."""
    HALF: tl.constexpr = BLOCK_M // 2
    tile, first_tile, first_row, turn = tl.program_id(0), 0, 0, 0
    for group in range(groups):
        end_row = tl.load(ends + group)
        tiles_m = tl.cdiv(end_row - first_row, BLOCK_M)
        while tile < first_tile + tiles_m * tiles_n:
            row = first_row + (tile - first_tile) % tiles_m * BLOCK_M
            col = (tile - first_tile) // tiles_m * BLOCK_N
            for step in range(steps):
                slot = writer.acquire(turn + step)
                tle.gpu.copy(a, slot.upper, [HALF, BLOCK_K], [row, step * BLOCK_K])
                tle.gpu.copy(a, slot.lower, [HALF, BLOCK_K], [row + HALF, step * BLOCK_K])
                if B_BY_COLUMNS:
                    tle.gpu.copy(b, slot.b, [1, BLOCK_N, BLOCK_K], [group, col, step * BLOCK_K])
                else:
                    tle.gpu.copy(b, slot.b, [1, BLOCK_K, BLOCK_N], [group, step * BLOCK_K, col])
                writer.commit(turn + step)
            turn += steps
            tile += tl.num_programs(0)
        first_tile += tiles_m * tiles_n
        first_row = end_row


@tle2cuda.jit
def multiply_half(
    reader, c, stride_cm, N, ends, groups, tiles_n, steps, IS_LOWER: tl.constexpr,
    B_BY_COLUMNS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, OUT_N: tl.constexpr,
):  # fmt: skip
    """Half of the rows of each tile: one product in flight while the stage of the last one is handed back."""
    HALF: tl.constexpr = BLOCK_M // 2
    tile, first_tile, first_row, turn = tl.program_id(0), 0, 0, 0
    for group in range(groups):
        end_row = tl.load(ends + group)
        tiles_m = tl.cdiv(end_row - first_row, BLOCK_M)
        while tile < first_tile + tiles_m * tiles_n:
            row = first_row + (tile - first_tile) % tiles_m * BLOCK_M + (HALF if IS_LOWER else 0)
            col = (tile - first_tile) // tiles_m * BLOCK_N
            acc = tl.zeros((HALF, BLOCK_N), tl.float32)
            for step in range(steps):
                slot = reader.wait(turn + step).slot
                if IS_LOWER:
                    acc = tle.gpu.wgmma(slot.lower, slot.b, acc, trans_b=B_BY_COLUMNS)
                else:
                    acc = tle.gpu.wgmma(slot.upper, slot.b, acc, trans_b=B_BY_COLUMNS)
                acc = tle.gpu.wgmma_wait(1, acc)
                if step > 0:
                    reader.release(turn + step - 1)
            acc = tle.gpu.wgmma_wait(0, acc)
            turn += steps
            reader.release(turn - 1)
            rows = row + tl.arange(0, HALF)
            c_rows = c + rows.to(tl.int64)[:, None] * stride_cm
            for part in tl.static_range(BLOCK_N // OUT_N):
                columns = tle.extract_tile(acc, (0, part), (HALF, OUT_N)).to(c.dtype.element_ty)
                cols = col + part * OUT_N + tl.arange(0, OUT_N)
                tl.store(c_rows + cols[None, :], columns, mask=(rows < end_row)[:, None] & (cols < N)[None, :])
            tile += tl.num_programs(0)
        first_tile += tiles_m * tiles_n
        first_row = end_row


@tle2cuda.jit
def grouped_matmul_tle(
    a, b, c, ends, groups, M, N, K, stride_am, stride_bg, stride_bx, stride_cm,
    B_BY_COLUMNS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    dtype: tl.constexpr = a.dtype.element_ty
    HALF: tl.constexpr = BLOCK_M // 2
    OUT_N: tl.constexpr = min(BLOCK_N, 64)
    a_desc = tl.make_tensor_descriptor(a, [M, K], [stride_am, 1], [HALF, BLOCK_K])
    if B_BY_COLUMNS:
        b_desc = tl.make_tensor_descriptor(b, [groups, N, K], [stride_bg, stride_bx, 1], [1, BLOCK_N, BLOCK_K])
        b_ring = tle.gpu.alloc([STAGES, BLOCK_N, BLOCK_K], dtype=dtype)
    else:
        b_desc = tl.make_tensor_descriptor(b, [groups, K, N], [stride_bg, stride_bx, 1], [1, BLOCK_K, BLOCK_N])
        b_ring = tle.gpu.alloc([STAGES, BLOCK_K, BLOCK_N], dtype=dtype)
    upper = tle.gpu.alloc([STAGES, HALF, BLOCK_K], dtype=dtype)
    lower = tle.gpu.alloc([STAGES, HALF, BLOCK_K], dtype=dtype)
    pipe = tle.pipe(
        capacity=STAGES, name="tiles", readers=("upper", "lower"), upper=upper, lower=lower, b=b_ring
    )  # fmt: skip
    tiles_n, steps = tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    work = (ends, groups, tiles_n, steps)
    target = (c, stride_cm, N)
    first, second = pipe.reader("upper"), pipe.reader("lower")
    tle.gpu.warp_specialize(
        [
            (multiply_half, (first, *target, *work, False, B_BY_COLUMNS, BLOCK_M, BLOCK_N, OUT_N)),
            (multiply_half, (second, *target, *work, True, B_BY_COLUMNS, BLOCK_M, BLOCK_N, OUT_N)),
            (fetch, (pipe.writer(), a_desc, b_desc, *work, B_BY_COLUMNS, BLOCK_M, BLOCK_N, BLOCK_K)),
        ],
        [4, 1],
        [232, 40],
    )


class Tile(NamedTuple):
    """Sizes of a CTA's work."""

    block_m: int
    block_n: int
    block_k: int
    stages: int


TILE = Tile(128, 256, 64, 4)
_NUM_WARPS = 4


def multiply_groups(a: Any, b: Any, c: Any, ends: Any, *, tile: Tile = TILE, ctas: int | None = None) -> Any:
    """Writes to the rows of each group in `c` its rows of `a` times its matrix in `b`.

    Args:
        a: [M, K], 16-bit floats; its rows and those of `b` begin at multiples of 16 bytes.
        b: [groups, K, N], of the same dtype; the elements of a row are neighbours, or those of a column.
        c: [M, N]; rows behind the last group are left as they are.
        ends: int32 [groups]: the row behind each group's last one; a group begins where the one before it ends.
        tile: Sizes of a CTA's work.
        ctas: How many CTAs share the work; left out: one for each multiprocessor.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    (m, k), (groups, b_k, n) = a.shape, b.shape
    if b_k != k or tuple(c.shape) != (m, n) or tuple(ends.shape) != (groups,):
        raise ValueError(f"cannot multiply {a.shape} and {b.shape} into {c.shape} with {ends.shape} groups")
    by_columns = not are_rows_dense(b) and element_strides(b)[1] == 1
    stride_bg, *steps = element_strides(b)
    stride_bx = steps[1] if by_columns else steps[0]
    if not are_rows_dense(a, c) or not (by_columns or are_rows_dense(b)):
        raise ValueError("the elements of each row must be neighbours; of b, those of each column may")
    rows_of_groups = c[: int(ends[-1])] if groups and not k else c
    if not groups or is_without_products(rows_of_groups, k):
        return c
    most = (-(-m // tile.block_m) + groups) * -(-n // tile.block_n)
    grid = (persistent_ctas(a, most, 1) if ctas is None else ctas,)
    grouped_matmul_tle[grid](
        a, b, c, ends, groups, m, n, k, element_strides(a)[0], stride_bg, stride_bx, element_strides(c)[0],
        B_BY_COLUMNS=by_columns, BLOCK_M=tile.block_m, BLOCK_N=tile.block_n, BLOCK_K=tile.block_k, STAGES=tile.stages,
        num_warps=_NUM_WARPS,
    )  # fmt: skip
    return c
