"""TLE's exclusive sum: by a helper of ours, or by CUB's block scan."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import dtype_of
from tle2cuda.lowering import statements
from tle2cuda.lowering.casts import convert
from tle2cuda.lowering.cexpr import C
from tle2cuda.lowering.combine import Element, elements_at, grid_of, register_element
from tle2cuda.lowering.literals import literal
from tle2cuda.lowering.memory import tile_layout
from tle2cuda.lowering.state import Registers, State
from tle2cuda.lowering.templates import render_template
from tle2cuda.passes.collective_plan import cub_scan, exclusive_sum_type, split_axis, sums_by_warp_reductions


@dataclass(frozen=True, slots=True)
class ExclusiveSumView:
    """What `exclusive_sum.cu.j2` shows."""

    type: str
    steps: int
    element: Element
    again: tuple[str, ...]
    x: str
    zero: str
    running: str
    sum: str
    items: str
    total: str
    is_cub: bool
    in_place: bool
    call: str
    out: str
    out_declaration: str
    value: str
    first: int
    more: str
    advance: str


def emit_exclusive_sum(state: State, op: Op) -> None:
    """Write an exclusive sum and bind its tile and its total."""
    state.comment(op.span)
    _ExclusiveSum(state, op).emit()


class _ExclusiveSum:
    def __init__(self, state: State, op: Op) -> None:
        self.state = state
        self.op = op
        self.x, self.scratch = op.operands[0], op.operands[1:]
        self.before, self.total = op.results
        self.dtype = dtype_of(self.before.type)
        self.inner = exclusive_sum_type(op)
        self.layout = tile_layout(self.x)
        self.steps = self.layout.num_registers
        self.reverse = bool(op.attrs.get("reverse"))
        target = state.kernel.target
        self.cub = cub_scan(op, target) if state.headers == "toolkit" and state.task.is_cta else None
        self.by_reductions = state.task.is_cta and sums_by_warp_reductions(op, target)
        state.include_for(self.inner)

    def emit(self) -> None:
        state, names = self.state, self.state.names
        # With one item per thread the sum in front of it is the result itself, unless a step is still to come.
        finished = self.inner is self.dtype and not (self.cub and self.reverse)
        single = self.steps == 1 and finished
        registers = state.new_registers(self.before, "before")
        total_hint = self.total.name or "total"
        total = names.fresh(total_hint if self.inner is self.dtype else f"{total_hint}_sum")
        depth = names.depth
        running = registers.name if single else names.fresh(f"{registers.name}_sum")
        items = names.fresh("items") if self.cub and self.steps > 1 else ""
        own_sum = names.fresh("sum") if not items and self.steps > 1 else ""
        with names.scope():
            text = self._render(registers, running, total, single, depth, items, own_sum)
        state.block.add(text, self.op.span)
        self._bind(registers, total)

    def _render(
        self, registers: Registers, running: str, total: str, single: bool, depth: int, items: str, own_sum: str
    ) -> str:
        state = self.state
        grid = grid_of(self.layout.shape, self.layout.flat_registers, (), self.layout.flat_threads)
        element = elements_at(state, (self.x,), grid, depth)
        lines = (*element.run_lines, *element.k_lines)
        x = convert(state, element.texts[0], self.dtype, self.inner)
        in_place = bool(items) and not self.reverse and self.inner is self.dtype and registers.vec == self.steps
        view = ExclusiveSumView(
            type=self.inner.cuda,
            steps=self.steps,
            element=Element((), lines, element.texts),
            again=lines if self.reverse else (),
            x=x.text,
            zero=literal(state, 0, self.inner).text,
            running=running,
            sum=own_sum,
            items=items,
            total=total,
            is_cub=bool(self.cub),
            in_place=in_place,
            call=self._call(x.text, items, own_sum, f"{registers.name}.element" if in_place else running, total),
            out="" if single else register_element(registers, (), [1 << bit for bit in range(len(self.layout.registers))]),
            out_declaration="" if single else state.declaration(registers, self.before),
            value=self._value(items, running, total, x),
            first=self.steps - 1 if self.reverse else 0,
            more="k >= 0" if self.reverse else f"k < {self.steps}",
            advance="--k" if self.reverse else "++k",
        )
        return render_template("exclusive_sum.cu.j2", self.op.span, self.op.name, view=view)

    def _call(self, x: str, items: str, own_sum: str, running: str, total: str) -> str:
        """The call that sums over threads: a statement of CUB's, or a value."""
        state = self.state
        if self.cub:
            state.includes.add("cub/block/block_scan.cuh")
            state.member_types[self.scratch[0]] = f"{self.cub}::TempStorage"
            threads = state.task.num_threads
            state.usings[self.cub] = (
                f"using {self.cub} = cub::BlockScan<{self.inner.cuda}, {threads}, cub::BLOCK_SCAN_WARP_SCANS>;"
            )
            target = items if items and not running.endswith(".element") else running
            arguments = f"{items or x}, {target}"
            return f"{self.cub}({state.buffers[self.scratch[0]].text}).ExclusiveSum({arguments}, {total});"
        direction = "true" if self.reverse else "false"
        split = split_axis(self.layout, 0)
        value = own_sum or x
        if self.scratch:
            slots = state.buffers[self.scratch[0]].text
            forms = f"<{split.num_warps_along}, {direction}>"
            if self.by_reductions:
                text = f"{state.helper('cta_exclusive_integer_sum')}{forms}({value}, {total}, {slots})"
            elif state.task.is_cta:
                text = f"{state.helper('cta_exclusive_sum')}{forms}({value}, {total}, {slots})"
            else:
                own = f"{state.thread().text}, {state.task.barrier_function}"
                text = f"{state.helper('partition_exclusive_sum')}{forms}({value}, {total}, {slots}, {own})"
        else:
            width = 1 << len(split.lane_bits)
            text = f"{state.helper('warp_exclusive_sum')}<{width}, {direction}>({value}, {total})"
        return text

    def _value(self, items: str, running: str, total: str, x: C) -> str:
        """What the result's element is once the sum in front of it is known."""
        before = f"{items}[k]" if items else running
        if self.cub and self.reverse:  # of integers, what is behind follows from what is in front
            before = f"{total} - {before} - {x.at(13)}"
        return convert(self.state, C(before), self.inner, self.dtype).text

    def _bind(self, registers: Registers, total: str) -> None:
        state = self.state
        target = state.targets.get(self.before)
        if target is not None:
            self._copy(target, registers)
            registers = target
        state.registers[self.before] = registers
        text = convert(state, C(total), self.inner, self.dtype).text
        self._bind_total(self.total, text, total)

    def _bind_total(self, result: Value, text: str, total: str) -> None:
        state = self.state
        name = state.scalar_targets.get(result)
        if name is not None:
            statements.assign(state.block, name, text, self.op.span)
            state.scalars[result] = C(name)
        elif text == total:
            state.scalars[result] = C(total)
        elif state.use_count(result):
            own = state.names.fresh(result.name or "total")
            state.define_constant(result, own, text, self.op.span)
            state.scalars[result] = C(own)

    def _copy(self, target: Registers, source: Registers) -> None:
        images = [1 << bit for bit in range(len(self.layout.registers))]
        name, value = register_element(target, images), register_element(source, images)
        statements.assign_each_run(self.state.block, name, value, self.steps, self.op.span)
