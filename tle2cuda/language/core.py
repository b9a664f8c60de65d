"""`tl.core`: the base types under their second name; every other name is that of `tl`."""

from __future__ import annotations

import importlib
from typing import Any

from tle2cuda.ir.types import DType as dtype
from tle2cuda.ops.aggregates import aggregate
from tle2cuda.ops.aggregates import aggregate as _aggregate
from tle2cuda.ops.core import block_type, builtin, constexpr, is_builtin, pointer_type, tensor
from tle2cuda.ops.descriptors import tensor_descriptor as tensor_descriptor_base
from tle2cuda.ops.descriptors import tensor_descriptor_type as tensor_descriptor_base_type
from tle2cuda.ops.externs import extern, extern_elementwise
from tle2cuda.ops.loops import range, static_range
from tle2cuda.ops.shape import item

CONSTEXPR_0 = constexpr(0)

_INTEGER_WIDTHS = (1, 8, 16, 32, 64)


def _unwrap_if_constexpr(value: Any) -> Any:
    """The Python value of a constexpr; anything else unchanged."""
    return value.value if isinstance(value, constexpr) else value


def get_int_dtype(bitwidth: Any, signed: Any) -> dtype:
    """The integer dtype of a width in bits."""
    bits, has_sign = _unwrap_if_constexpr(bitwidth), _unwrap_if_constexpr(signed)
    if bits not in _INTEGER_WIDTHS:
        raise ValueError(f"no integer dtype has {bits} bits, only {', '.join(map(str, _INTEGER_WIDTHS))}")
    if bits == 1:
        return dtype("i1")
    return dtype(f"{'i' if has_sign else 'u'}{bits}")


def must_use_result(x: Any, s: Any = True) -> Any:
    """A function whose result Triton wants to be used; with a text, a decorator. Nothing is checked here."""
    return (lambda function: function) if isinstance(x, str) else x


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"tl.core has no {name!r}")
    return getattr(importlib.import_module("tle2cuda.language"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *importlib.import_module("tle2cuda.language").__all__})


__all__ = [
    "CONSTEXPR_0",
    "_aggregate",
    "aggregate",
    "block_type",
    "builtin",
    "constexpr",
    "dtype",
    "extern",
    "extern_elementwise",
    "get_int_dtype",
    "is_builtin",
    "item",
    "must_use_result",
    "pointer_type",
    "range",
    "static_range",
    "tensor",
    "tensor_descriptor_base",
    "tensor_descriptor_base_type",
]
