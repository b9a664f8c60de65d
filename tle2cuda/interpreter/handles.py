"""Compiles what works on shared memory as a whole: buffers and their views, pointers, tiles that fill a buffer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tle2cuda.interpreter import addresses
from tle2cuda.interpreter.dtypes import value_dtype
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.rules import value_operands
from tle2cuda.ir.types import BufferType, dtype_of, element_of

if TYPE_CHECKING:
    from tle2cuda.interpreter.compiler import Compiler, Frame

Steps = Iterator[tuple[bool, Any]]


@dataclass(frozen=True, slots=True)
class BufferHandle:
    """A buffer at run time: which bytes of which CTA's allocation each logical element stands for.

    Attributes:
        address: Pointer word of the allocation's first byte.
        offsets: Byte offset of each element, in the shape of the buffer; views slice and reshape it.
    """

    address: int
    offsets: NDArray[np.uint64]


def slot_of(handle: BufferHandle, stage: int) -> BufferHandle:
    """One stage of a buffer; a stage that does not exist is an error only when something in it is accessed."""
    if not 0 <= stage < len(handle.offsets):
        return BufferHandle(handle.address | addresses.INVALID_BIT, handle.offsets[0])
    return replace(handle, offsets=handle.offsets[stage])


def _row_major(type_: BufferType) -> NDArray[np.uint64]:
    count = type_.num_elements
    offsets: NDArray[np.uint64] = np.arange(count, dtype=np.uint64) * np.uint64(type_.element.bytes)
    return offsets.reshape(type_.shape)


def _alloc(compiler: Compiler, op: Op) -> Steps:
    out, number = compiler.slot(op.results[0]), compiler.buffer_numbers[op]
    type_ = op.results[0].type
    assert isinstance(type_, BufferType)
    offsets = _row_major(type_)
    # With peers about, a buffer may hold what they wrote before the owner came here again.
    forgets = not compiler.has_remote

    def alloc(frame: Frame) -> None:
        context = frame[0]
        memory = context.memory.shared
        if forgets and memory.has_buffer(context.cta_slot, number):
            memory.forget_buffer(context.cta_slot, number)
        frame[out] = BufferHandle(addresses.shared_address(context.cta_slot, number), offsets)

    yield False, alloc


def _buffer_view(compiler: Compiler, op: Op) -> Steps:
    source, out = compiler.slot(op.operands[0]), compiler.slot(op.results[0])
    type_ = op.results[0].type
    assert isinstance(type_, BufferType)
    kind = op.attrs["kind"]
    if kind == "slot":
        stage = compiler.slot(op.operands[1])

        def slot(frame: Frame) -> None:
            frame[out] = slot_of(frame[source], int(frame[stage]))

        yield False, slot
        return
    if kind == "alias":
        start = np.uint64(op.attrs.get("offset_bytes") or 0)
        relative = _row_major(type_) + start

        def alias(frame: Frame) -> None:
            handle: BufferHandle = frame[source]
            frame[out] = replace(handle, offsets=relative + handle.offsets.reshape(-1)[0])

        yield False, alias
        return
    if kind == "reshape":

        def reshape(frame: Frame) -> None:
            handle: BufferHandle = frame[source]
            frame[out] = replace(handle, offsets=handle.offsets.reshape(type_.shape))

        yield False, reshape
        return
    if kind == "trans":
        perm = op.attrs["perm"]

        def turn(frame: Frame) -> None:
            handle: BufferHandle = frame[source]
            frame[out] = replace(handle, offsets=handle.offsets.transpose(perm))

        yield False, turn
        return
    dim, first = op.attrs.get("dim", -1), op.attrs.get("start", 0)
    window = (slice(None),) * dim + (slice(first, first + type_.shape[dim]),)

    def subslice(frame: Frame) -> None:
        handle: BufferHandle = frame[source]
        frame[out] = replace(handle, offsets=handle.offsets[window])

    yield False, subslice


def _local_ptr(compiler: Compiler, op: Op) -> Steps:
    buffer, *indices = compiler.slots_of(op.operands)
    out = compiler.slot(op.results[0])
    if not indices:

        def full_view(frame: Frame) -> None:
            handle: BufferHandle = frame[buffer]
            frame[out] = handle.offsets + np.uint64(handle.address)

        yield False, full_view
        return

    def indexed(frame: Frame) -> None:
        handle: BufferHandle = frame[buffer]
        given = tuple(frame[slot] for slot in indices)
        frame[out] = _index(frame, op, handle, given)

    yield False, indexed


def _index(frame: Frame, op: Op, handle: BufferHandle, indices: tuple[Any, ...]) -> Any:
    """Pointers to elements; where an index is outside the extents, pointers that may not be accessed."""
    extents = handle.offsets.shape
    outside: Any = np.bool_(False)
    clipped = []
    for index, extent in zip(indices, extents, strict=True):
        is_bad = (index < 0) | (index >= extent)
        outside = outside | is_bad
        clipped.append(np.where(is_bad, 0, index).astype(np.int64))
    pointers = handle.offsets[tuple(clipped)] + np.uint64(handle.address)
    if not np.any(outside):
        return pointers
    # Each bad element gets an address of its own, by which the message finds the index again.
    numbers = np.arange(max(np.size(outside), 1), dtype=np.uint64).reshape(np.shape(outside))
    marked = np.uint64(handle.address | addresses.INVALID_BIT) + numbers * np.uint64(16)
    result = np.where(outside, marked, pointers)
    frame[0].note_bad_indices(op, np.where(outside, marked, np.uint64(0)), indices, extents)
    return result if np.shape(result) else result[()]


def _remote(compiler: Compiler, op: Op) -> Steps:
    source, rank = compiler.slots_of(op.operands)
    out = compiler.slot(op.results[0])
    is_buffer = isinstance(op.operands[0].type, BufferType)

    def remote(frame: Frame) -> None:
        context = frame[0]
        target = int(frame[rank])
        if not 0 <= target < context.cluster_size:
            raise context.fail(op, f"remote: rank {target} does not exist in a cluster of {context.cluster_size} CTAs")
        slot = context.cluster_slots[target]
        if is_buffer:
            handle: BufferHandle = frame[source]
            frame[out] = replace(handle, address=int(addresses.to_cta(np.uint64(handle.address), slot)))
        else:
            frame[out] = addresses.to_cta(frame[source], slot)

    yield False, remote


def _to_shared(compiler: Compiler, op: Op) -> Steps:
    tile, buffer = compiler.slots_of(op.operands)
    element = element_of(op.operands[1].type)

    def to_shared(frame: Frame) -> None:
        handle: BufferHandle = frame[buffer]
        frame[0].memory.store(op, handle.offsets + np.uint64(handle.address), frame[tile], element=element)

    yield False, to_shared


def _dot(compiler: Compiler, op: Op) -> Steps:
    """A product; operands that lie in buffers are loaded first."""
    inputs, out = compiler.slots_of(value_operands(op)), compiler.slot(op.results[0])
    in_buffers = [element_of(v.type) if isinstance(v.type, BufferType) else None for v in value_operands(op)]
    meaning = compiler.meanings["dot"]

    def dot(frame: Frame) -> None:
        values: list[Any] = []
        for slot, element in zip(inputs, in_buffers, strict=True):
            value = frame[slot]
            if element is not None:
                value = frame[0].memory.load_all(op, value.offsets + np.uint64(value.address), element)
            values.append(value)
        frame[out] = meaning(frame[0], op, *values)

    yield False, dot


def _tensor_product(compiler: Compiler, op: Op) -> Steps:
    """A product whose sums stay in tensor memory, complete at once."""
    a, b, sums, adds = compiler.slots_of(op.operands[:4])
    elements = [element_of(v.type) for v in op.operands[:3]]
    scales = list(zip(compiler.slots_of(op.operands[5:7]), (element_of(v.type) for v in op.operands[5:7]), strict=True))
    meaning, dtype = compiler.meanings["dot"], value_dtype(dtype_of(op.operands[2].type))

    def tensor_product(frame: Frame) -> None:
        memory, places = frame[0].memory, [frame[slot].offsets + np.uint64(frame[slot].address) for slot in (a, b, sums)]
        x, y = (memory.load_all(op, place, element) for place, element in zip(places[:2], elements, strict=False))
        is_adding = bool(frame[adds])
        start = memory.load_all(op, places[2], elements[2]) if is_adding else np.zeros(places[2].shape, dtype)
        factors = [
            memory.load_all(op, frame[slot].offsets + np.uint64(frame[slot].address), element) for slot, element in scales
        ]
        memory.store(op, places[2], meaning(frame[0], op, x, y, start, *factors), element=elements[2])

    yield False, tensor_product


def _tensor_load(compiler: Compiler, op: Op) -> Steps:
    source, *rest = compiler.slots_of(op.operands)
    out, element = compiler.slot(op.results[0]), element_of(op.operands[0].type)
    dtype = value_dtype(dtype_of(op.operands[0].type))

    def tensor_load(frame: Frame) -> None:
        handle: BufferHandle = frame[source]
        if rest and not frame[rest[0]]:
            frame[out] = np.zeros(handle.offsets.shape, dtype)
        else:
            frame[out] = frame[0].memory.load_all(op, handle.offsets + np.uint64(handle.address), element)

    yield False, tensor_load


def _tensor_wait(compiler: Compiler, op: Op) -> Steps:
    def wait(frame: Frame) -> None:
        """Products are complete at once."""

    yield False, wait


def _wgmma(compiler: Compiler, op: Op) -> Steps:
    """A product that is complete at once; that nothing reads it too early was found out when the kernel was read."""
    inputs, out = compiler.slots_of(op.operands), compiler.slot(op.results[0])
    in_buffers = [element_of(v.type) if isinstance(v.type, BufferType) else None for v in op.operands]
    turns = (op.attrs["trans_a"], op.attrs["trans_b"], False)
    meaning = compiler.meanings["dot"]

    def wgmma(frame: Frame) -> None:
        values: list[Any] = []
        for slot, element, turned in zip(inputs, in_buffers, turns, strict=True):
            value = frame[slot]
            if element is not None:
                value = frame[0].memory.load_all(op, value.offsets + np.uint64(value.address), element)
            values.append(np.swapaxes(value, 0, 1) if turned else value)
        frame[out] = meaning(frame[0], op, *values)

    yield False, wgmma


def _wgmma_wait(compiler: Compiler, op: Op) -> Steps:
    source, out = compiler.slot(op.operands[0]), compiler.slot(op.results[0])

    def wait(frame: Frame) -> None:
        frame[out] = frame[source]

    yield False, wait


def is_plain_product(op: Op) -> bool:
    """Whether an operation is a product of tiles, which needs no more than their values."""
    return op.name == "dot" and not any(isinstance(v.type, BufferType) for v in op.operands[:2])


COMPILERS: dict[str, Callable[[Compiler, Op], Steps]] = {
    "alloc": _alloc,
    "buffer_view": _buffer_view,
    "dot": _dot,
    "local_ptr": _local_ptr,
    "remote": _remote,
    "tensor_alloc": _alloc,
    "tensor_load": _tensor_load,
    "tensor_product": _tensor_product,
    "tensor_wait": _tensor_wait,
    "to_shared": _to_shared,
    "wgmma": _wgmma,
    "wgmma_wait": _wgmma_wait,
}
