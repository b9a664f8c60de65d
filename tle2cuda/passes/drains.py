"""Copies that the engine brings and nobody waits for: who started them waits at its end, so that no CTA exits under them.

What comes into a stage of a pipe is waited for by its readers. Where each of the writer's commits has a reader's wait for
the same stage and lap, or a release, under the same conditions and in loops of the same bounds, nothing is done. Anywhere
else the writer's task notes which stages it filled (`count_fills`, at its start) and waits until all have landed
(`await_fills`, at its end). The same is done for mbarriers of the user's that take the bytes of copies and nothing else.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tle2cuda.analysis.tasks import Task, regions_of_task, tasks, uses_of_task
from tle2cuda.ir.effects import Roots, effects
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter
from tle2cuda.ir.rows import ROWS
from tle2cuda.ir.tma import tensor_copy
from tle2cuda.ir.types import GLOBAL, TileType, is_handle

EXIT_REASON = "no thread may exit while the copies it made are in flight"

_CONTROL = ("if", "for", "while")
_PUBLISHING = ("pipe_commit", "pipe_close")
_Chain = tuple[object, ...]
"""The loops and branches that an operation stands in, so that equal ones run it equally often."""
_Use = tuple[_Chain, tuple[int, ...]]
"""An operation on a pipe or on barriers: what it stands in, and which stage and lap it works on."""


def with_drains(kernel: Kernel, filled: Mapping[Value, Value], copied: Collection[Value] = ()) -> Kernel:
    """Let tasks wait at their end for what they started and nobody may wait for.

    Args:
        kernel: The kernel, pipes having got their barriers.
        filled: Pipes that the copy engine fills, and the barriers that say when a stage has landed.
        copied: Pipes with barriers that `cp.async` fills.
    """
    by_engine = (op for op in walk(kernel.body) if op.name == "tma_load" and op.attrs["completion"] != "blocking")
    if not copied and not any(by_engine):
        return kernel
    drains = _Drains(kernel, filled, copied)
    wanted, copying = list(drains.wanted()), frozenset(task.region for task in drains.copying())
    return _Place(wanted, copying).kernel(kernel) if wanted or copying else kernel


@dataclass(frozen=True, slots=True)
class _Drain:
    """A task that waits at its end.

    Attributes:
        region: What the task runs.
        barriers: What it waits at.
        takes_turns: Whether other tasks fill the same stages before or behind it.
    """

    region: Region
    barriers: Value
    takes_turns: bool


class _Drains:
    def __init__(self, kernel: Kernel, filled: Mapping[Value, Value], copied: Collection[Value]) -> None:
        self.copied = copied
        self.kernel = kernel
        self.roots = Roots(kernel)
        self.filled = filled
        self.tasks = tasks(kernel)
        self.divisions = set(kernel.divisions)
        self.chains = _Chains(kernel, self.roots, self.tasks)

    def wanted(self) -> Iterator[_Drain]:
        for pipe, barriers in self.filled.items():
            writers = self._tasks_of(pipe, _PUBLISHING)
            if not self._is_read(pipe, writers):
                for task in writers:
                    yield _Drain(task.region, barriers, len(writers) > 1 or task.site in self.divisions)
        own = set(self.filled.values())
        for op in walk(self.kernel.body):
            if op.name == "alloc_barriers" and op.result not in own:
                yield from self._of_barriers(op)

    def copying(self) -> Iterator[Task]:
        """Tasks that wait for their copies by `cp.async`."""
        for pipe in self.copied:
            writers = self._tasks_of(pipe, _PUBLISHING)
            if not self._is_read(pipe, writers):
                yield from writers

    def _tasks_of(self, handle: Value, names: Sequence[str]) -> list[Task]:
        return [task for task in self.tasks if self.chains.of(task, names, handle)]

    def _is_read(self, pipe: Value, writers: Sequence[Task]) -> bool:
        """Whether readers surely wait for all that is put into a pipe.

        A wait for the same stage and lap in the same loops and branches tells it, or as many releases of one reader.
        """
        made = next(op for op in walk(self.kernel.body) if pipe in op.results)
        if made.attrs.get("is_ring"):  # of the pipeliner's, which waits for every stage that it fills
            return True
        if len(writers) != 1:
            return not writers
        commits = self.chains.of(writers[0], _PUBLISHING, pipe)
        waits = {use for task in self.tasks for use in self.chains.of(task, ("pipe_wait",), pipe)}
        if waits.issuperset(commits):
            return True
        readers = made.attrs["readers"] or (None,)
        return not made.attrs["one_shot"] and any(self._is_released(commits, pipe, reader) for reader in readers)

    def _is_released(self, commits: Sequence[_Use], pipe: Value, reader: str | None) -> bool:
        found: collections.Counter[_Chain] = collections.Counter()
        for task in self.tasks:
            found.update(chain for chain, _ in self.chains.of(task, ("pipe_release",), pipe, reader))
        wanted = collections.Counter(chain for chain, _ in commits)
        return not wanted - found or self.chains.is_as_often(found, wanted)

    def _of_barriers(self, made: Op) -> Iterator[_Drain]:
        """Barriers of the user's: each phase is one copy of one task, or nothing can be told of them."""
        writers = self._tasks_of(made.result, ("tma_load",))
        if len(writers) != 1 or made.attrs["arrivals"] != 1:
            return
        if writers[0].site in self.divisions or self._tasks_of(made.result, ("mbarrier_arrive",)):
            return
        copies = collections.Counter(chain for chain, _ in self.chains.of(writers[0], ("tma_load",), made.result))
        for task in self.tasks:
            waits = (chain for chain, _ in self.chains.of(task, ("mbarrier_wait",), made.result))
            if not copies - collections.Counter(waits):
                return
        yield _Drain(writers[0].region, made.result, False)


class _Chains:
    """What each operation stands in, in terms that do not depend on the task."""

    def __init__(self, kernel: Kernel, roots: Roots, all_tasks: Sequence[Task]) -> None:
        self.roots = roots
        self.definitions = {result: op for op in walk(kernel.body) for result in op.results}
        self.written = {root for task in all_tasks for root in uses_of_task(task, roots).written}
        self.keys: dict[Value, object] = {}
        self.numbers: dict[object, int] = {}  # of keys, so that none grows
        self.constants: dict[object, int] = {}  # values of integers that are known
        self.ranges: dict[object, tuple[int, int]] = {}  # bounds of loops of step 1
        often = set(kernel.divisions)  # may stand in loops
        self.found = {
            task.region: list(self._visit(task.region, (id(task.site),) if task.site in often else ()))
            for task in all_tasks
        }

    def of(self, task: Task, names: Sequence[str], handle: Value, reader: str | None = None) -> list[_Use]:
        """What a task does by operations of some names with a pipe, or with barriers."""
        return [
            (chain, tuple(self.key(v) for v in op.operands[1:3]) if op.name != "tma_load" else ())
            for op, chain in self.found[task.region]
            if op.name in names
            and (reader is None or op.attrs.get("reader") == reader)
            and (at := _handle(op)) is not None
            and self.roots.of(at) == (handle,)
        ]

    def _visit(self, region: Region, chain: _Chain) -> Iterator[tuple[Op, _Chain]]:
        for op in region.ops:
            if op.name in _CONTROL:
                for arm, inner in enumerate(op.regions):
                    yield from self._visit(inner, (*chain, self._control(op, arm, len(chain))))
                continue
            yield op, chain
            for inner in regions_of_task(op):
                yield from self._visit(inner, chain)

    def _control(self, op: Op, arm: int, depth: int) -> object:
        if op.name == "while":
            return self._number(("while", id(op), arm))
        if op.name == "for":
            (body,) = op.regions
            self.keys[body.params[0]] = ("induction", depth)
            for number, value in enumerate(body.params[1:]):
                self.keys[value] = self._carried(op, number, depth)
            start, end, step = (self.key(v) for v in op.operands[:3])
            number = self._number(("for", start, end, step))
            if self.constants.get(step) == 1:
                self.ranges[number] = (start, end)
            return number
        return self._number(("if", self.key(op.operands[0]), arm))

    def _carried(self, loop: Op, number: int, depth: int) -> object:
        """What tells a number that a loop carries: how it starts, and what becomes of it in an iteration."""
        (body,) = loop.regions
        value = body.params[1 + number]
        if isinstance(value.type, TileType) or is_handle(value.type):
            return ("value", id(value))
        start = self.key(loop.operands[3 + number])
        known = dict(self.keys)
        self.keys[value] = ("itself", depth)
        following = self.key(body.terminator.operands[number])
        self.keys = known
        return ("carried", depth, start, following)

    def key(self, value: Value) -> int:
        """A number that values have in common which are surely equal, in whichever task."""
        known = self.keys.get(value)
        if known is None:
            known = self.keys[value] = self._key(value)
        number = self._number(known)
        made = self.definitions.get(value)
        if made is not None and made.name == "constant" and isinstance(made.attrs["value"], int):
            self.constants[number] = made.attrs["value"]
        return number

    def _key(self, value: Value) -> object:
        op = self.definitions.get(value)
        if op is None or op.regions or not (ROWS[op.name].is_pure or self._is_constant_load(op)):
            return ("value", id(value))
        attrs = tuple(sorted((name, repr(each)) for name, each in op.attrs.items()))
        operands = tuple(self.key(v) for v in op.operands)
        return (op.name, attrs, operands, op.results.index(value), str(value.type))

    def _is_constant_load(self, op: Op) -> bool:
        """Whether a load always gives the same: of memory that the kernel never writes."""
        if op.name != "load" or op.attrs.get("volatile") or None in self.written:
            return False
        return all(e.space == GLOBAL and e.root is not None and e.root not in self.written for e in effects(op, self.roots))

    def is_as_often(self, found: Mapping[_Chain, int], wanted: Mapping[_Chain, int]) -> bool:
        """Whether loops of step 1 over parts of a range, and single iterations beside them, make up for one loop over it.

        A loop runs `end - start` times or more. The wanted one may run no more often, and must not be outnumbered at zero.
        """
        loops = [chain for chain in wanted if self._range(chain) is not None]
        if len(loops) != 1 or wanted[loops[0]] != 1:
            return False
        outer = loops[0][:-1]
        if set(wanted) - {outer, loops[0]}:
            return False
        surplus: collections.Counter[int | None] = collections.Counter()  # multiples of values; None counts single ones
        for chains, sign in ((found, 1), (wanted, -1)):
            for chain, count in chains.items():
                bounds = self._range(chain)
                if chain == outer:
                    surplus[None] += sign * count
                elif bounds is not None and chain[:-1] == outer:
                    for bound, factor in zip(bounds, (-1, 1), strict=True):
                        constant = self.constants.get(bound)
                        amount = sign * factor * count
                        surplus[bound if constant is None else None] += amount * (1 if constant is None else constant)
        enough = found.get(outer, 0) >= wanted.get(outer, 0)
        return enough and surplus[None] >= 0 and not any(n for value, n in surplus.items() if value is not None)

    def _range(self, chain: _Chain) -> tuple[int, int] | None:
        """The bounds of the innermost loop around something, if that counts by ones."""
        return self.ranges.get(chain[-1]) if chain else None

    def _number(self, key: object) -> int:
        return self.numbers.setdefault(key, len(self.numbers))


def _handle(op: Op) -> Value | None:
    """The pipe or the barriers that an operation works on."""
    if op.name != "tma_load":
        return op.operands[0] if op.operands else None
    return tensor_copy(op).barriers if op.attrs["completion"] == "barrier" else None


class _Place(Rewriter):
    """Puts the operations at both ends of tasks; barriers that are made further inside are made in front of everything."""

    def __init__(self, wanted: Sequence[_Drain], copying: Collection[Region]) -> None:
        super().__init__()
        self.wanted = wanted
        self.copying = copying

    def kernel(self, kernel: Kernel) -> Kernel:
        self.body = kernel.body
        top = set(kernel.body.ops)
        barriers = {each.barriers for each in self.wanted}
        made = [op for op in walk(kernel.body) if op.name == "alloc_barriers" and op.result in barriers]
        self.raised = [op for op in made if op not in top]
        return super().kernel(kernel)

    def visit(self, op: Op) -> None:
        if op in self.raised:
            return
        self.copy(op)
        if op.name == "alloc_barriers":
            for each in self.wanted:
                if each.barriers is op.result and each.region is self.body:
                    self._count(each)

    def region(self, region: Region) -> Region:
        own = [each for each in self.wanted if each.region is region]
        if not own and region not in self.copying and region is not self.body:
            return super().region(region)
        self._stack.append([])
        if region is self.body:
            for op in self.raised:
                self.emit(op)
        for each in own:
            if region is not self.body or any(op.result is each.barriers for op in self.raised):
                self._count(each)
        for op in region.ops[:-1]:
            self.visit(op)
        if own:
            self.emit(make_op("await_fills", tuple(self[each.barriers] for each in own), span=own[0].barriers.span))
        if region in self.copying:
            attrs = {"pending": 0, "all": True, "reason": EXIT_REASON}
            self.emit(make_op("cp_async_wait", (), (), attrs, span=region.terminator.span))
        self.visit(region.ops[-1])
        return Region(region.params, tuple(self._stack.pop()))

    def _count(self, each: _Drain) -> None:
        attrs = {"takes_turns": True} if each.takes_turns else {}
        self.emit(make_op("count_fills", (self[each.barriers],), (), attrs, span=each.barriers.span))


__all__ = ["with_drains"]
