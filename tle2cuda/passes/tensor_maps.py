"""Describe tensors to the copy engine: equal descriptions become one tensor map, which the launcher encodes.

A description that depends on more than the arguments becomes a map that one thread makes of a form that the launcher
encodes, where it is known (`changed_maps.py`).

A copy that no tensor map serves becomes loads and stores through pointers: on targets without TMA, where it is not known
when a map that a loop makes may be made again, where the buffer is no dense piece of memory as the engine fills it, for
element types that the engine cannot treat as asked, and at coordinates that are known to make it fault. Where coordinates
are not known to be the engine's, both stand in the kernel, and a branch decides when it runs (`coordinate_branches.py`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from types import MappingProxyType

from tle2cuda.analysis.argument_expressions import ArgumentExpressions
from tle2cuda.analysis.buffer_views import BufferViews
from tle2cuda.analysis.pointer_order import PointerOrder
from tle2cuda.analysis.tensor_coordinates import TensorCoordinates
from tle2cuda.ir.multicast import sharing
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, definitions
from tle2cuda.ir.tma import OUTSIDE, TensorCopy, has_map, tensor_copy
from tle2cuda.ir.types import BF16, F16, F32, F64, I32, I64, U32, U64, DType, TensorMapType
from tle2cuda.layout.tensor_boxes import CHUNK_BYTES, COPY_ALIGNMENT_BYTES, Boxes, boxes_of_block
from tle2cuda.ops import atomics
from tle2cuda.passes import canonicalise, swizzles
from tle2cuda.passes.changed_maps import ChangedMaps
from tle2cuda.passes.coordinate_branches import fits_engine, in_branch
from tle2cuda.passes.dead_code import remove_dead_code
from tle2cuda.passes.pointer_copies import by_pointers
from tle2cuda.passes.staged_tiles import Staged, staged_tiles, without_room
from tle2cuda.targets import parse_target

# Element types of the reductions (PTX ISA, cp.reduce.async.bulk.tensor), without bit operations on int64: of these, unlike
# those on uint64, an H200 makes an illegal instruction.
_ORDERED = (I32, U32, I64, U64, F16, BF16)
_BITS = (I32, U32, U64)
_REDUCED = {
    "add": (I32, U32, U64, F16, BF16, F32),
    "min": _ORDERED,
    "max": _ORDERED,
    "and": _BITS,
    "or": _BITS,
    "xor": _BITS,
}
_HAVE_NAN = (F16, BF16, F32, F64)  # whose NaN the engine can fill in (CUDA driver API, CUtensorMapFloatOOBfill)
_MOST_COPIES = 64  # of one tile; beyond, loads and stores are as good


@dataclass(frozen=True, slots=True)
class _Description:
    """What tensor maps are told apart by."""

    argument: Value
    offset: str
    shape: tuple[str, ...]
    strides: tuple[str, ...]
    element: DType
    box: tuple[int, ...]
    swizzle_bytes: int
    padding: str


def run(kernel: Kernel) -> Kernel:
    """Give every tensor copy its tensor map, or replace it."""
    copies = _copies(kernel)
    if not copies and not any(op.name == "wgmma" for op in walk(kernel.body)):
        return kernel
    planned = _Planner(kernel, copies)
    rewritten = _Rewrite(kernel, planned).run()
    rewritten = remove_dead_code(rewritten)
    return canonicalise.run(rewritten) if planned.is_partial else rewritten


def engine_copies(kernel: Kernel) -> frozenset[Op]:
    """The tensor copies that the copy engine surely does: those with a map, and those that the pass would give one."""
    with_map = [op for op in walk(kernel.body) if op.name in ("tma_load", "tma_store") and has_map(op)]
    copies = _copies(kernel)
    if not copies:
        return frozenset(with_map)
    planned = _Planner(kernel, copies)
    certain = (op for op in (*planned.found, *planned.changed.found) if op not in planned.doubts)
    return frozenset((*with_map, *certain))


def _copies(kernel: Kernel) -> list[Op]:
    return [op for op in walk(kernel.body) if op.name in ("tma_load", "tma_store") and not has_map(op)]


class _Planner:
    """Which copies a tensor map serves, and which map."""

    def __init__(self, kernel: Kernel, copies: list[Op]) -> None:
        self.kernel = kernel
        self.definitions = definitions(kernel.body)
        self.expressions = ArgumentExpressions(kernel)
        self.views = BufferViews(kernel)
        self.coordinates = TensorCoordinates(kernel, self.definitions)
        has_tma = parse_target(kernel.target).has("tma")
        self.has_multicast = parse_target(kernel.target).has("multicast")
        self.staged = staged_tiles(kernel)
        self.without_room = without_room(kernel, self.staged)
        self.changed = ChangedMaps(kernel, self.definitions, self.views)
        self.found: dict[Op, _Description] = {}
        self.spans: dict[_Description, Op] = {}
        self.swizzles: dict[Op, int] = {}
        if has_tma:
            plain = [op for op in copies if self._describe(op) is not None]
            self.changed.settle()
            self.swizzles = swizzles.choose(kernel, (*plain, *self.changed.found), self.views)
            self.changed.clear()
        operands = swizzles.of_operands(kernel, self.views)
        self.swizzles = {**self.swizzles, **operands}
        for op in copies:
            described = self._describe(op) if has_tma else None
            if described is not None:
                self.found[op] = described
                self.spans.setdefault(described, op)
        self.changed.settle()
        engines = (*self.found, *self.changed.found)
        self.doubts = {op: doubts for op in engines if _has_another_way(op) and (doubts := self.coordinates.doubts(op))}
        self.without_buffer = {op for staged in self.by_value(engines) for op in (staged.alloc, staged.store)}
        self.results = {staged.alloc for op, staged in self.staged.items() if op.attrs["kind"] == "store"}
        self.is_partial = bool(self.doubts) or len(self.found) < len(copies)
        taken = {argument.name for argument in kernel.args}
        self.names = {made: fresh_name(made.argument.name, taken) for made in self.spans}
        self.changed.name_maps(taken)
        self.allocations = {
            alloc
            for op in (*self.found, *self.changed.found)
            for alloc in self.views.allocations(tensor_copy(op).buffer) or ()
        }.union(operands)

    def by_value(self, engines: Collection[Op]) -> list[Staged]:
        """The staged tiles that the engine leaves alone."""
        return [staged for op, staged in self.staged.items() if op not in engines]

    def _describe(self, op: Op) -> _Description | None:
        copy = tensor_copy(op)
        element = copy.buffer_type.element
        padding = str(op.attrs.get("padding", "zero"))
        if padding == "nan" and element not in _HAVE_NAN:
            return None
        kind = op.attrs.get("kind", "store")
        if kind != "store" and element not in _REDUCED[kind]:
            return None
        if self.coordinates.fault(op) or op in self.without_room:
            return None
        if op in self.staged and kind == "store" and self.coordinates.doubts(op):
            return None  # two ways to store a product would be one too many
        swizzle_bytes = self.swizzle_bytes(copy)
        moved = _boxes(op, copy, swizzle_bytes, self.has_multicast)
        if moved is None or moved[0].count > _MOST_COPIES or not self._is_engines(copy):
            return None
        base = self.expressions.pointer(copy.base)
        shape = [self.expressions.integer(value) for value in copy.extents]
        strides = [self.expressions.integer(value) for value in copy.strides]
        if strides[-1] != "1" or not self._is_aligned(op, copy):
            return None
        if base is None or None in shape or None in strides:
            self.changed.note(op, copy, moved[1], swizzle_bytes, padding)
            return None
        argument, offset = base
        texts = (tuple(map(str, shape)), tuple(map(str, strides[:-1])))
        return _Description(argument, offset, *texts, element, moved[1], swizzle_bytes, padding)

    def _is_aligned(self, op: Op, copy: TensorCopy) -> bool:
        """Whether rows begin where a tensor map allows; of what the user promised, the launcher checks it."""
        if op.attrs.get("is_promised", True):
            return True
        info, size = self.coordinates.info, copy.buffer_type.element.bytes
        found = [info[copy.base].divisibility[0], *(info[stride].divisibility[0] * size for stride in copy.strides[:-1])]
        return all(bytes_ % CHUNK_BYTES == 0 for bytes_ in found)

    def swizzle_bytes(self, copy: TensorCopy) -> int:
        """Swizzle of a copy's buffer."""
        allocations = self.views.allocations(copy.buffer) or ()
        return max((self.swizzles.get(alloc, 0) for alloc in allocations), default=0)

    def _is_engines(self, copy: TensorCopy) -> bool:
        """Whether the engine can fill or read the buffer: known allocations, one dense and aligned piece."""
        view = self.views.view(copy.buffer)
        if self.views.allocations(copy.buffer) is None or copy.buffer_type.logical_shape is not None:
            return False
        return view.is_dense and view.alignment_bytes % COPY_ALIGNMENT_BYTES == 0


def _boxes(op: Op, copy: TensorCopy, swizzle_bytes: int, has_multicast: bool) -> tuple[Boxes, tuple[int, ...]] | None:
    """How a copy is moved; by each CTA alone where those that share it cannot take a part each."""
    shared = sharing(op) if has_multicast else None
    block, shape, size = op.attrs["block"], copy.buffer_type.shape, copy.buffer_type.element.bytes
    moved = boxes_of_block(block, shape, size, swizzle_bytes, shared.count) if shared is not None else None
    return moved or boxes_of_block(block, shape, size, swizzle_bytes)


def _has_another_way(op: Op) -> bool:
    """Whether loads and stores can do what a copy does; nothing but the engine combines, say, maxima of bfloat16."""
    kind = op.attrs.get("kind", "store")
    return kind == "store" or atomics.works_on(kind, tensor_copy(op).buffer_type.element)


def fresh_name(argument: str, taken: set[str]) -> str:
    """A name for a map: the argument's, less what says that it is a pointer."""
    stem = re.sub(r"(_base)?(_ptr|_desc|_descriptor)?$", "", argument)
    name, number = f"{stem}_map", 2
    while name in taken:
        name, number = f"{stem}_map{number}", number + 1
    taken.add(name)
    return name


class _Rewrite(Rewriter):
    def __init__(self, kernel: Kernel, planned: _Planner) -> None:
        super().__init__()
        self.source = kernel
        self.planned = planned
        self.maps: dict[_Description, Value] = {}
        engines = (*planned.found, *planned.changed.found)
        self.order = PointerOrder(kernel, [op for op in _copies(kernel) if op not in engines])

    def run(self) -> Kernel:
        """Maps stand in front of everything else: they are parameters of the kernel."""
        made = [self._made(description, op) for description, op in self.planned.spans.items()]
        self._stack.append([])
        for op in self.source.body.ops:
            self.visit(op)
        return replace(self.source, body=Region(self.source.body.params, (*made, *self._stack.pop())))

    def _made(self, description: _Description, first: Op) -> Op:
        name = self.planned.names[description]
        maker = self.planned.definitions.get(tensor_copy(first).base)
        attrs = {
            "name": name,
            "offset": description.offset,
            "shape": description.shape,
            "strides": description.strides,
            "swizzle_bytes": description.swizzle_bytes,
            "padding": description.padding,
        }
        type_ = TensorMapType(description.element, description.box)
        span = maker.span if maker is not None and maker.span.line else first.span
        op = make_op("tensor_map", (description.argument,), (type_,), attrs, span=span, names=(name,))
        self.maps[description] = op.result
        return op

    def visit(self, op: Op) -> None:
        for changed in self.planned.changed.first_used_in(op):
            for new in self.planned.changed.make(self.source, changed):
                self.emit(new)
        if op in self.planned.without_buffer:
            return
        if op.name == "alloc" and op in self.planned.allocations:
            swizzle_bytes = self.planned.swizzles.get(op, 0)
            attrs = {**op.attrs, "alignment_bytes": _alignment_bytes(op, swizzle_bytes)}
            if op in self.planned.results:
                attrs["scratch"] = True
            if swizzle_bytes:
                attrs["swizzle_bytes"] = swizzle_bytes
            self.emit(replace(op, attrs=MappingProxyType(attrs)))
        elif op.name not in ("tma_load", "tma_store") or has_map(op):
            self.copy(op)
        elif op not in self.planned.found and op not in self.planned.changed.found:
            self._in_order(op)
        elif op in self.planned.doubts:
            self._stack.append([])
            self._by_engine(op)
            ops = self._stack.pop()
            asked, fits = fits_engine(self.source, self._renamed(op), self.planned.doubts[op])
            for made in (*asked, in_branch(fits, ops, self._by_pointers(op), op.span)):
                self.emit(made)
        else:
            self._by_engine(op)

    def _in_order(self, op: Op) -> None:
        """A copy by pointers, between barriers where the order in memory matters."""
        met = self.order.met(op)
        attrs = {
            "reason": f"tensor copies of `{met.name}` take place in the order of the program" if met is not None else ""
        }
        if met is not None and not (self._stack[-1] and self._stack[-1][-1].name == "barrier"):
            self.emit(make_op("barrier", (), (), attrs, span=op.span))
        for made in self._by_pointers(op):
            self.emit(made)
        if met is not None:
            self.emit(make_op("barrier", (), (), attrs, span=op.span))

    def _renamed(self, op: Op) -> Op:
        return replace(op, operands=tuple(self[v] for v in op.operands))

    def _by_pointers(self, op: Op) -> list[Op]:
        staged = self.planned.staged.get(op)
        return by_pointers(self.source, self._renamed(op), self[staged.value] if staged is not None else None)

    def _by_engine(self, op: Op) -> None:
        if op in self.planned.found:
            self._with_map(op, self.maps[self.planned.found[op]], None)
        else:
            self._with_map(op, *self.planned.changed.made(op))

    def _with_map(self, op: Op, made: Value, exists: Value | None) -> None:
        """Describe the tensor by a map; where `exists` is false the tensor is empty, and the box begins outside."""
        copy = tensor_copy(self._renamed(op))
        offsets = copy.offsets
        if exists is not None:
            outside = self.emit(make_op("constant", (), (I32,), {"value": OUTSIDE}, span=op.span)).result
            first = self.emit(make_op("select", (exists, offsets[0], outside), (I32,), span=op.span)).result
            offsets = (first, *offsets[1:])
        if op.name == "tma_store":
            operands: tuple[Value, ...] = (copy.buffer, made, *offsets)
        else:
            completion = (copy.barriers, copy.index) if copy.barriers is not None and copy.index is not None else ()
            operands = (made, *offsets, copy.buffer, *completion)
        attrs = op.attrs
        if (shared := sharing(op)) is not None:
            block, type_ = op.attrs["block"], copy.buffer_type
            swizzle_bytes = self.planned.swizzle_bytes(tensor_copy(op))
            parts = boxes_of_block(block, type_.shape, type_.element.bytes, swizzle_bytes, shared.count)
            if parts is None or not self.planned.has_multicast:
                attrs = MappingProxyType({**attrs, "multicast": None, "along": None})
        self.emit(replace(op, operands=operands, attrs=attrs))


def _alignment_bytes(alloc: Op, swizzle_bytes: int) -> int:
    """What the engine asks of a buffer: the pattern of a swizzle repeats every eight rows."""
    return max(COPY_ALIGNMENT_BYTES, 8 * swizzle_bytes, alloc.attrs.get("alignment_bytes") or 0)
