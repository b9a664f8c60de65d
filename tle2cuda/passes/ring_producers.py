"""The partition that fills the rings of a loop with `warp_specialize`: the loop again, less all that addresses do not need.

The loop is written a second time without what it stores and without its products; what is dead then goes. What is left must
be arithmetic on numbers, loops, branches and copies: one warp does it while the others multiply.
"""

from __future__ import annotations

from dataclasses import replace

from tle2cuda.analysis.pipelining import Pipelined
from tle2cuda.ir.classify import is_tile
from tle2cuda.ir.effects import READ, Roots, effects
from tle2cuda.ir.legality import has_side_effects, is_pure
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import captured_values
from tle2cuda.ir.types import GLOBAL, PointerType, element_of
from tle2cuda.passes.ring_loops import RingLoop, fill_rings
from tle2cuda.passes.ring_writer import Writer

WARPS = 1
REGISTERS = 40  # of a thread that does arithmetic on addresses
_CONTROL = frozenset(("for", "while", "if"))
_FILLING = frozenset(("pipe_acquire", "pipe_commit", "tma_load", "yield", "condition"))


class Producer(Writer):
    """Writes the side of a loop that fills its rings."""

    def __init__(self, reader: Writer, plans: dict[Op, Pipelined]) -> None:
        super().__init__(plans, reader.definitions)
        self.pipes, self.copies, self.halves = reader.pipes, reader.copies, reader.halves
        self.mapping = dict(reader.mapping)

    def region_of(self, site: Op) -> Region:
        """The partition."""

        def write() -> tuple[Value, ...]:
            self.visit(site)
            return ()

        return self.inside(write, site.span)

    def params(self, region: Region) -> tuple[Value, ...]:
        """Parameters of its own."""
        return self._fresh(region.params)

    def results(self, op: Op) -> tuple[Value, ...]:
        """Results of its own."""
        return self._fresh(op.results)

    def _fresh(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        made = tuple(Value(v.type, v.name, v.span) for v in values)
        for old, new in zip(values, made, strict=True):
            self.bind(old, new)
        return made

    def visit(self, op: Op) -> None:
        if op in self.plans:
            plan = self.plans[op]
            rings = [RingLoop(self, each, is_split=True) for each in self.halves.get(plan, (plan,))]
            for ring in rings:
                ring.turn = self.turns.now(plan)
            fill_rings(self, plan, rings)
        elif op.name in _CONTROL:
            if not self.turns.carry(op):
                self._control(op)
        elif not has_side_effects(op) and op.name != "dot" and not op.regions:
            operands = tuple(self[v] for v in op.operands)
            self.emit(replace(op, operands=operands, results=self.results(op)))

    def _control(self, op: Op) -> None:
        operands = tuple(self[v] for v in op.operands)
        regions = tuple(self._inner(region) for region in op.regions)
        self.emit(replace(op, operands=operands, results=self.results(op), regions=regions))

    def _inner(self, region: Region) -> Region:
        params = self.params(region)

        def write() -> tuple[Value, ...]:
            for op in region.body:
                self.visit(op)
            return tuple(self[v] for v in region.terminator.operands)

        return self.inside(write, region.terminator.span, params, region.terminator.name)


def why_not_lean(kernel: Kernel, site: Op) -> str:
    """Why the second partition of a specialisation would do more than fill rings; empty when it does not.

    Args:
        kernel: The kernel, without dead code.
        site: The specialisation.
    """
    region = site.regions[1]
    inside = {result for op in walk(site.regions[0]) for result in op.results}
    inside |= {param for op in walk(site.regions[0]) for inner in op.regions for param in inner.params}
    if any(value in inside for value in captured_values(region)):
        return "addresses depend on what the loop computes"
    roots = Roots(kernel)
    effects_ = (effect for op in walk(kernel.body) for effect in effects(op, roots))
    written = {effect.root for effect in effects_ if effect.space == GLOBAL and effect.kind != READ}
    for op in walk(region):
        if op.name in _FILLING or op.name in _CONTROL or (is_pure(op) and not any(map(is_tile, op.results))):
            continue
        if op.name != "load" or is_tile(op.result) or op.attrs.get("volatile"):
            return "addresses depend on tiles"
        element = element_of(op.operands[0].type)
        read = {None, *roots.of(op.operands[0])} if None in written else set(roots.of(op.operands[0]))
        if not isinstance(element, PointerType) or element.space != GLOBAL or read & {None, *written}:
            return "addresses depend on what the loop loads"
    return ""


def specialised(region: Region, producer: Region, num_warps: int, site: Op, registers: int) -> Op:
    """The two partitions: the kernel's warps do the loop, one more warp fills its rings."""
    types = tuple(v.type for v in site.results)
    attrs = {
        "warps": (num_warps, WARPS),
        "registers": (registers,),
        "names": ("multiply", "load"),
        "is_automatic": True,
    }
    names = tuple(v.name for v in site.results)
    return make_op("warp_specialize", (), types, attrs, (region, producer), site.span, names)


__all__ = ["REGISTERS", "WARPS", "Producer", "specialised", "why_not_lean"]
