"""Compiles copies between global and shared memory that run asynchronously on a GPU; here they are done at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tle2cuda.analysis.tensor_coordinates import COORDINATE_BYTES
from tle2cuda.interpreter.asynchrony import barrier_at
from tle2cuda.interpreter.dtypes import value_dtype
from tle2cuda.interpreter.handles import BufferHandle
from tle2cuda.interpreter.offsets import copy_check
from tle2cuda.interpreter.synchronisation import Misuse
from tle2cuda.ir.multicast import sharing
from tle2cuda.ir.nodes import Op, Value, make_op
from tle2cuda.ir.tma import tensor_copy
from tle2cuda.ir.types import GLOBAL, BufferType, DType, PointerType, TensorMapType, TileType
from tle2cuda.runtime.tensor_maps import expression

if TYPE_CHECKING:
    from tle2cuda.interpreter.compiler import Compiler, Frame

Steps = Iterator[tuple[bool, Any]]
_Array = NDArray[Any]


class _Access:
    """How memory is read and written for a copy of elements in some shape; faults name the copy."""

    def __init__(self, op: Op, element: DType, shape: tuple[int, ...]) -> None:
        pointers = Value(TileType(shape, PointerType(element, GLOBAL)))
        values = Value(TileType(shape, element))
        self.reading = make_op(op.name, (pointers,), (values.type,), span=op.span)
        self.writing = make_op(op.name, (pointers, values), (), span=op.span)

    def read(self, frame: Frame, pointers: _Array, mask: _Array | None, other: Any = None) -> Any:
        """Elements, those that are masked off being `other` or 0."""
        return frame[0].memory.load(self.reading, pointers, mask, other)

    def write(self, frame: Frame, pointers: _Array, values: Any, mask: _Array | None = None) -> None:
        """Stores elements."""
        frame[0].memory.store(self.writing, pointers, np.asarray(values), mask)

    def update(self, frame: Frame, kind: str, pointers: _Array, values: Any, mask: _Array) -> None:
        """Combines elements with those in memory."""
        frame[0].memory.atomic_rmw(self.writing, kind, pointers, values, mask)


def _cp_async(compiler: Compiler, op: Op) -> Steps:
    pointers, buffer = compiler.slots_of(op.operands[:2])
    mask = compiler.slot(op.operands[2]) if op.attrs.get("has_mask") else None
    type_ = op.operands[1].type
    assert isinstance(type_, BufferType)
    access = _Access(op, type_.element, type_.shape)
    check = compiler.offset_check(op)
    if check is not None:
        yield False, check

    def copy(frame: Frame) -> None:
        handle: BufferHandle = frame[buffer]
        values = access.read(frame, frame[pointers], frame[mask] if mask is not None else None)
        access.write(frame, handle.offsets + np.uint64(handle.address), values)

    yield False, copy


_NATURAL = "the compiler takes quotients by a variable for natural numbers"


class _Box:
    """A box of a tensor: where its elements lie in global memory and in the buffer."""

    def __init__(self, compiler: Compiler, op: Op) -> None:
        copy = tensor_copy(op)
        self.block: tuple[int, ...] = op.attrs["block"]
        self.base, self.buffer = compiler.slots_of((copy.base, copy.buffer))
        self.extents, self.strides, self.offsets = map(compiler.slots_of, (copy.extents, copy.strides, copy.offsets))
        type_ = copy.buffer_type
        self.element = type_.element
        logical = type_.logical_shape or type_.shape
        fits = type_.shape if _long(type_.shape) == _long(self.block) else logical
        self.window = tuple(slice(0, extent) for extent in fits)
        self.op, self.target = op, compiler.kernel.target
        self.is_engines = op in compiler.engine_copies

    def check(self, frame: Frame) -> None:
        """Refuse coordinates at which the copy engine faults, where it does the copy."""
        if not self.is_engines:
            return
        offsets = [int(frame[slot]) for slot in self.offsets]
        sizes = [
            offset * stride * self.element.bytes for offset, stride in zip(offsets, self.description(frame)[2], strict=True)
        ]
        last = len(offsets) - 1
        negative = next((axis for axis, offset in enumerate(offsets) if offset < 0), None)
        if sizes[last] % COORDINATE_BYTES:
            axis, why = last, f"no multiple of the {COORDINATE_BYTES} bytes that the copy engine counts in"
        elif self.op.name == "tma_store" and negative is not None:
            axis, why = negative, "and the copy engine stores nothing at negative offsets"
        else:
            return
        message = f"copy: offset {axis} is {offsets[axis]}, {sizes[axis]} bytes, {why}"
        facts = (f"copy of {list(self.block)} at {offsets} for {self.target}",)
        raise frame[0].fail(self.op, message, facts=facts, help=_NATURAL)

    @property
    def size_bytes(self) -> int:
        """Bytes that the copy brings, whether or not they lie in the tensor."""
        return int(np.prod(self.block)) * self.element.bytes

    def in_buffer(self, frame: Frame) -> _Array:
        """Pointers to the elements in shared memory."""
        handle: BufferHandle = frame[self.buffer]
        pointers: _Array = handle.offsets[self.window] + np.uint64(handle.address)
        return pointers.reshape(self.block)

    def description(self, frame: Frame) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """First element, extents and strides of the tensor."""
        if not self.extents:  # a tensor map says it all
            made: tuple[int, tuple[int, ...], tuple[int, ...]] = frame[self.base]
            return made
        extents, strides = (tuple(int(frame[slot]) for slot in slots) for slots in (self.extents, self.strides))
        return int(frame[self.base]), extents, strides

    def in_tensor(self, frame: Frame) -> tuple[_Array, _Array]:
        """Pointers to the elements in global memory, and which of them exist."""
        element = np.zeros(self.block, np.int64)
        exists = np.ones(self.block, np.bool_)
        rank = len(self.block)
        base, extents, strides = self.description(frame)
        for axis, count in enumerate(self.block):
            extent, stride, offset = extents[axis], strides[axis], int(frame[self.offsets[axis]])
            index = np.arange(offset, offset + count, dtype=np.int64).reshape([-1 if a == axis else 1 for a in range(rank)])
            exists &= (index >= 0) & (index < extent)
            element += index * stride
        pointers = np.uint64(base) + (element * self.element.bytes).view(np.uint64)
        return pointers, exists


def _long(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(extent for extent in shape if extent > 1)


class _Arguments(Mapping[str, int]):
    """The integer arguments of a kernel by name, in a frame."""

    def __init__(self, frame: Frame, slots: Mapping[str, int]) -> None:
        self.frame, self.slots = frame, slots

    def __getitem__(self, name: str) -> int:
        return int(self.frame[self.slots[name]])

    def __iter__(self) -> Iterator[str]:
        return iter(self.slots)

    def __len__(self) -> int:
        return len(self.slots)


def _tensor_map(compiler: Compiler, op: Op) -> Steps:
    """What the launcher would encode, as `_Box.description` gives it."""
    type_ = op.result.type
    assert isinstance(type_, TensorMapType)
    size = type_.element.bytes
    result, base = compiler.slots_of((op.result, op.operands[0]))
    slots = {argument.name: compiler.slot(argument.value) for argument in compiler.kernel.args}
    offset = expression(op.attrs["offset"])
    shape, strides = (tuple(map(expression, op.attrs[name])) for name in ("shape", "strides"))

    def make(frame: Frame) -> None:
        values = _Arguments(frame, slots)
        extents, steps = (tuple(text(values) for text in texts) for texts in (shape, strides))
        frame[result] = (int(frame[base]) + offset(values) * size, extents, (*steps, 1))

    yield False, make


def _changed_tensor_map(compiler: Compiler, op: Op) -> Steps:
    """What one thread makes of a form."""
    type_ = op.result.type
    assert isinstance(type_, TensorMapType)
    size, rank = type_.element.bytes, len(type_.box)
    result, base, *slots = compiler.slots_of((op.result, *op.operands[: 2 * rank]))

    def make(frame: Frame) -> None:
        values = [int(frame[slot]) for slot in slots]
        strides = tuple(stride // size for stride in values[rank:])
        frame[result] = (int(frame[base]), tuple(values[:rank]), (*strides, 1))

    yield False, make


def _tma_load(compiler: Compiler, op: Op) -> Steps:
    box = _Box(compiler, op)
    access = _Access(op, box.element, box.block)
    outside = value_dtype(box.element).type(np.nan if op.attrs["padding"] == "nan" else 0)
    copy = tensor_copy(op)
    barrier = None
    # Copies into stages of pipes are accounted for by the pipe, and blocking ones by nobody.
    if op.attrs["completion"] == "barrier" and copy.barriers is not None and copy.index is not None:
        barrier = compiler.slots_of((copy.barriers, copy.index))
    expected_bytes = _expected_bytes(compiler, copy.barriers)
    for check in copy_check(compiler, op, lambda frame: bool(box.in_tensor(frame)[1].any())):
        yield False, check

    shared = sharing(op)

    def load(frame: Frame) -> None:
        box.check(frame)
        if shared is not None:
            offsets = tuple(int(frame[slot]) for slot in box.offsets)
            frame[0].shared_copies.note(frame[0], op, shared, (*box.description(frame), offsets))
        pointers, exists = box.in_tensor(frame)
        access.write(frame, box.in_buffer(frame), access.read(frame, pointers, exists, outside))
        if barrier is not None:
            try:
                barrier_at(frame, op, *barrier).copy(expected_bytes, box.size_bytes)
            except Misuse as misuse:
                raise frame[0].fail(op, misuse.message, help=misuse.help) from None

    yield False, load


def _expected_bytes(compiler: Compiler, barriers: Value | None) -> int:
    """Bytes that a copy onto one of these barriers announces."""
    for op in compiler.barrier_allocations:
        if op.results[0] is barriers:
            return int(op.attrs.get("expect_bytes") or 0)
    return 0


def _tma_store(compiler: Compiler, op: Op) -> Steps:
    box = _Box(compiler, op)
    access = _Access(op, box.element, box.block)
    kind = op.attrs["kind"]
    for check in copy_check(compiler, op, lambda frame: bool(box.in_tensor(frame)[1].any())):
        yield False, check

    def store(frame: Frame) -> None:
        box.check(frame)
        pointers, exists = box.in_tensor(frame)
        values = access.read(frame, box.in_buffer(frame), exists)
        if kind == "store":
            access.write(frame, pointers, values, exists)
        else:
            access.update(frame, kind, pointers, values, exists)

    yield False, store


COMPILERS: dict[str, Callable[[Compiler, Op], Steps]] = {
    "cp_async": _cp_async,
    "tensor_map": _tensor_map,
    "changed_tensor_map": _changed_tensor_map,
    "tma_load": _tma_load,
    "tma_store": _tma_store,
}
