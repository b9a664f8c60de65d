"""Where loaded tiles come from: a tile that goes into a stage of a pipe as it is may be copied there by the copy engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tle2cuda.ir import builder
from tle2cuda.ir.legality import is_pure
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import SHARED, PointerType, element_of
from tle2cuda.ops.affine_tiles import AffineTile
from tle2cuda.ops.core import emit_value, meaning, tensor
from tle2cuda.targets import parse_target

_LEAST_ROW_BYTES = 16
_MOST_DIMENSIONS = 5
_QUIET = frozenset(("load", "pipe_acquire", "tma_load", "cp_async"))
"""Operations that are not pure and write no global memory."""


@dataclass(frozen=True, slots=True)
class TileSource:
    """What a tile was loaded by.

    Attributes:
        place: The tile in memory; elements outside of the tensor were not accessed.
        padding: What these read as: "", "zero" or "nan".
        eviction: Eviction policy of the load.
        is_promised: Alignment of base and strides is the user's promise, as for a tensor descriptor.
    """

    place: AffineTile
    padding: str
    eviction: str
    is_promised: bool


def remember(tile: tensor, source: TileSource) -> tensor:
    """Note where a tile comes from; returns it.

    What the copy engine could bring says so in the IR, too: the pipeliner may let it.
    """
    context = builder.current()
    if parse_target(context.target).has("tma") and _is_tensor(source, tile):
        place = source.place
        described = (tile, place.base, *place.extents, *place.strides, *place.offsets)
        attrs = {
            "rank": len(tile.dims),
            "padding": source.padding or "zero",
            "eviction": source.eviction,
            "is_promised": source.is_promised,
        }
        tile = emit_value("tensor_tile", described, tile.element, tile.dims, attrs)
    context.tile_sources[tile.value] = source
    return tile


def copied(pointers: tensor, tile: tensor) -> bool:
    """Copy a tile into a stage of a pipe instead of storing it there, if that is the same; returns whether it was done."""
    context = builder.current()
    source = context.tile_sources.get(tile.value)
    if not isinstance(source, TileSource) or not parse_target(context.target).has("tma"):
        return False
    place = context.made(pointers.value)
    slot = context.made(place.operands[0]) if place is not None and place.name == "local_ptr" else None
    if place is None or len(place.operands) != 1 or slot is None or slot.name != "pipe_acquire":
        return False
    since = context.since(tile.value)
    if since is None or not all(map(_is_quiet, since)) or not _is_tensor(source, tile):
        return False
    described = (source.place.base, *source.place.extents, *source.place.strides, *source.place.offsets)
    attrs = {
        "rank": len(tile.dims),
        "block": tile.dims,
        "padding": source.padding or "zero",
        "eviction": source.eviction,
        "completion": "blocking",
        "is_promised": source.is_promised,
    }
    context.emit("tma_load", (*(part.value for part in described), place.operands[0]), (), attrs)
    return True


def _is_quiet(op: Op) -> bool:
    """Whether an operation writes no global memory."""
    if op.name == "store":
        element = element_of(op.operands[0].type)
        return isinstance(element, PointerType) and element.space == SHARED
    return op.name in _QUIET or is_pure(op)


def _is_tensor(source: TileSource, tile: tensor) -> bool:
    """Whether the copy engine could describe where a tile comes from."""
    element = source.place.base.element
    assert isinstance(element, PointerType)
    row_bytes = tile.dims[-1] * element.element.bytes
    return len(tile.dims) <= _MOST_DIMENSIONS and row_bytes >= _LEAST_ROW_BYTES and tile.element is element.element


@meaning("tensor_tile")
def _tensor_tile(ctx: Any, op: Op, tile: Any, *described: Any) -> Any:
    return tile
