"""Tiles that several rotated loops multiply by: written to shared memory once, where they are made.

Each such loop (`tle2cuda.passes.rotated_loops`) writes the operand that all its iterations share in front of itself. Where
another loop multiplies by the same tile, its registers would be held until then: so it is written behind its definition.
"""

from __future__ import annotations

from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.rewrite import Rewriter, definitions


def run(kernel: Kernel) -> Kernel:
    """The kernel with one buffer for each of these tiles."""
    made = definitions(kernel.body)
    fills: dict[Value, list[Op]] = {}
    for op in walk(kernel.body):
        place = made.get(op.operands[0]) if op.name == "store" else None
        if place is not None and place.name == "local_ptr" and len(place.operands) == 1:
            alloc = made.get(place.operands[0])
            if alloc is not None and alloc.attrs.get("is_kept") and op.operands[1] in made:
                fills.setdefault(op.operands[1], []).append(op)
    several = {tile: stores for tile, stores in fills.items() if len(stores) > 1}
    return _Once(several, made).kernel(kernel) if several else kernel


class _Once(Rewriter):
    """Moves the first store of a tile behind its definition, and leaves the others out."""

    def __init__(self, fills: dict[Value, list[Op]], made: dict[Value, Op]) -> None:
        super().__init__()
        self.first = {tile: (made[stores[0].operands[0]], stores[0]) for tile, stores in fills.items()}
        self.moved: set[Op] = set()
        self.kept: dict[Op, Value] = {}  # the allocations that are left out, and what stands for them
        for tile, stores in fills.items():
            buffer = self.first[tile][0].operands[0]
            for store in stores:
                place = made[store.operands[0]]
                self.moved |= {store, place}
                if place.operands[0] is not buffer:
                    self.kept[made[place.operands[0]]] = buffer

    def visit(self, op: Op) -> None:
        if op in self.moved:
            return
        if op in self.kept:
            self.bind(op.result, self.kept[op])
            return
        self.copy(op)
        for result in op.results:
            for each in self.first.get(result, ()):
                self.copy(each)


__all__ = ["run"]
