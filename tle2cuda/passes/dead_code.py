"""Removes operations nobody needs, and results, parameters and yields of control flow nobody uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tle2cuda.ir.legality import has_side_effects
from tle2cuda.ir.nodes import Kernel, Op, Region, Value

Keep = Sequence[bool]


def remove_dead_code(kernel: Kernel) -> Kernel:
    """The kernel without what has no effect."""
    live: set[Value] = set()
    body = _region(kernel.body, live, None)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _picked(values: Sequence[Value], keep: Keep) -> tuple[Value, ...]:
    return tuple(value for value, kept in zip(values, keep, strict=True) if kept)


def _region(region: Region, live: set[Value], keep: Keep | None, first: int = 0) -> Region:
    """Sweep a region backwards; `live` holds what is needed behind it and receives what it needs itself.

    Args:
        region: The region.
        live: Values needed so far.
        keep: Which operands of the terminator stay, from operand `first` on; None: all.
        first: Operands of the terminator that always stay.
    """
    terminator = region.terminator
    if keep is not None and not all(keep):
        operands = terminator.operands[:first] + _picked(terminator.operands[first:], keep)
        terminator = replace(terminator, operands=operands)
    live.update(terminator.operands)
    kept = [terminator]
    for op in reversed(region.body):
        if has_side_effects(op) or any(result in live for result in op.results):
            swept = _op(op, live)
            live.update(swept.operands)
            kept.append(swept)
    ops = tuple(reversed(kept))
    if len(ops) == len(region.ops) and all(a is b for a, b in zip(ops, region.ops, strict=True)):
        return region
    return replace(region, ops=ops)


def _op(op: Op, live: set[Value]) -> Op:
    if op.name in ("if", "fused", "warp_specialize"):
        return _branches(op, live)
    if op.name == "for":
        return _for(op, live)
    if op.name == "while":
        return _while(op, live)
    regions = tuple(_region(region, live, None) for region in op.regions)
    return _rebuilt(op, op.operands, op.results, regions)


def _rebuilt(op: Op, operands: tuple[Value, ...], results: tuple[Value, ...], regions: tuple[Region, ...]) -> Op:
    same = operands == op.operands and results == op.results
    if same and all(a is b for a, b in zip(regions, op.regions, strict=True)):
        return op
    return replace(op, operands=operands, results=results, regions=regions)


def _branches(op: Op, live: set[Value]) -> Op:
    keep = [result in live for result in op.results]
    # Worker partitions yield nothing: the results are those of region 0.
    regions = tuple(_region(region, live, keep if region.terminator.operands else None) for region in op.regions)
    return _rebuilt(op, op.operands, _picked(op.results, keep), regions)


def _for(op: Op, live: set[Value]) -> Op:
    (body,) = op.regions
    carried = body.params[1:]
    keep = [result in live for result in op.results]
    while True:
        needed = set(live)
        swept = _region(body, needed, keep)
        wider = [kept or param in needed for kept, param in zip(keep, carried, strict=True)]
        if wider == keep:
            break
        keep = wider
    live |= needed
    if not all(keep):
        swept = replace(swept, params=(body.params[0], *_picked(carried, keep)))
    operands = (*op.operands[:3], *_picked(op.operands[3:], keep))
    return _rebuilt(op, operands, _picked(op.results, keep), (swept,))


def _while(op: Op, live: set[Value]) -> Op:
    before, body = op.regions
    passed = [result in live for result in op.results]
    carried = [False] * len(op.operands)
    while True:
        needed = set(live)
        new_body = _region(body, needed, carried)
        new_passed = [kept or param in needed for kept, param in zip(passed, body.params, strict=True)]
        new_before = _region(before, needed, new_passed, first=1)
        new_carried = [kept or param in needed for kept, param in zip(carried, before.params, strict=True)]
        if new_passed == passed and new_carried == carried:
            break
        passed, carried = new_passed, new_carried
    live |= needed
    if not all(carried):
        new_before = replace(new_before, params=_picked(before.params, carried))
    if not all(passed):
        new_body = replace(new_body, params=_picked(body.params, passed))
    operands = _picked(op.operands, carried)
    return _rebuilt(op, operands, _picked(op.results, passed), (new_before, new_body))
