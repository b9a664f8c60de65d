"""How conversions read in CUDA."""

from __future__ import annotations

from tle2cuda.errors import InternalError
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import (
    BF16,
    BOOL,
    F8E4NV,
    F8E5,
    F16,
    F32,
    F64,
    I32,
    I64,
    U32,
    U64,
    DType,
    PointerType,
    element_of,
)
from tle2cuda.lowering.cexpr import EQUALITY, PRIMARY, Affine, C, binary, call, static_cast, ternary
from tle2cuda.lowering.literals import literal
from tle2cuda.lowering.operators import index_rule, rule
from tle2cuda.lowering.state import State

_SMALL_FLOATS = (F16, BF16, F8E4NV, F8E5)
_TO_FLOAT = {F16: "__half2float", BF16: "__bfloat162float"}
_FROM_FLOAT = {(F16, "rtne"): "__float2half", (F16, "rtz"): "__float2half_rz"}
_FROM_FLOAT |= {(BF16, "rtne"): "__float2bfloat16", (BF16, "rtz"): "__float2bfloat16_rz"}
_BITCASTS = {
    (F32, I32): "__float_as_int",
    (F32, U32): "__float_as_uint",
    (I32, F32): "__int_as_float",
    (U32, F32): "__uint_as_float",
    (F64, I64): "__double_as_longlong",
    (I64, F64): "__longlong_as_double",
}


@index_rule("cast")
def _index_cast(op: Op, args: list[Affine]) -> Affine | None:
    """Widening keeps a sum as it is when it holds nothing but small fields, which cannot wrap."""
    source, target = element_of(op.operands[0].type), element_of(op.results[0].type)
    if source is I32 and target is I64 and args[0].has_only_fields:
        return args[0]
    return None


@rule("cast")
def _cast(state: State, op: Op, args: list[C]) -> C:
    source, target = element_of(op.operands[0].type), element_of(op.results[0].type)
    if not isinstance(source, DType) or not isinstance(target, DType):
        return reinterpret(state, op, args[0])
    return convert(state, args[0], source, target, op.attrs.get("rounding") or "rtne")


def convert(state: State, value: C, source: DType, target: DType, rounding: str = "rtne") -> C:
    """A value of one element type as another, by Triton's rules."""
    state.include_for(source)
    state.include_for(target)
    if source is target:
        return value
    if target is BOOL:
        return _to_bool(state, value, source)
    if source.is_floating() and target.is_floating():
        return _between_floats(state, value, source, target, rounding)
    if source.is_floating():
        return _to_integer(state, value, source, target)
    if target.is_floating():
        return _from_integer(state, value, source, target)
    if source is BOOL or (target.bits > source.bits and target.kind == source.kind == "int"):
        return static_cast(target.cuda, value)
    return static_cast(target.cuda, value)


def _to_bool(state: State, value: C, source: DType) -> C:
    if source in _SMALL_FLOATS:
        value, source = _between_floats(state, value, source, F32, "rtne"), F32
    return binary("!=", EQUALITY, value, literal(state, 0, source))


def _between_floats(state: State, value: C, source: DType, target: DType, rounding: str) -> C:
    if source in (F8E4NV, F8E5):
        value = static_cast("float", value)
    elif source in _TO_FLOAT:
        value = call(_TO_FLOAT[source], value)
    elif source is F64 and target in _SMALL_FLOATS:
        if target is F16 and rounding == "rtne":
            return call("__double2half", value)
        if target is BF16 and rounding == "rtne":
            return call("__double2bfloat16", value)
        value = call("__double2float_rz" if rounding == "rtz" else "static_cast<float>", value)
    elif source is F64 and target is F32:
        return call("__double2float_rz", value) if rounding == "rtz" else static_cast("float", value)
    if target is F32:
        return value
    if target is F64:
        return static_cast("double", value)
    if target in (F8E4NV, F8E5):
        return C(f"{target.cuda}({value.text})", PRIMARY, value.deps)
    return call(_FROM_FLOAT[target, rounding], value)


def _to_integer(state: State, value: C, source: DType, target: DType) -> C:
    if source in _SMALL_FLOATS:
        value = _between_floats(state, value, source, F32, "rtne")
    if target.bits >= 32:
        return static_cast(target.cuda, value)
    # Narrow targets are the low bits of int32. Out of their range the language leaves it open; all of ours agree.
    return static_cast(target.cuda, static_cast("int", value))


def _from_integer(state: State, value: C, source: DType, target: DType) -> C:
    if source is BOOL:
        return ternary(value, literal(state, 1.0, target), literal(state, 0.0, target))
    if target in (F32, F64):
        return static_cast(target.cuda, value)
    if target is F16 and source.bits <= 32:
        wide = static_cast("int" if source.kind == "int" else "unsigned", value) if source.bits < 32 else value
        return call("__int2half_rn" if source.kind == "int" else "__uint2half_rn", wide)
    as_float = static_cast("float", value)
    return _between_floats(state, as_float, F32, target, "rtne")


@rule("bitcast")
def _bitcast(state: State, op: Op, args: list[C]) -> C:
    source, target = element_of(op.operands[0].type), element_of(op.results[0].type)
    if isinstance(source, PointerType) or isinstance(target, PointerType):
        return reinterpret(state, op, args[0])
    if source is target:
        return args[0]
    state.include_for(source)
    state.include_for(target)
    if source.is_int() and target.is_int():
        return static_cast(target.cuda, args[0])
    known = _BITCASTS.get((source, target))
    if known is not None:
        return call(known, args[0])
    return C(f"{state.helper('bit_cast')}<{target.cuda}>({args[0].text})", PRIMARY, args[0].deps)


def reinterpret(state: State, op: Op, value: C) -> C:
    """A pointer as another pointer or as its address, and back."""
    source, target = element_of(op.operands[0].type), element_of(op.results[0].type)
    if isinstance(target, PointerType):
        type_ = state.variable_type(op.results[0])  # stays a pointer to const where its argument is only read
        return C(f"reinterpret_cast<{type_}>({value.text})", PRIMARY, value.deps)
    if target in (I64, U64) and isinstance(source, PointerType):
        return C(f"reinterpret_cast<{target.cuda}>({value.text})", PRIMARY, value.deps)
    raise InternalError(f"cannot reinterpret {source.label} as {target.label}", op.span)
