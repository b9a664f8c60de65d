"""Matrix products by `wgmma` of warpgroups: operands in shared memory by descriptors, the left one perhaps in registers."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from tle2cuda.errors import InternalError
from tle2cuda.ir.constants import is_zero
from tle2cuda.ir.nodes import Op, Region, Value
from tle2cuda.ir.types import F32, BufferType, DType, dtype_of
from tle2cuda.layout import (
    DescriptorForm,
    Layout,
    descriptor_form,
    f2,
    format_index,
    linear_terms,
    mma_operand,
    wgmma_columns,
)
from tle2cuda.layout.operands import UNIT_BYTES
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import RUN, K
from tle2cuda.lowering.copies import assign_tile
from tle2cuda.lowering.dot import real_loops
from tle2cuda.lowering.mma import Bits, FragmentsView, Product, array_index
from tle2cuda.lowering.shape import in_registers
from tle2cuda.lowering.shared import first_element
from tle2cuda.lowering.state import CopiesBehind, Registers, State
from tle2cuda.lowering.templates import write
from tle2cuda.passes.dot_plan import operand_name

TEMPLATE = "wgmma.cu.j2"
_WARP_BITS = 2  # of the warps of a warpgroup
_FRAGMENT_COLUMNS = 8
_PAIR_ELEMENTS = 2
_BYTE_BITS = 8


@dataclass(frozen=True, slots=True)
class DescriptorView:
    """The descriptor of an operand's first matrix.

    Attributes:
        name: Its variable.
        address: Where the matrix begins.
        swizzle_bytes: Of the operand's rows.
        leading_bytes: From panel to panel.
        stride_bytes: From eight rows to the next eight.
        comment: What the numbers mean.
    """

    name: str
    address: str
    swizzle_bytes: int
    leading_bytes: int
    stride_bytes: int
    comment: str


@dataclass(frozen=True, slots=True)
class ProductView:
    """What `wgmma.cu.j2` shows.

    Attributes:
        descriptors: Of the operands in shared memory.
        around: (index, count) of the loops over matrices and steps along K.
        fragments: The left operand in registers, for each step.
        blocks: (index, count) of the loops over blocks of rows and columns.
        multiply: One instruction.
        pending: How many products may be in flight afterwards; None when they are waited for elsewhere.
        part: Index of the parts of K whose sums are added up by ordinary additions.
        parts: How many parts there are.
        declaration: The sums of one part.
        added: (index, count) of the loops that add them up.
        add: The addition; empty for a single part.
    """

    descriptors: tuple[DescriptorView, ...]
    around: tuple[tuple[str, int], ...]
    fragments: tuple[FragmentsView, ...]
    blocks: tuple[tuple[str, int], ...]
    multiply: str
    pending: int | None
    part: str
    parts: int
    declaration: str
    added: tuple[tuple[str, int], ...]
    add: str


def emit_product(state: State, op: Op) -> None:
    """Write a matrix product and bind its result."""
    state.comment(op.span)
    _Product(state, op).emit()


def emit_issue(state: State, op: Op) -> None:
    """Write a product that stays in flight, and bind its result."""
    state.comment(op.span)
    _Issue(state, op).emit()


def emit_wait(state: State, op: Op) -> None:
    """`wgmma_wait<1>();`; the product stays where it is."""
    state.comment(op.span)
    statements.evaluate(state.block, f"{state.helper('wgmma_wait')}<{op.attrs['pending']}>()", op.span)
    product, result = op.operands[0], op.results[0]
    made = state.definitions.get(product)
    if not op.attrs["pending"] and made is not None and made.name == "for":
        keep_sums(state, product, op)
    held, target = in_registers(state, product, op), state.targets.get(result)
    if target is not None and target.name != held.name:
        assign_tile(state, target, product)
        held = target
    state.registers[result] = held


def in_flight(loop: Region) -> list[Value]:
    """Carried sums whose product is in flight where an iteration of a loop ends."""
    made = {result: op for op in loop.ops for result in op.results}
    found = []
    for param, value in zip(loop.params[1:], loop.terminator.operands, strict=True):
        op = made.get(value)
        if op is not None and op.name == "wgmma_wait" and op.attrs["pending"]:
            op = made.get(op.operands[0])
        if op is not None and (op.name == "wgmma" or (op.name == "dot" and op.attrs.get("pending"))):
            found.append(param)
    return found


def added_to(loop: Region) -> list[Value]:
    """Carried sums that products of warpgroups add to, those in flight among them."""
    products = [op for op in loop.ops if op.name == "wgmma" or str(op.attrs.get("instruction")).startswith("wgmma")]
    starts, flying = {op.operands[2] for op in products}, in_flight(loop)
    return [param for param in loop.params[1:] if param in starts or param in flying]


def keep_sums(state: State, value: Value, op: Op) -> None:
    """`keep_sums(acc);` where a loop of products begins or ends, so that its sums stay in their registers."""
    registers = state.registers.get(value)
    if registers is not None:
        keep_sums_of(state, registers, dtype_of(value.type), op)


def keep_sums_of(state: State, registers: Registers, dtype: DType, op: Op) -> None:
    """The same for registers, also where sums are copied or computed in front of a product."""
    if registers.vec == _PAIR_ELEMENTS and registers.runs > 1:
        keeper = "keep_half_sums" if dtype.bits == 16 else "keep_int_sums" if dtype.is_int() else "keep_sums"
        statements.evaluate(state.block, f"{state.helper(keeper)}({registers.name})", op.span)


def buffer_start(state: State, buffer: Value) -> str:
    """Where a buffer that holds an operand begins; perhaps a view: rows or columns, read the other way, or reshaped."""
    made = state.definitions[buffer]
    if made.name == "buffer_view" and made.attrs["kind"] == "trans":
        buffer = made.operands[0]
        made = state.definitions[buffer]
    if made.name == "buffer_view" and made.attrs["kind"] == "reshape":
        return state.buffers[made.operands[0]].text
    if made.name == "buffer_view" and made.attrs["kind"] == "subslice":
        whole, first = state.buffers[made.operands[0]], int(made.attrs["start"])
        return f"{whole.text}[{first // whole.panel_columns if made.attrs['dim'] % len(whole.shape) else first}]"
    return state.buffers[buffer].text


class _Product(Product):
    """A product that is complete behind its statements."""

    is_awaited = True

    def __init__(self, state: State, op: Op) -> None:
        super().__init__(state, op)
        self.columns = wgmma_columns(self.layout)

    def emit(self) -> None:
        state = self.state
        at_once = self._steps_at_once()
        parts = self.steps // at_once
        behind, state.copies_behind = state.copies_behind if self.is_awaited and parts == 1 else None, None
        # Of either sign: a sum that starts from nothing is that from -0.0, and from 0 but for sums of -0.0 alone.
        starts_from_0 = parts == 1 and is_zero(self.state.definitions, self.op.operands[2], of_either_sign=True)
        registers, sums = self._storage(is_read=not starts_from_0)
        target = self._part_of(sums) if parts > 1 else sums
        pending = self._pending(sums is registers) if self.is_awaited else None
        sources = [self._source(side, sums) for side in (0, 1)]
        names = [state.names.fresh(f"{self._operand_name(side)}_first") for side in (0, 1)]
        has_loop = parts > 1 or at_once > 1 or bool(self.sum_bits.batch)
        is_open = isinstance(sources[0], Registers) and not has_loop  # its fragments stand in no block of their own
        with contextlib.nullcontext() if is_open else state.names.scope():
            index = {name: state.names.fresh(name) for name in ("part", "batch", "step", "row", "column", "piece")}
            within = (self.columns // _FRAGMENT_COLUMNS).bit_length() - 1
            blocks = self.sum_bits.step[within:]
            operands = [self._operand(side, sources[side], names[side], index) for side in (0, 1)]
            accumulates = f"{index['step']} > 0" if at_once > 1 else "false"
            text = ", ".join((self._block(target, index, blocks), *(each.text for each in operands)))
            helper = state.helper(self._helper(operands))
            view = ProductView(
                descriptors=tuple(each.descriptor for each in operands if each.descriptor is not None),
                around=real_loops((index["batch"], 1 << len(self.sum_bits.batch)), (index["step"], at_once)),
                fragments=tuple(each.fragments for each in operands if each.fragments is not None),
                blocks=real_loops((index["row"], 1 << len(self.sum_bits.own)), (index["column"], 1 << len(blocks))),
                multiply=f"{helper}({text}, {accumulates if starts_from_0 or parts > 1 else 'true'});",
                pending=0 if parts > 1 else pending if behind is None else None,
                part=index["part"],
                parts=parts,
                declaration=f"Vector<{self.dtype.cuda}, 2> {target.name}[{target.runs}]",
                added=((RUN, target.runs), (K, 2)),
                add=f"{sums.element(RUN, K)} += {target.element(RUN, K)};" if parts > 1 else "",
            )
        for used in (
            "wgmma_descriptor",
            "wgmma_fence",
            "wgmma_commit",
            *(("wgmma_wait",) if view.pending is not None else ()),
        ):
            state.helper(used)
        if self.is_awaited and parts == 1 and not starts_from_0 and not self._is_carried_alone():
            keep_sums_of(state, sums, dtype_of(self.op.results[0].type), self.op)
        write(state.block, TEMPLATE, "product", view, self.op.span)
        if behind is not None:
            self._copy_meanwhile(behind, pending)
        self._finish(registers, sums)
        state.registers[self.result] = registers

    def _copy_meanwhile(self, behind: CopiesBehind, pending: int | None) -> None:
        """The copies that stand behind the product, issued while it multiplies, and the wait for it."""
        from tle2cuda.lowering.control import emit_ops

        behind.is_taken = True
        emit_ops(self.state, behind.ops)
        statements.evaluate(self.state.block, f"{self.state.helper('wgmma_wait')}<{pending}>()", self.op.span)

    def _is_carried_alone(self) -> bool:
        """Whether the sums that it adds to are a loop's, which nothing but products changes or reads."""
        start = self.op.operands[2]
        return start not in self.state.definitions and self.state.uses[start] == [self.op]

    def _steps_at_once(self) -> int:
        """Steps along K whose products of float8 may be summed as the instruction does, in less than float32."""
        limit = self.op.attrs.get("max_num_imprecise_acc")
        is_held = not isinstance(self.op.operands[0].type, BufferType)
        if limit is None or is_held or self.instruction.element_bits != _BYTE_BITS or self.dtype is not F32:
            return self.steps
        at_once = max(1, min(int(limit) // self.instruction.k_extent, self.steps))
        return 1 << at_once.bit_length() - 1

    def _part_of(self, sums: Registers) -> Registers:
        """Registers for the sums of a part of K."""
        self.state.helper("vector")
        return Registers(self.state.names.fresh(f"{sums.name}_part"), self.whole, sums.vec)

    def _pending(self, is_in_place: bool) -> int:
        """Products that may be in flight behind this one: itself, where it adds to what the loop carries."""
        carries = is_in_place and self.state.targets.get(self.result) is not None
        return int(self.op.attrs.get("pending") or 0) if carries else 0

    def _operand_name(self, side: int) -> str:
        return operand_name(self.state.definitions, self._named(side)) or "ab"[side]

    def _helper(self, operands: Sequence[_Operand]) -> str:
        """Device helper of the instruction."""
        types = self.instruction.name.removeprefix("wgmma_")
        a, b = operands
        types = types.removesuffix(f"_{types.split('_')[-1]}") if self._has_equal_types(types) else types
        left = "_a_registers" if a.form is None else "" if a.form.is_along_k else "_a_along_m"
        right = "" if b.form is None or b.form.is_along_k else "_b_along_n"
        return f"wgmma_m64n{self.columns}k{self.instruction.k_extent}_{types}{left}{right}"

    @staticmethod
    def _has_equal_types(types: str) -> bool:
        """Whether both operands are named and have one type."""
        _, *operands = types.split("_")
        return len(operands) == 2 and operands[0] == operands[1]

    def _block(self, sums: Registers, index: dict[str, str], columns: Sequence[int]) -> str:
        """The sums of one block of rows and columns."""
        bits = ((index["batch"], self.sum_bits.batch), (index["row"], self.sum_bits.own), (index["column"], columns))
        text = array_index(*((name, [1 << bit - 1 for bit in found]) for name, found in bits))
        return f"&{sums.name}[{text}]" if text != "0" else sums.name

    # ---- the operands -------------------------------------------------------------------------------------------------

    def _operand(self, side: int, source: Registers | Value, name: str, index: dict[str, str]) -> _Operand:
        """An operand as descriptor or fragments."""
        whole = mma_operand(self.instruction, self.layout, self.depth, side, whole_fragments=True)
        own_axis, k_axis = (self.rank - 2, self.rank - 1) if side == 0 else (self.rank - 1, self.rank - 2)
        bits = self._sort_bits(whole, len(self.instruction.operand(side).registers), own_axis, k_axis)
        if isinstance(source, Registers):
            part = self.state.names.fresh(f"{self._operand_name(side)}_part")
            view = self._from_registers(source, whole, bits, part, (index, "row"))
            rows, words = 1 << len(bits.own), 1 << len(bits.words)
            declaration = f"unsigned {part}{f'[{rows}]' if rows > 1 else ''}[{words}]"
            text = f"{part}[{index['row']}]" if rows > 1 else part
            return _Operand(text, None, None, FragmentsView(declaration, "rows of this warp", *view))
        return self._by_descriptor(side, source, whole, bits, (name, index))

    def _by_descriptor(
        self, side: int, buffer: Value, whole: Layout, bits: Bits, named: tuple[str, dict[str, str]]
    ) -> _Operand:
        """An operand in shared memory."""
        name, index = named
        offsets = self._offsets(side, buffer)
        form = descriptor_form(offsets, self.rank - 1 - side)
        if form is None:
            raise InternalError("no matrix descriptor names an operand as it lies", self.op.span)
        size = offsets.element_bytes
        flat = whole.flat_registers
        own = bits.own if side == 0 else bits.own[(self.columns // _FRAGMENT_COLUMNS).bit_length() - 1 :]
        once = self._steps_at_once().bit_length() - 1
        steps, parts = bits.step[:once], bits.step[once:]
        counted = (
            (index["batch"], bits.batch),
            (index[("row", "column")[side]], own),
            (index["part"], parts),
            (index["step"], steps),
        )

        def elements(images: Sequence[int]) -> list[int]:
            return list(f2.compose(offsets.flat_images, images))

        units = [(at, [x * size // UNIT_BYTES for x in elements([flat[bit] for bit in found])]) for at, found in counted]
        moved = array_index(*units)
        text = f"{name} + {moved}" if moved != "0" else name
        groups = whole.flat_warps[_WARP_BITS:]
        view = DescriptorView(
            name,
            self._address_of(buffer, groups, elements(groups)),
            form.swizzle_bytes,
            form.leading_bytes,
            form.stride_bytes,
            f"rows along {'K' if form.is_along_k else 'MN'[side]}",
        )
        return _Operand(text, form, view, None)

    def _address_of(self, buffer: Value, groups: Sequence[int], elements: Sequence[int]) -> str:
        """Where a warpgroup's first matrix begins: `groups` are row-major indices, `elements` offsets in the buffer."""
        made = self.state.definitions[buffer]
        if made.attrs.get("offsets_elems") is None:
            if not any(groups):
                return buffer_start(self.state, buffer)
            if (whole := self._reshaped_from(buffer)) is not None:
                group = self.state.warpgroup()
                place = format_index(linear_terms([("warpgroup", elements)]), {"warpgroup": group})
                return f"{first_element(self.state, self.state.buffers[whole])} + {place}"
            first = self.element(buffer, [(self.state.warpgroup(), groups)])
            return first.removesuffix("[0]") if first.endswith("[0]") else f"&{first}"
        text = self.state.buffers[buffer].text
        if not any(groups):
            return text
        group = self.state.warpgroup()
        place = format_index(linear_terms([("warpgroup", elements)]), {"warpgroup": group})
        return f"&{text}[{place}]"

    def _reshaped_from(self, buffer: Value) -> Value | None:
        """The buffer that an operand is a reshaped view of, perhaps read the other way; None for other operands."""
        made = self.state.definitions[buffer]
        if made.name == "buffer_view" and made.attrs["kind"] == "trans":
            made = self.state.definitions[made.operands[0]]
        return made.operands[0] if made.name == "buffer_view" and made.attrs["kind"] == "reshape" else None


class _Issue(_Product):
    """A product that stays in flight."""

    is_awaited = False


@dataclass(frozen=True, slots=True)
class _Operand:
    """What an instruction is passed, and what stands in front of it."""

    text: str
    form: DescriptorForm | None
    descriptor: DescriptorView | None
    fragments: FragmentsView | None


__all__ = [
    "DescriptorView",
    "added_to",
    "buffer_start",
    "emit_issue",
    "emit_product",
    "emit_wait",
    "in_flight",
    "keep_sums",
]
