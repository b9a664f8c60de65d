"""Reading a tile through a view of another shape: which register of the source is which register of the view.

Elementwise loops run over a result tile; their operands are often the same elements seen through a change of
rank, a broadcast, a transposition or a reshape. When every thread already holds what it needs, the operand
needs no code at all: its register is a linear function of the loop's register.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import f2
from .distributed import Coordinate, Layout, axis_unit, flat_bits, flatten, normalize_axis, unflatten
from .errors import LayoutError


@dataclass(frozen=True, slots=True)
class CoordMap:
    """A linear map from the coordinates of a result tile to those of a source tile.

    Attributes:
        result_shape: Shape of the tile that is looked at.
        source_shape: Shape of the tile whose elements it shows.
        images: For each bit of the result's row-major index, lowest first, the source's row-major index.
    """

    result_shape: tuple[int, ...]
    source_shape: tuple[int, ...]
    images: tuple[int, ...]

    def __post_init__(self) -> None:
        bits = flat_bits(self.source_shape)
        if len(self.images) != flat_bits(self.result_shape) or any(image >> bits for image in self.images):
            raise LayoutError(f"{self.images} does not map {self.result_shape} to {self.source_shape}")

    def __call__(self, coordinate: Sequence[int]) -> Coordinate:
        """Return the source coordinate shown at a result coordinate."""
        return unflatten(f2.apply(self.images, flatten(coordinate, self.result_shape)), self.source_shape)

    def after(self, other: CoordMap) -> CoordMap:
        """Return this map after another: first from `other`'s result to its source, then on."""
        if other.source_shape != self.result_shape:
            raise LayoutError(f"a map to {other.source_shape} cannot precede one from {self.result_shape}")
        return CoordMap(other.result_shape, self.source_shape, f2.compose(self.images, other.images))

    @classmethod
    def identity(cls, shape: Sequence[int]) -> CoordMap:
        """Return the map of a tile to itself."""
        return cls(tuple(shape), tuple(shape), f2.identity(flat_bits(shape)))

    @classmethod
    def reshape(cls, result_shape: Sequence[int], source_shape: Sequence[int]) -> CoordMap:
        """Return the map of a reshape, or of adding or removing axes of extent 1."""
        return cls(tuple(result_shape), tuple(source_shape), f2.identity(flat_bits(source_shape)))

    @classmethod
    def transpose(cls, source_shape: Sequence[int], perm: Sequence[int]) -> CoordMap:
        """Return the map of a transposition whose result's axis i is the source's axis perm[i]."""
        source = tuple(source_shape)
        axes = tuple(normalize_axis(axis, len(source)) for axis in perm)
        if sorted(axes) != list(range(len(source))):
            raise LayoutError(f"{tuple(perm)} is not a permutation of {len(source)} axes")
        shape = tuple(source[axis] for axis in axes)
        images = [
            flatten(axis_unit(source, axes[result_axis], 1 << bit), source)
            for result_axis in reversed(range(len(shape)))
            for bit in range(shape[result_axis].bit_length() - 1)
        ]
        return cls(shape, source, tuple(images))

    @classmethod
    def broadcast(cls, result_shape: Sequence[int], source_shape: Sequence[int]) -> CoordMap:
        """Return the map of a broadcast: source axes of extent 1 are read at 0.

        A source of lower rank is aligned at the last axis.
        """
        shape = tuple(result_shape)
        source = tuple(source_shape)
        padded = (1,) * (len(shape) - len(source)) + source
        if len(padded) != len(shape) or any(old not in (1, new) for old, new in zip(padded, shape, strict=True)):
            raise LayoutError(f"a tile of shape {source} does not broadcast to {shape}")
        images = [
            0 if padded[axis] == 1 else flatten(axis_unit(padded, axis, 1 << bit), padded)
            for axis in reversed(range(len(shape)))
            for bit in range(shape[axis].bit_length() - 1)
        ]
        return cls(shape, source, tuple(images))

    @classmethod
    def drop_axis(cls, result_shape: Sequence[int], axis: int, keep: bool = False) -> CoordMap:
        """Return the map that forgets one coordinate: from a tile to its reduction along `axis`."""
        shape = tuple(result_shape)
        at = normalize_axis(axis, len(shape))
        kept = cls.broadcast(shape, (*shape[:at], 1, *shape[at + 1 :]))
        if keep:
            return kept
        return cls(shape, (*shape[:at], *shape[at + 1 :]), kept.images)


def register_map(view: Layout, source: Layout, coord_map: CoordMap) -> tuple[int, ...] | None:
    """Return how registers of a loop over `view` read those of `source`; None if a conversion is needed.

    Args:
        view: Layout of the tile that the loop runs over.
        source: Layout of the tile that is read.
        coord_map: From coordinates of the view's tile to those of the source's.

    Returns:
        For each register bit of the view, a mask of source register bits: source register r' = XOR of the
        masks of the bits set in r (`f2.apply`). It holds that `source.coords(r', lane, warp) ==
        coord_map(view.coords(r, lane, warp))` for every thread. Among equal source registers those with
        replicated bits zero are taken.
    """
    if view.shape != coord_map.result_shape or source.shape != coord_map.source_shape:
        raise LayoutError(
            f"a map from {coord_map.result_shape} to {coord_map.source_shape} does not fit "
            f"layouts of {view.shape} and {source.shape}"
        )
    # r' may not depend on the thread, so each thread bit must move both alike.
    if f2.compose(coord_map.images, view.flat_threads) != source.flat_threads:
        return None
    basis = f2.EchelonBasis(source.flat_registers)
    masks = [basis.solve(image) for image in f2.compose(coord_map.images, view.flat_registers)]
    found = tuple(mask for mask in masks if mask is not None)
    return found if len(found) == len(masks) else None
