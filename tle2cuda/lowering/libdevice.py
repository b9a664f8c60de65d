"""How the functions of libdevice read in CUDA: as the table in `ir/device_functions.py` says."""

from __future__ import annotations

from tle2cuda.errors import InternalError
from tle2cuda.ir.device_functions import find_overload
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import dtype_of
from tle2cuda.lowering.cexpr import C, call, static_cast
from tle2cuda.lowering.operators import rule
from tle2cuda.lowering.state import State

# What CUDA gives as another type than Triton: the bits are the same.
_OTHER_TYPES = frozenset({"__brev", "__brevll", "__byte_perm", "__float_as_uint", "__sad", "signbit"})


@rule("libdevice")
def _libdevice(state: State, op: Op, args: list[C]) -> C:
    overload = find_overload(op.attrs["fn"], [dtype_of(operand.type) for operand in op.operands])
    if overload is None:
        raise InternalError(f"no device function {op.attrs['fn']} for these dtypes", op.span)
    name = overload.cuda
    value = call(state.helper(name) if overload.is_helper else name, *args)
    gives_unsigned = overload.result.kind == "int" and ("2uint_" in name or "2ull_" in name)
    if (name in _OTHER_TYPES and overload.result.kind == "int") or gives_unsigned:
        return static_cast(overload.result.cuda, value)
    return value
