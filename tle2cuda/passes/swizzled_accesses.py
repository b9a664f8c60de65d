"""Which pointers lead into swizzled buffers, and where their elements lie."""

from __future__ import annotations

from collections.abc import Mapping

from tle2cuda.analysis.axis_info import AxisInfo
from tle2cuda.ir.effects import Roots
from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.types import BufferType, TileType
from tle2cuda.layout import SharedLayout
from tle2cuda.layout.bank_choice import SharedAccess


class SwizzledAccesses:
    """Which pointers lead into swizzled buffers, and where their elements lie."""

    def __init__(self, kernel: Kernel, made: Mapping[Value, Op], info: Mapping[Value, AxisInfo]) -> None:
        self._definitions = made
        self._info = info
        self._spans = {
            op.result: op.attrs["swizzle_bytes"]
            for op in walk(kernel.body)
            if op.name == "alloc" and op.attrs.get("swizzle_bytes")
        }
        self._roots = Roots(kernel) if self._spans else None

    def access(self, pointer: Value, turned: Op | None = None) -> SharedAccess | None:
        """Where a tile of pointers leads; None when that is no whole swizzled buffer.

        Args:
            pointer: The pointers.
            turned: A transposition of the tile that is loaded through them, whose result is meant.
        """
        op = self._definitions.get(pointer)
        if self._roots is None or op is None or op.name != "local_ptr":
            return None
        buffer = op.operands[0].type
        assert isinstance(buffer, BufferType)
        spans = {self._spans.get(root) if root is not None else None for root in self._roots.of(op.operands[0])}
        if len(spans) != 1 or None in spans:
            return None
        (span,) = spans
        size = buffer.element.bytes
        places = SharedLayout.swizzled(buffer.shape, size, int(span or 0))
        axes = self._buffer_axes(op)
        if axes is None:
            return None
        if turned is not None:
            axes = tuple(axes[axis] for axis in turned.attrs["perm"])
        images = [image * size for axis in reversed(axes) for image in places.images_elems[axis]]
        return SharedAccess(tuple(images), size)

    def _buffer_axes(self, op: Op) -> tuple[int, ...] | None:
        """For each axis of a tile of pointers the axis of the buffer along which it goes; None when it is another way."""
        buffer, pointers = op.operands[0].type, op.result.type
        if not isinstance(buffer, BufferType) or not isinstance(pointers, TileType):
            return None
        indices = op.operands[1:]
        if not indices:
            return tuple(range(len(buffer.shape)))
        if len(pointers.shape) != len(indices):
            return None
        found: dict[int, int] = {}
        for axis, index in enumerate(indices):
            known = self._info.get(index)
            if known is None or known.lo != 0:
                return None
            goes = [a for a, extent in enumerate(pointers.shape) if known.constancy[a] < extent]
            if len(goes) != 1 or known.contiguity[goes[0]] < pointers.shape[goes[0]]:
                return None
            found[goes[0]] = axis
        if len(found) != len(indices) or any(pointers.shape[a] != buffer.shape[b] for a, b in found.items()):
            return None
        return tuple(found[axis] for axis in range(len(found)))
