"""Tracing a kernel function: statements, error recovery, inlining, and the finished kernel."""

from __future__ import annotations

import ast
import collections
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tle2cuda.analysis.products_in_flight import check_products
from tle2cuda.errors import (
    CapabilityError,
    CompilationError,
    ConstexprRequired,
    InvalidType,
    KernelError,
    MeshError,
    UnsupportedSyntax,
)
from tle2cuda.frontend.aggregates import Aggregate
from tle2cuda.frontend.branches import FALLS, NO_VALUE, Arm, NoValue, Outcome
from tle2cuda.frontend.calls import bind_parameters
from tle2cuda.frontend.expressions import BINARY
from tle2cuda.frontend.iterators import UnrolledLoop, loop_of, unrolled_values
from tle2cuda.frontend.loops import Loops
from tle2cuda.frontend.parameters import ParameterBinder
from tle2cuda.frontend.scope import current_scope
from tle2cuda.frontend.session import PoisonUsed, Session, TooManyErrors, TracingBuilder
from tle2cuda.frontend.unsupported import unsupported
from tle2cuda.frontend.values import POISON, decay, describe_value, is_handle, is_static, wrap
from tle2cuda.ir.builder import reads_3_9, warn
from tle2cuda.ir.nodes import Kernel, Region
from tle2cuda.ir.span import Span
from tle2cuda.levels import DEFAULT_LEVEL
from tle2cuda.ops.buffers import buffered_tensor
from tle2cuda.ops.core import constexpr, tensor, unwrap
from tle2cuda.ops.debug import device_assert
from tle2cuda.runtime.contract import ArgSpec
from tle2cuda.targets import DEFAULT_STAGES, parse_target


@dataclass(frozen=True, slots=True)
class _Iteration:
    """Start of one iteration of an unrolled loop, standing in a list of statements."""

    loop: ast.For
    value: Any


class FunctionTracer(Loops):
    """Traces the statements of one function."""

    def function_body(self) -> Any:
        """Traces the body; returns what the function returns."""
        outcome = self.block(self.source.node.body, True, frozenset())
        return outcome.value

    # -- lists of statements --

    def block(self, statements: Sequence[Any], tail: bool, live_after: frozenset[str]) -> Outcome:
        """Traces statements; what follows an early return moves into the other side of its branch.

        Args:
            statements: Statements, and starts of iterations.
            tail: Nothing of the function follows, so falling through is returning nothing.
            live_after: Names needed behind the block.
        """
        queue = collections.deque(statements)
        while queue:
            statement = queue.popleft()
            try:
                if isinstance(statement, _Iteration):
                    self.assign(statement.loop.target, wrap(statement.value), keep_constants=True)
                    continue
                with self.at(statement):
                    outcome = self._flow(statement, queue, tail, live_after)
            except CompilationError as error:
                self._recover(statement, error)
                continue
            except PoisonUsed:
                self._recover(statement, None)
                continue
            if outcome.kind == "returns":
                return outcome
            if outcome.kind == "maybe" and queue:
                assert outcome.flag is not None
                span = self.header_span(statement)
                return self.rest_unless(outcome.flag, outcome, list(queue), tail, live_after, span)
            if outcome.kind == "maybe":
                return outcome
        return Outcome("returns", NO_VALUE) if tail else FALLS

    def _flow(self, node: ast.stmt, rest: collections.deque[Any], tail: bool, live_after: frozenset[str]) -> Outcome:
        """Traces one statement and updates the statements still to be traced behind it."""
        match node:
            case ast.If():
                test = self.condition(node.test, "`if`")
                if isinstance(test, bool):
                    rest.extendleft(reversed(node.body if test else node.orelse))
                    return FALLS
                outcome, took_rest = self.dynamic_if(node, test, list(rest), tail, live_after)
                if took_rest:
                    rest.clear()
                return outcome
            case ast.For():
                if node.orelse:
                    raise self._loop_else(node)
                iterable = self.evaluate(node.iter)
                with self.at(node.iter):
                    loop = loop_of(iterable)
                if isinstance(loop, UnrolledLoop):
                    iterations = [[_Iteration(node, value), *node.body] for value in loop.values]
                    rest.extendleft(item for items in reversed(iterations) for item in reversed(items))
                    return FALLS
                self.counted_loop(node, loop)
                return FALLS
            case ast.Return():
                if self.loop_depth:
                    raise UnsupportedSyntax(
                        "`return` inside a loop is not supported in a kernel",
                        help="use `while` with the condition for going on, or return behind the loop",
                    )
                return Outcome("returns", self._returned(node))
        self._simple(node)
        return FALLS

    def _returned(self, node: ast.Return) -> Any:
        if node.value is None:
            return NO_VALUE
        try:
            value = self.evaluate(node.value)
            if is_static(value) and unwrap(value) is None:
                return NO_VALUE
            return value if reads_3_9() else decay(value, deep=True)
        except CompilationError as error:
            self._recover(node, error)
        except PoisonUsed:
            pass
        return POISON

    def _loop_else(self, node: ast.For | ast.While) -> UnsupportedSyntax:
        return UnsupportedSyntax(
            "`else` of a loop is not supported in a kernel",
            self.span(node.orelse[0]),
            help="without `break` it always runs: write its statements behind the loop",
        )

    def _recover(self, statement: Any, error: CompilationError | None) -> None:
        """Reports an error and goes on behind the statement, whose names are poisoned."""
        node = statement.loop.target if isinstance(statement, _Iteration) else statement
        span = self.span(node)
        if error is not None:
            if error.span is None:
                error.span = span
            self.session.report(error)
        self.poison([node], span)

    def trace_arm(self, statements: Sequence[Any], tail: bool, live_after: frozenset[str]) -> Arm:
        """Traces statements into a region of their own, on a copy of the names."""
        return self.continue_arm(Arm([], self.env, FALLS), statements, tail, live_after)

    def continue_arm(self, arm: Arm, statements: Sequence[Any], tail: bool, live_after: frozenset[str]) -> Arm:
        """Traces more statements behind those of an arm."""
        outer = self.env
        self.env = dict(arm.env)
        try:
            with self.builder.region() as ops:
                outcome = self.block(statements, tail, live_after)
            return Arm([*arm.ops, *ops], self.env, outcome)
        finally:
            self.env = outer

    # -- expressions that bind names --

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> Any:
        """A tuple of the element for each value of compile-time loops; the loop's names end with it."""
        outer = self.env
        self.env = dict(outer)
        try:
            return tuple(self._generated(node, node.generators))
        finally:
            self.env = outer

    def _generated(self, node: ast.ListComp | ast.GeneratorExp, generators: Sequence[ast.comprehension]) -> Iterator[Any]:
        if not generators:
            yield self.evaluate(node.elt)
            return
        first, rest = generators[0], generators[1:]
        iterable = self.evaluate(first.iter)
        with self.at(first.iter):
            values = unrolled_values(iterable)
        if first.ifs and not reads_3_9():
            raise UnsupportedSyntax(
                "the `if` of a comprehension is not supported in a kernel: Triton 3.6 ignores it",
                self.span(first.ifs[0]),
                help='leave it out, or read the kernel by the rules of Triton 3.9 (language="3.9")',
            )
        for value in values:
            self.assign(first.target, wrap(value), keep_constants=True)
            if all(self._is_kept(test) for test in first.ifs):
                yield from self._generated(node, rest)

    def _is_kept(self, test: ast.expr) -> bool:
        kept = self.condition(test, "`if` of a comprehension")
        if isinstance(kept, bool):
            return kept
        raise ConstexprRequired(
            "the `if` of a comprehension must be known at compile time, got a run-time value",
            self.span(test),
            help="keep every element, and choose with tl.where",
        )

    def named(self, node: ast.NamedExpr) -> Any:
        """``name := value``: assigns as a statement would, and is the value."""
        self.assign(node.target, self.evaluate(node.value))
        return self.read(node.target.id)

    # -- statements that always fall through --

    def _simple(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr():
                if not isinstance(node.value, ast.Constant):
                    self.evaluate(node.value)
            case ast.Assign():
                value = self.evaluate(node.value)
                for target in node.targets:
                    self.assign(target, value)
            case ast.AugAssign():
                self._augmented(node)
            case ast.AnnAssign():
                self._annotated(node)
            case ast.While():
                if node.orelse:
                    raise self._loop_else(node)
                self.while_loop(node)
            case ast.Assert():
                self._assert(node)
            case ast.Raise():
                raise self._raise(node)
            case ast.Pass():
                pass
            case _:
                raise unsupported(node, self.span(node))

    def assign(self, target: ast.expr, value: Any, keep_constants: bool = False) -> None:
        """Assigns to a name or unpacks into several. Plain assignment makes numbers run-time scalars."""
        span = self.span(target)
        match target:
            case ast.Name():
                if not keep_constants:
                    with self.at(target):
                        value = decay(value)
                self.bind(target.id, value, span)
            case ast.Tuple() | ast.List():
                self._unpack(target, value, keep_constants)
            case ast.Starred():
                raise UnsupportedSyntax(
                    "`*` in the target of an assignment is not supported in a kernel",
                    span,
                    help="take the rest with a slice: rest = values[1:]",
                )
            case ast.Subscript():
                raise self._element_assignment(target, span)
            case ast.Attribute():
                self._assign_field(target, value, span)
            case _:
                raise unsupported(target, span)

    def _assign_field(self, target: ast.Attribute, value: Any, span: Span) -> None:
        """``self.x = value`` in the `__init__` of an aggregate."""
        owner = self.evaluate(target.value)
        if not isinstance(owner, Aggregate):
            raise UnsupportedSyntax("assigning to an attribute is not supported in a kernel", span, help="assign to a name")
        with self.at(target):
            setattr(owner, target.attr, value)

    def _element_assignment(self, target: ast.Subscript, span: Span) -> UnsupportedSyntax:
        """The error for `x[i] = value`, which says how to write that for what `x` is."""
        name = target.value.id if isinstance(target.value, ast.Name) else ""
        value = self.env[name].value if name in self.env else None
        index = self.span(target.slice).text()
        if isinstance(value, tensor) and value.is_pointer:
            problem = "memory is not written by assigning to an element"
            advice = f"write tl.store({name} + {index}, value)"
        elif isinstance(value, buffered_tensor):
            problem = "shared memory is not written by assigning to an element"
            advice = f"write tl.store(tle.gpu.local_ptr({name}, ({index},)), value)"
        else:
            problem = "assigning to an element is not supported: tiles are values"
            advice = "change tiles with tl.where, write memory with tl.store"
        return UnsupportedSyntax(problem, span, help=advice)

    def _unpack(self, target: ast.Tuple | ast.List, value: Any, keep_constants: bool) -> None:
        for element in target.elts:
            if isinstance(element, ast.Starred):
                self.assign(element, None)
        if not isinstance(value, tuple) or hasattr(type(value), "described"):
            raise InvalidType(
                f"cannot unpack {describe_value(value)} into {len(target.elts)} names",
                self.span(target),
                help="a tile is one value; load or compute its parts separately" if is_handle(value) else "",
            )
        if len(value) != len(target.elts):
            raise InvalidType(
                f"cannot unpack a tuple of {len(value)} values into {len(target.elts)} names",
                self.span(target),
            )
        for element, item in zip(target.elts, value, strict=True):
            self.assign(element, item, keep_constants)

    def _augmented(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            self.assign(node.target, None)
        assert isinstance(node.target, ast.Name)
        load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        symbol, function = BINARY[type(node.op)]
        a = self.evaluate(load)
        b = self.evaluate(node.value)
        value = self.apply(node, symbol, function, [(load, a), (node.value, b)])
        self.assign(node.target, value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            return  # `x: int` declares and does nothing
        text = ast.unparse(node.annotation).strip("'\"")
        value = self.evaluate(node.value)
        if text.rpartition(".")[2] != "constexpr":
            self.assign(node.target, value)
            return
        # As in Triton, the annotation keeps constants constant and makes no constant of a run-time value.
        self.assign(node.target, value, keep_constants=True)

    def _assert(self, node: ast.Assert) -> None:
        """`assert` is checked on the device, as in Triton; one that is known to fail there gets a warning here."""
        if isinstance(node.test, ast.Tuple) and node.test.elts:
            raise InvalidType(
                "`assert` of a tuple, which is always true",
                self.span(node.test),
                help="leave the parentheses out: assert condition, message",
            )
        condition = self.evaluate(node.test)
        if is_static(condition) and self.truth(condition):
            return
        message = self.span(node.test).text() if node.msg is None else str(unwrap(self.evaluate(node.msg)))
        with self.at(node):
            if is_static(condition):
                condition = constexpr(False)
                warn(f"this assertion fails whenever the kernel gets here: {message}")
            device_assert(condition, constexpr(message))

    def _raise(self, node: ast.Raise) -> CompilationError:
        text = self.span(node.exc).text() if node.exc is not None else ""
        return CompilationError(
            f"`raise` is reached while the kernel is compiled: {text}" if text else "`raise` is reached",
            self.span(node),
            help="a `raise` is accepted only under a compile-time condition that is false",
        )

    # -- inlining --

    def inline(self, fn: Callable[..., Any], args: Mapping[str, Any], call_site: Span) -> Any:
        """Traces a device function in place; returns its value."""
        inner = FunctionTracer(self.session, fn, call_site)
        bind_parameters(inner, args, lambda name: _parameter_span(inner, name))
        token = current_scope.set(inner)
        try:
            with self.builder.at(inner.source.definition_span(call_site)):
                result = inner.function_body()
        finally:
            current_scope.reset(token)
        return constexpr(None) if isinstance(result, NoValue) else result


def _parameter_span(tracer: FunctionTracer, name: str) -> Span:
    arguments = tracer.source.node.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if argument.arg == name:
            return tracer.span(argument)
    return tracer.source.definition_span(tracer.call_site)


def trace(
    fn: Callable[..., Any],
    arguments: Mapping[str, ArgSpec] | Iterable[ArgSpec],
    constants: Mapping[str, Any] | None = None,
    num_warps: int = 4,
    target: str = "sm_90a",
    *,
    num_stages: int = DEFAULT_STAGES,
    cluster_dims: tuple[int, int, int] | None = None,
    cooperative: bool = False,
    language: str = DEFAULT_LEVEL,
    plain_globals: bool = False,
    debug: bool = False,
    sanitize_overflow: bool = True,
) -> Kernel:
    """Trace a Python function into a kernel.

    Args:
        fn: The plain function (a jit object's `fn`).
        arguments: Run-time parameters with their types, by name or in order.
        constants: Values of the other parameters; parameters in neither take their defaults.
        num_warps: Warps of one CTA.
        target: Architecture such as ``sm_90a``.
        num_stages: Iterations of loads in flight in loops that do not say so themselves.
        cluster_dims: Cluster shape asked for by the launch; None leaves it to the kernel.
        cooperative: The launch asks for all CTAs to be resident.
        language: Level of the language (`tle2cuda.levels`).
        plain_globals: Numbers, strings and tuples of the kernel's module are constants without being marked so.
        debug: Device assertions become operations.
        sanitize_overflow: With `debug`, integer arithmetic is asserted not to overflow.

    Raises:
        CompilationError: The kernel is wrong; several independent errors come as one `CompilationErrors`.
        ArgumentError: A parameter has neither a type nor a value.
    """
    specs = dict(arguments) if isinstance(arguments, Mapping) else {spec.name: spec for spec in arguments}
    builder = TracingBuilder(num_warps, target, language)
    builder.cluster_dims = cluster_dims
    builder.has_assertions, builder.checks_overflow = debug, debug and sanitize_overflow
    session = Session(builder, plain_globals)
    tracer = FunctionTracer(session, fn)
    span = tracer.source.definition_span()
    with builder.active(), builder.at(span), builder.region() as ops:
        binder = ParameterBinder(fn, lambda name: _parameter_span(tracer, name))
        tracer.env.update(binder.bind(specs, dict(constants or {})))
        try:
            result = tracer.function_body()
            if not isinstance(result, NoValue) and result is not POISON:
                session.report(
                    InvalidType(
                        f"{fn.__name__}: a kernel returns nothing, got {describe_value(result)}",
                        _return_span(tracer) or span,
                        help="store the result to memory",
                    )
                )
            builder.emit("yield")
        except TooManyErrors:
            pass
    session.raise_errors()
    _check_launch(builder, span)
    kernel = Kernel(
        name=fn.__name__,
        args=tuple(binder.args),
        body=Region((), tuple(ops)),
        constants=binder.constants,
        num_warps=num_warps,
        num_stages=num_stages,
        cluster_dims=builder.cluster_dims or (1, 1, 1),
        cooperative=builder.cooperative or cooperative,
        target=target,
        span=span,
    )
    check_products(kernel)
    return kernel


def _check_launch(builder: TracingBuilder, span: Span) -> None:
    """Refuses launches that the kernel asks for and the target cannot do."""
    dims = builder.cluster_dims
    if dims in (None, (1, 1, 1)):
        return
    place = builder.cluster_span or span
    if builder.cooperative:
        raise MeshError(
            f"a grid barrier requires cluster_dims=(1, 1, 1), this kernel has {dims}",
            place,
            help="use either a cluster mesh or a grid mesh in one kernel",
        )
    target = parse_target(builder.target)
    if not target.has("cluster"):
        raise CapabilityError(
            f"a cluster of {dims} CTAs requires NVIDIA SM90+, the target is {builder.target}",
            place,
            help="compile for sm_90 or later, or use a kernel without clusters",
        )
    size, limit = math.prod(dims), target.limits.max_cluster_size
    if size > limit:
        raise MeshError(
            f"a cluster of {' x '.join(map(str, dims))} = {size} CTAs is larger than the {limit} "
            f"that {builder.target} allows",
            place,
            help=f"use at most {limit} CTAs; up to 8 work on every GPU with clusters",
        )


def _return_span(tracer: FunctionTracer) -> Span | None:
    for node in ast.walk(tracer.source.node):
        if isinstance(node, ast.Return) and node.value is not None:
            return tracer.span(node)
    return None


__all__ = ["FunctionTracer", "KernelError", "trace"]
