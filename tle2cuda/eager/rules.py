"""What matrix products, block pointers, descriptors, tiles of tiles and buffers ask of their arguments."""

from __future__ import annotations

from typing import Any

from tle2cuda.eager.checks import axes, choice, gone_in_3_9, integer, integers, same_length
from tle2cuda.eager.values import Tile, as_dtype, describe, static_int, static_shape
from tle2cuda.errors import DTypeMismatch, InvalidArgument, InvalidType, ShapeMismatch
from tle2cuda.ir.types import BF16, F8E4NV, F8E5, F16, F32, F64, I8, I32, U8, DType

_PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
_FACTORS = (F16, BF16, F32, F64, I8, F8E4NV, F8E5)
_PADDINGS = ("", "zero", "nan")
_MOST_DIMENSIONS, _FEWEST_BYTES, _FEWEST_ROWS = 5, 16, 8

# -- matrix products ----------------------------------------------------------------------------------


def factor(x: Any, name: str, what: str, ranks: str = "") -> Tile:
    """An operand of a product."""
    if not isinstance(x, Tile) or x.is_pointer or not x.shape or (ranks and len(x.shape) < 2):
        raise InvalidType(f"{what}: {name} must be a tile of numbers{ranks}, got {describe(x)}")
    return x


def dot_operands(a: Tile, b: Tile, what: str) -> None:
    """Dtypes and shapes of a product's operands."""
    for name, x in (("input", a), ("other", b)):
        if x.dtype not in _FACTORS:
            raise DTypeMismatch(f"{what}: {name} is {x.dtype.label}, which has no matrix product")
    if a.dtype is not b.dtype and not (a.dtype.is_fp8() and b.dtype.is_fp8()):
        raise DTypeMismatch(f"{what}: both operands must have one dtype, got {a.dtype.label} and {b.dtype.label}")
    if len(a.shape) != len(b.shape) or len(a.shape) < 2:
        raise ShapeMismatch(f"{what}: both operands must have one rank, 2 or more, got {len(a.shape)} and {len(b.shape)}")
    if a.shape[:-2] != b.shape[:-2]:
        raise ShapeMismatch(f"{what}: batch axes differ: {list(a.shape[:-2])} and {list(b.shape[:-2])}")
    if a.shape[-1] != b.shape[-2]:
        raise ShapeMismatch(
            f"{what}: inner dimensions differ: K = {a.shape[-1]} in `input`, K = {b.shape[-2]} in `other`",
            help="tl.trans(x) turns an operand",
        )
    least = 32 if a.dtype.bits == 8 else 16
    if a.shape[-1] < least:
        raise InvalidArgument(f"{what}: K = {a.shape[-1]} is too small, {a.dtype.label} needs at least {least}")


def dot_options(a: Tile, input_precision: Any, allow_tf32: Any, limit: Any, what: str) -> None:
    """Options of a product, none of which changes what eager mode computes."""
    if input_precision is not None and allow_tf32 is not None:
        raise InvalidArgument(f"{what}: only one of input_precision and allow_tf32 can be given")
    if input_precision is not None:
        choice(input_precision, _PRECISIONS, f"{what}: input_precision")
    if limit is not None and a.dtype.is_fp8():
        most = static_int(limit, f"{what}: max_num_imprecise_acc")
        if most > a.shape[-1]:
            raise InvalidArgument(f"{what}: max_num_imprecise_acc ({most}) must be at most K ({a.shape[-1]})")


def dot_result(operand: DType, out_dtype: Any, what: str) -> DType:
    """Dtype of a product."""
    asked = as_dtype(out_dtype, f"{what}: out_dtype")
    if operand is I8:
        return I32
    if asked is BF16:
        raise DTypeMismatch(f"{what}: out_dtype=bfloat16 is unsupported", help="use out_dtype=tl.float32 and cast")
    if operand is F64:
        return F64
    return F16 if asked is F16 and operand not in (F32, BF16) else F32


def accumulator(acc: Any, dtype: DType, shape: tuple[int, ...], what: str) -> Tile:
    """What a product is added to."""
    if not isinstance(acc, Tile) or acc.is_pointer:
        raise InvalidType(f"{what}: acc must be a tile, got {describe(acc)}")
    if acc.shape != shape:
        raise ShapeMismatch(f"{what}: acc has shape {list(acc.shape)}, the product has {list(shape)}")
    if acc.dtype is not dtype:
        raise DTypeMismatch(f"{what}: acc is {acc.dtype.label}, the product is {dtype.label}")
    return acc


def scaled_operand(x: Any, format_: str, is_packed_along_k: Any, name: str, what: str) -> None:
    """An operand of a microscaled product."""
    factor(x, name, what, " of rank 2 or 3")
    if not is_packed_along_k and format_ != "e2m1":
        raise InvalidArgument(f"{what}: {name}_k_pack=False is for e2m1, {name} has the format {format_}")


def scale_of(scale: Any, name: str, what: str) -> Tile:
    """A scale of a microscaled product."""
    if not isinstance(scale, Tile) or scale.is_pointer or scale.dtype not in (U8, I8, F8E4NV):
        raise DTypeMismatch(f"{what}: {name}_scale must be a tile of uint8 or float8e4nv, got {describe(scale)}")
    return scale


# -- tiles of memory ----------------------------------------------------------------------------------


def block_pointer(base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any) -> None:
    """Arguments of `tl.make_block_ptr`."""
    what = "tl.make_block_ptr"
    gone_in_3_9(what)
    if not isinstance(base, Tile) or not base.is_pointer or base.shape:
        raise InvalidType(f"{what}: base must be a pointer, got {describe(base)}")
    extents, steps = integers(shape, "shape", what), integers(strides, "strides", what)
    starts = integers(offsets, "offsets", what, 32)
    tile = static_shape(block_shape, f"{what}: block_shape")
    same_length(what, shape=extents, strides=steps, offsets=starts, block_shape=tile)
    listed = axes(order, f"{what}: order")
    if sorted(listed) != list(range(len(tile))):
        raise InvalidArgument(f"{what}: order must be a permutation of the dimensions 0 to {len(tile) - 1}, got {listed}")


def advance(base: Any, rank: int, offsets: Any) -> None:
    """Arguments of `tl.advance`, the first of which is a block pointer."""
    what = "tl.advance"
    steps = integers(offsets, "offsets", what, 32)
    same_length(what, base=range(rank), offsets=steps)


def block_axes(boundary_check: Any, rank: int, what: str) -> list[int]:
    """Dimensions that `boundary_check` lists."""
    listed = axes(boundary_check, f"{what}: boundary_check")
    for axis in listed:
        if not 0 <= axis < rank:
            raise InvalidArgument(f"{what}: boundary_check lists dimension {axis}, the tile has rank {rank}")
    if len(set(listed)) != len(listed):
        raise InvalidArgument(f"{what}: boundary_check lists a dimension twice: {listed}")
    return listed


def padding(option: Any, dtype: DType, what: str) -> str:
    """What elements outside of a tensor read as."""
    word = choice(option, _PADDINGS, f"{what}: padding_option")
    if word == "nan" and not dtype.is_floating():
        raise InvalidArgument(f"{what}: padding_option 'nan' is for floats, the elements are {dtype.label}")
    return word


def stored_block(value: Tile, dtype: DType, block: tuple[int, ...], what: str) -> None:
    """A value that goes through a block pointer: a scalar, or a tile of just its shape and dtype."""
    if value.shape and value.shape != block:
        raise ShapeMismatch(f"{what}: value of shape {list(value.shape)} does not fit the block pointer's {list(block)}")
    if value.shape and value.dtype is not dtype:
        raise InvalidType(
            f"{what}: the block pointer points to {dtype.label}, the value is {value.dtype.label}",
            help=f"convert it, .to(tl.{dtype.label})",
        )


def descriptor(base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: Any) -> None:
    """Arguments of `tl.make_tensor_descriptor`."""
    what = "tl.make_tensor_descriptor"
    if not isinstance(base, Tile) or not base.is_pointer or base.shape:
        raise InvalidType(f"{what}: base must be a pointer, got {describe(base)}")
    extents = integers(shape, "shape", what)
    last = strides[-1] if isinstance(strides, (tuple, list)) and strides else None
    if isinstance(last, Tile) or last != 1:
        raise InvalidArgument(f"{what}: the last stride must be the constant 1, got {describe(last)}")
    steps = integers(strides, "strides", what)
    tile = static_shape(block_shape, f"{what}: block_shape")
    same_length(what, shape=extents, strides=steps, block_shape=tile)
    if not 1 <= len(tile) <= _MOST_DIMENSIONS:
        raise InvalidArgument(f"{what}: a tensor has 1 to {_MOST_DIMENSIONS} dimensions, not {len(tile)}")
    dtype: DType = base.dtype.element_ty
    if tile[-1] * dtype.bytes < _FEWEST_BYTES:
        raise InvalidArgument(
            f"{what}: the last dimension of block_shape must have at least {_FEWEST_BYTES} bytes, "
            f"got {tile[-1]} * {dtype.bytes} = {tile[-1] * dtype.bytes} bytes"
        )
    padding(padding_option, dtype, what)


def descriptor_offsets(offsets: Any, rank: int, what: str) -> None:
    """Where a descriptor is accessed."""
    starts = integers(offsets, "offsets", what, 32)
    if len(starts) != rank:
        raise ShapeMismatch(f"{what}: expected {rank} offsets, got {len(starts)}")


def descriptor_value(value: Any, block: tuple[int, ...], what: str) -> Tile:
    """What is stored through a descriptor."""
    if not isinstance(value, Tile) or not value.shape:
        raise InvalidType(f"{what} of a tensor descriptor takes a tile, got {describe(value)}")
    if value.shape != block:
        raise ShapeMismatch(
            f"{what} of a tensor descriptor: the value's shape {list(value.shape)} is not the descriptor's {list(block)}"
        )
    return value


def descriptor_rows(block: tuple[int, ...], x_offsets: Any, y_offset: Any, what: str) -> None:
    """Arguments of a descriptor's `gather` and `scatter`."""
    name = f"{what} of a tensor descriptor"
    if len(block) != 2 or block[0] != 1:
        raise InvalidArgument(f"{name} needs tiles of one row and rank 2, the descriptor's are {list(block)}")
    is_tile = isinstance(x_offsets, Tile) and len(x_offsets.shape) == 1 and not x_offsets.is_pointer
    if not is_tile or not x_offsets.dtype.is_int():
        raise InvalidType(f"{name}: x_offsets must be a tile of integers of rank 1, got {describe(x_offsets)}")
    if x_offsets.shape[0] < _FEWEST_ROWS:
        raise InvalidArgument(f"{name} takes at least {_FEWEST_ROWS} rows, got {x_offsets.shape[0]}")
    integer(y_offset, "y_offset", name, 32)


# -- tiles of tiles, buffers --------------------------------------------------------------------------


def tile_of_tiles(x: Any, index: Any, part: tuple[int, ...], what: str) -> None:
    """A tile, and which of its parts of a shape is meant."""
    if not isinstance(x, Tile):
        raise InvalidArgument(f"{what}: `x` must be a tensor, got {describe(x)}")
    if len(part) != len(x.shape):
        raise ShapeMismatch(f"{what}: tile_shape {list(part)} of rank {len(part)} for a tile of rank {len(x.shape)}")
    if isinstance(index, (tuple, list)):
        if len(index) != len(x.shape):
            raise ShapeMismatch(f"{what}: index of rank {len(index)} for a tile of rank {len(x.shape)}")
        for position, one in enumerate(index):
            _tile_number(one, f"{what}: index {position} must be an integer")
    elif isinstance(index, Tile):
        _tile_number(index, f"{what}: `index` must be a scalar integer")
    else:
        _tile_number(index, f"{what}: `index` must be a tile number or a coordinate")


def _tile_number(x: Any, problem: str) -> None:
    try:
        integer(x, "index", "")
    except InvalidType:
        raise InvalidArgument(f"{problem}, got {describe(x)}") from None


def stage(number: Any, what: str) -> None:
    """Which slot of a buffer is meant."""
    if isinstance(number, Tile):
        if number.shape or number.dtype is not I32:
            kind = "a scalar int32" if number.shape else "int32"
            raise InvalidArgument(f"{what}: the stage must be {kind}, got {describe(number)}")
    elif isinstance(number, bool) or not isinstance(number, int):
        raise InvalidArgument(f"{what}: the stage must be an int or a scalar int32, got {number!r}")
