"""Which accesses of a task must not overtake each other, and whether given barriers keep them apart.

The code of a task becomes a tree of the operations that matter (`Sequence`, `Item`). Every access has a number; sets
of accesses are bit masks, so asking again with other barriers is cheap. A set of pending accesses (made since
the last barrier on some path) flows through the tree; an access that must wait for a pending one is a hazard.
Loops run until the set no longer grows, so accesses of one iteration meet those of the next. Which pairs must wait is
the matter of `tle2cuda.analysis.accesses`.

Beside every pending access stands whether it is *stale*: made in an earlier iteration of a loop on which its
index depends. The index expression then had another value, and equal expressions prove nothing.

What `cp_async` writes is *in flight* at first, and becomes pending at a `cp_async_wait`: from then on a barrier makes
it known to all threads. A wait that leaves groups in flight makes all of them pending and leaves all in flight, as
nobody knows which are done: the user reads only what is. A wait at a pipe without barriers is one of these. Its slots that
are held at the same time are different stages; an access to one that was committed or released since is stale.
Waiting at any other pipe clears the accesses through this pipe: its
commit and release are made for all threads of the task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tle2cuda.analysis.accesses import Access, Memory, loads_copies
from tle2cuda.analysis.slots import asks_the_same
from tle2cuda.analysis.tasks import DEFAULT_TASK, Task, regions_of_task
from tle2cuda.errors import InternalError
from tle2cuda.ir.effects import ARM, POLL, READ, SIGNAL, WAIT, CtaBarrier, Effect, effects, is_product, steps
from tle2cuda.ir.nodes import WARPGROUP_WARPS, Kernel, Op, Region, Value
from tle2cuda.ir.rules import scratch_operands
from tle2cuda.ir.tma import tensor_copy
from tle2cuda.ir.types import SHARED, BufferType

Position = tuple[int, int]
"""(number of a sequence, number of the item in it that a barrier stands before; behind the last item: its end)."""

ARRIVALS = frozenset(("pipe_commit", "pipe_close", "pipe_release", "mbarrier_arrive", "named_barrier"))
"""Operations at which a task tells others that it is done with something."""

WAITS = frozenset(("pipe_acquire", "pipe_close", "pipe_wait"))
"""Operations behind which what the task did through the pipe before is known to all of its threads."""

_HANDING_BACK = frozenset(("pipe_commit", "pipe_release"))
_WAITS_FOR_GROUPS = frozenset(("cp_async_wait", "pipe_wait", "wgmma_wait"))
_CONTROL = frozenset(("if", "for", "while", "warp_specialize"))
_EVENTS = ARRIVALS | WAITS | {"cp_async_wait", "tma_store_wait", "proxy_fence", "wgmma_wait"}


@dataclass(slots=True, eq=False)
class Item:
    """An operation that accesses shared memory, holds a barrier, concerns copies, or contains such operations.

    Attributes:
        op: The operation.
        index: Its place in its region.
        steps: Masks of accesses that run together, None for a CTA barrier inside; empty for control flow.
        parts: Regions: the arms of an `if`, the body of a `for`, the two regions of a `while`, region 0 of a
            `warp_specialize`.
        varying: Mask of the accesses whose addresses depend on values made inside this loop.
        clears: Mask of the accesses that waiting here makes known to all threads.
        hands_back: Mask of the accesses to slots that are given up here: what is got later may be the same bytes.
    """

    op: Op
    index: int
    steps: tuple[int | None, ...] = ()
    parts: tuple[Sequence, ...] = ()
    varying: int = 0
    clears: int = 0
    hands_back: int = 0

    @property
    def is_loop(self) -> bool:
        """Whether its parts may run more than once."""
        return self.op.name in ("for", "while")


@dataclass(slots=True, eq=False)
class Sequence:
    """The items of one region.

    Attributes:
        number: Names it in positions.
        region: The region.
        items: What matters in it, in order.
        owner: The item whose region this is, with its own position; None for the kernel body.
        loops: Loops around it.
        arms: `if` operations around it.
    """

    number: int
    region: Region
    items: list[Item] = field(default_factory=list)
    owner: Position | None = None
    loops: int = 0
    arms: int = 0


@dataclass(frozen=True, slots=True)
class Hazard:
    """Two accesses that must be ordered and are not.

    Attributes:
        earlier: The pending access.
        later: The access that would have to wait for it.
        position: The item that holds the later access.
    """

    earlier: Access
    later: Access
    position: Position


class Hazards:
    """Accesses of one task and what must stand between them.

    Args:
        kernel: The kernel.
        overlay: Ask what would happen if these allocations all had the same bytes.
        task: The task; left out, the default warps.
        memory: What is known of the kernel's memory; left out, it is found out.
    """

    def __init__(
        self, kernel: Kernel, overlay: Iterable[Value] = (), task: Task | None = None, memory: Memory | None = None
    ) -> None:
        self.kernel = kernel
        self.task = task or Task(DEFAULT_TASK, kernel.body, kernel.num_warps)
        self.memory = memory or Memory(kernel, overlay)
        self.accesses: list[Access] = []
        self.sequences: list[Sequence] = []
        self.body = self._sequence(self.task.region, None, 0, 0)
        self.count = len(self.accesses)
        self._in_flight = ((1 << 2 * self.count) - 1) << 2 * self.count
        self._copies = sum(1 << a.number for a in self.accesses if a.effect.op.name == "cp_async" and a.effect.is_shared)
        products = sum(1 << a.number for a in self.accesses if is_product(a.effect))
        self._products = sum(1 << a.number for a in self.accesses if a.effect.op.name == "wgmma")
        # A warpgroup waits for all of a product, whichever of its warps asks: behind it none reads the operands any more.
        self._settled = products if self._is_warpgroup else 0
        self._mark_varying(self.body)
        self._mark_cleared(self.body)
        self.conflicts = [self._conflicts_with(access) for access in self.accesses]

    @property
    def _is_warpgroup(self) -> bool:
        return self.task.warps == WARPGROUP_WARPS

    # ---- building the tree ----

    def _sequence(self, region: Region, owner: Position | None, loops: int, arms: int) -> Sequence:
        sequence = Sequence(len(self.sequences), region, [], owner, loops, arms)
        self.sequences.append(sequence)
        for index, op in enumerate(region.ops):
            if op.name in _CONTROL:
                here = (sequence.number, len(sequence.items))
                inner_loops, inner_arms = loops + (op.name in ("for", "while")), arms + (op.name == "if")
                parts = tuple(self._sequence(r, here, inner_loops, inner_arms) for r in regions_of_task(op))
                if op.name == "warp_specialize" or any(part.items for part in parts):
                    sequence.items.append(Item(op, index, (), parts))
            elif (found := self._steps(op)) or op.name in _EVENTS or self.memory.meets_others(op):
                sequence.items.append(Item(op, index, found))
        return sequence

    def _steps(self, op: Op) -> tuple[int | None, ...]:
        result: list[int | None] = []
        for step in steps(op, self.memory.roots):
            if isinstance(step, CtaBarrier):
                result.append(None)
                continue
            if mask := self._mask(effect for effect in step if self._matters(effect)):
                result.append(mask)
        if op.name == "fused":
            self._check_fused(op)
        if marks := self._marks(op):
            result.append(self._mask(marks))
        return tuple(result)

    def _mask(self, found: Iterable[Effect]) -> int:
        mask = 0
        for effect in found:
            access = self.memory.describe(len(self.accesses), effect)
            self.accesses.append(access)
            mask |= 1 << access.number
        return mask

    def _marks(self, op: Op) -> list[Effect]:
        """What an operation does with mbarriers that barriers of the task must order."""
        is_blocking = op.name == "tma_load" and op.attrs["completion"] == "blocking"
        if is_blocking or op.name == "tensor_product":
            own = scratch_operands(op)[:1] if is_blocking else op.operands[-1:]
            return [Effect(kind, SHARED, root, None, op, kind == ARM) for kind in (ARM, POLL) for root in own]
        if op.name in ("tma_load", "pipe_commit", "pipe_close") and not self._is_gated(op):
            barriers = tensor_copy(op).barriers if op.name == "tma_load" else op.operands[0]
            return [Effect(SIGNAL, SHARED, barriers, None, op, True)]
        if op.name in ("mbarrier_wait", "pipe_acquire") and not op.attrs.get("elected"):
            is_gated = op.name == "pipe_acquire" and self._is_gated(op)
            return [] if is_gated else [Effect(WAIT, SHARED, op.operands[0], None, op)]
        return []

    def _is_gated(self, op: Op) -> bool:
        """Whether what a writer does with a pipe waits for all of its warps at every commit, so that none falls behind."""
        if op.name == "tma_load" and op.attrs["completion"] == "barrier":
            return False
        if op.name in ("pipe_commit", "pipe_close"):
            return tuple(op.attrs.get("arrivals", ("warps",))) != ("elected",)
        if op.name == "tma_load":
            slot = self.memory.slot_of(next(v for v in op.operands if isinstance(v.type, BufferType)))
            pipe = slot.pipe if slot is not None else None
        else:
            pipe = self.memory.pipe_of(op)
        made = self.memory.definitions.get(pipe) if pipe is not None else None
        if made is None:
            return False
        return made.attrs["one_shot"] or tuple(made.attrs.get("transports", ())) != ("tma",)

    def _matters(self, effect: Effect) -> bool:
        """Whether a barrier may have to stand before or behind an access."""
        if effect.is_shared or effect.root in self.memory.engines:
            return True
        return effect.root in self.memory.contested and (effect.kind != READ or loads_copies(effect))

    def _check_fused(self, op: Op) -> None:
        """A fused loop cannot hold a barrier, so nothing inside may need one."""
        earlier: list[Access] = []
        for inner in op.regions[0].body:
            found = effects(inner, self.memory.roots)
            mine = [self.memory.describe(-1, e) for e in found if self._matters(e)]
            for a in earlier:
                for b in mine:
                    if self.memory.must_wait(a, b, is_stale=False):
                        raise InternalError(
                            "a fused loop holds accesses to memory that need a barrier between them",
                            b.effect.op.span,
                            (f"first: {a.effect.op!r}", f"second: {b.effect.op!r}"),
                        )
            earlier += mine

    def _mark_varying(self, sequence: Sequence) -> None:
        for item in sequence.items:
            for part in item.parts:
                self._mark_varying(part)
            if item.is_loop:
                inside = _defined_inside(item.op)
                item.varying = sum(1 << a.number for a in self.accesses if not inside.isdisjoint(a.leaves))

    def _mark_cleared(self, sequence: Sequence) -> None:
        for item in sequence.items:
            for part in item.parts:
                self._mark_cleared(part)
            if item.op.name in WAITS and not self.is_in_groups(item.op):
                mask = self.through(item.op)
                item.clears = sum(mask << plane * self.count for plane in range(4))
            if item.op.name in _HANDING_BACK and self.is_in_groups(item.op):
                writes, reader = item.op.name == "pipe_commit", item.op.attrs.get("reader")
                for access in self.accesses:
                    if access.slot is not None and access.slot.pipe is self.memory.pipe_of(item.op):
                        endpoint, name = access.slot.endpoint
                        if (endpoint == "pipe_acquire") if writes else (endpoint == "pipe_wait" and name == reader):
                            item.hands_back |= 1 << access.number

    def is_in_groups(self, op: Op) -> bool:
        """Whether an operation works on a pipe without barriers, whose uses barriers of the task order."""
        pipe = self.memory.pipe_of(op) if op.name.startswith("pipe_") else None
        made = self.memory.definitions.get(pipe) if pipe is not None else None
        return made is not None and bool(made.attrs.get("in_groups"))

    def through(self, op: Op) -> int:
        """The accesses through the pipe that an operation waits at; none when it does not really wait."""
        pipe = self.memory.pipe_of(op)
        made = self.memory.definitions.get(pipe) if pipe is not None else None
        if made is None or (made.attrs["one_shot"] and op.name != "pipe_wait"):
            return 0
        slots = ((a.number, a.slot) for a in self.accesses if a.slot is not None and a.slot.pipe is pipe)
        # Who asks for a round that it has already does not wait for what it did there since.
        again = op.name, op.attrs.get("reader")
        return sum(
            1 << number
            for number, slot in slots
            if slot.op is op or slot.endpoint != again or not asks_the_same(slot.op, op)
        )

    # ---- pairs of accesses ----

    def _conflicts_with(self, later: Access) -> int:
        """Pending accesses that `later` must wait for: fresh ones in the low bits, stale ones above."""
        mask = 0
        for earlier in self.accesses:
            if self.memory.must_wait(earlier, later, is_stale=False):
                mask |= 1 << earlier.number
            if self.memory.must_wait(earlier, later, is_stale=True):
                mask |= 1 << (earlier.number + self.count)
        return mask

    # ---- flow ----

    def behind_barrier(self, pending: int) -> int:
        """The pending set behind a barrier: copies in flight stay in flight."""
        return pending & self._in_flight

    def flow(
        self,
        barriers: frozenset[Position] | set[Position],
        report: Callable[[int, int, Position], None] | None = None,
    ) -> int:
        """Run the pending set through the task; `report(pending, later, position)` hears of hazards."""
        return self.flow_sequence(self.body, 0, barriers, report)

    def flow_sequence(
        self,
        sequence: Sequence,
        pending: int,
        barriers: frozenset[Position] | set[Position],
        report: Callable[[int, int, Position], None] | None = None,
    ) -> int:
        """The pending set behind a sequence."""
        for number, item in enumerate(sequence.items):
            position = (sequence.number, number)
            if position in barriers:
                pending = self.behind_barrier(pending)
            pending = self.flow_item(item, position, pending, barriers, report)
        return pending

    def flow_item(
        self,
        item: Item,
        position: Position,
        pending: int,
        barriers: frozenset[Position] | set[Position],
        report: Callable[[int, int, Position], None] | None = None,
    ) -> int:
        """The pending set behind an item."""
        if item.op.name == "if":
            then, other = (self.flow_sequence(part, pending, barriers, report) for part in item.parts)
            return then | other
        if item.op.name == "warp_specialize":
            inside = self.at_start(item.op, pending)
            for part in item.parts:
                inside = self.flow_sequence(part, inside, barriers, report)
            return self.at_end(item.op, inside)
        if item.is_loop:
            return self._flow_loop(item, pending, barriers, report)
        for step in item.steps:
            if step is None:
                pending = self.behind_barrier(pending)
                continue
            if report is not None:
                for later in bits(step):
                    if hit := pending & self.conflicts[later]:
                        report(hit, later, position)
            flying = self._copies | self._products
            pending |= (step & ~flying & ~self._settled) | (step & flying) << 2 * self.count
        return self._behind_event(item, pending)

    def at_start(self, op: Op, pending: int) -> int:
        """The pending set where the partitions of a `warp_specialize` begin."""
        return self.behind_barrier(pending) if op.attrs.get("sync_before") else pending

    def at_end(self, op: Op, pending: int) -> int:
        """The pending set behind a `warp_specialize`."""
        return self.behind_barrier(pending) if op.attrs.get("sync_behind") else pending

    def _behind_event(self, item: Item, pending: int) -> int:
        if item.op.name in _WAITS_FOR_GROUPS and item.op.attrs.get("pending") is not None:
            kind, settled = (self._products, self._settled) if item.op.name == "wgmma_wait" else (self._copies, 0)
            landed = pending & (kind << 2 * self.count | kind << 3 * self.count)
            known = landed & ~(settled << 2 * self.count | settled << 3 * self.count)
            pending |= known >> 2 * self.count
            return pending if item.op.attrs["pending"] else pending & ~landed
        if item.hands_back:
            given = item.hands_back | item.hands_back << 2 * self.count
            pending = (pending & ~given) | (pending & given) << self.count
        return pending & ~item.clears

    def _flow_loop(
        self,
        item: Item,
        pending: int,
        barriers: frozenset[Position] | set[Position],
        report: Callable[[int, int, Position], None] | None,
    ) -> int:
        entry = start = pending
        while True:
            behind_first = self.flow_sequence(item.parts[0], start, barriers, report)
            end = behind_first
            if item.op.name == "while":
                end = self.flow_sequence(item.parts[1], behind_first, barriers, report)
            grown = start | self.carried(item, end)
            if grown == start:
                break
            start = grown
        if item.op.name == "while" or self.runs_at_least_once(item.op):
            return behind_first
        return entry | behind_first

    def carried(self, loop: Item, pending: int) -> int:
        """The pending set in the next iteration: accesses that depend on this one become stale."""
        moving = pending & (loop.varying | loop.varying << 2 * self.count)
        return (pending & ~moving) | (moving << self.count)

    def runs_at_least_once(self, op: Op) -> bool:
        """Whether a `for` is surely entered."""
        numbers = [self.memory.definitions.get(v) for v in op.operands[:3]]
        values = [n.attrs["value"] for n in numbers if n is not None and n.name == "constant"]
        if len(values) < 3:
            return False
        lower, upper, step = values
        return bool(lower < upper if step > 0 else lower > upper)

    def find(self, barriers: frozenset[Position] | set[Position]) -> list[Hazard]:
        """All hazards that given barriers leave, each pair of accesses once."""
        found: dict[tuple[int, int], Hazard] = {}

        def report(hit: int, later: int, position: Position) -> None:
            for bit in bits(hit):
                earlier = bit % self.count
                pair = (earlier, later)
                if pair not in found:
                    found[pair] = Hazard(self.accesses[earlier], self.accesses[later], position)

        self.flow(barriers, report)
        return list(found.values())

    def is_safe(self, barriers: frozenset[Position] | set[Position]) -> bool:
        """Whether given barriers leave no hazard."""

        def report(hit: int, later: int, position: Position) -> None:
            raise _FoundHazardError

        try:
            self.flow(barriers, report)
        except _FoundHazardError:
            return False
        return True


class _FoundHazardError(Exception):
    """Ends a flow that only asks whether there is any hazard."""


def bits(mask: int) -> Iterable[int]:
    """Numbers of the set bits, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _defined_inside(op: Op) -> set[Value]:
    found: set[Value] = set()

    def visit(region: Region) -> None:
        found.update(region.params)
        for inner in region.ops:
            found.update(inner.results)
            for nested in inner.regions:
                visit(nested)

    for region in op.regions:
        visit(region)
    return found


def unordered_roots(kernel: Kernel, overlay: Iterable[Value], task: Task | None = None) -> Mapping[Value, frozenset[Value]]:
    """For allocations of one task that could share bytes: with which others that would need a further barrier."""
    candidates = list(overlay)
    hazards = Hazards(kernel, candidates, task)
    found: dict[Value, set[Value]] = {root: set() for root in candidates}
    for hazard in hazards.find(frozenset()):
        a, b = hazard.earlier.effect.root, hazard.later.effect.root
        if a is not b and a in found and b in found:
            assert a is not None and b is not None
            found[a].add(b)
            found[b].add(a)
    return {root: frozenset(others) for root, others in found.items()}
