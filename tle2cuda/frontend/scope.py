"""The state of one function while it is traced: its names, its place in the source, its way of reporting."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from tle2cuda.errors import (
    CompilationError,
    InternalError,
    InvalidArgument,
    InvalidType,
    KernelError,
    UndefinedName,
)
from tle2cuda.frontend.liveness import analyse, assigned_names
from tle2cuda.frontend.names import OuterNames
from tle2cuda.frontend.session import PoisonUsed, Session
from tle2cuda.frontend.source import FunctionSource, source_of
from tle2cuda.frontend.values import (
    POISON,
    Binding,
    Poison,
    Undefined,
    describe_value,
    is_handle,
    set_part_names,
    wrap,
)
from tle2cuda.ir.span import Span

current_scope: ContextVar[Scope | None] = ContextVar("tle2cuda_scope", default=None)

_LONGEST_LABEL = 32


class Scope:
    """Names, spans and errors of one function being traced.

    Args:
        session: The kernel's tracing run.
        fn: The Python function.
        call_site: Where it is called from; None for the kernel itself.
    """

    def __init__(self, session: Session, fn: Callable[..., Any], call_site: Span | None = None) -> None:
        self.session = session
        self.builder = session.builder
        self.fn = fn
        self.source: FunctionSource = source_of(fn)
        self.call_site = call_site
        self.env: dict[str, Binding] = {}
        self.outer = OuterNames(fn, session.plain_globals)
        self.live = analyse(self.source.node)
        arguments = self.source.node.args
        parameters = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        self.local_names = dict.fromkeys([*parameters, *assigned_names(self.source.node.body)])

    # -- places --

    def span(self, node: ast.AST, end: ast.AST | None = None) -> Span:
        """Span of a node, with the call it was inlined by."""
        return self.source.span(node, end, self.call_site)

    def header_span(self, node: ast.stmt) -> Span:
        """Span of a compound statement's first line: up to its condition or iterable."""
        match node:
            case ast.If() | ast.While():
                return self.span(node, node.test)
            case ast.For():
                return self.span(node, node.iter)
        return self.span(node)

    @contextlib.contextmanager
    def at(self, node: ast.AST) -> Iterator[Span]:
        """Operations emitted inside come from `node`; errors raised inside without a place get this one."""
        span = self.span(node)
        with self.builder.at(span):
            try:
                yield span
            except KernelError as error:
                if error.span is None:
                    error.span = span
                raise

    # -- names --

    def read(self, name: str) -> Any:
        """Value of a name.

        Raises:
            UndefinedName: It has none here.
            PoisonUsed: Its computation failed.
        """
        binding = self.env.get(name)
        if binding is None:
            if name in self.local_names:
                raise UndefinedName(f"`{name}` has no value here: it is assigned only further down")
            return self._wrap_outer(self.outer.lookup(name, self.local_names))
        value = binding.value
        if isinstance(value, Undefined):
            raise UndefinedName(f"`{name}` has no value here: {value.reason}", help=value.help)
        if isinstance(value, Poison):
            raise PoisonUsed
        return value

    def _wrap_outer(self, value: Any) -> Any:
        return wrap(value)

    def bind(self, name: str, value: Any, span: Span) -> None:
        """Assigns a name; a run-time value gets the name as its hint, and so do the parts of a tuple or an object."""
        set_part_names(value, name)
        self.env[name] = Binding(value, span)

    def poison(self, nodes: Sequence[ast.AST], span: Span) -> None:
        """Marks the names assigned in `nodes` as failed."""
        for name in assigned_names(nodes):
            self.env[name] = Binding(POISON, span)

    # -- facts --

    def fact(self, label: str, value: Any) -> str:
        """Line of an error about one operand: what it is and where it came from."""
        where = ""
        if is_handle(value):
            origin = self.builder.origin(value.value)
            where = f", {origin}" if origin else ""
        return f"{label}: {describe_value(value)}{where}"

    def operand_facts(self, operands: Sequence[tuple[ast.expr, Any]]) -> tuple[str, ...]:
        """Facts about the run-time operands of an expression, labelled by their source text."""
        facts = []
        for node, value in operands:
            label = self.span(node).text()
            if is_handle(value) and 0 < len(label) <= _LONGEST_LABEL:
                facts.append(self.fact(label, value))
        return tuple(dict.fromkeys(facts))


def located(error: KernelError, span: Span, facts: Sequence[str] = ()) -> KernelError:
    """`error` with a place and facts, unless it has its own."""
    if error.span is None:
        error.span = span
        if not error.facts:
            error.facts = tuple(facts)
    return error


_ORDINARY = (
    ValueError,
    TypeError,
    IndexError,
    KeyError,
    NotImplementedError,
    AttributeError,
    ArithmeticError,
)


def foreign_error(what: str, error: Exception, span: Span, ours: bool) -> KernelError:
    """An exception of a function called while tracing, as an error at the user's line.

    Args:
        what: Name of the function.
        error: What it raised; becomes the cause.
        span: The call.
        ours: Whether the function belongs to the language: then anything but a complaint about its arguments
            is a fault of ours.
    """
    inner = str(error) or type(error).__name__
    text = f"{what}: {type(error).__name__}: {inner}"
    wrapped: KernelError
    if ours and not isinstance(error, (ValueError, TypeError, IndexError, NotImplementedError)):
        wrapped = InternalError(f"internal error in {text}", span)
    elif isinstance(error, ValueError):
        wrapped = InvalidArgument(text, span)
    elif isinstance(error, TypeError):
        wrapped = InvalidType(text, span)
    else:
        wrapped = CompilationError(text, span)
    wrapped.__cause__ = error
    return wrapped


def is_ordinary(error: Exception) -> bool:
    """Whether an exception of host code is worth wrapping."""
    return isinstance(error, _ORDINARY)
