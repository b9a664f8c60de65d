"""How minimum and maximum read in CUDA."""

from __future__ import annotations

from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BF16, BOOL, F16, F32, DType
from tle2cuda.lowering.arithmetic import dtype, narrowed
from tle2cuda.lowering.cexpr import AND, OR, C, binary, call
from tle2cuda.lowering.operators import rule
from tle2cuda.lowering.state import State


@rule("min", "max")
def _extreme(state: State, op: Op, args: list[C]) -> C:
    return extreme(state, op.name, dtype(op), op.attrs.get("nan", "ignore"), args[0], args[1])


def extreme(state: State, name: str, type_: DType, nan: str, a: C, b: C) -> C:
    """Smaller or larger of two values; `nan` says whether a NaN operand is ignored or wins."""
    if type_ is BOOL:
        return binary("&&", AND, a, b) if name == "min" else binary("||", OR, a, b)
    if type_.is_int():
        return narrowed(type_, call(name, a, b))
    if type_ in (F16, BF16):
        return call(f"__h{name}" + ("_nan" if nan == "propagate" else ""), a, b)
    if nan == "propagate":
        return call(state.helper(f"{name}_nan"), a, b)
    return call(f"f{name}f" if type_ is F32 else f"f{name}", a, b)
