"""Scans along an axis: each thread's registers in order, then lanes, then warps. The function need not be commutative.

Where neighbours lie in lanes, a thread's registers hold what is far apart: all warps go through the axis in rounds, one
for each register, and every warp leaves a total in each.
"""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.errors import InternalError
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.layout import Layout, flatten, format_index, linear_terms
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import RUN, THREAD
from tle2cuda.lowering.combine import (
    Combiner,
    Element,
    elements_at,
    grid_of,
    register_element,
    slot_text,
    thread_test,
)
from tle2cuda.lowering.exclusive_sum import emit_exclusive_sum
from tle2cuda.lowering.memory import tile_layout
from tle2cuda.lowering.naming import scanned_name
from tle2cuda.lowering.state import Registers, State
from tle2cuda.lowering.templates import render_template
from tle2cuda.passes.collective_plan import outer_register_bits

_LANE_BITS = 5


@dataclass(frozen=True, slots=True)
class WarpView:
    """The exchange of totals between warps."""

    writer: str
    writes: tuple[str, ...]
    parts: int
    variable: str
    is_earlier: str
    earlier: str
    read: str
    combine: str
    has_prefix: str


@dataclass(frozen=True, slots=True)
class ScanView:
    """What `scan.cu.j2` shows."""

    type: str
    declaration: str
    runs: int
    steps: int
    element: Element
    at: str
    start: str
    first: int
    more: str
    advance: str
    running: str
    update: str
    total: str
    total_at: str
    extent: str
    lanes: str
    prefix: str
    before: str
    has_before: str
    apply: str
    warps: WarpView | None


@dataclass(frozen=True, slots=True)
class ScanAxis:
    """Where the scanned axis lies: its lowest bits in registers, then in lanes, in warps, the highest in registers again.

    Attributes:
        registers: Register bits along the axis in front of the lanes, lowest coordinate first.
        others: The other register bits.
        width: Neighbouring lanes along the axis.
        warps: Warp bits along the axis, lowest coordinate first.
        rounds: Register bits along the axis behind the warps, lowest coordinate first; they are among `others`.
    """

    registers: tuple[int, ...]
    others: tuple[int, ...]
    width: int
    warps: tuple[int, ...]
    rounds: tuple[int, ...]


def scan_axis(layout: Layout, axis: int, op: Op) -> ScanAxis:
    """Read a layout that `scan_layout` made.

    Raises:
        InternalError: The layout does not keep the order of the axis.
    """
    rounds = outer_register_bits(layout, axis)
    bits = layout.axis_bits(axis)
    if bits is not None and rounds:
        bits = bits[: -len(rounds)]
    order = {"register": 0, "lane": 1, "warp": 2}
    if bits is None or [order[name] for name, _ in bits] != sorted(order[name] for name, _ in bits):
        raise InternalError(f"{op.name} on a layout that does not keep the order of axis {axis}: {layout}", op.span)
    registers = tuple(bit for name, bit in bits if name == "register")
    lanes = [bit for name, bit in bits if name == "lane"]
    if lanes != list(range(len(lanes))) or layout.replicated_registers:
        raise InternalError(f"{op.name} on a layout with scattered lanes or copies in registers: {layout}", op.span)
    others = tuple(bit for bit in range(len(layout.registers)) if bit not in registers)
    warps = tuple(bit for name, bit in bits if name == "warp")
    return ScanAxis(registers, others, 1 << len(lanes), warps, rounds)


def emit_scan(state: State, op: Op) -> None:
    """Write an inclusive scan and bind its results."""
    state.comment(op.span)
    _Scanner(state, op).emit()


class _Scanner:
    def __init__(self, state: State, op: Op) -> None:
        self.state = state
        self.op = op
        count = len(op.results)
        self.operands = op.operands[:count]
        self.scratch = op.operands[count:]
        self.axis: int = op.attrs["axis"]
        self.reverse = bool(op.attrs.get("reverse"))
        self.layout = tile_layout(self.operands[0])
        self.where = scan_axis(self.layout, self.axis, op)
        self.combiner = Combiner(state, op, self.operands)
        self.runs = 1 << len(self.where.others)
        self.steps = 1 << len(self.where.registers)

    def emit(self) -> None:
        state, combiner = self.state, self.combiner
        combiner.declare()
        scanned, declaration = self._storage()
        names = state.names
        depth = names.depth
        running, total, prefix = names.fresh("running"), names.fresh("total"), names.fresh("prefix")
        warps = self._warps(f"{total}[run]" if self.runs > 1 else total, prefix) if self.scratch else None
        with names.scope():
            flat = self.layout.flat_registers
            grid = grid_of(
                self.layout.shape,
                [flat[bit] for bit in self.where.registers],
                [flat[bit] for bit in self.where.others],
                self.layout.flat_threads,
            )
            element = elements_at(state, self.operands, grid, depth)
            at = self._at(scanned)
            x = combiner.pack(element.texts)
            first = self.steps - 1 if self.reverse else 0
            start, update = self._serial(running, x, first)
            extent, index = (f"[{self.runs}]", "[run]") if self.runs > 1 else ("", "")
            across = bool(self.scratch) or self.where.width > 1
            total_at = f"{total}{index}" if self.scratch else total
            view = ScanView(
                type=combiner.type,
                declaration=declaration,
                runs=self.runs,
                steps=self.steps,
                element=element,
                at=at,
                start=start,
                first=first,
                more="k >= 0" if self.reverse else f"k < {self.steps}",
                advance="--k" if self.reverse else "++k",
                running=running,
                update=update,
                total=total,
                total_at=total_at,
                extent=extent,
                lanes=self._lanes(running if self.steps > 1 else at) if across else "",
                prefix=prefix,
                before=self._before(total_at),
                has_before=self._has_before() if across else "false",
                apply=f"{at} = {combiner.combine(prefix, at)};",
                warps=warps,
            )
            text = render_template("scan.cu.j2", self.op.span, self.op.name, view=view)
        state.block.add(text, self.op.span)
        self._bind(scanned)

    def _storage(self) -> tuple[Registers, str]:
        """The registers that are scanned: the result's, when nothing needs to be converted."""
        state, result = self.state, self.op.results[0]
        if self.combiner.is_plain:
            registers = state.new_registers(result, scanned_name(state, self.op))
            return registers, state.declaration(registers, result)
        name = state.names.fresh(f"{scanned_name(state, self.op)}_partial")
        registers = Registers(name, self.layout, 1)
        extent = f"[{registers.runs}]" if registers.runs > 1 else ""
        return registers, f"{self.combiner.type} {name}{extent};"

    def _at(self, registers: Registers) -> str:
        return register_element(
            registers,
            [1 << bit for bit in self.where.others],
            [1 << bit for bit in self.where.registers],
        )

    def _serial(self, running: str, x: str, first: int) -> tuple[str, str]:
        """Start value of `running`, and the statement that takes in the next element."""
        combiner = self.combiner
        if self.steps == 1:
            return x, ""
        if combiner.identity is not None:
            return combiner.identity.text, combiner.update(running, x)
        return "{}", f"{running} = k == {first} ? {x} : {combiner.combine(running, x)};"

    # ---- lanes --------------------------------------------------------------------------------------------------------

    @property
    def _direction(self) -> str:
        return "true" if self.reverse else "false"

    def _lanes(self, own: str) -> str:
        helper = self.state.helper("lanes_scan")
        return f"{helper}<{self.where.width}, {self._direction}>({own}, {self.combiner.function()})"

    def _before(self, total: str) -> str:
        helper = self.state.helper("shuffle_previous")
        return f"{helper}<{self.where.width}, {self._direction}>({total}, 1)"

    def _has_before(self) -> str:
        width = self.where.width
        if width == 1:
            return "false"
        self.state.thread()
        return f"thread % {width} < {width - 1}" if self.reverse else f"thread % {width} > 0"

    # ---- warps --------------------------------------------------------------------------------------------------------

    def _warps(self, total_at: str, prefix: str) -> WarpView:
        state, names, layout, combiner = self.state, self.state.names, self.layout, self.combiner
        state.thread()
        along = [*((THREAD, _LANE_BITS + bit) for bit in self.where.warps)]
        along += [(RUN, self.where.others.index(bit)) for bit in self.where.rounds]
        parts = 1 << len(along)
        rest = layout.num_elements // layout.shape[self.axis]
        run_part, thread_part = (
            [1 << along.index((name, bit)) if (name, bit) in along else 0 for bit in range(count)]
            for name, count in ((RUN, len(self.where.others)), (THREAD, _LANE_BITS + len(layout.warps)))
        )
        position = format_index(linear_terms(((RUN, run_part), (THREAD, thread_part))), state.index_names)
        variable, earlier = names.fresh("part"), names.fresh("earlier")
        if self.where.rounds and self.reverse:
            position = f"({position})"  # a sum
        if parts > 2:
            is_earlier = f"{variable} < {parts - 1} - {position}" if self.reverse else f"{variable} < {position}"
        else:  # only the first part is in front of another one
            is_earlier = f"{position} < 1" if self.reverse else f"{position} > 0"
        if self.reverse:
            position = f"{parts - 1} - {position}"
        base = self._element_index()
        writer = [f"thread % {self.where.width} == {0 if self.reverse else self.where.width - 1}"]
        if self.where.width == 1:
            writer = []
        idle = layout.replicated_lanes | layout.replicated_warps << _LANE_BITS
        if (only := thread_test(state, idle)) != "":
            writer.append(only)
        mine = self._slot(base, position, rest)
        read = self._slot(base, variable if parts > 2 else "0", rest)
        return WarpView(
            writer=f"if ({' && '.join(writer)})" if writer else "",
            writes=tuple(
                f"{slot_text(state, buffer, mine)} = {text};"
                for buffer, text in zip(self.scratch, combiner.members(total_at), strict=True)
            ),
            parts=parts,
            variable=variable,
            is_earlier=is_earlier,
            earlier=earlier,
            read=combiner.pack_inner([self._read(buffer, i, read) for i, buffer in enumerate(self.scratch)]),
            combine=combiner.combine(earlier, prefix),
            has_prefix=names.fresh("has_prefix"),
        )

    def _read(self, buffer: Value, position: int, index: str) -> str:
        text = slot_text(self.state, buffer, index)
        return f"{text} != 0" if self.combiner.inner[position].is_bool() else text

    def _slot(self, base: str, part: str, rest: int) -> str:
        if rest == 1:
            return part
        if part == "0":
            return base
        factor = f"({part})" if " " in part else part
        return f"{base} + {rest} * {factor}" if base != "0" else f"{rest} * {factor}"

    def _element_index(self) -> str:
        """Row-major index of the element among those of the other axes."""
        layout, axis = self.layout, self.axis
        shape = (*layout.shape[:axis], *layout.shape[axis + 1 :])

        def without(image: tuple[int, ...]) -> int:
            return flatten((*image[:axis], *image[axis + 1 :]), shape)

        run = [without(layout.registers[bit]) for bit in self.where.others]
        threads = [without(image) for image in (*layout.lanes, *layout.warps)]
        return format_index(linear_terms(((RUN, run), (THREAD, threads))), self.state.index_names)

    # ---- results ------------------------------------------------------------------------------------------------------

    def _bind(self, scanned: Registers) -> None:
        state = self.state
        for position, result in enumerate(self.op.results):
            registers = scanned
            if not self.combiner.is_plain:
                if not state.use_count(result):
                    continue
                registers = state.new_registers(result, scanned_name(state, self.op))
                text = self.combiner.results(_whole(scanned))[position]
                if registers.layout.num_registers == 1:
                    statements.started(state.block, *state.declarator(registers, result), text, self.op.span)
                else:
                    state.declare_registers(registers, result, self.op.span)
                    self._copy(registers, text)
            target = state.targets.get(result)
            if target is not None:
                self._copy(target, _whole(registers))
                registers = target
            state.registers[result] = registers

    def _copy(self, target: Registers, text: str) -> None:
        """`target = text` for all registers, counted by `run`."""
        runs = target.layout.num_registers
        statements.assign_each_run(self.state.block, _whole(target), text, runs, self.op.span)


def _whole(registers: Registers) -> str:
    """The element in register `run`."""
    return register_element(registers, [1 << bit for bit in range(len(registers.layout.registers))])


__all__ = ["emit_exclusive_sum", "emit_scan", "scan_axis"]
