"""How comparisons read in CUDA."""

from __future__ import annotations

from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import PointerType, element_of
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
    assert not isinstance(element_of(op.operands[0].type), PointerType) or sign in ("==", "!=")
    return binary(sign, precedence, *args)
