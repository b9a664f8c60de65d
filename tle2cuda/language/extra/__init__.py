"""`tl.extra`: functions of the CUDA math library."""

from tle2cuda.language.extra import cuda, libdevice

__all__ = ["cuda", "libdevice"]
