"""Dispatch of element-by-element operations to the family that spells them."""

from __future__ import annotations

from collections.abc import Callable

from tle2cuda.errors import InternalError
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import I64, element_of
from tle2cuda.lowering.cexpr import Affine, C, Expr, call, static_cast
from tle2cuda.lowering.state import State

ToText = Callable[[Expr], C]
Rule = Callable[[State, Op, list[C]], C]
IndexRule = Callable[[Op, list[Affine]], Affine | None]

RULES: dict[str, Rule] = {}
INDEX_RULES: dict[str, IndexRule] = {}

# A sum of fields reads as an int, whatever its type. These take it for what its value is ...
_TAKE_ANY_WIDTH = frozenset({"ptr_add", "cmp", "cast", "hint"})
# ... and of these operators one wide operand makes the other one wide.
_WIDENED_BY_ONE = frozenset({"add", "sub", "mul", "idiv", "rem", "and", "or", "xor", "select"})


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
    from tle2cuda.lowering import (  # noqa: F401  (they register their rules)
        arithmetic,
        casts,
        compare,
        extrema,
        hints,
        inline_asm,
        libdevice,
        mapping,
        math,
        overflow,
        random,
    )

    if op in state.wrapping:
        return call(state.helper(f"{op.name}_wrapping"), *_texts(op, arguments, to_text, exact=True))
    if op.name in INDEX_RULES and any(isinstance(a, Affine) for a in arguments):
        sums = [a if isinstance(a, Affine) else Affine(0, ((a, 1),)) for a in arguments]
        found = INDEX_RULES[op.name](op, sums)
        if found is not None:
            return found
    spell = RULES.get(op.name)
    if spell is None:
        raise InternalError(f"no spelling for operation {op.name}", op.span)
    return spell(state, op, _texts(op, arguments, to_text))


def _texts(op: Op, arguments: list[Expr], to_text: ToText, exact: bool = False) -> list[C]:
    """Operands as C text of their own types, where their width decides what comes out, or all of them."""
    texts = [to_text(argument) for argument in arguments]
    narrow = [
        i
        for i, (argument, operand) in enumerate(zip(arguments, op.operands, strict=True))
        if isinstance(argument, Affine) and argument.has_only_fields and element_of(operand.type) is I64
    ]
    if op.name in _TAKE_ANY_WIDTH:
        return texts
    if op.name in _WIDENED_BY_ONE and not exact:
        wide = [operand for operand in op.operands if element_of(operand.type) is I64]
        turned_round = op.name == "xor" and any(text.text == "-1ll" for text in texts)  # `~x` leaves the wide one out
        narrow = narrow[:1] if turned_round or len(narrow) == len(wide) else []
    for i in narrow:
        texts[i] = static_cast(I64.cuda, texts[i])
    return texts
