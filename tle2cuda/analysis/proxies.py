"""Where the copy engine needs fences and waits: ordinary accesses and its own go through different proxies.

Beside barriers (`tle2cuda.analysis.placement`) three things order accesses to shared memory with tensor copies:

- What threads wrote becomes known to the copy engine by a `proxy_fence` that each of them makes behind its writes, and a
  barrier behind that; or, where another task starts the copy, by whatever tells that task that it may. What threads
  read needs the same before the copy engine overwrites it: an arrival alone may overtake loads that are queued
  (measured on an H200).
- A `tma_store` reads its buffer until the thread that started it has waited (`tma_store_wait`); a barrier then tells
  the others of its task, an arrival those of other tasks. The CTA must not exit before.
- What `cp_async` wrote counts from the `cp_async_wait` on.

The same holds of global memory that the copy engine accesses and somebody writes, where boxes of tensors are not known to
be apart (`tle2cuda.analysis.box_order`): a store is then followed by a wait until it has written, before other accesses.

Given the barriers, fences and waits are tried at all places in front of a barrier, an arrival or the access itself, and
dropped as long as nothing is left unordered, the most expensive and earliest first: few remain, as late as possible.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Sequence_
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tle2cuda.analysis.accesses import Access
from tle2cuda.analysis.hazards import ARRIVALS, Hazards, Item, Position, Sequence, bits
from tle2cuda.analysis.placement import weight
from tle2cuda.analysis.store_groups import pending_groups
from tle2cuda.analysis.tasks import Task, Uses, tasks, uses_of_task, walk_task
from tle2cuda.ir.effects import ATOMIC, READ, WRITE, effects, is_barrier, is_product
from tle2cuda.ir.nodes import DIVIDES, Kernel, Op, Value
from tle2cuda.ir.types import TileType

Places = frozenset[Position]
NEEDS_FENCE, NEEDS_WAIT, NEEDS_BARRIER, NEEDS_COPIES = "fence", "wait", "barrier", "copies"


class _State(NamedTuple):
    """Sets of accesses, as masks.

    Attributes:
        unfenced: Ordinary accesses without a fence behind them.
        fenced: Ordinary accesses with a fence, and no barrier behind that.
        reading: Stores by the copy engine that may still read.
        waited: Those that thread 0 has waited for, and no barrier told the others.
        flying: Writes of `cp_async` that nobody has waited for.
    """

    unfenced: int = 0
    fenced: int = 0
    reading: int = 0
    waited: int = 0
    flying: int = 0

    def joined(self, other: _State) -> _State:
        """What holds on either of two paths."""
        return _State(*(a | b for a, b in zip(self, other, strict=True)))

    def crossing(self, stay: int, count: int) -> _State:
        """In the next iteration of a loop: see `_Global`."""
        return self._replace(
            unfenced=_crossed(self.unfenced, stay, count),
            fenced=_crossed(self.fenced, stay, count),
            reading=_crossed(self.reading, stay, count),
            waited=_crossed(self.waited, stay, count),
        )

    def behind_copies(self) -> _State:
        return self._replace(unfenced=self.unfenced | self.flying, flying=0)

    def behind_barrier(self) -> _State:
        return self._replace(fenced=0, waited=0)

    def behind_fence(self, by: int) -> _State:
        """Behind a fence of the threads that make the accesses `by`."""
        return self._replace(fenced=self.fenced | (self.unfenced & by), unfenced=self.unfenced & ~by)

    def behind_wait(self) -> _State:
        return self._replace(waited=self.waited | self.reading, reading=0)


@dataclass(frozen=True, slots=True)
class Placed:
    """What a task needs for the copy engine.

    Attributes:
        fences: Places of proxy fences, with the accesses each is there for.
        waits: Places where thread 0 waits for its stores to have read; the same.
        copies: Places where threads wait for their `cp_async`, because others will have the engine read what these write.
        barriers: Further barriers, where those that there are stand in front of every possible fence.
        pending: How many stores that came later may stay in flight at a wait, where that is more than 0.
    """

    fences: Mapping[Position, tuple[Access, ...]]
    waits: Mapping[Position, tuple[Access, ...]]
    copies: Places
    barriers: Places
    pending: Mapping[Position, int] = field(default_factory=dict)


_NOTHING = Placed({}, {}, frozenset(), frozenset())


def place_proxies(hazards: Hazards, barriers: Iterable[Position]) -> tuple[Placed, Placed]:
    """Fences and waits of one task, given its barriers: for global memory, and for shared memory.

    A wait until stores have written is one until they have read, too.
    """
    given = frozenset(barriers)
    around = _Global(hazards, given)
    outside = around.place() if around.is_concerned else _NOTHING
    within = _Shared(hazards, given | outside.barriers, frozenset(outside.waits))
    if not within.is_concerned:
        return outside, _NOTHING
    placed = within.place()
    kinds = {**dict.fromkeys(placed.waits, "read"), **dict.fromkeys(outside.waits, "all")}
    stores = [access for access in within.engines if access.effect.kind == READ]
    pending = pending_groups(
        hazards,
        kinds,
        stores,
        within.read_before,
        lambda op: within.told(op)[1],
        barriers=given | outside.barriers | placed.barriers,
        by_thread_0=within.by_thread_0,
    )
    return outside, replace(placed, pending=pending)


def unsettled_roots(kernel: Kernel, overlay: Iterable[Value], task: Task | None = None) -> Mapping[Value, frozenset[Value]]:
    """For allocations of one task that could share bytes: with which others that would need a further fence or wait."""
    candidates = list(overlay)
    hazards = Hazards(kernel, candidates, task)
    through_async = {access.effect.root for access in hazards.accesses if access.effect.proxy == "async"}
    engines = [root for root in candidates if root in through_async]
    if not engines or not _lacks_any(hazards):
        return {}
    found: dict[Value, set[Value]] = {root: set() for root in candidates}
    for a in engines:
        for b in candidates:
            if a is not b and b not in found[a] and _lacks_any(Hazards(kernel, [a, b], task)):
                found[a].add(b)
                found[b].add(a)
    return {root: frozenset(others) for root, others in found.items()}


def _lacks_any(hazards: Hazards) -> bool:
    """Whether fences or waits are missing in shared memory, given the barriers that are in the kernel."""
    _, within = place_proxies(hazards, ())
    return bool(within.fences or within.waits or within.copies or within.barriers)


class _Proxies:
    """Accesses of one task, and what must stand between them.

    Attributes:
        space: Kind of memory.
        writes: Ordinary writes.
        loads: Ordinary loads.
        copies: Writes by `cp_async`, in flight until somebody waits.
        reads: Stores by the copy engine that are waited for: as they read shared memory, or write global memory.
        by_thread_0: Accesses that thread 0 alone makes.
        fenced_from: For each access, what must be fenced from the copy engine.
        read_before: For each access, the stores that must be waited for.
    """

    space = "shared"

    def __init__(self, hazards: Hazards, barriers: Places, waited: Places = frozenset()) -> None:
        self.hazards = hazards
        self.barriers = barriers
        self.waited = waited
        self.landings: Places = frozenset()
        self.own = uses_of_task(hazards.task, hazards.memory.roots)
        self.others = hazards.memory.others[hazards.task.region]
        self.accesses = [a for a in hazards.accesses if a.effect.kind in (READ, WRITE, ATOMIC) and self.concerns(a)]
        self.engines = [a for a in self.accesses if a.effect.proxy == "async" and not is_product(a.effect)]
        generic = [a for a in self.accesses if a.effect.proxy == "generic"]  # and scratch: a ring may share its bytes
        self.writes = _mask(a for a in generic if a.effect.kind != READ)
        self.loads = _mask(a for a in generic if a.effect.kind == READ)
        self.by_thread_0 = self.spread(_mask(a for a in self.accesses if a.effect.one_thread))
        self.copies, self.reads = self._of_engines()
        self.fenced_from: dict[int, int] = {}
        self.read_before: dict[int, int] = {}
        self.is_concerned = self._asks(generic)

    # What differs between the kinds of memory.

    def concerns(self, access: Access) -> bool:
        """Whether an access is to this kind of memory."""
        raise NotImplementedError

    def spread(self, mask: int) -> int:
        """The accesses of a mask, however many iterations ago they were made."""
        return mask

    def crossing(self, item: Item, state: _State) -> _State:
        """The state in the next iteration of a loop."""
        return state

    def told(self, op: Op | None) -> tuple[int, int]:
        """Accesses that a fence, and stores that a wait, must follow before other tasks are told."""
        raise NotImplementedError

    def meets_others(self, op: Op) -> bool:
        """Whether other CTAs may learn by an operation what this one did, or this one what they did."""
        return False

    def _of_engines(self) -> tuple[int, int]:
        """`copies` and `reads`."""
        raise NotImplementedError

    def _asks(self, generic: Sequence_[Access]) -> bool:
        """Find what must be ordered; returns whether anything might have to be."""
        raise NotImplementedError

    def is_for_thread_0(self, sequence: Sequence) -> bool:
        """Whether the ordinary accesses of a partition are all made by thread 0."""
        mine = 0
        for item in sequence.items:
            for step in item.steps:
                mine |= step or 0
            if any(not self.is_for_thread_0(part) for part in item.parts):
                return False
        return not mine & (self.writes | self.loads) & ~self.by_thread_0

    # ---- what arrivals must come behind ----

    def who_is_told(self, op: Op | None) -> Uses:
        """What those do to memory that an arrival, or the end of the task, lets go on."""
        site = self.hazards.task.site
        if op is None and site is not None and site.attrs.get(DIVIDES):
            return self.others.joined(self.own)  # the task may begin anew, all of its threads having met meanwhile
        return self.others

    def _at(self, roots: frozenset[Value | None], mask: int) -> int:
        if None in roots:
            return mask
        accesses = self.hazards.accesses
        return sum(1 << n for n in bits(mask) if accesses[n].effect.root in roots or accesses[n].effect.root is None)

    # ---- flow ----

    def is_safe(self, fences: Places, waits: Places) -> bool:
        """Whether given fences and waits leave nothing unordered."""
        return not self.missing(fences, waits)

    def missing(self, fences: Places, waits: Places) -> dict[tuple[Position, str], int]:
        """What is missing, by place and kind: the accesses that it is missing for."""
        found: dict[tuple[Position, str], int] = {}
        flow = _Flow(self, fences, waits, found)
        flow.run()
        return found

    # ---- placement ----

    def place(self) -> Placed:
        """All places, pruned."""
        fences = waits = self._candidates()
        given = self.barriers
        while True:
            missing = self.missing(fences, waits)
            barriers = {place for place, kind in missing if kind == NEEDS_BARRIER}
            copies = {place for place, kind in missing if kind == NEEDS_COPIES}
            if barriers <= self.barriers and copies <= self.landings:
                break
            self.barriers |= barriers
            self.landings |= copies
            fences, waits = fences | barriers, waits | barriers
        for place in self._order(self.landings):
            needed = self.landings
            self.landings = needed - {place}
            if not self.is_safe(fences, waits):
                self.landings = needed
        for place in self._order(self.barriers - given):
            needed = self.barriers
            self.barriers = needed - {place}
            if not self.is_safe(fences, waits):
                self.barriers = needed
        for place in self._order(waits):
            if self.is_safe(fences, waits - {place}):
                waits -= {place}
        for place in self._order(fences):
            if self.is_safe(fences - {place}, waits):
                fences -= {place}
        return Placed(
            {place: self._purpose(fences - {place}, waits) for place in sorted(fences)},
            {place: self._purpose(fences, waits - {place}) for place in sorted(waits)},
            self.landings,
            self.barriers - given,
        )

    def _purpose(self, fences: Places, waits: Places) -> tuple[Access, ...]:
        mask = 0
        for missing in self.missing(fences, waits).values():
            mask |= missing
        count = self.hazards.count
        return tuple(self.hazards.accesses[n] for n in sorted({n % count for n in bits(mask)}))

    def _order(self, places: Places) -> list[Position]:
        sequences = self.hazards.sequences
        return sorted(places, key=lambda place: (-weight(sequences[place[0]]), place))

    def _candidates(self) -> Places:
        found = set(self.barriers)
        for sequence in self.hazards.sequences:
            for number, item in enumerate(sequence.items):
                if self._may_need(item):
                    found.add((sequence.number, number))
        body = self.hazards.body
        found.add((body.number, len(body.items)))
        return frozenset(found)

    def _may_need(self, item: Item) -> bool:
        if item.op.name in ARRIVALS or item.op.name == "warp_specialize" or None in item.steps or is_barrier(item.op):
            return True
        if self.meets_others(item.op):
            return True
        return any(n in self.fenced_from or n in self.read_before for step in item.steps if step for n in bits(step))


class _Flow:
    """One walk over the code of a task with given barriers, fences and waits."""

    def __init__(self, proxies: _Proxies, fences: Places, waits: Places, found: dict[tuple[Position, str], int]) -> None:
        self.proxies = proxies
        self.hazards = proxies.hazards
        self.fences = fences
        self.waits = waits
        self.found = found
        self.fencing = -1  # accesses of the threads that a fence is made by here

    def run(self) -> None:
        """Walk, and look at what is left at the end."""
        body = self.hazards.body
        state = self.sequence(body, _State())
        end = (body.number, len(body.items))
        state = self.before(end, state)
        if self.proxies.space == "shared":
            self.note(end, NEEDS_WAIT, state.reading)
        if self.hazards.task.is_worker:
            unfenced, reads = self.proxies.told(None)
            self.note(end, NEEDS_FENCE, state.unfenced & unfenced)
            self.note(end, NEEDS_WAIT, state.reading & reads)

    def note(self, place: Position, kind: str, mask: int) -> None:
        if mask:
            self.found[place, kind] = self.found.get((place, kind), 0) | mask

    def before(self, place: Position, state: _State) -> _State:
        """The state behind what stands at a place."""
        if place in self.proxies.landings:
            state = state.behind_copies()
        if place in self.waits or place in self.proxies.waited:
            state = state.behind_wait()
        if place in self.fences:
            state = state.behind_fence(self.fencing)
        return state.behind_barrier() if place in self.proxies.barriers else state

    def sequence(self, sequence: Sequence, state: _State) -> _State:
        for number, item in enumerate(sequence.items):
            place = (sequence.number, number)
            state = self.item(item, place, self.before(place, state))
        return state

    def item(self, item: Item, place: Position, state: _State) -> _State:
        op = item.op
        if op.name == "if":
            then, other = (self.sequence(part, state) for part in item.parts)
            return then.joined(other)
        if op.name == "warp_specialize":
            self.tell(op, place, state)
            state = state.behind_barrier() if op.attrs.get("sync_before") else state
            for part in item.parts:
                if self.proxies.is_for_thread_0(part):  # which may then be all that runs it
                    self.fencing = self.proxies.by_thread_0
                state = self.sequence(part, state)
                self.fencing = -1
            return state.behind_barrier() if op.attrs.get("sync_behind") else state
        if item.is_loop:
            return self.loop(item, state)
        if op.name == "proxy_fence" and op.attrs["space"] == self.proxies.space:
            return state.behind_fence(self.fencing)
        if op.name == "tma_store_wait" and (op.attrs["kind"] == "all" or self.proxies.space == "shared"):
            return state if op.attrs.get("pending") else state.behind_wait()
        if op.name in ARRIVALS:
            self.tell(op, place, state)
        if self.proxies.meets_others(op):
            self.note(place, NEEDS_WAIT, state.reading)
            if not _is_by_thread_0(op):
                self.note(place, NEEDS_BARRIER, state.waited)
            state = state._replace(unfenced=state.unfenced | self.proxies.writes << 2 * self.hazards.count)
        for step in item.steps:
            state = state.behind_barrier() if step is None else self.step(step, place, state)
        if op.name == "cp_async_wait" or (op.name == "pipe_wait" and op.attrs.get("pending") is not None):
            landed = state.flying
            return state._replace(unfenced=state.unfenced | landed, flying=landed if op.attrs["pending"] else 0)
        kept = ~item.clears
        return state._replace(fenced=state.fenced & kept, waited=state.waited & kept, flying=state.flying & kept)

    def step(self, step: int, place: Position, state: _State) -> _State:
        """Accesses that run together."""
        proxies = self.proxies
        for number in bits(step):
            fenced_from = proxies.fenced_from.get(number, 0)
            self.note(place, NEEDS_FENCE, state.unfenced & fenced_from)
            is_thread_0s = bool(1 << number & proxies.by_thread_0)
            own = proxies.by_thread_0 if is_thread_0s else 0
            self.note(place, NEEDS_BARRIER, state.fenced & fenced_from & ~own)
            blocking = proxies.read_before.get(number, 0)
            self.note(place, NEEDS_WAIT, state.reading & blocking)
            if not is_thread_0s:
                self.note(place, NEEDS_BARRIER, state.waited & blocking)
        made = step & (proxies.writes | proxies.loads)
        return state._replace(
            unfenced=state.unfenced | (made & ~proxies.copies),
            flying=state.flying | (made & proxies.copies),
            reading=state.reading | (step & proxies.reads),
        )

    def tell(self, op: Op, place: Position, state: _State) -> None:
        """Other tasks are told that they may use what this one did."""
        if self.hazards.is_in_groups(op):
            return  # both ends are in this task
        unfenced, reads = self.proxies.told(op)
        self.note(place, NEEDS_FENCE, state.unfenced & unfenced)
        self.note(place, NEEDS_COPIES, state.flying & unfenced)
        self.note(place, NEEDS_WAIT, state.reading & reads)

    def loop(self, item: Item, state: _State) -> _State:
        entry = start = state
        while True:
            behind_first = end = self.sequence(item.parts[0], start)
            if item.op.name == "while":
                end = self.sequence(item.parts[1], behind_first)
            grown = start.joined(self.proxies.crossing(item, end))
            if grown == start:
                break
            start = grown
        if item.op.name == "while" or self.hazards.runs_at_least_once(item.op):
            return behind_first
        return entry.joined(behind_first)


class _Shared(_Proxies):
    """Shared memory."""

    space = "shared"

    def concerns(self, access: Access) -> bool:
        return access.effect.is_shared

    def _of_engines(self) -> tuple[int, int]:
        copies = _mask(a for a in self.accesses if a.effect.op.name == "cp_async")
        return copies, _mask(a for a in self.engines if a.effect.kind == READ)

    def _asks(self, generic: Sequence_[Access]) -> bool:
        has_products = any(is_product(a.effect) for a in self.accesses)
        if not self.engines and not has_products and not (self.others.through_async and (self.writes | self.loads)):
            return False

        def overlap(a: Access, b: Access) -> bool:
            return self.hazards.memory.may_overlap(a, b, is_stale=True)

        for b in self.accesses:
            if b.effect.proxy == "async":
                before = self.writes if b.effect.kind == READ else self.writes | self.loads
                self.fenced_from[b.number] = _mask(a for a in generic if 1 << a.number & before and overlap(a, b))
            if b.effect.kind != READ:
                self.read_before[b.number] = _mask(a for a in self.accesses if 1 << a.number & self.reads and overlap(a, b))
        return True

    def told(self, op: Op | None) -> tuple[int, int]:
        others = self.who_is_told(op)
        unfenced = self._at(others.through_async, self.writes) | self._at(others.filled, self.loads)
        reads = self._at(others.written, self.reads)
        if op is not None and op.name.startswith("pipe"):  # which this task may be the other end of
            own = self.hazards.through(op)
            unfenced |= own & (self._at(self.own.through_async, self.writes) | self._at(self.own.filled, self.loads))
            reads |= own & self.reads
        return unfenced, reads


class _Global(_Proxies):
    """Global memory that the copy engine accesses and somebody writes.

    An access belongs to one of three planes of a mask: made in the same iteration of all loops on which its box depends;
    in another one; or in any.
    """

    space = "global"

    def concerns(self, access: Access) -> bool:
        return not access.effect.is_shared and access.effect.root in self.hazards.memory.engines

    def spread(self, mask: int) -> int:
        count = self.hazards.count
        return mask | mask << count | mask << 2 * count

    def crossing(self, item: Item, state: _State) -> _State:
        stay = _mask(a for a in self.accesses if item.op not in self.hazards.memory.boxes.loops(a.effect.op))
        return state.crossing(stay, self.hazards.count)

    def _of_engines(self) -> tuple[int, int]:
        return 0, _mask(a for a in self.engines if a.effect.kind != READ)

    def _asks(self, generic: Sequence_[Access]) -> bool:
        if not self.engines and not (self.others.copied and (self.writes | self.loads)):
            return False
        stored = [a for a in self.engines if a.effect.kind != READ]
        for b in self.accesses:
            if b.effect.proxy == "async":
                before = [a for a in generic if a.effect.kind != READ or b.effect.kind != READ]
                self.fenced_from[b.number] = self._in_conflict(before, b)
            self.read_before[b.number] = self._in_conflict(stored, b)
        return True

    def _in_conflict(self, earlier: Iterable[Access], b: Access) -> int:
        """Which accesses may touch what a later one does, in which planes."""
        count, apart = self.hazards.count, self.hazards.memory.boxes.are_apart
        mask = 0
        for a in earlier:
            if not (a.effect.root is b.effect.root or a.effect.root is None or b.effect.root is None) or _commute(a, b):
                continue
            mask |= 1 << a.number + 2 * count
            for plane in (0, 1):
                if not apart(a.effect.op, b.effect.op, plane == 1):
                    mask |= 1 << a.number + plane * count
        return mask

    def meets_others(self, op: Op) -> bool:
        return self.hazards.memory.meets_others(op)

    def told(self, op: Op | None) -> tuple[int, int]:
        others = self.who_is_told(op)
        unfenced = self._at(others.copied, self.writes) | self._at(others.stored, self.loads)
        reads = self._at(others.accessed, self.reads)
        if others is self.others:
            reads &= ~self._unmet
        return self.spread(unfenced), self.spread(reads)

    @functools.cached_property
    def _unmet(self) -> int:
        """Stores whose boxes no other task ever touches."""
        memory, own = self.hazards.memory, self.hazards.task
        effects_of_others = [
            effect
            for task in tasks(memory.kernel)
            if task.region is not own.region
            for op in walk_task(task.region)
            for effect in effects(op, memory.roots)
            if not effect.is_shared
        ]

        def is_unmet(store: Access) -> bool:
            root = store.effect.root
            met = (e for e in effects_of_others if e.root is root or e.root is None)
            return root is not None and all(memory.boxes.never_meet(store.effect.op, e.op) for e in met)

        return _mask(a for a in self.accesses if 1 << a.number & self.reads and is_unmet(a))


def _is_by_thread_0(op: Op) -> bool:
    """Whether thread 0 does it, or all threads meet before it does anything."""
    return is_barrier(op) or (op.name in ("atomic_rmw", "atomic_cas") and not isinstance(op.operands[0].type, TileType))


def _commute(a: Access, b: Access) -> bool:
    """Whether two atomic changes may come in any order."""
    kinds = {a.effect.op.attrs.get("kind"), b.effect.op.attrs.get("kind")}
    return a.effect.kind == b.effect.kind == ATOMIC and len(kinds) == 1


def _crossed(mask: int, stay: int, count: int) -> int:
    """A mask of three planes in the next iteration of a loop on which the boxes of the accesses `stay` do not depend."""
    plane = (1 << count) - 1
    same, other, some = mask & plane, mask >> count & plane, mask >> 2 * count
    return (same & stay) | (same & ~stay | other & ~stay) << count | (other & stay | some) << 2 * count


def _mask(accesses: Iterable[Access]) -> int:
    return sum(1 << access.number for access in accesses)
