"""Triton's base error: the base of all of ours."""

from tle2cuda.errors import KernelError as TritonError

__all__ = ["TritonError"]
