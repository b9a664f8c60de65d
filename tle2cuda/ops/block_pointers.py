"""Block pointers: a tile's place in a tensor as one value, moved by `advance`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tle2cuda.errors import InvalidArgument, InvalidType, NotSupported, ShapeMismatch
from tle2cuda.ir.builder import reads_3_9
from tle2cuda.ir.types import I32, I64, DType
from tle2cuda.ops import core
from tle2cuda.ops.affine_tiles import AffineTile, TileShape, base_pointer, integers, pointee, same_length
from tle2cuda.ops.core import (
    block_type,
    builtin,
    dtype_of,
    emit_value,
    static_int,
    static_shape,
    static_value,
    tensor,
    unwrap,
)


class block_pointer_type:
    """Type of a block pointer: a pointer to a tile.

    Attributes:
        element_ty: Type of the tile, whose own `element_ty` is the dtype.
    """

    __slots__ = ("element_ty",)

    def __init__(self, element_ty: block_type) -> None:
        self.element_ty = element_ty

    @property
    def scalar(self) -> block_pointer_type:
        """The type itself: a block pointer is one value."""
        return self

    def is_ptr(self) -> bool:
        """It is a pointer."""
        return True

    def is_block(self) -> bool:
        """It is no tile, but points to one."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, block_pointer_type) and self.element_ty == other.element_ty

    def __hash__(self) -> int:
        return hash(self.element_ty)

    @property
    def name(self) -> str:
        """Triton's name: ``pointer<<['16'], fp32>>``."""
        return f"pointer<{self.element_ty.name}>"

    def __repr__(self) -> str:
        return self.name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("is_"):
            return lambda: False
        raise AttributeError(f"a block pointer's type has no attribute {name!r}")


class block_pointer(NamedTuple):
    """A tile's place in a tensor in memory; crosses loops, branches and calls as a tuple of its run-time parts."""

    base: tensor
    extents: tuple[tensor, ...]
    steps: tuple[tensor, ...]
    offsets: tuple[tensor, ...]
    tile: TileShape

    @property
    def dtype(self) -> block_pointer_type:
        """Type of the block pointer; `dtype.element_ty` may be cast to."""
        element = pointee_of(self)
        return block_pointer_type(block_type(element, self.tile.extents))

    @property
    def type(self) -> block_pointer_type:
        """The same."""
        return self.dtype

    @builtin
    def advance(self, offsets: Any) -> block_pointer:
        """A block pointer to another tile of the tensor; see `tl.advance`."""
        return advance(self, offsets)

    @builtin
    def load(self, *args: Any, **kwargs: Any) -> tensor:
        """The tile; see `tl.load`."""
        from tle2cuda.ops import memory  # which knows of block pointers

        return memory.load(self, *args, **kwargs)

    @builtin
    def store(self, *args: Any, **kwargs: Any) -> None:
        """Stores a tile; see `tl.store`."""
        from tle2cuda.ops import memory

        memory.store(self, *args, **kwargs)

    @property
    def described(self) -> str:
        """What messages call it."""
        return f"block pointer to {pointee_of(self).short}{core.dims_text(self.tile.extents)}"

    def part_names(self, name: str) -> list[str]:
        """Names of the run-time parts of a block pointer that is called `name`."""
        rank = len(self.offsets)
        axes = ("row", "col") if rank == 2 else tuple(f"at{axis}" for axis in range(rank)) if rank > 1 else ("at",)
        return [
            f"{name}_base",
            *(f"{name}_extent{i}" for i in range(rank)),
            *(f"{name}_stride{i}" for i in range(rank)),
            *(f"{name}_{axis}" for axis in axes),
        ]

    def place(self) -> AffineTile:
        """The tile in memory."""
        return AffineTile(self.base, self.extents, self.steps, self.offsets, self.tile.extents)


def pointee_of(pointer: block_pointer) -> DType:
    """Element dtype behind a block pointer."""
    return pointee(pointer.base)


def refuse_by_3_9(what: str) -> None:
    """Refuses block pointers where the kernel is read by the rules of Triton 3.9, which has none.

    Raises:
        NotSupported: It is.
    """
    if reads_3_9():
        raise NotSupported(
            f"{what}: Triton 3.9 has no block pointers",
            help='use tl.make_tensor_descriptor or plain pointers, or read the kernel by the rules of 3.6 (language="3.6")',
        )


@builtin
def make_block_ptr(base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any) -> block_pointer:
    """A pointer to a tile of a tensor in memory.

    Args:
        base: Pointer to the tensor's first element.
        shape: Extents of the tensor, as 64-bit integers; what `boundary_check` compares with.
        strides: Elements from one index to the next along each dimension, as 64-bit integers.
        offsets: Index of the tile's first element, 32-bit integers.
        block_shape: Extents of the tile, powers of two (constexpr).
        order: The dimensions, the contiguous one first (constexpr). Accepted; strides say the same.

    Returns:
        A block pointer for `tl.load`, `tl.store` and `tl.advance`. Addresses are computed in 64 bits.

    Raises:
        InvalidType: `base` is no pointer, or an entry is no integer, or an offset has 64 bits.
        ShapeMismatch: The tuples differ in length.
        InvalidArgument: `order` is no permutation, or an extent of `block_shape` no power of two.
        NotSupported: The kernel is read by the rules of Triton 3.9.

    Example:
        ``p = tl.make_block_ptr(x, (M, N), (N, 1), (pid * BM, 0), (BM, BN), (1, 0))``
    """
    what = "tl.make_block_ptr"
    refuse_by_3_9(what)
    pointer = base_pointer(base, what)
    extents = integers(shape, I64, "shape", what)
    steps = integers(strides, I64, "strides", what)
    starts = integers(offsets, I32, "offsets", what)
    tile = static_shape(block_shape, f"{what}: block_shape")
    axes = _static_ints(order, f"{what}: order")
    same_length(what, shape=extents, strides=steps, offsets=starts, block_shape=tile)
    if sorted(axes) != list(range(len(tile))):
        raise InvalidArgument(f"{what}: order must be a permutation of the dimensions 0 to {len(tile) - 1}, got {axes}")
    return block_pointer(pointer, extents, steps, starts, TileShape(tile))


@builtin
def advance(base: Any, offsets: Any) -> block_pointer:
    """A block pointer to another tile of the same tensor; `base` itself stays where it is.

    Args:
        base: Block pointer.
        offsets: What is added to the offsets along each dimension, 32-bit integers.

    Returns:
        The moved block pointer.

    Raises:
        InvalidType: `base` is no block pointer, or an offset is no 32-bit integer.
        ShapeMismatch: There is not one offset a dimension.
        NotSupported: The kernel is read by the rules of Triton 3.9.

    Example:
        ``p = tl.advance(p, (0, BLOCK_K))``
    """
    what = "tl.advance"
    refuse_by_3_9(what)
    pointer = unwrap(base)
    if not isinstance(pointer, block_pointer):
        raise InvalidType(
            f"{what} takes a block pointer, got {core.describe(base)}",
            help="make one with tl.make_block_ptr; other pointers move by adding to them",
        )
    steps = integers(offsets, I32, "offsets", what)
    same_length(what, base=pointer.offsets, offsets=steps)
    moved = tuple(emit_value("add", (a, b), I32, ()) for a, b in zip(pointer.offsets, steps, strict=True))
    return pointer._replace(offsets=moved)


def checked_axes(boundary_check: Any, rank: int, what: str) -> tuple[int, ...]:
    """The dimensions that `boundary_check` lists.

    Raises:
        InvalidArgument: One does not exist, or is listed twice.
    """
    axes = _static_ints(boundary_check, f"{what}: boundary_check")
    for axis in axes:
        if not 0 <= axis < rank:
            raise InvalidArgument(f"{what}: boundary_check lists dimension {axis}, the tile has rank {rank}")
    if len(set(axes)) != len(axes):
        raise InvalidArgument(f"{what}: boundary_check lists a dimension twice: {axes}")
    return tuple(axes)


def _static_ints(values: Any, what: str) -> list[int]:
    plain = static_value(values, what)
    if plain is None:
        return []
    items = plain if isinstance(plain, (tuple, list)) else (plain,)
    return [static_int(item, what) for item in items]


def check_stored(value: tensor, pointer: block_pointer, what: str) -> None:
    """Raises unless a value may be stored through a block pointer: its shape, or a scalar, and its dtype."""
    if value.dims and value.dims != pointer.tile.extents:
        shapes = f"{core.dims_text(value.dims)} does not fit the block pointer's {core.dims_text(pointer.tile.extents)}"
        raise ShapeMismatch(f"{what}: value of shape {shapes}", facts=(core.fact("value", value),))
    dtype = pointee_of(pointer)
    if value.dims and dtype_of(value) is not dtype:
        raise InvalidType(
            f"{what}: the block pointer points to {dtype.label}, the value is {dtype_of(value).label}",
            facts=(core.fact("value", value),),
            help=f"convert it, .to(tl.{dtype.label})",
        )


__all__: Sequence[str] = ("advance", "block_pointer", "block_pointer_type", "make_block_ptr")
