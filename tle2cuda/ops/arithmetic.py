"""Operators of run-time values, select, division in its kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tle2cuda.errors import DTypeMismatch, InvalidArgument, InvalidType
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BOOL, F32, I32, DType, PointerType, dtype_of, element_of
from tle2cuda.ops import core
from tle2cuda.ops.core import (
    binary_operands,
    broadcast_all,
    broadcast_pair,
    builtin,
    constant,
    emit_value,
    fact,
    is_literal,
    meaning,
    numeric,
    tensor,
    to_tensor,
    unwrap,
)
from tle2cuda.ops.level import only_in_3_9
from tle2cuda.ops.numerics import (
    Array,
    as_values,
    c_divide,
    c_remainder,
    fused_multiply_add,
    multiply_high,
    widen,
)
from tle2cuda.ops.overflow import check_overflow


def emit_binary(op: str, a: tensor, b: tensor, attrs: dict[str, Any] | None = None) -> tensor:
    """One elementwise operation on operands of equal type; float8 computes in float32 and is rounded once."""
    dtype = core.dtype_of(a)
    if dtype.is_fp8():
        wide = emit_value(op, (core.cast(a, F32), core.cast(b, F32)), F32, a.dims, attrs)
        return core.cast(wide, dtype)
    return emit_value(op, (a, b), dtype, a.dims, attrs)


# -- addition, subtraction, multiplication ----------------------------------------------------------


def _offset_pointer(pointer: tensor, offset: Any, symbol: str, negate: bool = False) -> tensor:
    """Pointer plus or minus a count of elements; the offset keeps its own integer type."""
    amount = to_tensor(offset)
    if amount.is_pointer:
        raise DTypeMismatch(
            f"`{symbol}`: pointers cannot be combined with pointers",
            facts=(fact("left", pointer), fact("right", amount)),
        )
    dtype = core.dtype_of(amount)
    if not dtype.is_int():
        raise DTypeMismatch(
            f"`{symbol}`: a pointer moves by whole elements, got {core.describe_type(amount)}",
            facts=(fact("offset", amount),),
            help="convert the offset to an integer, x.to(tl.int32)",
        )
    if dtype.is_bool():
        amount = core.cast(amount, I32)
    if negate:
        amount = emit_value("sub", (constant(0, core.dtype_of(amount), amount.dims), amount), amount.element, amount.dims)
    base, steps = broadcast_pair(pointer, amount, f"`{symbol}`")
    return emit_value("ptr_add", (base, steps), pointer.element, base.dims)


def _is_pointer(x: Any) -> bool:
    return isinstance(x, tensor) and x.is_pointer


@core.operator("add")
def add_operator(left: Any, right: Any) -> tensor:
    """``left + right``; integers wrap, a pointer moves by elements."""
    if _is_pointer(left):
        return _offset_pointer(left, right, "+")
    if _is_pointer(right):
        return _offset_pointer(right, left, "+")
    a, b = binary_operands(left, right, "`+`")
    if a.element is BOOL:
        return emit_value("xor", (a, b), BOOL, a.dims)  # modulo 2
    check_overflow("add", a, b)
    return emit_binary("add", a, b)


@core.operator("sub")
def sub_operator(left: Any, right: Any) -> tensor:
    """``left - right``; integers wrap, an integer may be subtracted from a pointer."""
    if _is_pointer(left):
        if is_literal(right):
            return _offset_pointer(left, -unwrap(right), "-")
        return _offset_pointer(left, right, "-", negate=True)
    a, b = binary_operands(left, right, "`-`")
    if a.element is BOOL:
        return emit_value("xor", (a, b), BOOL, a.dims)
    check_overflow("sub", a, b)
    return emit_binary("sub", a, b)


@core.operator("mul")
def mul_operator(left: Any, right: Any) -> tensor:
    """``left * right``; integers wrap in their promoted width."""
    a, b = binary_operands(left, right, "`*`")
    if a.element is BOOL:
        return emit_value("and", (a, b), BOOL, a.dims)
    check_overflow("mul", a, b)
    return emit_binary("mul", a, b)


@core.operator("neg")
def negate(x: Any) -> tensor:
    """``-x``, computed as ``0 - x``."""
    value = numeric(x, "unary `-`")
    if value.element is BOOL:
        return value
    zero = constant(0, core.dtype_of(value), value.dims)
    check_overflow("sub", zero, value)
    return emit_binary("sub", zero, value)


@core.operator("pow")
def power(left: Any, right: Any) -> tensor:
    """``left ** right`` does not exist for run-time values."""
    raise InvalidType("`**` is not defined for run-time values", help="use repeated *, tl.exp2 or tl.exp")


# -- division ---------------------------------------------------------------------------------------


@core.operator("truediv")
def true_divide(left: Any, right: Any) -> tensor:
    """``left / right``: floats, 16-bit floats and integers in float32; at most 2 ulp off in float32."""
    a, b = binary_operands(left, right, "`/`", division=True)
    if core.dtype_of(a).is_int() or (core.dtype_of(a).is_fp8() and builder.reads_3_9()):
        a, b = core.cast(a, F32), core.cast(b, F32)
    return emit_binary("div", a, b, {"rounding": "approx"})


@core.operator("floordiv")
def floor_divide(left: Any, right: Any) -> tensor:
    """``left // right`` of integers of one signedness; truncates toward zero as C does."""
    a, b = binary_operands(left, right, "`//`", division=True)
    dtype = core.dtype_of(a)
    if not dtype.is_int():
        raise DTypeMismatch(
            f"`//` takes integers, got {left_right(left, right)}",
            help="divide floats with / and round with tl.floor",
        )
    if _is_zero(right, "`//`"):
        return constant(-1 if dtype.is_int_signed() else core.integer_range(dtype)[1], dtype, a.dims)
    return _as_integer_op("idiv", a, b)


@core.operator("mod")
def remainder(left: Any, right: Any) -> tensor:
    """``left % right``: the sign of the dividend; floats as ``a - trunc(a / b) * b``."""
    a, b = binary_operands(left, right, "`%`", division=True)
    dtype = core.dtype_of(a)
    if dtype.is_int():
        return a if _is_zero(right, "`%`") else _as_integer_op("rem", a, b)
    if dtype.is_fp8():
        return core.cast(_float_remainder(core.cast(a, F32), core.cast(b, F32)), dtype)
    return _float_remainder(a, b)


def _is_zero(divisor: Any, what: str) -> bool:
    """Whether integers are divided by the constant 0, which gives what the hardware gives for any zero; warns then."""
    if not is_literal(divisor) or unwrap(divisor) != 0:
        return False
    gives = "all ones" if what == "`//`" else "the dividend"
    builder.warn(f"{what}: the divisor is the constant 0, which gives {gives}; guard the line with `if`")
    return True


def _as_integer_op(op: str, a: tensor, b: tensor) -> tensor:
    if a.element is BOOL:
        wide = emit_value(op, (core.cast(a, I32), core.cast(b, I32)), I32, a.dims)
        return core.cast(wide, BOOL)
    return emit_value(op, (a, b), a.element, a.dims)


def _float_remainder(a: tensor, b: tensor) -> tensor:
    element, dims = a.element, a.dims
    quotient = emit_value("div", (a, b), element, dims, {"rounding": "rn"})
    whole = emit_value("math", (quotient,), element, dims, {"fn": "trunc"})
    zero = constant(0, core.dtype_of(a), dims)
    negative = emit_value("sub", (zero, b), element, dims)
    exact = emit_value("fma", (whole, negative, a), element, dims)
    # A finite dividend is its own remainder by an infinite divisor; 0 * inf above gave NaN.
    infinite = constant(float("inf"), core.dtype_of(a), dims)
    magnitude = emit_value("math", (b,), element, dims, {"fn": "abs"})
    is_infinite = emit_value("cmp", (magnitude, infinite), BOOL, dims, {"predicate": "eq"})
    return emit_value("select", (is_infinite, a, exact), element, dims)


def left_right(left: Any, right: Any) -> str:
    """``tile fp32[64] and 2`` for messages."""
    return f"{core.describe(left)} and {core.describe(right)}"


# -- functions --------------------------------------------------------------------------------------


@builtin
def where(condition: Any, x: Any, y: Any) -> tensor:
    """`x` where `condition` holds, `y` elsewhere. Both are evaluated.

    Args:
        condition: bool tile or scalar; other dtypes are compared with 0.
        x: Tile, scalar, pointer or number; a number takes the dtype of `y` when its kind allows.
        y: As `x`.

    Raises:
        ShapeMismatch: The three do not broadcast.
        DTypeMismatch: A pointer and something that is not the same pointer type.

    Example:
        ``score = tl.where(mask, score, float("-inf"))``
    """
    chosen = core.cast(to_tensor(condition), BOOL)
    if _is_pointer(x) or _is_pointer(y):
        a, b = to_tensor(x), to_tensor(y)
        if a.element != b.element:
            raise DTypeMismatch(
                f"tl.where: {core.describe_type(a)} and {core.describe_type(b)} are different types",
                facts=(fact("x", a), fact("y", b)),
            )
    else:
        a, b = binary_operands(x, y, "tl.where")
    selector, a, b = broadcast_all((chosen, a, b), "tl.where")
    return emit_value("select", (selector, a, b), a.element, a.dims)


@builtin
@core.tensor_member
def cdiv(x: Any, div: Any) -> Any:
    """``(x + (div - 1)) // div`` with truncating division: the ceiling for ``x >= 0``.

    Args:
        x: Integer.
        div: Positive integer.

    Raises:
        DTypeMismatch: Floats, or signednesses that differ.

    Example:
        ``tiles = tl.cdiv(n, BLOCK)``

    On the host, to make a grid, it divides Python ints.
    """
    if not builder.is_tracing():
        return -(-x // div)
    if builder.reads_3_9() and is_literal(x) and is_literal(div) and unwrap(div):
        return core.constexpr((unwrap(x) + unwrap(div) - 1) // unwrap(div))
    numerator = x if is_literal(x) and not is_literal(div) else to_tensor(x)
    less_one = unwrap(div) - 1 if is_literal(div) else sub_operator(div, 1)
    return floor_divide(add_operator(numerator, less_one), div)


@builtin
def fma(x: Any, y: Any, z: Any) -> tensor:
    """``x * y + z`` of floats, rounded once, in their common dtype.

    Args:
        x: Tile, scalar or number.
        y: As `x`.
        z: As `x`.

    Raises:
        DTypeMismatch: The common dtype is no float.

    Example:
        ``y = tl.fma(x, scale, bias)``
    """
    if builder.reads_3_9():
        a, b, c = core.operands_with_weak((x, y, z), "tl.fma")
    else:
        a, b, c = core.operands_in_common(tuple(numeric(v, "tl.fma") for v in (x, y, z)), "tl.fma")
    dtype = core.dtype_of(a)
    if not dtype.is_floating():
        raise DTypeMismatch(f"tl.fma takes floats, got {', '.join(core.describe(v) for v in (x, y, z))}")
    if dtype.is_fp8():
        wide = tuple(core.cast(v, F32) for v in (a, b, c))
        return core.cast(emit_value("fma", wide, F32, a.dims), dtype)
    return emit_value("fma", (a, b, c), dtype, a.dims)


@builtin
def fdiv(x: Any, y: Any, ieee_rounding: Any = False, approx: Any = None) -> tensor:
    """``x / y`` of floats in their common dtype, at most 2 ulp off in float32.

    Args:
        x: Tile, scalar or number.
        y: As `x`.
        ieee_rounding: Round correctly; ignored by the rules of Triton 3.6, where `tl.div_rn` does so.
        approx: Permits a result that is further off, which is not made use of. Only by the rules of Triton 3.9.

    Raises:
        DTypeMismatch: An operand is no float.
        InvalidArgument: `ieee_rounding` and `approx`.
        NotSupported: `approx` by the rules of Triton 3.6.

    Example:
        ``inverse = tl.fdiv(1.0, total)``
    """
    if core.static_value(approx, "tl.fdiv: approx") is not None:
        only_in_3_9("tl.fdiv: approx")
        if core.static_bool(approx, "tl.fdiv: approx") and core.static_bool(ieee_rounding, "tl.fdiv: ieee_rounding"):
            raise InvalidArgument("tl.fdiv: ieee_rounding and approx contradict each other")
    exact = core.static_bool(ieee_rounding, "tl.fdiv: ieee_rounding") and builder.reads_3_9()
    a, b = binary_operands(x, y, "tl.fdiv", weak=True)
    if not core.dtype_of(a).is_floating():
        raise DTypeMismatch(f"tl.fdiv takes floats, got {left_right(x, y)}", help="use / for integers")
    return emit_binary("div", a, b, {"rounding": "rn" if exact else "approx"})


@builtin
def div_rn(x: Any, y: Any) -> tensor:
    """``x / y`` of float32, rounded to nearest even.

    Args:
        x: Tile, scalar or number.
        y: As `x`.

    Raises:
        DTypeMismatch: The common dtype is not float32.

    Example:
        ``q = tl.div_rn(x, y)``
    """
    a, b = core.operands_in_common((numeric(x, "tl.div_rn"), numeric(y, "tl.div_rn")), "tl.div_rn")
    if a.element is not F32:
        raise DTypeMismatch(f"tl.div_rn takes float32, got {left_right(x, y)}")
    return emit_value("div", (a, b), F32, a.dims, {"rounding": "rn"})


@builtin
def umulhi(x: Any, y: Any) -> tensor:
    """Upper half of the product of two integers, taken as unsigned.

    Args:
        x: int32, uint32, int64 or uint64.
        y: As `x`.

    Raises:
        DTypeMismatch: Another dtype.

    Example:
        ``high = tl.umulhi(key, 0x9E3779B9)``
    """
    a, b = binary_operands(x, y, "tl.umulhi")
    dtype = core.dtype_of(a)
    if not dtype.is_int() or dtype.bits < 32:
        raise DTypeMismatch(f"tl.umulhi takes integers of 32 or 64 bits, got {left_right(x, y)}")
    unsigned = DType(f"uint{dtype.bits}")
    high = emit_value("mulhi", (core.cast(a, unsigned), core.cast(b, unsigned)), unsigned, a.dims)
    return core.cast(high, dtype)


def _plain_operator(name: str, operation: Callable[[Any, Any], tensor]) -> Callable[..., tensor]:
    @builtin
    def function(x: Any, y: Any, sanitize_overflow: Any = True) -> tensor:
        if core.static_bool(sanitize_overflow, f"tl.{name}: sanitize_overflow"):
            return operation(x, y)
        with builder.current().without_overflow_checks():
            return operation(x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"The operator as a function, ``tl.{name}(x, y)``; without `sanitize_overflow`, debug builds let it overflow."
    )
    return function


add = _plain_operator("add", add_operator)
sub = _plain_operator("sub", sub_operator)
mul = _plain_operator("mul", mul_operator)


# -- meanings ---------------------------------------------------------------------------------------


def _arithmetic(function: Callable[[Array, Array], Array]) -> Callable[..., Any]:
    def evaluate(ctx: Any, op: Op, a: Any, b: Any) -> Any:
        dtype = dtype_of(op.result.type)
        with np.errstate(all="ignore"):
            return as_values(function(widen(a, dtype), widen(b, dtype)), dtype)

    return evaluate


meaning("add")(_arithmetic(np.add))
meaning("sub")(_arithmetic(np.subtract))
meaning("mul")(_arithmetic(np.multiply))
meaning("div")(_arithmetic(np.divide))


@meaning("idiv")
def _idiv(ctx: Any, op: Op, a: Any, b: Any) -> Any:
    return c_divide(a, b)


@meaning("rem")
def _rem(ctx: Any, op: Op, a: Any, b: Any) -> Any:
    return c_remainder(a, b)


@meaning("and")
def _and(ctx: Any, op: Op, a: Any, b: Any) -> Any:
    return np.bitwise_and(a, b)


@meaning("or")
def _or(ctx: Any, op: Op, a: Any, b: Any) -> Any:
    return np.bitwise_or(a, b)


@meaning("xor")
def _xor(ctx: Any, op: Op, a: Any, b: Any) -> Any:
    return np.bitwise_xor(a, b)


def _clamped_amount(a: Any, b: Any) -> tuple[Array, Array]:
    """Shift amounts as unsigned, and whether each is below the width."""
    bits = np.asarray(a).dtype.itemsize * 8
    amount = np.asarray(b).astype(np.int64)
    inside = (amount >= 0) & (amount < bits)
    return np.where(inside, amount, 0).astype(np.asarray(a).dtype), inside


@meaning("shl")
def _shl(ctx: Any, op: Op, a: Any, b: Any) -> Any:
    amount, inside = _clamped_amount(a, b)
    return np.where(inside, np.left_shift(a, amount), np.zeros_like(a))


@meaning("shr")
def _shr(ctx: Any, op: Op, a: Any, b: Any) -> Any:
    amount, inside = _clamped_amount(a, b)
    zeros = np.zeros_like(a)
    beyond = np.where(np.asarray(a) < 0, zeros - np.ones_like(a), zeros)
    return np.where(inside, np.right_shift(a, amount), beyond)


@meaning("mulhi")
def _mulhi(ctx: Any, op: Op, a: Any, b: Any) -> Any:
    dtype = dtype_of(op.result.type)
    return multiply_high(a, b, dtype.bits, dtype.is_int_signed())


@meaning("fma")
def _fma(ctx: Any, op: Op, a: Any, b: Any, c: Any) -> Any:
    return fused_multiply_add(a, b, c, dtype_of(op.result.type))


@meaning("select")
def _select(ctx: Any, op: Op, condition: Any, a: Any, b: Any) -> Any:
    return np.where(condition, a, b)


@meaning("ptr_add")
def _ptr_add(ctx: Any, op: Op, pointers: Any, offsets: Any) -> Any:
    element = element_of(op.result.type)
    assert isinstance(element, PointerType)
    # Pointers are 64-bit words whose low part counts bytes.
    moved = np.asarray(offsets).astype(np.int64) * np.int64(element.element.bytes)
    return np.add(pointers, moved.view(np.uint64))
