"""Buffers that go to global memory as whole contiguous rows: bulk copies of the copy engine, without a tensor map.

`tle.gpu.copy(buffer, pointers, shape)` is a load of the buffer and a store (`is_copy`). Where the pointers lead to whole
rows and nothing happens between the two, the engine reads the buffer itself, as for a copy to a tensor. In loops it does so
where iterations surely go to different places: it would else have to wait for each of its stores before the next one.

A relaxed atomic whose old values nobody wants, of all that a buffer holds, is a reduction of the engine in the same way.
These need no order among each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tle2cuda.analysis.axis_info import axis_info
from tle2cuda.analysis.box_order import BoxOrder
from tle2cuda.ir.classify import is_tile
from tle2cuda.ir.effects import Roots, effects
from tle2cuda.ir.nodes import Kernel, Op, Region, walk
from tle2cuda.ir.rewrite import Rewriter, definitions, uses_of
from tle2cuda.ir.types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    GLOBAL,
    I32,
    I64,
    U32,
    U64,
    BufferType,
    DType,
    PointerType,
    element_of,
    shape_of,
)
from tle2cuda.passes.bulk_copies import BulkCopies, BulkCopy
from tle2cuda.passes.dead_code import remove_dead_code

_INTEGERS = frozenset((I32, U32, I64, U64))
_REDUCED: Mapping[str, frozenset[DType]] = {
    "add": _INTEGERS | {F16, BF16, F32, F64},
    **dict.fromkeys(("min", "max", "and", "or", "xor"), _INTEGERS),
}
"""Elements that a bulk reduction combines (PTX ISA, cp.reduce.async.bulk)."""


def with_bulk_stores(kernel: Kernel) -> Kernel:
    """Let the copy engine store what lies in buffers, where whole rows go to whole rows."""
    if not any(op.name == "local_ptr" and len(op.operands) == 1 for op in walk(kernel.body)):
        return kernel
    found = dict(_Finder(kernel).found(kernel.body))
    while found:
        converter = _Convert(kernel, found)
        made = remove_dead_code(converter.kernel(kernel))
        slow = _slow(made, converter.made)
        if not slow:
            return made
        found = {op: copy for op, copy in found.items() if op not in slow}
    return kernel


def _slow(kernel: Kernel, made: Mapping[Op, Op]) -> set[Op]:
    """Stores that each iteration of a loop would have to wait for, as the next one may go to the same places."""
    order = BoxOrder(kernel, axis_info(kernel))
    repeated = {inner for op in walk(kernel.body) if op.name in ("for", "while") for r in op.regions for inner in walk(r)}
    stores = {new: old for new, old in made.items() if new in repeated and new.attrs["kind"] == "store"}
    return {old for new, old in stores.items() if not order.are_apart(new, new, True)}


class _Finder:
    def __init__(self, kernel: Kernel) -> None:
        self.definitions = definitions(kernel.body)
        self.uses = uses_of(kernel.body)
        self.roots = Roots(kernel)
        self.bulk = BulkCopies(kernel, axis_info(kernel), self.definitions)

    def found(self, region: Region) -> Iterator[tuple[Op, BulkCopy]]:
        if not self.bulk.is_possible:
            return
        for op in region.ops:
            is_store = op.name == "store" and op.attrs.get("is_copy")
            if (is_store or self._is_reduction(op)) and (copy := self._copy(op, region)) is not None:
                yield op, copy
            for inner in op.regions:
                if op.name != "fused":
                    yield from self.found(inner)

    def _is_reduction(self, op: Op) -> bool:
        """Whether an atomic asks for no more than the engine does: each element combined at some time, in any order."""
        if op.name != "atomic_rmw" or op.attrs["has_mask"] or self.uses.get(op.results[0]):
            return False
        is_relaxed = op.attrs["sem"] == "relaxed" and op.attrs["scope"] != "sys"
        return is_relaxed and element_of(op.results[0].type) in _REDUCED.get(op.attrs["kind"], ())

    def _copy(self, op: Op, region: Region) -> BulkCopy | None:
        pointers, value = op.operands[:2]
        load = self.definitions.get(value)
        if load is None or load.name != "load" or self.uses.get(value) != [op] or load not in region.ops:
            return None
        place = self.definitions.get(load.operands[0])
        if place is None or place.name != "local_ptr" or len(place.operands) != 1 or load.attrs.get("has_mask"):
            return None
        buffer = place.operands[0]
        element, pointee = buffer.type, element_of(pointers.type)
        assert isinstance(element, BufferType)
        if not is_tile(pointers) or not isinstance(pointee, PointerType) or pointee.space != GLOBAL or element.remote:
            return None
        is_same = pointee.element is element.element and shape_of(value.type) == element.shape
        if not is_same or element.element is BOOL or not self._is_still(region, load, op):
            return None
        return self.bulk.of(pointers, buffer)

    def _is_still(self, region: Region, load: Op, op: Op) -> bool:
        """Whether nothing happens to memory between a load and a store."""
        first, last = region.ops.index(load), region.ops.index(op)
        return not any(each.regions or effects(each, self.roots) for each in region.ops[first + 1 : last])


class _Convert(Rewriter):
    def __init__(self, kernel: Kernel, found: Mapping[Op, BulkCopy]) -> None:
        super().__init__()
        self.found = found
        self.bulk = BulkCopies(kernel, axis_info(kernel), definitions(kernel.body))
        self.made: dict[Op, Op] = {}

    def visit(self, op: Op) -> None:
        copy = self.found.get(op)
        if copy is None:
            self.copy(op)
        else:
            kind = "store" if op.name == "store" else op.attrs["kind"]
            self.made[self.bulk.store(copy, kind, self.emit, self.__getitem__, op.span)] = op


__all__ = ["with_bulk_stores"]
