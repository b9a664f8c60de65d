"""`tl.core`: the base types under their second name; every other name is that of `tl`."""

from __future__ import annotations

import importlib
from typing import Any

from tle2cuda.ir.types import DType as dtype
from tle2cuda.ops.aggregates import aggregate
from tle2cuda.ops.aggregates import aggregate as _aggregate
from tle2cuda.ops.core import block_type, builtin, constexpr, is_builtin, pointer_type, tensor
from tle2cuda.ops.loops import range, static_range


def _unwrap_if_constexpr(value: Any) -> Any:
    """The Python value of a constexpr; anything else unchanged."""
    return value.value if isinstance(value, constexpr) else value


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"tl.core has no {name!r}")
    return getattr(importlib.import_module("tle2cuda.language"), name)


__all__ = [
    "_aggregate",
    "aggregate",
    "block_type",
    "builtin",
    "constexpr",
    "dtype",
    "is_builtin",
    "pointer_type",
    "range",
    "static_range",
    "tensor",
]
