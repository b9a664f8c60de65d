"""Which meetings of partitions inside of loops and branches anyone could tell from none.

Where a `warp_specialize` stood in a loop or branch, all tasks meet in front of its partitions and behind them. A meeting
holds everybody up: a partition that copies the next tile could begin while others still work on this one. Pipes order by
themselves what goes through them, so a meeting is left out where nothing else is shared, and a task takes no part in it
where it shares nothing with those that do.

All tasks go through the same loops and branches, from one meeting to the next: a *phase*. What they do in one phase is
not ordered; what one does in a phase, and another in a later one, is ordered by the meetings between. The analysis walks
over the phases with the set of *pending* ones: what some task has done and another need not know of yet. Two phases that
conflict and are pending for each other are a fault; meetings are dropped as long as there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tle2cuda.analysis.slots import Slots
from tle2cuda.errors import InternalError
from tle2cuda.ir.effects import READ, Effect, Roots, effects
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.rewrite import Rewriter
from tle2cuda.targets import WARP_THREADS

MEETING = "meeting"
"""Attribute of a `named_barrier` at which partitions meet: what for."""

_SEEN_OUTSIDE = frozenset("atomic_rmw atomic_cas asm_block grid_dependency cluster_barrier grid_barrier".split())
_WRITING = frozenset(("pipe_acquire", "pipe_commit", "pipe_close"))
_READING = frozenset(("pipe_wait", "pipe_release"))
_DEFAULT = 0  # number of the task of the default warps


def is_meeting(op: Op) -> bool:
    """Whether an operation is a barrier that the compiler put between partitions."""
    return op.name == "named_barrier" and MEETING in op.attrs


def without_idle_meetings(kernel: Kernel) -> Kernel:
    """Drop meetings that nobody could miss, and take tasks out of those that they need no part in."""
    number = 1 + max((op.attrs["number"] for op in walk(kernel.body) if op.name == "named_barrier"), default=-1)
    numbers: dict[tuple[Op, frozenset[int]], int] = {}  # of barriers among some tasks
    changed: dict[Op, Op | None] = {}
    for site in kernel.body.ops:
        if site.name != "warp_specialize" or not any(is_meeting(op) for op in walk(site.regions[0])):
            continue
        phases = _Phases(kernel, site)
        everybody = frozenset(range(len(site.regions)))
        for meeting, parts in phases.fewest().items():
            for task, op in enumerate(meeting):
                if task not in parts:
                    changed[op] = None
                elif parts != everybody:
                    known = numbers.setdefault((site, parts), number + len(numbers))
                    changed[op] = _among(op, site, sorted(parts), known)
    return _Changed(changed).kernel(kernel)


def _among(op: Op, site: Op, parts: Sequence[int], number: int) -> Op:
    """A meeting of some tasks."""
    names = tuple(site.attrs["names"][each] for each in parts)
    threads = WARP_THREADS * sum(site.attrs["warps"][each] for each in parts)
    return replace(op, attrs=MappingProxyType({**op.attrs, "number": number, "threads": threads, "names": names}))


class _Changed(Rewriter):
    """Exchanges or drops operations."""

    def __init__(self, changed: Mapping[Op, Op | None]) -> None:
        super().__init__()
        self.changed = changed

    def visit(self, op: Op) -> None:
        new = self.changed.get(op, op)
        if new is not None:
            self.copy(new)


_Meeting = tuple[Op, ...]
"""The barriers of all tasks that are one meeting, by number of the task."""


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """What one task does in one phase."""

    task: int
    ops: tuple[Op, ...]


@dataclass(slots=True, eq=False)
class _Stretch:
    """What all tasks do between two places where their regions have the same operation, and that operation.

    Attributes:
        parts: By number of the task.
        meeting: The meeting behind, if it is one.
        loop: The loop or branch behind, if it is one: its name, and the regions in turn.
    """

    parts: tuple[_Part, ...]
    meeting: _Meeting | None = None
    loop: str = ""
    inner: tuple[tuple[_Stretch, ...], ...] = ()


Pending = frozenset[tuple[int, _Part]]
"""Pairs of a task and what another did that it need not know of yet."""


class _Phases:
    """The phases of one `warp_specialize`, and which meetings they need."""

    def __init__(self, kernel: Kernel, site: Op) -> None:
        self.site = site
        self.roots = Roots(kernel)
        self.slots = Slots(kernel)
        self.tasks = range(len(site.regions))
        self.pipes = {op.result: op for op in walk(kernel.body) if op.name == "pipe"}
        self.safe_pipes = self._safe_pipes(site)
        self.body = self._stretches(site.regions)
        self._uses: dict[_Part, _Uses] = {}
        self._conflicts: dict[tuple[_Part, _Part], bool] = {}

    # ---- structure ----

    def _stretches(self, regions: Sequence[Region]) -> tuple[_Stretch, ...]:
        """Cut the regions of all tasks at the meetings, loops and branches that they have in common."""
        cut = [_cut(region) for region in regions]
        found = []
        for position, (_, mark) in enumerate(cut[_DEFAULT]):
            parts = tuple(_Part(task, each[position][0]) for task, each in enumerate(cut))
            marks = [each[position][1] for each in cut]
            stretch = _Stretch(parts)
            if mark is not None and is_meeting(mark):
                stretch.meeting = tuple(op for op in marks if op is not None)
            elif mark is not None:
                stretch.loop = mark.name
                inner = zip(*(op.regions for op in marks if op is not None), strict=True)
                stretch.inner = tuple(self._stretches(each) for each in inner)
            found.append(stretch)
        return tuple(found)

    def meetings(self, body: Iterable[_Stretch]) -> Iterable[_Meeting]:
        """All meetings, in program order."""
        for stretch in body:
            if stretch.meeting is not None:
                yield stretch.meeting
            for inner in stretch.inner:
                yield from self.meetings(inner)

    # ---- the fewest meetings ----

    def fewest(self) -> Mapping[_Meeting, frozenset[int]]:
        """Who takes part in each meeting; nobody in those that are left out."""
        everybody = frozenset(self.tasks)
        parts = dict.fromkeys(self.meetings(self.body), everybody)
        if not self._is_safe(parts):
            raise InternalError("partitions are not kept apart although all of them meet", self.site.span)
        for meeting in parts:  # those in front of partitions first: behind one, workers may go on to the next tile
            self._try(parts, meeting, frozenset())
        for meeting in parts:
            for task in sorted(parts[meeting], reverse=True):
                if len(parts[meeting]) > 2:
                    self._try(parts, meeting, parts[meeting] - {task})
        return parts

    def _try(self, parts: dict[_Meeting, frozenset[int]], meeting: _Meeting, fewer: frozenset[int]) -> None:
        before = parts[meeting]
        parts[meeting] = fewer
        if not self._is_safe(parts):
            parts[meeting] = before

    def _is_safe(self, parts: Mapping[_Meeting, frozenset[int]]) -> bool:
        flow = _Flow(self, parts)
        flow.run(self.body, frozenset())
        return flow.is_safe

    # ---- conflicts ----

    def conflict(self, earlier: _Part, later: _Part) -> bool:
        """Whether it can be told that one task's phase comes before another's."""
        found = self._conflicts.get((earlier, later))
        if found is None:
            found = self._conflicts[earlier, later] = self.uses(earlier).precede(self.uses(later))
        return found

    def uses(self, part: _Part) -> _Uses:
        """What a task does in a phase."""
        found = self._uses.get(part)
        if found is None:
            found = self._uses[part] = _Uses()
            for op in walk(Region((), part.ops)):
                self._note(op, found)
        return found

    def _note(self, op: Op, uses: _Uses) -> None:
        if op.name in _SEEN_OUTSIDE or op.attrs.get("volatile"):
            uses.is_seen_outside = True
        if op.name in ("mbarrier_wait", "mbarrier_arrive"):
            uses.write(*self.roots.of(op.operands[0]))
        elif op.name == "tma_load" and op.attrs["completion"] == "barrier":
            uses.write(*(root for v in op.operands[-2:-1] for root in self.roots.of(v)))
        elif op.name == "named_barrier":
            uses.numbers.add(op.attrs["number"])
        elif op.name in _WRITING or op.name in _READING:
            for pipe in self.roots.of(op.operands[0]):
                if pipe not in self.safe_pipes:
                    uses.write(pipe)
        for effect in effects(op, self.roots):
            if effect.is_shared and self._through_pipes(effect):
                uses.slots_accessed.add(effect.root)
                if effect.kind != READ:
                    uses.slots_written.add(effect.root)
                continue
            if not effect.is_shared:
                uses.touches_global = True
            (uses.read if effect.kind == READ else uses.write)(effect.root)

    def _through_pipes(self, effect: Effect) -> bool:
        """Whether an access goes to slots of pipes that order it by themselves."""
        place = effect.pointer or effect.buffer
        if place is None:
            return False
        makers = self.slots.hand_outs(place)
        pipes = {pipe for maker in makers if maker is not None for pipe in self.roots.of(maker.operands[0])}
        return bool(makers) and None not in makers and pipes <= self.safe_pipes

    def _safe_pipes(self, site: Op) -> frozenset[Value | None]:
        """Pipes that order what goes through them by themselves, also from one entry to the next.

        Each end belongs to one task, stages are waited for before they are filled again, and no other pipe has the buffers.
        """
        ends: dict[tuple[Value | None, str | None], set[int]] = {}
        for task, region in enumerate(site.regions):
            for op in walk(region):
                if op.name in _WRITING or op.name in _READING:
                    end = "writer" if op.name in _WRITING else f"reader {op.attrs.get('reader')}"
                    for pipe in self.roots.of(op.operands[0]):
                        ends.setdefault((pipe, end), set()).add(task)
        shared = {pipe for (pipe, _), tasks in ends.items() if len(tasks) > 1}
        fields: dict[Value | None, set[Value]] = {}
        for pipe, op in self.pipes.items():
            for operand in op.operands:
                for root in self.roots.of(operand):
                    fields.setdefault(root, set()).add(pipe)
        several = {pipe for pipes in fields.values() if len(pipes) > 1 for pipe in pipes}
        once = {pipe for pipe, op in self.pipes.items() if op.attrs["one_shot"]}
        return frozenset(self.pipes) - shared - several - once


@dataclass(slots=True)
class _Uses:
    """What is done in a phase, as far as others could tell.

    Attributes:
        accessed: Allocations and arguments that are read or written; None for memory through unknown pointers.
        written: Those that are written.
        slots_accessed: Allocations of which slots of pipes are accessed that order it by themselves.
        slots_written: The same, written.
        numbers: Named barriers.
        touches_global: Whether global memory is accessed.
        is_seen_outside: Whether other CTAs may learn of it.
    """

    accessed: set[Value | None] = field(default_factory=set)
    written: set[Value | None] = field(default_factory=set)
    slots_accessed: set[Value | None] = field(default_factory=set)
    slots_written: set[Value | None] = field(default_factory=set)
    numbers: set[int] = field(default_factory=set)
    touches_global: bool = False
    is_seen_outside: bool = False

    def read(self, *roots: Value | None) -> None:
        """Note reads."""
        self.accessed.update(roots)

    def write(self, *roots: Value | None) -> None:
        """Note writes, or changes of barriers."""
        self.accessed.update(roots)
        self.written.update(roots)

    def precede(self, later: _Uses) -> bool:
        """Whether it can be told that this comes before what another task does later."""
        if (later.is_seen_outside and (self.touches_global or self.is_seen_outside)) or (
            self.is_seen_outside and later.touches_global
        ):
            return True  # others may take it for a sign, or give one
        if self.numbers & later.numbers:
            return True
        return (
            _overlap(self.written, later.accessed | later.slots_accessed)
            or _overlap(self.accessed, later.written | later.slots_written)
            or _overlap(self.slots_written, later.accessed)
            or _overlap(self.slots_accessed, later.written)
        )


def _overlap(written: set[Value | None], accessed: set[Value | None]) -> bool:
    if not written or not accessed:
        return False
    return None in written or None in accessed or not written.isdisjoint(accessed)


def _cut(region: Region) -> list[tuple[tuple[Op, ...], Op | None]]:
    """Operations up to each meeting, or loop or branch that holds meetings, and that; the last without one."""
    found: list[tuple[tuple[Op, ...], Op | None]] = []
    ops: list[Op] = []
    for op in region.ops:
        if is_meeting(op) or any(is_meeting(inner) for each in op.regions for inner in walk(each)):
            found.append((tuple(ops), op))
            ops = []
        else:
            ops.append(op)
    return [*found, (tuple(ops), None)]


class _Flow:
    """One walk over the phases, with who takes part in which meeting."""

    def __init__(self, phases: _Phases, parts: Mapping[_Meeting, frozenset[int]]) -> None:
        self.phases = phases
        self.parts = parts
        self.is_safe = True

    def run(self, body: Iterable[_Stretch], pending: Pending) -> Pending:
        """What is pending behind some stretches."""
        for stretch in body:
            pending = self._phase(stretch, pending)
            if stretch.meeting is not None:
                pending = self._met(self.parts[stretch.meeting], pending)
            elif stretch.loop == "if":
                arms = [self.run(inner, pending) for inner in stretch.inner]
                pending = arms[0] | arms[1]
            elif stretch.loop:
                pending = self._loop(stretch, pending)
        return pending

    def _loop(self, stretch: _Stretch, pending: Pending) -> Pending:
        start = pending
        while True:
            end = tested = self.run(stretch.inner[0], start)
            if stretch.loop == "while":
                end = self.run(stretch.inner[1], tested)
            if end <= start:
                return start if stretch.loop == "for" else tested
            start |= end

    def _phase(self, stretch: _Stretch, pending: Pending) -> Pending:
        for task, earlier in pending:
            if self.phases.conflict(earlier, stretch.parts[task]):
                self.is_safe = False
        new = {(task, part) for part in stretch.parts if part.ops for task in self.phases.tasks if task != part.task}
        return pending | new

    def _met(self, parts: frozenset[int], pending: Pending) -> Pending:
        """Who takes part knows of what the others did, and of what they knew of."""
        known: dict[_Part, set[int]] = {}
        for task, part in pending:
            known.setdefault(part, set()).add(task)
        kept: set[tuple[int, _Part]] = set()
        for part, ignorant in known.items():
            # Whoever did it, or knows of it, tells all.
            is_told = part.task in parts or any(task not in ignorant for task in parts if task != part.task)
            kept.update((task, part) for task in ignorant if not (is_told and task in parts))
        return frozenset(kept)
