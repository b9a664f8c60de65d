"""`triton.experimental`: TLE."""

from tle2cuda.language import tle

__all__ = ["tle"]
