"""Where all threads of a CTA meet around a `warp_specialize`, and what may not stand there.

All partitions begin with what the default warps did in front, and the code behind begins when all have finished. The
two meetings cost a barrier of the whole CTA each, so they are left out where nobody could tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from tle2cuda.analysis.tasks import NOTHING, Task, Uses, uses_of_task
from tle2cuda.errors import SynchronizationError
from tle2cuda.ir.effects import ATOMIC, READ, Effect, Roots, effects
from tle2cuda.ir.nodes import Kernel, Op, Region, walk
from tle2cuda.ir.rewrite import Rewriter

_MEETS_ALL = {"cluster_barrier": "cluster", "grid_barrier": "grid"}
_SEEN_OUTSIDE = frozenset(("asm_block", "grid_dependency", "cluster_barrier", "grid_barrier"))
"""Operations by which CTAs may learn of each other, or that may do anything."""


def with_joins(kernel: Kernel) -> Kernel:
    """Note at each `warp_specialize` whether all threads meet before its partitions, and behind them."""
    sites = kernel.specialisations
    if not sites:
        return kernel
    roots = Roots(kernel)
    noted: dict[Op, Op] = {}
    for site in sites:
        workers = NOTHING
        for region in site.regions[1:]:
            workers = workers.joined(uses_of_task(Task("", region, 1, site), roots))
        at = kernel.body.ops.index(site)
        before = Region((), kernel.body.ops[:at])
        behind = Region((), kernel.body.ops[at + 1 :])
        attrs = {
            **site.attrs,
            "sync_before": _matters(walk(before), workers, roots),
            "sync_behind": _matters(walk(behind), workers, roots),
        }
        if attrs != dict(site.attrs):
            noted[site] = replace(site, attrs=MappingProxyType(attrs))

    class _Note(Rewriter):
        def visit(self, op: Op) -> None:
            self.emit(noted.get(op, op))

    return _Note().kernel(kernel) if noted else kernel


def _matters(ops: Iterable[Op], workers: Uses, roots: Roots) -> bool:
    """Whether it can be told that some operations come before, or behind, all that workers do."""
    for op in ops:
        if op.name in _SEEN_OUTSIDE or op.attrs.get("volatile"):
            return True
        if any(_meets(effect, workers) for effect in effects(op, roots)):
            return True
    return False


def _meets(effect: Effect, workers: Uses) -> bool:
    if effect.is_scratch:
        return False
    if not effect.is_shared and effect.kind in (ATOMIC, "write"):
        return True  # other CTAs may take it for a sign
    seen = workers.written if effect.kind == READ else workers.accessed
    return effect.root in seen or None in seen or (effect.root is None and bool(seen))


def check_barriers_of_all(kernel: Kernel) -> None:
    """Refuse barriers of clusters and grids that the threads of some partitions would not reach.

    Raises:
        SynchronizationError: One stands inside of a `warp_specialize` or in front of one.
    """
    sites = kernel.specialisations
    if not sites:
        return
    last = kernel.body.ops.index(sites[-1])
    for op in walk(Region((), kernel.body.ops[: last + 1])):
        if op.name not in _MEETS_ALL:
            continue
        raise SynchronizationError(
            f"a barrier of the {_MEETS_ALL[op.name]} cannot stand inside of `warp_specialize` or in front of it",
            op.span,
            (f"partitions start: {sites[-1].span.short()}", "all threads of a CTA must reach it"),
            "move it behind the partitions, or give the work in front of it to a kernel of its own",
        )
