"""Result rules of operations that take tiles apart, put them together, or reorder them."""

from __future__ import annotations

from tle2cuda.ir.kinds import Broken
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.rules import agree, expect, plain
from tle2cuda.ir.types import DType, TileType, Type, shape_of


def _need(condition: bool, problem: str) -> None:
    if not condition:
        raise Broken(problem)


def _tile(op: Op, position: int = 0) -> TileType:
    type_ = op.operands[position].type
    assert isinstance(type_, TileType)
    return type_


def _result(op: Op) -> TileType:
    _need(len(op.results) == 1 and isinstance(op.results[0].type, TileType), "its result is no tile")
    type_ = op.results[0].type
    assert isinstance(type_, TileType)
    return type_


def _axis(op: Op, shape: tuple[int, ...]) -> int:
    axis: int = op.attrs["axis"]
    _need(0 <= axis < len(shape), f"axis {axis} is out of range for rank {len(shape)}")
    return axis


def _check_part(whole: TileType, part: TileType) -> None:
    """A part has the element type and rank of its whole, and divides it."""
    _need(whole.element == part.element, "the element type changes")
    _need(len(whole.shape) == len(part.shape), f"the rank changes from {len(whole.shape)} to {len(part.shape)}")
    _need(
        all(n % m == 0 for n, m in zip(whole.shape, part.shape, strict=True)),
        f"{list(part.shape)} does not divide {list(whole.shape)}",
    )


def check_concat(op: Op) -> None:
    """Two tiles of one type, the extent of the axis doubled."""
    a, b = op.operands
    _need(plain(a.type) == plain(b.type), f"operand 1 is {b.type} but operand 0 is {a.type}")
    tile = _tile(op)
    axis = _axis(op, tile.shape)
    expect(op, TileType((*tile.shape[:axis], 2 * tile.shape[axis], *tile.shape[axis + 1 :]), tile.element))


def check_extract(op: Op) -> None:
    """An aligned part."""
    whole, part = _tile(op), _result(op)
    _check_part(whole, part)
    start = op.attrs["start"]
    _need(len(start) == len(whole.shape), f"start {start} has another rank than {list(whole.shape)}")
    _need(
        all(0 <= s < n and s % m == 0 for s, n, m in zip(start, whole.shape, part.shape, strict=True)),
        f"start {list(start)} is no multiple of {list(part.shape)} inside of {list(whole.shape)}",
    )


def check_extract_at(op: Op) -> None:
    """A part of the tile."""
    _check_part(_tile(op), _result(op))


def check_insert(op: Op) -> None:
    """A part of the tile, and the tile's type."""
    _check_part(_tile(op), _tile(op, 1))
    expect(op, _tile(op))
    _need(agree(op.operands[0].type, op.results[0].type), "operand 0 and the result have different layouts")


def check_flip(op: Op) -> None:
    """The type stays."""
    _axis(op, shape_of(op.operands[0].type))
    expect(op, op.operands[0].type)
    _need(agree(op.operands[0].type, op.results[0].type), "operand and result have different layouts")


def check_gather(op: Op) -> None:
    """Integers of the source's rank, and its extents beside the axis; the result has their shape."""
    source, index = _tile(op), _tile(op, 1)
    axis = _axis(op, source.shape)
    _need(isinstance(index.element, DType) and index.element.is_int(), f"operand 1 is {index}, not integers")
    _need(len(source.shape) == len(index.shape), f"{source} and {index} differ in rank")
    beside = [(m, n) for d, (m, n) in enumerate(zip(source.shape, index.shape, strict=True)) if d != axis]
    _need(all(m == n for m, n in beside), f"{source} and {index} differ beside axis {axis}")
    expect(op, TileType(index.shape, source.element))
    _need(agree_layouts(index, op.results[0].type), "operand 1 and the result have different layouts")


def agree_layouts(a: Type, b: Type) -> bool:
    """Equal layouts, where both are chosen."""
    layouts = [getattr(type_, "layout", None) for type_ in (a, b)]
    return None in layouts or layouts[0] == layouts[1]


def check_sort(op: Op) -> None:
    """Numbers; along the axis as many elements or fewer."""
    source, target = _tile(op), _result(op)
    axis = _axis(op, source.shape)
    _need(isinstance(source.element, DType), f"operand 0 is {source}, not numbers")
    _check_part(source, target)
    beside = [(m, n) for d, (m, n) in enumerate(zip(source.shape, target.shape, strict=True)) if d != axis]
    _need(all(m == n for m, n in beside), f"{source} and {target} differ beside axis {axis}")
    _need(not op.attrs.get("merge") or source.shape == target.shape, "a merge keeps all elements")
