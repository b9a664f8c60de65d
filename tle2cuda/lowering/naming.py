"""Names for what the user left unnamed."""

from __future__ import annotations

from tle2cuda.ir.nodes import Op, Value
from tle2cuda.lowering.state import State


def hint_for(state: State, value: Value, op: Op | None) -> str:
    """A name for a value: the user's, or one after the argument or buffer it was read from."""
    if value.name:
        return value.name
    if op is None:
        return "value"
    if op.name in ("load", "atomic_rmw", "atomic_cas"):
        base = op.operands[0]
        while (maker := state.definitions.get(base)) is not None and maker.operands:
            base = maker.operands[0]
        if base in state.buffers:
            name = state.buffers[base].text.rsplit(".", 1)[-1].split("[")[0]
        else:
            name = base.name
        if name:
            return f"{name}_value" if op.name == "load" else f"{name}_before"
    return "flag" if op.name == "cmp" else "value"
