"""Decide how the stages of each pipe are filled, and with that who arrives at its barriers (D8).

A pipe becomes two arrays of mbarriers: `full`, whose phase ends when a stage is published, and `empty`, whose phase ends
when all readers have released it. What the writer's task does to the slots decides who arrives at `full`:

- ordinary stores: each thread of the writer once, behind what it did;
- cp.async: each thread once, when its copies have landed;
- the copy engine: the thread that issues the copies, once, with the bytes that are to come.

A pipe both of whose ends are in one task, and which the copy engine does not fill, needs no mbarriers: barriers of the task
order its uses, and groups of `cp.async` tell what has landed (`tle2cuda.analysis.copy_groups`).

A pipe that is filled in several ways takes all of these arrivals for every stage; where the threads arrive, that of the one
which issues copies covers these, once their bytes are added. Stores to other shared memory in the
writer's task count as ordinary ones, for a commit publishes all that its task did. Nobody declares any of it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tle2cuda.analysis.copy_groups import pending_groups
from tle2cuda.analysis.slots import Slots, pipe_of, slots_of
from tle2cuda.analysis.stage_uses import StageUses
from tle2cuda.analysis.tasks import Task, tasks, walk_task
from tle2cuda.errors import InternalError, NotSupported, SynchronizationError
from tle2cuda.ir.effects import Effect, Roots, effects
from tle2cuda.ir.multicast import Sharing, num_peers, sharing
from tle2cuda.ir.nodes import WARPGROUP_WARPS, Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter
from tle2cuda.ir.tma import tensor_copy
from tle2cuda.ir.types import I32, BarrierType, BufferType, PipeType
from tle2cuda.passes.async_copies import with_async_copies
from tle2cuda.passes.bulk_stores import with_bulk_stores
from tle2cuda.passes.drains import with_drains
from tle2cuda.passes.pipe_releases import WARPGROUPS, WARPS, released_by_few
from tle2cuda.targets import WARP_THREADS

PLAIN, CP_ASYNC, TMA = "plain", "cp_async", "tma"
"""Transports: how what is in a slot gets there."""

COPIES, THREADS, ELECTED, GROUP = "copies", "threads", "elected", "group"
"""Arrivals of a commit: by each thread once its copies have landed, or at once; by one thread; or a group is closed."""

_WRITING = frozenset(("pipe_acquire", "pipe_commit", "pipe_close"))
_READING = frozenset(("pipe_wait", "pipe_release"))


def run(kernel: Kernel) -> Kernel:
    """Choose transports, and give each pipe its barriers.

    Raises:
        SynchronizationError: Partitions that run at once write to one pipe, or read as one reader; or a reader waits, and
            nothing commits.
        NotSupported: Which pipe an operation works on depends on run-time values.
    """
    kernel = with_async_copies(with_bulk_stores(kernel))
    if not any(op.name == "pipe" for op in walk(kernel.body)):
        _check_shared(kernel, ())
        return with_drains(kernel, {})
    plans = _Planner(kernel).plans()
    _check_shared(kernel, {copy for plan in plans.values() for copy in plan.copies})
    apply = _Apply(plans)
    kernel = apply.kernel(kernel)
    filled = {pipe: full for pipe, full in apply.full.items() if TMA in plans[pipe].transports}
    copied = [pipe for pipe in apply.full if CP_ASYNC in plans[pipe].transports]
    return with_drains(kernel, filled, copied)


def _check_shared(kernel: Kernel, into_stages: Collection[Op]) -> None:
    """Refuse copies for several CTAs that do not go into stages of pipes: who may write there could not be known."""
    for op in walk(kernel.body):
        if op.name == "tma_load" and sharing(op) is not None and op not in into_stages:
            raise NotSupported(
                "copy: multicast goes into stages of pipes that the copy engine alone fills",
                op.span,
                help="copy to a slot that `acquire` returned, and let the writer access it in no other way",
            )


@dataclass(frozen=True, slots=True)
class Plan:
    """What was decided for one pipe.

    Attributes:
        transports: How its slots are filled.
        full: Arrivals that publish a stage.
        empty: Arrivals that free it; 0 when it is never filled again.
        is_closed: Whether it is ever closed.
        commit: Who arrives at a commit.
        close: Who arrives at a close, where nothing is copied.
        pending: For each wait for groups of `cp.async`, how many may be in flight; None for a pipe with barriers.
        copies: For each copy of the copy engine into its slots: the slot's stage, and the bytes to announce in front of it,
            which is the arrival; or None, to announce the bytes of this copy alone.
        few: Readers of which not every thread releases, and which do.
        sharings: CTAs of the cluster that fill stages together.
    """

    transports: tuple[str, ...]
    full: int
    empty: int
    is_closed: bool
    commit: tuple[str, ...]
    close: tuple[str, ...]
    copies: MappingProxyType[Op, tuple[Value, int | None]]
    pending: MappingProxyType[Op, int] | None = None
    few: Mapping[str | None, str] = field(default_factory=dict)
    sharings: tuple[Sharing, ...] = ()


@dataclass(slots=True)
class _Sides:
    """Who uses a pipe: operations by task."""

    writing: list[tuple[Task, Op]]
    reading: dict[str | None, list[tuple[Task, Op]]]


class _Planner:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.roots = Roots(kernel)
        self.slots = Slots(kernel)
        self.stages = StageUses(kernel, self.slots)
        self.tasks = tasks(kernel)
        self.pipes = {op.result: op for op in walk(kernel.body) if op.name == "pipe"}
        self.staging = {op.result for op in walk(kernel.body) if op.name == "alloc" and op.attrs.get("staging")}
        self.sides = {pipe: _Sides([], {}) for pipe in self.pipes}

    def plans(self) -> dict[Value, Plan]:
        for task in self.tasks:
            for op in walk_task(task.region):
                if op.name in _WRITING or op.name in _READING:
                    self._note(task, op)
        plans = {pipe: self._plan(op) for pipe, op in self.pipes.items()}
        plans |= self._by_groups(plans)
        for pipe, plan in plans.items():
            if self.pipes[pipe].attrs.get("restarts") and plan.pending is None:
                raise InternalError("a ring that begins anew has barriers, which go on", pipe.span)
        return plans

    def _by_groups(self, plans: dict[Value, Plan]) -> dict[Value, Plan]:
        """The pipes that need no barriers of their own."""
        found: dict[Value, Plan] = {}
        for task in self.tasks:
            own = {
                pipe: op
                for pipe, op in self.pipes.items()
                if not plans[pipe].is_closed and TMA not in plans[pipe].transports and self._users(pipe) == {task.region}
            }
            copying = {pipe for pipe in own if CP_ASYNC in plans[pipe].transports}
            for pipe, pending in pending_groups(task, own, copying, self.roots).items():
                transports = plans[pipe].transports
                commit = (GROUP,) if pipe in copying else ()
                nothing: MappingProxyType[Op, tuple[Value, int | None]] = MappingProxyType({})
                kept = MappingProxyType(pending if pipe in copying else {})
                found[pipe] = Plan(transports, 0, 0, False, commit, (), nothing, kept)
        return found

    def _users(self, pipe: Value) -> set[Region]:
        """Regions of the tasks that use a pipe."""
        side = self.sides[pipe]
        return {task.region for uses in (side.writing, *side.reading.values()) for task, _ in uses}

    def _note(self, task: Task, op: Op) -> None:
        pipe = pipe_of(op, self.roots)
        if pipe is None:
            raise NotSupported(
                "which pipe this works on depends on run-time values",
                op.span,
                help="use each pipe by its own endpoints; an `if` on a constant chooses at compile time",
            )
        side = self.sides[pipe]
        if op.name in _WRITING:
            side.writing.append((task, op))
        else:
            side.reading.setdefault(op.attrs.get("reader"), []).append((task, op))

    def _plan(self, op: Op) -> Plan:
        pipe, side = op.result, self.sides[op.result]
        label = _label(op)
        writer = _one_task(
            side.writing, f"{label} is written", "a pipe has one writer: make one pipe for each task that writes"
        )
        _check_published(label, side)
        is_closed = any(o.name == "pipe_close" for _, o in side.writing)
        transports, copies = self._transports(pipe, side, writer)
        announced = TMA in transports and all(size is not None for _, size in copies.values())
        if TMA in transports and not self._all_copy(side, copies):
            announced = False
        if not announced:
            copies = {copy: (stage, None) for copy, (stage, _) in copies.items()}
        few: dict[str | None, str] = {}
        if not is_closed:
            few = released_by_few(self.roots, self._fields(pipe), writer, side.reading)
        sharings = tuple(dict.fromkeys(shared for copy in copies if (shared := sharing(copy)) is not None))
        threads = WARP_THREADS * (writer.warps if writer is not None else 1)
        full = threads * ((PLAIN in transports) + (CP_ASYNC in transports))
        # The thread that issues copies arrives as it announces all bytes of a stage, or, where it adds those of each copy,
        # behind them: with all other threads if these arrive, too.
        issuer = TMA in transports and (announced or not full)
        full += issuer
        commit = [THREADS] * (PLAIN in transports) + [COPIES] * (CP_ASYNC in transports)
        close = [THREADS] * (PLAIN in transports) + [THREADS] * (CP_ASYNC in transports) + [ELECTED] * issuer
        return Plan(
            transports=transports,
            full=full,
            empty=0 if op.attrs["one_shot"] else self._empty(op, side, few, num_peers(sharings)),
            is_closed=is_closed,
            commit=tuple(commit + [ELECTED] * (issuer and not announced)),
            close=tuple(close),
            copies=MappingProxyType(copies),
            few=MappingProxyType(few),
            sharings=sharings,
        )

    def _empty(self, op: Op, side: _Sides, few: Mapping[str | None, str], peers: int) -> int:
        """Each thread of each reader arrives once; a reader that is declared and never used leaves one arrival out.

        Of readers in `few` one thread of each warpgroup or warp does. Where CTAs fill stages together, each warp or
        warpgroup arrives once for each reader of each of them.
        """
        total = 0
        for reader in op.attrs["readers"] or (None,):
            who = _label(op) if reader is None else f"reader `{reader}` of {_label(op)}"
            help_ = "name a reader for each task, tle.pipe(..., readers=(...)), and make endpoints by r.reader(name)"
            task = _one_task(side.reading.get(reader, []), f"{who} is used", help_)
            if task is None:
                total += 1
            else:
                by_warps = peers > 1 or few.get(reader) == WARPS
                alone = task.warps if by_warps else WARP_THREADS * task.warps
                total += task.warps // WARPGROUP_WARPS if few.get(reader) == WARPGROUPS else alone
        return total * peers

    # ---- transports -------------------------------------------------------------------------------------------------

    def _transports(
        self, pipe: Value, side: _Sides, writer: Task | None
    ) -> tuple[tuple[str, ...], dict[Op, tuple[Value, int | None]]]:
        """How slots are filled, and what is announced in front of which copy of the copy engine."""
        acquires = [op for _, op in side.writing if op.name == "pipe_acquire"]
        own = frozenset(acquires)
        found: set[str] = set()
        by_acquire: dict[Op, list[Op]] = {op: [] for op in acquires}
        writers = {id(task.region): task for task, _ in side.writing}
        for task in writers.values():
            touched = self._touched_slots(task)
            for op in walk_task(task.region):
                if op.name == "tma_load" and op.attrs["completion"] == "blocking":
                    buffer = tensor_copy(op).buffer
                    makers = self.slots.hand_outs(buffer)
                    is_own = len(makers) == 1 and makers <= own and not (set(self.slots.of(buffer)) & touched)
                    if is_own and self.stages.may_fly(op, buffer, task):
                        by_acquire[next(m for m in makers if m is not None)].append(op)
                        found.add(TMA)
                        continue
                for effect in effects(op, self.roots):
                    transport = self._transport(effect, pipe, own)
                    if transport is not None:
                        found.add(transport)
        copies = self._announced(by_acquire)
        order = (PLAIN, CP_ASYNC, TMA)
        return tuple(t for t in order if t in found) or (PLAIN,), copies

    def _touched_slots(self, task: Task) -> set[Value | None]:
        """Slots that a task reads or writes by ordinary instructions, but for what these do instead of the copy engine."""
        touched: set[Value | None] = set()
        substitutes = {
            inner
            for op in walk_task(task.region)
            if op.name == "if" and op.attrs.get("is_substitute")
            for inner in walk(op.regions[1])
        }
        for op in walk_task(task.region):
            if op in substitutes:
                continue
            for effect in effects(op, self.roots):
                if effect.is_shared and not effect.is_scratch and effect.proxy == "generic" and not effect.is_async:
                    touched |= set(self._slots_in(effect))
        return touched

    def _slots_in(self, effect: Effect) -> tuple[Value | None, ...]:
        place = effect.pointer or effect.buffer
        return self.slots.of(place) if place is not None else (effect.root,)

    def _transport(self, effect: Effect, pipe: Value, own: frozenset[Op]) -> str | None:
        """What an access of the writer's task makes of its commits; None when they have nothing to do with it."""
        if effect.root in self.staging:
            return None  # a tile on its way to global memory, which no other task knows of
        if not effect.is_shared or effect.is_scratch or (effect.proxy != "generic" and effect.op.name != "tma_load"):
            return None
        makers = frozenset(self.slots.makers.get(slot) if slot is not None else None for slot in self._slots_in(effect))
        if effect.is_async and effect.op.name == "cp_async":
            return CP_ASYNC if makers & own else None
        if makers & own or None in makers:
            return PLAIN
        fields = set(self._fields(pipe))
        others = [p for p in (pipe_of(m, self.roots) for m in makers if m is not None) if p is not None]
        # What the same task reads of this pipe its releases order; pipes over the same buffer may count on each other.
        return PLAIN if any(p is not pipe and fields & set(self._fields(p)) for p in others) else None

    def _fields(self, pipe: Value) -> tuple[Value | None, ...]:
        return tuple(root for field in self.pipes[pipe].operands for root in self.roots.of(field))

    def _announced(self, by_acquire: dict[Op, list[Op]]) -> dict[Op, tuple[Value, int | None]]:
        """For the first copy of each stage all bytes that come to it, where every path brings the same."""
        places = _places(self.kernel.body)
        copies: dict[Op, tuple[Value, int | None]] = {}
        for acquire, loads in by_acquire.items():
            stage = acquire.operands[1]
            is_constant = all(places[load] is places[acquire] for load in loads)
            for number, load in enumerate(loads):
                total = sum(_moved_bytes(each) for each in loads) if number == 0 else 0
                copies[load] = (stage, total if is_constant else None)
        return copies

    def _all_copy(self, side: _Sides, copies: dict[Op, tuple[Value, int | None]]) -> bool:
        """Whether every acquire is followed by copies, which then make the arrival that a stage needs."""
        acquires = {op for _, op in side.writing if op.name == "pipe_acquire"}
        filled = {m for copy in copies for m in self.slots.hand_outs(tensor_copy(copy).buffer)}
        return acquires <= filled


def _places(region: Region) -> dict[Op, Region]:
    """The region that each operation stands in."""
    found: dict[Op, Region] = {}

    def visit(inner: Region) -> None:
        for op in inner.ops:
            found[op] = inner
            for each in op.regions:
                visit(each)

    visit(region)
    return found


def _moved_bytes(load: Op) -> int:
    """Bytes that the copy engine brings, those that fill in for what lies outside of the tensor included."""
    block: tuple[int, ...] = load.attrs["block"]
    return math.prod(block) * tensor_copy(load).buffer_type.element.bytes


def _check_published(label: str, side: _Sides) -> None:
    """Refuse waits for stages that nothing publishes: without a commit, who arrives for a stage has no place to do so."""
    if any(op.name in ("pipe_commit", "pipe_close") for _, op in side.writing):
        return
    for _, op in (use for uses in side.reading.values() for use in uses):
        if op.name == "pipe_wait":
            raise SynchronizationError(
                f"this waits for a stage of {label}, and nothing commits one",
                op.span,
                help="the writer calls `commit(i)` behind what it puts into the slot that `acquire(i)` returned",
            )


def _label(op: Op) -> str:
    name = op.attrs.get("name") or op.result.name
    return f"pipe `{name}`" if name else "the pipe"


def _one_task(uses: Sequence[tuple[Task, Op]], what: str, help_: str) -> Task | None:
    """The task that does all of this; None when nobody does.

    Tasks of specialisations one after the other may take turns when they have as many warps.
    """
    if not uses:
        return None
    known: dict[Task, Op] = {}
    for task, again in uses:
        for other, op in known.items():
            if task.user.may_follow(other.user):
                continue
            names = other.name if other.name == task.name else f"{other.name} and {task.name}"
            facts = (f"{other.name}: {op.span.short()}{_call(op)}", f"{task.name}: {again.span.short()}{_call(again)}")
            raise SynchronizationError(f"{what} by two tasks: {names}", again.span, facts, help_)
        known.setdefault(task, again)
    return uses[0][0]


def _call(op: Op) -> str:
    """Where the function of an operation is called from, the outermost call."""
    span = op.span.call_site
    while span is not None and span.call_site is not None:
        span = span.call_site
    return f", called from {span.short()}" if span is not None else ""


# ---- the kernel, changed --------------------------------------------------------------------------------------------


class _Apply(Rewriter):
    def __init__(self, plans: dict[Value, Plan]) -> None:
        super().__init__()
        self.plans = plans
        self.full: dict[Value, Value] = {}
        self.pending = {op: n for plan in plans.values() for op, n in (plan.pending or {}).items()}
        self.pipe_of_copy = {copy: pipe for pipe, plan in plans.items() for copy in plan.copies}

    def visit(self, op: Op) -> None:
        if op.name == "pipe":
            self._pipe(op)
        elif op.name in ("pipe_commit", "pipe_close"):
            plan = self.plans[op.operands[0]]
            arrivals = plan.commit if op.name == "pipe_commit" else plan.close
            self.copy(_with(op, arrivals=arrivals))
        elif op.name == "pipe_release" and (few := self.plans[op.operands[0]].few.get(op.attrs.get("reader"))):
            self.copy(_with(op, arrivals=(few,)))
        elif op.name == "pipe_release" and self.plans[op.operands[0]].sharings:
            self.copy(_with(op, arrivals=(WARPS,)))
        elif op in self.pending:
            self.copy(_with(op, pending=self.pending[op]))
        elif op in self.pipe_of_copy:
            self._copy(op)
        else:
            self.copy(op)

    def _pipe(self, op: Op) -> None:
        plan = self.plans[op.result]
        if plan.pending is not None:
            self.copy(_with(op, transports=plan.transports, is_closed=False, in_groups=True))
            return
        type_ = op.result.type
        assert isinstance(type_, PipeType)
        name = str(op.attrs.get("name") or op.result.name or "pipe")
        storage = [self._barriers(op, f"{name}_full", type_.capacity, plan.full)]
        self.full[op.result] = storage[0]
        if plan.empty:
            storage.append(self._barriers(op, f"{name}_empty", type_.capacity, plan.empty))
        if plan.is_closed:
            attrs = {"name": f"{name}_closed", "closed_flags": True}
            flags = make_op("alloc", (), (BufferType((type_.capacity,), I32),), attrs, span=op.span)
            storage.append(self.emit(flags).result)
        attrs = {**op.attrs, "transports": plan.transports, "is_closed": plan.is_closed, "num_scratch": len(storage)}
        if plan.sharings:
            peers = tuple(" ".join(map(str, each.along)) for each in plan.sharings)
            attrs |= {"multicast": plan.sharings[0].shape, "peers": peers}
        operands = (*(self[v] for v in op.operands), *storage)
        self.emit(replace(op, operands=operands, attrs=MappingProxyType(attrs)))

    def _barriers(self, op: Op, name: str, count: int, arrivals: int) -> Value:
        attrs = {"name": name, "arrivals": arrivals, "init": "pending"}
        return self.emit(make_op("alloc_barriers", (), (BarrierType(count),), attrs, span=op.span, names=(name,))).result

    def _copy(self, op: Op) -> None:
        pipe = self.pipe_of_copy[op]
        stage, announced = self.plans[pipe].copies[op]
        attrs = {"completion": "pipe", "stage_bytes": announced or 0, "adds_bytes": announced is None}
        operands = (*(self[v] for v in op.operands), self.full[pipe], self[stage])
        self.emit(replace(_with(op, **attrs), operands=operands))


def _with(op: Op, **attrs: object) -> Op:
    return replace(op, attrs=MappingProxyType({**op.attrs, **attrs}))


__all__ = ["COPIES", "CP_ASYNC", "ELECTED", "GROUP", "PLAIN", "THREADS", "TMA", "run", "slots_of"]
