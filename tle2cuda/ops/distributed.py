"""CTAs that work together: rank in a mesh, barriers of cluster and grid, access to a peer's shared memory."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import InvalidArgument, InvalidType, MeshError, NotSupported
from tle2cuda.ir import builder
from tle2cuda.ir.types import CLUSTER, I32, SHARED, PointerType
from tle2cuda.ops import core
from tle2cuda.ops.arithmetic import floor_divide, remainder
from tle2cuda.ops.buffers import buffered_tensor, remote_buffer
from tle2cuda.ops.core import builtin, constant, emit_value, fact, static_value, tensor, unwrap
from tle2cuda.ops.mesh import (
    _infer_submesh_barrier_group,
    _mesh_to_cluster_dims,
    _normalize_remote_shard_id,
    _resolve_launch_axis,
    check_mesh,
    cluster_axes,
    device_mesh,
    is_block_mesh,
)

ONE_GPU = "one GPU only: use distributed_barrier and remote inside a cluster"


def request_cluster(mesh: device_mesh, what: str) -> None:
    """Notes that the launch needs the mesh's cluster shape."""
    current = builder.current()
    dims = _mesh_to_cluster_dims(mesh)
    if current.cooperative and dims != (1, 1, 1):
        raise _grid_barrier_in_cluster(dims, what)
    current.request_cluster(dims)


def _grid_barrier_in_cluster(dims: tuple[int, int, int], what: str) -> MeshError:
    return MeshError(
        f"{what}: a grid barrier requires cluster_dims=(1, 1, 1), this kernel also asks for {dims}",
        help="use a cluster barrier, or a mesh of block axes alone throughout the kernel",
    )


@builtin
def shard_id(mesh: Any, axis: Any, comm_ptr: Any = None) -> tensor:
    """Coordinate of this CTA on an axis of a mesh's launch, an int32 scalar.

    Cluster axes: from the rank in the cluster, row-major over the cluster axes; the kernel becomes a cluster
    kernel. Axes of a block mesh: from ``program_id(0)``, row-major over the launch axes; no cluster is made.

    Args:
        mesh: A `device_mesh`; slices of a mesh count as the whole.
        axis: Name or number of a launch axis.
        comm_ptr: Must stay None: several GPUs are not supported.

    Raises:
        InvalidType: Not a mesh, or an axis of another type.
        InvalidArgument: Unknown axis name.
        IndexError: No such axis number.
        MeshError: Another cluster shape, or a grid barrier, in the same kernel.

    Example:
        ``rank = tle.shard_id(mesh, "cluster_x")``
    """
    what = "shard_id"
    found = check_mesh(mesh, "shard_id: mesh")
    if unwrap(comm_ptr) is not None:
        raise NotSupported("shard_id: ranks among several GPUs are not supported", help=ONE_GPU)
    position = _resolve_launch_axis(found, axis)
    axes = cluster_axes(found)
    if not is_block_mesh(found):
        request_cluster(found, what)
    extent = found.launch_shape[position]
    if extent == 1:
        return constant(0, I32)
    if position in axes:
        sizes = [found.launch_shape[i] for i in axes]
        after = core.num_elements(found.launch_shape[i] for i in axes if i > position)
        linear = emit_value("cluster_rank", (), I32, ())
        return _coordinate(linear, after, extent, wraps=after * extent != core.num_elements(sizes))
    after = core.num_elements(found.launch_shape[position + 1 :])
    linear = emit_value("program_id", (), I32, (), {"axis": 0})
    return _coordinate(linear, after, extent, wraps=True)


def _coordinate(linear: tensor, after: int, extent: int, wraps: bool) -> tensor:
    """``linear // after % extent``; the remainder only where `linear` may be larger."""
    if after > 1:
        linear = floor_divide(linear, after)
    return remainder(linear, extent) if wraps else linear


_MULTI_DEVICE_DEFAULTS = {
    "device_dptr": None,
    "space": None,
    "group_kind": None,
    "barrier_kind": None,
    "order": None,
    "index": None,
}


@builtin
def distributed_barrier(
    mesh: Any = None,
    device_dptr: Any = None,
    space: Any = None,
    group_kind: Any = None,
    barrier_kind: Any = None,
    order: Any = None,
    index: Any = None,
) -> None:
    """Barrier of the CTAs of a mesh that orders all their memory accesses.

    Every CTA that takes part must execute it equally often, or the kernel hangs. It is a barrier of the
    CTA too. The axes left after slicing decide the kind: with a cluster axis the cluster, or the part
    of it a sub-mesh holds (others pass at once); with block axes alone the whole grid, launched
    cooperatively.

    Args:
        mesh: A `device_mesh`; None means the launch's cluster.
        device_dptr: Must stay None, as the others behind it: several GPUs are not supported.
        space: Must stay None.
        group_kind: Must stay None.
        barrier_kind: Must stay None.
        order: Must stay None.
        index: Must stay None.

    Raises:
        InvalidType: Not a mesh.
        InvalidArgument: A mesh larger than the cluster.
        NotSupported: A sub-mesh of one position or of other axes than the cluster's; several GPUs.
        MeshError: A grid barrier in a cluster kernel, or clusters of two shapes.

    Example:
        ``tle.distributed_barrier(mesh)``
    """
    given = locals()
    for name, default in _MULTI_DEVICE_DEFAULTS.items():
        if unwrap(given[name]) is not default:
            raise NotSupported(f"distributed_barrier: {name} is for several GPUs, which are not supported", help=ONE_GPU)
    current = builder.current()
    if unwrap(mesh) is None:
        current.emit("cluster_barrier", (), (), {"members": None, "reason": "distributed_barrier"})
        return
    found = check_mesh(mesh, "distributed_barrier: mesh")
    if _is_grid(found):
        if current.cluster_dims not in (None, (1, 1, 1)):
            raise _grid_barrier_in_cluster(current.cluster_dims, "distributed_barrier")
        current.cooperative = True
        current.emit("grid_barrier", (), (), {"reason": "distributed_barrier"})
        return
    members = _infer_submesh_barrier_group(found)
    request_cluster(found, "distributed_barrier")
    current.emit("cluster_barrier", (), (), {"members": members, "reason": "distributed_barrier"})


def _is_grid(mesh: device_mesh) -> bool:
    """Whether the barrier of a mesh spans the grid: by surviving axis names, else by the launch's."""
    for names in (mesh.dim_names, mesh.launch_dim_names):
        if any("cluster" in name for name in names):
            return False
        if any("block" in name for name in names):
            return True
    return False


@builtin
def remote(
    tensor: Any,
    shard_id: Any,
    scope: Any = None,
    space: Any = "cluster",
    dtype: Any = None,
    offset: Any = None,
) -> Any:
    """The same shared memory in another CTA of the cluster (DSMEM).

    Nothing is ordered: the owner's writes are visible after a `distributed_barrier`, and a CTA must not end
    while others access its memory.

    Args:
        tensor: A buffer, or a pointer or tile of pointers to shared memory.
        shard_id: Rank in the cluster: int, tuple of ints (row-major in `scope`), or an int32 scalar.
        scope: A `device_mesh` whose cluster the launch gets.
        space: Must stay ``"cluster"``.
        dtype: Must stay None.
        offset: Must stay None.

    Returns:
        The buffer marked remote, or pointers of address space 7 of the same shape.

    Raises:
        InvalidArgument: A rank out of range, a buffer marked twice, a tuple without `scope`.
        InvalidType: No buffer and no shared pointer, or a rank of another type.
        NotSupported: Another space.

    Example:
        ``peer = tle.remote(counts, 0, scope=mesh)``
    """
    what = "remote"
    if static_value(space, "remote: space") != "cluster":
        raise NotSupported("remote: only space='cluster' is supported, not several GPUs", help=ONE_GPU)
    if unwrap(dtype) is not None or unwrap(offset) is not None:
        raise NotSupported("remote: dtype and offset are for several GPUs, which are not supported", help=ONE_GPU)
    mesh = None if unwrap(scope) is None else check_mesh(scope, "remote: scope")
    rank = _normalize_remote_shard_id(shard_id, mesh)
    value = unwrap(tensor)
    if _is_remote_pointer(value):
        if rank == 0 and isinstance(rank, int):
            return value
        raise InvalidArgument(
            "remote cannot be applied twice: the pointer is remote already",
            facts=(fact("tensor", value),),
            help="keep the local pointer and apply remote to that",
        )
    if mesh is not None:
        request_cluster(mesh, what)
        size = core.num_elements(_mesh_to_cluster_dims(mesh))
        if isinstance(rank, int) and rank >= size:
            raise InvalidArgument(f"remote: shard_id {rank} is out of range, the cluster has {size} CTAs")
    if isinstance(value, buffered_tensor):
        return remote_buffer(value, _rank_operand(rank))
    if isinstance(value, core.tensor) and isinstance(value.element, PointerType):
        if value.element.space != SHARED:
            raise InvalidType(
                f"remote takes shared memory, got {core.describe_type(value)}", facts=(fact("tensor", value),)
            )
        target = PointerType(value.element.element, CLUSTER)
        return emit_value("remote", (value, _rank_operand(rank)), target, value.dims)
    raise InvalidType(f"remote takes a buffer or pointers to shared memory, got {core.describe(tensor)}")


def _is_remote_pointer(value: Any) -> bool:
    return isinstance(value, core.tensor) and isinstance(value.element, PointerType) and value.element.space == CLUSTER


def _rank_operand(rank: Any) -> core.tensor:
    if isinstance(rank, int):
        return constant(rank, I32)
    if not isinstance(rank, core.tensor):
        raise InvalidType(f"remote: shard_id must be an int, a tuple of ints or an int32 scalar, got {core.describe(rank)}")
    if rank.dims:
        raise InvalidArgument(
            f"remote: shard_id must be a scalar, got {core.describe_type(rank)}",
            facts=(fact("shard_id", rank),),
        )
    if rank.element is not I32:
        raise InvalidType(
            f"remote: shard_id must be int32, got {core.describe_type(rank)}",
            facts=(fact("shard_id", rank),),
            help="convert it, rank.to(tl.int32)",
        )
    return rank
