"""How long each shared-memory allocation holds something that is still wanted.

Operations are numbered in program order, outer before inner, as `walk` visits them. A buffer lives from its first
access to its last one, and through the whole of every loop that contains an access but not the allocation itself:
what one iteration leaves, the next may read. (An allocation inside a loop has undefined content in every
iteration.) Scratch holds nothing between operations, so it lives only while its own operations run, unless it is kept
from the operation that fills it to those that read it.

A worker's partition runs beside the default warps, and may be ahead of all that they do: what it accesses, but for
allocations of its own, lives from the start of the `warp_specialize`, in front of which they can meet.

Buffers that other CTAs access, and those whose pointers cannot be followed, live from start to end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tle2cuda.analysis.tasks import regions_of_task
from tle2cuda.ir.effects import Roots, effects, is_remote
from tle2cuda.ir.nodes import Kernel, Op, Region, Value
from tle2cuda.ir.rules import scratch_operands

Worker = tuple[Op, Region]
"""A `warp_specialize` and one of its partitions."""

Interval = tuple[int, int]
"""First and last operation, both included."""


@dataclass(frozen=True, slots=True)
class LiveRange:
    """When an allocation is in use.

    Attributes:
        intervals: Of operation numbers, in order.
        is_whole_kernel: It must keep its bytes for itself throughout.
    """

    intervals: tuple[Interval, ...]
    is_whole_kernel: bool = False

    def overlaps(self, other: LiveRange) -> bool:
        """Whether both are in use at some time."""
        if self.is_whole_kernel or other.is_whole_kernel:
            return True
        return any(a[0] <= b[1] and b[0] <= a[1] for a in self.intervals for b in other.intervals)


def liveness(kernel: Kernel) -> Mapping[Value, LiveRange]:
    """Live ranges of all allocations, in program order."""
    return _Liveness(kernel).run()


class _Liveness:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.roots = Roots(kernel)
        self.allocations: dict[Value, tuple[Op, tuple[Op, ...]]] = {}  # with the loops around them
        self.workers: dict[Value, Worker | None] = {}  # of allocations: the partition whose own they are
        self.intervals: dict[Value, list[Interval]] = {}
        self.whole: set[Value] = set()
        self.spans: dict[Op, Interval] = {}
        self.has_unknown_access = False

    def run(self) -> Mapping[Value, LiveRange]:
        self._number(self.kernel.body, 0, (), None)
        self._scan(self.kernel.body, (), None)
        result = {}
        for root, (op, _) in self.allocations.items():
            intervals = self.intervals.get(root, [])
            if intervals and (op.attrs.get("is_kept") or not op.attrs.get("scratch")):
                intervals = [(min(a for a, _ in intervals), max(b for _, b in intervals))]
            whole = root in self.whole or (self.has_unknown_access and not op.attrs.get("scratch"))
            result[root] = LiveRange(tuple(sorted(intervals)), whole)
        return result

    def _number(self, region: Region, next_: int, loops: tuple[Op, ...], worker: Worker | None) -> int:
        for op in region.ops:
            start = next_
            next_ += 1
            if op.name == "alloc":
                self.allocations[op.result] = (op, loops)
                self.workers[op.result] = worker
            inner_loops = (*loops, op) if op.name in ("for", "while") else loops
            for inner in op.regions:
                next_ = self._number(inner, next_, inner_loops, _worker_of(op, inner, worker))
            self.spans[op] = (start, next_ - 1)
        return next_

    def _scan(self, region: Region, loops: tuple[Op, ...], worker: Worker | None) -> None:
        for op in region.ops:
            self._accesses(op, loops, worker)
            if op.name == "fused":
                continue
            inner_loops = (*loops, op) if op.name in ("for", "while") else loops
            for inner in op.regions:
                self._scan(inner, inner_loops, _worker_of(op, inner, worker))

    def _accesses(self, op: Op, loops: tuple[Op, ...], worker: Worker | None) -> None:
        for buffer in scratch_operands(op):
            for root in self.roots.of(buffer):
                if root is not None:
                    self.intervals.setdefault(root, []).append(self.spans[op])
        for effect in effects(op, self.roots):
            if not effect.is_shared or effect.is_scratch:
                continue
            if effect.root is None:
                self.has_unknown_access = True
                continue
            if is_remote(effect):
                self.whole.add(effect.root)
            first, last = self._interval(effect.root, op, loops)
            if worker is not None and self.workers.get(effect.root) != worker:
                first = min(first, self.spans[worker[0]][0])
            self.intervals.setdefault(effect.root, []).append((first, last))
        if op.name == "remote":
            self.whole.update(root for root in self.roots.of(op.operands[0]) if root is not None)

    def _interval(self, root: Value, op: Op, loops: tuple[Op, ...]) -> Interval:
        """The operation, or the outermost loop around it that does not hold the allocation as well."""
        outer = self.allocations[root][1] if root in self.allocations else ()
        beyond = loops[len(outer) :] if loops[: len(outer)] == outer else loops
        return self.spans[beyond[0]] if beyond else self.spans[op]


def _worker_of(op: Op, region: Region, worker: Worker | None) -> Worker | None:
    """The worker's partition that a region of an operation belongs to, which stands in `worker`."""
    return worker if any(region is own for own in regions_of_task(op)) else (op, region)
