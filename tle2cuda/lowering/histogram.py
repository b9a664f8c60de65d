"""Histograms: counted with atomics in shared memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import dtype_of
from tle2cuda.layout import format_index, linear_terms
from tle2cuda.lowering.cexpr import AND, MUL, PRIMARY, RUN, THREAD, C, binary, static_cast
from tle2cuda.lowering.combine import Element, elements_at, grid_of, kept_registers, thread_condition
from tle2cuda.lowering.memory import tile_layout
from tle2cuda.lowering.state import State
from tle2cuda.lowering.templates import render_template

_LANE_BITS = 5


@dataclass(frozen=True, slots=True)
class HistogramView:
    """What `histogram.cu.j2` shows."""

    bin: str
    bins: int
    threads: int
    buffer: str
    owner: str
    steps: int
    element: Element
    counted: str
    value: str
    declaration: str
    runs: int
    vector: str
    read: str


def emit_histogram(state: State, op: Op) -> None:
    """Write a histogram and bind its tile of counts."""
    state.comment(op.span)
    state.thread()
    result = op.results[0]
    operands = op.operands[: 2 if op.attrs.get("has_mask") else 1]
    buffer = state.buffers[op.operands[-1]].text
    source, target = tile_layout(operands[0]), tile_layout(result)
    used = state.use_count(result) > 0
    registers = state.targets.get(result) or state.new_registers(result, "counts")
    declared = state.targets.get(result) is None
    depth = state.names.depth
    with state.names.scope():
        kept = kept_registers(source.flat_registers)
        grid = grid_of(source.shape, kept, (), source.flat_threads)
        element = elements_at(state, operands, grid, depth)
        element = replace(element, run_lines=(), k_lines=(*element.run_lines, *element.k_lines))
        value = element.texts[0]
        wide = dtype_of(operands[0].type).bits == 64
        unsigned = static_cast("unsigned long long" if wide else "unsigned", value)
        counted = binary("<", 10, unsigned, C(f"{op.attrs['bins']}u"))
        if len(operands) > 1:
            counted = binary("&&", AND, C(element.texts[1].at(AND + 1), PRIMARY), counted)
        bits = registers.vec.bit_length() - 1
        flat = target.flat_registers
        index = format_index(linear_terms(((RUN, flat[bits:]), (THREAD, target.flat_threads))), state.index_names)
        read = f"{buffer}[{index}]"
        if registers.vec > 1:
            read = f"{state.helper('load_vector')}<{registers.vec}>(&{read})"
        idle = source.replicated_lanes | source.replicated_warps << _LANE_BITS
        view = HistogramView(
            bin=state.names.fresh("bin"),
            bins=op.attrs["bins"],
            threads=state.task.num_threads,
            buffer=buffer,
            owner=thread_condition(state, idle),
            steps=1 << len(kept),
            element=element,
            counted=counted.text,
            value=value.at(MUL) if not value.is_simple else value.text,
            declaration=state.declaration(registers, result) if declared else f"// into {registers.name}",
            runs=registers.runs,
            vector=registers.vector("run"),
            read=read,
        )
        if not used:
            view = replace(view, declaration="")
        text = render_template("histogram.cu.j2", op.span, op.name, view=view)
    state.block.add(text, op.span)
    state.registers[result] = registers
