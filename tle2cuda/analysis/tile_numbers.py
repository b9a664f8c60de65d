"""Whether a launch may take a tile from outside of a grid of tiles, by a number that only the run time knows."""

from __future__ import annotations

from functools import lru_cache

from tle2cuda.analysis.axis_domain import ints, range_of
from tle2cuda.analysis.axis_info import axis_info
from tle2cuda.analysis.wrapped_offsets import Ranges, launch_ranges
from tle2cuda.ir.nodes import Kernel, Op, walk
from tle2cuda.ir.types import TileType

_NUMBERED = {"extract_at": 1, "insert": 2}
"""Operations on one tile of a grid of tiles; where its number stands among the operands."""


@lru_cache(maxsize=256)
def may_leave_a_grid(kernel: Kernel, grid: tuple[int, ...], numbers: tuple[tuple[str, int], ...]) -> bool:
    """Whether some number may lie outside of its grid, as far as ranges tell.

    Args:
        kernel: The kernel, at any point before it is lowered.
        grid: CTAs along x, y, z.
        numbers: Names and values of integer arguments.
    """
    return _in_some_launch(kernel) and _may_leave(kernel, launch_ranges(kernel, grid, dict(numbers)))


@lru_cache(maxsize=64)
def _in_some_launch(kernel: Kernel) -> bool:
    return _may_leave(kernel, None)


def _may_leave(kernel: Kernel, ranges: Ranges | None) -> bool:
    numbered = [op for op in walk(kernel.body) if op.name in _NUMBERED]
    if not numbered:
        return False
    info = axis_info(kernel, ranges)
    for op in numbered:
        found = info.get(op.operands[_NUMBERED[op.name]])
        if found is None or not ints(found):
            return True
        low, high = range_of(found)
        if low < 0 or high >= _tiles(op):
            return True
    return False


def _tiles(op: Op) -> int:
    """How many tiles the grid has."""
    whole, part = op.operands[0].type, (op.operands[1] if op.name == "insert" else op.result).type
    assert isinstance(whole, TileType) and isinstance(part, TileType)
    return whole.num_elements // part.num_elements


__all__ = ["may_leave_a_grid"]
