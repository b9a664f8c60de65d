"""Who releases the stages of a pipe: every thread of a reader, or fewer where products alone read.

One for each warpgroup, which waits for all of a product, so that behind a wait one of its threads may say that all are done
with what it read. That holds within one task, too, where thread 0 fills the stages by the copy engine. Where the reader
shares other memory with the writer, which the release might hand over, one for each warp, behind what the others did.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tle2cuda.analysis.slots import pipe_of
from tle2cuda.analysis.tasks import Task, tasks, walk_task
from tle2cuda.ir.effects import READ, Effect, Roots, effects, is_product
from tle2cuda.ir.nodes import WARPGROUP_WARPS, Kernel, Op, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, definitions, replace_ops
from tle2cuda.ir.rules import scratch_operands, value_operands
from tle2cuda.ir.types import BarrierType

WARPGROUPS = "warpgroups"
"""Arrivals of a release: by one thread of each warpgroup."""
WARPS = "warps"
"""Arrivals of a release: by one thread of each warp, behind the others."""

_FREE_REASON = "products have read the stage that is filled again"


def released_by_few(
    roots: Roots,
    fields: Collection[Value | None],
    writer: Task | None,
    reading: Mapping[str | None, Sequence[tuple[Task, Op]]],
    ordered: Collection[Value | None] = (),
) -> dict[str | None, str]:
    """Readers of a pipe that nothing but products read for, and which of their threads release.

    Args:
        roots: Where buffers come from.
        fields: Allocations that the pipe hands out.
        writer: The task that fills them.
        reading: Tasks and operations by reader.
        ordered: Allocations that other pipes hand out, which order what is done to them.
    """
    if writer is None or None in fields:
        return {}
    theirs = [e for op in walk_task(writer.region) for e in effects(op, roots) if not e.is_scratch]
    found: dict[str | None, str] = {}
    for reader, uses in reading.items():
        readers = list({id(task.region): task for task, _ in uses}.values())
        if len(readers) > 1 or readers[0].warps % WARPGROUP_WARPS:
            continue
        own = [e for op in walk_task(readers[0].region) for e in effects(op, roots) if not e.is_scratch]
        reads = [e for e in own if e.root in fields]
        others = [e for e in own if e.root not in fields and e.root not in ordered and not is_product(e)]
        is_apart = _are_apart(others, theirs)
        if readers[0].region is writer.region:
            reads = [e for e in reads if e.op.name != "tma_load"]
            is_apart = None not in {e.root for e in own if e.is_shared}  # the task tells itself, of the ring alone
        if reads and all(map(is_product, reads)):
            found[reader] = WARPGROUPS if is_apart else WARPS
    return found


def _are_apart(some: Sequence[Effect], others: Sequence[Effect]) -> bool:
    """Whether nothing that either writes is accessed by the other."""
    if any(e.root is None for e in (*some, *others)):
        return False
    written = {e.root for e in (*some, *others) if e.kind != READ}
    return written.isdisjoint({e.root for e in some} & {e.root for e in others})


def with_releases_by_warpgroups(kernel: Kernel) -> Kernel:
    """The kernel with such releases of the pipeliner's rings: layouts tell which products read them where they lie.

    Where the whole CTA fills a ring and reads it, and a product is in flight, it meets at a barrier before a stage is
    filled again, and nobody arrives anywhere: `_Meetings`. Without one in flight, warpgroups go on apart.
    """
    rings = {op.result: op for op in walk(kernel.body) if op.name == "pipe" and _is_engines_ring(op)}
    if not rings:
        return kernel
    roots = Roots(kernel)
    released: set[Value] = set()
    own: set[Value] = set()
    arrivals: dict[Value, int] = {}
    handed = {pipe: {root for field in value_operands(op) for root in roots.of(field)} for pipe, op in rings.items()}
    ordered = {root for fields in handed.values() for root in fields}
    for pipe, op in rings.items():
        fields = handed[pipe]
        writers = _users(kernel, roots, pipe, "pipe_acquire")
        reading = _users(kernel, roots, pipe, "pipe_release")
        if not writers or not reading:
            continue
        if released_by_few(roots, fields, writers[0][0], {None: reading}, ordered) == {None: WARPGROUPS}:
            is_of_cta = writers[0][0].region is reading[0][0].region is kernel.body and not kernel.divisions
            if is_of_cta and op.attrs.get("overlaps"):
                own.add(pipe)
                continue
            released.add(pipe)
            arrivals[scratch_operands(op)[1]] = reading[0][0].warps // WARPGROUP_WARPS

    def change(op: Op) -> Op:
        if op.name == "alloc_barriers" and op.result in arrivals:
            return _with(op, arrivals=arrivals[op.result])
        is_release = op.name == "pipe_release" and pipe_of(op, roots) in released
        return _with(op, arrivals=(WARPGROUPS,)) if is_release else op

    kernel = replace_ops(kernel, change) if released else kernel
    return _Meetings(kernel, {pipe: rings[pipe] for pipe in own}).kernel(kernel) if own else kernel


class _Meetings(Rewriter):
    """Puts barriers of the CTA in place of a ring's barriers for free stages.

    Each warpgroup has waited for the products that read a stage, so that behind the barrier thread 0 may fill it. If it
    waited for arrivals instead, in a loop of its own, warps would not be whole to ptxas behind it, and the operands of each
    product would be moved to uniform registers one by one.
    """

    def __init__(self, kernel: Kernel, rings: Mapping[Value, Op]) -> None:
        super().__init__()
        self._roots = Roots(kernel)
        self._definitions = definitions(kernel.body)
        self._rings = rings
        self._free = {scratch_operands(op)[1] for op in rings.values()}
        self._is_met = False

    def visit(self, op: Op) -> None:
        if op.name == "alloc_barriers" and op.result in self._free:
            return
        if op.name == "pipe" and op.result in self._rings:
            fewer = int(op.attrs["num_scratch"]) - 1
            at = len(op.operands) - int(op.attrs["num_scratch"]) + 1
            self.copy(_with(replace(op, operands=op.operands[:at] + op.operands[at + 1 :]), num_scratch=fewer))
            return
        inside = self._waits(op)
        if inside and not self._is_met and (op.name == "pipe_acquire" or op.attrs.get("role") == "prologue"):
            self.emit(make_op("barrier", (), (), {"reason": _FREE_REASON}, (), op.span))
            self._is_met = True
            self.copy(op)
            self._is_met = False
            return
        self.copy(op)

    def _waits(self, op: Op) -> bool:
        """Whether an operation fills stages of such rings, or one inside of it does, that were filled before."""
        if op.name == "pipe_acquire":
            lap = self._definitions.get(op.operands[2])
            is_first = lap is not None and lap.name == "constant" and lap.attrs["value"] == 0
            return not is_first and pipe_of(op, self._roots) in self._rings
        return any(self._waits(inner) for region in op.regions for inner in walk(region))


def _is_engines_ring(op: Op) -> bool:
    """Whether a pipe is a ring of the pipeliner's that the copy engine alone fills, and that is filled again."""
    barriers = [v for v in scratch_operands(op) if isinstance(v.type, BarrierType)]
    return bool(op.attrs.get("is_ring")) and op.attrs.get("transports") == ("tma",) and len(barriers) > 1


def _users(kernel: Kernel, roots: Roots, pipe: Value, name: str) -> list[tuple[Task, Op]]:
    return [
        (task, op)
        for task in tasks(kernel)
        for op in walk_task(task.region)
        if op.name == name and pipe_of(op, roots) is pipe
    ]


def _with(op: Op, **attrs: object) -> Op:
    return replace(op, attrs=MappingProxyType({**op.attrs, **attrs}))


__all__ = ["WARPGROUPS", "WARPS", "released_by_few", "with_releases_by_warpgroups"]
