"""How math functions read in CUDA. What Triton computes approximately is computed approximately."""

from __future__ import annotations

from tle2cuda.errors import CapabilityError, InternalError
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BF16, F16, F32, F64, DType, element_of
from tle2cuda.lowering.cexpr import C, call, static_cast
from tle2cuda.lowering.operators import rule
from tle2cuda.lowering.state import State

_FLOAT = {
    "exp": "__expf",
    "rsqrt": "rsqrtf",
    "sqrt_rn": "__fsqrt_rn",
    "abs": "fabsf",
}
_HELPERS = {"exp2": "exp2_approx", "sqrt": "sqrt_approx"}
_DOUBLE = {"sqrt_rn": "__dsqrt_rn", "abs": "fabs"}
_LIBRARY = frozenset(
    """
    exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt
    rsqrt cbrt erf erfc erfinv floor ceil trunc rint round nearbyint abs lgamma tgamma logb j0 j1 y0 y1 sinpi
    cospi
    """.split()
)
_HALF = {"abs": "__habs", "floor": "hfloor", "ceil": "hceil", "rint": "hrint", "trunc": "htrunc"}


@rule("math")
def _math(state: State, op: Op, args: list[C]) -> C:
    function = op.attrs["fn"]
    type_ = element_of(op.operands[0].type)
    assert isinstance(type_, DType)
    if type_.is_int():
        if function != "abs":
            raise InternalError(f"math {function} on integers", op.span)
        if type_.kind == "uint":
            return args[0]
        return static_cast(type_.cuda, call("abs", args[0])) if type_.bits < 32 else call("abs", args[0])
    if type_ in (F16, BF16) and function in _HALF:
        return call(_HALF[function], *args)
    if type_ is F32 and function in _HELPERS:
        return call(state.helper(_HELPERS[function]), *args)
    if type_ is F32 and function in _FLOAT:
        return call(_FLOAT[function], *args)
    if type_ is F64 and function in _DOUBLE:
        return call(_DOUBLE[function], *args)
    if function not in _LIBRARY or type_ not in (F32, F64):
        raise CapabilityError(f"math function {function} is not available for {type_.label}", op.span)
    return call(function + ("f" if type_ is F32 else ""), *args)
