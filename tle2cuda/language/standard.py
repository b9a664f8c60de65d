"""`tl.standard`: names of the language that Triton defines in its own library of functions.

Every public name is that of `tl`. The others are small functions that kernels import from here.
"""

from __future__ import annotations

import importlib
from typing import Any

from tle2cuda.jit_function import jit
from tle2cuda.ops.core import constexpr


def _log2(i: Any) -> int:
    """Binary logarithm of a power of two."""
    value = i.value if isinstance(i, constexpr) else int(i)
    return int(value).bit_length() - 1


def _is_power_of_two(i: Any) -> bool:
    """Whether a number is a power of two."""
    value = i.value if isinstance(i, constexpr) else int(i)
    return value > 0 and value & (value - 1) == 0


@jit
def _sum_combine(a, b):  # type: ignore[no-untyped-def]
    return a + b


@jit
def _prod_combine(a, b):  # type: ignore[no-untyped-def]
    return a * b


@jit
def _xor_combine(a, b):  # type: ignore[no-untyped-def]
    return a ^ b


@jit
def _or_combine(a, b):  # type: ignore[no-untyped-def]
    return a | b


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"tl.standard has no {name!r}")
    return getattr(importlib.import_module("tle2cuda.language"), name)
