"""Programmatic dependent launch in CUDA."""

from __future__ import annotations

from tle2cuda.errors import CapabilityError
from tle2cuda.ir.nodes import Op
from tle2cuda.lowering import statements
from tle2cuda.lowering.state import State
from tle2cuda.targets import FEATURES, parse_target

_HELPERS = {"wait": "wait_for_previous_grid", "launch_dependents": "let_next_grid_begin"}


def emit_grid_dependency(state: State, op: Op) -> None:
    """A call of a helper by every thread."""
    target = parse_target(state.kernel.target)
    if not target.has("grid_dependency"):
        raise CapabilityError(
            f"tl.extra.cuda.gdc_{op.attrs['kind']} needs {FEATURES['grid_dependency'].requirement()}, "
            f"the target is {state.kernel.target}",
            op.span,
        )
    state.comment(op.span)
    statements.evaluate(state.block, f"{state.helper(_HELPERS[op.attrs['kind']])}()", op.span)
