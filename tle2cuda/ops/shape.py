"""Operations that only rename elements: broadcasting, axes of extent 1, reshape, permutation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tle2cuda.errors import InvalidArgument, InvalidType, ShapeMismatch
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import shape_of
from tle2cuda.ops import core
from tle2cuda.ops.core import (
    builtin,
    dims_text,
    emit_value,
    fact,
    meaning,
    static_axis,
    static_int,
    static_shape,
    static_value,
    stretch,
    tensor,
    tensor_member,
    to_tensor,
    unwrap,
)


def _shape_arguments(values: tuple[Any, ...], function: str) -> tuple[Any, ...]:
    """Extents or axes given as one tuple or as separate arguments."""
    if len(values) == 1:
        only = static_value(values[0], f"{function}: shape")
        if only is None:
            return ()
        if isinstance(only, (tuple, list)):
            return tuple(only)
    return values


@builtin
@tensor_member
def broadcast(input: Any, other: Any) -> tuple[tensor, tensor]:
    """Both operands in their common shape.

    Args:
        input: Tile or scalar.
        other: Tile or scalar.

    Raises:
        ShapeMismatch: They have no common shape.

    Example:
        ``a, b = tl.broadcast(rows[:, None], cols[None, :])``
    """
    return core.broadcast_pair(to_tensor(input), to_tensor(other), "tl.broadcast")


@builtin
@tensor_member
def broadcast_to(input: Any, *shape: Any) -> tensor:
    """`input` with its 1-extents stretched to `shape`.

    Args:
        input: Tile of the rank of `shape`, or a scalar.
        *shape: Extents, as one tuple or as separate arguments.

    Raises:
        ShapeMismatch: The ranks differ, or an extent is neither 1 nor the wanted one.

    Example:
        ``mask = tl.broadcast_to(row_ok[:, None], (M, N))``
    """
    dims = static_shape(_shape_arguments(shape, "tl.broadcast_to"), "tl.broadcast_to: shape")
    x = to_tensor(input)
    if not dims and not x.dims:
        return x
    if x.is_scalar:
        return stretch(x, dims)
    if len(x.dims) != len(dims):
        raise ShapeMismatch(
            f"tl.broadcast_to: a tile of rank {len(x.dims)} cannot take the shape {dims_text(dims)} of rank {len(dims)}",
            facts=(fact("input", x),),
            help="add axes first, x[None, :]",
        )
    if any(m not in (1, n) for m, n in zip(x.dims, dims, strict=True)):
        raise ShapeMismatch(
            f"tl.broadcast_to: {dims_text(x.dims)} does not stretch to {dims_text(dims)}",
            facts=(fact("input", x),),
            help="only axes of extent 1 stretch",
        )
    return stretch(x, dims)


@builtin
@tensor_member
def expand_dims(input: Any, axis: Any) -> tensor:
    """`input` with axes of extent 1 inserted.

    Args:
        input: Tile, or a scalar, which becomes a tile of one element.
        axis: Position in the result, negative ones from its end, or a tuple of positions.

    Raises:
        InvalidArgument: A position outside the result, or twice the same.

    Example:
        ``column = tl.expand_dims(x, 1)``
    """
    x = to_tensor(input)
    given = static_value(axis, "tl.expand_dims: axis")
    positions = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    rank = len(x.dims) + len(positions)
    axes = sorted(static_axis(position, rank, "tl.expand_dims") for position in positions)
    if len(set(axes)) != len(axes):
        raise InvalidArgument(
            f"tl.expand_dims: the axes {positions} contain one twice",
            facts=(fact("input", x),),
            help=f"give {len(positions)} different axes of the result, 0 to {rank - 1}",
        )
    if x.is_scalar and axes:
        return emit_value("splat", (x,), x.element, (1,) * rank)
    for position in axes:
        dims = (*x.dims[:position], 1, *x.dims[position:])
        x = emit_value("expand_dims", (x,), x.element, dims, {"axis": position})
    return x


@core.operator("getitem")
def index(x: tensor, key: Any) -> tensor:
    """``x[:, None]``: None inserts an axis of extent 1, ``:`` keeps one; axes that are not mentioned follow.

    A scalar has no axis for ``:``, so each None gives it one: ``n[:, None]`` has shape [1].

    Raises:
        InvalidType: Anything else as an index: elements of a tile cannot be picked.
        ShapeMismatch: More ``:`` than axes.
    """
    keys = key if isinstance(key, (tuple, list)) else (key,)
    result_axes: list[int] = []
    kept = 0
    for entry in keys:
        entry = unwrap(entry)
        if entry is None:
            result_axes.append(len(result_axes) + kept)
        elif isinstance(entry, slice) and all(unwrap(part) is None for part in (entry.start, entry.stop, entry.step)):
            kept += bool(x.dims)
        else:
            raise InvalidType(
                f"a tile is indexed with None and `:` only, got {core.describe(entry)}",
                facts=(fact("tile", x),),
                help="write tl.load(pointer + index) for an element of memory"
                if x.is_pointer
                else "load the element you need, reduce, or use tl.where with tl.arange",
            )
    if kept > len(x.dims):
        raise ShapeMismatch(
            f"{kept} `:` for a tile of rank {len(x.dims)}",
            facts=(fact("tile", x),),
            help="write at most one `:` for every axis",
        )
    return expand_dims(x, tuple(result_axes)) if result_axes else x


@builtin
@tensor_member
def reshape(input: Any, *shape: Any, can_reorder: Any = False) -> tensor:
    """The elements of `input`, row-major, in another shape.

    Args:
        input: Tile or scalar.
        *shape: Extents, as one tuple or as separate arguments; ``()`` turns one element into a scalar.
        can_reorder: Allows another order, which is never used.

    Raises:
        ShapeMismatch: The number of elements changes.

    Example:
        ``flat = tl.reshape(x, (M * N,))``
    """
    core.static_bool(can_reorder, "tl.reshape: can_reorder")
    x = to_tensor(input)
    dims = static_shape(_shape_arguments(shape, "tl.reshape"), "tl.reshape: shape")
    return _reshape(x, dims, "tl.reshape")


def _reshape(x: tensor, dims: tuple[int, ...], what: str) -> tensor:
    if x.dims == dims:
        return x
    before, after = core.num_elements(x.dims), core.num_elements(dims)
    if before != after:
        raise ShapeMismatch(
            f"{what}: {dims_text(x.dims)} has {before} elements, {dims_text(dims)} has {after}",
            facts=(fact("input", x),),
            help="reduce it first, such as tl.max(x, axis=0)"
            if not dims
            else "a reshape keeps every element; tl.broadcast_to repeats them",
        )
    if x.is_scalar:
        return emit_value("splat", (x,), x.element, dims)
    if not dims:
        return emit_value("tile_to_scalar", (x,), x.element, ())
    return emit_value("reshape", (x,), x.element, dims)


@builtin
@tensor_member
def view(input: Any, *shape: Any) -> tensor:
    """`reshape` under its old name.

    Args:
        input: Tile or scalar.
        *shape: Extents, as one tuple or as separate arguments.

    Raises:
        ShapeMismatch: The number of elements changes.

    Example:
        ``y = tl.view(x, (2, N // 2))``
    """
    return reshape(input, *shape)


@builtin
@tensor_member
def ravel(x: Any, can_reorder: Any = False) -> tensor:
    """The elements of `x`, row-major, as a tile of rank 1.

    Args:
        x: Tile.
        can_reorder: Allows another order, which is never used.

    Example:
        ``flat = tl.ravel(x)``
    """
    value = to_tensor(x)
    return reshape(value, (core.num_elements(value.dims),), can_reorder=can_reorder)


@builtin
@tensor_member
def item(input: Any) -> tensor:
    """The only element of a tile, as a scalar.

    Args:
        input: Tile of one element, or a scalar.

    Raises:
        ShapeMismatch: The tile has more elements.

    Example:
        ``value = x.item()``
    """
    return _reshape(to_tensor(input), (), "tl.item")


@builtin
@tensor_member
def permute(input: Any, *dims: Any) -> tensor:
    """`input` with its axes reordered: axis i of the result is axis ``dims[i]`` of `input`.

    Args:
        input: Tile.
        *dims: A permutation of the axes, as one tuple or as separate arguments.

    Raises:
        InvalidArgument: `dims` is no permutation.

    Example:
        ``y = tl.permute(x, (1, 0, 2))``
    """
    return _permute(to_tensor(input), _shape_arguments(dims, "tl.permute"), "tl.permute")


def _permute(x: tensor, axes: tuple[Any, ...], what: str) -> tensor:
    rank = len(x.dims)
    given = tuple(static_int(axis, f"{what}: axis") for axis in axes)
    normal = tuple(axis + rank if axis < 0 else axis for axis in given)
    if sorted(normal) != list(range(rank)):
        raise InvalidArgument(
            f"{what}: {given} is no permutation of the axes 0 to {rank - 1}" if rank else f"{what}: a scalar has no axes",
            facts=(fact("input", x),),
            help=f"name each axis once, such as {tuple(reversed(range(rank)))}" if rank > 1 else "",
        )
    if normal == tuple(range(rank)):
        return x
    return emit_value("trans", (x,), x.element, tuple(x.dims[axis] for axis in normal), {"perm": normal})


@builtin
@tensor_member
def trans(input: Any, *dims: Any) -> tensor:
    """`input` with its last two axes swapped, or its axes permuted by `dims`.

    Args:
        input: Tile of rank 2 or more.
        *dims: Permutation as for `permute`; the last two axes are swapped when absent.

    Raises:
        ShapeMismatch: Rank below 2 without `dims`.
        InvalidArgument: `dims` is no permutation.

    Example:
        ``acc = tl.dot(q, tl.trans(k))``
    """
    x = to_tensor(input)
    axes = _shape_arguments(dims, "tl.trans")
    if axes:
        return _permute(x, axes, "tl.trans")
    rank = len(x.dims)
    if rank < 2:
        raise ShapeMismatch(
            f"tl.trans: rank 2 or more is needed, got {core.describe_type(x)}",
            facts=(fact("input", x),),
            help="add an axis first, x[:, None] or x[None, :]",
        )
    return _permute(x, (*range(rank - 2), rank - 1, rank - 2), "tl.trans")


@builtin
@tensor_member
def flip(x: Any, dim: Any = None) -> tensor:
    """`x` with the order along one axis reversed.

    Args:
        x: Tile.
        dim: Axis, the last when None.

    Raises:
        InvalidType: A scalar.
        InvalidArgument: No such axis.

    Example:
        ``backwards = tl.flip(x, 0)``
    """
    value = to_tensor(x)
    if not value.dims:
        raise InvalidType(f"tl.flip takes tiles, got {core.describe_type(value)}", facts=(fact("x", value),))
    axis = static_axis(-1 if unwrap(dim) is None else dim, len(value.dims), "tl.flip")
    return value if value.dims[axis] == 1 else emit_value("flip", (value,), value.element, value.dims, {"axis": axis})


@core.operator("T")
def transpose(x: tensor) -> tensor:
    """``x.T`` of a tile of rank 2."""
    if len(x.dims) != 2:
        raise ShapeMismatch(
            f"x.T: rank 2 is needed, got {core.describe_type(x)}",
            facts=(fact("x", x),),
            help="add an axis first, x[None, :]" if len(x.dims) < 2 else "name the order, tl.permute(x, (...))",
        )
    return _permute(x, (1, 0), "x.T")


# -- meanings ---------------------------------------------------------------------------------------


@meaning("broadcast")
def _broadcast(ctx: Any, op: Op, x: Any) -> Any:
    return np.broadcast_to(x, shape_of(op.result.type))


@meaning("expand_dims")
def _expand_dims(ctx: Any, op: Op, x: Any) -> Any:
    return np.expand_dims(x, op.attrs["axis"])


@meaning("reshape")
def _reshape_meaning(ctx: Any, op: Op, x: Any) -> Any:
    return np.reshape(x, shape_of(op.result.type))


@meaning("tile_to_scalar")
def _tile_to_scalar(ctx: Any, op: Op, x: Any) -> Any:
    return np.reshape(x, ())


@meaning("trans")
def _trans(ctx: Any, op: Op, x: Any) -> Any:
    return np.transpose(x, op.attrs["perm"])


@meaning("flip")
def _flip(ctx: Any, op: Op, x: Any) -> Any:
    return np.flip(x, op.attrs["axis"])


@meaning("convert_layout")
def _convert_layout(ctx: Any, op: Op, x: Any) -> Any:
    return x
