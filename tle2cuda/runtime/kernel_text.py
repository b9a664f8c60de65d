"""A digest of all the Python text that a kernel is made of, for caches that outlast the process."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tle2cuda.runtime.cache import digest


def text_key(fn: Callable[..., Any]) -> str:
    """Digest of a kernel's source with the functions it calls and the constants it reads.

    Args:
        fn: The plain Python function.
    """
    parts: list[str] = []
    seen: set[int] = set()
    waiting: list[Any] = [fn]
    while waiting:
        function = waiting.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        parts.append(f"{function.__module__}.{function.__qualname__}")
        parts.append(source_text(function))
        for name, value in _outer_objects(function):
            inner = _device_function(value)
            if inner is not None:
                waiting.append(inner)
            elif not isinstance(value, ModuleType):
                parts.append(f"{name}={value!r}" if _has_stable_text(value) else f"{name}:{type(value).__name__}")
    return digest(*parts)


def source_text(fn: Callable[..., Any]) -> str:
    """Source of a function; of one without source, its code's bytes as text."""
    try:
        return inspect.getsource(fn)
    except (OSError, TypeError):
        code = getattr(fn, "__code__", None)
        return repr(code.co_code) if code is not None else repr(fn)


def _device_function(value: Any) -> FunctionType | None:
    inner = value
    for _ in range(8):
        if inspect.isfunction(inner):
            # Ours belong to the release, which is part of every key.
            return None if (inner.__module__ or "").startswith("tle2cuda.") else inner
        if inspect.isclass(inner) or not hasattr(inner, "fn"):
            return None
        inner = inner.fn
    return None


def _has_stable_text(value: Any) -> bool:
    """Whether `repr` says all of a value, and no address."""
    return " at 0x" not in repr(value) and not hasattr(value, "__array__")


def _outer_objects(fn: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The globals and closure variables that a function's code names, and functions found in its modules."""
    code: Any = getattr(fn, "__code__", None)
    if code is None:
        return
    names = set(_names_of(code))
    space = getattr(fn, "__globals__", {})
    cells = dict(zip(code.co_freevars, getattr(fn, "__closure__", None) or (), strict=False))
    for name in sorted(names | set(cells)):
        if name in cells:
            try:
                yield name, cells[name].cell_contents
            except ValueError:
                continue
        elif name in space:
            value = space[name]
            yield name, value
            if isinstance(value, ModuleType) and not value.__name__.startswith(("tle2cuda", "triton", "torch", "numpy")):
                for attribute in sorted(names):
                    member = getattr(value, attribute, None)
                    if _device_function(member) is not None:
                        yield f"{name}.{attribute}", member


def _names_of(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_of(constant)
