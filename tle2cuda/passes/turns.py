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

A turn lasts until the products are issued; they are waited for outside of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tle2cuda.analysis.tasks import tasks, walk_task
from tle2cuda.ir.nodes import WARPGROUP_WARPS, Kernel, Op, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, captured_values, definitions
from tle2cuda.ir.types import TileType


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """The products of a loop that are issued in turn.

    Attributes:
        loop: The loop.
        first: The first of them.
        last: The last one, perhaps the same.
        warpgroups: How many there are in the task.
    """

    loop: Op
    first: Op
    last: Op
    warpgroups: int


def run(kernel: Kernel) -> Kernel:
    """Let warpgroups take turns in loops of two chained products."""
    turns = list(_turns(kernel))
    return _Place(turns).kernel(kernel) if turns else kernel


def _turns(kernel: Kernel) -> Iterator[_Turn]:
    for task in tasks(kernel):
        count = task.warps // WARPGROUP_WARPS
        if count < 2:
            continue
        for op in walk_task(task.region):
            if op.name == "for" and (pair := _chained(op)) is not None:
                yield _Turn(op, *pair, count)


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

    def __init__(self, turns: list[_Turn]) -> None:
        super().__init__()
        self.loops = {turn.loop: turn for turn in turns}
        self.first = {turn.first: turn for turn in turns}
        self.last = {turn.last: turn for turn in turns}

    def visit(self, op: Op) -> None:
        """Copy an operation, and what stands around it."""
        self._turn(self.loops.get(op), "begin")
        self._turn(self.first.get(op), "wait")
        self.copy(op)
        self._turn(self.last.get(op), "pass")
        self._turn(self.loops.get(op), "end")

    def _turn(self, turn: _Turn | None, kind: str) -> None:
        if turn is not None:
            attrs = {"kind": kind, "warpgroups": turn.warpgroups}
            self.emit(make_op("product_turn", attrs=attrs, span=turn.first.span))


__all__ = ["run"]
