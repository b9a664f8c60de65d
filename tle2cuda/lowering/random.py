"""How random numbers read in CUDA."""

from __future__ import annotations

from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import dtype_of
from tle2cuda.lowering.cexpr import PRIMARY, C, call
from tle2cuda.lowering.operators import rule
from tle2cuda.lowering.state import State

_WORDS = "xyzw"


@rule("philox")
def _philox(state: State, op: Op, args: list[C]) -> C:
    """One word of the four; the compiler sees that the calls for the other ones are the same."""
    helper = state.helper(f"philox_4x{dtype_of(op.results[0].type).bits}")
    words = call(f"{helper}<{op.attrs['rounds']}>", *args)
    return C(f"{words.text}.{_WORDS[op.attrs['word']]}", PRIMARY, words.deps)
