"""Software pipelining (D8): loads of a loop go through a ring of stages, iterations before they are used.

    pipe = ring of n stages                       # a buffer for each load
    for s in range(n - 1):                        # prologue
        slot = acquire(s); if s < count: copy(s); commit(s)
    for i in range(count):
        slot = wait(i)
        free = acquire(i + n - 1); if i + n - 1 < count: copy(i + n - 1); commit(i + n - 1)
        ... the body, which reads the slot where it loaded ...
        release(i)

This is the same pipe that a user may write, with both ends in one task; how stages are filled and what is waited for is
decided by the pass `pipes`. A stage is filled behind the wait, which stands behind the barrier that also tells that all
threads are done with what the stage held before. Loops of no iterations copy nothing.

A product by `wgmma` is still in flight when the next iteration begins, if nothing else needs its sums. It is waited for
behind the next product, so the barrier of the iteration after that one says that its stage is free: the ring has one stage
more. Where that takes a CTA off the multiprocessor and one warpgroup does it all, the wait itself says so: the stage is
filled behind it, and there is none more.

What the addresses of a copy need is computed n - 1 iterations ahead: carried values that they depend on are carried a
second time, by that much further.

A ring that the copy engine fills has mbarriers: thread 0 fills a stage as soon as all are done with it, and nobody else
waits for that. Its phases go on where the loop runs again (`ring_turns.py`).

`tl.range(..., warp_specialize=True)` makes the two sides two partitions: one more warp fills the ring, through all loops
around it, while the kernel's warps read it (`ring_producers.py`). Where that cannot be, the loop is pipelined as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from types import MappingProxyType

from tle2cuda.analysis.chained_products import Chained
from tle2cuda.analysis.pipelining import Pipelined, pipelined_loops
from tle2cuda.ir.nodes import WARPGROUP_WARPS, Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, definitions
from tle2cuda.ir.types import BufferType
from tle2cuda.passes import canonicalise, shared_once
from tle2cuda.passes.dead_code import remove_dead_code
from tle2cuda.passes.ring_buffers import swizzle_of
from tle2cuda.passes.ring_loops import RingLoop
from tle2cuda.passes.ring_producers import REGISTERS, Producer, specialised, why_not_lean
from tle2cuda.passes.ring_writer import Writer
from tle2cuda.passes.rotated_loops import RotatedLoop
from tle2cuda.passes.tensor_maps import engine_copies
from tle2cuda.passes.tensor_tiles import without_tensor_tiles
from tle2cuda.targets import MAX_THREADS_PER_CTA, WARP_THREADS, parse_target

_MOST_STAGES = 16  # beyond which no memory is so far away that more would help
_NOT_BROUGHT = "the copy engine brings none of what it loads"
_MAY_BE_STORED = "the kernel may store to what it loads"
_SHOWN = "the copy engine may bring what was stored before the loop"
_MOST_SUMS, _MOST_SUMS_OF_SPLIT, _FEW_SCORES = 160, 208, 32
"""32-bit registers of sums and weights of two products in flight, where addresses of copies take others, and where not.

Warpgroups that fill rings themselves go in step, and no product is in flight while they compute weights of scores. Where
these are few, 208 registers pay as well: attention with heads of 256 gains 4 to 11 %, with heads of 128 it loses 4 to 7 %
(an H200).
"""
Sites = dict[Op, list[Pipelined]]


def run(kernel: Kernel) -> Kernel:
    """Give loops their rings."""
    plain, notes = without_tensor_tiles(kernel)
    left_out: dict[Op, str] = {}  # loops that are not specialised, and why
    unstaged: dict[Op, tuple[str, ...]] = {}  # loads that have no stages
    while True:
        unstaged.clear()
        plans = pipelined_loops(plain, kernel.most_stages or _MOST_STAGES, notes, left_out, unstaged)
        known = len(left_out)
        sites = _sites(plain, plans, left_out)
        if len(left_out) > known:
            continue  # these loops are pipelined as they are
        if not plans:
            break
        pipeline = _Pipeline(plain, plans, sites)
        made = pipeline.run()
        if _are_lean(made, sites, left_out):
            slow = {pipeline.copies[op] for op in set(pipeline.copies) - engine_copies(made)} if notes else set()
            if not slow:
                noted = _with_notes(made, _explained(left_out, plans), unstaged)
                return canonicalise.run(shared_once.run(noted))
            notes = {tile: note for tile, note in notes.items() if tile not in slow}
    if plain is kernel and not left_out and not unstaged:
        return kernel
    return canonicalise.run(_with_notes(plain, left_out, unstaged))


# ---- which loops become two partitions ------------------------------------------------------------------------------


def _sites(kernel: Kernel, plans: dict[Op, Pipelined], left_out: dict[Op, str]) -> Sites:
    """The loops to specialise, and the pipelined ones in them whose rings a partition of its own fills."""
    found: Sites = {}
    if not parse_target(kernel.target).has("tma"):
        return found
    has_own = any(op.name == "warp_specialize" for op in walk(kernel.body))
    for site in _outermost_loops(kernel.body):
        marked = [op for op in (site, *_inside(site)) if op.name == "for" and op.attrs.get("warp_specialize")]
        if not marked or site in left_out:
            continue
        inner = {op for each in marked for op in (each, *_inside(each))}
        filled = [plan for loop, plan in plans.items() if loop in inner and plan.is_filled_by_engine]
        if has_own:
            left_out[site] = "the kernel has partitions of its own"
        elif (kernel.num_warps + WARPGROUP_WARPS) * WARP_THREADS > MAX_THREADS_PER_CTA:
            left_out[site] = "no warp is left"
        elif not filled:
            left_out[site] = _NOT_BROUGHT
        else:
            found[site] = filled
    return found


def _explained(left_out: dict[Op, str], plans: dict[Op, Pipelined]) -> dict[Op, str]:
    """Why loops are not specialised: what the engine brings to a loop as it is, it could not bring ahead of stores."""
    filled = {loop for loop, plan in plans.items() if plan.is_filled_by_engine}
    return {
        site: _MAY_BE_STORED if reason == _NOT_BROUGHT and filled & {site, *_inside(site)} else reason
        for site, reason in left_out.items()
    }


def _outermost_loops(region: Region) -> Iterator[Op]:
    """Loops that run once at most, perhaps in a branch."""
    for op in region.ops:
        if op.name in ("for", "while"):
            yield op
        elif op.name == "if":
            for inner in op.regions:
                yield from _outermost_loops(inner)


def _inside(op: Op) -> Iterator[Op]:
    for region in op.regions:
        yield from walk(region)


def _are_lean(made: Kernel, sites: Sites, left_out: dict[Op, str]) -> bool:
    """Whether the partitions that fill rings do that alone; notes those that would not."""
    if not sites:
        return True
    clean = remove_dead_code(made)
    automatic = [op for op in walk(clean.body) if op.attrs.get("is_automatic")]
    reasons = {site: why_not_lean(clean, op) for site, op in zip(sites, automatic, strict=True)}
    wrong = {site: reason for site, reason in reasons.items() if reason}
    left_out.update(wrong)
    return not wrong


def _with_notes(kernel: Kernel, left_out: dict[Op, str], unstaged: dict[Op, tuple[str, ...]]) -> Kernel:
    """The kernel with notes at the loops that asked for partitions or stages and got none."""
    if not left_out and not unstaged:
        return kernel
    places = {op.span: reason for op, reason in left_out.items()}
    texts = {op.span: found for op, found in unstaged.items()}

    class _Note(Rewriter):
        def visit(self, op: Op) -> None:
            is_loop = op.name in ("for", "while") and not op.attrs.get("role")
            reason, found = places.get(op.span), texts.get(op.span)
            if not is_loop or (reason is None and found is None):
                self.copy(op)
                return
            operands = tuple(self[v] for v in op.operands)
            said = {name: text for name, text in (("undivided", reason), ("unstaged", found)) if text}
            attrs = MappingProxyType({**op.attrs, **said})
            self.emit(replace(op, operands=operands, regions=tuple(map(self.region, op.regions)), attrs=attrs))

    return _Note().kernel(kernel)


def _pays(chained: Chained, is_split: bool) -> bool:
    """Whether two products in flight leave registers enough, and have enough to hide."""
    most = _MOST_SUMS_OF_SPLIT if is_split or chained.scores <= _FEW_SCORES else _MOST_SUMS
    return chained.registers <= most


# ---- the kernel, changed --------------------------------------------------------------------------------------------


class _Pipeline(Writer):
    """Rewrites the planned loops; the buffers of their rings stand at the top of the kernel, or of a worker region."""

    def __init__(self, kernel: Kernel, plans: dict[Op, Pipelined], sites: Sites) -> None:
        super().__init__(plans, definitions(kernel.body))
        self.source = kernel
        self.sites = dict(sites)
        self.split: Collection[Pipelined] = ()

    def run(self) -> Kernel:
        """The kernel with rings."""
        body = self.region(self.source.body)
        return replace(self.source, body=Region((), (*self.rings, *body.ops)))

    def visit(self, op: Op) -> None:
        if op in self.sites:
            self._specialise(op, self.sites.pop(op))
        elif op in self.plans:
            plan = self.plans[op]
            is_split = plan in self.split
            if plan.follows_stores and not is_split:
                self._show_stores(op)
            if plan.chained is not None and _pays(plan.chained, is_split):
                RotatedLoop(self, plan, plan.chained, is_split).rewrite()
            elif is_split:
                RingLoop(self, plan, is_split=True).read()
            else:
                RingLoop(self, plan).rewrite()
        elif op.name == "warp_specialize":
            workers = (self._worker(region) for region in op.regions[1:])
            self.emit(replace(op, regions=(self.region(op.regions[0]), *workers)))
        elif not self.turns.carry(op):
            self.copy(op)

    def _show_stores(self, loop: Op) -> None:
        """In front of a loop: what was stored so far is known to the copy engine, so that the loop need not see to it."""
        self.emit(make_op("proxy_fence", attrs={"space": "global", "reason": _SHOWN}, span=loop.span))
        self.emit(make_op("barrier", attrs={"reason": _SHOWN}, span=loop.span))

    def _worker(self, region: Region) -> Region:
        """A worker region with rings of its own: it runs beside the others."""
        outer, self.rings = self.rings, []
        body = self.region(region)
        rings, self.rings = self.rings, outer
        return Region(body.params, (*rings, *body.ops)) if rings else body

    def _specialise(self, site: Op, plans: list[Pipelined]) -> None:
        """Two partitions: one that does the loop, one that fills its rings."""
        self.split = plans

        def write() -> tuple[Value, ...]:
            self.visit(site)
            return site.results

        around = dict(self.mapping)
        reading = self.inside(write, site.span)
        self.mapping, self.split = around, ()
        self.turns.forget(plans)
        filling = Producer(self, {plan.loop: plan for plan in plans}).region_of(site)
        room = parse_target(self.source.target).limits.shared_bytes_per_sm
        is_alone = 2 * sum(plan.ring_bytes for plan in plans) > room  # on its multiprocessor, so all registers are its own
        new = self.emit(specialised(reading, filling, self.source.num_warps, site, REGISTERS if is_alone else 0))
        for old, result in zip(site.results, new.results, strict=True):
            self.bind(old, result)


def stages_of(kernel: Kernel) -> int:
    """The most stages that a ring of a kernel has; 1 when it has none."""
    rings = (op.result.type for op in walk(kernel.body) if op.name == "alloc" and op.attrs.get("is_ring"))
    return max((type_.shape[0] for type_ in rings if isinstance(type_, BufferType)), default=1)


__all__ = ["run", "stages_of", "swizzle_of"]
