"""What a `for` statement may iterate over: `range` and the language's own ranges, or a compile-time tuple."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tle2cuda.errors import InvalidType
from tle2cuda.ops import loops
from tle2cuda.ops.core import describe, static_int, tensor, unwrap

MAX_UNROLLED = 1 << 14


def _is(bound: Any, number: int) -> bool:
    """Whether a bound is this constant."""
    return not isinstance(bound, tensor) and bool(unwrap(bound) == number)


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A loop of the IR: bounds are constexpr or run-time scalars."""

    start: Any
    end: Any
    step: Any
    hints: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        bounds = (self.end,) if _is(self.start, 0) and _is(self.step, 1) else (self.start, self.end, self.step)
        return f"range({', '.join('...' if isinstance(b, tensor) else repr(unwrap(b)) for b in bounds)})"

    def _refuse(self, *_: Any) -> Any:
        raise loops.range_refused()

    __getitem__ = __contains__ = __iter__ = _refuse


@dataclass(frozen=True, slots=True)
class UnrolledLoop:
    """A loop whose iterations are traced one after the other, for these values."""

    values: tuple[Any, ...]


def range_of(args: tuple[Any, ...]) -> CountedLoop:
    """`range(...)` of Python, inside a kernel.

    Raises:
        InvalidType: Not one to three arguments.
    """
    match args:
        case (end,):
            return CountedLoop(0, end, 1)
        case (start, end):
            return CountedLoop(start, end, 1)
        case (start, end, step):
            return CountedLoop(start, end, step)
    raise InvalidType(f"range takes one to three arguments, got {len(args)}")


def loop_of(iterable: Any) -> CountedLoop | UnrolledLoop:
    """The loop that `for ... in iterable` means.

    Raises:
        InvalidType: The object cannot be iterated over in a kernel.
    """
    if isinstance(iterable, (CountedLoop, UnrolledLoop)):
        return iterable
    if isinstance(iterable, tuple):
        return UnrolledLoop(iterable)
    plain = unwrap(iterable)
    if isinstance(plain, range):
        return CountedLoop(plain.start, plain.stop, plain.step)
    if isinstance(plain, loops.static_range):
        return _unrolled(plain)
    if isinstance(plain, loops.range):
        return CountedLoop(plain.start, plain.end, plain.step, plain.attrs)
    raise InvalidType(
        f"a kernel cannot iterate over {describe(iterable)}",
        help="iterate over range, tl.range, tl.static_range or a tuple",
    )


def unrolled_values(iterable: Any) -> tuple[Any, ...]:
    """The values that a comprehension goes over, all known while tracing.

    Raises:
        ConstexprRequired: A range with run-time bounds.
        InvalidType: The object cannot be iterated over in a kernel, or too often.
    """
    loop = loop_of(iterable)
    if isinstance(loop, UnrolledLoop):
        return loop.values
    bounds = (static_int(getattr(loop, name), f"range: {name}") for name in ("start", "end", "step"))
    values = range(*bounds)
    if len(values) > MAX_UNROLLED:
        raise InvalidType(f"a comprehension would have {len(values)} elements, the limit is {MAX_UNROLLED}")
    return tuple(values)


def _unrolled(loop: loops.static_range) -> UnrolledLoop:
    bounds = (static_int(getattr(loop, name), f"tl.static_range: {name}") for name in ("start", "end", "step"))
    values = range(*bounds)
    if len(values) > MAX_UNROLLED:
        raise InvalidType(
            f"tl.static_range would repeat the body {len(values)} times, the limit is {MAX_UNROLLED}",
            help="use range: it stays a loop in the compiled kernel",
        )
    return UnrolledLoop(tuple(values))
