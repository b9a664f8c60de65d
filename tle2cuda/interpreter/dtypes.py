"""Which NumPy dtype stands for which element type, pointers included."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tle2cuda.ir.types import BOOL, DType, Element
from tle2cuda.ops import numerics

ADDRESS = np.dtype(np.uint64)
"""Pointers are 64-bit words; `tle2cuda.interpreter.addresses` says how they are built."""


@cache
def value_dtype(element: Element) -> np.dtype[Any]:
    """The NumPy dtype of arrays that hold values of this element type."""
    return numerics.value_dtype(element) if isinstance(element, DType) else ADDRESS


@cache
def storage_dtype(element: Element) -> np.dtype[Any]:
    """The NumPy dtype of one element in memory: a bool is a byte, a pointer 8 bytes."""
    if element is BOOL:
        return np.dtype(np.uint8)
    return numerics.storage_dtype(element) if isinstance(element, DType) else ADDRESS


def to_storage(values: Any, element: Element) -> NDArray[Any]:
    """Values as they lie in memory."""
    if isinstance(element, DType):
        values = numerics.to_storage(values, element)
    return np.asarray(values).astype(storage_dtype(element), copy=False)


def from_storage(stored: NDArray[Any], element: Element) -> NDArray[Any]:
    """The reverse of `to_storage`."""
    if element is BOOL:
        return np.asarray(stored != 0)
    return numerics.from_storage(stored, element) if isinstance(element, DType) else stored


def element_bytes(element: Element) -> int:
    """Bytes of one element in memory; pointers take 8."""
    return element.bytes if isinstance(element, DType) else ADDRESS.itemsize
