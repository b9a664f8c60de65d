"""`triton.runtime.jit`: the class of jit objects, and what packages take beside it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from tle2cuda.decorator import jit
from tle2cuda.jit_function import JitFunction as JITFunction
from tle2cuda.jit_function import KernelInterface
from tle2cuda.runtime.descriptions import array_dtype
from tle2cuda.runtime.mocks import MockTensor, TensorWrapper, reinterpret
from tle2cuda.runtime.parameters import Parameter as KernelParam
from tle2cuda.runtime.parameters import unwrap_constexpr
from tle2cuda.triton import knobs
from tle2cuda.triton.runtime import driver

T = TypeVar("T")
JITCallable = JITFunction


def constexpr_function(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a Python function one that kernels call on compile-time values, for a compile-time value.

    Kernels call every Python function so; on the host this takes the values out of `tl.constexpr` arguments.
    """

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(
            *(unwrap_constexpr(value) for value in args),
            **{name: unwrap_constexpr(value) for name, value in kwargs.items()},
        )

    return wrapper


def must_use_result(fn: T, *args: Any, **kwargs: Any) -> T:
    """Marks a function whose result is not to be thrown away; nothing checks it here."""
    return fn


def mangle_type(value: Any, specialize: bool = False) -> str:
    """Type of an argument in signature notation."""
    from tle2cuda.runtime.descriptions import describe

    key, _ = describe(KernelParam("value", specialize=specialize), value)
    if key is None or key == "1":
        return "constexpr"
    if isinstance(value, bool):
        return "u1"
    return key.partition(":")[0] if isinstance(key, str) else "*" + array_dtype(str(key[0]))


__all__ = [
    "JITCallable",
    "JITFunction",
    "KernelInterface",
    "KernelParam",
    "MockTensor",
    "T",
    "TensorWrapper",
    "constexpr_function",
    "driver",
    "jit",
    "knobs",
    "mangle_type",
    "must_use_result",
    "reinterpret",
]
