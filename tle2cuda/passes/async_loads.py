"""Loads with `is_async`: copied to shared memory by cp.async, waited for and read back in front of their first use.

It is a wish: what cp.async cannot copy (single scalars, elements of less than 4 bytes that are no neighbours, another value
than 0 where the mask is off), memory that the kernel also writes, and what takes too much shared memory is loaded as ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter
from tle2cuda.ir.types import SHARED, BufferType, DType, PointerType, element_of, shape_of, with_shape

MOST_SHARED_BYTES = 64 * 1024
"""Of a kernel's buffers, those of its loads included."""

_ALIGNMENT_BYTES = 16
_MOST_PENDING_GROUPS = 7


@dataclass(frozen=True, slots=True)
class _Staged:
    """A load, its buffer, and in front of what it is waited for.

    Attributes:
        load: The load.
        alloc: The buffer that it is copied to.
        use: The first use, in the same region.
        pending: Groups of copies that are closed between the two, and may stay in flight.
    """

    load: Op
    alloc: Op
    use: Op
    pending: int


def buffer_of(load: Op) -> BufferType:
    """The buffer that a load of a tile goes through."""
    element = element_of(load.result.type)
    assert isinstance(element, DType)
    return BufferType(shape_of(load.result.type), element)


def stage(kernel: Kernel, loads: list[Op]) -> Kernel:
    """Make copies of these loads, as many as there is room for."""
    allocations = [op.result.type for op in walk(kernel.body) if op.name == "alloc"]
    room = MOST_SHARED_BYTES - sum(type_.size_bytes for type_ in allocations if isinstance(type_, BufferType))
    chosen: set[Op] = set()
    for load in loads:
        size = buffer_of(load).size_bytes
        if size <= room:
            chosen.add(load)
            room -= size
    staged = _staged(kernel.body, chosen)
    if not staged:
        return kernel
    rewritten = _Stage(staged).kernel(kernel)
    made = tuple(each.alloc for each in staged.values())
    return replace(rewritten, body=Region(rewritten.body.params, (*made, *rewritten.body.ops)))


def _staged(region: Region, chosen: set[Op]) -> dict[Op, _Staged]:
    found: dict[Op, _Staged] = {}
    for number, op in enumerate(region.ops):
        for inner in op.regions:
            found |= _staged(inner, chosen)
        if op not in chosen:
            continue
        pending = 0
        for later in region.ops[number + 1 :]:
            if _uses(later, op.result):
                alloc = make_op("alloc", (), (buffer_of(op),), _attrs(op), span=op.span)
                found[op] = _Staged(op, alloc, later, min(pending, _MOST_PENDING_GROUPS))
                break
            pending += later.name == "cp_async_commit" or later in chosen
    return found


def _attrs(load: Op) -> Mapping[str, object]:
    name = load.result.name
    return {"name": f"{name}_staged" if name else "staged", "alignment_bytes": _ALIGNMENT_BYTES}


def _uses(op: Op, value: Value) -> bool:
    return value in op.operands or any(_uses(inner, value) for region in op.regions for inner in region.ops)


class _Stage(Rewriter):
    def __init__(self, staged: dict[Op, _Staged]) -> None:
        super().__init__()
        self.staged = staged
        self.uses: dict[Op, list[_Staged]] = {}
        for each in staged.values():
            self.uses.setdefault(each.use, []).append(each)
        self.issued: list[_Staged] = []  # in front of here, on every path
        self.landed: set[Op] = set()

    def region(self, region: Region) -> Region:
        issued, landed = list(self.issued), set(self.landed)
        made = super().region(region)
        self.issued, self.landed = issued, landed  # it may not run
        return made

    def visit(self, op: Op) -> None:
        waiting = self.uses.get(op, [])
        if any(each.load not in self.landed for each in waiting):
            pending = min(each.pending for each in waiting)
            self.emit(make_op("cp_async_wait", (), (), {"pending": pending}, span=op.span))
            self.landed.update(each.load for each in self.issued[: len(self.issued) - pending])
        for each in waiting:
            self._read(each)
        if op in self.staged:
            self._issue(self.staged[op])
        else:
            self.copy(op)

    def _issue(self, staged: _Staged) -> None:
        load = staged.load
        self.issued = [*(each for each in self.issued if each is not staged), staged]
        self.landed.discard(load)
        has_mask = bool(load.attrs.get("has_mask"))
        operands = [load.operands[0], staged.alloc.result, *(load.operands[1:2] if has_mask else ())]
        attrs = {"has_mask": has_mask, "eviction": load.attrs.get("eviction") or ""}
        self.emit(make_op("cp_async", tuple(self[v] for v in operands), (), attrs, span=load.span))
        self.emit(make_op("cp_async_commit", span=load.span))

    def _read(self, staged: _Staged) -> None:
        load = staged.load
        buffer = staged.alloc.result
        type_ = buffer_of(load)
        places = with_shape(PointerType(type_.element, SHARED), type_.shape)
        place = self.emit(make_op("local_ptr", (buffer,), (places,), span=load.span)).result
        attrs = {"has_mask": False, "has_other": False, "cache": "", "eviction": "", "volatile": False}
        self.emit(replace(load, operands=(place,), attrs=MappingProxyType(attrs)))
