"""Traces language functions without a front end and evaluates what they emit with the registered meanings."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tle2cuda.language  # noqa: F401  registers every meaning
from tle2cuda.ir.builder import Builder
from tle2cuda.ir.nodes import Op, Region, Value, walk
from tle2cuda.ir.types import BufferType, PointerType, with_shape
from tle2cuda.ops import numerics
from tle2cuda.ops.buffers import buffered_tensor
from tle2cuda.ops.core import MEANINGS, tensor


class FakeMemory:
    """Flat memory of one array; pointers are byte offsets into it."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def _index(self, pointers: Any) -> Any:
        return (np.asarray(pointers) // self.array.itemsize).astype(np.int64)

    def load(self, op: Op, pointers: Any, mask: Any, other: Any) -> Any:
        shape = np.shape(pointers)
        keep = np.broadcast_to(True if mask is None else mask, shape)
        filled = np.array(np.broadcast_to(0 if other is None else other, shape), self.array.dtype)
        filled[keep] = self.array[self._index(pointers)[keep]]
        return filled

    def store(self, op: Op, pointers: Any, values: Any, mask: Any) -> None:
        keep = np.broadcast_to(True if mask is None else mask, np.shape(pointers))
        self.array[self._index(pointers)[keep]] = np.broadcast_to(values, np.shape(pointers))[keep]


class FakeContext:
    """A CTA with fixed place; prints go to `printed`."""

    program_id = (3, 1, 0)
    num_programs = (8, 2, 1)
    cluster_rank = 5

    def __init__(self, trace: Trace, memory: FakeMemory | None) -> None:
        self.trace, self.memory, self.printed = trace, memory, list[str]()

    def call_region(self, region: Region, inputs: Sequence[Any]) -> tuple[Any, ...]:
        frame = dict(zip(region.params, inputs, strict=True))
        self.trace.execute(region.body, frame, self)
        shape = np.shape(inputs[0])
        return tuple(np.broadcast_to(frame[v], shape) for v in region.terminator.operands)

    def print(self, text: str) -> None:
        self.printed.append(text)

    def facts(self) -> tuple[str, ...]:
        return ()


class Trace:
    """Operations of one traced snippet."""

    def __init__(self, builder: Builder, ops: list[Op]) -> None:
        self.builder, self.ops = builder, ops
        self.inputs: dict[Value, Any] = {}

    def names(self) -> list[str]:
        return [op.name for op in self.ops]

    def all_names(self) -> list[str]:
        return [op.name for op in walk(Region((), tuple(self.ops)))]

    def only(self, name: str) -> Op:
        (op,) = [op for op in self.ops if op.name == name]
        return op

    def input(self, array: Any, dtype: Any, name: str = "") -> tensor:
        """A tensor whose value is `array`."""
        array = numerics.as_values(array, dtype)
        value = Value(with_shape(dtype, array.shape), name)
        self.inputs[value] = array
        return tensor(value)

    def symbol(self, dtype: Any, shape: tuple[int, ...] = (), name: str = "") -> tensor:
        """A tensor without a value, for type rules."""
        return tensor(Value(with_shape(dtype, shape), name))

    def pointer(self, dtype: Any, shape: tuple[int, ...] = (), space: str = "global", name: str = "") -> tensor:
        value = Value(with_shape(PointerType(dtype, space), shape), name)
        self.inputs[value] = np.zeros(shape, np.uint64)
        return tensor(value)

    def buffer(self, dtype: Any, shape: tuple[int, ...], **kwargs: Any) -> buffered_tensor:
        return buffered_tensor(Value(BufferType(shape, dtype, **kwargs), "buffer"))

    def execute(self, ops: Sequence[Op], frame: dict[Value, Any], context: FakeContext) -> None:
        for op in ops:
            result = MEANINGS[op.name](context, op, *(frame[v] for v in op.operands))
            results = result if len(op.results) > 1 else (result,)
            for value, array in zip(op.results, results, strict=False):
                frame[value] = array

    def evaluate(self, *wanted: tensor, memory: np.ndarray | None = None) -> Any:
        """Arrays of these tensors; checks that every meaning keeps the promised shape and dtype."""
        frame = dict(self.inputs)
        context = FakeContext(self, None if memory is None else FakeMemory(memory))
        self.execute(self.ops, frame, context)
        self.printed = context.printed
        arrays = []
        for x in wanted:
            array = np.asarray(frame[x.value])
            assert array.shape == x.dims
            if not x.is_pointer:
                assert array.dtype == numerics.value_dtype(x.dtype)
            arrays.append(array)
        return arrays[0] if len(arrays) == 1 else tuple(arrays)


@contextlib.contextmanager
def tracing(num_warps: int = 4) -> Iterator[Trace]:
    """An open trace; language functions emit into it."""
    builder = Builder(num_warps)
    with builder.active(), builder.region() as ops:
        yield Trace(builder, ops)
