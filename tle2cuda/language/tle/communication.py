"""`tle.communication`: several GPUs, which this version refuses when used."""

from tle2cuda.ops.copy import unsupported

_INSTEAD = "one GPU only: use distributed_barrier and remote inside a cluster"

get_mem_pool = unsupported("tle.get_mem_pool", _INSTEAD)
create_comm_tensor = unsupported("tle.create_comm_tensor", _INSTEAD)
create_dist_tensor = unsupported("tle.create_dist_tensor", _INSTEAD)
cleanup_communicator = unsupported("tle.cleanup_communicator", _INSTEAD)

__all__ = ["cleanup_communicator", "create_comm_tensor", "create_dist_tensor", "get_mem_pool"]
