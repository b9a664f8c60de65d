"""Device meshes (`tle.device_mesh`): names and sizes for the axes of a launch, sliced on the host."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tle2cuda.errors import InvalidArgument, InvalidType, NotSupported
from tle2cuda.ops.values import num_elements, unwrap

Axes = tuple[tuple[str, int], ...]


@dataclass
class MeshConfig:
    """Levels of a mesh by name; those left None do not exist.

    Attributes:
        node: Nodes of a cluster of machines.
        device: GPUs.
        block_cluster: CTAs of a thread block cluster.
        block: CTAs of the grid.

    Example:
        ``MeshConfig(block_cluster=[("cluster_x", 8)])``
    """

    node: Any = None
    device: Any = None
    block_cluster: Any = None
    block: Any = None

    def to_dict(self) -> dict[str, Any]:
        """The levels that exist."""
        levels = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in levels.items() if value is not None}


def _parse_topology(topology: Any) -> Axes:
    if isinstance(topology, MeshConfig):
        topology = topology.to_dict()
    if not isinstance(topology, Mapping):
        raise InvalidType(f"device_mesh: topology must be a mapping or a MeshConfig, got {type(topology).__name__}")
    if not topology:
        raise InvalidArgument("device_mesh: topology must not be empty")
    axes = tuple(axis for level, entry in topology.items() for axis in _parse_level(level, entry))
    seen: set[str] = set()
    for name, _ in axes:
        if name in seen:
            raise InvalidArgument(f"device_mesh: axis name {name!r} is used twice")
        seen.add(name)
    return axes


def _parse_level(level: Any, entry: Any) -> Axes:
    if not isinstance(level, str):
        raise InvalidType(f"device_mesh: level names must be strings, got {level!r}")
    entry = unwrap(entry)
    if isinstance(entry, bool) or not isinstance(entry, (int, list, tuple)):
        raise InvalidType(f"device_mesh: level {level!r} must be an int or a list of (name, size) pairs, got {entry!r}")
    if isinstance(entry, int):
        return ((level, _axis_size(level, entry)),)
    if not entry:
        raise InvalidArgument(f"device_mesh: level {level!r} has no axes")
    axes = []
    for pair in entry:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not isinstance(pair[0], str) or not pair[0]:
            raise InvalidArgument(f"device_mesh: level {level!r} needs (name, size) pairs, got {pair!r}")
        axes.append((pair[0], _axis_size(pair[0], unwrap(pair[1]))))
    return tuple(axes)


def _axis_size(name: str, size: Any) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise InvalidArgument(f"device_mesh: the size of axis {name!r} must be a positive int, got {size!r}")
    return size


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


class device_mesh:
    """Axes of a launch by name; immutable, usable as a constexpr argument of a kernel.

    Axes whose name contains ``cluster`` are CTAs of a thread block cluster, those whose name contains
    ``block`` CTAs of the grid. Slicing and reshaping keep the launch view: the shape and names of the
    original mesh.

    Args:
        topology: Mapping of level to an int or to (name, size) pairs, or a `MeshConfig`.

    Attributes:
        shape: Extents.
        dim_names: Axis names.
        physical_ids: Row-major numbers, in the original mesh, of the positions this one has.
        launch_shape: Extents of the original mesh.
        launch_dim_names: Axis names of the original mesh.

    Raises:
        InvalidType: `topology` or a level is of another type.
        InvalidArgument: Nothing in it, a bad size or pair, or an axis name twice.

    Example:
        ``mesh = tle.device_mesh({"block_cluster": [("cluster_x", 8)]})``
    """

    __slots__ = ("dim_names", "launch_dim_names", "launch_shape", "physical_ids", "shape")

    shape: tuple[int, ...]
    dim_names: tuple[str, ...]
    physical_ids: tuple[int, ...]
    launch_shape: tuple[int, ...]
    launch_dim_names: tuple[str, ...]

    def __init__(self, topology: Any) -> None:
        axes = _parse_topology(unwrap(topology))
        self.shape = self.launch_shape = tuple(size for _, size in axes)
        self.dim_names = self.launch_dim_names = tuple(name for name, _ in axes)
        self.physical_ids = tuple(range(num_elements(self.shape)))

    def _derived(self, shape: tuple[int, ...], names: tuple[str, ...], ids: tuple[int, ...]) -> device_mesh:
        mesh = object.__new__(device_mesh)
        mesh.shape, mesh.dim_names, mesh.physical_ids = shape, names, ids
        mesh.launch_shape, mesh.launch_dim_names = self.launch_shape, self.launch_dim_names
        return mesh

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of positions."""
        return num_elements(self.shape)

    def flatten(self) -> device_mesh:
        """The mesh with one axis, named ``flat``."""
        return self.reshape(self.size)

    def reshape(self, *shape: Any) -> device_mesh:
        """The same positions, row-major, in another shape.

        Axis names stay when the rank does; rank 1 is named ``flat``, other ranks ``dim0``, ``dim1`` ...

        Args:
            *shape: Extents, as ints or as one tuple.

        Raises:
            InvalidArgument: Another number of positions, or an extent below 1.
        """
        given = unwrap(shape[0]) if len(shape) == 1 else unwrap(shape)
        dims = tuple(given) if isinstance(given, (tuple, list)) else (given,)
        if any(isinstance(extent, bool) or not isinstance(extent, int) or extent < 1 for extent in dims):
            raise InvalidArgument(f"device_mesh.reshape: extents must be positive ints, got {dims}")
        if num_elements(dims) != self.size:
            raise InvalidArgument(
                f"device_mesh.reshape: {dims} has {num_elements(dims)} positions, the mesh {self.shape} has {self.size}"
            )
        if len(dims) == self.ndim:
            names = self.dim_names
        elif len(dims) == 1:
            names = ("flat",)
        else:
            names = tuple(f"dim{i}" for i in range(len(dims)))
        return self._derived(dims, names, self.physical_ids)

    def __getitem__(self, key: Any) -> device_mesh:
        entries = self._expand_key(unwrap(key))
        picks: list[tuple[int, ...]] = []
        names: list[str] = []
        shape: list[int] = []
        for axis, entry in enumerate(entries):
            extent = self.shape[axis]
            if isinstance(entry, slice):
                chosen = tuple(range(extent))[slice(*(unwrap(p) for p in (entry.start, entry.stop, entry.step)))]
                if not chosen:
                    raise InvalidArgument(f"device_mesh: the slice selects nothing of axis {self.dim_names[axis]!r}")
                names.append(self.dim_names[axis])
                shape.append(len(chosen))
                picks.append(chosen)
            else:
                picks.append((self._position(entry, axis),))
        ids = [0]
        for chosen, stride in zip(picks, _strides(self.shape), strict=True):
            ids = [base + position * stride for base in ids for position in chosen]
        return self._derived(tuple(shape), tuple(names), tuple(self.physical_ids[i] for i in ids))

    def _position(self, entry: Any, axis: int) -> int:
        if isinstance(entry, bool) or not hasattr(entry, "__index__"):
            raise InvalidType(f"device_mesh: an index must be an int, a slice or ..., got {entry!r}")
        position, extent = operator.index(entry), self.shape[axis]
        if not -extent <= position < extent:
            raise IndexError(
                f"device_mesh: index {position} is out of range for axis {self.dim_names[axis]!r} of size {extent}"
            )
        return position % extent

    def _expand_key(self, key: Any) -> list[Any]:
        entries = [unwrap(entry) for entry in key] if isinstance(key, tuple) else [key]
        ellipses = sum(1 for entry in entries if entry is Ellipsis)
        if ellipses > 1:
            raise IndexError("device_mesh: more than one ellipsis in an index")
        given = len(entries) - ellipses
        if given > self.ndim:
            raise IndexError(f"device_mesh: {given} indices for a mesh of rank {self.ndim}")
        filling = [slice(None)] * (self.ndim - given)
        if ellipses:
            at = next(i for i, entry in enumerate(entries) if entry is Ellipsis)
            return entries[:at] + filling + entries[at + 1 :]
        return entries + filling

    def _identity(self) -> tuple[Any, ...]:
        return (self.shape, self.dim_names, self.physical_ids, self.launch_shape, self.launch_dim_names)

    def __eq__(self, other: object) -> Any:
        return isinstance(other, device_mesh) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 1

    def __repr__(self) -> str:
        return f"DeviceMesh(shape={self.shape}, names={self.dim_names})"


# -- what the launch makes of a mesh ----------------------------------------------------------------


def check_mesh(mesh: Any, what: str) -> device_mesh:
    """A mesh argument.

    Raises:
        InvalidType: Something else.
    """
    value = unwrap(mesh)
    if isinstance(value, device_mesh):
        return value
    raise InvalidType(
        f"{what} must be a device_mesh, got {type(value).__name__}",
        help="make one at module level, such as MESH = tle.device_mesh({'block_cluster': [('cluster_x', 8)]}), and pass it "
        "as a tl.constexpr; on the command line by its name: --constants mesh=MESH",
    )


def launch_axes(mesh: device_mesh, word: str) -> tuple[int, ...]:
    """Launch axes whose name contains a word."""
    return tuple(i for i, name in enumerate(mesh.launch_dim_names) if word in name)


def is_block_mesh(mesh: device_mesh) -> bool:
    """Whether the launch has axes of the grid and none of a cluster."""
    return bool(launch_axes(mesh, "block")) and not launch_axes(mesh, "cluster")


def cluster_axes(mesh: device_mesh) -> tuple[int, ...]:
    """Launch axes that make up the cluster: named so, or all when no name says block or cluster."""
    named = launch_axes(mesh, "cluster")
    if named or launch_axes(mesh, "block"):
        return named
    return tuple(range(len(mesh.launch_shape)))


def _mesh_to_cluster_dims(mesh: device_mesh) -> tuple[int, int, int]:
    """Cluster shape a mesh asks for: its cluster axes, else its block axes, else all axes."""
    axes = launch_axes(mesh, "cluster") or launch_axes(mesh, "block") or tuple(range(len(mesh.launch_shape)))
    sizes = tuple(mesh.launch_shape[axis] for axis in axes)
    if len(sizes) > 3:
        return (num_elements(sizes), 1, 1)
    x, y, z = (*sizes, 1, 1, 1)[:3]
    return (x, y, z)


def _resolve_launch_axis(mesh: device_mesh, axis: Any) -> int:
    """Number of a launch axis, given by name or number (negative ones from the end).

    Raises:
        InvalidArgument: Unknown name.
        IndexError: No such number.
        InvalidType: Neither name nor number.
    """
    value = unwrap(axis)
    if isinstance(value, str):
        if value not in mesh.launch_dim_names:
            known = ", ".join(repr(name) for name in mesh.launch_dim_names)
            raise InvalidArgument(f"unknown mesh axis {value!r}; the axes are {known}")
        return mesh.launch_dim_names.index(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidType(f"a mesh axis is a name or an int, got {value!r}")
    rank = len(mesh.launch_shape)
    if not -rank <= value < rank:
        raise IndexError(f"mesh axis {value} is out of range for a mesh of rank {rank}")
    return value % rank


def _normalize_remote_shard_id(shard_id: Any, scope: device_mesh | None = None) -> Any:
    """Cluster rank for a compile-time shard id: an int, or a coordinate tuple in `scope`; others unchanged.

    Raises:
        InvalidArgument: Negative, out of range, of another rank, or a tuple without scope.
        InvalidType: A tuple that holds something else than ints.
    """
    value = unwrap(shard_id)
    if isinstance(value, bool):
        raise InvalidType(f"remote: shard_id must be an int, a tuple of ints or an int32 scalar, got {value!r}")
    if isinstance(value, int):
        if value < 0:
            raise InvalidArgument(f"remote: shard_id must be >= 0, got {value}")
        return value
    if not isinstance(value, (tuple, list)):
        return value
    if scope is None:
        raise InvalidArgument("remote: tuple shard_id requires scope", help="pass scope=mesh")
    if len(value) != scope.ndim:
        raise InvalidArgument(
            f"remote: shard_id {tuple(value)} has {len(value)} coordinates, the scope {scope.shape} has {scope.ndim}"
        )
    linear = 0
    for coordinate, extent in zip(value, scope.shape, strict=True):
        if isinstance(coordinate, bool) or not isinstance(coordinate, int):
            raise InvalidType(f"remote: tuple shard_id must hold ints known at compile time, got {coordinate!r}")
        if not 0 <= coordinate < extent:
            raise InvalidArgument(f"remote: shard_id {tuple(value)} is out of range for the scope {scope.shape}")
        linear = linear * extent + coordinate
    return linear


def _infer_submesh_barrier_group(mesh: device_mesh) -> tuple[int, ...] | None:
    """Cluster ranks that take part in a barrier of `mesh`; None when that is the whole cluster.

    Raises:
        InvalidArgument: The mesh is larger than the cluster.
        NotSupported: A single position, or a part of a mesh that has other axes than the cluster's.
    """
    cluster_size = num_elements(_mesh_to_cluster_dims(mesh))
    if mesh.size > cluster_size:
        raise InvalidArgument(f"distributed_barrier: the mesh has {mesh.size} positions, the cluster {cluster_size} CTAs")
    if mesh.size == cluster_size:
        return None
    if mesh.ndim == 0:
        raise NotSupported(
            "distributed_barrier: a sub-mesh of a single position is not supported",
            help="one CTA has nobody to wait for: use tl.debug_barrier() for its own threads",
        )
    if cluster_size != num_elements(mesh.launch_shape):
        raise NotSupported(
            "distributed_barrier: a sub-mesh of a mesh with other axes than the cluster's is not supported",
            help="make a mesh of the cluster axes alone and slice that",
        )
    return mesh.physical_ids


__all__ = [
    "MeshConfig",
    "_infer_submesh_barrier_group",
    "_mesh_to_cluster_dims",
    "_normalize_remote_shard_id",
    "_resolve_launch_axis",
    "check_mesh",
    "cluster_axes",
    "device_mesh",
    "is_block_mesh",
]
