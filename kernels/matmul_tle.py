"""Matrix product written out in TLE: the copy engine brings and takes tiles, two warpgroups multiply.

A grid of one CTA per multiprocessor goes through all tiles of the result, in groups of rows that share columns in the L2
cache. One warp asks for tiles of both operands; eight warps multiply them by `tle.gpu.wgmma`, 64 rows each four, and hand a
stage back while the next product is in flight. Accumulators leave as 16-bit floats through shared memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
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
    turn = 0
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        m, n = tile_of(tile, tiles_m, tiles_n, GROUP_M)
        for step in range(steps):
            slot = writer.acquire(turn + step)
            tle.gpu.copy(a, slot.a, [BLOCK_M, BLOCK_K], [m * BLOCK_M, step * BLOCK_K])
            tle.gpu.copy(b, slot.b, [BLOCK_K, BLOCK_N], [step * BLOCK_K, n * BLOCK_N])
            writer.commit(turn + step)
        turn += steps


@tle2cuda.jit
def multiply_tiles(
    reader, c, out, tiles_m, tiles_n, steps, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr
):
    """One product in flight while the stage of the last one is handed back."""
    turn = 0
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        m, n = tile_of(tile, tiles_m, tiles_n, GROUP_M)
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for step in range(steps):
            slot = reader.wait(turn + step).slot
            acc = tle.gpu.wgmma(slot.a, slot.b, acc)
            acc = tle.gpu.wgmma_wait(1, acc)
            if step > 0:
                reader.release(turn + step - 1)
        acc = tle.gpu.wgmma_wait(0, acc)
        turn += steps
        reader.release(turn - 1)
        for half in tl.static_range(2):
            part = tle.extract_tile(acc, (0, half), (BLOCK_M, BLOCK_N // 2))
            tl.store(tle.gpu.local_ptr(out), part.to(out.dtype))
            tle.gpu.copy(out, c, [BLOCK_M, BLOCK_N // 2], [m * BLOCK_M, n * BLOCK_N + half * (BLOCK_N // 2)])


@tle2cuda.jit
def matmul_tle(
    a, b, c, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, STAGES: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    dtype: tl.constexpr = a.dtype.element_ty
    a_desc = tl.make_tensor_descriptor(a, [M, K], [stride_am, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b, [K, N], [stride_bk, 1], [BLOCK_K, BLOCK_N])
    c_desc = tl.make_tensor_descriptor(c, [M, N], [stride_cm, 1], [BLOCK_M, BLOCK_N // 2])
    a_ring = tle.gpu.alloc([STAGES, BLOCK_M, BLOCK_K], dtype=dtype)
    b_ring = tle.gpu.alloc([STAGES, BLOCK_K, BLOCK_N], dtype=dtype)
    out = tle.gpu.alloc([BLOCK_M, BLOCK_N // 2], dtype=c.dtype.element_ty)
    pipe = tle.pipe(capacity=STAGES, name="tiles", a=a_ring, b=b_ring)
    tiles_m, tiles_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    tle.gpu.warp_specialize(
        [
            (multiply_tiles, (pipe.reader(), c_desc, out, tiles_m, tiles_n, steps, BLOCK_M, BLOCK_N, GROUP_M)),
            (fetch, (pipe.writer(), a_desc, b_desc, tiles_m, tiles_n, steps, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M)),
        ],
        [1],
        [40],
    )


TILE = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "STAGES": 4, "GROUP_M": 16}
NUM_WARPS = 8


def multiply(a: Any, b: Any, c: Any, num_ctas: int | None = None, **tile: int) -> Any:
    """Writes `a` [M, K] times `b` [K, N] to `c` [M, N]; rows contiguous, their strides multiples of 16 bytes.

    Args:
        a: Left operand, 16-bit floats.
        b: Right operand, of the same dtype.
        c: Result.
        num_ctas: Size of the grid; as many as the device has multiprocessors unless given.
        **tile: Block sizes and stages other than those of `TILE`.
    """
    (m, k), (other_k, n) = a.shape, b.shape
    if k != other_k or c.shape != (m, n):
        raise ValueError(f"cannot multiply {a.shape} and {b.shape} into {c.shape}")
    constants = {**TILE, **tile}
    tiles = -(-m // constants["BLOCK_M"]) * -(-n // constants["BLOCK_N"])
    grid = (min(num_ctas if num_ctas is not None else 132, tiles),)
    matmul_tle[grid](a, b, c, m, n, k, *(_row_stride(matrix) for matrix in (a, b, c)), **constants, num_warps=NUM_WARPS)
    return c


def _row_stride(matrix: Any) -> int:
    if hasattr(matrix, "stride"):  # torch counts elements
        return int(matrix.stride(0))
    return int(matrix.strides[0] // matrix.itemsize)


def matmul_reference(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """The same in NumPy, computed in float64."""
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(a.dtype)
