"""Matrix products by `tcgen05.mma`, whose sums lie in tensor memory, and loads of these sums.

One thread starts a product and commits it to an mbarrier, at which all threads wait. Addresses in tensor memory hold a lane
in their upper half and a column in the lower one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tle2cuda.errors import InternalError
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import dtype_of, shape_of
from tle2cuda.layout import (
    BYTES_OF_BLOCK,
    COLUMNS_OF_BLOCK,
    MMA_INSTRUCTIONS,
    SCALES_OF_WORD,
    TENSOR_LANES,
    TENSOR_ROWS_OF_SCALES,
    SharedLayout,
    descriptor_form,
    f2,
    format_index,
    linear_terms,
    scale_columns,
    tensor_block,
)
from tle2cuda.layout.operands import UNIT_BYTES
from tle2cuda.lowering.dot import real_loops
from tle2cuda.lowering.mbarriers import barrier_address
from tle2cuda.lowering.mma import array_index, buffer_layout
from tle2cuda.lowering.scalars import constant_int, scalar_text
from tle2cuda.lowering.state import Registers, State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.tma import WaitView, wait_variable
from tle2cuda.lowering.wgmma import DescriptorView, buffer_start
from tle2cuda.lowering.writer import Block
from tle2cuda.passes.dot_plan import operand_name
from tle2cuda.passes.tensor_memory import START, allocated_columns

TEMPLATE = "tensor_memory.cu.j2"
ADDRESS = "tensor_memory"
"""Variable that holds where the CTA's columns begin."""

_WARP_BITS = 2  # of the warps of a warpgroup, each of which reads a quarter of the lanes
_QUARTER = "(thread / 32 % 4 << 21)"  # 32 lanes for each warp of a warpgroup, in the upper half of an address
_MOST_REGISTERS = 32  # that one load fills


@dataclass(frozen=True, slots=True)
class _Form:
    """A shape of `tcgen05.ld`: its name, and the registers and columns of one repetition."""

    name: str
    registers: int
    columns: int


_ROWS = _Form("32x32b", 1, 1)
_FRAGMENTS = _Form("16x256b", 4, 8)


@dataclass(frozen=True, slots=True)
class ProductView:
    """A product, for `tensor_memory.cu.j2`.

    Attributes:
        condition: Selects the thread that starts it.
        descriptors: Of both operands.
        loops: (index, count) of the loops over matrices, blocks of rows and columns, and steps along K.
        multiply: One instruction.
        barrier: What it completes on.
        scales: Copies of scales to tensor memory.
    """

    condition: str
    descriptors: tuple[DescriptorView, ...]
    loops: tuple[tuple[str, int], ...]
    multiply: str
    barrier: str
    scales: tuple[ScalesView, ...] = ()


@dataclass(frozen=True, slots=True)
class ScalesView:
    """A copy of an operand's scales, for `tensor_memory.cu.j2`.

    Attributes:
        loops: (index, count) of the loop over blocks.
        copy: Copies one block.
    """

    loops: tuple[tuple[str, int], ...]
    copy: str


@dataclass(frozen=True, slots=True)
class OverlapView:
    """Waits for products in flight behind each other, for `tensor_memory.cu.j2`.

    Attributes:
        barriers: Two mbarriers, on which they complete in turn.
        turn: Variable that counts them.
    """

    barriers: str
    turn: str


@dataclass(frozen=True, slots=True)
class LoadView:
    """A load of sums, for `tensor_memory.cu.j2`.

    Attributes:
        declaration: The tile's registers.
        condition: Whether there are sums, which are 0 otherwise; empty where there always are.
        address: Variable that holds where this warp's sums begin.
        start: Its value.
        loops: (index, count) of the loops over loads.
        load: One load.
        runs: How many vectors, or elements, the tile has.
        cleared: A vector or element in the loop over these, which is set to 0.
    """

    declaration: str
    condition: str
    address: str
    start: str
    loops: tuple[tuple[str, int], ...]
    load: str
    runs: int
    cleared: str


@dataclass(frozen=True, slots=True)
class AllocationView:
    """The allocation of columns, for `tensor_memory.cu.j2`: what selects a warp, how many, where the address goes."""

    condition: str
    columns: int
    place: str
    address: str


# ---- allocation -------------------------------------------------------------------------------------------------------


def emit_allocation(state: State, block: Block, thread: str) -> None:
    """One warp allocates the kernel's columns; the barrier that follows shows all threads where they are."""
    state.helper("tcgen05_alloc")
    write(block, TEMPLATE, "allocate", _allocation(state, thread))


def emit_address(state: State, block: Block) -> None:
    """Where the columns are, once all threads may know."""
    write(block, TEMPLATE, "address", _allocation(state, "thread"))


def emit_deallocation(state: State) -> None:
    """The warp that allocated the columns gives them back, once nobody reads there any more."""
    state.helper("tcgen05_dealloc")
    write(state.block, TEMPLATE, "deallocate", _allocation(state, state.thread().text))


def _allocation(state: State, thread: str) -> AllocationView:
    start = next(op for op in state.kernel.body.ops if op.name == "alloc" and op.attrs["name"] == START)
    return AllocationView(f"{thread} < 32", allocated_columns(state.kernel), state.buffers[start.result].text, ADDRESS)


# ---- products ---------------------------------------------------------------------------------------------------------


def emit_product(state: State, op: Op) -> None:
    """Write a product that is complete behind its statements."""
    state.comment(op.span)
    names = [state.names.fresh(f"{_operand_name(state, op.operands[side], side)}_first") for side in (0, 1)]
    with state.names.scope():
        view = _Product(state, op, names).view()
        for used in ("tcgen05_descriptor", "tcgen05_fence_after_sync", "tcgen05_commit", "mbarrier_wait"):
            state.helper(used)
        if op.attrs.get("pending"):
            turn = state.turns[op.operands[4]] = wait_variable(state, op, f"{op.operands[4].name}_turn")
            write(state.block, TEMPLATE, "product", replace(view, barrier=f"{view.barrier}[{turn} % 2]"), op.span)
            write(state.block, TEMPLATE, "wait_before", OverlapView(view.barrier, turn), op.span)
            return
        phase = wait_variable(state, op, f"{op.operands[4].name}_phase")
        write(state.block, TEMPLATE, "product", view, op.span)
    write(state.block, "tma.cu.j2", "wait", WaitView(view.barrier, phase or "0", phase), op.span)


def emit_wait(state: State, op: Op) -> None:
    """Wait for the last of products that were in flight behind each other."""
    barriers = op.operands[0]
    view = OverlapView(barrier_address(state, barriers), state.turns[barriers])
    write(state.block, TEMPLATE, "wait_last", view, op.span)


class _Product:
    """One product: loops over matrices, blocks of rows and of columns, and steps along K."""

    def __init__(self, state: State, op: Op, names: Sequence[str]) -> None:
        self.state, self.op, self.names = state, op, names
        self.a, self.b, self.sums, self.adds, self.barrier, *self.scales = op.operands
        self.instruction = MMA_INSTRUCTIONS[op.attrs["instruction"]]
        *batches, self.m, self.n = shape_of(self.sums.type)
        self.matrices = math.prod(batches)
        self.depth = shape_of(self.a.type)[-1]
        self.rows, self.columns = tensor_block(shape_of(self.sums.type))
        self.steps = self.depth // self.instruction.k_extent
        self.batch, self.row, self.column, self.step = map(state.names.fresh, ("batch", "row", "column", "step"))

    def view(self) -> ProductView:
        first, second = self._left(), self._right()
        target, blocks = _address(self.state, self.sums), self._blocks()
        factors = self._factors()
        arguments = (f"{target} + {blocks}" if blocks != "0" else target, first.text, second.text, *factors, self._adds())
        helper = self.state.helper(self._helper(first, second))
        loops = (
            (self.batch, self.matrices),
            (self.row, self.m // self.rows),
            (self.column, self.n // self.columns),
            (self.step, self.steps),
        )
        return ProductView(
            condition=self.state.first_thread().text,
            descriptors=(first.view, second.view),
            loops=real_loops(*loops),
            multiply=f"{helper}({', '.join(arguments)});",
            barrier=barrier_address(self.state, self.barrier),
            scales=self._copies(),
        )

    def _first_columns(self) -> list[int]:
        """Where the scales of each operand begin, in columns behind those of the left one."""
        return [0, scale_columns(shape_of(self.scales[0].type))]

    def _copies(self) -> tuple[ScalesView, ...]:
        """Scales are copied in blocks of 128 rows of one word."""
        if not self.scales:
            return ()
        copy = self.state.helper("tcgen05_copy_scales")
        views = []
        for scale, first in zip(self.scales[:2], self._first_columns(), strict=True):
            columns = scale_columns(shape_of(scale.type))
            part = self.state.names.fresh("part")
            loops = real_loops((part, columns // COLUMNS_OF_BLOCK))
            moved = f" + {COLUMNS_OF_BLOCK} * {part}" if loops else ""
            source = f"{buffer_start(self.state, scale)}{f' + {BYTES_OF_BLOCK} * {part}' if loops else ''}"
            views.append(ScalesView(loops, f"{copy}({_address(self.state, self.scales[2], first)}{moved}, {source});"))
        return tuple(views)

    def _factors(self) -> tuple[str, ...]:
        """Columns of both operands' scales for an instruction, and which of a word's scales it begins with."""
        if not self.scales:
            return ()
        count = self.instruction.scales
        texts = []
        for side, first in enumerate(self._first_columns()):
            blocks = shape_of(self.scales[side].type)[0] // TENSOR_ROWS_OF_SCALES
            variable, extent, own = (
                (self.row, self.m // self.rows, 1),
                (self.column, self.n // self.columns, max(1, self.columns // TENSOR_ROWS_OF_SCALES)),
            )[side]
            along_k = [COLUMNS_OF_BLOCK * blocks * (g // SCALES_OF_WORD) for g in _powers(count, self.steps)]
            moved = array_index((variable, _powers(COLUMNS_OF_BLOCK * own, extent)), (self.step, along_k))
            address = _address(self.state, self.scales[2], first)
            texts.append(f"{address} + {moved}" if moved != "0" else address)
        return (*texts, array_index((self.step, [g % SCALES_OF_WORD for g in _powers(count, self.steps)])))

    def _left(self) -> _Operand:
        images = (
            (self.batch, _powers(self.m * self.depth, self.matrices)),
            (self.row, _powers(self.rows * self.depth, self.m // self.rows)),
            (self.step, _powers(self.instruction.k_extent, self.steps)),
        )
        return self._operand(0, images)

    def _right(self) -> _Operand:
        images = (
            (self.batch, _powers(self.n * self.depth, self.matrices)),
            (self.column, _powers(self.columns, self.n // self.columns)),
            (self.step, _powers(self.instruction.k_extent * self.n, self.steps)),
        )
        return self._operand(1, images)

    def _operand(self, side: int, images: Sequence[tuple[str, Sequence[int]]]) -> _Operand:
        """An operand by its descriptor: `images` are row-major indices that loop variables lead to."""
        buffer, name = self.op.operands[side], self.names[side]
        offsets: SharedLayout = buffer_layout(self.state, buffer)
        form = descriptor_form(offsets, len(shape_of(buffer.type)) - 1 - side, self.instruction.turned_bytes)
        if form is None:
            raise InternalError("no matrix descriptor names an operand as it lies", self.op.span)
        size = offsets.element_bytes
        units = [(at, [x * size // UNIT_BYTES for x in f2.compose(offsets.flat_images, found)]) for at, found in images]
        moved = array_index(*units)
        view = DescriptorView(
            name,
            buffer_start(self.state, buffer),
            form.swizzle_bytes,
            form.leading_bytes,
            form.stride_bytes,
            f"rows along {'K' if form.is_along_k else 'MN'[side]}",
        )
        return _Operand(f"{name} + {moved}" if moved != "0" else name, form.is_along_k, view)

    def _blocks(self) -> str:
        """What leads to the columns of one block of the sums: blocks of rows lie beside each other."""
        blocks = self.m // self.rows
        return array_index(
            (self.batch, _powers(blocks * self.n, self.matrices)),
            (self.row, _powers(self.n, blocks)),
            (self.column, _powers(self.columns, self.n // self.columns)),
        )

    def _helper(self, first: _Operand, second: _Operand) -> str:
        if self.scales:
            return self._scaled_helper(first, second)
        types = self.instruction.name.removeprefix("tcgen05_").split("_")
        if types[1:] == types[1:2] * 2:
            types.pop()  # one type for both operands
        turns = ("" if first.is_along_k else "_a_along_m") + ("" if second.is_along_k else "_b_along_n")
        return f"tcgen05_m{self.rows}n{self.columns}k{self.instruction.k_extent}_{'_'.join(types)}{turns}"

    def _scaled_helper(self, first: _Operand, second: _Operand) -> str:
        """`tcgen05_m128n64k32_f32_mx_e4m3_e4m3`; two elements of e2m1 are one byte along K."""
        formats = self.instruction.name.removeprefix("tcgen05_")
        k = self.instruction.k_extent * (2 if formats.endswith("e2m1") else 1)
        turns = ("" if first.is_along_k else "_a_along_m") + ("" if second.is_along_k else "_b_along_n")
        return f"tcgen05_m{self.rows}n{self.columns}k{k}_{formats}{turns}"

    def _adds(self) -> str:
        """Whether an instruction adds to what lies there: in later steps always."""
        known = constant_int(self.state, self.adds)
        later = f"{self.step} > 0" if self.steps > 1 else ""
        if known is not None:
            return "true" if known else later or "false"
        text = scalar_text(self.state, self.adds).text
        return f"{text} || {later}" if later else text


def _powers(first: int, count: int) -> list[int]:
    """What the bits of a number below `count` stand for, when 1 stands for `first`."""
    return [first << bit for bit in range(count.bit_length() - 1)]


def _operand_name(state: State, buffer: Value, side: int) -> str:
    fills = [op for op in state.uses[buffer] if op.name == "to_shared"]
    return operand_name(state.definitions, fills[0].operands[0] if fills else buffer) or "ab"[side]


def _address(state: State, sums: Value, behind: int = 0) -> str:
    """Where sums or scales begin: the first of the kernel's columns, or so many behind it."""
    made = state.definitions[sums]
    while made.name == "buffer_view":
        behind += made.attrs["start"] if made.attrs["kind"] == "subslice" else 0  # the first of some columns
        made = state.definitions[made.operands[0]]
    column = made.attrs["column"] + behind
    return f"{ADDRESS} + {column}" if column else ADDRESS


@dataclass(frozen=True, slots=True)
class _Operand:
    """An operand by its descriptor, moved to where an instruction begins."""

    text: str
    is_along_k: bool
    view: DescriptorView


# ---- loads ------------------------------------------------------------------------------------------------------------


def emit_load(state: State, op: Op) -> None:
    """Write the loads of this thread's sums."""
    state.comment(op.span)
    registers = state.new_registers(op.result, "product")
    address = state.names.fresh(f"{op.result.name or 'sums'}_address")
    with state.names.scope():
        view = _load(state, op, registers, address)
        for used in ("tcgen05_fence_after_sync", "tcgen05_wait_ld", "tcgen05_fence_before_sync"):
            state.helper(used)
        write(state.block, TEMPLATE, "load", view, op.span)
    state.registers[op.result] = registers


def _load(state: State, op: Op, registers: Registers, address: str) -> LoadView:
    sums, *condition = op.operands
    layout = registers.layout
    whole = _whole(state, sums)
    shape, rows = layout.shape, tensor_block(whole)[0]
    form = _ROWS if rows == TENSOR_LANES else _FRAGMENTS
    own = shape[-1]  # columns of a warpgroup
    for image in layout.warps:
        own //= 2 if image[-1] else 1
    at_once = min(own // form.columns * form.registers, _MOST_REGISTERS)
    kind = "s32" if dtype_of(op.result.type).is_int() else "f32"
    helper = state.helper(f"tcgen05_ld_{form.name}_x{at_once // form.registers}_{kind}")
    part, count = state.names.fresh("part"), layout.num_registers // at_once
    bits = layout.flat_registers[at_once.bit_length() - 1 :]
    columns = array_index((part, [_column(image, shape, rows, whole[-1]) for image in bits]))
    numbers = _powers(at_once, count)
    run, k = (array_index((part, [f(x, registers.vec) for x in numbers])) for f in (int.__floordiv__, int.__mod__))
    state.thread()
    start = f"{_address(state, sums)} + {_QUARTER}{_groups(state, layout.flat_warps[_WARP_BITS:], shape, rows, whole[-1])}"
    return LoadView(
        declaration=state.declaration(registers, op.result),
        condition=scalar_text(state, condition[0]).text if condition else "",
        address=address,
        start=start,
        loops=real_loops((part, count)),
        load=f"{helper}(&{registers.element(run, k)}, {address}{f' + {columns}' if columns != '0' else ''});",
        runs=registers.runs,
        cleared=registers.vector("run"),
    )


def _whole(state: State, sums: Value) -> tuple[int, ...]:
    """The shape of sums, of which a load may want some columns alone."""
    made = state.definitions[sums]
    while made.name == "buffer_view" and made.attrs["kind"] == "subslice":
        sums = made.operands[0]
        made = state.definitions[sums]
    return shape_of(sums.type)


def _column(image: int, shape: Sequence[int], rows: int, whole_columns: int) -> int:
    """Column of the block that an element lies in, given its row-major index; the row within the block is a lane."""
    n, m = shape[-1], shape[-2]
    row = image // n
    return (row // m * (m // rows) + row % m // rows) * whole_columns + image % n


def _groups(state: State, images: Sequence[int], shape: Sequence[int], rows: int, whole_columns: int) -> str:
    """What is added to the address for a warpgroup."""
    columns = [_column(image, shape, rows, whole_columns) for image in images]
    if not any(columns):
        return ""
    group = state.warpgroup()
    return f" + {format_index(linear_terms([('warpgroup', columns)]), {'warpgroup': group})}"


__all__ = ["emit_address", "emit_allocation", "emit_deallocation", "emit_load", "emit_product", "emit_wait"]
