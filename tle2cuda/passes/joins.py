"""Where all threads of a CTA meet around a `warp_specialize`, what may not stand there, and who waits in partitions.

All partitions begin with what the default warps did in front, and the code behind begins when all have finished. The
two meetings cost a barrier of the whole CTA each, so they are left out where nobody could tell.

Where the copy engine alone fills the stages of a pipe, the thread that tells it to waits for a free stage alone: the
others would poll in vain, and could fall behind by a phase. The same holds of waits at mbarriers in partitions that do
nothing else than tell it what to copy, and there it arrives alone, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from tle2cuda.analysis.slots import Slots
from tle2cuda.analysis.tasks import NOTHING, Task, Uses, tasks, uses_of_others, uses_of_task, walk_task
from tle2cuda.errors import NotSupported, SynchronizationError
from tle2cuda.ir.effects import ATOMIC, READ, Effect, Roots, effects, is_remote
from tle2cuda.ir.nodes import Kernel, Op, Region, walk
from tle2cuda.ir.rewrite import Rewriter, replace_ops
from tle2cuda.passes.meetings import is_meeting
from tle2cuda.targets import WARP_THREADS

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
    start = 0  # what comes first behind the last place where all threads meet
    for site in sites:
        first, last = (_uses_at(site, roots, is_end) for is_end in (False, True))
        at = kernel.body.ops.index(site)
        before = Region((), kernel.body.ops[start:at])
        behind = Region((), kernel.body.ops[at + 1 :])
        attrs = {
            **site.attrs,
            "sync_before": _matters(walk(before), first, roots),
            "sync_behind": _matters(walk(behind), last, roots),
        }
        if attrs["sync_behind"]:
            start = at + 1
        if attrs != dict(site.attrs):
            noted[site] = replace(site, attrs=MappingProxyType(attrs))

    class _Note(Rewriter):
        def visit(self, op: Op) -> None:
            self.emit(noted.get(op, op))

    return _Note().kernel(kernel) if noted else kernel


def _uses_at(site: Op, roots: Roots, is_end: bool) -> Uses:
    """What workers do to memory before all partitions first meet by themselves, or behind where they last do."""
    found = NOTHING
    for region in site.regions[1:]:
        ops, _ = _until_met(region.ops, WARP_THREADS * sum(site.attrs["warps"]), is_end)
        found = found.joined(uses_of_task(Task("", Region((), tuple(ops)), 1, site), roots))
    return found


def _until_met(ops: Iterable[Op], threads: int, is_end: bool) -> tuple[list[Op], bool]:
    """Operations from one end on, up to where all partitions surely meet, and whether they do."""
    found: list[Op] = []
    for op in reversed(tuple(ops)) if is_end else ops:
        if is_meeting(op) and op.attrs["threads"] == threads:
            return found, True
        if op.name not in ("if", "for", "while"):
            found.append(op)
            continue
        parts = [_until_met(region.ops, threads, is_end) for region in op.regions]
        for inner, _ in parts:
            found += inner
        if (op.name == "while" and parts[0][1]) or (op.name == "if" and all(met for _, met in parts)):
            return found, True
    return found, False


def _matters(ops: Iterable[Op], workers: Uses, roots: Roots) -> bool:
    """Whether it can be told that some operations come before, or behind, all that workers do."""
    if workers == NOTHING:
        return False
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


_BY_ALL = frozenset(("pipe_wait", "pipe_release", "pipe_close", "named_barrier", "asm_block"))
"""Operations that all threads of a partition take part in, behind what it waited for."""


def with_elected_waits(kernel: Kernel) -> Kernel:
    """Note at waits behind which only thread 0 has something to do, that it waits alone, and at arrivals beside them."""
    if not any(op.name in ("pipe", "warp_specialize") for op in walk(kernel.body)):
        return kernel
    roots = Roots(kernel)
    others = uses_of_others(kernel, roots)
    elected: set[Op] = set()
    slots = Slots(kernel)
    for task in tasks(kernel):
        waits = [op for op in walk_task(task.region) if _is_engines_pipe(op, roots, kernel)]
        if waits and _learns_of_others(task, others[task.region], slots):
            waits = [op for op in waits if op.name == "pipe_close"]  # behind which nobody has anything to do
        elected.update(waits)
    for site in kernel.specialisations:
        for number, region in enumerate(site.regions):
            if _is_for_thread_0(region, others[kernel.body if number == 0 else region], roots):
                elected.update(op for op in walk(region) if op.name in ("mbarrier_wait", "mbarrier_arrive"))
    if all(op.attrs.get("elected") for op in elected):
        return kernel
    return replace_ops(kernel, lambda op: _elected(op) if op in elected else op)


def _elected(op: Op) -> Op:
    return replace(op, attrs=MappingProxyType({**op.attrs, "elected": True}))


def _is_engines_pipe(op: Op, roots: Roots, kernel: Kernel) -> bool:
    """Whether an operation waits for a free stage of a pipe that the copy engine alone fills."""
    if op.name not in ("pipe_acquire", "pipe_close"):
        return False
    made = {each.result: each for each in walk(kernel.body) if each.name == "pipe"}
    return all(pipe in made and made[pipe].attrs.get("transports") == ("tma",) for pipe in roots.of(op.operands[0]))


def _learns_of_others(task: Task, others: Uses, slots: Slots) -> bool:
    """Whether threads of a task access what other tasks write, and not by slots of pipes, at which they wait for it."""
    for op in walk_task(task.region):
        if op.name == "asm_block":
            return True
        for effect in effects(op, slots):
            place = effect.pointer or effect.buffer
            if effect.one_thread or effect.is_scratch or (place is not None and None not in slots.hand_outs(place)):
                continue
            if effect.root in others.written or None in others.written or (effect.root is None and others.written):
                return True
    return False


def _is_for_thread_0(region: Region, others: Uses, roots: Roots) -> bool:
    """Whether nothing in a partition but what thread 0 does must come behind what the partition waits for."""
    for op in walk(region):
        if op.name in _BY_ALL or (op.name == "pipe_commit" and set(op.attrs.get("arrivals", ("warps",))) - {"elected"}):
            return False
        for effect in effects(op, roots):
            if effect.one_thread or effect.is_scratch:
                continue
            if effect.is_shared or effect.kind != READ or effect.root in others.written or None in others.written:
                return False
            if effect.root is None or op.attrs.get("volatile"):
                return False
    return True


def check_barriers_of_all(kernel: Kernel) -> None:
    """Refuse barriers of clusters and grids that the threads of some partitions would not reach.

    Raises:
        SynchronizationError: One stands inside of a `warp_specialize` or in front of one, or one of the grid behind.
        NotSupported: The shared memory of other CTAs is accessed there, which would take such barriers.
    """
    for site in kernel.divisions:
        for op in (inner for region in site.regions for inner in walk(region)):
            if op.name in _MEETS_ALL:
                raise SynchronizationError(
                    f"a barrier of the {_MEETS_ALL[op.name]} cannot stand inside of `warp_specialize`",
                    op.span,
                    (f"partitions start: {site.span.short()}", "all threads of a CTA must reach it"),
                    "move it in front of the partitions or behind them",
                )
    sites = kernel.specialisations
    if not sites:
        return
    last = kernel.body.ops.index(sites[-1])
    behind = set(walk(Region((), kernel.body.ops[last + 1 :])))
    for op in walk(kernel.body):
        # Behind the partitions workers have left; a barrier of the cluster does not wait for them, one of the grid might.
        if op.name not in _MEETS_ALL or (op.name == "cluster_barrier" and op in behind):
            continue
        where = "behind" if op in behind else "inside of"
        raise SynchronizationError(
            f"a barrier of the {_MEETS_ALL[op.name]} cannot stand {where} `warp_specialize`"
            + ("" if op in behind else " or in front of it"),
            op.span,
            (f"partitions start: {sites[-1].span.short()}", "all threads of a CTA must reach it"),
            _INSTEAD[op.name],
        )
    roots = Roots(kernel)
    for op in walk(kernel.body):
        if op not in behind and any(is_remote(effect) for effect in effects(op, roots)):
            raise NotSupported(
                "shared memory of other CTAs can only be accessed behind the last `warp_specialize` of a kernel",
                op.span,
                (f"partitions start: {sites[-1].span.short()}",),
                help="give one of the two to a kernel of its own",
            )


_INSTEAD = {
    "cluster_barrier": "move it behind the partitions, or give the work in front of it to a kernel of its own",
    "grid_barrier": "give the work on each side of it to a kernel of its own",
}
