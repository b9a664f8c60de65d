"""Matrix products by tensor-core instructions of a warp, and the tiles that go to shared memory for them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from tle2cuda.analysis.shared_operands import buffer_places
from tle2cuda.errors import InternalError
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import F16, F32, F64, I32, BufferType, DType, dtype_of, shape_of
from tle2cuda.layout import (
    SCALES_OF_WORD,
    Layout,
    SharedLayout,
    f2,
    format_index,
    format_xor,
    linear_terms,
    matrix_form,
    mma_operand,
    whole_sums,
)
from tle2cuda.layout.shared import ROWS_OF_PATTERN
from tle2cuda.lowering import statements
from tle2cuda.lowering.casts import convert
from tle2cuda.lowering.cexpr import RUN, THREAD, Affine, C
from tle2cuda.lowering.combine import elements_at, grid_of, thread_condition
from tle2cuda.lowering.copies import assign_tile
from tle2cuda.lowering.dot import StageView, array_extent, indexed, real_loops, takes_over, untransposed
from tle2cuda.lowering.shape import SharedAccess, in_registers, plan_access
from tle2cuda.lowering.shared import row_major_strides
from tle2cuda.lowering.state import BufferRef, Registers, State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import Block
from tle2cuda.passes.dot_plan import operand_name
from tle2cuda.passes.mma_layouts import instruction_of

TEMPLATE = "mma.cu.j2"
_LANE_BITS = 5
_WORD_BYTES = 4
_PAIR = 2  # neighbouring sums of one thread, which instructions take together
_MOST_UNROLLED = 256  # instructions of one product written out behind each other: ptxas takes long over long straight code
_MOST_UNROLLED_WIDE = 64  # of those with 32-bit operands or wider ones, whose fragments take twice the registers or more
_SUMS = {"f32": F32, "f16": F16, "s32": I32, "f64": F64}

Images = Sequence[int]


@dataclass(frozen=True, slots=True)
class FragmentsView:
    """What a warp reads of one operand for a step along K.

    Attributes:
        declaration: `unsigned a_part[4][4]`.
        comment: What it is.
        loops: (index, count) of the loops around the statement, outermost first.
        statement: What is read.
    """

    declaration: str
    comment: str
    loops: tuple[tuple[str, int], ...]
    statement: str


@dataclass(frozen=True, slots=True)
class MmaView:
    """What `mma.cu.j2` shows."""

    batch: str
    batches: int
    step: str
    steps: int
    unroll: int
    operands: tuple[FragmentsView, ...]
    pairs: tuple[tuple[str, int], ...]
    multiply: str


@dataclass(frozen=True, slots=True)
class Bits:
    """Register bits of whole fragments by what they count.

    Attributes:
        within: Neighbours in one 32-bit register.
        words: Registers of one fragment.
        step: Steps along K.
        own: Fragments along M or N.
        batch: Matrices.
    """

    within: tuple[int, ...]
    words: tuple[int, ...]
    step: tuple[int, ...]
    own: tuple[int, ...]
    batch: tuple[int, ...]

    def loops(self, names: dict[str, str], along: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Loop variables and the bits that each of them counts; `along` is `row` or `column`."""
        return (
            (names["batch"], self.batch),
            (names[along], self.own),
            (names["step"], self.step),
            (names["piece"], self.words),
        )


def emit_to_shared(state: State, op: Op) -> None:
    """Write a tile to a buffer."""
    state.comment(op.span)
    value, buffer = op.operands
    layout, dtype = state.layout(value), dtype_of(value.type)
    access = plan_access(state, layout, buffer_layout(state, buffer))
    address = f"{state.buffers[buffer].text}[{access.offset}]"
    owner = thread_condition(state, layout.replicated_lanes | layout.replicated_warps << _LANE_BITS)
    runs, width = 1 << len(access.run), access.width
    if width > 1:
        state.helper("store_vector")
    held = state.registers.get(untransposed(state, value))
    if held is not None and width > 1 and _is_whole(held, access):
        view = StageView(owner, runs, width, held.vector(RUN), "", "", (), (), "", address)
        write(state.block, "dot.cu.j2", "stage", view, op.span)
        return
    depth = state.names.depth
    with state.names.scope():
        flat = layout.flat_registers
        k, run = ([f2.apply(flat, step) for step in steps] for steps in (access.k, access.run))
        element = elements_at(state, (value,), grid_of(layout.shape, k, run, layout.flat_threads), depth)
        packed = state.names.fresh("packed", depth) if width > 1 else ""
        type_ = f"Vector<{dtype.cuda}, {width}>"
        text = element.texts[0].text
        view = StageView(owner, runs, width, "", type_, packed, element.run_lines, element.k_lines, text, address)
    write(state.block, "dot.cu.j2", "stage", view, op.span)


def _is_whole(held: Registers, access: SharedAccess) -> bool:
    """Whether accesses move the vectors of a tile's registers one after the other."""
    in_order = tuple(1 << bit for bit in range(len(held.layout.registers)))
    return not held.single_run and held.vec == access.width and (*access.k, *access.run) == in_order


def buffer_layout(state: State, buffer: Value) -> SharedLayout:
    """Where the elements of a buffer lie."""
    found = buffer_places(state.definitions, buffer)
    if found is None:
        raise InternalError(f"it is not known where the elements of {buffer!r} lie", buffer.span)
    return found


def emit_product(state: State, op: Op) -> None:
    """Write a matrix product and bind its result."""
    state.comment(op.span)
    Product(state, op).emit()


class Product:
    """A product that is being written."""

    def __init__(self, state: State, op: Op) -> None:
        self.state = state
        self.op = op
        self.result = op.results[0]
        self.instruction = instruction_of(op)
        self.layout = state.layout(self.result)
        self.rank = self.layout.rank
        self.whole = whole_sums(self.instruction, self.layout)
        self.dtype: DType = _SUMS[self.instruction.name.split("_")[1]]
        self.depth = shape_of(op.operands[0].type)[-1]
        self.steps = self.depth // self.instruction.k_extent
        self.sum_bits = self._sort_bits(self.whole, len(self.instruction.sums.registers), self.rank - 2, self.rank - 1)

    def emit(self) -> None:
        """Write it."""
        registers, sums = self._storage()
        sources = [self._source(side, sums) for side in (0, 1)]
        batches = 1 << len(self.sum_bits.batch)
        rows, columns = 1 << len(self.sum_bits.own), 1 << len(self.sum_bits.step)
        has_loop = self.steps > 1 or batches > 1
        with self.state.names.scope() if has_loop else contextlib.nullcontext():
            fresh = self.state.names.fresh
            names = {name: fresh(name) for name in ("batch", "step", "row", "column", "piece")}
            a_view, a = self._fragments(0, sources[0], names)
            b_view, b = self._fragments(1, sources[1], names)
            helper = self.state.helper(f"mma_{self._function()}")
            most = _MOST_UNROLLED_WIDE if self.instruction.element_bits >= _WORD_BYTES * 8 else _MOST_UNROLLED
            unroll = max(1, most // (rows * columns))
            if any(isinstance(source, Registers) for source in sources):
                unroll = self.steps  # registers have no index at run time
            view = MmaView(
                batch=names["batch"],
                batches=batches,
                step=names["step"],
                steps=self.steps,
                unroll=unroll,
                operands=(a_view, b_view),
                pairs=real_loops((names["row"], rows), (names["column"], columns)),
                multiply=f"{helper}({', '.join((self._sum(sums, names), a, b, *self._scales(names)))});",
            )
            copies = self._copies() if batches == 1 else None
        write(self.state.block, TEMPLATE, "product", view, self.op.span, **({"copies": copies} if copies else {}))
        self._finish(registers, sums)
        self.state.registers[self.result] = registers

    def _copies(self) -> Block | None:
        """The copies that stand behind this product: they are issued while its first step multiplies."""
        behind, self.state.copies_behind = self.state.copies_behind, None
        if behind is None:
            return None
        behind.is_taken = True
        from tle2cuda.lowering.control import emit_ops

        with self.state.nested(is_guard=True) as block:
            emit_ops(self.state, behind.ops)
        return block

    def _function(self) -> str:
        """The device helper: several products by tf32 for floats that shall stay precise."""
        name = self.instruction.name
        precise = name.endswith("tf32") and self.op.attrs["input_precision"] != "tf32"
        return f"{name}x3" if precise else name

    # ---- the sums -----------------------------------------------------------------------------------------------------

    def _storage(self, is_read: bool = True) -> tuple[Registers, Registers]:
        """The result's registers, and those that are summed in.

        These are the same ones unless the result is narrower, or the tile smaller than an instruction. They get what the
        product adds to unless it `is_read` by nothing.
        """
        state, result, start = self.state, self.result, self.op.operands[2]
        registers = state.targets.get(result)
        if registers is None and takes_over(state, self.op):
            registers = state.registers[start]
        elif registers is None:
            registers = state.new_registers(result, "product")
            state.declare_registers(registers, result, result.span)
        if is_read:
            assign_tile(state, registers, start)
        if self.dtype is dtype_of(result.type) and self.whole == self.layout and registers.vec == _PAIR:
            return registers, registers
        state.helper("vector")
        sums = Registers(state.names.fresh(f"{registers.name}_sums"), self.whole, _PAIR)
        statements.variable(state.block, f"Vector<{self.dtype.cuda}, {_PAIR}>", f"{sums.name}{array_extent(sums.runs)}")
        if is_read:
            self._copy(sums, registers, (dtype_of(result.type), self.dtype))
        return registers, sums

    def _finish(self, registers: Registers, sums: Registers) -> None:
        """Hand the sums over to the result."""
        if sums is not registers:
            self._copy(registers, sums, (self.dtype, dtype_of(self.result.type)))

    def _copy(self, target: Registers, source: Registers, dtypes: tuple[DType, DType]) -> None:
        """Copy one register after the other; those of whole fragments that only repeat others are filled, or left out."""
        kept = _own_numbers(self.whole)
        bits = [bit for bit, number in enumerate(kept) if number or target.layout == self.whole]

        def element(end: Registers) -> str:
            numbers = [1 << bit if end.layout == self.whole else kept[bit] for bit in bits]
            run, k = ([f(number, end.vec) for number in numbers] for f in (int.__floordiv__, int.__mod__))
            return end.element(array_index((RUN, run)), array_index((RUN, k)))

        value = convert(self.state, C(element(source)), *dtypes).text
        statements.assign_each_run(self.state.block, element(target), value, 1 << len(bits), self.op.span)

    def _sum(self, sums: Registers, names: dict[str, str]) -> str:
        """The sums of a pair of fragments."""
        if sums.runs == 1:
            return f"&{sums.name}"
        bits = {"batch": self.sum_bits.batch, "row": self.sum_bits.own, "column": self.sum_bits.step}
        index = array_index(*((names[name], [1 << bit - 1 for bit in found]) for name, found in bits.items()))
        return f"&{sums.name}[{index}]" if index != "0" else sums.name

    def _scales(self, names: dict[str, str]) -> tuple[str, ...]:
        """The words with the scales of both operands for a step, shifted so that the first of them comes first."""
        if not self.instruction.scales:
            return ()
        word, count = self.state.helper("scale_word"), self.instruction.scales
        texts = []
        for side, along in enumerate(("row", "column")):
            held = in_registers(self.state, self.op.operands[3 + side], self.op)
            images = held.layout.registers
            bits = self.sum_bits.own if side == 0 else self.sum_bits.step
            rows = [self.whole.registers[bit][self.rank - 2 + side] for bit in bits]
            groups = [count << bit for bit in range(self.steps.bit_length() - 1)]
            numbers = (
                (names[along], [1 << images.index((row, 0)) for row in rows]),
                (names["step"], [1 << images.index((0, g)) if g >= SCALES_OF_WORD else 0 for g in groups]),
            )
            run, k = (
                array_index(*((name, [f(number, held.vec) for number in found]) for name, found in numbers))
                for f in (int.__floordiv__, int.__mod__)
            )
            shift = array_index((names["step"], [8 * g if g < SCALES_OF_WORD else 0 for g in groups]))
            text = f"{word}(&{held.element(run, k)})"
            texts.append(f"{text} >> {shift}" if shift != "0" else text)
        return tuple(texts)

    # ---- the operands -------------------------------------------------------------------------------------------------

    def _sort_bits(self, whole: Layout, fixed: int, own_axis: int, step_axis: int) -> Bits:
        """Register bits of whole fragments; the first `fixed` ones are those of one fragment."""
        packed = max(1, _WORD_BYTES * 8 // self.instruction.element_bits).bit_length() - 1
        rest = range(fixed, len(whole.registers))

        def along(*axes: int) -> tuple[int, ...]:
            return tuple(bit for bit in rest if any(whole.registers[bit][axis] for axis in axes))

        batch = along(*range(self.rank - 2))
        return Bits(tuple(range(packed)), tuple(range(packed, fixed)), along(step_axis), along(own_axis), batch)

    def _source(self, side: int, sums: Registers) -> Registers | Value:
        """Where an operand is: registers, or the buffer."""
        value = self.op.operands[side]
        if isinstance(value.type, BufferType):
            return value
        held = in_registers(self.state, value, self.op)
        if held.name == sums.name:  # the sums overwrite it
            copy = Registers(self.state.names.fresh(f"{held.name}_before"), held.layout, held.vec)
            self.state.declare_registers(copy, value, self.op.span)
            assign_tile(self.state, copy, value)
            return copy
        return held

    def _fragments(self, side: int, source: Registers | Value, names: dict[str, str]) -> tuple[FragmentsView, str]:
        """How the fragments of a step are read, and the text of the one for the loops' row or column."""
        state, instruction = self.state, self.instruction
        whole = mma_operand(instruction, self.layout, self.depth, side, whole_fragments=True)
        own_axis, k_axis = (self.rank - 2, self.rank - 1) if side == 0 else (self.rank - 1, self.rank - 2)
        bits = self._sort_bits(whole, len(instruction.operand(side).registers), own_axis, k_axis)
        along = ("row", "column")[side]
        part = state.names.fresh(f"{operand_name(state.definitions, self._named(side)) or 'ab'[side]}_part")
        what = ("rows", "columns")[side]
        counts = (1 << len(bits.own), 1 << len(bits.words))
        type_ = "double" if self.dtype is F64 else "unsigned"
        if isinstance(source, Registers):
            view = self._from_registers(source, whole, bits, part, (names, along))
            text = f"{type_} {part}{array_extent(counts[0])}[{counts[1]}]"
            return FragmentsView(text, f"{what} of this warp", *view), indexed(part, names[along], counts[0])
        offsets = self._offsets(side, source)
        form = matrix_form(whole, offsets)
        if form is None:
            view = self._by_elements(source, whole, offsets, bits, part, (names, along))
            text = f"{type_} {part}{array_extent(counts[0])}[{counts[1]}]"
            return FragmentsView(text, f"{what} of this warp", *view), indexed(part, names[along], counts[0])
        return self._by_matrices(source, whole, offsets, bits, part, (names, along), form == "columns")

    def _offsets(self, side: int, buffer: Value) -> SharedLayout:
        """Where the elements of the left (0) or right (1) operand lie."""
        return buffer_layout(self.state, buffer)

    def _named(self, side: int) -> Value:
        """An operand, or what its buffer was filled with."""
        value = self.op.operands[side]
        if not isinstance(value.type, BufferType):
            return value
        fills = [op for op in self.state.uses[value] if op.name == "to_shared"]
        return fills[0].operands[0] if fills else value

    def _from_registers(
        self, held: Registers, whole: Layout, bits: Bits, part: str, where: tuple[dict[str, str], str]
    ) -> tuple[tuple[tuple[str, int], ...], str]:
        """Registers of a tile that lies as the instruction takes it."""
        names, along = where
        place = _own_numbers(whole)
        groups = (
            (names["batch"], bits.batch),
            (names[along], bits.own),
            (names["step"], bits.step),
            (names["piece"], bits.words),
        )
        index = array_index(*((name, [place[bit] // held.vec for bit in found]) for name, found in groups))
        value = held.vector(index)
        if self.dtype is not F64:
            value = f"{self.state.helper('bit_cast')}<unsigned>({value})"
        return self._each_word(bits, part, names, along, value)

    def _each_word(
        self, bits: Bits, part: str, names: dict[str, str], along: str, value: str
    ) -> tuple[tuple[tuple[str, int], ...], str]:
        rows, words = 1 << len(bits.own), 1 << len(bits.words)
        target = indexed(part, names[along], rows) + (f"[{names['piece']}]" if words > 1 else "[0]")
        return real_loops((names[along], rows), (names["piece"], words)), f"{target} = {value};"

    def _by_elements(
        self, buffer: Value, whole: Layout, offsets: SharedLayout, bits: Bits, part: str, where: tuple[dict[str, str], str]
    ) -> tuple[tuple[tuple[str, int], ...], str]:
        """Elements of 32 or 64 bits, each lane its own."""
        if self.instruction.element_bits < _WORD_BYTES * 8:
            raise InternalError(f"no instruction reads {self.instruction.name}'s operand from where it lies", self.op.span)
        names, along = where
        groups = (
            (names["batch"], bits.batch),
            (names[along], bits.own),
            (names["step"], bits.step),
            (names["piece"], bits.words),
        )
        images = [(name, [whole.flat_registers[bit] for bit in found]) for name, found in groups]
        address = self._address(buffer, offsets, [*images, (THREAD, whole.flat_threads)])
        value = address if self.dtype is F64 else f"{self.state.helper('bit_cast')}<unsigned>({address})"
        return self._each_word(bits, part, names, along, value)

    def _by_matrices(
        self,
        buffer: Value,
        whole: Layout,
        offsets: SharedLayout,
        bits: Bits,
        part: str,
        where: tuple[dict[str, str], str],
        transposed: bool,
    ) -> tuple[FragmentsView, str]:
        """Whole matrices by `ldmatrix`: a fragment of A, or two of B, at a time."""
        names, along = where
        flat = whole.flat_registers
        inner = bits.own[: 2 - len(bits.words)]  # fragments of one instruction
        outer = bits.own[len(inner) :]
        matrices = [flat[bit] for bit in (*bits.words, *inner)]
        lanes, warps = whole.flat_lanes, whole.flat_warps
        rows = (flat[0], *lanes[:2]) if transposed else lanes[2:]
        spare = (0,) * (2 - len(matrices))
        sources = [
            (names["batch"], [flat[bit] for bit in bits.batch]),
            (names[along], [flat[bit] for bit in outer]),
            (names["step"], [flat[bit] for bit in bits.step]),
            (THREAD, (*rows, *matrices, *spare, *warps)),
        ]
        address = self._address(buffer, offsets, sources)
        count, words = 1 << len(outer), 1 << len(matrices)
        helper = self.state.helper(f"ldmatrix_x{words}" + ("_trans" if transposed else ""))
        target = indexed(part, names[along], count)
        comment = f"{('rows', 'columns')[along == 'column']} of this warp" + (", two fragments a time" if inner else "")
        view = FragmentsView(
            f"unsigned {part}{array_extent(count)}[{words}]",
            comment,
            real_loops((names[along], count)),
            f"{helper}({target}, &{address});",
        )
        if not inner:
            return view, target
        variable = names[along]
        fragment = f"{variable} / 2" if count > 1 else ""
        place = f"[{fragment}]" if fragment else ""
        return view, f"&{part}{place}[{variable} % 2 * {1 << len(bits.words)}]"

    def _address(self, buffer: Value, offsets: SharedLayout, sources: Sequence[tuple[str, Images]]) -> str:
        """An element of a buffer, given row-major indices of what counts."""
        if self.state.definitions[buffer].attrs.get("offsets_elems") is None:
            return self.element(buffer, sources)
        images = offsets.flat_images
        expression = linear_terms([(name, f2.compose(images, found)) for name, found in sources])
        if any(term.source == THREAD for term in expression.terms):
            self.state.thread()
        names = {name: name for name, _ in sources if name != THREAD}
        return f"{self.state.buffers[buffer].text}[{format_xor(expression, 0, {**self.state.index_names, **names})}]"

    def element(self, buffer: Value, sources: Sequence[tuple[str, Images]]) -> str:
        """An element by its row and column, of a buffer that may be swizzled."""
        made = self.state.definitions[buffer]
        shape = shape_of(buffer.type)
        perm = tuple(range(len(shape)))
        if made.name == "buffer_view" and made.attrs["kind"] == "trans":
            buffer, perm = made.operands[0], made.attrs["perm"]
            made = self.state.definitions[buffer]
        starts = [0, 0]  # of rows and columns
        if made.name == "buffer_view" and made.attrs["kind"] == "subslice":
            starts[made.attrs["dim"] % 2] = int(made.attrs["start"])
            buffer = made.operands[0]
        ref = self.state.buffers[buffer]
        if any(name == THREAD for name, _ in sources):
            self.state.thread()
        names = {**self.state.index_names, **{name: name for name, _ in sources if name != THREAD}}
        strides = row_major_strides(shape)
        indices: list[list[tuple[str, list[int]]]] = [[] for _ in shape]
        for axis, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
            indices[perm[axis]] = [(name, [image // stride % extent for image in found]) for name, found in sources]
        return element_text(self.state, ref, indices, names, starts)


def element_text(
    state: State,
    ref: BufferRef,
    indices: Sequence[Sequence[tuple[str, Sequence[int]]]],
    names: dict[str, str],
    starts: Sequence[int] = (0, 0),
) -> str:
    """An element of a buffer, each of whose indices is a linear map of bits: for each source the images of its bits.

    Rows and columns of a swizzled one may be counted from `starts`: whole repetitions of the pattern, and whole panels.
    """

    def text(images: Sequence[tuple[str, Sequence[int]]], keep: int = -1) -> str:
        kept = [(name, [image & keep for image in found]) for name, found in images]
        return format_index(linear_terms(kept), names)

    if ref.flat or any(not isinstance(s, Affine) or s.constant != 0 for s in ref.starts):
        raise InternalError("a product reads an operand from a part of a buffer")
    if not ref.swizzle_bytes:
        return ref.text + "".join(f"[{text(images)}]" for images in indices)
    *outer, row, column = indices
    places = [text(images) for images in outer]
    width = ref.panel_columns
    if ref.has_panels:
        panel = text([(name, [image // width for image in found]) for name, found in column])
        places.append(_from(starts[1] // width, panel))
        column = [(name, [image % width for image in found]) for name, found in column]
    places.append(_from(starts[0], text(row)))
    in_pattern = text(row, ROWS_OF_PATTERN - 1)
    if in_pattern == "0":  # whose row is as it would be without
        places.append(text(column))
    else:
        swizzled = f"{state.helper('swizzled')}<{ref.swizzle_bytes}, {ref.element_bytes}>"
        places.append(f"{swizzled}({in_pattern}, {text(column)})")
    return ref.text + "".join(f"[{place}]" for place in places)


def _from(start: int, text: str) -> str:
    """An index that is counted from some start."""
    return text if not start else f"{start} + {text}" if text != "0" else str(start)


def _own_numbers(layout: Layout) -> list[int]:
    """Number of each register bit when those that only repeat others are left out; 0 for these."""
    numbers, place = [], 1
    for image in layout.flat_registers:
        numbers.append(place if image else 0)
        place <<= bool(image)
    return numbers


def array_index(*sources: tuple[str, Images]) -> str:
    """Text of a sum of bit fields of loop variables."""
    return format_index(linear_terms(sources), {name: name for name, _ in sources})


__all__ = ["Bits", "FragmentsView", "Product", "array_index", "buffer_layout", "emit_product", "emit_to_shared"]
