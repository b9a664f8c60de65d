"""Which CTA of the launch a program instance is, and how many there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from tle2cuda.errors import InvalidArgument
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import I32
from tle2cuda.ops.core import builtin, emit_value, meaning, static_int, tensor


def _grid_axis(axis: Any, function: str) -> int:
    value = static_int(axis, f"{function}: axis")
    if value not in (0, 1, 2):
        raise InvalidArgument(f"{function}: axis must be 0, 1 or 2, got {value}")
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


@meaning("program_id")
def _program_id(ctx: Any, op: Op) -> Any:
    return np.int32(ctx.program_id[op.attrs["axis"]])


@meaning("num_programs")
def _num_programs(ctx: Any, op: Op) -> Any:
    return np.int32(ctx.num_programs[op.attrs["axis"]])


@meaning("cluster_rank")
def _cluster_rank(ctx: Any, op: Op) -> Any:
    return np.int32(ctx.cluster_rank)
