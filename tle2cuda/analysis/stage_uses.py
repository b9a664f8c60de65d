"""What a writer does to the bytes of a stage beside a copy into it, and whether the copy may be in flight meanwhile.

What comes into a stage by a copy is waited for by readers alone. Where the writer's own program touches the same bytes
behind the copy, by the buffer itself, by another field or pipe over it, or by acquiring the stage once more, the copy has
to be done by then, for the accesses of one task happen in program order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tle2cuda.analysis.addresses import Addresses
from tle2cuda.analysis.axis_info import axis_info
from tle2cuda.analysis.slots import Slots, asks_the_same, pipe_of, slots_of
from tle2cuda.analysis.tasks import Task, regions_of_task
from tle2cuda.ir.effects import Effect, Roots, effects
from tle2cuda.ir.nodes import Kernel, Op, Region, Value
from tle2cuda.ir.rewrite import definitions
from tle2cuda.ir.types import BufferType

_LOOPS = frozenset(("for", "while"))
_PUBLISHING = frozenset(("pipe_commit", "pipe_close"))
_Path = tuple[tuple[Op, Region], ...]
"""The operations that one stands in, and in which of their regions."""


@dataclass(frozen=True, slots=True)
class _Step:
    """An operation of a task, where it stands, and what it does to shared memory."""

    op: Op
    path: _Path
    effects: tuple[Effect, ...]

    def excludes(self, other: _Step) -> bool:
        """Whether they are in different arms of one branch."""
        regions = dict(self.path)
        return any(op.name == "if" and regions.get(op, region) is not region for op, region in other.path)

    def repeats_with(self, other: _Step) -> bool:
        """Whether they are in one loop."""
        around = {op for op, _ in self.path if op.name in _LOOPS}
        return any(op in around for op, _ in other.path)


class StageUses:
    """Finds what touches the stages of a kernel's pipes.

    Args:
        kernel: The kernel.
        slots: Its slots.
    """

    def __init__(self, kernel: Kernel, slots: Slots) -> None:
        self._kernel = kernel
        self._roots = Roots(kernel)
        self._slots = slots
        self._definitions = definitions(kernel.body)
        self._known: dict[Region, tuple[_Step, ...]] = {}

    def may_fly(self, copy: Op, buffer: Value, task: Task) -> bool:
        """Whether a copy into a slot may still be in flight when its task goes on, as far as other ways there go.

        Args:
            copy: What puts something into the slot.
            buffer: The slot, or a part of it, that one `pipe_acquire` handed out.
            task: The task that does both.
        """
        slots = self._slots.of(buffer)
        if len(slots) != 1 or slots[0] is None:
            return False
        slot, steps = slots[0], self._steps(task.region)
        acquire = self._slots.makers[slot]
        number = next(i for i, step in enumerate(steps) if step.op is copy)
        here, end = steps[number], self._end(steps, number, acquire)
        for i, step in enumerate(steps):
            if step.op is copy or (i < number and not step.repeats_with(here)):
                continue
            ways = self._ways(step, slot)
            if None in ways and (step.repeats_with(here) or not step.excludes(here)):
                return False
            is_open = number < i < end and not step.excludes(here)
            if is_open and any(way is not None and self._is_same(way, slot, acquire) for way in ways):
                return False
        return True

    def _end(self, steps: tuple[_Step, ...], number: int, acquire: Op) -> int:
        """Where the stage is published."""
        pipe, first = pipe_of(acquire, self._roots), len(steps)
        for i in range(number + 1, len(steps)):
            op = steps[i].op
            if op.name not in _PUBLISHING or pipe_of(op, self._roots) is not pipe:
                continue
            if asks_the_same(op, acquire):
                return i
            first = min(first, i)
        return first

    def _steps(self, region: Region) -> tuple[_Step, ...]:
        """What a task does with shared memory and where it publishes stages, in program order."""
        if region not in self._known:
            found = []
            for op, path in _walk(region, ()):
                does = tuple(e for e in effects(op, self._roots) if e.is_shared and not e.is_scratch)
                if does or op.name in _PUBLISHING:
                    found.append(_Step(op, path, does))
            self._known[region] = tuple(found)
        return self._known[region]

    def _ways(self, step: _Step, slot: Value) -> set[Value | None]:
        """The slots by which an operation gets to what may be bytes of a slot's field; None where it does so by none."""
        found: set[Value | None] = set()
        field = self._field(slot)
        for effect in step.effects:
            root = effect.root
            if root is not None and root not in self._roots.of(field):
                continue
            place = effect.pointer or effect.buffer
            for way in self._slots.of(place) if place is not None else (root,):
                if way not in self._slots.makers:
                    found |= {None} if root is None or self._meet(place, field, root) else set()
                elif way is not None and (root is None or self._meet(self._field(way), field, root)):
                    found.add(way)
        return found

    def _meet(self, place: Value | None, field: Value, root: Value) -> bool:
        """Whether what a pointer or a buffer stands for may be bytes of a field."""
        if place is None:
            return True
        first, last = self._addresses.buffer_range(field, root)
        is_buffer = isinstance(place.type, BufferType)
        begin, end = (self._addresses.buffer_range if is_buffer else self._addresses.byte_range)(place, root)
        return begin < last and first < end

    @cached_property
    def _addresses(self) -> Addresses:
        return Addresses(axis_info(self._kernel), self._definitions)

    def _is_same(self, way: Value, slot: Value, acquire: Op) -> bool:
        """Whether another slot that the task holds may have bytes of the same stage.

        One endpoint holds several stages of a pipe only when they are different ones, unless their numbers are the same.
        """
        maker = self._slots.makers[way]
        if way is slot or maker.name != "pipe_acquire":
            return False
        pipes = [pipe_of(op, self._roots) for op in (maker, acquire)]
        if pipes[0] is pipes[1] and not asks_the_same(maker, acquire):
            return False
        return not self._are_apart(way, slot)

    def _are_apart(self, way: Value, slot: Value) -> bool:
        """Whether two slots are of fields that are different parts of a buffer."""
        fields = [self._definitions.get(self._field(each)) for each in (way, slot)]
        if any(op is None or op.name != "buffer_view" or op.attrs["kind"] != "subslice" for op in fields):
            return False
        one, other = (op for op in fields if op is not None)
        if one.operands[0] is not other.operands[0] or one.attrs["dim"] != other.attrs["dim"]:
            return False
        (a, b), (c, d) = (_window(op) for op in (one, other))
        return b <= c or d <= a

    def _field(self, slot: Value) -> Value:
        maker = self._slots.makers[slot]
        pipe = pipe_of(maker, self._roots)
        if pipe is None:
            return slot
        return self._definitions[pipe].operands[slots_of(maker).index(slot)]


def _window(op: Op) -> tuple[int, int]:
    """Where along its axis a part of a buffer begins and ends."""
    start, shape = op.attrs["start"], op.result.type.shape  # type: ignore[union-attr]
    return start, start + shape[op.attrs["dim"]]


def _walk(region: Region, path: _Path) -> Iterator[tuple[Op, _Path]]:
    """What one task runs, in program order, and where it stands."""
    for op in region.ops:
        yield op, path
        for inner in regions_of_task(op):
            yield from _walk(inner, (*path, (op, inner)))
