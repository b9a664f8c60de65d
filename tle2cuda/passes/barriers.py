"""Put in what orders accesses to shared memory (D6), each with the reason that it is there for.

What must be ordered is found by `analysis.hazards`, where barriers go by `analysis.placement`, task by task: a `barrier` is
one of the threads of its task. Then `analysis.proxies` says where the copy engine needs fences and waits. Barriers, fences
and waits that are already in the kernel count; the pass only adds, so it may run again after allocations were given common
bytes. A `warp_specialize` learns whether all threads of the CTA must meet in front of its partitions or behind them.

A kernel with accesses to other CTAs' shared memory gets a barrier of the cluster at its end, unless it is
proved that none is needed (no CTA may exit while others still access its memory), and one at its start when such
an access could come before all CTAs run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from types import MappingProxyType

from tle2cuda.analysis.accesses import Access, Memory
from tle2cuda.analysis.hazards import Hazard, Hazards, Position, bits
from tle2cuda.analysis.in_flight import check_copies_in_flight
from tle2cuda.analysis.placement import place_barriers
from tle2cuda.analysis.proxies import place_proxies
from tle2cuda.analysis.tasks import tasks
from tle2cuda.analysis.uniformity import (
    Level,
    Uniformity,
    check_collective_barriers,
    spans_cluster,
    uniformity,
)
from tle2cuda.errors import InternalError
from tle2cuda.ir.effects import (
    ARM,
    ATOMIC,
    POLL,
    READ,
    SIGNAL,
    WAIT,
    WRITE,
    Kind,
    Roots,
    effects,
    is_product,
    is_remote,
)
from tle2cuda.ir.multicast import pipe_sharings
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter
from tle2cuda.passes.drains import EXIT_REASON
from tle2cuda.passes.joins import check_barriers_of_all, with_elected_waits, with_joins
from tle2cuda.passes.pipe_releases import with_releases_by_warpgroups

LEADING_REASON = "no CTA may access another's shared memory before that one runs"
SHARING_REASON = "no CTA may exit while others fill its stages or arrive at its barriers"
TRAILING_REASON = "no CTA may exit while others access its shared memory"
LANDED_REASON = "the copy engine will read what these copies write"
UNNAMED_REASON = "orders what is in memory before the copy engine accesses it"

_MAX_REASON_CHARS = 90  # what fits beside a barrier


def run(kernel: Kernel) -> Kernel:
    """Add the missing barriers, fences and waits.

    Raises:
        SynchronizationError: A cluster or grid barrier is reached by some CTAs, or some threads of a CTA, only; or memory
            is used while a copy into it is surely in flight.
    """
    check_collective_barriers(kernel)
    check_barriers_of_all(kernel)
    kernel = with_elected_waits(with_joins(with_releases_by_warpgroups(_without_waits(kernel))))
    memory = Memory(kernel)
    check_copies_in_flight(kernel, memory)
    additions = _Additions()
    for task in tasks(kernel):
        _order(Hazards(kernel, task=task, memory=memory), additions)
    return _with_cluster_barriers(additions.inserted(kernel))


def _without_waits(kernel: Kernel) -> Kernel:
    """The kernel without waits for stores that this pass put in, where some of them count what comes between."""
    if not any(op.name == "tma_store_wait" and op.attrs.get("pending") for op in walk(kernel.body)):
        return kernel

    class _Drop(Rewriter):
        def visit(self, op: Op) -> None:
            if op.name != "tma_store_wait" or "reason" not in op.attrs:
                self.copy(op)

    return _Drop().kernel(kernel)


def _order(hazards: Hazards, additions: _Additions) -> None:
    """Find what one task lacks."""
    positions = frozenset(place_barriers(hazards))
    left = hazards.find(positions)
    if left:
        raise InternalError(f"barriers leave a hazard: {describe(left)}", left[0].later.effect.op.span)
    outside, proxies = place_proxies(hazards, positions)
    attrs: dict[str, object]
    for position, accesses in outside.waits.items():
        names = _listed(list(dict.fromkeys(access.name for access in accesses)))
        attrs = {"kind": "all", "reason": f"the copy engine has written {names}"}
        additions.add(hazards, position, "tma_store_wait", attrs)
    for position, accesses in outside.fences.items():
        additions.add(hazards, position, "proxy_fence", {"space": "global", "reason": _fence_reason(hazards, accesses)})
    for position in sorted(proxies.copies):
        additions.add(hazards, position, "cp_async_wait", _wait_for_copies(LANDED_REASON))
        additions.arrive_behind_copies(hazards, position)
    for position, accesses in proxies.waits.items():
        attrs = {"kind": "read", "reason": _wait_reason(hazards, position, accesses)}
        if position in proxies.pending:
            attrs["pending"] = proxies.pending[position]
        additions.add(hazards, position, "tma_store_wait", attrs)
    for position, accesses in proxies.fences.items():
        additions.add(hazards, position, "proxy_fence", {"space": "shared", "reason": _fence_reason(hazards, accesses)})
    for position in sorted(positions | outside.barriers | proxies.barriers):
        without = hazards.find(positions - {position}) if position in positions else []
        reason = describe(without) if without else UNNAMED_REASON
        additions.add(hazards, position, "barrier", {"reason": reason})
    if _leaves_copies(hazards, positions):
        body = hazards.body
        additions.add(hazards, (body.number, len(body.items)), "cp_async_wait", _wait_for_copies(EXIT_REASON))


def _wait_for_copies(reason: str) -> dict[str, object]:
    """Attributes of a wait for all copies by `cp_async`, those of an open group included."""
    return {"pending": 0, "all": True, "reason": reason}


def _leaves_copies(hazards: Hazards, positions: frozenset[Position]) -> bool:
    """Whether copies by `cp.async` may be in flight at the end of a task.

    Those into pipes with barriers are left out: their readers wait for them, or the task does (`tle2cuda.passes.drains`).
    So are those of a pipelined loop, whose last iterations start none.
    """
    left = hazards.flow(positions) >> 2 * hazards.count
    accesses = [hazards.accesses[number % hazards.count] for number in bits(left)]
    return any(access.effect.op.name == "cp_async" and not _is_waited_for(hazards, access) for access in accesses)


def _is_waited_for(hazards: Hazards, access: Access) -> bool:
    """Whether an access is to a slot of a pipe that sees to its copies."""
    if access.slot is None:
        return False
    attrs = hazards.memory.definitions[access.slot.pipe].attrs
    return not attrs.get("in_groups") or bool(attrs.get("restarts"))


# ---- reasons ----


def _fence_reason(hazards: Hazards, accesses: Sequence[Access]) -> str:
    names = list(dict.fromkeys(access.name for access in accesses))
    kinds = {access.effect.kind for access in accesses}
    if kinds == {READ}:
        return f"the loads of {_listed(names)} come before what the copy engine writes"
    roots = {access.effect.root for access in accesses}
    multiplied = {a.effect.root for a in hazards.accesses if is_product(a.effect)}
    reader = "tensor cores" if roots <= multiplied else "copy engine"
    return f"shows what was written to {_listed(names)} to the {reader}"


def _wait_reason(hazards: Hazards, position: Position, accesses: Sequence[Access]) -> str:
    names = _listed(list(dict.fromkeys(access.name for access in accesses)))
    body = hazards.body
    if position == (body.number, len(body.items)):
        return f"no CTA may exit while the copy engine reads {names}"
    return f"the copy engine has read {names}"


def describe(hazards: Iterable[Hazard]) -> str:
    """What a barrier orders, in words such as "orders the stores to `count` before the atomics on it"."""
    names: dict[tuple[Kind, Kind], list[str]] = {}  # buffers by (earlier kind, later kind)
    phrases: list[str] = []
    hazards = list(hazards)
    about_data = [hazard for hazard in hazards if hazard.earlier.effect.kind != WAIT]
    for hazard in about_data or hazards:
        earlier, later = hazard.earlier, hazard.later
        a, b = earlier.effect, later.effect
        if a.root is not None and a.root is b.root:
            known = names.setdefault((a.kind, b.kind), [])
            if earlier.name not in known:
                known.append(earlier.name)
            continue
        phrase = f"the {_VERBS[a.kind]} {earlier.name} before the {_VERBS[b.kind]} {later.name}"
        if a.root is not None and b.root is not None and b.kind != SIGNAL:
            phrase += ", which shares its bytes"
        if phrase not in phrases:
            phrases.append(phrase)
    followers: dict[tuple[Kind, tuple[str, ...]], list[Kind]] = {}
    for (kind, later_kind), buffers in names.items():
        followers.setdefault((kind, tuple(buffers)), []).append(later_kind)
    same = [_phrase(kind, buffers, kinds) for (kind, buffers), kinds in followers.items()]
    phrases = same + phrases
    text = "orders " + ", and ".join(phrases)
    if len(text) <= _MAX_REASON_CHARS:
        return text
    buffers = list(dict.fromkeys(name for known in names.values() for name in known))
    return f"orders the accesses to {_listed(buffers)} before it and after it" if buffers else f"orders {phrases[0]}"


_VERBS: Mapping[Kind, str] = {
    READ: "loads of",
    WRITE: "stores to",
    ATOMIC: "atomics on",
    SIGNAL: "arrival at",
    WAIT: "waits at",
    ARM: "next phase of",
    POLL: "waits at",
}


def _phrase(kind: Kind, buffers: Sequence[str], later_kinds: Sequence[Kind]) -> str:
    it = "it" if len(buffers) == 1 else "them"
    later = ["later ones" if other == kind else f"the {_VERBS[other]} {it}" for other in later_kinds]
    return f"the {_VERBS[kind]} {_listed(buffers)} before {_listed(later)}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


# ---- insertion ----


class _Additions:
    """Operations to put in front of others, or at the end of regions."""

    def __init__(self) -> None:
        self.before: dict[Op, list[Op]] = {}
        self.changed: dict[Op, Op] = {}

    def add(self, hazards: Hazards, position: Position, name: str, attrs: Mapping[str, object]) -> None:
        """Put an operation at a place of a task, behind what was put there before."""
        sequence, number = position
        region = hazards.sequences[sequence].region
        items = hazards.sequences[sequence].items
        site = items[number].op if number < len(items) else region.terminator
        self.before.setdefault(site, []).append(make_op(name, attrs=attrs, span=site.span))

    def arrive_behind_copies(self, hazards: Hazards, position: Position) -> None:
        """Threads that have waited for their copies publish them by arrivals of their own, behind the fence."""
        sequence, number = position
        items = hazards.sequences[sequence].items
        if number < len(items) and items[number].op.name == "pipe_commit":
            op = items[number].op
            arrivals = tuple("threads" if who == "copies" else who for who in op.attrs.get("arrivals", ()))
            self.changed[op] = replace(op, attrs=MappingProxyType({**op.attrs, "arrivals": arrivals}))

    def inserted(self, kernel: Kernel) -> Kernel:
        """The kernel with all of them."""
        return replace(kernel, body=self._region(kernel.body)) if self.before else kernel

    def _region(self, region: Region) -> Region:
        ops: list[Op] = []
        for op in region.ops:
            ops += self.before.get(op, [])
            op = self.changed.get(op, op)
            regions = tuple(self._region(inner) for inner in op.regions)
            changed = any(a is not b for a, b in zip(regions, op.regions, strict=True))
            ops.append(replace(op, regions=regions) if changed else op)
        if len(ops) == len(region.ops) and all(a is b for a, b in zip(ops, region.ops, strict=True)):
            return region
        return Region(region.params, tuple(ops))


# ---- start and end of cluster kernels ----


class _Exit(IntEnum):
    """What is known on a path about other CTAs' accesses to this CTA's shared memory."""

    NONE_YET = 0  # no access and no barrier of the cluster so far, in any CTA on this path
    DONE = 1  # a barrier of the whole cluster came after the last access
    OPEN = 2  # an access may still be under way


def _with_cluster_barriers(kernel: Kernel) -> Kernel:
    """Add a barrier of the cluster at the start, or behind all partitions, and at the end, where remote accesses need it.

    The one at the end stands behind everything, so paths that return early pass it too: they are arms of an `if`.
    """
    if kernel.cluster_size == 1:
        return kernel
    exits = _ClusterPaths(kernel)
    first, last = kernel.body.ops[0].span, kernel.body.terminator.span
    ops = list(kernel.body.ops)
    if any(op.name == "pipe" and pipe_sharings(op) for op in walk(kernel.body)):
        # Lowering lets the CTAs meet in front of everything, where it has set up what they arrive at.
        ops.insert(-1, make_op("cluster_barrier", attrs={"reason": SHARING_REASON}, span=last))
        return replace(kernel, body=Region((), tuple(ops)))
    if not exits.has_remote(kernel.body):
        return kernel
    if exits.behind_all(kernel.body, _Exit.NONE_YET) == _Exit.OPEN:
        ops.insert(-1, make_op("cluster_barrier", attrs={"reason": TRAILING_REASON}, span=last))
    exits.started(kernel.body, False)
    # Where some CTAs meet without the others, lowering lets all of them meet in the same place, for their counters.
    has_counters = any(op.name == "cluster_barrier" and op.attrs.get("members") is not None for op in walk(kernel.body))
    if exits.has_early_access and not has_counters:
        # Accesses stand behind all partitions, whose workers would not come to a barrier in front of them.
        sites = kernel.specialisations
        at, place = (kernel.body.ops.index(sites[-1]) + 1, sites[-1].span) if sites else (0, first)
        ops.insert(at, make_op("cluster_barrier", attrs={"reason": LEADING_REASON}, span=place))
    if len(ops) == len(kernel.body.ops):
        return kernel
    return replace(kernel, body=Region((), tuple(ops)))


class _ClusterPaths:
    """Follows barriers of the whole cluster and remote accesses along the paths of a kernel.

    Where CTAs of one cluster may take different paths, the paths must agree in their states and in their numbers of
    cluster barriers; otherwise one CTA may leave on one path while another accesses it on the other.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.roots = Roots(kernel)
        self.uniformity: Mapping[Value, Uniformity] = uniformity(kernel)
        self.has_early_access = False

    def is_remote(self, op: Op) -> bool:
        """Whether an operation itself accesses the cluster's shared memory."""
        return any(is_remote(effect) for effect in effects(op, self.roots))

    def has_remote(self, *regions: Region) -> bool:
        """Whether any operation inside does."""
        return any(self.is_remote(op) for region in regions for op in walk(region))

    def spans(self, op: Op) -> bool:
        """Whether an operation is a barrier of the whole cluster."""
        return op.name == "cluster_barrier" and spans_cluster(op, self.kernel)

    def started(self, region: Region, state: bool) -> bool:
        """Whether all CTAs surely run behind a region; notes accesses where they may not."""
        for op in region.ops:
            if self.spans(op):
                state = True
            elif op.name == "if":
                arms = [self.started(inner, state) for inner in op.regions]  # both, whatever the first says
                state = all(arms)
            elif op.name == "for":
                self.started(op.regions[0], state)
            elif op.name == "while":
                before, body = op.regions
                state = self.started(before, state)
                self.started(body, state)
            elif not state and self.is_remote(op):
                self.has_early_access = True
        return state

    def behind_all(self, region: Region, state: _Exit) -> _Exit:
        """The state behind a region."""
        for op in region.ops:
            state = self.behind(op, state)
        return state

    def behind(self, op: Op, state: _Exit) -> _Exit:
        """The state behind an operation."""
        if op.name == "if":
            arms = [self.behind_all(region, state) for region in op.regions]
            counts = {sum(self.spans(inner) for inner in walk(region)) for region in op.regions}
            if not self._same_path(op.operands[:1]):
                if arms[0] != arms[1] or (len(counts) > 1 and self.has_remote(*op.regions)):
                    return _Exit.OPEN
            return max(arms)
        if op.name in ("for", "while"):
            return self._behind_loop(op, state)
        if self.spans(op):
            return _Exit.DONE
        return _Exit.OPEN if self.is_remote(op) else state

    def _behind_loop(self, op: Op, state: _Exit) -> _Exit:
        first = op.regions[0]
        once = self.behind_all(first, state)
        end = once if op.name == "for" else self.behind_all(op.regions[1], once)
        again = self.behind_all(first, end)
        deciding = op.operands[:3] if op.name == "for" else first.terminator.operands[:1]
        states = {once, again, state} if op.name == "for" else {once, again}
        if not self._same_path(deciding) and (len(states) > 1 or self.has_remote(*op.regions)):
            return _Exit.OPEN
        return max(states)

    def _same_path(self, deciding: tuple[Value, ...]) -> bool:
        """Whether all CTAs of a cluster decide alike."""
        return all(v in self.uniformity and self.uniformity[v].level <= Level.CLUSTER for v in deciding)
