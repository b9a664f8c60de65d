"""How a matrix product without tensor cores uses shared memory; shared by the scratch pass and the lowering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import BF16, F8E4NV, F8E5, F16, F32, BufferType, DType, TileType, dtype_of
from tle2cuda.passes.layout_choice import fast_axis

PADDING_BYTES = 16
"""Added to each row that is read by vectors along K: eight rows then start in eight different groups of four banks."""


@dataclass(frozen=True, slots=True)
class Staged:
    """An operand in shared memory: `[batch][outer][inner]`, the inner axis contiguous.

    Attributes:
        batch: Number of matrices.
        k_axis: Axis of K in the operand.
        inner_axis: Axis that lies contiguously, the one along which threads hold or fetch neighbours.
        outer: Extent of the other axis.
        inner: Extent of the inner axis.
        padding: Elements added to each row.
        dtype: Type in which elements lie there: float8 as float16, which holds each of them exactly.
    """

    batch: int
    k_axis: int
    inner_axis: int
    outer: int
    inner: int
    padding: int
    dtype: DType

    @property
    def is_k_inner(self) -> bool:
        """Whether neighbours along K lie side by side."""
        return self.inner_axis == self.k_axis

    @property
    def buffer(self) -> BufferType:
        """Type of the scratch."""
        rows = (self.outer, self.inner + self.padding)
        return BufferType((self.batch, *rows) if self.batch > 1 else rows, self.dtype)


def staged(operand: Value, k_axis: int) -> Staged:
    """How an operand lies in shared memory; `k_axis` is its axis of K."""
    type_ = operand.type
    assert isinstance(type_, TileType) and type_.layout is not None
    shape = type_.shape
    rank = len(shape)
    other = 2 * rank - 3 - k_axis
    inner = k_axis if fast_axis(type_.layout) == k_axis else other
    outer = other if inner == k_axis else k_axis
    batch = type_.num_elements // (shape[-1] * shape[-2])
    dtype = stored_dtype(dtype_of(type_))
    padding = PADDING_BYTES // dtype.bytes if inner == k_axis else 0
    return Staged(batch, k_axis, inner, shape[outer], shape[inner], padding, dtype)


def stage_operands(op: Op) -> tuple[Staged, Staged]:
    """How both operands of a product lie in shared memory."""
    a, b = op.operands[:2]
    assert isinstance(a.type, TileType)
    rank = len(a.type.shape)
    return staged(a, rank - 1), staged(b, rank - 2)


def stored_dtype(dtype: DType) -> DType:
    """Type in which an operand lies in shared memory."""
    return F16 if dtype in (F8E4NV, F8E5) else dtype


def operand_name(definitions: Mapping[Value, Op], value: Value) -> str:
    """The user's name of an operand, or of what it is a transpose or a conversion of; empty when there is none."""
    while not value.name:
        op = definitions.get(value)
        if op is None or op.name not in ("trans", "reshape", "cast", "convert_layout"):
            return ""
        value = op.operands[0]
    return value.name


def product_dtype(op: Op) -> DType:
    """Type in which products are summed."""
    dtype = dtype_of(op.results[0].type)
    return F32 if dtype in (F16, BF16) else dtype


__all__ = ["Staged", "operand_name", "product_dtype", "stage_operands", "staged", "stored_dtype"]
