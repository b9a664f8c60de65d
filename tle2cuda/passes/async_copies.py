"""Copies by cp.async: which loads into a pipe's slots become some, and which of the user's cannot be any.

A load whose value does nothing but go into a slot between `acquire` and `commit` need not pass through registers, and the
writer need not wait for it: readers do. What cp.async cannot copy, elements of less than 4 bytes that are no neighbours or
bools, is loaded and stored. Loads with `is_async` go through buffers of their own (`async_loads.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from tle2cuda.analysis.axis_info import AxisInfo, axis_info
from tle2cuda.analysis.slots import Slots
from tle2cuda.analysis.stage_uses import StageUses
from tle2cuda.analysis.tasks import tasks, walk_task
from tle2cuda.ir.classify import is_tile
from tle2cuda.ir.constants import is_zero
from tle2cuda.ir.effects import READ, Roots, effects
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, definitions, uses_of
from tle2cuda.ir.types import BOOL, GLOBAL, BufferType, DType, PointerType, element_of, shape_of
from tle2cuda.passes import async_loads
from tle2cuda.passes.bulk_copies import BulkCopies
from tle2cuda.passes.dead_code import remove_dead_code
from tle2cuda.passes.plain_copies import expand
from tle2cuda.targets import parse_target

CHUNK_BYTES = (16, 8, 4)  # what one cp.async copies (PTX ISA, cp.async)
CACHES = ("", ".ca", ".cg", None)
"""Cache modifiers that say nothing against a copy."""


def with_async_copies(kernel: Kernel) -> Kernel:
    """Make copies of loads into slots, note how wide each copy is, and expand those that cannot be."""
    if not parse_target(kernel.target).has("cp_async"):
        return expand(kernel)
    if any(op.name == "pipe_acquire" for op in walk(kernel.body)):
        finder = _Pairs(kernel)
        pairs = finder.found()
        if pairs:
            bulk = BulkCopies(kernel, finder.chunks.info, finder.definitions)
            converter = _Convert(pairs, bulk)
            kernel = converter.kernel(kernel)
            if converter.has_bulk:
                kernel = remove_dead_code(kernel)  # tiles of pointers
    if any(op.name == "load" and op.attrs.get("is_async") for op in walk(kernel.body)):
        kernel = async_loads.stage(kernel, _Pairs(kernel).wished())
    if not any(op.name == "cp_async" for op in walk(kernel.body)):
        return expand(kernel)
    chunks = Chunks(kernel)
    widths = {op: chunks.bytes_of(*op.operands) for op in walk(kernel.body) if op.name == "cp_async"}
    return expand(_Note(widths).kernel(kernel), lambda op: not op.attrs.get("chunk_bytes"))


class Chunks:
    """How many bytes one cp.async may copy."""

    def __init__(self, kernel: Kernel, info: Mapping[Value, AxisInfo] | None = None) -> None:
        self.info: Mapping[Value, AxisInfo] = axis_info(kernel) if info is None else info
        self.definitions = definitions(kernel.body)

    def bytes_of(self, pointers: Value, buffer: Value, mask: Value | None = None) -> int:
        """Bytes of each cp.async of a copy; 0 when there can be none."""
        type_ = buffer.type
        assert isinstance(type_, BufferType)
        return self.bytes_to(pointers, type_, self.info[buffer].divisibility[0], mask)

    def bytes_to(self, pointers: Value, type_: BufferType, aligned: int, mask: Value | None) -> int:
        """The same, to any buffer of a type that is aligned to so many bytes."""
        return self.bytes_along(pointers, mask, len(type_.shape) - 1, aligned)

    def bytes_along(self, pointers: Value, mask: Value | None, axis: int, alignment_bytes: int = CHUNK_BYTES[0]) -> int:
        """The same for copies into a buffer of some alignment in which elements along an axis lie beside each other."""
        element, shape = element_of(pointers.type), shape_of(pointers.type)
        assert isinstance(element, PointerType)
        size = element.element.bytes
        if element.element is BOOL:
            return 0  # in global memory any byte but 0 is true
        info = self.info[pointers]
        for chunk in CHUNK_BYTES:
            elems = chunk // size
            if elems <= 1:
                return chunk if elems else 0
            in_row = info.contiguity[axis] >= elems and info.divisibility[axis] % chunk == 0
            if in_row and shape[axis] % elems == 0 and alignment_bytes % chunk == 0 and self._allows(mask, axis, elems):
                return chunk
        return 0

    def _allows(self, mask: Value | None, axis: int, elems: int) -> bool:
        """Whether a mask leaves off whole chunks, or the last elements of a chunk."""
        if mask is None:
            return True
        op = self.definitions.get(mask)
        if op is not None and op.name == "and":
            return all(self._allows(part, axis, elems) for part in op.operands)
        if not is_tile(mask) or self.info[mask].constancy[axis] >= elems:
            return True
        while op is not None and op.name in ("broadcast", "expand_dims", "trans"):
            if op.name == "expand_dims":
                axis -= axis > op.attrs["axis"]
            elif op.name == "trans":
                axis = op.attrs["perm"][axis]
            op = self.definitions.get(op.operands[0])
        if op is None or op.name != "cmp":
            return False
        index, limit = op.operands
        if op.attrs["predicate"] in ("gt", "ge"):
            index, limit = limit, index
        elif op.attrs["predicate"] not in ("lt", "le"):
            return False
        element = element_of(index.type)
        if not isinstance(element, DType) or element.kind != "int":
            return False
        return self.info[index].contiguity[axis] >= elems and self.info[limit].constancy[axis] >= elems


@dataclass(frozen=True, slots=True)
class _Pair:
    """A load and the store that puts its value into a slot."""

    load: Op
    store: Op
    buffer: Value


class _Pairs:
    """Finds loads into slots that may be copies."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.roots = Roots(kernel)
        self.slots = Slots(kernel)
        self.stages = StageUses(kernel, self.slots)
        self.uses = uses_of(kernel.body)
        self.definitions = definitions(kernel.body)
        self.chunks = Chunks(kernel)
        self.written = self._written()

    def _written(self) -> set[Value | None]:
        """Arguments that are written somewhere: a copy may read them later than the load did."""
        found = (effect for op in walk(self.kernel.body) for effect in effects(op, self.roots))
        return {effect.root for effect in found if effect.space == GLOBAL and effect.kind != READ}

    def found(self) -> list[_Pair]:
        """All pairs, none of whose slots the writer touches otherwise."""
        pairs: list[_Pair] = []
        for task in tasks(self.kernel):
            accesses: dict[Value | None, int] = {}
            for op in walk_task(task.region):
                # An operation has an effect for each root that its pointer may have: one access all the same.
                places = {e.pointer or e.buffer for e in effects(op, self.roots) if e.is_shared}
                for place in places - {None}:
                    assert place is not None
                    for slot in self.slots.of(place):
                        if slot in self.slots.makers:
                            accesses[slot] = accesses.get(slot, 0) + 1
            pairs += [p for p in self._in(task.region, accesses) if self.stages.may_fly(p.store, p.buffer, task)]
        return pairs

    def wished(self) -> list[Op]:
        """Loads with `is_async` that cp.async can do."""
        loops = [op for op in walk(self.kernel.body) if op.name == "for"]
        of_products = {
            inner
            for loop in loops
            if any(op.name == "dot" for op in walk(loop.regions[0]))
            for inner in walk(loop.regions[0])
        }  # whose operands have buffers of their own
        loads = [op for op in walk(self.kernel.body) if op.name == "load" and op.attrs.get("is_async")]
        loads = [load for load in loads if load not in of_products]
        return [load for load in loads if self.uses.get(load.result) and self._is_plain(load) and self._fits(load)]

    def _fits(self, load: Op) -> bool:
        mask = load.operands[1] if load.attrs.get("has_mask") else None
        type_ = async_loads.buffer_of(load)
        pointee = element_of(load.operands[0].type)
        is_same = isinstance(pointee, PointerType) and pointee.element is type_.element
        return is_same and bool(self.chunks.bytes_to(load.operands[0], type_, CHUNK_BYTES[0], mask))

    def _in(self, region: Region, accesses: Mapping[Value | None, int]) -> list[_Pair]:
        found = []
        for op in region.ops:
            if op.name == "store" and (pair := self._pair(op, region)) is not None:
                slots = self.slots.of(pair.buffer)
                if len(slots) == 1 and slots[0] is not None and accesses.get(slots[0]) == 1:
                    found.append(pair)
            for inner in op.regions[:1] if op.name == "warp_specialize" else op.regions:
                found += self._in(inner, accesses)
        return found

    def _pair(self, store: Op, region: Region) -> _Pair | None:
        pointer, value = store.operands[:2]
        place, load = self.definitions.get(pointer), self.definitions.get(value)
        if store.attrs.get("has_mask") or place is None or load is None:
            return None
        if place.name != "local_ptr" or len(place.operands) != 1 or load.name != "load" or load not in region.ops:
            return None
        buffer = place.operands[0]
        makers = self.slots.hand_outs(buffer)
        is_acquired = len(makers) == 1 and all(maker is not None and maker.name == "pipe_acquire" for maker in makers)
        if not is_acquired or self.uses.get(value) != [store] or not self._is_plain(load):
            return None
        mask = load.operands[1] if load.attrs.get("has_mask") else None
        type_ = buffer.type
        assert isinstance(type_, BufferType)
        if element_of(value.type) is not type_.element or shape_of(value.type) != type_.shape or type_.remote:
            return None
        if not self.chunks.bytes_of(load.operands[0], buffer, mask):
            return None
        return _Pair(load, store, buffer)

    def _is_plain(self, load: Op) -> bool:
        """Whether a load reads elements of global memory that nothing writes, zeros where it is masked off."""
        pointer = load.operands[0]
        element = element_of(pointer.type)
        if not is_tile(pointer) or not isinstance(element, PointerType) or element.space != GLOBAL:
            return False
        if load.attrs.get("volatile") or load.attrs.get("cache") not in CACHES:
            return False
        if None in self.roots.of(pointer) or set(self.roots.of(pointer)) & self.written or None in self.written:
            return False
        if load.attrs.get("has_other"):
            return is_zero(self.definitions, load.operands[2])
        return True


class _Convert(Rewriter):
    """Pairs become copies, where the store stood."""

    def __init__(self, pairs: list[_Pair], bulk: BulkCopies) -> None:
        super().__init__()
        self.bulk = bulk
        self.has_bulk = False
        self.loads = {pair.load for pair in pairs}
        self.stores = {pair.store: pair for pair in pairs}

    def visit(self, op: Op) -> None:
        if op in self.loads:
            return
        pair = self.stores.get(op)
        if pair is None:
            self.copy(op)
            return
        has_mask = bool(pair.load.attrs.get("has_mask"))
        whole = None if has_mask else self.bulk.of(pair.load.operands[0], pair.buffer)
        if whole is not None:
            self.bulk.load(whole, self.emit, self.__getitem__, op.span)
            self.has_bulk = True
            return
        operands = [pair.load.operands[0], pair.buffer, *(pair.load.operands[1:2] if has_mask else ())]
        attrs = {"has_mask": has_mask, "eviction": pair.load.attrs.get("eviction") or ""}
        self.emit(make_op("cp_async", tuple(self[v] for v in operands), (), attrs, span=op.span))


class _Note(Rewriter):
    def __init__(self, widths: Mapping[Op, int]) -> None:
        super().__init__()
        self.widths = widths

    def visit(self, op: Op) -> None:
        if op in self.widths:
            attrs = MappingProxyType({**op.attrs, "chunk_bytes": self.widths[op]})
            operands = tuple(self[v] for v in op.operands)
            self.emit(replace(op, operands=operands, attrs=attrs))
        else:
            self.copy(op)
