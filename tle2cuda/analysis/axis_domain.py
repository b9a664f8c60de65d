"""The domain of the index analysis: what is known of one value, and the arithmetic on that.

The exact meaning of `AxisInfo` is described in `axis_info`. Two helpers hold most of the reasoning:
`at(info, d, g)` is a divisor of every value whose position along dimension d is a multiple of g, and
`everywhere(info)` is one of all values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tle2cuda.ir.nodes import Kernel, Op
from tle2cuda.ir.types import DType, PointerType, Type, element_of, is_handle, shape_of

T = TypeVar("T")
Thunk = Callable[[], T]

MAX_DIVISOR = 1 << 62
"""Stands for "divisible by every power of two": the divisor of zero."""

SHARED_ALIGNMENT_BYTES = 16
"""Least alignment of a shared-memory buffer."""

SWIZZLE_UNIT_BYTES = 16  # a swizzle permutes units of 16 bytes; inside one, neighbours stay neighbours


@dataclass(frozen=True, slots=True)
class AxisInfo:
    """Knowledge about one value; see `axis_info` for the exact meaning.

    Attributes:
        contiguity: Per dimension, length of the aligned runs of consecutive values.
        divisibility: Per dimension, divisor of the first value of every such run (pointers: in bytes).
        constancy: Per dimension, length of the aligned runs of equal values.
        constant: The value of a scalar, or of every element of a tile, when known.
        lo: Least possible value of an integer or bool; None for floats and pointers.
        hi: Greatest possible value.
    """

    contiguity: tuple[int, ...]
    divisibility: tuple[int, ...]
    constancy: tuple[int, ...]
    constant: int | float | bool | None = None
    lo: int | None = None
    hi: int | None = None


def power_of_two_divisor(number: int) -> int:
    """Largest power of two that divides `number`, `MAX_DIVISOR` for zero."""
    return min(number & -number, MAX_DIVISOR) if number else MAX_DIVISOR


def extents(type_: Type) -> tuple[int, ...]:
    """Shape of a tile; a scalar or a handle counts as one element."""
    return (1,) if is_handle(type_) else (shape_of(type_) or (1,))


def type_bounds(type_: Type) -> tuple[int, int] | None:
    """Least and greatest value of an integer or bool type; None for others."""
    if is_handle(type_):
        return None
    element = element_of(type_)
    if not isinstance(element, DType) or not element.is_int():
        return None
    if element.is_bool():
        return (0, 1)
    if element.is_int_signed():
        return (-(1 << (element.bits - 1)), (1 << (element.bits - 1)) - 1)
    return (0, (1 << element.bits) - 1)


def address_unit(type_: Type) -> int:
    """By how much the value (pointers: the address in bytes) grows from one run element to the next."""
    if is_handle(type_):
        return 1
    element = element_of(type_)
    return element.element.bytes if isinstance(element, PointerType) else 1


def unknown(type_: Type) -> AxisInfo:
    """What is known of any value of a type."""
    shape = extents(type_)
    ones = (1,) * len(shape)
    bounds = type_bounds(type_) or (None, None)
    divisor = address_unit(type_)  # a pointer to T is aligned to T
    return AxisInfo(ones, (divisor,) * len(shape), ones, None, *bounds)


def constant(value: int | float | bool, type_: Type) -> AxisInfo:
    """Info of a known scalar, or of a tile filled with it."""
    shape = extents(type_)
    ones = (1,) * len(shape)
    if isinstance(value, float) or type_bounds(type_) is None:
        return AxisInfo(ones, ones, shape, value)
    number = int(value)
    return AxisInfo(ones, (power_of_two_divisor(number),) * len(shape), shape, value, number, number)


def scalar_int(type_: Type, divisor: int, lo: int, hi: int) -> AxisInfo:
    """Info of an integer scalar with a divisor and a range."""
    return finish(AxisInfo((1,), (divisor,), (1,), None, *fit(lo, hi, type_)), type_)


def with_divisibility(info: AxisInfo, divisor: int) -> AxisInfo:
    """The same with at least this divisibility along every dimension."""
    return replace(info, divisibility=tuple(max(d, divisor) for d in info.divisibility))


def with_range(info: AxisInfo, lo: int, hi: int) -> AxisInfo:
    """The same with another range."""
    return replace(info, lo=lo, hi=hi)


def everywhere(info: AxisInfo, unit: int = 1) -> int:
    """A divisor of every value."""
    return max(d if c == 1 else min(d, unit) for c, d in zip(info.contiguity, info.divisibility, strict=True))


def at(info: AxisInfo, dim: int, step: int, unit: int = 1) -> int:
    """A divisor of every value whose position along `dim` is a multiple of `step`."""
    divisor = info.divisibility[dim]
    if step < info.contiguity[dim]:
        divisor = min(divisor, step * unit)
    return max(divisor, everywhere(info, unit))


def fit(lo: int, hi: int, type_: Type) -> tuple[int | None, int | None]:
    """The range [lo, hi], or the type's when arithmetic may wrap."""
    bounds = type_bounds(type_)
    if bounds is None:
        return (None, None)
    return (lo, hi) if bounds[0] <= lo and hi <= bounds[1] else bounds


def wrap(value: int, type_: Type) -> int:
    """An exact integer result as the type stores it."""
    element = element_of(type_)
    assert isinstance(element, DType)
    if element.is_bool():
        return int(value != 0)
    value &= (1 << element.bits) - 1
    if element.is_int_signed() and value >> (element.bits - 1):
        value -= 1 << element.bits
    return value


def finish(info: AxisInfo, type_: Type) -> AxisInfo:
    """Turn a range of one number into a constant."""
    if info.constant is None and info.lo is not None and info.lo == info.hi:
        element = element_of(type_)
        is_bool = isinstance(element, DType) and element.is_bool()
        return constant(bool(info.lo) if is_bool else info.lo, type_)
    return info


def join(a: AxisInfo, b: AxisInfo, type_: Type) -> AxisInfo:
    """What holds of a value that is one of two."""
    unit = address_unit(type_)
    dims = range(len(a.contiguity))
    contiguity = tuple(map(min, a.contiguity, b.contiguity))
    divisibility = tuple(min(at(a, d, contiguity[d], unit), at(b, d, contiguity[d], unit)) for d in dims)
    constancy = tuple(map(min, a.constancy, b.constancy))
    same = a.constant == b.constant and type(a.constant) is type(b.constant)
    lo = min(a.lo, b.lo) if a.lo is not None and b.lo is not None else None
    hi = max(a.hi, b.hi) if a.hi is not None and b.hi is not None else None
    return AxisInfo(contiguity, divisibility, constancy, a.constant if same else None, lo, hi)


def each(op: Op) -> range:
    """The dimensions of an operation's result."""
    return range(len(extents(op.result.type)))


def ints(*infos: AxisInfo) -> bool:
    """Whether ranges are known of all: they are integers or bools."""
    return all(info.lo is not None and info.hi is not None for info in infos)


def range_of(info: AxisInfo) -> tuple[int, int]:
    """Least and greatest value of an integer."""
    assert info.lo is not None and info.hi is not None
    return info.lo, info.hi


def build(
    op: Op,
    contiguity: Sequence[int],
    divisibility: Sequence[int],
    constancy: Sequence[int],
    lo: int | None = None,
    hi: int | None = None,
) -> AxisInfo:
    """Info of the result of `op`; without a range it gets its type's."""
    bounds = (lo, hi)
    if lo is not None and hi is not None:
        bounds = fit(lo, hi, op.result.type)
    elif lo is None:
        bounds = type_bounds(op.result.type) or (None, None)
    capped = tuple(min(d, MAX_DIVISOR) for d in divisibility)
    return AxisInfo(tuple(contiguity), capped, tuple(constancy), None, *bounds)


def both_constant(a: AxisInfo, b: AxisInfo) -> list[int]:
    """Runs over which neither value changes."""
    return [min(x, y) for x, y in zip(a.constancy, b.constancy, strict=True)]


def bounds(op: Op, lo: int, hi: int) -> dict[str, Any]:
    """Range fields for the result of `op`."""
    low, high = fit(lo, hi, op.result.type)
    return {"lo": low, "hi": high}


def bounds_of(type_: Type, lo: int, hi: int) -> dict[str, Any]:
    """Range fields for a value of a type: [lo, hi], or all of the type when arithmetic may wrap."""
    low, high = fit(lo, hi, type_)
    return {"lo": low, "hi": high}


def unwrapped_runs(info: AxisInfo, type_: Type) -> list[int]:
    """Runs that are consecutive as plain numbers, not only modulo 2**bits."""
    if (info.lo, info.hi) != type_bounds(type_):
        return list(info.contiguity)  # a run that wraps holds both the least and the greatest number
    return [min(c, d) for c, d in zip(info.contiguity, info.divisibility, strict=True)]


Rule = Callable[[Op, Sequence[AxisInfo], Kernel], AxisInfo]


class RuleTable(dict[str, Rule]):
    """Rules by operation name; a decorator adds to it."""

    def __call__(self, *names: str) -> Callable[[Rule], Rule]:
        """Register the function that follows for these operations."""

        def register(function: Rule) -> Rule:
            for name in names:
                self[name] = function
            return function

        return register
