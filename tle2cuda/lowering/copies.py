"""Moving whole tiles between registers: start values of loops, results of branches."""

from __future__ import annotations

from tle2cuda.ir.nodes import Value
from tle2cuda.lowering.cexpr import THREAD
from tle2cuda.lowering.evaluate import Evaluator
from tle2cuda.lowering.state import Registers, State
from tle2cuda.lowering.writer import Block


def assign_tile(state: State, target: Registers, value: Value, staged: bool = False) -> None:
    """Write `target = value` element by element; `staged` goes through a copy, for swaps.

    Nothing is written when `value` already lies in `target`.
    """
    source = state.registers.get(value)
    if source is not None and source.name == target.name:
        return
    layout = target.layout
    ev = Evaluator(state, layout, target.vec)
    outer = state.block
    if staged:
        name = state.names.fresh(f"{target.name}_next")
        copy = Registers(name, layout, target.vec)
        outer.add(state.declaration(copy, value))
        _loops(state, ev, copy, value)
        state.registers[value] = copy
        return
    _loops(state, ev, target, value)


def _loops(state: State, ev: Evaluator, target: Registers, value: Value) -> None:
    outer = state.block
    body = Block(outer.depth + (target.runs > 1) + (target.vec > 1))
    if target.runs > 1 or target.vec > 1:
        ev.run_block = body
        ev.k_block = body
    with state.names.scope():
        expr = ev.c(value)
        body.add(f"{target.element('run', 'k')} = {expr.text};")
    headers = []
    if target.runs > 1:
        headers.append(f"for (int run = 0; run < {target.runs}; ++run)")
    if target.vec > 1:
        headers.append(f"for (int k = 0; k < {target.vec}; ++k)")
    braces = len(body.lines) > 1
    for depth, header in enumerate(headers):
        with_brace = braces and depth == len(headers) - 1
        outer.add("    " * depth + "#pragma unroll")
        outer.add("    " * depth + header + (" {" if with_brace else ""))
    outer.splice(body)
    if braces and headers:
        outer.add("    " * (len(headers) - 1) + "}")


__all__ = ["THREAD", "assign_tile"]
