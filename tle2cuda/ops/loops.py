"""Loop iterators: `tl.range`, `tl.static_range`, `tle.gpu.pipeline`; the front end turns them into loops.

They can be constructed anywhere, also on the host, but only a ``for`` in a kernel iterates over them.
"""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import InvalidArgument, InvalidType
from tle2cuda.ir import builder
from tle2cuda.ops.base import static_value
from tle2cuda.ops.values import tensor, unwrap


class _Bounds:
    """Start, end and step as Python's `range` takes them."""

    def __init__(self, arg1: Any, arg2: Any, step: Any) -> None:
        self.start: Any = 0 if unwrap(arg2) is None else arg1
        self.end: Any = arg1 if unwrap(arg2) is None else arg2
        self.step: Any = 1 if unwrap(step) is None else step
        if not isinstance(unwrap(self.step), tensor) and unwrap(self.step) == 0:
            raise InvalidArgument(f"tl.{type(self).__name__}: step must not be 0")

    def __repr__(self) -> str:
        bounds = (unwrap(bound) for bound in (self.start, self.end, self.step))
        start, end, step = ("..." if isinstance(bound, tensor) else repr(bound) for bound in bounds)
        shown = end if (start, step) == ("0", "1") else f"{start}, {end}, {step}"
        return f"tl.{type(self).__name__}({shown})"

    def _refuse(self, *_: Any) -> Any:
        if not builder.is_tracing():
            raise RuntimeError(f"tl.{type(self).__name__} can be iterated over only inside a kernel")
        raise range_refused()

    __iter__ = __getitem__ = __contains__ = __reversed__ = _refuse


def range_refused() -> InvalidType:
    """What is said where something other than a loop takes a range."""
    return InvalidType(
        "in a kernel only loops and comprehensions go over a range: it has no elements to take or to look for",
        help="write `for i in range(...)`; for a tuple of constants, [i for i in range(N)]",
    )


class range(_Bounds):
    """A counted loop with scheduling hints: ``for i in tl.range(0, n, num_stages=3)``.

    Hints never change what the loop computes.

    Args:
        arg1: End, or start when `arg2` is given; constexpr or integer scalar.
        arg2: End, not included.
        step: Step, 1 when None; a negative one must be constexpr.
        num_stages: Wish for this many iterations of loads in flight.
        loop_unroll_factor: Wish for this unrolling.
        disallow_acc_multi_buffer: Accepted, no effect.
        flatten: Accepted, no effect.
        warp_specialize: Wish for a warp that loads while the others compute.
        disable_licm: Accepted, no effect.

    Raises:
        InvalidArgument: A step of 0.

    Example:
        ``for k in tl.range(0, K, BLOCK_K, num_stages=3): ...``
    """

    def __init__(
        self,
        arg1: Any,
        arg2: Any = None,
        step: Any = None,
        num_stages: Any = None,
        loop_unroll_factor: Any = None,
        disallow_acc_multi_buffer: Any = False,
        flatten: Any = False,
        warp_specialize: Any = False,
        disable_licm: Any = False,
    ) -> None:
        super().__init__(arg1, arg2, step)
        self.num_stages = _hint(num_stages, "num_stages")
        self.loop_unroll_factor = _hint(loop_unroll_factor, "loop_unroll_factor")
        self.disallow_acc_multi_buffer = _hint(disallow_acc_multi_buffer, "disallow_acc_multi_buffer")
        self.flatten = _hint(flatten, "flatten")
        self.warp_specialize = _hint(warp_specialize, "warp_specialize")
        self.disable_licm = _hint(disable_licm, "disable_licm")

    @property
    def attrs(self) -> dict[str, Any]:
        """Hints that were given, as attributes of the IR's ``for``."""
        hints = {
            "num_stages": self.num_stages,
            "unroll": self.loop_unroll_factor,
            "disallow_acc_multi_buffer": self.disallow_acc_multi_buffer,
            "flatten": self.flatten,
            "warp_specialize": self.warp_specialize,
            "disable_licm": self.disable_licm,
        }
        return {name: value for name, value in hints.items() if value}


def _hint(value: Any, name: str) -> Any:
    return static_value(value, f"tl.range: {name}")


class static_range(_Bounds):
    """A loop unrolled while the kernel is compiled; the induction variable is a constexpr.

    Args:
        arg1: End, or start when `arg2` is given (constexpr).
        arg2: End, not included (constexpr).
        step: Step, may be negative (constexpr).

    Raises:
        ConstexprRequired: A bound is a run-time value.
        InvalidArgument: A step of 0.

    Example:
        ``for step in tl.static_range(4): ...``
    """

    def __init__(self, arg1: Any, arg2: Any = None, step: Any = None) -> None:
        super().__init__(
            static_value(arg1, "tl.static_range: arg1"),
            static_value(arg2, "tl.static_range: arg2"),
            static_value(step, "tl.static_range: step"),
        )


class pipeline(range):
    """`tl.range` under TLE's name ``tle.gpu.pipeline``, asking for software pipelining.

    Args:
        arg1: End, or start when `arg2` is given.
        arg2: End, not included.
        step: Step, 1 when None.
        num_stages: Wish for this many iterations of loads in flight.
        loop_unroll_factor: Wish for this unrolling.

    Raises:
        InvalidArgument: A step of 0.

    Example:
        ``for k in tle.gpu.pipeline(0, K, BLOCK_K, num_stages=2): ...``
    """

    def __init__(
        self,
        arg1: Any,
        arg2: Any = None,
        step: Any = None,
        num_stages: Any = None,
        loop_unroll_factor: Any = None,
    ) -> None:
        super().__init__(arg1, arg2, step, num_stages, loop_unroll_factor)
