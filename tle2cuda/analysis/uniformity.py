"""In which CTAs of a launch a value is the same, and whether collective barriers may diverge.

Scalars are uniform over the threads of a CTA by construction; the question here is about CTAs. It matters for
barriers of a cluster or of the grid: CTAs that take different branches around one may wait forever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from tle2cuda.errors import SynchronizationError
from tle2cuda.ir.effects import READ, Roots, effects
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.rewrite import definitions


class Level(IntEnum):
    """Over which CTAs a value is the same."""

    GRID = 0
    CLUSTER = 1
    CTA = 2


@dataclass(frozen=True, slots=True)
class Uniformity:
    """What a value depends on.

    Attributes:
        level: Over which CTAs it is surely the same.
        is_direct: It is computed from constants, arguments and CTA indices alone, so that a level of `CTA`
            means that it does differ between CTAs (or could, for some launch), not that nobody knows.
    """

    level: Level
    is_direct: bool = True

    def meet(self, other: Uniformity) -> Uniformity:
        """What depends on both."""
        return Uniformity(max(self.level, other.level), self.is_direct and other.is_direct)


_UNIFORM = Uniformity(Level.GRID)
_UNKNOWN = Uniformity(Level.CTA, False)
_INDIVIDUAL = frozenset({"atomic_rmw", "atomic_cas", "alloc", "buffer_view", "local_ptr", "remote", "asm_block"})


def uniformity(kernel: Kernel) -> Mapping[Value, Uniformity]:
    """Find what every scalar and tile of a kernel depends on."""
    return _Uniformity(kernel).run()


class _Uniformity:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.found: dict[Value, Uniformity] = {a.value: _UNIFORM for a in kernel.args}
        self.definitions = definitions(kernel.body)
        self.roots = Roots(kernel)
        self.written = {
            effect.root for op in walk(kernel.body) for effect in effects(op, self.roots) if effect.kind != READ
        }

    def run(self) -> Mapping[Value, Uniformity]:
        self.region(self.kernel.body, _UNIFORM)
        return self.found

    def get(self, value: Value) -> Uniformity:
        return self.found.get(value, _UNKNOWN)

    def all(self, values: Iterable[Value]) -> Uniformity:
        result = _UNIFORM
        for value in values:
            result = result.meet(self.get(value))
        return result

    def region(self, region: Region, control: Uniformity) -> None:
        """Visit a region that runs when, or as often as, something of uniformity `control` says."""
        for op in region.ops:
            self.visit(op, control)

    def visit(self, op: Op, control: Uniformity) -> None:
        if op.name == "if":
            inner = control.meet(self.get(op.operands[0]))
            for region in op.regions:
                self.region(region, inner)
            for n, result in enumerate(op.results):
                arms = self.all(region.terminator.operands[n] for region in op.regions)
                self.found[result] = arms.meet(self.get(op.operands[0]))
        elif op.name == "for":
            self.visit_for(op, control)
        elif op.name == "while":
            self.visit_while(op, control)
        elif op.name in ("fused", "warp_specialize"):
            for region in op.regions:
                self.region(region, control)
            for result, value in zip(op.results, op.regions[0].terminator.operands, strict=True):
                self.found[result] = self.get(value)
        else:
            own = self.simple(op)
            for result in op.results:
                self.found[result] = own

    def simple(self, op: Op) -> Uniformity:
        """An operation without control flow."""
        if op.name == "program_id":
            alone = self.kernel.cluster_dims[op.attrs["axis"]] == 1  # then all CTAs of a cluster share the index
            return Uniformity(Level.CLUSTER if alone and self.kernel.cluster_size > 1 else Level.CTA)
        if op.name == "cluster_rank":
            return Uniformity(Level.CTA if self.kernel.cluster_size > 1 else Level.GRID)
        if op.name in _INDIVIDUAL:
            return _UNKNOWN
        if op.name == "load":
            return self._load(op)
        if op.name in ("idiv", "shr") and self._is_cluster_index(op):
            return Uniformity(Level.CLUSTER)
        return self.all(op.operands)

    def _load(self, op: Op) -> Uniformity:
        """A load from an argument that the kernel never writes gives equal results for equal addresses."""
        mine = effects(op, self.roots)
        if op.attrs.get("volatile") or any(e.is_shared or e.root is None for e in mine):
            return _UNKNOWN
        if any(e.root in self.written for e in mine) or None in self.written:
            return _UNKNOWN
        return Uniformity(self.all(op.operands).level, False)

    def _is_cluster_index(self, op: Op) -> bool:
        """Whether this is program_id(axis) divided by a multiple of the cluster's extent along the axis."""
        source = self.definitions.get(op.operands[0])
        amount = self.definitions.get(op.operands[1])
        if source is None or source.name != "program_id" or amount is None or amount.name != "constant":
            return False
        number = int(amount.attrs["value"])
        divisor = number if op.name == "idiv" else 1 << min(max(number, 0), 31)
        extent = self.kernel.cluster_dims[source.attrs["axis"]]
        return extent > 1 and divisor > 0 and divisor % extent == 0

    def visit_for(self, op: Op, control: Uniformity) -> None:
        region = op.regions[0]
        trips = self.all(op.operands[:3])
        self.found[region.params[0]] = trips
        self._iterate(region.params[1:], op.operands[3:], lambda: self.region(region, control.meet(trips)), region)
        for result, param in zip(op.results, region.params[1:], strict=True):
            self.found[result] = self.get(param).meet(trips)

    def visit_while(self, op: Op, control: Uniformity) -> None:
        before, body = op.regions
        passed = before.terminator.operands

        def once() -> None:
            self.region(before, control)
            inner = control.meet(self.get(passed[0]))
            for param, value in zip(body.params, passed[1:], strict=True):
                self.found[param] = self.get(value)
            self.region(body, inner)

        self._iterate(before.params, op.operands, once, body)
        for result, value in zip(op.results, passed[1:], strict=True):
            self.found[result] = self.get(value).meet(self.get(passed[0]))

    def _iterate(self, params: tuple[Value, ...], inits: tuple[Value, ...], once: Callable[[], None], body: Region) -> None:
        current = [self.get(v) for v in inits]
        while True:
            for param, known in zip(params, current, strict=True):
                self.found[param] = known
            once()
            merged = [known.meet(self.get(value)) for known, value in zip(current, body.terminator.operands, strict=True)]
            if merged == current:
                return
            current = merged


def check_collective_barriers(kernel: Kernel) -> None:
    """Refuse cluster and grid barriers that only some of the CTAs reach.

    Refused is an `if` whose condition directly compares CTA indices, when one arm holds more barriers of the
    whole cluster or grid than the other. Barriers among some members may differ between branches; conditions
    that depend on memory, and loops, are the author's responsibility: they may well be the same everywhere.

    Raises:
        SynchronizationError: Such an `if` was found.
    """
    if not any(op.name in ("grid_barrier", "cluster_barrier") for op in walk(kernel.body)):
        return
    found = uniformity(kernel)

    def visit(region: Region) -> None:
        for op in region.ops:
            if op.name == "if":
                _check_if(op, found, kernel)
            for inner in op.regions:
                visit(inner)

    visit(kernel.body)


def _check_if(op: Op, found: Mapping[Value, Uniformity], kernel: Kernel) -> None:
    condition = found.get(op.operands[0], _UNKNOWN)
    if not condition.is_direct:
        return
    for name, allowed in (("grid_barrier", Level.GRID), ("cluster_barrier", Level.CLUSTER)):
        if condition.level <= allowed:
            continue
        barriers = [list(_barriers(region, name, kernel)) for region in op.regions]
        if len(barriers[0]) == len(barriers[1]):
            continue
        culprit = max(barriers, key=len)[0]
        scope = "grid" if name == "grid_barrier" else "cluster"
        raise SynchronizationError(
            f"a barrier of the whole {scope} stands in a branch that only some CTAs take",
            culprit.span,
            (
                f"the branch is taken by CTA index: {op.span.short()}",
                f"{scope} barriers in its two arms: {len(barriers[0])} and {len(barriers[1])}",
            ),
            "move the barrier out of the branch, so that every CTA executes it equally often",
        )


def _barriers(region: Region, name: str, kernel: Kernel) -> Iterable[Op]:
    for op in walk(region):
        if op.name == name and (name == "grid_barrier" or spans_cluster(op, kernel)):
            yield op


def spans_cluster(op: Op, kernel: Kernel) -> bool:
    """Whether a `cluster_barrier` has every CTA of the cluster as a member."""
    members = op.attrs.get("members")
    return members is None or len(set(members)) == kernel.cluster_size
