"""Matrix product of float8 with a scale for each block: of 1 x 128 elements on the left, of 128 x 128 on the right.

Tensor cores sum 128 products at a time; what they give is scaled and added in float32.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import are_rows_dense, element_strides

SCALE_BLOCK = 128


@tle2cuda.jit
def fp8_matmul(
    a,
    b,
    c,
    a_scales,
    b_scales,
    M,
    N,
    K,
    stride_am,
    stride_bn,
    stride_cm,
    stride_asm,
    stride_ask,
    stride_bsn,
    stride_bsk,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    first_m = pid // (GROUP_M * tiles_n) * GROUP_M
    group_m = tl.minimum(tiles_m - first_m, GROUP_M)
    pid_m = first_m + pid % (GROUP_M * tiles_n) % group_m
    pid_n = pid % (GROUP_M * tiles_n) // group_m

    rows, cols = pid_m * BLOCK_M + tl.arange(0, BLOCK_M), pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, 128)
    # Rows and columns beyond the edge repeat the last one: they are computed and never stored.
    a_rows = tl.minimum(rows, M - 1)
    a_ptrs = a + a_rows.to(tl.int64)[:, None] * stride_am + k[None, :]
    b_ptrs = b + tl.minimum(cols, N - 1).to(tl.int64)[:, None] * stride_bn + k[None, :]
    a_scale_ptrs = a_scales + a_rows * stride_asm
    b_scale_ptr = b_scales + pid_n * BLOCK_N // 128 * stride_bsn
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for first in range(0, K, 128):
        a_tile = tl.load(a_ptrs, mask=k[None, :] < K - first, other=0.0)
        b_tile = tl.load(b_ptrs, mask=k[None, :] < K - first, other=0.0)
        scale = tl.load(a_scale_ptrs) * tl.load(b_scale_ptr)
        acc += tl.dot(a_tile, tl.trans(b_tile)) * scale[:, None]
        a_ptrs += 128
        b_ptrs += 128
        a_scale_ptrs += stride_ask
        b_scale_ptr += stride_bsk
    c_ptrs = c + rows.to(tl.int64)[:, None] * stride_cm + cols[None, :]
    tl.store(c_ptrs, acc.to(c.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))


class Tile(NamedTuple):
    """Sizes of a CTA's work."""

    block_m: int
    block_n: int
    group_m: int
    num_warps: int
    num_stages: int


TILE = Tile(128, 128, 8, 8, 3)


def multiply_fp8(a: Any, b: Any, c: Any, a_scales: Any, b_scales: Any, *, tile: Tile = TILE) -> Any:
    """Writes the product of `a` and the transpose of `b`, both scaled by blocks, to `c`.

    Args:
        a: float8 [M, K].
        b: float8 [N, K].
        c: Result, [M, N].
        a_scales: float32 [M, ceil(K / 128)]; any strides.
        b_scales: float32 [ceil(N / 128), ceil(K / 128)].
        tile: Sizes of a CTA's work; its columns divide 128.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    (m, k), (n, other_k) = a.shape, b.shape
    steps = -(-k // SCALE_BLOCK)
    shapes = {"c": (m, n), "a_scales": (m, steps), "b_scales": (-(-n // SCALE_BLOCK), steps)}
    for name, array in {"c": c, "a_scales": a_scales, "b_scales": b_scales}.items():
        if k != other_k or tuple(array.shape) != shapes[name]:
            raise ValueError(f"{name} must be {shapes[name]} for a {tuple(a.shape)}, b {tuple(b.shape)}, got {array.shape}")
    if not are_rows_dense(a, b, c):
        raise ValueError("the elements of each row must be neighbours")
    if SCALE_BLOCK % tile.block_n:
        raise ValueError(f"block_n must divide {SCALE_BLOCK}, got {tile.block_n}")
    grid = (-(-m // tile.block_m) * -(-n // tile.block_n),)
    rows = [element_strides(matrix)[0] for matrix in (a, b, c)]
    fp8_matmul[grid](
        a, b, c, a_scales, b_scales, m, n, k, *rows, *element_strides(a_scales), *element_strides(b_scales),
        BLOCK_M=tile.block_m, BLOCK_N=tile.block_n, GROUP_M=tile.group_m, num_warps=tile.num_warps,
        num_stages=tile.num_stages,
    )  # fmt: skip
    return c


def fp8_matmul_reference(a: NDArray[Any], b: NDArray[Any], a_scales: NDArray[Any], b_scales: NDArray[Any]) -> NDArray[Any]:
    """The same in NumPy, in float64."""
    k = a.shape[1]
    left = a.astype(np.float64) * np.repeat(a_scales.astype(np.float64), SCALE_BLOCK, 1)[:, :k]
    spread = np.repeat(np.repeat(b_scales.astype(np.float64), SCALE_BLOCK, 0), SCALE_BLOCK, 1)
    return left @ (b.astype(np.float64) * spread[: b.shape[0], :k]).T
