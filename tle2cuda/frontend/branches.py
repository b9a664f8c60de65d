"""Branches with run-time conditions: both sides are traced, then names and returns are merged."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tle2cuda.errors import CompilationError, DTypeMismatch, ShapeMismatch, UnsupportedSyntax
from tle2cuda.frontend.calls import Calls
from tle2cuda.frontend.session import PoisonUsed
from tle2cuda.frontend.values import (
    POISON,
    Binding,
    Mismatch,
    Poison,
    Undefined,
    describe_value,
    fill,
    is_handle,
    leaves,
    rebuild,
    replace_leaves,
    set_name,
    unify,
)
from tle2cuda.ir.nodes import Op, Region, Value
from tle2cuda.ir.span import Span
from tle2cuda.ir.types import BOOL, I64, BufferType, PointerType, TileType, element_of, shape_of
from tle2cuda.ops.compound import Compound
from tle2cuda.ops.core import constant, emit_value, tensor, to_tensor

# Slots without a name of the user's; no identifiers, so they clash with none.
RETURN_SLOT, RESULT_SLOT, FLAG_SLOT = "<return>", "<result>", "<returned>"


class NoValue:
    """What a bare `return` returns."""


NO_VALUE = NoValue()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a list of statements ends.

    Attributes:
        kind: ``falls`` through; ``returns``; or ``maybe`` returned, which `flag` says at run time.
        value: What is returned.
        flag: True when it has returned.
    """

    kind: Literal["falls", "returns", "maybe"] = "falls"
    value: Any = NO_VALUE
    flag: tensor | None = None


FALLS = Outcome()


@dataclass(slots=True)
class Arm:
    """One traced side of a branch."""

    ops: list[Op]
    env: dict[str, Binding]
    outcome: Outcome


class _Missing:
    """A value that one side does not have and nobody reads when that side was taken."""


_MISSING = _Missing()


@dataclass(slots=True)
class _Slot:
    """One Python value that the branch yields: its make-up, and its differing parts side by side."""

    name: str
    template: Any
    pairs: list[tuple[Any, Any]]

    @property
    def label(self) -> str:
        """What messages call it."""
        return {RETURN_SLOT: "the returned value", RESULT_SLOT: "the result"}.get(self.name, f"`{self.name}`")


class Branches(Calls):
    """Traces `if` statements and conditional expressions whose condition is a run-time value."""

    def trace_arm(self, statements: Sequence[Any], tail: bool, live_after: frozenset[str]) -> Arm:
        """Traces statements into a region of their own, on a copy of the names (in `FunctionTracer`)."""
        raise NotImplementedError

    def continue_arm(self, arm: Arm, statements: Sequence[Any], tail: bool, live_after: frozenset[str]) -> Arm:
        """Traces more statements behind those of an arm (in `FunctionTracer`)."""
        raise NotImplementedError

    def dynamic_if(
        self, node: ast.If, test: tensor, rest: list[Any], tail: bool, live_after: frozenset[str]
    ) -> tuple[Outcome, bool]:
        """Traces an `if` with a run-time condition.

        Args:
            node: The statement.
            test: Its condition, a bool scalar.
            rest: The statements behind it in its block.
            tail: Nothing of the function follows the block.
            live_after: Names needed behind the block.

        Returns:
            How it ends, and whether `rest` was traced as part of it: what follows an early return becomes
            part of the other side.
        """
        live = self.live.after.get(node, live_after)
        arms_are_tail = tail and not rest
        arms = [self.trace_arm(side, arms_are_tail, live) for side in (node.body, node.orelse)]
        kinds = [arm.outcome.kind for arm in arms]
        took_rest = False
        if rest and sorted(kinds) == ["falls", "returns"]:
            side = kinds.index("falls")
            arms[side] = self.continue_arm(arms[side], rest, tail, live_after)
            took_rest, live = True, live_after
        return self.merge_arms(self.header_span(node), test, (arms[0], arms[1]), live, node), took_rest

    def rest_unless(
        self,
        flag: tensor,
        returned: Outcome,
        rest: list[Any],
        tail: bool,
        live_after: frozenset[str],
        span: Span,
    ) -> Outcome:
        """Traces `rest` for the case that nothing was returned before."""
        done = Arm([], dict(self.env), Outcome("returns", returned.value))
        other = self.trace_arm(rest, tail, live_after)
        return self.merge_arms(span, flag, (done, other), live_after, None)

    # -- merging --

    def merge_arms(
        self, span: Span, test: tensor, arms: tuple[Arm, Arm], live: frozenset[str], node: ast.If | None
    ) -> Outcome:
        """Emits the `if` operation of two traced arms and updates the names to what they are behind it."""
        base = self.env
        slots: list[_Slot] = []
        outcome_kind: Literal["falls", "returns", "maybe"]
        kinds = {arm.outcome.kind for arm in arms}
        outcome_kind = next(iter(kinds)) if kinds in ({"falls"}, {"returns"}) else "maybe"
        has_flag = outcome_kind == "maybe"
        return_slot = self._return_slot(span, arms)
        if return_slot is not None:
            slots.append(return_slot)
        if has_flag:
            slots.append(_Slot(FLAG_SLOT, *unify((self._flag(arms[0]), self._flag(arms[1])))))
        changed = dict.fromkeys(name for arm in arms for name in arm.env if arm.env[name] is not base.get(name))
        self.env = dict(base)
        for name in changed:
            slot = self._name_slot(name, arms, span, live, node)
            if slot is not None:
                slots.append(slot)
        values = self._emit_if(span, test, arms, slots)
        result: Any = NO_VALUE
        flag: Any = None
        for slot, value in zip(slots, values, strict=True):
            if slot is return_slot:
                result = value
            elif slot.name == FLAG_SLOT:
                flag = to_tensor(value)
                set_name(flag, "returned")
            else:
                self.bind(slot.name, value, span)
        if any(arm.outcome.kind != "falls" and arm.outcome.value is POISON for arm in arms):
            result = POISON
        return Outcome(outcome_kind, result, flag)

    def _flag(self, arm: Arm) -> Any:
        if arm.outcome.kind == "maybe":
            return arm.outcome.flag
        return arm.outcome.kind == "returns"

    def _return_slot(self, span: Span, arms: tuple[Arm, Arm]) -> _Slot | None:
        """The slot of the returned value; None when nothing is returned."""
        values = [arm.outcome.value if arm.outcome.kind != "falls" else _MISSING for arm in arms]
        if any(isinstance(value, Poison) for value in values):
            return None
        empty = [isinstance(value, NoValue) for value in values]
        if all(e or isinstance(v, _Missing) for e, v in zip(empty, values, strict=True)):
            return None
        if any(empty):
            raise CompilationError(
                "the function returns a value on one side of this `if` and nothing on the other",
                span,
                help="return values of the same types on every path, also at the end of the function",
            )
        try:
            return self._make_slot(RETURN_SLOT, values[0], values[1])
        except Mismatch as mismatch:
            raise self._mismatch("the returned value", mismatch, span, ()) from None

    def _make_slot(self, name: str, first: Any, second: Any) -> _Slot:
        if isinstance(first, _Missing) or isinstance(second, _Missing):
            there = second if isinstance(first, _Missing) else first
            return _Slot(name, _OneSided(there, isinstance(first, _Missing)), [])
        template, pairs = unify((first, second))
        return _Slot(name, template, pairs)

    def _name_slot(
        self, name: str, arms: tuple[Arm, Arm], span: Span, live: frozenset[str], node: ast.If | None
    ) -> _Slot | None:
        """The slot of a name that a side assigned; None when the name needs none."""
        if name not in live:
            self.env[name] = Binding(
                Undefined(f"it is assigned in the `if` at {span.short()}", "assign it again before using it"),
                span,
            )
            return None
        bindings = [arm.env.get(name) for arm in arms]
        values: list[Any] = []
        for arm, binding in zip(arms, bindings, strict=True):
            if arm.outcome.kind == "returns":
                values.append(_MISSING)
            elif binding is None:
                values.append(Undefined("", ""))
            else:
                values.append(binding.value)
        if all(isinstance(value, _Missing) for value in values):
            return None
        if any(isinstance(value, Poison) for value in values):
            self.env[name] = Binding(POISON, span)
            return None
        if any(isinstance(value, Undefined) for value in values):
            self.env[name] = Binding(self._undefined(name, values, bindings, span), span)
            return None
        try:
            slot = self._make_slot(name, values[0], values[1])
        except Mismatch as mismatch:
            places = tuple(
                f"{where}: {describe_value(value)}, assigned at {binding.span.short()}"
                for where, value, binding in zip(("then", "else"), values, bindings, strict=True)
                if binding is not None
            )
            self._report_name(name, self._mismatch(f"`{name}`", mismatch, span, places), span)
            return None
        return slot

    def _undefined(self, name: str, values: list[Any], bindings: list[Binding | None], span: Span) -> Undefined:
        for value in values:
            if isinstance(value, Undefined) and value.reason:
                return value
        there = next(
            (b for b, v in zip(bindings, values, strict=True) if not isinstance(v, (Undefined, _Missing))),
            None,
        )
        # An `if` on one line with its assignment is named once.
        line = f" (line {there.span.line})" if there is not None and there.span.line != span.line else ""
        return Undefined(
            f"it is assigned on one side only of the `if` at {span.short()}{line}",
            f"assign `{name}` before the `if`, or on both sides",
        )

    def _mismatch(self, what: str, mismatch: Mismatch, span: Span, facts: tuple[str, ...]) -> CompilationError:
        first, second = describe_value(mismatch.first), describe_value(mismatch.second)
        help_text = "what depends on a run-time condition must be a number, tile or pointer on both sides"
        if isinstance(mismatch.first, Compound) or isinstance(mismatch.second, Compound):
            help_text = "use it on each side of the `if`, where it is known which one it is"
        return CompilationError(
            f"{what} is {first} on one side of this `if` and {second} on the other", span, facts, help=help_text
        )

    def _report_name(self, name: str, error: CompilationError, span: Span) -> None:
        self.session.report(error, name)
        self.env[name] = Binding(POISON, span)

    # -- emission --

    def _emit_if(self, span: Span, test: tensor, arms: tuple[Arm, Arm], slots: list[_Slot]) -> list[Any]:
        """Emits yields and the operation; returns the slots' values behind it."""
        sides: list[list[Any]] = [[], []]
        for side, arm in enumerate(arms):
            with self.builder.at(span), self.builder.region() as extra:
                for slot in slots:
                    sides[side] += self._side_values(slot, side)
            arm.ops += extra
        kept = self._check_types(span, slots, sides, arms)
        results: list[Value] = []
        regions = []
        for side, arm in enumerate(arms):
            with self.builder.at(span), self.builder.region() as extra:
                self.builder.emit("yield", tuple(sides[side][i].value for i in kept))
            regions.append(Region((), (*arm.ops, *extra)))
        with self.builder.at(span):
            types = tuple(sides[0][i].value.type for i in kept)
            results = list(self.builder.emit("if", (test.value,), types, None, tuple(regions)))
        made = dict(zip(kept, results, strict=True))
        handles = iter([rebuild(sides[0][i], made[i]) if i in made else POISON for i in range(len(sides[0]))])
        values = []
        for slot in slots:
            count = self._leaf_count(slot)
            parts = [next(handles) for _ in range(count)]
            if any(part is POISON for part in parts):
                values.append(POISON)
            elif isinstance(slot.template, _OneSided):
                values.append(replace_leaves(slot.template.value, iter(parts)))
            else:
                values.append(fill(slot.template, iter(parts)))
            for part in parts:
                if part is not POISON and slot.name.isidentifier():
                    set_name(part, slot.name)
        return values

    def _leaf_count(self, slot: _Slot) -> int:
        if isinstance(slot.template, _OneSided):
            return sum(1 for _ in leaves(slot.template.value))
        return len(slot.pairs)

    def _side_values(self, slot: _Slot, side: int) -> list[Any]:
        """The slot's differing parts on one side, numbers turned into constants."""
        if isinstance(slot.template, _OneSided):
            there = list(leaves(slot.template.value))
            if slot.template.missing_first == (side == 0):
                return [self._placeholder(leaf) for leaf in there]
            return there
        parts = (pair[side] for pair in slot.pairs)
        return [part if is_handle(part) else to_tensor(part) for part in parts]

    def _placeholder(self, like: Any) -> Any:
        """A value of the type of `like` that nobody reads: the function has returned."""
        type_ = like.value.type
        if isinstance(type_, BufferType):
            raise UnsupportedSyntax(
                "an early return cannot be combined with a buffer that is made behind it",
                help="allocate the buffer before the `if`",
            )
        element = element_of(type_)
        shape = shape_of(type_)
        if isinstance(element, PointerType):
            zero = constant(0, I64, shape)
            return emit_value("bitcast", (zero,), element, shape)
        return constant(False if element is BOOL else 0, element, shape)

    def _check_types(self, span: Span, slots: list[_Slot], sides: list[list[Any]], arms: tuple[Arm, Arm]) -> list[int]:
        """Indices of the yielded parts whose types agree; reports the others."""
        kept: list[int] = []
        index = 0
        for slot in slots:
            bad = None
            indices = range(index, index + self._leaf_count(slot))
            index = indices.stop
            for i in indices:
                if sides[0][i].value.type != sides[1][i].value.type:
                    bad = i
            if bad is None:
                kept += indices
                continue
            first, second = sides[0][bad], sides[1][bad]
            what = slot.label
            facts = []
            for where, arm in zip(("then", "else"), arms, strict=True):
                binding = arm.env.get(slot.name)
                if binding is not None:
                    facts.append(f"{where}: {describe_value(binding.value)}, assigned at {binding.span.short()}")
            error = type_mismatch(
                f"{what} is {describe_value(first)} on one side of this `if` and {describe_value(second)} on the other",
                first,
                second,
                span,
                tuple(facts),
            )
            self.session.report(error, slot.name)
        return kept

    # -- conditional expressions --

    def refuse_named(self, node: ast.expr, where: str) -> None:
        """Refuses assignments inside an expression that may be computed often or not at all.

        Raises:
            UnsupportedSyntax: There is one.
        """
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                raise UnsupportedSyntax(
                    f"`:=` in {where} is not supported in a kernel",
                    self.span(inner),
                    help="assign in a statement of its own",
                )

    def dynamic_ternary(self, node: ast.IfExp, test: tensor) -> Any:
        """``a if test else b`` with a run-time scalar condition: only one side is computed."""
        span = self.span(node)
        self.refuse_named(node, "one side of a conditional expression")
        arms = []
        for expression in (node.body, node.orelse):
            with self.builder.region() as ops:
                value = self.evaluate(expression)
            arms.append(Arm(ops, self.env, Outcome("returns", value)))
        try:
            slot = self._make_slot(RESULT_SLOT, arms[0].outcome.value, arms[1].outcome.value)
        except Mismatch as mismatch:
            raise self._mismatch("the result", mismatch, span, ()) from None
        (value,) = self._emit_if(span, test, (arms[0], arms[1]), [slot])
        if value is POISON:
            raise PoisonUsed
        return value


@dataclass(frozen=True, slots=True)
class _OneSided:
    """Template of a value that only one side has; the other side has returned."""

    value: Any
    missing_first: bool


def type_mismatch(message: str, first: Any, second: Any, span: Span, facts: tuple[str, ...]) -> CompilationError:
    """The error for two handles of different types, with a hint at how to make them equal."""
    a, b = first.value.type, second.value.type
    if shape_of(a) != shape_of(b):
        larger = a if len(shape_of(a)) >= len(shape_of(b)) else b
        help_text = f"make both {describe_shape(larger)}" if isinstance(larger, TileType) else ""
        return ShapeMismatch(message, span, facts, help=help_text)
    element = element_of(b)
    help_text = "" if isinstance(element, PointerType) else f"convert one of them, such as x.to(tl.{element.label})"
    return DTypeMismatch(message, span, facts, help=help_text)


def describe_shape(type_: TileType) -> str:
    """How a tile of this shape is made."""
    if isinstance(type_.element, PointerType):
        return f"tiles of shape {list(type_.shape)}"
    return f"tiles of shape {list(type_.shape)}, such as tl.zeros({list(type_.shape)}, tl.{type_.element.label})"


__all__ = ["FALLS", "NO_VALUE", "Arm", "Branches", "NoValue", "Outcome", "type_mismatch"]
