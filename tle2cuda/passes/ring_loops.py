"""The rewriting of one pipelined loop (`tle2cuda.passes.pipeliner`): its ring, what fills it, and what reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tle2cuda.analysis.pipelining import Pipelined, Staged
from tle2cuda.ir.constants import is_zero
from tle2cuda.ir.nodes import Op, Value, make_op, walk
from tle2cuda.ir.span import Span
from tle2cuda.ir.types import (
    BOOL,
    I32,
    SHARED,
    BufferType,
    DType,
    PipeType,
    PointerType,
    TileType,
    Type,
    dtype_of,
    shape_of,
    slot_type,
    with_shape,
)
from tle2cuda.passes.ring_addresses import Addresses
from tle2cuda.passes.ring_buffers import ring_of
from tle2cuda.passes.ring_iterations import Iterations, When
from tle2cuda.passes.ring_writer import Writer

_HALF_BITS = 16
_LEFT_REASON = "zeros of iterations that do not exist have landed"


class RingLoop:
    """The rewriting of one loop: as a whole, or the side that fills its ring, or the one that reads it.

    Attributes:
        ahead: By how many iterations stages are filled ahead.
        is_split: Whether another partition fills the ring.
        is_for_products: Whether products name operands where they lie in the ring, instead of loading them.
    """

    def __init__(self, into: Writer, plan: Pipelined, is_for_products: bool = False, is_split: bool = False) -> None:
        self.into = into
        self.plan = plan
        self.loop = plan.loop
        self.span = plan.loop.span
        self.region = plan.loop.regions[0]
        self.induction = self.region.params[0]
        self.type = self.induction.type
        self.iterations = Iterations(into, plan)
        self.addresses = Addresses(into, plan)
        self.is_split = is_split
        self.is_for_products = is_for_products
        self._turned_bases: dict[tuple[Value, tuple[int, ...]], Value] = {}
        self.ahead = plan.stages - 1
        self._stage: Value | None = None  # of the iteration that the loop is in, where it goes from one to the next
        self.turn = into.turns.now(plan)  # stages used by earlier runs of the loop; None where there are none
        self.pipe = into.pipes.get(plan) or ring_of(into, plan, self.is_for_products)

    def rewrite(self) -> None:
        """Write the prologue and the loop."""
        self._main(self.start())

    def start(self) -> tuple[Value, ...]:
        """Fill the first stages; returns what addresses of the iteration behind them depend on."""
        self._turn_pointers()
        return self._prologue(self.start_of_first())

    def read(self) -> None:
        """Write the loop without its copies."""
        self._main(())

    # ---- the ring ----

    def _slots(self) -> tuple[BufferType, ...]:
        type_ = self.pipe.type
        assert isinstance(type_, PipeType)
        return tuple(slot_type(field) for _, field in type_.fields)

    # ---- the prologue ----

    def _prologue(self, start: tuple[Value, ...]) -> tuple[Value, ...]:
        """Fill the first stages; returns the values of the iteration behind them."""
        into, span = self.into, self.span
        if self.ahead == 1:
            first = self._turned_on(into.number(0, I32, span))
            return self._fill(self._place(first, "stage"), self._first, start)
        stage = Value(I32, "stage", span)
        params = self.addresses.ahead(start)

        def body() -> tuple[Value, ...]:
            place = (stage, into.number(0, I32, span))
            if self.turn is not None:
                place = self._place(self._turned_on(stage), "stage")
            return self._fill(place, lambda further: self.iterations.of_first(stage, further), params)

        region = into.inside(body, span, (stage, *params))
        zero, end, one = (into.number(value, I32, span) for value in (0, self.ahead, 1))
        types = tuple(v.type for v in start)
        attrs = {"unroll": self.ahead, "role": "prologue"}
        return into.emit(make_op("for", (zero, end, one, *start), types, attrs, (region,), span)).results

    def start_of_first(self) -> tuple[Value, ...]:
        """What addresses of the first iteration depend on."""
        return self.addresses.of_first(self._first)

    def _first(self, further: int) -> When:
        return self.iterations.of_first(None, further)

    def _turned_on(self, number: Value) -> Value:
        """The number of a stage among all that the ring hands out, from that in this run of the loop."""
        return number if self.turn is None else self.into.make("add", (self.turn, number), I32, self.span)

    def _fill(
        self,
        place: tuple[Value, Value],
        when: Callable[[int], When],
        values: tuple[Value, ...],
        is_guarded: bool = True,
    ) -> tuple[Value, ...]:
        """Copy what an iteration loads into a stage, if there is such an iteration.

        Args:
            place: The stage and its lap.
            when: That iteration, and those behind it, by their distance.
            values: What addresses in it depend on.
            is_guarded: Branch around the copies where there is no such iteration; else they are masked off.

        Returns:
            The values of the next one.
        """
        into, span = self.into, self.span
        iteration, in_range = when(0)
        handle = (self.pipe, *place)
        has_barriers = self.plan.has_barriers  # whose phases count the stages that are filled
        acquire = make_op("pipe_acquire", handle, self._slots(), span=span, names=self._names())
        commit = make_op("pipe_commit", handle, (), span=span)
        if not has_barriers:
            into.emit(acquire)
        before = dict(into.mapping)
        self.addresses.bind(iteration, values)

        def copies() -> tuple[Value, ...]:
            kept = dict(into.mapping)
            self.addresses.write_for([v for staged in self.plan.loads for v in staged.addresses])
            if has_barriers:
                into.emit(acquire)
            for staged, slot in zip(self.plan.loads, acquire.results, strict=True):
                self._copy(staged, slot, None if is_guarded else in_range)
            if has_barriers:
                into.emit(commit)
            into.mapping = kept
            return ()

        if is_guarded:
            arms = (into.inside(copies, span), into.inside(lambda: (), span))
            into.emit(make_op("if", (in_range,), (), {"is_guard": True}, arms, span))
        else:
            copies()
        if not has_barriers:
            into.emit(commit)
        following = self.addresses.following(when, values)
        into.mapping = before
        return following

    def _names(self) -> tuple[str, ...]:
        return tuple(staged.load.result.name for staged in self.plan.loads)

    def _copy(self, staged: Staged, slot: Value, condition: Value | None) -> None:
        into, load = self.into, staged.load
        operands = [into[v] for v in staged.addresses]
        if (note := staged.note) is not None:
            attrs = {**note.attrs, "block": staged.shape, "completion": "blocking"}
            into.copies[into.emit(make_op("tma_load", (*operands, slot), (), attrs, span=load.span))] = load.result
            return
        if condition is not None:
            type_ = TileType(shape_of(load.result.type), BOOL)
            masks = [*operands[1:], into.make("splat", (condition,), type_, load.span)]
            operands[1:] = masks if len(masks) == 1 else [into.make("and", masks, type_, load.span)]
        if staged.is_turned:
            moved = self._turned_pointers(staged.addresses[0], staged.order, load.span)
            operands = [moved, *(self._turned(v, staged.order, load.span) for v in operands[1:])]
        pointers, *masks = operands
        kind: dict[str, object] = {"has_mask": bool(masks), "eviction": load.attrs.get("eviction") or ""}
        if self.plan.has_warpgroups and self.plan.holder is not None:
            kind["keeps_pointers"] = True  # the product is waited for in the turn that copies
        into.emit(make_op("cp_async", (pointers, slot, *masks), (), kind, span=load.span))

    def _turn_pointers(self) -> None:
        """Turn pointers that the loop only moves by scalars in front of it, for its first stages and those behind."""
        inside = {*self.region.params, *(v for op in walk(self.region) for v in op.results)}
        for staged in self.plan.loads:
            base = staged.addresses[0]
            while (step := self._step_by_scalar(base)) is not None:
                base = step[0]
            if staged.is_turned and staged.note is None and base not in inside:
                self._turned_bases[base, staged.order] = self._turned(self.into[base], staged.order, staged.load.span)

    def _step_by_scalar(self, pointers: Value) -> tuple[Value, Op] | None:
        """Of pointers moved by a scalar: those it moves, and the operation that spreads the scalar."""
        op = self.into.definitions.get(pointers)
        made = self.into.definitions.get(op.operands[1]) if op is not None and op.name == "ptr_add" else None
        return (op.operands[0], made) if op is not None and made is not None and made.name == "splat" else None

    def _turned_pointers(self, old: Value, order: tuple[int, ...], span: Span) -> Value:
        """Pointers of the loop as it was, turned and then moved by scalars: turned in front of it, where they are kept."""
        into = self.into
        if (found := self._turned_bases.get((old, order))) is not None:
            return found
        if (step := self._step_by_scalar(old)) is None:
            return self._turned(into[old], order, span)
        turned, made = self._turned_pointers(step[0], order, span), step[1]
        assert isinstance(made.result.type, TileType)
        type_ = TileType(shape_of(turned.type), made.result.type.element)
        offset = into.make("splat", (into[made.operands[0]],), type_, span)
        return into.make("ptr_add", (turned, offset), turned.type, span, turned.name)

    def _turned(self, value: Value, order: tuple[int, ...], span: Span) -> Value:
        type_ = value.type
        assert isinstance(type_, TileType)
        shape = tuple(type_.shape[axis] for axis in order)
        return self.into.make("trans", (value,), TileType(shape, type_.element), span, value.name, perm=order)

    # ---- the loop ----

    def _main(self, filled: tuple[Value, ...]) -> None:
        into, loop, span = self.into, self.loop, self.span
        old = self.region.params
        params = tuple(Value(p.type, p.name, p.span) for p in old)
        further = () if self.is_split else self.addresses.ahead(filled)
        counts = self.counts_iterations()
        counter = params[0] if counts else Value(I32, "iteration" if self.turn is None else "turn", span)
        stages: tuple[Value, ...] = ()
        if self._carries_stage:
            stages = (Value(I32, "stage", span),)
            (self._stage,) = stages
        before = dict(into.mapping)
        for was, now in zip(old, params, strict=True):
            into.bind(was, now)

        def body() -> tuple[Value, ...]:
            number = self.number_of(params[0]) if counts else counter
            following = self._body(number, params[0], further)
            kept = tuple(into[v] for v in self.region.terminator.operands)
            moved = tuple(self._moved_on(stage, 1) for stage in stages)
            return (*kept, *following, *moved, *(() if counts else (self._next(counter),)))

        extra = (*stages, *(() if counts else (counter,)))
        region = into.inside(body, span, (*params, *further, *extra))
        self._stage = None
        into.mapping = before
        starts = (
            *(into.number(0, I32, span) for _ in stages),
            *(() if counts else (self.turn or into.number(0, I32, span),)),
        )
        operands = (*(into[v] for v in loop.operands), *filled, *starts)
        results = (*loop.results, *(Value(v.type, "", span) for v in (*further, *extra)))
        attrs = {name: value for name, value in loop.attrs.items() if name != "num_stages"}
        attrs["is_pipelined"] = True
        into.emit(replace(loop, operands=operands, results=results, attrs=MappingProxyType(attrs), regions=(region,)))
        if self.plan.has_barriers:
            self._behind(None if counts else results[-1])
        self.settle()

    @property
    def _carries_stage(self) -> bool:
        """Whether the stage goes from one iteration to the next, instead of following from the number of each.

        That takes a division, which delays a product that is waited for in the iteration that issues it. One that is in
        flight longer hides it, and powers of two need none. Products by `wgmma` of 8 bits lose by it (4 % on an H200).
        """
        plan = self.plan
        is_power_of_two = plan.capacity & (plan.capacity - 1) == 0
        is_narrow = any(dtype_of(staged.load.result.type).bits < _HALF_BITS for staged in plan.loads)
        return plan.holder is not None and not (plan.has_barriers or is_power_of_two or (plan.has_warpgroups and is_narrow))

    def wait(self, number: Value) -> tuple[tuple[Value, Value], dict[Op, tuple[Staged, Value]]]:
        """Wait for a stage; returns its place, and its slot for each load."""
        place = self._place(number, "stage")
        if self._stage is not None:
            place = self._stage, place[1]
        types: tuple[Type, ...] = (BOOL, *self._slots())
        names = ("is_closed", *self._names())
        waited = self.into.emit(make_op("pipe_wait", (self.pipe, *place), types, {}, (), self.span, names))
        loads = self.plan.loads
        return place, {staged.load: (staged, slot) for staged, slot in zip(loads, waited.results[1:], strict=True)}

    def refill(self, number: Value, induction: Value, further: tuple[Value, ...]) -> tuple[Value, ...]:
        """Make the copies that are as far ahead of an iteration as the ring is long."""
        free = self._place_ahead(number)
        is_guarded = not self.plan.has_warpgroups or self.plan.has_barriers
        return self._fill(free, self._later(induction, number, self.ahead), further, is_guarded)

    def fill(self, number: Value, induction: Value, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """Make the copies of an iteration that there is, in a partition that does nothing else."""
        return self._fill(self._place(number, "stage"), self._later(induction, number, 0), values, is_guarded=False)

    def settle(self) -> None:
        """Behind the loop: copies that are masked off write zeros."""
        if self.plan.has_warpgroups and not self.plan.has_barriers:
            attrs = {"pending": 0, "reason": _LEFT_REASON}
            self.into.emit(make_op("cp_async_wait", (), (), attrs, (), self.span))

    def _body(self, number: Value, induction: Value, further: tuple[Value, ...]) -> tuple[Value, ...]:
        """An iteration; returns the values that addresses of the next one depend on.

        The copies for a later one stand in front of what the loop does, or where they may be made: behind the product that
        issues them, or the one that is in flight while they are.
        """
        into, plan = self.into, self.plan
        (stage, lap), slots = self.wait(number)
        following: tuple[Value, ...] = ()
        if not self.is_split:
            later = self._later(induction, number, self.ahead)
            free = self._place_ahead(number)
        is_late = plan.holder is not None or plan.is_filled_behind or (plan.has_barriers and plan.overlapped is not None)
        if not is_late and not self.is_split:
            following = self._fill(free, later, further, not plan.has_warpgroups or plan.has_barriers)
        for op in self.region.body:
            if op in slots:
                self.read_from(*slots[op])
            elif op is plan.overlapped:
                self._product(op, "may_overlap")
                if plan.has_barriers:
                    self._release_before(number, induction)
                if is_late and not self.is_split:
                    following = self._fill(free, later, further, plan.has_barriers)
            elif op is plan.holder:
                self._product(op, "holds_copies")
                following = self._fill(free, later, further, not plan.has_warpgroups)
            else:
                into.visit(op)
        if not plan.has_barriers or plan.overlapped is None:
            self.release(stage, lap)
        return following

    def _product(self, op: Op, flag: str) -> None:
        into = self.into
        attrs = MappingProxyType({**op.attrs, flag: True})
        into.emit(replace(op, operands=tuple(into[v] for v in op.operands), attrs=attrs))

    def release(self, stage: Value, lap: Value) -> None:
        """Say that a stage is free."""
        self.into.emit(make_op("pipe_release", (self.pipe, stage, lap), (), span=self.span))

    # ---- products in flight ----

    def issue(self, product: Op, left: tuple[Value, bool], sums: Value, slots: Mapping[Op, tuple[Staged, Value]]) -> Value:
        """A product that stays in flight.

        Args:
            product: The product.
            left: Its left operand, and whether that lies transposed.
            sums: What it adds to.
            slots: Stages of the ring by load, one of which is its right operand.
        """
        right, is_turned = self._stage_of(product.operands[1], slots)
        attrs = {
            "trans_a": left[1],
            "trans_b": is_turned,
            "input_precision": product.attrs["input_precision"],
            "max_num_imprecise_acc": None,
        }
        names = (product.result.name,)
        operands = (left[0], right, sums)
        return self.into.emit(make_op("wgmma", operands, (sums.type,), attrs, (), product.span, names)).result

    def _stage_of(self, operand: Value, slots: Mapping[Op, tuple[Staged, Value]]) -> tuple[Value, bool]:
        """The stage that an operand is loaded from, and whether that holds it transposed."""
        op = self.into.definitions[operand]
        is_turned = False
        while op.name == "trans":
            is_turned = not is_turned
            op = self.into.definitions[op.operands[0]]
        staged, slot = slots[op]
        return slot, is_turned != staged.is_turned

    def awaited(self, product: Value, pending: int) -> Value:
        """The product, when so many are in flight at most."""
        return self.into.make("wgmma_wait", (product,), product.type, self.span, product.name, pending=pending)

    def _release_before(self, number: Value, induction: Value) -> None:
        """Release the stage of the iteration before this one, whose product is complete."""
        self._release_last(number, self.iterations.is_behind_first(induction))

    def _release_last(self, number: Value, condition: Value) -> None:
        into, span = self.into, self.span

        def release() -> tuple[Value, ...]:
            before = into.make("sub", (number, into.number(1, I32, span)), I32, span)
            self.release(*self._place(before, "done_stage"))
            return ()

        arms = (into.inside(release, span), into.inside(lambda: (), span))
        into.emit(make_op("if", (condition,), (), {}, arms, span))

    def _behind(self, count: Value | None) -> None:
        """Behind the loop: release what its last product read, and go on from its count of stages."""
        into = self.into
        if count is not None and self.turn is not None:
            into.turns.set(self.plan, count)
        if self.plan.overlapped is not None and count is not None:
            self._release_last(count, self.iterations.has_any())

    def counts_iterations(self) -> bool:
        """Whether the loop's counter tells the number of the iteration: it starts at 0, and so does the ring."""
        if self.turn is not None or (self.plan.has_barriers and self.plan.overlapped is not None) or self.plan.step <= 0:
            return False
        made = self.into.definitions.get(self.loop.operands[0])
        return made is not None and made.name == "constant" and made.attrs["value"] == 0

    def number_of(self, induction: Value) -> Value:
        """The number of the iteration, from a counter that starts at 0."""
        into, span = self.into, self.span
        number = induction
        if self.plan.step != 1:
            number = into.make("idiv", (number, self.iterations.step), self.type, span)
        return number if self.type is I32 else into.make("cast", (number,), I32, span)

    def _next(self, counter: Value) -> Value:
        return self.into.make("add", (counter, self.into.number(1, I32, self.span)), I32, self.span)

    def _place(self, number: Value, name: str) -> tuple[Value, Value]:
        """Stage and lap of an iteration."""
        into, span = self.into, self.span
        stages = into.number(self.plan.capacity, I32, span)
        stage = into.make("rem", (number, stages), I32, span, name)
        return stage, into.make("idiv", (number, stages), I32, span, "lap")

    def _place_ahead(self, number: Value) -> tuple[Value, Value]:
        """Stage and lap of the iteration whose copies stand in the one that the loop is in."""
        into, span = self.into, self.span
        ahead = into.make("add", (number, into.number(self.ahead, I32, span)), I32, span)
        stage, lap = self._place(ahead, "free_stage")
        return (stage if self._stage is None else self._moved_on(self._stage, self.ahead, "free_stage")), lap

    def _moved_on(self, stage: Value, distance: int, name: str = "") -> Value:
        """The stage so many behind another one, fewer than there are."""
        into, span, capacity = self.into, self.span, self.plan.capacity
        zero, last, stages, count = (into.number(v, I32, span) for v in (0, capacity - 1, capacity, distance))
        if distance == capacity - 1 > 1:
            is_first = into.make("cmp", (stage, zero), BOOL, span, predicate="eq")
            before = into.make("sub", (stage, into.number(1, I32, span)), I32, span)
            return into.make("select", (is_first, last, before), I32, span, name)
        moved = into.make("add", (stage, count), I32, span)
        is_over = into.make("cmp", (moved, stages), BOOL, span, predicate="eq" if distance == 1 else "ge")
        start = zero if distance == 1 else into.make("sub", (moved, stages), I32, span)
        return into.make("select", (is_over, start, moved), I32, span, name)

    def _later(self, induction: Value, number: Value, ahead: int) -> Callable[[int], When]:
        """The iteration so far ahead of the one that the loop is in, and those behind it."""
        if self.turn is not None and self.iterations.count is not None:  # numbers of this run of the loop alone
            number = self.into.make("sub", (number, self.turn), I32, self.span)
        nearest = self.iterations.later(induction, number, ahead) if ahead else (induction, induction)
        return lambda further: self.iterations.later(induction, number, ahead + further) if further else nearest

    def read_from(self, staged: Staged, slot: Value) -> None:
        """What the loop loaded is now read from the ring."""
        into, load = self.into, staged.load
        type_ = load.result.type
        assert isinstance(type_, TileType) and isinstance(type_.element, DType)
        pointers = with_shape(PointerType(type_.element, SHARED), staged.shape)
        place = into.make("local_ptr", (slot,), pointers, load.span)
        tile = TileType(staged.shape, type_.element)
        value = into.make("load", (place,), tile, load.span, load.result.name, has_mask=False, has_other=False)
        if staged.is_turned:
            back = tuple(staged.order.index(axis) for axis in range(len(staged.order)))
            value = into.make(
                "trans", (value,), TileType(type_.shape, type_.element), load.span, load.result.name, perm=back
            )
        if staged.note is None and load.attrs.get("has_other") and not is_zero(into.definitions, load.operands[2]):
            mask, other = (into[v] for v in load.operands[1:3])
            value = into.make("select", (mask, value, other), type_, load.span, load.result.name)
        into.bind(load.result, value)


def fill_rings(into: Writer, plan: Pipelined, rings: Sequence[RingLoop]) -> None:
    """Write the copies of a loop into its rings, and nothing else."""
    loop, span, first = plan.loop, plan.loop.span, rings[0]
    starts = [ring.start_of_first() for ring in rings]
    induction = Value(first.type, first.induction.name, span)
    params = [ring.addresses.ahead(start) for ring, start in zip(rings, starts, strict=True)]
    counts = first.counts_iterations()
    counter = induction if counts else Value(I32, "turn", span)

    def body() -> tuple[Value, ...]:
        number = first.number_of(induction) if counts else counter
        following: list[Value] = []
        for ring, values in zip(rings, params, strict=True):
            following += ring.fill(number, induction, values)
        return (*following, *(() if counts else (into.make("add", (counter, into.number(1, I32, span)), I32, span),)))

    extra = () if counts else (counter,)
    region = into.inside(body, span, (induction, *(v for values in params for v in values), *extra))
    begin = () if counts else (first.turn or into.number(0, I32, span),)
    bounds = (into[v] for v in loop.operands[:3])
    operands = (*bounds, *(v for start in starts for v in start), *begin)
    types = tuple(v.type for v in operands[3:])
    new = into.emit(make_op("for", operands, types, {"is_pipelined": True}, (region,), span))
    place = 0
    for ring, start in zip(rings, starts, strict=True):
        for number, result in zip(ring.plan.carried, new.results[place:], strict=False):
            into.bind(loop.results[number], result)
        place += len(start)
    if first.turn is not None:
        into.turns.set(plan, new.results[-1])


__all__ = ["RingLoop", "fill_rings"]
