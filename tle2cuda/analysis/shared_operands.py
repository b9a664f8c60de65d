"""Operands of matrix products that lie in shared memory already: tiles that are loaded from whole buffers.

A product may read such an operand where it lies, instead of the registers that it was loaded into, when nothing changes the
buffer between the load and the product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tle2cuda.ir.effects import READ, Roots, effects
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.rewrite import definitions
from tle2cuda.ir.types import SHARED, BufferType, PointerType, element_of
from tle2cuda.layout import LayoutError, SharedLayout
from tle2cuda.layout.shared import is_swizzled_alike, is_swizzled_part

_GIVING_UP = frozenset("pipe_release pipe_commit pipe_close mbarrier_arrive named_barrier warp_specialize".split())
"""Operations behind which others may write what was loaded before."""


@dataclass(frozen=True, slots=True)
class SharedOperand:
    """Where an operand lies.

    Attributes:
        buffer: The buffer.
        perm: Axes of the operand as axes of the buffer.
    """

    buffer: Value
    perm: tuple[int, ...]


class SharedOperands:
    """Finds the operands of a kernel that lie in shared memory."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.definitions = definitions(kernel.body)
        self._roots: Roots | None = None
        self._places: dict[Op, tuple[Region, int]] = {}
        self._owners: dict[Region, Op] = {}
        self._note(kernel.body)

    def _note(self, region: Region) -> None:
        for number, op in enumerate(region.ops):
            self._places[op] = (region, number)
            for inner in op.regions:
                self._owners[inner] = op
                self._note(inner)

    def find(self, product: Op, value: Value) -> SharedOperand | None:
        """Where an operand of a product lies; None when it is only in registers."""
        type_ = value.type
        perm = tuple(range(len(type_.shape)))  # type: ignore[union-attr]
        op = self.definitions.get(value)
        while op is not None and op.name == "trans":
            inner = op.attrs["perm"]
            perm = tuple(inner[axis] for axis in perm)
            op = self.definitions.get(op.operands[0])
        if op is None or op.name != "load" or op.attrs.get("has_mask") or op.attrs.get("volatile"):
            return None
        place = self.definitions.get(op.operands[0])
        element = element_of(op.operands[0].type)
        if place is None or place.name != "local_ptr" or len(place.operands) != 1:
            return None
        if not isinstance(element, PointerType) or element.space != SHARED:
            return None
        buffer = place.operands[0]
        if self._is_changed(buffer, op, product):
            return None
        return SharedOperand(buffer, perm)

    def _is_changed(self, buffer: Value, load: Op, product: Op) -> bool:
        """Whether the buffer may be another one, or hold something else, where the product stands."""
        if self._roots is None:
            self._roots = Roots(self.kernel)
        roots = set(self._roots.of(buffer))
        region, first = self._places[load]
        user = product
        while self._places[user][0] is not region:
            owner = self._owners.get(self._places[user][0])
            if owner is None:
                return True
            user = owner
        last = self._places[user][1] + (user is not product)
        if last <= first or None in roots:
            return True
        for op in region.ops[first + 1 : last]:
            for inner in (op, *(found for part in op.regions for found in walk(part))):
                if inner.name in _GIVING_UP:
                    return True
                if any(
                    e.is_shared and e.kind != READ and (e.root in roots or e.root is None)
                    for e in effects(inner, self._roots)
                ):
                    return True
        return False


def buffer_places(made: Mapping[Value, Op], buffer: Value) -> SharedLayout | None:
    """Where the elements of a buffer lie, from its first one on; None when no such map describes it.

    Args:
        made: The operations that make values.
        buffer: An allocation, a slot of a pipe or of a buffer, or one of these with its axes in another order.
    """
    type_ = buffer.type
    assert isinstance(type_, BufferType)
    op = made.get(buffer)
    if op is None:
        return None
    size = type_.element.bytes
    try:
        if op.name == "alloc":
            if (images := op.attrs.get("offsets_elems")) is not None:
                return SharedLayout.from_flat(type_.shape, images, size)
            if span := op.attrs.get("swizzle_bytes"):
                return SharedLayout.swizzled(type_.shape, size, span)
            return SharedLayout.plain(type_.shape, size)
        if op.name == "buffer_view" and op.attrs["kind"] == "trans":
            inner = buffer_places(made, op.operands[0])
            if inner is None:
                return None
            return SharedLayout(type_.shape, tuple(inner.images_elems[axis] for axis in op.attrs["perm"]), size)
        if op.name == "buffer_view" and op.attrs["kind"] in ("subslice", "reshape"):
            return _part_places(made, op)
        alloc = ring_of(made, buffer)
        if alloc is None or alloc.attrs.get("offsets_elems") is not None:
            return None
        if span := alloc.attrs.get("swizzle_bytes"):
            return SharedLayout.swizzled(type_.shape, size, span)
        return SharedLayout.plain(type_.shape, size)
    except LayoutError:
        return None


def _part_places(made: Mapping[Value, Op], part: Op) -> SharedLayout | None:
    """Where elements of some rows, columns or stages of a swizzled buffer lie, which form one of their own."""
    whole, type_ = part.operands[0], part.result.type
    alloc = made.get(whole)
    alloc = alloc if alloc is not None and alloc.name == "alloc" else ring_of(made, whole)
    assert isinstance(whole.type, BufferType) and isinstance(type_, BufferType)
    span = alloc.attrs.get("swizzle_bytes") if alloc is not None else None
    if not span or not is_part(part, span):
        return None
    return SharedLayout.swizzled(type_.shape, type_.element.bytes, span)


def is_part(part: Op, swizzle_bytes: int) -> bool:
    """Whether a sub-slice of a matrix, or a reshaped view, lies in shared memory as a matrix under that swizzle does."""
    whole, type_ = part.operands[0].type, part.result.type
    assert isinstance(whole, BufferType) and isinstance(type_, BufferType)
    if part.attrs["kind"] == "reshape":
        return is_swizzled_alike(whole.shape, type_.shape, type_.element.bytes, swizzle_bytes)
    if len(whole.shape) != 2:
        return False
    axis = part.attrs["dim"] % len(whole.shape)
    return is_swizzled_part(whole.shape, axis, (part.attrs["start"], type_.shape[axis]), type_.element.bytes, swizzle_bytes)


def ring_of(made: Mapping[Value, Op], slot: Value) -> Op | None:
    """The allocation that a buffer is a slot of, of a pipe or by indices; None when it is something else."""
    op = made.get(slot)
    if op is None:
        return None
    if op.name == "buffer_view" and op.attrs["kind"] == "slot":
        source: Value = op.operands[0]
    elif op.name in ("pipe_wait", "pipe_acquire"):
        pipe = made.get(op.operands[0])
        if pipe is None or pipe.name != "pipe":
            return None
        source = pipe.operands[op.results.index(slot) - (op.name == "pipe_wait")]
    else:
        return None
    alloc = made.get(source)
    return alloc if alloc is not None and alloc.name == "alloc" else ring_of(made, source)


__all__ = ["SharedOperand", "SharedOperands", "buffer_places", "is_part", "ring_of"]
