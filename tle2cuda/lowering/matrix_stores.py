"""Stores of fragments to shared memory by `stmatrix`: a lane holds pairs of elements, and rows of eight are stored at once.

What a product leaves lies in pairs, four lanes to a row of eight columns. Stored by each lane for itself, that is one
instruction for two elements; `stmatrix` takes four matrices of 8 x 8 elements, whose rows other lanes name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tle2cuda.analysis.shared_operands import buffer_places
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import SHARED, BufferType, PointerType, TileType, element_of
from tle2cuda.layout import Layout, MatrixAccess, f2, matrix_access
from tle2cuda.layout.expressions import THREAD
from tle2cuda.lowering import statements
from tle2cuda.lowering.memory import owner_condition
from tle2cuda.lowering.mma import array_index, element_text
from tle2cuda.lowering.shared import row_major_strides
from tle2cuda.lowering.state import Registers, State
from tle2cuda.lowering.writer import Block
from tle2cuda.targets import parse_target

_MATRICES = 4
_PAIR = 2
_PAIR_LANE_BITS = 2  # lanes of a row


@dataclass(frozen=True, slots=True)
class MatrixStore:
    """A store that `stmatrix` makes.

    Attributes:
        op: The store.
        buffer: Where to.
        access: Which registers go where.
    """

    op: Op
    buffer: Value
    access: MatrixAccess

    @property
    def value(self) -> Value:
        """What is stored."""
        return self.op.operands[1]


def matrix_store(state: State, ops: Sequence[Op]) -> MatrixStore | None:
    """The store that ends a loop over registers, if `stmatrix` can make it."""
    op = next((op for op in reversed(ops) if op.results == () or op.results[0] not in state.lazy), None)
    if (
        op is None
        or op.name != "store"
        or op.attrs.get("has_mask")
        or not parse_target(state.kernel.target).has("stmatrix")
    ):
        return None
    pointer, value = op.operands[:2]
    element, type_ = element_of(pointer.type), value.type
    place = state.definitions.get(pointer)
    if not isinstance(type_, TileType) or not isinstance(element, PointerType) or element.space != SHARED:
        return None
    if place is None or place.name != "local_ptr" or len(place.operands) != 1 or element.element.bytes != _PAIR:
        return None
    buffer = place.operands[0]
    assert isinstance(buffer.type, BufferType)
    layout, places = state.layout(value), buffer_places(state.definitions, buffer)
    if places is None or buffer.type.shape != type_.shape or layout.vector()[1] != _PAIR:
        return None
    is_made = any(value in each.results for each in ops)
    held = state.registers.get(value)
    if not is_made and (held is None or held.vec != _PAIR or held.layout != layout):
        return None
    access = matrix_access(layout, places)
    if access is None or access.transposed or access.matrices != _MATRICES or owner_condition(state, layout) is not None:
        return None
    return MatrixStore(op, buffer, access)


def emit_matrix_store(state: State, store: MatrixStore, registers: Registers) -> None:
    """Write the loop over instructions."""
    layout, first = state.layout(store.value), store.access.instructions[0]
    count = len(store.access.instructions)
    within = [first[1 << bit][0] for bit in range(_MATRICES.bit_length() - 1)]
    across = [store.access.instructions[1 << bit][0][0] for bit in range(count.bit_length() - 1)]
    state.thread()
    with state.names.scope():
        part = state.names.fresh("part")
        runs = array_index((part, [register // _PAIR for register in across]))
        pairs = []
        for matrix in range(_MATRICES):
            more = f2.apply(within, matrix) // _PAIR
            index = f"{runs} + {more}" if count > 1 and more else runs if count > 1 else str(more)
            pairs.append(registers.vector(index))
        row = _row(state, store.buffer, layout, part, (within, across))
        text = f"{state.helper('store_matrices')}(&{row}, {', '.join(pairs)});"
    body = Block(state.block.depth + 1)
    if count == 1:
        statements.evaluate(state.block, text.removesuffix(";"), store.op.span)
        return
    statements.evaluate(body, text.removesuffix(";"), store.op.span)
    statements.loop(state.block, part, count, body, store.op.span, braces=False)


def _row(state: State, buffer: Value, layout: Layout, part: str, steps: tuple[Sequence[int], Sequence[int]]) -> str:
    """The first element of the row that a lane names: lanes 8 to 15 name those of the second matrix, and so on."""
    within, across = ([f2.apply(layout.flat_registers, register) for register in found] for found in steps)
    threads = [*layout.flat_lanes[_PAIR_LANE_BITS:], *within, *layout.flat_warps]
    sources = ((THREAD, threads), (part, across))
    type_ = buffer.type
    assert isinstance(type_, BufferType)
    strides = row_major_strides(type_.shape)
    indices = [
        [(name, [image // stride % extent for image in found]) for name, found in sources]
        for extent, stride in zip(type_.shape, strides, strict=True)
    ]
    return element_text(state, state.buffers[buffer], indices, {**state.index_names, part: part})


__all__ = ["MatrixStore", "emit_matrix_store", "matrix_store"]
