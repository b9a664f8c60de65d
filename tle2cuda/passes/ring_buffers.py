"""What the ring of a pipelined loop is made of: a buffer of stages for each load, and the pipe around them."""

from __future__ import annotations

from tle2cuda.analysis.pipelining import Pipelined, Staged
from tle2cuda.ir.nodes import Value, make_op
from tle2cuda.ir.types import BufferType, DType, PipeType, TileType
from tle2cuda.layout.shared import ROWS_OF_PATTERN, SWIZZLE_BYTES
from tle2cuda.passes.ring_writer import Writer

_SWIZZLED_ALIGNMENT_BYTES = 1024
_PLAIN_ALIGNMENT_BYTES = 128


def ring_of(into: Writer, plan: Pipelined, is_for_products: bool) -> Value:
    """The pipe of a loop, in front of it or of the kernel.

    Args:
        into: What is being written.
        plan: The loop.
        is_for_products: Whether products name operands where they lie in the ring.
    """
    buffers = [_stages(into, plan, staged, is_for_products) for staged in plan.loads]
    names: list[str] = []
    for staged in plan.loads:
        name = staged.load.result.name or "tile"
        names.append(name if name not in names else f"{name}_{len(names)}")
    fields = tuple((name, v.type) for name, v in zip(names, buffers, strict=True) if isinstance(v.type, BufferType))
    type_ = PipeType(plan.capacity, fields)
    attrs: dict[str, object] = {
        "name": "ring",
        "capacity": plan.capacity,
        "fields": tuple(names),
        "readers": (),
        "one_shot": False,
        "is_ring": True,
        "asked": plan.asked,
    }
    if not plan.has_barriers:
        attrs["restarts"] = True
    if plan.overlapped is not None:
        attrs["overlaps"] = True  # a product is in flight while stages are filled
    op = make_op("pipe", tuple(buffers), (type_,), attrs, (), plan.loop.span, ("ring",))
    if plan.has_barriers:
        into.rings.append(op)  # whose barriers go on where the loop runs again
        into.pipes[plan] = op.result
        return op.result
    return into.emit(op).result


def _stages(into: Writer, plan: Pipelined, staged: Staged, is_for_products: bool) -> Value:
    """The buffer of one load's stages."""
    type_ = staged.load.result.type
    assert isinstance(type_, TileType) and isinstance(type_.element, DType)
    name = staged.load.result.name or "tile"
    ring = BufferType((plan.capacity, *staged.shape), type_.element, "mma" if is_for_products else "row_major")
    span_bytes = swizzle_of(staged.shape, type_.element)
    attrs: dict[str, object] = {
        "name": name,
        "scratch": True,
        "is_kept": True,
        "is_ring": True,
        "alignment_bytes": _SWIZZLED_ALIGNMENT_BYTES if span_bytes else _PLAIN_ALIGNMENT_BYTES,
    }
    if span_bytes:
        attrs["swizzle_bytes"] = span_bytes
    op = make_op("alloc", (), (ring,), attrs, (), staged.load.span, (name,))
    into.rings.append(op)
    return op.result


def swizzle_of(shape: tuple[int, ...], element: DType) -> int:
    """The span of the swizzle under which the rows of a stage are stored, in bytes; 0 for none."""
    if len(shape) < 2 or shape[-2] < ROWS_OF_PATTERN:
        return 0
    span = min(shape[-1] * element.bytes, SWIZZLE_BYTES[-1])
    return span if span in SWIZZLE_BYTES else 0
