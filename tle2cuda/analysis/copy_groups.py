"""Whether a pipe within one task can do with groups of `cp.async`, and which groups may be in flight at each wait.

Such a pipe needs no mbarriers. A commit closes a group of copies; a wait lets those groups be in flight that were closed
behind the one it needs, and barriers of the task make known what has landed, and that a stage is free. That presumes that
the number of later groups is known where a wait stands: commits and waits follow each other in the same way whatever the
kernel's arguments are.

The task is followed with, for each reader of each pipe, the ages of the stages that are committed and not yet waited for:
how many groups were closed behind each. A loop must leave as many as it found; the smaller age counts where ways meet, for
a wait for too much is right as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tle2cuda.analysis.tasks import Task, regions_of_task, walk_task
from tle2cuda.ir.effects import Roots
from tle2cuda.ir.nodes import Op, Region, Value
from tle2cuda.ir.rewrite import definitions

_MOST_ROUNDS = 64  # of a loop, until ages no longer change, and of one with constant bounds
_ENDS = frozenset(("pipe_commit", "pipe_wait"))

Key = tuple[Value, str | None]
Ages = dict[Key, tuple[int, ...]]


@dataclass(slots=True)
class _Followed:
    """What following a task found.

    Attributes:
        ages: For each reader, the ages of stages it has not waited for, oldest first.
        pending: For each wait, the fewest groups that were closed behind the one it needs.
        failed: Pipes for which this does not work.
    """

    ages: Ages = field(default_factory=dict)
    pending: dict[Op, int] = field(default_factory=dict)
    failed: set[Value] = field(default_factory=set)


def pending_groups(task: Task, pipes: Mapping[Value, Op], copying: set[Value], roots: Roots) -> dict[Value, dict[Op, int]]:
    """For each pipe for which groups do, how many of them may be in flight at each of its waits.

    Args:
        task: The task.
        pipes: The pipes in question, both of whose ends are in it, each with its operation.
        copying: Those of them whose stages are filled by `cp.async`: their commits close groups.
        roots: Where pipes come from.
    """
    left = dict(pipes)
    while left:
        found = _CopyGroups(task, left, copying & set(left), roots).pending()
        if len(found) == len(left):
            return found
        left = {pipe: op for pipe, op in left.items() if pipe in found}  # without the groups that others would close
    return {}


class _CopyGroups:
    """Follows one task; see `pending_groups`."""

    def __init__(self, task: Task, pipes: Mapping[Value, Op], copying: set[Value], roots: Roots) -> None:
        self.task = task
        self.pipes = pipes
        self.copying = copying
        self.roots = roots
        self.constants = {
            value: int(op.attrs["value"])
            for value, op in definitions(task.region).items()
            if op.name == "constant" and isinstance(op.attrs["value"], int)
        }
        self.state = _Followed()

    def pending(self) -> dict[Value, dict[Op, int]]:
        """How many groups may be in flight at each wait, for the pipes for which that is known."""
        for pipe, op in self.pipes.items():
            self._start(pipe, op)
        self._region(self.task.region)
        found: dict[Value, dict[Op, int]] = {pipe: {} for pipe in self.pipes if pipe not in self.state.failed}
        for op, count in self.state.pending.items():
            waited = self._pipe(op)
            if waited is not None and waited in found:
                found[waited][op] = count
        return found

    def _start(self, pipe: Value, op: Op) -> None:
        for reader in op.attrs["readers"] or (None,):
            self.state.ages[pipe, reader] = ()

    def _pipe(self, op: Op) -> Value | None:
        made = self.roots.of(op.operands[0])
        return made[0] if len(made) == 1 else None

    def _region(self, region: Region) -> None:
        for op in region.ops:
            self._op(op)

    def _op(self, op: Op) -> None:
        if op.name == "pipe" and op.result in self.pipes and op.attrs.get("restarts"):
            self._start(op.result, op)
        elif op.name in _ENDS or op.name == "cp_async_commit":
            self._end(op)
        elif op.name in ("for", "while") and self._matters(op):
            self._loop(op)
        elif op.name == "if" and self._matters(op):
            self._branch(op)
        else:
            for region in regions_of_task(op):
                self._region(region)

    def _matters(self, op: Op) -> bool:
        return any(
            inner.name in _ENDS or inner.name == "cp_async_commit" for r in regions_of_task(op) for inner in walk_task(r)
        )

    def _end(self, op: Op) -> None:
        state = self.state
        pipe = None if op.name == "cp_async_commit" else self._pipe(op)
        if op.name == "pipe_wait":
            key = (pipe, op.attrs.get("reader"))
            if pipe not in self.pipes:
                return
            assert pipe is not None
            ages = state.ages.get((pipe, key[1]), ())
            if not ages:
                state.failed.add(pipe)  # nothing was committed: what this waits for is not known
                return
            state.pending[op] = min(ages[0], state.pending.get(op, ages[0]))
            state.ages[pipe, key[1]] = ages[1:]
            return
        if pipe is None or pipe in self.copying:  # the group closes: all that were committed before are one older
            state.ages = {key: tuple(age + 1 for age in ages) for key, ages in state.ages.items()}
        for key, ages in list(state.ages.items()):
            if key[0] is pipe:
                state.ages[key] = (*ages, 0)

    def _fail(self, op: Op) -> None:
        """Give up the pipes that an operation uses; all of them where groups are closed that others would count."""
        for region in regions_of_task(op):
            for inner in walk_task(region):
                if inner.name in _ENDS or inner.name == "cp_async_commit":
                    pipe = self._pipe(inner) if inner.name in _ENDS else None
                    closes = inner.name == "cp_async_commit" or pipe in self.copying
                    self.state.failed.update(known for known in self.pipes if closes or known is pipe)

    def _branch(self, op: Op) -> None:
        """Both ways must leave as many stages that are not waited for."""
        start = dict(self.state.ages)
        self._arm(op.regions[0])
        then, self.state.ages = self.state.ages, start
        self._arm(op.regions[1])
        self._join(then)

    def _join(self, other: Ages) -> None:
        """What is known where this way meets another one."""
        joined: Ages = {}
        for key, ages in self.state.ages.items():
            also = other.get(key, ())
            if len(also) != len(ages):
                self.state.failed.add(key[0])
            joined[key] = tuple(map(min, also, ages)) if len(also) == len(ages) else also
        self.state.ages = joined

    def _arm(self, region: Region) -> None:
        """Follow a region that may run again, or not at all."""
        self._region(region)
        for op in region.ops:  # what is left in a ring that begins anew when this runs again is of no concern
            if op.name == "pipe" and op.attrs.get("restarts") and op.result in self.pipes:
                self._start(op.result, op)

    def _loop(self, op: Op) -> None:
        count = self._constant_count(op)
        if count is not None and count <= _MOST_ROUNDS:
            for _ in range(count):
                self._once(op)
            return
        for _ in range(_MOST_ROUNDS):
            before = dict(self.state.ages)
            self._once(op)
            self._join(before)
            if self.state.ages == before:
                return
        self._fail(op)

    def _once(self, op: Op) -> None:
        for region in regions_of_task(op):
            self._arm(region)

    def _constant_count(self, op: Op) -> int | None:
        """Iterations of a loop with constant bounds."""
        if op.name != "for":
            return None
        bounds = [self.constants.get(v) for v in op.operands[:3]]
        if any(bound is None for bound in bounds) or bounds[2] == 0:
            return None
        lower, upper, step = (int(bound) for bound in bounds if bound is not None)
        return len(range(lower, upper, step))


__all__ = ["pending_groups"]
