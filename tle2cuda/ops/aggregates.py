"""Aggregates: classes whose values live in kernels, a few values under one name."""

from __future__ import annotations

from typing import Any, TypeVar

from tle2cuda.errors import ArgumentError

_Class = TypeVar("_Class", bound=type)


def aggregate(cls: _Class) -> _Class:
    """Makes a class one whose values kernels make, pass to functions and carry through loops.

    Fields are annotated: `tl.tensor` for run-time values, `tl.constexpr` for constants, or another aggregate. `__init__`
    sets them; without one, the fields are its parameters. Methods are jit functions. Values do not change: make a new one.

    Args:
        cls: The class.

    Raises:
        ArgumentError: `cls` is no class, or has no annotated fields.

    Example:
        >>> @tl.core._aggregate
        ... class Running:
        ...     total: tl.tensor
        ...     count: tl.constexpr
        ...
        ...     def __init__(self, total, count):
        ...         self.total = total
        ...         self.count = tl.constexpr(count)
        ...
        ...     @tle2cuda.jit
        ...     def mean(self):
        ...         return self.total / self.count
    """
    if not isinstance(cls, type):
        raise ArgumentError(f"an aggregate is made of a class, got {type(cls).__name__}")
    if not any(vars(base).get("__annotations__") for base in cls.__mro__):
        raise ArgumentError(f"aggregate {cls.__name__} has no fields", help="annotate them, such as `x: tl.tensor`")
    marked: Any = cls
    marked.__triton_aggregate__ = True  # the mark that Triton's own decorator leaves
    return cls
