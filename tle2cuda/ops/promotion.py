"""Which dtype an operation on two values computes in, and conversion to it (Triton 3.6's rules).

Kinds rank bool < integer < float. A Python number next to a run-time value is *weak*: when its kind ranks no
higher it takes the other operand's dtype, otherwise it first becomes int32, float32 ... by `literal_dtype`.
"""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import DTypeMismatch, InvalidArgument
from tle2cuda.ir.types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I64,
    U64,
    DType,
    PointerType,
)
from tle2cuda.ops.base import (
    broadcast_all,
    broadcast_pair,
    constant,
    emit_value,
    fact,
    is_literal,
    literal_dtype,
    to_tensor,
)
from tle2cuda.ops.values import describe_type, dtype_to_ir, pointer_type, tensor, unwrap

_KIND_RANK = {"bool": 0, "int": 1, "uint": 1, "float": 2}


def promote(a: DType, b: DType, division: bool = False, what: str = "operation") -> DType:
    """Common dtype of two run-time values.

    The first rule that fits: float64; float32; float16 (also float16 with bfloat16); bfloat16 when both
    are, float32 when one is; equal float8 kept, different ones float16; float8 with an integer is an
    error; integers of one signedness the wider; otherwise the unsigned one when at least as wide, else
    the signed one. bool is an unsigned integer of one bit.

    Args:
        a: dtype of the left operand.
        b: dtype of the right operand.
        division: Rules of ``/``, ``//`` and ``%``: 16-bit floats compute in float32, signedness must agree.
        what: The operation, for messages.

    Raises:
        DTypeMismatch: The dtypes do not go together.
    """
    either = (a, b)
    if F64 in either:
        return F64
    if F32 in either:
        return F32
    if F16 in either:
        return F32 if division else F16
    if BF16 in either:
        return BF16 if a is b and not division else F32
    if a.is_floating() or b.is_floating():
        return _promote_fp8(a, b, what)
    if division and a.is_int_signed() != b.is_int_signed():
        raise DTypeMismatch(
            f"{what}: {a.label} and {b.label} differ in signedness",
            help="convert one of them first, x.to(...), so that the meaning of the sign is clear",
        )
    return _promote_integers(a, b)


def _promote_fp8(a: DType, b: DType, what: str) -> DType:
    if a is b:
        return a
    if a.is_fp8() and b.is_fp8():
        return F16
    raise DTypeMismatch(f"{what}: {a.label} and {b.label} have no common dtype", help="convert the float8 value first")


def _promote_integers(a: DType, b: DType) -> DType:
    if a.is_int_signed() == b.is_int_signed():
        return a if a.bits >= b.bits else b
    unsigned, signed = (b, a) if a.is_int_signed() else (a, b)
    return unsigned if unsigned.bits >= signed.bits else signed


def integer_range(dtype: DType) -> tuple[int, int]:
    """Smallest and largest value of an integer dtype or bool."""
    if dtype.is_int_signed():
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return 0, (1 << dtype.bits) - 1


def weak_dtype(literal: bool | int | float, other: DType, division: bool = False, what: str = "operation") -> DType:
    """Common dtype of a Python number and a run-time value of dtype `other`."""
    own = literal_dtype(literal)
    if _KIND_RANK[own.kind] > _KIND_RANK[other.kind]:
        return promote(own, other, division, what)
    return F32 if division and other in (F16, BF16) else other


def literal_as(literal: bool | int | float, dtype: DType, what: str) -> tensor:
    """A scalar of `dtype` from a Python number of a kind that ranks no higher.

    Raises:
        InvalidArgument: An integer out of the range of an integer dtype.
    """
    if dtype.is_int() and not isinstance(literal, bool):
        low, high = integer_range(dtype)
        if literal < 0 and low == 0:
            raise InvalidArgument(
                f"{what}: the negative number {literal} cannot be combined with {dtype.label}",
                help="convert the tile to a signed dtype first",
            )
        if not low <= literal <= high:
            raise InvalidArgument(
                f"{what}: the number {literal} is out of range for {dtype.label} ({low} to {high})",
                help="convert the tile to a wider dtype first",
            )
    return constant(literal, dtype)


def numeric(x: Any, what: str) -> tensor:
    """`to_tensor` for operands that must not be pointers.

    Raises:
        DTypeMismatch: A pointer.
    """
    value = to_tensor(x)
    if value.is_pointer:
        raise DTypeMismatch(
            f"{what} does not take pointers, got {describe_type(value)}",
            facts=(fact("operand", value),),
        )
    return value


def dtype_of(x: tensor) -> DType:
    """The dtype of a value known to hold no pointers."""
    element = x.element
    assert isinstance(element, DType)
    return element


def binary_operands(a: Any, b: Any, what: str, *, weak: bool = True, division: bool = False) -> tuple[tensor, tensor]:
    """Both operands in their common dtype and shape.

    Args:
        a: Tensor or number.
        b: Tensor or number.
        what: The operation, for messages.
        weak: Numbers adapt to the other operand; False converts them by `literal_dtype` first.
        division: See `promote`.
    """
    literal_a, literal_b = is_literal(a), is_literal(b)
    if weak and literal_a != literal_b:
        literal, other = (unwrap(a), numeric(b, what)) if literal_a else (unwrap(b), numeric(a, what))
        dtype = weak_dtype(literal, dtype_of(other), division, what)
        if dtype.is_floating():
            scalar = constant(float(literal), dtype)
        else:
            scalar = literal_as(literal, dtype, what)
        converted = cast(other, dtype)
        return broadcast_pair(*((scalar, converted) if literal_a else (converted, scalar)), what)
    left, right = numeric(a, what), numeric(b, what)
    dtype = promote(dtype_of(left), dtype_of(right), division, what)
    return broadcast_pair(cast(left, dtype), cast(right, dtype), what)


def operands_in_common(operands: tuple[tensor, ...], what: str) -> tuple[tensor, ...]:
    """Any number of run-time operands in their common dtype and shape."""
    dtype = dtype_of(operands[0])
    for operand in operands[1:]:
        dtype = promote(dtype, dtype_of(operand), what=what)
    return broadcast_all(tuple(cast(operand, dtype) for operand in operands), what)


def operands_with_weak(operands: tuple[Any, ...], what: str) -> tuple[tensor, ...]:
    """Any number of operands in their common dtype and shape; Python numbers adapt to the others."""
    run_time = tuple(numeric(x, what) for x in operands if not is_literal(x))
    if not run_time:
        return operands_in_common(tuple(numeric(x, what) for x in operands), what)
    dtype = dtype_of(operands_in_common(run_time, what)[0])
    for x in operands:
        if is_literal(x):
            dtype = weak_dtype(unwrap(x), dtype, what=what)

    def converted(x: Any) -> tensor:
        if not is_literal(x):
            return cast(numeric(x, what), dtype)
        return constant(float(unwrap(x)), dtype) if dtype.is_floating() else literal_as(unwrap(x), dtype, what)

    return broadcast_all(tuple(converted(x) for x in operands), what)


def cast(x: tensor, dtype: DType | pointer_type, rounding: str = "rtne") -> tensor:
    """`x` converted to `dtype`; `x` itself when it has it already.

    The pairs left to the IR's ``cast`` are: between integers, from bool, between integers and float16,
    bfloat16, float32, float64, and between floats except float16/bfloat16 and the two float8. The
    others go through float32. Pointers convert to pointers of the same address space, and to and from
    int64.

    Raises:
        DTypeMismatch: A conversion that does not exist.
    """
    target = dtype_to_ir(dtype)
    source = x.element
    if source == target:
        return x
    if isinstance(source, PointerType) or isinstance(target, PointerType):
        return _cast_pointer(x, target)
    if target.is_bool():
        zero = constant(0, source, x.dims)
        return emit_value("cmp", (x, zero), BOOL, x.dims, {"predicate": "ne"})
    if _needs_float32(source, target):
        x = emit_value("cast", (x,), F32, x.dims, {"rounding": "rtne"})
        if target is F32:
            return x
    return emit_value("cast", (x,), target, x.dims, {"rounding": rounding})


def _needs_float32(source: DType, target: DType) -> bool:
    if source.is_floating() and target.is_floating():
        return source.bits == target.bits and source is not target
    return (source.is_fp8() and target.is_int()) or (source.is_int() and target.is_fp8())


def _cast_pointer(x: tensor, target: DType | PointerType) -> tensor:
    source = x.element
    if isinstance(source, PointerType) and isinstance(target, PointerType):
        if source.space != target.space:
            raise DTypeMismatch(
                f"cast: a pointer to {source.space} memory cannot become a pointer to {target.space} memory",
                facts=(fact("operand", x),),
            )
        return emit_value("bitcast", (x,), target, x.dims)
    if isinstance(source, PointerType) and target in (I64, U64):
        return emit_value("bitcast", (x,), target, x.dims)
    if isinstance(source, PointerType) and target is BOOL:
        address = emit_value("bitcast", (x,), U64, x.dims)
        return cast(address, BOOL)
    if source in (I64, U64) and isinstance(target, PointerType):
        return emit_value("bitcast", (x,), target, x.dims)
    if isinstance(target, PointerType) and isinstance(source, DType) and source.is_int():
        return emit_value("bitcast", (cast(x, I64),), target, x.dims)
    shown = target if isinstance(target, PointerType) else target.label
    raise DTypeMismatch(
        f"cast: {describe_type(x)} cannot be converted to {shown}",
        facts=(fact("operand", x),),
        help="pointers convert to pointers, int64 and uint64 only",
    )
