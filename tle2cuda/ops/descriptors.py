"""Tensor descriptors: base, extents, strides and tile shape of a tensor in one value.

Loads and stores are lowered to addresses and masks, every access checked against all extents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tle2cuda.errors import InvalidArgument, InvalidType, ShapeMismatch
from tle2cuda.ir import builder
from tle2cuda.ir.classify import ELEMENTWISE
from tle2cuda.ir.nodes import walk
from tle2cuda.ir.types import BOOL, I32, I64, SHARED, BufferType, DType, PointerType, with_shape
from tle2cuda.ops import atomics, core
from tle2cuda.ops.affine_tiles import (
    PADDINGS,
    AffineTile,
    along,
    base_pointer,
    integers,
    is_index,
    padding_value,
    pointee,
    same_length,
)
from tle2cuda.ops.core import block_type, builtin, emit_value, fact, static_choice, static_shape, stretch, tensor, unwrap
from tle2cuda.ops.memory import EVICTION_POLICIES, LOAD_CACHE_MODIFIERS
from tle2cuda.ops.tile_sources import TileSource, remember
from tle2cuda.targets import parse_target

_ALIGNMENT_BYTES = 16  # of base, strides and rows of the tile (CUDA driver API, cuTensorMapEncodeTiled)
_MAX_RANK = 5
_FEWEST_ROWS = 8
_MOST_LOOKED_AT = 64  # values between a product and its store


class tensor_descriptor_type:
    """Type of a tensor descriptor.

    Attributes:
        block_type: Type of the tiles that it loads and stores.
    """

    __slots__ = ("block_type",)

    def __init__(self, block_type: block_type) -> None:
        self.block_type = block_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tensor_descriptor_type) and self.block_type == other.block_type

    def __hash__(self) -> int:
        return hash(self.block_type)

    @property
    def name(self) -> str:
        """Triton's name: ``tensor_descriptor<<['16', '16'], fp32>>``."""
        return f"tensor_descriptor<{self.block_type.name}>"

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class DescriptorShape:
    """What of a descriptor is known at compile time; one object, so that nothing in it becomes a run-time value.

    Attributes:
        block: Extents of a tile.
        padding: What elements outside of the tensor read as: "", "zero" or "nan".
    """

    block: tuple[int, ...]
    padding: str


class tensor_descriptor(NamedTuple):
    """A tensor in memory and the shape of its tiles; crosses loops, branches and calls as a tuple of its parts."""

    base: tensor
    extents: tuple[tensor, ...]
    steps: tuple[tensor, ...]
    static: DescriptorShape

    @property
    def shape(self) -> tuple[tensor, ...]:
        """Extents of the tensor, int32."""
        return self.extents

    @property
    def strides(self) -> tuple[tensor, ...]:
        """Elements from one index to the next along each dimension, int64."""
        return self.steps

    @property
    def block_shape(self) -> tuple[int, ...]:
        """Extents of a tile."""
        return self.static.block

    @property
    def dtype(self) -> DType:
        """Dtype of the elements."""
        return pointee(self.base)

    @property
    def block_type(self) -> block_type:
        """Type of a tile."""
        return block_type(self.dtype, self.block_shape)

    @property
    def type(self) -> tensor_descriptor_type:
        """Type of the descriptor."""
        return tensor_descriptor_type(self.block_type)

    @property
    def described(self) -> str:
        """What messages call it."""
        return f"tensor descriptor of {self.dtype.short}{core.dims_text(self.block_shape)}"

    def part_names(self, name: str) -> list[str]:
        """Names of the run-time parts of a descriptor that is called `name`."""
        rank = len(self.extents)
        parts = [f"{name}_{part}{axis}" for part in ("extent", "stride") for axis in range(rank)]
        return [f"{name}_base", *parts]

    @builtin
    def load(self, offsets: Any, cache_modifier: Any = "", eviction_policy: Any = "") -> tensor:
        """The tile that begins at `offsets`; elements outside of the tensor read as 0, or NaN if that is the padding."""
        return load_tensor_descriptor(self, offsets, cache_modifier, eviction_policy)

    @builtin
    def store(self, offsets: Any, value: Any) -> None:
        """Stores a tile that begins at `offsets`; elements outside of the tensor are dropped."""
        store_tensor_descriptor(self, offsets, value)

    @builtin
    def atomic_add(self, offsets: Any, value: Any) -> None:
        """Adds a tile to memory, each element atomically; elements outside of the tensor are dropped."""
        _atomic("add", self, offsets, value)

    @builtin
    def atomic_min(self, offsets: Any, value: Any) -> None:
        """Minimum of memory and a tile, each element atomically."""
        _atomic("min", self, offsets, value)

    @builtin
    def atomic_max(self, offsets: Any, value: Any) -> None:
        """Maximum of memory and a tile, each element atomically."""
        _atomic("max", self, offsets, value)

    @builtin
    def atomic_and(self, offsets: Any, value: Any) -> None:
        """Bitwise and of memory and a tile, each element atomically."""
        _atomic("and", self, offsets, value)

    @builtin
    def atomic_or(self, offsets: Any, value: Any) -> None:
        """Bitwise or of memory and a tile, each element atomically."""
        _atomic("or", self, offsets, value)

    @builtin
    def atomic_xor(self, offsets: Any, value: Any) -> None:
        """Bitwise exclusive or of memory and a tile, each element atomically."""
        _atomic("xor", self, offsets, value)

    @builtin
    def gather(self, x_offsets: Any, y_offset: Any) -> tensor:
        """The rows `x_offsets`, from column `y_offset` on; the tile shape is ``[1, columns]``."""
        pointers, mask = _rows(self, x_offsets, y_offset, "gather")
        return _loaded(self, pointers, mask, {})

    @builtin
    def scatter(self, value: Any, x_offsets: Any, y_offset: Any) -> None:
        """Stores the rows of `value` to the rows `x_offsets`, from column `y_offset` on."""
        pointers, mask = _rows(self, x_offsets, y_offset, "scatter")
        _stored(pointers, mask, _tile_value(self, value, pointers.dims, "scatter"))


# -- making one ------------------------------------------------------------------------------------


@builtin
def make_tensor_descriptor(
    base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: Any = "zero"
) -> tensor_descriptor:
    """A descriptor of a tensor in memory.

    Args:
        base: Pointer to the tensor's first element, aligned to 16 bytes.
        shape: Extents of the tensor, one to five, 32-bit integers.
        strides: Elements from one index to the next; the last one is the constant 1, the others are multiples of 16
            bytes.
        block_shape: Extents of a tile, powers of two (constexpr); its last one has at least 16 bytes.
        padding_option: What elements outside of the tensor read as, ``"zero"`` or ``"nan"``.

    Returns:
        A `tensor_descriptor` with `load`, `store`, `gather`, `scatter` and atomics.

    Raises:
        InvalidType: `base` is no pointer, or an entry is no integer.
        ShapeMismatch: The tuples differ in length.
        InvalidArgument: Too many dimensions, a last stride other than 1, a tile with too short rows, NaN for integers.

    Example:
        ``d = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])``
    """
    what = "tl.make_tensor_descriptor"
    pointer = base_pointer(base, what)
    extents = integers(shape, I32, "shape", what)
    _check_last_stride(strides, what)
    steps = integers(strides, I64, "strides", what)
    tile = static_shape(block_shape, f"{what}: block_shape")
    same_length(what, shape=extents, strides=steps, block_shape=tile)
    padding = static_choice(padding_option, PADDINGS, f"{what}: padding_option")
    return describe_tensor(pointer, extents, steps, tile, padding, what)


def describe_tensor(
    pointer: tensor, extents: Sequence[tensor], steps: Sequence[tensor], tile: tuple[int, ...], padding: str, what: str
) -> tensor_descriptor:
    """The descriptor of these parts, what it promises noted as hints.

    Raises:
        InvalidArgument: Too many dimensions, a tile with too short rows, NaN for integers.
    """
    if not 1 <= len(tile) <= _MAX_RANK:
        raise InvalidArgument(f"{what}: a tensor has 1 to {_MAX_RANK} dimensions, not {len(tile)}")
    dtype = pointee(pointer)
    row_bytes = tile[-1] * dtype.bytes
    if row_bytes < _ALIGNMENT_BYTES:
        raise InvalidArgument(
            f"{what}: the last dimension of block_shape must have at least {_ALIGNMENT_BYTES} bytes, "
            f"got {tile[-1]} * {dtype.bytes} = {row_bytes} bytes"
        )
    padding_value(padding, dtype, what)
    multiple = max(1, _ALIGNMENT_BYTES // dtype.bytes)
    pointer = _multiple(pointer, _ALIGNMENT_BYTES)
    aligned = tuple(_multiple(step, multiple) for step in steps[:-1])
    return tensor_descriptor(pointer, tuple(extents), (*aligned, steps[-1]), DescriptorShape(tile, padding))


def _multiple(x: tensor, divisor: int) -> tensor:
    attrs = {"divisibility": (divisor,), "contiguity": None, "constancy": None}
    return emit_value("hint", (x,), x.element, (), attrs) if divisor > 1 else x


def _check_last_stride(strides: Any, what: str) -> None:
    items = unwrap(strides)
    last = unwrap(items[-1]) if isinstance(items, (tuple, list)) and items else None
    if isinstance(last, tensor) or last != 1:
        shown = core.describe(last)
        raise InvalidArgument(
            f"{what}: the last stride must be the constant 1, got {shown}",
            help="pass it as a tl.constexpr, or write 1",
        )


# -- using one -------------------------------------------------------------------------------------


@builtin
def load_tensor_descriptor(desc: Any, offsets: Any, cache_modifier: Any = "", eviction_policy: Any = "") -> tensor:
    """The tile of a tensor that begins at `offsets`; elements outside read as the descriptor's padding.

    Args:
        desc: Tensor descriptor.
        offsets: Index of the first element, 32-bit integers; may lie outside.
        cache_modifier: As of `tl.load`.
        eviction_policy: As of `tl.load`.

    Raises:
        InvalidType: `desc` is no descriptor.
        ShapeMismatch: There is not one offset a dimension.

    Example:
        ``x = tl.load_tensor_descriptor(d, [row, col])``
    """
    what = "tl.load_tensor_descriptor"
    place = _place(desc, offsets, what)
    attrs = {
        "cache": static_choice(cache_modifier, LOAD_CACHE_MODIFIERS, f"{what}: cache_modifier"),
        "eviction": static_choice(eviction_policy, EVICTION_POLICIES, f"{what}: eviction_policy"),
    }
    value = unwrap(desc)
    tile = _loaded(value, place.pointers(), _inside(place), attrs)
    return remember(tile, TileSource(place, value.static.padding, attrs["eviction"], True))


@builtin
def store_tensor_descriptor(desc: Any, offsets: Any, value: Any) -> None:
    """Stores a tile that begins at `offsets`; elements outside of the tensor are dropped.

    Args:
        desc: Tensor descriptor.
        offsets: Index of the first element, 32-bit integers; may lie outside.
        value: Tile of the descriptor's shape, converted to its dtype.

    Raises:
        InvalidType: `desc` is no descriptor, or `value` no tile.
        ShapeMismatch: There is not one offset a dimension, or `value` has another shape.

    Example:
        ``tl.store_tensor_descriptor(d, [row, col], x)``
    """
    place = _place(desc, offsets, "tl.store_tensor_descriptor")
    described = _descriptor(desc, "store")
    stored = _tile_value(described, value, place.shape, "store")
    if len(place.shape) > 1 and parse_target(builder.current().target).has("tma") and _is_of_product(stored):
        _sent("store", described, place, stored, stored.value.name or "result")
    else:
        _stored(place.pointers(), _inside(place), stored)


def _descriptor(desc: Any, what: str) -> tensor_descriptor:
    value = unwrap(desc)
    if not isinstance(value, tensor_descriptor):
        raise InvalidType(
            f"{what} takes a tensor descriptor, got {core.describe(desc)}",
            help="make one with tl.make_tensor_descriptor, or pass a TensorDescriptor as argument",
        )
    return value


def _place(desc: Any, offsets: Any, what: str) -> AffineTile:
    value = _descriptor(desc, what)
    starts = integers(offsets, I32, "offsets", what)
    if len(starts) != len(value.extents):
        raise ShapeMismatch(f"{what}: expected {len(value.extents)} offsets, got {len(starts)}")
    extents = tuple(core.cast(extent, I64) for extent in value.extents)
    return AffineTile(value.base, extents, value.steps, starts, value.block_shape)


def _inside(place: AffineTile) -> tensor:
    mask = place.inside(range(len(place.shape)))
    assert mask is not None
    return mask


def _loaded(desc: tensor_descriptor, pointers: tensor, mask: tensor, attrs: dict[str, Any]) -> tensor:
    dtype = pointee(pointers)
    value = padding_value(desc.static.padding, dtype, "load")
    operands = (pointers, mask) if value is None else (pointers, mask, stretch(value, pointers.dims))
    all_attrs = {"cache": "", "eviction": "", "volatile": False, **attrs, "has_mask": True, "has_other": value is not None}
    return emit_value("load", operands, dtype, pointers.dims, all_attrs)


def _stored(pointers: tensor, mask: tensor, value: tensor) -> None:
    attrs = {"cache": "", "eviction": "", "has_mask": True}
    builder.current().emit("store", (pointers.value, value.value, mask.value), (), attrs)


def _tile_value(desc: tensor_descriptor, value: Any, dims: tuple[int, ...], what: str) -> tensor:
    x = unwrap(value)
    if not isinstance(x, tensor) or not x.dims:
        raise InvalidType(f"{what} of a tensor descriptor takes a tile, got {core.describe(value)}")
    if x.dims != dims:
        shapes = f"{core.dims_text(x.dims)} is not the descriptor's {core.dims_text(dims)}"
        raise ShapeMismatch(f"{what} of a tensor descriptor: the value's shape {shapes}", facts=(fact("value", x),))
    return core.cast(x, desc.dtype)


def _atomic(kind: str, desc: tensor_descriptor, offsets: Any, value: Any) -> None:
    """A tile is combined with memory by the copy engine, out of a buffer; what it leaves becomes atomics on the tile."""
    what = f"atomic_{kind} of a tensor descriptor"
    place = _place(desc, offsets, what)
    tile = _tile_value(desc, value, place.shape, f"atomic_{kind}")
    atomics.check_dtype(kind, desc.dtype, desc.base, what)
    _sent(kind, desc, place, tile, "terms")


def _sent(kind: str, desc: tensor_descriptor, place: AffineTile, tile: tensor, name: str) -> None:
    """A tile goes to a buffer, out of which the copy engine takes it; where it does not, it is stored from registers."""
    attrs = {"name": name, "alignment_bytes": 128, "staging": True}
    context = builder.current()
    emit_alloc = context.emit_one if context.partition is None else context.emit_first
    storage = "mma" if kind == "store" else "row_major"  # of products, which lie across rows
    buffer = emit_alloc("alloc", (), BufferType(place.shape, desc.dtype, storage), attrs)
    pointers = context.emit_one("local_ptr", (buffer,), with_shape(PointerType(desc.dtype, SHARED), place.shape))
    context.emit("store", (pointers, tile.value), (), {"cache": "", "eviction": "", "has_mask": False})
    described = (desc.base, *desc.extents, *desc.steps, *place.offsets)
    copied = {"rank": len(place.shape), "block": place.shape, "kind": kind}
    context.emit("tma_store", (buffer, *(part.value for part in described)), (), copied)


def _is_of_product(tile: tensor) -> bool:
    """Whether elementwise work leads to a matrix product, or to what a loop has summed of them."""
    context = builder.current()
    todo, seen = [tile.value], {tile.value}
    while todo and len(seen) < _MOST_LOOKED_AT:
        op = context.made(todo.pop())
        if op is None:
            continue
        if op.name == "dot" or (op.name == "for" and any(inner.name == "dot" for inner in walk(op.regions[0]))):
            return True
        if op.name in ELEMENTWISE:
            fresh = [v for v in op.operands if v not in seen]
            seen.update(fresh)
            todo += fresh
    return False


def _rows(desc: tensor_descriptor, x_offsets: Any, y_offset: Any, what: str) -> tuple[tensor, tensor]:
    """Addresses of whole rows, and which of their elements exist."""
    name = f"{what} of a tensor descriptor"
    if len(desc.block_shape) != 2 or desc.block_shape[0] != 1:
        text = core.dims_text(desc.block_shape)
        raise InvalidArgument(f"{name} needs tiles of one row and rank 2, the descriptor's are {text}")
    rows = unwrap(x_offsets)
    is_tile = isinstance(rows, tensor) and len(rows.dims) == 1
    if not is_tile or not isinstance(rows.element, DType) or not rows.element.is_int():
        raise InvalidType(f"{name}: x_offsets must be a tile of integers of rank 1, got {core.describe(x_offsets)}")
    if rows.dims[0] < _FEWEST_ROWS:
        raise InvalidArgument(f"{name} takes at least {_FEWEST_ROWS} rows, got {rows.dims[0]}")
    (start,) = integers((y_offset,), I32, "y_offset", name)
    shape = (rows.dims[0], desc.block_shape[1])
    extents = tuple(core.cast(extent, I64) for extent in desc.extents)
    columns = AffineTile(desc.base, extents[1:], desc.steps[1:], (start,), shape[1:])
    wide = core.cast(rows, I64)
    step = stretch(desc.steps[0], rows.dims)
    starts = along(emit_value("mul", (wide, step), I64, rows.dims), 0, shape)
    first = along(columns.pointers(), 1, shape)
    pointers = emit_value("ptr_add", (first, starts), first.element, shape)
    exists = along(is_index(wide, stretch(extents[0], rows.dims)), 0, shape)
    return pointers, emit_value("and", (exists, along(_inside(columns), 1, shape)), BOOL, shape)


# -- older spellings -------------------------------------------------------------------------------


@builtin
def _experimental_make_tensor_descriptor(base: Any, shape: Any, strides: Any, block_shape: Any) -> tensor_descriptor:
    """`make_tensor_descriptor` under its older name."""
    return make_tensor_descriptor(base, shape, strides, block_shape)


@builtin
def _experimental_descriptor_load(desc: Any, offsets: Any, shape: Any, dtype: Any) -> tensor:
    """`load_tensor_descriptor` in its older form; `shape` and `dtype` are those of the descriptor."""
    return load_tensor_descriptor(desc, offsets)


@builtin
def _experimental_descriptor_store(desc: Any, value: Any, offsets: Any) -> None:
    """`store_tensor_descriptor` in its older form."""
    store_tensor_descriptor(desc, offsets, value)
