"""Counters of the iterations of a pipelined loop, those ahead of where it is included, and which of these exist.

The counter goes up or down. Where iterations ahead do not exist, sums may leave the range of its type, so what is compared
is chosen by what is known of the bounds. A step that is known at run time alone may be of any size: iterations are counted
in front of the loop then, and it is their numbers that are compared.
"""

from __future__ import annotations

from tle2cuda.analysis.pipelining import Pipelined
from tle2cuda.ir.nodes import Value
from tle2cuda.ir.types import BOOL, I32, U32, U64, Type, dtype_of
from tle2cuda.passes.ring_writer import Writer

When = tuple[Value, Value]
"""The loop's counter in some iteration, and whether there is that iteration."""


class Iterations:
    """Writes what counts a loop's iterations.

    Attributes:
        lower: Where the counter starts.
        upper: Where it ends.
        step: By how much it moves.
        stride: How far that is.
        type: Of all of them.
    """

    def __init__(self, into: Writer, plan: Pipelined) -> None:
        self.into = into
        self.plan = plan
        self.span = plan.loop.span
        self.lower, self.upper, self.step = (into[v] for v in plan.loop.operands[:3])
        self.type = plan.loop.regions[0].params[0].type
        self.stride = self.step if plan.step >= 0 else into.number(-plan.step, self.type, self.span)
        self.count = None if plan.step else self._count()

    def _count(self) -> Value:
        """How many iterations there are, for a counter that goes up, as an unsigned number."""
        into, span, unsigned = self.into, self.span, self._unsigned
        one, zero = (into.number(value, unsigned, span) for value in (1, 0))
        step = into.make("cast", (self.step,), unsigned, span)
        if not self.plan.moves_on:
            step = into.make("max", (step, one), unsigned, span)  # nothing is divided by 0 for a loop without iterations
        last = into.make("sub", (self.upper, into.number(1, self.type, span)), self.type, span)
        left = into.make("sub", (last, self.lower), self.type, span)
        steps = into.make("idiv", (into.make("cast", (left,), unsigned, span), step), unsigned, span)
        count = into.make("add", (steps, one), unsigned, span)
        return into.make("select", (self.has_any(), count, zero), unsigned, span, "iterations")

    def has_any(self) -> Value:
        """Whether the loop has iterations."""
        return self._is_before(self.lower, self.upper)

    def is_behind_first(self, counter: Value) -> Value:
        """Whether an iteration is another than the first."""
        return self._is_before(self.lower, counter)

    def of_first(self, stage: Value | None, further: int = 0) -> When:
        """An iteration so much further on than one of the first few, whose number is `stage`; None for 0."""
        into, span = self.into, self.span
        counter, number = self.lower, stage or into.number(0, I32, span)
        moved = None
        if stage is not None:
            wide = stage if self.type is I32 else into.make("cast", (stage,), self.type, span)
            moved = into.make("mul", (wide, self.stride), self.type, span)
            counter = self._moved(counter, moved)
        for _ in range(further):
            counter = self._moved(counter, self.stride)
        if self.count is None:
            return counter, self._starts(counter, moved, further)
        return counter, self._exists(number, further)

    def later(self, counter: Value, number: Value, count: int) -> When:
        """An iteration so many behind the one that the loop is in, by that one's counter and number.

        What is left to do is 1 or more inside of the loop; it may be too much for a signed number where the counter goes
        through 0.
        """
        into, span = self.into, self.span
        if self.count is not None:
            distance = into.make("mul", (self.step, into.number(count, self.type, span)), self.type, span)
            return self._moved(counter, distance), self._exists(number, count)
        ahead = count * self.plan.step
        later = self._moved(counter, into.number(abs(ahead), self.type, span))
        end = self.plan.bounds[1]
        if self._stays(end.hi if ahead > 0 else end.lo, ahead):
            return later, self._is_before(later, self.upper)
        left = self._distance(counter, self.upper)
        distance = into.number(abs(ahead), self.type, span)
        lowest = self.plan.bounds[0].lo if ahead > 0 else end.lo
        if lowest is None or lowest < 0:
            left, distance = (into.make("cast", (v,), self._unsigned, span, "remaining") for v in (left, distance))
        return later, into.make("cmp", (left, distance), BOOL, span, predicate="gt")

    def _starts(self, counter: Value, moved: Value | None, further: int) -> Value:
        """Whether there is an iteration of the first few, so far from the start and so many steps more."""
        into, span, (start, end) = self.into, self.span, self.plan.bounds
        if moved is None and not further:
            return self.has_any()
        most = (self.plan.stages - 1 + self.plan.depth) * self.plan.step
        if self._stays(start.hi if most > 0 else start.lo, most):
            return self._is_before(counter, self.upper)
        if self._stays(end.hi if most > 0 else end.lo, most):  # and so does the counter, where there are iterations
            return into.make("and", (self.has_any(), self._is_before(counter, self.upper)), BOOL, span)
        distance = into.number(further * abs(self.plan.step), self._unsigned, span)
        if moved is not None:
            distance = into.make("add", (into.make("cast", (moved,), self._unsigned, span), distance), self._unsigned, span)
        left = into.make("cast", (self._distance(self.lower, self.upper),), self._unsigned, span, "remaining")
        exists = into.make("cmp", (distance, left), BOOL, span, predicate="lt")
        return into.make("and", (self.has_any(), exists), BOOL, span)

    def _exists(self, number: Value, further: int) -> Value:
        """Whether there is an iteration so much further on than that of a number, if there is that."""
        assert self.count is not None
        into, span = self.into, self.span
        wide = into.make("cast", (number,), self._unsigned, span)
        if further:
            wide = into.make("add", (wide, into.number(further, self._unsigned, span)), self._unsigned, span)
        return into.make("cmp", (wide, self.count), BOOL, span, predicate="lt")

    def _moved(self, counter: Value, distance: Value) -> Value:
        """The counter so far on; it may leave the range of its type where there is no such iteration."""
        return self.into.make("add" if self.plan.step >= 0 else "sub", (counter, distance), self.type, self.span)

    def _is_before(self, a: Value, b: Value) -> Value:
        """Whether the counter comes past one number and then to another, or ends there."""
        return self.into.make("cmp", (a, b), BOOL, self.span, predicate="lt" if self.plan.step >= 0 else "gt")

    def _distance(self, a: Value, b: Value) -> Value:
        """How far the counter goes from one number to another, which may be too much for a signed number."""
        operands = (b, a) if self.plan.step >= 0 else (a, b)
        return self.into.make("sub", operands, self.type, self.span)

    @property
    def _unsigned(self) -> Type:
        return U32 if self.type is I32 else U64

    def _stays(self, bound: int | None, distance: int) -> bool:
        """Whether what is at most, or at least, some number stays in range of the counter's type when it moves on."""
        if bound is None:
            return False
        largest = int(2 ** (dtype_of(self.type).bits - 1) - 1)
        return -largest - 1 <= bound + distance <= largest


__all__ = ["Iterations", "When"]
