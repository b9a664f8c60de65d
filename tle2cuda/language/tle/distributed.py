"""`tle.distributed`: meshes, cluster ranks, barriers, remote shared memory, sharding annotations."""

from tle2cuda.ops.distributed import distributed_barrier, remote, shard_id
from tle2cuda.ops.mesh import MeshConfig, device_mesh
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

__all__ = [
    "B",
    "MeshConfig",
    "P",
    "S",
    "ShardedTensor",
    "ShardingSpec",
    "device_mesh",
    "distributed_barrier",
    "distributed_dot",
    "make_sharded_tensor",
    "remote",
    "reshard",
    "shard_id",
    "sharding",
]
