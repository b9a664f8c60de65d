"""Dispatch of element-by-element operations to the family that spells them."""

from __future__ import annotations

from collections.abc import Callable

from tle2cuda.errors import InternalError
from tle2cuda.ir.nodes import Op
from tle2cuda.lowering.cexpr import Affine, C, Expr, call
from tle2cuda.lowering.state import State

ToText = Callable[[Expr], C]
Rule = Callable[[State, Op, list[C]], C]
IndexRule = Callable[[Op, list[Affine]], Affine | None]

RULES: dict[str, Rule] = {}
INDEX_RULES: dict[str, IndexRule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register how operations are spelled."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register


def index_rule(*names: str) -> Callable[[IndexRule], IndexRule]:
    """Register how operations act on index sums; None falls back to the spelling."""

    def register(function: IndexRule) -> IndexRule:
        for name in names:
            INDEX_RULES[name] = function
        return function

    return register


def elementwise(state: State, op: Op, arguments: list[Expr], to_text: ToText) -> Expr:
    """The value of one elementwise operation."""
    from tle2cuda.lowering import arithmetic, casts, compare, hints, inline_asm, libdevice, math, overflow, random  # noqa: F401  (they register their rules)

    if op in state.wrapping:
        a, b = (to_text(argument) for argument in arguments)
        return call(state.helper(f"{op.name}_wrapping"), a, b)
    if op.name in INDEX_RULES and any(isinstance(a, Affine) for a in arguments):
        sums = [a if isinstance(a, Affine) else Affine(0, ((a, 1),)) for a in arguments]
        found = INDEX_RULES[op.name](op, sums)
        if found is not None:
            return found
    spell = RULES.get(op.name)
    if spell is None:
        raise InternalError(f"no spelling for operation {op.name}", op.span)
    return spell(state, op, [to_text(a) for a in arguments])
