"""Moving whole tiles between registers: start values of loops, results of branches."""

from __future__ import annotations

from tle2cuda.ir.nodes import Value
from tle2cuda.lowering import statements
from tle2cuda.lowering.evaluate import Evaluator
from tle2cuda.lowering.state import Registers, State
from tle2cuda.lowering.writer import Block


def assign_tile(state: State, target: Registers, value: Value) -> None:
    """Write `target = value` element by element; nothing when `value` already lies in `target`."""
    source = state.registers.get(value)
    if source is not None and source.name == target.name:
        return
    ev = Evaluator(state, target.layout, target.vec)
    loops = [(index, count) for index, count in (("run", target.runs), ("k", target.vec)) if count > 1]
    body = Block(state.block.depth + len(loops))
    if loops:
        ev.run_block = ev.k_block = body
    with state.names.scope():
        expr = ev.c(value)
        statements.assign(body, target.element("run", "k"), expr.text)
    statements.loop_nest(state.block, loops, body, short=True)
