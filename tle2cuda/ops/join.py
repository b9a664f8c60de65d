"""Putting tiles together and taking them apart along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tle2cuda.errors import DTypeMismatch, InvalidType, ShapeMismatch
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import DType, shape_of
from tle2cuda.ops import core
from tle2cuda.ops.core import (
    builtin,
    check_tile_shape,
    dims_text,
    emit_value,
    fact,
    meaning,
    static_axis,
    static_bool,
    tensor,
    tensor_member,
    to_tensor,
    unwrap,
)
from tle2cuda.ops.level import only_in_3_9
from tle2cuda.ops.shape import expand_dims, reshape


def emit_concat(a: tensor, b: tensor, axis: int, what: str) -> tensor:
    """Emits a ``concat`` of two tiles of one type."""
    dims = (*a.dims[:axis], 2 * a.dims[axis], *a.dims[axis + 1 :])
    check_tile_shape(dims, what)
    return emit_value("concat", (a, b), a.element, dims, {"axis": axis})


def emit_extract(x: tensor, start: Sequence[int], dims: tuple[int, ...]) -> tensor:
    """Emits an ``extract`` of the aligned part with these extents."""
    if dims == x.dims:
        return x
    return emit_value("extract", (x,), x.element, dims, {"start": tuple(start)})


def _one_element_type(a: tensor, b: tensor, what: str) -> tensor:
    """`b` with `a`'s element type: integers of one width differ only in how they are read, as in Triton."""
    if a.element != b.element:
        first, second = a.element, b.element
        if isinstance(first, DType) and isinstance(second, DType) and first.is_int() and second.is_int():
            if first.bits == second.bits:
                return core.cast(b, first)
        raise DTypeMismatch(
            f"{what}: the tiles hold {core.describe_type(a)} and {core.describe_type(b)}",
            facts=(fact("a", a), fact("b", b)),
            help="convert one of them, such as b.to(a.dtype)",
        )
    return b


@builtin
@tensor_member
def join(a: Any, b: Any) -> tensor:
    """Two tiles of one shape as one with a last axis of extent 2: ``a`` at 0, ``b`` at 1.

    Args:
        a: Tile or scalar.
        b: Tile or scalar of the same dtype; the two are broadcast to one shape. Of integers that differ in their sign
            alone, the result has the dtype of `a`.

    Returns:
        Tile of the shape (*shape, 2); of two scalars a tile of 2.

    Raises:
        DTypeMismatch: The dtypes differ.
        ShapeMismatch: They have no common shape.

    Example:
        ``pairs = tl.join(real, imaginary)``
    """
    x, y = core.broadcast_pair(to_tensor(a), to_tensor(b), "tl.join")
    y = _one_element_type(x, y, "tl.join")
    axis = len(x.dims)
    return emit_concat(expand_dims(x, axis), expand_dims(y, axis), axis, "tl.join")


@builtin
@tensor_member
def split(a: Any) -> tuple[tensor, tensor]:
    """The two halves along a last axis of extent 2: the inverse of `join`.

    Args:
        a: Tile whose last extent is 2.

    Returns:
        Two tiles without that axis; of a tile of 2 two scalars.

    Raises:
        ShapeMismatch: The last extent is not 2.

    Example:
        ``even, odd = tl.split(tl.reshape(x, (N // 2, 2)))``
    """
    x = to_tensor(a)
    if not x.dims or x.dims[-1] != 2:
        raise ShapeMismatch(
            f"tl.split: the last extent must be 2, got {core.describe_type(x)}",
            facts=(fact("a", x),),
            help="bring the axis to the end, tl.permute, or make it, tl.reshape(x, (..., 2))",
        )
    rest = x.dims[:-1]
    first, second = (emit_extract(x, (*(0 for _ in rest), half), (*rest, 1)) for half in range(2))
    return reshape(first, rest), reshape(second, rest)


@builtin
@tensor_member
def interleave(a: Any, b: Any) -> tensor:
    """The elements of two tiles in turn along the last axis: a0, b0, a1, b1, ...

    Args:
        a: Tile or scalar.
        b: Tile or scalar of the same dtype; the two are broadcast to one shape.

    Returns:
        Tile with twice the last extent; of two scalars a tile of 2.

    Raises:
        DTypeMismatch: The dtypes differ.
        ShapeMismatch: They have no common shape.

    Example:
        ``bytes = tl.interleave(low, high)``
    """
    x, y = core.broadcast_pair(to_tensor(a), to_tensor(b), "tl.interleave")
    y = _one_element_type(x, y, "tl.interleave")
    pairs = join(x, y)
    return pairs if x.is_scalar else reshape(pairs, (*x.dims[:-1], 2 * x.dims[-1]))


@builtin
@tensor_member
def cat(input: Any, other: Any, can_reorder: Any = False, dim: Any = None) -> tensor:
    """Two tiles one behind the other along an axis.

    Args:
        input: Tile.
        other: Tile of the same shape and dtype.
        can_reorder: Allows another order, which is never used.
        dim: Axis, the first when None. Only by the rules of Triton 3.9.

    Raises:
        InvalidType: A scalar.
        DTypeMismatch: The dtypes differ.
        NotSupported: `dim` by the rules of Triton 3.6.
        ShapeMismatch: The shapes differ.

    Example:
        ``both = tl.cat(left, right, can_reorder=True)``
    """
    static_bool(can_reorder, "tl.cat: can_reorder")
    if unwrap(dim) is None:
        dim = 0
    else:
        only_in_3_9("tl.cat: dim")
    x, y = to_tensor(input), to_tensor(other)
    for operand in (x, y):
        if not operand.dims:
            raise InvalidType(
                f"tl.cat takes tiles, got {core.describe_type(operand)}",
                facts=(fact("operand", operand),),
                help="tl.join makes a tile of two scalars",
            )
    y = _one_element_type(x, y, "tl.cat")
    if x.dims != y.dims:
        raise ShapeMismatch(
            f"tl.cat: the tiles differ in shape, {dims_text(x.dims)} and {dims_text(y.dims)}",
            facts=(fact("input", x), fact("other", y)),
            help="extents are powers of two, so both tiles must have the same; tl.broadcast_to repeats elements",
        )
    return emit_concat(x, y, static_axis(dim, len(x.dims), "tl.cat"), "tl.cat")


# -- meanings ---------------------------------------------------------------------------------------


@meaning("concat")
def _concat(ctx: Any, op: Op, a: Any, b: Any) -> Any:
    return np.concatenate([a, b], axis=op.attrs["axis"])


@meaning("extract")
def _extract(ctx: Any, op: Op, x: Any) -> Any:
    shape = shape_of(op.result.type)
    return x[tuple(slice(s, s + n) for s, n in zip(op.attrs["start"], shape, strict=True))]
