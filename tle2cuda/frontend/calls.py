"""Calls: language functions, inlined device functions, Python's builtins and host functions on constants."""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tle2cuda.errors import (
    CompilationError,
    ConstexprRequired,
    InvalidArgument,
    InvalidType,
    KernelError,
    UnsupportedSyntax,
)
from tle2cuda.frontend.aggregates import AggregateClass, BoundMethod, aggregate_class, construct
from tle2cuda.frontend.expressions import Expressions
from tle2cuda.frontend.iterators import CountedLoop, range_of
from tle2cuda.frontend.liveness import constexpr_names
from tle2cuda.frontend.names import device_function, host_function, translate
from tle2cuda.frontend.scope import current_scope, foreign_error, located
from tle2cuda.frontend.session import MAX_INLINE_DEPTH, PoisonUsed, TooManyErrors
from tle2cuda.frontend.values import POISON, Binding, describe_value, is_handle, is_static, set_name, wrap
from tle2cuda.ir.builder import reads_3_9
from tle2cuda.ir.span import Span
from tle2cuda.near_names import did_you_mean
from tle2cuda.ops import loops
from tle2cuda.ops.core import constexpr, is_builtin, is_instance_of, set_call_function, tensor, unwrap
from tle2cuda.ops.debug import device_print
from tle2cuda.ops.extrema import maximum, minimum

_FOLDED_BUILTINS = frozenset(
    {abs, all, any, bin, bool, chr, divmod, float, hex, int, len, ord, pow, repr, round, sorted, str, sum}
)
_INSTEAD = {
    abs: "use tl.abs",
    bool: "compare it with something, such as x != 0",
    float: "use x.to(tl.float32)",
    int: "use x.to(tl.int32)",
    len: "use x.shape",
    pow: "use multiplication, or tl.exp2(y * tl.log2(x))",
    round: "use the rounding functions of tl.extra.libdevice",
    sum: "use tl.sum",
}
_ARRAY_LIBRARIES = frozenset({"cmath", "cupy", "jax", "math", "numpy", "torch"})
_MOST_POSITIONAL = 3  # pointer, mask and other; pointer, value and mask
_NAMES_IN_LANGUAGE = {
    "absolute": "abs",
    "clip": "clamp",
    "concatenate": "cat",
    "fabs": "abs",
    "fmax": "maximum",
    "fmin": "minimum",
}


@functools.lru_cache(maxsize=512)
def signature_of(fn: Callable[..., Any]) -> inspect.Signature:
    """Signature of a Python function, computed once."""
    return inspect.signature(fn)


def is_constexpr_annotation(annotation: Any) -> bool:
    """Whether a parameter's annotation is `tl.constexpr`, as an object or as text."""
    if isinstance(annotation, str):
        return annotation.strip().rpartition(".")[2] == "constexpr"
    return getattr(annotation, "__name__", "") == "constexpr"


class Calls(Expressions):
    """Evaluates calls."""

    def inline(self, fn: Callable[..., Any], args: Mapping[str, Any], call_site: Span) -> Any:
        """Traces a device function with bound arguments (in `FunctionTracer`)."""
        raise NotImplementedError

    def call(self, node: ast.Call) -> Any:
        """Value of a call expression."""
        function = self.evaluate(node.func)
        if isinstance(function, constexpr):
            function = unwrap(function)
        args, kwargs = self._arguments(node)
        name = self.span(node.func).text()
        if isinstance(function, BoundMethod):
            return self.call_method(node, function, args, kwargs)
        made = aggregate_class(function)
        if made is not None:
            return self._construct(node, made, args, kwargs)
        if is_builtin(function) or is_handle(getattr(function, "__self__", None)):
            return self._call_language(node, name, function, args, kwargs)
        inner = device_function(function)
        if inner is not None:
            return self.call_device(inner, args, kwargs, self.span(node))
        if _is_python_builtin(function):
            return self._call_python(node, name, function, args, kwargs)
        function = host_function(function)
        if not callable(function):
            raise InvalidType(f"`{name}` is not a function: {describe_value(function)}", self.span(node))
        return self._call_host(node, name, function, args, kwargs)

    def _arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        args = self.elements(node.args)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise UnsupportedSyntax(
                    "`**` in a call is not supported in a kernel",
                    self.span(keyword),
                    help="name the arguments",
                )
            kwargs[keyword.arg] = self.evaluate(keyword.value)
        return args, kwargs

    def _operands(self, node: ast.Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[ast.expr, Any]]:
        """Argument expressions with their values, where one expression is one argument."""
        pairs: list[tuple[ast.expr, Any]] = []
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            binding = self.env.get(node.func.value.id)
            if binding is not None and is_handle(binding.value):
                pairs.append((node.func.value, binding.value))
        if not any(isinstance(arg, ast.Starred) for arg in node.args):
            pairs += zip(node.args, args, strict=True)
        pairs += [(k.value, kwargs[k.arg]) for k in node.keywords if k.arg is not None]
        return pairs

    # -- language functions --

    def _call_language(
        self, node: ast.Call, name: str, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        span = self.span(node)
        _check_positional(name, function, args, span)
        token = current_scope.set(self)
        try:
            with self.builder.at(span):
                return wrap(function(*args, **kwargs))
        except KernelError as error:
            operands = self._operands(node, args, kwargs)
            self._explain_run_time(error, operands)
            raise located(error, span, self.operand_facts(operands)) from error.__cause__
        except TypeError as error:
            problem = _binding_problem(function, args, kwargs)
            if problem is None:
                raise foreign_error(name, error, span, ours=True) from error
            unknown = next((keyword for keyword in kwargs if f"`{keyword}`" in problem), "")
            meant = did_you_mean(unknown, inspect.signature(function).parameters) if unknown else ""
            raise InvalidType(f"{name}: {problem}", span, _usage(name, function), meant) from error
        except (PoisonUsed, TooManyErrors):
            raise
        except Exception as error:
            raise foreign_error(name, error, span, ours=True) from error
        finally:
            current_scope.reset(token)

    # -- aggregates --

    def _construct(self, node: ast.Call, cls: AggregateClass, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A new value of an aggregate; its `__init__` may set fields of `self`, on the host or in traced code."""

        def run(init: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
            return self._call_function(node, f"{cls.name}.__init__", init, arguments, named)

        with self.at(node):
            return construct(cls, args, kwargs, run)

    def call_method(self, node: ast.expr, method: BoundMethod, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Calls a method of an aggregate."""
        name = f"{method.owner._class_.name}.{method.name}"
        return self._call_function(node, name, method.function, [method.owner, *args], kwargs)

    def _call_function(self, node: ast.expr, name: str, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Calls a jit object by inlining it, or a Python function with the values as names hold them."""
        inner = device_function(function)
        if inner is not None:
            return self.call_device(inner, args, kwargs, self.span(node))
        host = host_function(function)
        token = current_scope.set(self)
        try:
            with self.at(node) as span:
                return wrap(host(*args, **kwargs))
        except (KernelError, PoisonUsed, TooManyErrors):
            raise
        except Exception as error:
            raise foreign_error(name, error, span, ours=False) from error
        finally:
            current_scope.reset(token)

    # -- device functions --

    def call_device(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], call_site: Span) -> Any:
        """Inlines a jit function."""
        name = fn.__name__
        signature = signature_of(fn)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            parameters = ", ".join(signature.parameters)
            raise InvalidArgument(f"{name}: {error}", call_site, (f"parameters: {parameters}",)) from None
        values: dict[str, Any] = {}
        for parameter in signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                raise UnsupportedSyntax(
                    f"{name}: a device function cannot take `**{parameter.name}`", call_site, help="name every parameter"
                )
            if parameter.kind is parameter.VAR_POSITIONAL:
                if not reads_3_9():
                    raise UnsupportedSyntax(
                        f"{name}: a device function cannot take `*{parameter.name}`",
                        call_site,
                        help='pass a tuple as one argument, or read the kernel by the rules of Triton 3.9 (language="3.9")',
                    )
                value = tuple(bound.arguments.get(parameter.name, ()))
            elif parameter.name in bound.arguments:
                value = bound.arguments[parameter.name]
            else:
                value = wrap(translate(parameter.default))
            values[parameter.name] = value
        if self.session.depth >= MAX_INLINE_DEPTH:
            raise CompilationError(
                f"{name}: calls are nested more than {MAX_INLINE_DEPTH} deep",
                call_site,
                help="device functions are inlined, so recursion must end at compile time; write a loop",
            )
        self.session.depth += 1
        try:
            result = self.inline(fn, values, call_site)
        finally:
            self.session.depth -= 1
        if result is POISON:
            raise PoisonUsed
        return result

    # -- Python's builtins --

    def _call_python(
        self, node: ast.Call, name: str, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        span = self.span(node)
        with self.at(node):
            if function is range:
                return range_of(tuple(args))
            if function is print:
                return self._print(node, args, kwargs)
            if function in (min, max) and not all(is_static(arg) for arg in args):
                return self._min_max(node, name, args)
            if function is isinstance:
                if len(args) != 2:
                    raise InvalidType(f"isinstance takes two arguments, got {len(args)}")
                return constexpr(_is_instance(args[0], args[1]))
            if function is hasattr and is_handle(args[0]):
                return constexpr(hasattr(args[0], unwrap(args[1])))
            if function is getattr and len(args) == 2 and not kwargs and is_static(args[1]):
                named = ast.Attribute(node.args[0], str(unwrap(args[1])), ast.Load())
                return self.evaluate(ast.copy_location(named, node))
            if function in (tuple, list) and len(args) == 1 and isinstance(args[0], tuple):
                return args[0]
            if function is len and isinstance(args[0], tuple):
                return constexpr(len(args[0]))
            if function in (enumerate, reversed, zip) and all(isinstance(arg, tuple) for arg in args):
                made: Any = function(*args, **{k: unwrap(v) for k, v in kwargs.items()})
                return tuple(wrap(item) for item in made)
            if function in _FOLDED_BUILTINS or function in (min, max, tuple, list, hasattr, type):
                dynamic = [arg for arg in (*args, *kwargs.values()) if not is_static(arg)]
                if not dynamic:
                    return self._call_host(node, name, function, args, kwargs)
                raise ConstexprRequired(
                    f"`{name}` works on compile-time values, got a run-time value ({describe_value(dynamic[0])})",
                    span,
                    self.operand_facts(self._operands(node, args, kwargs)),
                    help=_INSTEAD.get(function, ""),
                )
        if all(is_static(arg) for arg in (*args, *kwargs.values())):
            return self._call_host(node, name, function, args, kwargs)
        raise UnsupportedSyntax(f"`{name}` is not supported on run-time values in a kernel", span)

    def _print(self, node: ast.Call, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """`print` is `tl.device_print`; leading strings become the prefix."""
        prefix = [str(arg) for arg in args if is_static(arg)]
        values = [arg for arg in args if not is_static(arg)]
        return self._call_language(node, "print", device_print, [constexpr(" ".join(prefix)), *values], kwargs)

    def _min_max(self, node: ast.Call, name: str, args: list[Any]) -> Any:
        """`min` and `max` with a run-time operand are `tl.minimum` and `tl.maximum`."""
        function = minimum if name == "min" else maximum
        items = list(args[0]) if len(args) == 1 and isinstance(args[0], tuple) else args
        result = items[0]
        for item in items[1:]:
            result = self._call_language(node, name, function, [result, item], {})
        return result

    def _explain_run_time(self, error: KernelError, operands: Sequence[tuple[ast.expr, Any]]) -> None:
        """Says why a name is not a constant, where a constant is needed."""
        if not isinstance(error, ConstexprRequired) or error.span is not None:
            return
        annotated = constexpr_names(self.source.node.body)
        for node, value in operands:
            if not isinstance(node, ast.Name) or not isinstance(value, tensor):
                continue
            if self._is_constexpr_parameter(node.id):
                where = self.call_site.short() if self.call_site is not None else "the launch"
                error.help = f"`{node.id}` is a tl.constexpr parameter, but {where} passes a run-time value for it"
            elif node.id in annotated:
                error.help = (
                    f"the annotation makes no constant of a run-time value: compute `{node.id}` from constants only"
                )
            elif self.builder.maker.get(value.value) == "constant":
                error.help = (
                    f"plain assignment makes a number a run-time scalar; write `{node.id}: tl.constexpr = ...` "
                    "where it is assigned"
                )

    def _is_constexpr_parameter(self, name: str) -> bool:
        binding = self.env.get(name)
        parameter = signature_of(self.fn).parameters.get(name)
        if binding is None or parameter is None or not is_constexpr_annotation(parameter.annotation):
            return False
        return all(binding.span != self.span(n) for n in ast.walk(self.source.node) if isinstance(n, ast.Name))

    # -- host functions --

    def _call_host(
        self, node: ast.Call, name: str, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        """Calls a Python function or class on compile-time values, now."""
        span = self.span(node)
        if function is breakpoint or getattr(function, "__name__", "") == "set_trace":  # pdb's, ipdb's, pudb's
            raise UnsupportedSyntax(
                f"`{name}` cannot stop a kernel that is compiled",
                span,
                help="run it as ordinary Python: `tle2cuda run --on eager SCRIPT`, TLE2CUDA_DEVICE=eager, "
                "or kernel.eager[grid](...)",
            )
        if function is constexpr and len(args) == 1 and not is_static(args[0]):
            return args[0]  # as in Triton, no constant comes of it
        if _takes_run_time_values(function):
            plain_args, plain_kwargs = list(args), dict(kwargs)
        else:
            dynamic = [arg for arg in (*args, *kwargs.values()) if not is_static(arg)]
            if dynamic:
                raise InvalidType(
                    f"`{name}` is a Python function of the host: it takes compile-time values, "
                    f"got a run-time value ({describe_value(dynamic[0])})",
                    span,
                    self.operand_facts(self._operands(node, args, kwargs)),
                    help=_instead_of_host(function),
                )
            if any(isinstance(arg, (CountedLoop, loops.range, loops.static_range)) for arg in map(unwrap, args)):
                raise InvalidType(
                    f"`{name}` cannot take a range: in a kernel only loops and comprehensions go over it",
                    span,
                    help="write `for i in range(...)`; for a tuple of constants, [i for i in range(N)]",
                )
            plain_args = [unwrap(arg) for arg in args]
            plain_kwargs = {key: unwrap(value) for key, value in kwargs.items()}
        try:
            with self.builder.at(span):
                return wrap(function(*plain_args, **plain_kwargs))
        except KernelError as error:
            self._explain_run_time(error, self._operands(node, args, kwargs))
            raise located(error, span) from error.__cause__
        except Exception as error:
            raise foreign_error(name, error, span, ours=False) from error


def _check_positional(name: str, function: Callable[..., Any], args: Sequence[Any], span: Span) -> None:
    """Refuses positional arguments of loads and stores that are keyword-only from Triton 3.9 on.

    Raises:
        InvalidArgument: There are some.
    """
    if getattr(function, "__name__", "") in ("load", "store") and len(args) > _MOST_POSITIONAL and reads_3_9():
        raise InvalidArgument(
            f"{name} takes at most {_MOST_POSITIONAL} positional arguments by the rules of Triton 3.9, got {len(args)}",
            span,
            help="name the others, such as cache_modifier=",
        )


def _usage(name: str, function: Callable[..., Any]) -> tuple[str, ...]:
    """How a language function is called: its parameters with their defaults, without annotations."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    empty = inspect.Parameter.empty
    shown = [p.replace(annotation=empty) for p in parameters if p.name != "self"]
    return (f"usage: {name}{inspect.Signature(shown)}",)


def _instead_of_host(function: Callable[..., Any]) -> str:
    """What to call in place of a function of the host: the language's own, or a jit function."""
    module = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__name__", "")
    name = _NAMES_IN_LANGUAGE.get(name, name)
    if str(module).partition(".")[0] in _ARRAY_LIBRARIES:
        language = importlib.import_module("tle2cuda.language")
        found = is_builtin(getattr(language, name, None))
        return f"use tl.{name}" if found else "compute it with functions of tl"
    return "decorate it with @tle2cuda.jit to call it in the kernel" if inspect.isfunction(function) else ""


def _takes_run_time_values(function: Callable[..., Any]) -> bool:
    """Classes whose instances may hold run-time values: the language's loop ranges, and named tuples."""
    if not isinstance(function, type):
        return False
    if issubclass(function, tuple) and hasattr(function, "_fields"):
        return True
    is_ours = (function.__module__ or "").startswith("tle2cuda.")
    return is_ours and function.__name__ in ("range", "static_range", "pipeline")


def _is_python_builtin(function: Any) -> bool:
    name = getattr(function, "__name__", "")
    return isinstance(function, (type, types.BuiltinFunctionType)) and getattr(builtins, name, None) is function


def _is_instance(value: Any, classes: Any) -> bool:
    """`isinstance` as in Triton: of compile-time values it sees what they hold, so that none is a `tl.constexpr`."""
    candidates = classes if isinstance(classes, tuple) else (classes,)
    for candidate in candidates:
        cls = unwrap(candidate)
        if cls is tensor:
            if isinstance(value, tensor):
                return True
        elif is_static(value) and isinstance(cls, type):
            if is_instance_of(unwrap(value), cls):
                return True
        elif isinstance(cls, type) and isinstance(value, cls):
            return True
    return False


def _binding_problem(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """Why the arguments do not fit the parameters; None when they do."""
    try:
        signature = inspect.signature(function)
        takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
        for name in kwargs:
            if name not in signature.parameters and not takes_any:
                known = ", ".join(signature.parameters)
                return f"there is no parameter `{name}`; parameters: {known}"
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    except ValueError:
        return None
    return None


def _call_from_language(function: Any, args: Sequence[Any]) -> Any:
    """How language functions such as `tl.reduce` call a user's function."""
    if is_builtin(function):
        return function(*args)
    scope = current_scope.get()
    inner = device_function(function) or function
    if not inspect.isfunction(inner):
        raise InvalidType(f"expected a function decorated with @tle2cuda.jit, got {describe_value(function)}")
    if not isinstance(scope, Calls):
        return inner(*args)
    return scope.call_device(inner, args, {}, scope.builder.span)


set_call_function(_call_from_language)


def bind_parameters(scope: Calls, values: Mapping[str, Any], span_of: Callable[[str], Span]) -> None:
    """Gives the parameters of an inlined function their values."""
    for name, value in values.items():
        set_name(value, name)
        scope.env[name] = Binding(value, span_of(name))
