"""Names outside the function: closure, module globals, builtins, and Triton's names as ours.

Existing kernels import `triton.language` and `triton.experimental.tle`. Their objects are recognised by
qualified name and exchanged for ours, so neither package is ever imported here.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import types
from collections.abc import Callable, Iterable
from typing import Any

from tle2cuda.errors import CompilationError, InvalidType, UndefinedName
from tle2cuda.ir.types import DType
from tle2cuda.near_names import did_you_mean
from tle2cuda.ops.core import constexpr, is_builtin, pointer_type

_TRITON_MODULES = (
    ("triton.experimental.tle.language.gpu", "tle2cuda.language", "tle.gpu"),
    ("triton.experimental.tle.language.raw", "tle2cuda.language", "tle.raw"),
    ("triton.experimental.tle.language", "tle2cuda.language", "tle"),
    ("triton.experimental.tle", "tle2cuda.language", "tle"),
    ("triton.language.extra.cuda.libdevice", "tle2cuda.language", "extra.cuda.libdevice"),
    ("triton.language.extra.cuda", "tle2cuda.language", "extra.cuda"),
    ("triton.language.extra.libdevice", "tle2cuda.language", "extra.libdevice"),
    ("triton.language.extra", "tle2cuda.language", "extra"),
    ("triton.language.math", "tle2cuda.language", "math"),
    ("triton.language.random", "tle2cuda.language", "random"),
    ("triton.language.standard", "tle2cuda.language", "standard"),
    ("triton.language.target_info", "tle2cuda.language", "target_info"),
    ("triton.language", "tle2cuda.language", ""),
    ("triton", "tle2cuda", ""),
)
_HOST_FUNCTION = "ConstexprFunction"  # Triton's; what it wraps runs on compile-time values
_HOST_DATA = (bool, int, float, complex, str, bytes, list, dict, set, tuple)


def is_from_triton(thing: Any) -> bool:
    """Whether an object was defined by Triton or its TLE extension."""
    module = thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None)
    return isinstance(module, str) and (module == "triton" or module.startswith("triton."))


def translate(thing: Any) -> Any:
    """Triton's objects as ours; everything else unchanged.

    Raises:
        CompilationError: It is Triton's, and there is no counterpart.
    """
    if is_builtin(thing) or isinstance(thing, (constexpr, DType)):
        return thing
    if isinstance(thing, types.ModuleType):
        return _counterpart(thing.__name__, thing) if is_from_triton(thing) else thing
    cls = type(thing)
    if is_from_triton(cls):
        if cls.__name__ == "constexpr":
            return constexpr(translate(thing.value))
        if cls.__name__ == "dtype":
            return DType(thing.name)
        if cls.__name__ == "pointer_type":
            return pointer_type(translate(thing.element_ty))
    function = getattr(thing, "fn", thing)
    if is_from_triton(function) and not is_from_triton_user(thing):
        return _named(function)
    return thing


def is_from_triton_user(thing: Any) -> bool:
    """Whether a `triton.jit` object wraps a function that Triton itself does not define."""
    function = device_function(thing)
    return function is not None and not is_from_triton(function)


def _named(function: Any) -> Any:
    module, name = function.__module__, function.__name__
    for prefix, ours, path in _TRITON_MODULES:
        if module == prefix or module.startswith(prefix + "."):
            space = _walk(importlib.import_module(ours), path)
            # Triton defines the names of a namespace in private modules such as triton.language.core.
            if space is not None and hasattr(space, name):
                return getattr(space, name)
            break
    raise CompilationError(f"{module}.{name} is not supported")


def _walk(space: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        space = getattr(space, part, None)
    return space


def _counterpart(name: str, module: types.ModuleType) -> Any:
    for prefix, ours, path in _TRITON_MODULES:
        if name == prefix:
            space = _walk(importlib.import_module(ours), path)
            if space is not None:
                return space
    return module


def device_function(thing: Any) -> Callable[..., Any] | None:
    """The Python function inside a `jit` object (ours, Triton's, and tuners around them); None for others."""
    if inspect.isfunction(thing) or inspect.isclass(thing) or isinstance(thing, (types.ModuleType, constexpr)):
        return None
    if type(thing).__name__ == _HOST_FUNCTION:
        return None
    seen = 0
    while hasattr(thing, "fn") and seen < 8:
        thing, seen = thing.fn, seen + 1
    return thing if seen and inspect.isfunction(thing) else None


def host_function(thing: Any) -> Any:
    """The Python function inside what Triton's `constexpr_function` made; anything else unchanged."""
    return thing.fn if type(thing).__name__ == _HOST_FUNCTION and inspect.isfunction(thing.fn) else thing


class OuterNames:
    """Resolves the names a function takes from outside itself.

    Args:
        fn: The function.
        plain_globals: Numbers, strings and tuples of the module are constants as if marked `tl.constexpr`.
    """

    def __init__(self, fn: Callable[..., Any], plain_globals: bool = False) -> None:
        self._plain_globals = plain_globals
        code: Any = getattr(fn, "__code__", None)
        cells = getattr(fn, "__closure__", None) or ()
        self._closure = dict(zip(code.co_freevars, cells, strict=True))
        self._globals: dict[str, Any] = getattr(fn, "__globals__", {})

    def lookup(self, name: str, local_names: Iterable[str]) -> Any:
        """The object behind `name`.

        Raises:
            UndefinedName: There is none.
            InvalidType: It is a module-level number or other data not marked `tl.constexpr`.
        """
        if name in self._closure:
            try:
                return translate(self._closure[name].cell_contents)
            except ValueError:
                raise UndefinedName(f"`{name}` of the enclosing function has no value yet") from None
        if name in self._globals:
            value = self._globals[name]
            check_global(name, value, self._plain_globals)
            return translate(value)
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise UndefinedName(
            f"`{name}` is not defined", help=did_you_mean(name, [*local_names, *self._closure, *self._globals])
        )


def _is_marked(value: Any) -> bool:
    """Whether a module's object is constexpr, or a tuple of such and of objects that are no data."""
    if isinstance(value, tuple):
        return all(_is_marked(item) for item in value)
    return type(value).__name__ == "constexpr" or not isinstance(value, _HOST_DATA)


def check_global(name: str, value: Any, plain: bool) -> None:
    """Refuses data of a module that is not marked constant.

    Args:
        name: The variable's name.
        value: What it holds.
        plain: Numbers, strings and tuples are constants without being marked so.

    Raises:
        InvalidType: The variable holds a number, a list, an array and so on.
    """
    if value is None or isinstance(value, constexpr) or (isinstance(value, tuple) and value and _is_marked(value)):
        return
    if plain and isinstance(value, (bool, int, float, str, tuple)):
        return
    if isinstance(value, _HOST_DATA):
        shown = repr(value) if len(repr(value)) <= 40 else f"a {type(value).__name__}"
        help_text = f"write `{name} = tl.constexpr({shown})` at module level, or pass it as a tl.constexpr parameter"
        raise InvalidType(
            f"`{name}` is the global variable {shown}; a kernel reads only globals that are tl.constexpr, "
            "because a later change would not reach the compiled kernel",
            help=help_text,
        )
    if hasattr(value, "__array__") or hasattr(value, "__cuda_array_interface__") or hasattr(value, "data_ptr"):
        raise InvalidType(f"`{name}` is a global array", help="pass arrays as arguments of the kernel")
