"""How arithmetic reads in CUDA."""

from __future__ import annotations

from tle2cuda.analysis.axis_info import within
from tle2cuda.errors import InternalError
from tle2cuda.ir.classify import ELEMENTWISE
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import BF16, BOOL, F8E4NV, F8E5, F16, F32, F64, I64, DType, PointerType, element_of
from tle2cuda.lowering.cexpr import (
    ADD,
    AND,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    EQUALITY,
    MUL,
    OR,
    PRIMARY,
    SHIFT,
    Affine,
    C,
    binary,
    call,
    mixed_bits,
    negate,
    static_cast,
    ternary,
)
from tle2cuda.lowering.operators import index_rule, rule
from tle2cuda.lowering.state import State

_SUMS = {"add": ("+", ADD), "sub": ("-", ADD), "mul": ("*", MUL)}
_ROUNDED = {("add", F32): "__fadd_rn", ("sub", F32): "__fsub_rn", ("mul", F32): "__fmul_rn"}
_ROUNDED |= {("add", F64): "__dadd_rn", ("sub", F64): "__dsub_rn", ("mul", F64): "__dmul_rn"}
_ROUNDED |= {(op, t): f"__h{op}_rn" for op in ("add", "sub", "mul") for t in (F16, BF16)}
_BITS = {"and": ("&", BIT_AND), "or": ("|", BIT_OR), "xor": ("^", BIT_XOR)}
_LOGIC = {"and": ("&&", AND), "or": ("||", OR), "xor": ("!=", EQUALITY)}
_NARROW_FLOATS = (F16, BF16, F8E4NV, F8E5)


_WIDEN = "static_cast<long long>("
_RENAMED = frozenset({"splat", "broadcast", "expand_dims", "hint"})  # what leaves an element's text as it is


def dtype(op: Op) -> DType:
    """Element type of an operation's result."""
    element = element_of(op.results[0].type)
    if not isinstance(element, DType):
        raise InternalError(f"{op.name} on pointers", op.span)
    return element


def narrowed(type_: DType, value: C) -> C:
    """C computes small integers as int: bring the result back to its width."""
    if type_.is_int() and type_ is not BOOL and type_.bits < 32:
        return static_cast(type_.cuda, value)
    return value


@rule("add", "sub", "mul")
def _sum(state: State, op: Op, args: list[C]) -> C:
    a, b = args
    type_ = dtype(op)
    if type_ is BOOL:  # arithmetic modulo 2
        return binary("&&", AND, a, b) if op.name == "mul" else binary("!=", EQUALITY, a, b)
    if type_.is_floating() and op.attrs.get("rounding") == "rn":
        return call(_ROUNDED[op.name, type_], a, b)
    sign, precedence = _SUMS[op.name]
    if type_ is I64 and _widens_an_integer(state, op.operands[1]):  # one wide operand makes the other one wide
        narrow = b.text.removeprefix(_WIDEN).removesuffix(")") if b.text.startswith(_WIDEN) else ""
        if a.text.startswith(_WIDEN) and narrow.isidentifier():
            b = C(narrow, PRIMARY, b.deps)
    if op.name == "sub" and type_.is_floating() is False and a.text == "0":
        return narrowed(type_, C(f"-{b.at(15)}", 15, b.deps))
    return narrowed(type_, binary(sign, precedence, a, b))


def _widens_an_integer(state: State, value: Value) -> bool:
    """Whether a value is another integer made wide, so that C++ converts it by itself."""
    definition = state.definitions.get(value)
    while definition is not None and definition.name in _RENAMED:
        definition = state.definitions.get(definition.operands[0])
    if definition is None or definition.name != "cast":
        return False
    source = element_of(definition.operands[0].type)
    return isinstance(source, DType) and source.is_int()


@index_rule("add", "sub", "mul", "hint")
def _index_sum(op: Op, args: list[Affine]) -> Affine | None:
    type_ = dtype(op)
    if not type_.is_int() or type_.bits < 32 or type_.kind != "int":
        return None
    if op.name == "hint":
        return args[0]
    a, b = args
    if op.name != "mul":
        total: Affine | None = a.plus(b, 1 if op.name == "add" else -1)
    elif b.constant is not None:
        total = a.times(b.constant)
    else:
        total = b.times(a.constant) if a.constant is not None else None
    # The fields are computed as int: in a sum of 64 bits they must stay inside of it.
    return total if total is None or type_.bits == 32 or total.fields_fit_an_int else None


@rule("div")
def _div(state: State, op: Op, args: list[C]) -> C:
    type_ = dtype(op)
    if type_ is F32 and op.attrs.get("rounding", "approx") == "approx":
        return call(state.helper("divide_approx"), *args)
    if type_ is F32:
        return call("__fdiv_rn", *args)
    return binary("/", MUL, *args)


@rule("idiv")
def _idiv(state: State, op: Op, args: list[C]) -> C:
    return narrowed(dtype(op), binary("/", MUL, *args))


@rule("rem")
def _rem(state: State, op: Op, args: list[C]) -> C:
    if dtype(op).is_floating():
        return call("fmodf" if dtype(op) is F32 else "fmod", *args)
    return narrowed(dtype(op), binary("%", MUL, *args))


@rule("and", "or", "xor")
def _bits(state: State, op: Op, args: list[C]) -> C:
    a, b = args
    if dtype(op) is BOOL:
        if op.name == "xor" and b.text == "true":
            return negate(a)
        sign, precedence = _LOGIC[op.name]
        if op.name != "xor" and _has_narrow_floats(state, op.operands[1]):
            a, b = b, a
        if {a.precedence, b.precedence} & {AND, OR} - {precedence}:
            return C(f"{a.at(EQUALITY)} {sign} {b.at(EQUALITY)}", precedence, a.deps | b.deps)
        return binary(sign, precedence, a, b)
    sign, precedence = _BITS[op.name]
    if op.name == "xor" and b.text in ("-1", "-1ll"):
        return narrowed(dtype(op), C(f"~{a.at(15)}", 15, a.deps))
    return narrowed(dtype(op), mixed_bits(sign, precedence, a, b))


def _has_narrow_floats(state: State, value: Value) -> bool:
    """Whether a condition is computed of narrow floats, whose arithmetic is inline PTX in CUDA's headers.

    The compiler does not see that it may as well be done, and branches around it where it stands to the right of `&&` or
    `||`. Behind such a branch the load of one element waits for the condition of the one before.
    """
    todo, seen = [value], {value}
    while todo:
        op = state.definitions.get(todo.pop())
        if op is None or op.name not in ELEMENTWISE:
            continue
        if any(element_of(v.type) in _NARROW_FLOATS for v in op.operands):
            return True
        todo += [v for v in op.operands if v not in seen]
        seen.update(op.operands)
    return False


@rule("shl", "shr")
def _shift(state: State, op: Op, args: list[C]) -> C:
    """C++ leaves shifts by amounts outside [0, bits) open, so what is not proved to lie inside goes through a helper."""
    type_ = dtype(op)
    amount = state.info.get(op.operands[1])
    known = amount.constant if amount is not None else None
    if op.name == "shr" and type_.is_int_signed() and known is not None and not 0 <= known < type_.bits:
        # Folding came upon the amount; the sign stays.
        return narrowed(type_, mixed_bits(">>", SHIFT, args[0], C(str(type_.bits - 1))))
    if amount is None or not within(amount, 0, type_.bits):
        helper = state.helper("shift_left" if op.name == "shl" else "shift_right")
        return call(f"{helper}<{type_.cuda}>", *args)
    by = args[1] if known is None else C(str(known))
    return narrowed(type_, mixed_bits("<<" if op.name == "shl" else ">>", SHIFT, args[0], by))


@rule("mulhi")
def _mulhi(state: State, op: Op, args: list[C]) -> C:
    type_ = dtype(op)
    function = {32: "mulhi", 64: "mul64hi"}[type_.bits]
    return call(f"__{'u' if type_.kind == 'uint' else ''}{function}", *args)


@rule("fma")
def _fma(state: State, op: Op, args: list[C]) -> C:
    function = {F32: "fmaf", F64: "fma", F16: "__hfma", BF16: "__hfma"}[dtype(op)]
    return call(function, *args)


@rule("select")
def _select(state: State, op: Op, args: list[C]) -> C:
    return ternary(*args)


@rule("ptr_add")
def _pointer_sum(state: State, op: Op, args: list[C]) -> C:
    assert isinstance(element_of(op.results[0].type), PointerType)
    return binary("+", ADD, *args)
