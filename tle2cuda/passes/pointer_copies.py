"""Tensor copies without the copy engine: the same elements by loads and stores."""

from __future__ import annotations

from tle2cuda.errors import InternalError
from tle2cuda.ir.builder import Builder
from tle2cuda.ir.nodes import Kernel, Op, Value
from tle2cuda.ir.tma import TensorCopy, tensor_copy
from tle2cuda.ir.types import I64, SHARED, DType, PointerType, with_shape
from tle2cuda.ops import atomics, core
from tle2cuda.ops.affine_tiles import AffineTile, padding_value
from tle2cuda.ops.core import constant, emit_value, stretch, tensor


def by_pointers(kernel: Kernel, op: Op, value: Value | None = None) -> list[Op]:
    """The operations that do what a `tma_load` or `tma_store` does, complete when they are through.

    Args:
        kernel: The kernel.
        op: The copy, its tensor described by base, extents and strides.
        value: The tile that the buffer of a store holds, where that is known.
    """
    builder = Builder(kernel.num_warps, kernel.target)
    with builder.active(), builder.region() as made, builder.at(op.span):
        _Copy(builder, op, value).write()
    return made


class _Copy:
    def __init__(self, builder: Builder, op: Op, value: Value | None) -> None:
        self.builder = builder
        self.value = value
        self.op = op
        self.copy: TensorCopy = tensor_copy(op)
        self.dims = self.copy.buffer_type.shape
        self.block: tuple[int, ...] = op.attrs["block"]

    def write(self) -> None:
        place = AffineTile(
            tensor(self.copy.base),
            self._ends(),
            tuple(map(_wide, self.copy.strides)),
            tuple(map(tensor, self.copy.offsets)),
            self._extents(),
        )
        inside = place.inside(range(len(self.block)))
        if inside is None:
            raise InternalError("a tensor copy without dimensions", self.op.span)
        pointers, mask = self._reshaped(place.pointers()), self._reshaped(inside)
        if self.op.name == "tma_load":
            self._load(pointers, mask)
        else:
            self._store(pointers, mask)

    def _extents(self) -> tuple[int, ...]:
        """Those of the tile: the buffer's, and ones for the dimensions that it lacks."""
        long = [extent for extent in self.dims if extent > 1]
        return tuple(long.pop(0) if extent > 1 else 1 for extent in self.block)

    def _ends(self) -> tuple[tensor, ...]:
        """Where elements end to exist along each dimension: with the tensor, or with the box in a larger buffer."""
        ends = []
        for extent, offset, asked, given in zip(
            self.copy.extents, self.copy.offsets, self.block, self._extents(), strict=True
        ):
            end = _wide(extent)
            if asked < given:
                box_end = emit_value("add", (_wide(offset), constant(asked, I64)), I64, ())
                end = emit_value("min", (end, box_end), I64, ())
            ends.append(end)
        return tuple(ends)

    def _reshaped(self, tile: tensor) -> tensor:
        return tile if tile.dims == self.dims else emit_value("reshape", (tile,), tile.element, self.dims)

    def _buffer_pointers(self) -> tensor:
        element = PointerType(self.copy.buffer_type.element, SHARED)
        return tensor(self.builder.emit_one("local_ptr", (self.copy.buffer,), with_shape(element, self.dims)))

    def _load(self, pointers: tensor, mask: tensor) -> None:
        dtype = self.copy.buffer_type.element
        other = padding_value(self.op.attrs["padding"], dtype, "tma_load")
        operands = (pointers, mask) if other is None else (pointers, mask, stretch(other, self.dims))
        attrs = {"cache": "", "eviction": self.op.attrs.get("eviction") or "", "volatile": False}
        value = emit_value("load", operands, dtype, self.dims, {**attrs, "has_mask": True, "has_other": other is not None})
        plain = {"cache": "", "eviction": "", "has_mask": False}
        self.builder.emit("store", (self._buffer_pointers().value, value.value), (), plain)
        if self.copy.barriers is not None and self.copy.index is not None:
            self.builder.emit("mbarrier_arrive", (self.copy.barriers, self.copy.index), (), {"arrivals": 1})

    def _store(self, pointers: tensor, mask: tensor) -> None:
        dtype = self.copy.buffer_type.element
        if self.value is not None:
            value = tensor(self.value)
        else:
            attrs = {"cache": "", "eviction": "", "volatile": False, "has_mask": False, "has_other": False}
            value = emit_value("load", (self._buffer_pointers(),), dtype, self.dims, attrs)
        kind = self.op.attrs["kind"]
        if kind == "store":
            plain = {"cache": "", "eviction": "", "has_mask": True}
            self.builder.emit("store", (pointers.value, value.value, mask.value), (), plain)
        else:
            atomics.update(kind, pointers, value, mask, f"a tensor copy that does {kind}")


def _wide(value: Value) -> tensor:
    assert isinstance(value.type, DType)
    return core.cast(tensor(value), I64)
