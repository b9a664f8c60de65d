"""Atomic updates of many elements with the result of doing them one after the other, in element order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[Any]


def _fmin(old: _Array, value: _Array) -> _Array:
    return np.fmin(old, value) if old.dtype.kind not in "iu" else np.minimum(old, value)


def _fmax(old: _Array, value: _Array) -> _Array:
    return np.fmax(old, value) if old.dtype.kind not in "iu" else np.maximum(old, value)


def _exchange(old: _Array, value: _Array) -> _Array:
    return value


UPDATES: dict[str, Callable[[_Array, _Array], _Array]] = {
    "add": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "min": _fmin,
    "max": _fmax,
    "xchg": _exchange,
}


def _rounds(index: _Array) -> Iterator[_Array]:
    """Positions grouped so that each group touches an address once; the i-th group holds the i-th touches."""
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    counts = np.diff(np.append(starts, len(ordered)))
    turn = np.arange(len(ordered)) - np.repeat(starts, counts)
    by_turn = np.argsort(turn, kind="stable")
    bounds = np.searchsorted(turn[by_turn], np.arange(int(counts.max()) + 1))
    for first, last in itertools.pairwise(bounds):
        yield order[by_turn[first:last]]


def _add_integers(view: _Array, index: _Array, values: _Array) -> _Array:
    """Integer adds are associative, so old values are memory plus a prefix sum per address."""
    order = np.argsort(index, kind="stable")
    ordered, addends = index[order], values[order]
    is_start = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    starts = np.flatnonzero(is_start)
    counts = np.diff(np.append(starts, len(ordered)))
    prefix = np.cumsum(addends, dtype=view.dtype)
    before = prefix - addends
    old = np.empty(len(index), view.dtype)
    old[order] = view[ordered] + (before - np.repeat(before[starts], counts))
    ends = np.append(starts[1:], len(ordered)) - 1
    view[ordered[starts]] += prefix[ends] - before[starts]
    return old


def apply_in_order(kind: str, view: _Array, index: _Array, values: _Array) -> _Array:
    """Do ``view[index[i]] = update(view[index[i]], values[i])`` for i = 0, 1, ...; returns the old values."""
    update = UPDATES[kind]
    if len(index) == 1:
        old = view[index]
        view[index] = update(old, values)
        return old
    if kind == "add" and view.dtype.kind in "iu":
        return _add_integers(view, index, values)
    old = np.empty(len(index), view.dtype)
    for group in _rounds(index):
        at = index[group]
        found = view[at]
        old[group] = found
        view[at] = update(found, values[group])
    return old


def compare_and_swap_in_order(view: _Array, index: _Array, expected: _Array, desired: _Array) -> _Array:
    """Compare bit by bit and swap where equal, one element after the other; returns what each found."""
    old = np.empty(len(index), view.dtype)
    as_bits = f"u{view.dtype.itemsize}"
    for group in _rounds(index):
        at = index[group]
        found = view[at]
        old[group] = found
        is_equal = found.view(as_bits) == np.ascontiguousarray(expected[group]).view(as_bits)
        view[at] = np.where(is_equal, desired[group], found)
    return old
