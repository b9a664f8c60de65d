"""Tiles that descriptors store, or combine with memory: through shared memory where the copy engine does that, else not.

The front end writes such a tile to a buffer of its own and lets the copy engine take it from there (`alloc` with
`staging`): tiles that are combined with memory, and results of matrix products. What the engine does not do, and what would
take too much shared memory, becomes atomics or stores of the tile itself, without the buffer. A product is stored by the
engine only where its buffer takes no CTA from a multiprocessor; the rings of stages in front of it are there already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.rewrite import Rewriter, definitions
from tle2cuda.ir.tma import tensor_copy
from tle2cuda.ir.types import BufferType
from tle2cuda.passes import canonicalise
from tle2cuda.passes.pointer_copies import by_pointers
from tle2cuda.targets import parse_target

MOST_SHARED_BYTES = 96 * 1024
"""Of a kernel's buffers, with which two CTAs still fit on a multiprocessor (sm_90)."""

_LEFT_BYTES = 4 * 1024  # for scratch and barriers, which are made later
_CTAS_KEPT = 2  # on a multiprocessor, as far as there are so many: those of products have many registers


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


def without_room(kernel: Kernel, staged: Mapping[Op, Staged]) -> set[Op]:
    """The copies of staged tiles whose buffers do not fit beside the others."""
    results = {op: each for op, each in staged.items() if op.attrs["kind"] == "store"}
    of_results = {each.alloc for each in results.values()}
    allocations = [op for op in walk(kernel.body) if op.name == "alloc"]
    others = sum(_bytes(op) for op in allocations if op not in of_results)
    refused = {op for op in staged if op not in results and others > MOST_SHARED_BYTES}
    limits = parse_target(kernel.target).limits
    rings = sum(_bytes(op) for op in allocations if op.attrs.get("is_ring"))
    taken = sum(_bytes(op) for op in of_results)
    if results.keys() <= set(kernel.body.ops):
        taken = max(0, taken - rings)  # they share the bytes of rings that are through
    before, after = (
        limits.shared_bytes_per_sm // (size + limits.reserved_shared_bytes_per_cta) for size in (others, others + taken)
    )
    is_small = others + taken + _LEFT_BYTES <= limits.max_shared_bytes_per_cta
    return refused if is_small and after >= min(before, _CTAS_KEPT) else {*refused, *results}


def without_results(kernel: Kernel) -> Kernel:
    """The kernel in which products are stored from registers, not by way of a buffer."""
    results = {op: each for op, each in staged_tiles(kernel).items() if op.attrs["kind"] == "store"}
    if not results:
        return kernel
    gone = {op for each in results.values() for op in (each.alloc, each.store)}

    class _Store(Rewriter):
        def visit(self, op: Op) -> None:
            if op in results:
                renamed = replace(op, operands=tuple(self[v] for v in op.operands))
                for made in by_pointers(kernel, renamed, self[results[op].value]):
                    self.emit(made)
            elif op not in gone:
                self.copy(op)

    return canonicalise.run(_Store().kernel(kernel))


def _bytes(alloc: Op) -> int:
    type_ = alloc.result.type
    return type_.size_bytes if isinstance(type_, BufferType) else 0
