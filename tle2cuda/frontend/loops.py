"""Loops of the IR: `for` over a range and `while`, with the names each iteration hands to the next."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tle2cuda.errors import (
    CompilationError,
    DTypeMismatch,
    InvalidArgument,
    InvalidType,
    KernelError,
    ShapeMismatch,
    UnsupportedSyntax,
)
from tle2cuda.frontend.branches import Arm, Branches, describe_shape
from tle2cuda.frontend.iterators import CountedLoop
from tle2cuda.frontend.liveness import assigned_names, constexpr_names
from tle2cuda.frontend.scope import located
from tle2cuda.frontend.session import PoisonUsed
from tle2cuda.frontend.values import (
    POISON,
    Binding,
    Mismatch,
    Poison,
    Undefined,
    decay,
    describe_value,
    is_handle,
    is_number,
    is_static,
    leaves,
    part_names,
    parts_of,
    rebuild,
    replace_leaves,
    same_make,
    same_value,
    set_name,
)
from tle2cuda.ir.nodes import Region, Value
from tle2cuda.ir.span import Span
from tle2cuda.ir.types import I32, DType, PointerType, TileType, element_of, shape_of
from tle2cuda.ops.compound import Compound
from tle2cuda.ops.core import cast, constant, is_literal, literal_dtype, promote, tensor, to_tensor, unwrap


@dataclass(slots=True)
class _Carried:
    """A name that iterations hand on.

    Attributes:
        name: The name.
        before: Its value before the loop, numbers already turned into run-time constants.
        binding: Its binding before the loop, for messages.
        first: Index of its first value among the loop's carried values.
        count: How many carried values it has; 0 when it only holds compile-time objects.
    """

    name: str
    before: Any
    binding: Binding
    first: int
    count: int


class Loops(Branches):
    """Traces loops that stay loops.

    Attributes:
        loop_depth: How many of them are open.
    """

    loop_depth = 0

    def counted_loop(self, node: ast.For, loop: CountedLoop) -> None:
        """``for name in range(...)`` with an IR loop."""
        span = self.header_span(node)
        if not isinstance(node.target, ast.Name):
            raise UnsupportedSyntax("a loop over a range has one name as its target", self.span(node.target))
        lower, upper, step = self._bounds(loop, self.span(node.iter))
        induction = Value(lower.value.type, node.target.id, self.span(node.target))
        bindings = {node.target.id: Binding(tensor(induction), induction.span)}
        carried, params, arm = self._trace_body(node, {node.target.id}, bindings)
        inits = [leaf.value for item in carried for leaf in leaves(item.before)]
        yielded = self._yielded(arm, carried, params)
        with self.builder.at(span):
            with self.builder.region() as terminator:
                self.builder.emit("yield", tuple(yielded))
            region = Region((induction, *params), (*arm.ops, *terminator))
            operands = (lower.value, upper.value, step.value, *inits)
            types = tuple(value.type for value in params)
            results = self.builder.emit("for", operands, types, loop.hints, (region,))
        self._after_loop(node, arm, carried, results, span)
        self.env[node.target.id] = Binding(
            Undefined(
                f"the loop variable has none after the loop at {span.short()}",
                "assign it to another name inside the loop",
            ),
            span,
        )

    def _bounds(self, loop: CountedLoop, span: Span) -> tuple[tensor, tensor, tensor]:
        """Bounds and step as scalars of the type of the loop variable."""
        names = ("start", "end", "step")
        values = (loop.start, loop.end, loop.step)
        for name, value in zip(names, values, strict=True):
            plain = unwrap(value)
            is_scalar = isinstance(value, tensor) and value.is_scalar and _is_integer(value)
            if not is_scalar and not isinstance(plain, int):
                facts = (self.fact(name, value),) if is_handle(value) else ()
                raise InvalidType(
                    f"range: {name} must be an integer scalar, got {describe_value(value)}",
                    span,
                    facts,
                    help="reduce the tile to a scalar first, such as tl.max(x, axis=0)"
                    if isinstance(value, tensor) and value.dims
                    else "",
                )
        if is_literal(loop.step) and unwrap(loop.step) == 0:
            raise InvalidArgument("range: step must not be 0", span)
        with self.builder.at(span):
            dtype: DType = I32
            for value in values:
                element = literal_dtype(unwrap(value)) if is_literal(value) else value.element
                assert isinstance(element, DType)
                dtype = promote(dtype, element, what="range")
            typed = [constant(unwrap(value), dtype) if is_literal(value) else cast(value, dtype) for value in values]
        return typed[0], typed[1], typed[2]

    def while_loop(self, node: ast.While) -> None:
        """``while condition:``; the condition is computed before each iteration."""
        span = self.header_span(node)
        self.refuse_named(node.test, "the condition of a `while`")
        # Whether the loop exists at all must be known before its body is traced, which may not even be valid.
        if self._while_condition(node, self._carried_names(node, set())) is None:
            return
        carried, params, arm = self._trace_body(node, set(), {})
        before = self._while_condition(node, carried)
        if before is None:
            return
        inits = [leaf.value for item in carried for leaf in leaves(item.before)]
        yielded = self._yielded(arm, carried, params)
        with self.builder.at(span):
            with self.builder.region() as terminator:
                self.builder.emit("yield", tuple(yielded))
            types = tuple(value.type for value in params)
            body = Region(tuple(params), (*arm.ops, *terminator))
            results = self.builder.emit("while", tuple(inits), types, None, (before, body))
        self._after_loop(node, arm, carried, results, span)

    def _while_condition(self, node: ast.While, carried: list[_Carried]) -> Region | None:
        """The region that decides about another iteration; None when there is never a first one."""
        span = self.header_span(node)
        params = self._params(carried, span)
        outer = self.env
        self.env = self._with_carried(outer, carried, params)
        try:
            with self.builder.region() as ops:
                test = self.condition(node.test, "`while`")
                if test is False:
                    return None
                if test is True:
                    raise CompilationError(
                        "the condition of this `while` is always true, so the loop never ends",
                        span,
                        help="test a value that the body assigns, or one that the condition loads",
                    )
                with self.builder.at(span):
                    self.builder.emit("condition", (test.value, *params))
            return Region(tuple(params), tuple(ops))
        finally:
            self.env = outer

    # -- carried names --

    def _carried_names(self, node: ast.For | ast.While, exclude: set[str]) -> list[_Carried]:
        """The names assigned in the body that an iteration, or what follows, may read from before."""
        head = self.live.head.get(node, frozenset(self.local_names))
        fixed = constexpr_names(node.body)
        carried: list[_Carried] = []
        index = 0
        for name in assigned_names(node.body):
            binding = self.env.get(name)
            if name not in head or name in exclude or binding is None:
                continue
            if isinstance(binding.value, (Undefined, Poison)):
                continue
            value = binding.value
            if name not in fixed:
                with self.builder.at(binding.span):
                    value = decay(value, deep=True, carried=True)
            count = sum(1 for _ in leaves(value))
            carried.append(_Carried(name, value, binding, index, count))
            index += count
        return carried

    def _params(self, carried: list[_Carried], span: Span) -> list[Value]:
        """Fresh region parameters, one a carried value."""
        params = []
        for item in carried:
            for name, leaf in zip(part_names(item.before, item.name), leaves(item.before), strict=True):
                params.append(Value(leaf.value.type, name, span))
        return params

    def _rebuilt(self, item: _Carried, values: Iterable[Value]) -> Any:
        """The carried name's value with other IR values."""
        handles: Iterator[Any] = (
            rebuild(leaf, value)
            for leaf, value in zip(leaves(item.before), list(values)[item.first : item.first + item.count], strict=True)
        )
        return replace_leaves(item.before, handles)

    def _with_carried(self, env: dict[str, Binding], carried: list[_Carried], params: list[Value]) -> dict[str, Binding]:
        inner = dict(env)
        for item in carried:
            inner[item.name] = Binding(self._rebuilt(item, params), item.binding.span)
        return inner

    def _trace_body(
        self, node: ast.For | ast.While, exclude: set[str], bindings: dict[str, Binding]
    ) -> tuple[list[_Carried], list[Value], Arm]:
        """Traces the body; returns the carried names, their parameters, and what was traced.

        A name that is assigned only under compile-time conditions that turned out false is not carried at
        all: it may be a constant or a buffer, which must stay what it is. That is known only afterwards, so
        the body is then traced again.
        """
        exclude = set(exclude)
        while True:
            carried = self._carried_names(node, exclude)
            params = self._params(carried, self.header_span(node))
            inner = self._with_carried(self.env, carried, params)
            arm = self._trace_iteration(node, {**inner, **bindings})
            unassigned = {
                item.name for item in carried if arm.env[item.name] is inner[item.name] and not self._may_be_carried(item)
            }
            if not unassigned:
                return carried, params, arm
            exclude |= unassigned

    def _may_be_carried(self, item: _Carried) -> bool:
        """Whether carrying a name that no iteration assigns changes nothing."""
        was_constant = same_value(item.before, item.binding.value)
        return was_constant and all(isinstance(leaf, tensor) for leaf in leaves(item.before))

    def _trace_iteration(self, node: ast.For | ast.While, env: dict[str, Binding]) -> Arm:
        outer = self.env
        self.env = env
        self.loop_depth += 1
        try:
            head = self.live.head.get(node, frozenset(self.local_names))
            return self.trace_arm(node.body, False, head)
        finally:
            self.loop_depth -= 1
            self.env = outer

    def _yielded(self, arm: Arm, carried: list[_Carried], params: list[Value]) -> list[Value]:
        """What an iteration hands on; reports the names that changed their type."""
        values: list[Value] = []
        for item in carried:
            binding = arm.env[item.name]
            with self.builder.region() as extra:
                own = params[item.first : item.first + item.count]
                try:
                    handed = self._handed_on(item, binding)
                    values += [leaf.value for leaf in handed]
                except KernelError as error:
                    if not isinstance(error, CompilationError):
                        raise
                    self.session.report(error, item.name)
                    self.env[item.name] = Binding(POISON, binding.span)
                    values += own
                except PoisonUsed:
                    self.env[item.name] = Binding(POISON, binding.span)
                    values += own
            arm.ops += extra
        return values

    def _handed_on(self, item: _Carried, binding: Binding) -> list[Any]:
        """The handles of a carried name at the end of an iteration, checked against those before the loop."""
        if isinstance(binding.value, Poison):
            raise PoisonUsed
        if isinstance(binding.value, Undefined):
            raise CompilationError(
                f"`{item.name}` has a value before the loop, but may have none after an iteration",
                binding.span,
                (f"at the end of an iteration {binding.value.reason}",),
                help=binding.value.help,
            )
        handed: list[Any] = []
        try:
            with self.builder.at(binding.span):
                self._match(item.before, binding.value, handed)
        except Mismatch as mismatch:
            raise self._carried_mismatch(item, binding, mismatch) from None
        except KernelError as error:
            raise located(error, binding.span) from None
        return handed

    def _match(self, before: Any, after: Any, handed: list[Any]) -> None:
        """Collects the handles of `after` in the order of those of `before`.

        Raises:
            Mismatch: The two have different types or structures.
        """
        parts = parts_of(before)
        if parts is not None:
            if not same_make(before, after):
                raise Mismatch(before, after)
            for pair in zip(parts, parts_of(after) or (), strict=True):
                self._match(*pair, handed)
            return
        if not is_handle(before):
            if not same_value(before, after):
                raise Mismatch(before, after)
            return
        value = to_tensor(after) if is_number(after) else after
        if not is_handle(value) or value.value.type != before.value.type:
            raise Mismatch(before, after if not is_handle(value) else value)
        handed.append(value)

    def _carried_mismatch(self, item: _Carried, binding: Binding, mismatch: Mismatch) -> CompilationError:
        first, second = mismatch.first, mismatch.second
        facts = (
            f"before the loop: {describe_value(item.before)}, assigned at {item.binding.span.short()}",
            f"after an iteration: {describe_value(binding.value)}, assigned at {binding.span.short()}",
        )
        message = (
            f"`{item.name}` is {describe_value(first)} before the loop and {describe_value(second)} after an iteration"
        )
        if not (is_handle(first) and is_handle(second)):
            help_text = ""
            if isinstance(first, Compound):
                help_text = "an iteration may hand on other parts of the same barriers or pipe, but not another one"
            elif isinstance(first, tuple):
                help_text = "a tuple cannot change its length in a loop: use tl.static_range, or a buffer"
            elif is_static(first):
                help_text = "use tl.static_range, or start with a run-time value such as tl.full((), 0, tl.int32)"
            return CompilationError(message, binding.span, facts, help=help_text)
        old, new = first.value.type, second.value.type
        if shape_of(old) != shape_of(new):
            help_text = f"start with {describe_shape(new)}" if isinstance(new, TileType) else ""
            return ShapeMismatch(message, binding.span, facts, help=help_text)
        element = element_of(new)
        help_text = ""
        if isinstance(element, DType):
            shape = list(shape_of(new))
            start = f"tl.zeros({shape}, tl.{element.label})" if shape else f"tl.full((), 0, tl.{element.label})"
            help_text = f"start with {start}, or convert back with .to(tl.{element_of(old).label})"
            if isinstance(element_of(old), PointerType):
                help_text = ""
        return DTypeMismatch(message, binding.span, facts, help=help_text)

    def _after_loop(
        self,
        node: ast.For | ast.While,
        arm: Arm,
        carried: list[_Carried],
        results: tuple[Value, ...],
        span: Span,
    ) -> None:
        """Names behind the loop."""
        names = {item.name for item in carried}
        for name in assigned_names(node.body):
            previous = self.env.get(name)
            if name in names or (previous is not None and isinstance(previous.value, Poison)):
                continue
            if previous is not None and arm.env.get(name) is previous:
                continue  # assigned only under compile-time conditions that turned out false
            self.env[name] = Binding(
                Undefined(
                    f"it is assigned only inside the loop at {span.short()}, which may run zero times",
                    f"give `{name}` a value of the same type before the loop",
                ),
                span,
            )
        for item in carried:
            if self.env[item.name].value is POISON:
                continue
            value = self._rebuilt(item, results)
            for name, leaf in zip(part_names(value, item.name), leaves(value), strict=True):
                set_name(leaf, name)
            self.env[item.name] = Binding(value, span)


def _is_integer(value: tensor) -> bool:
    element = value.element
    return isinstance(element, DType) and element.is_int()
