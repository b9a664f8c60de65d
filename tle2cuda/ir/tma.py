"""The operands of tensor copies by name: a box of a tensor in global memory, and a buffer."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.rules import value_operands
from tle2cuda.ir.types import BufferType, TensorMapType

OUTSIDE = (1 << 31) - (1 << 16)
"""Index of a box outside of every tensor: behind its end, as stores fault at negative ones; its tile ends below 2^31."""


@dataclass(frozen=True, slots=True)
class TensorCopy:
    """A `tma_load` or `tma_store`.

    Attributes:
        base: Pointer to the first element of the tensor, or the tensor map that says it all.
        extents: Extent of each dimension, in elements; i32 or i64; none with a tensor map.
        strides: Stride of each dimension, in elements; i32 or i64; none with a tensor map.
        offsets: Where the box begins, in elements; i32.
        buffer: The shared memory that is filled or read.
        barriers: Array of the mbarrier that a load completes on; None without one.
        index: Which mbarrier of the array.
    """

    base: Value
    extents: tuple[Value, ...]
    strides: tuple[Value, ...]
    offsets: tuple[Value, ...]
    buffer: Value
    barriers: Value | None = None
    index: Value | None = None

    @property
    def buffer_type(self) -> BufferType:
        """Type of the buffer."""
        type_ = self.buffer.type
        assert isinstance(type_, BufferType)
        return type_

    @property
    def description(self) -> tuple[Value, ...]:
        """What describes the tensor: base, extents, strides."""
        return (self.base, *self.extents, *self.strides)


def has_map(op: Op) -> bool:
    """Whether a tensor map describes the tensor."""
    return any(isinstance(value.type, TensorMapType) for value in op.operands[:2])


def num_operands(op: Op) -> int:
    """How many operands a tensor copy has, as its attributes say."""
    parts = 1 if has_map(op) else 3
    return 2 + parts * int(op.attrs["rank"]) + (2 if op.attrs.get("completion") in ("barrier", "pipe") else 0)


def tensor_copy(op: Op) -> TensorCopy:
    """The operands of a `tma_load` or `tma_store` by name."""
    rank = op.attrs["rank"]
    operands = value_operands(op)
    if op.name == "tma_store":
        operands = (*operands[1:], operands[0])
    base, rest = operands[0], operands[1:]
    extents: tuple[Value, ...] = ()
    strides: tuple[Value, ...] = ()
    if not has_map(op):
        extents, strides, rest = rest[:rank], rest[rank : 2 * rank], rest[2 * rank :]
    offsets, rest = rest[:rank], rest[rank:]
    barriers, index = rest[1:] if len(rest) == 3 else (None, None)
    return TensorCopy(base, extents, strides, offsets, rest[0], barriers, index)
