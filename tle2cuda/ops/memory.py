"""Loads and stores through pointers, of global, shared and cluster memory alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tle2cuda.errors import InvalidArgument, InvalidType, ShapeMismatch
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import F8E4B15, BufferType, DType
from tle2cuda.ops import core
from tle2cuda.ops.affine_tiles import PADDINGS, padding_value, pointee
from tle2cuda.ops.block_pointers import block_pointer, check_stored, checked_axes
from tle2cuda.ops.core import (
    builtin,
    constant,
    emit_value,
    fact,
    is_literal,
    literal_dtype,
    meaning,
    static_bool,
    static_choice,
    static_value,
    stretch,
    tensor,
    tensor_member,
    to_tensor,
    unwrap,
)
from tle2cuda.ops.custom_float8 import bytes_of, float8e4b15_tensor, to_bytes
from tle2cuda.ops.histogram import mask_operand
from tle2cuda.ops.tile_sources import TileSource, copied, remember

LOAD_CACHE_MODIFIERS = ("", ".ca", ".cg", ".cs", ".cv")
STORE_CACHE_MODIFIERS = ("", ".wb", ".cg", ".cs", ".wt")
EVICTION_POLICIES = ("", "evict_first", "evict_last")


def pointer_operand(pointer: Any, what: str) -> tensor:
    """A pointer or tile of pointers.

    Raises:
        InvalidType: Anything else.
    """
    value = unwrap(pointer)
    if isinstance(value, tensor) and value.is_pointer:
        return value
    held = getattr(getattr(value, "value", None), "type", None)
    if isinstance(held, BufferType):
        raise InvalidType(
            f"{what} takes a pointer or a tile of pointers, got {held}",
            help="point to its elements: tle.gpu.local_ptr(buffer), or tle.gpu.local_ptr(buffer, (i,)) to some",
        )
    raise InvalidType(
        f"{what} takes a pointer or a tile of pointers, got {core.describe(pointer)}",
        facts=(fact("pointer", value),) if isinstance(value, tensor) else (),
        help="a kernel argument becomes a pointer by passing an array for it",
    )


def literal_constant(value: bool | int | float, dtype: DType) -> tensor:
    """A number converted to `dtype` as a store does: floats truncate towards integers, integers wrap."""
    literal_dtype(value)  # refuses what no type of 64 bits holds
    special = isinstance(value, float) and (value != value or value in (float("inf"), float("-inf")))
    if dtype.is_floating():
        return constant(float(value), dtype)
    if special:
        return core.cast(to_tensor(value), dtype)
    if dtype.is_bool():
        return constant(value != 0, dtype)
    low, high = core.integer_range(dtype)
    return constant((int(value) - low) % (high - low + 1) + low, dtype)


def value_operand(value: Any, dtype: DType, dims: tuple[int, ...], name: str, what: str) -> tensor:
    """The value of a store, `other` of a load ...: converted to the pointee dtype, in the pointer's shape.

    Raises:
        ShapeMismatch: It does not broadcast to the pointer's shape.
    """
    if is_literal(value):
        literal = literal_constant(unwrap(value), dtype)
        return stretch(literal, dims) if dims else literal
    x = core.numeric(value, f"{what}: {name}")
    if core.broadcast_shape(x.dims, dims) != dims:
        if dims:
            problem = f"{name} of shape {core.dims_text(x.dims)} does not fit pointers {core.dims_text(dims)}"
        else:
            problem = f"{name} must be a scalar, as the pointer is, got {core.describe_type(x)}"
        raise ShapeMismatch(
            f"{what}: {problem}",
            facts=(fact(name, x),),
            help=f"give it shape {core.dims_text(dims)}, or extents of 1 there, which are repeated"
            if dims
            else "use a tile of pointers, pointer + tl.arange(0, N)",
        )
    x = core.cast(x, dtype)
    return stretch(x, dims) if dims else x


def optional_mask(mask: Any) -> Any:
    """None for an absent mask, and for one that is True at compile time."""
    value = unwrap(mask)
    return None if value is None or value is True else value


def refuse_block_pointer_options(boundary_check: Any, padding_option: Any, what: str) -> None:
    """`boundary_check` and `padding_option` belong to block pointers.

    Raises:
        InvalidArgument: One of them is given for another pointer.
    """
    checked = static_value(boundary_check, f"{what}: boundary_check")
    padding = static_value(padding_option, f"{what}: padding_option")
    for name, value in (("boundary_check", checked), ("padding_option", padding)):
        if value not in ((), [], None, ""):
            raise InvalidArgument(
                f"{what}: {name} belongs to block pointers, this is a tile of pointers or a scalar",
                help="use mask=, or make the pointer with tl.make_block_ptr",
            )


def _load_tile(pointer: block_pointer, checked: tuple[int, ...], padding: str, attrs: dict[str, Any]) -> tensor:
    """Load what a block pointer points to; elements outside along the checked dimensions are not accessed."""
    place = pointer.place()
    operands = [place.pointers()]
    dtype = pointee(pointer.base)
    value = padding_value(padding, dtype, "tl.load")
    mask = place.inside(checked)
    if mask is not None:
        operands.append(mask)
        if value is not None:
            operands.append(stretch(value, place.shape))
    attrs = {**attrs, "has_mask": len(operands) > 1, "has_other": len(operands) > 2}
    tile = emit_value("load", tuple(operands), dtype, place.shape, attrs)
    is_checked = all(axis in checked or extent == 1 for axis, extent in enumerate(place.shape))
    if is_checked and not attrs["volatile"]:
        return remember(tile, TileSource(place, padding, attrs["eviction"], False))
    return tile


def _store_tile(pointer: block_pointer, value: Any, checked: tuple[int, ...], attrs: dict[str, Any]) -> None:
    """Store to where a block pointer points; elements outside along the checked dimensions are dropped."""
    what = "tl.store"
    if not is_literal(value):
        check_stored(core.numeric(value, f"{what}: value"), pointer, what)
    place = pointer.place()
    operands = [place.pointers(), value_operand(value, pointee(pointer.base), place.shape, "value", what)]
    mask = place.inside(checked)
    if mask is not None:
        operands.append(mask)
    attrs = {**attrs, "has_mask": mask is not None}
    builder.current().emit("store", tuple(x.value for x in operands), (), attrs)


def _refuse_mask(mask: Any, other: Any, what: str) -> None:
    for name, given in (("mask", mask), ("other", other)):
        if unwrap(given) is not None:
            raise InvalidArgument(
                f"{what}: {name} cannot be given for a block pointer",
                help="list the dimensions to be checked in boundary_check=",
            )


@builtin
@tensor_member
def load(
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: Any = "",
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    volatile: Any = False,
) -> tensor:
    """Loads elements; masked-off ones are not accessed and read as `other`, or as 0.

    Args:
        pointer: Pointer, tile of pointers or block pointer. A scalar is loaded once per CTA, the same in all threads.
        mask: bool; tiles of pointers and mask broadcast against each other.
        other: Value of masked-off elements, converted to the pointee dtype. Needs `mask`.
        boundary_check: Of a block pointer, the dimensions along which elements outside of the tensor are not accessed.
        padding_option: Of a block pointer, what such elements read as: ``"zero"`` or ``"nan"``; 0 when empty.
        cache_modifier: ``""``, ``".ca"``, ``".cg"``, ``".cs"`` or ``".cv"``.
        eviction_policy: ``""``, ``"evict_first"`` or ``"evict_last"``.
        volatile: Never merge, hoist or drop the access.

    Returns:
        A value of the pointee dtype in the common shape of pointer and mask.

    Raises:
        InvalidType: `pointer` is no pointer.
        InvalidArgument: `other` without `mask`, or an unknown modifier or policy.
        ShapeMismatch: `mask` or `other` does not fit.
        DTypeMismatch: `mask` is not bool.

    Example:
        ``x = tl.load(x_ptr + i, mask=i < n, other=0.0)``
    """
    options = (boundary_check, padding_option, cache_modifier, eviction_policy, volatile)
    return load_as(pointer, mask, other, *options, attrs={})


def load_as(
    pointer: Any,
    mask: Any,
    other: Any,
    boundary_check: Any,
    padding_option: Any,
    cache_modifier: Any,
    eviction_policy: Any,
    volatile: Any,
    attrs: Mapping[str, Any],
) -> tensor:
    """As `load`, with further attributes of the operation."""
    what = "tl.load"
    all_attrs: dict[str, Any] = {
        "has_mask": False,
        "has_other": False,
        "cache": static_choice(cache_modifier, LOAD_CACHE_MODIFIERS, f"{what}: cache_modifier"),
        "eviction": static_choice(eviction_policy, EVICTION_POLICIES, f"{what}: eviction_policy"),
        "volatile": static_bool(volatile, f"{what}: volatile"),
        **attrs,
    }
    tile = unwrap(pointer)
    if isinstance(tile, block_pointer):
        _refuse_mask(mask, other, what)
        padding = static_choice(padding_option, PADDINGS, f"{what}: padding_option")
        return _load_tile(tile, checked_axes(boundary_check, len(tile.offsets), what), padding, all_attrs)
    refuse_block_pointer_options(boundary_check, padding_option, what)
    address = pointer_operand(pointer, what)
    if pointee(address) is F8E4B15:
        filled = None if unwrap(other) is None else bytes_of(other)
        options = ((), "", cache_modifier, eviction_policy, volatile)
        loaded: Any = float8e4b15_tensor(load_as(to_bytes(address), mask, filled, *options, attrs))
        return loaded  # type: ignore[no-any-return]  # it converts to a tensor, and does nothing else
    if unwrap(mask) is None and unwrap(other) is not None:
        raise InvalidArgument(f"{what}: other is given without mask", help="give mask= too, or leave other out")
    operands = [address]
    condition = optional_mask(mask)
    if condition is not None:
        address, condition = _with_mask(address, condition, what)
        operands = [address, condition]
        all_attrs["has_mask"] = True
        if unwrap(other) is not None:
            operands.append(value_operand(other, pointee(address), address.dims, "other", what))
            all_attrs["has_other"] = True
    return emit_value("load", tuple(operands), pointee(address), address.dims, all_attrs)


def _with_mask(pointer: tensor, mask: Any, what: str) -> tuple[tensor, tensor]:
    """Tiles of pointers stretch to the mask's shape; a scalar pointer takes a scalar mask only."""
    value = to_tensor(mask)
    dims = pointer.dims
    if dims:
        merged = core.broadcast_shape(dims, value.dims)
        if merged is None:
            raise ShapeMismatch(
                f"{what}: the mask of shape {core.dims_text(value.dims)} does not fit pointers {core.dims_text(dims)}",
                facts=(fact("pointer", pointer), fact("mask", value)),
                help=f"compare the offsets of these pointers, so that the mask has shape {core.dims_text(dims)} too",
            )
        pointer = stretch(pointer, merged)
    return pointer, mask_operand(value, pointer.dims, what)


@builtin
@tensor_member
def store(
    pointer: Any,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    cache_modifier: Any = "",
    eviction_policy: Any = "",
) -> None:
    """Stores elements; masked-off ones leave memory as it is.

    Of several elements with one address, one unspecified wins.

    Args:
        pointer: Pointer, tile of pointers or block pointer.
        value: Converted to the pointee dtype and broadcast to the pointer's shape; of a block pointer, a tile of
            its shape and dtype or a number.
        mask: bool, broadcast to the pointer's shape.
        boundary_check: Of a block pointer, the dimensions along which elements outside of the tensor are dropped.
        cache_modifier: ``""``, ``".wb"``, ``".cg"``, ``".cs"`` or ``".wt"``.
        eviction_policy: ``""``, ``"evict_first"`` or ``"evict_last"``.

    Raises:
        InvalidType: `pointer` is no pointer.
        InvalidArgument: An unknown modifier or policy.
        ShapeMismatch: `value` or `mask` does not fit the pointer's shape.
        DTypeMismatch: `mask` is not bool.

    Example:
        ``tl.store(out_ptr + i, x, mask=i < n)``
    """
    what = "tl.store"
    attrs: dict[str, Any] = {
        "has_mask": False,
        "cache": static_choice(cache_modifier, STORE_CACHE_MODIFIERS, f"{what}: cache_modifier"),
        "eviction": static_choice(eviction_policy, EVICTION_POLICIES, f"{what}: eviction_policy"),
    }
    tile = unwrap(pointer)
    if isinstance(tile, block_pointer):
        _refuse_mask(mask, None, what)
        _store_tile(tile, value, checked_axes(boundary_check, len(tile.offsets), what), attrs)
        return
    refuse_block_pointer_options(boundary_check, "", what)
    address = pointer_operand(pointer, what)
    if pointee(address) is F8E4B15:
        address, value = to_bytes(address), bytes_of(value)
    operands = [address, value_operand(value, pointee(address), address.dims, "value", what)]
    condition = optional_mask(mask)
    if condition is not None:
        operands.append(mask_operand(condition, address.dims, what))
        attrs["has_mask"] = True
    elif not attrs["cache"] and not attrs["eviction"] and copied(*operands):
        return
    builder.current().emit("store", tuple(x.value for x in operands), (), attrs)


# -- meanings ---------------------------------------------------------------------------------------


@meaning("load")
def _load(ctx: Any, op: Op, pointers: Any, mask: Any = None, other: Any = None, *_scratch: Any) -> Any:
    mask = mask if op.attrs.get("has_mask") else None
    other = other if op.attrs.get("has_other") else None
    return ctx.memory.load(op, pointers, mask, other)


@meaning("store")
def _store(ctx: Any, op: Op, pointers: Any, values: Any, mask: Any = None) -> None:
    ctx.memory.store(op, pointers, np.asarray(values), mask if op.attrs.get("has_mask") else None)
