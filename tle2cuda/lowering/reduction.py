"""Reductions along an axis: registers, then lanes, then warps.

Every thread ends with the same values for the elements that it holds, copies included: partial results combine in the same
order everywhere. User functions are taken to be commutative, as the language says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tle2cuda.ir.classify import is_tile
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import F32
from tle2cuda.layout import LANE_BITS, Reduction, f2, format_index, linear_terms, reduction
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import RUN, THREAD, C, K
from tle2cuda.lowering.combine import (
    Combiner,
    Element,
    elements_at,
    grid_of,
    register_element,
    slot_text,
    thread_condition,
)
from tle2cuda.lowering.evaluate import Evaluator, Grid
from tle2cuda.lowering.memory import tile_layout
from tle2cuda.lowering.naming import reduced_name
from tle2cuda.lowering.state import Registers, State
from tle2cuda.lowering.templates import render_template
from tle2cuda.lowering.writer import Block
from tle2cuda.passes.collective_plan import WarpExchange, warp_exchange
from tle2cuda.targets import parse_target

_NAMED = re.compile(r"\w+(\[\w+\])*")  # what may be repeated: a variable, or an element of one
_WARP_MASK = (1 << LANE_BITS) - 1
_WARP_EXTREMES: Mapping[str, tuple[str, str]] = {
    "argmax": ("warp_argmax", "maximum_key"),
    "argmin": ("warp_argmin", "minimum_key"),
}
_WARP_INTRINSICS: Mapping[str, str] = {
    "sum": "__reduce_add_sync",
    "max": "__reduce_max_sync",
    "min": "__reduce_min_sync",
    "and": "__reduce_and_sync",
    "or": "__reduce_or_sync",
    "xor": "__reduce_xor_sync",
}


@dataclass(frozen=True, slots=True)
class LaneExchange:
    """A step between lanes that also changes the register: statements that send, then combine."""

    name: str
    send: str
    receive: str


@dataclass(frozen=True, slots=True)
class SlotExchange:
    """The trip of partial results through shared memory."""

    writer: str
    writes: tuple[str, ...]
    first: str
    update: str
    variable: str
    parts: int


@dataclass(frozen=True, slots=True)
class ReduceView:
    """What `reduction.cu.j2` shows; with `is_folded`, only what comes behind the fold of the registers."""

    type: str
    name: str
    declaration: str
    runs: int
    fold_runs: int
    fold: int
    first: int
    element: Element
    partial: str
    start: str
    update: str
    lanes: str
    lane_exchanges: tuple[LaneExchange, ...]
    exchange: SlotExchange | None
    is_folded: bool = False


def emit_reduce(state: State, op: Op) -> None:
    """Write a reduction and bind its results."""
    begun = state.begun_reductions.pop(op, None)
    if isinstance(begun, Reducer):
        begun.finish()
        return
    if op.attrs.get("own") and tile_layout(op.operands[0]).num_registers == 1 and _bind_only_element(state, op):
        return
    state.comment(op.span)
    Reducer(state, op).emit()


def _bind_only_element(state: State, op: Op) -> bool:
    """Let a reduction be the only element that each thread has, where that takes no statements."""
    layout = tile_layout(op.operands[0])
    with state.names.scope():
        element = elements_at(state, op.operands, grid_of(layout.shape, (), (), layout.flat_threads), state.names.depth)
    if element.run_lines or element.k_lines:
        return False
    state.scalars[op.results[0]] = element.texts[0]
    return True


class Reducer:
    """Emitter of one reduction: as a whole, or its register part inside of the loop that makes what is reduced."""

    def __init__(self, state: State, op: Op) -> None:
        self.state = state
        self.op = op
        count = len(op.results)
        self.operands = op.operands[:count]
        self.scratch = op.operands[count:]
        self.layout = tile_layout(self.operands[0])
        self.plan: Reduction = reduction(self.layout, op.attrs["axis"])
        self.runs = self.plan.result.num_registers
        self.combiner = Combiner(state, op, self.operands)
        # A tile that needs no conversion is reduced in the registers that hold the result.
        self.direct = self.combiner.is_plain and is_tile(op.results[0])
        self.partials: Registers | None = None
        self.name = ""

    # ---- emission -----------------------------------------------------------------------------------------------------

    def emit(self) -> None:
        state, combiner = self.state, self.combiner
        combiner.declare()
        name, declaration = self._variable()
        partial = self._partial(name)
        depth = state.names.depth
        with state.names.scope():
            start, element, first, fold_runs, fold = self._fold(depth)
            update = combiner.update(partial, combiner.pack(element.texts))
            lanes, lane_exchanges, exchange = self._meeting(name, partial, depth)
            view = ReduceView(
                type=combiner.type,
                name=name,
                declaration=declaration,
                runs=self.runs,
                fold_runs=fold_runs,
                fold=fold,
                first=first,
                element=element,
                partial=partial,
                start=start,
                update=update,
                lanes=lanes,
                lane_exchanges=lane_exchanges,
                exchange=exchange,
            )
            text = render_template("reduction.cu.j2", self.op.span, self.op.name, view=view)
        state.block.add(text, self.op.span)
        self._bind(name)

    def _meeting(self, name: str, partial: str, depth: int) -> tuple[str, tuple[LaneExchange, ...], SlotExchange | None]:
        """How threads combine what each has: a call, steps between lanes, an exchange between warps."""
        if self.op.attrs.get("own"):  # each thread asks for its own elements
            return "", (), None
        exchange = warp_exchange(self.layout, self.op.attrs["axis"])
        if self._whole_cta(exchange):
            return self._cta_call(name), (), None
        lanes, lane_exchanges = self._lanes(name, partial, depth)
        return lanes, lane_exchanges, None if exchange is None else self._exchange(exchange, partial)

    # ---- in the loop that makes what is reduced -----------------------------------------------------------------------

    def begin(self) -> None:
        """Declare the partial results, in front of the loop that folds elements into them."""
        state, combiner = self.state, self.combiner
        state.comment(self.op.span)
        combiner.declare()
        self.name, declaration = self._variable()
        start = combiner.identity
        if self.runs == 1:
            if start is None:
                statements.variable(state.block, combiner.type, self.name, self.op.span)
            else:
                statements.started(state.block, combiner.type, self.name, start.text, self.op.span)
            return
        state.block.add(declaration, self.op.span)
        if start is not None:
            statements.assign_each_run(state.block, self._partial(self.name), start.text, self.runs, self.op.span)

    def fold(self, ev: Evaluator, block: Block) -> None:
        """Fold the element that a loop over the operand's registers is at."""
        bits = ev.vec.bit_length() - 1
        k, run = self.plan.register_images[:bits], self.plan.register_images[bits:]
        partial = self._partial_at(k, run)
        grid = Grid.of(self.layout, ev.vec)
        element = self.combiner.pack([ev.typed(v, grid) for v in self.operands])
        self.state.comment(self.op.span, block)
        if self.combiner.identity is not None:
            block.add(self.combiner.update(partial, element), self.op.span)
            return
        name = element
        if not _NAMED.fullmatch(element):
            name = self.state.names.fresh("element")
            statements.constant(block, self.combiner.type, name, element, self.op.span)
        first = " && ".join(text for text in (_is_first(RUN, run), _is_first(K, k)) if text)
        text = f"{first} ? {name} : {self.combiner.combine(partial, name)}" if first else name
        statements.assign(block, partial, text, self.op.span)

    def chosen_runs(self, vec: int) -> int:
        """Bits of the loop's `run` that select the partial result, or tell whether it is there already."""
        images = self.plan.register_images[vec.bit_length() - 1 :]
        if self.combiner.identity is None:
            return (1 << len(images)) - 1
        return sum(1 << bit for bit, image in enumerate(images) if image)

    def _partial_at(self, k: Sequence[int], run: Sequence[int]) -> str:
        """The partial result that a register of the operand is folded into, by the images of its bits."""
        if self.runs == 1:
            return self.name
        if self.partials is not None:
            return register_element(self.partials, run, k)
        return f"{self.name}[{format_index(linear_terms(((K, k), (RUN, run))), self.state.index_names)}]"

    def finish(self) -> None:
        """Write what is left behind that loop: lanes and warps."""
        partial, depth = self._partial(self.name), self.state.names.depth
        with self.state.names.scope():
            lanes, lane_exchanges, exchange = self._meeting(self.name, partial, depth)
            view = ReduceView(
                type=self.combiner.type,
                name=self.name,
                declaration="",
                runs=self.runs,
                fold_runs=1,
                fold=1,
                first=0,
                element=Element((), (), ()),
                partial=partial,
                start="",
                update="",
                lanes=lanes,
                lane_exchanges=lane_exchanges,
                exchange=exchange,
                is_folded=True,
            )
            text = render_template("reduction.cu.j2", self.op.span, self.op.name, view=view)
        if text.strip():
            self.state.comment(self.op.span)
            self.state.block.add(text, self.op.span)
        self._bind(self.name)

    def _variable(self) -> tuple[str, str]:
        """Name and declaration of the partial results."""
        state, result = self.state, self.op.results[0]
        hint = result.name or reduced_name(state, self.op)
        if self.direct:
            self.partials = state.new_registers(result, hint)
            return self.partials.name, state.declaration(self.partials, result)
        own = self.combiner.is_plain and result not in state.scalar_targets
        name = state.names.fresh(hint if own else f"{hint}_partial")
        extent = f"[{self.runs}]" if self.runs > 1 else ""
        return name, f"{self.combiner.type} {name}{extent};"

    def _partial(self, name: str) -> str:
        """The partial result of result register `run`."""
        if self.runs == 1:
            return name
        if self.partials is not None:
            return register_element(self.partials, [1 << bit for bit in range(self.runs.bit_length() - 1)])
        return f"{name}[run]"

    def _element_of(self, name: str, register_xor: int) -> str:
        """The partial result of result register `run ^ register_xor`."""
        if not register_xor:
            return self._partial(name)
        if self.partials is None or self.partials.vec == 1 or self.partials.runs == 1:
            return f"{name}[run ^ {register_xor}]"
        vec = self.partials.vec
        return f"{name}[(run ^ {register_xor}) / {vec}][(run ^ {register_xor}) % {vec}]"

    # ---- registers ----------------------------------------------------------------------------------------------------

    def _fold(self, depth: int) -> tuple[str, Element, int, int, int]:
        """First value, element of the loops, first step and numbers of steps of the loops over run and k."""
        combiner, layout = self.combiner, self.layout
        run, k = self._register_bits()
        if self.runs > 1:
            grid = grid_of(layout.shape, k, run, layout.flat_threads)
            element = elements_at(self.state, self.operands, grid, depth)
            start = combiner.identity
            if start is not None and len(k) > 0:
                return start.text, element, 0, 1, 1 << len(k)
            at_zero = elements_at(self.state, self.operands, Grid(grid.shape, (), grid.run, grid.threads), depth, True)
            merged = Element((*element.run_lines, *at_zero.run_lines), element.k_lines, element.texts)
            return combiner.pack(at_zero.texts), merged, 1, 1, 1 << len(k)
        # One result: both loops run along the axis, in the order of the registers.
        vec = min(layout.vector()[1], 1 << len(k))
        if len(k) == len(layout.registers) and 1 < vec < 1 << len(k) and combiner.kind != "custom":
            bits = vec.bit_length() - 1
            low, high = k[:bits], k[bits:]
        else:
            low, high = k, []
        grid = grid_of(layout.shape, low, high, layout.flat_threads)
        if combiner.identity is not None and k:
            element = elements_at(self.state, self.operands, grid, depth)
            return combiner.identity.text, self._inside(element), 0, 1 << len(high), 1 << len(low)
        at_zero = elements_at(self.state, self.operands, Grid(grid.shape, (), (), grid.threads), depth, True)
        element = elements_at(self.state, self.operands, grid, depth)
        first = 0 if high else 1  # of max and min, taking the first element twice does no harm
        merged = self._inside(Element(element.run_lines, element.k_lines, element.texts), at_zero.run_lines)
        return combiner.pack(at_zero.texts), merged, first, 1 << len(high), 1 << len(low)

    def _inside(self, element: Element, before: Sequence[str] = ()) -> Element:
        """For one result, what depends on `run` is named inside of both loops."""
        return Element(tuple(before), (*element.run_lines, *element.k_lines), element.texts)

    def _register_bits(self) -> tuple[list[int], list[int]]:
        """Row-major images of the register combinations that select a result register, and that run along the axis."""
        flat, images = self.layout.flat_registers, self.plan.register_images
        kept = [bit for bit in range(len(flat)) if not self.plan.skipped_registers >> bit & 1]
        columns = [images[bit] for bit in kept]
        own = [flat[bit] for bit in kept]
        run: list[int] = []
        for bit in range(self.runs.bit_length() - 1):
            combination = f2.solve(columns, 1 << bit)
            assert combination is not None, "each result register has operand registers"
            run.append(f2.apply(own, combination))
        k = [f2.apply(own, combination) for combination in f2.kernel(columns)]
        return run, k

    # ---- lanes --------------------------------------------------------------------------------------------------------

    def _lanes(self, name: str, partial: str, depth: int) -> tuple[str, tuple[LaneExchange, ...]]:
        """A call that reduces across lanes; steps that need more than that are written out."""
        steps = self.plan.lane_steps
        if not steps:
            return "", ()
        mask = 0
        for step in steps:
            mask |= step.thread_xor
        simple = all(not s.register_xor and s.thread_xor & (s.thread_xor - 1) == 0 for s in steps)
        if simple:
            return self._lane_call(partial, mask), ()
        exchanges = []
        for step in steps:
            other = self.state.names.fresh(f"{name}_other", depth)
            shuffle = f"{self.state.helper('shuffle_xor')}<{step.thread_xor}>"
            source = self._element_of(name, step.register_xor)
            send = f"{other}[{'run' if self.runs > 1 else 0}] = {shuffle}({source});"
            received = f"{other}[{'run' if self.runs > 1 else 0}]"
            exchanges.append(LaneExchange(other, send, self.combiner.update(partial, received)))
        return "", tuple(exchanges)

    def _lane_call(self, partial: str, mask: int) -> str:
        combiner = self.combiner
        if mask == _WARP_MASK and (call := self._in_hardware(partial)):
            return call
        if mask == _WARP_MASK and not combiner.is_struct and combiner.kind != "custom":
            return f"{self.state.helper('warp_all_reduce')}({partial}, {combiner.function()})"
        # The user's function may round otherwise when its operands change places.
        helper = "lanes_all_reduce_in_order" if combiner.kind == "custom" else "lanes_all_reduce"
        return f"{self.state.helper(helper)}<{mask}>({partial}, {combiner.function()})"

    def _in_hardware(self, partial: str) -> str:
        """The call that reduces across all lanes of a warp by its integer reductions; empty where these cannot do it."""
        combiner, dtype = self.combiner, self.combiner.inner[0]
        if not parse_target(self.state.kernel.target).has("redux"):
            return ""
        if combiner.kind in _WARP_EXTREMES:
            if dtype is not F32 and not (dtype.is_int() and dtype.bits <= 32):
                return ""
            tie = "true" if self.op.attrs.get("tie_left", True) else "false"
            helper, float_key = _WARP_EXTREMES[combiner.kind]
            value = combiner.members(partial)[0]
            key = f"{self.state.helper(float_key)}({value})" if dtype is F32 else value
            return f"{self.state.helper(helper)}<{tie}>({partial}, {key})"
        intrinsic = _WARP_INTRINSICS.get(combiner.kind)
        if intrinsic is None or not dtype.is_int() or dtype.bits != 32:
            return ""
        return f"{intrinsic}(0xffffffffu, {partial})"

    # ---- warps --------------------------------------------------------------------------------------------------------

    def _whole_cta(self, exchange: WarpExchange | None) -> bool:
        """Whether one call does it: one plain result of all threads, each warp having its slot."""
        if exchange is None or self.runs > 1 or exchange.rest > 1:
            return False
        if self.combiner.is_struct or self.combiner.kind == "custom":
            return False
        steps = self.plan.lane_steps
        lanes = sorted(s.thread_xor for s in steps if not s.register_xor)
        if lanes != [1 << bit for bit in range(LANE_BITS)]:
            return False
        warps = [0] * LANE_BITS + [1 << bit for bit in range(len(self.layout.warps))]
        return list(exchange.thread_images) == warps and not self.state.buffers[self.scratch[0]].flat

    def _cta_call(self, name: str) -> str:
        slots = self.state.buffers[self.scratch[0]].text
        state, function = self.state, self.combiner.function()
        if state.task.is_cta and (call := self._in_hardware(name)):
            return f"{state.helper('warps_all_reduce')}({call}, {slots}, {function})"
        if state.task.is_cta:
            return f"{state.helper('cta_all_reduce')}({name}, {slots}, {function})"
        own = f"{state.thread().text}, {state.task.barrier_function}"
        return f"{state.helper('partition_all_reduce')}({name}, {slots}, {function}, {own})"

    def _exchange(self, exchange: WarpExchange, partial: str) -> SlotExchange:
        state, combiner = self.state, self.combiner
        names = state.index_names
        own = linear_terms(((RUN, exchange.register_images), (THREAD, exchange.thread_images)))
        element = linear_terms(((RUN, exchange.register_images), (THREAD, exchange.element_thread_images)))
        if any(t.source == THREAD for t in (*own.terms, *element.terms)):
            state.thread()
        mine, base = format_index(own, names), format_index(element, names)
        variable = state.names.fresh("part")
        step = variable if exchange.rest == 1 else f"{exchange.rest} * {variable}"
        further = step if base == "0" else f"{base} + {step}"
        return SlotExchange(
            thread_condition(state, exchange.idle_threads),
            tuple(
                f"{slot_text(state, buffer, mine)} = {text};"
                for buffer, text in zip(self.scratch, combiner.members(partial), strict=True)
            ),
            combiner.pack_inner([self._read(i, base) for i in range(len(self.scratch))]),
            combiner.update(partial, combiner.pack_inner([self._read(i, further) for i in range(len(self.scratch))])),
            variable,
            exchange.parts,
        )

    def _read(self, position: int, index: str) -> str:
        text = slot_text(self.state, self.scratch[position], index)
        return f"{text} != 0" if self.combiner.inner[position].is_bool() and not self.combiner.is_struct else text

    # ---- results ------------------------------------------------------------------------------------------------------

    def _bind(self, name: str) -> None:
        """Bind the results, converted and taken apart as need be."""
        for position, result in enumerate(self.op.results):
            if is_tile(result):
                self._bind_tile(name, position, result)
            else:
                self._bind_scalar(name, position, result)

    def _result_name(self, position: int) -> str:
        """Name of a result that is taken apart from the partial results."""
        return self.op.results[position].name or reduced_name(self.state, self.op, position)

    def _bind_scalar(self, name: str, position: int, result: Value) -> None:
        state = self.state
        text = self.combiner.results(name)[position]
        target = state.scalar_targets.get(result)
        if target is not None:
            statements.assign(state.block, target, text, self.op.span)
            state.scalars[result] = C(target)
        elif self.combiner.is_plain:
            state.scalars[result] = C(name)
        elif state.use_count(result):
            own = state.names.fresh(self._result_name(position))
            state.define_constant(result, own, text, self.op.span)
            state.scalars[result] = C(own)

    def _bind_tile(self, name: str, position: int, result: Value) -> None:
        state = self.state
        if self.partials is not None:
            registers = self.partials
        elif not state.use_count(result):
            return
        else:
            registers = state.new_registers(result, self._result_name(position))
            state.declare_registers(registers, result, self.op.span)
            text = self.combiner.results(self._partial(name))[position]
            images = [1 << bit for bit in range(self.runs.bit_length() - 1)]
            assign_run(state, registers, images, text, self.runs, self.op)
        target = state.targets.get(result)
        if target is not None and target.name != registers.name:
            images = [1 << bit for bit in range(self.runs.bit_length() - 1)]
            assign_run(state, target, images, register_element(registers, images), self.runs, self.op)
            registers = target
        state.registers[result] = registers


def _is_first(index: str, images: Sequence[int]) -> str:
    """Condition that none of the bits of a loop's index is set that run along the reduced axis."""
    along = sum(1 << bit for bit, image in enumerate(images) if not image)
    if not along:
        return ""
    if along == (1 << len(images)) - 1:
        return f"{index} == 0"
    lowest = along & -along
    if along == (1 << len(images)) - lowest:
        return f"{index} < {lowest}"
    return f"{index} % {along + 1} == 0" if along & (along + 1) == 0 else f"({index} & {along}) == 0"


def assign_run(state: State, target: Registers, images: Sequence[int], text: str, runs: int, op: Op) -> None:
    """`target[run] = text` for every run."""
    statements.assign_each_run(state.block, register_element(target, images), text, runs, op.span)
