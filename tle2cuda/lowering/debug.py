"""Barriers, device prints and device asserts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tle2cuda.ir.classify import is_tile
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import F32, DType, PointerType, TileType, element_of
from tle2cuda.lowering import statements
from tle2cuda.lowering.casts import convert
from tle2cuda.lowering.cexpr import AND, C, binary, negate
from tle2cuda.lowering.evaluate import Evaluator
from tle2cuda.lowering.memory import owner_condition
from tle2cuda.lowering.scalars import scalar_text
from tle2cuda.lowering.state import State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import Block, barrier_remark, joins_barrier
from tle2cuda.ops.debug import index_widths

TEMPLATE = "debug.cu.j2"


@dataclass(frozen=True, slots=True)
class BarrierView:
    """A barrier of the CTA, and what it orders as a trailing comment."""

    remark: str


@dataclass(frozen=True, slots=True)
class PrintView:
    """One `printf` of `debug.cu.j2`."""

    prefix: str
    conversion: str = ""
    arguments: str = ""
    condition: str = ""


@dataclass(frozen=True, slots=True)
class AssertView:
    """A check of `debug.cu.j2`: the condition under which it fails, what it says, and where it stands."""

    condition: str
    message: str
    file: str
    line: int


def emit_barrier(state: State, op: Op) -> None:
    """`__syncthreads();` with what it orders."""
    if op.attrs.get("user"):
        state.comment(op.span)
    elif joins_barrier(state.block, str(op.attrs.get("reason") or "")):
        return
    remark = barrier_remark(op)
    write(state.block, TEMPLATE, "barrier", BarrierView(remark), op.span)


def _format(dtype: DType, hexadecimal: bool) -> tuple[str, str]:
    """Printf conversion and the C type that it wants."""
    if dtype.is_floating():
        return "%f", "double"
    if hexadecimal:
        digits = f"0{dtype.bits // 4}" if dtype.bits >= 4 else ""
        return (f"0x%{digits}llx", "unsigned long long") if dtype.bits == 64 else (f"0x%{digits}x", "unsigned")
    if dtype.bits == 64:
        return ("%lld", "long long") if dtype.kind == "int" else ("%llu", "unsigned long long")
    return ("%u", "unsigned") if dtype.kind == "uint" else ("%d", "int")


def emit_print(state: State, op: Op) -> None:
    """`printf` of every element, once, with the place of the program in the grid."""
    state.comment(op.span)
    prefix = c_text(op.attrs.get("prefix", "")).replace("%", "%%")
    if not op.operands:
        state.thread()
        write(state.block, TEMPLATE, "print_scalar", PrintView(prefix), op.span)
    for number, value in enumerate(op.operands):
        label = f"{prefix}(operand {number}) " if len(op.operands) > 1 else prefix
        if is_tile(value):
            _print_tile(state, op, value, label)
            continue
        printed = _printed(state, op, value, scalar_text(state, value))
        state.thread()
        write(state.block, TEMPLATE, "print_scalar", PrintView(f" idx (){label}", *printed), op.span)


def _print_tile(state: State, op: Op, value: Value, label: str) -> None:
    ev = Evaluator(state, state.layout(value), 1)
    assert isinstance(value.type, TileType)
    widths = index_widths(value.type.shape)
    places = ", ".join(f"%{width or ''}d" for width in widths)

    def body() -> None:
        owner = owner_condition(state, ev.layout)
        indices = "".join(f", {ev.text(ev.coordinate(ev.grid, axis)).text}" for axis in range(len(widths)))
        conversion, argument = _printed(state, op, value, ev.typed(value))
        condition = owner.text if owner is not None else ""
        view = PrintView(f" idx ({places}){label}", conversion, indices + argument, condition)
        write(ev.run_block, TEMPLATE, "print_element", view, op.span)

    over_registers(state, ev, body)


def c_text(text: object) -> str:
    """A text as it stands between the quotes of a string literal."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": ""}
    return "".join(escapes.get(letter, letter) for letter in str(text))


def _printed(state: State, op: Op, value: Value, text: C) -> tuple[str, str]:
    """Conversion of a value in a format string, and the argument for it with the comma in front."""
    element = element_of(value.type)
    if isinstance(element, PointerType):
        return "%p", f", {text.text}"
    conversion, wanted = _format(element, bool(op.attrs.get("hex")))
    if element.bits < 32 and element.is_floating():
        text = convert(state, text, element, F32)
    return conversion, f", ({wanted}){text.at(15)}"


def over_registers(state: State, ev: Evaluator, body: Callable[[], None]) -> None:
    """Run `body` for every register of a thread."""
    outer = state.block
    if ev.runs == 1:
        body()
        return
    inner = Block(outer.depth + 1)
    ev.run_block = inner
    with state.writing_to(inner), state.names.scope():
        body()
    statements.loop(outer, "run", ev.runs, inner)


def emit_assert(state: State, op: Op) -> None:
    """A failed assertion of scalars prints its message and traps; those of tiles are in loops over their elements."""
    state.comment(op.span)
    condition, *mask = (scalar_text(state, value) for value in op.operands)
    write_assertion(state, state.block, op, condition, *mask)


def write_assertion(state: State, block: Block, op: Op, condition: C, mask: C | None = None) -> None:
    """The check of one value: the host sees a launch failure."""
    test = negate(condition)
    if mask is not None:
        test = binary("&&", AND, mask, test)
    state.helper("assertion_failed")
    view = AssertView(test.text, c_text(op.attrs.get("message", "")), op.span.file_name, op.span.line)
    write(block, TEMPLATE, "assertion", view, op.span)
