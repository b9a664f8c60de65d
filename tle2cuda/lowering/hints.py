"""Hints compute nothing."""

from __future__ import annotations

from tle2cuda.ir.nodes import Op
from tle2cuda.lowering.cexpr import C
from tle2cuda.lowering.operators import rule
from tle2cuda.lowering.state import State


@rule("hint")
def _hint(state: State, op: Op, args: list[C]) -> C:
    return args[0]
