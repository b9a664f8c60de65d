"""The user's functions with the language's names exchanged."""

from __future__ import annotations

import builtins
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

from tle2cuda.eager import debugger
from tle2cuda.eager.aggregates import Aggregate, AggregateMaker
from tle2cuda.eager.language import BUILTINS, counterpart, namespace
from tle2cuda.eager.rewrite import code_of, helpers
from tle2cuda.eager.scopes import compare_results
from tle2cuda.eager.values import Tile, decay_result, python_number
from tle2cuda.errors import CompilationError, InvalidArgument, InvalidType, UnsupportedSyntax
from tle2cuda.frontend.aggregates import aggregate_class
from tle2cuda.frontend.names import check_global, device_function, translate
from tle2cuda.ops.mesh import device_mesh
from tle2cuda.ops.values import constexpr

MOST_CALLS = 64


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

    def __getitem__(self, grid: Any) -> Any:
        raise UnsupportedSyntax("a kernel cannot be launched from a kernel", help="call it as a function")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # debuggers that know of it pass over this frame
        function = self._function
        if function is None:
            self._check_parameters()
            function = self._function = self._session.function(self.fn)
        session = self._session
        if session.depth >= MOST_CALLS:
            raise CompilationError(
                f"{self.__name__}: calls are nested more than {MOST_CALLS} deep",
                help="device functions are inlined, so recursion must end at compile time; write a loop",
            )
        session.depth += 1
        try:
            # By 3.9 what is constant stays so; the function itself knows which of its results is (`scopes.result`).
            found = function(*args, **kwargs)
            compare_results(self.fn, found)
            return found if session.newer else decay_result(found)
        except TypeError:
            self._check_arguments(args, kwargs)
            raise
        finally:
            session.depth -= 1

    def _check_parameters(self) -> None:
        for parameter in inspect.signature(self.fn).parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                raise UnsupportedSyntax(
                    f"{self.__name__}: a device function cannot take `**{parameter.name}`", help="name every parameter"
                )
            if parameter.kind is parameter.VAR_POSITIONAL and not self._session.newer:
                raise UnsupportedSyntax(
                    f"{self.__name__}: a device function cannot take `*{parameter.name}`",
                    help='pass a tuple as one argument, or read the kernel by the rules of Triton 3.9 (language="3.9")',
                )

    def _check_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        signature = inspect.signature(self.fn)
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            facts = (f"parameters: {', '.join(signature.parameters)}",)
            raise InvalidArgument(f"{self.__name__}: {error}", facts=facts) from None


_HOST_CALLABLES = (types.FunctionType, types.MethodType, functools.partial, functools._lru_cache_wrapper)
_FROM_OUTSIDE = (types.FunctionType, types.ModuleType, type, constexpr)


class Session:
    """One launch's view of functions and globals: what is exchanged for what.

    Args:
        newer: The kernel is read by the rules of Triton 3.9.
        plain_globals: Numbers, strings and tuples of its module are constants without being marked so.

    Attributes:
        depth: Calls of device functions that are open.
        codes: Code of the user's functions.
        refused: Names from outside that kernels do not read, with the error that says so.
    """

    def __init__(self, newer: bool = False, plain_globals: bool = False) -> None:
        self.newer = newer
        self.depth = 0
        self.codes: set[types.CodeType] = set()
        self.refused: dict[str, InvalidType] = {}
        self._plain_globals = plain_globals
        self._aggregates: dict[int, AggregateMaker] = {}
        self._functions: dict[int, Callable[..., Any]] = {}
        self._device: dict[int, DeviceFunction] = {}
        self._host: dict[int | tuple[int, int], Callable[..., Any]] = {}
        self._originals: dict[int, Any] = {}  # of what stands for device functions and functions of the host
        self._attributes: dict[int, tuple[Any, Any]] = {}

    def function(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """A function with the user's code and lines, its globals exchanged."""
        known = self._functions.get(id(fn))
        if known is None:
            known = self._functions[id(fn)] = self._make(fn)
        return known

    def _make(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        code = code_of(fn, self.newer)
        self.codes |= {code, *_inner(code)}
        outer: dict[str, Any] = dict(fn.__globals__)
        for name, value in self.outer_names(fn, code):
            outer[name] = value
        for name in self._unmarked(fn, code):
            del outer[name]
        outer.update(helpers(self.attribute, self.member))
        outer["__builtins__"] = BUILTINS
        made = types.FunctionType(code, outer, fn.__name__)
        if fn.__defaults__ is not None:
            made.__defaults__ = tuple(self.exchange(value) for value in fn.__defaults__)
        if fn.__kwdefaults__ is not None:
            made.__kwdefaults__ = {name: self.exchange(value) for name, value in fn.__kwdefaults__.items()}
        made.__qualname__, made.__module__ = fn.__qualname__, fn.__module__
        return made

    def _unmarked(self, fn: Callable[..., Any], code: types.CodeType) -> list[str]:
        """Globals that a function reads and kernels may not, because they are data that is not marked constant."""
        found = []
        for name in {*_names(code)} & set(fn.__globals__) - set(fn.__code__.co_freevars):
            try:
                check_global(name, fn.__globals__[name], self._plain_globals)
            except InvalidType as error:
                self.refused[name] = error
                found.append(name)
        return found

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
        thing = python_number(translate(thing))
        if isinstance(thing, types.FunctionType) and thing.__module__ == "pdb" and thing.__name__ == "set_trace":
            return debugger.set_trace
        if isinstance(thing, constexpr):
            return self.exchange(thing.value)
        if isinstance(thing, types.ModuleType):
            return namespace(thing) if thing.__name__.startswith("tle2cuda.language") else thing
        inner = device_function(thing)
        if inner is not None:
            known = self._device.get(id(inner))
            if known is None:
                known = self._device[id(inner)] = DeviceFunction(inner, self)
                self._originals[id(known)] = thing
            return known
        if type(thing) in (tuple, list):
            return tuple(self.exchange(item) for item in thing)
        facts = aggregate_class(thing)
        if facts is not None:
            return self._aggregates.setdefault(id(thing), AggregateMaker(facts, self.exchange))
        python = getattr(thing, "__name__", None)
        if isinstance(python, str) and getattr(builtins, python, None) is thing:
            return BUILTINS[python]
        found = counterpart(thing)
        return self._of_host(thing) if found is thing and _is_of_host(thing) else found

    def _of_host(self, function: Any) -> Any:
        """A function of the host, which takes and gives device functions and the like as they are outside of kernels."""
        if id(function) in self._originals:  # it is one already
            return function
        bound = isinstance(function, types.MethodType)  # made anew by every look-up
        key = (id(function.__self__), id(function.__func__)) if bound else id(function)
        known = self._host.get(key)
        if known is None:

            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                __tracebackhide__ = True
                plain = {name: self._original(value) for name, value in kwargs.items()}
                return self._inside(function(*map(self._original, args), **plain))

            known = self._host[key] = call
            self._originals[id(call)] = function
        return known

    def _original(self, thing: Any) -> Any:
        """What something in a kernel stands for."""
        if type(thing) in (tuple, list):
            return type(thing)(map(self._original, thing))
        return self._originals.get(id(thing), thing)

    def _inside(self, thing: Any) -> Any:
        """What stands for the result of a function of the host."""
        if type(thing) in (tuple, list):
            return type(thing)(map(self._inside, thing))
        if type(thing) is dict:
            return {name: self._inside(value) for name, value in thing.items()}
        return self.member(thing)

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

    def member(self, thing: Any) -> Any:
        """What stands for an attribute of a value: of a constant it may be something from outside the kernel."""
        if isinstance(thing, (Tile, Aggregate)):
            return thing
        is_method = isinstance(thing, types.MethodType) and _is_of_host(thing)
        is_outside = is_method or isinstance(thing, _FROM_OUTSIDE) or device_function(thing) is not None
        return self.attribute(thing) if is_outside else thing

    def meshes(self, fn: Callable[..., Any], constants: dict[str, Any]) -> list[device_mesh]:
        """Meshes that a kernel can see: in its constants, its globals, and those of functions it calls."""
        found = [value for value in constants.values() if isinstance(value, device_mesh)]
        return [*found, *(value for value in self._all_reached(fn, constants) if isinstance(value, device_mesh))]

    def calls_host(self, fn: Callable[..., Any], constants: dict[str, Any]) -> bool:
        """Whether a kernel can reach functions of the host, which may do anything, in other functions too."""
        return any(
            isinstance(value, types.FunctionType) and not value.__module__.startswith("tle2cuda.")
            for value in (*constants.values(), *self._all_reached(fn, constants))
        )

    def _all_reached(self, fn: Callable[..., Any], constants: dict[str, Any]) -> Iterator[Any]:
        """What a kernel and the functions that it calls reach by names from outside."""
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
                yield value

    def _reached(self, fn: Callable[..., Any]) -> Iterator[Any]:
        """What a function reaches by names from outside, and by attributes of modules among them."""
        code = code_of(fn, self.newer)
        for _, value in self.outer_names(fn, code):
            yield value
            if isinstance(value, types.ModuleType):
                yield from (self.attribute(getattr(value, name)) for name in _names(code) if hasattr(value, name))


def _is_of_host(thing: Any) -> bool:
    """Whether something is the user's or a library's function in Python, which kernels call as it is."""
    module = getattr(thing, "__module__", None) or ""
    return isinstance(thing, _HOST_CALLABLES) and not module.startswith("tle2cuda.")


def _inner(code: types.CodeType) -> Iterator[types.CodeType]:
    """Code inside of code, as of comprehensions."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _inner(constant)


def _names(code: types.CodeType) -> Iterator[str]:
    for one in (code, *_inner(code)):
        yield from one.co_names
