"""Tiles of tiles: parts at a place that may be known at run time only."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import TileType
from tle2cuda.layout import f2, format_index, linear_terms
from tle2cuda.lowering.cexpr import EQUALITY, RELATIONAL, RUN, THREAD, C, deps_of
from tle2cuda.lowering.combine import Element, elements_at, grid_of, thread_test
from tle2cuda.lowering.evaluate import Choice, Evaluator, Grid, choice_rule
from tle2cuda.lowering.memory import tile_layout
from tle2cuda.lowering.naming import part_name
from tle2cuda.lowering.shape import from_stored, to_stored
from tle2cuda.lowering.state import State, affine
from tle2cuda.lowering.templates import write

TEMPLATE = "tiles.cu.j2"
_LANE_BITS = 5


@choice_rule("insert")
def insert_choice(ev: Evaluator, op: Op, grid: Grid, k_zero: bool) -> Choice:
    """The part where the element lies in it, else the tile."""
    whole, part, where = op.operands
    assert isinstance(part.type, TileType)
    shape = part.type.shape
    number = ev.row_major(grid.which_part(shape), k_zero)
    return ev.choose(number, affine(ev.uniform(where)), ((part, grid.part(shape)), (whole, grid)))


@dataclass(frozen=True, slots=True)
class PartView:
    """A part on its way through shared memory, as `tiles.cu.j2` shows it."""

    registers: int
    element: Element
    condition: str
    write: str
    declaration: str
    runs: int
    vec: int
    read: str


def emit_extract_at(state: State, op: Op) -> None:
    """Write the part through shared memory, whose place is its own, and bind the result."""
    whole, where, scratch = op.operands
    result = op.results[0]
    assert isinstance(result.type, TileType)
    state.comment(op.span)
    source, target = tile_layout(whole), tile_layout(result)
    slots = state.buffers[scratch].text
    existing = state.targets.get(result)
    registers = existing or state.new_registers(result, part_name(state, op))
    depth = state.names.depth
    with state.names.scope():
        grid = grid_of(source.shape, f2.independent(source.flat_registers), (), source.flat_threads)
        element = elements_at(state, (whole,), grid, depth)
        ev = Evaluator(state, source, 1)
        number = ev.text(ev.row_major(grid.which_part(target.shape)))
        wanted = ev.text(affine(ev.uniform(where)))
        inside = C(f"{number.at(RELATIONAL)} == {wanted.at(RELATIONAL)}", EQUALITY, deps_of(number, wanted))
        owner = thread_test(state, source.replicated_lanes | source.replicated_warps << _LANE_BITS)
        place = ev.text(ev.row_major(grid.part(target.shape)))
        bits = registers.vec.bit_length() - 1
        flat = target.flat_registers
        terms = linear_terms((("k", flat[:bits]), (RUN, flat[bits:]), (THREAD, target.flat_threads)))
        state.thread()
        at = registers.element("run", "k")
        read = f"{at} = {from_stored(state, result, f'{slots}[{format_index(terms, state.index_names)}]')};"
        alone = not existing and target.num_registers == 1  # declared where its only element is read
        view = PartView(
            registers=1 << len(grid.k),
            element=Element((), (*element.run_lines, *element.k_lines), element.texts),
            condition=f"{owner} && {inside.text}" if owner else inside.text,
            write=f"{slots}[{place}] = {to_stored(state, whole, element.texts[0])};",
            declaration="" if existing or alone else state.declaration(registers, result),
            runs=registers.runs,
            vec=registers.vec,
            read=f"{state.declarator(registers, result)[0]} {read}" if alone else read,
        )
    write(state.block, TEMPLATE, "part", view, op.span)
    state.registers[result] = registers
