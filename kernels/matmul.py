"""Matrix product in the plain form of tutorials: one CTA per tile of the result, loads, `tl.dot`, one store."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import element_strides


@tle2cuda.jit
def matmul(
    a,
    b,
    c,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    # Neighbouring programs share rows of tiles, GROUP_M at a time, so that what they read stays in the L2 cache.
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    first_m = pid // (GROUP_M * tiles_n) * GROUP_M
    group_m = min(tiles_m - first_m, GROUP_M)
    pid_m = first_m + pid % (GROUP_M * tiles_n) % group_m
    pid_n = pid % (GROUP_M * tiles_n) // group_m

    # Rows and columns beyond the edge wrap around: they are computed from others and never stored.
    rows = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    cols = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    k = tl.arange(0, BLOCK_K)
    a_ptrs = a + rows[:, None] * stride_am + k[None, :] * stride_ak
    b_ptrs = b + k[:, None] * stride_bk + cols[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(tl.cdiv(K, BLOCK_K)):
        a_tile = tl.load(a_ptrs, mask=k[None, :] < K - step * BLOCK_K, other=0.0)
        b_tile = tl.load(b_ptrs, mask=k[:, None] < K - step * BLOCK_K, other=0.0)
        acc = tl.dot(a_tile, b_tile, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c + rows[:, None] * stride_cm + cols[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(c.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))


TILE = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "GROUP_M": 8}


def multiply(a: Any, b: Any, c: Any, num_warps: int = 4, num_stages: int = 3, **tile: int) -> Any:
    """Writes `a` [M, K] times `b` [K, N] to `c` [M, N]; any strides.

    Args:
        a: Left operand.
        b: Right operand, of the same dtype.
        c: Result.
        num_warps: Warps of a CTA.
        num_stages: Steps along K whose loads may be on their way at a time.
        **tile: Block sizes other than those of `TILE`.
    """
    (m, k), (other_k, n) = a.shape, b.shape
    if k != other_k or c.shape != (m, n):
        raise ValueError(f"cannot multiply {a.shape} and {b.shape} into {c.shape}")
    constants = {**TILE, **tile}
    grid = (-(-m // constants["BLOCK_M"]) * -(-n // constants["BLOCK_N"]),)
    strides = [stride for matrix in (a, b, c) for stride in element_strides(matrix)]
    matmul[grid](a, b, c, m, n, k, *strides, **constants, num_warps=num_warps, num_stages=num_stages)
    return c


def matmul_reference(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """The same in NumPy, computed in float64."""
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(a.dtype)
