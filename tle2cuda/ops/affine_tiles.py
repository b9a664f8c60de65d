"""Tiles described by base, extents, strides and offsets: what block pointers and tensor descriptors have in common.

Addresses are computed in 64 bits. What is the same for the whole tile stays scalar: its first element's address, and how
many elements are left from there to each end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tle2cuda.errors import DTypeMismatch, InvalidArgument, InvalidType, ShapeMismatch
from tle2cuda.ir.types import BOOL, F8E4B15, I8, I32, I64, DType, PointerType
from tle2cuda.ops import core
from tle2cuda.ops.core import constant, dtype_from_ir, emit_value, fact, stretch, tensor, to_tensor, unwrap

PADDINGS = ("", "zero", "nan")


@dataclass(frozen=True, slots=True)
class TileShape:
    """Extents of a tile in memory, as one compile-time object."""

    extents: tuple[int, ...]

    def __repr__(self) -> str:
        return f"tile shape {core.dims_text(self.extents)}"


def pointee(pointer: tensor) -> DType:
    """Element dtype behind a pointer."""
    element = pointer.element
    assert isinstance(element, PointerType)
    return element.element


def base_pointer(base: Any, what: str) -> tensor:
    """The pointer to a tensor's first element; bool is treated as int8.

    Raises:
        InvalidType: It is no scalar pointer.
    """
    value = unwrap(base)
    if not isinstance(value, tensor) or not value.is_pointer or value.dims:
        raise InvalidType(
            f"{what}: base must be a pointer, got {core.describe(base)}",
            facts=(fact("base", value),) if isinstance(value, tensor) else (),
            help="pass the kernel argument itself, and where the tile begins as offsets",
        )
    element = value.element
    assert isinstance(element, PointerType)
    if element.element is F8E4B15:
        raise DTypeMismatch(
            f"{what}: elements of float8e4b15 go through plain pointers",
            facts=(fact("base", value),),
            help="use a tile of pointers with tl.load and tl.store",
        )
    if element.element is BOOL:
        return core.cast(value, dtype_from_ir(PointerType(I8, element.space)))
    return value


def integers(values: Any, dtype: DType, name: str, what: str) -> tuple[tensor, ...]:
    """A tuple of run-time integers of one dtype.

    Raises:
        InvalidType: One is no integer, or is a 64-bit one where 32 bits are wanted.
    """
    items = unwrap(values)
    items = tuple(items) if isinstance(items, (tuple, list)) else (items,)
    return tuple(_integer(item, dtype, f"{what}: {name}[{i}]") for i, item in enumerate(items))


def _integer(item: Any, dtype: DType, what: str) -> tensor:
    plain = unwrap(item)
    if isinstance(plain, int):
        low, high = core.integer_range(dtype)
        if not low <= plain < high + 1:
            raise InvalidArgument(f"{what} is {plain}, which does not fit {dtype.label}")
        return constant(int(plain), dtype)
    value = to_tensor(item)
    element = value.element
    if value.dims or not isinstance(element, DType) or not element.is_int():
        raise InvalidType(f"{what} must be an integer, got {core.describe(item)}", facts=(fact("value", value),))
    if dtype is I32 and element.bits > 32:
        raise InvalidType(
            f"{what} must have 32 bits, got {core.describe_type(value)}",
            facts=(fact("value", value),),
            help="add .to(tl.int32), or use a tile of pointers",
        )
    return core.cast(value, dtype)


def same_length(what: str, **parts: Sequence[Any]) -> None:
    """Raises unless all parts have one entry a dimension."""
    counts = {name: len(part) for name, part in parts.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise ShapeMismatch(f"{what}: one entry a dimension is needed: {listed}")


@dataclass(frozen=True, slots=True)
class AffineTile:
    """A tile of a tensor in memory.

    Attributes:
        base: Pointer to the tensor's first element.
        extents: Extents of the tensor, int64.
        strides: Elements from one index to the next, int64.
        offsets: Index of the tile's first element, int32.
        shape: Extents of the tile.
    """

    base: tensor
    extents: tuple[tensor, ...]
    strides: tuple[tensor, ...]
    offsets: tuple[tensor, ...]
    shape: tuple[int, ...]

    def pointers(self) -> tensor:
        """The addresses of all elements, those outside of the tensor included."""
        first = self.base
        for offset, stride in zip(self.offsets, self.strides, strict=True):
            first = _moved(first, _arithmetic("mul", core.cast(offset, I64), stride))
        pointers = stretch(first, self.shape)
        for axis, stride in enumerate(self.strides):
            if self.shape[axis] > 1:
                pointers = _moved(pointers, _arithmetic("mul", self._index(axis), stretch(stride, self.shape)))
        return pointers

    def inside(self, axes: Sequence[int]) -> tensor | None:
        """Which elements lie inside of the tensor along the given axes; None when there are none."""
        mask: tensor | None = None
        zero = stretch(constant(0, I64), self.shape)
        for axis in axes:
            offset = core.cast(self.offsets[axis], I64)
            room = named(_arithmetic("sub", self.extents[axis], offset), f"{self._axis_name(axis)}_left")
            index = self._index(axis)
            place = _arithmetic("add", stretch(offset, self.shape), index)
            for value, predicate, limit in ((index, "lt", stretch(room, self.shape)), (place, "ge", zero)):
                part = emit_value("cmp", (value, limit), BOOL, self.shape, {"predicate": predicate})
                mask = part if mask is None else emit_value("and", (mask, part), BOOL, self.shape)
        return mask

    def _axis_name(self, axis: int) -> str:
        rank = len(self.shape)
        return ("rows", "cols")[axis] if rank == 2 else f"axis{axis}" if rank > 1 else "elements"

    def _index(self, axis: int) -> tensor:
        """The index along one axis, counted from the tile's first element."""
        extent = self.shape[axis]
        index = emit_value("arange", (), I32, (extent,), {"start": 0, "end": extent})
        return along(core.cast(index, I64), axis, self.shape)


def along(index: tensor, axis: int, shape: tuple[int, ...]) -> tensor:
    """A tile of rank 1 laid along one axis of a larger shape and repeated along the others."""
    for position in range(len(shape)):
        if position != axis:
            dims = (*index.dims[:position], 1, *index.dims[position:])
            index = emit_value("expand_dims", (index,), index.element, dims, {"axis": position})
    return stretch(index, shape)


def is_index(index: tensor, extent: tensor) -> tensor:
    """Which indices lie in [0, extent)."""
    zero = constant(0, I64, index.dims)
    enough = emit_value("cmp", (index, extent), BOOL, index.dims, {"predicate": "lt"})
    return emit_value(
        "and", (enough, emit_value("cmp", (index, zero), BOOL, index.dims, {"predicate": "ge"})), BOOL, index.dims
    )


def named(x: tensor, name: str) -> tensor:
    """`x` under a name for the emitted text, unless it has one."""
    if not x.value.name:
        # Values are frozen so that passes cannot change them; while tracing, nobody has seen this one yet.
        object.__setattr__(x.value, "name", name)
    return x


def _moved(pointer: tensor, offset: tensor) -> tensor:
    return emit_value("ptr_add", (pointer, offset), pointer.element, pointer.dims)


def _arithmetic(op: str, a: tensor, b: tensor) -> tensor:
    return emit_value(op, (a, b), a.element, a.dims)


def padding_value(padding: str, dtype: DType, what: str) -> tensor | None:
    """What stands for elements outside of the tensor.

    Raises:
        InvalidArgument: NaN in integers.
    """
    if padding == "nan":
        if not dtype.is_floating():
            raise InvalidArgument(f"{what}: padding_option 'nan' is for floats, the elements are {dtype.label}")
        return constant(float("nan"), dtype)
    return None
