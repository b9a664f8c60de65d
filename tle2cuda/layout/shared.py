"""Shared-memory layouts: where in a buffer the element of a coordinate is stored.

Linear over F2 as well: every bit of every coordinate has an element offset, and offsets combine by XOR. Plain
row-major and the 32-, 64- and 128-byte swizzles that TMA, wgmma and ldmatrix understand are of this kind, and
so are the offset maps made for conversions (see `conversions`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from . import f2
from .distributed import LANE_BITS, Layout, log2_exact, normalize_axis
from .errors import LayoutError
from .expressions import THREAD, IndexExpression, linear_terms, register_sources

BANK_BYTES = 4
PHASE_BYTES = 128
"""A warp's access to shared memory is served 128 bytes at a time: 32 banks of 4 bytes (CUDA programming
guide)."""

MAX_VECTOR_BYTES = 16
SWIZZLE_BYTES = (32, 64, 128)
ROWS_OF_PATTERN = 8
"""Rows after which a swizzle repeats."""

_CHUNK_BYTES = 16  # a swizzle moves whole 16-byte chunks
_SWIZZLE_SOURCE_BIT = 7  # ... by the address bits from 7 on: the number of the 128-byte line


def swizzle_address(address_bytes: int, swizzle_bytes: int) -> int:
    """Return the byte address that a hardware swizzle makes: bits from 4 on are XORed with bits from 7 on.

    Args:
        address_bytes: Address relative to a buffer aligned to 8 rows (1024 bytes for the 128-byte swizzle).
        swizzle_bytes: 128 (bits 4..6), 64 (bits 4..5) or 32 (bit 4).
    """
    if swizzle_bytes not in SWIZZLE_BYTES:
        raise LayoutError(f"swizzle must be one of {SWIZZLE_BYTES} bytes, not {swizzle_bytes}")
    mask = swizzle_bytes // _CHUNK_BYTES - 1
    return address_bytes ^ (address_bytes >> _SWIZZLE_SOURCE_BIT & mask) * _CHUNK_BYTES


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """A linear map from a buffer's coordinates to element offsets, one offset per element.

    Attributes:
        shape: The buffer's shape. Extents are powers of two, except that of the axis that is outermost in
            memory.
        images_elems: For each axis, the element offset of each bit of its coordinate.
        element_bytes: Size of one element, a power of two.

    Raises:
        LayoutError: two elements would share an offset, or an offset would lie outside of the buffer.
    """

    shape: tuple[int, ...]
    images_elems: tuple[tuple[int, ...], ...]
    element_bytes: int

    def __post_init__(self) -> None:
        log2_exact(self.element_bytes, "element size in bytes")
        widths = tuple((extent - 1).bit_length() for extent in self.shape)
        if tuple(len(images) for images in self.images_elems) != widths:
            raise LayoutError(f"a buffer of shape {self.shape} needs {widths} offset images per axis")
        ragged = [axis for axis, extent in enumerate(self.shape) if extent <= 0 or extent & (extent - 1)]
        flat = self.flat_images
        if f2.rank(flat) != len(flat):
            raise LayoutError(f"offsets {self.images_elems} of a buffer of shape {self.shape} collide")
        if any(image >= 1 << len(flat) for image in flat):
            raise LayoutError(f"offsets {self.images_elems} leave a buffer of shape {self.shape}")
        if ragged:
            self._verify_ragged(ragged)

    def _verify_ragged(self, ragged: Sequence[int]) -> None:
        """Check that the one extent that is no power of two is outermost, so that the buffer stays dense."""
        axis = ragged[0]
        inner = sum(len(images) for other, images in enumerate(self.images_elems) if other != axis)
        outermost = all(image >> inner == 1 << bit for bit, image in enumerate(self.images_elems[axis])) and not any(
            image >> inner for other, images in enumerate(self.images_elems) if other != axis for image in images
        )
        if len(ragged) > 1 or not outermost:
            raise LayoutError(f"shape {self.shape}: only the outermost extent may be other than a power of two")

    # ---- constructors ---------------------------------------------------------------------------------

    @classmethod
    def plain(cls, shape: Sequence[int], element_bytes: int, order: Sequence[int] | None = None) -> SharedLayout:
        """Return the layout without swizzle; `order` lists the axes, fastest first (row-major by default)."""
        extents = tuple(shape)
        axes = _memory_order(order, len(extents))
        images: list[tuple[int, ...]] = [()] * len(extents)
        stride_elems = 1
        for axis in axes:
            width = (extents[axis] - 1).bit_length()
            images[axis] = tuple(stride_elems << bit for bit in range(width))
            stride_elems <<= width
        return cls(extents, tuple(images), element_bytes)

    @classmethod
    def swizzled(
        cls, shape: Sequence[int], element_bytes: int, swizzle_bytes: int, order: Sequence[int] | None = None
    ) -> SharedLayout:
        """Return the layout of a buffer under a hardware swizzle.

        Rows (the extent of the fastest axis) wider than `swizzle_bytes` are stored as panels:
        `[panel][rows][swizzle_bytes]` for the two fastest axes, one such group for each coordinate of the
        others (the stages of a ring).

        Args:
            shape: The buffer's shape, at least two axes.
            element_bytes: Size of one element.
            swizzle_bytes: 32, 64 or 128.
            order: The axes, fastest first; row-major by default.
        """
        extents = tuple(shape)
        if len(extents) < 2:
            raise LayoutError(f"a swizzled buffer needs two axes or more, not shape {extents}")
        column_axis, row_axis, *outer = _memory_order(order, len(extents))
        log2_exact(extents[column_axis], "row length of a swizzled buffer")
        columns_in_panel = log2_exact(swizzle_bytes // element_bytes, "elements in a swizzled row")
        columns = (extents[column_axis] - 1).bit_length()
        if columns < columns_in_panel:
            raise LayoutError(
                f"rows of {extents[column_axis] * element_bytes} bytes are too short for a {swizzle_bytes}-byte swizzle"
            )
        rows = (extents[row_axis] - 1).bit_length()
        bits: list[list[int]] = [[] for _ in extents]
        bits[column_axis] += range(columns_in_panel)
        bits[row_axis] += range(columns_in_panel, columns_in_panel + rows)
        bits[column_axis] += range(columns_in_panel + rows, columns + rows)
        next_bit = columns + rows
        for axis in outer:
            width = (extents[axis] - 1).bit_length()
            bits[axis] += range(next_bit, next_bit + width)
            next_bit += width
        images = tuple(
            tuple(swizzle_address(element_bytes << bit, swizzle_bytes) // element_bytes for bit in axis_bits)
            for axis_bits in bits
        )
        return cls(extents, images, element_bytes)

    @classmethod
    def from_flat(cls, shape: Sequence[int], images_elems: Sequence[int], element_bytes: int) -> SharedLayout:
        """Build a layout from the offsets of the bits of the row-major index, lowest bit first."""
        images: list[tuple[int, ...]] = []
        position = 0
        for extent in reversed(shape):
            width = (extent - 1).bit_length()
            images.append(tuple(images_elems[position : position + width]))
            position += width
        return cls(tuple(shape), tuple(reversed(images)), element_bytes)

    # ---- reading --------------------------------------------------------------------------------------

    @property
    def flat_images(self) -> tuple[int, ...]:
        """Element offsets of the bits of the row-major index, lowest first (extents rounded up)."""
        return tuple(image for images in reversed(self.images_elems) for image in images)

    @property
    def size_bytes(self) -> int:
        """Bytes that the buffer takes."""
        return math.prod(self.shape) * self.element_bytes

    def offset_elems(self, coordinate: Sequence[int]) -> int:
        """Return the element offset of a coordinate."""
        offset = 0
        for images, position in zip(self.images_elems, coordinate, strict=True):
            offset ^= f2.apply(images, position)
        return offset

    def offset_bytes(self, coordinate: Sequence[int]) -> int:
        """Return the byte offset of a coordinate."""
        return self.offset_elems(coordinate) * self.element_bytes

    @property
    def is_plain(self) -> bool:
        """Whether offsets are the row-major index."""
        return self.flat_images == tuple(1 << bit for bit in range(len(self.flat_images)))

    def fields(self, names: Sequence[str] | None = None) -> IndexExpression:
        """Return the element offset as fields of the coordinates, by default called axis0, axis1, ..."""
        called = names or [f"axis{axis}" for axis in range(len(self.shape))]
        return linear_terms(zip(called, self.images_elems, strict=True))


def is_swizzled_part(
    shape: Sequence[int], axis: int, part: tuple[int, int], element_bytes: int, swizzle_bytes: int
) -> bool:
    """Whether some rows or columns of a swizzled matrix lie as a swizzled matrix of their own: a whole piece of memory.

    Args:
        shape: Of the matrix.
        axis: 0 for rows, 1 for columns.
        part: The first of them, and how many.
        element_bytes: Size of an element.
        swizzle_bytes: Of the matrix.
    """
    first, count = part
    if axis == 1:  # whole panels
        return first * element_bytes % swizzle_bytes == 0 and count * element_bytes % swizzle_bytes == 0
    is_one_panel = shape[1] * element_bytes == swizzle_bytes
    return is_one_panel and first % ROWS_OF_PATTERN == 0 and count % ROWS_OF_PATTERN == 0


def is_swizzled_alike(shape: Sequence[int], view: Sequence[int], element_bytes: int, swizzle_bytes: int) -> bool:
    """Whether swizzled matrices lie in memory as those of another shape do: stages of rows as long, one behind the other.

    Args:
        shape: Of the buffer, matrices in its last two dimensions.
        view: Of the same elements otherwise.
        element_bytes: Size of an element.
        swizzle_bytes: Of both.
    """
    if min(len(shape), len(view)) < 2 or shape[-1] != view[-1]:
        return False
    is_one_panel = shape[-1] * element_bytes == swizzle_bytes
    return shape[-2] == view[-2] or (is_one_panel and shape[-2] % ROWS_OF_PATTERN == view[-2] % ROWS_OF_PATTERN == 0)


def _memory_order(order: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    axes = tuple(normalize_axis(axis, rank) for axis in (order if order is not None else reversed(range(rank))))
    if sorted(axes) != list(range(rank)):
        raise LayoutError(f"order {axes} is not a permutation of {rank} axes")
    return axes


# ---- a layout's access to a shared buffer -------------------------------------------------------------


def _check_shapes(layout: Layout, offset_map: SharedLayout) -> None:
    if layout.shape != offset_map.shape:
        raise LayoutError(f"a tile of shape {layout.shape} cannot access a buffer of shape {offset_map.shape}")


def access_offsets(layout: Layout, offset_map: SharedLayout) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the element offsets of each register bit and of each thread bit (lanes, then warps)."""
    _check_shapes(layout, offset_map)
    images = offset_map.flat_images
    return f2.compose(images, layout.flat_registers), f2.compose(images, layout.flat_threads)


def access_fields(layout: Layout, offset_map: SharedLayout, vector_elems: int | None = None) -> IndexExpression:
    """Return the element offset of a thread's register as fields (see `expressions.fields`)."""
    registers, threads = access_offsets(layout, offset_map)
    return linear_terms((*register_sources(registers, vector_elems), (THREAD, threads)))


def widest_vector(layout: Layout, offset_map: SharedLayout, max_bytes: int = MAX_VECTOR_BYTES) -> int:
    """Return the widest access in elements.

    It is a power of two k such that the registers of each thread form aligned runs of k. The runs need
    not be of neighbouring register numbers: `vector_groups` names their registers.
    """
    registers, threads = access_offsets(layout, offset_map)
    span = f2.EchelonBasis(registers)
    elems = 1
    while elems * 2 * offset_map.element_bytes <= max_bytes and elems in span:
        elems *= 2
    while any(offset & (elems - 1) for offset in threads):
        elems //= 2
    return elems


def access_phases(layout: Layout, offset_map: SharedLayout, vector_elems: int | None = None) -> int:
    """Return how many 128-byte phases a warp needs to write or read the tile once, bank conflicts included.

    `vector_elems` is the width of each access, `best_vector` by default.
    """
    vector = best_vector(layout, offset_map) if vector_elems is None else vector_elems
    element_bytes = offset_map.element_bytes
    per_access = max(1, (element_bytes * vector << LANE_BITS) // PHASE_BYTES)
    copies = layout.replicated_registers.bit_count()
    accesses = (layout.num_registers >> copies) // vector
    return per_access * accesses * bank_conflict_degree(layout, offset_map, element_bytes, vector)


def best_vector(layout: Layout, offset_map: SharedLayout) -> int:
    """Return the access width in elements that moves the tile in the fewest phases, bank conflicts included.

    Of widths that take equally many the widest is returned, for it takes the fewest instructions.
    """
    widest = widest_vector(layout, offset_map)
    widths = [widest >> narrower for narrower in range(widest.bit_length())]
    return min(widths, key=lambda width: access_phases(layout, offset_map, width))


def vector_groups(layout: Layout, offset_map: SharedLayout, vector_elems: int) -> tuple[tuple[int, ...], ...]:
    """Return the accesses of one thread: for each, the registers of its vector in order of rising offset.

    Replicated registers appear once only, by their lowest number. The offset of an access in elements is that
    of its first register, `access_fields`; it is divisible by `vector_elems` in every thread.

    Raises:
        LayoutError: registers do not form runs of that many elements.
    """
    registers, threads = access_offsets(layout, offset_map)
    basis = f2.EchelonBasis(registers)
    steps = [basis.solve(1 << bit) for bit in range(log2_exact(vector_elems, "vector width"))]
    if any(step is None for step in steps) or any(offset & (vector_elems - 1) for offset in threads):
        raise LayoutError(f"{layout} has no runs of {vector_elems} elements in shared memory")
    within = tuple(step for step in steps if step is not None)
    free, _, _ = layout.free_bits()
    groups = []
    for register in range(layout.num_registers):
        if register & free or f2.apply(registers, register) & (vector_elems - 1):
            continue
        groups.append(tuple(register ^ f2.apply(within, elem) for elem in range(vector_elems)))
    return tuple(groups)


def phase_lane_bits(access_bytes: int) -> int:
    """Return how many lane bits tell apart the lanes served together in one 128-byte phase."""
    return min(LANE_BITS, log2_exact(PHASE_BYTES // access_bytes, "lanes in a phase"))


def bank_conflict_degree(layout: Layout, offset_map: SharedLayout, element_bytes: int, vector_elems: int = 1) -> int:
    """Return how many times as long as without bank conflicts a warp's access takes (1: free of conflicts).

    That is the largest number of distinct 4-byte words of one bank that the lanes of one phase ask for.
    Because the map is linear all banks in use are asked for equally many words, and a rank computation gives
    it.

    Args:
        layout: Which lane accesses what.
        offset_map: Where that is; its offsets are in elements.
        element_bytes: Size of an element.
        vector_elems: Elements of one lane's access.
    """
    _, threads = access_offsets(layout, offset_map)
    access_bytes = element_bytes * vector_elems
    lanes = threads[: phase_lane_bits(access_bytes)]
    # The words of one lane's own vector come first; in a phase they are served together with those of other
    # lanes.
    within = [1 << bit for bit in range(log2_exact(vector_elems, "vector width"))]
    addresses = [offset * element_bytes for offset in (*within, *lanes)]
    words = f2.rank(address // BANK_BYTES for address in addresses)
    banks = f2.rank(address % PHASE_BYTES // BANK_BYTES for address in addresses)
    return 1 << (words - banks)
