"""Where the operands and sums of tensor-core products lie; a part of the pass `layouts`.

Sums lie as the instruction leaves them. An operand that already lies as the instruction takes it, such as the weights of an
attention, stays in registers; so does one that a loop does not change, as long as registers last. Any other goes to shared
memory once, in front of the loops that do not change it. `wgmma` takes its right operand from shared memory always, and the
left one unless it lies in the right registers anyway; `tcgen05.mma` takes both from there.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from tle2cuda.analysis.shared_operands import buffer_places
from tle2cuda.ir.nodes import Kernel, Op, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter
from tle2cuda.ir.types import BufferType, TileType, dtype_of
from tle2cuda.layout import (
    MMA_INSTRUCTIONS,
    Layout,
    MmaInstruction,
    SharedLayout,
    bank_conflict_degree,
    conversion,
    descriptor_form,
    descriptor_offsets,
    matrix_conflicts,
    matrix_form,
    mma_operand,
    operand_offsets,
    scale_offsets,
    scale_words,
)
from tle2cuda.passes.dot_plan import operand_name
from tle2cuda.passes.layout_choice import fast_axis

if TYPE_CHECKING:
    from tle2cuda.passes.layouts import _Assign

_REGISTER_BYTES = 4
_ALIGNMENT_BYTES = 128  # of operands that `ldmatrix` reads
_MOST_HELD = 64  # 32-bit registers of one operand that stays in registers over a loop
_MOST_IN_LOOP = 144  # of such operands and the sums of all products together, of the 255 that a thread may have


def instruction_of(op: Op) -> MmaInstruction:
    """The instruction of a product that has one."""
    return MMA_INSTRUCTIONS[op.attrs["instruction"]]


def place_product(assign: _Assign, op: Op) -> None:
    """Put the operands and the accumulator of a product where its instruction wants them."""
    sums = assign.choice.sums_layout(op)
    lying = [_where_it_lies(assign, op, side, sums) for side in (0, 1)]
    operands = [_operand(assign, op, side, sums) if found is None else found for side, found in enumerate(lying)]
    if op.attrs.get("may_overlap") and None not in lying:
        op = replace(op, attrs=MappingProxyType({**op.attrs, "pending": 1}))
    scales = [_scales(assign, op, side, sums) for side in (0, 1)] if op.attrs.get("formats") else []
    assign.rebuild(op, (*operands, assign.want(op.operands[2], sums), *scales), sums)


def _scales(assign: _Assign, op: Op, side: int, sums: Layout) -> Value:
    """Scales in registers as the instruction takes them, or in a buffer from which they are copied to tensor memory."""
    value, instruction = op.operands[3 + side], instruction_of(op)
    type_ = value.type
    assert isinstance(type_, TileType)
    if not instruction.sums_in_tensor_memory:
        return assign.want(value, scale_words(instruction, sums, type_.shape, side))
    placed = assign.want(value, assign.pick([value]))
    name = f"{operand_name(assign.definitions, value).removesuffix('_tile') or ('a_scale', 'b_scale')[side]}_tile"
    level = assign.home((placed,), through_branches=False)
    return _in_shared(assign, op, placed, (scale_offsets(type_.shape), _ALIGNMENT_BYTES), (name, level))


def place_warpgroups(assign: _Assign, op: Op) -> None:
    """The same for a product that the kernel asks of warpgroups: buffers are where they are, perhaps read the other way."""
    sums = assign.choice.sums_layout(op)
    operands = []
    for side, value in enumerate(op.operands[:2]):
        if isinstance(value.type, TileType):
            operands.append(assign.want(value, mma_operand(instruction_of(op), sums, value.type.shape[-1], side)))
            continue
        buffer = assign.now(value)
        operands.append(_turned(assign, buffer, (1, 0), op) if op.attrs[("trans_a", "trans_b")[side]] else buffer)
    plain = replace(op, attrs=MappingProxyType({**op.attrs, "trans_a": False, "trans_b": False}))
    assign.rebuild(plain, (*operands, assign.want(op.operands[2], sums)), sums)


def _turned(assign: _Assign, buffer: Value, perm: tuple[int, ...], op: Op) -> Value:
    """A buffer with its axes in another order."""
    source = buffer.type
    assert isinstance(source, BufferType)
    view = BufferType(tuple(source.shape[axis] for axis in perm), source.element, source.storage)
    attrs = {"kind": "trans", "perm": perm}
    return assign.emit(make_op("buffer_view", (buffer,), (view,), attrs, (), op.span, (buffer.name,))).result


def _operand(assign: _Assign, op: Op, side: int, sums: Layout) -> Value:
    """An operand in registers as fragments, or the buffer it is in."""
    value, instruction = op.operands[side], instruction_of(op)
    type_ = value.type
    assert isinstance(type_, TileType)
    k_axis = len(type_.shape) - 1 - side
    wanted = mma_operand(instruction, sums, type_.shape[k_axis], side)
    is_limited = op.attrs.get("max_num_imprecise_acc") is not None  # products of parts of K, which registers have none of
    may_be_held = not instruction.has_descriptors or (instruction.is_wgmma and side == 0 and not is_limited)
    if may_be_held and _lies_so(assign, value, wanted):
        return assign.want(value, wanted)
    placed = assign.want(value, assign.pick([value]))
    level = assign.home((placed,), through_branches=False)
    if not instruction.has_descriptors and level < assign.level and _fits(assign.kernel, op, wanted, dtype_of(type_).bytes):
        return assign.want(value, wanted)
    name = f"{operand_name(assign.definitions, value).removesuffix('_tile') or 'ab'[side]}_tile"
    assert isinstance(placed.type, TileType) and placed.type.layout is not None
    source, size = placed.type.layout, dtype_of(type_).bytes
    if instruction.has_descriptors:
        offsets = descriptor_offsets(type_.shape, k_axis, fast_axis(source), size, instruction.turned_bytes)
        form = descriptor_form(offsets, k_axis, instruction.turned_bytes)
        assert form is not None
        return _in_shared(assign, op, placed, (offsets, form.alignment_bytes), (name, level))
    fragments = mma_operand(instruction, sums, type_.shape[k_axis], side, whole_fragments=True)
    offsets = operand_offsets(source, fragments, k_axis, fast_axis(source), size)
    return _in_shared(assign, op, placed, (offsets, _ALIGNMENT_BYTES), (name, level))


def _where_it_lies(assign: _Assign, op: Op, side: int, sums: Layout) -> Value | None:
    """The buffer that an operand was loaded from, axes in the operand's order, if the instruction can read it there."""
    value = op.operands[side]
    found = assign.shared_operands.find(op, value)
    if found is None:
        return None
    type_ = value.type
    assert isinstance(type_, TileType)
    k_axis = len(type_.shape) - 1 - side
    places = buffer_places(assign.definitions, found.buffer)
    if places is None or dtype_of(type_).bytes * 8 != instruction_of(op).element_bits:
        return None
    turned = SharedLayout(type_.shape, tuple(places.images_elems[axis] for axis in found.perm), places.element_bytes)
    if instruction_of(op).has_descriptors:
        if descriptor_form(turned, k_axis, instruction_of(op).turned_bytes) is None:
            return None
    elif not _is_read_well(mma_operand(instruction_of(op), sums, type_.shape[k_axis], side, whole_fragments=True), turned):
        return None
    buffer = assign.now(found.buffer)
    if found.perm == tuple(range(len(found.perm))):
        return buffer
    return _turned(assign, buffer, found.perm, op)


def _is_read_well(fragments: Layout, places: SharedLayout) -> bool:
    """Whether instructions read an operand where it lies, without conflicts of banks."""
    if places.element_bytes >= _REGISTER_BYTES:
        return bank_conflict_degree(fragments, places, places.element_bytes) == 1
    form = matrix_form(fragments, places)
    return form is not None and not matrix_conflicts(fragments, places, form)


def _lies_so(assign: _Assign, value: Value, wanted: Layout) -> bool:
    """Whether an operand is in the wanted registers, or may as well be computed there."""
    own = assign.natural(value)
    if own is None:
        return assign.computed_in(value) is None and not assign.choice.holds_registers(value)
    return conversion(own, wanted).kind in ("identity", "registers")


def _fits(kernel: Kernel, op: Op, operand: Layout, element_bytes: int) -> bool:
    """Whether an operand may stay in registers beside the sums."""
    held = -(-operand.num_registers * element_bytes // _REGISTER_BYTES)
    sums = 0
    for other in walk(kernel.body):
        if other.name == "dot":
            type_ = other.results[0].type
            assert isinstance(type_, TileType)
            share = type_.num_elements // kernel.default_threads
            sums += share * dtype_of(type_).bytes // _REGISTER_BYTES
    return held <= _MOST_HELD and held + sums <= _MOST_IN_LOOP


def _in_shared(assign: _Assign, op: Op, placed: Value, where: tuple[SharedLayout, int], named_at: tuple[str, int]) -> Value:
    """The buffer that holds a tile; filled in an open region, unless that is done already.

    Args:
        assign: The pass.
        op: The product.
        placed: The tile.
        where: Where its elements go, and how the buffer is aligned.
        named_at: Name of the buffer, and the region in which it is filled.
    """
    name, level = named_at
    type_ = placed.type
    assert isinstance(type_, TileType)
    offsets, alignment = where
    known = assign.find((placed, where))
    if known is not None:
        return known
    kept = {"name": name, "scratch": True, "is_kept": True}
    attrs = {**kept, "alignment_bytes": alignment, "offsets_elems": offsets.flat_images}
    buffer_type = BufferType(type_.shape, dtype_of(type_))
    buffer = assign.emit(make_op("alloc", (), (buffer_type,), attrs, (), op.span, (name,)), level).result
    assign.emit(make_op("to_shared", (placed, buffer), (), {}, (), op.span), level)
    assign.scopes[level][(placed, where)] = buffer
    return buffer


def without_idle_buffers(kernel: Kernel) -> Kernel:
    """The kernel without tiles in shared memory that nothing reads."""
    read = {v for op in walk(kernel.body) if op.name != "to_shared" for v in op.operands}
    idle = [op for op in walk(kernel.body) if op.name == "to_shared" and op.operands[1] not in read]
    if not idle:
        return kernel

    class _Drop(Rewriter):
        def visit(self, op: Op) -> None:
            if op not in idle:
                self.copy(op)

    return _Drop().kernel(kernel)


def buffer_offsets(buffer: Op) -> SharedLayout | None:
    """Where the elements of an allocation lie; None when they lie row-major."""
    images = buffer.attrs.get("offsets_elems")
    if images is None:
        return None
    type_ = buffer.result.type
    assert isinstance(type_, BufferType)
    return SharedLayout.from_flat(type_.shape, images, type_.element.bytes)


__all__ = ["buffer_offsets", "instruction_of", "place_product", "place_warpgroups", "without_idle_buffers"]
