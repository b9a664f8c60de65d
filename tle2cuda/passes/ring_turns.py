"""How many stages rings with mbarriers have handed out, carried through the loops around them.

The phases of mbarriers go on where a pipelined loop runs again. So loops and branches around it carry how many stages it
has used so far, from the outermost loop on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tle2cuda.analysis.pipelining import Pipelined
from tle2cuda.ir.nodes import Op, Region, Value, walk
from tle2cuda.ir.types import I32

if TYPE_CHECKING:
    from tle2cuda.passes.ring_writer import Writer

_LOOPS = ("for", "while")


class Turns:
    """Counts of stages by loop, at the place that is being written."""

    def __init__(self, into: Writer, plans: Mapping[Op, Pipelined]) -> None:
        self.into = into
        self.plans = {loop: plan for loop, plan in plans.items() if plan.has_barriers}
        self.counts: dict[Pipelined, Value] = {}

    def now(self, plan: Pipelined) -> Value | None:
        """The stages that earlier runs of a loop have used; None where it runs once."""
        return self.counts.get(plan)

    def set(self, plan: Pipelined, count: Value) -> None:
        """From here on it is so many."""
        self.counts[plan] = count

    def forget(self, plans: list[Pipelined]) -> None:
        """What was counted belongs to another partition."""
        for plan in plans:
            self.counts.pop(plan, None)

    def carry(self, op: Op) -> bool:
        """Write a loop or branch that carries such counts; returns whether it had to."""
        if op.name not in (*_LOOPS, "if") or op in self.plans or not self.plans:
            return False
        inside = [self.plans[inner] for region in op.regions for inner in walk(region) if inner in self.plans]
        plans = [plan for plan in inside if op.name in _LOOPS or plan in self.counts]
        if not plans:
            return False
        if op.name == "if":
            self._branch(op, plans)
        else:
            self._loop(op, plans)
        return True

    def _fresh(self, plans: list[Pipelined]) -> tuple[Value, ...]:
        return tuple(Value(I32, "stages_used", plan.loop.span) for plan in plans)

    def _start(self, plans: list[Pipelined], op: Op) -> tuple[Value, ...]:
        return tuple(self.counts.get(plan) or self.into.number(0, I32, op.span) for plan in plans)

    def _region(self, region: Region, plans: list[Pipelined], params: tuple[Value, ...], end: str) -> Region:
        """A region that takes counts as further parameters, and yields them."""
        into = self.into
        own = into.params(region)

        def write() -> tuple[Value, ...]:
            for op in region.body:
                into.visit(op)
            kept = tuple(into[v] for v in region.terminator.operands)
            return (*kept, *(self.counts[plan] for plan in plans))

        return into.inside(write, region.terminator.span, (*own, *params), end)

    def _loop(self, op: Op, plans: list[Pipelined]) -> None:
        into = self.into
        operands = (*(into[v] for v in op.operands), *self._start(plans, op))
        regions = []
        for region in op.regions:
            params = self._fresh(plans)
            self.counts.update(zip(plans, params, strict=True))
            regions.append(self._region(region, plans, params, region.terminator.name))
        self._finish(op, operands, tuple(regions), plans)

    def _branch(self, op: Op, plans: list[Pipelined]) -> None:
        before = dict(self.counts)
        regions = []
        for region in op.regions:
            self.counts = dict(before)
            regions.append(self._region(region, plans, (), "yield"))
        self.counts = before
        self._finish(op, tuple(self.into[v] for v in op.operands), tuple(regions), plans)

    def _finish(self, op: Op, operands: tuple[Value, ...], regions: tuple[Region, ...], plans: list[Pipelined]) -> None:
        results = self._fresh(plans)
        own = self.into.results(op)
        self.into.emit(replace(op, operands=operands, results=(*own, *results), regions=regions))
        self.counts.update(zip(plans, results, strict=True))


__all__ = ["Turns"]
