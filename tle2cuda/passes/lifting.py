"""Bring `warp_specialize` out of loops and branches, with the control flow around it in every task.

Workers run from the start of a kernel to its end beside the default warps; where a specialisation stands inside of loops
and branches, they go through the same ones. So a loop or branch at the top level that contains specialisations becomes
a single `warp_specialize`: its region 0 is the loop as it was, with the default partitions in place, and each worker
region is the loop again, less what the default warps do between the partitions. What bounds and conditions are made of
is made again in each worker, also across iterations; what cannot be is handed over through shared memory.

All tasks meet in front of the partitions and behind them (operation `named_barrier` with the attribute `meeting`), as
the end of a `warp_specialize` demands, as far as anyone could tell (`meetings.py`).

Workers of several specialisations in one loop become one where they are as wide, first those that use the same pipes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tle2cuda.errors import InvalidArgument
from tle2cuda.ir.effects import Roots
from tle2cuda.ir.flow import handed_on
from tle2cuda.ir.nodes import DIVIDES, Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, captured_values, definitions
from tle2cuda.passes.handing import Handed, Maker, Repeats, made_of
from tle2cuda.passes.meetings import MEETING, without_idle_meetings
from tle2cuda.targets import MAX_THREADS_PER_CTA, WARP_THREADS

_ALLOCATIONS = frozenset(("alloc", "alloc_barriers", "pipe"))


def lifted(kernel: Kernel) -> Kernel:
    """All specialisations at the top level of the body.

    Raises:
        InvalidArgument: Specialisations of one loop or branch together have more workers than a CTA has warps.
        NotSupported: A worker uses a pointer to shared memory, or a buffer, that was chosen at run time outside of it.
    """
    if all(_is_site(op) or not _has_site(op) for op in kernel.body.ops):
        return kernel
    kernel = _with_allocations_in_front(kernel)
    ops: list[Op] = []
    number = 1 + max((op.attrs["number"] for op in walk(kernel.body) if op.name == "named_barrier"), default=-1)
    for op in kernel.body.ops:
        if _is_site(op) or not _has_site(op):
            ops.append(op)
            continue
        ops += _Lift(kernel, op, number).ops()
        number += 1
    return without_idle_meetings(replace(kernel, body=Region((), tuple(ops))))


def _is_site(op: Op) -> bool:
    """Whether an operation has workers; what divides the warps that there are may stand in loops and branches."""
    return op.name == "warp_specialize" and not op.attrs.get(DIVIDES)


def _has_site(op: Op) -> bool:
    return _is_site(op) or any(_has_site(inner) for region in op.regions for inner in region.ops)


def _with_allocations_in_front(kernel: Kernel) -> Kernel:
    """Allocations inside of loops and branches with specialisations, in front of these: one each in any case."""
    moved: dict[Op, list[Op]] = {}
    for outer in kernel.body.ops:
        if not _is_site(outer) and _has_site(outer):
            moved[outer] = _allocations(outer)
    gone = {op for ops in moved.values() for op in ops}
    if not gone:
        return kernel

    class _Move(Rewriter):
        def visit(self, op: Op) -> None:
            for each in moved.get(op, ()):
                self.emit(each)
            if op not in gone:
                self.copy(op)

    return _Move().kernel(kernel)


def _allocations(outer: Op) -> list[Op]:
    """Allocations inside of an operation and what they are made of, in program order."""
    inside = [op for region in outer.regions for op in walk(region)]
    made = {result: op for op in inside for result in op.results}
    wanted: set[Op] = set()

    def want(op: Op) -> None:
        if op not in wanted:
            wanted.add(op)
            for operand in op.operands:
                if operand in made:
                    want(made[operand])

    for op in inside:
        if op.name in _ALLOCATIONS:
            want(op)
    return [op for op in inside if op in wanted]


# ---- who runs what ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Worker:
    """A worker of the whole: for each specialisation the number of its region, if it takes part.

    Attributes:
        warps: Its warps.
        name: Of its function, the first one.
        registers: The most that are asked for.
        parts: Region numbers by specialisation.
        ends: Ends of pipes that it uses.
    """

    warps: int
    name: str
    registers: int = 0
    parts: dict[Op, int] = field(default_factory=dict)
    ends: set[tuple[Value | None, str]] = field(default_factory=set)


def _workers(sites: Sequence[Op], roots: Roots) -> list[_Worker]:
    """Workers of several specialisations, as few as serve all of them in turn."""
    workers: list[_Worker] = []
    for site in sites:
        taken: list[_Worker] = []
        for number in range(1, len(site.regions)):
            name, warps = site.attrs["names"][number], site.attrs["warps"][number]
            ends = _ends(site.regions[number], roots)
            free = [w for w in workers if w.warps == warps and not any(w is each for each in taken)]
            if free:
                worker = max(free, key=lambda w: (len(w.ends & ends), w.name == name))
            else:
                worker = _Worker(warps, name)
                workers.append(worker)
            taken.append(worker)
            worker.parts[site] = number
            worker.ends |= ends
            worker.registers = max(worker.registers, site.attrs["registers"][number - 1])
    return workers


def _ends(region: Region, roots: Roots) -> set[tuple[Value | None, str]]:
    found: set[tuple[Value | None, str]] = set()
    for op in walk(region):
        if op.name in ("pipe_acquire", "pipe_commit", "pipe_close"):
            found.update((root, "writer") for root in roots.of(op.operands[0]))
        elif op.name in ("pipe_wait", "pipe_release"):
            found.update((root, f"reader {op.attrs.get('reader')}") for root in roots.of(op.operands[0]))
    return found


# ---- the operation that takes the place of a loop or branch ------------------------------------------------------------


class _Lift:
    """One loop or branch at the top level, turned inside out.

    Args:
        kernel: The kernel.
        outer: The loop or branch.
        number: Of the barrier at which all tasks meet.
    """

    def __init__(self, kernel: Kernel, outer: Op, number: int) -> None:
        self.kernel = kernel
        self.outer = outer
        self.number = number
        self.made = definitions(kernel.body)
        self.repeats = Repeats(kernel)
        self.inner = frozenset(_defined_in(outer))
        self.sites = [op for region in outer.regions for op in walk(region) if _is_site(op)]
        self.workers = _workers(self.sites, Roots(kernel))
        self.handed = {op: Handed(op) for op in (outer, *_inside(outer)) if _has_site(op)}
        self.sources = _sources(outer)
        self.derivable = self._derivable()
        self.threads = WARP_THREADS * (kernel.num_warps + sum(worker.warps for worker in self.workers))
        if self.threads > MAX_THREADS_PER_CTA:
            raise InvalidArgument(
                f"specialisations in one loop or branch have workers of different widths, {self.threads} threads in all: "
                f"a CTA has at most {MAX_THREADS_PER_CTA}",
                self.sites[-1].span,
                help="give workers of one loop the same numbers of warps, so that they take turns",
            )

    def ops(self) -> list[Op]:
        """The operations that take the place of the loop or branch."""
        for worker in self.workers:  # finds out what is handed over, of which all must know
            _Slice(self, worker).region_of(self.outer)
        regions = [_Slice(self, worker).region_of(self.outer) for worker in self.workers]
        copied = _Default(self).ops((self.outer,))
        result, first = copied[-1], self.sites[0]
        attrs = {
            "warps": (self.kernel.num_warps, *(worker.warps for worker in self.workers)),
            "registers": tuple(worker.registers for worker in self.workers),
            "names": (first.attrs["names"][0], *(worker.name for worker in self.workers)),
        }
        # Inside, results are other values than those that the code behind knows.
        inside = replace(result, results=tuple(Value(v.type, v.name, v.span) for v in result.results))
        stop = make_op("yield", inside.results, span=self.outer.span)
        body = Region((), (*copied[:-1], inside, stop))
        whole = Op("warp_specialize", (), self.outer.results, MappingProxyType(attrs), (body, *regions), first.span)
        return [*(op for handed in self.handed.values() for op in handed.allocations), whole]

    def meeting(self, site: Op, reason: str) -> Op:
        """A barrier of all tasks."""
        attrs = {"number": self.number, "threads": self.threads, "kind": "sync", MEETING: reason}
        return make_op("named_barrier", attrs=attrs, span=site.span)

    # ---- what workers make for themselves ----

    def _derivable(self) -> frozenset[Value]:
        """Values inside of the loop or branch that workers make again, across iterations as well."""
        found = {v for v in self.inner if self._may_derive(v)}
        while True:
            kept = {v for v in found if all(s in found or s not in self.inner for s in self.made_of(v))}
            if len(kept) == len(found):
                return frozenset(kept)
            found = kept

    def _may_derive(self, value: Value) -> bool:
        if value in self.sources:
            return True
        op = self.made.get(value)
        return op is not None and not op.regions and self.repeats.may_repeat(op)

    def made_of(self, value: Value) -> Iterable[Value]:
        """What a value is made of: operands, or what loops and branches hand on to it."""
        return self.sources[value] if value in self.sources else self.made[value].operands


def _defined_in(outer: Op) -> Iterable[Value]:
    yield from outer.results
    for region in outer.regions:
        yield from region.params
        for op in region.ops:
            yield from _defined_in(op)


def _inside(outer: Op) -> Iterable[Op]:
    return (op for region in outer.regions for op in walk(region))


def _sources(outer: Op) -> Mapping[Value, tuple[Value, ...]]:
    """For what loops and branches with specialisations hand on: of which values it may be."""
    found: dict[Value, list[Value]] = {}
    for op in (outer, *_inside(outer)):
        if _is_site(op) or not _has_site(op):
            continue
        if op.name == "for":
            found[op.regions[0].params[0]] = []
        for targets, sources in handed_on(op):
            for target, source in zip(targets, sources, strict=True):
                found.setdefault(target, []).append(source)
    return {target: tuple(sources) for target, sources in found.items()}


def _deciding(op: Op) -> tuple[Value, ...]:
    """What a loop or branch decides by."""
    if op.name == "while":
        return op.regions[0].terminator.operands[:1]
    return op.operands[: 3 if op.name == "for" else 1]


class _Slice:
    """One worker: what it keeps of the loop or branch."""

    def __init__(self, lift: _Lift, worker: _Worker) -> None:
        self.lift = lift
        self.worker = worker
        self.own: dict[Value, Value] = {}  # its values, by those of the default warps
        self.needed = self._needed()

    def region_of(self, outer: Op) -> Region:
        """Its region of the `warp_specialize`."""
        return Region((), (*self.ops((outer,)), make_op("yield", span=outer.span)))

    # ---- what it needs ----

    def _needed(self) -> frozenset[Value]:
        """Values that it makes again, in the places where the default warps make them."""
        lift = self.lift
        found: set[Value] = set()
        seen: set[Value] = set()
        todo: list[Value] = []
        for op in lift.handed:
            todo += captured_values(op.regions[self.worker.parts[op]]) if op in self.worker.parts else ()
            todo += _deciding(op) if not _is_site(op) else ()
        while todo:
            value = todo.pop()
            if value in seen or value not in lift.inner:
                continue
            seen.add(value)
            if value in lift.derivable:
                found.add(value)
                todo += lift.made_of(value)
            elif value in lift.made:
                todo += made_of(value, lift.made[value], lift.repeats) or ()
        return frozenset(found)

    def _known(self, value: Value) -> Value | None:
        if value in self.own:
            return self.own[value]
        return None if value in self.lift.inner else value

    def _maker(self, op: Op) -> Maker:
        lift = self.lift
        return Maker(lift.made, self._known, lambda value: value, lift.repeats, lift.handed[op])

    # ---- what becomes of it ----

    def ops(self, ops: Iterable[Op]) -> list[Op]:
        """What it does where the default warps do these."""
        made: list[Op] = []
        for op in ops:
            if _is_site(op):
                made += self._partition(op)
            elif op in self.lift.handed:
                made += self._control(op)
            elif any(result in self.needed for result in op.results):
                made.append(self._repeated(op))
        return made

    def _repeated(self, op: Op) -> Op:
        operands = tuple(self._value(v) for v in op.operands)
        types, names = tuple(v.type for v in op.results), tuple(v.name for v in op.results)
        made = make_op(op.name, operands, types, op.attrs, (), op.span, names)
        self.own.update(zip(op.results, made.results, strict=True))
        return made

    def _value(self, value: Value) -> Value:
        return self.own.get(value, value)

    def _partition(self, site: Op) -> list[Op]:
        before, behind = _meetings(self.lift, site)
        number = self.worker.parts.get(site)
        if number is None:
            return [before, behind]
        region = site.regions[number]
        maker, rewriter = self._maker(site), Rewriter()
        for value in captured_values(region):
            rewriter.bind(value, maker.want(value))
        return [before, *maker.ops, *rewriter.ops(region.body), behind]

    def _control(self, op: Op) -> list[Op]:
        """A loop or branch, with as many values handed on as it needs itself."""
        if op.name == "while":
            return [self._while(op)]
        maker = self._maker(op)
        deciding = tuple(maker.want(v) for v in _deciding(op))
        self.own.update(maker.made_here)
        front = [*_told(self.lift, op), *maker.ops]
        return [*front, self._for(op, deciding) if op.name == "for" else self._if(op, deciding)]

    def _for(self, op: Op, bounds: tuple[Value, ...]) -> Op:
        region = op.regions[0]
        places = [n for n, result in enumerate(op.results) if {result, region.params[1 + n]} & self.needed]
        inits = tuple(self._value(op.operands[3 + n]) for n in places)
        outside = dict(self.own)
        params = self._params([region.params[0], *(region.params[1 + n] for n in places)])
        body = self._body(region, region.terminator.operands, places)
        self.own = outside
        return self._made(op, (*bounds, *inits), (Region(params, body),), places)

    def _if(self, op: Op, condition: tuple[Value, ...]) -> Op:
        places = [n for n, result in enumerate(op.results) if result in self.needed]
        regions = tuple(Region((), self._body(region, region.terminator.operands, places)) for region in op.regions)
        return self._made(op, condition, regions, places)

    def _while(self, op: Op) -> Op:
        before, body = op.regions
        starts = [n for n, param in enumerate(before.params) if param in self.needed]
        passed = [n for n, result in enumerate(op.results) if {result, body.params[n]} & self.needed]
        inits = tuple(self._value(op.operands[n]) for n in starts)
        outside = dict(self.own)
        params = self._params([before.params[n] for n in starts])
        test = self.ops(before.body)
        maker = self._maker(op)
        condition = maker.want(before.terminator.operands[0])
        self.own.update(maker.made_here)
        test += [*_told(self.lift, op), *maker.ops]
        carried = tuple(self._value(before.terminator.operands[1 + n]) for n in passed)
        test.append(make_op("condition", (condition, *carried), span=before.terminator.span))
        inner = self._params([body.params[n] for n in passed])
        again = self._body(body, body.terminator.operands, starts)
        self.own = outside
        return self._made(op, inits, (Region(params, tuple(test)), Region(inner, again)), passed)

    def _params(self, params: Iterable[Value]) -> tuple[Value, ...]:
        own = []
        for param in params:
            self.own[param] = Value(param.type, param.name, param.span)
            own.append(self.own[param])
        return tuple(own)

    def _body(self, region: Region, yielded: Sequence[Value], places: Sequence[int]) -> tuple[Op, ...]:
        outside = dict(self.own)
        ops = self.ops(region.body)
        stop = make_op("yield", tuple(self._value(yielded[n]) for n in places), span=region.terminator.span)
        self.own = outside
        return (*ops, stop)

    def _made(self, op: Op, operands: tuple[Value, ...], regions: tuple[Region, ...], places: Sequence[int]) -> Op:
        types = tuple(op.results[n].type for n in places)
        names = tuple(op.results[n].name for n in places)
        made = make_op(op.name, operands, types, op.attrs, regions, op.span, names)
        self.own.update(zip((op.results[n] for n in places), made.results, strict=True))
        return made


def _meetings(lift: _Lift, site: Op) -> tuple[Op, Op]:
    """The barriers in front of a specialisation's partitions and behind them."""
    names = list(dict.fromkeys(f"`{name}`" for name in site.attrs["names"]))
    who = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    verb = "are" if len(names) > 1 else "is"
    return lift.meeting(site, f"what came before {who} is done"), lift.meeting(site, f"{who} {verb} done")


def _told(lift: _Lift, op: Op) -> tuple[Op, ...]:
    """The barriers in front of what tells workers how to go on, and behind it; none where they know by themselves."""
    if not lift.handed[op].stores:
        return ()
    return lift.meeting(op, "the workers know how they went on"), lift.meeting(op, "the workers are told how to go on")


class _Default(Rewriter):
    """The default warps: the loop or branch as it was, with the default partitions in place."""

    def __init__(self, lift: _Lift) -> None:
        super().__init__()
        self.lift = lift

    def visit(self, op: Op) -> None:
        handed = self.lift.handed.get(op)
        if _is_site(op):
            assert handed is not None
            self._hand(handed)
            before, behind = _meetings(self.lift, op)
            self.emit(before)
            for inner in op.regions[0].body:
                self.visit(inner)
            self.emit(behind)
            for result, value in zip(op.results, op.regions[0].terminator.operands, strict=True):
                self.bind(result, self[value])
            return
        if handed is not None and op.name != "while":
            self._tell(op)
        if op.name == "condition" and (loop := self._loop_of(op)) is not None:
            self._tell(loop)
        self.copy(op)

    def _tell(self, op: Op) -> None:
        for barrier in _told(self.lift, op)[:1]:
            self.emit(barrier)
        self._hand(self.lift.handed[op])
        for barrier in _told(self.lift, op)[1:]:
            self.emit(barrier)

    def _hand(self, handed: Handed) -> None:
        for op in handed.stores:
            self.copy(op)

    def _loop_of(self, condition: Op) -> Op | None:
        return next((op for op in self.lift.handed if op.name == "while" and op.regions[0].terminator is condition), None)
