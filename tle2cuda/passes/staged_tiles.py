"""Tiles that a descriptor combines with memory: through shared memory where the copy engine does it, else as they are.

The front end writes such a tile to a buffer of its own and lets the copy engine reduce that (`alloc` with `staging`). What
the engine does not do, and what would take too much shared memory, becomes atomics on the tile itself, without the buffer.
"""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.rewrite import definitions
from tle2cuda.ir.tma import tensor_copy
from tle2cuda.ir.types import BufferType

MOST_SHARED_BYTES = 96 * 1024
"""Of a kernel's buffers, with which two CTAs still fit on a multiprocessor (sm_90)."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A tile on its way.

    Attributes:
        alloc: Its buffer.
        store: What fills that.
        value: The tile.
    """

    alloc: Op
    store: Op
    value: Value


def staged_tiles(kernel: Kernel) -> dict[Op, Staged]:
    """The tiles on their way, by the copies that read their buffers."""
    made = definitions(kernel.body)
    found: dict[Op, Staged] = {}

    def visit(region: Region) -> None:
        filled: dict[Value, Op] = {}
        for op in region.ops:
            if op.name == "store":
                place = made.get(op.operands[0])
                if place is not None and place.name == "local_ptr" and len(place.operands) == 1:
                    filled[place.operands[0]] = op
            elif op.name == "tma_store":
                buffer = tensor_copy(op).buffer
                alloc, store = made.get(buffer), filled.get(buffer)
                if alloc is not None and alloc.attrs.get("staging") and store is not None:
                    found[op] = Staged(alloc, store, store.operands[1])
            for inner in op.regions:
                visit(inner)

    visit(kernel.body)
    return found


def fit(kernel: Kernel) -> bool:
    """Whether the buffers of all staged tiles fit beside the others."""
    allocations = [op.result.type for op in walk(kernel.body) if op.name == "alloc"]
    return sum(type_.size_bytes for type_ in allocations if isinstance(type_, BufferType)) <= MOST_SHARED_BYTES
