"""Where accesses to shared memory go: equal address expressions, injective ones, and ranges of bytes.

Three questions are answered for pointers, each conservatively:

- `key(pointer)`: pointers with one key are equal whenever both are computed in the same iteration of all
  loops around the *leaves* of their expressions (what those are made of and is not pure arithmetic).
- `is_injective(pointer)`: different elements of the tile are different addresses.
- `byte_range(pointer, root)`: the bytes of the allocation that may be touched.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tle2cuda.analysis.axis_domain import AxisInfo
from tle2cuda.analysis.axis_shape_rules import row_major_strides
from tle2cuda.ir.classify import ELEMENTWISE, SHAPE
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import BufferType, DType, PointerType, TileType, Type, element_of, shape_of

_SAME_VALUE = frozenset({"convert_layout", "hint"})
_PURE = frozenset(
    {*ELEMENTWISE, *SHAPE, "constant", "arange", "program_id", "num_programs", "cluster_rank"}
    | {"tile_to_scalar", "local_ptr", "buffer_view"}
)
_SAME_BYTES = _SAME_VALUE | SHAPE | frozenset({"tile_to_scalar", "remote"})
_LEAST_INDEX_BITS = 32  # narrower indices may wrap inside a tile
_MAX_SPAN_ELEMS = 1 << 31

Bytes = tuple[int, int]
"""First byte, and the one behind the last."""


@dataclass(frozen=True, slots=True)
class Affine:
    """Normal form of an affine value; equal forms are equal values (modulo the width of the integers).

    Attributes:
        start: Number of the buffer that a pointer starts from.
        constant: Constant part, in elements.
        terms: Numbers of uniform values and their factors.
        strides: Factor of the coordinate along each dimension.
    """

    start: int | None
    constant: int
    terms: tuple[tuple[int, int], ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Base:
    """The uniform part of an affine value."""

    constant: int
    terms: tuple[tuple[int, int], ...] = ()
    start: int | None = None

    def plus(self, other: _Base, factor: int) -> _Base:
        terms = dict(self.terms)
        for number, count in other.terms:
            terms[number] = terms.get(number, 0) + factor * count
        kept = tuple(sorted((number, count) for number, count in terms.items() if count))
        start = self.start if self.start is not None else other.start
        return _Base(self.constant + factor * other.constant, kept, start)


class Addresses:
    """Address expressions of one kernel.

    Args:
        info: The index analysis of the kernel.
        definitions: The operation that defines each value.
    """

    def __init__(self, info: Mapping[Value, AxisInfo], definitions: Mapping[Value, Op]) -> None:
        self._info = info
        self._definitions = definitions
        self._numbers: dict[Value, int] = {}
        self._by_form: dict[Hashable, int] = {}
        self._leaves: dict[Value, frozenset[Value]] = {}
        self._strides: dict[Value, tuple[int, ...] | None] = {}
        self._affine: dict[Value, Affine | None] = {}

    # ---- equal expressions ----

    def key(self, pointer: Value) -> Hashable:
        """A key that pointers of equal expressions share. Layouts and the cluster rank do not count.

        The rank of `remote` is left out on purpose: accesses at equal offsets either go to different CTAs and
        never meet, or to the same bytes.
        """
        affine = self.affine(pointer)
        return ("number", self.number(pointer)) if affine is None else affine

    def element_key(self, pointer: Value) -> tuple[Hashable, frozenset[Value]]:
        """A key, and the leaves that it depends on: where it is the same, a byte in common is one element in common.

        Slots of one ring count as the same: two of them are the same bytes or have none in common.
        """
        op = self._definitions.get(pointer)
        affine = self.affine(pointer)
        if op is None or op.name != "local_ptr" or affine is None:
            return self.key(pointer), self.leaves(pointer)
        place, leaves = self._place(op.operands[0])
        leaves = leaves.union(*(self.leaves(index) for index in op.operands[1:]))
        return (place, affine.constant, affine.terms, affine.strides), leaves

    def buffer_key(self, buffer: Value) -> tuple[Hashable, frozenset[Value]]:
        """The element key of pointers to all of a buffer."""
        assert isinstance(buffer.type, BufferType)
        place, leaves = self._place(buffer)
        return (place, 0, (), tuple(row_major_strides(buffer.type.shape))), leaves

    def _place(self, buffer: Value) -> tuple[Hashable, frozenset[Value]]:
        """A buffer, or the ring whose slot it is."""
        op = self._definitions.get(buffer)
        if op is None or op.name != "buffer_view" or op.attrs["kind"] != "slot":
            return self.number(buffer), self.leaves(buffer)
        ring = op.operands[0]
        return ("slot of", self.number(ring)), self.leaves(ring)

    def number(self, value: Value) -> int:
        """A number that values of structurally equal expressions share."""
        found = self._numbers.get(value)
        if found is None:
            op = self._definitions.get(value)
            if op is not None and (op.name in _SAME_VALUE or op.name == "remote"):
                found = self.number(op.operands[0])
            else:
                found = self._by_form.setdefault(self._form(value, op), len(self._by_form))
            self._numbers[value] = found
        return found

    def _form(self, value: Value, op: Op | None) -> Hashable:
        if op is None or op.name not in _PURE:
            return ("leaf", value)
        attrs = tuple(sorted((name, repr(attr)) for name, attr in op.attrs.items()))
        type_ = value.type
        shape = (type_.shape, type_.element) if isinstance(type_, TileType) else type_
        return (op.name, attrs, shape, *(self.number(v) for v in op.operands))

    def leaves(self, value: Value) -> frozenset[Value]:
        """Values that the expression is made of and that are not pure arithmetic themselves."""
        found = self._leaves.get(value)
        if found is None:
            op = self._definitions.get(value)
            if op is not None and op.name == "alloc":
                found = frozenset()  # one place for the whole kernel, also inside a loop
            elif op is None or (op.name not in _PURE and op.name not in _SAME_BYTES):
                found = frozenset({value})
            else:
                parts = op.operands[:1] if op.name == "remote" else op.operands
                found = frozenset().union(*(self.leaves(v) for v in parts))
            self._leaves[value] = found
        return found

    def affine(self, value: Value) -> Affine | None:
        """A value as constant + uniform terms + stride * coordinate; None when it is not of that form."""
        if value not in self._affine:
            self._affine[value] = self._find_affine(value)
        return self._affine[value]

    def _find_affine(self, value: Value) -> Affine | None:
        strides = self.strides(value)
        if strides is None:
            return None
        op = self._definitions.get(value)
        base = self._base(op) if op is not None and _wide(value) else None
        if base is None:
            if any(strides) or isinstance(element_of(value.type), PointerType):
                return None
            base = _Base(0, ((self.number(value), 1),))
        return Affine(base.start, base.constant, base.terms, strides)

    def _base(self, op: Op) -> _Base | None:
        """The part of an affine value that is the same everywhere in the tile."""
        if op.name == "constant":
            value = op.attrs["value"]
            return _Base(int(value)) if isinstance(value, int) else None
        if op.name == "arange":
            return _Base(op.attrs["start"])
        if op.name == "local_ptr":
            return self._local_base(op)
        operands = [self.affine(v) for v in op.operands]
        known = [_Base(o.constant, o.terms, o.start) for o in operands if o is not None]
        if len(known) < len(operands):
            return None
        if op.name in ("add", "ptr_add"):
            return known[0].plus(known[1], 1)
        if op.name == "sub":
            return known[0].plus(known[1], -1)
        if op.name == "mul" and (factor := self._factor(op)) is not None:
            return _Base(0).plus(known[1 - factor[0]], factor[1])
        if op.name in _SAME_BYTES:
            return known[0]
        if op.name == "cast" and not known[0].terms and abs(known[0].constant) < _MAX_SPAN_ELEMS // 2:
            return known[0]
        return None

    def _local_base(self, op: Op) -> _Base | None:
        buffer = op.operands[0].type
        assert isinstance(buffer, BufferType)
        base = _Base(0, (), self.number(op.operands[0]))
        for index, step in zip(op.operands[1:], row_major_strides(buffer.shape), strict=False):
            affine = self.affine(index)
            if affine is None:
                return None
            base = base.plus(_Base(affine.constant, affine.terms), step)
        return base

    # ---- injective index tiles ----

    def is_injective(self, pointer: Value) -> bool:
        """Whether different elements of a pointer tile are proved to be different addresses.

        The address must be affine in the tile's coordinates, with strides of which each exceeds what the
        smaller ones can add up to.
        """
        strides = self.strides(pointer)
        if strides is None:
            return False
        reach = 0
        for stride, extent in sorted(
            (abs(stride), extent) for stride, extent in zip(strides, shape_of(pointer.type), strict=True)
        ):
            if extent == 1:
                continue
            if stride <= reach:
                return False
            reach += stride * (extent - 1)
        return reach < _MAX_SPAN_ELEMS

    def strides(self, value: Value) -> tuple[int, ...] | None:
        """Per dimension, the step between neighbours (pointers: in elements); None when not affine."""
        if value not in self._strides:
            self._strides[value] = self._find_strides(value)
        return self._strides[value]

    def _find_strides(self, value: Value) -> tuple[int, ...] | None:
        shape = shape_of(value.type)
        if not isinstance(value.type, TileType):
            return ()
        op = self._definitions.get(value)
        if op is None:
            return None
        if op.name in ("constant", "splat"):
            return (0,) * len(shape)
        if op.name == "arange":
            return (1,)
        if op.name == "local_ptr":
            return self._local_strides(op)
        operands = [self.strides(v) for v in op.operands]
        known = [o for o in operands if o is not None]
        if len(known) < len(operands) or not _wide(value):
            return None
        found = _combine(op, known, self._factor(op))
        if found is None and op.name in ELEMENTWISE and not any(any(o) for o in known):
            return (0,) * len(shape)  # the same everywhere
        return found

    def _factor(self, op: Op) -> tuple[int, int] | None:
        """(which operand, number) of a multiplication by a known number."""
        if op.name == "mul":
            for which, operand in enumerate(op.operands):
                info = self._info.get(operand)
                if info is not None and isinstance(info.constant, int):
                    return which, int(info.constant)
        return None

    def _local_strides(self, op: Op) -> tuple[int, ...] | None:
        buffer = op.operands[0].type
        assert isinstance(buffer, BufferType)
        along = row_major_strides(buffer.shape)
        if len(op.operands) == 1:
            return along
        total = [0] * len(shape_of(op.result.type))
        for index, step in zip(op.operands[1:], along, strict=True):
            strides = self.strides(index)
            if strides is None or not _wide(index):
                return None
            total = [sum_ + step * stride for sum_, stride in zip(total, strides, strict=True)]
        return tuple(total)

    # ---- bytes ----

    def byte_range(self, pointer: Value, root: Value) -> Bytes:
        """Bytes of `root` that an access through `pointer` may touch, counted from its first byte."""
        assert isinstance(root.type, BufferType)
        size = root.type.size_bytes
        found = self._pointer_range(pointer, root)
        if found is None:
            return (0, size)
        low, high = max(0, found[0]), min(size, found[1])
        return (low, high) if low < high else (0, size)

    def buffer_range(self, buffer: Value, root: Value) -> Bytes:
        """Bytes of `root` that an access to all of a buffer may touch."""
        assert isinstance(root.type, BufferType) and isinstance(buffer.type, BufferType)
        start = self._start_range(buffer, root)
        size = root.type.size_bytes
        return (0, size) if start is None else (start[0], min(size, start[1] + buffer.type.size_bytes))

    def _pointer_range(self, pointer: Value, root: Value) -> Bytes | None:
        op = self._definitions.get(pointer)
        if op is None:
            return None
        if op.name in _SAME_BYTES:
            return self._pointer_range(op.operands[0], root)
        if op.name == "select":
            arms = [self._pointer_range(v, root) for v in op.operands[1:]]
            known = [arm for arm in arms if arm is not None]
            if len(known) < len(arms):
                return None
            return (min(low for low, _ in known), max(high for _, high in known))
        if op.name == "ptr_add":
            base = self._pointer_range(op.operands[0], root)
            offset = self._info.get(op.operands[1])
            element = element_of(op.result.type)
            if base is None or offset is None or offset.lo is None or offset.hi is None:
                return None
            assert isinstance(element, PointerType)
            return (base[0] + offset.lo * element.element.bytes, base[1] + offset.hi * element.element.bytes)
        if op.name == "local_ptr":
            return self._element_range(op, root)
        return None

    def _element_range(self, op: Op, root: Value) -> Bytes | None:
        start = self._start_range(op.operands[0], root)
        buffer = op.operands[0].type
        assert isinstance(buffer, BufferType)
        if start is None:
            return None
        plain = buffer.storage == "row_major" or len(buffer.shape) == 1
        if len(op.operands) == 1 or not plain:
            return (start[0], start[1] + buffer.size_bytes)
        low = high = 0
        for index, stride in zip(op.operands[1:], row_major_strides(buffer.shape), strict=True):
            info = self._info.get(index)
            if info is None or info.lo is None or info.hi is None:
                return None
            low, high = low + info.lo * stride, high + info.hi * stride
        width = buffer.element.bytes
        return (start[0] + low * width, start[1] + high * width + width)

    def _start_range(self, buffer: Value, root: Value) -> Bytes | None:
        """Least and greatest offset in `root` at which a view may start."""
        if buffer is root:
            return (0, 0)
        op = self._definitions.get(buffer)
        if op is None:
            return None
        if op.name in ("remote", "hint"):
            return self._start_range(op.operands[0], root)
        if op.name in ("pipe_acquire", "pipe_wait"):
            return self._slot_range(op.operands[1], buffer.type, root)
        if op.name != "buffer_view":
            return None
        start = self._start_range(op.operands[0], root)
        step = self._view_step(op)
        return None if start is None or step is None else (start[0] + step[0], start[1] + step[1])

    def _view_step(self, op: Op) -> Bytes | None:
        parent, view, kind = op.operands[0].type, op.result.type, op.attrs["kind"]
        assert isinstance(parent, BufferType) and isinstance(view, BufferType)
        if kind in ("reshape", "trans"):
            return (0, 0)
        if kind == "alias":
            offset = op.attrs.get("offset_bytes") or 0
            return (offset, offset)
        if kind == "slot":
            return self._steps_to_slot(op.operands[1], parent.shape[0], view)
        if parent.storage != "row_major" and len(parent.shape) > 1:
            return None
        step = op.attrs.get("start", 0) * row_major_strides(parent.shape)[op.attrs["dim"]]
        return (step * parent.element.bytes, step * parent.element.bytes)

    def _steps_to_slot(self, index: Value, count: int, view: BufferType) -> Bytes:
        """Least and greatest offset of one of `count` equal parts of a buffer."""
        info = self._info.get(index)
        low, high = (0, count - 1)
        if info is not None and info.lo is not None and info.hi is not None:
            low, high = max(0, info.lo), min(count - 1, info.hi)
        return (low * view.size_bytes, max(low, high) * view.size_bytes)

    def _slot_range(self, stage: Value, slot: Type, root: Value) -> Bytes | None:
        """Where a slot of a pipe may start, when the field is all of the allocation."""
        assert isinstance(slot, BufferType) and isinstance(root.type, BufferType)
        if len(root.type.shape) != len(slot.shape) + 1 or root.type.shape[1:] != slot.shape:
            return None
        return self._steps_to_slot(stage, root.type.shape[0], slot)


def _wide(value: Value) -> bool:
    """Whether a value's arithmetic cannot wrap within a tile's span."""
    element = element_of(value.type)
    return not isinstance(element, DType) or element.bits >= _LEAST_INDEX_BITS


def _combine(op: Op, operands: Sequence[tuple[int, ...]], factor: tuple[int, int] | None) -> tuple[int, ...] | None:
    """Strides of the result of an operation that keeps a tile affine; None for others."""
    first: tuple[int, ...] = operands[0] if operands else ()
    if op.name in ("add", "ptr_add"):
        return tuple(a + b for a, b in zip(first, operands[1], strict=True))
    if op.name == "sub":
        return tuple(a - b for a, b in zip(first, operands[1], strict=True))
    if op.name == "mul" and factor is not None:
        which, number = factor
        return tuple(stride * number for stride in operands[1 - which])
    if op.name in ("convert_layout", "hint", "remote"):
        return first
    if op.name == "cast" and _wide(op.operands[0]):
        return first
    if op.name in ("expand_dims", "trans", "broadcast", "reshape"):
        return _reshaped(op, first)
    return None


def _reshaped(op: Op, strides: tuple[int, ...]) -> tuple[int, ...] | None:
    attrs: Mapping[str, Any] = op.attrs
    old, new = shape_of(op.operands[0].type), shape_of(op.result.type)
    if op.name == "expand_dims":
        axis = attrs["axis"] % len(new)
        return (*strides[:axis], 0, *strides[axis:])
    if op.name == "trans":
        return tuple(strides[axis] for axis in attrs["perm"])
    if op.name == "broadcast":
        return tuple(stride if before == after else 0 for stride, before, after in zip(strides, old, new, strict=True))
    if len(old) == 1:  # cut one dimension into several, row-major
        return tuple(strides[0] * step for step in row_major_strides(new))
    return None
