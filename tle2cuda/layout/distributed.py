"""Distributed layouts: which register of which lane of which warp holds which element of a tile.

A layout is a linear map over F2 from the bits of (register, lane, warp) to the bits of a tile coordinate,
given by the images of the single bits. Images combine by XOR; where no two images share a bit that is
addition. A zero image means replication: the registers or threads that differ in that bit hold copies of the
same elements.

Inside, a coordinate is one word, its row-major ("flat") index: extents are powers of two, so each axis owns a
field of bits and the last axis owns the lowest. Reshaping a tile then does not change the words at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from . import f2
from .errors import LayoutError

LANE_BITS = 5
"""Lanes of a warp: 32."""

Coordinate = tuple[int, ...]
_CoordinateFunction = Callable[[Coordinate], Coordinate]


def log2_exact(value: int, what: str) -> int:
    """Return log2 of a power of two, or raise a LayoutError that names `what`."""
    if value <= 0 or value & (value - 1):
        raise LayoutError(f"{what} must be a power of two, not {value}")
    return value.bit_length() - 1


def flat_bits(shape: Sequence[int]) -> int:
    """Return the number of bits of a tile's flat index."""
    return sum(log2_exact(extent, "tile extent") for extent in shape)


def flatten(coordinate: Sequence[int], shape: Sequence[int]) -> int:
    """Return the row-major index of a coordinate."""
    index = 0
    for position, extent in zip(coordinate, shape, strict=True):
        index = index * extent + position
    return index


def unflatten(index: int, shape: Sequence[int]) -> Coordinate:
    """Return the coordinate of a row-major index."""
    positions = []
    for extent in reversed(shape):
        positions.append(index % extent)
        index //= extent
    return tuple(reversed(positions))


def axis_unit(shape: Sequence[int], axis: int, position: int) -> Coordinate:
    """Return the coordinate that is `position` on one axis and zero elsewhere."""
    return tuple(position if other == axis else 0 for other in range(len(shape)))


def normalize_axis(axis: int, rank: int) -> int:
    """Return a non-negative axis, counting negative ones from the end."""
    if not -rank <= axis < rank:
        raise LayoutError(f"axis {axis} is out of range for rank {rank}")
    return axis % rank


def _bit_mask(flags: Iterable[bool]) -> int:
    return sum(1 << bit for bit, flag in enumerate(flags) if flag)


@dataclass(frozen=True, slots=True)
class Layout:
    """A linear map from (register, lane, warp) bits to a tile's coordinates, onto the whole tile.

    Equality is structural: two layouts are equal when every bit has the same image.

    Attributes:
        shape: The tile's shape, powers of two.
        registers: Image of each register bit, lowest first.
        lanes: Images of the five lane bits.
        warps: Image of each warp bit; there are 2**len(warps) warps.

    Raises:
        LayoutError: an extent is not a power of two, an image lies outside of the tile, or some element is
            held nowhere.
    """

    shape: tuple[int, ...]
    registers: tuple[Coordinate, ...]
    lanes: tuple[Coordinate, ...]
    warps: tuple[Coordinate, ...]
    flat_registers: tuple[int, ...] = field(init=False, repr=False, compare=False)
    flat_lanes: tuple[int, ...] = field(init=False, repr=False, compare=False)
    flat_warps: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        bits = flat_bits(self.shape)
        if len(self.lanes) != LANE_BITS:
            raise LayoutError(f"a layout needs {LANE_BITS} lane images, not {len(self.lanes)}")
        for name in ("registers", "lanes", "warps"):
            images: tuple[Coordinate, ...] = getattr(self, name)
            for image in images:
                if len(image) != len(self.shape) or any(
                    not 0 <= position < extent for position, extent in zip(image, self.shape, strict=True)
                ):
                    raise LayoutError(f"image {image} of {name} lies outside of a tile of shape {self.shape}")
            object.__setattr__(self, f"flat_{name}", tuple(flatten(image, self.shape) for image in images))
        reached = f2.rank(self.flat_images)
        if reached != bits:
            raise LayoutError(f"layout holds {2**reached} of the {2**bits} elements of its tile {self.shape}: {self}")

    @classmethod
    def from_flat(
        cls, shape: Sequence[int], registers: Iterable[int], lanes: Iterable[int], warps: Iterable[int]
    ) -> Layout:
        """Build a layout from images given as row-major indices."""
        shape = tuple(shape)

        def coordinates(images: Iterable[int]) -> tuple[Coordinate, ...]:
            return tuple(unflatten(image, shape) for image in images)

        return cls(shape, coordinates(registers), coordinates(lanes), coordinates(warps))

    # ---- reading a layout -----------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """Number of axes of the tile."""
        return len(self.shape)

    @property
    def num_elements(self) -> int:
        """Number of elements of the tile."""
        return 1 << flat_bits(self.shape)

    @property
    def num_registers(self) -> int:
        """Elements held by one thread, copies included."""
        return 1 << len(self.registers)

    @property
    def num_warps(self) -> int:
        """Warps that the tile is spread over."""
        return 1 << len(self.warps)

    @property
    def num_threads(self) -> int:
        """Threads that the tile is spread over."""
        return self.num_warps << LANE_BITS

    @property
    def flat_images(self) -> tuple[int, ...]:
        """Images of all bits as row-major indices: registers, then lanes, then warps."""
        return self.flat_registers + self.flat_lanes + self.flat_warps

    @property
    def flat_threads(self) -> tuple[int, ...]:
        """Images of the bits of `threadIdx.x`: lanes, then warps."""
        return self.flat_lanes + self.flat_warps

    def flat_index(self, register: int, lane: int, warp: int) -> int:
        """Return the row-major index of the element held in one register of one thread."""
        return f2.apply(self.flat_registers, register) ^ f2.apply(self.flat_lanes, lane) ^ f2.apply(self.flat_warps, warp)

    def coords(self, register: int, lane: int, warp: int) -> Coordinate:
        """Return the coordinate of the element held in one register of one thread."""
        return unflatten(self.flat_index(register, lane, warp), self.shape)

    def register_of(self, coordinate: Sequence[int]) -> int | None:
        """Return the register of thread 0 that holds an element, or None when it is held elsewhere."""
        return f2.solve(self.flat_registers, flatten(coordinate, self.shape))

    def axis_bits(self, axis: int) -> tuple[tuple[str, int], ...] | None:
        """Return which input bit each bit of an axis's coordinate is, such as ('register', 0) or ('lane', 3).

        None when the axis is not so simply spread: some bit of it is no single input bit, or an input
        bit moves along other axes too. Scans and sorting networks along the axis walk these bits.
        """
        at = normalize_axis(axis, self.rank)
        places: dict[int, tuple[str, int]] = {}
        for name, images in (("register", self.registers), ("lane", self.lanes), ("warp", self.warps)):
            for bit, image in enumerate(images):
                if not image[at]:
                    continue
                if image[at] in places or image != axis_unit(self.shape, at, image[at]):
                    return None
                places[image[at]] = (name, bit)
        wanted = [1 << bit for bit in range(self.shape[at].bit_length() - 1)]
        return tuple(places[position] for position in wanted) if sorted(places) == wanted else None

    def vector(self) -> tuple[int, int]:
        """Return (axis, k): registers 0 .. k-1 hold k neighbours along that axis, aligned to k.

        k is 2**(number of leading register bits whose images are 1, 2, 4 ... along one axis), limited to
        those k whose field no thread and no higher register touches, so that k neighbours stay neighbours in
        every thread. (rank-1, 1) when there is none.
        """
        default = (max(self.rank - 1, 0), 1)
        for axis in range(self.rank):
            width = 0
            while width < len(self.registers) and self.registers[width] == axis_unit(self.shape, axis, 1 << width):
                width += 1
            others = (*self.lanes, *self.warps, *self.registers[width:])
            while width and any(image[axis] & ((1 << width) - 1) for image in others):
                width -= 1
                others = (*others, self.registers[width])
            if width:
                return axis, 1 << width
        return default

    # ---- replication ----------------------------------------------------------------------------------

    def free_bits(self) -> tuple[int, int, int]:
        """Return (register, lane, warp) masks of the redundant bits.

        A bit is redundant when its image depends on those of the bits kept before it, in the order registers,
        lanes, warps. The slots whose redundant bits are all zero hold every element exactly once.
        """
        basis = f2.EchelonBasis()
        registers = _bit_mask(not basis.add(image) for image in self.flat_registers)
        lanes = _bit_mask(not basis.add(image) for image in self.flat_lanes)
        warps = _bit_mask(not basis.add(image) for image in self.flat_warps)
        return registers, lanes, warps

    @property
    def replicated_registers(self) -> int:
        """Mask of the register bits that only repeat elements of the same thread."""
        return self.free_bits()[0]

    @property
    def replicated_lanes(self) -> int:
        """Mask of the lane bits that only repeat elements of other lanes."""
        return self.free_bits()[1]

    @property
    def replicated_warps(self) -> int:
        """Mask of the warp bits that only repeat elements of other warps."""
        return self.free_bits()[2]

    @property
    def is_replicated(self) -> bool:
        """Whether any element is held more than once."""
        return any(self.free_bits())

    def owner_bits(self) -> tuple[int, int]:
        """Return (lane_mask, warp_mask).

        The threads with `(lane & lane_mask) == 0 and (warp & warp_mask) == 0` together hold one copy of each
        element (in the registers whose `replicated_registers` bits are zero). Stores and atomics must be
        guarded so.
        """
        _, lanes, warps = self.free_bits()
        return lanes, warps

    def drop_replicated_registers(self) -> Layout:
        """Return the layout without register bits of zero image."""
        if all(self.flat_registers):
            return self
        return Layout(self.shape, tuple(image for image in self.registers if any(image)), self.lanes, self.warps)

    # ---- tile operations: the layout of the result ----------------------------------------------------

    def _map(self, shape: Sequence[int], function: _CoordinateFunction) -> Layout:
        def images(old: tuple[Coordinate, ...]) -> tuple[Coordinate, ...]:
            return tuple(function(image) for image in old)

        return Layout(tuple(shape), images(self.registers), images(self.lanes), images(self.warps))

    def transpose(self, perm: Sequence[int]) -> Layout:
        """Return the layout of the tile whose axis i is this tile's axis perm[i]."""
        order = tuple(normalize_axis(axis, self.rank) for axis in perm)
        if sorted(order) != list(range(self.rank)):
            raise LayoutError(f"{tuple(perm)} is not a permutation of {self.rank} axes")
        return self._map([self.shape[axis] for axis in order], lambda image: tuple(image[axis] for axis in order))

    def untranspose(self, perm: Sequence[int]) -> Layout:
        """Return the layout wanted of the operand when this one is wanted of its `transpose(perm)`."""
        order = tuple(normalize_axis(axis, self.rank) for axis in perm)
        return self.transpose([order.index(axis) for axis in range(self.rank)])

    def expand_dims(self, axis: int) -> Layout:
        """Return the layout with a new axis of extent 1 at position `axis` of the result."""
        at = normalize_axis(axis, self.rank + 1)
        return self._map((*self.shape[:at], 1, *self.shape[at:]), lambda image: (*image[:at], 0, *image[at:]))

    def squeeze_axis(self, axis: int) -> Layout:
        """Return the layout without an axis of extent 1; the registers stay what they are."""
        at = normalize_axis(axis, self.rank)
        if self.shape[at] != 1:
            raise LayoutError(f"axis {axis} of a tile of shape {self.shape} has extent {self.shape[at]}, not 1")
        return self._map((*self.shape[:at], *self.shape[at + 1 :]), lambda image: (*image[:at], *image[at + 1 :]))

    def unexpand_dims(self, axis: int) -> Layout:
        """Return the layout wanted of the operand when this one is wanted of its `expand_dims(axis)`."""
        return self.squeeze_axis(axis)

    def reduce_axis(self, axis: int, keep: bool = False) -> Layout:
        """Return the layout of the result of a reduction: the axis is dropped (extent 1 when `keep`).

        Register bits that no longer lead to other elements are removed. Lanes and warps keep their images, so
        those that ran along the axis become replicated: after the reduction they all hold the result.
        """
        at = normalize_axis(axis, self.rank)
        shape = (*self.shape[:at], 1, *self.shape[at + 1 :])
        dropped = self._map(shape, lambda image: (*image[:at], 0, *image[at + 1 :]))
        result = Layout.from_flat(shape, f2.independent(dropped.flat_registers), dropped.flat_lanes, dropped.flat_warps)
        return result if keep else result.squeeze_axis(at)

    def broadcast_source(self, source_shape: Sequence[int]) -> Layout:
        """Return the layout wanted of the operand of a broadcast whose result has this layout.

        Coordinates along axes where the operand has extent 1 become zero; zero register images are removed.
        """
        source = tuple(source_shape)
        if len(source) != self.rank or any(
            extent not in (1, wanted) for extent, wanted in zip(source, self.shape, strict=True)
        ):
            raise LayoutError(f"a tile of shape {source} does not broadcast to {self.shape}")
        mapped = self._map(
            source,
            lambda image: tuple(0 if extent == 1 else position for position, extent in zip(image, source, strict=True)),
        )
        return mapped.drop_replicated_registers()

    def broadcast_to(self, shape: Sequence[int]) -> Layout:
        """Return the layout of the broadcast tile: each new extent becomes further (high) register bits."""
        wanted = tuple(shape)
        if len(wanted) != self.rank or any(old not in (1, new) for old, new in zip(self.shape, wanted, strict=True)):
            raise LayoutError(f"a tile of shape {self.shape} does not broadcast to {wanted}")
        extra = []
        for axis in reversed(range(self.rank)):
            for bit in range(log2_exact(wanted[axis] // self.shape[axis], "broadcast extent")):
                extra.append(axis_unit(wanted, axis, self.shape[axis] << bit))
        return Layout(wanted, (*self.registers, *extra), self.lanes, self.warps)

    def reshape(self, shape: Sequence[int]) -> Layout:
        """Return the layout of the same elements in row-major order under another shape (its own inverse)."""
        wanted = tuple(shape)
        if flat_bits(wanted) != flat_bits(self.shape):
            raise LayoutError(f"a tile of shape {self.shape} cannot be reshaped to {wanted}")
        return Layout.from_flat(wanted, self.flat_registers, self.flat_lanes, self.flat_warps)

    def concat(self, axis: int) -> Layout:
        """Return the layout of two such tiles put together along an axis, in registers of their own.

        Along a last axis of extent 1 the two elements become neighbours; otherwise the operands' registers
        stay together.
        """
        at = normalize_axis(axis, self.rank)
        extent = self.shape[at]
        shape = (*self.shape[:at], 2 * extent, *self.shape[at + 1 :])
        which = axis_unit(shape, at, extent)
        neighbours = extent == 1 and at == self.rank - 1
        registers = (which, *self.registers) if neighbours else (*self.registers, which)
        return Layout(shape, registers, self.lanes, self.warps)

    def part_of_axes(self, shape: Sequence[int]) -> Layout:
        """Return the layout wanted of a part with the extents `shape` where it meets a tile of this layout.

        The coordinates are those inside of the part: threads whose elements lie in other parts hold copies.
        """
        part = self._check_part(shape)
        mapped = self._map(part, lambda image: tuple(x % n for x, n in zip(image, part, strict=True)))
        return Layout.from_flat(part, f2.independent(mapped.flat_registers), mapped.flat_lanes, mapped.flat_warps)

    def whole_of_part(self, shape: Sequence[int]) -> Layout:
        """Return the layout of a tile of extents `shape` whose parts of this layout's shape all lie alike."""
        wanted = tuple(shape)
        extra = []
        for axis in reversed(range(self.rank)):
            for bit in range(log2_exact(wanted[axis] // self.shape[axis], "extent of the whole tile")):
                extra.append(axis_unit(wanted, axis, self.shape[axis] << bit))
        return Layout(wanted, (*self.registers, *extra), self.lanes, self.warps)

    def extract(self, shape: Sequence[int]) -> Layout | None:
        """Return the layout of an aligned part of the tile, or None when parts are not told apart by registers alone."""
        part = self._check_part(shape)
        kept = []
        for image in self.registers:
            if all(x < n for x, n in zip(image, part, strict=True)):
                kept.append(image)
            elif any(x % n for x, n in zip(image, part, strict=True)):
                return None
        if any(x >= n for image in (*self.lanes, *self.warps) for x, n in zip(image, part, strict=True)):
            return None
        return Layout(part, tuple(kept), self.lanes, self.warps)

    def for_extract(self, shape: Sequence[int]) -> Layout:
        """Return the nearest layout of this tile that `extract` accepts: parts told apart by registers alone.

        Thread bits that lead to other parts change places with register bits that do not, while there are any.
        """
        part = self._check_part(shape)
        if self.extract(part) is not None:
            return self
        inside = [image for image in self.registers if all(x < n for x, n in zip(image, part, strict=True))]
        nothing = (0,) * self.rank

        def thread(image: Coordinate) -> Coordinate:
            if all(x < n for x, n in zip(image, part, strict=True)):
                return image
            return inside.pop() if inside else nothing

        lanes, warps = tuple(map(thread, self.lanes)), tuple(map(thread, self.warps))
        if f2.rank(flatten(image, part) for image in (*inside, *lanes, *warps)) < flat_bits(part):
            return self.part_of_axes(part).whole_of_part(self.shape)
        return Layout(part, tuple(inside), lanes, warps).whole_of_part(self.shape)

    def _check_part(self, shape: Sequence[int]) -> tuple[int, ...]:
        part = tuple(shape)
        if len(part) != self.rank or any(whole % extent for whole, extent in zip(self.shape, part, strict=True)):
            raise LayoutError(f"a tile of shape {self.shape} has no parts of shape {part}")
        return part

    # ---- text -----------------------------------------------------------------------------------------

    def __str__(self) -> str:
        def images(name: str, values: tuple[Coordinate, ...]) -> str:
            return " ".join([name, *(f"({','.join(map(str, image))})" for image in values)])

        return "; ".join(
            (
                f"layout<[{', '.join(map(str, self.shape))}]",
                images("register", self.registers),
                images("lane", self.lanes),
                images("warp", self.warps) + ">",
            )
        )

    @classmethod
    def parse(cls, text: str) -> Layout:
        """Read the text that `str` makes of a layout.

        Raises:
            LayoutError: the text is not of that form.
        """
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            raise LayoutError(f"not a layout: {text!r}")
        shape, *parts = match.groups()

        def numbers(list_text: str) -> tuple[int, ...]:
            return tuple(int(number) for number in re.findall(r"\d+", list_text))

        images = [tuple(numbers(image) for image in re.findall(r"\([^)]*\)", part)) for part in parts]
        return cls(numbers(shape), *images)


_TEXT = re.compile(r"layout<\[([\d, ]*)\]; register((?: \([\d,]*\))*); lane((?: \([\d,]*\))*); warp((?: \([\d,]*\))*)>")
