"""Pipelined loops of two chained products (`tle2cuda.analysis.chained_products`), written one product out of step.

    if there is an iteration:
        first product and all that follows from it, of the first iteration
        for the other iterations:
            issue the first product of this iteration
            issue the second one of the iteration before, and copies for later ones
            wait for the first one; what follows from it, while the second is in flight
            wait for the second one
        the second product of the last iteration

What only the second product reads has a ring of its own, whose stages are used an iteration later.
"""

from __future__ import annotations

from dataclasses import replace

from tle2cuda.analysis.chained_products import Chained
from tle2cuda.analysis.pipelining import Pipelined, Staged
from tle2cuda.ir.nodes import Op, Value, make_op
from tle2cuda.ir.types import I32, SHARED, BufferType, DType, PointerType, TileType, Type, with_shape
from tle2cuda.passes.ring_iterations import Iterations
from tle2cuda.passes.ring_loops import RingLoop
from tle2cuda.passes.ring_writer import Writer

Place = tuple[Value, Value]


class RotatedLoop:
    """The rewriting of one such loop."""

    def __init__(self, into: Writer, plan: Pipelined, chained: Chained, is_split: bool = False) -> None:
        self.into = into
        self.plan = plan
        self.chained = chained
        self.loop = plan.loop
        self.span = plan.loop.span
        self.region = plan.loop.regions[0]
        self.is_split = is_split  # another partition fills the rings
        self.turn = into.turns.now(plan)  # stages used by earlier runs of the loop
        self.moved = {*chained.behind, *chained.rounding, chained.second}

    def rewrite(self) -> None:
        """Write the loop; where it has no iterations, nothing is done."""
        into, loop, span = self.into, self.loop, self.span
        starts = tuple(into[v] for v in loop.operands[3:])
        has_any = Iterations(into, self.plan).has_any()
        before = dict(into.mapping)
        counts = (self.turn,) if self.turn is not None else ()
        arms = (into.inside(self._iterations, span), into.inside(lambda: (*starts, *counts), span))
        into.mapping = before
        used = tuple(Value(I32, "stages_used", span) for _ in counts)
        into.emit(replace(make_op("if", (has_any,), (), {}, arms, span), results=(*loop.results, *used)))
        if used:
            into.turns.set(self.plan, used[0])

    # ---- the arm with iterations ----

    def _iterations(self) -> tuple[Value, ...]:
        into, plan, span = self.into, self.plan, self.span
        late = tuple(s for s in plan.loads if s.load is self.chained.loaded)
        soon = tuple(s for s in plan.loads if s.load is not self.chained.loaded)
        halves = (replace(plan, loads=soon, holder=None), replace(plan, loads=late, holder=None))
        into.halves[plan] = halves
        first, second = (RingLoop(into, each, is_for_products=True, is_split=self.is_split) for each in halves)
        first.turn = second.turn = self.turn
        query = self._in_shared(self.chained.first.operands[0])
        ahead = [() if self.is_split else each.start() for each in (first, second)]
        zero = into.number(0, I32, span) if self.turn is None else self.turn
        one = into.make("add", (zero, into.number(1, I32, span)), I32, span)
        for old, start in zip(self.region.params[1:], self.loop.operands[3:], strict=True):
            into.bind(old, into[start])
        into.bind(self.region.params[0], first.iterations.lower)
        following = self._first_half(first, (query, zero), ahead[0])
        state = self._state()
        last = self._loop((first, second), (query, one), (state, following, ahead[1]))
        return self._end(second, last)

    def _state(self) -> tuple[Value, ...]:
        """What goes on to the next iteration: carried values, sums as the second product takes them, and its weights."""
        into, chained = self.into, self.chained
        for op in (*chained.behind, *chained.rounding):
            self._again(op)
        carried = [into[v] for v in self.region.terminator.operands]
        carried[chained.sums] = into[chained.second.operands[2]]
        return (*carried, into[chained.second.operands[0]])

    def _loop(
        self, rings: tuple[RingLoop, RingLoop], query: tuple[Value, Value], given: tuple[tuple[Value, ...], ...]
    ) -> tuple[Value, ...]:
        """The other iterations; returns the state behind them, and how many iterations there were."""
        into, span, (first, second) = self.into, self.span, rings
        count = first.iterations
        state, early, late = given
        induction = Value(first.type, self.region.params[0].name, span)
        names = (*(p.name for p in self.region.params[1:]), "weights")
        params = tuple(Value(v.type, name, span) for v, name in zip(state, names, strict=True))
        further = ((), ()) if self.is_split else (first.addresses.ahead(early), second.addresses.ahead(late))
        number = Value(I32, "iteration", span)

        def body() -> tuple[Value, ...]:
            for old, new in zip(self.region.params[1:], params, strict=False):
                into.bind(old, new)
            into.bind(self.region.params[0], induction)
            one = into.number(1, I32, span)
            before = into.make("sub", (number, one), I32, span)
            earlier = into.make("sub", (induction, count.step), first.type, span)
            place, slots = first.wait(number)
            late = None if self.is_split else second.wait(before)  # waits of threads that fill rings are barriers, too
            scores = first.issue(self.chained.first, (query[0], False), self._zeros(), slots)
            place_2, slots_2 = late or second.wait(before)
            sums = params[self.chained.sums]
            product = second.issue(self.chained.second, (params[-1], False), sums, slots_2)
            following: tuple[Value, ...] = ()
            if not self.is_split:
                following = (*first.refill(number, induction, further[0]), *second.refill(before, earlier, further[1]))
            into.bind(self.chained.first.result, first.awaited(scores, 1))
            first.release(*place)
            self._rest(first, slots)
            into.bind(self.region.params[1 + self.chained.sums], first.awaited(product, 0))
            second.release(*place_2)
            return (*self._state(), *following, into.make("add", (number, one), I32, span))

        region = into.inside(body, span, (induction, *params, *further[0], *further[1], number))
        lower = into.make("add", (count.lower, count.step), first.type, span)
        operands = (lower, count.upper, count.step, *state, *early, *late, query[1])
        attrs = {name: value for name, value in self.loop.attrs.items() if name != "num_stages"}
        attrs["is_pipelined"] = True
        new = into.emit(make_op("for", operands, tuple(v.type for v in operands[3:]), attrs, (region,), span))
        return (*new.results[: len(state)], new.results[-1])

    def _end(self, second: RingLoop, last: tuple[Value, ...]) -> tuple[Value, ...]:
        """The second product of the last iteration."""
        into, chained, span = self.into, self.chained, self.span
        *carried, weights, number = last
        place, slots = second.wait(into.make("sub", (number, into.number(1, I32, span)), I32, span))
        for staged, slot in slots.values():
            second.read_from(staged, slot)
        right = chained.second.operands[1]
        self._turned(right)
        operands = (weights, into[right], carried[chained.sums])
        product = into.emit(replace(chained.second, operands=operands, results=(self._copy_of(chained.second.result),)))
        second.release(*place)
        second.settle()
        carried[chained.sums] = product.result
        return (*carried, number) if self.turn is not None else tuple(carried)

    # ---- parts of an iteration ----

    def _first_half(self, ring: RingLoop, query: tuple[Value, Value], ahead: tuple[Value, ...]) -> tuple[Value, ...]:
        """The first product and what follows from it, in step; returns what addresses further on depend on."""
        place, slots = ring.wait(query[1])
        scores = ring.issue(self.chained.first, (query[0], False), self._zeros(), slots)
        following = () if self.is_split else ring.refill(query[1], ring.iterations.lower, ahead)
        self.into.bind(self.chained.first.result, ring.awaited(scores, 0))
        self._rest(ring, slots)
        ring.release(*place)
        return following

    def _rest(self, ring: RingLoop, slots: dict[Op, tuple[Staged, Value]]) -> None:
        """What follows from the first product, and what it did not need; loads are read from the ring."""
        skipped = {self.chained.first, *self.moved}
        for op in self.region.body:
            if op in slots:
                ring.read_from(*slots[op])
            elif op not in skipped and op is not self.chained.loaded:
                self._again(op)

    def _again(self, op: Op) -> None:
        """An operation of the body once more."""
        operands = tuple(self.into[v] for v in op.operands)
        results = tuple(map(self._copy_of, op.results))
        self.into.emit(replace(op, operands=operands, results=results))
        for old, new in zip(op.results, results, strict=True):
            self.into.bind(old, new)

    @staticmethod
    def _copy_of(value: Value) -> Value:
        return Value(value.type, value.name, value.span)

    def _turned(self, value: Value) -> None:
        """Write the transpositions of a load that an operand is."""
        op = self.into.definitions[value]
        if op.name == "trans":
            self._turned(op.operands[0])
            self._again(op)

    # ---- products in flight ----

    def _zeros(self) -> Value:
        return self.into[self.chained.first.operands[2]]

    def _in_shared(self, tile: Value) -> Value:
        """A buffer with a tile that all iterations multiply by."""
        into, type_ = self.into, tile.type
        assert isinstance(type_, TileType) and isinstance(type_.element, DType)
        name = f"{tile.name or 'a'}_tile"
        buffer = BufferType(type_.shape, type_.element, "mma")
        attrs = {"name": name, "scratch": True, "is_kept": True, "alignment_bytes": 1024}
        alloc = make_op("alloc", (), (buffer,), attrs, (), tile.span, (name,))
        into.rings.append(alloc)
        pointers: Type = with_shape(PointerType(type_.element, SHARED), type_.shape)
        place = into.make("local_ptr", (alloc.result,), pointers, tile.span)
        into.emit(make_op("store", (place, into[tile]), (), {"has_mask": False}, span=tile.span))
        return alloc.result


__all__ = ["RotatedLoop"]
