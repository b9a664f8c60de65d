"""Which accesses to memory must not overtake each other, and whether given barriers keep them apart.

The kernel becomes a tree of the operations that matter (`Sequence`, `Item`). Every access has a number; sets
of accesses are bit masks, so asking again with other barriers is cheap. A set of pending accesses (made since
the last barrier on some path) flows through the tree; an access that must wait for a pending one is a hazard.
Loops run until the set no longer grows, so accesses of one iteration meet those of the next.

Two accesses need a barrier unless one of these holds:

1. both only read, or both are atomics on the same allocation;
2. their bytes are disjoint (`byte_range`, and the offsets of the allocations once they have some);
3. thread 0 alone makes both;
4. every byte that both touch is touched by the same thread in both: `same_thread_elements`.

Of global memory one thing alone is guaranteed: a value is the same wherever it is held. A scalar, or a tile that several
threads hold, is loaded by each of them; a barrier keeps such a load apart from stores and atomics through the same
argument, so that no thread reads before them and another behind.

Beside every pending access stands whether it is *stale*: made in an earlier iteration of a loop on which its
index depends. The index expression then had another value, and rule 4 no longer applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tle2cuda.analysis.addresses import Addresses, Bytes
from tle2cuda.analysis.axis_info import axis_info
from tle2cuda.errors import InternalError
from tle2cuda.ir.effects import ATOMIC, READ, CtaBarrier, Effect, Roots, effects, steps
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.rewrite import definitions
from tle2cuda.ir.types import BufferType, TileType

Position = tuple[int, int]
"""(number of a sequence, number of the item in it that a barrier stands before)."""


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One numbered access to shared memory, or to global memory where `Hazards.contested` says so.

    Attributes:
        number: Its bit in masks.
        effect: What it does.
        name: The allocation, as messages call it.
        bytes: Bytes of the root it may touch; None when the root is unknown.
        key: Of its addresses when rule 4 may apply to it, else None; see `same_thread_elements`.
        leaves: Values on which the addresses depend.
    """

    number: int
    effect: Effect
    name: str
    bytes: Bytes | None
    key: object
    leaves: frozenset[Value]


@dataclass(slots=True, eq=False)
class Item:
    """An operation that accesses shared memory, holds a barrier, or contains such operations.

    Attributes:
        op: The operation.
        index: Its place in its region.
        steps: Masks of accesses that run together, None for a CTA barrier inside; empty for control flow.
        parts: Regions: the arms of an `if`, the body of a `for`, the two regions of a `while`.
        varying: Mask of the accesses whose addresses depend on values made inside this loop.
    """

    op: Op
    index: int
    steps: tuple[int | None, ...] = ()
    parts: tuple[Sequence, ...] = ()
    varying: int = 0

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
    """Accesses of a kernel and what must stand between them.

    Args:
        kernel: The kernel.
        overlay: Ask what would happen if these allocations all had the same bytes.
    """

    def __init__(self, kernel: Kernel, overlay: Iterable[Value] = ()) -> None:
        self.kernel = kernel
        self.roots = Roots(kernel)
        self.definitions = definitions(kernel.body)
        self.addresses = Addresses(axis_info(kernel), self.definitions)
        self.contested = _contested(kernel, self.roots)
        self.overlay = frozenset(overlay)
        self.accesses: list[Access] = []
        self.sequences: list[Sequence] = []
        self.body = self._sequence(kernel.body, None, 0, 0)
        self.count = len(self.accesses)
        self._mark_varying(self.body)
        self.conflicts = [self._conflicts_with(access) for access in self.accesses]

    # ---- building the tree ----

    def _sequence(self, region: Region, owner: Position | None, loops: int, arms: int) -> Sequence:
        sequence = Sequence(len(self.sequences), region, [], owner, loops, arms)
        self.sequences.append(sequence)
        for index, op in enumerate(region.ops):
            if op.name in ("if", "for", "while"):
                here = (sequence.number, len(sequence.items))
                inner_loops, inner_arms = loops + (op.name != "if"), arms + (op.name == "if")
                parts = tuple(self._sequence(r, here, inner_loops, inner_arms) for r in op.regions)
                if any(part.items for part in parts):
                    sequence.items.append(Item(op, index, (), parts))
            elif found := self._steps(op):
                sequence.items.append(Item(op, index, found))
        return sequence

    def _steps(self, op: Op) -> tuple[int | None, ...]:
        result: list[int | None] = []
        for step in steps(op, self.roots):
            if isinstance(step, CtaBarrier):
                result.append(None)
                continue
            mask = 0
            for effect in step:
                if self._matters(effect):
                    mask |= 1 << self._add(effect).number
            if mask:
                result.append(mask)
        if op.name == "fused":
            self._check_fused(op)
        return tuple(result)

    def _matters(self, effect: Effect) -> bool:
        """Whether a barrier may have to stand before or behind an access."""
        if effect.is_shared:
            return True
        return effect.root in self.contested and (effect.kind != READ or loads_copies(effect))

    def _add(self, effect: Effect) -> Access:
        access = self._describe(len(self.accesses), effect)
        self.accesses.append(access)
        return access

    def _describe(self, number: int, effect: Effect) -> Access:
        pointer, root = effect.pointer, effect.root
        bytes_: Bytes | None = None
        if root is not None and isinstance(root.type, BufferType):
            whole = (0, root.type.size_bytes)
            bytes_ = whole if pointer is None else self.addresses.byte_range(pointer, root)
        key: object = None
        leaves: frozenset[Value] = frozenset()
        if pointer is not None and self._has_own_elements(pointer):
            assert isinstance(pointer.type, TileType)
            key = (self.addresses.key(pointer), pointer.type.layout)
            leaves = self.addresses.leaves(pointer)
        return Access(number, effect, self._name(root), bytes_, key, leaves)

    def _name(self, root: Value | None) -> str:
        if root is None:
            return "memory through unknown pointers"
        op = self.definitions.get(root)
        if op is None:
            return f"`{root.name}`"
        name = op.attrs.get("name") or root.name or "unnamed"
        return f"the scratch `{name}`" if op.attrs.get("scratch") else f"`{name}`"

    def _has_own_elements(self, pointer: Value) -> bool:
        """Whether each address of a pointer tile is used by exactly one thread."""
        if not isinstance(pointer.type, TileType) or pointer.type.layout is None:
            return False
        _, lanes, warps = pointer.type.layout.free_bits()
        return not lanes and not warps and self.addresses.is_injective(pointer)

    def _check_fused(self, op: Op) -> None:
        """A fused loop cannot hold a barrier, so nothing inside may need one."""
        earlier: list[Access] = []
        for inner in op.regions[0].body:
            mine = [self._describe(-1, e) for e in effects(inner, self.roots) if self._matters(e)]
            for a in earlier:
                for b in mine:
                    if self.must_wait(a, b, is_stale=False):
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

    # ---- pairs of accesses ----

    def _conflicts_with(self, later: Access) -> int:
        """Pending accesses that `later` must wait for: fresh ones in the low bits, stale ones above."""
        mask = 0
        for earlier in self.accesses:
            if self.must_wait(earlier, later, is_stale=False):
                mask |= 1 << earlier.number
            if self.must_wait(earlier, later, is_stale=True):
                mask |= 1 << (earlier.number + self.count)
        return mask

    def must_wait(self, earlier: Access, later: Access, is_stale: bool) -> bool:
        """Whether a CTA barrier must stand between two accesses."""
        a, b = earlier.effect, later.effect
        if a.kind == READ and b.kind == READ:
            return False
        if not a.is_shared or not b.is_shared:
            return may_tear_copies(a, b)
        same_root = a.root is not None and a.root is b.root
        if a.kind == ATOMIC and b.kind == ATOMIC and same_root:
            return False
        if a.one_thread and b.one_thread:
            return False
        if not self.may_overlap(earlier, later):
            return False
        return is_stale or not same_thread_elements(earlier, later)

    def may_overlap(self, a: Access, b: Access) -> bool:
        """Whether two accesses may touch a common byte."""
        root_a, root_b = a.effect.root, b.effect.root
        if root_a is None or root_b is None or a.bytes is None or b.bytes is None:
            return True
        if root_a is root_b:
            return a.bytes[0] < b.bytes[1] and b.bytes[0] < a.bytes[1]
        if root_a in self.overlay and root_b in self.overlay:
            return True
        offset_a, offset_b = self._offset_bytes(root_a), self._offset_bytes(root_b)
        if offset_a is None or offset_b is None:
            return False  # separate allocations until the shared-memory map says otherwise
        return offset_a + a.bytes[0] < offset_b + b.bytes[1] and offset_b + b.bytes[0] < offset_a + a.bytes[1]

    def _offset_bytes(self, root: Value) -> int | None:
        op = self.definitions.get(root)
        offset = op.attrs.get("offset_bytes") if op is not None else None
        return offset if isinstance(offset, int) else None

    # ---- flow ----

    def flow(
        self,
        barriers: frozenset[Position] | set[Position],
        report: Callable[[int, int, Position], None] | None = None,
    ) -> int:
        """Run the pending set through the kernel; `report(pending, later, position)` hears of hazards."""
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
                pending = 0
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
        if not item.is_loop:
            for step in item.steps:
                if step is None:
                    pending = 0
                    continue
                if report is not None:
                    for later in bits(step):
                        if hit := pending & self.conflicts[later]:
                            report(hit, later, position)
                pending |= step
            return pending
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
        if item.op.name == "while" or self._runs_at_least_once(item.op):
            return behind_first
        return entry | behind_first

    def carried(self, loop: Item, pending: int) -> int:
        """The pending set in the next iteration: accesses that depend on this one become stale."""
        moving = pending & loop.varying
        return (pending & ~moving) | (moving << self.count)

    def _runs_at_least_once(self, op: Op) -> bool:
        numbers = [self.definitions.get(v) for v in op.operands[:3]]
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


def loads_copies(effect: Effect) -> bool:
    """Whether several threads load the same element: a scalar, or a tile that is held more than once."""
    if effect.kind != READ or effect.one_thread or effect.pointer is None:
        return False
    if not isinstance(effect.pointer.type, TileType):
        return True
    layout = effect.pointer.type.layout
    return layout is not None and layout.is_replicated


def may_tear_copies(a: Effect, b: Effect) -> bool:
    """Whether one of two accesses to global memory may change what the other loads for several threads."""
    if a.is_shared or b.is_shared or (a.kind == READ) == (b.kind == READ):
        return False
    load = a if a.kind == READ else b
    return loads_copies(load) and (a.root is b.root or a.root is None or b.root is None)


def _contested(kernel: Kernel, roots: Roots) -> frozenset[Value | None]:
    """Arguments that some operation loads for several threads and some operation writes."""
    found = [e for op in walk(kernel.body) for e in effects(op, roots) if not e.is_shared]
    loads = [e for e in found if loads_copies(e)]
    writes = [e for e in found if e.kind != READ]
    pairs = [(load, write) for load in loads for write in writes if may_tear_copies(load, write)]
    return frozenset(effect.root for pair in pairs for effect in pair)


def same_thread_elements(a: Access, b: Access) -> bool:
    """Whether every byte that both accesses touch is touched by one and the same thread in both.

    A thread's own accesses stay in program order, so such accesses need no barrier. What is proved:

    1. The address tiles are equal element by element: their expressions are equal, and no back edge of a loop
       on which they depend lies between them (the caller drops stale accesses).
    2. The layouts are equal: element e belongs to the same thread in both.
    3. No two threads hold copies of an element (no replicated lane or warp bits), so e belongs to one thread.
    4. The addresses are injective: a byte belongs to one element, hence to one thread.

    The keys exist only when 3 and 4 hold, and are equal only when 1 and 2 do. Masks only leave elements out.
    """
    return a.key is not None and a.key == b.key


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


def unordered_roots(kernel: Kernel, overlay: Iterable[Value]) -> Mapping[Value, frozenset[Value]]:
    """For allocations that could share bytes: with which others that would need a further barrier."""
    candidates = list(overlay)
    hazards = Hazards(kernel, candidates)
    found: dict[Value, set[Value]] = {root: set() for root in candidates}
    for hazard in hazards.find(frozenset()):
        a, b = hazard.earlier.effect.root, hazard.later.effect.root
        if a is not b and a in found and b in found:
            assert a is not None and b is not None
            found[a].add(b)
            found[b].add(a)
    return {root: frozenset(others) for root, others in found.items()}
