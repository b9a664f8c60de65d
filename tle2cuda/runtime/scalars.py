"""Numbers that are passed for run-time scalars: the same are taken, and refused in the same words, on every device."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import ArgumentError


def scalar_number(name: str, dtype: str, value: Any) -> bool | int | float:
    """The Python number that a run-time argument is.

    Args:
        name: The parameter.
        dtype: Its type as signatures write it.
        value: What is passed: a number of Python, NumPy or the like.

    Raises:
        ArgumentError: It is no number, a float for an integer, or an integer beyond the type.
    """
    try:
        if dtype.startswith(("fp", "bf")):
            return float(value)
        if dtype == "i1":
            return bool(value)
        number = int(value.__index__())
    except (AttributeError, TypeError, ValueError):
        raise ArgumentError(f"`{name}` is {dtype}, got {type(value).__name__}") from None
    except OverflowError:  # an integer beyond all floats
        raise ArgumentError(f"`{name}` = {value} does not fit in {dtype}") from None
    bits = int(dtype[1:])
    lower, upper = (-(1 << bits - 1), 1 << bits - 1) if dtype.startswith("i") else (0, 1 << bits)
    if not lower <= number < upper:
        raise ArgumentError(f"`{name}` = {number} does not fit in {dtype}")
    return number
