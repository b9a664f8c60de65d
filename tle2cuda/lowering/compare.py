"""How comparisons read in CUDA."""

from __future__ import annotations

from dataclasses import replace

from tle2cuda.ir.classify import OPPOSITE_PREDICATE
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import F8E4NV, F8E5, F32, PointerType, element_of
from tle2cuda.lowering.casts import convert
from tle2cuda.lowering.cexpr import EQUALITY, RELATIONAL, C, binary
from tle2cuda.lowering.operators import rule
from tle2cuda.lowering.state import State

_SPELLING = {
    "eq": ("==", EQUALITY),
    "ne": ("!=", EQUALITY),
    "lt": ("<", RELATIONAL),
    "le": ("<=", RELATIONAL),
    "gt": (">", RELATIONAL),
    "ge": (">=", RELATIONAL),
}


@rule("cmp")
def _cmp(state: State, op: Op, args: list[C]) -> C:
    sign, precedence = _SPELLING[op.attrs["predicate"]]
    element = element_of(op.operands[0].type)
    assert not isinstance(element, PointerType) or sign in ("==", "!=")
    if element in (F8E4NV, F8E5):  # CUDA's float8 types have no operators
        args = [convert(state, arg, element, F32) for arg in args]
    comparison = binary(sign, precedence, *args)
    ordered = isinstance(element, PointerType) or element.is_int() or op.attrs["predicate"] in ("eq", "ne")
    if not ordered:  # with a NaN both `a < b` and `a >= b` are false
        return comparison
    opposite, _ = _SPELLING[OPPOSITE_PREDICATE[op.attrs["predicate"]]]
    return replace(comparison, opposite=binary(opposite, precedence, *args).text)
