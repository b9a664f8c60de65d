"""Variables that loops and branches carry: how they are declared, and what is assigned to them at once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tle2cuda.errors import NotSupported
from tle2cuda.ir.classify import is_tile
from tle2cuda.ir.nodes import Value
from tle2cuda.ir.types import BufferType
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import Affine, C
from tle2cuda.lowering.copies import assign_tile
from tle2cuda.lowering.scalars import scalar_text
from tle2cuda.lowering.shared import first_element, row_major_strides
from tle2cuda.lowering.state import BufferRef, Registers, State


def declare(state: State, value: Value, hint: str) -> None:
    """Declare a variable that branches or loops will assign, without a value."""
    if isinstance(value.type, BufferType):
        declare_handle(state, value, hint, None, row_major_strides(value.type.shape))
        return
    if is_tile(value):
        registers = state.new_registers(value, hint)
        state.declare_registers(registers, value, value.span)
        state.registers[value] = registers
    else:
        name = state.names.fresh(value.name or hint)
        statements.variable(state.block, state.variable_type(value), name, value.span)
        state.scalars[value] = C(name)


def share(state: State, value: Value, variable: Value) -> None:
    """Let `value` live in the same variable as `variable`."""
    if variable in state.registers:
        state.registers[value] = state.registers[variable]
    elif variable in state.scalars:
        state.scalars[value] = state.scalars[variable]


def assign_all(state: State, variables: list[Value], values: list[Value]) -> None:
    """`variables = values`, all at once: what would be overwritten before it is read goes through a copy."""
    pending: list[tuple[Value, Value]] = []
    for variable, value in zip(variables, values, strict=True):
        if isinstance(variable.type, BufferType) and variable not in state.scalars:
            bind_buffer(state, variable, value)
            continue
        if isinstance(variable.type, BufferType):
            _check_handle(state, variable, value)
        if _same_storage(state, variable, value):
            continue
        pending.append((variable, value))
    names = [_variable_name(state, variable) for variable, _ in pending]
    texts = [_reads(state, value) for _, value in pending]
    # A value may be another variable of this very assignment (`a, b = b, a`): its copy stands for it only here.
    scalars, registers, buffers = dict(state.scalars), dict(state.registers), dict(state.buffers)
    for i, (variable, value) in enumerate(pending):
        later = [j for j in range(i + 1, len(pending)) if re.search(rf"\b{re.escape(names[i])}\b", texts[j])]
        for j in later:
            _stage(state, pending[j][1], names[j])
            texts[j] = ""
        if variable in scalars:
            _assign_scalar(state, scalars[variable].text, value)
        else:
            assign_tile(state, registers[variable], value)
    for _, value in pending:
        if value in scalars:
            state.scalars[value] = scalars[value]
        if value in registers:
            state.registers[value] = registers[value]
        if value in buffers:
            state.buffers[value] = buffers[value]


def bind_buffer(state: State, variable: Value, value: Value) -> None:
    """Let a merged or carried buffer stand for `value`, whose bytes are the same on every way there."""
    state.buffers.setdefault(variable, state.buffers[value])


def _check_handle(state: State, variable: Value, value: Value) -> None:
    """A handle can move between buffers of one shape only when their elements lie alike.

    Raises:
        NotSupported: They do not, as a window of a larger buffer and a buffer of its own.
    """
    if state.buffers[variable].strides != state.buffers[value].strides:
        name = variable.name or value.name or "the buffer"
        raise NotSupported(
            f"`{name}` is a window of a larger buffer on one way and lies apart on another, which is not supported",
            variable.span or value.span,
            help="make all of them slots of one buffer, or use pointers: p = tle.gpu.local_ptr(buffer, (0, 0))",
        )


def is_one_buffer(state: State, values: Sequence[Value]) -> bool:
    """Whether buffers are known to be the same bytes, whichever way is taken."""
    known = [state.buffers.get(v) for v in values]
    return known[0] is not None and all(ref == known[0] for ref in known)


def declare_handle(state: State, variable: Value, hint: str, start: Value | None, strides: tuple[int, ...]) -> None:
    """A pointer to the first element of the buffer that a name holds at the time."""
    assert isinstance(variable.type, BufferType)
    name = state.names.fresh(variable.name or hint)
    pointer = f"{variable.type.element.cuda}*"
    if start is None:
        statements.variable(state.block, pointer, name, variable.span)
    else:
        statements.started(state.block, pointer, name, first_element(state, state.buffers[start]), variable.span)
    shape = variable.type.shape
    state.scalars[variable] = C(name)
    state.buffers[variable] = BufferRef(name, shape, (Affine(),) * len(shape), True, strides)


def strides_of(state: State, value: Value) -> tuple[int, ...]:
    """Strides of a buffer that may be a handle made in a body that is not written yet."""
    assert isinstance(value.type, BufferType)
    ref = state.buffers.get(value)
    return ref.strides if ref is not None else row_major_strides(value.type.shape)


def _text(state: State, value: Value) -> C:
    """What is assigned to the variable of a scalar or of a buffer's handle."""
    if not isinstance(value.type, BufferType):
        return scalar_text(state, value)
    return C(first_element(state, state.buffers[value]))


def _stage(state: State, value: Value, target_name: str) -> None:
    """Keep a copy of a value that is about to be overwritten."""
    if is_tile(value):
        registers = Registers(
            state.names.fresh(f"{target_name}_next"), state.layout(value), state.layout(value).vector()[1]
        )
        state.declare_registers(registers, value)
        assign_tile(state, registers, value)
        state.registers[value] = registers
        return
    name = state.names.fresh(f"{target_name}_next")
    if isinstance(value.type, BufferType):
        pointer = f"{value.type.element.cuda}*"
        statements.constant(state.block, pointer, name, _text(state, value).text)
        starts = (Affine(),) * len(value.type.shape)
        state.buffers[value] = BufferRef(name, value.type.shape, starts, True, state.buffers[value].strides)
        return
    _show_line(state, value)
    state.define_constant(value, name, scalar_text(state, value).text)
    state.scalars[value] = C(name)


def _assign_scalar(state: State, name: str, value: Value) -> None:
    text = _text(state, value).text
    if text != name:
        _show_line(state, value)
        statements.assign(state.block, name, text, value.span)


def _show_line(state: State, value: Value) -> None:
    """The user's line in front of a scalar that is spelled where it is carried on, not where it is computed."""
    op = state.definitions.get(value)
    if op is not None and value.name and not isinstance(value.type, BufferType) and not scalar_text(state, value).is_simple:
        state.comment(op.span)


def _same_storage(state: State, variable: Value, value: Value) -> bool:
    if is_tile(variable):
        source = state.registers.get(value)
        return source is not None and source.name == state.registers[variable].name
    if isinstance(variable.type, BufferType):
        return _text(state, value).text == state.scalars[variable].text
    return value in state.scalars and state.scalars[value].text == state.scalars[variable].text


def _variable_name(state: State, variable: Value) -> str:
    return state.registers[variable].name if is_tile(variable) else state.scalars[variable].text


def _reads(state: State, value: Value) -> str:
    """Names that evaluating a value reads."""
    if not is_tile(value):
        return _text(state, value).text
    seen: list[str] = []
    stack = [value]
    while stack:
        v = stack.pop()
        if v in state.registers:
            seen.append(state.registers[v].name)
        elif not is_tile(v) and v in state.scalars:
            seen.append(state.scalars[v].text)
        elif (op := state.definitions.get(v)) is not None:
            stack += op.operands
    return " ".join(seen)
