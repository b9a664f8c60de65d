"""Elements at places that a tile names: by shuffles where the axis lies in a warp, else through shared memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import dtype_of
from tle2cuda.layout import LANE_BITS, Layout, f2, flatten, format_index, format_xor, linear_terms, unflatten
from tle2cuda.lowering.cexpr import ADD, BIT_AND, MUL, RUN, THREAD, C, K, binary, mixed_bits, static_cast
from tle2cuda.lowering.combine import Element, elements_at, grid_of, thread_condition
from tle2cuda.lowering.evaluate import Evaluator
from tle2cuda.lowering.memory import tile_layout
from tle2cuda.lowering.naming import gathered_name
from tle2cuda.lowering.shape import from_stored, in_registers, to_stored
from tle2cuda.lowering.state import Registers, State, is_bool
from tle2cuda.lowering.templates import write
from tle2cuda.passes.collective_plan import gather_in_warp

TEMPLATE = "gather.cu.j2"
_PLACE = "place"


@dataclass(frozen=True, slots=True)
class GatherView:
    """A gather, as `gather.cu.j2` shows it.

    Attributes:
        owner: Condition of the threads that write to shared memory.
        writes: Elements that each of them writes; 0 without shared memory.
        source: One of those elements.
        write: The statement that writes it.
        declaration: The result's.
        runs: Loop over the result's runs.
        vec: Loop over the elements of each.
        index: An element of the tile of indices.
        place: Variable that holds where it leads to along the axis.
        wanted: What it holds.
        reads: Statements that define the result's element.
    """

    owner: str
    writes: int
    source: Element
    write: str
    declaration: str
    runs: int
    vec: int
    index: Element
    place: str
    wanted: str
    reads: tuple[str, ...]


def emit_gather(state: State, op: Op) -> None:
    """Write a gather and bind its result."""
    state.comment(op.span)
    source, index = op.operands[:2]
    result = op.results[0]
    layout, target = tile_layout(source), tile_layout(result)
    axis = op.attrs["axis"]
    existing = state.targets.get(result)
    registers = existing or state.new_registers(result, gathered_name(state, op))
    names = state.names
    place = names.fresh(_PLACE)
    depth = names.depth
    steps = gather_in_warp(layout, target, axis)
    held = in_registers(state, source, op) if steps is not None else None
    nothing = Element((), (), ())
    write_element, owner, writes, write_text = nothing, "", 0, ""
    with names.scope():
        if held is None:
            writes, owner, write_element, write_text = _writing(state, op, layout, depth)
        bits = registers.vec.bit_length() - 1
        flat = target.flat_registers
        grid = grid_of(target.shape, flat[:bits], flat[bits:], target.flat_threads)
        element = elements_at(state, (index,), grid, depth, same_run_block=registers.vec == 1)
        at = registers.element(RUN, K)
        if held is None:
            rest = _beside(state, target, layout.shape, axis, bits)
            reads: tuple[str, ...] = (
                f"{at} = {from_stored(state, result, _slot(state, op, rest, place, axis, layout.shape))};",
            )
        else:
            reads = _shuffled(state, op, held, registers, place)
        view = GatherView(
            owner=owner,
            writes=writes,
            source=write_element,
            write=write_text,
            declaration="" if existing else state.declaration(registers, result),
            runs=registers.runs,
            vec=registers.vec,
            index=element,
            place=place,
            wanted=_wanted(state, op, element.texts[0]).text,
            reads=reads,
        )
    write(state.block, TEMPLATE, "gathered", view, op.span)
    state.registers[result] = registers


def _wanted(state: State, op: Op, index: C) -> C:
    """The place along the axis; what may lie outside is taken modulo the extent."""
    source, places = op.operands[:2]
    extent = tile_layout(source).shape[op.attrs["axis"]]
    info = state.info.get(places)
    inside = info is not None and info.lo is not None and info.hi is not None and info.lo >= 0 and info.hi < extent
    dtype = dtype_of(places.type)
    narrow = static_cast("int", index) if dtype.bits == 64 or dtype.is_int_unsigned() else index
    return narrow if inside else mixed_bits("&", BIT_AND, narrow, C(str(extent - 1)))


def _writing(state: State, op: Op, layout: Layout, depth: int) -> tuple[int, str, Element, str]:
    """How the tile gets to shared memory, row-major: element by element, or in vectors that lie in registers so."""
    source = op.operands[0]
    slots = state.buffers[op.operands[-1]].text
    owner = thread_condition(state, layout.replicated_lanes | layout.replicated_warps << LANE_BITS)
    kept = f2.independent(layout.flat_registers)
    held = state.registers.get(source)
    bits = held.vec.bit_length() - 1 if held is not None else 0
    whole = held is not None and held.layout == layout and len(kept) == len(layout.registers) and not is_bool(source)
    if held is not None and whole and bits and kept[:bits] == f2.identity(bits):
        images = ((K, kept[bits:]), (THREAD, layout.flat_threads))
        state.thread()
        at = format_index(linear_terms(images), state.index_names)
        vector = f"{state.helper('store_vector')}(&{slots}[{at}], {held.vector(K)});"
        return held.runs, owner, Element((), (), ()), vector
    grid = grid_of(layout.shape, kept, (), layout.flat_threads)
    element = elements_at(state, (source,), grid, depth)
    ev = Evaluator(state, layout, 1)
    slot = f"{slots}[{ev.text(ev.row_major(grid)).text}]"
    lines = Element((), (*element.run_lines, *element.k_lines), element.texts)
    return 1 << len(kept), owner, lines, f"{slot} = {to_stored(state, source, element.texts[0])};"


def _beside(state: State, target: Layout, shape: tuple[int, ...], axis: int, bits: int) -> str:
    """Row-major index in a tile of `shape` of the result's element, at place 0 of the axis."""

    def without(images: tuple[int, ...]) -> list[int]:
        coordinates = (unflatten(image, target.shape) for image in images)
        return [flatten((*c[:axis], 0, *c[axis + 1 :]), shape) for c in coordinates]

    flat = target.flat_registers
    sources = ((K, without(flat[:bits])), (RUN, without(flat[bits:])), (THREAD, without(target.flat_threads)))
    expression = linear_terms(sources)
    if any(term.source == THREAD for term in expression.terms):
        state.thread()
    return format_index(expression, state.index_names)


def _slot(state: State, op: Op, beside: str, place: str, axis: int, shape: tuple[int, ...]) -> str:
    stride = 1
    for extent in shape[axis + 1 :]:
        stride *= extent
    scaled = C(place) if stride == 1 else binary("*", MUL, C(place), C(str(stride)))
    total = scaled if beside == "0" else binary("+", ADD, C(beside, ADD), scaled)
    return f"{state.buffers[op.operands[-1]].text}[{total.text}]"


def _shuffled(state: State, op: Op, held: Registers, registers: Registers, place: str) -> tuple[str, ...]:
    """Statements that fetch an element from the lane that holds it, once for each register that it may lie in."""
    result = op.results[0]
    steps = gather_in_warp(held.layout, registers.layout, op.attrs["axis"])
    assert steps is not None, "planned so"
    shuffle = state.helper("shuffle_from")
    names = {**state.index_names, _PLACE: place}
    own = linear_terms(((THREAD, steps.own_lanes),))
    if own.terms:
        state.thread()
    lanes = [format_index(terms, names) for terms in (own, linear_terms(((_PLACE, steps.lane_images),))) if terms.terms]
    lane = " + ".join(lanes) or "0"
    lines = []
    if len(steps.axis_registers) and len(lanes):
        name = state.names.fresh("source_lane")
        lines.append(f"const int {name} = {lane};")
        lane = name
    which = format_index(linear_terms(((_PLACE, steps.register_images),)), names)
    bits = registers.vec.bit_length() - 1
    at = registers.element(RUN, K)
    for number in range(1 << len(steps.axis_registers)):
        fetched = f"{shuffle}({_held(held, f2.apply(steps.axis_registers, number), steps.other_registers, bits)}, {lane})"
        if number == 0:
            lines.append(f"{at} = {fetched};")
            continue
        name = state.names.fresh("fetched")
        lines.append(f"const {state.variable_type(result)} {name} = {fetched};")
        lines.append(f"if ({which} == {number}) {at} = {name};")
    return tuple(lines)


def _held(held: Registers, chosen: int, others: tuple[int, ...], bits: int) -> str:
    """The source's register for the result's `run` and `k`, with the bits `chosen` along the axis."""

    def text(part: Callable[[int], int]) -> str:
        images = [part(image) for image in others]
        terms = linear_terms(((K, images[:bits]), (RUN, images[bits:])))
        return format_xor(terms, part(chosen), {RUN: RUN, K: K})

    return held.element(text(lambda i: i // held.vec), text(lambda i: i % held.vec))
