"""Functions of single elements that branch: a device function each, called for every element of a thread."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tle2cuda.ir.classify import ELEMENTWISE
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import C, call
from tle2cuda.lowering.control import emit_ops
from tle2cuda.lowering.evaluate import Evaluator
from tle2cuda.lowering.fused import each_register
from tle2cuda.lowering.memory import tile_layout
from tle2cuda.lowering.names import Names
from tle2cuda.lowering.naming import hint_for
from tle2cuda.lowering.operators import elementwise, rule
from tle2cuda.lowering.scalars import scalar_text
from tle2cuda.lowering.state import Registers, Scope, State
from tle2cuda.lowering.templates import render_template, write
from tle2cuda.lowering.writer import Block, render

TEMPLATE = "mapping.cu.j2"


@dataclass(frozen=True, slots=True)
class FunctionView:
    """A function of elements, as `mapping.cu.j2` shows it."""

    remark: str
    result: str
    name: str
    parameters: tuple[str, ...]
    body: str


@dataclass(frozen=True, slots=True)
class BranchView:
    """A branch that ends by returning: its condition, and its statement where it has just one."""

    condition: str
    statement: str = ""


@dataclass(frozen=True, slots=True)
class LeaveView:
    """The end of a function, or of an arm of it.

    Attributes:
        results: (parameter, value) of each result that goes through a parameter.
        value: What is returned; empty where results go through parameters.
        is_early: Statements of the function follow.
    """

    results: tuple[tuple[str, str], ...]
    value: str
    is_early: bool


# -- the function -----------------------------------------------------------------------------------------


def element_function(state: State, op: Op) -> str:
    """The name of the device function of an operation, which is written when first asked for."""
    (region,) = op.regions
    for value in (*op.results, *op.operands):
        state.declare_type(value.type)
    with _apart(state) as body:
        parameters = []
        results: tuple[str, ...] = ()
        for param in region.params:
            name = state.names.fresh(param.name or "x")
            state.scalars[param] = C(name)
            parameters.append(f"{state.declare_type(param.type)} {name}")
        if len(op.results) > 1:
            results = tuple(state.names.fresh(f"result_{i}") for i in range(len(op.results)))
        _returns(state, region.body, region.terminator.operands, results, is_early=False)
    types = [state.declare_type(v.type) for v in op.results]
    through = [f"{type_}& {name}" for type_, name in zip(types, results, strict=False)]
    text = render(body.lines).text
    key = ("map", op.attrs["fn"], text, *through, *parameters, *types)
    known = state.functions.get(key)
    if known is not None:
        return known[0]
    name = state.names.fresh(op.attrs["fn"], 0)
    remark = f"`{op.attrs['fn']}` for one element"
    remark += f", mapped at {op.span.short()}." if op.span.line else "."
    view = FunctionView(remark, "void" if through else types[0], name, (*through, *parameters), text)
    state.functions[key] = (name, render_template(TEMPLATE, op.span, op.name, function=view).strip("\n"))
    return name


@contextlib.contextmanager
def _apart(state: State) -> Iterator[Block]:
    """A function's own names and statements; the kernel's are as they were afterwards."""
    names, scopes = state.names, state.scopes
    body = Block(depth=1)
    state.names = Names()
    for name, _ in state.functions.values():
        state.names.fresh(name)
    state.scopes = [Scope(body, state.names.depth, False, {})]
    try:
        with state.writing_to(body):
            yield body
    finally:
        state.names, state.scopes = names, scopes


def _returns(state: State, ops: Sequence[Op], values: Sequence[Value], results: tuple[str, ...], is_early: bool) -> None:
    """Statements that end by returning values: where a branch makes them, each arm returns."""
    last = next((op for op in reversed(ops) if op.name != "constant"), None)
    if last is None or last.name != "if" or not _only_returned(state, last, values):
        _leave(state, ops, values, results, is_early)
        return
    emit_ops(state, tuple(op for op in ops if op is not last))
    arms = []
    for region in last.regions:
        made = dict(zip(last.results, region.terminator.operands, strict=True))
        arms.append((region.body, [made.get(v, v) for v in values]))
    state.comment(last.span)
    condition = scalar_text(state, last.operands[0])
    with state.nested() as then:
        _returns(state, *arms[0], results, is_early=True)
    if len(then.lines) == 1:
        write(state.block, TEMPLATE, "short_branch", BranchView(condition.text, then.lines[0].text), last.span)
    else:
        write(state.block, TEMPLATE, "branch", BranchView(condition.text), last.span, then=then)
    _returns(state, *arms[1], results, is_early)


def _only_returned(state: State, op: Op, values: Sequence[Value]) -> bool:
    """Whether nothing but the function's end needs what a branch makes."""
    return bool(op.results) and all(v in values and state.use_count(v) == 1 for v in op.results)


def _leave(state: State, ops: Sequence[Op], values: Sequence[Value], results: tuple[str, ...], is_early: bool) -> None:
    """Statements, and the return; what is computed for that alone needs no name."""
    inline = [op for op in ops if op.name in ELEMENTWISE and op.result in values and state.use_count(op.result) == 1]
    emit_ops(state, tuple(op for op in ops if op not in inline))
    for op in inline:
        state.comment(op.span)
        arguments = [scalar_text(state, v) for v in op.operands]
        made = elementwise(state, op, list(arguments), lambda e: e if isinstance(e, C) else e.to_c(state.index_names))
        assert isinstance(made, C)
        state.scalars[op.result] = made
    texts = [scalar_text(state, v).text for v in values]
    view = LeaveView(tuple(zip(results, texts, strict=True)) if results else (), "" if results else texts[0], is_early)
    write(state.block, TEMPLATE, "leave", view)


@rule("map")
def _map(state: State, op: Op, args: list[C]) -> C:
    return call(element_function(state, op), *args)


# -- several results --------------------------------------------------------------------------------------


def emit_map(state: State, op: Op) -> None:
    """Calls of a function with several results, for every element of a thread."""
    state.comment(op.span)
    layout = tile_layout(op.results[0])
    function = element_function(state, op)
    targets = [_declared(state, result, op) for result in op.results]

    def body(ev: Evaluator) -> None:
        arguments = [ev.typed(v).text for v in op.operands]
        elements = [target.element("run", "k") for target in targets]
        statements.evaluate(ev.run_block, f"{function}({', '.join([*elements, *arguments])})", op.span)

    state.block.splice(each_register(state, Evaluator(state, layout, layout.vector()[1]), body))
    for result, registers in zip(op.results, targets, strict=True):
        state.registers[result] = registers


def _declared(state: State, result: Value, op: Op) -> Registers:
    """The registers of a result, which the calls fill."""
    target = state.targets.get(result)
    if target is None:
        target = state.new_registers(result, hint_for(state, result, op))
        type_, name = state.declarator(target, result)
        unused = "" if state.use_count(result) else "[[maybe_unused]] "
        statements.variable(state.block, unused + type_, name, op.span)
    return target
