"""Scales of blocks of a product's operands (PTX ISA, mma and tcgen05, "Block Scaling").

A tile of scales is `[rows, groups]`: of the left operand a row for each of its rows, of the right one for each of its
columns, and groups along K. Instructions take four scales of a row as one word of 32 bits, of which they use one, two or
four. Tiles are repeated to whole words, for tensor memory to 128 rows as well.

In tensor memory four columns of 32 lanes hold the scales of 128 rows and four groups: row r is in lane r % 32 and
column r / 32, and the other quarters of the lanes say the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from .distributed import Coordinate, Layout, log2_exact
from .fragments import Fragment
from .mma import MmaInstruction, repeated_fragment
from .shared import SharedLayout

BYTES_OF_STEP = 32
"""K of an instruction on a tensor core, in bytes."""

SCALES_OF_WORD = 4
TENSOR_ROWS_OF_SCALES = 128
COLUMNS_OF_BLOCK = 4
BYTES_OF_BLOCK = TENSOR_ROWS_OF_SCALES * SCALES_OF_WORD

_LANES_OF_BLOCK = 32
_BYTES_OF_LANE = 16
_LANES = (((8, 0), (0, 0), (1, 0), (2, 0), (4, 0)), ((0, 0), (0, 0), (1, 0), (2, 0), (4, 0)))
"""Which row each bit of the lane leads to: of the left operand the even threads of four hold rows 0 to 7, the odd ones the
others."""


def scale_words(instruction: MmaInstruction, sums: Layout, shape: Sequence[int], side: int) -> Layout:
    """Return the layout of scales `[rows, groups]` for `mma.sync`; warps that read the same rows hold copies.

    Args:
        instruction: What multiplies.
        sums: Layout of the accumulator.
        shape: Of the scales, groups in whole words.
        side: 0 for the left operand, 1 for the right one.
    """
    rows = instruction.shape[side]
    fragment = Fragment((rows, SCALES_OF_WORD), ((0, 1), (0, 2)), _LANES[side])
    warps: list[Coordinate] = [(image[sums.rank - 2 + side], 0) for image in sums.warps]
    return repeated_fragment(fragment, tuple(shape), warps, (0, 1)).drop_replicated_registers()


def scale_offsets(shape: Sequence[int]) -> SharedLayout:
    """Return where scales `[rows, groups]` lie in shared memory, to be copied to tensor memory block by block.

    Blocks of rows come after each other, then those of groups, so that the columns of one instruction are neighbours.
    """
    rows, groups = shape
    blocks = rows // TENSOR_ROWS_OF_SCALES
    of_words = BYTES_OF_BLOCK * blocks // SCALES_OF_WORD  # from one scale of a word to that of the next word
    of_groups = [1 << bit if 1 << bit < SCALES_OF_WORD else of_words << bit for bit in _bits(groups)]
    of_rows = [_row_offset(1 << bit) for bit in _bits(rows)]
    return SharedLayout.from_flat(shape, (*of_groups, *of_rows), 1)


def _row_offset(row: int) -> int:
    if row < _LANES_OF_BLOCK:
        return row * _BYTES_OF_LANE
    if row < TENSOR_ROWS_OF_SCALES:
        return row // _LANES_OF_BLOCK * SCALES_OF_WORD
    return row // TENSOR_ROWS_OF_SCALES * BYTES_OF_BLOCK


def _bits(extent: int) -> range:
    return range(log2_exact(extent, "extent of scales"))


def scale_columns(shape: Sequence[int]) -> int:
    """Columns of tensor memory that scales `[rows, groups]` take."""
    return shape[0] // TENSOR_ROWS_OF_SCALES * (shape[1] // SCALES_OF_WORD) * COLUMNS_OF_BLOCK


def whole_scales(rows: int, groups: int, in_tensor_memory: bool) -> tuple[int, int]:
    """Return the shape to which a tile of scales is repeated."""
    least = TENSOR_ROWS_OF_SCALES if in_tensor_memory else 1
    return max(rows, least), max(groups, SCALES_OF_WORD)
