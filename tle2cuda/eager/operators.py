"""Operators of values: which dtype they compute in, and what they compute."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tle2cuda.eager.numbers import MEMORY, VALUES, Array, convert, from_bits, round_to, to_bits, wide_dtype
from tle2cuda.eager.program import checks_overflow, current, reads_3_9
from tle2cuda.eager.values import (
    Tile,
    common_shape,
    describe,
    is_number,
    method,
    number_as,
    number_dtype,
    numeric,
    to_tile,
    watched,
    without_width,
)
from tle2cuda.errors import DeviceAssertFailed, DTypeMismatch, InvalidArgument, InvalidType
from tle2cuda.ir.types import BF16, BOOL, F8E4B15, F16, F32, F64, I64, U8, U64, DType
from tle2cuda.ops.overflow import overflow_message
from tle2cuda.ops.values import block_type, pointer_type

# -- promotion ----------------------------------------------------------------------------------------


def promote(a: DType, b: DType, what: str, division: bool = False) -> DType:
    """Common dtype of two run-time values; `division` for ``/``, ``//`` and ``%``."""
    for wide in (F64, F32):
        if a is wide or b is wide:
            return wide
    if a is F16 or b is F16:
        return F32 if division else F16
    if a is BF16 or b is BF16:
        return BF16 if a is b and not division else F32
    if a.is_floating() or b.is_floating():
        if a is b:
            return a
        if a.is_floating() and b.is_floating():
            return F16
        raise DTypeMismatch(f"{what}: {a.label} and {b.label} have no common dtype", help="convert the float8 value first")
    signed_a, signed_b = a.kind == "int", b.kind == "int"
    if signed_a == signed_b:
        return a if a.bits >= b.bits else b
    if division:
        raise DTypeMismatch(
            f"{what}: {a.label} and {b.label} differ in signedness", help="convert one of them first, x.to(...)"
        )
    unsigned, signed = (b, a) if signed_a else (a, b)
    return unsigned if unsigned.bits >= signed.bits else signed


def _rank(dtype: DType) -> int:
    return {"bool": 0, "int": 1, "uint": 1, "float": 2}[dtype.kind]


def _beside(number: Any, dtype: DType, what: str, division: bool) -> tuple[DType, Tile]:
    """Common dtype of a Python number and a value of `dtype`, and the number in it."""
    own = number_dtype(number)
    if _rank(own) > _rank(dtype):
        common = promote(own, dtype, what, division)
        return common, number_as(number, common)
    common = F32 if division and dtype in (F16, BF16) else dtype
    if common.is_int() and not common.is_bool() and not isinstance(number, bool):
        bits = common.bits
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if common.kind == "int" else (0, (1 << bits) - 1)
        if not low <= number <= high:
            raise InvalidArgument(f"{what}: the number {number} is out of range for {common.label} ({low} to {high})")
    return common, number_as(number, common)


def pair(a: Any, b: Any, what: str, weak: bool = True, division: bool = False) -> tuple[Tile, Tile, DType]:
    """Both operands in their common dtype, and that; shapes are left as they are."""
    if weak:
        if is_number(b) and not is_number(a):
            x = numeric(a, what)
            common, y = _beside(b, x.dtype, what, division)
            return to_dtype(x, common), y, common
        if is_number(a) and not is_number(b):
            y = numeric(b, what)
            common, x = _beside(a, y.dtype, what, division)
            return x, to_dtype(y, common), common
    x, y = numeric(a, what), numeric(b, what)
    common = promote(x.dtype, y.dtype, what, division)
    return to_dtype(x, common), to_dtype(y, common), common


def several(operands: tuple[Any, ...], what: str) -> tuple[list[Tile], DType]:
    """Operands in their common dtype, and that. By the rules of 3.6 numbers are int32 or float32, by 3.9 they adapt."""
    at_run_time = [numeric(x, what) for x in operands if not (is_number(x) and reads_3_9())]
    adapting = [x for x in operands if is_number(x)] if at_run_time and reads_3_9() else []
    dtypes = [x.dtype for x in at_run_time] or [numeric(x, what).dtype for x in operands]
    common: DType = dtypes[0]
    for dtype in dtypes[1:]:
        common = promote(common, dtype, what)
    for number in adapting:
        common, _ = _beside(number, common, what, division=False)
    return [number_as(x, common) if is_number(x) else to_dtype(numeric(x, what), common) for x in operands], common


# -- conversion ---------------------------------------------------------------------------------------


def to_dtype(x: Tile, dtype: DType, toward_zero: bool = False) -> Tile:
    """`x` converted; numbers only."""
    if x.dtype is dtype:
        return x
    assert isinstance(x.dtype, DType)
    keeps = dtype.is_int() and not dtype.is_bool() and dtype.bits >= x.dtype.bits
    exact = x.exact if keeps else None
    return Tile(convert(x.data, x.dtype, dtype, toward_zero), dtype, exact)


class Coded:
    """Numbers of dtype float8e4b15, as bytes: they convert, and do nothing else."""

    def __init__(self, data: Array) -> None:
        self.data = data
        self.dtype = F8E4B15

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return self.data.shape

    def to(self, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> Any:
        """The numbers in another dtype, or the bytes."""
        if dtype is F8E4B15:
            return self
        if bitcast:
            return _bitcast(Tile(self.data, U8), dtype)
        sign = np.where(self.data & 0x80, -1.0, 1.0)
        exponent, fraction = (self.data >> 3 & 15).astype(np.int64), (self.data & 7) / 8
        value = np.where(exponent == 0, fraction * 2.0**-14, (1 + fraction) * 2.0 ** (exponent - 15.0))
        return to_dtype(Tile((sign * value).astype(np.float16), F16), dtype)


def encoded(x: Any) -> Array:
    """Bytes of a float8e4b15, or of numbers as such: float32 is cut off to float16 first, as in Triton."""
    if isinstance(x, Coded):
        return x.data
    value = to_tile(x, "tl.cast")
    return _encoded(to_dtype(value, F16, toward_zero=value.dtype is F32).data)


def _encoded(x: Array) -> Array:
    """float16 to the nearest float8e4b15, halves away from zero, at most 1.875."""
    size = np.minimum(np.where(np.isnan(x), np.inf, np.abs(x.astype(np.float64))), 1.875)
    steps = np.exp2(np.maximum(np.floor(np.log2(np.maximum(size, 2.0**-30))), -14) - 3)
    rounded = np.minimum(np.floor(size / steps + 0.5) * steps, 1.875)
    bits = np.ascontiguousarray(rounded.astype(np.float16)).reshape(-1).view(np.uint16).reshape(x.shape)
    return np.asarray((bits >> 7) | (np.signbit(x) * 0x80), np.uint8)


@method
def cast(input: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> Any:
    """`tl.cast`."""
    if isinstance(input, Coded):
        return input.to(dtype, fp_downcast_rounding, bitcast)
    x = to_tile(input, "tl.cast")
    if isinstance(dtype, block_type):
        dtype = dtype.element_ty
    if dtype is F8E4B15:
        return Coded(x.data.view(np.uint8) if bitcast else encoded(x))
    if isinstance(dtype, pointer_type) or x.is_pointer:
        return _cast_pointer(x, dtype)
    if not isinstance(dtype, DType):
        raise InvalidType(f"tl.cast: expected a dtype such as tl.float32, got {dtype!r}")
    if bitcast:
        return _bitcast(x, dtype)
    if fp_downcast_rounding is not None and x.dtype is not dtype:
        narrows = x.dtype.is_floating() and dtype.is_floating() and x.dtype.bits > dtype.bits
        if fp_downcast_rounding not in ("rtne", "rtz") or not narrows:
            raise InvalidArgument(
                "tl.cast: fp_downcast_rounding is 'rtne' or 'rtz', and applies only from a float to a narrower float"
            )
    return to_dtype(x, dtype, fp_downcast_rounding == "rtz")


def convert_custom_float8(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = None) -> Any:
    """`tl.extra.cuda.convert_custom_float8_sm70` and `sm80`."""
    what = "tl.extra.cuda.convert_custom_float8"
    if isinstance(arg, Coded):
        if dst_ty not in (F16, F32):
            raise DTypeMismatch(f"{what}: float8e4b15 becomes float16 or float32, not {dst_ty.label}")
        return arg.to(dst_ty)
    value = to_tile(arg, what)
    if value.dtype not in (F16, F32):
        raise DTypeMismatch(f"{what} takes float16, float32 or float8e4b15, got {describe(value)}")
    if fp_downcast_rounding not in (None, "rtne"):
        raise InvalidArgument(f"{what}: fp_downcast_rounding must be 'rtne'")
    return Coded(encoded(value))


def to(self: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> Any:
    """`tl.cast` as a method."""
    return cast(self, dtype, fp_downcast_rounding, bitcast)


Tile.methods["to"] = to


def _bitcast(x: Tile, dtype: DType) -> Tile:
    if x.dtype.bits != dtype.bits:
        raise DTypeMismatch(
            f"tl.cast: a bitcast keeps the width, but {x.dtype.label} has {x.dtype.bits} bits, {dtype.label} {dtype.bits}"
        )
    if x.dtype is dtype:
        return x
    raw = np.ascontiguousarray(to_bits(x.data, x.dtype)).view(MEMORY[dtype]).reshape(x.data.shape)
    return Tile(from_bits(raw, dtype), dtype)


def _cast_pointer(x: Tile, dtype: Any) -> Tile:
    if isinstance(dtype, pointer_type):
        if isinstance(x.dtype, pointer_type):
            if x.dtype.address_space != dtype.address_space:
                raise DTypeMismatch(f"cast: {describe(x)} cannot become a pointer to another address space")
            return Tile(x.data, dtype, x.exact, x.region)
        if x.dtype.is_int():
            addresses = x.data.astype(np.int64)
            current().memory.reach(addresses)
            return Tile(addresses, dtype, x.exact)
        raise DTypeMismatch(f"cast: {describe(x)} cannot be converted to a pointer")
    if dtype is I64 or dtype is U64:
        return Tile(x.data.astype(VALUES[dtype]), dtype, x.exact)
    if dtype is BOOL:
        return Tile(x.data != 0, BOOL)
    raise DTypeMismatch(f"cast: {describe(x)} cannot be converted to {dtype.label}")


# -- arithmetic ---------------------------------------------------------------------------------------


def _operator(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        Tile.operators[name] = function
        return function

    return register


_INTEGER_OPERATIONS: dict[str, Callable[..., Any]] = {"+": np.add, "-": np.subtract, "*": np.multiply}


def compute(symbol: str, a: Tile, b: Tile, dtype: DType) -> Tile:
    """``a + b``, ``a - b`` or ``a * b`` of two values of `dtype`."""
    function = _INTEGER_OPERATIONS[symbol]
    common_shape(f"`{symbol}`", a, b)
    if dtype.is_floating():
        if dtype is F32 or dtype is F64:
            return Tile(function(a.data, b.data), dtype)
        wide = function(a.data.astype(np.float32), b.data.astype(np.float32))
        return Tile(round_to(wide, dtype), dtype)
    if dtype is BOOL:  # modulo 2
        return Tile((np.logical_and if symbol == "*" else np.logical_xor)(a.data, b.data), BOOL)
    if dtype.bits == 64 and a.exact is None and b.exact is None:
        return Tile(function(a.data, b.data), dtype)
    wide = np.asarray(function(without_width(a), without_width(b)))
    if a.exact is None and b.exact is None:
        result = wide.astype(VALUES[dtype])
    else:
        result = np.asarray(function(a.data, b.data))
    return watched(result, dtype, wide)


def follow(function: Callable[..., Any], data: Any, dtype: DType, *operands: Tile) -> Tile:
    """A result that cannot wrap by itself, of operands that may have: `function` of what they would be without a width."""
    if all(x.exact is None for x in operands):
        return Tile(data, dtype)
    return watched(data, dtype, function(*map(without_width, operands)))


def _move(pointer: Tile, offset: Any, sign: int) -> Tile:
    """Pointer plus or minus elements; the offset keeps its own integer type, then extends to 64 bits."""
    steps = to_tile(offset)
    if steps.is_pointer:
        raise DTypeMismatch("pointers cannot be combined with pointers")
    if not steps.dtype.is_int():
        raise DTypeMismatch(f"a pointer moves by whole elements, got {describe(steps)}", help="convert it, x.to(tl.int32)")
    assert isinstance(pointer.dtype, pointer_type)
    size = pointer.dtype.element_ty.bytes
    if sign < 0:  # the negation wraps in the offset's own type
        steps = steps if steps.dtype.is_bool() else compute("-", number_as(0, steps.dtype), steps, steps.dtype)
        sign = -1 if steps.dtype.is_bool() else 1
    common_shape("`+`", pointer, steps)
    data = pointer.data + sign * size * steps.data.astype(np.int64)
    if steps.exact is None and pointer.exact is None:
        return Tile(data, pointer.dtype, None, pointer.region)
    return watched(data, pointer.dtype, without_width(pointer) + sign * size * without_width(steps), pointer.region)


def _is_pointer(x: Any) -> bool:
    return isinstance(x, Tile) and x.is_pointer


@_operator("add")
def add_operator(a: Any, b: Any) -> Any:
    """``a + b``."""
    if _is_pointer(a):
        return _move(a, b, 1)
    if _is_pointer(b):
        return _move(b, a, 1)
    if isinstance(a, tuple) or isinstance(b, tuple):
        return NotImplemented
    return _computed("+", *pair(a, b, "`+`"))


@_operator("sub")
def sub_operator(a: Any, b: Any) -> Any:
    """``a - b``."""
    if _is_pointer(a):
        return _move(a, -b, 1) if is_number(b) else _move(a, b, -1)
    return _computed("-", *pair(a, b, "`-`"))


@_operator("mul")
def mul_operator(a: Any, b: Any) -> Any:
    """``a * b``."""
    return _computed("*", *pair(a, b, "`*`"))


@_operator("neg")
def negate(a: Any) -> Any:
    """``0 - a``."""
    x = numeric(a, "unary `-`")
    return _computed("-", number_as(0, x.dtype), x, x.dtype)


_CHECKED = {"+": "add", "-": "sub", "*": "mul"}


def _computed(symbol: str, a: Tile, b: Tile, dtype: DType) -> Tile:
    """`compute`, which in debug launches must not overflow."""
    if checks_overflow() and may_overflow(dtype):
        exact = _INTEGER_OPERATIONS[symbol](a.data.astype(np.int64), b.data.astype(np.int64))
        check_fits(exact, dtype, _CHECKED[symbol])
    return compute(symbol, a, b, dtype)


def may_overflow(dtype: DType) -> bool:
    """Whether arithmetic of a dtype is checked in debug launches."""
    return dtype.is_int() and not dtype.is_bool() and dtype.bits < 64


def check_fits(exact: Any, dtype: DType, name: str) -> None:
    """Refuse what was computed in 64 bits and does not fit in a dtype.

    Raises:
        DeviceAssertFailed: It does not.
    """
    limits = np.iinfo(VALUES[dtype])
    wide = np.asarray(exact)
    failed = (wide < limits.min) | (wide > limits.max)
    if failed.any():
        facts = list(current().facts())
        if failed.ndim:
            first = [int(i) for i in np.argwhere(failed)[0]]
            facts.insert(0, f"the first of {int(failed.sum())} failing elements is {first}")
        raise DeviceAssertFailed(f"tl.device_assert failed: {overflow_message(dtype, name)}", facts=facts)


@_operator("pow")
def power(a: Any, b: Any) -> Any:
    """Refused: run-time values have no ``**``."""
    raise InvalidType("`**` is not defined for run-time values", help="use repeated *, tl.exp2 or tl.exp")


@_operator("truediv")
def true_divide(a: Any, b: Any) -> Any:
    """``a / b`` in floats."""
    x, y, dtype = pair(a, b, "`/`", division=True)
    if dtype.is_int() or (dtype.is_fp8() and reads_3_9()):
        x, y, dtype = to_dtype(x, F32), to_dtype(y, F32), F32
    common_shape("`/`", x, y)
    return divide_floats(x, y, dtype)


def divide_floats(x: Tile, y: Tile, dtype: DType) -> Tile:
    """The quotient of two values of a float dtype."""
    wide = wide_dtype(dtype)
    return Tile(round_to(np.asarray(np.divide(x.data.astype(wide), y.data.astype(wide))), dtype), dtype)


def _truncated_quotient(x: Array, y: Array) -> Array:
    """C's integer quotient; all ones for a zero divisor, as the hardware gives."""
    safe = np.where(y == 0, np.ones_like(y), y)
    if x.dtype.kind == "u":
        quotient = x // safe
    else:
        quotient = x // safe
        below = (quotient * safe != x) & ((x < 0) ^ (safe < 0))
        quotient = quotient + below.astype(x.dtype)
    return np.where(y == 0, np.zeros_like(x) - np.ones_like(x), quotient)


@_operator("floordiv")
def floor_divide(a: Any, b: Any) -> Any:
    """``a // b`` of integers, truncating."""
    x, y, dtype = pair(a, b, "`//`", division=True)
    if not dtype.is_int():
        raise DTypeMismatch(f"`//` takes integers, got {describe(x)} and {describe(y)}")
    common_shape("`//`", x, y)
    if dtype is BOOL:
        return Tile(np.asarray(x.data | ~y.data), BOOL)  # by 0 all ones, too
    return Tile(_truncated_quotient(x.data, y.data), dtype)  # a part of a number, so that one that wrapped is not followed


@_operator("mod")
def remainder(a: Any, b: Any) -> Any:
    """``a % b``, with the sign of the dividend."""
    x, y, dtype = pair(a, b, "`%`", division=True)
    common_shape("`%`", x, y)
    if dtype is BOOL:
        return Tile(np.asarray(x.data & ~y.data), BOOL)  # by 0 the dividend
    if dtype.is_int():
        quotient = _truncated_quotient(x.data, y.data)
        return Tile(np.where(y.data == 0, x.data, x.data - quotient * y.data), dtype)
    wide = wide_dtype(dtype)
    p, q = x.data.astype(wide), y.data.astype(wide)
    quotient = np.trunc(np.divide(p, q))
    # x - trunc(x / y) * y with one rounding; an infinite divisor leaves the dividend.
    result = fused(-quotient, q, p, F64 if dtype is F64 else F32)
    result = np.where(np.isinf(q), p, result)
    return Tile(round_to(result, dtype), dtype)


def fused(a: Array, b: Array, c: Array, dtype: DType) -> Array:
    """``a * b + c`` rounded once to `dtype`."""
    if dtype is F64:
        return _fused_double(a, b, c)
    x, y, z = (np.asarray(v).astype(np.float64) for v in (a, b, c))
    product = np.asarray(x * y)  # exact: at most 48 bits
    total = np.asarray(product + z)
    # The second rounding must see whether the first cut digits off: make the last bit odd where it did.
    back = total - product
    lost = (product - (total - back)) + (z - back)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    nudge = np.isfinite(total) & (lost != 0) & ~np.isnan(lost) & even
    total = np.where(nudge, np.nextafter(total, np.copysign(np.inf, lost)), total)
    return round_to(total, dtype)


def _fused_double(a: Array, b: Array, c: Array) -> Array:
    from fractions import Fraction

    x, y, z = np.broadcast_arrays(a, b, c)
    result: Array = np.asarray(x * y + z).copy()
    for at in np.ndindex(result.shape):
        factors = float(x[at]), float(y[at])
        term = float(z[at])
        if not all(map(math.isfinite, factors)) or math.isnan(term):
            continue
        if math.isinf(term):  # whatever the product is
            result[at] = term
            continue
        exact = Fraction(factors[0]) * Fraction(factors[1]) + Fraction(term)
        if exact:
            try:
                result[at] = float(exact)
            except OverflowError:
                result[at] = math.inf if exact > 0 else -math.inf
    return result


# -- bits ---------------------------------------------------------------------------------------------


def _integers(a: Any, b: Any, symbol: str) -> tuple[Tile, Tile, DType]:
    x, y, dtype = pair(a, b, f"`{symbol}`")
    if not dtype.is_int():
        raise DTypeMismatch(f"`{symbol}` takes integers or bool, got {describe(a)} and {describe(b)}")
    common_shape(f"`{symbol}`", x, y)
    return x, y, dtype


def _bitwise(name: str, symbol: str, function: Callable[..., Any]) -> None:
    @_operator(name)
    def apply(a: Any, b: Any) -> Any:
        x, y, dtype = _integers(a, b, symbol)
        data = function(x.data, y.data)
        return follow(function, data, dtype, x, y) if name == "or" else Tile(data, dtype)


_bitwise("and", "&", np.bitwise_and)  # takes a part of a number, so that one that wrapped is not followed
_bitwise("or", "|", np.bitwise_or)  # puts numbers together, as sums do
_bitwise("xor", "^", np.bitwise_xor)


def _amounts(x: Tile, y: Tile, dtype: DType) -> tuple[Array, Array]:
    """Shift amounts that NumPy defines, and where they are inside [0, width)."""
    amount = y.data.astype(np.int64)
    inside = (amount >= 0) & (amount < dtype.bits)
    return np.where(inside, amount, 0).astype(x.data.dtype), inside


@_operator("lshift")
def shift_left(a: Any, b: Any) -> Any:
    """``a << b``; shifts out everything from the width on."""
    x, y, dtype = _integers(a, b, "<<")
    if dtype is BOOL:
        return Tile(x.data & ~y.data, dtype)  # one bit: a shift by one leaves nothing
    amount, inside = _amounts(x, y, dtype)
    result = np.where(inside, np.left_shift(x.data, amount), np.zeros_like(x.data))
    if dtype.bits == 64 and x.exact is None:
        return Tile(result, dtype)
    by = without_width(y)
    is_defined = (by >= 0) & (by < 64)
    exact = np.where(is_defined, np.left_shift(without_width(x), np.where(is_defined, by, 0)), 0)
    return watched(result, dtype, exact)


@_operator("rshift")
def shift_right(a: Any, b: Any) -> Any:
    """``a >> b``: arithmetic when the left operand is signed before promotion, else logical."""
    x, y, dtype = _integers(a, b, ">>")
    if dtype is BOOL:
        return Tile(x.data & ~y.data, dtype)  # one bit: a shift by one leaves nothing
    own = a.dtype if isinstance(a, Tile) else dtype
    amount, inside = _amounts(x, y, dtype)
    if own.kind == "int":
        signed = x.data.view(f"i{x.data.dtype.itemsize}")
        shifted = np.right_shift(signed, np.where(inside, amount, dtype.bits - 1).astype(signed.dtype))
        return Tile(np.ascontiguousarray(shifted).view(x.data.dtype).reshape(shifted.shape), dtype)
    unsigned = x.data.view(f"u{x.data.dtype.itemsize}")
    shifted = np.where(inside, np.right_shift(unsigned, amount.astype(unsigned.dtype)), np.zeros_like(unsigned))
    return Tile(np.ascontiguousarray(shifted).view(x.data.dtype).reshape(shifted.shape), dtype)


@_operator("invert")
def invert(a: Any) -> Any:
    """``~a``; of bool, not."""
    x = numeric(a, "`~`")
    if not x.dtype.is_int():
        raise DTypeMismatch(f"`~` takes integers or bool, got {describe(x)}")
    return Tile(np.invert(x.data), x.dtype)


# -- comparison ---------------------------------------------------------------------------------------


def _comparison(name: str, symbol: str, function: Callable[..., Any]) -> None:
    @_operator(name)
    def compare(a: Any, b: Any) -> Any:
        if name in ("eq", "ne") and (a is None or b is None):
            return name == "ne"
        x, y, _ = pair(a, b, f"`{symbol}`", weak=reads_3_9())
        common_shape(f"`{symbol}`", x, y)
        return Tile(function(x.data, y.data), BOOL)


_comparison("eq", "==", np.equal)
_comparison("ne", "!=", np.not_equal)
_comparison("lt", "<", np.less)
_comparison("le", "<=", np.less_equal)
_comparison("gt", ">", np.greater)
_comparison("ge", ">=", np.greater_equal)


def _bool_operand(x: Any, what: str) -> Tile:
    value = numeric(bool(x), what) if is_number(x) else numeric(x, what)
    if value.dtype is not BOOL:
        raise DTypeMismatch(
            f"{what}: the operand must be bool (int1), got {describe(value)}",
            help="compare it with something, such as x != 0",
        )
    return value


@method
def logical_and(input: Any, other: Any) -> Tile:
    """`and` of bool values."""
    a, b = _bool_operand(input, "`and`"), _bool_operand(other, "`and`")
    common_shape("`and`", a, b)
    return Tile(a.data & b.data, BOOL)


@method
def logical_or(input: Any, other: Any) -> Tile:
    """`or` of bool values."""
    a, b = _bool_operand(input, "`or`"), _bool_operand(other, "`or`")
    common_shape("`or`", a, b)
    return Tile(a.data | b.data, BOOL)


@method
def logical_not(input: Any) -> Tile:
    """`not` of a bool value."""
    return Tile(~_bool_operand(input, "`not`").data, BOOL)
