"""Layouts of matrix products computed by ordinary multiply-adds."""

from __future__ import annotations

from collections.abc import Sequence

from .blocked import Filler, padded
from .distributed import LANE_BITS, Layout, flat_bits, log2_exact

_COLUMN_LANE_BITS = 3  # a warp covers 4 rows of 8 pieces: both operands' reads are then mostly broadcasts


def outer_product(
    shape: Sequence[int], num_warps: int, row_vector: int = 1, column_vector: int = 1, rows_stay_in_warps: bool = False
) -> Layout:
    """Return the layout of an accumulator `[..., M, N]` of which each thread holds a block of rows and columns.

    A thread's block is as near to a square as the tile allows, since a step along K reads one row and one column
    of it for all its products. Neighbouring lanes hold neighbouring pieces; what a thread holds beyond one piece
    lies apart, so that a warp reads neighbouring words of shared memory.

    Args:
        shape: The tile's shape, powers of two; axes in front of the last two are batches.
        num_warps: Warps of the CTA, a power of two.
        row_vector: Neighbouring rows of one thread, where the left operand can be read by vectors along M.
        column_vector: Neighbouring columns of one thread, where the right one can be read by vectors along N.
        rows_stay_in_warps: Keep each row inside of one warp as far as possible, for reductions along rows.
    """
    tile = tuple(shape)
    rows, columns = len(tile) - 2, len(tile) - 1
    filler = Filler(tile)
    spare = max(0, flat_bits(tile) - LANE_BITS - log2_exact(num_warps, "num_warps"))
    registers = filler.take(columns, min(spare, log2_exact(column_vector, "column_vector")))
    registers += filler.take(rows, min(spare - len(registers), log2_exact(row_vector, "row_vector")))
    along_rows = min(LANE_BITS - min(_COLUMN_LANE_BITS, filler.free[columns]), filler.free[rows])
    lanes = filler.take(columns, LANE_BITS - along_rows)
    lanes += filler.take(rows, LANE_BITS - len(lanes))
    batches = tuple(reversed(range(rows)))
    lanes += filler.take_in_order(batches, LANE_BITS - len(lanes))
    warp_bits = log2_exact(num_warps, "num_warps")
    warps = filler.take_in_order(batches, warp_bits)
    held = [log2_exact(row_vector, "row_vector"), log2_exact(column_vector, "column_vector")]
    while len(warps) < warp_bits and filler.free[rows] + filler.free[columns]:
        more_rows = filler.free[rows] + held[0] >= filler.free[columns] + held[1]
        axis = rows if filler.free[rows] and (more_rows or rows_stay_in_warps or not filler.free[columns]) else columns
        warps += filler.take(axis, 1)
    registers += filler.take_in_order((columns, rows, *batches), flat_bits(tile))
    return Layout.from_flat(tile, registers, padded(lanes, LANE_BITS), padded(warps, warp_bits))
