"""Matrix product written out in TLE: the copy engine brings and takes tiles, two warpgroups multiply.

A grid of one CTA per multiprocessor goes through all tiles of the result, in groups of rows that share columns in the L2
cache. One warp asks for tiles of both operands; two partitions of four warps multiply them by `tle.gpu.wgmma`, half of the
rows each, and hand a stage back while the next product is in flight. They meet nowhere, so one rounds its sums and sends
them off while the other multiplies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import are_rows_dense, element_strides, is_without_products
from tle2cuda.language import tle


@tle2cuda.jit
def tile_of(tile, tiles_m, tiles_n, GROUP_M: tl.constexpr):
    """Row and column of a tile: down groups of GROUP_M rows, column by column."""
    first = tile // (GROUP_M * tiles_n) * GROUP_M
    rows = min(tiles_m - first, GROUP_M)
    return first + tile % (GROUP_M * tiles_n) % rows, tile % (GROUP_M * tiles_n) // rows


@tle2cuda.jit
def fetch(
    writer, a, b, tiles_m, tiles_n, steps,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """Ask for the tiles of every step, a ring ahead of those who multiply."""
    HALF: tl.constexpr = BLOCK_M // 2
    turn = 0
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        m, n = tile_of(tile, tiles_m, tiles_n, GROUP_M)
        for step in range(steps):
            slot = writer.acquire(turn + step)
            tle.gpu.copy(a, slot.upper, [HALF, BLOCK_K], [m * BLOCK_M, step * BLOCK_K])
            tle.gpu.copy(a, slot.lower, [HALF, BLOCK_K], [m * BLOCK_M + HALF, step * BLOCK_K])
            tle.gpu.copy(b, slot.b, [BLOCK_K, BLOCK_N], [step * BLOCK_K, n * BLOCK_N])
            writer.commit(turn + step)
        turn += steps


@tle2cuda.jit
def multiply_half(
    reader, outs, c, tiles_m, tiles_n, steps, IS_LOWER: tl.constexpr, HALF: tl.constexpr, BLOCK_N: tl.constexpr,
    GROUP_M: tl.constexpr, OUT_N: tl.constexpr,
):  # fmt: skip
    """Half of the rows of each tile: one product in flight while the stage of the last one is handed back."""
    turn = 0
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        m, n = tile_of(tile, tiles_m, tiles_n, GROUP_M)
        acc = tl.zeros((HALF, BLOCK_N), tl.float32)
        for step in range(steps):
            slot = reader.wait(turn + step).slot
            if IS_LOWER:
                acc = tle.gpu.wgmma(slot.lower, slot.b, acc)
            else:
                acc = tle.gpu.wgmma(slot.upper, slot.b, acc)
            acc = tle.gpu.wgmma_wait(1, acc)
            if step > 0:
                reader.release(turn + step - 1)
        acc = tle.gpu.wgmma_wait(0, acc)
        turn += steps
        reader.release(turn - 1)
        row = (2 * m + (1 if IS_LOWER else 0)) * HALF
        for part in tl.static_range(BLOCK_N // OUT_N):
            columns = tle.extract_tile(acc, (0, part), (HALF, OUT_N))
            out = outs.slot(part % 2)
            tl.store(tle.gpu.local_ptr(out), columns.to(out.dtype))
            tle.gpu.copy(out, c, [HALF, OUT_N], [row, n * BLOCK_N + part * OUT_N])


@tle2cuda.jit
def matmul_tle(
    a, b, c, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, STAGES: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    dtype: tl.constexpr = a.dtype.element_ty
    HALF: tl.constexpr = BLOCK_M // 2
    OUT_N: tl.constexpr = min(BLOCK_N, 64)
    a_desc = tl.make_tensor_descriptor(a, [M, K], [stride_am, 1], [HALF, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b, [K, N], [stride_bk, 1], [BLOCK_K, BLOCK_N])
    c_desc = tl.make_tensor_descriptor(c, [M, N], [stride_cm, 1], [HALF, OUT_N])
    upper = tle.gpu.alloc([STAGES, HALF, BLOCK_K], dtype=dtype)
    lower = tle.gpu.alloc([STAGES, HALF, BLOCK_K], dtype=dtype)
    b_ring = tle.gpu.alloc([STAGES, BLOCK_K, BLOCK_N], dtype=dtype)
    upper_out = tle.gpu.alloc([2, HALF, OUT_N], dtype=c.dtype.element_ty)
    lower_out = tle.gpu.alloc([2, HALF, OUT_N], dtype=c.dtype.element_ty)
    pipe = tle.pipe(
        capacity=STAGES, name="tiles", readers=("upper", "lower"), upper=upper, lower=lower, b=b_ring
    )  # fmt: skip
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    first, second = pipe.reader("upper"), pipe.reader("lower")
    tle.gpu.warp_specialize(
        [
            (multiply_half, (first, upper_out, c_desc, tiles_m, tiles_n, steps, False, HALF, BLOCK_N, GROUP_M, OUT_N)),
            (multiply_half, (second, lower_out, c_desc, tiles_m, tiles_n, steps, True, HALF, BLOCK_N, GROUP_M, OUT_N)),
            (fetch, (pipe.writer(), a_desc, b_desc, tiles_m, tiles_n, steps, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M)),
        ],
        [4, 1],
        [232, 40],
    )


TILE = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "STAGES": 4, "GROUP_M": 8}
NUM_WARPS = 4
_MULTIPROCESSORS = 132  # of an H200
_NARROWER = ({"BLOCK_N": 128, "BLOCK_K": 64, "STAGES": 6}, {"BLOCK_N": 64, "BLOCK_K": 64, "STAGES": 8})


def tile_for(m: int, n: int, num_ctas: int = _MULTIPROCESSORS) -> dict[str, int]:
    """Block sizes for a result: the widest tile of which there are enough for most CTAs."""
    for narrower in ({}, *_NARROWER):
        tile = {**TILE, **narrower}
        if 4 * -(-m // tile["BLOCK_M"]) * -(-n // tile["BLOCK_N"]) >= 3 * num_ctas:
            break
    return tile


def multiply(a: Any, b: Any, c: Any, num_ctas: int = _MULTIPROCESSORS, **tile: int) -> Any:
    """Writes `a` [M, K] times `b` [K, N] to `c` [M, N]; rows contiguous, their strides multiples of 16 bytes.

    Args:
        a: Left operand, 16-bit floats.
        b: Right operand, of the same dtype.
        c: Result.
        num_ctas: Size of the grid, as many as the device has multiprocessors.
        **tile: Block sizes and stages other than those of `tile_for`.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    (m, k), (other_k, n) = a.shape, b.shape
    if k != other_k or c.shape != (m, n):
        raise ValueError(f"cannot multiply {a.shape} and {b.shape} into {c.shape}")
    if not are_rows_dense(a, b, c):
        raise ValueError("the elements of each row must be neighbours")
    if is_without_products(c, k):
        return c
    constants = {**tile_for(m, n, num_ctas), **tile}
    tiles = -(-m // constants["BLOCK_M"]) * -(-n // constants["BLOCK_N"])
    strides = (element_strides(matrix)[0] for matrix in (a, b, c))
    matmul_tle[(min(num_ctas, tiles),)](a, b, c, m, n, k, *strides, **constants, num_warps=NUM_WARPS)
    return c


def matmul_reference(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """The same in NumPy, computed in float64."""
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(a.dtype)
