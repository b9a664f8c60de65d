"""Whole contiguous rows as bulk copies of the copy engine: no tensor map, one instruction a row, by one thread.

A tile of pointers is taken apart into the address of its first element and the step from row to row, as scalars. The copy
is a `tma_load` of a tensor that is the tile, which its first operand leads to; nothing of it lies outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tle2cuda.analysis.axis_domain import AxisInfo
from tle2cuda.analysis.buffer_views import BufferViews
from tle2cuda.ir.classify import is_tile
from tle2cuda.ir.nodes import Kernel, Op, Value, make_op, walk
from tle2cuda.ir.span import Span
from tle2cuda.ir.types import I32, I64, BufferType, DType, Type, element_of, shape_of
from tle2cuda.targets import parse_target

LEAST_ROW_BYTES = 256
"""Of a row that is worth an instruction of its own; shorter ones are left to cp.async."""

MOST_ROWS = 64
_ALIGNMENT_BYTES = 16  # of addresses and sizes (PTX ISA, cp.async.bulk)

Emit = Callable[[Op], Op]


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """A tile of pointers to whole rows.

    Attributes:
        pointers: The tile.
        buffer: Where it goes.
        rows: Rows; one where all elements lie beside each other.
        row_elems: Elements of a row.
    """

    pointers: Value
    buffer: Value
    rows: int
    row_elems: int


class BulkCopies:
    """Which copies can be made in bulk."""

    def __init__(self, kernel: Kernel, info: Mapping[Value, AxisInfo], definitions: Mapping[Value, Op]) -> None:
        self.info = info
        self.definitions = definitions
        self.views = BufferViews(kernel)
        ops = list(walk(kernel.body))
        # Buffers that products read may yet be swizzled.
        self.is_possible = parse_target(kernel.target).has("tma") and not any(op.name == "dot" for op in ops)

    def of(self, pointers: Value, buffer: Value) -> BulkCopy | None:
        """The copy of a tile of pointers to a buffer; None where it must be made otherwise."""
        type_ = buffer.type
        assert isinstance(type_, BufferType)
        if not self.is_possible or not 1 <= len(type_.shape) <= 2 or type_.logical_shape is not None:
            return None
        allocations, view = self.views.allocations(buffer), self.views.view(buffer)
        if allocations is None or any(op.attrs.get("swizzle_bytes") for op in allocations):
            return None
        info, row = self.info[pointers], type_.shape[-1]
        row_bytes = row * type_.element.bytes
        if not view.is_dense or view.alignment_bytes % _ALIGNMENT_BYTES or row_bytes % _ALIGNMENT_BYTES:
            return None
        if info.contiguity[-1] < row or info.divisibility[-1] % _ALIGNMENT_BYTES or not self._is_linear(pointers):
            return None
        rows = math.prod(type_.shape[:-1])
        if row_bytes < LEAST_ROW_BYTES or rows > MOST_ROWS:
            return None
        return BulkCopy(pointers, buffer, rows, row)

    def load(self, copy: BulkCopy, emit: Emit, new: Callable[[Value], Value], span: Span) -> Op:
        """The copy as an operation, behind what it is made of.

        Args:
            copy: The copy.
            emit: Appends an operation.
            new: The value that stands for one of the kernel.
            span: The user's place.
        """
        described, block = self._described(copy, emit, new, span)
        attrs = {"rank": len(block), "block": block, "padding": "zero", "eviction": "", "completion": "blocking"}
        return emit(make_op("tma_load", (*described, new(copy.buffer)), (), attrs, span=span))

    def store(self, copy: BulkCopy, kind: str, emit: Emit, new: Callable[[Value], Value], span: Span) -> Op:
        """The same in the other direction: `kind` is ``store`` or what combines elements; other arguments as of `load`."""
        described, block = self._described(copy, emit, new, span)
        attrs = {"rank": len(block), "block": block, "kind": kind, "is_bulk": True}
        return emit(make_op("tma_store", (new(copy.buffer), *described), (), attrs, span=span))

    def _described(
        self, copy: BulkCopy, emit: Emit, new: Callable[[Value], Value], span: Span
    ) -> tuple[tuple[Value, ...], tuple[int, ...]]:
        """The tensor that a tile of pointers is, and the box that is all of it."""
        scalars = _Scalars(self.definitions, emit, new, span)
        first = scalars.first(copy.pointers)
        one, zero, row = (scalars.constant(number, I32) for number in (1, 0, copy.row_elems))
        block: tuple[int, ...] = (copy.row_elems,)
        parts: tuple[Value, ...] = (row, one, zero)
        if copy.rows > 1:
            step = scalars.step(copy.pointers, 0) or scalars.constant(0, I64)
            block = (copy.rows, copy.row_elems)
            parts = (scalars.constant(copy.rows, I32), row, step, one, zero, zero)
        return (first, *parts), block

    def _is_linear(self, value: Value) -> bool:
        """Whether elements lie at equal steps along each axis, and first element and steps can be computed."""
        op = self.definitions.get(value)
        if not is_tile(value):
            return True
        if op is None:
            return False
        if op.name in ("splat", "arange", "constant"):
            return True
        if op.name in ("broadcast", "expand_dims", "trans", "hint", "cast"):
            return self._is_linear(op.operands[0])
        if op.name in ("add", "sub", "ptr_add"):
            return all(map(self._is_linear, op.operands))
        if op.name == "mul":
            return all(map(self._is_linear, op.operands)) and any(self._is_uniform(v) for v in op.operands)
        return False

    def _is_uniform(self, value: Value) -> bool:
        return all(
            constant == extent for constant, extent in zip(self.info[value].constancy, shape_of(value.type), strict=True)
        )


class _Scalars:
    """Makes the scalars that a linear tile is described by."""

    def __init__(self, definitions: Mapping[Value, Op], emit: Emit, new: Callable[[Value], Value], span: Span) -> None:
        self.definitions = definitions
        self.span = span
        self.numbers: dict[Value, int] = {}  # of constants made here
        self.emit = emit
        self.new = new

    def constant(self, number: int, type_: DType) -> Value:
        made = self.emit(make_op("constant", (), (type_,), {"value": number}, span=self.span)).result
        self.numbers[made] = number
        return made

    def first(self, value: Value) -> Value:
        """The element whose indices are all 0."""
        if not is_tile(value):
            return self.new(value)
        op, type_ = self.definitions[value], element_of(value.type)
        if op.name == "arange":
            assert isinstance(type_, DType)
            return self.constant(int(op.attrs["start"]), type_)
        if op.name == "constant":
            assert isinstance(type_, DType)
            return self.constant(int(op.attrs["value"]), type_)
        if op.name in ("splat", "broadcast", "expand_dims", "trans", "hint"):
            return self.first(op.operands[0])
        return self._made(op.name, tuple(self.first(v) for v in op.operands), type_, op)

    def step(self, value: Value, axis: int) -> Value | None:
        """What lies between neighbours along an axis, in elements as int64; None for nothing."""
        if not is_tile(value):
            return None
        op = self.definitions[value]
        if op.name in ("splat", "constant") or shape_of(value.type)[axis] == 1:
            return None
        if op.name == "arange":
            return self.constant(1, I64)
        operands = op.operands
        if op.name == "broadcast":
            return self.step(operands[0], axis)
        if op.name == "expand_dims":
            at = op.attrs["axis"]
            return None if at == axis else self.step(operands[0], axis - (axis > at))
        if op.name == "trans":
            return self.step(operands[0], op.attrs["perm"][axis])
        if op.name in ("hint", "cast"):
            return self.step(operands[0], axis)
        steps = [self.step(v, axis) for v in operands]
        if op.name == "mul":
            moving = 0 if steps[0] is not None else 1
            step = steps[moving]
            return None if step is None else self._made("mul", (step, self._wide(self.first(operands[1 - moving]))), I64)
        a, b = steps
        if b is None:
            return a
        if a is None:
            return b if op.name != "sub" else self._made("sub", (self.constant(0, I64), b), I64)
        return self._made("sub" if op.name == "sub" else "add", (a, b), I64)

    def _wide(self, value: Value) -> Value:
        return value if value.type is I64 else self._made("cast", (value,), I64)

    def _made(self, name: str, operands: tuple[Value, ...], type_: Type, like: Op | None = None) -> Value:
        known = [self.numbers.get(operand) for operand in operands]
        if name in ("add", "ptr_add", "sub") and known[1] == 0:
            return operands[0]
        if name == "add" and known[0] == 0:
            return operands[1]
        if name == "mul" and 0 in known and isinstance(type_, DType):
            return self.constant(0, type_)
        if name == "mul" and 1 in known:
            return operands[1 - known.index(1)]
        if name == "cast" and known[0] is not None and isinstance(type_, DType) and type_.is_int():
            return self.constant(known[0], type_)
        return self.emit(make_op(name, operands, (type_,), like.attrs if like is not None else None, span=self.span)).result
