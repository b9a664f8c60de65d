"""`triton.backends.driver`: the classes that a device's driver is of."""

from tle2cuda.runtime.active import ActiveDriver

DriverBase = GPUDriver = ActiveDriver

__all__ = ["DriverBase", "GPUDriver"]
