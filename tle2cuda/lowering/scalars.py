"""Scalars: uniform values that every thread computes."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.errors import InternalError
from tle2cuda.ir.classify import ELEMENTWISE
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import DType, PointerType
from tle2cuda.lowering import atomics, statements
from tle2cuda.lowering.cexpr import PRIMARY, C, all_of, ternary
from tle2cuda.lowering.literals import literal
from tle2cuda.lowering.memory import access_of, masked_element, pointee, read_element, store_view, write_store
from tle2cuda.lowering.naming import hint_for
from tle2cuda.lowering.operators import elementwise
from tle2cuda.lowering.places import Place, Places
from tle2cuda.lowering.state import State
from tle2cuda.lowering.templates import write

SHORT_TEXT = 24  # an expression up to this long is written again rather than named by us


@dataclass(frozen=True, slots=True)
class BroadcastView:
    """What `scalars.cu.j2` shows."""

    type: str
    name: str
    slot: str
    value: str
    meet: bool
    release: str
    acquire: str


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
        statements.assign(state.block, target, expr.text, op.span)
        state.scalars[value] = C(target)
        state.levels[value] = state.level
        return
    named = bool(value.name) and not expr.is_simple and not _is_carried_on(state, value)
    again = not expr.is_simple and len(expr.text) > SHORT_TEXT and _times_spelled(state, value) > 1
    if not (keep or named or again):
        state.scalars[value] = expr
        return
    if keep and not state.use_count(value):
        state.comment(op.span)
        statements.evaluate(state.block, expr.text, op.span)
        return
    state.comment(op.span)
    name = state.names.fresh(hint_for(state, value, op))
    state.define_constant(value, name, expr.text, op.span)
    state.scalars[value] = C(name)


def _is_carried_on(state: State, value: Value) -> bool:
    """Whether the end of a loop's body alone uses a scalar: the loop's variable names it."""
    users = state.uses.get(value, ())
    return len(users) == 1 and users[0].name == "yield" and state.use_count(value) == 1


def _times_spelled(state: State, value: Value) -> int:
    """How often a scalar's text would stand somewhere: its uses, those of a splat of it counting as its own."""
    return sum(state.use_count(user.results[0]) if user.name == "splat" else 1 for user in state.uses.get(value, ()))


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
    read = read_element(state, op, places, place)
    if access.mask is not None:
        other = scalar_text(state, access.other) if access.other is not None else literal(state, 0, dtype)
        read = masked_element(state, op, places, place, scalar_text(state, access.mask), read, other)
    if op.attrs.get("num_scratch"):
        state.comment(op.span)
        _broadcast(state, op, read, atomics.Fences())
        return
    define(state, op, read, keep=True)


def emit_store(state: State, op: Op) -> None:
    """A scalar store: one thread writes."""
    access = access_of(op)
    assert access.value is not None
    places = Places(state)
    place = place_of(state, access.pointer)
    state.comment(op.span)
    condition = all_of((first_thread(state), *(() if access.mask is None else (scalar_text(state, access.mask),))))
    value = scalar_text(state, access.value)
    write_store(state.block, store_view(state, op, places, place, value, condition), op.span)


def emit_atomic(state: State, op: Op) -> None:
    """A scalar atomic: one thread performs it, all threads get the old value."""
    access = access_of(op)
    places = Places(state)
    place = place_of(state, access.pointer)
    state.comment(op.span)
    operands = op.operands[1:3] if op.name == "atomic_cas" else op.operands[1:2]
    call = atomics.spell(state, op, places.address(place), *(scalar_text(state, v) for v in operands))
    fences = atomics.fences(state, op)
    mask = scalar_text(state, access.mask) if access.mask is not None else None
    if op.attrs.get("num_scratch"):  # where the old value is used
        result = call if mask is None else ternary(mask, call, literal(state, 0, pointee(access.pointer)))
        _broadcast(state, op, result, fences)
    elif fences == atomics.Fences():
        condition = all_of((first_thread(state), *(() if mask is None else (mask,))))
        assert condition is not None
        statements.evaluate(state.block, call.text, op.span, condition.text)
    else:
        state.thread()
        view = atomics.FencedView(
            meet=atomics.must_meet(state.block, fences),
            release=fences.release,
            acquire=fences.acquire,
            condition=mask.text if mask is not None else "",
            call=call.text,
        )
        write(state.block, atomics.TEMPLATE, "fenced", view, op.span)


def first_thread(state: State) -> C:
    """Condition that selects one thread of the CTA."""
    return state.first_thread()


def _slot(state: State, op: Op) -> str:
    ref = state.buffers[op.operands[-1]]
    return f"{ref.text}[0]"


def _broadcast(state: State, op: Op, obtained: C, fences: atomics.Fences) -> None:
    """One thread puts the result into its slot, all read it."""
    state.thread()
    value = op.results[0]
    name = state.names.fresh(hint_for(state, value, op))
    view = BroadcastView(
        type=state.variable_type(value),
        name=name,
        slot=_slot(state, op),
        value=obtained.text,
        meet=atomics.must_meet(state.block, fences),
        release=fences.release,
        acquire=fences.acquire,
    )
    write(state.block, "scalars.cu.j2", "broadcast", view, op.span)
    state.scalars[value] = C(name, PRIMARY)


def is_scalar_elementwise(op: Op) -> bool:
    """Whether an operation computes a scalar from scalars."""
    return op.name in ELEMENTWISE and isinstance(op.results[0].type, (DType, PointerType))


def unknown(op: Op) -> InternalError:
    """Error for an operation without a lowering."""
    return InternalError(f"operation {op.name} has no lowering", op.span)
