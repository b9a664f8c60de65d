"""Bit operators of integers and bool: ``& | ^ << >> ~``. Their IR operations are defined in `arithmetic`."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import DTypeMismatch
from tle2cuda.ir.builder import warn
from tle2cuda.ir.types import BOOL, I32, DType
from tle2cuda.ops import core
from tle2cuda.ops.arithmetic import left_right
from tle2cuda.ops.core import binary_operands, constant, emit_value, is_literal, numeric, tensor, unwrap


def _bit_operands(left: Any, right: Any, symbol: str) -> tuple[tensor, tensor]:
    for operand in (left, right):
        if is_literal(operand):
            integral = not isinstance(unwrap(operand), float)
        else:
            integral = core.dtype_of(numeric(operand, f"`{symbol}`")).is_int()
        if not integral:
            raise DTypeMismatch(f"`{symbol}` takes integers or bool, got {left_right(left, right)}")
    return binary_operands(left, right, f"`{symbol}`")


@core.operator("and")
def and_operator(left: Any, right: Any) -> tensor:
    """``left & right`` of integers or bool."""
    a, b = _bit_operands(left, right, "&")
    return emit_value("and", (a, b), a.element, a.dims)


@core.operator("or")
def or_operator(left: Any, right: Any) -> tensor:
    """``left | right`` of integers or bool."""
    a, b = _bit_operands(left, right, "|")
    return emit_value("or", (a, b), a.element, a.dims)


@core.operator("xor")
def xor_operator(left: Any, right: Any) -> tensor:
    """``left ^ right`` of integers or bool."""
    a, b = _bit_operands(left, right, "^")
    return emit_value("xor", (a, b), a.element, a.dims)


@core.operator("lshift")
def shift_left(left: Any, right: Any) -> tensor:
    """``left << right``; an amount of the width or more, or a negative one, gives 0."""
    a, b = _bit_operands(left, right, "<<")
    _check_amount(right, a, "<<")
    return _shift("shl", a, b)


@core.operator("rshift")
def shift_right(left: Any, right: Any) -> tensor:
    """``left >> right``; arithmetic when `left` is signed, decided before promotion.

    An amount of the width or more, or a negative one, leaves the sign: 0, or -1 for negative values.
    """
    a, b = _bit_operands(left, right, ">>")
    _check_amount(right, a, ">>")
    signed = core.dtype_of(left if isinstance(left, tensor) else a).is_int_signed()
    dtype = core.dtype_of(a)
    if dtype.is_int() and not dtype.is_bool() and dtype.is_int_signed() != signed:
        other = DType(("int" if signed else "uint") + str(dtype.bits))
        shifted = _shift("shr", core.cast(a, other), core.cast(b, other))
        return core.cast(shifted, dtype)
    return _shift("shr", a, b)


def _check_amount(amount: Any, value: tensor, symbol: str) -> None:
    """Warns of a shift by a constant that leaves nothing of the value."""
    dtype = core.dtype_of(value)
    bits = 32 if dtype.is_bool() else dtype.bits  # bools are shifted as int32
    if is_literal(amount) and not 0 <= unwrap(amount) < bits:
        warn(
            f"`{symbol}`: {core.describe_type(value)} is shifted by {unwrap(amount)}, only 0 to {bits - 1} leave "
            "something of it; convert to a wider type first"
        )


def _shift(op: str, a: tensor, b: tensor) -> tensor:
    if a.element is BOOL:
        wide = emit_value(op, (core.cast(a, I32), core.cast(b, I32)), I32, a.dims)
        low = emit_value("and", (wide, constant(1, I32, a.dims)), I32, a.dims)
        return core.cast(low, BOOL)
    return emit_value(op, (a, b), a.element, a.dims)


@core.operator("invert")
def invert(x: Any) -> tensor:
    """``~x`` of integers or bool."""
    value = numeric(x, "`~`")
    dtype = core.dtype_of(value)
    if not dtype.is_int():
        raise DTypeMismatch(f"`~` takes integers or bool, got {core.describe_type(value)}")
    all_ones = -1 if dtype.is_int_signed() else core.integer_range(dtype)[1]
    ones = constant(all_ones, dtype, value.dims)
    return emit_value("xor", (value, ones), dtype, value.dims)
