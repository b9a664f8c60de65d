"""How many later stores may stay in flight where thread 0 waits for earlier ones.

Every `tma_store` is a group of its own, and groups of a thread end in order: behind a wait that leaves `pending` of them in
flight, a store is done when at least so many came behind it. For each store the flow carries its *age*, the fewest groups
issued since on any path, and how old a group must be to be surely done: for thread 0, and for the other threads, who know
of a wait from the next barrier on. Slots `buffer[i % n]` of a ring meet again `n`
iterations later only, so ages are kept apart by how many iterations of that loop ago a store was made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tle2cuda.analysis.accesses import Access
from tle2cuda.analysis.hazards import ARRIVALS, Hazards, Item, Position, bits
from tle2cuda.analysis.hazards import Sequence as Sequence_
from tle2cuda.analysis.integer_forms import Sum
from tle2cuda.ir.nodes import Op, Value

MOST_PENDING = 8
_FOREVER = 64  # an age that no wait asks for
_ANY = -1  # stores made in any iteration

_Key = tuple[int, int]  # number of a store, iterations ago
_VIEWS = frozenset(("local_ptr", "ptr_add", "splat", "broadcast", "expand_dims", "reshape", "trans", "hint"))


@dataclass(frozen=True, slots=True)
class Ring:
    """A slot of a ring: `index % count`, where a loop moves the index on.

    Attributes:
        loop: The loop.
        count: Slots.
        index: The index.
        step: What an iteration adds to it.
    """

    loop: Op
    count: int
    index: Sum
    step: int

    @property
    def period(self) -> int:
        """Iterations after which the slot is used again."""
        return self.count // math.gcd(self.step, self.count)

    def meets(self, later: Ring, iterations: int) -> bool:
        """Whether the slot of so many iterations ago may be that of `later`."""
        if self.loop is not later.loop or self.count != later.count or self.step != later.step:
            return True
        gap = later.index.plus(self.index, -1)
        if gap.terms or iterations >= self.period:
            return True
        return (gap.constant + iterations * self.step) % self.count == 0


@dataclass(frozen=True, slots=True)
class _State:
    """Where the flow is.

    Attributes:
        done: The age from which on groups are done.
        known: The same for the threads that do not wait themselves.
        ages: The least age of each store.
    """

    done: int
    known: int
    ages: Mapping[_Key, int]

    def joined(self, other: _State) -> _State:
        """What holds on either of two paths."""
        ages = {key: min(self.ages.get(key, _FOREVER), other.ages.get(key, _FOREVER)) for key in {*self.ages, *other.ages}}
        return _State(max(self.done, other.done), max(self.known, other.known), ages)

    def behind_barrier(self) -> _State:
        return replace(self, known=min(self.known, self.done))


class _TooManyPendingError(Exception):
    """Ends a flow that found a store which may not be done where it must."""


def pending_groups(
    hazards: Hazards,
    waits: Mapping[Position, str],
    stores: Sequence[Access],
    before: Mapping[int, int],
    told: Callable[[Op], int],
    barriers: Collection[Position],
    by_thread_0: int,
) -> dict[Position, int]:
    """How many groups each wait may leave in flight.

    Args:
        hazards: The task.
        waits: Where thread 0 waits, and for what: ``read`` or ``all``. With all groups done there, nothing is amiss.
        stores: The accesses to shared memory of the task's tensor stores.
        before: For each access to shared memory, the mask of the stores that must have read before.
        told: The mask of those that must have read before an operation tells other tasks of it.
        barriers: Where barriers of the task are placed.
        by_thread_0: The mask of the accesses that thread 0 alone makes.

    Returns:
        The numbers of groups that are more than 0.
    """
    flow = _Flow(hazards, stores, before, told, frozenset(barriers), by_thread_0)
    pending = dict.fromkeys(waits, 0)
    for place in sorted(place for place, kind in waits.items() if kind == "read"):
        for count in range(MOST_PENDING, 0, -1):
            if flow.is_safe({**pending, place: count}):
                pending[place] = count
                break
    return {place: count for place, count in pending.items() if count}


class _Flow:
    def __init__(
        self,
        hazards: Hazards,
        stores: Sequence[Access],
        before: Mapping[int, int],
        told: Callable[[Op], int],
        barriers: frozenset[Position],
        by_thread_0: int,
    ) -> None:
        self.barriers = barriers
        self.by_thread_0 = by_thread_0
        self.hazards = hazards
        self.stores = {access.number: access for access in stores}
        self.before = before
        self.told = told
        self.forms = hazards.memory.boxes.forms
        self.rings: dict[int, Ring | None] = {
            access.number: self._ring(access) for access in hazards.accesses if access.effect.is_shared
        }
        self.pending: Mapping[Position, int] = {}

    def is_safe(self, pending: Mapping[Position, int]) -> bool:
        """Whether stores are done wherever they must be."""
        self.pending = pending
        body = self.hazards.body
        try:
            state = self.at((body.number, len(body.items)), self.sequence(body, _State(0, 0, {})))
            self.check(state.done, state.ages)
        except _TooManyPendingError:
            return False
        return True

    def check(self, done: int, keys: Mapping[_Key, int]) -> None:
        if any(age < done for age in keys.values()):
            raise _TooManyPendingError

    def at(self, place: Position, state: _State) -> _State:
        """Behind a wait and a barrier, if they are there."""
        if place in self.pending:
            state = replace(state, done=min(state.done, self.pending[place]))
        return state.behind_barrier() if place in self.barriers else state

    def sequence(self, sequence: Sequence_, state: _State) -> _State:
        for number, item in enumerate(sequence.items):
            state = self.item(item, self.at((sequence.number, number), state))
        return state

    def item(self, item: Item, state: _State) -> _State:
        op = item.op
        if op.name == "if":
            then, other = (self.sequence(part, state) for part in item.parts)
            return then.joined(other)
        if op.name == "warp_specialize":
            self.tell(op, state)
            state = state.behind_barrier() if op.attrs.get("sync_before") else state
            if item.parts:  # none where all warps are divided
                state = self.sequence(item.parts[0], state)
            return state.behind_barrier() if op.attrs.get("sync_behind") else state
        if item.is_loop:
            return self.loop(item, state)
        if op.name in ARRIVALS:
            self.tell(op, state)
        for step in item.steps:
            state = state.behind_barrier() if step is None else self.step(step, state)
        return state

    def tell(self, op: Op, state: _State) -> None:
        told = self.told(op)
        self.check(state.done, {key: age for key, age in state.ages.items() if told >> key[0] & 1})

    def step(self, step: int, state: _State) -> _State:
        numbers = list(bits(step))
        for number in numbers:
            blocking = self.before.get(number, 0)
            met = {key: age for key, age in state.ages.items() if blocking >> key[0] & 1 and self._meets(key, number)}
            self.check(state.done if self.by_thread_0 >> number & 1 else state.known, met)
        for number in numbers:
            if number in self.stores:
                older = {key: min(age + 1, _FOREVER) for key, age in state.ages.items()}
                key = (number, _ANY if self.rings[number] is None else 0)
                done, known = (min(age + 1, _FOREVER) for age in (state.done, state.known))
                state = _State(done, known, {**older, key: 0})
        return state

    def _meets(self, key: _Key, later: int) -> bool:
        store, ago = key
        ring, other = self.rings[store], self.rings.get(later)
        return ring is None or other is None or ago == _ANY or ring.meets(other, ago)

    def loop(self, item: Item, state: _State) -> _State:
        entry = start = state
        while True:
            behind_first = end = self.sequence(item.parts[0], start)
            if item.op.name == "while":
                end = self.sequence(item.parts[1], behind_first)
            grown = start.joined(self._crossing(item.op, end))
            if grown == start:
                break
            start = grown
        if item.op.name == "while" or self.hazards.runs_at_least_once(item.op):
            return behind_first
        return entry.joined(behind_first)

    def _crossing(self, loop: Op, state: _State) -> _State:
        """In the next iteration of a loop."""
        ages: dict[_Key, int] = {}
        for (number, ago), age in state.ages.items():
            ring = self.rings[number]
            if ring is not None and ring.loop is loop and ago != _ANY:
                ago = min(ago + 1, ring.period)
            elif ring is not None and loop not in self._around(ring.loop):
                pass  # a loop inside of that of the ring
            else:
                ago = _ANY
            ages[number, ago] = min(age, ages.get((number, ago), _FOREVER))
        return replace(state, ages=ages)

    def _around(self, loop: Op) -> tuple[Op, ...]:
        return self.forms.enclosing[loop]

    def _ring(self, access: Access) -> Ring | None:
        """The ring that an access goes to a slot of."""
        value: Value | None = access.effect.pointer or access.effect.buffer
        made = self.forms.definitions
        op = made.get(value) if value is not None else None
        while op is not None and op.name in _VIEWS:
            op = made.get(op.operands[0])
        if op is None or op.name != "buffer_view" or op.attrs["kind"] != "slot" or len(op.operands) < 2:
            return None
        if op.operands[0] is not access.effect.root:
            return None
        chosen = made.get(op.operands[1])
        if chosen is None or chosen.name not in ("rem", "and"):
            return None
        number, by = map(self.forms.sum, chosen.operands)
        count = by.constant + (chosen.name == "and")
        if by.terms or not 1 < count <= MOST_PENDING or (chosen.name == "and" and count & (count - 1)):
            return None
        moving = [v for v in number.terms if self.forms.loops_of(v)]
        if len(moving) != 1 or moving[0] not in self.forms.steps:
            return None
        step = self.forms.steps[moving[0]]
        if step.terms:
            return None
        return Ring(self.forms.loops[moving[0]], count, number, step.constant * number.terms[moving[0]])
