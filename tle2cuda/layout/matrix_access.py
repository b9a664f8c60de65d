"""When a layout's access to shared memory can be made by `ldmatrix` and `stmatrix`.

These move 8 x 8 matrices of 16-bit elements: 8 rows of 16 contiguous bytes, whose addresses 8 lanes
supply, against one 32-bit register of every lane (PTX ISA, "ldmatrix", "stmatrix"). Lane l holds bytes
4 * (l % 4) .. + 3 of row l / 4, or, with `.trans`, elements 2 * (l % 4) and + 1 of column l / 4.
Whether a layout is of that form is read off its offsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from . import f2
from .distributed import LANE_BITS, Layout
from .expressions import THREAD, IndexExpression, linear_terms
from .shared import SharedLayout, access_offsets, vector_groups

_WORD_BYTES = 4
_ROW_BYTES = 16
_TRANSPOSED_ELEMENT_BYTES = 2
_MAX_MATRICES_LOG2 = 2  # .x4


@dataclass(frozen=True, slots=True)
class MatrixAccess:
    """How to move a tile with `ldmatrix` or `stmatrix`.

    Attributes:
        matrices: 8 x 8 matrices of one instruction: 1, 2 or 4.
        transposed: Whether the `.trans` form is needed.
        instructions: For each instruction, for each of its matrices, the registers (elements) that its
            32-bit register packs, lowest first.
        offsets_elems: For each instruction, a constant element offset to XOR onto that of the thread.
        address_images: Element offsets of the bits of the thread that supplies a row address (lanes,
            then warps): lane 8 * m + i supplies row i of matrix m.
    """

    matrices: int
    transposed: bool
    instructions: tuple[tuple[tuple[int, ...], ...], ...]
    offsets_elems: tuple[int, ...]
    address_images: tuple[int, ...]

    def address(self) -> IndexExpression:
        """Return the element offset of the row that a thread supplies, for the instruction at offset 0."""
        return linear_terms([(THREAD, self.address_images)])


def matrix_access(layout: Layout, offset_map: SharedLayout) -> MatrixAccess | None:
    """Return how `ldmatrix` or `stmatrix` moves a tile of this layout, or None when they cannot.

    Stores of replicated warps write the same values several times. 32-bit and 8-bit elements move as
    pieces of rows; only 16-bit elements can be transposed.
    """
    element_bytes = offset_map.element_bytes
    if element_bytes > _WORD_BYTES:
        return None
    registers, threads = access_offsets(layout, offset_map)
    lanes, warps = threads[:LANE_BITS], threads[LANE_BITS:]
    row = _ROW_BYTES // element_bytes
    word = _WORD_BYTES // element_bytes
    if lanes[:2] == (word, 2 * word) and _in_whole_rows((*lanes[2:], *warps), row):
        span = f2.EchelonBasis(registers)
        if all(1 << bit in span for bit in range(word.bit_length() - 1)):
            groups = vector_groups(layout, offset_map, word)
            heads = [group[0] for group in groups]
            if _in_whole_rows((f2.apply(registers, head) for head in heads), row):
                packed = {group[0]: group for group in groups}
                return _plan(registers, lanes[2:], warps, f2.independent(heads), packed, transposed=False)
    if element_bytes == _TRANSPOSED_ELEMENT_BYTES and lanes[2:] == (1, 2, 4):
        kept = _kept_register_bits(layout)
        if kept and _in_whole_rows((*lanes[:2], *warps, *registers), row):
            pair, *rest = kept
            heads = [f2.apply(rest, choice) for choice in range(1 << len(rest))]
            packed = {head: (head, head ^ pair) for head in heads}
            rows = (f2.apply(registers, pair), *lanes[:2])
            return _plan(registers, rows, warps, tuple(rest), packed, transposed=True)
    return None


def _in_whole_rows(offsets: Iterable[int], row_elems: int) -> bool:
    return all(offset % row_elems == 0 for offset in offsets)


def _kept_register_bits(layout: Layout) -> list[int]:
    free = layout.replicated_registers
    return [1 << bit for bit in range(len(layout.registers)) if not free >> bit & 1]


def _plan(
    registers: Sequence[int],
    row_images: Sequence[int],
    warps: Sequence[int],
    steps: Sequence[int],
    packed: dict[int, tuple[int, ...]],
    transposed: bool,
) -> MatrixAccess:
    """Group words by fours, twos or ones: `steps` are the register steps between words."""
    within, across = steps[:_MAX_MATRICES_LOG2], steps[_MAX_MATRICES_LOG2:]
    bases = [f2.apply(across, choice) for choice in range(1 << len(across))]
    instructions = tuple(
        tuple(packed[base ^ f2.apply(within, matrix)] for matrix in range(1 << len(within))) for base in bases
    )
    by_matrix = [f2.apply(registers, step) for step in within]
    unused = [0] * (_MAX_MATRICES_LOG2 - len(within))
    return MatrixAccess(
        1 << len(within),
        transposed,
        instructions,
        tuple(f2.apply(registers, base) for base in bases),
        (*row_images, *by_matrix, *unused, *warps),
    )
