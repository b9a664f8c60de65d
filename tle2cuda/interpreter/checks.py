"""Checks that meanings return what the operation's result types promise; for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tle2cuda.errors import InternalError
from tle2cuda.interpreter.dtypes import value_dtype
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import element_of, is_handle, shape_of


def check_results(op: Op, values: Sequence[Any]) -> None:
    """Raise when a value has another shape or dtype than the result it belongs to."""
    for number, (result, value) in enumerate(zip(op.results, values, strict=True)):
        if is_handle(result.type):
            continue
        wanted = value_dtype(element_of(result.type))
        array = np.asarray(value)
        if array.shape != shape_of(result.type) or array.dtype != wanted:
            raise InternalError(
                f"the meaning of {op.name} returned {array.dtype}{list(array.shape)} as result {number}, "
                f"which is {result.type}",
                op.span,
            )
