"""Changes of layout, and one-element tiles as scalars.

A conversion that only renames registers is no code: readers look through it (`Evaluator`), unless what it reads may be
overwritten in place before they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import BOOL, DType, PointerType, TileType, element_of
from tle2cuda.layout import Layout, SharedLayout, ThreadMap, axis_unit, conversion, f2, flatten, format_xor, linear_terms
from tle2cuda.layout.conversions import ShuffleRound
from tle2cuda.layout.shared import best_vector
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import RUN, THREAD, C, K
from tle2cuda.lowering.combine import elements_at, grid_of, register_element, thread_condition
from tle2cuda.lowering.copies import assign_tile
from tle2cuda.lowering.evaluate import Grid
from tle2cuda.lowering.naming import converted_name
from tle2cuda.lowering.scalars import define
from tle2cuda.lowering.state import Registers, State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import Block
from tle2cuda.passes.collective_plan import conversion_way, element_bytes, flip_in_warp, trade_of

TEMPLATE = "shape.cu.j2"
_LANE_BITS = 5
_WORD_BYTES = 4


@dataclass(frozen=True, slots=True)
class SharedView:
    """A trip through shared memory, as `shape.cu.j2` shows it."""

    owner: str
    writes: int
    write_width: int
    packed_type: str
    packed: str
    element_lines: tuple[str, ...]
    pack: str
    write: str
    declaration: str
    reads: int
    read_width: int
    read_type: str
    unpacked: str
    read: str
    unpack: str


@dataclass(frozen=True, slots=True)
class ExchangeView:
    """Registers put in order and then traded between lanes, as `shape.cu.j2` shows it."""

    declaration: str
    runs: int
    width: int
    element_lines: tuple[str, ...]
    order: str
    exchanges: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrival:
    """One exchange: what arrives goes to the target, through `offered` and only where `guard` holds if there is one."""

    target: str
    value: str
    guard: str = ""
    offered: str = ""


@dataclass(frozen=True, slots=True)
class ShuffleView:
    """Exchanges between the lanes of each warp, as `shape.cu.j2` shows them."""

    type: str
    declaration: str
    received: str
    rounds: tuple[Arrival, ...]
    chosen: tuple[Arrival, ...]


def emit_convert_layout(state: State, op: Op) -> None:
    """Write a conversion and bind its result; nothing when its readers can look through it."""
    value, result = op.operands[0], op.results[0]
    assert isinstance(value.type, TileType) and isinstance(result.type, TileType)
    way = conversion_way(value.type, result.type)
    if way == "none":
        if _may_change(state, value):
            state.comment(op.span)
            registers = _new(state, op)
            assign_tile(state, registers, value)
            state.registers[result] = registers
        return
    state.comment(op.span)
    if way == "exchange":
        _emit_exchanges(state, op)
    elif way == "shuffle":
        _emit_shuffles(state, op)
    else:
        _emit_shared(state, op)


def emit_flip(state: State, op: Op) -> None:
    """Write a reversed axis and bind its result; nothing when each thread holds the mirrored elements itself."""
    value, result = op.operands[0], op.results[0]
    layout, axis = state.layout(value), op.attrs["axis"]
    steps = flip_in_warp(layout, axis)
    if steps is not None and not steps[1]:
        if _may_change(state, value):
            registers = _new(state, op)
            assign_tile(state, registers, result)
            state.registers[result] = registers
        return
    state.comment(op.span)
    if steps is None:
        _emit_shared(state, op, flatten(axis_unit(layout.shape, axis, layout.shape[axis] - 1), layout.shape))
        return
    registers = state.targets.get(result) or state.new_registers(result, converted_name(state, op))
    source = in_registers(state, value, op)
    if result not in state.targets:
        state.declare_registers(registers, result, op.span)
    run_step, k_step = divmod(steps[0], registers.vec)
    run, k = f"{RUN} ^ {run_step}" if run_step else RUN, f"{K} ^ {k_step}" if k_step else K
    loops = [(index, count) for index, count in ((RUN, registers.runs), (K, registers.vec)) if count > 1]
    body = Block(state.block.depth + len(loops))
    mirrored = _exchanged(state, source.element(run, k), _OWN_LANE, steps[1])
    statements.assign(body, registers.element(RUN, K), mirrored, op.span)
    statements.loop_nest(state.block, loops, body, short=True)
    state.registers[result] = registers


def _may_change(state: State, value: Value) -> bool:
    """Whether the storage that a value is read from is a variable, which a loop may overwrite."""
    seen: set[Value] = set()
    stack = [value]
    while stack:
        current = stack.pop()
        if current in seen or not isinstance(current.type, TileType):
            continue
        seen.add(current)
        maker = state.definitions.get(current)
        if maker is None or maker.name in ("for", "while", "if"):
            return True
        if current not in state.registers or maker.name == "convert_layout":
            stack += maker.operands
    return False


def _new(state: State, op: Op) -> Registers:
    """The result's registers, declared here unless they exist already."""
    result = op.results[0]
    target = state.targets.get(result)
    if target is not None:
        return target
    registers = state.new_registers(result, converted_name(state, op))
    state.declare_registers(registers, result, result.span)
    return registers


def emit_tile_to_scalar(state: State, op: Op) -> None:
    """The only element of a tile, which every thread holds."""
    operand = op.operands[0]
    assert isinstance(operand.type, TileType) and operand.type.layout is not None
    shape = operand.type.shape
    nothing = (0,) * len(shape)
    grid = Grid(shape, (), (), (nothing,) * len(operand.type.layout.flat_threads))
    element = elements_at(state, (operand,), grid, state.names.depth)
    define(state, op, element.texts[0], keep=_may_change(state, operand))


# ---- through shared memory ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SharedAccess:
    """One side's accesses to shared memory.

    Attributes:
        width: Elements of one access.
        k: Register combination of each bit of the place inside an access.
        run: Register combination of each bit of the access's number.
        offset: C text of the first element's offset.
        within: C text of the place inside an access that `k` stands for.
    """

    width: int
    k: tuple[int, ...]
    run: tuple[int, ...]
    offset: str
    within: str = "k"


def plan_access(state: State, layout: Layout, offsets: SharedLayout, mirror: int = 0) -> SharedAccess:
    """Plan the accesses of one side: the widest vectors, each element once per thread.

    `mirror` is XORed to all offsets.
    """
    width = best_vector(layout, offsets)
    registers = f2.compose(offsets.flat_images, layout.flat_registers)
    threads = f2.compose(offsets.flat_images, layout.flat_threads)
    basis = f2.EchelonBasis(registers)
    k: list[int] = []
    for bit in range(width.bit_length() - 1):
        step = basis.solve(1 << bit)
        assert step is not None, "best_vector is no wider than the registers allow"
        k.append(step)
    # The other combinations: one for each further dimension of the offsets, its part inside of an access taken off.
    run: list[int] = []
    reached = f2.EchelonBasis(f2.apply(registers, step) for step in k)
    for bit in range(len(registers)):
        if not reached.add(registers[bit]):
            continue
        combination = 1 << bit
        inside = registers[bit] & (width - 1)
        combination ^= f2.apply(k, inside)
        run.append(combination)
    images = [f2.apply(registers, combination) for combination in run]
    expression = linear_terms(((RUN, images), (THREAD, threads)))
    if any(term.source == THREAD for term in expression.terms):
        state.thread()
    offset = format_xor(expression, mirror & -width, state.index_names)
    turned = mirror & width - 1
    return SharedAccess(width, tuple(k), tuple(run), offset, f"k ^ {turned}" if turned else "k")


def _emit_shared(state: State, op: Op, mirror: int = 0) -> None:
    """Write a tile to shared memory and read it in another layout; `mirror` is XORed to the row-major index read."""
    value, result = op.operands[0], op.results[0]
    assert isinstance(value.type, TileType) and isinstance(result.type, TileType)
    source, target = value.type.layout, result.type.layout
    assert source is not None and target is not None
    offsets = conversion(source, target).offset_map(element_bytes(value.type))
    slots = state.buffers[op.operands[-1]].text
    packed_type = stored_type(state, value)
    registers = state.targets.get(result) or state.new_registers(result, converted_name(state, op))
    type_ = "" if result in state.targets else state.declarator(registers, result)[0]
    defined = type_ if target.num_registers == 1 else ""  # declared where its only element is read
    depth = state.names.depth
    writing = plan_access(state, source, offsets)
    reading = plan_access(state, target, offsets, f2.apply(offsets.flat_images, mirror))
    packed = _vector_name(state, "packed", writing.width)
    unpacked = _vector_name(state, "unpacked", reading.width)
    with state.names.scope():
        flat = source.flat_registers
        grid = grid_of(
            source.shape,
            [f2.apply(flat, step) for step in writing.k],
            [f2.apply(flat, step) for step in writing.run],
            source.flat_threads,
        )
        element = elements_at(state, (value,), grid, depth)
        mine = f"{slots}[{writing.offset}]"
        theirs = f"{slots}[{reading.offset}]"
        inside = f"{unpacked}[{reading.within}]" if unpacked else theirs
        unpack = _unpack(state, result, registers, reading, inside)
        view = SharedView(
            owner=thread_condition(state, source.replicated_lanes | source.replicated_warps << _LANE_BITS),
            writes=1 << len(writing.run),
            write_width=writing.width,
            packed_type=f"Vector<{packed_type}, {writing.width}>",
            packed=packed,
            element_lines=(*element.run_lines, *element.k_lines),
            pack=f"{f'{packed}[k]' if packed else mine} = {to_stored(state, value, element.texts[0])};",
            write=f"{state.helper('store_vector')}(&{mine}, {packed});" if packed else "",
            declaration=state.declaration(registers, result) if type_ and not defined else "",
            reads=1 << len(reading.run),
            read_width=reading.width,
            read_type=f"Vector<{packed_type}, {reading.width}>",
            unpacked=unpacked,
            read=f"{state.helper('load_vector')}<{reading.width}>(&{theirs})" if unpacked else "",
            unpack=f"{defined} {unpack}" if defined else unpack,
        )
    write(state.block, TEMPLATE, "through_shared", view, op.span)
    _fill_copies(state, op, registers, reading)
    state.registers[result] = registers


def _vector_name(state: State, hint: str, width: int) -> str:
    """Name of the vector that an access moves; empty when it moves single elements."""
    if width == 1:
        return ""
    state.helper("vector")
    return state.names.fresh(hint)


def _unpack(state: State, result: Value, registers: Registers, access: SharedAccess, text: str) -> str:
    element = register_element(registers, access.run, access.k)
    return f"{element} = {from_stored(state, result, text)};"


def _fill_copies(state: State, op: Op, registers: Registers, access: SharedAccess) -> None:
    """Registers of the result that only repeat others are copied from those."""
    layout = registers.layout
    reached = f2.EchelonBasis((*access.k, *access.run))
    size = len(layout.registers)
    copies = f2.kernel(layout.flat_registers)
    extra: list[int] = [c for c in copies if reached.add(c)]
    for copy in extra:
        own = [*access.k, *access.run]
        for index in range(1 << len(own)):
            source = f2.apply(own, index)
            target, value = _register(registers, source ^ copy), _register(registers, source)
            statements.assign(state.block, target, value, op.span)
        access = replace(access, k=(*access.k, copy))
    assert len(access.k) + len(access.run) == size or not extra


def stored_type(state: State, value: Value) -> str:
    """C type in which elements lie in shared memory."""
    element = element_of(value.type)
    if isinstance(element, PointerType):
        return "long long"
    state.include_for(element)
    return "unsigned char" if element is BOOL else element.cuda


def to_stored(state: State, value: Value, text: C) -> str:
    """An element as it lies in shared memory."""
    return f"reinterpret_cast<long long>({text.text})" if _is_pointer(value) else text.text


def from_stored(state: State, value: Value, text: str) -> str:
    """An element as it was before it went to shared memory."""
    if _is_pointer(value):
        return f"reinterpret_cast<{state.declare_type(value.type)}>({text})"
    return f"{text} != 0" if element_of(value.type) is BOOL else text


def _is_pointer(value: Value) -> bool:
    return not isinstance(element_of(value.type), DType)


# ---- by shuffles ----------------------------------------------------------------------------------------------------


_OWN_LANE = ThreadMap(0, ())


def in_registers(state: State, value: Value, op: Op) -> Registers:
    """Registers that hold a tile as its layout says, written here where there are none."""
    source = state.registers.get(value)
    if source is None or source.layout != state.layout(value) or source.single_run:
        source = state.new_registers(value, f"{op.results[0].name or 'tile'}_source")
        state.declare_registers(source, value, op.span)
        assign_tile(state, source, value)
    return source


def _emit_exchanges(state: State, op: Op) -> None:
    """Each thread puts its registers in the order of the target's, then lanes trade words of its vectors."""
    value, result = op.operands[0], op.results[0]
    assert isinstance(value.type, TileType) and isinstance(result.type, TileType)
    source, plan = value.type.layout, trade_of(value.type, result.type)
    assert source is not None and plan is not None
    registers = state.targets.get(result) or state.new_registers(result, converted_name(state, op))
    size, width_bits = element_bytes(value.type), registers.vec.bit_length() - 1
    images = [source.flat_registers[bit] for bit in plan.source_bits]
    depth = state.names.depth
    with state.names.scope():
        grid = grid_of(source.shape, images[:width_bits], images[width_bits:], source.flat_threads)
        element = elements_at(state, (value,), grid, depth)
        view = ExchangeView(
            declaration="" if result in state.targets else state.declaration(registers, result),
            runs=registers.runs,
            width=registers.vec,
            element_lines=(*element.run_lines, *element.k_lines),
            order=f"{registers.element(RUN, K)} = {element.texts[0].text};",
            exchanges=tuple(
                f"{state.helper('exchange_words')}<{1 << each.lane_bit}, {(size << each.target_bit) // _WORD_BYTES}>"
                f"({registers.vector(RUN)});"
                for each in plan.exchanges
            ),
        )
    write(state.block, TEMPLATE, "exchanges", view, op.span)
    state.registers[result] = registers


def _emit_shuffles(state: State, op: Op) -> None:
    value, result = op.operands[0], op.results[0]
    assert isinstance(value.type, TileType) and isinstance(result.type, TileType)
    source_layout, target_layout = value.type.layout, result.type.layout
    assert source_layout is not None and target_layout is not None
    source = in_registers(state, value, op)
    registers = state.targets.get(result) or state.new_registers(result, converted_name(state, op))
    rounds = conversion(source_layout, target_layout).rounds
    guarded = any(step.guard is not None for step in rounds)
    same_receiver = all(step.receive.images == rounds[0].receive.images for step in rounds)
    type_ = state.variable_type(value)
    depth = state.names.depth
    with state.names.scope():
        direct = guarded or all(step.receive.is_constant for step in rounds)
        received = "" if direct else state.names.fresh("received", depth)
        assert direct or same_receiver, "unguarded rounds differ only in what they receive"
        moves: list[Arrival] = []
        for number, step in enumerate(rounds):
            sent = _select(state, lambda r: _register(source, r), step.send)
            arrived = _exchanged(state, sent, step.source_lane, step.lane_xor)
            target = f"{received}[{number}]" if received else _register(registers, step.receive.constant)
            if received or step.guard is None:
                moves.append(Arrival(target, arrived))
                continue
            state.thread()
            guard = f"({step.guard.format({THREAD: 'thread'})}) == 0"
            moves.append(Arrival(target, arrived, guard, state.names.fresh("offered", depth)))
        view = ShuffleView(
            type=type_,
            declaration="" if result in state.targets else state.declaration(registers, result),
            received=received,
            rounds=tuple(moves),
            chosen=_choices(state, registers, received, rounds) if received else (),
        )
    write(state.block, TEMPLATE, "shuffles", view, op.span)
    state.registers[result] = registers


def _choices(state: State, registers: Registers, received: str, rounds: Sequence[ShuffleRound]) -> tuple[Arrival, ...]:
    """Each register of the result, chosen from what the rounds brought."""
    number_of = {step.receive.constant: i for i, step in enumerate(rounds)}
    found = []
    for register in sorted(number_of):
        # Lane l received its register `r ^ images * l` in the round of r: the map is its own inverse.
        chosen = ThreadMap(register, rounds[0].receive.images)
        text = _select(state, lambda r: f"{received}[{number_of[r]}]", chosen)
        found.append(Arrival(_register(registers, register), text))
    return tuple(found)


def _exchanged(state: State, sent: str, source_lane: ThreadMap, lane_xor: int | None) -> str:
    """What arrives when each lane offers `sent`."""
    if lane_xor == 0:
        return sent
    if lane_xor is not None:
        return f"{state.helper('shuffle_xor')}<{lane_xor}>({sent})"
    state.thread()
    return f"{state.helper('shuffle_from')}({sent}, {source_lane.format({THREAD: 'thread'})})"


def _select(state: State, text_of, register: ThreadMap) -> str:  # type: ignore[no-untyped-def]
    """Text of a register whose number depends on the thread: a choice between the registers it may be."""
    basis = f2.EchelonBasis()
    steps = [image for image in register.images if basis.add(image)]

    def choose(constant: int, position: int) -> str:
        if position == len(steps):
            return str(text_of(constant))
        with_step, without = choose(constant ^ steps[position], position + 1), choose(constant, position + 1)
        mask = conditions[position]
        state.thread()
        test = f"thread & {mask}" if mask & (mask - 1) == 0 else f"__popc(thread & {mask}) & 1"
        if nested:
            return f"{state.helper('choose')}({test}, {with_step}, {without})"
        return f"{test} ? {with_step} : {without}"

    conditions = _step_masks(register.images, steps)
    nested = len(steps) > 1
    return choose(register.constant, 0)


def _step_masks(images: Sequence[int], steps: Sequence[int]) -> list[int]:
    """For each step, the thread bits whose parity says whether it is taken."""
    basis = f2.EchelonBasis(steps)
    masks = [0] * len(steps)
    for bit, image in enumerate(images):
        combination = basis.solve(image)
        assert combination is not None, "steps span the images"
        for position in range(len(steps)):
            if combination >> position & 1:
                masks[position] |= 1 << bit
    return masks


def _register(registers: Registers, number: int) -> str:
    """Text of one register of a tile."""
    return registers.element(str(number // registers.vec), str(number % registers.vec))


__all__ = [
    "SharedAccess",
    "emit_convert_layout",
    "emit_flip",
    "emit_tile_to_scalar",
    "from_stored",
    "in_registers",
    "plan_access",
    "to_stored",
]
