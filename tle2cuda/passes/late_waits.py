"""Waits for products that stay behind what is computed while these are in flight.

ptxas moves a wait in front of arithmetic that does not need the product, so that nothing is left to do meanwhile. A wait
is told here which value comes before it: the one that most of that arithmetic goes into.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tle2cuda.analysis.tasks import regions_of_task, tasks
from tle2cuda.ir.nodes import Kernel, Op, Region, Value
from tle2cuda.ir.rewrite import captured_values, replace_ops
from tle2cuda.ir.types import F32, TileType, element_of

_MOST_ELEMENTS = 4  # of the value in a thread
_LEAST_WORK = 32  # elements that a thread computes meanwhile
_EVENTS = frozenset(("wgmma", "wgmma_wait"))


def run(kernel: Kernel) -> Kernel:
    """Name what comes before waits."""
    found: dict[Op, Value] = {}
    for task in tasks(kernel):
        for region in _regions(task.region):
            found |= dict(_waits(region.ops))
    if not found:
        return kernel
    return replace_ops(kernel, lambda op: replace(op, operands=(*op.operands, found[op])) if op in found else op)


def _regions(region: Region) -> Iterator[Region]:
    yield region
    for op in region.ops:
        for inner in regions_of_task(op) if op.name != "fused" else ():
            yield from _regions(inner)


def _waits(ops: Sequence[Op]) -> Iterator[tuple[Op, Value]]:
    """Waits, and what comes before them."""
    start = None
    for i, op in enumerate(ops):
        if op.name == "wgmma_wait" and start is not None:
            value = _last_computed(ops[start:i])
            if value is not None:
                yield op, value
        if op.name in _EVENTS:
            start = i + 1


def _last_computed(ops: Sequence[Op]) -> Value | None:
    """A value of few elements that at least half of the work goes into; None when there is none, or little work."""
    made = {result: op for op in ops for result in op.results}
    work = {op: sum(_elements(v) for v in op.results) for op in ops}
    best: tuple[int, Value] | None = None
    for value in made:
        type_ = value.type
        is_short = isinstance(type_, TileType) and element_of(type_) is F32 and _registers(type_) <= _MOST_ELEMENTS
        if is_short and (done := sum(work[op] for op in _before(value, made))) > (best[0] if best else 0):
            best = done, value
    whole = sum(work.values())
    if best is None or whole < _LEAST_WORK or 2 * best[0] < whole:
        return None
    return best[1]


def _before(value: Value, made: dict[Value, Op]) -> set[Op]:
    """The operations that a value is computed by."""
    found: set[Op] = set()
    todo = [value]
    while todo:
        op = made.get(todo.pop())
        if op is not None and op not in found:
            found.add(op)
            todo += op.operands
            todo += [v for region in op.regions for v in captured_values(region)]
    return found


def _elements(value: Value) -> int:
    return _registers(value.type) if isinstance(value.type, TileType) else 0


def _registers(type_: TileType) -> int:
    """Elements of a tile in a thread."""
    return type_.layout.num_registers if type_.layout is not None else type_.num_elements


__all__ = ["run"]
