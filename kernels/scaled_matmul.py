"""Matrix product in the formats of the Open Compute Project: float8 or float4 with one scale for 32 neighbours along K."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import are_rows_dense, element_strides

SCALE_BLOCK = 32
FORMATS = ("e4m3", "e5m2", "e2m1")  # the last one: two elements in a byte, the first one in its low half


@tle2cuda.jit
def scaled_matmul(
    a,
    a_scales,
    b,
    b_scales,
    c,
    M,
    N,
    K,
    stride_am,
    stride_asm,
    stride_bn,
    stride_bsn,
    stride_cm,
    A_FORMAT: tl.constexpr,
    B_FORMAT: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    A_PACK: tl.constexpr = 2 if A_FORMAT == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B_FORMAT == "e2m1" else 1
    rows, cols = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    a_k, b_k, s_k = tl.arange(0, BLOCK_K // A_PACK), tl.arange(0, BLOCK_K // B_PACK), tl.arange(0, BLOCK_K // 32)
    a_rows, b_cols = tl.minimum(rows, M - 1).to(tl.int64)[:, None], tl.minimum(cols, N - 1).to(tl.int64)[:, None]
    a_ptrs, b_ptrs = a + a_rows * stride_am + a_k[None, :], b + b_cols * stride_bn + b_k[None, :]
    a_scale_ptrs, b_scale_ptrs = (
        a_scales + a_rows * stride_asm + s_k[None, :],
        b_scales + b_cols * stride_bsn + s_k[None, :],
    )
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for first in range(0, K, BLOCK_K):
        left = K - first
        a_tile = tl.load(a_ptrs, mask=a_k[None, :] < left // A_PACK, other=0)
        b_tile = tl.load(b_ptrs, mask=b_k[None, :] < left // B_PACK, other=0)
        a_scale = tl.load(a_scale_ptrs, mask=s_k[None, :] < left // 32, other=0)
        b_scale = tl.load(b_scale_ptrs, mask=s_k[None, :] < left // 32, other=0)
        acc = tl.dot_scaled(a_tile, a_scale, A_FORMAT, tl.trans(b_tile), b_scale, B_FORMAT, acc)
        a_ptrs += BLOCK_K // A_PACK
        b_ptrs += BLOCK_K // B_PACK
        a_scale_ptrs += BLOCK_K // 32
        b_scale_ptrs += BLOCK_K // 32
    c_ptrs = c + rows.to(tl.int64)[:, None] * stride_cm + cols[None, :]
    tl.store(c_ptrs, acc.to(c.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))


def multiply_scaled(
    a: Any,
    a_scales: Any,
    b: Any,
    b_scales: Any,
    c: Any,
    formats: tuple[str, str] = ("e4m3", "e4m3"),
    block: tuple[int, int, int] = (128, 128, 128),
    num_warps: int = 8,
) -> Any:
    """Writes the product of `a` and the transpose of `b`, both scaled by blocks of 32 along K, to `c`.

    Args:
        a: uint8 [M, K], or [M, K / 2] of "e2m1": the bits.
        a_scales: uint8 [M, K / 32]: exponents of two, 127 for one.
        b: uint8 [N, K], or [N, K / 2].
        b_scales: uint8 [N, K / 32].
        c: Result, [M, N].
        formats: Of a and b, names in `FORMATS`.
        block: Rows, columns, and steps along K of a CTA.
        num_warps: Warps of a CTA.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    (m, n), k = c.shape, a_scales.shape[1] * SCALE_BLOCK
    packs = [2 if name == "e2m1" else 1 for name in formats]
    shapes = {"a": (m, k // packs[0]), "b": (n, k // packs[1]), "a_scales": (m, k // 32), "b_scales": (n, k // 32)}
    arrays = {"a": a, "b": b, "a_scales": a_scales, "b_scales": b_scales}
    for name, array in arrays.items():
        if tuple(array.shape) != shapes[name] or not are_rows_dense(array):
            raise ValueError(f"{name} must be {list(shapes[name])}, its rows' elements neighbours, got {list(array.shape)}")
    if not are_rows_dense(c):
        raise ValueError("the elements of a row of c must be neighbours")
    rows = [element_strides(array)[0] for array in (a, a_scales, b, b_scales, c)]
    scaled_matmul[-(-m // block[0]), -(-n // block[1])](
        a, a_scales, b, b_scales, c, m, n, k, *rows, *formats, *block, num_warps=num_warps
    )
    return c


def decode(bits: NDArray[np.uint8], scales: NDArray[np.uint8], name: str) -> NDArray[np.float64]:
    """The numbers that bits and scales stand for."""
    if name == "e2m1":
        bits = np.stack([bits & 15, bits >> 4], -1).reshape(bits.shape[0], -1)
        values = bits.view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    else:
        values = bits.view(ml_dtypes.float8_e4m3fn if name == "e4m3" else ml_dtypes.float8_e5m2).astype(np.float64)
    return values * np.repeat(np.exp2(scales.astype(np.float64) - 127), SCALE_BLOCK, 1)


def scaled_matmul_reference(
    a: NDArray[np.uint8],
    a_scales: NDArray[np.uint8],
    b: NDArray[np.uint8],
    b_scales: NDArray[np.uint8],
    formats: tuple[str, str],
) -> NDArray[np.float64]:
    """The same in NumPy, in float64."""
    return decode(a, a_scales, formats[0]) @ decode(b, b_scales, formats[1]).T
