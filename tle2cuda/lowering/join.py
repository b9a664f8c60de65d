"""Tiles put together along an axis: each element is chosen from where it comes, which unrolled loops resolve."""

from __future__ import annotations

from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import TileType
from tle2cuda.lowering.cexpr import Affine
from tle2cuda.lowering.evaluate import Choice, Evaluator, Grid, choice_rule


@choice_rule("concat")
def concat_choice(ev: Evaluator, op: Op, grid: Grid, k_zero: bool) -> Choice:
    """The tile in front for the first half of the axis, else the one behind."""
    front, back = op.operands
    assert isinstance(front.type, TileType)
    shape = front.type.shape
    inside = grid.part(shape)
    half = ev.coordinate(grid.which_part(shape), op.attrs["axis"], k_zero)
    return ev.choose(half, Affine(0), ((front, inside), (back, inside)))
