"""Sharding annotations of TLE: which mesh axes split or partially sum a tensor. Plain Python, no device code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tle2cuda.errors import InvalidArgument, InvalidType, NotSupported
from tle2cuda.ops.base import builtin, describe
from tle2cuda.ops.mesh import device_mesh
from tle2cuda.ops.values import unwrap


def _axis_names(axis: Any, what: str) -> tuple[str, ...]:
    value = unwrap(axis)
    names = tuple(unwrap(name) for name in value) if isinstance(value, (list, tuple)) else (value,)
    for name in names:
        if not isinstance(name, str):
            raise InvalidType(f"{what}: axis names must be strings, got {describe(name)}", help=_NAMES)
        if not name:
            raise InvalidArgument(f"{what}: axis names must not be empty", help=_NAMES)
    return names


_NAMES = "write the name that the axis has in the mesh, such as 'cx'"
_SPLIT = "write one entry for each dimension, such as split=[['cx', 'cy'], tle.B]"
_PARTIAL = "write the axes over which values are still to be summed, such as partial=['device']"


class _AxisMark:
    """Common part of `S` and `P`: frozen, hashable, made of axis names."""

    __slots__ = ("axes",)
    axes: tuple[str, ...]

    def __init__(self, axis: Any) -> None:
        names = _axis_names(axis, type(self).__name__)
        if not names:
            raise InvalidArgument(f"{type(self).__name__}: at least one axis name is needed")
        object.__setattr__(self, "axes", names)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, _AxisMark) and self.axes == other.axes

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.axes))

    def __repr__(self) -> str:
        inner = repr(self.axes[0]) if len(self.axes) == 1 else repr(list(self.axes))
        return f"{type(self).__name__}({inner})"


class S(_AxisMark):
    """Split over an axis, or over several in order.

    Args:
        axis: Axis name, or list of names.

    Example:
        ``tle.sharding(mesh, split=[tle.S("device"), tle.B])``
    """

    __slots__ = ()


class P(_AxisMark):
    """Partial sums over an axis, or over several.

    Args:
        axis: Axis name, or list of names.

    Example:
        ``tle.sharding(mesh, partial=tle.P("device"))``
    """

    __slots__ = ()


class _Broadcast:
    """The singleton `B`: replicated."""

    _instance: _Broadcast | None = None

    def __new__(cls) -> _Broadcast:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "B"

    def __reduce__(self) -> str:
        return "B"


B = _Broadcast()


@dataclass(frozen=True)
class ShardingSpec:
    """How a tensor lies on a mesh.

    Attributes:
        mesh: The mesh.
        split: Per tensor dimension, the axes that split it.
        partial: Axes over which values are partial sums.
    """

    mesh: device_mesh
    split: tuple[tuple[str, ...], ...]
    partial: tuple[str, ...]

    @property
    def broadcast(self) -> tuple[str, ...]:
        """The axes along which the tensor is replicated."""
        used = {name for names in self.split for name in names} | set(self.partial)
        return tuple(name for name in self.mesh.dim_names if name not in used)

    def axis_state(self, name: str) -> str:
        """``S``, ``P`` or ``B`` for an axis.

        Raises:
            InvalidArgument: The mesh has no such axis.
        """
        if name not in self.mesh.dim_names:
            raise InvalidArgument(f"sharding: unknown mesh axis {name!r}; the axes are {_axes(self.mesh)}", help=_NAMES)
        if any(name in names for names in self.split):
            return "S"
        return "P" if name in self.partial else "B"


@builtin
def sharding(mesh: Any, split: Any = None, partial: Any = None) -> ShardingSpec:
    """Describes how a tensor lies on a mesh.

    Args:
        mesh: A `device_mesh`.
        split: One entry per tensor dimension: axis name, list of names, `S`, or `B`, None, [] for replicated.
        partial: List of names or `P`, or a single one.

    Raises:
        InvalidType: `mesh`, `split` or `partial` of another type.
        InvalidArgument: Unknown or empty axis, one used twice in `split`, or both split and partial.

    Example:
        ``spec = tle.sharding(mesh, split=[["cx", "cy"], tle.B], partial=["device"])``
    """
    found = unwrap(mesh)
    if not isinstance(found, device_mesh):
        raise InvalidType(
            f"sharding: mesh must be a device_mesh, got {type(found).__name__}",
            help="make one with tle.device_mesh({'block_cluster': [('cx', 2)]}) and pass it as tl.constexpr",
        )
    splits = _split_entries(unwrap(split))
    partials = _partial_axes(unwrap(partial))
    seen: dict[str, int] = {}
    for dimension, name in ((d, name) for d, names in enumerate(splits) for name in names):
        _check_known(found, name)
        if name in seen:
            where = (
                f"of dimensions {seen[name]} and {dimension}" if seen[name] != dimension else f"of dimension {dimension}"
            )
            raise InvalidArgument(
                f"sharding: axis {name!r} is used twice in split, {where}",
                help="an axis divides one dimension once: name another axis, or tle.B for a dimension that is replicated",
            )
        seen[name] = dimension
    for name in partials:
        _check_known(found, name)
        if name in seen:
            raise InvalidArgument(
                f"sharding: axis {name!r} is both split and partial: it splits dimension {seen[name]}",
                help="along an axis a tensor is either divided or a sum in parts: leave it out of one of the two",
            )
    return ShardingSpec(found, splits, partials)


def _check_known(mesh: device_mesh, name: str) -> None:
    if name not in mesh.dim_names:
        raise InvalidArgument(f"sharding: unknown mesh axis {name!r}; the axes are {_axes(mesh)}", help=_NAMES)


def _axes(mesh: device_mesh) -> str:
    return ", ".join(repr(axis) for axis in mesh.dim_names)


def _split_entries(split: Any) -> tuple[tuple[str, ...], ...]:
    if split is None:
        return ()
    if not isinstance(split, (list, tuple)):
        raise InvalidType(
            f"sharding: split must be a list with one entry per dimension, got {describe(split)}", help=_SPLIT
        )
    return tuple(_split_entry(entry) for entry in split)


def _split_entry(entry: Any) -> tuple[str, ...]:
    entry = unwrap(entry)
    if entry is None or entry is B:
        return ()
    if isinstance(entry, S):
        return entry.axes
    if not isinstance(entry, (str, list, tuple)):
        raise InvalidType(
            f"sharding: a split entry is an axis name, a list, S(...), B or None, got {describe(entry)}", help=_SPLIT
        )
    return _axis_names(entry, "sharding")


def _partial_axes(partial: Any) -> tuple[str, ...]:
    if partial is None:
        return ()
    entries = partial if isinstance(partial, (list, tuple)) else (partial,)
    names: list[str] = []
    for entry in entries:
        entry = unwrap(entry)
        if not isinstance(entry, (str, P)):
            raise InvalidType(f"sharding: partial holds axis names or P(...), got {describe(entry)}", help=_PARTIAL)
        names += entry.axes if isinstance(entry, P) else _axis_names(entry, "sharding")
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class ShardedTensor:
    """Anything with a sharding.

    Attributes:
        handle: The tensor, or what stands for it.
        sharding: How it lies on the mesh.
        shape: Extents, None when unknown.
    """

    handle: Any
    sharding: ShardingSpec
    shape: tuple[int, ...] | None = None


_SHAPE = "write the extents of the whole tensor, known at compile time, such as shape=[64, 32]"


@builtin
def make_sharded_tensor(handle: Any, sharding: Any, shape: Any = None) -> ShardedTensor:
    """Attaches a sharding to anything.

    Args:
        handle: The tensor, or what stands for it.
        sharding: A `ShardingSpec`.
        shape: Positive extents, of the rank of a non-empty split.

    Raises:
        InvalidType: `sharding` is no spec, or `shape` no tuple of ints.
        InvalidArgument: An extent below 1, or another rank.

    Example:
        ``x = tle.make_sharded_tensor(ptr, sharding=spec, shape=[64, 32])``
    """
    spec = unwrap(sharding)
    if not isinstance(spec, ShardingSpec):
        raise InvalidType(
            f"make_sharded_tensor: sharding must be a ShardingSpec, got {type(spec).__name__}",
            help="make one with tle.sharding(mesh, split=..., partial=...)",
        )
    if unwrap(shape) is None:
        return ShardedTensor(handle, spec, None)
    given = unwrap(shape)
    if not isinstance(given, (list, tuple)):
        raise InvalidType(f"make_sharded_tensor: shape must be a tuple of ints, got {describe(given)}", help=_SHAPE)
    dims = tuple(unwrap(extent) for extent in given)
    for axis, extent in enumerate(dims):
        if type(extent) is not int:
            raise InvalidType(
                f"make_sharded_tensor: shape must be a tuple of ints, got {describe(extent)} for extent {axis}", help=_SHAPE
            )
    if any(extent < 1 for extent in dims):
        raise InvalidArgument(f"make_sharded_tensor: extents must be positive, got {dims}", help=_SHAPE)
    if spec.split and len(dims) != len(spec.split):
        raise InvalidArgument(
            f"make_sharded_tensor: shape {dims} has rank {len(dims)}, the split has {len(spec.split)} entries",
            help="give the split one entry for each dimension, tle.B where it is replicated",
        )
    return ShardedTensor(handle, spec, dims)


def reshard(*args: Any, **kwargs: Any) -> Any:
    """Not implemented in TLE itself.

    Raises:
        NotSupported: Always.
    """
    raise NotSupported(
        "tle.reshard is not implemented",
        help="no version has it yet; move the data with tl.load and tl.store, or through tle.remote inside a cluster",
    )


def distributed_dot(*args: Any, **kwargs: Any) -> Any:
    """Not implemented in TLE itself.

    Raises:
        NotSupported: Always.
    """
    raise NotSupported(
        "tle.distributed_dot is not implemented",
        help="no version has it yet; sum the products of each CTA and add them through tle.remote",
    )
