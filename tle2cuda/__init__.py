"""tle2cuda: tile kernels written in Python, compiled to readable, self-contained CUDA."""

from tle2cuda.version import __version__

__all__ = ["__version__"]
