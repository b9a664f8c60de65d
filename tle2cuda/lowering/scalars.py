"""Scalars: uniform values that every thread computes."""

from __future__ import annotations

from tle2cuda.errors import InternalError
from tle2cuda.ir.classify import ELEMENTWISE
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import BOOL, DType, PointerType
from tle2cuda.lowering import atomics
from tle2cuda.lowering.cexpr import EQUALITY, PRIMARY, C, binary, ternary
from tle2cuda.lowering.literals import literal
from tle2cuda.lowering.memory import access_of, guarded, load_helper, pointee, store_helper
from tle2cuda.lowering.naming import hint_for
from tle2cuda.lowering.operators import elementwise
from tle2cuda.lowering.places import Place, Places
from tle2cuda.lowering.state import State


SHORT_TEXT = 24  # an expression up to this long is written again rather than named by us


def scalar_text(state: State, value: Value) -> C:
    """C text of a scalar, wherever it comes from."""
    found = state.scalars.get(value)
    if found is not None:
        return found
    if value in state.places:
        places = Places(state)
        return places.address(places.of(value))
    return state.scalar(value)


def constant_int(state: State, value: Value) -> int | None:
    """The value of an integer constant."""
    op = state.definitions.get(value)
    return int(op.attrs["value"]) if op is not None and op.name == "constant" else None


def define(state: State, op: Op, expr: C, keep: bool = False) -> None:
    """Name a scalar result, or let its only user spell it."""
    value = op.results[0]
    target = state.scalar_targets.get(value)
    if target is not None:
        state.comment(op.span)
        state.block.add(f"{target} = {expr.text};", op.span)
        state.scalars[value] = C(target)
        return
    named = bool(value.name) and not expr.is_simple
    again = state.use_count(value) > 1 and not expr.is_simple and len(expr.text) > SHORT_TEXT
    if not (keep or named or again):
        state.scalars[value] = expr
        return
    if keep and not state.use_count(value):
        state.comment(op.span)
        state.block.add(f"{expr.text};", op.span)
        return
    state.comment(op.span)
    name = state.names.fresh(hint_for(state, value, op))
    type_ = state.variable_type(value)
    text = f"const {type_}" if isinstance(value.type, DType) else f"{type_} const"
    state.block.add(f"{text} {name} = {expr.text};", op.span)
    state.scalars[value] = C(name)


def emit_elementwise(state: State, op: Op) -> None:
    """A scalar computation."""
    result = op.results[0]
    if op.name == "ptr_add":
        place = Places(state).of(op.operands[0]).plus(Places(state).expr(op.operands[1], None, False))
        if not (result.name and state.use_count(result) > 1):
            state.places[result] = place
        else:
            define(state, op, Places(state).address(place), keep=True)
        return
    arguments = [scalar_text(state, v) for v in op.operands]
    expr = elementwise(state, op, list(arguments), lambda e: e if isinstance(e, C) else e.to_c(state.index_names))
    assert isinstance(expr, C)
    define(state, op, expr)


def emit_constant(state: State, op: Op) -> None:
    """A literal, spelled where it is used."""
    type_ = op.results[0].type
    if isinstance(type_, PointerType):
        state.scalars[op.results[0]] = C("nullptr")
        return
    assert isinstance(type_, DType)
    state.scalars[op.results[0]] = literal(state, op.attrs["value"], type_)


def place_of(state: State, pointer: Value) -> Place:
    """Where a scalar pointer points."""
    return Places(state).of(pointer)


def emit_load(state: State, op: Op) -> None:
    """A scalar load: every thread reads the same element."""
    access = access_of(op)
    places = Places(state)
    place = place_of(state, access.pointer)
    dtype = pointee(access.pointer)
    helper = load_helper(op)
    if helper is not None:
        read = C(f"{state.helper(helper)}({places.address(place).text})")
    elif dtype is BOOL and place.buffer is None:
        read = binary(
            "!=",
            EQUALITY,
            C(f"*reinterpret_cast<const unsigned char*>({places.address(place).text})", 15),
            C("0"),
        )
    else:
        read = places.element(place)
    if access.mask is not None:
        other = scalar_text(state, access.other) if access.other is not None else literal(state, 0, dtype)
        read = ternary(scalar_text(state, access.mask), read, other)
    if op.attrs.get("num_scratch"):
        _broadcast(state, op, f"{_slot(state, op)} = {read.text};", None)
        return
    define(state, op, read, keep=True)


def emit_store(state: State, op: Op) -> None:
    """A scalar store: one thread writes."""
    access = access_of(op)
    assert access.value is not None
    places = Places(state)
    place = place_of(state, access.pointer)
    state.comment(op.span)
    condition = binary("==", EQUALITY, state.thread(), C("0"))
    if access.mask is not None:
        mask = scalar_text(state, access.mask)
        condition = C(f"{condition.text} && {mask.at(5)}", 5)
    value = scalar_text(state, access.value)
    helper = store_helper(op)
    if helper is not None:
        statement = f"{state.helper(helper)}({places.address(place).text}, {value.text});"
    elif pointee(access.pointer) is BOOL and place.buffer is None:
        statement = f"*reinterpret_cast<unsigned char*>({places.address(place).text}) = {value.text};"
    else:
        statement = f"{places.element(place).text} = {value.text};"
    state.block.add(guarded(condition, statement), op.span)


def emit_atomic(state: State, op: Op) -> None:
    """A scalar atomic: one thread performs it, all threads get the old value."""
    access = access_of(op)
    places = Places(state)
    place = place_of(state, access.pointer)
    state.comment(op.span)
    operands = op.operands[1:3] if op.name == "atomic_cas" else op.operands[1:2]
    call = atomics.spell(state, op, places.address(place), *(scalar_text(state, v) for v in operands))
    before, after = atomics.fences(op)
    mask = scalar_text(state, access.mask) if access.mask is not None else None
    used = bool(op.attrs.get("num_scratch"))
    zero = literal(state, 0, pointee(access.pointer))
    if before:
        state.block.add("__syncthreads();  // the whole CTA's writes come before the release")
    result = call if mask is None else ternary(mask, call, zero)
    action = f"{_slot(state, op)} = {result.text};" if used else guarded(mask, f"{call.text};")
    fenced = [text for text in (before, action, after) if text]
    if used:
        _broadcast(state, op, "\n".join(fenced), after)
        return
    _by_one_thread(state, op, fenced)
    if after:
        state.block.add("__syncthreads();  // the acquire holds for the whole CTA")


def _slot(state: State, op: Op) -> str:
    ref = state.buffers[op.operands[-1]]
    return f"{ref.text}[0]"


def _by_one_thread(state: State, op: Op, statements: list[str]) -> None:
    state.thread()
    if len(statements) == 1:
        text = statements[0]
        state.block.add(
            f"if (thread == 0) {text}" if not text.startswith("if (") else f"if (thread == 0 && {text[4:]}",
            op.span,
        )
        return
    state.block.add("if (thread == 0) {", op.span)
    with state.block.indented():
        for statement in statements:
            state.block.add(statement, op.span)
    state.block.add("}")


def _broadcast(state: State, op: Op, statements: str, after: str | None) -> None:
    """One thread puts the result into its slot, all read it."""
    state.comment(op.span)
    _by_one_thread(state, op, statements.split("\n"))
    state.block.add("__syncthreads();  // every thread reads the value that one thread obtained")
    value = op.results[0]
    name = state.names.fresh(hint_for(state, value, op))
    state.block.add(f"const {state.variable_type(value)} {name} = {_slot(state, op)};", op.span)
    state.scalars[value] = C(name, PRIMARY)


def is_scalar_elementwise(op: Op) -> bool:
    """Whether an operation computes a scalar from scalars."""
    if op.name not in ELEMENTWISE:
        return False
    if not isinstance(op.results[0].type, (DType, PointerType)):
        return False
    if op.name == "select" and isinstance(op.results[0].type, PointerType):
        return True
    return True


def unknown(op: Op) -> InternalError:
    """Error for an operation without a lowering."""
    return InternalError(f"operation {op.name} has no lowering", op.span)
