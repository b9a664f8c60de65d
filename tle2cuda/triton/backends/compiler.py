"""`triton.backends.compiler`: targets, and the base of backends."""

from tle2cuda.runtime.active import BaseBackend, GPUTarget

__all__ = ["BaseBackend", "GPUTarget"]
