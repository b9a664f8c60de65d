"""Python functions become tile IR: names are resolved, constants computed, run-time values traced."""

from tle2cuda.frontend.trace import trace

__all__ = ["trace"]
