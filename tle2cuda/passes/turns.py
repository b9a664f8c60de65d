"""Warpgroups of one task take turns at the tensor cores where a loop's products wait for arithmetic, as in an attention.

Of two chained products the second takes what is computed of the first. Warpgroups that come to their products together wait
for them together, and then compute together, while the tensor cores have nothing to do. In turn, one multiplies while the
others compute:

    product_turn begin                the last warpgroup lets the first one begin
    for ...:
        product_turn wait
        the products
        product_turn pass             to the next warpgroup; the last one's turn is followed by the first one's
    product_turn end                  the first warpgroup takes what the last one passed on

A turn lasts until the products are issued; they are waited for outside of it. A task begins once and ends once, whatever
loops it has: a warpgroup that began again could be ahead of one that has not ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from tle2cuda.analysis.tasks import Task, regions_of_task, tasks, walk_task
from tle2cuda.ir.effects import CtaBarrier, Roots, steps
from tle2cuda.ir.nodes import WARPGROUP_WARPS, Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, captured_values, definitions
from tle2cuda.ir.types import TileType

_BEGIN, _WAIT, _PASS, _END = "begin", "wait", "pass", "end"


@dataclass(frozen=True, slots=True)
class _Turns:
    """Where turns stand in a task.

    Attributes:
        before: What stands in front of an operation.
        behind: What stands behind it.
        warpgroups: How many there are in the task.
    """

    before: dict[Op, str]
    behind: dict[Op, str]
    warpgroups: int


def run(kernel: Kernel) -> Kernel:
    """Let warpgroups take turns in loops of two chained products."""
    roots = Roots(kernel)
    turns = [found for task in tasks(kernel) if (found := _of_task(task, roots)) is not None]
    return _Place(turns).kernel(kernel) if turns else kernel


def _of_task(task: Task, roots: Roots) -> _Turns | None:
    """The turns of a task; None where it has one warpgroup or no such loop."""
    count = task.warps // WARPGROUP_WARPS
    if count < 2:
        return None
    pairs = {op: _chained(op) for op in walk_task(task.region) if op.name == "for"}
    loops = {op: pair for op, pair in pairs.items() if pair is not None and not _meet(op.regions[0], pair, roots)}
    if not loops:
        return None
    around = _around(task.region, set(loops))
    before, behind = {around[0]: _BEGIN}, {around[-1]: _END}
    for first, last in loops.values():
        before[first], behind[last] = _WAIT, _PASS
    return _Turns(before, behind, count)


def _around(region: Region, loops: set[Op]) -> list[Op]:
    """The operations of one region that hold all loops, of the innermost one that is run once at most."""
    found = [op for op in region.ops if op in loops or any(loops & set(walk_task(inner)) for inner in regions_of_task(op))]
    if len(found) == 1 and found[0].name == "if":
        for arm in found[0].regions:
            if loops <= set(walk_task(arm)):
                return _around(arm, loops)
    return found


def _chained(loop: Op) -> tuple[Op, Op] | None:
    """The first and the last of the products that are issued in one turn; None for loops without two chained ones."""
    (region,) = loop.regions
    products = [op for op in walk(region) if _is_product(op)]
    if len(products) != 2 or any(op not in region.ops for op in products):
        return None
    first, second = products
    weights = second.operands[0]
    if not isinstance(weights.type, TileType):
        return None
    if weights in region.params[1:]:  # of the iteration before
        carried = region.terminator.operands[region.params.index(weights) - 1]
        return (first, second) if _depends(carried, first.result, definitions(region)) else None
    return (first, first) if _depends(weights, first.result, definitions(region)) else None


def _meet(region: Region, pair: tuple[Op, Op], roots: Roots) -> bool:
    """Whether all warpgroups meet, or wait for others, in the middle of a turn."""
    first, last = (region.ops.index(op) for op in pair)
    return any(
        op.name == "named_barrier" or any(isinstance(step, CtaBarrier) for step in steps(op, roots))
        for each in region.ops[first : last + 1]
        for op in (each, *(inner for nested in each.regions for inner in walk(nested)))
    )


def _is_product(op: Op) -> bool:
    return op.name == "wgmma" or (op.name == "dot" and str(op.attrs.get("instruction")).startswith("wgmma"))


def _depends(value: Value, on: Value, made: dict[Value, Op]) -> bool:
    """Whether a value is computed of another one."""
    seen: set[Value] = set()
    todo = [value]
    while todo:
        each = todo.pop()
        if each is on:
            return True
        if each not in seen and each in made:
            seen.add(each)
            todo += made[each].operands
            todo += [v for region in made[each].regions for v in captured_values(region)]
    return False


class _Place(Rewriter):
    """Puts the turns in."""

    def __init__(self, turns: Sequence[_Turns]) -> None:
        super().__init__()
        self.before = {op: (kind, each.warpgroups) for each in turns for op, kind in each.before.items()}
        self.behind = {op: (kind, each.warpgroups) for each in turns for op, kind in each.behind.items()}

    def visit(self, op: Op) -> None:
        """Copy an operation, and what stands around it."""
        self._turn(op, self.before)
        kind, warpgroups = self.behind.get(op, ("", 0))
        if kind == _PASS and op.name == "dot":  # which waits for itself
            operands = tuple(self[v] for v in op.operands)
            attrs = MappingProxyType({**op.attrs, "passes_turn": warpgroups})
            self.emit(replace(op, operands=operands, attrs=attrs))
            return
        self.copy(op)
        self._turn(op, self.behind)

    def _turn(self, op: Op, turns: Mapping[Op, tuple[str, int]]) -> None:
        if op in turns:
            kind, warpgroups = turns[op]
            self.emit(make_op("product_turn", attrs={"kind": kind, "warpgroups": warpgroups}, span=op.span))


__all__ = ["run"]
