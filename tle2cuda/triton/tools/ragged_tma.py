"""`triton.tools.ragged_tma`: tiles of parts of a tensor, each clipped at the ends of its part.

Where several arrays of different lengths lie one behind the other in one tensor, a tile at the end of one must not reach
into the next. Kernels name the part by its first index and its length, and coordinates count from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import InvalidArgument
from tle2cuda.runtime.descriptor import TensorDescriptor

__all__ = ["atomic_add_ragged", "create_ragged_descriptor", "load_ragged", "store_ragged"]


def create_ragged_descriptor(T: Any, block_shape: Sequence[int], ragged_dim: int = 0) -> TensorDescriptor:
    """A descriptor whose tiles `load_ragged` and its like clip to parts along one dimension.

    Args:
        T: A torch tensor, or an array.
        block_shape: Extents of a tile.
        ragged_dim: The dimension that is divided into parts.

    Raises:
        InvalidArgument: There is no such dimension, or the extents are of another rank.
    """
    rank = len(T.shape)
    if not -rank <= ragged_dim < rank:
        raise InvalidArgument(f"create_ragged_descriptor: ragged_dim is {ragged_dim}, the tensor has {rank} dimensions")
    return TensorDescriptor.from_tensor(T, block_shape)


@tle2cuda.jit
def _part(TMA, batch_offset, batch_size, ragged_dim: tl.constexpr):  # type: ignore[no-untyped-def]
    rank: tl.constexpr = len(TMA.block_shape)  # type: ignore[assignment]
    axis: tl.constexpr = ragged_dim % rank
    first = TMA.base + tl.cast(batch_offset, tl.int64) * TMA.strides[axis]
    shape = [batch_size if i == axis else TMA.shape[i] for i in tl.static_range(rank)]
    strides = [1 if i == rank - 1 else TMA.strides[i] for i in tl.static_range(rank)]
    return tl.make_tensor_descriptor(first, shape, strides, TMA.block_shape)


@tle2cuda.jit
def load_ragged(TMA, batch_offset, batch_size, coords, ragged_dim: tl.constexpr = 0):  # type: ignore[no-untyped-def, assignment]
    """The tile at `coords` of the part that begins at index `batch_offset` of `ragged_dim`; outside of it, zeros."""
    return _part(TMA, batch_offset, batch_size, ragged_dim).load(coords)


@tle2cuda.jit
def store_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):  # type: ignore[no-untyped-def, assignment]
    """Stores a tile at `coords` of a part; elements outside of the part are dropped."""
    _part(TMA, batch_offset, batch_size, ragged_dim).store(coords, data)


@tle2cuda.jit
def atomic_add_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):  # type: ignore[no-untyped-def, assignment]
    """Adds a tile at `coords` of a part to memory, element by element; those outside of the part are dropped."""
    _part(TMA, batch_offset, batch_size, ragged_dim).atomic_add(coords, data)
