"""`triton.backends.nvidia.driver`: the driver under its class's name."""

from tle2cuda.runtime.active import ActiveDriver as CudaDriver

__all__ = ["CudaDriver"]
