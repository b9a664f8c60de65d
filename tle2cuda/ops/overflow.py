"""Checks of integer overflow, compiled in with ``debug=True`` unless ``sanitize_overflow=False``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BOOL, I64, DType
from tle2cuda.ops import core
from tle2cuda.ops.core import constant, emit_value, meaning, tensor

CHECKED_BITS = 64
"""Arithmetic of fewer bits is checked."""


def is_checked(dtype: DType) -> bool:
    """Whether arithmetic of a dtype is asserted not to overflow in the kernel being traced."""
    is_number = dtype.is_int() and not dtype.is_bool()
    return builder.current().checks_overflow and is_number and dtype.bits < CHECKED_BITS


def check_overflow(name: str, a: tensor, b: tensor) -> None:
    """Assert that the sum, difference or product of two values of one type fits in it."""
    if is_checked(core.dtype_of(a)):
        _assert(emit_value("fits", (a, b), BOOL, a.dims, {"fn": name}), core.dtype_of(a), name)


def check_total(wide: tensor, dtype: DType, name: str) -> None:
    """Assert that what was computed in 64 bits fits in a dtype."""
    low, high = core.integer_range(dtype)
    inside = [
        emit_value("cmp", (wide, constant(limit, I64, wide.dims)), BOOL, wide.dims, {"predicate": predicate})
        for limit, predicate in ((low, "ge"), (high, "le"))
    ]
    _assert(emit_value("and", tuple(inside), BOOL, wide.dims), dtype, name)


def overflow_message(dtype: DType, name: str) -> str:
    """What a failed check says, as Triton does, which tells the width alone."""
    return f"int{dtype.bits} overflow detected for operation {name}"


def _assert(condition: tensor, dtype: DType, name: str) -> None:
    builder.current().emit("assert", (condition.value,), (), {"message": overflow_message(dtype, name)})


@meaning("fits")
def _fits(ctx: Any, op: Op, a: Any, b: Any) -> Any:
    x, y = (np.asarray(value).astype(np.int64) for value in (a, b))
    with np.errstate(over="ignore"):
        exact = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[op.attrs["fn"]](x, y)
    limits = np.iinfo(np.asarray(a).dtype)
    return (exact >= limits.min) & (exact <= limits.max)
