"""What must be over before a kernel makes a tensor map anew in the memory of the one before it.

A map must not change while the copy engine may still read it for a copy: until the copy has landed, or, of a store, has
read shared memory. Loads that block are over where the next statement begins. Of loads into the stages of a pipe either
the published stages are waited for, or each stage has a map of its own, which is free when the stage is. Of loads that
complete on an mbarrier the kernel itself waits for, in the same iteration. Where nothing of that is known, there is no map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tle2cuda.analysis.slots import Slots, pipe_of
from tle2cuda.analysis.tasks import regions_of_task
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.tma import tensor_copy
from tle2cuda.ir.types import PipeType

_LOOPS = frozenset(("for", "while"))
_MOST_MAPS = 32  # that a place has memory for, one for each stage


@dataclass(frozen=True, slots=True)
class Reuse:
    """What a map waits for when it is made.

    Attributes:
        stage: Stage of a pipe whose map it is; None for a map that does not depend on one.
        slots: How many maps there is memory for.
        pipes: Pipes whose published stages must have landed.
        stores: Whether stores by it must have read what they store.
    """

    stage: Value | None = None
    slots: int = 1
    pipes: tuple[Value, ...] = ()
    stores: bool = False


class Nesting:
    """Where operations and values of a kernel stand."""

    def __init__(self, kernel: Kernel) -> None:
        self.region: dict[Op, Region] = {}
        self.owner: dict[Region, Op | None] = {kernel.body: None}
        self.position: dict[Op, int] = {}
        self._home: dict[Value, Region] = {argument.value: kernel.body for argument in kernel.args}
        self._visit(kernel.body)

    def _visit(self, region: Region) -> None:
        self._home.update((value, region) for value in region.params)
        for number, op in enumerate(region.ops):
            self.region[op], self.position[op] = region, number
            self._home.update((value, region) for value in op.results)
            for inner in op.regions:
                self.owner[inner] = op
                self._visit(inner)

    def around(self, region: Region) -> list[Region]:
        """A region and those that enclose it, from inside to outside."""
        found = [region]
        while (owner := self.owner[found[-1]]) is not None:
            found.append(self.region[owner])
        return found

    def task(self, region: Region) -> Region:
        """What the task runs that a region belongs to."""
        for each in self.around(region):
            owner = self.owner[each]
            if owner is None or not any(each is own for own in regions_of_task(owner)):
                return each
        raise AssertionError("the body of a kernel has no owner")

    def home(self, op: Op, values: Sequence[Value]) -> Region:
        """The outermost region of an operation's task in which all values are known."""
        around = self.around(self.region[op])
        inner = [around.index(home) for value in values if (home := self._home[value]) in around]
        return around[min((*inner, around.index(self.task(around[0]))))]

    def inside(self, op: Op, region: Region) -> Op | None:
        """The operation of a region that is or contains another one; None when that stands elsewhere."""
        while self.region[op] is not region:
            owner = self.owner[self.region[op]]
            if owner is None:
                return None
            op = owner
        return op

    def is_before(self, first: Op, second: Op) -> bool:
        """Whether an operation comes before another one whenever that one is reached."""
        region = self.region[first]
        held = self.inside(second, region)
        return held is not None and self.position[first] < self.position[held]

    def is_repeated(self, region: Region, outside: Region | None = None) -> bool:
        """Whether a loop repeats a region within another one, or within the kernel."""
        for each in self.around(region):
            if each is outside:
                return False
            owner = self.owner[each]
            if owner is not None and owner.name in _LOOPS:
                return True
        return False


class MapReuse:
    """Decides how maps of a kernel are made anew."""

    def __init__(self, kernel: Kernel, nesting: Nesting) -> None:
        self._nesting = nesting
        self._slots = Slots(kernel)
        self._ops = list(walk(kernel.body))

    def plan(self, anchor: Op, copies: Sequence[Op]) -> Reuse | None:
        """How the map that is made in front of an operation is; None when it cannot be known when it is free.

        Args:
            anchor: The first operation that uses the map, or contains such copies.
            copies: All copies by it.
        """
        place = self._nesting.region[anchor]
        if not self._nesting.is_repeated(place):
            return Reuse()
        loads = [op for op in copies if op.name == "tma_load"]
        if not all(self._is_awaited(op, place) for op in loads if op.attrs["completion"] == "barrier"):
            return None
        acquires = dict.fromkeys(acquire for op in loads if (acquire := self._acquire(op)) is not None)
        stores = len(loads) < len(copies)
        if not acquires:
            return Reuse(stores=stores)
        if len(acquires) == 1 and self._has_stage(next(iter(acquires)), anchor):
            (acquire,) = acquires
            return Reuse(acquire.operands[1], _capacity(acquire), stores=stores)
        pipes = dict.fromkeys(pipe_of(acquire, self._slots) for acquire in acquires)
        if not all(self._is_published(acquire, anchor) for acquire in acquires):
            return None
        return Reuse(pipes=tuple(pipe for pipe in pipes if pipe is not None), stores=stores)

    def _acquire(self, load: Op) -> Op | None:
        """What handed out the stage that a load fills without waiting for it; None for one that blocks."""
        makers = self._slots.hand_outs(tensor_copy(load).buffer)
        maker = next(iter(makers)) if len(makers) == 1 and load.attrs["completion"] != "barrier" else None
        return maker if maker is not None and maker.name == "pipe_acquire" else None

    def _has_stage(self, acquire: Op, anchor: Op) -> bool:
        """Whether each map is made for one stage that was acquired before it: what filled that earlier has landed."""
        nesting = self._nesting
        if not nesting.is_before(acquire, anchor) or _capacity(acquire) > _MOST_MAPS or self._is_one_shot(acquire):
            return False
        return not nesting.is_repeated(nesting.region[anchor], nesting.region[acquire])

    def _is_one_shot(self, acquire: Op) -> bool:
        pipe = pipe_of(acquire, self._slots)
        return any(op.attrs["one_shot"] for op in self._ops if op.name == "pipe" and (pipe is None or op.result is pipe))

    def _is_published(self, acquire: Op, anchor: Op) -> bool:
        """Whether what is acquired after the map was made is published before it is made anew, by the same task."""
        nesting, pipe = self._nesting, pipe_of(acquire, self._slots)
        place = nesting.region[anchor]
        made = next((op for op in self._ops if op.name == "pipe" and op.result is pipe), None)
        if made is None or not nesting.is_before(made, anchor):
            return False
        held = nesting.inside(acquire, place)
        if held is None or nesting.position[held] < nesting.position[anchor]:
            return False
        publishing = [
            op for op in self._ops if op.name in ("pipe_commit", "pipe_close") and pipe_of(op, self._slots) in (pipe, None)
        ]
        if any(nesting.task(nesting.region[op]) is not nesting.task(place) for op in publishing):
            return False
        return any(
            op.operands[1:] == acquire.operands[1:] and self._follows(op, acquire, place)
            for op in publishing
            if op.name == "pipe_commit"
        )

    def _is_awaited(self, load: Op, place: Region) -> bool:
        """Whether the kernel waits for a load on an mbarrier before a region is repeated."""
        copy = tensor_copy(load)
        return any(
            op.operands[0] is copy.barriers and op.operands[1] is copy.index and self._follows(op, load, place)
            for op in self._ops
            if op.name == "mbarrier_wait"
        )

    def _follows(self, op: Op, first: Op, place: Region) -> bool:
        """Whether an operation comes after another one whenever that was reached, before a region is repeated."""
        nesting = self._nesting
        region = nesting.region[op]
        held = nesting.inside(first, region)
        if held is None or nesting.position[held] >= nesting.position[op]:
            return False
        return nesting.inside(op, place) is not None and not nesting.is_repeated(nesting.region[first], region)


def _capacity(acquire: Op) -> int:
    type_ = acquire.operands[0].type
    assert isinstance(type_, PipeType)
    return type_.capacity
