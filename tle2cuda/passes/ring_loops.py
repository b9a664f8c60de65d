"""The rewriting of one pipelined loop (`tle2cuda.passes.pipeliner`): its ring, what fills it, and what reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tle2cuda.analysis.pipelining import Pipelined, Staged
from tle2cuda.ir.constants import is_zero
from tle2cuda.ir.nodes import Op, Value, make_op
from tle2cuda.ir.span import Span
from tle2cuda.ir.types import (
    BOOL,
    I32,
    SHARED,
    U32,
    U64,
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
from tle2cuda.passes.ring_buffers import ring_of
from tle2cuda.passes.ring_writer import Writer

_FEWEST_FOR_EARLY = 4  # stages, of which two are in use
_LEFT_REASON = "zeros of iterations that do not exist have landed"


class RingLoop:
    """The rewriting of one loop: as a whole, or the side that fills its ring, or the one that reads it.

    Attributes:
        ahead: By how many iterations stages are filled ahead.
        is_split: Whether another partition fills the ring.
        is_early: Whether stages are filled while two products are in flight, the one just issued and the one before: nobody
            waits then for a stage to be free.
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
        self.lower, self.upper, self.step = (into[v] for v in plan.loop.operands[:3])
        self.is_split = is_split
        self.is_early = plan.is_issued_alone and plan.capacity >= _FEWEST_FOR_EARLY and not is_split
        self.is_for_products = is_for_products or self.is_early
        self.ahead = plan.stages - (2 if self.is_early else 1)
        self.turn = into.turns.now(plan)  # stages used by earlier runs of the loop; None where there are none
        self.pipe = into.pipes.get(plan) or ring_of(into, plan, self.is_for_products)

    def rewrite(self) -> None:
        """Write the prologue and the loop."""
        self._main(self.start())

    def start(self) -> tuple[Value, ...]:
        """Fill the first stages; returns what addresses of the iteration behind them depend on."""
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
        """Fill the first stages; returns the carried values of the iteration behind them."""
        into, span = self.into, self.span
        if self.ahead == 1:
            first = self._turned_on(into.number(0, I32, span))
            when = (self.lower, self._starts(self.lower))
            return self._fill(self._place(first, "stage"), when, lambda: self._after(self.lower), start)
        stage = Value(I32, "stage", span)
        params = self.ahead_of(start)

        def body() -> tuple[Value, ...]:
            iteration = self._iteration_of(stage)
            place = (stage, into.number(0, I32, span))
            if self.turn is not None:
                place = self._place(self._turned_on(stage), "stage")
            return self._fill(place, (iteration, self._starts(iteration)), lambda: self._after(iteration), params)

        region = into.inside(body, span, (stage, *params))
        zero, end, one = (into.number(value, I32, span) for value in (0, self.ahead, 1))
        types = tuple(v.type for v in start)
        attrs = {"unroll": self.ahead, "role": "prologue"}
        return into.emit(make_op("for", (zero, end, one, *start), types, attrs, (region,), span)).results

    def start_of_first(self) -> tuple[Value, ...]:
        """What addresses of the first iteration depend on: carried values, and indices, which are loaded now."""
        carried = tuple(self.into[self.loop.operands[3 + number]] for number in self.plan.carried)
        return (*carried, *self._indices((self.lower, self._starts(self.lower)), carried))

    def ahead_of(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """Parameters for such values, of iterations ahead of the loop."""
        carried = (self.region.params[1 + number] for number in self.plan.carried)
        names = [each.name for each in (*carried, *(load.result for load in self.plan.indices))]
        names = [f"{name}_ahead" if name else "ahead" for name in names]
        return tuple(Value(v.type, name, self.span) for v, name in zip(values, names, strict=True))

    def _bind(self, iteration: Value, values: tuple[Value, ...]) -> None:
        """Make operations of the body those of an iteration, given what addresses depend on in it."""
        into, count = self.into, len(self.plan.carried)
        into.bind(self.induction, iteration)
        for number, value in zip(self.plan.carried, values[:count], strict=True):
            into.bind(self.region.params[1 + number], value)
        for load, value in zip(self.plan.indices, values[count:], strict=False):
            into.bind(load.result, value)

    def _indices(self, when: tuple[Value, Value], carried: tuple[Value, ...]) -> tuple[Value, ...]:
        """Load the indices of an iteration, if there is such an iteration."""
        if not self.plan.indices:
            return ()
        into = self.into
        before = dict(into.mapping)
        self._bind(when[0], carried)
        self._clone(self._needed([v for load in self.plan.indices for v in load.operands]))
        found = tuple(self._index(load, when[1]) for load in self.plan.indices)
        into.mapping = before
        return found

    def _index(self, load: Op, exists: Value) -> Value:
        into = self.into
        pointer, *others = (into[v] for v in load.operands)
        mask, shape = exists, shape_of(load.result.type)
        if shape:
            mask = into.make("splat", (exists,), TileType(shape, BOOL), load.span)
        if load.attrs.get("has_mask"):
            mask = into.make("and", (others.pop(0), mask), mask.type, load.span)
        attrs = {**load.attrs, "has_mask": True}
        return into.make("load", (pointer, mask, *others), load.result.type, load.span, load.result.name, **attrs)

    def _iteration_of(self, stage: Value) -> Value:
        """The loop's counter in the iteration whose number is `stage`."""
        into, span = self.into, self.span
        number = stage if self.type is I32 else into.make("cast", (stage,), self.type, span)
        scaled = into.make("mul", (number, self.step), self.type, span)
        return into.make("add", (self.lower, scaled), self.type, span)

    def _after(self, iteration: Value) -> tuple[Value, Value]:
        """The iteration behind one of the first few, and whether it exists."""
        following = self.into.make("add", (iteration, self.step), self.type, self.span)
        return following, self._starts(following)

    def _starts(self, iteration: Value) -> Value:
        """Whether there is an iteration of the first few."""
        into, span = self.into, self.span
        first = self.plan.bounds[0].hi
        most = (self.ahead + bool(self.plan.indices)) * self.plan.step
        if first is not None and first + most <= _largest(self.type):
            return into.make("cmp", (iteration, self.upper), BOOL, span, predicate="lt")
        # The sum with the first value of the counter may have left the range of its type.
        moved = into.make("sub", (iteration, self.lower), self.type, span)
        left = into.make("sub", (self.upper, self.lower), self.type, span)
        has_any = into.make("cmp", (self.lower, self.upper), BOOL, span, predicate="lt")
        unsigned = U32 if self.type is I32 else U64
        wide = [into.make("cast", (v,), unsigned, span) for v in (moved, left)]
        return into.make("and", (has_any, into.make("cmp", wide, BOOL, span, predicate="lt")), BOOL, span)

    def _turned_on(self, number: Value) -> Value:
        """The number of a stage among all that the ring hands out, from that in this run of the loop."""
        return number if self.turn is None else self.into.make("add", (self.turn, number), I32, self.span)

    def _fill(
        self,
        place: tuple[Value, Value],
        when: tuple[Value, Value],
        after: Callable[[], tuple[Value, Value]],
        carried: tuple[Value, ...],
        is_guarded: bool = True,
    ) -> tuple[Value, ...]:
        """Copy what an iteration loads into a stage, if there is such an iteration.

        Args:
            place: The stage and its lap.
            when: The loop's counter in that iteration, and whether it exists.
            after: The same of the iteration behind it.
            carried: The values that iteration gets of those that addresses depend on.
            is_guarded: Branch around the copies where there is no such iteration; else they are masked off.

        Returns:
            The values that the next one gets.
        """
        into, span = self.into, self.span
        iteration, in_range = when
        handle = (self.pipe, *place)
        has_barriers = self.plan.has_barriers  # whose phases count the stages that are filled
        acquire = make_op("pipe_acquire", handle, self._slots(), span=span, names=self._names())
        commit = make_op("pipe_commit", handle, (), span=span)
        if not has_barriers:
            into.emit(acquire)
        before = dict(into.mapping)
        self._bind(iteration, carried)

        def copies() -> tuple[Value, ...]:
            kept = dict(into.mapping)
            self._clone(self._needed([v for staged in self.plan.loads for v in staged.addresses]))
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
        following = [self.region.terminator.operands[number] for number in self.plan.carried]
        self._clone(self._needed(following))
        result = tuple(into[v] for v in following)
        into.mapping = before
        return (*result, *(self._indices(after(), result) if self.plan.indices else ()))

    def _names(self) -> tuple[str, ...]:
        return tuple(staged.load.result.name for staged in self.plan.loads)

    def _needed(self, values: Sequence[Value]) -> set[Op]:
        """The operations of the slice from which values follow."""
        found: set[Op] = set()
        todo = list(values)
        while todo:
            op = self.into.definitions.get(todo.pop())
            if op is not None and op in self.plan.slice and op not in found:
                found.add(op)
                todo += op.operands
        return found

    def _clone(self, ops: set[Op]) -> None:
        """Write operations of the body again, for other values of what changes in the loop."""
        into = self.into
        for op in self.region.body:
            if op in ops:
                operands = tuple(into[v] for v in op.operands)
                types = tuple(r.type for r in op.results)
                copy = make_op(op.name, operands, types, op.attrs, (), op.span, tuple(r.name for r in op.results))
                into.emit(copy)
                for old, new in zip(op.results, copy.results, strict=True):
                    into.bind(old, new)

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
            operands = [self._turned(v, staged.order, load.span) for v in operands]
        pointers, *masks = operands
        attrs = {"has_mask": bool(masks), "eviction": load.attrs.get("eviction") or ""}
        into.emit(make_op("cp_async", (pointers, slot, *masks), (), attrs, span=load.span))

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
        further = () if self.is_split else self.ahead_of(filled)
        counts = self.counts_iterations()
        counter = params[0] if counts else Value(I32, "iteration" if self.turn is None else "turn", span)
        before = dict(into.mapping)
        for was, now in zip(old, params, strict=True):
            into.bind(was, now)

        def body() -> tuple[Value, ...]:
            number = self.number_of(params[0]) if counts else counter
            following = self._body(number, params[0], further)
            kept = tuple(into[v] for v in self.region.terminator.operands)
            return (*kept, *following, *(() if counts else (self._next(counter),)))

        extra = () if counts else (counter,)
        region = into.inside(body, span, (*params, *further, *extra))
        into.mapping = before
        starts = () if counts else (self.turn or into.number(0, I32, span),)
        operands = (*(into[v] for v in loop.operands), *filled, *starts)
        results = (*loop.results, *(Value(v.type, "", span) for v in (*further, *extra)))
        attrs = {name: value for name, value in loop.attrs.items() if name != "num_stages"}
        attrs["is_pipelined"] = True
        into.emit(replace(loop, operands=operands, results=results, attrs=MappingProxyType(attrs), regions=(region,)))
        if self.plan.has_barriers:
            self._behind(None if counts else results[-1])
        self.settle()

    def wait(self, number: Value) -> tuple[tuple[Value, Value], dict[Op, tuple[Staged, Value]]]:
        """Wait for a stage; returns its place, and its slot for each load."""
        place = self._place(number, "stage")
        types: tuple[Type, ...] = (BOOL, *self._slots())
        names = ("is_closed", *self._names())
        waited = self.into.emit(make_op("pipe_wait", (self.pipe, *place), types, {}, (), self.span, names))
        loads = self.plan.loads
        return place, {staged.load: (staged, slot) for staged, slot in zip(loads, waited.results[1:], strict=True)}

    def refill(self, number: Value, induction: Value, further: tuple[Value, ...]) -> tuple[Value, ...]:
        """Make the copies that are as far ahead of an iteration as the ring is long."""
        into, span = self.into, self.span
        ahead = into.make("add", (number, into.number(self.ahead, I32, span)), I32, span)
        free = self._place(ahead, "free_stage")
        later = self._later(induction, self.ahead)
        is_guarded = not self.plan.has_warpgroups or self.plan.has_barriers
        return self._fill(free, later, lambda: self._later(induction, self.ahead + 1), further, is_guarded)

    def fill(self, number: Value, induction: Value, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """Make the copies of an iteration that there is, in a partition that does nothing else."""
        when = (induction, induction)
        return self._fill(self._place(number, "stage"), when, lambda: self._later(induction, 1), values, is_guarded=False)

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
        into, span, plan = self.into, self.span, self.plan
        (stage, lap), slots = self.wait(number)
        following: tuple[Value, ...] = ()

        def after() -> tuple[Value, Value]:
            return self._later(induction, self.ahead + 1)

        if not self.is_split:
            later = self._later(induction, self.ahead)
            ahead = into.make("add", (number, into.number(self.ahead, I32, span)), I32, span)
            free = self._place(ahead, "free_stage")
        is_late = plan.holder is not None or plan.is_filled_behind or (plan.has_barriers and plan.overlapped is not None)
        if not is_late and not self.is_split:
            following = self._fill(free, later, after, further, not plan.has_warpgroups or plan.has_barriers)
        for op in self.region.body:
            if op in slots:
                self.read_from(*slots[op])
            elif op is plan.overlapped and self.is_early:
                product = self.issue(op, self._stage_of(op.operands[0], slots), into[op.operands[2]], slots)
                following = self._fill(free, later, after, further)
                into.bind(op.result, self.awaited(product, 1))
                self._release_before(number, induction)
            elif op is plan.overlapped:
                self._product(op, "may_overlap")
                if plan.has_barriers:
                    self._release_before(number, induction)
                if is_late and not self.is_split:
                    following = self._fill(free, later, after, further, plan.has_barriers)
            elif op is plan.holder:
                self._product(op, "holds_copies")
                following = self._fill(free, later, after, further, not plan.has_warpgroups)
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
        into, span = self.into, self.span
        later = into.make("cmp", (induction, self.lower), BOOL, span, predicate="gt")
        self._release_last(number, later)

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
        into, span = self.into, self.span
        if count is not None and self.turn is not None:
            into.turns.set(self.plan, count)
        if self.is_early:
            assert self.plan.overlapped is not None
            result = self.loop.results[self.region.terminator.operands.index(self.plan.overlapped.result)]
            into.bind(result, self.awaited(result, 0))
        if self.plan.overlapped is not None and count is not None:
            self._release_last(count, into.make("cmp", (self.lower, self.upper), BOOL, span, predicate="lt"))

    def counts_iterations(self) -> bool:
        """Whether the loop's counter tells the number of the iteration: it starts at 0, and so does the ring."""
        if self.turn is not None or (self.plan.has_barriers and self.plan.overlapped is not None):
            return False
        made = self.into.definitions.get(self.loop.operands[0])
        return made is not None and made.name == "constant" and made.attrs["value"] == 0

    def number_of(self, induction: Value) -> Value:
        """The number of the iteration, from a counter that starts at 0."""
        into, span = self.into, self.span
        number = induction
        if self.plan.step != 1:
            number = into.make("idiv", (number, self.step), self.type, span)
        return number if self.type is I32 else into.make("cast", (number,), I32, span)

    def _next(self, counter: Value) -> Value:
        return self.into.make("add", (counter, self.into.number(1, I32, self.span)), I32, self.span)

    def _place(self, number: Value, name: str) -> tuple[Value, Value]:
        """Stage and lap of an iteration."""
        into, span = self.into, self.span
        stages = into.number(self.plan.capacity, I32, span)
        stage = into.make("rem", (number, stages), I32, span, name)
        return stage, into.make("idiv", (number, stages), I32, span, "lap")

    def _later(self, induction: Value, count: int) -> tuple[Value, Value]:
        """The counter so many iterations on, and whether there is such an iteration.

        Where there is none, the sum may leave the range of its type. What is left to do is 1 or more inside of the loop; it
        may be too much for a signed number where the counter starts below 0.
        """
        into, span = self.into, self.span
        ahead = count * self.plan.step
        distance = into.number(ahead, self.type, span)
        later = into.make("add", (induction, distance), self.type, span)
        last = self.plan.bounds[1].hi
        if last is not None and last + ahead <= _largest(self.type):
            return later, into.make("cmp", (later, self.upper), BOOL, span, predicate="lt")
        left = into.make("sub", (self.upper, induction), self.type, span)
        first = self.plan.bounds[0].lo
        if first is None or first < 0:
            unsigned = U32 if self.type is I32 else U64
            left, distance = (into.make("cast", (v,), unsigned, span) for v in (left, distance))
        return later, into.make("cmp", (left, distance), BOOL, span, predicate="gt")

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


def _largest(type_: Type) -> int:
    """The largest number that a counter may be."""
    return int(2 ** (dtype_of(type_).bits - 1) - 1)


def fill_rings(into: Writer, plan: Pipelined, rings: Sequence[RingLoop]) -> None:
    """Write the copies of a loop into its rings, and nothing else."""
    loop, span, first = plan.loop, plan.loop.span, rings[0]
    starts = [ring.start_of_first() for ring in rings]
    induction = Value(first.type, first.induction.name, span)
    params = [ring.ahead_of(start) for ring, start in zip(rings, starts, strict=True)]
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
    operands = (first.lower, first.upper, first.step, *(v for start in starts for v in start), *begin)
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
