"""Matrix products of few rows, as when a model makes one token after the other: time goes into reading the weights once.

`skinny` gives each CTA some columns of the result and all of K. `split_k` shares K among several CTAs as well, for results
too small to keep all multiprocessors reading; the last one to arrive adds what all have written, in order. Both multiply
with the weights on the left: their rows are many, and the few rows of x become columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import are_rows_dense, element_strides, new_array, power_of_two


@tle2cuda.jit
def product_of_rows(
    x,
    weights,
    M,
    N,
    first_k,
    end_k,
    pid_m,
    pid_n,
    stride_xm,
    stride_wn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """[BLOCK_N, BLOCK_M]: weights times x, transposed, over the k from `first_k` to `end_k`."""
    rows, cols = pid_m * BLOCK_M + tl.arange(0, BLOCK_M), pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = first_k + tl.arange(0, BLOCK_K)
    inside = (rows < M)[:, None]
    x_ptrs = x + rows[:, None] * stride_xm + k[None, :]
    weight_ptrs = weights + tl.minimum(cols, N - 1).to(tl.int64)[:, None] * stride_wn + k[None, :]
    acc = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
    for first in range(first_k, end_k, BLOCK_K):
        left = end_k - first
        is_left = (tl.arange(0, BLOCK_K) < left)[None, :]
        weight_tile = tl.load(weight_ptrs, mask=is_left, other=0.0)
        x_tile = tl.load(x_ptrs, mask=inside & is_left, other=0.0)
        acc = tl.dot(weight_tile, tl.trans(x_tile), acc)
        x_ptrs += BLOCK_K
        weight_ptrs += BLOCK_K
    return acc


@tle2cuda.jit
def skinny(
    x,
    weights,
    out,
    M,
    N,
    K,
    stride_xm,
    stride_wn,
    stride_om,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid_n, pid_m = tl.program_id(0), tl.program_id(1)
    acc = product_of_rows(
        x, weights, M, N, 0, K, pid_m, pid_n, stride_xm, stride_wn, BLOCK_M, BLOCK_N, BLOCK_K
    )  # fmt: skip
    rows, cols = pid_m * BLOCK_M + tl.arange(0, BLOCK_M), pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    result = tl.trans(acc).to(out.dtype.element_ty)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(out + rows[:, None] * stride_om + cols[None, :], result, mask=inside)


@tle2cuda.jit
def split_k(
    x,
    weights,
    out,
    partial,
    tickets,
    M,
    N,
    K,
    k_per_cta,
    stride_xm,
    stride_wn,
    stride_om,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    pid_n, pid_m, part = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    first_k = part * k_per_cta
    acc = product_of_rows(
        x, weights, M, N, first_k, tl.minimum(K, first_k + k_per_cta), pid_m, pid_n, stride_xm, stride_wn, BLOCK_M,
        BLOCK_N, BLOCK_K,
    )  # fmt: skip
    tile = pid_m * tl.num_programs(0) + pid_n
    parts = tl.num_programs(2)
    within = tl.arange(0, BLOCK_N)[:, None] * BLOCK_M + tl.arange(0, BLOCK_M)[None, :]
    places = partial + tile.to(tl.int64) * parts * (BLOCK_M * BLOCK_N) + within
    tl.store(places + part * (BLOCK_M * BLOCK_N), acc)
    tl.debug_barrier()  # the ticket tells others of what all threads have stored
    arrived = tl.atomic_add(tickets + tile, 1, sem="acq_rel")
    if arrived == parts - 1:
        total = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
        for other in range(parts):
            total += tl.load(places + other * (BLOCK_M * BLOCK_N), cache_modifier=".cg")
        rows, cols = pid_m * BLOCK_M + tl.arange(0, BLOCK_M), pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
        result = tl.trans(total).to(out.dtype.element_ty)
        inside = (rows[:, None] < M) & (cols[None, :] < N)
        tl.store(out + rows[:, None] * stride_om + cols[None, :], result, mask=inside)
        tl.atomic_xchg(tickets + tile, 0, sem="relaxed")  # as the next launch needs it


class Tile(NamedTuple):
    """Sizes of a CTA's work."""

    block_n: int
    block_k: int
    num_warps: int
    num_stages: int


TILE = Tile(64, 128, 4, 5)
_LEAST_ROWS = 16  # of x in one product


class Workspace(NamedTuple):
    """What CTAs that share K write for each other."""

    partial: Any
    tickets: Any


def new_workspace(x: Any, columns: int, parts: int, tile: Tile = TILE) -> Workspace:
    """A workspace of `multiply_few_rows` for `parts` CTAs that share K, its tickets 0; every launch leaves them so."""
    block_m, tiles = _rows_of(x.shape[0]), -(-x.shape[0] // _rows_of(x.shape[0])) * -(-columns // tile.block_n)
    tickets = new_array(x, (tiles,), "int32")
    tickets[:] = 0
    return Workspace(new_array(x, (tiles * parts * block_m * tile.block_n,), "float32"), tickets)


def multiply_few_rows(
    x: Any, weights: Any, out: Any, *, parts: int = 1, tile: Tile = TILE, workspace: Workspace | None = None
) -> Any:
    """Writes `x` [M, K] times the transpose of `weights` [N, K] to `out` [M, N].

    Args:
        x: Left operand, of few rows.
        weights: A row for each column of the result.
        out: Result.
        parts: How many CTAs share K.
        tile: Sizes of a CTA's work.
        workspace: What `new_workspace` made; left out: a new one.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    (m, k), (n, other_k) = x.shape, weights.shape
    if k != other_k or tuple(out.shape) != (m, n):
        raise ValueError(f"cannot multiply {x.shape} and the transpose of {weights.shape} into {out.shape}")
    strides = [element_strides(matrix) for matrix in (x, weights, out)]
    if not are_rows_dense(x, weights, out):
        raise ValueError("the elements of each row must be neighbours")
    block_n, block_k, num_warps, num_stages = tile
    constants = {"BLOCK_M": _rows_of(m), "BLOCK_N": block_n, "BLOCK_K": block_k}
    grid = (-(-n // block_n), -(-m // constants["BLOCK_M"]))
    rows = [stride[0] for stride in strides]
    if parts == 1:
        skinny[grid](x, weights, out, m, n, k, *rows, **constants, num_warps=num_warps, num_stages=num_stages)
        return out
    k_per_cta = -(-k // (parts * block_k)) * block_k
    partial, tickets = workspace or new_workspace(x, n, parts, tile)
    split_k[(*grid, parts)](
        x, weights, out, partial, tickets, m, n, k, k_per_cta, *rows, **constants, num_warps=num_warps,
        num_stages=num_stages,
    )  # fmt: skip
    return out


def _rows_of(rows: int) -> int:
    """Rows of x that a CTA takes."""
    return max(_LEAST_ROWS, min(64, power_of_two(rows)))
