"""Checks of integer overflow: `add_fits(a, b)` and its like, helpers that compute in 64 bits."""

from __future__ import annotations

from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import DType, element_of
from tle2cuda.lowering.cexpr import C, call
from tle2cuda.lowering.operators import rule
from tle2cuda.lowering.state import State

_INT_BITS = 32  # C++ promotes what is narrower, so that calls have to say its type


@rule("fits")
def _fits(state: State, op: Op, args: list[C]) -> C:
    type_ = element_of(op.operands[0].type)
    assert isinstance(type_, DType)
    name = state.helper(f"{op.attrs['fn']}_fits")
    return call(name if type_.bits >= _INT_BITS else f"{name}<{type_.cuda}>", *args)
