"""Matrix products by ordinary multiply-adds: operands go to shared memory, each thread sums a block of the product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tle2cuda.ir.nodes import Op, Value, walk
from tle2cuda.ir.types import TileType, dtype_of
from tle2cuda.layout import Layout, flatten, format_index, linear_terms, unflatten
from tle2cuda.lowering import statements
from tle2cuda.lowering.casts import convert
from tle2cuda.lowering.cexpr import RUN, THREAD, C
from tle2cuda.lowering.combine import elements_at, grid_of, kept_registers, thread_condition
from tle2cuda.lowering.copies import assign_tile
from tle2cuda.lowering.memory import tile_layout
from tle2cuda.lowering.state import Registers, State
from tle2cuda.lowering.templates import write
from tle2cuda.passes.dot_plan import Staged, operand_name, product_dtype, stage_operands

TEMPLATE = "dot.cu.j2"
_LANE_BITS = 5
_VECTOR_BYTES = 16
_STEP_BYTES = 16  # of the summed type, along K, that one turn of the loop takes
_MOST_HELD = 64  # 32-bit registers for what a turn of the loop holds of the right operand
_LARGE_BLOCK = 64  # 32-bit registers of a thread's block of the product, from which on half as much is held
_TURN_PRODUCTS = 512  # multiply-adds that the turns of all products' loops should have together, unrolled,
_LEAST_TURN_PRODUCTS = 128  # and each of them at least: ptxas takes long over long straight code


@dataclass(frozen=True, slots=True)
class StageView:
    """An operand on its way to shared memory.

    Attributes:
        owner: `if (...)` for the threads that hold no copies.
        runs: Accesses of a thread.
        width: Elements of one.
        whole: The vector to store where the operand lies in such vectors already.
        type: Type of the vector that is put together otherwise.
        packed: Its name; empty for single elements.
        run_lines: Statements at the start of the loop over accesses.
        k_lines: Statements at the start of the loop over elements.
        value: The element.
        address: Where it goes.
    """

    owner: str
    runs: int
    width: int
    whole: str
    type: str
    packed: str
    run_lines: tuple[str, ...]
    k_lines: tuple[str, ...]
    value: str
    address: str


@dataclass(frozen=True, slots=True)
class StagesView:
    """Both operands on their way, and what they are called."""

    stages: tuple[StageView, ...]
    names: str


@dataclass(frozen=True, slots=True)
class PartView:
    """What a thread reads of one operand in a turn of the loop over K.

    Attributes:
        declaration: `Vector<float, 4> b_part[4]`.
        loops: (index, count) of the loops around the read, outermost first.
        target: What is read into.
        read: The read.
        comment: What it is.
    """

    declaration: str
    loops: tuple[tuple[str, int], ...]
    target: str
    read: str
    comment: str


@dataclass(frozen=True, slots=True)
class DotView:
    """What `dot.cu.j2` shows."""

    batch: str
    batches: int
    unroll: int
    k: str
    size: int
    step: int
    ahead: tuple[PartView, ...]
    row: str
    rows: int
    row_part: PartView | None
    index: str
    column: str
    columns: int
    update: str


def emit_dot(state: State, op: Op) -> None:
    """Write a matrix product and bind its result."""
    state.comment(op.span)
    _Product(state, op).emit()


def untransposed(state: State, value: Value) -> Value:
    """The tile in whose registers a transposed tile lies."""
    op = state.definitions.get(value)
    while value not in state.registers and op is not None and op.name == "trans":
        value = op.operands[0]
        op = state.definitions.get(value)
    return value


def takes_over(state: State, op: Op) -> bool:
    """Whether a product may be summed in the registers of its accumulator, which nothing else reads."""
    start, result = op.operands[2], op.results[0]
    held = state.registers.get(start)
    if held is None or held.layout != tile_layout(result) or held.single_run or held.is_constant:
        return False
    return state.use_count(start) == 1 and state.levels.get(start, 0) >= state.level


class _Product:
    def __init__(self, state: State, op: Op) -> None:
        self.state = state
        self.op = op
        self.result = op.results[0]
        self.layout = tile_layout(self.result)
        self.rank = self.layout.rank
        self.staged = stage_operands(op)
        self.buffers = [state.buffers[v].text for v in op.operands[-2:]]
        self.dtype = product_dtype(op)
        type_ = op.operands[0].type
        assert isinstance(type_, TileType)
        self.size = type_.shape[-1]
        bits = {"batch": range(self.rank - 2), "row": (self.rank - 2,), "column": (self.rank - 1,)}
        self.bits = {
            name: [bit for bit, image in enumerate(self.layout.registers) if any(image[axis] for axis in axes)]
            for name, axes in bits.items()
        }
        self.count = {name: 1 << len(found) for name, found in self.bits.items()}

    def emit(self) -> None:
        state, op = self.state, self.op
        depth = state.names.depth
        with state.names.scope():
            stages = tuple(self._stage(i, depth) for i in (0, 1))
        operands = zip(op.operands, ("the left operand", "the right one"), strict=False)
        named = [(operand_name(state.definitions, v), text) for v, text in operands]
        what = " and ".join(f"`{name}`" if name else text for name, text in named)
        write(state.block, TEMPLATE, "stages", StagesView(stages, what), op.span)
        registers, sums = self._storage()  # only now, as the registers may be those of an operand
        with state.names.scope():
            names = {name: state.names.fresh(name) for name in ("batch", "row", "column", "k")}
            index = state.names.fresh("step")
            step = self._step()
            a, a_text = self._part(0, names, index, step)
            b, b_text = self._part(1, names, index, step)
            acc = self._element(sums, names)
            ahead = (b,) if self.staged[0].is_k_inner else (a, b)
            view = DotView(
                batch=names["batch"],
                batches=self.count["batch"],
                unroll=self._unroll(step),
                k=names["k"],
                size=self.size,
                step=step,
                ahead=ahead,
                row=names["row"],
                rows=self.count["row"],
                row_part=a if self.staged[0].is_k_inner else None,
                index=index,
                column=names["column"],
                columns=self.count["column"],
                update=f"{acc} += {a_text} * {b_text};",
            )
        write(state.block, TEMPLATE, "product", view, op.span)
        self._finish(registers, sums)
        state.registers[self.result] = registers

    # ---- the sums -----------------------------------------------------------------------------------------------------

    def _storage(self) -> tuple[Registers, Registers]:
        """The result's registers, and those that are summed in: the same ones unless the result is narrower."""
        state, result, start = self.state, self.result, self.op.operands[2]
        registers = state.targets.get(result)
        if registers is None and takes_over(state, self.op):
            registers = state.registers[start]
        elif registers is None:
            registers = state.new_registers(result, "product")
            state.declare_registers(registers, result, result.span)
        assign_tile(state, registers, start)
        dtype = dtype_of(result.type)
        if self.dtype is dtype:
            return registers, registers
        sums = Registers(state.names.fresh(f"{registers.name}_sums"), self.layout, 1)
        statements.variable(state.block, self.dtype.cuda, f"{sums.name}[{sums.runs}]")
        started = convert(state, C(_whole(registers)), dtype, self.dtype).text
        statements.assign_each_run(state.block, _whole(sums), started, sums.runs, self.op.span)
        return registers, sums

    def _finish(self, registers: Registers, sums: Registers) -> None:
        """Round the sums to the result's dtype."""
        if sums is registers:
            return
        text = convert(self.state, C(_whole(sums)), self.dtype, dtype_of(self.result.type)).text
        statements.assign_each_run(self.state.block, _whole(registers), text, sums.runs, self.op.span)

    def _element(self, registers: Registers, names: dict[str, str]) -> str:
        """Register of the loops' row and column."""
        low = registers.vec.bit_length() - 1

        def text(of: Callable[[int], int]) -> str:
            sources = [(names[name], [of(1 << bit) for bit in bits]) for name, bits in self.bits.items()]
            return format_index(linear_terms(sources))

        return registers.element(text(lambda i: i >> low), text(lambda i: i & (registers.vec - 1)))

    # ---- shared memory --------------------------------------------------------------------------------------------------

    def _stage(self, position: int, depth: int) -> StageView:
        """Write one operand to shared memory."""
        state, value, plan = self.state, self.op.operands[position], self.staged[position]
        layout = tile_layout(value)
        axis, width = layout.vector()
        width = min(width, _VECTOR_BYTES // plan.dtype.bytes) if axis == plan.inner_axis else 1
        kept = kept_registers(layout.flat_registers)
        bits = width.bit_length() - 1
        address = self._address(position, layout, ((RUN, kept[bits:]), (THREAD, layout.flat_threads)))
        owner = thread_condition(state, layout.replicated_lanes | layout.replicated_warps << _LANE_BITS)
        runs = 1 << len(kept[bits:])
        held = state.registers.get(untransposed(state, value))
        same = held is not None and held.vec == width and not held.single_run
        if same and width > 1 and plan.dtype is dtype_of(value.type) and len(kept) == len(layout.registers):
            assert held is not None
            state.helper("store_vector")
            return StageView(owner, runs, width, held.vector(RUN), "", "", (), (), "", address)
        grid = grid_of(layout.shape, kept[:bits], kept[bits:], layout.flat_threads)
        element = elements_at(state, (value,), grid, depth)
        text = convert(state, element.texts[0], dtype_of(value.type), plan.dtype).text
        packed = ""
        if width > 1:
            state.helper("store_vector")
            packed = state.names.fresh("packed", depth)
        type_ = f"Vector<{plan.dtype.cuda}, {width}>"
        return StageView(owner, runs, width, "", type_, packed, element.run_lines, element.k_lines, text, address)

    def _address(self, position: int, layout: Layout, sources: Sequence[tuple[str, Sequence[int]]]) -> str:
        """An element of a staged operand, from row-major indices in the operand."""
        plan, shape = self.staged[position], layout.shape
        outer_axis = 2 * self.rank - 3 - plan.inner_axis
        outer = self._index(sources, lambda c: unflatten(c, shape)[outer_axis])
        inner = self._index(sources, lambda c: unflatten(c, shape)[plan.inner_axis])
        batch = f"[{self._index(sources, lambda c: c // (shape[-1] * shape[-2]))}]" if plan.batch > 1 else ""
        return f"{self.buffers[position]}{batch}[{outer}][{inner}]"

    def _index(self, sources: Sequence[tuple[str, Sequence[int]]], of: Callable[[int], int]) -> str:
        expression = linear_terms([(name, [of(image) for image in images]) for name, images in sources])
        if any(term.source == THREAD for term in expression.terms):
            self.state.thread()
        return format_index(expression, self.state.index_names)

    # ---- what a turn of the loop reads ---------------------------------------------------------------------------------

    def _step(self) -> int:
        """Elements along K of one turn of the loop."""
        step = _STEP_BYTES // self.dtype.bytes
        words = self.dtype.bytes // 4
        held = self.count["column"] + (0 if self.staged[0].is_k_inner else self.count["row"])
        is_large = self.count["row"] * self.count["column"] * words > _LARGE_BLOCK
        most = _MOST_HELD // 2 if is_large else _MOST_HELD
        while step > 1 and step * held * words > most:
            step //= 2
        return step

    def _unroll(self, step: int) -> int:
        products = self.count["row"] * self.count["column"] * step
        others = sum(op.name == "dot" for op in walk(self.state.kernel.body))
        wanted = max(_LEAST_TURN_PRODUCTS, _TURN_PRODUCTS // others)
        return max(1, min(4, wanted // products))

    def _part(self, position: int, names: dict[str, str], index: str, step: int) -> tuple[PartView, str]:
        """What is read of an operand, and the text of the element for the loops' row or column and step."""
        state, plan = self.state, self.staged[position]
        along, axis = ("row", "column")[position], self.rank - 2 + position
        name = state.names.fresh(f"{operand_name(state.definitions, self.op.operands[position]) or 'ab'[position]}_part")
        count, variable, k = self.count[along], names[along], names["k"]
        in_row_loop = position == 0 and plan.is_k_inner
        width = step if plan.is_k_inner else self._neighbours(along, axis)
        batch = f"[{self._coordinate('batch', names['batch'])}]" if plan.batch > 1 else ""
        buffer = f"{self.buffers[position]}{batch}"
        what = f"{'rows' if position == 0 else 'columns'} of this thread"
        if plan.is_k_inner:
            place = f"&{buffer}[{self._coordinate(along, variable)}][{k}]"
            if in_row_loop:
                declaration = f"const {self._vector_type(width)} {name}"
                return PartView(declaration, (), name, self._read(plan, width, place), ""), indexed(name, index, width)
            target = f"{name}[{variable}]" if count > 1 else name
            declaration = f"{self._vector_type(width)} {name}{array_extent(count)}"
            part = PartView(
                declaration, real_loops((variable, count)), target, self._read(plan, width, place), f"the {what}"
            )
            return part, indexed(target, index, width)
        groups = count // width
        at_step = f"{k} + {index}" if step > 1 else k
        piece = "piece" if groups > 1 else ""
        place = f"&{buffer}[{at_step}][{self._coordinate(along, piece or '0', width)}]"
        extents = array_extent(step) + array_extent(groups)
        target = name + (f"[{index}]" if step > 1 else "") + (f"[{piece}]" if piece else "")
        group = f"{variable} / {width}" if width > 1 else variable
        used = name + (f"[{index}]" if step > 1 else "") + (f"[{group}]" if groups > 1 else "")
        inside = variable if groups == 1 else f"{variable} % {width}"
        part = PartView(
            f"{self._vector_type(width)} {name}{extents}",
            real_loops((index, step), (piece, groups)),
            target,
            self._read(plan, width, place),
            f"the {what}",
        )
        return part, indexed(used, inside, width)

    def _neighbours(self, along: str, axis: int) -> int:
        """Neighbouring rows or columns of one thread, as many as one access reads."""
        bits = self.bits[along]
        width = 1
        while (
            width < len(bits) + 1
            and width * self.dtype.bytes < _VECTOR_BYTES
            and len(bits) >= width.bit_length()
            and self.layout.registers[bits[width.bit_length() - 1]][axis] == width
        ):
            width *= 2
        return width

    def _coordinate(self, along: str, variable: str, group: int = 1) -> str:
        """Row, column or batch of this thread, `variable` counting groups of neighbours."""
        shape = self.layout.shape
        axis = self.rank - (2 if along == "row" else 1)

        def flat_of(image: tuple[int, ...]) -> int:
            return flatten(image[:-2], shape[:-2]) if along == "batch" else image[axis]

        skipped = group.bit_length() - 1
        held = [flat_of(self.layout.registers[bit]) for bit in self.bits[along]][skipped:]
        threads = [flat_of(image) for image in (*self.layout.lanes, *self.layout.warps)]
        return self._index(((variable, held), (THREAD, threads)), lambda image: image)

    def _vector_type(self, width: int) -> str:
        if width == 1:
            return self.dtype.cuda
        self.state.helper("vector")
        return f"Vector<{self.dtype.cuda}, {width}>"

    def _read(self, plan: Staged, width: int, place: str) -> str:
        """`load_vector<4>(place)`, converted to the type of the sums where it differs."""
        if width == 1:
            return convert(self.state, C(place[1:]), plan.dtype, self.dtype).text
        if plan.dtype is self.dtype:
            return f"{self.state.helper('load_vector')}<{width}>({place})"
        return f"{self.state.helper('load_vector_as')}<{self.dtype.cuda}, {width}>({place})"


def real_loops(*loops: tuple[str, int]) -> tuple[tuple[str, int], ...]:
    """Those of some loops, as variable and count, that run more than once."""
    return tuple((name, count) for name, count in loops if count > 1)


def array_extent(count: int) -> str:
    """`[count]`, or nothing for a single element."""
    return f"[{count}]" if count > 1 else ""


def indexed(text: str, index: str, count: int) -> str:
    """An element of what `array_extent` declares."""
    return f"{text}[{index}]" if count > 1 else text


def _whole(registers: Registers) -> str:
    """The element in register `run`."""
    if registers.vec == 1:
        return registers.element(RUN, "0")
    return registers.element(f"{RUN} / {registers.vec}", f"{RUN} % {registers.vec}")


__all__ = ["StageView", "emit_dot", "takes_over", "untransposed"]
