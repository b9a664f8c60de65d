"""Where a CTA stands in its grid."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.ir.nodes import Op
from tle2cuda.lowering.cexpr import C
from tle2cuda.lowering.state import State
from tle2cuda.lowering.templates import write


@dataclass(frozen=True, slots=True)
class IndexView:
    """What `program.cu.j2` shows."""

    name: str
    source: str
    axis: str


def emit_index(state: State, op: Op) -> None:
    """`const int pid = blockIdx.x;`"""
    axis = "xyz"[op.attrs["axis"]]
    source = "blockIdx" if op.name == "program_id" else "gridDim"
    value = op.result
    if not state.use_count(value):
        return
    key = (op.name, axis)
    if key in state.scopes[0].known:
        known = state.scopes[0].known[key]
        assert isinstance(known, C)
        state.scalars[value] = known
        return
    fallback = f"pid_{axis}" if op.name == "program_id" else f"num_programs_{axis}"
    state.comment(op.span)
    name = state.names.fresh(value.name or fallback)
    write(state.block, "program.cu.j2", "index", IndexView(name, source, axis), op.span)
    state.scalars[value] = C(name)
    if state.level == 0:
        state.scopes[0].known[key] = C(name)
