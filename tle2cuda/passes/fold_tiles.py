"""Simplification of operations that take tiles apart and put them together: parts of parts, halves of what was joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tle2cuda.ir.nodes import Op, Value, make_op
from tle2cuda.ir.types import Type, shape_of

if TYPE_CHECKING:
    from tle2cuda.passes.fold import Facts, Replacement


def _same_everywhere(op: Op, source: Value, target: Type, facts: Facts) -> Op | None:
    """A tile of one value, in another shape."""
    maker = facts.definitions.get(source)
    if maker is None or maker.name not in ("constant", "splat"):
        return None
    return make_op(maker.name, maker.operands, (target,), maker.attrs, (), op.span, (op.results[0].name,))


def _part_of(op: Op, whole: Value, start: Sequence[int], target: Type) -> Replacement:
    if shape_of(whole.type) == shape_of(target):
        return whole
    return make_op("extract", (whole,), (target,), {"start": tuple(start)}, (), op.span, (op.results[0].name,))


def _extract(op: Op, facts: Facts) -> Replacement:
    """A part of what was put together is a part of what it was put together from."""
    source, target = op.operands[0], op.results[0].type
    start, shape = op.attrs["start"], shape_of(target)
    if (uniform := _same_everywhere(op, source, target, facts)) is not None:
        return uniform
    maker = facts.definitions.get(source)
    if maker is None:
        return None
    if maker.name == "extract":
        return _part_of(op, maker.operands[0], [a + b for a, b in zip(start, maker.attrs["start"], strict=True)], target)
    if maker.name == "concat":
        axis = maker.attrs["axis"]
        half = shape_of(maker.operands[0].type)[axis]
        if start[axis] + shape[axis] <= half:
            return _part_of(op, maker.operands[0], start, target)
        if start[axis] >= half:
            inside = (*start[:axis], start[axis] - half, *start[axis + 1 :])
            return _part_of(op, maker.operands[1], inside, target)
    if maker.name == "insert":
        return _part_of_inserted(op, maker, facts)
    return None


def _part_of_inserted(op: Op, maker: Op, facts: Facts) -> Replacement:
    whole, part, where = maker.operands
    number = facts.constant(where)
    if number is None:
        return None
    target = op.results[0].type
    origin = []
    for extent, step in zip(reversed(shape_of(whole.type)), reversed(shape_of(part.type)), strict=True):
        origin.append(number % (extent // step) * step)
        number //= extent // step
    origin.reverse()
    spans = list(zip(op.attrs["start"], shape_of(target), origin, shape_of(part.type), strict=True))
    if all(at <= start and start + extent <= at + step for start, extent, at, step in spans):
        return _part_of(op, part, [start - at for start, _, at, _ in spans], target)
    if any(start + extent <= at or at + step <= start for start, extent, at, step in spans):
        return _part_of(op, whole, op.attrs["start"], target)
    return None


def _concat(op: Op, facts: Facts) -> Replacement:
    """Both halves of a tile are that tile."""
    front, back = op.operands
    target = op.results[0].type
    if front is back and (uniform := _same_everywhere(op, front, target, facts)) is not None:
        return uniform
    first, second = facts.definition(front, "extract"), facts.definition(back, "extract")
    if first is None or second is None or first.operands[0] is not second.operands[0]:
        return None
    axis, shape = op.attrs["axis"], shape_of(front.type)
    halves = [tuple(half if d == axis else 0 for d in range(len(shape))) for half in (0, shape[axis])]
    if [tuple(first.attrs["start"]), tuple(second.attrs["start"])] != halves:
        return None
    return first.operands[0] if first.operands[0].type == target else None


def _flip(op: Op, facts: Facts) -> Replacement:
    """Turned twice, or the same everywhere: unchanged."""
    source, axis = op.operands[0], op.attrs["axis"]
    if shape_of(source.type)[axis] == 1:
        return source
    if facts.uniform(source):
        return source
    maker = facts.definition(source, "flip")
    return maker.operands[0] if maker is not None and maker.attrs["axis"] == axis else None


TILE_RULES: dict[str, Callable[[Op, Facts], Replacement]] = {
    "extract": _extract,
    "concat": _concat,
    "flip": _flip,
}
