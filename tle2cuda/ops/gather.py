"""Elements of a tile at places that a tile of indices names."""

from __future__ import annotations

from typing import Any

import numpy as np

from tle2cuda.errors import DTypeMismatch, ShapeMismatch
from tle2cuda.ir.nodes import Op
from tle2cuda.ops import core
from tle2cuda.ops.core import builtin, dims_text, emit_value, fact, meaning, static_axis, tensor, tensor_member, to_tensor


@builtin
@tensor_member
def gather(src: Any, index: Any, axis: Any) -> tensor:
    """``out[..., i, ...] = src[..., index[..., i, ...], ...]`` along one axis.

    Args:
        src: Tile.
        index: Integer tile of the rank of `src`, of equal extents except along `axis`. An index outside of the axis,
            which Triton leaves undefined, is taken modulo its extent.
        axis: Axis that the indices count along.

    Returns:
        Tile of the shape of `index` and the dtype of `src`.

    Raises:
        DTypeMismatch: Indices that are no integers.
        ShapeMismatch: Ranks or extents that do not fit.
        InvalidArgument: No such axis.

    Example:
        ``permuted = tl.gather(x, order, 0)``
    """
    what = "tl.gather"
    source, places = to_tensor(src), to_tensor(index)
    if places.is_pointer or not core.dtype_of(places).is_int() or core.dtype_of(places).is_bool():
        raise DTypeMismatch(
            f"{what}: index must be integers, got {core.describe_type(places)}",
            facts=(fact("index", places),),
            help="tl.where chooses by a mask",
        )
    facts = (fact("src", source), fact("index", places))
    if not source.dims or len(source.dims) != len(places.dims):
        raise ShapeMismatch(
            f"{what}: src of rank {len(source.dims)} and index of rank {len(places.dims)}",
            facts=facts,
            help="both are tiles of one rank; x[:, None] adds an axis",
        )
    at = static_axis(axis, len(source.dims), what)
    for other, (wanted, given) in enumerate(zip(source.dims, places.dims, strict=True)):
        if other != at and wanted != given:
            raise ShapeMismatch(
                f"{what}: src {dims_text(source.dims)} and index {dims_text(places.dims)} differ along axis {other}, "
                f"only axis {at} may differ",
                facts=facts,
                help="tl.broadcast_to gives the index the extents of src",
            )
    return emit_value("gather", (source, places), source.element, places.dims, {"axis": at})


# -- meaning ----------------------------------------------------------------------------------------


@meaning("gather")
def _gather(ctx: Any, op: Op, source: Any, index: Any) -> Any:
    axis = op.attrs["axis"]
    places = np.asarray(index).astype(np.int64) % source.shape[axis]
    return np.take_along_axis(source, places, axis)
