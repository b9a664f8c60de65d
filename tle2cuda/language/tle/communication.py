"""`tle.communication`: several GPUs, which this version refuses when used."""

from tle2cuda.ops.copy import unsupported
from tle2cuda.ops.distributed import ONE_GPU

get_mem_pool = unsupported("tle.get_mem_pool", ONE_GPU)
create_comm_tensor = unsupported("tle.create_comm_tensor", ONE_GPU)
create_dist_tensor = unsupported("tle.create_dist_tensor", ONE_GPU)
cleanup_communicator = unsupported("tle.cleanup_communicator", ONE_GPU)

__all__ = ["cleanup_communicator", "create_comm_tensor", "create_dist_tensor", "get_mem_pool"]
