"""Where CTA barriers go: as few as possible, as late as possible, outside loops when that is enough.

Straight-line code is solved exactly by stabbing intervals: walk on with the set of pending accesses, and put
a barrier directly before the first access that must wait. A loop is a circle: for every place where a barrier
could stand first, the rest is straight-line again, and the best start wins. Pending accesses from before the
loop get a barrier in front of it only when the barriers inside do not cover them already. An arm of an `if`
keeps a barrier that only it needs; when both need one, a single barrier in front serves both.

The result is then improved as a whole (drop what has become superfluous, one further barrier instead of several
others, move later), every change checked by the flow of `Hazards`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tle2cuda.analysis.hazards import Hazards, Item, Position, Sequence

_LOOP_WEIGHT = 8.0  # a barrier in a loop counts like this many outside
_ARM_WEIGHT = 0.75  # a barrier in one arm runs on that path only

Places = frozenset[Position]
_NONE: Places = frozenset()


@dataclass(frozen=True, slots=True)
class _Plan:
    """Barriers for a piece of code, and the accesses pending behind it."""

    pending: int
    places: Places
    cost: float


def weight(sequence: Sequence) -> float:
    """Cost of a barrier in a sequence: an estimate of how often it runs."""
    return float(_LOOP_WEIGHT**sequence.loops * _ARM_WEIGHT**sequence.arms)


def total_cost(hazards: Hazards, places: Iterable[Position]) -> float:
    """Cost of a set of barriers."""
    return sum(weight(hazards.sequences[number]) for number, _ in places)


def place_barriers(hazards: Hazards) -> list[Position]:
    """Positions of the barriers that a kernel needs, in program order of their sequences."""
    return _Placement(hazards).run()


class _Placement:
    def __init__(self, hazards: Hazards) -> None:
        self.hazards = hazards
        self._loops: dict[tuple[Position, int], _Plan] = {}

    def run(self) -> list[Position]:
        places = self.sequence(self.hazards.body, 0, _NONE).places
        return sorted(self.improve(places))

    def cost(self, places: Places) -> float:
        return total_cost(self.hazards, places)

    # ---- construction ----

    def sequence(self, sequence: Sequence, pending: int, forced: Places) -> _Plan:
        """Greedy placement; barriers in `forced` stand in any case."""
        places: set[Position] = set()
        for number, item in enumerate(sequence.items):
            position = (sequence.number, number)
            if position in forced:
                places.add(position)
                pending = self.hazards.behind_barrier(pending)
            plan = self.item(item, position, pending, forced)
            if pending and plan.cost > 0:
                fresh = self.item(item, position, self.hazards.behind_barrier(pending), forced)
                if fresh.cost + weight(sequence) < plan.cost:
                    places.add(position)
                    plan = fresh
            places |= plan.places
            pending = plan.pending
        frozen = frozenset(places)
        return _Plan(pending, frozen, self.cost(frozen))

    def item(self, item: Item, position: Position, pending: int, forced: Places) -> _Plan:
        """Placement inside one item; pending -1 at infinite cost says that a barrier must stand before it."""
        if item.op.name == "if":
            then, other = (self.sequence(part, pending, forced) for part in item.parts)
            return _Plan(then.pending | other.pending, then.places | other.places, then.cost + other.cost)
        if item.op.name == "warp_specialize":
            inside = self.hazards.at_start(item.op, pending)
            plan = self.sequence(item.parts[0], inside, forced) if item.parts else _Plan(inside, _NONE, 0.0)
            return _Plan(self.hazards.at_end(item.op, plan.pending), plan.places, plan.cost)
        if item.is_loop:
            return self.loop(item, position, pending, forced)
        if self._clashes(item, position, pending):
            return _Plan(-1, _NONE, float("inf"))
        return _Plan(self.hazards.flow_item(item, position, pending, _NONE), _NONE, 0.0)

    def _clashes(self, item: Item, position: Position, pending: int, places: Places = _NONE) -> bool:
        hit = False

        def report(mask: int, later: int, where: Position) -> None:
            nonlocal hit
            hit = True

        self.hazards.flow_item(item, position, pending, places, report)
        return hit

    def loop(self, item: Item, position: Position, pending: int, forced: Places) -> _Plan:
        """Barriers inside a loop, chosen so that those before it are few, too."""
        inside = [p for p in forced if self._contains(item, p[0])]
        if inside:
            return self._behind(item, position, pending, self._circle(item, position, frozenset(forced)))
        key = (position, pending)
        if key not in self._loops:
            options = [self._circle(item, position, _NONE)]
            if options[0]:
                starts = [
                    (part.number, number)
                    for part in item.parts
                    for number, inner in enumerate(part.items)
                    if self._may_wait(inner)
                ]
                options += [self._circle(item, position, frozenset({start})) for start in starts]
            # A barrier in front of the loop is too early for copies that its iterations wait for.
            behind = self.hazards.behind_barrier(pending)
            if behind and self._clashes(item, position, behind, options[0]):
                options.append(self._circle(item, position, _NONE, behind))
                options = [places for places in options if not self._clashes(item, position, behind, places)] or options
            plans = [self._behind(item, position, pending, places) for places in options]
            self._loops[key] = min(plans, key=lambda plan: self._whole_cost(plan, position))
        return self._loops[key]

    def _whole_cost(self, plan: _Plan, position: Position) -> float:
        """Cost of a loop's barriers with the one that may be needed before it."""
        before = 0.0 if plan.pending >= 0 else weight(self.hazards.sequences[position[0]])
        return self.cost(plan.places) + before

    def _contains(self, item: Item, sequence: int) -> bool:
        return any(
            part.number == sequence or any(self._contains(inner, sequence) for inner in part.items) for part in item.parts
        )

    def _may_wait(self, item: Item) -> bool:
        conflicts = self.hazards.conflicts
        if item.parts:
            return any(self._may_wait(inner) for part in item.parts for inner in part.items)
        return any(
            conflicts[number]
            for step in item.steps
            if step is not None
            for number in range(step.bit_length())
            if step >> number & 1
        )

    def _circle(self, item: Item, position: Position, forced: Places, start: int = 0) -> Places:
        """Barriers that a loop needs by itself, or for what is pending before it."""
        while True:
            places: Places = _NONE
            pending = start
            for part in item.parts:
                plan = self.sequence(part, pending, forced)
                places, pending = places | plan.places, plan.pending
            grown = start | self.hazards.carried(item, pending)
            if grown == start or not self._clashes(item, position, 0, places):
                return places
            start = grown

    def _behind(self, item: Item, position: Position, pending: int, places: Places) -> _Plan:
        if pending and self._clashes(item, position, pending, places):
            return _Plan(-1, places, float("inf"))
        return _Plan(self.hazards.flow_item(item, position, pending, places), places, self.cost(places))

    # ---- improvement ----

    def improve(self, places: Places) -> Places:
        places = self.prune(places)
        while True:
            better = self._better(places)
            if better is None:
                break
            places = better
        return self.move_later(places)

    def prune(self, places: Places, keep: Position | None = None) -> Places:
        """Drop barriers that the others make superfluous, the most expensive first."""
        by_cost = sorted(places, key=lambda p: (-weight(self.hazards.sequences[p[0]]), p))
        for position in by_cost:
            fewer = places - {position}
            if position != keep and self.hazards.is_safe(fewer):
                places = fewer
        return places

    def _better(self, places: Places) -> Places | None:
        """A cheaper set in which one further barrier replaces others, if there is one."""
        cost = self.cost(places)
        most_expensive = max((weight(self.hazards.sequences[number]) for number, _ in places), default=0)
        for sequence in self.hazards.sequences:
            if weight(sequence) >= cost or weight(sequence) > most_expensive:
                continue
            for number in range(len(sequence.items)):
                position = (sequence.number, number)
                if position in places:
                    continue
                trial = self.prune(places | {position}, keep=position)
                if self.cost(trial) < cost:
                    return trial
        return None

    def move_later(self, places: Places) -> Places:
        """Put every barrier directly before the access that needs it."""
        for position in sorted(places, reverse=True):
            sequence, number = position
            last = len(self.hazards.sequences[sequence].items)
            rest = places - {position}
            while number + 1 < last and (sequence, number + 1) not in rest:
                if not self.hazards.is_safe(rest | {(sequence, number + 1)}):
                    break
                number += 1
            places = rest | {(sequence, number)}
        return places
