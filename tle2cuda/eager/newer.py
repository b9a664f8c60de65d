"""What Triton 3.9 has and 3.6 lacks: atomic loads, stores and polling, and changes of shape by other names."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from tle2cuda.eager import creation, memory
from tle2cuda.eager.program import reads_3_9
from tle2cuda.eager.values import Tile, describe, method, static_axis, to_tile
from tle2cuda.errors import NotSupported, ShapeMismatch

_FOREVER_NS = 1 << 62
_NOT_METHODS = ("to_tensor", "expect_zero")

FUNCTIONS: dict[str, Any] = {}


def _newer(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function one of the language, and a method of tiles, for kernels that are read by the rules of 3.9."""
    name = function.__name__

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if not reads_3_9():
            raise NotSupported(
                f"tl.{name} is of Triton 3.9, and this kernel is read by the rules of 3.6",
                help='read it by those of 3.9: language="3.9" of tle2cuda.jit, or TLE2CUDA_LANGUAGE',
            )
        return function(*args, **kwargs)

    FUNCTIONS[name] = guarded
    return guarded if name in _NOT_METHODS else method(guarded)


@_newer
def squeeze(x: Any, dim: Any) -> Tile:
    """`tl.squeeze`."""
    value = to_tile(x)
    axis = static_axis(dim, len(value.shape), "tl.squeeze")
    if value.shape[axis] != 1:
        raise ShapeMismatch(f"tl.squeeze: axis {axis} of {describe(value)} has {value.shape[axis]} elements, not 1")
    return value.reshaped((*value.shape[:axis], *value.shape[axis + 1 :]))


@_newer
def unsqueeze(x: Any, dim: Any) -> Tile:
    """`tl.unsqueeze`."""
    return creation.expand_dims(x, dim)


@_newer
def to_tensor(x: Any) -> Tile:
    """`tl.to_tensor`."""
    return to_tile(x)


@_newer
def expect_zero(x: Any, mask: Any) -> Tile:
    """`tl.expect_zero`."""
    return to_tile(x)


@_newer
def atomic_load(pointer: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Tile:
    """`tl.atomic_load`: programs run one at a time, so it is a load."""
    return memory.load(pointer, mask=mask, other=None if mask is None else 0)


@_newer
def atomic_store(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> None:
    """`tl.atomic_store`."""
    memory.store(pointer, val, mask=mask)


@_newer
def atomic_poll(pointer: Any, expected_value: Any, sem: Any = None, scope: Any = None, timeout_ns: Any = None) -> Tile:
    """`tl.atomic_poll`."""
    limit = _FOREVER_NS if timeout_ns is None else int(to_tile(timeout_ns, "tl.atomic_poll: timeout_ns").data)
    begin = time.perf_counter_ns()
    while True:
        seen = atomic_load(pointer)
        matched = seen == expected_value
        if matched or time.perf_counter_ns() - begin >= limit:
            return to_tile(bool(matched))
