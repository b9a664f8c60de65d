"""Who releases the stages of a pipe: every thread of a reader, or one for each warpgroup where products alone read.

A warpgroup waits for all of a product, so behind a wait one of its threads may say that all are done with what it read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tle2cuda.analysis.tasks import Task, walk_task
from tle2cuda.ir.effects import Effect, Roots, effects, is_product
from tle2cuda.ir.nodes import WARPGROUP_WARPS, Op, Value

WARPGROUPS = "warpgroups"
"""Arrivals of a release: by one thread of each warpgroup."""


def released_by_warpgroups(
    roots: Roots,
    fields: Collection[Value | None],
    writer: Task | None,
    reading: Mapping[str | None, Sequence[tuple[Task, Op]]],
) -> frozenset[str | None]:
    """Readers of a pipe that nothing but products read for, and that share no other memory with the writer.

    Args:
        roots: Where buffers come from.
        fields: Allocations that the pipe hands out.
        writer: The task that fills them.
        reading: Tasks and operations by reader.
    """
    if writer is None or None in fields:
        return frozenset()
    theirs = [e for op in walk_task(writer.region) for e in effects(op, roots) if not e.is_scratch]
    found = set()
    for reader, uses in reading.items():
        readers = list({id(task.region): task for task, _ in uses}.values())
        if len(readers) > 1 or readers[0].warps % WARPGROUP_WARPS or readers[0].region is writer.region:
            continue
        own = [e for op in walk_task(readers[0].region) for e in effects(op, roots) if not e.is_scratch]
        reads = [e for e in own if e.root in fields]
        others = [e for e in own if e.root not in fields]
        if reads and all(map(is_product, reads)) and _are_apart(others, theirs):
            found.add(reader)
    return frozenset(found)


def _are_apart(some: Sequence[Effect], others: Sequence[Effect]) -> bool:
    """Whether nothing that either writes is accessed by the other."""
    if any(e.root is None for e in (*some, *others)):
        return False
    written = {e.root for e in (*some, *others) if e.kind != "read"}
    return written.isdisjoint({e.root for e in some} & {e.root for e in others})


__all__ = ["WARPGROUPS", "released_by_warpgroups"]
