"""What a layout makes of an access to global memory: which bytes one instruction of a warp covers."""

from __future__ import annotations

from tle2cuda.analysis.axis_info import AxisInfo
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import GLOBAL, PointerType
from tle2cuda.layout import Layout, conversion, trade, with_vectors

MAX_ACCESS_BYTES = 16
SECTOR_BYTES = 32
_CACHED_BYTES = 8  # between the elements of neighbouring lanes, where these load less at once


def spreads(info: AxisInfo, pointer: Value, layout: Layout, is_store: bool = False) -> bool:
    """Whether a warp's access in a layout touches much more than it needs: runs shorter than a sector.

    A warp should touch 16 bytes side by side; a sector where it stores less than that from each lane.
    """
    element = pointer.type.element  # type: ignore[union-attr]
    assert isinstance(element, PointerType)
    if element.space != GLOBAL or layout.is_replicated:
        return False
    axis = _fast_axis(info, layout)
    size = element.element.bytes
    vector = max(1, min(MAX_ACCESS_BYTES // size, info.contiguity[axis], info.divisibility[axis] // size))
    if contiguous_run(layout, axis, layout.num_registers) < min(SECTOR_BYTES // size, info.contiguity[axis]):
        return True
    narrow = is_store and layout.vector()[1] * size < MAX_ACCESS_BYTES
    least_bytes = SECTOR_BYTES if narrow else MAX_ACCESS_BYTES
    return contiguous_run(layout, axis, vector) < min(least_bytes // size, info.contiguity[axis])


def with_traded_registers(info: AxisInfo, pointer: Value, preferred: Layout, best: Layout) -> Layout | None:
    """The layout of a store as wide as the best one that the lanes of each warp get to by trading registers.

    None where a warp would write less than whole sectors, or that costs no less than to get to the best one.
    """
    axis, width = best.vector()
    traded = with_vectors(preferred, axis, width)
    size = pointer.type.element.element.bytes  # type: ignore[union-attr]
    if traded is None or contiguous_run(traded, axis, width) * size < SECTOR_BYTES:
        return None
    if spreads(info, pointer, traded, is_store=True):
        return None
    plan = trade(preferred, traded, size)
    return traded if plan is not None and plan.cost(size) < conversion(preferred, best).cost(size) else None


def caches_neighbours(info: AxisInfo, op: Op, layout: Layout) -> bool:
    """Whether the elements that a lane of a load leaves out are few, and in the L1 cache when its next load wants them.

    That costs less than moving the tile through shared memory.
    """
    if op.attrs.get("cache") or op.attrs.get("volatile"):
        return False
    axis = _fast_axis(info, layout)
    size = op.operands[0].type.element.element.bytes  # type: ignore[union-attr]
    apart = min(_positions(layout.lanes, axis), default=0) * size
    return 0 < apart <= _CACHED_BYTES and contiguous_run(layout, axis, layout.num_registers) * size >= SECTOR_BYTES


def contiguous_run(layout: Layout, axis: int, vector: int) -> int:
    """Elements along an axis that one warp's access covers without a gap: `vector` registers, then lanes."""
    registers = _positions(layout.registers, axis)
    lanes = _positions(layout.lanes, axis)
    covered = 1
    while covered in lanes or (covered in registers and covered < vector):
        covered *= 2
    return covered


def _fast_axis(info: AxisInfo, layout: Layout) -> int:
    return max(range(layout.rank), key=lambda axis: (info.contiguity[axis], axis))


def _positions(images: tuple[tuple[int, ...], ...], axis: int) -> set[int]:
    """Distances along one axis alone."""
    return {image[axis] for image in images if image[axis] and sum(1 for c in image if c) == 1}
