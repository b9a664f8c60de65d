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
from tle2cuda.ir.nodes import WARPGROUP_WARPS, Kernel, Op, Value, walk
from tle2cuda.ir.rewrite import replace_ops
from tle2cuda.ir.rules import scratch_operands, value_operands
from tle2cuda.ir.types import BarrierType

WARPGROUPS = "warpgroups"
"""Arrivals of a release: by one thread of each warpgroup."""
WARPS = "warps"
"""Arrivals of a release: by one thread of each warp, behind the others."""


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

    Where one task fills a ring and reads it, all of its threads wait for a free stage (`by_all`), though thread 0 alone
    fills it. Behind a loop of waiting in a branch of its own, warps would not be whole to ptxas, and the operands of each
    product would be moved there from registers of threads (R2UR). None misses a phase: the next one ends behind a product
    of the warpgroup, which each of its warps issues behind this wait.
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
            released.add(pipe)
            if writers[0][0].region is reading[0][0].region:
                own.add(pipe)
            arrivals[scratch_operands(op)[1]] = reading[0][0].warps // WARPGROUP_WARPS

    def change(op: Op) -> Op:
        if op.name == "alloc_barriers" and op.result in arrivals:
            return _with(op, arrivals=arrivals[op.result])
        if op.name == "pipe_acquire" and pipe_of(op, roots) in own:
            return _with(op, by_all=True)
        is_release = op.name == "pipe_release" and pipe_of(op, roots) in released
        return _with(op, arrivals=(WARPGROUPS,)) if is_release else op

    return replace_ops(kernel, change) if released else kernel


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
