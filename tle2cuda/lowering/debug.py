"""Barriers, device prints and device asserts."""

from __future__ import annotations

from collections.abc import Callable

from tle2cuda.ir.classify import is_tile
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import F32, DType, PointerType, element_of
from tle2cuda.lowering.casts import convert
from tle2cuda.lowering.cexpr import AND, Affine, C, binary, negate
from tle2cuda.lowering.evaluate import Evaluator
from tle2cuda.lowering.memory import guarded, owner_condition
from tle2cuda.lowering.scalars import scalar_text
from tle2cuda.lowering.state import State
from tle2cuda.lowering.writer import Block, barrier_remark


def emit_barrier(state: State, op: Op) -> None:
    """`__syncthreads();` with what it orders."""
    if op.attrs.get("user"):
        state.comment(op.span)
    remark = barrier_remark(op)
    state.block.add(f"__syncthreads();{remark}", op.span)


def _format(dtype: DType, hexadecimal: bool) -> tuple[str, str]:
    """Printf conversion and the C type that it wants."""
    if dtype.is_floating():
        return "%f", "double"
    if dtype.bits == 64:
        if hexadecimal:
            return "0x%llx", "unsigned long long"
        return ("%lld", "long long") if dtype.kind == "int" else ("%llu", "unsigned long long")
    if hexadecimal:
        return "0x%x", "unsigned"
    return ("%u", "unsigned") if dtype.kind == "uint" else ("%d", "int")


def emit_print(state: State, op: Op) -> None:
    """`printf` of every element, once, with the place of the program in the grid."""
    state.comment(op.span)
    tiles = [v for v in op.operands if is_tile(v)]
    prefix = str(op.attrs.get("prefix", "")).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    head = f"pid (%d, %d, %d){' idx (%d)' if tiles else ''} {prefix}"
    where = "(int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z"
    if not tiles:
        for value in op.operands or (None,):
            text, arguments = _printed(state, op, value, scalar_text(state, value) if value is not None else None)
            state.thread()
            state.block.add(f'if (thread == 0) printf("{head}{text}\\n", {where}{arguments});', op.span)
        return
    for value in op.operands:
        like = tiles[0] if not is_tile(value) else value
        ev = Evaluator(state, state.layout(like), 1)

        def body(ev: Evaluator = ev, value: Value = value) -> None:
            owner = owner_condition(state, ev.layout)
            index = ev.text(linear_index(ev))
            text, arguments = _printed(state, op, value, ev.c(value))
            statement = f'printf("{head}{text}\\n", {where}, {index.text}{arguments});'
            ev.run_block.add(guarded(owner, statement), op.span)

        over_registers(state, ev, body)


def _printed(state: State, op: Op, value: Value | None, text: C | None) -> tuple[str, str]:
    if value is None or text is None:
        return "", ""
    element = element_of(value.type)
    if isinstance(element, PointerType):
        return "%p", f", {text.text}"
    conversion, wanted = _format(element, bool(op.attrs.get("hex")))
    if element.bits < 32 and element.is_floating():
        text = convert(state, text, element, F32)
    return conversion, f", ({wanted}){text.at(15)}"


def linear_index(ev: Evaluator) -> Affine:
    """Row-major index of an element in its tile."""
    total = Affine()
    for axis, extent in enumerate(ev.grid.shape):
        total = total.times(extent).plus(ev.coordinate(ev.grid, axis))
    return total


def over_registers(state: State, ev: Evaluator, body: Callable[[], None]) -> None:
    """Run `body` for every register of a thread."""
    outer = state.block
    if ev.runs == 1:
        body()
        return
    inner = Block(outer.depth + 1)
    state.block, ev.run_block = inner, inner
    with state.names.scope():
        body()
    state.block = outer
    outer.add("#pragma unroll")
    outer.add(f"for (int run = 0; run < {ev.runs}; ++run) {{")
    outer.splice(inner)
    outer.add("}")


def emit_assert(state: State, op: Op) -> None:
    """A failed assertion prints its message and traps; the host sees a launch failure."""
    state.comment(op.span)
    condition = op.operands[0]
    mask = op.operands[1] if len(op.operands) > 1 else None
    message = str(op.attrs.get("message", "")).replace("\\", "\\\\").replace('"', '\\"')
    call = f'{state.helper("assertion_failed")}("{message}", "{op.span.file_name}", {op.span.line});'
    if not is_tile(condition):
        test = negate(scalar_text(state, condition))
        if mask is not None:
            test = binary("&&", AND, scalar_text(state, mask), test)
        state.block.add(f"if ({test.text}) {call}", op.span)
        return
    ev = Evaluator(state, state.layout(condition), 1)

    def body() -> None:
        test = negate(ev.c(condition))
        if mask is not None:
            test = binary("&&", AND, ev.c(mask), test)
        ev.run_block.add(f"if ({test.text}) {call}", op.span)

    over_registers(state, ev, body)
