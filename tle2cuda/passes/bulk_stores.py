"""Buffers that go to global memory as whole contiguous rows: bulk copies of the copy engine, without a tensor map.

`tle.gpu.copy(buffer, pointers, shape)` is a load of the buffer and a store (`is_copy`). Where the pointers lead to whole
rows and nothing happens between the two, the engine reads the buffer itself, as for a copy to a tensor. In loops it does so
where iterations surely go to different places: it would else have to wait for each of its stores before the next one.
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
    BOOL,
    GLOBAL,
    BufferType,
    PointerType,
    element_of,
    shape_of,
)
from tle2cuda.passes.bulk_copies import BulkCopies, BulkCopy
from tle2cuda.passes.dead_code import remove_dead_code


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
    return {old for new, old in made.items() if new in repeated and not order.are_apart(new, new, True)}


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
            if op.name == "store" and op.attrs.get("is_copy") and (copy := self._copy(op, region)) is not None:
                yield op, copy
            for inner in op.regions:
                if op.name != "fused":
                    yield from self.found(inner)

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
            self.made[self.bulk.store(copy, self.emit, self.__getitem__, op.span)] = op


__all__ = ["with_bulk_stores"]
