"""How tensor copies fill a buffer: the box that one copy moves, and where the boxes of a tile go.

The copy engine writes a box densely, the contiguous dimension first, at most 256 elements along each dimension and, under
a swizzle, rows no longer than its span (CUDA driver API, cuTensorMapEncodeTiled). A tile that is larger, or that a buffer
holds in another order, is moved by several copies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from .distributed import log2_exact
from .errors import LayoutError
from .shared import SWIZZLE_BYTES

MAX_BOX_ELEMS = 256
CHUNK_BYTES = 16  # rows of a box are whole chunks
COPY_ALIGNMENT_BYTES = 128  # of a copy's place in shared memory (PTX ISA, cp.async.bulk.tensor)


@dataclass(frozen=True, slots=True)
class Steps:
    """Boxes beside each other along one axis.

    Attributes:
        axis: The axis of the tile.
        count: How many.
        step: From one to the next along the axis, in elements.
        stride_elems: From one to the next in the buffer.
        is_panel: They lie in different panels of a swizzled buffer.
    """

    axis: int
    count: int
    step: int
    stride_elems: int
    is_panel: bool = False


@dataclass(frozen=True, slots=True)
class Boxes:
    """How a tile is moved.

    Attributes:
        box: Extents of one box.
        steps: The other boxes, the outermost first; every combination is one copy.
    """

    box: tuple[int, ...]
    steps: tuple[Steps, ...]

    @property
    def count(self) -> int:
        """Copies that move the tile."""
        return math.prod(step.count for step in self.steps)

    def copies(self) -> list[tuple[tuple[int, ...], int]]:
        """Of each copy the index of its first element in the tile, and the offset in the buffer in elements."""
        found = []
        for numbers in product(*(range(step.count) for step in self.steps)):
            start, offset = [0] * len(self.box), 0
            for number, step in zip(numbers, self.steps, strict=True):
                start[step.axis] += number * step.step
                offset += number * step.stride_elems
            found.append((tuple(start), offset))
        return found


@dataclass(frozen=True, slots=True)
class _Digit:
    """Part of an index: so many values along an axis, one `step` of the axis and `stride` elements of the buffer apart."""

    axis: int
    extent: int
    step: int
    stride: int
    is_panel: bool = False


def panel_columns(element_bytes: int, swizzle_bytes: int) -> int:
    """Columns of one panel of a swizzled buffer."""
    return 1 << log2_exact(swizzle_bytes // element_bytes, "elements in a swizzled row")


def boxes_of_block(
    block: Sequence[int], shape: Sequence[int], element_bytes: int, swizzle_bytes: int = 0, parts: int = 1
) -> tuple[Boxes, tuple[int, ...]] | None:
    """How a block of a tensor is moved to or from a buffer, which may lack dimensions of extent 1 or have more of them.

    Args:
        block: Extents of the block.
        shape: Extents of the buffer.
        element_bytes: Size of an element.
        swizzle_bytes: As for `boxes`.
        parts: As for `boxes`.

    Returns:
        The boxes, their axes those of the buffer, and the box in the dimensions of the block; None when the copy engine
        cannot move it.
    """
    made = boxes(shape, element_bytes, swizzle_bytes, parts)
    if made is None:
        return None
    return made, tuple(made.box[axis] if axis is not None else 1 for axis in buffer_axes(block, shape))


def buffer_axes(block: Sequence[int], shape: Sequence[int]) -> tuple[int | None, ...]:
    """For each dimension of a block the axis of the buffer that holds it; None for extents of 1."""
    long = [axis for axis, extent in enumerate(shape) if extent > 1]
    return tuple(long.pop(0) if extent > 1 else None for extent in block)


def boxes(shape: Sequence[int], element_bytes: int, swizzle_bytes: int = 0, parts: int = 1) -> Boxes | None:
    """How a tile of a dense buffer is moved; None when the copy engine cannot.

    Args:
        shape: Extents of the tile, those of the tensor's dimensions.
        element_bytes: Size of an element.
        swizzle_bytes: The buffer is plain and row-major (0), or as `SharedLayout.swizzled` says.
        parts: How many CTAs share the copies, each of which makes as many: those of one of the steps, which comes first.
    """
    digits = _digits(tuple(shape), element_bytes, swizzle_bytes)
    box = [1] * len(shape)
    steps: list[Steps] = []
    dense, is_open = 1, True
    for digit in digits:
        if digit.extent == 1:
            continue
        taken = 1
        if is_open and digit.stride == dense and box[digit.axis] == 1:
            taken = _largest_part(digit.extent, element_bytes if digit.axis == len(shape) - 1 else CHUNK_BYTES)
            box[digit.axis] = taken
            dense *= taken
        is_open = is_open and taken == digit.extent
        if taken < digit.extent:
            count = digit.extent // taken
            steps.append(Steps(digit.axis, count, digit.step * taken, digit.stride * taken, digit.is_panel))
    if box[-1] * element_bytes % CHUNK_BYTES:
        return None
    if any(step.stride_elems * element_bytes % COPY_ALIGNMENT_BYTES for step in steps):
        return None
    made = Boxes(tuple(box), tuple(reversed(steps)))
    return made if parts == 1 else _shared(made, parts, digits, element_bytes, swizzle_bytes)


def _shared(made: Boxes, parts: int, digits: Sequence[_Digit], element_bytes: int, swizzle_bytes: int) -> Boxes | None:
    """The boxes with one step in front that parts divide: one that there is, or a part of the box's outermost extent."""
    for number, step in enumerate(made.steps):
        if step.count % parts == 0:
            return Boxes(made.box, (step, *made.steps[:number], *made.steps[number + 1 :]))
    alignment = max(COPY_ALIGNMENT_BYTES, 8 * swizzle_bytes)  # the pattern of a swizzle repeats every eight rows
    for digit in reversed(digits):
        extent, part = made.box[digit.axis], made.box[digit.axis] // parts
        if digit.is_panel or extent % parts or not part:
            continue
        if digit.axis == len(made.box) - 1 and (swizzle_bytes or part * math.prod(made.box) != part * extent):
            continue  # rows stay whole
        stride_elems = part * digit.stride
        if stride_elems * element_bytes % alignment == 0:
            box = (*made.box[: digit.axis], part, *made.box[digit.axis + 1 :])
            return Boxes(box, (Steps(digit.axis, parts, part * digit.step, stride_elems), *made.steps))
    return None


def _digits(shape: tuple[int, ...], element_bytes: int, swizzle_bytes: int) -> list[_Digit]:
    """The parts of the index, that with the smallest stride in the buffer first."""
    if not swizzle_bytes:
        found, stride = [], 1
        for axis in reversed(range(len(shape))):
            found.append(_Digit(axis, shape[axis], 1, stride))
            stride *= shape[axis]
        return found
    if swizzle_bytes not in SWIZZLE_BYTES or len(shape) < 2:
        raise LayoutError(f"no swizzle of {swizzle_bytes} bytes for a tile of shape {shape}")
    columns = panel_columns(element_bytes, swizzle_bytes)
    row_axis, column_axis = len(shape) - 2, len(shape) - 1
    rows, panels = shape[row_axis], shape[column_axis] // columns
    found = [
        _Digit(column_axis, columns, 1, 1),
        _Digit(row_axis, rows, 1, columns),
        _Digit(column_axis, panels, columns, columns * rows, is_panel=True),
    ]
    stride = columns * rows * panels
    for axis in reversed(range(row_axis)):
        found.append(_Digit(axis, shape[axis], 1, stride))
        stride *= shape[axis]
    return found


def _largest_part(extent: int, element_bytes: int) -> int:
    """The largest divisor of an extent that a box may have, whole chunks of 16 bytes where there are such."""
    parts = [part for part in range(1, min(extent, MAX_BOX_ELEMS) + 1) if extent % part == 0]
    whole = [part for part in parts if part * element_bytes % CHUNK_BYTES == 0]
    return max(whole or parts)
