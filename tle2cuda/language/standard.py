"""`tl.standard`: names of the language that Triton defines in its own library of functions.

Every public name is that of `tl`. The others are small functions that kernels import from here.
"""

from __future__ import annotations

import importlib
from typing import Any

import tle2cuda.language as _tl
from tle2cuda.decorator import jit
from tle2cuda.language.core import get_int_dtype
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


@jit
def _elementwise_max(a, b):  # type: ignore[no-untyped-def]
    return _tl.maximum(a, b)


@jit
def _elementwise_min(a, b):  # type: ignore[no-untyped-def]
    return _tl.minimum(a, b)


@jit
def _argmax_combine(value1, index1, value2, index2, tie_break_left):  # type: ignore[no-untyped-def]
    """The larger of two values with its index; of equal ones that with the smaller index, or any."""
    first = value1 > value2
    if tie_break_left:
        first = first | ((value1 == value2) & (index1 < index2))
    return _tl.where(first, value1, value2), _tl.where(first, index1, index2)


@jit
def _argmax_combine_tie_break_left(value1, index1, value2, index2):  # type: ignore[no-untyped-def]
    return _argmax_combine(value1, index1, value2, index2, True)


@jit
def _argmax_combine_tie_break_fast(value1, index1, value2, index2):  # type: ignore[no-untyped-def]
    return _argmax_combine(value1, index1, value2, index2, False)


@jit
def _argmin_combine(value1, index1, value2, index2, tie_break_left):  # type: ignore[no-untyped-def]
    """The smaller of two values with its index; of equal ones that with the smaller index, or any."""
    first = value1 < value2
    if tie_break_left:
        first = first | ((value1 == value2) & (index1 < index2))
    return _tl.where(first, value1, value2), _tl.where(first, index1, index2)


@jit
def _argmin_combine_tie_break_left(value1, index1, value2, index2):  # type: ignore[no-untyped-def]
    return _argmin_combine(value1, index1, value2, index2, True)


@jit
def _argmin_combine_tie_break_fast(value1, index1, value2, index2):  # type: ignore[no-untyped-def]
    return _argmin_combine(value1, index1, value2, index2, False)


# ---- the steps of a bitonic sort, on tiles of the shape [..., 2, 2, 2] -----------------------------------------------


def _spread(n_dims: Any, j: Any) -> tuple[int, ...]:
    """Shape of a tile of 2 along the axis that stands for bit `j` of a place."""
    count, bit = (x.value if isinstance(x, constexpr) else x for x in (n_dims, j))
    return tuple(2 if axis == count - 1 - bit else 1 for axis in range(count))


def _cube(shape: Any, n_dims: Any) -> tuple[int, ...]:
    """A shape whose last axis is taken apart into `n_dims` axes of 2."""
    extents = [extent.value if isinstance(extent, constexpr) else extent for extent in shape]
    count = n_dims.value if isinstance(n_dims, constexpr) else n_dims
    return (*extents[:-1], *(2,) * count)


def _front(shape: Any, k: Any) -> tuple[int, ...]:
    """A shape whose last extent is `k`."""
    extents = [extent.value if isinstance(extent, constexpr) else extent for extent in shape]
    return (*extents[:-1], k.value if isinstance(k, constexpr) else k)


def _wide(dtype: Any) -> Any:
    """The dtype of what is taken out by `max`."""
    if dtype.primitive_bitwidth >= 32:
        return dtype
    return _tl.float32 if dtype.is_floating() else _tl.int32


def _get_flip_dim(dim: Any, shape: Any) -> int:
    """The axis that `flip` reverses: the last one when none is named."""
    axis = dim.value if isinstance(dim, constexpr) else dim
    return len(shape) - 1 if axis is None else int(axis) % len(shape)


def _pick_sum_dtype(in_dtype: Any, dtype: Any) -> Any:
    """In which dtype `sum` adds: the one asked for, else 32 bits for integers that have fewer."""
    given, asked = (x.value if isinstance(x, constexpr) else x for x in (in_dtype, dtype))
    if asked is not None:
        return asked
    if given.is_int_signed():
        return get_int_dtype(max(given.int_bitwidth, 32), True)
    return get_int_dtype(max(given.int_bitwidth, 32), False) if given.is_int_unsigned() else None


def _get_int_dtype(bitwidth: Any, signed: Any) -> Any:
    """The integer dtype of a width in bits."""
    return get_int_dtype(bitwidth, signed)


@jit
def _indicator(n_dims: constexpr, j: constexpr):  # type: ignore[no-untyped-def]
    """0 and 1 along the axis that stands for bit `j` of a place."""
    return _tl.arange(0, 2).reshape(_spread(n_dims, j))  # type: ignore[attr-defined]


@jit
def _compare_and_swap(x, flip, i: constexpr):  # type: ignore[no-untyped-def]
    """Puts the two elements that differ in bit `i` of their places in order, in reverse where `flip` holds."""
    rank: constexpr = len(x.shape)  # type: ignore[assignment]
    axis: constexpr = rank - 1 - i
    is_right = _indicator(rank, i) == 1
    other = _tl.flip(x, axis)
    left = _tl.where(is_right, other, x)
    right = _tl.where(is_right, x, other)
    return _tl.where((left > right) != (flip != 0), other, x)


@jit
def _bitonic_merge_hypercube(x, stage: constexpr, order: constexpr):  # type: ignore[no-untyped-def]
    """Sorts runs of 2 to the power of `stage`, made of two halves that are sorted to each other; `order` 2 alternates."""
    flip = order
    if order == 2:
        flip = _indicator(len(x.shape), stage)
    for i in _tl.static_range(stage):
        x = _compare_and_swap(x, flip, stage - 1 - i)
    return x


@jit
def _bitonic_merge(x, stage: constexpr, order: constexpr, n_dims: constexpr):  # type: ignore[no-untyped-def]
    """As `_bitonic_merge_hypercube`, along the last axis of a tile of any shape."""
    cube = _bitonic_merge_hypercube(_tl.reshape(x, _cube(x.shape, n_dims)), stage, order)
    return _tl.reshape(cube, x.shape)


@jit
def sort_impl(x, k=None, dim=None, descending=0):  # type: ignore[no-untyped-def]
    """`sort`, or the first `k` in that order."""
    ordered = _tl.sort(x, dim, descending != 0)
    if k is None:
        return ordered
    found = _tl.tle.extract_tile(ordered, 0, _front(x.shape, k))
    return _tl.cast(found, _wide(x.dtype)) if k < x.shape[-1] else found


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"tl.standard has no {name!r}")
    return getattr(importlib.import_module("tle2cuda.language"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_tl.__all__})
