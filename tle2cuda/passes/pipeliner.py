"""Software pipelining (D8): loads of a loop go through a ring of stages, iterations before they are used.

    pipe = ring of n stages                       # a buffer for each load
    for s in range(n - 1):                        # prologue
        slot = acquire(s); if s < count: copy(s); commit(s)
    for i in range(count):
        slot = wait(i)
        free = acquire(i + n - 1); if i + n - 1 < count: copy(i + n - 1); commit(i + n - 1)
        ... the body, which reads the slot where it loaded ...
        release(i)

This is the same pipe that a user may write, with both ends in one task; how stages are filled and what is waited for is
decided by the pass `pipes`. A stage is filled behind the wait, which stands behind the barrier that also tells that all
threads are done with what the stage held before. Loops of no iterations copy nothing.

A product by `wgmma` is still in flight when the next iteration begins, if nothing else needs its sums. It is waited for
behind the next product, so the barrier of the iteration after that one says that its stage is free: the ring has one stage
more.

What the addresses of a copy need is computed n - 1 iterations ahead: carried values that they depend on are carried a
second time, by that much further.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType

from tle2cuda.analysis.pipelining import Pipelined, Staged, pipelined_loops
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, definitions
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
from tle2cuda.layout.shared import SWIZZLE_BYTES
from tle2cuda.passes import canonicalise
from tle2cuda.targets import parse_target

_ROWS_OF_PATTERN = 8
_SWIZZLED_ALIGNMENT_BYTES = 1024
_PLAIN_ALIGNMENT_BYTES = 128
_LEFT_REASON = "zeros of iterations that do not exist have landed"
_MOST_STAGES = 16  # beyond which no memory is so far away that more would help


def run(kernel: Kernel) -> Kernel:
    """Give loops their rings."""
    if not parse_target(kernel.target).has("cp_async"):
        return kernel
    plans = pipelined_loops(kernel, kernel.most_stages or _MOST_STAGES)
    if not plans:
        return kernel
    return canonicalise.run(_Pipeline(kernel, plans).run())


class _Pipeline(Rewriter):
    """Rewrites the planned loops; the buffers of their rings stand at the top of the kernel, or of a worker region."""

    def __init__(self, kernel: Kernel, plans: dict[Op, Pipelined]) -> None:
        super().__init__()
        self.source = kernel
        self.plans = plans
        self.definitions = definitions(kernel.body)
        self.rings: list[Op] = []
        self.depth = 0  # loops around

    def run(self) -> Kernel:
        """The kernel with rings."""
        body = self.region(self.source.body)
        return replace(self.source, body=Region((), (*self.rings, *body.ops)))

    def visit(self, op: Op) -> None:
        plan = self.plans.get(op)
        if plan is not None:
            _Loop(self, plan).rewrite()
            return
        if op.name == "warp_specialize":
            workers = (self._worker(region) for region in op.regions[1:])
            self.emit(replace(op, regions=(self.region(op.regions[0]), *workers)))
            return
        is_loop = op.name in ("for", "while")
        self.depth += is_loop
        self.copy(op)
        self.depth -= is_loop

    def _worker(self, region: Region) -> Region:
        """A worker region with rings of its own: it runs beside the others."""
        outer, self.rings = self.rings, []
        body = self.region(region)
        rings, self.rings = self.rings, outer
        return Region(body.params, (*rings, *body.ops)) if rings else body

    # ---- operations that are new ----

    def make(self, name: str, operands: Sequence[Value], type_: Type, span: Span, hint: str = "", **attrs: object) -> Value:
        """Emit an operation with one result."""
        return self.emit(make_op(name, tuple(operands), (type_,), attrs, (), span, (hint,))).result

    def number(self, value: int, type_: Type, span: Span) -> Value:
        """A constant."""
        return self.make("constant", (), type_, span, value=value)

    def inside(self, write: Callable[[], tuple[Value, ...]], span: Span, params: tuple[Value, ...] = ()) -> Region:
        """A region that `write` fills, which returns what the region yields."""
        self._stack.append([])
        yielded = write()
        self.emit(make_op("yield", yielded, (), span=span))
        return Region(params, tuple(self._stack.pop()))


class _Loop:
    """The rewriting of one loop."""

    def __init__(self, into: _Pipeline, plan: Pipelined) -> None:
        self.into = into
        self.plan = plan
        self.loop = plan.loop
        self.span = plan.loop.span
        self.region = plan.loop.regions[0]
        self.induction = self.region.params[0]
        self.type = self.induction.type
        self.lower, self.upper, self.step = (into[v] for v in plan.loop.operands[:3])
        self.ahead = plan.stages - 1
        self.fields = [self._ring(staged) for staged in plan.loads]
        self.pipe = self._pipe()

    def rewrite(self) -> None:
        """Write the prologue and the loop."""
        start = tuple(self.into[self.loop.operands[3 + number]] for number in self.plan.carried)
        self._main(self._prologue(start))

    # ---- the ring ----

    def _ring(self, staged: Staged) -> Value:
        """The buffer of one load's stages."""
        type_ = staged.load.result.type
        assert isinstance(type_, TileType) and isinstance(type_.element, DType)
        name = staged.load.result.name or "tile"
        ring = BufferType((self.plan.capacity, *staged.shape), type_.element)
        span_bytes = swizzle_of(staged.shape, type_.element)
        attrs: dict[str, object] = {
            "name": name,
            "scratch": True,
            "is_kept": True,
            "is_ring": True,
            "alignment_bytes": _SWIZZLED_ALIGNMENT_BYTES if span_bytes else _PLAIN_ALIGNMENT_BYTES,
        }
        if span_bytes:
            attrs["swizzle_bytes"] = span_bytes
        op = make_op("alloc", (), (ring,), attrs, (), staged.load.span, (name,))
        self.into.rings.append(op)
        return op.result

    def _pipe(self) -> Value:
        names: list[str] = []
        for staged in self.plan.loads:
            name = staged.load.result.name or "tile"
            names.append(name if name not in names else f"{name}_{len(names)}")
        fields = tuple((name, v.type) for name, v in zip(names, self.fields, strict=True) if isinstance(v.type, BufferType))
        type_ = PipeType(self.plan.capacity, fields)
        attrs = {
            "name": "ring",
            "capacity": self.plan.capacity,
            "fields": tuple(names),
            "readers": (),
            "one_shot": False,
            "restarts": True,
        }
        return self.into.emit(make_op("pipe", tuple(self.fields), (type_,), attrs, (), self.span, ("ring",))).result

    def _slots(self) -> tuple[BufferType, ...]:
        types = []
        for field in self.fields:
            assert isinstance(field.type, BufferType)
            types.append(slot_type(field.type))
        return tuple(types)

    # ---- the prologue ----

    def _prologue(self, start: tuple[Value, ...]) -> tuple[Value, ...]:
        """Fill the first stages; returns the carried values of the iteration behind them."""
        into, span = self.into, self.span
        if self.ahead == 1:
            zero = into.number(0, I32, span)
            return self._fill(zero, zero, (self.lower, self._starts(self.lower)), start)
        stage = Value(I32, "stage", span)
        params = tuple(Value(v.type, self._named(n), span) for v, n in zip(start, self.plan.carried, strict=True))

        def body() -> tuple[Value, ...]:
            zero = into.number(0, I32, span)
            iteration = self._iteration_of(stage)
            return self._fill(stage, zero, (iteration, self._starts(iteration)), params)

        region = into.inside(body, span, (stage, *params))
        zero, end, one = (into.number(value, I32, span) for value in (0, self.ahead, 1))
        types = tuple(v.type for v in start)
        attrs = {"unroll": self.ahead, "role": "prologue"}
        return into.emit(make_op("for", (zero, end, one, *start), types, attrs, (region,), span)).results

    def _named(self, number: int) -> str:
        name = self.region.params[1 + number].name
        return f"{name}_ahead" if name else "ahead"

    def _iteration_of(self, stage: Value) -> Value:
        """The loop's counter in the iteration whose number is `stage`."""
        into, span = self.into, self.span
        number = stage if self.type is I32 else into.make("cast", (stage,), self.type, span)
        scaled = into.make("mul", (number, self.step), self.type, span)
        return into.make("add", (self.lower, scaled), self.type, span)

    def _starts(self, iteration: Value) -> Value:
        """Whether there is an iteration of the first few."""
        into, span = self.into, self.span
        first = self.plan.bounds[0].hi
        most = self.ahead * self.plan.step
        if first is not None and first + most <= _largest(self.type):
            return into.make("cmp", (iteration, self.upper), BOOL, span, predicate="lt")
        # The sum with the first value of the counter may have left the range of its type.
        moved = into.make("sub", (iteration, self.lower), self.type, span)
        left = into.make("sub", (self.upper, self.lower), self.type, span)
        has_any = into.make("cmp", (self.lower, self.upper), BOOL, span, predicate="lt")
        unsigned = U32 if self.type is I32 else U64
        wide = [into.make("cast", (v,), unsigned, span) for v in (moved, left)]
        return into.make("and", (has_any, into.make("cmp", wide, BOOL, span, predicate="lt")), BOOL, span)

    def _fill(
        self, stage: Value, lap: Value, when: tuple[Value, Value], carried: tuple[Value, ...], is_guarded: bool = True
    ) -> tuple[Value, ...]:
        """Copy what an iteration loads into a stage, if there is such an iteration.

        Args:
            stage: The stage.
            lap: Its lap.
            when: The loop's counter in that iteration, and whether it exists.
            carried: The values that iteration gets of those that addresses depend on.
            is_guarded: Branch around the copies where there is no such iteration; else they are masked off.

        Returns:
            The values that the next one gets.
        """
        into, span = self.into, self.span
        iteration, in_range = when
        place = (self.pipe, stage, lap)
        acquired = into.emit(make_op("pipe_acquire", place, self._slots(), span=span, names=self._names()))
        before = dict(into.mapping)
        into.bind(self.induction, iteration)
        for number, value in zip(self.plan.carried, carried, strict=True):
            into.bind(self.region.params[1 + number], value)

        def copies() -> tuple[Value, ...]:
            kept = dict(into.mapping)
            self._clone(self._needed([v for staged in self.plan.loads for v in _addresses(staged.load)]))
            for staged, slot in zip(self.plan.loads, acquired.results, strict=True):
                self._copy(staged, slot, None if is_guarded else in_range)
            into.mapping = kept
            return ()

        if is_guarded:
            arms = (into.inside(copies, span), into.inside(lambda: (), span))
            into.emit(make_op("if", (in_range,), (), {"is_guard": True}, arms, span))
        else:
            copies()
        into.emit(make_op("pipe_commit", place, (), span=span))
        following = [self.region.terminator.operands[number] for number in self.plan.carried]
        self._clone(self._needed(following))
        result = tuple(into[v] for v in following)
        into.mapping = before
        return result

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
        operands = [into[v] for v in _addresses(load)]
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
        further = tuple(Value(v.type, self._named(n), span) for v, n in zip(filled, self.plan.carried, strict=True))
        counts = self._counts_iterations()
        counter = params[0] if counts else Value(I32, "iteration", span)
        before = dict(into.mapping)
        for was, now in zip(old, params, strict=True):
            into.bind(was, now)

        def body() -> tuple[Value, ...]:
            number = self._number_of(params[0]) if counts else counter
            stage, lap = self._place(number, "stage")
            types: tuple[Type, ...] = (BOOL, *self._slots())
            waited = into.emit(
                make_op("pipe_wait", (self.pipe, stage, lap), types, {}, (), span, ("is_closed", *self._names()))
            )
            later = self._later(params[0])
            distance = into.number(self.ahead, I32, span)
            free = self._place(into.make("add", (number, distance), I32, span), "free_stage")
            is_guarded = not self.plan.has_warpgroups
            following: tuple[Value, ...] = ()
            if self.plan.holder is None:
                following = self._fill(*free, later, further, is_guarded)
            slots = dict(
                zip((s.load for s in self.plan.loads), zip(self.plan.loads, waited.results[1:], strict=True), strict=True)
            )
            for op in self.region.body:
                if op in slots:
                    self._read(*slots[op])
                elif op is self.plan.overlapped:
                    attrs = MappingProxyType({**op.attrs, "may_overlap": True})
                    into.emit(replace(op, operands=tuple(into[v] for v in op.operands), attrs=attrs))
                elif op is self.plan.holder:
                    attrs = MappingProxyType({**op.attrs, "holds_copies": True})
                    into.emit(replace(op, operands=tuple(into[v] for v in op.operands), attrs=attrs))
                    following = self._fill(*free, later, further, is_guarded)
                else:
                    into.visit(op)
            into.emit(make_op("pipe_release", (self.pipe, stage, lap), (), span=span))
            kept = tuple(into[v] for v in self.region.terminator.operands)
            return (*kept, *following, *(() if counts else (self._next(counter),)))

        into.depth += 1
        extra = () if counts else (counter,)
        region = into.inside(body, span, (*params, *further, *extra))
        into.depth -= 1
        into.mapping = before
        starts = () if counts else (into.number(0, I32, span),)
        operands = (*(into[v] for v in loop.operands), *filled, *starts)
        results = (*loop.results, *(Value(v.type, "", span) for v in (*further, *extra)))
        attrs = {name: value for name, value in loop.attrs.items() if name != "num_stages"}
        attrs["is_pipelined"] = True
        into.emit(replace(loop, operands=operands, results=results, attrs=MappingProxyType(attrs), regions=(region,)))
        if self.plan.has_warpgroups:  # copies that are masked off write zeros
            into.emit(make_op("cp_async_wait", (), (), {"pending": 0, "reason": _LEFT_REASON}, (), span))

    def _counts_iterations(self) -> bool:
        """Whether the loop's counter tells the number of the iteration: it starts at 0."""
        made = self.into.definitions.get(self.loop.operands[0])
        return made is not None and made.name == "constant" and made.attrs["value"] == 0

    def _number_of(self, induction: Value) -> Value:
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

    def _later(self, induction: Value) -> tuple[Value, Value]:
        """The counter of the iteration whose loads are made now, and whether there is one.

        Where there is none, the sum may leave the range of its type. What is left to do is 1 or more inside of the loop; it
        may be too much for a signed number where the counter starts below 0.
        """
        into, span = self.into, self.span
        ahead = self.ahead * self.plan.step
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

    def _read(self, staged: Staged, slot: Value) -> None:
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
        into.bind(load.result, value)


def _largest(type_: Type) -> int:
    """The largest number that a counter may be."""
    return int(2 ** (dtype_of(type_).bits - 1) - 1)


def _addresses(load: Op) -> tuple[Value, ...]:
    """Pointers and mask of a load."""
    return load.operands[: 2 if load.attrs.get("has_mask") else 1]


def swizzle_of(shape: tuple[int, ...], element: DType) -> int:
    """The span of the swizzle under which the rows of a stage are stored, in bytes; 0 for none."""
    if len(shape) < 2 or shape[-2] < _ROWS_OF_PATTERN:
        return 0
    span = min(shape[-1] * element.bytes, SWIZZLE_BYTES[-1])
    return span if span in SWIZZLE_BYTES else 0


def stages_of(kernel: Kernel) -> int:
    """The most stages that a ring of a kernel has; 1 when it has none."""
    rings = (op.result.type for op in walk(kernel.body) if op.name == "alloc" and op.attrs.get("is_ring"))
    return max((type_.shape[0] for type_ in rings if isinstance(type_, BufferType)), default=1)


__all__ = ["run", "stages_of", "swizzle_of"]
