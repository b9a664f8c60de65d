"""A product for each of several groups of rows: the rows of a group lie one behind the other and share a right operand.

CTAs stay: each takes every so-many-th tile of the result, counted through all groups, so that small groups leave none idle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import are_rows_dense, element_strides, persistent_ctas


@tle2cuda.jit
def grouped_matmul(
    a,
    b,
    c,
    ends,
    groups,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bg,
    stride_bk,
    stride_bn,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    k, tiles_n = tl.arange(0, BLOCK_K), tl.cdiv(N, BLOCK_N)
    tile = tl.program_id(0)
    first_tile, first_row = 0, 0
    for group in range(groups):
        end_row = tl.load(ends + group)
        tiles_m = tl.cdiv(end_row - first_row, BLOCK_M)
        while tile < first_tile + tiles_m * tiles_n:
            # Neighbours go down a column of tiles, and share what they read of b.
            pid_m, pid_n = (tile - first_tile) % tiles_m, (tile - first_tile) // tiles_m
            rows = first_row + pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
            cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
            in_rows, in_cols = (rows < end_row)[:, None], (cols < N)[None, :]
            a_ptrs = a + rows.to(tl.int64)[:, None] * stride_am + k[None, :] * stride_ak
            b_first = b + tl.cast(group, tl.int64) * stride_bg
            b_ptrs = b_first + k[:, None] * stride_bk + cols.to(tl.int64)[None, :] * stride_bn
            acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
            for first in range(0, K, BLOCK_K):
                a_tile = tl.load(a_ptrs, mask=in_rows & (k[None, :] < K - first), other=0.0)
                b_tile = tl.load(b_ptrs, mask=in_cols & (k[:, None] < K - first), other=0.0)
                acc = tl.dot(a_tile, b_tile, acc)
                a_ptrs += BLOCK_K * stride_ak
                b_ptrs += BLOCK_K * stride_bk
            c_ptrs = c + rows.to(tl.int64)[:, None] * stride_cm + cols[None, :]
            tl.store(c_ptrs, acc.to(c.dtype.element_ty), mask=in_rows & in_cols)
            tile += tl.num_programs(0)
        first_tile += tiles_m * tiles_n
        first_row = end_row


class Tile(NamedTuple):
    """Sizes of a CTA's work, and how many CTAs share a multiprocessor: two hide each other's waits where both fit."""

    block_m: int
    block_n: int
    block_k: int
    num_warps: int
    num_stages: int
    ctas: int = 2


TILE = Tile(128, 128, 64, 8, 3)


def multiply_groups(a: Any, b: Any, c: Any, ends: Any, *, tile: Tile = TILE, ctas: int | None = None) -> Any:
    """Writes to the rows of each group in `c` its rows of `a` times its matrix in `b`.

    Args:
        a: [M, K].
        b: [groups, K, N], of the same dtype; any strides.
        c: [M, N]; rows behind the last group are left as they are.
        ends: int32 [groups]: the row behind each group's last one; a group begins where the one before it ends.
        tile: Sizes of a CTA's work.
        ctas: How many CTAs share the work; left out: `tile.ctas` for each multiprocessor.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    (m, k), (groups, b_k, n) = a.shape, b.shape
    if b_k != k or tuple(c.shape) != (m, n) or tuple(ends.shape) != (groups,):
        raise ValueError(f"cannot multiply {a.shape} and {b.shape} into {c.shape} with {ends.shape} groups")
    if not are_rows_dense(c):
        raise ValueError("the elements of a row of c must be neighbours")
    most = (-(-m // tile.block_m) + groups) * -(-n // tile.block_n)
    grid = (persistent_ctas(a, most, tile.ctas) if ctas is None else ctas,)
    grouped_matmul[grid](
        a, b, c, ends, groups, n, k, *element_strides(a), *element_strides(b), element_strides(c)[0],
        BLOCK_M=tile.block_m, BLOCK_N=tile.block_n, BLOCK_K=tile.block_k, num_warps=tile.num_warps,
        num_stages=tile.num_stages,
    )  # fmt: skip
    return c


def grouped_reference(a: NDArray[Any], b: NDArray[Any], ends: NDArray[Any]) -> NDArray[Any]:
    """The rows that belong to groups, in NumPy, in float64."""
    parts, first = [], 0
    for matrix, end in zip(b, ends, strict=True):
        parts.append(a[first:end].astype(np.float64) @ matrix.astype(np.float64))
        first = int(end)
    return np.concatenate(parts)
