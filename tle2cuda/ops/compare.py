"""Comparisons, and `and`/`or`/`not` on run-time values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tle2cuda.errors import DTypeMismatch
from tle2cuda.ir.builder import reads_3_9
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BOOL, F32
from tle2cuda.ops import core
from tle2cuda.ops.core import binary_operands, builtin, constant, emit_value, meaning, tensor, unwrap

_SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _compare(predicate: str, left: Any, right: Any) -> tensor:
    """Bool result; floats compare ordered except ``!=``.

    A Python number becomes int32 or float32 first; by the rules of Triton 3.9 it adapts to the other operand.
    """
    symbol = _SYMBOLS[predicate]
    a, b = binary_operands(left, right, f"`{symbol}`", weak=reads_3_9())
    if core.dtype_of(a).is_fp8():
        a, b = core.cast(a, F32), core.cast(b, F32)
    return emit_value("cmp", (a, b), BOOL, a.dims, {"predicate": predicate})


@core.operator("eq")
def equal(left: Any, right: Any) -> Any:
    """``left == right``; with None the answer is False at compile time."""
    if unwrap(left) is None or unwrap(right) is None:
        return core.constexpr(False)
    return _compare("eq", left, right)


@core.operator("ne")
def not_equal(left: Any, right: Any) -> Any:
    """``left != right``, true for NaN; with None the answer is True at compile time."""
    if unwrap(left) is None or unwrap(right) is None:
        return core.constexpr(True)
    return _compare("ne", left, right)


@core.operator("lt")
def less_than(left: Any, right: Any) -> tensor:
    """``left < right``, false for NaN."""
    return _compare("lt", left, right)


@core.operator("le")
def less_equal(left: Any, right: Any) -> tensor:
    """``left <= right``, false for NaN."""
    return _compare("le", left, right)


@core.operator("gt")
def greater_than(left: Any, right: Any) -> tensor:
    """``left > right``, false for NaN."""
    return _compare("gt", left, right)


@core.operator("ge")
def greater_equal(left: Any, right: Any) -> tensor:
    """``left >= right``, false for NaN."""
    return _compare("ge", left, right)


def as_bool(x: Any, what: str) -> tensor:
    """A bool operand; numbers fold, run-time values must be bool already.

    Raises:
        DTypeMismatch: Another dtype.
    """
    if core.is_literal(x):
        return constant(bool(unwrap(x)), BOOL)
    value = core.numeric(x, what)
    if value.element is not BOOL:
        raise DTypeMismatch(
            f"{what}: the operand must be bool (int1), got {core.describe_type(value)}",
            facts=(core.fact("operand", value),),
            help="compare it with something, such as x != 0",
        )
    return value


def condition(x: Any, what: str) -> tensor:
    """A scalar as an `if` or `while` condition: bool, or anything else by ``!= 0``.

    Raises:
        DTypeMismatch: A tile of more than one element, or the float condition of a `while`.
    """
    value = core.to_tensor(x)
    if value.dims:
        if core.num_elements(value.dims) != 1:
            raise _scalar_required(value, what)
        value = emit_value("tile_to_scalar", (value,), value.element, ())
    if value.element is BOOL:
        return value
    if what == "`while`":
        _check_loop(value, what)
    return core.cast(value, BOOL)


def _check_loop(value: tensor, what: str) -> None:
    """A `while` tests bool; by the rules of Triton 3.9 integers too.

    Raises:
        DTypeMismatch: Anything else.
    """
    is_integer = not value.is_pointer and core.dtype_of(value).is_int()
    if is_integer and reads_3_9():
        return
    allowed = "bool or an integer" if reads_3_9() else "bool"
    advice = "x != 0.0" if not value.is_pointer and not is_integer else "x != 0"
    level = ', or read the kernel by the rules of Triton 3.9 (language="3.9")' if is_integer else ""
    raise DTypeMismatch(
        f"{what}: the condition must be {allowed}, got {core.describe_type(value)}",
        help=f"compare it with something, such as {advice}{level}",
    )


def _scalar_required(value: tensor, what: str) -> DTypeMismatch:
    """Error for a tile used as a condition."""
    return DTypeMismatch(
        f"{what}: the condition must be a scalar, got {core.describe_type(value)}",
        facts=(core.fact("condition", value),),
        help="reduce it first, tl.max(x, axis=0), or use tl.where",
    )


@builtin
@core.tensor_member
def logical_and(input: Any, other: Any) -> tensor:
    """``input and other`` of bool values of any common shape; both are evaluated.

    Args:
        input: bool tile or scalar, or a Python bool.
        other: As `input`.

    Raises:
        DTypeMismatch: An operand is not bool.

    Example:
        ``ok = (i < n) and (j < m)``
    """
    return _logical("and", input, other)


@builtin
@core.tensor_member
def logical_or(input: Any, other: Any) -> tensor:
    """``input or other`` of bool values of any common shape; both are evaluated.

    Args:
        input: bool tile or scalar, or a Python bool.
        other: As `input`.

    Raises:
        DTypeMismatch: An operand is not bool.

    Example:
        ``stop = (i >= n) or found``
    """
    return _logical("or", input, other)


def _logical(op: str, input: Any, other: Any) -> tensor:
    what = f"`{op}`"
    a, b = core.broadcast_pair(as_bool(input, what), as_bool(other, what), what)
    return emit_value(op, (a, b), BOOL, a.dims)


@builtin
@core.tensor_member
def logical_not(input: Any) -> tensor:
    """``not input`` of a bool value.

    Args:
        input: bool tile or scalar.

    Raises:
        DTypeMismatch: The operand is not bool.

    Example:
        ``while not found: ...``
    """
    value = as_bool(input, "`not`")
    return emit_value("xor", (value, constant(True, BOOL, value.dims)), BOOL, value.dims)


_COMPARE = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@meaning("cmp")
def _cmp(ctx: Any, op: Op, a: Any, b: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return _COMPARE[op.attrs["predicate"]](a, b)
