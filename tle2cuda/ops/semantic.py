"""Rules of the `tle.gpu` functions as a validator: `TLESemantic`. The functions themselves use it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tle2cuda.errors import InvalidArgument
from tle2cuda.ir.types import DType
from tle2cuda.ops.base import dims_text
from tle2cuda.ops.values import tensor, unwrap


class TLESemanticError(InvalidArgument):
    """An argument of a `tle.gpu` function breaks one of its rules."""


class TLESemantic:
    """Checks arguments; every method returns the normalised argument or raises `TLESemanticError`.

    Args:
        builder: Accepted for compatibility, not used.

    Example:
        ``TLESemantic().validate_alloc_shape((64, 64)) == [64, 64]``
    """

    def __init__(self, builder: Any = None) -> None:
        self.builder = builder

    def validate_alloc_shape(self, shape: Any) -> list[int]:
        """Positive extents, at least one, as a list."""
        value = unwrap(shape)
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise TLESemanticError(f"Shape must be a tuple or list of ints, got {value!r}")
        extents = [unwrap(extent) for extent in value]
        if not extents:
            raise TLESemanticError("Shape must not be empty")
        for i, extent in enumerate(extents):
            if isinstance(extent, tensor):
                raise TLESemanticError(f"Shape must be known at compile time, extent {i} is a run-time value")
            if isinstance(extent, bool) or not isinstance(extent, int):
                raise TLESemanticError(f"Shape extents must be ints, extent {i} is {extent!r}")
            if extent <= 0:
                raise TLESemanticError(f"Shape extents must be positive, extent {i} is {extent}")
        return extents

    def validate_alloc_dtype(self, dtype: Any) -> DType:
        """A dtype of one element."""
        value = unwrap(dtype)
        if not isinstance(value, DType):
            raise TLESemanticError(
                f"Data type must be tl.dtype, got {value!r}",
                help="give a dtype of the language, such as tl.float32, or a pointer's, x.dtype.element_ty",
            )
        return value

    def validate_copy_shape(self, shape: Any, extents: Any) -> list[int]:
        """Extents of a copy: one per axis of the buffer, none beyond it."""
        wanted = self.validate_alloc_shape(shape)
        buffer = list(extents)
        if len(wanted) != len(buffer):
            raise TLESemanticError(
                f"copy shape {dims_text(wanted)} has rank {len(wanted)}, the buffer {dims_text(buffer)} has "
                f"rank {len(buffer)}"
            )
        if any(m > n for m, n in zip(wanted, buffer, strict=True)):
            raise TLESemanticError(f"copy shape {dims_text(wanted)} exceeds the buffer {dims_text(buffer)}")
        return wanted

    def validate_local_ptr_indices(self, indices: Any, rank: int) -> tuple[Any, ...]:
        """A tuple with one index per axis."""
        value = unwrap(indices) if not isinstance(indices, (tuple, list)) else indices
        if not isinstance(value, (tuple, list)):
            raise TLESemanticError(f"local_ptr indices must be a tuple/list of tensors or None, got {value!r}")
        if not value:
            raise TLESemanticError("local_ptr indices must not be an empty tuple; leave them out for the full view")
        if len(value) != rank:
            raise TLESemanticError(f"local_ptr indices must provide {rank} tensors, got {len(value)}")
        return tuple(value)

    def validate_tile_shape(self, shape: Any, tile_shape: Any) -> list[int]:
        """A tile shape that divides a shape of the same rank."""
        outer = self.validate_alloc_shape(shape)
        tile = self.validate_alloc_shape(tile_shape)
        if len(outer) != len(tile):
            raise TLESemanticError(f"tile shape {dims_text(tile)} must have rank {len(outer)} as {dims_text(outer)} has")
        for i, (extent, part) in enumerate(zip(outer, tile, strict=True)):
            if extent % part:
                raise TLESemanticError(f"extent {extent} of axis {i} is not divisible by tile dim {part}")
        return tile

    def validate_extract_index(self, shape: Any, tile_shape: Any, index: Any) -> int:
        """Linear number, row-major, of a tile given by number or by coordinate."""
        tile = self.validate_tile_shape(shape, tile_shape)
        grid = [extent // part for extent, part in zip(self.validate_alloc_shape(shape), tile, strict=True)]
        count = 1
        for extent in grid:
            count *= extent
        value = unwrap(index)
        if isinstance(value, int) and not isinstance(value, bool):
            if not 0 <= value < count:
                raise TLESemanticError(f"tile index {value} out of range [0, {count})")
            return value
        if not isinstance(value, (tuple, list)) or not all(type(i) is int for i in value):
            raise TLESemanticError(f"tile index must be an int or a tuple of ints, got {value!r}")
        if len(value) != len(grid):
            raise TLESemanticError(f"tile index {tuple(value)} must have rank {len(grid)}")
        linear = 0
        for coordinate, extent in zip(value, grid, strict=True):
            if not 0 <= coordinate < extent:
                raise TLESemanticError(f"tile index {tuple(value)} out of bounds for grid size {dims_text(grid)}")
            linear = linear * extent + coordinate
        return linear

    def validate_insert_index(self, shape: Any, tile_shape: Any, index: Any) -> int:
        """As `validate_extract_index`, negative numbers named as such."""
        value = unwrap(index)
        if isinstance(value, int) and value < 0:
            raise TLESemanticError(f"tile index must be non-negative, got {value}")
        return self.validate_extract_index(shape, tile_shape, index)
