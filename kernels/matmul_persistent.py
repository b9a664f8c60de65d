"""Matrix product by tensor descriptors, with CTAs that stay: each takes every so-many-th tile of the result."""

from __future__ import annotations

from typing import Any, NamedTuple

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import are_rows_dense, element_strides, is_without_products, persistent_ctas
from tle2cuda.triton.tools.tensor_descriptor import TensorDescriptor


@tle2cuda.jit
def matmul_persistent(
    a,
    b,
    c,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    B_BY_COLUMNS: tl.constexpr,
    SPECIALIZE: tl.constexpr,
):
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    per_group = GROUP_M * tiles_n
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0), warp_specialize=SPECIALIZE):
        # Neighbouring CTAs share rows of tiles, GROUP_M at a time, so that what they read stays in the L2 cache.
        first_m = tile // per_group * GROUP_M
        group_m = tl.minimum(tiles_m - first_m, GROUP_M)
        row = (first_m + tile % per_group % group_m) * BLOCK_M
        col = tile % per_group // group_m * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for first in range(0, K, BLOCK_K):
            a_tile = a.load([row, first])
            if B_BY_COLUMNS:
                acc = tl.dot(a_tile, tl.trans(b.load([col, first])), acc)
            else:
                acc = tl.dot(a_tile, b.load([first, col]), acc)
        c.store([row, col], acc.to(c.dtype))


class Tile(NamedTuple):
    """Sizes of a CTA's work."""

    block_m: int
    block_n: int
    block_k: int
    group_m: int
    num_warps: int
    num_stages: int


TILE = Tile(128, 256, 64, 8, 8, 3)


def multiply_persistent(
    a: Any,
    b: Any,
    c: Any,
    *,
    tile: Tile = TILE,
    specialize: bool = True,
    ctas: int | None = None,
) -> Any:
    """Writes `a` [M, K] times `b` [K, N] to `c` [M, N]; the elements of a row are neighbours, or in b those of a column.

    Args:
        a: Left operand.
        b: Right operand, of the same dtype.
        c: Result.
        tile: Sizes of a CTA's work.
        specialize: Some warps load, the others multiply.
        ctas: How many CTAs share the work; left out: one for each multiprocessor.

    Raises:
        ValueError: The shapes or strides do not fit.
    """
    (m, k), (b_k, n) = a.shape, b.shape
    if k != b_k or tuple(c.shape) != (m, n):
        raise ValueError(f"cannot multiply {a.shape} and {b.shape} into {c.shape}")
    by_columns = not are_rows_dense(b) and element_strides(b)[0] == 1
    right = b.T if by_columns else b
    if not are_rows_dense(a, right, c):
        raise ValueError("the elements of each row must be neighbours; of b, those of each column may")
    if is_without_products(c, k):
        return c
    block_m, block_n, block_k, group_m, num_warps, num_stages = tile
    blocks = ([block_m, block_k], [block_n, block_k] if by_columns else [block_k, block_n], [block_m, block_n])
    described = [
        TensorDescriptor(matrix, list(matrix.shape), list(element_strides(matrix)), block)
        for matrix, block in zip((a, right, c), blocks, strict=True)
    ]
    tiles = -(-m // block_m) * -(-n // block_n)
    grid = (persistent_ctas(a, tiles, 1) if ctas is None else ctas,)
    matmul_persistent[grid](
        *described, m, n, k, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP_M=group_m,
        B_BY_COLUMNS=by_columns, SPECIALIZE=specialize, num_warps=num_warps, num_stages=num_stages,
    )  # fmt: skip
    return c
