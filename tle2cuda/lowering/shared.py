"""Shared-memory buffers: the typed `Shared` struct and views of its members."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tle2cuda.errors import InternalError
from tle2cuda.ir.nodes import Op, Value, walk
from tle2cuda.ir.types import BufferType
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import Affine, C, Expr
from tle2cuda.lowering.scalars import scalar_text
from tle2cuda.lowering.state import BufferRef, State, affine
from tle2cuda.lowering.templates import write
from tle2cuda.passes.mma_layouts import buffer_offsets
from tle2cuda.passes.shared_map import SharedMap, shared_map

STATIC_SHARED_LIMIT_BYTES = 48 * 1024


@dataclass(frozen=True, slots=True)
class Member:
    """One member of the `Shared` struct.

    Attributes:
        declaration: `int count[1024]`.
        alignment_bytes: Alignment of the member.
        comment: What it holds.
        group: Members of one group share their bytes; None for a member of its own.
    """

    declaration: str
    alignment_bytes: int
    comment: str
    group: int | None


@dataclass(frozen=True, slots=True)
class ZeroView:
    """A buffer that starts with zeros."""

    pointer: str
    type: str
    elements: int
    threads: int


def row_major_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def bind_buffers(state: State) -> SharedMap:
    """Give every allocation of the kernel its name in the `Shared` struct."""
    memory_map = shared_map(state.kernel)
    for entry in memory_map.entries:
        text = f"shared.{entry.name}"
        if entry.kind == "barriers":
            state.barriers[entry.root] = text
            state.helper("Barrier")
            continue
        starts = (Affine(),) * len(entry.shape)
        ref = BufferRef(text, entry.shape, starts, strides=row_major_strides(entry.shape))
        if swizzle_bytes := state.definitions[entry.root].attrs.get("swizzle_bytes"):
            ref = replace(ref, swizzle_bytes=int(swizzle_bytes), element_bytes=entry.element.bytes)
        state.buffers[entry.root] = ref
        state.include_for(entry.element)
        groups = state.definitions[entry.root].attrs.get("member_groups")
        if groups:
            state.member_barrier = (text, tuple(groups))
    return memory_map


def struct_members(state: State, memory_map: SharedMap) -> list[Member]:
    """The members of the `Shared` struct by offset, once the body is written and their types are known."""
    members: list[Member] = []
    for entry in memory_map.entries:
        if entry.kind == "barriers":
            extents = f"[{entry.shape[0]}]" if entry.shape != (1,) else ""
            place = _purpose(state.definitions[entry.root])
            members.append(Member(f"Barrier {entry.name}{extents}", entry.alignment_bytes, place, None))
            continue
        alloc = state.definitions[entry.root]
        extents = "".join(f"[{extent}]" for extent in _stored_extents(state.buffers[entry.root]))
        if alloc.attrs.get("offsets_elems"):
            extents = f"[{math.prod(entry.shape)}]"  # places are offsets, not row-major
        own_type = state.member_types.get(entry.root)
        declaration = f"{own_type} {entry.name}" if own_type else f"{entry.element.cuda} {entry.name}{extents}"
        comment = _purpose(alloc)
        members.append(Member(declaration, entry.alignment_bytes, comment, entry.union_group))
    return members


def _purpose(op: Op) -> str:
    """Comment of a member: where it was allocated, or what needs it, and how it is stored."""
    type_ = op.result.type
    if op.attrs.get("offsets_elems"):
        assert isinstance(type_, BufferType)
        return f"operand of {op.span.short()}: {list(type_.shape)}, {_arrangement(op)}"
    if op.attrs.get("is_ring"):
        return _ring_purpose(op)
    if op.attrs.get("scratch"):
        return f"scratch of {op.span.short()}" if op.span.line else "scratch"
    place = op.span.short() if op.span.line else ""
    swizzle_bytes = op.attrs.get("swizzle_bytes")
    if not swizzle_bytes:
        return place
    return f"{place}; {swizzle_bytes}-byte swizzle" if place else f"{swizzle_bytes}-byte swizzle"


def _ring_purpose(op: Op) -> str:
    """Comment of the ring of a pipelined load."""
    type_ = op.result.type
    assert isinstance(type_, BufferType)
    swizzle_bytes = op.attrs.get("swizzle_bytes")
    stored = f", {swizzle_bytes}-byte swizzle" if swizzle_bytes else ""
    return f"{type_.shape[0]} stages of {op.span.short()}{stored}"


def _stored_extents(ref: BufferRef) -> tuple[int, ...]:
    """Extents of the member: rows longer than the swizzle are cut into panels."""
    if not ref.has_panels:
        return ref.shape
    *outer, rows, columns = ref.shape
    return (*outer, columns // ref.panel_columns, rows, ref.panel_columns)


def _arrangement(op: Op) -> str:
    """How the elements of a buffer lie, in words."""
    offsets = buffer_offsets(op)
    assert offsets is not None
    fast = next((axis for axis, images in enumerate(offsets.images_elems) if images and images[0] == 1), 0)
    rows = "rows" if fast == len(offsets.shape) - 1 else "columns"
    return f"{rows} in 16-byte chunks, swizzled" if not offsets.is_plain else rows


def emit_alloc(state: State, op: Op) -> None:
    """An allocation is a member of `Shared`; only a request for zeros needs statements."""
    if not op.attrs.get("zero"):
        return
    type_ = op.result.type
    assert isinstance(type_, BufferType)
    ref = state.buffers[op.result]
    pointer = f"reinterpret_cast<{type_.element.cuda}*>({ref.text})" if len(_stored_extents(ref)) > 1 else ref.text
    state.comment(op.span)
    state.thread()
    view = ZeroView(pointer, type_.element.cuda, type_.num_elements, state.task.num_threads)
    write(state.block, "shared.cu.j2", "zero", view, op.span)


def emit_view(state: State, op: Op) -> None:
    """Another way to index the same bytes."""
    if op.attrs["kind"] == "trans":
        return  # only products use it, which know where its elements lie
    source = state.buffers[op.operands[0]]
    result = op.result
    type_ = result.type
    assert isinstance(type_, BufferType)
    kind = op.attrs["kind"]
    if kind == "slot":
        state.buffers[result] = slot_of(state, source, op.operands[1])
    elif kind == "subslice":
        axis, start = op.attrs["dim"] % len(source.shape), int(op.attrs["start"])
        starts = list(source.starts)
        starts[axis] = affine(starts[axis]).plus(Affine(start))
        shape = tuple(type_.shape)
        state.buffers[result] = replace(source, shape=shape, starts=tuple(starts))
    elif kind == "reshape" and source.swizzle_bytes:
        return  # the same
    elif kind in ("reshape", "alias"):
        state.buffers[result] = _retyped(state, op, source, type_)
    else:
        raise InternalError(f"buffer view of kind {kind!r} has no lowering", op.span)


def _index(state: State, value: Value) -> Expr:
    op = state.definitions.get(value)
    if op is not None and op.name == "constant":
        return Affine(int(op.attrs["value"]))
    return scalar_text(state, value)


def slot_of(state: State, source: BufferRef, stage: Value) -> BufferRef:
    """One stage of a buffer: its leading extent is dropped."""
    index = affine(_index(state, stage)).plus(affine(source.starts[0]))
    text = index.to_c(state.index_names).text
    if source.flat:
        if index.constant is not None:
            step = Affine(index.const * source.strides[0])
        else:
            step = Affine(0, ((C(text) if text.isidentifier() else C(f"({text})"), source.strides[0]),))
        moved = _moved(source.text, step.to_c(state.index_names).text)
        return BufferRef(moved, source.shape[1:], source.starts[1:], True, source.strides[1:])
    shape, starts, strides = source.shape[1:], source.starts[1:], source.strides[1:]
    return replace(source, text=f"{source.text}[{text}]", shape=shape, starts=starts, strides=strides)


def _retyped(state: State, op: Op, source: BufferRef, type_: BufferType) -> BufferRef:
    """A pointer to the first element under another shape or element type."""
    original = op.operands[0].type
    assert isinstance(original, BufferType)
    if source.flat:
        first = source.text
    else:
        *outer, last = (
            start.to_c(state.index_names).text if isinstance(start, Affine) else start.text for start in source.starts
        )
        row = source.text + "".join(f"[{start}]" for start in outer)
        first = row if last == "0" else f"&{row}[{last}]"
    offset_bytes, element_bytes = int(op.attrs.get("offset_bytes") or 0), type_.element.bytes
    text = first
    if original.element is not type_.element:
        text = f"reinterpret_cast<{type_.element.cuda}*>({first})"
    if offset_bytes % element_bytes:
        first = f"reinterpret_cast<unsigned char*>({first}) + {offset_bytes}"
        text = f"reinterpret_cast<{type_.element.cuda}*>({first})"
    elif offset_bytes:
        text = f"{text} + {offset_bytes // element_bytes}"
    starts, strides = (Affine(),) * len(type_.shape), row_major_strides(type_.shape)
    if _is_in_fields_of_partitions(state, op.result):
        return BufferRef(f"({text})" if " + " in text or text[0] == "&" else text, type_.shape, starts, True, strides)
    name = state.names.fresh(op.result.name or "view")
    state.comment(op.span)
    statements.constant(state.block, f"{type_.element.cuda}*", name, text, op.span)
    return BufferRef(name, type_.shape, starts, True, strides)


def _moved(pointer: str, step: str) -> str:
    """A pointer in parentheses to what lies behind another one, which may be a sum in parentheses itself."""
    return pointer if step == "0" else f"({bare(pointer)} + {step})"


def bare(text: str) -> str:
    """An expression without the parentheses around the whole of it."""
    if text[:1] != "(":
        return text
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 else text
    return text


def _is_in_fields_of_partitions(state: State, view: Value) -> bool:
    """Whether fields of a pipe between partitions are made of a view, whose name the code of workers would not know."""
    kernel = state.kernel
    if not kernel.specialisations:
        return False
    within = {view}
    for op in walk(kernel.body):
        if op.name == "buffer_view" and op.operands[0] in within:
            within.add(op.result)
        if op.name == "pipe" and not within.isdisjoint(op.operands):
            return True
    return False


def first_element(state: State, ref: BufferRef) -> str:
    """Pointer to a buffer's first element."""
    starts = [s.to_c(state.index_names).text if isinstance(s, Affine) else s.text for s in ref.starts]
    if not ref.flat:
        plain = len(starts) == 1 and starts[0] == "0"
        return ref.text if plain else "&" + ref.text + "".join(f"[{start}]" for start in starts)
    offset = Affine()
    for start, stride in zip(ref.starts, ref.strides, strict=True):
        offset = offset.plus(affine(start).times(stride))
    return bare(ref.text) if offset.constant == 0 else f"{bare(ref.text)} + {offset.to_c(state.index_names).text}"
