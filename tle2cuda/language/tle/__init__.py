"""TLE, the tile language extensions: ``from tle2cuda.language import tle``. No logic here."""

from __future__ import annotations

from typing import Any

from tle2cuda.language.tle import communication, distributed, gpu, raw
from tle2cuda.ops.buffers import local_ptr
from tle2cuda.ops.copy import copy, unsupported
from tle2cuda.ops.distributed import ONE_GPU, distributed_barrier, remote, shard_id
from tle2cuda.ops.mesh import (
    MeshConfig,
    _infer_submesh_barrier_group,
    _mesh_to_cluster_dims,
    _normalize_remote_shard_id,
    _resolve_launch_axis,
    device_mesh,
)
from tle2cuda.ops.pipe_ends import pipe_reader, pipe_slot, pipe_wait_result, pipe_writer
from tle2cuda.ops.pipes import pipe, pipe_value
from tle2cuda.ops.scan import exclusive_cumsum as cumsum
from tle2cuda.ops.sharding import (
    B,
    P,
    S,
    ShardedTensor,
    ShardingSpec,
    distributed_dot,
    make_sharded_tensor,
    reshard,
    sharding,
)
from tle2cuda.ops.shared import alloc, memory_space
from tle2cuda.ops.shared_layouts import smem, tmem
from tle2cuda.ops.tiles import extract_tile, insert_tile
from tle2cuda.ops.tle_load import load

signal = unsupported("tle.signal", ONE_GPU)
signal_wait = unsupported("tle.signal_wait", ONE_GPU)
get_mem_pool = communication.get_mem_pool
create_comm_tensor = communication.create_comm_tensor
create_dist_tensor = communication.create_dist_tensor
cleanup_communicator = communication.cleanup_communicator

_BACKEND_NAMES = (
    *("make_tensor_view", "make_partition_view", "make_view", "dim", "load_view_tko", "store_view_tko"),
    *("create_mem_token", "join_mem_tokens"),
)


def __getattr__(name: str) -> Any:
    if name == "language":  # `tle` stands for the package and for its module `language`
        import sys

        return sys.modules[__name__]
    if name in _BACKEND_NAMES:
        raise RuntimeError(f"tle.{name} requires a backend providing triton.language.ext")
    raise AttributeError(f"tle has no attribute {name!r}")


__all__ = [
    "B",
    "MeshConfig",
    "P",
    "S",
    "ShardedTensor",
    "ShardingSpec",
    "_infer_submesh_barrier_group",
    "_mesh_to_cluster_dims",
    "_normalize_remote_shard_id",
    "_resolve_launch_axis",
    "alloc",
    "cleanup_communicator",
    "communication",
    "copy",
    "create_comm_tensor",
    "create_dist_tensor",
    "cumsum",
    "device_mesh",
    "distributed",
    "distributed_barrier",
    "distributed_dot",
    "extract_tile",
    "get_mem_pool",
    "gpu",
    "insert_tile",
    "load",
    "local_ptr",
    "make_sharded_tensor",
    "memory_space",
    "pipe",
    "pipe_reader",
    "pipe_slot",
    "pipe_value",
    "pipe_wait_result",
    "pipe_writer",
    "raw",
    "remote",
    "reshard",
    "shard_id",
    "sharding",
    "signal",
    "signal_wait",
    "smem",
    "tmem",
]
