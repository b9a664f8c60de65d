"""What a `for` statement may iterate over: `range` and the language's own ranges, or a compile-time tuple."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tle2cuda.errors import ConstexprRequired, InvalidType
from tle2cuda.frontend.values import is_static
from tle2cuda.ops.core import describe, fact, static_int, tensor, unwrap

MAX_UNROLLED = 1 << 14

# Hints of tl.range that reach the IR, by the attribute of the `for` operation that carries them.
_HINTS = {
    "num_stages": "num_stages",
    "loop_unroll_factor": "unroll",
    "disallow_acc_multi_buffer": "disallow_acc_multi_buffer",
    "flatten": "flatten",
    "warp_specialize": "warp_specialize",
    "disable_licm": "disable_licm",
    "reorder": "reorder",
}


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A loop of the IR: bounds are constexpr or run-time scalars."""

    start: Any
    end: Any
    step: Any
    hints: Mapping[str, Any] = field(default_factory=dict)


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
        ConstexprRequired: A bound of `tl.static_range` is a run-time value.
    """
    if isinstance(iterable, (CountedLoop, UnrolledLoop)):
        return iterable
    if isinstance(iterable, tuple):
        return UnrolledLoop(iterable)
    plain = unwrap(iterable)
    if isinstance(plain, range):
        return CountedLoop(plain.start, plain.stop, plain.step)
    if all(hasattr(plain, name) for name in ("start", "end", "step")):
        if type(plain).__name__ == "static_range":
            return _unrolled(plain)
        hints = {}
        for name, attribute in _HINTS.items():
            value = unwrap(getattr(plain, name, None))
            if value is not None and value is not False:
                hints[attribute] = value
        return CountedLoop(plain.start, plain.end, plain.step, hints)
    raise InvalidType(
        f"a kernel cannot iterate over {describe(iterable)}",
        help="iterate over range, tl.range, tl.static_range or a tuple",
    )


def _unrolled(loop: Any) -> UnrolledLoop:
    bounds = {}
    for name in ("start", "end", "step"):
        value = getattr(loop, name)
        if not is_static(value):
            facts = (fact(name, value),) if isinstance(value, tensor) else ()
            raise ConstexprRequired(
                f"tl.static_range: {name} must be known at compile time, got {describe(value)}",
                facts=facts,
                help="use range for a loop with run-time bounds",
            )
        bounds[name] = static_int(value, f"tl.static_range: {name}")
    if bounds["step"] == 0:
        raise InvalidType("tl.static_range: step must not be 0")
    values = range(bounds["start"], bounds["end"], bounds["step"])
    if len(values) > MAX_UNROLLED:
        raise InvalidType(
            f"tl.static_range would repeat the body {len(values)} times, the limit is {MAX_UNROLLED}",
            help="use range: it stays a loop in the compiled kernel",
        )
    return UnrolledLoop(tuple(values))
