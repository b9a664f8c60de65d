"""The user's functions with the language's names exchanged."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterator
from typing import Any

from tle2cuda.eager.language import BUILTINS, counterpart, namespace
from tle2cuda.eager.rewrite import code_of, helpers
from tle2cuda.eager.values import Tile, decay_result
from tle2cuda.frontend.names import device_function, translate
from tle2cuda.ops.mesh import device_mesh
from tle2cuda.ops.values import constexpr


class DeviceFunction:
    """A jit function that a kernel calls, or passes on.

    Args:
        fn: The Python function.
        session: What it belongs to.
    """

    def __init__(self, fn: Callable[..., Any], session: Session) -> None:
        self.fn = fn
        self._session = session
        self._function: Callable[..., Any] | None = None
        self.__name__ = fn.__name__

    def __repr__(self) -> str:
        return f"<eager function {self.__name__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self._function
        if function is None:
            function = self._function = self._session.function(self.fn)
        return decay_result(function(*args, **kwargs))


class Session:
    """One launch's view of functions and globals: what is exchanged for what."""

    def __init__(self) -> None:
        self._functions: dict[int, Callable[..., Any]] = {}
        self._device: dict[int, DeviceFunction] = {}
        self._attributes: dict[int, tuple[Any, Any]] = {}

    def function(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """A function with the user's code and lines, its globals exchanged."""
        known = self._functions.get(id(fn))
        if known is None:
            known = self._functions[id(fn)] = self._make(fn)
        return known

    def _make(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        code = code_of(fn)
        outer: dict[str, Any] = dict(fn.__globals__)
        for name, value in self.outer_names(fn, code):
            outer[name] = value
        outer.update(helpers(self.attribute))
        outer["__builtins__"] = BUILTINS
        made = types.FunctionType(code, outer, fn.__name__)
        if fn.__defaults__ is not None:
            made.__defaults__ = tuple(self.exchange(value) for value in fn.__defaults__)
        if fn.__kwdefaults__ is not None:
            made.__kwdefaults__ = {name: self.exchange(value) for name, value in fn.__kwdefaults__.items()}
        made.__qualname__, made.__module__ = fn.__qualname__, fn.__module__
        return made

    def outer_names(self, fn: Callable[..., Any], code: types.CodeType) -> Iterator[tuple[str, Any]]:
        """Names that a function takes from outside, with what stands for their values."""
        closure = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        for name in _names(code):
            if name in closure:
                try:
                    value = closure[name].cell_contents
                except ValueError:
                    continue
                yield name, self.exchange(value)
            elif name in fn.__globals__:
                yield name, self.exchange(fn.__globals__[name])

    def exchange(self, thing: Any) -> Any:
        """What stands for an object inside kernels."""
        thing = translate(thing)
        if isinstance(thing, constexpr):
            return self.exchange(thing.value)
        if isinstance(thing, types.ModuleType):
            return namespace(thing) if thing.__name__.startswith("tle2cuda.language") else thing
        inner = device_function(thing)
        if inner is not None:
            known = self._device.get(id(inner))
            if known is None:
                known = self._device[id(inner)] = DeviceFunction(inner, self)
            return known
        if type(thing) in (tuple, list):
            return type(thing)(self.exchange(item) for item in thing)
        python = getattr(thing, "__name__", None)
        if isinstance(python, str) and getattr(builtins, python, None) is thing:
            return BUILTINS[python]
        return counterpart(thing)

    def attribute(self, thing: Any) -> Any:
        """What stands for an attribute of something from outside the kernel."""
        known = self._attributes.get(id(thing))
        if known is not None:
            return known[1]
        if isinstance(thing, Tile):
            return thing
        found = self.exchange(thing)
        if isinstance(thing, (types.FunctionType, types.ModuleType, type)):  # they last, and so do their ids
            self._attributes[id(thing)] = (thing, found)
        return found

    def meshes(self, fn: Callable[..., Any], constants: dict[str, Any]) -> list[device_mesh]:
        """Meshes that a kernel can see: in its constants, its globals, and those of functions it calls."""
        found = [value for value in constants.values() if isinstance(value, device_mesh)]
        seen: set[int] = set()
        pending = [fn, *(value.fn for value in constants.values() if isinstance(value, DeviceFunction))]
        while pending:
            one = pending.pop()
            if id(one) in seen:
                continue
            seen.add(id(one))
            for value in self._reached(one):
                if isinstance(value, DeviceFunction):
                    pending.append(value.fn)
                elif isinstance(value, device_mesh):
                    found.append(value)
        return found

    def _reached(self, fn: Callable[..., Any]) -> Iterator[Any]:
        """What a function reaches by names from outside, and by attributes of modules among them."""
        code = code_of(fn)
        for _, value in self.outer_names(fn, code):
            yield value
            if isinstance(value, types.ModuleType):
                yield from (self.attribute(getattr(value, name)) for name in _names(code) if hasattr(value, name))


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
