"""Loops and branches."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.ir.classify import CHOICES, ELEMENTWISE, SHAPE, VIEWS, is_tile
from tle2cuda.ir.effects import is_barrier
from tle2cuda.ir.legality import is_pure, scratch_operands
from tle2cuda.ir.nodes import Op, Region, Value, walk
from tle2cuda.ir.rewrite import captured_values
from tle2cuda.ir.types import BufferType, PointerType, TileType
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import RELATIONAL, C, negate
from tle2cuda.lowering.copies import assign_tile
from tle2cuda.lowering.evaluate import Evaluator
from tle2cuda.lowering.pipes import is_silent_release
from tle2cuda.lowering.places import Places
from tle2cuda.lowering.scalars import constant_int, scalar_text
from tle2cuda.lowering.state import CopiesBehind, Registers, State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.variables import assign_all, bind_buffer, declare, declare_handle, is_one_buffer, share, strides_of
from tle2cuda.lowering.wgmma import added_to, in_flight, keep_sums
from tle2cuda.lowering.writer import Block, operation


def emit_ops(state: State, ops: tuple[Op, ...]) -> None:
    """Write the statements of a list of operations."""
    from tle2cuda.lowering.dispatch import emit_op

    number = 0
    while number < len(ops):
        behind = CopiesBehind(_copies_behind(state, ops, number))
        state.copies_behind = behind if behind.ops else None
        emit_op(state, ops[number])
        state.copies_behind = None
        number += 1 + (len(behind.ops) if behind.is_taken else 0)


def _copies_behind(state: State, ops: tuple[Op, ...], number: int) -> tuple[Op, ...]:
    """The operations that load ahead directly behind a product that may hold them, up to the commit.

    A product of warpgroups holds whatever does not read it, as it stands at the same place; one by `mma.sync` holds them in
    a loop of its own, so that nothing they define may be read behind it. Neither holds what exchanges data between threads:
    scratch for that may share bytes with its operands, which it still reads, and no barrier tells when it has.
    """
    if not ops[number].attrs.get("holds_copies"):
        return ()
    is_of_warpgroups = str(ops[number].attrs.get("instruction")).startswith("wgmma")
    found: list[Op] = []
    for op in ops[number + 1 :]:
        found.append(op)
        if op.name == "pipe_commit":
            return tuple(found)
        if _exchanges(op):
            break
        if is_of_warpgroups:
            if ops[number].result in (*op.operands, *(v for region in op.regions for v in captured_values(region))):
                break
            continue
        is_spelled_elsewhere = bool(op.results) and op.results[0] in state.lazy
        if op.name != "pipe_acquire" and not op.attrs.get("is_guard") and not is_spelled_elsewhere:
            break
    return ()


def _exchanges(op: Op) -> bool:
    """Whether an operation has threads meet, or moves data through scratch."""
    inside = (inner for region in op.regions for inner in walk(region))
    return any(is_barrier(each) or scratch_operands(each) for each in (op, *inside))


def emit_tail(state: State, ops: tuple[Op, ...]) -> None:
    """Write the statements that a kernel, or one of its partitions, ends with: a branch at the end may leave early."""
    last = next((op for op in reversed(ops) if op.name != "constant"), None)
    for op in ops:
        if op is last and op.name == "if":
            with operation(op.name):
                emit_if(state, op, tail_of_kernel=True)
        else:
            emit_ops(state, (op,))


TEMPLATE = "control.cu.j2"


@dataclass(frozen=True, slots=True)
class BranchView:
    """A branch of `control.cu.j2`."""

    condition: str


@dataclass(frozen=True, slots=True)
class ForView:
    """A counted loop of `control.cu.j2`."""

    type: str
    name: str
    lower: str
    goes_on: str
    advance: str
    unroll: int | str | None


@dataclass(frozen=True, slots=True)
class WhileView:
    """A loop of `control.cu.j2` with a test."""

    test: str
    keep_rolled: bool = False


# ---- in-place updates -----------------------------------------------------------------------------------------------


def update_in_place(state: State, region: Region, params: tuple[Value | None, ...], yields: tuple[Value, ...]) -> None:
    """Let a fused operation write a carried tile's next value into the tile itself, if the old one is dead by then."""
    for param, value in zip(params, yields, strict=True):
        if param is None or yields.count(value) != 1:
            continue
        if not is_tile(param):
            _update_scalar(state, region, param, value)
            continue
        if param not in state.registers:
            continue
        _update_tile(state, region, param, value)


def _update_tile(state: State, region: Region, param: Value, value: Value) -> None:
    """Let `value` be computed in the registers of the carried tile `param` if that one is dead by then."""
    maker = next((op for op in region.ops if value in op.results), None)
    if maker is None or maker.name not in _WRITES_IN_PLACE or state.layout(value) != state.registers[param].layout:
        return
    if not _old_value_is_dead(state, region, param, maker, value):
        return
    state.targets[value] = state.registers[param]
    start = _private_start(state, maker)
    if start is not None:
        _update_tile(state, region, param, start)


_PRODUCTS = {"dot": 2, "wgmma": 2, "wgmma_wait": 0}  # and the operand whose registers they may take over
_WRITES_IN_PLACE = frozenset(("fused", *_PRODUCTS))


def write_into(state: State, region: Region, value: Value, registers: Registers) -> None:
    """Compute a tile in given registers, and what a product adds to if nothing else needs that."""
    state.targets[value] = registers
    maker = next((op for op in region.ops if value in op.results), None)
    start = _private_start(state, maker) if maker is not None else None
    before = next((op for op in region.ops if start in op.results), None)
    if start is not None and before is not None and before.name in _WRITES_IN_PLACE:
        write_into(state, region, start, registers)


def _private_start(state: State, op: Op) -> Value | None:
    """What a product adds to, if it lies as the product does and nothing else reads it."""
    if op.name not in _PRODUCTS:
        return None
    start = op.operands[_PRODUCTS[op.name]]
    return start if state.use_count(start) == 1 and state.layout(start) == state.layout(op.results[0]) else None


def _update_scalar(state: State, region: Region, param: Value, value: Value) -> None:
    """The same for a carried scalar that one operation of the body computes anew."""
    maker = next((op for op in region.ops if value in op.results), None)
    computed = maker is not None and (maker.name in ELEMENTWISE or maker.name == "reduce")
    if maker is None or not computed or isinstance(value.type, BufferType) or param not in state.scalars:
        return
    position = {op: i for i, op in enumerate(region.ops)}
    for reader in _scalar_readers(state, param, maker):
        top = _top_level(region, reader)
        if top is None or position[top] > position[maker]:
            return
    state.scalar_targets[value] = state.scalars[param].text


def _scalar_readers(state: State, value: Value, maker: Op) -> list[Op]:
    """Operations whose text reads a scalar: its users, and theirs where a result may be spelled where it is used."""
    found: list[Op] = []
    stack, seen = [value], {value}
    while stack:
        for op in state.uses.get(stack.pop(), ()):
            found.append(op)
            spelled_later = op is not maker and op.results and (op.name in _SPELLED_LATER or op.results[0] in state.lazy)
            for result in op.results if spelled_later else ():
                if result not in seen:
                    seen.add(result)
                    stack.append(result)
    return found


_RENAMING = SHAPE | VIEWS | CHOICES
_SPELLED_LATER = ELEMENTWISE | _RENAMING | frozenset(("local_ptr", "remote", "convert_layout", "buffer_view"))


def _old_value_is_dead(state: State, region: Region, param: Value, maker: Op, value: Value) -> bool:
    readers = _readers(state, param)
    position = {op: i for i, op in enumerate(region.ops)}
    for reader in readers:
        top = _top_level(region, reader)
        if top is None or position[top] > position[maker]:
            return False
    if maker.name in _PRODUCTS:
        return True  # it reads what it needs before it writes
    inner_ops = list(maker.regions[0].body)
    inner = dict(zip(maker.results, maker.regions[0].terminator.operands, strict=True))[value]
    made_at = next(i for i, op in enumerate(inner_ops) if inner in op.results)
    for i, op in enumerate(inner_ops):
        if op in readers and (i > made_at or op.name in _RENAMING):
            return False
    if state.layout(value).num_registers == 1:
        return True  # one element: what is above the new value has read the old one
    # A vector store in the same region may read it run by run only through direct use: shape changes were excluded.
    direct = set(state.uses.get(param, ()))
    return all(reader in direct for reader in readers if reader in inner_ops)


def _readers(state: State, value: Value) -> list[Op]:
    """Operations that read a value directly or through lazy values."""
    found: list[Op] = []
    stack, seen = [value], {value}
    while stack:
        for op in state.uses.get(stack.pop(), ()):
            found.append(op)
            renamed = op.name in _RENAMING or op.name in ("ptr_add", "local_ptr", "remote", "convert_layout")
            if op.results and (renamed or op.results[0] in state.lazy) and op.results[0] not in seen:
                seen.add(op.results[0])
                stack.append(op.results[0])
    return found


def _top_level(region: Region, op: Op) -> Op | None:
    """The operation of the region itself that contains `op`."""
    for top in region.ops:
        if top is op or any(inner is op for r in top.regions for inner in walk(r)):
            return top
    return None


# ---- statements -----------------------------------------------------------------------------------------------------


def emit_if(state: State, op: Op, tail_of_kernel: bool = False) -> None:
    """`if (...) { ... } else { ... }`; at the end of a kernel an early return."""
    then, other = op.regions
    has_then = _does_something(state, then)
    has_other = _does_something(state, other)
    if not op.results and not has_then and not has_other:
        return
    state.comment(op.span)
    for result, *ways in zip(op.results, then.terminator.operands, other.terminator.operands, strict=True):
        if isinstance(result.type, BufferType) and is_one_buffer(state, ways):
            bind_buffer(state, result, ways[0])
        else:
            declare(state, result, "merged")
    condition = scalar_text(state, op.operands[0])
    if tail_of_kernel and has_other and not op.results:
        body = _arm(state, then, op) if has_then else None
        write(state.block, TEMPLATE, "early_return", BranchView(condition.text), op.span, then=body)
        state.block.blank()
        emit_tail(state, other.body)
        return
    if not has_then and not has_other:
        return
    if not has_then:
        then, other, has_other, condition = other, then, False, negate(condition)
    bodies = {"then": _arm(state, then, op), "other": _arm(state, other, op) if has_other else None}
    write(state.block, TEMPLATE, "branch", BranchView(condition.text), op.span, **bodies)


def _does_something(state: State, region: Region) -> bool:
    """Whether an arm yields values or has statements; giving back a stage that a barrier waits for is none."""
    if region.terminator.operands:
        return True
    return not all(is_pure(op) or is_silent_release(state, op) for op in region.body)


def _arm(state: State, region: Region, op: Op) -> Block:
    """The body of one arm, which ends by assigning the results of the branch."""
    for result, value in zip(op.results, region.terminator.operands, strict=True):
        maker = next((o for o in region.ops if value in o.results), None)
        if is_tile(result) and maker is not None and maker.name in _WRITES_IN_PLACE:
            if state.layout(value) == state.layout(result) and region.terminator.operands.count(value) == 1:
                write_into(state, region, value, state.registers[result])
    # A guard of copies that go ahead stands in a loop: what does not change there may be computed in front of both.
    with state.nested(is_guard=bool(op.attrs.get("is_guard"))) as body:
        emit_ops(state, region.body)
        assign_all(state, list(op.results), list(region.terminator.operands))
    return body


def _product_to_take_over(state: State, param: Value, init: Value) -> Registers | None:
    """The registers of a product that a loop goes on with and nothing else reads: it may be in flight."""
    maker, held = state.definitions.get(init), state.registers.get(init)
    if maker is None or maker.name not in _PRODUCTS or held is None or held.layout != state.layout(param):
        return None
    return held if state.use_count(init) == 1 and state.levels.get(init, 0) >= state.level else None


def start_variable(state: State, param: Value, init: Value, following: Value) -> None:
    """Declare the variable of a loop-carried value with its start value; `following` is its value in the next step."""
    if isinstance(param.type, BufferType):
        if following is param or is_one_buffer(state, (init, following)):
            state.buffers[param] = state.buffers[init]
        else:
            declare_handle(state, param, init.name or "handle", init, strides_of(state, init))
            state.levels[param] = state.level + 1
        return
    if isinstance(param.type, TileType):
        taken = _product_to_take_over(state, param, init)
        registers = taken or state.new_registers(param, init.name or "carried")
        if taken is not None:
            pass
        elif registers.runs == registers.vec == 1:
            start = Evaluator(state, registers.layout, 1).c(init).text
            statements.started(state.block, state.variable_type(param), registers.name, start, param.span)
        else:
            state.declare_registers(registers, param, param.span)
            assign_tile(state, registers, init)
        state.registers[param] = registers
        state.levels[param] = state.level + 1
        return
    if _goes_on(state, init):
        state.scalars[param] = state.scalars[init]
        state.levels[param] = state.level + 1
        return
    name = state.names.fresh(param.name or init.name or "carried")
    if isinstance(param.type, PointerType) and init not in state.scalars:
        places = Places(state)
        text = places.address(places.of(init)).text
    else:
        text = scalar_text(state, init).text
    statements.started(state.block, state.variable_type(param), name, text, param.span)
    state.scalars[param] = C(name)
    state.levels[param] = state.level + 1  # it changes from step to step of the loop


def _goes_on(state: State, init: Value) -> bool:
    """Whether a loop may go on with the variable of one in front of it, which nothing else reads."""
    made = state.definitions.get(init)
    is_result = made is not None and made.name == "for" and init in state.scalars
    return is_result and state.use_count(init) == 1 and state.levels.get(init) == state.level


def emit_for(state: State, op: Op) -> None:
    """`for (int i = lower; i < upper; i += step) { ... }`."""
    region = op.regions[0]
    lower, upper, step = op.operands[:3]
    induction, carried = region.params[0], region.params[1:]
    state.comment(op.span)
    for param, init, following in zip(carried, op.operands[3:], region.terminator.operands, strict=True):
        start_variable(state, param, init, following)
    is_counted = all(constant_int(state, bound) is not None for bound in (lower, upper, step))  # the compiler may unroll it
    for param in (added_to if is_counted else in_flight)(region):
        keep_sums(state, param, op)
    for param, result in zip(carried, op.results, strict=True):
        share(state, result, param)
        if isinstance(result.type, BufferType):
            state.buffers[result] = state.buffers[param]
    step_value = constant_int(state, step)
    type_ = state.declare_type(induction.type)
    lower_text, upper_text = scalar_text(state, lower).text, scalar_text(state, upper)
    with state.names.scope():
        name = state.names.fresh(induction.name if induction.name.strip("_") else "step")
        state.scalars[induction] = C(name)
        state.levels[induction] = state.level + 1
        descends = step_value is not None and step_value < 0
        view = ForView(
            type=type_,
            name=name,
            lower=lower_text,
            goes_on=f"{name} {'>' if descends else '<'} {upper_text.at(RELATIONAL)}",
            advance=_advance(state, name, step, step_value),
            unroll=_unroll(op, region),
        )
        update_in_place(state, region, carried, region.terminator.operands)
        with state.nested(is_loop=True) as body:
            emit_ops(state, region.body)
            assign_all(state, list(carried), list(region.terminator.operands))
    write(state.block, TEMPLATE, "for_loop", view, op.span, body=body)
    if any(inner.name == "dot" and inner.attrs.get("pending") for inner in region.ops):
        statements.evaluate(state.block, f"{state.helper('wgmma_wait')}<0>()", op.span)  # for the last product
        for param in in_flight(region):
            keep_sums(state, param, op)


def _unroll(op: Op, region: Region) -> int | str | None:
    """Where maps are made the compiler would unroll as ever, and spill what it keeps of several forms."""
    if op.attrs.get("role") == "prologue":
        return ""
    given: int | str | None = op.attrs.get("unroll")
    return 1 if given is None and any(inner.name == "changed_tensor_map" for inner in region.ops) else given


def _advance(state: State, name: str, step: Value, step_value: int | None) -> str:
    """What takes the counter of a loop to its next value."""
    if step_value == 1:
        return f"++{name}"
    if step_value is not None and step_value < 0:
        return f"{name} -= {-step_value}"
    return f"{name} += {scalar_text(state, step).text}"


def emit_while(state: State, op: Op) -> None:
    """`while (condition) { ... }`, or an endless loop with a `break` when the condition needs statements."""
    before, after = op.regions
    state.comment(op.span)
    for param, init, following in zip(before.params, op.operands, after.terminator.operands, strict=True):
        start_variable(state, param, init, following)
    condition, *passed = before.terminator.operands
    for value, param, result in zip(passed, after.params, op.results, strict=True):
        variable = value
        if value not in before.params and not isinstance(value.type, BufferType):
            declare(state, param, "carried")
            variable = param
        share(state, param, variable)
        share(state, result, variable)
        state.levels[param] = state.level + 1
        if isinstance(param.type, BufferType):
            state.buffers[param] = state.buffers[result] = state.buffers[value]
    with state.nested(is_loop=True) as body:
        tested = Block(body.depth, commented=body.commented)
        with state.writing_to(tested):
            emit_ops(state, before.body)
            for value, param in zip(passed, after.params, strict=True):
                if value not in before.params:
                    assign_all(state, [param], [value])
            test = scalar_text(state, condition)
        if all(v in before.params for v in passed):
            update_in_place(state, after, _behind(before, after, passed), after.terminator.operands)
        emit_ops(state, after.body)
        assign_all(state, list(before.params), list(after.terminator.operands))
    # Threads that leave it one by one gain nothing by copies of the body.
    keep_rolled = any(inner.attrs.get("own") for inner in before.body)
    if tested.lines:
        view = WhileView(negate(test).text, keep_rolled)
        write(state.block, TEMPLATE, "endless_loop", view, op.span, before=tested, body=body)
    else:
        write(state.block, TEMPLATE, "while_loop", WhileView(test.text, keep_rolled), op.span, body=body)


def _behind(before: Region, body: Region, passed: list[Value]) -> tuple[Value | None, ...]:
    """For each carried variable the body parameter that reads it; None when there are several, or none."""
    found: list[Value | None] = []
    for param in before.params:
        places = [i for i, v in enumerate(passed) if v is param]
        found.append(body.params[places[0]] if len(places) == 1 else None)
    return tuple(found)
