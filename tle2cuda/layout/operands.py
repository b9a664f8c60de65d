"""Where operands of tensor-core instructions lie in shared memory, and how a warp reads them from there.

`ldmatrix` reads rows of 16 bytes. Where a row runs along K they are the instruction's fragments as they are; where it runs
along M or N, 16-bit elements come right by `.trans`. Under the swizzle of their row length, of 32 to 128 bytes, eight rows
below each other lie in all 32 banks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from . import f2
from .distributed import LANE_BITS, Layout
from .shared import MAX_VECTOR_BYTES, PHASE_BYTES, SWIZZLE_BYTES, SharedLayout, access_offsets, phase_lane_bits

MatrixForm = Literal["rows", "columns"]

UNIT_BYTES = 16
"""What addresses and strides of matrix descriptors count."""

_WORD_BYTES = 4
_ROW_BYTES = 16
_TRANSPOSED_ELEMENT_BYTES = 2
_TURNED_BYTES = (_TRANSPOSED_ELEMENT_BYTES,)


def matrix_form(fragments: Layout, offsets: SharedLayout) -> MatrixForm | None:
    """Return how `ldmatrix` reads whole fragments of an operand: as it lies, or with `.trans`; None when it cannot."""
    element_bytes = offsets.element_bytes
    if element_bytes > _WORD_BYTES:
        return None
    registers, threads = access_offsets(fragments, offsets)
    lanes, warps = threads[:LANE_BITS], threads[LANE_BITS:]
    word, row = _WORD_BYTES // element_bytes, _ROW_BYTES // element_bytes
    within = word.bit_length() - 1
    if lanes[:2] == (word, 2 * word) and registers[:within] == tuple(1 << bit for bit in range(within)):
        if not any(image % row for image in (*lanes[2:], *warps, *registers[within:])):
            return "rows"
    if element_bytes == _TRANSPOSED_ELEMENT_BYTES and lanes[2:] == (1, 2, 4):
        if not any(image % row for image in (*lanes[:2], *warps, *registers)):
            return "columns"
    return None


def matrix_conflicts(fragments: Layout, offsets: SharedLayout, form: MatrixForm) -> bool:
    """Return whether rows of one matrix lie in the same banks when `ldmatrix` reads whole fragments of an operand."""
    registers, threads = access_offsets(fragments, offsets)
    lanes = threads[:LANE_BITS]
    rows = lanes[2:] if form == "rows" else (registers[0], *lanes[:2])
    chunks = [row * offsets.element_bytes % PHASE_BYTES // _ROW_BYTES for row in rows]
    return f2.rank(chunks) < len(chunks)


def operand_offsets(source: Layout, fragments: Layout, k_axis: int, fast_axis: int, element_bytes: int) -> SharedLayout:
    """Return where an operand goes in shared memory.

    Args:
        source: Layout in which it is written.
        fragments: Layout in which instructions take it.
        k_axis: Its axis of K.
        fast_axis: The axis along which threads hold, or neighbouring lanes hold, neighbours in `source`.
        element_bytes: Size of an element.
    """
    rank, shape = source.rank, source.shape
    other = 2 * rank - 3 - k_axis
    inner = fast_axis if fast_axis in (k_axis, other) else k_axis
    if element_bytes == 1 or (element_bytes == _TRANSPOSED_ELEMENT_BYTES and shape[inner] * element_bytes < _ROW_BYTES):
        inner = k_axis  # only whole rows of 16 bytes can be transposed, and of bytes not even these
    order = (inner, 2 * rank - 3 - inner, *reversed(range(rank - 2)))
    if element_bytes > _WORD_BYTES or (element_bytes == _WORD_BYTES and inner != k_axis):
        return _for_elements(fragments, order, element_bytes)
    swizzle_bytes = min(shape[inner] * element_bytes, SWIZZLE_BYTES[-1])
    if swizzle_bytes not in SWIZZLE_BYTES:
        return SharedLayout.plain(shape, element_bytes, order)
    return SharedLayout.swizzled(shape, element_bytes, swizzle_bytes, order)


@dataclass(frozen=True, slots=True)
class DescriptorForm:
    """How a matrix descriptor of `wgmma` names an operand (PTX ISA, "wgmma", "Shared Memory Matrix Layout").

    Attributes:
        swizzle_bytes: 32, 64 or 128.
        is_along_k: Whether neighbours along K lie side by side, not those along M or N.
        leading_bytes: From one panel to the next along M or N; unused along K.
        stride_bytes: From eight rows of a panel to the next eight.
        alignment_bytes: Of the buffer: whole repetitions of the swizzle.
    """

    swizzle_bytes: int
    is_along_k: bool
    leading_bytes: int
    stride_bytes: int

    @property
    def alignment_bytes(self) -> int:
        return _ROWS_OF_SWIZZLE * self.swizzle_bytes


_ROWS_OF_SWIZZLE = 8


def descriptor_offsets(
    shape: Sequence[int], k_axis: int, fast_axis: int, element_bytes: int, turned_bytes: Collection[int] = _TURNED_BYTES
) -> SharedLayout:
    """Return where an operand of `wgmma` goes in shared memory: rows of K, or of M and N where elements come so.

    Args:
        shape: Of the operand.
        k_axis: Its axis of K.
        fast_axis: The axis along which it comes.
        element_bytes: Size of an element.
        turned_bytes: Sizes of elements that the instruction also takes in rows of M and N.
    """
    rank = len(shape)
    other = 2 * rank - 3 - k_axis
    turns = fast_axis == other and element_bytes in turned_bytes
    inner = other if turns and shape[other] * element_bytes >= SWIZZLE_BYTES[0] else k_axis
    order = (inner, 2 * rank - 3 - inner, *reversed(range(rank - 2)))
    return SharedLayout.swizzled(shape, element_bytes, min(shape[inner] * element_bytes, SWIZZLE_BYTES[-1]), order)


def descriptor_form(
    offsets: SharedLayout, k_axis: int, turned_bytes: Collection[int] = _TURNED_BYTES
) -> DescriptorForm | None:
    """Return how a descriptor names an operand `[..., M, K]` or `[..., K, N]`; None when none does."""
    shape, element_bytes = offsets.shape, offsets.element_bytes
    rank = len(shape)
    for inner in (k_axis, 2 * rank - 3 - k_axis):
        if inner != k_axis and element_bytes not in turned_bytes:
            continue
        outer = 2 * rank - 3 - inner
        for swizzle_bytes in SWIZZLE_BYTES:
            if shape[inner] * element_bytes < swizzle_bytes or shape[outer] < _ROWS_OF_SWIZZLE:
                continue
            order = (inner, outer, *reversed(range(rank - 2)))
            if SharedLayout.swizzled(shape, element_bytes, swizzle_bytes, order) == offsets:
                leading = UNIT_BYTES if inner == k_axis else shape[outer] * swizzle_bytes
                return DescriptorForm(swizzle_bytes, inner == k_axis, leading, _ROWS_OF_SWIZZLE * swizzle_bytes)
    return None


def _for_elements(fragments: Layout, order: Sequence[int], element_bytes: int) -> SharedLayout:
    """Return where each lane finds elements of its own without bank conflicts.

    Lanes that would meet in a bank, as they read below each other, get a bit of the row's number on top of the
    column's. No other bits do: the fewer there are, the more addresses differ by constants.
    """
    shape = fragments.shape
    plain = SharedLayout.plain(shape, element_bytes, order)
    images = list(plain.flat_images)
    phase_elems = PHASE_BYTES // element_bytes
    lanes = [image for image in fragments.flat_lanes[: phase_lane_bits(element_bytes)] if image]
    basis = f2.EchelonBasis()
    for lane in sorted(lanes, key=lambda image: f2.apply(images, image)):
        if basis.add(f2.apply(images, lane) % phase_elems):
            continue
        bit = MAX_VECTOR_BYTES // element_bytes
        while bit in basis and bit < phase_elems:
            bit *= 2
        if bit < min(phase_elems, shape[order[0]]):
            images[lane.bit_length() - 1] ^= bit
            basis.add(bit)
    return SharedLayout.from_flat(shape, images, element_bytes)
