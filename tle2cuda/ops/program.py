"""Which CTA of the launch a program instance is, and how many there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from tle2cuda.errors import DTypeMismatch, InvalidArgument
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import I32
from tle2cuda.ops import core
from tle2cuda.ops.core import builtin, emit_value, meaning, static_int, tensor, to_tensor, unwrap
from tle2cuda.ops.extrema import minimum


def _grid_axis(axis: Any, function: str) -> int:
    value = static_int(axis, f"{function}: axis")
    if value not in (0, 1, 2):
        raise InvalidArgument(f"{function}: axis must be 0, 1 or 2, got {value}")
    return value


def _integer(x: Any, what: str) -> tensor:
    value = to_tensor(x)
    if value.is_pointer or not core.dtype_of(value).is_int():
        raise DTypeMismatch(f"{what} takes integers, got {core.describe_type(value)}")
    return value


@builtin
def program_id(axis: Any) -> tensor:
    """Index of this CTA along an axis of the launch, an int32 scalar.

    In a cluster kernel the launch grid was multiplied by the cluster shape: the index counts CTAs.

    Args:
        axis: 0, 1 or 2 (constexpr).

    Raises:
        InvalidArgument: Another axis.

    Example:
        ``row = tl.program_id(0)``
    """
    return emit_value("program_id", (), I32, (), {"axis": _grid_axis(axis, "tl.program_id")})


@builtin
def num_programs(axis: Any) -> tensor:
    """Number of CTAs along an axis of the launch, an int32 scalar.

    Args:
        axis: 0, 1 or 2 (constexpr).

    Raises:
        InvalidArgument: Another axis.

    Example:
        ``for tile in range(tl.program_id(0), tiles, tl.num_programs(0)): ...``
    """
    return emit_value("num_programs", (), I32, (), {"axis": _grid_axis(axis, "tl.num_programs")})


@builtin
def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> tuple[tensor, tensor]:
    """Row-major indices of a grid in an order that goes through groups of rows column by column.

    CTAs that run together then share rows and columns, which helps the L2 cache.

    Args:
        i: Row, an integer scalar or tile.
        j: Column.
        size_i: Rows of the grid.
        size_j: Columns of the grid.
        size_g: Rows of a group; the last group may have fewer.

    Returns:
        The row and the column to work on.

    Example:
        ``row, column = tl.swizzle2d(tl.program_id(0), tl.program_id(1), rows, columns, 8)``
    """
    what = "tl.swizzle2d"
    row, column = _integer(i, f"{what}: i"), _integer(j, f"{what}: j")
    rows, columns, group = (unwrap(size) for size in (size_i, size_j, size_g))
    linear = row * columns + column
    first = linear // (group * columns) * group
    height = minimum(to_tensor(rows) - first, group)
    within = linear % (group * columns)
    return first + within % height, within // height


@meaning("program_id")
def _program_id(ctx: Any, op: Op) -> Any:
    return np.int32(ctx.program_id[op.attrs["axis"]])


@meaning("num_programs")
def _num_programs(ctx: Any, op: Op) -> Any:
    return np.int32(ctx.num_programs[op.attrs["axis"]])


@meaning("cluster_rank")
def _cluster_rank(ctx: Any, op: Op) -> Any:
    return np.int32(ctx.cluster_rank)
